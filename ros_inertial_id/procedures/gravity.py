"""
identify_gravity: the direction of gravity in the base frame, from joint motion and torques alone.

Rows of the wide factor are affine in gravity, so every direction is evaluated without another
pass: directions all around, then two angles beside all parameters (Gauss-Newton).  From there on
the direction is that of the identification, which chooses friction laws beside it and has
physically consistent bodies, and so are its errors.

Never a magnitude: it is confounded with mass.  The sign is nearly confounded with the sign of the
masses: g and -g explain the weights alike, only the inertial coupling distinguishes them.  So the
sign wants a prior (an IMU, a half-space, the description's nominal inertias), and its strength is
reported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks.admission import usable
from ..checks.finding_kinds import MODEL_KINDS
from ..dynamics.friction import LAWS
from ..errors import ConfigError, EstimationError
from ..estimation.base_parameters import BaseParameters
from ..estimation.estimators import prior_rows
from ..estimation.least_squares import pseudo_inverse
from ..estimation.r_factors import one_thread, RFactors
from ..identification.choose.choice import choose, LARGEST_TILT
from ..identification.fit.fitting import fit
from ..identification.identify import aligned_columns, RowReader
from ..identification.prepare.dataset import Dataset, read_dataset
from ..identification.prepare.mounting import across_gravity, any_mounting, turned
from ..identification.reduce.model_columns import ModelColumns
from ..identification.reduce.structure import one_alternative, structure_of
from ..identification.reduce.wide_factor import WideFactor
from ..measurement.recording import Recording
from ..methods import DEFAULT_METHOD, METHODS, methods_of
from ..methods.capabilities import Tiltable

CERTAIN_SIGN = 3.0  # nats: odds of 20 to 1
LARGEST_RESIDUAL = 0.9  # relative residual beyond which gravity explains nothing
DIRECTION_STEPS = 30
LONGEST_TURN = 0.3  # [rad] of a step
SETTLED_TURN = 1e-9  # [rad] of the last step
DIRECTIONS = 60  # all around: 15 degrees apart


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
        return {
            'direction': self.direction.tolist(),
            'gravity_base': self.gravity_base.tolist(),
            'standard_error_deg': self.standard_error_deg,
            'antipode': self.antipode.tolist(),
            'relative_percent': list(self.relative_percent),
            'sign_evidence': dict(self.sign),
        }


def identify_gravity(
    recordings: Sequence[Recording],
    options: Any,
    *,
    method: str = DEFAULT_METHOD,
    urdf: str = '',
    prior: str | Sequence[float] = 'nominal',
    keep_all: bool = False,
) -> GravityEstimate:
    """
    Return the GravityEstimate of ``recordings`` that share one mounting.

    options : of the method, by its name; their mounting is not used
    urdf : text of the description, '' for the recordings' own
    prior : decides the sign: 'nominal' inertias of the description, 'none', or a direction (3,)
        in whose half-space gravity lies, as a base IMU or a person gives it
    keep_all : use also what checks of the signals refuse or mask; what they see by a model waits
        for gravity, and is asked by the identification that follows
    ConfigError for another prior; EstimationError when no direction explains the torques.
    """
    if isinstance(prior, str) and prior not in ('nominal', 'none'):
        raise ConfigError(
            'gravity prior', found=repr(prior), exists=('nominal', 'none', 'a direction X Y Z')
        )
    if not isinstance(METHODS[method], Tiltable):
        raise ConfigError(
            'gravity from torques', found=f'method {method}', exists=methods_of(Tiltable)
        )
    options = replace(options, mounting='upright')
    if not keep_all:
        admitted = usable(recordings, options, but=MODEL_KINDS, method=method, urdf=urdf)
        recordings = admitted.recordings
    with one_thread():
        data = read_dataset(recordings, options, method, urdf)
        data, model_columns = aligned_columns(data, RowReader())
        search = _Search(data, model_columns.wide)
        best, antipode = search.minima()
        if best.relative > LARGEST_RESIDUAL:
            raise EstimationError(
                'no direction of gravity explains the torques',
                found=f'a residual of {100 * best.relative:.0f} %',
                do='check the efforts first: inertial-id check',
            )
        return _as_identified(data, model_columns.wide, _decided(search, (best, antipode), prior))


def _as_identified(data: Dataset, wide: WideFactor, found: GravityEstimate) -> GravityEstimate:
    """
    Return the GravityEstimate that an identification reaches from the one of the search.

    Physically consistent bodies cannot explain a tilt, as free ones do in part; its errors are
    those over stretches of the motion.  What was found remains where it is none: in the wrong
    half-space no such bodies are near.
    """
    gravity = found.gravity_base
    wide = wide.with_gravity(gravity - data.robot.gravity_base)
    data = replace(
        data,
        options=replace(data.options, mounting=''),
        robots=tuple(replace(robot, gravity_base=gravity) for robot in data.robots),
    )
    choice = choose(data, ModelColumns(wide, gravity))
    tilted = choice.beside(tilted=True)
    if tilted is None or tilted.tilt > LARGEST_TILT:
        return found
    tilt = fit(data, replace(choice, best=tilted), RowReader().residuals).tilt
    assert tilt is not None
    size, across = float(np.linalg.norm(gravity)), across_gravity(gravity)
    direction = turned(gravity / size, across, tilt.angles)
    return replace(
        found,
        direction=direction,
        gravity_base=size * direction,
        tangent=across - np.outer(direction, direction @ across),
        covariance=tilt.covariance,
        standard_error_deg=_largest_error(tilt.covariance),
    )


def _largest_error(covariance):
    """Return the standard error of the less certain angle [deg]."""
    return float(np.degrees(np.sqrt(np.linalg.eigvalsh(covariance)[-1])))


def _decided(
    search: '_Search', found: tuple['_Minimum', '_Minimum'], prior: str | Sequence[float]
) -> GravityEstimate:
    """Return the GravityEstimate: sign by the prior, evidence by data and nominal inertias."""
    sd, correlation_rows = search.deviations(found[0])
    best, antipode = (search.refined(m.direction, sd) for m in found)
    data = 0.0  # likelihood ratio of the best direction to its antipode, in nats
    for name, group in search.wide.total.groups.items():
        ratio = antipode.squares[name] / best.squares[name]
        data += group.rows / correlation_rows[name] * np.log(ratio) / 2.0
    rows = prior_rows(search.base)
    near, far = (search.distance_from_nominal(m.direction, sd, rows) for m in found)
    nominal = (far - near) / 2.0
    decision = _decision(prior, best, data, nominal)
    chosen, opposite, towards = best, antipode, 1.0
    if decision.evidence < 0.0:
        chosen, opposite, towards = antipode, best, -1.0
    # In the data alone model errors, not noise, distinguish g from -g: that decides nothing.
    ambiguous = decision.by == 'data'
    if decision.by == 'nominal':
        ambiguous = towards * nominal < CERTAIN_SIGN
    return GravityEstimate(
        chosen.direction,
        search.magnitude * chosen.direction,
        across_gravity(chosen.direction),
        chosen.covariance,
        _largest_error(chosen.covariance),
        opposite.direction,
        (100 * chosen.relative, 100 * opposite.relative),
        {
            'decided_by': decision.by,
            'ambiguous': bool(ambiguous),
            'evidence_nats': {'data': float(towards * data), 'nominal': float(towards * nominal)},
        },
    )


@dataclass(frozen=True)
class _Decision:
    """by : 'given', 'data' or 'nominal'; evidence : below 0 for the antipode."""

    by: str
    evidence: float


def _decision(
    prior: str | Sequence[float], best: '_Minimum', data: float, nominal: float
) -> _Decision:
    """Return what decides the sign under a ``prior``; data, nominal : log odds for the best."""
    if not isinstance(prior, str):
        return _Decision('given', float(best.direction @ np.asarray(prior, dtype=float)))
    if prior == 'none':
        return _Decision('data', data)
    return _Decision('nominal', data + nominal)


@dataclass(frozen=True)
class _Minimum:
    """A direction (3,), covariance (2, 2) of its angles, params (b,), squares left by group."""

    direction: np.ndarray
    covariance: np.ndarray
    params: np.ndarray
    squares: dict[str, float]
    relative: float


class _Search:
    """The search for the direction of gravity on a wide factor, all parameters free."""

    def __init__(self, data: Dataset, wide: WideFactor) -> None:
        self.wide, self.given = wide, data.robot.gravity_base
        self.magnitude = float(np.linalg.norm(self.given))  # upright, so the local one
        every = one_alternative(wide.structure.columns)
        loaded = [p for p in every if p.law and LAWS[p.law].loaded]  # gravity is most of the load
        columns = [p for p in every if p not in loaded]
        structure = structure_of(
            data.method, any_mounting(data.method, data.robot.urdf, data.options), columns
        )
        self.base: BaseParameters = structure.base
        self.places = structure.places_in(wide.structure)

    def minima(self) -> tuple[_Minimum, _Minimum]:
        """Return the best _Minimum over all directions, and that of the opposite half-space."""
        starts = sorted(sphere(DIRECTIONS), key=self._cost)[:3]
        best = min((self.refined(d) for d in starts), key=lambda m: m.relative)
        return best, self.refined(-best.direction)

    def deviations(self, found: _Minimum) -> tuple[dict[str, float], dict[str, float]]:
        """Return {group: deviation of its rows}, {group: how many rows say what one would}."""
        model_columns = ModelColumns(
            self.wide, self.given, self.places, gravity=self.magnitude * found.direction
        )
        sd = dict(zip(model_columns.names, model_columns.sd.tolist()))
        return sd, model_columns.correlation_rows

    def distance_from_nominal(
        self, direction: np.ndarray, sd: Mapping[str, float], prior: tuple[np.ndarray, np.ndarray]
    ) -> float:
        """
        Return the squares of what is left of ``prior`` rows by a fit along a ``direction`` (3,).

        sd : {group: deviation of its rows}
        """
        A, target = prior
        params = self.refined(direction, sd, prior).params
        return float(np.sum((target - A @ params) ** 2))

    def refined(
        self,
        direction: np.ndarray,
        sd: Mapping[str, float] | None = None,
        prior: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> _Minimum:
        """
        Return the _Minimum that Gauss-Newton reaches from a ``direction`` (3,).

        sd : {group: deviation of its rows}, ones by default; prior : rows about the parameters
        """
        params = self._solved(self._factors(direction), sd, prior)[0]
        for _ in range(DIRECTION_STEPS):
            across, count = across_gravity(direction), len(params)
            x, covariance = self._solved(self._factors(direction, params, across), sd, prior)
            params, angles = x[:count], x[count:]
            size = float(np.linalg.norm(angles))
            if size < SETTLED_TURN:
                break
            direction = turned(direction, across, min(1.0, LONGEST_TURN / size) * angles)
        factors = self._factors(direction)
        squares, measured = {}, 0.0
        for name, group in factors.groups.items():
            rounding = 1e-12 * group.target()
            squares[name] = max(group.residual(params) ** 2, rounding**2, 1e-300)
            measured += group.target() ** 2
        relative = float(np.sqrt(sum(squares.values()) / measured))
        return _Minimum(direction, covariance, params, squares, relative)

    def _cost(self, direction: np.ndarray) -> float:
        factors = self._factors(direction)
        params = self._solved(factors)[0]
        return sum(g.residual(params) ** 2 for g in factors.groups.values())

    def _factors(
        self,
        direction: np.ndarray,
        params: np.ndarray | None = None,
        across: np.ndarray | None = None,
    ) -> RFactors:
        """Return RFactors under gravity along a direction, with angles ``across`` at params."""
        columns = self.wide.columns_under_gravity(self.magnitude * direction - self.given)[
            :, self.places
        ]
        if params is not None and across is not None:
            beta = np.zeros(self.wide.places)
            beta[self.places] = params
            columns = np.hstack([columns, self.wide.tilts(beta, self.magnitude * across)])
        return self.wide.total.combine(columns)

    def _solved(
        self,
        factors: RFactors,
        sd: Mapping[str, float] | None = None,
        prior: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the solution (b,) with angles behind it, and the covariance of the last two."""
        A, y, _ = factors.system(sd)
        angles = A.shape[1] - len(self.base)
        if prior is not None:
            A = np.vstack([A, np.pad(prior[0], ((0, 0), (0, angles)))])
            y = np.concatenate([y, prior[1]])
        scale = np.append(self.base.prior_sd, np.ones(angles))
        half = pseudo_inverse(A, scale)
        return half @ y, half[-2:] @ half[-2:].T


def sphere(count: int) -> np.ndarray:
    """Return directions (count, 3) evenly spread (Fibonacci spiral)."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5**0.5) * k
    across = np.sqrt(1.0 - z**2)
    return np.column_stack([across * np.cos(turn), across * np.sin(turn), z])
