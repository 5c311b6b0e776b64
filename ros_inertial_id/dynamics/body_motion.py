"""
Where the bodies of a tree are and how they move, for a block of samples at once.

All vectors are in the base frame, components first and samples last: (3, B), rotations (3, 3, B),
body to base.  Accelerations are those with zero joint accelerations (the bias), without gravity.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import RobotModelError
from .regressor import rotation_about


@dataclass(frozen=True)
class Frame:
    """A frame fixed to body ``body`` (-1: base): rotation (3, 3) and position (3,) in it [m]."""

    name: str
    body: int
    rotation: np.ndarray
    position: np.ndarray


@dataclass(frozen=True)
class BodyMotion:
    """R (3, 3, B), p (3, B) [m] of the joint frame; omega, v, alpha, a (3, B) of its origin."""

    R: np.ndarray
    p: np.ndarray
    omega: np.ndarray
    v: np.ndarray
    alpha: np.ndarray
    a: np.ndarray

    def at(self, frame):
        """Return the BodyMotion of a Frame fixed to this body."""
        arm = apply(self.R, frame.position)
        swing = cross(self.omega, arm)
        return BodyMotion(np.einsum('ijb,jk->ikb', self.R, frame.rotation), self.p + arm,
                          self.omega, self.v + swing, self.alpha,
                          self.a + cross(self.alpha, arm) + cross(self.omega, swing))


def cross(x, y):
    """Return the cross products (3, B) of vectors (3, B)."""
    return np.stack([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2],
                     x[0] * y[1] - x[1] * y[0]])


def apply(R, x):
    """Return R x (3, B) for rotations (3, 3, B) and vectors (3,) or (3, B)."""
    x = x[:, None] if x.ndim == 1 else x
    return R[:, 0] * x[0] + R[:, 1] * x[1] + R[:, 2] * x[2]


def frame_of(robot, name):
    """Return the Frame of a link (fixed ones too) of the robot description."""
    frames = [f for f in robot.pin_model.frames if f.name == name]
    links = [f for f in frames if 'BODY' in str(f.type)] or frames
    if not links:
        raise RobotModelError(f'frame {name!r} is not in the robot description',
                              exists=[f.name for f in robot.pin_model.frames
                                      if 'BODY' in str(f.type)])
    place = links[0].placement
    return Frame(name, int(links[0].parentJoint) - 1, np.array(place.rotation),
                 np.array(place.translation))


def body_motions(robot, q, v=None):
    """
    Return the BodyMotions of the base and all bodies, body i at index i + 1.

    q, v : (B, n) joint positions and velocities [rad, m, s]; v is zero by default
    """
    size = len(q)
    zero = np.zeros((3, size))
    still = np.zeros(size)
    eye = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, size))
    out = [BodyMotion(eye, zero, zero, zero, zero, zero)]
    for i, parent in enumerate(robot.parents):
        rate = still if v is None else v[:, i]
        out.append(_step(robot, i, out[parent + 1], q[:, i], rate))
    return out


def _step(robot, i, before, q, rate):
    joint = before.at(Frame('', robot.parents[i], robot.rotations[i], robot.translations[i]))
    axis = apply(joint.R, robot.axes[i])
    if robot.prismatic[i]:
        slide = axis * q
        swing = cross(joint.omega, slide)
        return BodyMotion(
            joint.R, joint.p + slide, joint.omega, joint.v + swing + axis * rate, joint.alpha,
            joint.a + cross(joint.alpha, slide) + cross(joint.omega, swing)
            + 2.0 * cross(joint.omega, axis * rate))
    R = np.einsum('ijb,jkb->ikb', joint.R, rotation_about(robot.axes[i], q))
    spin = axis * rate
    return BodyMotion(R, joint.p, joint.omega + spin, joint.v,
                      joint.alpha + cross(joint.omega, spin), joint.a)


def twists(robot, motions, body, point):
    """
    Yield (joint, velocity (3, B), angular velocity (3, B) or None) of a body for unit joint rates.

    point : (3, B) of the body, in the base frame, whose velocity is meant
    """
    for j in (robot.ancestors(body) if body >= 0 else ()):
        axis = apply(motions[j + 1].R, robot.axes[j])
        if robot.prismatic[j]:
            yield j, axis, None
        else:
            yield j, cross(axis, point - motions[j + 1].p), axis
