"""
The fields of messages: of those that nearly every bag has, written out; of others from rosbags.

rosbags' store knows every message of ROS 2, and importing it takes 0.12 s: as long as reading a
bag of a minute.
"""

from functools import lru_cache
from typing import Any

from rosbags.interfaces import Nodetype

_FLOAT, _INT, _UINT, _STRING = ((Nodetype.BASE, (name, 0))
                                for name in ('float64', 'int32', 'uint32', 'string'))
_FIELDS: dict[str, tuple[tuple[str, Any], ...]] = {
    'builtin_interfaces/msg/Time': (('sec', _INT), ('nanosec', _UINT)),
    'std_msgs/msg/Header': (('stamp', (Nodetype.NAME, 'builtin_interfaces/msg/Time')),
                            ('frame_id', _STRING)),
    'std_msgs/msg/String': (('data', _STRING),),
    'sensor_msgs/msg/JointState': (
        ('header', (Nodetype.NAME, 'std_msgs/msg/Header')),
        ('name', (Nodetype.SEQUENCE, (_STRING, 0))),
        *((name, (Nodetype.SEQUENCE, (_FLOAT, 0)))
          for name in ('position', 'velocity', 'effort'))),
    # Of ros2_control, which rosbags does not know.
    'control_msgs/msg/InterfaceValue': (
        ('interface_names', (Nodetype.SEQUENCE, (_STRING, 0))),
        ('values', (Nodetype.SEQUENCE, (_FLOAT, 0)))),
    'control_msgs/msg/DynamicJointState': (
        ('header', (Nodetype.NAME, 'std_msgs/msg/Header')),
        ('joint_names', (Nodetype.SEQUENCE, (_STRING, 0))),
        ('interface_values', (Nodetype.SEQUENCE, (
            (Nodetype.NAME, 'control_msgs/msg/InterfaceValue'), 0))))}
WRITTEN_OUT = tuple(_FIELDS)


@lru_cache(maxsize=1)
def typestore() -> Any:
    """Return rosbags' store of the messages of Jazzy, and ours (0.1 s the first time)."""
    from rosbags.typesys import get_typestore, Stores
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register({name: ([], list(own)) for name, own in _FIELDS.items()
                    if name not in store.fielddefs})
    return store


def fields(type_name: str) -> tuple[tuple[str, Any], ...]:
    """
    Return (name, kind) of the fields of a message, kinds as rosbags has them.

    type_name : in full, ``sensor_msgs/msg/JointState``; KeyError for an unknown one
    """
    if type_name in _FIELDS:
        return _FIELDS[type_name]
    return tuple(typestore().fielddefs[type_name][1])
