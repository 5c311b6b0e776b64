"""
identify_gravity: the direction of gravity in the base frame, from joint motion and torques alone.

The rows are affine in gravity, W(g) = W0 + gx Gx + gy Gy + gz Gz, so the columns of all four are
accumulated in one pass and every direction is evaluated from the R factors: two angles are
searched around a linear problem (variable projection, Golub and Pereyra 1973; Gauss-Newton of
Kaufman's kind) with all inertial parameters free.  From there on the direction is that of the
identification, which chooses friction laws beside it, and so are its errors.

Never a magnitude: it is confounded with mass.  The sign is nearly confounded with the sign of the
masses: g and -g explain the weights alike, only the inertial coupling distinguishes them.  So the
sign wants a prior (an IMU, a half-space, the description's nominal inertias), and its strength is
reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dynamics.friction import LAWS
from ..dynamics.regressor import RegressorBlock, RowGroup
from ..errors import ConfigError, EstimationError
from ..estimation.gravity_search import (across_gravity, GravitySearch, heavy_columns, tangent,
                                         turned)
from ..estimation.nonlinear_parameters import one_alternative
from ..estimation.problem import prior_rows
from ..estimation.r_factors import one_thread, RFactors
from ..identification.choose.choice import choose_model, LARGEST
from ..identification.passes import Passes
from ..identification.prepare.dataset import Dataset, read_dataset
from ..identification.prepare.mounting import any_mounting, structural_base
from ..identification.prepare.time_offset import aligned
from ..identification.reduce.reduction import reduce_data
from ..identification.reduce.structure import structure_of
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD, METHODS, methods_of
from ..methods.capabilities import Tiltable

CERTAIN = 3.0  # nats: odds of 20 to 1


@dataclass(frozen=True)
class GravityEstimate:
    """
    Where gravity points in the base frame.

    direction : (3,) unit vector; gravity_base : (3,) of standard magnitude [m/s^2]
    tangent : (3, 2) orthonormal, across direction; covariance : (2, 2) of the angles [rad^2]
    standard_error_deg : of the less certain angle [deg]
    antipode : (3,) the best direction of the opposite half-space
    relative_percent : residual with direction, and with the antipode [%]
    sign : decided_by ('data', 'nominal', 'given'); evidence_nats {data, nominal}, the logarithm
        of the odds for this sign by the residuals, of unknown variance, and by the distance of
        the parameters from nominal; ambiguous (bool)
    """

    direction: np.ndarray
    gravity_base: np.ndarray
    tangent: np.ndarray
    covariance: np.ndarray
    standard_error_deg: float
    antipode: np.ndarray
    relative_percent: tuple[float, float]
    sign: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: the direction and how sure it and its sign are."""
        return {'direction': self.direction.tolist(), 'gravity_base': self.gravity_base.tolist(),
                'standard_error_deg': self.standard_error_deg, 'antipode': self.antipode.tolist(),
                'relative_percent': list(self.relative_percent),
                'sign_evidence': dict(self.sign)}


def identify_gravity(recordings: Sequence[Recording], options: Any, *,
                     method: str = DEFAULT_METHOD, urdf: str = '',
                     prior: str | Sequence[float] = 'nominal') -> GravityEstimate:
    """
    Return the GravityEstimate of ``recordings`` that share one mounting.

    options : of the method, by its name; their mounting is not used
    urdf : text of the description, '' for the recordings' own
    prior : decides the sign: 'nominal' inertias of the description, 'none', or a direction (3,)
        in whose half-space gravity lies, as a base IMU or a person gives it
    ConfigError for another prior; EstimationError when no direction explains the torques.
    """
    given = None if isinstance(prior, str) else np.asarray(prior, dtype=float)
    if isinstance(prior, str) and prior not in ('nominal', 'none'):
        raise ConfigError('gravity prior', found=repr(prior),
                          exists=('nominal', 'none', 'a direction X Y Z'))
    if not isinstance(METHODS[method], Tiltable):
        raise ConfigError('gravity from torques', found=f'method {method}',
                          exists=methods_of(Tiltable))
    with one_thread():
        data = read_dataset(recordings, replace(options, mounting='upright'), method, urdf)
        parameters = [p for p in one_alternative(data.method.parameters(data.robot, options))
                      if not p.law or not LAWS[p.law].loaded]  # gravity is most of the load
        base = structural_base(data.method, any_mounting(data.method, data.robot.urdf, options),
                               parameters)
        # Upright, so of the local magnitude.
        search = GravitySearch(base, _accumulate(data, base),
                               magnitude=float(np.linalg.norm(data.robot.gravity_base)))
        free, antipode = search.minima(None)
        if free.relative > 0.9:
            raise EstimationError('no direction of gravity explains the torques',
                                  found=f'a residual of {100 * free.relative:.0f} %',
                                  do='check the efforts first: inertial-id check')
        correlation = _correlation(data, base, free)
        search = replace(search, correlation=correlation,
                         standard_deviation=free.standard_deviation)
        return _as_identified(data, _decide(search, free, antipode, given, prior))


def _as_identified(data: Dataset, found: GravityEstimate) -> GravityEstimate:
    """
    Return the GravityEstimate that an identification reaches from the one of the search.

    Physically consistent bodies cannot explain a tilt, as free ones do in part; its errors are
    those over stretches of the motion.  What was found remains where it is none: in the wrong
    half-space no such bodies are near.
    """
    passes = Passes()
    data = replace(data, options=replace(data.options, mounting=''), robots=tuple(
        replace(robot, gravity_base=found.gravity_base) for robot in data.robots))
    structure = structure_of(data.method, data.robots,
                             data.method.parameters(data.robot, data.options))
    data = aligned(data, structure)
    choice = choose_model(data, reduce_data(data, structure, passes), passes)
    tilt, gravity = choice.shown_tilt, choice.data.robot.gravity_base
    size = float(np.linalg.norm(gravity))
    if tilt is None or np.linalg.norm(tilt.angles) > LARGEST or gravity @ found.direction < 0.0:
        return found
    across = across_gravity(gravity)
    direction = turned(gravity / size, across, tilt.angles)
    return replace(found, direction=direction, gravity_base=size * direction,
                   tangent=across - np.outer(direction, direction @ across),
                   covariance=tilt.covariance, standard_error_deg=_largest_error(tilt.covariance))


def _largest_error(covariance):
    """Return the standard error of the less certain angle [deg]."""
    return float(np.degrees(np.sqrt(np.linalg.eigvalsh(covariance)[-1])))


def _decide(search, free, antipode, given, prior):
    """Return the GravityEstimate: sign by the prior, evidence by data and nominal inertias."""
    nominal_prior = prior_rows(search.base)
    pair = [search.refine(m.direction, None) for m in (free, antipode)]
    regularised = [search.refine(m.direction, nominal_prior) for m in pair]
    data = search.evidence(*pair)
    far, near = (np.linalg.norm(nominal_prior[1] - nominal_prior[0] @ m.params) ** 2
                 for m in regularised[::-1])
    nominal = (far - near) / 2
    if given is not None:
        first = int(pair[0].direction @ given < 0.0)
    else:
        first = int((data if prior == 'none' else data + nominal) < 0.0)
    towards = 1.0 if first == 0 else -1.0
    strength = {'data': float(towards * data), 'nominal': float(towards * nominal)}
    kind = 'given' if given is not None else 'data' if prior == 'none' else 'nominal'
    # In the data alone model errors, not noise, distinguish g from -g: that decides nothing.
    ambiguous = kind == 'data' or (kind == 'nominal' and strength['nominal'] < CERTAIN)
    chosen, other = pair[first], pair[1 - first]
    return GravityEstimate(
        chosen.direction, search.magnitude * chosen.direction, tangent(chosen.direction),
        chosen.covariance, _largest_error(chosen.covariance),
        other.direction, (100 * chosen.relative, 100 * other.relative),
        {'decided_by': kind, 'evidence_nats': strength, 'ambiguous': ambiguous})


def _accumulate(data, base):
    """Return the RFactors of the columns [W0, Gx, Gy, Gz] of the base parameters."""
    still = data.method.build(data.robot.urdf, data.options, np.zeros(3))
    bodies = [p for p in base.parameters if not p.law]
    heavy = heavy_columns(base)
    size = len(base) + 3 * len(heavy)
    factors, identity = RFactors(size), np.arange(size)
    place = base.places()
    rank = np.full(len(base), -1)
    rank[heavy] = np.arange(len(heavy))
    for _, state in data.states(training=True):
        for block, pulls in zip(data.method.regress(state, still, base.parameters),
                                data.method.gravity_rows(state, still, bodies, np.eye(3))):
            groups = tuple(_affine(four, place, rank, len(heavy))
                           for four in zip(block.groups, *(p.groups for p in pulls)))
            factors.accumulate(RegressorBlock(block.t, block.segment, groups), identity)
    if not factors.groups:
        raise EstimationError('the recording is too short to see gravity',
                              do='record longer')
    return factors


def _affine(four, place, rank, count):
    """Return the RowGroup [W0, Gx, Gy, Gz] of the rows without gravity and their slopes by it."""
    still = four[0]
    own = place[still.columns]
    chosen = np.flatnonzero(own >= 0)
    W, columns = [still.W[:, chosen]], [own[chosen]]
    for k, pulled in enumerate(four[1:]):
        at = place[pulled.columns]
        heavy = np.flatnonzero((at >= 0) & (rank[at] >= 0))
        W.append(pulled.W[:, heavy])
        columns.append(len(rank) + k * count + rank[at[heavy]])
    return RowGroup(still.name, still.unit, np.concatenate(columns),
                    np.ascontiguousarray(np.hstack(W).T).T, still.y, still.y_raw)


def _correlation(data, base, found):
    """Return group -> autocorrelation time of the residual under a Minimum [samples]."""
    gravity = np.linalg.norm(data.robot.gravity_base) * found.direction
    robot = data.method.build(data.robot.urdf, data.options, gravity)
    values = base.expand(found.params, np.zeros(len(base.parameters)))
    tilted = replace(data, robots=(robot,) * len(data.robots))
    return Passes().residuals(tilted, base.parameters, values).correlation()
