"""
The fields of messages: of those that nearly every bag has, written out; of others from rosbags.

rosbags' store knows every message of ROS 2, and importing it takes as long as reading a bag of a
minute.
"""

from functools import lru_cache
from typing import Any

from rosbags.interfaces import Nodetype

_DEFINITIONS = {
    'builtin_interfaces/msg/Time': 'int32 sec, uint32 nanosec',
    'geometry_msgs/msg/Point': 'float64 x, float64 y, float64 z',
    'geometry_msgs/msg/Pose':
        'geometry_msgs/msg/Point position, geometry_msgs/msg/Quaternion orientation',
    'geometry_msgs/msg/PoseStamped': 'std_msgs/msg/Header header, geometry_msgs/msg/Pose pose',
    'geometry_msgs/msg/Quaternion': 'float64 x, float64 y, float64 z, float64 w',
    'geometry_msgs/msg/Transform':
        'geometry_msgs/msg/Vector3 translation, geometry_msgs/msg/Quaternion rotation',
    'geometry_msgs/msg/TransformStamped':
        'std_msgs/msg/Header header, string child_frame_id, geometry_msgs/msg/Transform transform',
    'geometry_msgs/msg/Vector3': 'float64 x, float64 y, float64 z',
    'geometry_msgs/msg/Wrench':
        'geometry_msgs/msg/Vector3 force, geometry_msgs/msg/Vector3 torque',
    'geometry_msgs/msg/WrenchStamped':
        'std_msgs/msg/Header header, geometry_msgs/msg/Wrench wrench',
    'sensor_msgs/msg/Imu':
        'std_msgs/msg/Header header, geometry_msgs/msg/Quaternion orientation, '
        'float64[9] orientation_covariance, geometry_msgs/msg/Vector3 angular_velocity, '
        'float64[9] angular_velocity_covariance, '
        'geometry_msgs/msg/Vector3 linear_acceleration, '
        'float64[9] linear_acceleration_covariance',
    'sensor_msgs/msg/JointState':
        'std_msgs/msg/Header header, string[] name, float64[] position, float64[] velocity, '
        'float64[] effort',
    'std_msgs/msg/Header': 'builtin_interfaces/msg/Time stamp, string frame_id',
    'std_msgs/msg/String': 'string data',
    'tf2_msgs/msg/TFMessage': 'geometry_msgs/msg/TransformStamped[] transforms',
}
WRITTEN_OUT = tuple(_DEFINITIONS)


@lru_cache(maxsize=1)
def typestore() -> Any:
    """Return rosbags' store of the message definitions of Jazzy (0.1 s the first time)."""
    from rosbags.typesys import get_typestore, Stores
    return get_typestore(Stores.ROS2_JAZZY)


@lru_cache(maxsize=None)
def fields(type_name: str) -> tuple[tuple[str, Any], ...]:
    """
    Return (name, kind) of the fields of a message, kinds as rosbags has them.

    type_name : in full, ``sensor_msgs/msg/JointState``; KeyError for an unknown one
    """
    if type_name not in _DEFINITIONS:
        return tuple(typestore().fielddefs[type_name][1])
    words = (field.split() for field in _DEFINITIONS[type_name].split(', '))
    return tuple((name, _kind(kind)) for kind, name in words)


def _kind(text):
    """Return the kind that a definition says: ``float64``, ``float64[9]``, ``pkg/msg/Type[]``."""
    if text.endswith(']'):
        element, _, count = text[:-1].partition('[')
        return (Nodetype.ARRAY if count else Nodetype.SEQUENCE, (_kind(element), int(count or 0)))
    return (Nodetype.NAME, text) if '/' in text else (Nodetype.BASE, (text, 0))
