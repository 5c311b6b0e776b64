"""
Poses of a camera of which nothing is known, to start from: random ones improved by registration.

Every frame is matched to the nearest of random configurations of the mechanism, then all points of
all frames at once to those of their configurations (iterative closest points, Besl and McKay 1992;
rigid registration after Kabsch 1976).  A tag counts as its origin and three points on its axes, at
the distance at which the noise of its orientation is that of its position.
"""

import warnings

import numpy as np
from scipy.spatial.transform import Rotation

from ..dynamics.mechanism import Mechanism
from ..measurement.markers import Frames
from ...dynamics.body_motion import body_motions, frame_of

STARTS = 64    # random rotations: the nearest is about half a radian from the truth
ROUNDS = 20    # of matching and registration
BEST = 6       # poses returned
TURNED = 0.2   # [rad] poses closer together are one


def registered(robot: Mechanism, configurations: np.ndarray, frames: Frames,
               arm: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """
    Return the BEST poses [(rotation (3, 3), translation (3,))] that put Frames on a Mechanism.

    configurations : (C, n) random ones; frames : as the camera sees them
    arm : [m] of a tag's axis points
    """
    targets, seen = _library(robot, configurations, frames, arm), _points(frames, arm)
    weight = np.isfinite(seen).all(-1)
    whole = weight.sum(1) >= np.median(weight.sum(1))  # frames that show as much as most
    seen, weight = np.nan_to_num(seen[whole]), weight[whole].astype(float)
    results = []
    for turn in Rotation.random(STARTS, random_state=0).as_matrix():
        results.append(_closest(turn, seen, weight, targets))
    results.sort(key=lambda result: result[0])
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    for _, R, p in results:
        apart = [Rotation.from_matrix(R @ other.T).magnitude() for other, _ in kept]
        if min(apart, default=np.inf) > TURNED:
            kept.append((R, p))
    return kept[:BEST]


def _closest(R, seen, weight, targets):
    """Return (mean square [m^2], R, p) after ROUNDS from a rotation R (3, 3)."""
    flat = targets.reshape(len(targets), -1)
    squares = (targets ** 2).sum(-1).T
    p = targets.mean((0, 1)) - R @ (np.einsum('fm,fmi->i', weight, seen) / weight.sum())
    for _ in range(ROUNDS):
        placed = seen @ R.T + p
        # |x - y|^2 of all frames and configurations, less |x|^2 which is the same for all.
        distance = weight @ squares - 2.0 * (placed * weight[:, :, None]).reshape(
            len(seen), -1) @ flat.T
        R, p = _aligned(seen, weight, targets[distance.argmin(1)])
    placed = seen @ R.T + p
    nearest = targets[distance.argmin(1)]
    return float((weight * ((placed - nearest) ** 2).sum(-1)).sum() / weight.sum()), R, p


def _aligned(seen, weight, target):
    """Return R (3, 3), p (3,) that bring points (M, m, 3) of weights (M, m) best on others."""
    a, b = (np.einsum('fm,fmi->i', weight, x) / weight.sum() for x in (seen, target))
    with warnings.catch_warnings():  # of what is open: the adjustment says which
        warnings.simplefilter('ignore', UserWarning)
        turn, _ = Rotation.align_vectors((target - b).reshape(-1, 3), (seen - a).reshape(-1, 3),
                                         weight.ravel())
    R = turn.as_matrix()
    return R, b - R @ a


def _library(robot, q, frames, arm):
    """Return the points (C, m', 3) that Frames would show at the configurations q (C, n)."""
    motions, out = body_motions(robot.robot, q), []
    for name, tag in zip(frames.links, frames.tags):
        link = frame_of(robot.robot, name)
        at = motions[link.body + 1].at(link)
        out += [at.p.T] + [at.p.T + arm * at.R[:, k].T for k in range(3) if tag]
    return np.stack(np.broadcast_arrays(*out), axis=1)


def _points(frames, arm):
    """Return the points (M, m', 3) that Frames show, NaN where they do not."""
    out = []
    for k, tag in enumerate(frames.tags):
        at = frames.position[:, k]
        out += [at] + [at + arm * frames.rotation[:, k, :, i] for i in range(3) if tag]
    return np.stack(out, axis=1)
