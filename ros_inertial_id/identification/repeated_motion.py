"""
Repeated motion: which samples of a recording show a motion that was there before.

What a model lacks is a function of the motion, so it is the same in every repetition: two periods
of a trajectory, or two recordings of it, say no more about model error than one does.  Stretches
that are left out to see it have to be stretches of distinct motion.
"""

import numpy as np
from scipy.spatial import cKDTree

NEAR = 0.15    # rms of the differences of all positions and velocities, in standard deviations
APART = 0.5    # [s] between samples that repeat each other
RETURN = 0.5   # of the way between them that their distance is at most
LOOKED_AT = 3000  # samples


def distinct_stretches(q: np.ndarray, v: np.ndarray, t: np.ndarray, count: int) -> np.ndarray:
    """
    Return the number (N,), from 0 to count - 1, of the stretch of distinct motion of each sample.

    q, v : (N, n) positions and velocities of joints, in order of time, recording by recording
    t : (N,) [s], which may begin anew with a recording; count : of stretches, of equal time
    A sample that comes near an earlier one belongs to the stretch of that one.
    """
    stride = -(-len(t) // LOOKED_AT)
    x = np.hstack([q, v])[::stride]
    x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-9 * np.abs(x).max() + 1e-300)
    pairs = cKDTree(x).query_pairs(NEAR * np.sqrt(x.shape[1]), output_type='ndarray')
    one, other = pairs.min(1), pairs.max(1)
    clock = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(t[::stride])))])
    steps = np.linalg.norm(np.diff(x, axis=0), axis=1)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    # A slow motion is near itself for long, without having come back.
    back = np.linalg.norm(x[other] - x[one], axis=1) <= RETURN * (way[other] - way[one])
    far = (clock[other] - clock[one] > APART) & back
    first = np.arange(len(x))
    np.minimum.at(first, other[far], one[far])
    new = first == np.arange(len(x))
    age = np.cumsum(new)  # of the distinct motion, in samples
    for k in np.flatnonzero(~new):
        age[k] = age[first[k]]
    stretch = np.minimum((age - 1) * count // max(int(new.sum()), 1), count - 1)
    return np.repeat(stretch, stride)[:len(t)]
