"""Robots on their feet beside the quadruped of the demonstration: soles, odometry, other paces."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ros_inertial_id.demonstration.simulated_rigs import quadruped
from ros_inertial_id.simulation import true_robot

ODOMETRY = '/odometry'
TURN_NOISE, VELOCITY_NOISE = 2e-3, 5e-3  # of odometry [rad], [m/s]
SOLE = 0.1, 0.05, 0.005  # [m] half a sole, whose ground side is in the frame of its link
WAVE = 0.5  # [rad] amplitude of joints that carry no foot


@dataclass(frozen=True)
class Manner:
    """
    How a robot sways, beside the quadruped, and what it says of it.

    lifts : whether feet are lifted in turn
    drives : times as strong, and with as much friction; pace : times as fast
    odometry : whether it says how its base moves, too
    """

    lifts: bool = True
    drives: float = 1.0
    pace: float = 1.0
    odometry: bool = False


class OtherRobot(quadruped.StandingRobot):
    """A StandingRobot that sways in a ``manner``; a foot of radius None is a sole."""

    topics = {**quadruped.StandingRobot.topics, ODOMETRY: 'nav_msgs/msg/Odometry'}

    def __init__(
        self,
        true_urdf: str,
        feet: Mapping[str, float | None],
        stand: Mapping[str, float],
        imu_link: str,
        seed: int = 0,
        manner: Manner = Manner(),
    ) -> None:
        self._manner = manner
        self._odometry_noise = np.random.default_rng([seed, 2])
        radii = {foot: radius or 0.0 for foot, radius in feet.items()}
        super().__init__(true_urdf, radii, stand, imu_link, seed)
        self._frequency *= manner.pace
        self._gains *= manner.drives
        viscous, coulomb = self._friction.viscous, self._friction.coulomb
        self._friction = true_robot.JointFriction(manner.drives * viscous, manner.drives * coulomb)
        self.model.dof_armature[6:] *= manner.drives
        rng, shape = np.random.default_rng([seed, 1]), (quadruped.SWAY_HARMONICS, len(self.joints))
        carries_no_foot = np.abs(self._by_trunk).max(axis=1) < 1e-9
        amplitude = rng.uniform(0.4, 1.0, shape) * WAVE / quadruped.SWAY_HARMONICS**0.5
        self._wave = amplitude * carries_no_foot
        self._wave_frequency = manner.pace * rng.uniform(*quadruped.RATES, shape)

    def _shape_of(self, foot: str) -> dict[str, Any]:
        if self._feet[foot]:
            return super()._shape_of(foot)
        box = self._mujoco.mjtGeom.mjGEOM_BOX
        return {'type': box, 'size': list(SOLE), 'pos': [0.0, 0.0, SOLE[2]]}

    def _foot_jacobians(self) -> list[np.ndarray]:
        """Return of each ball (3, 6 + n) of its place, of a sole (6, 6 + n) its turn as well."""
        out = super()._foot_jacobians()
        for k, (foot, radius) in enumerate(self._feet.items()):
            if not radius:
                out[k] = J = np.zeros((6, self.model.nv))
                body = self.data.body(foot).id
                self._mujoco.mj_jacBody(self.model, self.data, J[:3], J[3:], body)
        return out

    def _wanted(self) -> np.ndarray:
        wave = np.sin(2 * np.pi * self._wave_frequency * self.time) * self._wave
        return super()._wanted() + self._ramp() * wave.sum(0)

    def _lift(self) -> np.ndarray:
        if self._manner.lifts:
            return super()._lift()
        return np.zeros(len(self.joints))

    def _sense(self, said, q, v, torque) -> None:
        super()._sense(said, q, v, torque)
        if self._manner.odometry:
            said.setdefault(ODOMETRY, []).append((self.time, self._moves(q, v)))

    def _moves(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return what odometry says of a base at q (7 + n,) that moves with v (6 + n,)."""
        noise = self._odometry_noise.standard_normal
        turn = Rotation.from_quat(np.roll(q[3:7], -1))
        seen = turn * Rotation.from_rotvec(TURN_NOISE * noise(3))
        return {
            'orientation_xyzw': seen.as_quat(),
            'linear_velocity': turn.inv().apply(v[:3]) + VELOCITY_NOISE * noise(3),
            'angular_velocity': v[3:6] + quadruped.GYRO_NOISE * noise(3),
        }
