"""
Markers, IMU and torque of the slider-crank by hand, each with a rate and a clock of its own.

Shares no code with what reads them: accelerations are differences of the exact motion.
"""

from dataclasses import dataclass

import numpy as np
from recordings import channel_of, JOINT_STATE, of_rig, stamps_of
from scipy.spatial.transform import Rotation
import seen_slider_crank as seen
import slider_crank_lagrangian as oracle

IMU, TORQUE = '/imu', '/torque'
IMU_PLACE = 0.18, 0.01  # [m] along the rod and beside it, from urdf/slider_crank.urdf
GYRO, ACCELEROMETER, BIAS = 5e-3, 0.05, 0.01  # [rad/s], [m/s^2], [rad/s] on every axis
STEP = 2e-4  # [s] of differences: 1e-9 of an acceleration is cut, 1e-8 rounded


@dataclass(frozen=True)
class Clock:
    """How often a sensor samples [Hz], and how late it stamps [s]."""

    rate: float
    late: float = 0.0

    def times(self, duration):
        """Return true times (N,) and stamps (N,) [ns]."""
        t = np.arange(0.0, duration, 1.0 / self.rate)
        return t, stamps_of(t + self.late)


def recording(seed, duration, markers, imu, torque, noise=seen.NOISE):
    """Return the Recording of ``duration`` [s]; markers, torque : Clocks; imu : Clock or None."""
    rng = np.random.default_rng(seed)
    channels = _markers(rng, *markers.times(duration), noise)
    t, stamps = torque.times(duration)
    tau = oracle.torque(*seen.truth(t)) + 1e-2 * rng.standard_normal(len(t))
    channels.append(channel_of(TORQUE, JOINT_STATE, stamps, {'effort': tau[:, None]}, ('crank',)))
    if imu:
        channels.append(_imu(rng, *imu.times(duration)))
    return of_rig(seen.URDF, *channels)


def _markers(rng, t, stamps, noise):
    """Return the channels of two pins and a tag on the rod."""
    points, angle = seen.places(seen.truth(t)[0])
    out = []
    for topic, position in points.items():
        position = position + noise * rng.standard_normal(position.shape)
        turn = None
        if topic == seen.TAG:
            turn = seen.noisy_tag(rng, angle)
        out.append(seen.marker_channel(topic, stamps, position, turn))
    return out


def _rod(t):
    """Return the rod's angle (N,) and the place of the IMU (N, 3) in the mechanism's plane."""
    z = seen.truth(t)[0]
    angle = -np.arcsin(oracle.L1 / oracle.L2 * np.sin(z))
    place = oracle.L1 * np.stack([np.cos(z), np.sin(z), 0.0 * z], axis=1) + IMU_PLACE[
        0
    ] * np.stack([np.cos(angle), np.sin(angle), 0.0 * z], axis=1)
    return angle, place + [0.0, 0.0, IMU_PLACE[1]]


def _imu(rng, t, stamps):
    """Return the channel of the IMU on the rod."""
    angles, places = zip(*(_rod(t + k * STEP) for k in (-2, -1, 0, 1, 2)))
    rate = np.tensordot([1, -8, 0, 8, -1], angles, 1) / (12 * STEP)
    acceleration = np.tensordot([-1, 16, -30, 16, -1], places, 1) / (12 * STEP**2)
    force = (
        Rotation.from_euler('z', angles[2][:, None])
        .inv()
        .apply(acceleration + [0.0, oracle.G, 0.0])
    )
    fields = {
        'angular_velocity': np.stack([0 * rate, 0 * rate, rate], axis=1)
        + BIAS
        + GYRO * rng.standard_normal((len(t), 3)),
        'linear_acceleration': force + ACCELEROMETER * rng.standard_normal((len(t), 3)),
    }
    return channel_of(IMU, 'sensor_msgs/msg/Imu', stamps, fields)
