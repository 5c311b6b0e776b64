"""Good recordings of the two-joint arm, of which one thing is spoilt: for hostile_cases.py."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio

from ros_inertial_id.measurement.bags.messages import JOINT_STATE
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.recording import Channel, Recording

ARM = (Path(__file__).resolve().parents[1] / 'urdf' / 'arm2.urdf').read_text()
START, RATE, SECONDS = 1_700_000_000_000_000_000, 250, 12.0
IMU = 'sensor_msgs/msg/Imu'
Change = Callable[[dict[str, np.ndarray]], None]


def motion() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return stamps (N,) [ns] and the fields (N, 2) of a good recording of the two-joint arm."""
    model = pinocchio.buildModelFromXML(ARM)
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    w = 2.0 * np.pi * np.array([[0.31, 0.47], [0.83, 0.71]])[:, None]
    amplitude = np.array([[0.6, 0.5], [0.3, 0.35]])[:, None]
    phase = np.array([0.0, 1.0])
    q = (amplitude * np.sin(w * t[:, None] + phase)).sum(0)
    v = (amplitude * w * np.cos(w * t[:, None] + phase)).sum(0)
    a = (-amplitude * w ** 2 * np.sin(w * t[:, None] + phase)).sum(0)
    data = model.createData()
    tau = np.array([pinocchio.rnea(model, data, *row) for row in zip(q, v, a)])
    tau += 0.3 * v + 0.2 * np.tanh(v / 0.01)
    tau += 0.02 * np.random.default_rng(1).normal(size=tau.shape)
    return START + (t * 1e9).astype(np.int64), {'position': q, 'velocity': v, 'effort': tau}


def bag(path: Path, change: Change | None = None, names: tuple[str, ...] = ('joint1', 'joint2'),
        stamps: Callable[[np.ndarray], np.ndarray] = lambda t: t, seconds: float = SECONDS,
        urdf: str = ARM, imu: float | None = None) -> Path:
    """Write a bag whose fields were changed, maybe with an IMU's numbers; return its path."""
    t, fields = motion()
    keep = (t - START) < seconds * 1e9
    t, fields = t[keep], {name: x[keep].copy() for name, x in fields.items()}
    if change is not None:
        change(fields)
    channel = Channel('/joint_states', JOINT_STATE, stamps(t), t + 50_000,
                      {name: x for name, x in fields.items() if x.size}, names)
    channels = {channel.topic: channel}
    if imu is not None:
        channels['/imu'] = Channel('/imu', IMU, t, t + 50_000, {
            'linear_acceleration': np.full((len(t), 3), imu)}, frame_id='base_link')
    write_recording(path, Recording(channels, urdf))
    return path


def spoil(name: str, value: float, rows: slice | int = slice(None)) -> Change:
    """Return a change that sets samples of a field of the first joint."""
    def change(fields: dict[str, np.ndarray]) -> None:
        fields[name][rows, 0] = value
    return change


def times(name: str, factor: float) -> Change:
    """Return a change that multiplies a field."""
    def change(fields: dict[str, np.ndarray]) -> None:
        fields[name] *= factor
    return change


def drop(name: str) -> Change:
    """Return a change that empties a field."""
    def change(fields: dict[str, np.ndarray]) -> None:
        fields[name] = fields[name][:, :0]
    return change
