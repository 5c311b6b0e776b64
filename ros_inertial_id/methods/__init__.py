"""
Methods: peers that turn what was measured into linear equations, see contract.py.

What only some can do are the classes of capabilities.py.

A package makes a subclass of ``Method`` known by an entry point of METHODS_GROUP; its module is
imported when the method is asked for.
"""

from typing import Any

from .contract import Method
from ..plugins import METHODS_GROUP, Plugins

AnyMethod = Method[Any, Any, Any, Any]  # which one, a name says that is read at run time
DEFAULT_METHOD = 'serial_arm'
METHODS: Plugins[AnyMethod] = Plugins(
    METHODS_GROUP,
    'method',
    {DEFAULT_METHOD: 'ros_inertial_id.methods.serial_arm:SerialArm'},
    make=lambda kind: kind(),
)


def methods_of(kind: type) -> list[str]:
    """Return the names of the methods that are of a ``kind`` of capabilities.py."""
    return [name for name, method in METHODS.items() if isinstance(method, kind)]
