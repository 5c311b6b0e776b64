"""
Where the bodies of a tree are and how they move, for a block of samples at once.

All vectors are in the base frame, components first and samples last: (3, B), rotations (3, 3, B),
body to base.  Accelerations are those with zero joint accelerations (the bias), without gravity.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pinocchio as pin

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
    omega: Any = None
    v: Any = None
    alpha: Any = None
    a: Any = None

    def at(self, frame: Frame) -> 'BodyMotion':
        """Return the BodyMotion of a Frame fixed to this body."""
        arm = apply(self.R, frame.position)
        R = frame.rotation.T @ self.R
        if self.omega is None:
            return BodyMotion(R, self.p + arm)
        v, a = self.point(arm)
        return BodyMotion(R, self.p + arm, self.omega, v, self.alpha, a)

    def point(self, arm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return velocity and acceleration (3, B) of a point of the body ``arm`` (3, B) away."""
        swing = cross(self.omega, arm)
        return (self.v + swing, self.a + cross(self.alpha, arm) + cross(self.omega, swing))


def cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the cross products (3, ...) of vectors x and y, each (3, ...)."""
    out = x.take(NEXT, 0) * y.take(LAST, 0)
    out -= x.take(LAST, 0) * y.take(NEXT, 0)
    return out


def apply(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return R x (3, B) for rotations (3, 3, B) and vectors (3,) or (3, B)."""
    if x.ndim == 1:
        return x @ R
    return np.einsum('ijb,jb->ib', R, x)


def frame_of(robot: Any, name: str, do: str = '') -> Frame:
    """
    Return the Frame of a link (fixed ones too) of the robot description.

    RobotModelError where the description has none; do : what it advises.
    """
    frames = list(robot.pin_model.frames)
    links = [frame for frame in frames if 'BODY' in str(frame.type)]
    named = [frame for frame in (*links, *frames) if frame.name == name]
    if not named:
        raise RobotModelError(
            f'frame {name!r} is not in the robot description',
            exists=[link.name for link in links],
            do=do or None,
        )
    body, place = int(named[0].parentJoint) - 1, named[0].placement
    return Frame(name, body, np.array(place.rotation), np.array(place.translation))


def body_motions(robot: Any, q: np.ndarray, v: np.ndarray | None = None) -> list[BodyMotion]:
    """
    Return the BodyMotions of the base and all bodies, body i at index i + 1.

    q, v : (B, n) joint positions and velocities [rad, m, s]; without v places only
    """
    samples = len(q)
    zero = np.zeros((3, samples))
    eye = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, samples))
    base, rates = BodyMotion(eye, zero), [None] * len(robot)
    if v is not None:
        base, rates = BodyMotion(eye, zero, zero, zero, zero, zero), v.T
    motions = [base]
    for i, parent in enumerate(robot.parents):
        motions.append(_step(robot, i, motions[parent + 1], q[:, i], rates[i]))
    return motions


def _step(robot, i, before, q, rate):
    """Return the BodyMotion of body i from that of the body before it, joint at q, rate (B,)."""
    axis, arm = robot.axes[i], apply(before.R, robot.translations[i])
    if robot.prismatic[i]:
        R = robot.rotations[i].T @ before.R
        along = apply(R, axis)
        arm = arm + along * q
    else:
        R = np.einsum('ijb,jkb->ikb', before.R, rotation_about(axis, q, robot.rotations[i]))
        along = apply(R, axis)  # which the joint's own rotation leaves where it is
    if rate is None:
        return BodyMotion(R, before.p + arm)
    v, a = before.point(arm)
    along = along * rate
    swing = cross(before.omega, along)
    if robot.prismatic[i]:
        return BodyMotion(
            R, before.p + arm, before.omega, v + along, before.alpha, a + 2.0 * swing
        )
    return BodyMotion(R, before.p + arm, before.omega + along, v, before.alpha + swing, a)


def twists(
    robot: Any, motions: Sequence[BodyMotion], body: int, point: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
    """
    Yield (joint, velocity (3, B), angular velocity (3, B) or None) of a body for unit joint rates.

    point : (3, B) of the body, in the base frame, whose velocity is meant
    robot : RobotModel; motions : of ``body_motions``, with the base first; body : index, -1: base
    """
    for j in robot.ancestors(body):
        axis = apply(motions[j + 1].R, robot.axes[j])
        if robot.prismatic[j]:
            yield j, axis, None
        else:
            yield j, cross(axis, point - motions[j + 1].p), axis


def rotation_about(axis: np.ndarray, q: np.ndarray, before: np.ndarray = np.eye(3)) -> np.ndarray:
    """
    Return the rotations (3, 3, B) by angles q (B,) about a unit axis (Rodrigues), before @.

    axis : (3,); before : (3, 3) rotation that comes first
    """
    turn = np.ones((3, len(q)))
    np.cos(q, out=turn[1])
    np.sin(q, out=turn[2])
    return (_rodrigues(axis.tobytes(), before.tobytes()) @ turn).reshape(3, 3, -1)


@lru_cache(maxsize=512)  # small batches: making it costs more than using it
def _rodrigues(axis: bytes, before: bytes) -> np.ndarray:
    """Return the factors (9, 3) of 1, cosine and sine in the rotations about an axis."""
    along = np.frombuffer(axis)
    outer = np.outer(along, along)
    parts = np.frombuffer(before).reshape(3, 3) @ [outer, np.eye(3) - outer, pin.skew(along)]
    return parts.reshape(3, 9).T


def energy_rows(robot: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """
    Return dH/d(standard parameters) (N, 10 n) of a tree at q, v (N, n), H = T + V [J].

    Its gradient over random states has the base parameters of the mechanism in its columns, too
    (Gautier 1991; closed-loop paper, Sec. 2.1): an independent way to the same groupings.
    The energy has no zero of its own: the mean over the states is taken off every column.
    """
    gravity = np.asarray(robot.gravity_base)[:, None]
    columns = []
    for motion in body_motions(robot, q, v)[1:]:
        turn = np.swapaxes(motion.R, 0, 1)
        velocity, omega, down = (
            apply(turn, x)
            for x in (motion.v, motion.omega, np.broadcast_to(gravity, motion.v.shape))
        )
        # m c . (v x omega) is the coupling of translation and rotation; -m g.(p + R c) potential
        coupling = np.cross(velocity, omega, axis=0)
        x, y, z = omega
        columns += [
            0.5 * (velocity**2).sum(0) - (gravity * motion.p).sum(0),
            *(coupling - down),
            0.5 * x * x,
            x * y,
            0.5 * y * y,
            x * z,
            y * z,
            0.5 * z * z,
        ]
    rows = np.array(columns).T
    return rows - rows.mean(axis=0)
