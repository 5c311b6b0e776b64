"""
Where the bodies of a tree are and how they move, for a block of samples at once.

All vectors are in the base frame, components first and samples last: (3, B), rotations (3, 3, B),
body to base.  Accelerations are those with zero joint accelerations (the bias), without gravity.
"""

from dataclasses import dataclass

import numpy as np

from .regressor import rotation_about
from ..errors import RobotModelError

NEXT, LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


@dataclass(frozen=True)
class Frame:
    """A frame fixed to body ``body`` (-1: base): rotation (3, 3) and position (3,) in it [m]."""

    name: str
    body: int
    rotation: np.ndarray
    position: np.ndarray


@dataclass(frozen=True)
class BodyMotion:
    """
    R (3, 3, B), p (3, B) [m] of the joint frame; omega, v, alpha, a (3, B) of its origin.

    The latter are None where only places were asked for.
    """

    R: np.ndarray
    p: np.ndarray
    omega: np.ndarray = None
    v: np.ndarray = None
    alpha: np.ndarray = None
    a: np.ndarray = None

    def at(self, frame):
        """Return the BodyMotion of a Frame fixed to this body."""
        arm = apply(self.R, frame.position)
        R = np.einsum('ijb,jk->ikb', self.R, frame.rotation)
        if self.omega is None:
            return BodyMotion(R, self.p + arm)
        swing = cross(self.omega, arm)
        return BodyMotion(R, self.p + arm, self.omega, self.v + swing, self.alpha,
                          self.a + cross(self.alpha, arm) + cross(self.omega, swing))


def cross(x, y):
    """Return the cross products (3, B) of vectors (3, B)."""
    return (x.take(NEXT, 0) * y.take(LAST, 0)) - (x.take(LAST, 0) * y.take(NEXT, 0))


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

    q, v : (B, n) joint positions and velocities [rad, m, s]; without v places only
    """
    size = len(q)
    zero = np.zeros((3, size))
    eye = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, size))
    out = [BodyMotion(eye, zero) if v is None else BodyMotion(eye, zero, zero, zero, zero, zero)]
    for i, parent in enumerate(robot.parents):
        out.append(_step(robot, i, out[parent + 1], q[:, i], None if v is None else v[:, i]))
    return out


def _step(robot, i, before, q, rate):
    joint = before.at(Frame('', robot.parents[i], robot.rotations[i], robot.translations[i]))
    if robot.prismatic[i]:
        slide = apply(joint.R, robot.axes[i]) * q
        R, p = joint.R, joint.p + slide
    else:
        R = np.einsum('ijb,jkb->ikb', joint.R, rotation_about(robot.axes[i], q))
        p = joint.p
    if rate is None:
        return BodyMotion(R, p)
    along = apply(joint.R, robot.axes[i]) * rate
    if robot.prismatic[i]:
        swing = cross(joint.omega, slide)
        return BodyMotion(R, p, joint.omega, joint.v + swing + along, joint.alpha,
                          joint.a + cross(joint.alpha, slide) + cross(joint.omega, swing)
                          + 2.0 * cross(joint.omega, along))
    return BodyMotion(R, p, joint.omega + along, joint.v,
                      joint.alpha + cross(joint.omega, along), joint.a)


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
