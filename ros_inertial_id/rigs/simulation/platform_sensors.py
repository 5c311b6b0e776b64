"""Sensors of a simulated platform: how well markers and IMUs see it, and their channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...measurement.recording import Channel
from ...options import option

MARKERS, IMU = '/markers', 'sensor_msgs/msg/Imu'


@dataclass(frozen=True)
class PlatformOptions:
    """How the platform rig is seen."""

    rate: float = option(120.0, 'samples per second', unit='Hz', at_least=10.0, at_most=2000.0)
    seed: int = option(0, 'seed of everything random', at_least=0)
    marker_noise: float = option(3e-4, 'standard deviation of a marker', unit='m', at_least=0.0)
    displacement: float = option(0.015, 'how far the platform is pushed at the start', unit='m',
                                 at_least=0.0)
    turn: float = option(0.05, 'how far it is turned at the start', unit='rad', at_least=0.0)
    gyro_noise: float = option(2e-3, 'of IMUs', unit='rad/s', at_least=0.0)
    accelerometer_noise: float = option(0.02, 'of IMUs', unit='m/s^2', at_least=0.0)
    gyro_bias: float = option(0.01, 'of IMUs, every axis', unit='rad/s')
    accelerometer_bias: float = option(0.05, 'of IMUs, every axis', unit='m/s^2')
    imu_delay: float = option(4e-3, 'that IMU stamps are late', unit='s')


def channels_of(samples: Sequence[Any], begun: float) -> dict[str, Channel]:
    """
    Return {topic: Channel} of simulated samples.

    samples : what PlatformRig.step returned, one after the other
    begun : [s] from which their time counts
    """
    labels = tuple(samples[0][1])
    position = np.array([[seen[label] for label in labels] for _, seen, _ in samples])
    orientation = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*position.shape[:2], 4)).copy()
    out = {MARKERS: _channel(MARKERS, 'visualization_msgs/msg/MarkerArray',
                             [t for t, *_ in samples], begun,
                             {'position': position, 'orientation_xyzw': orientation}, labels)}
    for topic in samples[0][2]:
        rows = [row for _, _, measured in samples for row in measured[topic]]
        stamp, values = [t for t, _ in rows], np.array([value for _, value in rows])
        out[topic] = _channel(topic, IMU, stamp, begun, {
            'angular_velocity': values[:, :3], 'linear_acceleration': values[:, 3:]})
    return out


def _channel(topic, kind, t, begun, fields, names=()):
    stamp = np.array([round(begun * 1e9) + round(x * 1e9) for x in t], dtype=np.int64)
    return Channel(topic, kind, stamp, stamp.copy(), fields, names)
