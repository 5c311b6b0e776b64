"""
A first look at a recording: how late its clocks are, and whether the feet are where they are said.

A few hundred samples, the described bodies as a prior.  A base that is stamped late and efforts
that are stamped late are one column each beside the parameters, by the rates of both; how they
change without one piece of the recording says how sure they are (jackknife).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from .doubts import contact_doubts, height_doubts, mounting_doubts, upside_down
from .observation import FloatingObservation, FloatingState, Noise
from .robot import FloatingRobot
from .rows import efforts, FloatingRows, row_names
from .turned_imu import turn_doubts
from ..estimation.common_errors import MovedRows
from ..estimation.motion_noise import NOISE_SHARE
from ...dynamics.inertial_parameters import Parameter
from ...errors import RecordingError
from ...estimation.least_squares import left_out, standard_errors
from ...measurement.joints.effort_source import EffortSource

TURNED_RESIDUAL = 0.015  # of the rows: with more left over, is the IMU turned by some degrees?
POOR = 0.15  # of the rows: with more left over, is the sensor on the base as described?
SAMPLES = 800  # that are looked at
SAMPLES_OF_OTHERS = 200  # the same for each other mounting that is tried
PIECES_OF_STATES = 1  # pieces of states that these are taken from
PIECES = 16  # left out one by one
APPLIED_OFFSET = 3.0  # standard errors of an offset that is applied
LARGEST_OFFSET = 0.05  # [s]
STEP = 1e-3  # [s] or [m], by which a base or feet are moved to see what it changes
FOOT_YIELDS = 1e-3  # [m], scale of Student's t: rubber gives way, radii are rounded, some wrong
GROUND_ROUNDS = 2
NO_NOISE = 1e-10  # variance
NOISE_OF_EVERY = 8  # samples that are looked at, is one whose noise is
MOVES_CLOCKS = 2e-3  # [m] of ground: a millimetre moves clocks by .1 ms, as much as their error
FREEDOM = 3.0  # its degrees: a height that is far off is not drawn towards that described
ROUNDS = 3  # an offset changes the slope that it is found by
MOST_LOOKS = 6  # rows are read anew once offsets are applied
GROUND = 'ground', 'ground_error'  # details of a summary: see FloatingObservation
SETTLED = 5e-5  # [s]: a smaller change needs no further look


@dataclass(frozen=True)
class Offsets:
    """How late base and efforts are stamped against the joints [s], and standard errors."""

    base: float
    efforts: float
    base_error: float
    efforts_error: float

    def after(self, applied: 'Offsets') -> 'Offsets':
        """Return the whole of what was found after some was ``applied``."""
        base, late = applied.base + self.base, applied.efforts + self.efforts
        return replace(self, base=base, efforts=late)

    def where_sure(self) -> 'Offsets':
        """Return the offsets that are applied: those that are sure."""
        base = _applied(self.base, self.base_error)
        return replace(self, base=base, efforts=_applied(self.efforts, self.efforts_error))


NOT_LATE = Offsets(0.0, 0.0, 0.0, 0.0)


def first_look(
    method: Any, observation: FloatingObservation, robot: FloatingRobot, options: Any
) -> FloatingObservation:
    """
    Return the observation with clocks set right where that is asked for, and ``doubts``.

    method : that has its ``parameters``
    RecordingError where an offset is larger than can be believed.
    """
    parameters = method.parameters(robot, options)
    fit = _Fit(robot, parameters, _thinned(observation))
    fallen = upside_down(robot, fit.states)
    residual = partial(_relative, robot, parameters)
    turned = bool(fallen) or fit.relative > POOR
    doubts = mounting_doubts(observation, residual, turned) or fallen
    applied = NOT_LATE
    finds_clocks = options.find_time_offset and not doubts
    if finds_clocks:
        observation, fit, applied = _clocks_set_right(observation, fit, applied)
    if not doubts and fit.relative > TURNED_RESIDUAL:
        doubts = turn_doubts(observation, residual)
    if robot.feet and not robot.carried:
        observation, fit = _on_ground_found(observation, fit, finds_clocks, applied)
    if not doubts and robot.feet:
        doubts = contact_doubts(observation, robot, fit.states, fit.lacking())
        doubts += height_doubts(*(observation.summary.details[name] for name in GROUND))
    return observation.with_details(base_topic=observation.base.topic, doubts=doubts)


def _clocks_set_right(
    observation: FloatingObservation, fit: '_Fit', applied: Offsets
) -> tuple[FloatingObservation, '_Fit', Offsets]:
    """
    Return an observation with its clocks set right, the fit of it, and what is applied.

    fit : of the observation as it is, with Offsets ``applied`` already
    A slope holds for small offsets, so that looks follow until one moves less than SETTLED.
    """
    moved, looks = np.inf, 0
    while moved > SETTLED and looks < MOST_LOOKS:
        found = fit.offsets().after(applied)
        before, applied = applied, found.where_sure()
        base, efforts_late = applied.base - before.base, applied.efforts - before.efforts
        moved = max(abs(base), abs(efforts_late))
        if moved > 0.0:
            observation = observation.with_clocks(base, efforts_late)
            fit = fit.of(_thinned(observation))
        looks += 1
    _check(found, observation)
    summary = replace(
        observation.summary,
        time_offset_found=found.efforts,
        time_offset_error=found.efforts_error,
    )
    motion = replace(observation.base, late_error=found.base_error)
    observation = replace(observation, base=motion, summary=summary).with_details(
        base_time_offset=found.base, base_time_offset_error=found.base_error
    )
    return observation, fit, applied


def _on_ground_found(
    observation: FloatingObservation, fit: '_Fit', finds_clocks: bool, applied: Offsets
) -> tuple[FloatingObservation, '_Fit']:
    """
    Return an observation on the ground that its rows show, and the fit of it.

    fit : of the observation as it is, with Offsets ``applied`` already
    finds_clocks : whether they are set right on that ground once more
    """
    observation, fit = _ground_found(observation, fit)
    if finds_clocks and abs(observation.ground) > MOVES_CLOCKS:
        observation, fit, _ = _clocks_set_right(observation, fit, applied)
        observation, fit = _ground_found(observation, fit)
    return observation, fit


def _ground_found(
    observation: FloatingObservation, fit: '_Fit'
) -> tuple[FloatingObservation, '_Fit']:
    """
    Return an observation on the ground where its rows have it, and the fit of it.

    fit : of the observation as it is
    """
    noise = observation.noise()
    products = fit.products_of_noise(noise)
    for _ in range(GROUND_ROUNDS):
        height, error = fit.height_of_feet(fit.on_higher_ground(), products, noise.times)
        fit = fit.on_ground(height)
    return observation.on_ground(height, error), fit


class _Samples(NamedTuple):
    """Some samples of a piece: what they are, and the rate (N, n) of the efforts there [N m/s]."""

    state: FloatingState
    rate: np.ndarray


def _of_pieces(states: Iterable[FloatingState], every: slice) -> list[_Samples]:
    """Return the _Samples of ``states``, ``every`` so many; rates are those among all samples."""
    return [_Samples(state.rows(every), EffortSource.rate(state)[every]) for state in states]


def _thinned(observation: FloatingObservation) -> list[_Samples]:
    """Return training samples of an observation, SAMPLES of them at most."""
    every = slice(None, None, 1 + observation.samples(training=True) // SAMPLES)
    pieces = _of_pieces(observation.states(training=True), every)
    if not sum(len(piece.rate) for piece in pieces):
        raise RecordingError(
            'no sample of joints and base is left after filtering', found='too short a recording'
        )
    return pieces


def _relative(
    robot: FloatingRobot, parameters: Sequence[Parameter], observation: FloatingObservation
) -> float:
    """Return the residual of a fit of few samples of an ``observation``, relative to the rows."""
    few = slice(None, None, 1 + observation.samples(training=True) // SAMPLES_OF_OTHERS)
    states = islice(observation.states(training=True), PIECES_OF_STATES)
    return _Fit(robot, parameters, _of_pieces(states, few)).relative


def _applied(offset: float, error: float) -> float:
    """Return an ``offset`` [s] that is sure, 0 for another."""
    if abs(offset) > APPLIED_OFFSET * error:
        return offset
    return 0.0


def _check(found: Offsets, observation: FloatingObservation) -> None:
    """Raise RecordingError for sure offsets that no clock has that is meant to be the same."""
    for what, offset, error in (
        (observation.base.topic, found.base, found.base_error),
        ('efforts', found.efforts, found.efforts_error),
    ):
        if abs(offset) - APPLIED_OFFSET * error > LARGEST_OFFSET:
            raise RecordingError(
                f'{what} and joints are not on one clock',
                found=f'{1e3 * offset:.0f} +- {1e3 * error:.0f} ms late',
                expected=f'within {1e3 * LARGEST_OFFSET:.0f} ms',
                do='stamp both by one clock, or correct the mounting of the IMU',
            )


def common_errors(
    observation: FloatingObservation, robot: FloatingRobot, parameters: Sequence[Parameter]
) -> MovedRows | None:
    """
    Return the MovedRows by clocks of base and efforts, and by where feet touch; see CommonErrors.

    The described bodies are the prior of what moves them: without it a recording that shows little
    has bodies that no error is in proportion to.
    """
    clocks = observation.clock_errors
    if clocks is None and not robot.feet:
        return None
    fit = _Fit(robot, parameters, _thinned(observation), as_they_stand=True)
    moved = []
    if clocks is not None:
        moved += list((fit.late() * clocks).T)
    own = len(moved)
    if robot.feet:
        moved.append(observation.summary.details['ground_error'] * fit.on_higher_ground())
    names = row_names(robot)[0]
    W, C = fit.by_row(fit.rows), fit.by_row(np.column_stack(moved))
    times = observation.samples(training=True) / len(C[0])
    return MovedRows(dict(zip(names, W)), dict(zip(names, C)), own, times)


class _Fit:
    """
    Parameters of states under the prior of the description, beside two offsets of clocks.

    In units of prior standard deviations, and about the described values.
    """

    def __init__(
        self,
        robot: FloatingRobot,
        parameters: Sequence[Parameter],
        pieces: Sequence[_Samples],
        as_they_stand: bool = False,
    ) -> None:
        self._robot, self._parameters, self._pieces = robot, parameters, pieces
        self.states = states = [piece.state for piece in pieces]
        self._rows = FloatingRows(robot, parameters, np.ones(len(parameters), dtype=bool))
        self._nominal = np.array([p.nominal for p in parameters])
        self._sd = np.array([p.prior_sd for p in parameters])
        self._count = len(parameters)
        self._standing = states
        if not as_they_stand:  # whatever is said of the feet: rows of feet that all may stand hold
            self._standing = [_all_standing(state) for state in states]
        self._left = [self._rows.projection(state) for state in self._standing]
        self._friction = [self._rows.friction(state) for state in states]
        A, y, rate = [], [], []
        for (state, slope), left, friction in zip(pieces, self._left, self._friction):
            A.append(_flat(left(self._rows.full(state, friction))))
            y.append(_flat(left(efforts(state.tau))))
            rate.append(_flat(left(efforts(slope))))
        self.rows, self._y, self._rate = map(np.concatenate, (A, y, rate))
        self._target = self._y[:, 0] - self.rows @ self._nominal
        self._scale = float(np.std(self._target))
        sums = self._by_piece(np.column_stack([self.rows * self._sd, self._target])).sum(0)
        for _ in range(ROUNDS):  # the prior's weight is that beside what is left
            x = self._solve(sums / self._scale**2)
            lacking = self._target - self.rows @ (self._sd * x)
            self._scale = float(np.std(lacking)) + 1e-9
        self.values = self._nominal + self._sd * x
        self.relative = float(np.linalg.norm(lacking) / np.linalg.norm(self._y))

    def of(self, pieces: Sequence[_Samples]) -> '_Fit':
        """Return the fit of other samples of the same robot."""
        return _Fit(self._robot, self._parameters, pieces)

    def on_ground(self, height: float) -> '_Fit':
        """Return the fit of the same samples with feet that touch a ``height`` [m] higher."""
        moved = [replace(piece.state, ground=height) for piece in self._pieces]
        return self.of([_Samples(s, piece.rate) for s, piece in zip(moved, self._pieces)])

    def offsets(self) -> Offsets:
        """Return how late base and efforts are."""
        for _ in range(ROUNDS):
            whole = np.column_stack([self.rows * self._sd, self.late(), self._target])
            grams = self._by_piece(whole) / self._scale**2
            x, without = left_out(grams, self._solve)
            self.values = self._nominal + self._sd * x[: self._count]
        (base, late_efforts), errors = x[self._count :], standard_errors(without)[self._count :]
        return Offsets(float(base), float(late_efforts), *map(float, errors))

    def lacking(self) -> list[np.ndarray]:
        """
        Return of every state what joints lack (2, B, n) [N m]: what forces of feet explain.

        By the fit and by the described bodies
        """
        bodies = np.array([self.values, self._nominal])
        out = []
        for state, friction in zip(self.states, self._friction):
            rows = self._rows.full(state, friction)[6:]
            out.append(np.einsum('rpb,kp->kbr', rows, bodies) - state.tau)
        return out

    def late(self) -> np.ndarray:
        """Return what base and efforts change of the rows (N, 2) that are stamped 1 s later."""
        return np.column_stack([self._base_slope(), -self._rate[:, 0]])

    def on_higher_ground(self) -> np.ndarray:
        """Return what feet change of the rows (N,) that touch the ground 1 m further up."""
        out = []
        for state, left, friction in zip(self._standing, self._left, self._friction):
            lacking = np.einsum('rpb,p->rb', self._rows.full(state, friction), self.values)
            lacking = lacking[:, None] - efforts(state.tau)
            higher = self._rows.projection(replace(state, ground=state.ground + STEP))
            change = higher(lacking) - left(lacking)
            out.append(_flat(change)[:, 0] / STEP)
        return np.concatenate(out)

    def height_of_feet(
        self, higher: np.ndarray, noise: np.ndarray, most: float
    ) -> tuple[float, float]:
        """
        Return how much higher feet touch than described, and its standard error [m].

        higher : of ``on_higher_ground``
        noise : of ``products_of_noise``, that is there up to ``most`` times
        """
        ground = self.states[0].ground
        as_described = self._target + ground * higher
        columns = np.column_stack([self.rows * self._sd, FOOT_YIELDS * higher, as_described])
        sums = self._by_piece(columns) / self._scale**2
        known = np.ones(self._count + 1)
        from_ground = np.eye(len(noise))
        from_ground[-2, -1] = ground / FOOT_YIELDS
        noise = from_ground.T @ noise @ from_ground / self._scale**2
        times = 1.0
        for _ in range(ROUNDS):
            less = without_noise(sums, times * noise, known)
            x, without = left_out(less, partial(_solved, known=known))
            known[-1] = (FREEDOM + 1.0) / (FREEDOM + x[-1] ** 2)
            times = min(noise_times(sums.sum(0), noise, x), most)
        information = less.sum(0)[:-1, :-1] + np.diag(known)
        variance = np.linalg.inv(information)[-1, -1]
        each_foot = len(self._robot.feet) ** -0.5  # they give way by their own loads
        error = np.linalg.norm([standard_errors(without)[-1], variance**0.5, each_foot])
        return FOOT_YIELDS * float(x[-1]), FOOT_YIELDS * float(error)

    def products_of_noise(self, noise: Noise) -> np.ndarray:
        """
        Return what ``noise`` adds to products of [parameters | higher ground | target].

        It is in the feet's forces and in the rows alike, as if the feet stood at the height of the
        whole centre.
        """
        out = np.zeros((self._count + 2, self._count + 2))
        for state in self.states:
            few = state.rows(slice(None, None, NOISE_OF_EVERY))
            left = self._rows.projection(few)
            higher = self._rows.projection(replace(few, ground=few.ground + STEP))
            for rows, driven in self._noisy(few, noise):
                lacking = np.einsum('rpb,p->rb', rows, self.values)[:, None] - driven
                up = _flat(higher(lacking) - left(lacking)) / STEP
                rows = _flat(left(rows))
                target = _flat(left(driven)) - rows @ self._nominal[:, None]
                columns = np.hstack([rows * self._sd, FOOT_YIELDS * up, target])
                out += len(state.t) / len(few.t) * columns.T @ columns
        return out

    def _noisy(
        self, state: FloatingState, noise: Noise
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield what independent errors of unit size change: rows (r, p, B), efforts (r, 1, B)."""
        root = np.linalg.cholesky(noise.base + NO_NOISE * np.eye(len(noise.base)))
        still = self._rows.full(state, ())
        undriven = np.zeros((len(still), 1, len(state.t)))
        for change in STEP * root.T:
            moved = self._rows.full(replace(state, base=state.base + change), ())
            yield (moved - still) / STEP, undriven
        for change in np.diag(noise.torque**0.5):
            yield np.zeros_like(still), efforts(np.tile(change, (len(state.t), 1)))

    def by_row(self, flat: np.ndarray) -> np.ndarray:
        """Return (r, N, k) of each row what stands sample by sample (N r, k)."""
        rows = len(row_names(self._robot)[0])
        return flat.reshape(-1, rows, flat.shape[1]).transpose(1, 0, 2)

    def _base_slope(self):
        """Return what a base stamped one second later changes of the rows' prediction (N,)."""
        out = []
        for change, left in zip(self._changes_by_base, self._left):
            slope = np.einsum('rpb,p->rb', change, self.values)[:, None] / STEP
            out.append(_flat(left(slope))[:, 0])
        return np.concatenate(out)

    @cached_property
    def _changes_by_base(self):
        """Return of every state what a base stamped STEP later changes of its rows (r, p, B)."""
        out = []
        for state, friction in zip(self.states, self._friction):
            moved = replace(state, base=state.base + STEP * state.base_rate)
            out.append(self._rows.full(moved, friction) - self._rows.full(state, friction))
        return out

    def _by_piece(self, columns):
        """Return the sums of squares (PIECES, k, k) of ``columns`` (N, k) by pieces of time."""
        return np.array([part.T @ part for part in np.array_split(columns, PIECES)])

    def _solve(self, sums):
        """Return the solution of normal equations ``sums`` under the prior of parameters."""
        known = np.zeros(len(sums) - 1)
        known[: self._count] = 1.0
        return _solved(sums, known)


def _solved(sums: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the solution (k,) of normal equations ``sums`` under a prior as ``known`` (k,)."""
    return np.linalg.solve(sums[:-1, :-1] + np.diag(known + 1e-12), sums[:-1, -1])


def without_noise(sums: np.ndarray, noise: np.ndarray, known: np.ndarray) -> np.ndarray:
    """
    Return sums of products (pieces, k + 1, k + 1) of k columns and a target, less their noise.

    noise : (k + 1, k + 1) that all pieces hold of it; known : (k,) information beforehand
    A direction that is noise most of all says nothing.
    """
    information = sums.sum(0)[:-1, :-1] + np.diag(known)
    shares, directions = eigh(noise[:-1, :-1], information)
    lost = directions[:, shares > NOISE_SHARE]
    keep = np.eye(len(noise))
    keep[:-1, :-1] -= lost @ (information @ lost).T
    return np.asarray(keep.T @ (sums - noise / len(sums)) @ keep)


def noise_times(sums: np.ndarray, noise: np.ndarray, x: np.ndarray) -> float:
    """
    Return how many times a ``noise`` is in ``sums`` of products (k + 1, k + 1) with a target.

    x : (k,) solution
    What it leaves over is noise: vibrations, which sampling folds, come in bursts that a median
    does not see.  Less than a median shows it is not.
    """
    left_over = np.append(-x, 1.0)
    return float(max(1.0, (left_over @ sums @ left_over) / (left_over @ noise @ left_over)))


def _all_standing(state):
    """Return a FloatingState in which every foot may touch the ground."""
    return replace(state, standing=np.ones_like(state.standing, dtype=bool))


def _flat(rows):
    """Return rows (r, k, B) sample by sample: (B r, k)."""
    return rows.transpose(2, 0, 1).reshape(-1, rows.shape[1])
