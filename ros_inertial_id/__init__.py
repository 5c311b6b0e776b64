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
    from .api.identify import check, identify, read_log, Result
    from .api.many import drift, identify_many, ManyResult
    from .api.model import load_model, Model
    from .errors import (ConfigError, EstimationError, InertialIdError, MotionError,
                         RecordingError, RobotModelError)
    from .measurement.bags.bag import read_bag
    from .measurement.recording import Recording

__version__ = '0.2.0'

_ROOMS = {'check': 'api.identify', 'drift': 'api.many', 'identify_many': 'api.many',
          'ManyResult': 'api.many', 'identify': 'api.identify', 'load_model': 'api.model',
          'Model': 'api.model', 'read_bag': 'measurement.bags.bag', 'read_log': 'api.identify',
          'Recording': 'measurement.recording', 'Result': 'api.identify'}
__all__ = ['check', 'drift', 'identify', 'identify_many', 'load_model', 'ManyResult', 'Model',
           'read_bag', 'read_log', 'Recording', 'Result', 'ConfigError', 'EstimationError',
           'InertialIdError', 'MotionError', 'RecordingError', 'RobotModelError']


def __getattr__(name: str) -> Any:
    """Return a name of the public API, imported now."""
    if name not in __all__:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    room = importlib.import_module(f'.{_ROOMS.get(name, "errors")}', __name__)
    globals()[name] = getattr(room, name)
    return globals()[name]


def __dir__() -> list[str]:
    """Return what the public API offers."""
    return [*__all__, '__version__']
