"""Samples of simulated sensors to Channels, and the types of their messages."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...measurement.recording import Channel

JOINT_STATE, IMU = 'sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu'
WRENCH, POINT, POSE = (f'geometry_msgs/msg/{kind}Stamped' for kind in ('Wrench', 'Point', 'Pose'))
REPORT_STEP = 0.01  # [s]: at most that late is what a rig says
SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
Samples = dict[str, list[tuple[float, dict[str, Any]]]]  # topic -> [(stamp [s], fields), ...]


def channels_of(
    samples: Samples, types: Mapping[str, str], joints: Sequence[str], frame: str = ''
) -> dict[str, Channel]:
    """
    Return {topic: Channel} of ``samples``.

    types : topic -> type; joints : names of joint states; frame : frame_id of all
    """
    out = {}
    for topic, said in samples.items():
        times, readings = zip(*said)
        stamps = np.round(np.array(times) * 1e9).astype(np.int64)
        fields = {}
        for name in readings[0]:
            fields[name] = np.array([reading[name] for reading in readings])
        names: tuple[str, ...] = ()
        if types[topic] == JOINT_STATE:
            names = tuple(joints)
        out[topic] = Channel(topic, types[topic], stamps, stamps.copy(), fields, names, frame)
    return out
