"""Torques over the range of a robot's joints, of the whole and of a change of one body."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

POSTURES = 24  # at rest, and as many in motion
SPEED, ACCELERATION = 2.0, 5.0  # of hinges [rad/s, rad/s^2], where the limit is not lower
SLOWER = 0.25  # times as much of slides [m/s, m/s^2]
GRAVITY = 9.81  # [m/s^2], downwards in the frame of the root


class MovedBody(NamedTuple):
    """
    A body on its joint.

    parent : number of the body that carries it, -1 for the root; slides : else it turns
    placement : (4, 4) of the joint in the parent's frame [m]; axis : (3,) in the joint's
    lower, upper [rad, m], velocity [rad/s, m/s] : limits, finite
    """

    parent: int
    slides: bool
    placement: np.ndarray
    axis: np.ndarray
    lower: float
    upper: float
    velocity: float


class RangeTorques:
    """Joint torques of a tree of n ``bodies`` whose root is held, at random states."""

    def __init__(self, bodies: Sequence[MovedBody]) -> None:
        self._count = len(bodies)
        model = _pinocchio_tree(bodies)
        data = model.createData()
        random = np.random.default_rng(0)
        n = self._count
        lower, upper, limit = (
            np.array([getattr(body, name) for body in bodies])
            for name in ('lower', 'upper', 'velocity')
        )
        slower = np.where([body.slides for body in bodies], SLOWER, 1.0)
        speed = np.minimum(limit, SPEED * slower)
        columns = []
        for number in range(2 * POSTURES):
            q = random.uniform(lower, upper)
            v, a = np.zeros(n), np.zeros(n)
            if number >= POSTURES:
                v = speed * random.uniform(-1.0, 1.0, n)
                a = ACCELERATION * slower * random.uniform(-1.0, 1.0, n)
            columns.append(pin.computeJointTorqueRegressor(model, data, q, v, a).copy())
        self._columns = np.array(columns).reshape(len(columns), n, n, 10)

    def largest(self, parameters: np.ndarray) -> np.ndarray:
        """Return the largest torque of each joint (n,) of bodies with ``parameters`` (n, 10)."""
        return np.abs(self._torques(parameters)).max(axis=0)

    def holding(self, parameters: np.ndarray) -> np.ndarray:
        """Return the largest torque of each joint (n,) at rest; ``parameters`` : (n, 10)."""
        return np.abs(self._torques(parameters)[:POSTURES]).max(axis=0)

    def of_change(self, body: int, change: np.ndarray) -> np.ndarray:
        """Return the largest change of each joint's torque (n,) by a ``change`` (10,)."""
        return np.abs(self._columns[:, :, body] @ change).max(axis=0)

    def _torques(self, parameters: np.ndarray) -> np.ndarray:
        """Return torques (states, n) of bodies with ``parameters`` (n, 10)."""
        return np.einsum('sjbp,bp->sj', self._columns, parameters)


def _pinocchio_tree(bodies: Sequence[MovedBody]) -> pin.Model:
    """Return pinocchio's model of ``bodies`` without masses, gravity downwards."""
    model = pin.Model()
    for number, body in enumerate(bodies):
        kind = pin.JointModelRevoluteUnaligned
        if body.slides:
            kind = pin.JointModelPrismaticUnaligned
        place = pin.SE3(body.placement[:3, :3], body.placement[:3, 3])
        model.addJoint(body.parent + 1, kind(body.axis), place, f'joint{number}')
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    return model
