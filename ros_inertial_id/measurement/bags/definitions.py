"""
The fields of messages: of those that nearly every bag has, written out; of others from rosbags.

rosbags' store knows every message of ROS 2, and importing it takes 0.12 s: as long as reading a
bag of a minute.
"""

from functools import lru_cache
from typing import Any

from rosbags.interfaces import Nodetype

_HEADER = 'std_msgs/msg/Header header'
_POINT = 'trajectory_msgs/msg/JointTrajectoryPoint'
_STATES = ('reference', 'feedback', 'error', 'output')
_TEXTS = {
    'builtin_interfaces/msg/Time': 'int32 sec, uint32 nanosec',
    'builtin_interfaces/msg/Duration': 'int32 sec, uint32 nanosec',
    'std_msgs/msg/Header': 'builtin_interfaces/msg/Time stamp, string frame_id',
    'std_msgs/msg/String': 'string data',
    'sensor_msgs/msg/JointState': f'{_HEADER}, string[] name, float64[] position, '
    'float64[] velocity, float64[] effort',
    _POINT: 'float64[] positions, float64[] velocities, float64[] accelerations, '
    'float64[] effort, builtin_interfaces/msg/Duration time_from_start',
    'trajectory_msgs/msg/JointTrajectory': f'{_HEADER}, string[] joint_names, {_POINT}[] points',
    # Of ros2_control, which rosbags does not know.
    'control_msgs/msg/JointTrajectoryControllerState': ', '.join(
        [
            f'{_HEADER}, string[] joint_names',
            *(f'{_POINT} {name}' for name in _STATES),
            'string[] multi_dof_joint_names',
            *(
                f'trajectory_msgs/msg/MultiDOFJointTrajectoryPoint multi_dof_{name}'
                for name in _STATES
            ),
            'float64 speed_scaling_factor',
        ]
    ),
    'control_msgs/msg/InterfaceValue': 'string[] interface_names, float64[] values',
    'control_msgs/msg/DynamicJointState': f'{_HEADER}, string[] joint_names, '
    'control_msgs/msg/InterfaceValue[] interface_values',
}


def _kind(word: str) -> Any:
    if word.endswith('[]'):
        return Nodetype.SEQUENCE, (_kind(word[:-2]), 0)
    if '/' in word:
        return Nodetype.NAME, word
    return Nodetype.BASE, (word, 0)


def _fields_in(text: str) -> tuple[tuple[str, Any], ...]:
    """Return (name, kind) of the fields that a ``text`` defines: their types and names."""
    return tuple((field, _kind(kind)) for kind, field in map(str.split, text.split(',')))


WRITTEN_OUT = {name: _fields_in(text) for name, text in _TEXTS.items()}


@lru_cache(maxsize=1)
def typestore() -> Any:
    """Return rosbags' store of the messages of Jazzy, and ours (0.1 s the first time)."""
    from rosbags.typesys import get_typestore, Stores

    store = get_typestore(Stores.ROS2_JAZZY)
    unknown = WRITTEN_OUT.keys() - store.fielddefs.keys()
    store.register({name: ([], list(WRITTEN_OUT[name])) for name in unknown})
    return store


def fields(type_name: str) -> tuple[tuple[str, Any], ...]:
    """Return (name, kind as in rosbags) of a message; KeyError for an unknown ``type_name``."""
    return WRITTEN_OUT.get(type_name) or tuple(typestore().fielddefs[type_name][1])
