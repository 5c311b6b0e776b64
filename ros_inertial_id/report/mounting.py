"""How a robot was mounted and how far it moved, with the units of its rows, in words."""

from typing import Any

import numpy as np

from .model_statistics import ModelStatistics
from ..dynamics.robot_model import RobotModel
from ..identification.identified_model import IdentifiedModel

WHOLE_TURN = 0.99 * 2.0 * np.pi  # [rad] of samples that are not everywhere
UNITS = {
    'q': 'rad',
    'v': 'rad/s',
    'a': 'rad/s^2',
    'omega': 'rad/s',
    'alpha': 'rad/s^2',
    'acc': 'm/s^2',
}


def gravity_estimated(model: IdentifiedModel) -> bool:
    """Return whether gravity is as the torques show it, which then stands in the options."""
    directions = ModelStatistics(model).directions
    chosen = [direction['candidate'] for direction in directions if direction['chosen']]
    return any(candidate != 'as given' for candidate in chosen)


def mounting_words(model: IdentifiedModel) -> str:
    """Return the mounting of the base of a ``model`` as it was given, in words."""
    given = model.options.get('mounting')
    if given and not gravity_estimated(model):
        return given
    of_recordings = dict.fromkeys(model.mounting['text'])
    return ', '.join(filter(None, of_recordings)) or 'upright, as none was given'


def force_unit(robot: Any) -> str:
    """Return the unit of what is measured on a ``robot``, over all row groups."""
    if isinstance(robot, RobotModel) and not any(robot.prismatic):
        return 'N m'
    return 'N m or N'


def unit_of(robot: Any, name: str) -> str:
    """Return the unit of a quantity of the validity range of a ``robot`` by its ``name``."""
    unit = UNITS.get(name, '')
    if name in 'qva' and isinstance(robot, RobotModel) and any(robot.prismatic):
        sliding = unit.replace('rad', 'm')
        return f'{unit} or {sliding}'
    return unit


def goes_round(model: IdentifiedModel) -> bool:
    """Return whether every joint made a whole turn: wider motion shows no more."""
    positions = [ends['q'] for ends in model.validity_range.values() if 'q' in ends]
    if not positions:
        return False
    return bool(np.ptp(positions, axis=1).min() >= WHOLE_TURN)
