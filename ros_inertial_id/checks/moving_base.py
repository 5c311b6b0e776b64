"""A base that moves beneath an arm: the IMU on it says so, and a method for it exists."""

from typing import Any

import numpy as np

from .finding import Finding
from .finding_kinds import found
from ..measurement.recording import Channel, Recording

IMU = 'sensor_msgs/msg/Imu'
RATES_AVERAGED = 0.1  # [s]: shaking of drives that is faster moves no base
TURNING = 0.03  # [rad/s] rms: the drift of a poor gyro is a third of it
SHOVED = 0.2  # [m/s^2] rms of what an accelerometer changes


def moving_base(recording: Recording, robot: Any) -> list[Finding]:
    """
    Return a Finding where an IMU on the base of a ``robot`` (RobotModel) moves.

    recording : whose IMUs name a link of the base, or no frame at all
    """
    on_base = {frame.name for frame in robot.pin_model.frames if frame.parentJoint == 0}
    for channel in recording.of_type(IMU).values():
        if channel.frame_id and channel.frame_id not in on_base:
            continue
        turning, shoved = _rms(channel, 'angular_velocity'), _rms(channel, 'linear_acceleration')
        if turning > TURNING or shoved > SHOVED:
            return [
                found(
                    'base moves', (), turning, topic=channel.topic, turning=turning, shoved=shoved
                )
            ]
    return []


def _rms(channel: Channel, name: str) -> float:
    """Return the RMS of what a field changes, averaged over RATES_AVERAGED; 0 of none."""
    values = channel.fields.get(name)
    if values is None:
        return 0.0
    values = values[np.isfinite(values).all(1)]
    if len(values) < 2:
        return 0.0
    period = (channel.stamp_ns[-1] - channel.stamp_ns[0]) * 1e-9 / (len(channel) - 1)
    together = max(1, int(RATES_AVERAGED / max(period, 1e-6)))
    pieces = max(1, len(values) // together)
    means = np.array([piece.mean(0) for piece in np.array_split(values, pieces)])
    return float(np.sqrt(((means - means.mean(0)) ** 2).sum(1).mean()))
