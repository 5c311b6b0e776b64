"""
Joint motion alone: positions and velocities of a recording's joints where no effort is needed.
"""

import numpy as np

from . import kinematic_state as joints_of
from . import signals
from .body_sources import Series


def read_joint_motion(recording, joints, topic, wish, origin_ns):
    """
    Return (Series of positions (n, k), Series of velocities or None) of ``joints``.

    topic : JointState topic, '' for the one that carries them; wish : measured, differentiated
    or auto, as SignalOptions.velocity.  Refuses what observe_joints refuses.
    """
    channel = joints_of._find_channel(recording, joints, topic, 'position')
    position = joints_of._series(channel, 'position', joints, origin_ns)
    has_velocity = joints_of._carries(channel, 'velocity', joints)
    velocity = joints_of._series(channel, 'velocity', joints, origin_ns) if has_velocity else {}
    clock = signals.uniform_clock(channel.stamp_ns, origin_ns, channel.topic)
    probe = joints_of.JointSpaceObservation(joints, position, velocity, {}, clock, np.ones(1),
                                            False, np.eye(len(joints)))
    joints_of._check_moving(probe)
    measured, _ = joints_of._choose_velocity(probe, wish)
    return (_together(channel.topic, position, joints),
            _together(channel.topic, velocity, joints) if measured else None)


def _together(topic, series, joints):
    """Return one Series (n, k) on the stamps of the first joint."""
    t = series[joints[0]][0]
    values = np.stack([np.interp(t, *series[joint]) for joint in joints], axis=1)
    return Series(topic, t, values)
