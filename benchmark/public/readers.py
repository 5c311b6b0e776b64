"""Readers: the formats that public recordings have, each read to a Recording."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
import zipfile

import numpy as np
from rosbags.highlevel import AnyReader
from rosbags.typesys import get_typestore, Stores

from .signals import Recording

Paths = Mapping[str, Path]


def _npz(paths: Paths, entry: dict[str, Any]) -> Recording:
    """Return what an .npz holds, under the first name there is of each column."""
    with np.load(paths['']) as arrays:
        found = {
            quantity: next(arrays[name] for name in names if name in arrays)
            for quantity, names in entry['columns'].items()
        }
    return _recording(entry, **found)


def _csv(paths: Paths, entry: dict[str, Any]) -> Recording:
    """Return the columns of a text without names; ``rate_hz`` stands for stamps."""
    table = np.loadtxt(paths[''], delimiter=',', skiprows=entry.get('skip_rows', 0))
    found = {quantity: table[:, columns] for quantity, columns in entry['columns'].items()}
    return _recording(entry, **found)


def _text_files(paths: Paths, entry: dict[str, Any]) -> Recording:
    """Return a file of numbers each, joint after joint within a sample."""
    width = len(entry['joints'])
    found = {quantity: np.loadtxt(path) for quantity, path in paths.items()}
    t = found.pop('t')
    return _recording(entry, t=t, **{k: x.reshape(-1, width) for k, x in found.items()})


def _bag(paths: Paths, entry: dict[str, Any]) -> Recording:
    """Return the joint states of a rosbag2, or the points of the one trajectory it holds."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    rows = []
    with AnyReader([paths['']], default_typestore=store) as reader:
        for connection, _, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            rows += _ROWS[connection.msgtype](message)
    names, t, q, v, tau = zip(*rows)
    order = _order(names[0], entry['joints'])
    return _recording(
        entry, t=t, q=_columns(q, order), v=_columns(v, order), tau=_columns(tau, order)
    )


def _of_state(message: Any) -> list[tuple]:
    stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    return [(message.name, stamp, message.position, message.velocity, message.effort)]


def _of_trajectory(message: Any) -> list[tuple]:
    return [
        (
            message.joint_names,
            point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec,
            point.positions,
            point.velocities,
            point.effort,
        )
        for point in message.points
    ]


_ROWS = {
    'sensor_msgs/msg/JointState': _of_state,
    'trajectory_msgs/msg/JointTrajectory': _of_trajectory,
}


def _order(names: list[str], joints: list[str]) -> list[int]:
    """Return where the joints stand in a message; by their last part where robots are renamed."""
    found = [name.split('_')[-1] if name not in joints else name for name in names]
    return [
        found.index(joint) if joint in found else found.index(joint.split('_')[-1])
        for joint in joints
    ]


def _columns(rows: Any, order: list[int]) -> np.ndarray:
    return np.asarray(rows, dtype=float)[:, order]


def _torch_zip(paths: Paths, entry: dict[str, Any]) -> Recording:
    """Return stamps, positions and commands that torch.save wrote as float32, without torch."""
    width = len(entry['joints'])
    with zipfile.ZipFile(paths['']) as archive:
        root = archive.namelist()[0].split('/')[0]
        t, q, command = (
            np.frombuffer(archive.read(f'{root}/data/{i}'), '<f4').astype(float) for i in range(3)
        )
    return _recording(
        entry, t=t, q=q.reshape(-1, width), command=command.reshape(-1, width), tau=None
    )


def _recording(entry, q, tau, t=None, v=None, command=None) -> Recording:
    """Return a Recording with the protocol's gains and, where there are no stamps, its rate."""
    q = np.asarray(q, dtype=float)
    if t is None:
        t = np.arange(len(q)) / entry['rate_hz']
    t = np.asarray(t, dtype=float).ravel()
    if tau is not None:
        tau = np.asarray(tau, dtype=float) * entry.get('tau_gains', 1.0)
    if v is not None:
        v = np.asarray(v, dtype=float)
    servo = (entry.get('stiffness', np.nan), entry.get('damping', np.nan))
    return Recording(tuple(entry['joints']), t - t[0], q, v, tau, command, servo)


READERS: dict[str, Callable[[Paths, dict[str, Any]], Recording]] = {
    'npz': _npz,
    'csv': _csv,
    'text_files': _text_files,
    'bag': _bag,
    'torch_zip': _torch_zip,
}
