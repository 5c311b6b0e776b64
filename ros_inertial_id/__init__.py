"""
ros_inertial_id: identification of the inertial parameters of live robots (ROS 2).

    import ros_inertial_id as rid

    recording = rid.read_bag('bag')
    result = rid.identify(recording, validate=rid.read_bag('other_bag'))
    tau = result.model.torque(q, v, a)

What stands in ``__all__`` is documented and stable; each is imported when it is asked for.
"""

import importlib
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from .api.audit import audit, AuditResult
    from .api.identify import check, identify, Result
    from .api.many import drift, identify_many, ManyResult
    from .api.model import load_model, Model
    from .api.recordings import read_log
    from .api.tasks import compare, design, payload, validate
    from .errors import (
        ConfigError,
        EstimationError,
        InertialIdError,
        MotionError,
        RecordingError,
        RobotModelError,
    )
    from .measurement.bags.bag import read_bag
    from .measurement.recording import Recording

__version__ = '0.2.0'

_ROOMS = {
    'api.audit': ('audit', 'AuditResult'),
    'api.identify': ('check', 'identify', 'Result'),
    'api.many': ('drift', 'identify_many', 'ManyResult'),
    'api.model': ('load_model', 'Model'),
    'api.recordings': ('read_log',),
    'api.tasks': ('compare', 'design', 'payload', 'validate'),
    'errors': (
        'ConfigError',
        'EstimationError',
        'InertialIdError',
        'MotionError',
        'RecordingError',
        'RobotModelError',
    ),
    'measurement.bags.bag': ('read_bag',),
    'measurement.recording': ('Recording',),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}
_READERS = 'read_bag(path), or read_log(path, urdf=...) of a table'
_GUESSED = {
    'load': f'a model is read by load_model(path), a recording by {_READERS}',
    'read': _READERS,
    'load_bag': _READERS,
    'fit': 'identify(recordings)',
    'predict': 'load_model(path).predict((t, q, v, a))',
}
__all__ = [
    'audit',
    'AuditResult',
    'check',
    'compare',
    'ConfigError',
    'design',
    'drift',
    'EstimationError',
    'identify',
    'identify_many',
    'InertialIdError',
    'load_model',
    'ManyResult',
    'Model',
    'MotionError',
    'payload',
    'read_bag',
    'read_log',
    'Recording',
    'RecordingError',
    'Result',
    'RobotModelError',
    'validate',
]


def __getattr__(name: str) -> Any:
    """Return a name of the public API, imported now."""
    if name not in __all__:
        advice = _GUESSED.get(name, f'it has {", ".join(__all__)}')
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}: {advice}')
    room = importlib.import_module(f'.{_ROOM_OF[name]}', __name__)
    globals()[name] = getattr(room, name)
    return globals()[name]


def __dir__() -> list[str]:
    """Return what the public API offers."""
    return [*__all__, '__version__']
