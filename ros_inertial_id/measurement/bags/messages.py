"""
What the bytes of a message say: one decoder per ROS type, the same for live topics and bags.

To teach the package a new sensor topic, add a line to ``DECODERS``.  Fields are those it names,
(n, ...) for n samples or (n, k, ...) for k joints, markers or poses, in SI units: vectors
(..., 3), ``orientation_xyzw`` (..., 4), ``data`` (n,) or (n, k).  Names are those of joints, child
frames (tf: one row per stamp), or ``namespace/id`` of markers, the union over all messages in the
order of first appearance.  NaN is what a message lacks, or an Imu does not estimate (its
covariance begins with -1); a field that no message has is absent.  Where every header stamp is
zero (a driver that does not stamp) the time of reception stands in.
"""

from functools import lru_cache
import struct
from typing import Callable, Iterator, Sequence

import numpy as np
from rosbags.interfaces import Nodetype

from .cdr import RawMessages, walk
from .decoding import ChannelBuilder, Decoder
from .definitions import fields, typestore
from ..recording import Channel, page_out
from ...errors import RecordingError

JOINT_STATE = 'sensor_msgs/msg/JointState'
CONTROLLER_STATE = 'control_msgs/msg/JointTrajectoryControllerState'
JOINT_TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
COMMANDS = CONTROLLER_STATE, JOINT_TRAJECTORY  # what nobody measures
STRING = 'std_msgs/msg/String'
_ROWS = 4096  # messages encoded at once


def _pose(path, position='position', orientation='orientation'):
    return {'position': f'{path}.{position}', 'orientation_xyzw': f'{path}.{orientation}'}


def _point(path):
    return {
        'position': f'{path}.positions',
        'velocity': f'{path}.velocities',
        'effort': f'{path}.effort',
    }


def _twist(path):
    return {'linear_velocity': f'{path}.linear', 'angular_velocity': f'{path}.angular'}


_JOINT = {name: name for name in ('position', 'velocity', 'effort')}
_IMU = {
    'orientation_xyzw': 'orientation',
    'angular_velocity': 'angular_velocity',
    'linear_acceleration': 'linear_acceleration',
}
DECODERS = {
    JOINT_STATE: Decoder(_JOINT, header='header', labels=('name',)),
    'control_msgs/msg/DynamicJointState': Decoder(
        _JOINT,
        header='header',
        labels=('joint_names',),
        interfaces='interface_values',
        becomes=JOINT_STATE,
    ),
    CONTROLLER_STATE: Decoder(  # behind the reference control_msgs 3 to 6 differ
        _point('reference'), header='header', labels=('joint_names',), last='reference'
    ),
    JOINT_TRAJECTORY: Decoder(  # its stamp says when it is to begin, mostly 0: at once
        _point('points'), labels=('joint_names',), only='points'
    ),
    'sensor_msgs/msg/Imu': Decoder(
        _IMU,
        header='header',
        covariance={name: f'{path}_covariance' for name, path in _IMU.items()},
    ),
    'geometry_msgs/msg/PoseStamped': Decoder(_pose('pose'), header='header'),
    'geometry_msgs/msg/PointStamped': Decoder({'position': 'point'}, header='header'),
    'geometry_msgs/msg/TwistStamped': Decoder(_twist('twist'), header='header'),
    'geometry_msgs/msg/AccelStamped': Decoder(
        {'linear_acceleration': 'accel.linear', 'angular_acceleration': 'accel.angular'},
        header='header',
    ),
    'nav_msgs/msg/Odometry': Decoder(
        {**_pose('pose.pose'), **_twist('twist.twist')}, header='header'
    ),
    'geometry_msgs/msg/PoseArray': Decoder(_pose('poses'), header='header'),
    'geometry_msgs/msg/TransformStamped': Decoder(
        _pose('transform', 'translation', 'rotation'), header='header', labels=('child_frame_id',)
    ),
    'tf2_msgs/msg/TFMessage': Decoder(
        _pose('transforms.transform', 'translation', 'rotation'),
        header='transforms.header',
        labels=('transforms.child_frame_id',),
    ),
    'visualization_msgs/msg/MarkerArray': Decoder(
        _pose('markers.pose'),
        header='markers.header',
        labels=('markers.ns', 'markers.id'),
        action='markers.action',
    ),
    'geometry_msgs/msg/Wrench': Decoder({'force': 'force', 'torque': 'torque'}),
    'geometry_msgs/msg/WrenchStamped': Decoder(
        {'force': 'wrench.force', 'torque': 'wrench.torque'}, header='header'
    ),
    'std_msgs/msg/Bool': Decoder({'data': 'data'}),
    'std_msgs/msg/Float64': Decoder({'data': 'data'}),
    'std_msgs/msg/Float64MultiArray': Decoder({'data': 'data'}),
    STRING: Decoder(text='data'),
}


def full_name(type_name: str) -> str:
    """Return the full name of a ROS type."""
    if type_name.count('/') == 1:
        return type_name.replace('/', '/msg/')
    return type_name


def channel_builder(type_name: str, topic: str) -> ChannelBuilder:
    """Return an empty ChannelBuilder; RecordingError for a type without a decoder."""
    decoder = DECODERS.get(full_name(type_name))
    if decoder is None:
        raise RecordingError(f'topic {topic}: no decoder for {type_name}', exists=sorted(DECODERS))
    return ChannelBuilder(full_name(type_name), decoder, topic)


def decode(
    type_name: str,
    messages: Sequence[bytes],
    topic: str,
    received_ns: Sequence[int],
    complain: Callable[[str], object] | None = None,
) -> Channel:
    """
    Return the Channel of ``messages`` (CDR), which came at ``received_ns`` (n,) [ns].

    complain : called with words when messages are left out that cannot be read as the type;
        without it they raise RecordingError, as a type without a decoder does
    """
    builder = channel_builder(type_name, topic)
    builder.add(RawMessages.of(messages, received_ns))
    channel = builder.channel()
    if builder.refused:
        if complain is None:
            raise RecordingError(builder.reason)
        complain(f'{builder.refused} messages are left out; {builder.reason}')
    return channel


def encode_string(text: str) -> bytes:
    """Return a std_msgs/String as CDR bytes."""
    return bytes(typestore().serialize_cdr(typestore().types[STRING](data=text), STRING))


def header_stamp_ns(message: bytes) -> int:
    """Return the stamp [ns] of a ``message`` (CDR) that begins with a header."""
    order = '>'
    if message[1] & 1:
        order = '<'
    sec, nanosec = struct.unpack(f'{order}iI', message[4:12])
    return int(sec) * 10**9 + int(nanosec)


def encodable(type_name: str) -> bool:
    """Return whether ``encode`` can write a type: numbers whose elements have no headers."""
    decoder = DECODERS.get(full_name(type_name))
    return decoder is not None and bool(decoder.fields) and decoder.labels in ((), ('name',))


def encode(channel: Channel) -> Iterator[bytes]:
    """
    Yield the messages of a Channel as CDR bytes: what ``decode`` reads, the other way.

    channel : of a type that is ``encodable``; a field it lacks is an empty sequence in the
        messages, or zero
    """
    shapes = tuple((name, values.shape[1:]) for name, values in channel.fields.items())
    first, numbers = _template(full_name(channel.type), shapes, channel.names, channel.frame_id)
    sec, nanosec = np.divmod(channel.stamp_ns, 1_000_000_000)
    columns = {**channel.fields, 'sec': sec, 'nanosec': nanosec}
    for start in range(0, len(channel), _ROWS):
        rows = slice(start, min(start + _ROWS, len(channel)))
        data = np.tile(np.frombuffer(first, np.uint8), (rows.stop - start, 1))
        for name, in_message in numbers.items():
            in_message.write(data, columns[name][rows])
        page_out()
        yield from (row.tobytes() for row in data)


@lru_cache(maxsize=100)
def _template(type_name, shapes, names, frame_id):
    """Return one message as bytes, and the Numbers of its stamp and fields of these shapes."""
    store, decoder = typestore(), DECODERS[type_name]
    paths = {name: decoder.fields[name] for name, _ in shapes}
    sizes = {paths[name].split('.')[0]: shape[0] for name, shape in shapes if shape}
    message = _blank(type_name, sizes)
    for label in decoder.labels:
        setattr(message, label, list(names))
    if decoder.header:
        getattr(message, decoder.header).frame_id = frame_id
        paths |= {unit: f'{decoder.header}.stamp.{unit}' for unit in ('sec', 'nanosec')}
    first = bytes(store.serialize_cdr(message, type_name, little_endian=True))
    layout = walk(type_name, first)
    return first, {name: layout.numbers(path) for name, path in paths.items()}


def _blank(type_name, sizes):
    """Return a message of zeros, its sequences as long as ``sizes`` says of their fields."""
    values = {}
    for name, (node, what) in fields(type_name):
        if node == Nodetype.NAME:
            values[name] = _blank(what, {})
        elif node == Nodetype.BASE:
            values[name] = 0
            if what[0] == 'string':
                values[name] = ''
        else:
            element, count = what
            if node == Nodetype.SEQUENCE:
                count = sizes.get(name, 0)
            values[name] = _blank_elements(element, count)
    return typestore().types[type_name](**values)


def _blank_elements(element, count):
    """Return ``count`` zeros of an array or sequence; of strings none: they are set later."""
    node, what = element
    if node == Nodetype.NAME:
        return [_blank(what, {}) for _ in range(count)]
    if what[0] == 'string':
        return []
    return np.zeros(count, what[0])
