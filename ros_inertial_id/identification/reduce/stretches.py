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
PIECE = 1.0  # [s] of motion that is left out in one piece at least: no residual lasts as long
ROUNDS = 5  # of pieces that each fold has at most, spread over a recording
STRETCHES = 16  # enough that a standard error of them is known to a fifth
NEAR = 0.15  # rms of the differences of all positions and velocities, in standard deviations
APART = 0.5  # [s] between samples that repeat each other
RETURN = 0.5  # of the way between them that their distance is at most
LOOKED_AT = 3000  # samples


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
    none = np.zeros(STRETCHES)
    if not isinstance(data.method, JointMotion):
        count = sum(len(state.t) for _, state in data.states(training=True))
        return (
            (
                Numbers(fold_of(np.arange(count), count, data.seconds()).astype(np.int8), 1),
                none,
                none,
            )
            if count
            else None
        )
    stride, done = -(-data.samples(training=True) // LOOKED_AT), 0
    motion: list[list[np.ndarray]] = []
    for robot, state in data.states(training=True):
        ranges = data.method.validity_range(state, robot).values()
        thin = slice((-done) % stride, None, stride)
        done += len(state.t)
        motion.append(
            [np.stack([own[x][thin] for own in ranges], axis=1) for x in 'qv']
            + [state.t[thin].copy()]
        )
    if not done:
        return None
    q, v, t = map(np.concatenate, zip(*motion))
    number = distinct_stretches(q, v, t, STRETCHES)
    squares = (
        (v / np.maximum(v.std(0), 1e-12)) ** 2,
        ((q - q.mean(0)) / np.maximum(q.std(0), 1e-12)) ** 2,
    )
    counts = np.maximum(np.bincount(number, minlength=STRETCHES), 1)
    speed, distance = (np.bincount(number, x.mean(1), STRETCHES) / counts for x in squares)
    return Numbers(number.astype(np.int8), stride), speed, distance


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
    first, squares = np.arange(len(x)), np.square(x).sum(1)
    for low in range(0, len(x), 256):  # some rows at once: a matrix product beats trees of 14 axes
        part = slice(low, low + 256)
        square = squares[part, None] + squares[low:] - 2.0 * x[part] @ x[low:].T
        one, other = np.nonzero(square <= NEAR**2 * x.shape[1])
        distance = np.sqrt(np.maximum(square[one, other], 0.0))
        one, other = one + low, other + low
        # A slow motion is near itself for long, without having come back.
        far = (clock[other] - clock[one] > APART) & (distance <= RETURN * (way[other] - way[one]))
        np.minimum.at(first, other[far], one[far])
    new = first == np.arange(len(x))
    age = np.cumsum(new)  # of the distinct motion, in samples
    for k in np.flatnonzero(~new):
        age[k] = age[first[k]]
    return np.asarray(np.minimum((age - 1) * count // max(int(new.sum()), 1), count - 1))


def fold_of(sample: np.ndarray, samples: int, seconds: float) -> np.ndarray:
    """
    Return in which fold a sample of a recording is, (N,).

    sample : (N,) its number among ``samples``, which take ``seconds``
    A fold is not one fifth of the time: what the arm does there alone would be left out as a
    whole, and the residual be that of motion that the others do not show.
    """
    pieces = FOLDS * int(np.clip(seconds / (FOLDS * PIECE), 1, ROUNDS))
    return np.minimum(sample * pieces // samples, pieces - 1) % FOLDS
