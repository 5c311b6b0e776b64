"""
Whether the clock of markers depends on where they are: the rows of a rolling shutter.

Rows of such an image are read one after the other, so that a marker is late by its row.  In a
frame with several markers no posture fits all of them then: what is left goes with the velocity of
a marker times its place.  Which way the rows run need not be known: a delay linear in the place is
three numbers [s/m] beside the posture of every frame (Meingast, Geyer and Sastry 2005).
"""

import numpy as np

from ..dynamics.mechanism import Mechanism
from ..measurement.markers import Frames
from ...dynamics.body_motion import body_motions, frame_of, twists
from ...errors import RecordingError
from ...estimation.least_squares import standard_errors

PIECES_OF_TIME = 10  # of the recording, each left out in turn
SURELY_LATE = 5.0  # standard errors: a judgement, as of other additions
EXPLAINED = 0.05  # of the squared misfit of markers: a judgement
FEWEST_FRAMES = 100  # ten in a piece


def check_shutter(robot: Mechanism, frames: Frames, t: np.ndarray, q: np.ndarray) -> None:
    """
    Raise RecordingError where markers are late by where they are.

    frames : in the base frame; t (M,), q (M, n) : stamps and postures of those that were used
    """
    if len(t) < FEWEST_FRAMES:
        return
    used = frames.rows(np.searchsorted(frames.t, t))
    misfit, late = _beside_posture(robot, used, q)
    pieces = np.array_split(np.arange(len(t)), PIECES_OF_TIME)
    squares = np.array(
        [late[rows].reshape(-1, 3).T @ late[rows].reshape(-1, 3) for rows in pieces]
    )
    products = np.array([late[rows].reshape(-1, 3).T @ misfit[rows].ravel() for rows in pieces])
    delays = _solved(squares.sum(0), products.sum(0))
    explained = products.sum(0) @ delays / max(float((misfit**2).sum()), 1e-300)
    if explained < EXPLAINED:  # of noise alone, or no matter beside it
        return
    without = []
    for rows_squares, rows_products in zip(squares, products):
        without.append(_solved(squares.sum(0) - rows_squares, products.sum(0) - rows_products))
    direction = delays / max(float(np.linalg.norm(delays)), 1e-300)
    size = float(delays @ direction)
    error = float(standard_errors((np.array(without) @ direction)[:, None])[0])
    if size < SURELY_LATE * error:
        return
    raise RecordingError(
        'markers are late by where they are in the image: rows of a rolling shutter, or a clock '
        'of each marker',
        expected='one instant for all markers of a frame',
        found=f'{1e3 * size:.3g} +- {1e3 * error:.1g} ms more for every metre, '
        f'{100 * explained:.0f} % of the squared misfit of the markers',
        do='use a global shutter, or stamp every marker by its row or its own camera',
    )


def _solved(squares, products):
    """Return the delays (3,) [s/m] by normal equations, none along what no marker moves."""
    return np.linalg.pinv(squares, rcond=1e-6, hermitian=True) @ products


def _beside_posture(robot, frames, q):
    """
    Return the misfit (M, m, 3) [m] and its changes (M, m, 3, 3) with delays per place [s/m].

    Of both what a change of the posture of each frame cannot make, q (M, n) near it.
    """
    seen = np.isfinite(frames.position).all(axis=-1)
    motions, (R, _) = body_motions(robot.robot, q), robot.transformation(q)
    predicted = np.zeros((*seen.shape, 3))
    slope = np.zeros((*seen.shape, 3, len(robot)))
    for k, link in enumerate(frames.links):
        frame = frame_of(robot.robot, link)
        at = motions[frame.body + 1].at(frame)
        predicted[:, k] = at.p.T
        for j, u, _ in twists(robot.robot, motions, frame.body, at.p):
            slope[:, k] += u.T[:, :, None] * R[:, None, j]
    velocity = np.gradient(predicted, frames.t, axis=0)
    place = predicted - predicted.mean(axis=(0, 1))
    columns = np.concatenate(
        [
            (np.nan_to_num(frames.position) - predicted)[..., None],
            -velocity[..., None] * place[:, :, None, :],
            slope,
        ],
        axis=-1,
    )
    columns[~seen] = 0.0
    rows = columns.reshape(len(q), -1, columns.shape[-1])
    beside, posture = rows[:, :, :4], rows[:, :, 4:]
    fitted = posture @ (np.linalg.pinv(posture) @ beside)
    remaining = (beside - fitted).reshape(*columns.shape[:-1], 4)
    return remaining[..., 0], remaining[..., 1:]
