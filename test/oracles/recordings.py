"""Recordings of what a test has computed: channels by times in seconds, stamped as received."""

from dataclasses import replace

import numpy as np

from ros_inertial_id.measurement.recording import Channel, Recording

JOINT_STATE, JOINT_STATES = 'sensor_msgs/msg/JointState', '/joint_states'
EPOCH_NS = 10**18  # some time in 2001: stamps as large as those of a clock


def stamps_of(t, begin_ns=0):
    """Return stamps (N,) [ns] of times t (N,) [s]."""
    return begin_ns + np.round(np.asarray(t) * 1e9).astype(np.int64)


def channel_of(topic, kind, stamp_ns, fields, names=()):
    """Return the Channel of messages of a ``kind`` that are received when they are stamped."""
    return Channel(topic, kind, stamp_ns, stamp_ns.copy(), fields, tuple(names))


def joint_states(names, t, topic=JOINT_STATES, begin_ns=0, **fields):
    """Return the Channel of joints ``names``; fields : position, velocity, effort (N, n)."""
    own = {name: np.array(values) for name, values in fields.items()}
    return channel_of(topic, JOINT_STATE, stamps_of(t, begin_ns), own, names)


def recording_of(*channels, **others):
    """Return the Recording of ``channels``; others : of its description, mounting, provenance."""
    return Recording({each.topic: each for each in channels}, **others)


def of_rig(urdf, *channels, path='by hand'):
    """Return the Recording of an upright rig, with its description in it."""
    return recording_of(
        *channels, robot_description=urdf, mounting='upright', provenance={'path': path}
    )


def altered(recording, topic=JOINT_STATES, rows=slice(None), **changes):
    """
    Return the Recording with other ``rows`` of one channel, and fields and attributes of it.

    changes : by name, of all rows; a field of None is taken away
    """
    before = recording.channels[topic]
    fields = {name: changes.pop(name, values) for name, values in before.fields.items()}
    fields = {name: np.array(values) for name, values in fields.items() if values is not None}
    after = replace(before, fields=fields, **changes).rows(rows)
    return replace(recording, channels={**recording.channels, topic: after})
