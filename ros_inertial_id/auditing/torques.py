"""Torques of a robot as described, over the range of its joints."""

from functools import cached_property

import numpy as np

from .described import Described, DescribedInertia, DescribedJoint
from ..dynamics.inertial_parameters import about_origin
from ..dynamics.range_torques import MovedBody, RangeTorques

TURN, STROKE, SPEED = np.pi, 0.5, 10.0  # range and speed of joints without limits [rad, m, 1/s]


class DescribedTorques:
    """
    Torques of the joints of a ``robot`` whose roots are held.

    joints : the n that move, each with the body that it carries
    """

    def __init__(self, robot: Described) -> None:
        self._robot = robot
        carriers = {
            link: robot.carrier[link] for link in robot.in_order() if link in robot.carrier
        }
        moving = {link: joint for link, joint in carriers.items() if joint.moves}
        self.joints = list(moving.values())
        self._numbers = {link: number for number, link in enumerate(moving)}

    @cached_property
    def _range(self) -> RangeTorques:
        return RangeTorques([self._moved_body(joint) for joint in self.joints])

    def _moved_body(self, joint: DescribedJoint) -> MovedBody:
        """Return the body on a ``joint``."""
        base = self._robot.body_of[joint.parent]
        lower, upper = _range(joint)
        velocity = SPEED
        if 0.0 < joint.velocity < np.inf:
            velocity = joint.velocity
        return MovedBody(
            parent=self._numbers.get(base, -1),
            slides=joint.slides,
            placement=self._robot.placement_in(joint.parent, base) @ joint.placement,
            axis=joint.axis,
            lower=lower,
            upper=upper,
            velocity=velocity,
        )

    @cached_property
    def _parameters(self) -> np.ndarray:
        """Return the ten parameters of each body (n, 10)."""
        parameters = np.zeros((len(self.joints), 10))
        for link, inertia in self._robot.inertias.items():
            if not self.is_held(link):
                parameters[self._number(link)] += self._of_body(link, inertia)
        return parameters

    def is_held(self, link: str) -> bool:
        """Return whether a ``link`` is part of a root, which makes no torque."""
        return self._robot.body_of[link] not in self._numbers

    def _number(self, link: str) -> int:
        """Return the number of the joint that moves a ``link``."""
        return self._numbers[self._robot.body_of[link]]

    def _of_body(self, link: str, inertia: DescribedInertia) -> np.ndarray:
        """Return the ten parameters (10,) of an ``inertia`` of a ``link`` in its body's frame."""
        T = self._robot.placement_in(link, self._robot.body_of[link])
        R = T[:3, :3]
        centre = R @ inertia.centre + T[:3, 3]
        return about_origin(inertia.mass, centre, R @ inertia.tensor @ R.T)

    @cached_property
    def largest(self) -> np.ndarray:
        """Return the largest torque of each joint (n,) [N m, N]."""
        return self._range.largest(self._parameters)

    @cached_property
    def holding(self) -> np.ndarray:
        """Return the largest torque of each joint (n,) at rest [N m, N]."""
        return self._range.holding(self._parameters)

    def of_change(self, link: str, better: DescribedInertia) -> np.ndarray:
        """Return the largest change of each joint's torque (n,) by a ``better`` inertia."""
        change = self._of_body(link, self._robot.links[link].inertia) - self._of_body(link, better)
        return self._range.of_change(self._number(link), change)


def _range(joint: DescribedJoint) -> tuple[float, float]:
    """Return lower and upper of a ``joint``, those of a turn or stroke where it has none."""
    default = TURN
    if joint.slides:
        default = STROKE
    limits = np.array([joint.lower, joint.upper])
    is_range = np.isfinite(limits).all() and joint.lower <= joint.upper
    if joint.kind == 'continuous' or not is_range:
        return -default, default
    lower, upper = np.clip(limits, -2.0 * default, 2.0 * default)
    return float(lower), float(upper)
