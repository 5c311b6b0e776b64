"""
Limits of robots that their URDF does not hold, from their makers' published figures.

Found by the names of the joints, whatever their prefix; they only ever tighten what URDF and
options allow.  Velocities that depend on the position (Franka Research 3):

    |v| <= -offset + sqrt(gain * distance to the end)     towards either end of the range
"""

from collections.abc import Sequence
from dataclasses import dataclass
import re

import numpy as np


@dataclass(frozen=True)
class MakerLimits:
    """
    Published limits of n joints.

    name, source : of the robot, of the figures
    lower, upper [rad], velocity [rad/s], acceleration [rad/s^2] : (n,)
    offset [rad/s], gain [rad/s^2] : (n,) of the velocity that depends on the position; gain inf
        where it does not
    low_end, high_end : (n,) ends that it is counted from [rad]
    """

    name: str
    source: str
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    offset: np.ndarray
    gain: np.ndarray
    low_end: np.ndarray
    high_end: np.ndarray


# franka_description 1.0 (b299b39), robots/fr3/joint_limits.yaml: position, velocity.
# libfranka 0.15 (155ddac), include/franka/rate_limiting.h: acceleration and
# computeUpperLimitsJointVelocity, as in https://frankaemika.github.io/docs/control_parameters.html
FR3 = MakerLimits(
    'Franka Research 3', 'franka_description and libfranka rate_limiting.h',
    np.array([-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159]),
    np.array([2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159]),
    np.array([2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26]), np.full(7, 10.0),
    np.array([0.30, 0.20, 0.20, 0.30, 0.35, 0.35, 0.35]),
    np.array([12.0, 5.17, 7.0, 8.0, 34.0, 11.0, 34.0]),
    np.array([-2.7501, -1.7918, -2.9065, -3.0481, -2.8101, 0.54092, -3.0196]),
    np.array([2.7501, 1.7918, 2.9065, -0.1458, 2.8101, 4.5205, 3.0196]))
# franka_description 1.0 (b299b39), robots/fer/joint_limits.yaml: position, velocity.
# https://frankaemika.github.io/docs/control_parameters.html, limits for Panda: acceleration
FER = MakerLimits(
    'Franka Emika Robot (Panda)', 'franka_description and the control parameters of its manual',
    np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]),
    np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]),
    np.array([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61]),
    np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]), np.zeros(7), np.full(7, np.inf),
    np.full(7, -np.inf), np.full(7, np.inf))
ROBOTS = {r'fr3_joint([1-7])$': FR3, r'(?:panda|fer)_joint([1-7])$': FER}


def maker_limits(joint_names: Sequence[str]) -> tuple[MakerLimits, np.ndarray] | None:
    """Return the MakerLimits of a robot by its ``joint_names`` (n,) and their indices, or None."""
    for pattern, limits in ROBOTS.items():
        matches = [re.search(pattern, name) for name in joint_names]
        if all(matches):
            return limits, np.array([int(m[1]) - 1 for m in matches if m])
    return None
