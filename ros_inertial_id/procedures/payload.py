"""
The payload: ten parameters of what the last link carries, the arm as it was identified.

A load fixed to a link adds its parameters to the link's own, so its columns are the link's
columns and its torque is what the model of the bare arm leaves over.  The arm's parameters are
free within their covariance, which is so in the errors of the load.

Where the empty arm made the same motion, what the model leaves over of it is taken off: friction
and whatever else the model lacks cancel, and with it the uncertainty of the arm.  Recorded loaded,
empty, empty, loaded, a drift that is linear in time cancels as well.

The load is physically consistent (estimation/consistency.py).  Before any data it is a ball of
its mass, as loose as a gripper, about its centre of mass.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import fft

from ..dynamics.description import HEAVIEST
from ..dynamics.inertial_parameters import about_center, about_origin, bodies, SCALES, ten_of_body
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..dynamics.robot_model import link_placements
from ..errors import EstimationError, RecordingError, RobotModelError
from ..estimation.base_parameters import BaseParameters
from ..estimation.consistency import consistent, ConsistentEstimate
from ..estimation.estimators import finish, Problem, solve, weighted
from ..estimation.r_factors import GroupFactor, one_thread, RFactors, triangle
from ..estimation.residuals import residuals_of
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset, read_dataset
from ..identification.prepare.mounting import check_robot, structural_base
from ..identification.settings import prediction_options
from ..measurement.recording import nothing_left, Recording
from ..measurement.sampling import interpolate

SIZE = 0.3  # m: a load is sought within about this of its link's frame
DENSITY = 300.0  # kg/m^3, of the load before any data
OTHER_MOTION = 0.2  # of the bare arm's torque: more differs between motions that are not one


@dataclass(frozen=True, repr=False)
class Payload:
    """
    What a link carries, in the frame it is asked for.

    link : that carries it; frame : of the numbers
    mass [kg]; center_of_mass (3,) [m]; inertia (3, 3) about the centre of mass [kg m^2]
    mass_error, center_of_mass_error, inertia_error : standard errors of the same shapes
    parameters (10,) : about the link's joint frame
    from_data : {mass, center_of_mass, inertia: share of the variance before any data that they
        took away}; what lacks to 1 is the ball's
    relative_percent : residual relative (RMS) to the torque that the load adds [%]
    """

    link: str
    frame: str
    mass: float
    center_of_mass: np.ndarray
    inertia: np.ndarray
    mass_error: float
    center_of_mass_error: np.ndarray
    inertia_error: np.ndarray
    parameters: np.ndarray
    from_data: dict[str, float]
    relative_percent: float

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the numbers with standard errors in words."""
        center = ', '.join(
            f'{x:.4f} +- {e:.4f}' for x, e in zip(self.center_of_mass, self.center_of_mass_error)
        )
        moments = ', '.join(
            f'{x:.3g} +- {e:.1g}'
            for x, e in zip(np.diag(self.inertia), np.diag(self.inertia_error))
        )
        return (
            f'{self.link} carries {self.mass:.4f} +- {self.mass_error:.4f} kg, centre of mass '
            f'{center} m in {self.frame}; relative residual {self.relative_percent:.1f} % of '
            f'what the load adds to the torque\nmoments of inertia {moments} kg m^2 about it, '
            f'{100.0 * self.from_data["inertia"]:.0f} % from the data, else as of a ball '
            'of 0.3 kg/l'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with their units, for JSON and YAML."""
        return {
            'link': self.link,
            'frame': self.frame,
            'mass': {'value': self.mass, 'standard_error': self.mass_error, 'unit': 'kg'},
            'center_of_mass': {
                'value': self.center_of_mass.tolist(),
                'unit': 'm',
                'standard_error': self.center_of_mass_error.tolist(),
            },
            'inertia': {
                'value': self.inertia.tolist(),
                'unit': 'kg m^2',
                'standard_error': self.inertia_error.tolist(),
            },
            'from_data': self.from_data,
            'relative_percent': self.relative_percent,
        }


def identify_payload(
    model: IdentifiedModel,
    recordings: Sequence[Recording],
    *,
    empty: Sequence[Recording] = (),
    link: str = '',
    frame: str = '',
) -> Payload:
    """
    Return the Payload that a link of an identified arm carries in ``recordings``.

    model : of the bare arm; empty : recordings of the same motion without the load, which are
        taken off; none: the model alone stands for the bare arm
    link : that carries it, the last one by default; frame : link of the URDF in whose frame the
        centre and inertia are given, the carrying link by default
    RobotModelError for another robot, link or frame; EstimationError for a model file whose base
    parameters are of another version; RecordingError where the motions differ.
    """
    options = prediction_options(model)
    data = read_dataset([*recordings, *empty], options, model.method, model.robot['urdf'])
    for robot in data.robots:
        check_robot(model, robot)
    links = bodies(model.parameters)
    link = link or list(links)[-1]
    if link not in links:
        raise RobotModelError(
            f'{link!r} carries nothing', exists=tuple(links), expected='a moving link of the model'
        )
    frame, placement = frame or link, _placement(data.robot, link, frame or link)
    with one_thread():
        base = structural_base(
            data.method,
            [
                data.method.build(model.robot['urdf'], options, np.array(g))
                for g in model.mounting['gravity_base']
            ],
            model.parameters,
        )
        if base.names() != [entry['name'] for entry in model.base]:
            raise EstimationError(
                'the base parameters of the model file are of another version',
                do='identify the bare arm again',
            )
        columns = np.concatenate([links[link] + np.arange(10), base.independent])
        if empty:
            parts = [list(_left_over(part, model, columns)) for part in data.each()]
            rows = _difference(
                parts[: len(recordings)], parts[len(recordings) :], base.reduce(model.values)
            )
            load, relative = _solved(lambda: [rows], link, np.zeros((0, 0)))
        else:
            turn, variances, _ = np.linalg.svd(model.covariance, hermitian=True)
            load, relative = _solved(
                lambda: _left_over(data, model, columns), link, turn * np.sqrt(variances)
            )
    return _described((link, frame), placement, load, relative)


def _placement(robot, link, frame):
    """Return the (4, 4) placement of a frame in the joint frame of the body of ``link``."""
    places = link_placements(robot)
    if frame not in places or places[frame][0] != places[link][0]:
        fixed = [name for name, (body, _) in places.items() if body == places[link][0]]
        raise RobotModelError(f'frame {frame!r} is not fixed to {link}', exists=fixed)
    return np.eye(4) if frame == link else places[frame][1]


def _left_over(
    data: Dataset, model: IdentifiedModel, columns: np.ndarray
) -> Iterator[RegressorBlock]:
    """Yield blocks about ``columns`` of the model's parameters of what it leaves over."""
    for block in data.blocks(model.parameters):
        groups, predicted = [], model.predict(block)
        for g in block.groups:
            W = np.zeros((len(g.y), len(model.parameters)))
            W[:, g.columns] = g.W
            groups.append(
                RowGroup(
                    g.name,
                    g.unit,
                    np.arange(len(columns)),
                    W[:, columns],
                    g.y - predicted[g.name],
                    g.y_raw - predicted[g.name],
                )
            )
        yield RegressorBlock(block.t, block.segment, tuple(groups))


def _series(blocks, beta):
    """Return times (N,) and rows (N, joints, 12): load, what is over, torque of ``beta``."""
    if not blocks:
        raise nothing_left()
    return np.concatenate([block.t for block in blocks]), np.concatenate(
        [
            np.stack(
                [np.column_stack([g.W[:, :10], g.y, g.W[:, 10:] @ beta]) for g in block.groups],
                axis=1,
            )
            for block in blocks
        ]
    )


def _difference(loaded, empty, beta):
    """Return one block, ``loaded`` less ``empty`` ones in the mean; ``beta`` : see _series."""
    series = [_series(blocks, beta) for blocks in (*loaded, *empty)]
    t, first = series[0]
    torque, means = first[..., -1] - first[..., -1].mean(0), []
    for number, (s, rows) in enumerate(series, 1):
        at = t + _lag(t, first[..., -1], s, rows[..., -1])
        moved = interpolate(s, rows.reshape(len(s), -1), np.clip(at, *s[[0, -1]])).reshape(
            first.shape
        )
        there = (at >= s[0]) & (at <= s[-1]) & ~_in_gaps(s, at)
        moved[~there] = np.nan
        away = (moved - first)[there, :, -1]
        if not there.any() or np.linalg.norm(away) > OTHER_MOTION * np.linalg.norm(torque[there]):
            raise RecordingError(
                'recordings with and without the load are not of one motion',
                found=f'other torques in recording {number} of {len(series)}, loaded ones first',
                do='play the same motion each time, or leave --empty out',
            )
        means.append(moved)
    mean, less = (np.mean(own, axis=0) for own in (means[: len(loaded)], means[len(loaded) :]))
    both = np.isfinite(mean - less).all((1, 2))
    mean, left = mean[both], (mean - less)[both, :, 10]
    return RegressorBlock(
        t[both],
        0,
        tuple(
            RowGroup(g.name, g.unit, np.arange(10), mean[:, k, :10], left[:, k], left[:, k])
            for k, g in enumerate(loaded[0][0].groups)
        ),
    )


def _in_gaps(s, at):
    """Return where the times ``at`` (N,) are between two of s (M,) with one missing."""
    steps = np.diff(s)
    return steps[np.searchsorted(s[1:-1], at)] > 1.5 * np.median(steps)


def _lag(t, x, s, z):
    """Return what to add to times t of series x for those s of z, (N, k) of one motion."""
    step = np.median(np.diff(t))
    x, z = _standardised(t, x, step), _standardised(s, z, step)
    size = len(x) + len(z)
    spectrum_x, spectrum_z = (fft.rfft(np.nan_to_num(y), size, axis=0) for y in (x, z))
    best = int(fft.irfft((spectrum_x.conj() * spectrum_z).sum(1), size).argmax())
    if best >= len(z):
        best -= size
    # Sums of products lean towards no shift, which leaves most of both: differences do not.
    before, least, after = (_mean_square_apart(x, z, best + k) for k in (-1, 0, 1))
    lowest = best + 0.5 * (before - after) / (before - 2.0 * least + after)  # of a parabola
    return s[0] - t[0] + step * lowest


def _standardised(t, x, step):
    """Return series x (N, k) at t every ``step``, of mean 0 and deviation 1, NaN in gaps."""
    at = np.arange(t[0], t[-1], step)
    x = interpolate(t, x, at)
    x[_in_gaps(t, at)] = np.nan
    return (x - np.nanmean(x, axis=0)) / np.maximum(np.nanstd(x, axis=0), 1e-12)


def _mean_square_apart(x, z, shift):
    """Return the mean square of x (N, k) less z (M, k), whose sample i + ``shift`` is i of x."""
    count = min(len(x) - max(0, -shift), len(z) - max(0, shift))
    x, z = x[max(0, -shift) :][:count], z[max(0, shift) :][:count]
    return np.nanmean((x - z) ** 2)


def _problem(factors, link, nominal, mass):
    """Return the Problem of a load of ten parameters ``nominal``, known about to its ``mass``."""
    parameters = tuple(ten_of_body(1, link, nominal, (mass, SIZE)))
    return Problem(
        factors,
        BaseParameters(parameters, np.arange(10), np.arange(0), np.zeros((10, 0)), np.inf),
        {},
    )


def _solved(
    rows: Callable[[], Iterable[RegressorBlock]], link: str, root: np.ndarray
) -> tuple[ConsistentEstimate, float]:
    """
    Return the ConsistentEstimate of the ten parameters, and the relative residual [%].

    rows : blocks of the load's ten columns and the arm's b; root : (b, b), whose square is the
        covariance of the arm's
    EstimationError where no mass is significant.
    """
    factors = RFactors(10 + len(root))
    for block in rows():
        factors.accumulate(block, np.arange(factors.size))
    if not factors.groups:
        raise nothing_left()
    draft = weighted(_problem(factors.select(range(10)), link, np.zeros(10), HEAVIEST))
    if not draft.determined[0]:
        raise EstimationError(
            'the motion does not show the mass of what is carried',
            found='torques that do not depend on it',
            do='move joints that lift it, or give another link by --link',
        )
    held = np.zeros(len(root))  # the arm as it was identified
    time = residuals_of(rows(), np.append(draft.params, held)).correlation()
    system = factors.system(
        {name: d * np.sqrt(time[name]) for name, d in draft.standard_deviation.items()}
    )
    problem = _problem(_apart(system, root), link, np.zeros(10), HEAVIEST)
    estimate = finish(problem, solve(problem.factors.system(), problem.base), {'load': 1.0})
    mass, error = estimate.params[0], estimate.bse[0]
    if mass < 2.0 * error:
        raise EstimationError(
            'no payload is seen',
            found=f'{mass:.3f} +- {error:.3f} kg',
            do='check that the model is of the bare arm, and the effort units',
        )
    unsure = estimate.bse[1:4] / (mass * SIZE)
    radius = (mass / (4.0 / 3.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
    ball = about_origin(
        mass, estimate.params[1:4] / mass / (1.0 + unsure**2), 0.4 * mass * radius**2 * np.eye(3)
    )
    load = consistent(_problem(problem.factors, link, ball, mass), estimate)
    residuals = residuals_of(rows(), np.append(load.values, held))
    return load, residuals.filtered.relative_percent or 0.0


def _apart(system, root):
    """
    Return RFactors of what a ``system`` says of mass and first moments, and of inertia, apart.

    The other ones are free, and the arm within its covariance, the square of ``root``.
    What a model lacks looks like inertia: tied to that of a body, it would bend the mass.
    """
    W, b, _ = system
    arm, R = len(root), np.zeros((12, 12))
    rows = np.vstack([np.column_stack([W[:, 10:] @ root, W[:, :10], b]), np.eye(arm, arm + 11)])
    for own in (np.arange(4), np.arange(4, 10)):
        last = np.append(np.delete(np.arange(10), own), own) + arm
        whole = triangle(np.asfortranarray(rows[:, [*range(arm), *last, arm + 10]]))
        R[np.ix_(own, np.append(own, 10))] = whole[-len(own) - 1 : -1, -len(own) - 1 :]
    return RFactors(10, {'load': GroupFactor('', np.arange(10), R)})


def _described(
    names: tuple[str, str], placement: np.ndarray, load: ConsistentEstimate, relative: float
) -> Payload:
    """
    Return the Payload of a ``load`` about a link's joint frame.

    names : of link and frame; placement : (4, 4) of the frame in the joint frame [m]
    relative : residual [%]
    """
    pi = load.values

    def physical(parameters):
        mass, c, inertia = about_center(parameters)
        R, p = placement[:3, :3], placement[:3, 3]
        return np.concatenate([[mass], R.T @ (c - p), (R.T @ inertia @ R).ravel()])

    value = physical(pi)
    steps = 1e-6 * np.maximum(np.abs(pi), pi[0] * np.array(SCALES))
    J = np.array(
        [(physical(pi + d) - physical(pi - d)) / (2 * s) for d, s in zip(np.diag(steps), steps)]
    ).T
    error, before = (
        np.sqrt(np.diag(J @ covariance @ J.T)) for covariance in (load.cov_params, load.prior)
    )
    shares = [
        float(1.0 - (error[part] @ error[part]) / (before[part] @ before[part]))
        for part in (slice(0, 1), slice(1, 4), slice(4, 13))
    ]
    return Payload(
        *names,
        float(value[0]),
        value[1:4],
        value[4:].reshape(3, 3),
        float(error[0]),
        error[1:4],
        error[4:].reshape(3, 3),
        pi,
        dict(zip(('mass', 'center_of_mass', 'inertia'), shares)),
        relative,
    )
