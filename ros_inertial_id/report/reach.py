"""Reach: how far the joints went in the training data, and how near their limits."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dynamics.robot_model import RobotModel
from ..identification.model.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model

HALF = 0.5  # share of a limit below which a motion is called small
SPEEDS, RANGES = ('v', 'a', 'omega', 'alpha'), ('q',)
WORDS = {'q': 'the joints spanned', 'v': 'the joints reached', 'a': 'and',
         'omega': 'the bodies reached', 'alpha': 'and'}
UNITS = {'q': 'rad', 'v': 'rad/s', 'a': 'rad/s^2', 'omega': 'rad/s', 'alpha': 'rad/s^2',
         'acc': 'm/s^2'}


def force_unit(robot: Any) -> str:
    """Return the unit of what is measured on a ``robot``, over all row groups."""
    turning = isinstance(robot, RobotModel) and not any(robot.prismatic)
    return 'N m' if turning else 'N m or N'


def unit_of(robot: Any, name: str) -> str:
    """Return the unit of a quantity of the validity range of a ``robot`` by its ``name``."""
    unit = UNITS.get(name, '')
    sliding = isinstance(robot, RobotModel) and any(robot.prismatic) and name in 'qva'
    return f"{unit} or {unit.replace('rad', 'm')}" if sliding else unit


def reached(model: IdentifiedModel, quantities: Sequence[str]) -> str:
    """
    Return in words how far the motion went: spans of q, else the largest; '' if unknown.

    model : identified; quantities : names as in its validity range
    """
    robot = robot_of_model(model)
    texts = [_reached(model, robot, name) for name in quantities]
    return ' '.join(text for text in texts if text)


def goes_round(model: IdentifiedModel) -> bool:
    """Return whether every joint of a ``model`` made a whole turn: wider motion shows no more."""
    robot = robot_of_model(model)
    sliding = (dict(zip(robot.joint_names, robot.prismatic)) if isinstance(robot, RobotModel)
               else {})
    spans = {joint: seen['q'][1] - seen['q'][0]
             for joint, seen in model.validity_range.items() if 'q' in seen}
    return bool(spans) and all(span >= 2 * np.pi and not sliding.get(joint)
                               for joint, span in spans.items())


def _reached(model, robot, name):
    spans = {joint: seen[name][1] - seen[name][0] if name == 'q' else max(map(abs, seen[name]))
             for joint, seen in model.validity_range.items() if name in seen}
    if not spans:
        return ''
    low, high = (round(x, 6) for x in (min(spans.values()), max(spans.values())))
    text = f'{WORDS[name]} {low:.2g} to {high:.2g} {unit_of(robot, name)}'
    limits = _limits(robot, name)
    shares = {j: span / limits[j] for j, span in spans.items() if limits.get(j, 0.0) > 0.0}
    if not shares:
        return text
    small = [j for j in sorted(shares, key=shares.__getitem__) if shares[j] < HALF]
    text += f', {100 * min(shares.values()):.0f} to {100 * max(shares.values()):.0f} % of limits'
    if small:
        text += f" (below half: {'all' if len(small) == len(spans) else ', '.join(small)})"
    return text


def _limits(robot, name):
    if not isinstance(robot, RobotModel) or name not in 'qv':
        return {}
    values = robot.upper - robot.lower if name == 'q' else robot.velocity
    return dict(zip(robot.joint_names, values))
