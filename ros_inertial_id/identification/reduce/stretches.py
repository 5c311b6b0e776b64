"""
Stretches of distinct motion: what differs between them is no noise.

What a model lacks is a function of the motion, so that two periods of a trajectory, or two
recordings of it, say no more of it than one does: a sample that comes near an earlier one belongs
to the stretch of that one.
"""

from dataclasses import dataclass

import numpy as np

from ..prepare.dataset import Dataset
from ...methods.capabilities import JointMotion

FOLDS = 5  # of cross-validation
SHORTEST_PIECE = 1.0  # [s] of motion that is left out in one piece: no residual lasts as long
PIECES_PER_FOLD = 5  # at most, spread over a recording
STRETCHES = 16  # enough that a standard error of them is known to a fifth
SAME_MOTION = 0.15  # rms of the differences of positions and velocities, in standard deviations
SHORTEST_RETURN = 0.5  # [s] between samples that repeat each other
LARGEST_RETURN = 0.5  # of the way between them that their distance is at most
MOTION_SAMPLES = 3000  # that are compared with each other
BLOCK_ROWS = 256  # compared at once: a matrix product beats trees of 14 axes


@dataclass(frozen=True)
class Numbers:
    """number : (m,) of the stretch of every ``stride``-th training sample of a recording."""

    number: np.ndarray
    stride: int

    def at(self, samples: np.ndarray) -> np.ndarray:
        """Return the numbers (N,) of the stretches of training ``samples`` (N,), from 0."""
        return self.number[np.minimum(samples // self.stride, len(self.number) - 1)]


def stretches_of(data: Dataset) -> tuple[Numbers, np.ndarray, np.ndarray] | None:
    """
    Return the Numbers of a Dataset of one recording, and two measures (STRETCHES,) of each.

    Mean squares of velocities, and of positions about their mean, of all joints in units of their
    own: zero where motions are not distinguished.  None where no sample is left after filtering.
    """
    if not isinstance(data.method, JointMotion):
        return _stretches_of_time(data)
    stride = -(-data.samples(training=True) // MOTION_SAMPLES)
    positions, velocities, times, samples = [], [], [], 0
    for robot, state in data.states(training=True):
        ranges = data.method.validity_range(state, robot).values()
        thinned = slice((-samples) % stride, None, stride)
        samples += len(state.t)
        positions.append(np.stack([joint['q'][thinned] for joint in ranges], axis=1))
        velocities.append(np.stack([joint['v'][thinned] for joint in ranges], axis=1))
        times.append(state.t[thinned].copy())
    if not samples:
        return None
    q, v, t = np.concatenate(positions), np.concatenate(velocities), np.concatenate(times)
    number = distinct_stretches(q, v, t, STRETCHES)
    speed = (v / np.maximum(v.std(0), 1e-12)) ** 2
    distance = ((q - q.mean(0)) / np.maximum(q.std(0), 1e-12)) ** 2
    return (
        Numbers(number.astype(np.int8), stride),
        _means(number, speed.mean(1)),
        _means(number, distance.mean(1)),
    )


def _stretches_of_time(data: Dataset) -> tuple[Numbers, np.ndarray, np.ndarray] | None:
    """Return the result of ``stretches_of`` where motions are not distinguished: folds of time."""
    samples = sum(len(state.t) for _, state in data.states(training=True))
    if not samples:
        return None
    number = fold_of(np.arange(samples), samples, data.seconds())
    return Numbers(number.astype(np.int8), 1), np.zeros(STRETCHES), np.zeros(STRETCHES)


def _means(number: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the means (STRETCHES,) of x (N,) over the samples of each ``number`` (N,)."""
    counts = np.maximum(np.bincount(number, minlength=STRETCHES), 1)
    return np.bincount(number, x, STRETCHES) / counts


def distinct_stretches(q: np.ndarray, v: np.ndarray, t: np.ndarray, count: int) -> np.ndarray:
    """
    Return the number (N,), from 0 to count - 1, of the stretch of distinct motion of each sample.

    q, v : (N, n) positions and velocities of joints, in order of time
    t : (N,) [s]; count : of stretches, of equal time
    A sample that comes near an earlier one belongs to the stretch of that one.
    """
    x = np.hstack([q, v])
    x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-9 * np.abs(x).max() + 1e-300)
    clock = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(t)))])
    steps = np.linalg.norm(np.diff(x, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    first, squares, ones = np.arange(len(x)), np.square(x).sum(1), np.ones(len(x))
    # One product of these is the square of a distance.
    left = np.column_stack([-2.0 * x, squares, ones])
    right = np.column_stack([x, ones, squares])
    for low in range(0, len(x), BLOCK_ROWS):
        square = left[low : low + BLOCK_ROWS] @ right[low:].T
        earlier, later = np.nonzero(square <= SAME_MOTION**2 * x.shape[1])
        distance = np.sqrt(np.maximum(square[earlier, later], 0.0))
        earlier, later = earlier + low, later + low
        # A slow motion is near itself for long, without having come back.
        lasted = clock[later] - clock[earlier] > SHORTEST_RETURN
        returned = distance <= LARGEST_RETURN * (way[later] - way[earlier])
        repeats = lasted & returned
        np.minimum.at(first, later[repeats], earlier[repeats])
    new = first == np.arange(len(x))
    age = np.cumsum(new)  # of the distinct motion, in samples
    for k in np.flatnonzero(~new):
        age[k] = age[first[k]]
    return np.asarray(np.minimum((age - 1) * count // max(int(new.sum()), 1), count - 1))


def fold_of(sample: np.ndarray, samples: int, seconds: float) -> np.ndarray:
    """
    Return the fold of each sample of a recording, (N,).

    sample : (N,) its number among ``samples``, which take ``seconds``
    A fold is not one fifth of the time: what the arm does there alone would be left out as a
    whole, and the residual be that of motion that the others do not show.
    """
    per_fold = int(np.clip(seconds / (FOLDS * SHORTEST_PIECE), 1, PIECES_PER_FOLD))
    pieces = FOLDS * per_fold
    return np.minimum(sample * pieces // samples, pieces - 1) % FOLDS
