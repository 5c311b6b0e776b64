"""
A quadruped rig: MuJoCo lets it sway on its feet, which slide as they like; an IMU is in its trunk.

A stiff position controller holds the joints where the trunk's sway asks for, to first order, and
feet are lifted in turn.  Encoders, torque sensors, the IMU (a clock of its own) and the forces of
the feet have the noise of real ones.  What the robot weighs differs from its description.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .models import add_sensors, compiled_on_ground, IMU_SENSORS, spec_of
from .samples import channels_of, IMU, JOINT_STATE, REPORT_STEP, Samples, SYMBOLS
from ...measurement.recording import Channel
from ...simulation import true_robot
from ...simulation.rigid_bodies import _mujoco, ten_parameters

INTEGRATION_STEP = 5e-4  # [s] of the simulation
STEPS_A_SAMPLE = 4  # steps from sample to sample: 500 Hz
STIFF = (0.005, 1.0)  # solref of the ground
GRIP = [1.2, 0.005, 1e-4]  # friction of a foot on the ground
ENCODER_NOISE, TORQUE_NOISE, FORCE_NOISE = 1e-4, 0.1, 1.0  # [rad], [N m], [N]
GYRO_NOISE, ACCELEROMETER_NOISE = 3e-3, 0.05  # [rad/s], [m/s^2]
IMU_DELAY = 4e-3  # [s] that its stamps are late
GAINS = 150.0, 4.0  # [N m/rad], [N m s/rad] of all joints
DAMPING, DRY, ARMATURE = 0.2, 0.3, 0.01  # the same [N m s/rad, N m, kg m^2]
SWAY_HARMONICS = 3  # of the sway along each of six directions
SWAY = np.array([0.03, 0.03, 0.025, 0.15, 0.12, 0.2])  # [m], [rad] amplitudes of x y z, turns
RATES = 0.3, 2.2  # [Hz] lowest and highest of the sway
UNTIL_FULL_SWAY = 2.0  # [s] until the sway is full
STEP_PERIOD, STEP_HEIGHT = 2.0, 0.04  # [s] from foot to foot, [m] that one is lifted
STATES, BASE_IMU, FEET_FORCES = '/joint_states', '/imu', '/feet'
LEGS = ('fl', 'fr', 'rl', 'rr')
FEET = tuple(f'{leg}_foot' for leg in LEGS)
LEG, LEG_STAND = ('hip', 'thigh', 'calf'), (0.0, 0.8, -1.6)  # joints, positions [rad]
STAND = LEG_STAND * len(LEGS)


class StandingRobot:
    """
    A robot that stands on its feet.

    true_urdf : text of what it really is
    feet : {link: radius [m] of its ball}
    stand : {joint: position [rad]} that it sways about, 0 of others
    seed : of everything random
    model, data : MuJoCo's
    """

    step = REPORT_STEP
    topics = {STATES: JOINT_STATE, BASE_IMU: IMU, FEET_FORCES: JOINT_STATE}

    def __init__(
        self,
        true_urdf: str,
        feet: Mapping[str, float],
        stand: Mapping[str, float],
        imu_link: str,
        seed: int = 0,
    ) -> None:
        self._mujoco = _mujoco()
        self._rng = np.random.default_rng(seed)
        self._feet, self._imu_link = dict(feet), imu_link
        self.model = self._compile(true_urdf)
        self.data = self._mujoco.MjData(self.model)
        self.joints = tuple(self.model.joint(k).name for k in range(1, self.model.njnt))
        self.stand = np.array([stand.get(joint, 0.0) for joint in self.joints])
        self._place()
        jacobians = self._foot_jacobians()
        self._holding = self._static_torques(np.vstack(jacobians))
        self._by_trunk, self._by_foot = self._leg_motions(jacobians)
        shape = (SWAY_HARMONICS, 6)
        self._amplitude = self._rng.uniform(0.4, 1.0, shape) * SWAY / SWAY_HARMONICS**0.5
        self._frequency = self._rng.uniform(*RATES, shape)
        self._phase = self._rng.uniform(0.0, 2 * np.pi, shape)
        self._gains = np.array(GAINS)
        every = np.ones(len(self.joints))
        self._friction = true_robot.JointFriction(DAMPING * every, DRY * every)
        self._count = 0

    def _compile(self, urdf: str) -> Any:
        """Return the model of a URDF text on a plane, with what its feet touch it by."""
        mujoco, spec = self._mujoco, spec_of(urdf)
        spec.worldbody.first_body().add_freejoint()
        plane = mujoco.mjtGeom.mjGEOM_PLANE
        spec.worldbody.add_geom(name='ground', type=plane, size=[5.0, 5.0, 0.1])
        for foot in self._feet:
            shape = self._shape_of(foot)
            spec.body(foot).add_geom(name=foot, mass=0.0, friction=GRIP, **shape)
        add_sensors(spec, spec.body(self._imu_link), 'imu', IMU_SENSORS)
        return compiled_on_ground(spec, INTEGRATION_STEP, STIFF, ARMATURE)

    def _shape_of(self, foot: str) -> dict[str, Any]:
        """Return the type and size of the geom of a ``foot``."""
        return {'type': self._mujoco.mjtGeom.mjGEOM_SPHERE, 'size': [self._feet[foot], 0, 0]}

    def _place(self) -> None:
        """Put the robot with its feet on the ground."""
        self.data.qpos[3:7] = 1.0, 0.0, 0.0, 0.0
        self.data.qpos[7:] = self.stand
        self._mujoco.mj_forward(self.model, self.data)
        heights = [self.data.body(f).xpos[2] - radius for f, radius in self._feet.items()]
        self.data.qpos[2] -= min(heights)
        self._mujoco.mj_forward(self.model, self.data)

    def _foot_jacobians(self) -> list[np.ndarray]:
        """Return of each foot (3, 6 + n) of its place: which way a ball is turned is no matter."""
        out = []
        for foot in self._feet:
            J = np.zeros((3, self.model.nv))
            self._mujoco.mj_jacBody(self.model, self.data, J, None, self.data.body(foot).id)
            out.append(J)
        return out

    def _static_torques(self, J: np.ndarray) -> np.ndarray:
        """Return torques (n,) [N m] that hold the robot still; J (c, 6 + n) of all feet."""
        weight = self.data.qfrc_bias
        forces = np.linalg.lstsq(J[:, :6].T, weight[:6], rcond=None)[0]
        return weight[6:] - J[:, 6:].T @ forces

    def _leg_motions(self, jacobians: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return joint changes by those of the trunk (n, 6), and by each foot's place (n, 3)."""
        by_trunk, by_foot = np.zeros((self.model.nv - 6, 6)), []
        for J in jacobians:
            by_place = np.linalg.pinv(J[:, 6:], rcond=1e-3)
            by_trunk -= by_place @ J[:, :6]
            by_foot.append(by_place)
        return by_trunk, by_foot

    @property
    def time(self) -> float:
        """Return the time since the start [s]."""
        return self._count * INTEGRATION_STEP

    @property
    def truth(self) -> dict[str, float]:
        """Return the ten parameters of every body, the trunk's first, and friction of joints."""
        out = {}
        moved = [k for k in range(1, self.model.nbody) if self.model.body(k).jntnum[0]]
        for number, k in enumerate(moved):
            parts = range(k, self.model.nbody)
            ten = np.sum([self._ten(part, k) for part in parts], axis=0)
            out.update({f'{s}{number}': float(x) for s, x in zip(SYMBOLS, ten)})
        for joint in range(len(self.joints)):
            out[f'fv{joint + 1}'] = float(self._friction.viscous[joint])
            out[f'fc{joint + 1}'] = float(self._friction.coulomb[joint])
            out[f'Ia{joint + 1}'] = float(self.model.dof_armature[6 + joint])
        return out

    def _ten(self, part: int, body: int) -> np.ndarray:
        """Return the ten parameters of a ``part`` in the frame of the ``body`` it is fixed to."""
        place, R = np.zeros(3), np.eye(3)
        of_part = self.model.body(part)
        at = part
        while at != body:
            if self.model.body(at).jntnum[0] or not at:
                return np.zeros(10)  # another body's
            turn = Rotation.from_quat(np.roll(self.model.body(at).quat, -1)).as_matrix()
            place, R = self.model.body(at).pos + turn @ place, turn @ R
            at = int(self.model.body(at).parentid[0])
        axes = R @ Rotation.from_quat(np.roll(of_part.iquat, -1)).as_matrix()
        central = axes @ np.diag(of_part.inertia) @ axes.T
        return ten_parameters(of_part.mass[0], place + R @ of_part.ipos, central)

    def advance(self, duration: float = REPORT_STEP) -> dict[str, Channel]:
        """Move on by ``duration`` [s]; return {topic: Channel} of what was measured."""
        data, said = self.data, Samples()
        for _ in range(round(duration / INTEGRATION_STEP)):
            spring, damper = self._gains
            torque = spring * (self._wanted() - data.qpos[7:]) - damper * data.qvel[6:]
            torque += self._holding
            q, v = data.qpos.copy(), data.qvel.copy()
            data.qfrc_applied[6:] = torque - self._friction.torque(v[6:])
            self._mujoco.mj_step(self.model, data)  # whose sensors read the instant before
            if self._count % STEPS_A_SAMPLE == 0:
                self._sense(said, q, v, torque)
            self._count += 1
        return self._channels(said)

    def _channels(self, said: Samples) -> dict[str, Channel]:
        """Return {topic: Channel} of what was ``said``, each with its own names."""
        out: dict[str, Channel] = {}
        names = {STATES: self.joints, FEET_FORCES: tuple(self._feet)}
        for topic, samples in said.items():
            of_topic, named = {topic: samples}, names.get(topic, ())
            out |= channels_of(of_topic, self.topics, named, self._imu_link)
        return out

    def _wanted(self) -> np.ndarray:
        """Return the joint positions (n,) that the controller holds now."""
        waves = np.sin(2 * np.pi * self._frequency * self.time + self._phase) * self._amplitude
        return self.stand + self._ramp() * (self._by_trunk @ waves.sum(0) + self._lift())

    def _ramp(self) -> float:
        """Return the share of the full sway that is reached."""
        return min(1.0, self.time / UNTIL_FULL_SWAY)

    def _lift(self) -> np.ndarray:
        """Return the joint changes (n,) that lift the foot whose turn it is."""
        turn, phase = divmod(self.time / STEP_PERIOD, 1.0)
        foot = self._by_foot[int(turn) % len(self._by_foot)]
        share = np.sin(np.pi * np.clip(2.0 * phase - 0.5, 0.0, 1.0)) ** 2
        return STEP_HEIGHT * share * foot[:, 2]

    def _sense(self, said: Samples, q: np.ndarray, v: np.ndarray, torque: np.ndarray) -> None:
        """Add what sensors read at q (7 + n,), v (6 + n,) under a ``torque`` (n,) of joints."""
        noise, now = self._rng.standard_normal, self.time
        count = len(self.joints)
        joint_states = {
            'position': q[7:] + ENCODER_NOISE * noise(count),
            'effort': torque + TORQUE_NOISE * noise(count),
        }
        gyro, accelerometer = np.split(self.data.sensordata, 2)
        imu = {
            'angular_velocity': gyro + GYRO_NOISE * noise(3),
            'linear_acceleration': accelerometer + ACCELEROMETER_NOISE * noise(3),
        }
        forces = {'effort': self._forces() + FORCE_NOISE * noise(len(self._feet))}
        said.setdefault(STATES, []).append((now, joint_states))
        said.setdefault(BASE_IMU, []).append((now + IMU_DELAY, imu))
        said.setdefault(FEET_FORCES, []).append((now, forces))

    def _forces(self) -> np.ndarray:
        """Return the forces (feet,) [N] of the ground on the feet, along its normal."""
        out, wrench = dict.fromkeys(self._feet, 0.0), np.zeros(6)
        for k in range(self.data.ncon):
            self._mujoco.mj_contactForce(self.model, self.data, k, wrench)
            for geom in self.data.contact[k].geom:
                name = self.model.geom(int(geom)).name
                if name in out:
                    out[name] += wrench[0]
        return np.array(list(out.values()))


class Quadruped(StandingRobot):
    """The quadruped of the demonstration, whose masses are up to 20 % off its ``description``."""

    urdf = 'quadruped'

    def __init__(self, description: str, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        truth = true_robot.perturbed_urdf(true_robot.parse(description), rng, 0.2, 0.1, 0.05)
        feet = dict.fromkeys(FEET, 0.02)
        joints = [f'{leg}_{joint}' for leg in LEGS for joint in LEG]
        super().__init__(truth, feet, dict(zip(joints, STAND)), 'imu_link', seed)
