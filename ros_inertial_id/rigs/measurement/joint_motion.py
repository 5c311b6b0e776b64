"""Joint motion alone: positions and velocities of joints where no effort is needed."""

from typing import Sequence

import numpy as np

from .sources import Series
from ...measurement import signals
from ...measurement.interpolation import interpolate
from ...measurement.joints.channels import BROKEN, carries, find_channel, series_of, whole
from ...measurement.joints.kinematic_state import JointSpaceObservation
from ...measurement.joints.observation import check_moving, choose_velocity
from ...measurement.joints.wrapping import Unwrapper
from ...measurement.recording import Recording


def read_joint_motion(recording: Recording, joints: Sequence[str], topic: str, wish: str,
                      origin_ns: int) -> tuple[Series, Series | None]:
    """
    Return (Series of positions (n, k), Series of velocities or None) of ``joints``.

    recording : Recording; joints : k names; origin_ns : zero of time
    topic : JointState topic, '' for the one that carries them
    wish : measured, differentiated or auto, as SignalOptions.velocity

    Raises RecordingError for what observe_joints refuses.
    """
    channel = Unwrapper(joints)(whole(
        find_channel(recording, joints, topic, 'position'), joints, BROKEN))
    position = series_of(channel, 'position', joints, origin_ns)
    has_velocity = carries(channel, 'velocity', joints)
    velocity = series_of(channel, 'velocity', joints, origin_ns) if has_velocity else {}
    clock = signals.uniform_clock(channel.stamp_ns, origin_ns, channel.topic)
    probe = JointSpaceObservation(joints, position, velocity, {}, clock, np.ones(1),
                                  False, np.eye(len(joints)))
    check_moving(probe)
    measured, _ = choose_velocity(probe, wish)
    return (_together(channel.topic, position, joints),
            _together(channel.topic, velocity, joints) if measured else None)


def _together(topic, series, joints):
    """Return one Series (n, k) on the stamps of the first joint."""
    t = series[joints[0]][0]
    values = np.concatenate([interpolate(series[joint][0], series[joint][1][:, None], t)
                             for joint in joints], axis=1)
    return Series(topic, t, values)
