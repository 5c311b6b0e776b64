"""
Poses of a camera of which nothing is known, to start from: random ones improved by registration.

Every frame is matched to the nearest of random configurations of the mechanism, then all points of
all frames at once to those of their configurations (iterative closest points, Besl and McKay 1992;
rigid registration after Kabsch 1976).  A tag counts as its origin and three points on its axes, at
the distance at which the noise of its orientation is that of its position.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from ..dynamics.mechanism import Mechanism
from ..measurement.markers import Frames
from ...dynamics.body_motion import body_motions, frame_of

ROTATIONS = 64  # random rotations: the nearest is about half a radian from the truth
REGISTRATION_ROUNDS = 20  # of matching and registration
BEST_POSES = 6  # poses returned
SAME_POSE = 0.2  # [rad] poses closer together are one


def registered(
    robot: Mechanism, configurations: np.ndarray, frames: Frames, arm: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """
    Return the best poses [(rotation (3, 3), translation (3,))] that put Frames on a Mechanism.

    configurations : (C, n) random ones; frames : as the camera sees them
    arm : [m] of a tag's axis points
    """
    motions = body_motions(robot.robot, configurations)
    links = [frame_of(robot.robot, name) for name in frames.links]
    places = [motions[link.body + 1].at(link) for link in links]
    targets = _points(
        [np.broadcast_to(at.p, (3, len(configurations))).T for at in places],
        [np.moveaxis(at.R, -1, 0) for at in places],
        frames.tags,
        arm,
    )
    seen = _points(
        np.moveaxis(frames.position, 1, 0), np.moveaxis(frames.rotation, 1, 0), frames.tags, arm
    )
    weight = np.isfinite(seen).all(-1)
    full = weight.sum(1) >= np.median(weight.sum(1))  # frames that show as much as most
    seen, weight = np.nan_to_num(seen[full]), weight[full].astype(float)
    turns = Rotation.random(ROTATIONS, random_state=0).as_matrix()
    results = [_closest(turn, seen, weight, targets) for turn in turns]
    poses: list[tuple[np.ndarray, np.ndarray]] = []
    for _, R, p in sorted(results, key=lambda result: result[0]):
        away = [Rotation.from_matrix(R @ before.T).magnitude() for before, _ in poses]
        if min(away, default=np.inf) > SAME_POSE:
            poses.append((R, p))
    return poses[:BEST_POSES]


def _points(positions, rotations, tags, arm):
    """Return points (M, m', 3): positions (M, 3) and, of tags, ends of their axes (M, 3, 3)."""
    out = []
    for at, turn, tag in zip(positions, rotations, tags):
        out += [at] + [at + arm * turn[:, :, i] for i in range(3) if tag]
    return np.stack(np.broadcast_arrays(*out), axis=1)


def _closest(R, seen, weight, targets):
    """Return (mean square [m^2], R, p) after REGISTRATION_ROUNDS from a rotation R (3, 3)."""
    flat, squares = targets.reshape(len(targets), -1), (targets**2).sum(-1).T
    middle = np.einsum('fm,fmi->i', weight, seen) / weight.sum()
    p = targets.mean((0, 1)) - R @ middle
    for _ in range(REGISTRATION_ROUNDS):
        # |x - y|^2 of all frames and configurations, less |x|^2 which is the same for all.
        placed = (seen @ R.T + p) * weight[:, :, None]
        nearest = targets[
            (weight @ squares - 2.0 * placed.reshape(len(seen), -1) @ flat.T).argmin(1)
        ]
        goal = np.einsum('fm,fmi->i', weight, nearest) / weight.sum()
        U, _, V = np.linalg.svd(np.einsum('fm,fmi,fmj->ij', weight, nearest - goal, seen - middle))
        R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ V)]) @ V
        p = goal - R @ middle
    square = ((seen @ R.T + p - nearest) ** 2).sum(-1)
    return float((weight * square).sum() / weight.sum()), R, p
