"""
What the wrench on one body shows of its sensor: its side and its turn.

Force = m a + (alpha x + omega x omega x) mc - R' h + bias is linear in all of it, h the weight's
vector in the world, so that a mounting tilted otherwise than described is no turn of the sensor.
A turn theta adds theta x force.  Filtered samples are correlated: how a result changes without one
stretch of the recording says how well it is known (jackknife).

How late the force is has to be known before: a grid shows it where no step from zero finds it.
A filter that delays a wrench by 0.15 s leaves a half of a motion of 2 Hz (one pole: 1 over the
root of 1 + (2 pi f d)^2): what is later is refused, as no delay that can be taken off.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from .rig import Wrench
from ..bodies.observation import BodiesObservation
from ..measurement.body_state import acceleration_at, on_clock
from ..measurement.delays import delay_of_least
from ...errors import RecordingError
from ...estimation.least_squares import left_out, relative_residuals, standard_errors
from ...measurement import signals

DELAYS = np.linspace(-0.3, 0.3, 61)  # [s] that are tried, the middle one is none
LARGEST_DELAY = 0.15  # [s] that is taken off
DELAY_SAMPLES = 4000  # that show it
JACKKNIFE_STRETCHES = 16  # left out one by one
TURN_SURE = 5.0  # standard errors beyond which a turn is taken for known
LEAST_TURN, VAGUE_TURN = (
    0.1,
    1.0,
)  # [deg] less is within what anybody mounts; an error that leaves it open
OTHERWISE = 2.0  # times what another force leaves: it is that one
OTHER_AXES = {'body': 'world', 'world': 'body'}
AXES_WORDS = {'body': 'the axes of its frame', 'world': 'the axes of the base'}
WEIGHT, LIGHT = slice(4, 7), 0.1  # columns of the weight; of it, that a compensated force has
TURN_ROUNDS, TURN_SETTLED = 30, 1e-9  # of correcting a turn and looking again; [rad] that ends it
SMALL_TURNS = np.cross(np.eye(3)[:, None], np.eye(3)).transpose(0, 2, 1)  # e x, of each axis e


def rough_delay(observation: BodiesObservation, wrench: Wrench) -> float:
    """
    Return about how late the force of a Wrench on one body is [s], 0 where that is not certain.

    Along any axes, by any sensor, it is a sum of what moves the body.  RecordingError for a delay
    that is certain and too large.
    """
    columns, forces = _late_forces(observation, wrench)
    if not columns:
        return 0.0
    left = relative_residuals(np.concatenate(columns), np.concatenate(forces, axis=1))
    if left[len(DELAYS) // 2] < OTHERWISE * left.min():
        return 0.0
    delay = delay_of_least(DELAYS, left)
    if delay is None or abs(delay) > LARGEST_DELAY:
        raise RecordingError(
            f'the wrench of {observation.wrenches[0].topic} and the motion are not on one clock',
            expected=f'a delay within {1e3 * LARGEST_DELAY:.0f} ms',
            found=f'the wrench is about {1e3 * DELAYS[left.argmin()]:.0f} ms late',
            do='stamp both by one clock, choose a faster filter of the sensor, or give '
            'time_offset: roughly',
        )
    return delay


def _late_forces(observation, wrench):
    """Return columns [(N, k)] of stretches, and forces [(DELAYS, N, 3)] read so much later."""
    series, clock = observation.wrenches[0], observation.clock
    every = 1 + observation.samples(training=True) // DELAY_SAMPLES
    columns, forces = [], []
    for state in observation.states(training=True):
        start, count = clock.segments[state.segment]
        t = start + np.arange(count) * clock.period
        force = signals.smooth(on_clock(series.t, series.values[:, :3], t), observation.kernel)
        inside = (state.t + DELAYS[0] > t[0]) & (state.t + DELAYS[-1] < t[-1])
        thin = np.flatnonzero(inside)[::every]
        if not len(thin):
            continue
        moving = _force_columns(state, wrench)[thin]
        columns.append(np.column_stack([np.ones(len(thin)), moving.reshape(len(thin), -1)]))
        forces.append(np.stack([on_clock(t, force, state.t[thin] + delay) for delay in DELAYS]))
    return columns, forces


def force_sign(observation: BodiesObservation, wrench: Wrench) -> float:
    """Return 1 where the Wrench acts on the one body, -1 where it is the reaction: mass > 0."""

    def columns(state):
        return _along_sensor(state.bodies[0], wrench, state.bodies[0].acc[:, :, None])

    A, y = _with_bias(observation, columns)
    mass = np.linalg.lstsq(A.reshape(y.size, -1), y.ravel(), None)[0][0]
    if mass < 0.0:
        return -1.0
    return 1.0


def sensor_turn(
    observation: BodiesObservation, wrench: Wrench
) -> tuple[np.ndarray, dict[str, list[float]]] | None:
    """
    Return (the rotation (3, 3) from what the sensor shows to the axes it is said to have, a note).

    None where it is not turned beyond doubt, or by less than matters.  The residual of the turned
    force is quadratic in the entries of the rotation, so turns of any size are found.
    """
    A, y = _with_bias(observation, lambda state: _force_columns(state, wrench))
    entries = np.einsum('ik,nj->nikj', np.eye(3), y).reshape(len(y), 3, 9)  # row i: e_k y_j
    size = np.sqrt((A**2).sum((0, 1))) + 1e-300
    rows = np.concatenate([A / size, entries], axis=2)
    grams = [
        np.einsum('nik,nil->kl', part, part) for part in np.array_split(rows, JACKKNIFE_STRETCHES)
    ]
    starts, own = Rotation.create_group('O'), A.shape[2]

    def solve(sums):
        # What no mass, moments and weight explain of the entries.
        left = (
            sums[own:, own:]
            - sums[own:, :own]
            @ np.linalg.pinv(sums[:own, :own], 1e-12, hermitian=True)
            @ sums[:own, own:]
        )
        return _least_turn(left, starts)

    found, without = left_out(grams, solve)
    turn = Rotation.from_rotvec(found)
    away = (Rotation.from_rotvec(without) * turn.inv()).as_rotvec()
    error = standard_errors(away)
    sure = (np.abs(found) > TURN_SURE * error).any()
    if (
        not sure
        or np.degrees(turn.magnitude()) < LEAST_TURN
        or np.degrees(error.max()) > VAGUE_TURN
    ):
        return None
    return turn.as_matrix(), {
        'turn_deg': np.degrees(found).round(4).tolist(),
        'standard_error_deg': np.degrees(error).round(4).tolist(),
    }


def refuse_other_force(
    observation: BodiesObservation, wrench: Wrench, topic: str, gravity: np.ndarray
) -> None:
    """
    Raise RecordingError where the force of a ``topic`` is another one than described.

    Along other axes, without the weight (``gravity`` (3,) [m/s^2]), or with a zero that changes.
    """
    A, y = _rows_along(observation, wrench, wrench.axes)
    _refuse_other_axes(observation, wrench, topic, _fitted(A, y)[0])
    without_weight = np.delete(A, WEIGHT, axis=2)
    bound, _ = _fitted(without_weight, y)
    _refuse_weightless(A, y, bound, topic, gravity)
    t = np.concatenate([state.t for state in observation.states(training=True)])
    _refuse_other_zero(without_weight, y, bound, topic, t)


def _rows_along(observation, wrench, axes):
    """Return columns (N, 3, 10) and forces (N, 3) of a Wrench if it were along other ``axes``."""
    along = replace(wrench, axes=axes)
    return _with_bias(observation, lambda state: _force_columns(state, along))


def _refuse_other_axes(observation, wrench, topic, left):
    """Raise RecordingError where other axes than described leave far less than ``left`` [N]."""
    axes = OTHER_AXES[wrench.axes]
    otherwise, _ = _fitted(*_rows_along(observation, wrench, axes))
    if left <= OTHERWISE * otherwise:
        return
    raise RecordingError(
        f'the force of {topic} is along {AXES_WORDS[axes]}',
        expected=f'{AXES_WORDS[wrench.axes]}, as described',
        found=f'{left:.2g} N that no mass explains, {otherwise:.2g} N along {AXES_WORDS[axes]}',
        do='let the driver turn it, or describe it with axes:',
    )


def _refuse_weightless(A, y, bound, topic, gravity):
    """
    Raise RecordingError where the weight was taken off forces y (N, 3) [N].

    A : (N, 3, 10) columns; bound : what a weight bound to the mass leaves [N]
    """
    weightless, x = _fitted(A, y)
    described = x[0] * gravity
    light = np.linalg.norm(x[WEIGHT] + described) < LIGHT * np.linalg.norm(described)
    if light and bound > OTHERWISE * weightless:
        raise RecordingError(
            f'the force of {topic} has no weight in it',
            expected='the force as measured',
            found=f'{bound:.2g} N that no mass explains, {weightless:.2g} N of a mass without '
            'weight',
            do='let the driver compensate no gravity',
        )


def _refuse_other_zero(A, y, left, topic, t):
    """Raise RecordingError where forces y (N, 3) [N] have another bias from some t (N,) [s] on."""
    low, high = 0, len(t)
    while high - low > JACKKNIFE_STRETCHES:
        step = (high - low) / JACKKNIFE_STRETCHES
        apart, at = min(
            (_fitted(np.concatenate([A, np.eye(3) * (t >= t[k])[:, None, None]], 2), y)[0], k)
            for k in np.arange(low + step, high, step).astype(int)
        )
        low, high = max(0, int(at - step)), min(len(t), int(at + step) + 1)
        if left < OTHERWISE * apart:
            return
    raise RecordingError(
        f'the zero of {topic} changes at {t[at]:.2f} s',
        expected='one zero',
        found=f'{left:.2g} N that no mass explains, {apart:.2g} N with another zero from then on',
        do=f'take the parts apart: BAG@:{t[at]:.2f} and BAG@{t[at]:.2f}:',
    )


def _fitted(A, y):
    """Return the RMS [N] that columns A (N, 3, k) leave of forces y (N, 3), and their factors."""
    rows = A.reshape(y.size, -1)
    size = np.linalg.norm(rows, axis=0) + 1e-300
    x = np.linalg.lstsq(rows / size, y.ravel(), None)[0] / size
    return float(np.sqrt(np.mean((y.ravel() - rows @ x) ** 2))), x


def _least_turn(misfit, starts):
    """Return the rotation vector (3,) with the least c' misfit c, sought from Rotations (m,)."""
    turns = starts
    for _ in range(TURN_ROUNDS):
        C = turns.as_matrix()
        slopes = (SMALL_TURNS @ C[:, None]).reshape(-1, 3, 9)
        gradients = slopes @ misfit @ C.reshape(-1, 9, 1)
        curvatures = slopes @ misfit @ slopes.transpose(0, 2, 1)
        steps = -(np.linalg.pinv(curvatures) @ gradients)[:, :, 0]
        turns = Rotation.from_rotvec(steps) * turns
        if np.linalg.norm(steps, axis=1).max() < TURN_SETTLED:
            break
    c = turns.as_matrix().reshape(-1, 9)
    best = ((c @ misfit) * c).sum(1).argmin()
    return turns[best].as_rotvec()


def _force(state):
    """Return the force (N, 3) as if it acted on the body."""
    return state.sign * state.wrench[:, :3]


def _force_columns(state, wrench):
    """Return (N, 3, 7): force along the sensor's axes by mass, first moments and weight."""
    body = state.bodies[0]
    swing = np.stack([acceleration_at(body.omega, body.alpha, e) for e in np.eye(3)], axis=2)
    return _along_sensor(
        body,
        wrench,
        np.concatenate([body.acc[:, :, None], swing, -body.rotation().transpose(0, 2, 1)], axis=2),
    )


def _along_sensor(body, wrench, columns):
    """Return columns (N, 3, k) of the force along the body's axes along those of its Wrench."""
    if wrench.axes == 'world':
        return body.rotation() @ columns
    return wrench.rotation.T @ columns


def _with_bias(observation, columns_of):
    """Return columns (N, 3, k), with a bias along each axis besides, and forces (N, 3)."""
    rows, forces = [], []
    for state in observation.states(training=True):
        columns, force = columns_of(state), _force(state)
        bias = np.broadcast_to(np.eye(3), (len(force), 3, 3))
        rows.append(np.concatenate([columns, bias], axis=2))
        forces.append(force)
    return np.concatenate(rows), np.concatenate(forces)
