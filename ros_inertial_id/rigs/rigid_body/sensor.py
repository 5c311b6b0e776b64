"""
What the wrench on one body shows of its sensor: its side, turn and drift.

Force = m a + (alpha x + omega x omega x) mc - R' h + bias is linear in all of it, h the weight's
vector in the world, so that a mounting tilted otherwise than described is no turn of the sensor.
A turn theta adds theta x force.  Gauges creep as they warm up, so a slow polynomial of the time is
fitted besides.  Filtered samples are correlated: how a result changes without one stretch of the
recording says how well it is known (jackknife).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from .rig import Wrench
from ..bodies.observation import BodiesObservation, BodiesState
from ..dynamics.rigid_bodies import own_rows
from ..measurement.body_state import acceleration_at
from ..measurement.sources import Series
from ...estimation.least_squares import left_out, solved_sums, standard_errors

Columns = Callable[[BodiesState], np.ndarray]
SURE = 5.0  # standard errors beyond which a sign, a turn or a drift is taken for known
STRETCHES = 16  # left out one by one
DRIFT = 3  # degree of the polynomial in time that a drift is
VISIBLE = 0.5  # of the residual, rms to rms: a drift of less changes no number
LEAST, VAGUE = 0.1, 1.0  # [deg] less is within what anybody mounts; an error that leaves it open
ROUNDS, SETTLED = 30, 1e-9  # of correcting a turn and looking again; [rad] that ends it


def force_sign(observation: BodiesObservation, wrench: Wrench) -> float:
    """Return 1 where the Wrench acts on the one body, -1 where it is the reaction: mass > 0."""
    def columns(state):
        return _along_sensor(state.bodies[0], wrench, state.bodies[0].acc[:, :, None])

    A, y = _with_drift(observation, columns, _force)
    return 1.0 if np.linalg.lstsq(A.reshape(y.size, -1), y.ravel(), None)[0][0] >= 0.0 else -1.0


def sensor_turn(observation: BodiesObservation,
                wrench: Wrench) -> tuple[np.ndarray, dict[str, list[float]]] | None:
    """
    Return (the rotation (3, 3) from what the sensor shows to the axes it is said to have, a note).

    None where it is not turned beyond doubt, or by less than matters.  The residual of the turned
    force is quadratic in the entries of the rotation, so turns of any size are found.
    """
    A, y = _with_drift(observation, lambda state: _force_columns(state, wrench), _force)
    entries = np.einsum('ik,nj->nikj', np.eye(3), y).reshape(len(y), 3, 9)  # row i: e_k y_j
    size = np.sqrt((A ** 2).sum((0, 1))) + 1e-300
    rows = np.concatenate([A / size, entries], axis=2)
    grams = [np.einsum('nik,nil->kl', part, part) for part in np.array_split(rows, STRETCHES)]
    starts, own = Rotation.create_group('O'), A.shape[2]

    def solve(sums):
        # What no mass, moments and weight explain of the entries.
        left = sums[own:, own:] - sums[own:, :own] @ np.linalg.pinv(
            sums[:own, :own], 1e-12, hermitian=True) @ sums[:own, own:]
        return min((_least_turn(left, R) for R in starts), key=lambda found: found[0])[1]

    found, without = left_out(grams, solve)
    turn = Rotation.from_rotvec(found)
    away = (Rotation.from_rotvec(without) * turn.inv()).as_rotvec()
    error = standard_errors(away)
    sure = (np.abs(found) > SURE * error).any()
    if not sure or np.degrees(turn.magnitude()) < LEAST or np.degrees(error.max()) > VAGUE:
        return None
    return turn.as_matrix(), {'turn_deg': np.degrees(found).round(4).tolist(),
                              'standard_error_deg': np.degrees(error).round(4).tolist()}


def _least_turn(left, turn):
    """Return (misfit, rotation vector) of the turn near ``turn`` with the least c' left c."""
    for _ in range(ROUNDS):
        C = turn.as_matrix()
        slopes = np.stack([np.cross(e, C, axisb=0, axisc=0).ravel() for e in np.eye(3)])
        step = -np.linalg.pinv(slopes @ left @ slopes.T) @ (slopes @ left @ C.ravel())
        turn = Rotation.from_rotvec(step) * turn
        if np.linalg.norm(step) < SETTLED:
            break
    c = turn.as_matrix().ravel()
    return c @ left @ c, turn.as_rotvec()


def without_drift(observation: BodiesObservation,
                  wrench: Wrench) -> tuple[Series, list[float]] | None:
    """
    Return (the Series of the sensor without its drift, how far it drifted (6,) [N, N m]) or None.

    wrench : along the axes of the one body; None: it did not drift
    """
    turn = np.kron(np.eye(2), wrench.rotation)

    def columns(state):
        rows = own_rows(state.bodies[0])
        rows[3:] -= np.cross(wrench.point, rows[:3], axisb=0, axisc=0)
        return state.sign * np.einsum('ji,jkn->nik', turn, rows)

    A, y = _with_drift(observation, columns, lambda state: state.wrench)
    size, sd = np.sqrt((A ** 2).sum((0, 1))) + 1e-300, np.ones(6)
    for _ in range(2):  # with weights by the residual of the first
        rows = np.dstack([A / size, y]) / sd[:, None]
        parts = [part.reshape(-1, rows.shape[2]) for part in np.array_split(rows, STRETCHES)]
        x, without = left_out([part[:, :-1].T @ part for part in parts],
                              lambda sums: solved_sums(sums) / size)
        sd = np.sqrt(((y - A @ x) ** 2).mean(0)) + 1e-12
    drift, error = (v[-6 * DRIFT:].reshape(DRIFT, 6) for v in (x, standard_errors(without)))
    visible = np.sqrt((drift ** 2).sum(0) / 3.0) > VISIBLE * sd
    if not ((np.abs(drift) > SURE * error).any(0) & visible).any():
        return None
    series = observation.wrenches[0]
    moved = _legendre(series.t, observation) @ drift
    return (replace(series, values=series.values - moved),
            np.ptp(moved, axis=0).round(4).tolist())


def _force(state):
    """Return the force (N, 3) as if it acted on the body."""
    return state.sign * state.wrench[:, :3]


def _force_columns(state, wrench):
    """Return (N, 3, 7): force along the sensor's axes by mass, first moments and weight."""
    body = state.bodies[0]
    swing = np.stack([acceleration_at(body.omega, body.alpha, e) for e in np.eye(3)], axis=2)
    return _along_sensor(body, wrench, np.concatenate(
        [body.acc[:, :, None], swing, -body.rotation().transpose(0, 2, 1)], axis=2))


def _along_sensor(body, wrench, columns):
    """Return columns (N, 3, k) of the force along the body's axes along those of its Wrench."""
    return (body.rotation() if wrench.axes == 'world' else wrench.rotation.T) @ columns


def _legendre(t, observation):
    """Return the polynomials (N, DRIFT) of degree one and more that a slow drift consists of."""
    segments = observation.clock.segments
    first, last = segments[0][0], segments[-1][0] + segments[-1][1] * observation.clock.period
    share = 2.0 * (t - first) / max(last - first, 1e-9) - 1.0
    return np.polynomial.legendre.legvander(share, DRIFT)[:, 1:]


def _with_drift(observation: BodiesObservation, columns_of: Columns,
                load_of: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return columns (N, m, k), with bias and drift of each row besides, and loads (N, m)."""
    rows, loads = [], []
    for state in observation.states(training=True):
        columns, load = columns_of(state), load_of(state)
        still = np.column_stack([np.ones(len(load)), _legendre(state.t, observation)])
        slow = np.kron(still, np.eye(load.shape[1])).reshape(*load.shape, -1)
        rows.append(np.concatenate([columns, slow], axis=2))
        loads.append(load)
    return np.concatenate(rows), np.concatenate(loads)
