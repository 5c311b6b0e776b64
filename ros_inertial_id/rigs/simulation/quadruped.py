"""
A quadruped rig: MuJoCo lets it sway on its feet, which slide as they like; an IMU is in its trunk.

A stiff position controller holds the joints where the trunk's sway asks for, to first order; feet
are lifted in turn, and joints that carry none are waved about.  Encoders, torque sensors, the IMU
(a clock of its own) and the forces of the feet have the noise of real ones.  What the robot weighs
differs from its description.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
import xml.etree.ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from .sensors import channels_of, IMU, JOINT_STATE, REPORT_STEP, Samples, SYMBOLS
from ...measurement.recording import Channel
from ...simulation import true_robot
from ...simulation.rigid_bodies import _mujoco, bare, ten_parameters

INTEGRATION_STEP = 5e-4  # [s] of the simulation
STEPS_A_SAMPLE = 4  # steps from sample to sample: 500 Hz
STIFF = (0.005, 1.0)  # solref of the ground
ENCODER_NOISE, TORQUE_NOISE, FORCE_NOISE = 1e-4, 0.1, 1.0  # [rad], [N m], [N]
GYRO_NOISE, ACCELEROMETER_NOISE = 3e-3, 0.05  # [rad/s], [m/s^2]
TURN_NOISE, VELOCITY_NOISE = 2e-3, 5e-3  # of odometry [rad], [m/s]
IMU_DELAY = 4e-3  # [s] that its stamps are late
GAINS = 150.0, 4.0  # [N m/rad], [N m s/rad] of all joints, of drives of size one
DAMPING, DRY, ARMATURE = 0.2, 0.3, 0.01  # the same [N m s/rad, N m, kg m^2]
SOLE = 0.1, 0.05, 0.005  # [m] half a sole, whose ground side is in the frame of its link
WAVE = 0.5  # [rad] amplitude of joints that carry no foot
SWAY_HARMONICS = 3  # of the sway along each of six directions
SWAY = np.array([0.03, 0.03, 0.025, 0.15, 0.12, 0.2])  # [m], [rad] amplitudes of x y z, turns
RATES = 0.3, 2.2  # [Hz] lowest and highest of the sway
UNTIL_FULL_SWAY = 2.0  # [s] until the sway is full
STEP_PERIOD, STEP_HEIGHT = 2.0, 0.04  # [s] from foot to foot, [m] that one is lifted
STATES, BASE_IMU, FEET_FORCES = '/joint_states', '/imu', '/feet'
ODOMETRY, OF_BASE = '/odometry', 'nav_msgs/msg/Odometry'
LEGS = ('fl', 'fr', 'rl', 'rr')
FEET = tuple(f'{leg}_foot' for leg in LEGS)
LEG, LEG_STAND = ('hip', 'thigh', 'calf'), (0.0, 0.8, -1.6)  # joints, positions [rad]
STAND = LEG_STAND * len(LEGS)


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


class StandingRobot:
    """
    A robot on its feet near what a URDF text ``description`` says.

    feet : {link: radius [m] of its ball, None of a sole}
    stand : {joint: position [rad]} that it sways about, 0 of others
    seed : of everything random; true_urdf : of what it really is
    manner : how it sways
    """

    step = REPORT_STEP
    topics = {STATES: JOINT_STATE, BASE_IMU: IMU, FEET_FORCES: JOINT_STATE}

    def __init__(
        self,
        true_urdf: str,
        feet: Mapping[str, float | None],
        stand: Mapping[str, float],
        imu_link: str,
        seed: int = 0,
        manner: Manner = Manner(),
    ) -> None:
        self._mujoco = _mujoco()
        self._rng = np.random.default_rng(seed)
        self._feet, self._imu_link, self._lifts = dict(feet), imu_link, manner.lifts
        self._drives, self._odometry = manner.drives, manner.odometry
        self._odometry_noise = np.random.default_rng([seed, 2])
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
        self._frequency = manner.pace * self._rng.uniform(*RATES, shape)
        self._phase = self._rng.uniform(0.0, 2 * np.pi, shape)
        self._wave, self._wave_frequency = self._waves(np.random.default_rng([seed, 1]))
        self._wave_frequency *= manner.pace
        size = manner.drives * np.ones(len(self.joints))
        self._friction = true_robot.JointFriction(DAMPING * size, DRY * size)
        self._count = 0

    def _compile(self, urdf: str) -> Any:
        """Return the model of a URDF text on a plane, with balls and soles as feet."""
        mujoco, robot = self._mujoco, bare(urdf)
        settings = ET.SubElement(robot, 'mujoco')
        ET.SubElement(settings, 'compiler', fusestatic='false', discardvisual='false')
        spec = mujoco.MjSpec.from_string(ET.tostring(robot, encoding='unicode'))
        root = spec.worldbody.first_body()
        root.add_freejoint()
        plane, ball = mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_SPHERE
        grip = {'mass': 0.0, 'friction': [1.2, 0.005, 1e-4]}
        spec.worldbody.add_geom(name='ground', type=plane, size=[5.0, 5.0, 0.1])
        for foot, radius in self._feet.items():
            shape = {'type': ball, 'size': [radius or 0.0, 0, 0]}
            if radius is None:
                box = mujoco.mjtGeom.mjGEOM_BOX
                shape = {'type': box, 'size': list(SOLE), 'pos': [0, 0, SOLE[2]]}
            spec.body(foot).add_geom(name=foot, **shape, **grip)
        spec.body(self._imu_link).add_site(name='imu')
        for kind in ('GYRO', 'ACCELEROMETER'):
            spec.add_sensor(
                name=kind.lower(),
                type=getattr(mujoco.mjtSensor, f'mjSENS_{kind}'),
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname='imu',
            )
        model = spec.compile()
        model.opt.gravity[:] = 0.0, 0.0, -9.81
        model.opt.timestep = INTEGRATION_STEP
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
        model.geom_solref[:] = STIFF
        model.dof_armature[6:] = ARMATURE * self._drives
        return model

    def _place(self) -> None:
        """Put the robot with its feet on the ground."""
        self.data.qpos[3:7] = 1.0, 0.0, 0.0, 0.0
        self.data.qpos[7:] = self.stand
        self._mujoco.mj_forward(self.model, self.data)
        heights = [self.data.body(f).xpos[2] - (r or 0.0) for f, r in self._feet.items()]
        self.data.qpos[2] -= min(heights)
        self._mujoco.mj_forward(self.model, self.data)

    def _foot_jacobians(self) -> list[np.ndarray]:
        """Return of each foot (3, 6 + n) of its place, of a sole (6, 6 + n) its turn as well."""
        out = []
        for foot, radius in self._feet.items():
            J = np.zeros((6, self.model.nv))
            body = self.data.body(foot).id
            self._mujoco.mj_jacBody(self.model, self.data, J[:3], J[3:], body)
            out.append(J)
            if radius is not None:
                out[-1] = J[:3]  # which way a ball is turned does not matter
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

    def _waves(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return amplitudes [rad] and frequencies [Hz] (harmonics, n) of joints without feet."""
        shape = (SWAY_HARMONICS, len(self.joints))
        free = np.abs(self._by_trunk).max(axis=1) < 1e-9
        amplitude = rng.uniform(0.4, 1.0, shape) * WAVE / SWAY_HARMONICS**0.5
        return amplitude * free, rng.uniform(*RATES, shape)

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
        for joint in range(1, len(self.joints) + 1):
            drive = {f'fv{joint}': DAMPING, f'fc{joint}': DRY, f'Ia{joint}': ARMATURE}
            out |= {name: self._drives * value for name, value in drive.items()}
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
            torque = GAINS[0] * (self._wanted() - data.qpos[7:]) - GAINS[1] * data.qvel[6:]
            torque = self._holding + self._drives * torque
            q, v = data.qpos.copy(), data.qvel.copy()
            data.qfrc_applied[6:] = torque - self._friction.torque(v[6:])
            self._mujoco.mj_step(self.model, data)  # whose sensors read the instant before
            if self._count % STEPS_A_SAMPLE == 0:
                self._sense(said, q[7:], torque)
                if self._odometry:
                    said.setdefault(ODOMETRY, []).append((self.time, self._moves(q, v)))
            self._count += 1
        return self._channels(said)

    def _channels(self, said: Samples) -> dict[str, Channel]:
        """Return {topic: Channel} of what was ``said``, each with its own names."""
        out: dict[str, Channel] = {}
        names = {STATES: self.joints, FEET_FORCES: tuple(self._feet)}
        for topic, samples in said.items():
            of_topic, named = {topic: samples}, names.get(topic, ())
            out |= channels_of(of_topic, {**self.topics, ODOMETRY: OF_BASE}, named, self._imu_link)
        return out

    def _wanted(self) -> np.ndarray:
        """Return the joint positions (n,) that the controller holds now."""
        t = self.time
        ramp = min(1.0, t / UNTIL_FULL_SWAY)
        waves = np.sin(2 * np.pi * self._frequency * t + self._phase) * self._amplitude
        wave = np.sin(2 * np.pi * self._wave_frequency * t) * self._wave
        q = self.stand + ramp * (self._by_trunk @ waves.sum(0) + wave.sum(0))
        if self._lifts:
            turn, phase = divmod(t / STEP_PERIOD, 1.0)
            foot = self._by_foot[int(turn) % len(self._by_foot)]
            lift = np.sin(np.pi * np.clip(2.0 * phase - 0.5, 0.0, 1.0)) ** 2
            q = q + ramp * STEP_HEIGHT * lift * foot[:, 2]
        return q

    def _moves(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return what odometry says of a base at q (7 + n,) that moves with v (6 + n,)."""
        noise = self._odometry_noise.standard_normal
        turn = Rotation.from_quat(np.roll(q[3:7], -1))
        seen = turn * Rotation.from_rotvec(TURN_NOISE * noise(3))
        return {
            'orientation_xyzw': seen.as_quat(),
            'linear_velocity': turn.inv().apply(v[:3]) + VELOCITY_NOISE * noise(3),
            'angular_velocity': v[3:6] + GYRO_NOISE * noise(3),
        }

    def _sense(self, said: Samples, q: np.ndarray, torque: np.ndarray) -> None:
        """Add what the sensors read of joints at q under ``torque``, each (n,)."""
        noise, now = self._rng.standard_normal, self.time
        count = len(q)
        joint_states = {
            'position': q + ENCODER_NOISE * noise(count),
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
