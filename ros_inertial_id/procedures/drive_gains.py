"""
Drive gains: what effort is worth in torque, found together with the robot's parameters.

    effort_j = (W_j beta + L_j) / K_j       (L: torque of a load that is known, or zero)

Scaling all parameters and all gains alike leaves every effort as it was: without a known load or
one known gain no torque, mass or gain can be known, only their ratios (Gautier and Briot 2014).
With either, all are, where the motion couples the joints.  The noise is in the effort, so it is
the target here; the problem is bilinear and solved by Gauss-Newton.  With neither the gains are
those that make the described bodies right, friction free.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from ..dynamics.friction import LAWS, never_negative
from ..dynamics.inertial_parameters import about_origin, bodies
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..errors import ConfigError, EstimationError, RobotModelError
from ..estimation.base_parameters import BaseParameters
from ..estimation.least_squares import pseudo_inverse
from ..estimation.r_factors import one_thread, RFactors
from ..estimation.residuals import Residuals
from ..identification.choose.time_offset import aligned
from ..identification.prepare.dataset import read_dataset
from ..identification.prepare.mounting import structural_base
from ..identification.reduce.model_columns import ModelColumns
from ..identification.reduce.structure import one_alternative
from ..identification.reduce.wide_factor import wide_factor, wide_structure
from ..measurement.joints.drives import is_commanded
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD

STEPS = 60
SETTLED = 1e-10
SIGNIFICANT = 3.0  # standard errors of the load's share in the efforts, or of the described one
DESCRIBED = 0.15  # of a described body, and of all alike: standard deviation


@dataclass(frozen=True)
class DriveGains:
    """
    Torque per unit of effort of every joint.

    gains, gain_errors : joint -> joint torque per unit of effort, e.g. N m/A on the link side
        (a motor's own gain is this over its gear ratio); error 0 where it was given; without
        joints whose efforts do not show described bodies
    params, cov_params : (b,), (b, b) of the columns: base parameters, then loads' unknown ones
    standard_deviation : joint -> standard deviation of the effort's residual [unit of effort]
    relative_percent : of the effort that is not explained [%]
    described : whether the scale is that of the described masses
    """

    gains: dict[str, float]
    gain_errors: dict[str, float]
    params: np.ndarray
    cov_params: np.ndarray
    standard_deviation: dict[str, float]
    relative_percent: float
    described: bool = False


def solve_drive_gains(
    factors: RFactors,
    nominal: np.ndarray,
    scale: np.ndarray,
    known: Mapping[str, float] | None = None,
    correlation: Mapping[str, float] | None = None,
) -> DriveGains:
    """
    Return the DriveGains.

    factors : RFactors about b columns and last the torque of the known load, 0 without; the
        target is the effort as recorded
    nominal, scale : (b,) what the description says of the columns' parameters, and their sizes
    known : {joint: gain} of the datasheet
    correlation : group -> see Problem; none by default
    EstimationError when neither a load nor a gain is known, or the efforts do not show it.
    """
    groups, known = factors.groups, dict(known or {})
    strange = sorted(set(known) - set(groups))
    if strange:
        raise EstimationError(
            'known gains of joints that are not there', found=strange, exists=tuple(groups)
        )
    blocks = {name: _split(group, factors.size) for name, group in groups.items()}
    if not known and not any(np.any(load) for _, load, _ in blocks.values()):
        raise EstimationError(
            'gains cannot be known without a known load, one known gain or described masses',
            found='recordings without a load: they fix the ratios of parameters and gains only',
            do='record the same motion with a known load, or give a gain of the datasheet',
        )
    inverse = _first_gains(blocks, nominal, scale, known)
    free = [name for name in groups if name not in known]
    standard_deviation = dict.fromkeys(groups, 1.0)
    for _ in range(3):
        beta, inverse = _gauss_newton(blocks, inverse, free, standard_deviation, scale)
        standard_deviation = _deviation(blocks, groups, inverse, beta, len(free))
    time = correlation or {}
    effective = {n: standard_deviation[n] * np.sqrt(time.get(n, 1.0)) for n in groups}
    covariance = _covariance(blocks, inverse, beta, free, effective, scale)
    if not known:
        _check_load(blocks, inverse, beta, effective, scale)
    error = dict(zip(free, np.sqrt(np.diag(covariance)[len(beta) :])))
    square = sum(_squares(blocks, inverse, beta).values())
    whole = sum(y @ y for _, _, y in blocks.values())
    return DriveGains(
        {n: float(1.0 / inverse[n]) for n in groups},
        {n: float(error.get(n, 0.0) / inverse[n] ** 2) for n in groups},
        beta,
        covariance[: len(beta), : len(beta)],
        standard_deviation,
        float(100.0 * np.sqrt(square / whole)),
    )


def described_drive_gains(
    factors: RFactors, base: BaseParameters, correlation: Mapping[str, float] | None = None
) -> DriveGains:
    """
    Return the DriveGains that make the described bodies right, friction as it fits, not below 0.

    factors, correlation : as ``solve_drive_gains`` has them, about ``base`` without a load
    EstimationError where the efforts of no joint show the bodies.
    """
    laws = np.array([bool(base.parameters[k].law) for k in base.independent])
    brakes = laws & [never_negative(base.parameters[k]) for k in base.independent]
    beta = np.where(laws, 0.0, base.nominal())
    each = [
        base.reduce([p.nominal * (p.owner == link) for p in base.parameters])
        for link in bodies(base.parameters)
    ]
    spread = DESCRIBED * np.column_stack([*each, beta])  # of each body, and of all alike
    gains, errors, sd = {}, {}, {}
    square = whole = 0.0
    for name, group in factors.groups.items():
        W, _, y = _split(group, factors.size)
        own = np.flatnonzero(W.any(axis=0) & laws)
        A = np.column_stack([W @ np.where(laws, 0.0, beta), W[:, own]])
        x = lsq_linear(A, y, (np.r_[0.0, np.where(brakes[own], 0.0, -np.inf)], np.inf)).x
        row = pseudo_inverse(A)[0]  # as if all were free: an armature of 0 may be one that hides
        left = np.linalg.norm(y - A @ x)
        sd[name] = max(left / np.sqrt(max(group.rows - len(x), 1.0)), 1e-300)
        square, whole = square + left**2, whole + y @ y
        error = np.hypot(
            np.linalg.norm(row) * sd[name] * np.sqrt((correlation or {}).get(name, 1.0)),
            x[0] * np.linalg.norm(row @ W @ spread),
        )
        if x[0] <= SIGNIFICANT * error:
            continue
        gains[name], errors[name] = float(1.0 / x[0]), float(error / x[0] ** 2)
        beta[own] = x[1:] / x[0]
    if not gains:
        raise EstimationError(
            'the efforts do not show the described bodies',
            do='move faster and against gravity, look for a wrong sign, or give gains',
        )
    return DriveGains(
        gains,
        errors,
        beta,
        np.full((len(beta), len(beta)), np.nan),
        sd,
        float(100.0 * np.sqrt(square / whole)),
        True,
    )


def _check_load(blocks, inverse, beta, effective, scale):
    """
    Raise EstimationError where the efforts are as well explained without the load.

    Without it all gains are free to grow together: 1 / gain of the load is zero.  One scale less
    is fitted, so that by what the squares of the residuals grow is chi-squared of one degree.
    """
    bare = {name: (W, np.zeros_like(load), y) for name, (W, load, y) in blocks.items()}
    beta_bare, inverse_bare = _gauss_newton(bare, inverse, list(blocks), effective, scale)
    more, less = _squares(bare, inverse_bare, beta_bare), _squares(blocks, inverse, beta)
    grown = sum((more[name] - less[name]) / effective[name] ** 2 for name in blocks)
    if grown < SIGNIFICANT**2:
        raise EstimationError(
            'the efforts do not show the known load',
            expected=f'an effect of {SIGNIFICANT:g} standard errors',
            found=f'{max(grown, 0.0) ** 0.5:.2g}',
            do='check that the robot '
            'carried it in the recording named so, and the link that carries it',
        )


def _squares(blocks, inverse, beta):
    """Return name -> sum of squared residuals of the effort."""
    return {
        name: float(np.sum(_residual(block, inverse[name], beta) ** 2))
        for name, block in blocks.items()
    }


def _split(group, size):
    """Return rows (m, b), load (m,) and effort (m,) of a group's R factor."""
    full = group.equations(size)
    return full[:, :-1], full[:, -1], group.R[:, -2]


def _residual(block, inverse, beta):
    W, load, y = block
    return y - inverse * (W @ beta + load)


def _first_gains(blocks, nominal, scale, known):
    """Return joint -> 1 / gain to start from: every joint by itself, or by the known ones."""
    out = {}
    for name, (W, load, y) in blocks.items():
        if name in known:
            out[name] = 1.0 / known[name]
            continue
        last = (pseudo_inverse(np.column_stack([W * scale, load])) @ y)[-1]
        # Effort as the nominal robot's torque would need: where the load does not show.
        torque = W @ nominal + load
        rough = abs(torque @ y) / max(torque @ torque, 1e-300)
        out[name] = last if last > 0.1 * rough else max(rough, 1e-9)
    return out


def _system(blocks, inverse, beta, free, standard_deviation, scale):
    """Return Jacobian (m, b + f) in scaled unknowns and residual (m,), weighted."""
    J, residual = [], []
    for name, (W, load, y) in blocks.items():
        rows = np.zeros((len(y), len(beta) + len(free)))
        rows[:, : len(beta)] = inverse[name] * W * scale
        if name in free:
            rows[:, len(beta) + free.index(name)] = inverse[name] * (W @ beta + load)
        J.append(rows / standard_deviation[name])
        residual.append(_residual((W, load, y), inverse[name], beta) / standard_deviation[name])
    return np.vstack(J), np.concatenate(residual)


def _gauss_newton(blocks, inverse, free, standard_deviation, scale):
    """Return (base parameters, joint -> 1 / gain) of least effort residual."""
    inverse, beta = dict(inverse), np.zeros(len(scale))
    for _ in range(STEPS):
        # Given the gains the parameters are linear; then both move together.
        J, residual = _system(
            blocks, inverse, np.zeros_like(beta), free, standard_deviation, scale
        )
        beta = scale * (pseudo_inverse(J[:, : len(beta)]) @ residual)
        J, residual = _system(blocks, inverse, beta, free, standard_deviation, scale)
        step = pseudo_inverse(J) @ residual
        change = np.clip(step[len(beta) :], -0.5, 0.5)  # relative: gains stay positive
        for name, relative in zip(free, change):
            inverse[name] *= np.exp(relative)
        if not len(change) or np.abs(change).max() < SETTLED:
            return beta, inverse
    return beta, inverse


def _deviation(blocks, groups, inverse, beta, free):
    share = (len(beta) + free) / len(groups)
    return {
        name: max(
            np.linalg.norm(_residual(blocks[name], inverse[name], beta))
            / np.sqrt(max(group.rows - share, 1.0)),
            1e-12 * np.linalg.norm(blocks[name][2]) / np.sqrt(group.rows),
            1e-300,
        )
        for name, group in groups.items()
    }


def _covariance(blocks, inverse, beta, free, standard_deviation, scale):
    """Return the covariance (b + f, b + f) of parameters and inverse gains; refuse what is not."""
    J, _ = _system(blocks, inverse, beta, free, standard_deviation, scale)
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    weak = s < 1e-9 * s[0]
    lost = [
        n for k, n in enumerate(free) if np.abs(Vt[weak][:, len(beta) + k]).max(initial=0.0) > 1e-3
    ]
    if lost:
        raise EstimationError(
            'the recordings do not show the gains of joints',
            found=lost,
            do='move them together with joints whose gain is known, fix the '
            'load off their axes, or give their gains',
        )
    half = Vt.T * np.where(weak, 1.0, 1.0 / np.maximum(s, 1e-300))
    half *= np.concatenate([scale, [inverse[n] for n in free]])[:, None]
    return half @ half.T


def load_parameters(
    mass: float, center_of_mass: Sequence[float], inertia: np.ndarray | None = None
) -> np.ndarray:
    """
    Return the ten parameters (10,) of a load in its link's joint frame.

    mass : [kg], above 0, else ConfigError; center_of_mass : (3,) [m] in the joint frame
    inertia : (3, 3) about the centre of mass [kg m^2], none by default (a compact load)
    """
    c = np.asarray(center_of_mass, dtype=float)
    tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, dtype=float)
    if not mass > 0.0:
        raise ConfigError('mass of the load', expected='above 0 kg', found=mass)
    return about_origin(mass, c, tensor)


def identify_drive_gains(
    loaded: Sequence[tuple[Recording, np.ndarray]],
    options: Any,
    *,
    method: str = DEFAULT_METHOD,
    urdf: str = '',
    link: str = '',
    known: Mapping[str, float] | None = None,
) -> DriveGains:
    """
    Return the DriveGains of a robot whose efforts are no torques.

    loaded : [(Recording, load (10,)), ...], parameters of what ``link`` (the last by default)
        carries, in its joint frame; zeros: nothing, NaN: to be found
    options : of the method, by its name; effort is taken as recorded, whatever they say of it, or
        as the difference of commanded and measured positions, whose gain is the stiffness
    urdf : text of the description, '' for the recordings' own
    known : {joint: torque per effort} of gains that are known, e.g. from the datasheet
    RobotModelError where ``link`` does not move.
    """
    commanded = is_commanded(options.effort_kind)
    options = _as_recorded(options, commanded)
    recordings = [recording for recording, _ in loaded]
    data = read_dataset(recordings, options, method, urdf)
    parameters = _without_optional_laws(data)
    loads = _loads(loaded, parameters, link)
    with one_thread():
        base = structural_base(data.method, data.robots, parameters)
        unknown = np.argwhere(np.isnan(loads))  # (recording, parameter): columns of their own
        nominal = np.append(base.nominal(), np.zeros(len(unknown)))
        scale = np.append(base.prior_sd, [parameters[k].scale for _, k in unknown])
        factors = RFactors(len(scale) + 1)
        identity = np.arange(len(scale) + 1)
        for block in _blocks(data, loads, base):
            factors.accumulate(block, identity)

        def solve(correlation=None):
            if known or loads.any() or not nominal.any():  # not-a-number counts
                return solve_drive_gains(factors, nominal, scale, known, correlation)
            return described_drive_gains(factors, base, correlation)

        found = solve(_correlation(_blocks(data, loads, base), solve()))
    if not (commanded and options.find_time_offset):
        return found
    # Damping of a command that comes late looks like inertia.
    later = options.time_offset + _offset(data, found)
    options = replace(options, find_time_offset=False, time_offset=later)
    return identify_drive_gains(loaded, options, method=method, urdf=urdf, link=link, known=known)


def _as_recorded(options, commanded):
    """Return ``options`` under which efforts, ``commanded`` ones or measured, have no scale."""
    if not commanded:
        options = replace(options, effort_kind='link')
    options = replace(options, drive_gain=(), stiffness=(1.0,), damping=())
    if options.position_kind == 'link':
        options = replace(options, gear_ratio=(), coupling=())
    return options


def _without_optional_laws(data):
    """Return the Parameters without laws that only some joints have: springs carry as weights."""
    every = data.method.parameters(data.robot, data.options)
    return one_alternative([p for p in every if not (p.law and LAWS[p.law].optional)])


def _loads(loaded, parameters, link):
    """Return loads (recordings, p) that the ``link`` carries, the last one by default."""
    links = bodies(parameters)
    link = link or list(links)[-1]
    if link not in links:
        raise RobotModelError(
            f'{link!r} carries nothing', exists=tuple(links), expected='a moving link'
        )
    out = np.zeros((len(loaded), len(parameters)))
    out[:, links[link] : links[link] + 10] = [load for _, load in loaded]
    return out


def _correlation(blocks, draft):
    """Return the correlation of residuals in ``blocks`` by gains of a ``draft``."""
    residuals, x = Residuals(), np.append(draft.params, 1.0)
    for block in blocks:
        predicted = {}
        for group in block.groups:
            gain = draft.gains.get(group.name, np.inf)
            predicted[group.name] = group.W @ x[group.columns] / gain
        residuals.add(block, predicted)
    return residuals.correlation()


def _offset(data, found):
    """Return the time offset [s] of commands whose stiffness was ``found``."""
    usual = float(np.median(list(found.gains.values())))
    stiffness = tuple(found.gains.get(joint, usual) for joint in data.robot.joint_names)
    options = replace(data.options, stiffness=stiffness)
    data = replace(data, options=options, training=()).observed(
        [
            data.method.observe(recording, robot, options)
            for recording, robot in zip(data.recordings, data.robots)
        ]
    )
    with one_thread():
        wide = wide_factor(data, wide_structure(data, data.method.parameters(data.robot, options)))
        data, _ = aligned(data, ModelColumns(wide, data.robot.gravity_base), wide_factor)
    return data.first.summary.time_offset - options.time_offset


def _blocks(data, loads, base):
    """Yield blocks of the base columns, those of unknown loads, and the torque of known ones."""
    place, unknown = base.places(), np.argwhere(np.isnan(loads))
    beside = len(base) + np.arange(len(unknown) + 1)
    for i, (robot, observation) in enumerate(zip(data.robots, data.observations)):
        load = np.nan_to_num(loads[i])
        for state in observation.states(training=True):
            for block in data.method.regress(state, robot, base.parameters):
                groups = []
                for g in block.groups:
                    seen = place[g.columns] >= 0
                    of = dict(zip(g.columns, g.W.T))
                    none = np.zeros(len(g.y))
                    own = [of.get(k, none) if j == i else none for j, k in unknown]
                    W = np.vstack([g.W.T[seen], *own, g.W @ load[g.columns]])
                    groups.append(
                        RowGroup(
                            g.name,
                            g.unit,
                            np.append(place[g.columns][seen], beside),
                            W.T,
                            g.y,
                            g.y_raw,
                        )
                    )
                yield RegressorBlock(block.t, block.segment, tuple(groups))
