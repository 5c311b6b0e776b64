"""
A slider-crank rig: MuJoCo moves it, a camera sees markers, an IMU is on the connecting rod.

A controller turns the crank along 6 t + sin(2 pi 1.5 t) + 0.5 sin(2 pi 2.5 t).  Every sensor has
its own rate, noise and clock; the camera loses frames.  The rig advances by any time step, so the
same code feeds a node and a test.
"""

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .closed_mechanism import ClosedMechanism
from .sensors import channel, IMU as IMU_TYPE, JOINT_STATE, POINT, POSE, stamps, WRENCH
from ...measurement.recording import Channel, Recording
from ...simulation import true_robot

STEP = 1.25e-4                 # [s] of the simulation: 800 Hz and 1 kHz are whole numbers of it
RAMP = 0.5                     # [s] from rest to the full motion
GAINS = 40.0, 0.8              # [N m/rad], [N m s/rad] of the crank's controller
START = 0.5                    # [rad] crank angle
MARKER_RATE, IMU_RATE, TORQUE_RATE = 800.0, 800.0, 1000.0  # [Hz], that of the encoder too
DROPPED = 0.01                 # share of the camera's frames
ENCODER_NOISE, TORQUE_NOISE = 1e-3, 1e-2  # [rad], [N m]
MARKER_NOISE, TAG_NOISE = 1e-4, 2e-3  # [m], [rad]
GYRO_NOISE, ACCELEROMETER_NOISE = 5e-3, 0.05  # [rad/s], [m/s^2]
GYRO_BIAS = 0.01               # [rad/s] of every axis
CAMERA_DELAY, IMU_DELAY = 5e-3, 2e-3  # [s] that stamps are late
CLOSURES = ('point slider_pin rod_end',)
POINT_MARKERS = {'/markers/crank_pin': 'rod_link', '/markers/slider_pin': 'slider_link'}
TAGS = {'/markers/rod_tag': 'rod_tag'}
IMU = '/rod/imu'
TORQUE = '/crank/torque'
JOINTS = '/joint_states'
TOPICS = {**dict.fromkeys(POINT_MARKERS, POINT), **dict.fromkeys(TAGS, POSE), IMU: IMU_TYPE,
          TORQUE: WRENCH, JOINTS: JOINT_STATE}


class SliderCrankRig:
    """
    The rig, from rest.

    urdf : text of urdf/slider_crank.urdf; seed : of everything random
    mass_change : largest relative change of a link's mass against the description
    true_urdf : what it really is; mechanism : the ClosedMechanism, an oracle for tests
    true_torques : [(time [s], crank torque [N m]), ...] of the last advance, without noise
    """

    def __init__(self, urdf, seed=0, mass_change=0.25):
        self.urdf = urdf
        self._rng = np.random.default_rng(seed)
        robot = true_robot.parse(urdf)
        self.true_urdf = true_robot.perturbed_urdf(robot, self._rng, mass_change, 0.0, 0.0)
        self.mechanism = ClosedMechanism(self.true_urdf, CLOSURES, step=STEP)
        rod = -START - np.arcsin(0.08 / 0.25 * np.sin(START))
        self.mechanism.place({'crank': START, 'rod': rod,
                              'slider': 0.08 * np.cos(START) + 0.25 * np.cos(START + rod)})
        self._count = 0
        rates = {'camera': MARKER_RATE, IMU: IMU_RATE, TORQUE: TORQUE_RATE}
        self._every = {sensor: 1.0 / rate for sensor, rate in rates.items()}
        self._next = dict.fromkeys(rates, 0)

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self._count * STEP

    def advance(self, duration: float) -> dict[str, Channel]:
        """Return {topic: Channel} of what the sensors say in the next ``duration`` [s]."""
        said: dict[str, list[Any]] = {}
        self.true_torques: list[tuple[float, float]] = []
        for _ in range(int(round(duration / STEP))):
            torque = self._torque()
            self.mechanism.apply({0: torque})
            for sensor, period in self._every.items():
                if self._next[sensor] * period <= self.time + 1e-9:
                    self._next[sensor] += 1
                    self._sense(sensor, torque, said)
            self.mechanism.step()
            self._count += 1
        return {topic: channel(
            topic, TOPICS[topic], stamps([t for t, _ in samples]), _columns(samples),
            ('crank',) if topic == JOINTS else ()) for topic, samples in said.items()}

    def _torque(self):
        z, rate = fast_motion(self.time)
        q, v = self.mechanism.data.qpos[0], self.mechanism.data.qvel[0]
        return GAINS[0] * (START + z - q) + GAINS[1] * (rate - v)

    def _sense(self, sensor, torque, said):
        noise, t = self._noise, self.time

        def say(topic, delay=0.0, **fields):
            said.setdefault(topic, []).append((t + delay, fields))

        if sensor == TORQUE:
            value = torque + noise(TORQUE_NOISE)
            self.true_torques.append((t, torque))
            say(TORQUE, force=[0.0, 0.0, 0.0], torque=[0.0, 0.0, value])
            angle = self.mechanism.data.qpos[0] + noise(ENCODER_NOISE)
            say(JOINTS, position=[angle], effort=[value])
        elif sensor == IMU:
            rate, acceleration = self.mechanism.motion('rod_imu')
            say(IMU, IMU_DELAY, angular_velocity=rate + noise(GYRO_NOISE, 3) + GYRO_BIAS,
                linear_acceleration=acceleration + noise(ACCELEROMETER_NOISE, 3))
        elif self._rng.random() >= DROPPED:
            for topic, link in (POINT_MARKERS | TAGS).items():
                position, rotation = self.mechanism.pose(link)
                fields = {'position': position + noise(MARKER_NOISE, 3)}
                if topic in TAGS:
                    fields.update(rotation=rotation, turn=noise(TAG_NOISE, 3))
                say(topic, CAMERA_DELAY, **fields)

    def _noise(self, standard_deviation, size=None):
        return standard_deviation * self._rng.standard_normal(size)


def _columns(samples):
    """Return {field: (N, ...)} of [(time, fields), ...]; attitudes as quaternions, with noise."""
    out = {name: np.array([fields[name] for _, fields in samples]) for name in samples[0][1]}
    if 'turn' in out:
        turn, rotation = Rotation.from_rotvec(out.pop('turn')), out.pop('rotation')
        out['orientation_xyzw'] = (turn * Rotation.from_matrix(rotation)).as_quat()
    return out


def fast_motion(t: float) -> tuple[float, float]:
    """Return crank angle and rate after t [s]: rich in speeds, from rest over RAMP seconds."""
    s = min(t / RAMP, 1.0)
    pace = s * s * (3 - 2 * s)
    t = RAMP * (s ** 3 - 0.5 * s ** 4) + max(t - RAMP, 0.0)
    w = 2 * np.pi
    z = 6 * t + np.sin(1.5 * w * t) + 0.5 * np.sin(2.5 * w * t)
    rate = 6 + 1.5 * w * np.cos(1.5 * w * t) + 1.25 * w * np.cos(2.5 * w * t)
    return z, rate * pace


def record(rig: SliderCrankRig, duration: float) -> Recording:
    """Return a Recording of the topics of ``rig`` over the next ``duration`` [s]."""
    return Recording(rig.advance(duration), rig.urdf, 'upright',
                     {'path': 'simulated slider-crank'})
