"""
Methods: peers that turn what was measured into linear equations, see contract.py.

One line here makes a subclass of ``Method`` known; its module is imported when it is asked for.
"""

from collections.abc import Iterator, Mapping
import importlib
from typing import Any

from .contract import Method
from ..errors import ConfigError

_CLASSES = {'serial_arm': ('.serial_arm', 'SerialArm'),
            'closed_loop': ('..rigs.closed_loop.method', 'ClosedLoop'),
            'rigid_body': ('..rigs.rigid_body.method', 'RigidBody'),
            'suspended_platform': ('..rigs.suspended_platform.method', 'SuspendedPlatform')}

AnyMethod = Method[Any, Any, Any, Any]  # which one, a name says that is read at run time


class _Methods(Mapping[str, AnyMethod]):
    """The methods by name, each made when first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, AnyMethod] = {}

    def __getitem__(self, name: str) -> AnyMethod:
        if name not in _CLASSES:
            raise ConfigError('method', found=repr(name), exists=tuple(_CLASSES))
        if name not in self._made:
            module, kind = _CLASSES[name]
            self._made[name] = getattr(importlib.import_module(module, __name__), kind)()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


METHODS = _Methods()
DEFAULT_METHOD = 'serial_arm'
