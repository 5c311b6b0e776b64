"""Joint kind: positions in degrees; joints that turn though the description calls them sliders."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .causes import removed_percent
from .finding import Finding
from .finding_kinds import found
from .recording_under_test import DESCRIBED, FREE, recording_under_test, RecordingUnderTest
from .thresholds import ALIKE, SURE, SYSTEMATIC_RESIDUAL
from ..dynamics.robot_model import RobotModel
from ..identification.choose.choice import log_ratio
from ..identification.identified_model import IdentifiedModel
from ..identification.reduce.wide_factor import wide_factor


def turning(test: RecordingUnderTest, model: IdentifiedModel | None, every: int) -> list[Finding]:
    """
    Return a Finding of the joints that the description calls prismatic and that turn.

    model, every : as of ``recording_under_test``
    Neither any bodies nor the described ones may contradict.
    """
    robot = test.data.robot
    if not isinstance(robot, RobotModel):  # a mechanism may well have its sliders
        return []
    gaps: dict[str, float] = {}
    for joint, slides in zip(test.names, robot.prismatic):
        urdf = _with_turning(robot.urdf, joint) if slides else ''
        if urdf:
            turned = test.data.method.build(urdf, test.data.options, robot.gravity_base)
            data = replace(test.data, robots=(turned,))
            gap = _surely_better(test, recording_under_test(data, model, every))
            if gap < 0.0:
                gaps[joint] = gap
    if not gaps:
        return []
    amount = removed_percent(min(gaps.values()))
    return [found('joint slides in the description', list(gaps), amount)]


def _with_turning(urdf, joint):
    """Return the text of ``urdf`` with a ``joint`` that turns, '' where it does not name it."""
    tree = ElementTree.fromstring(urdf)
    element = tree.find(f"joint[@name='{joint}']")
    if element is None:
        return ''
    element.set('type', 'revolute')
    return ElementTree.tostring(tree, encoding='unicode')


def _surely_better(test, other):
    """Return the mean log ratio of errors where ``other`` is surely better, else 0."""
    kinds = (FREE, DESCRIBED) if test.described else (FREE,)
    gaps = [other.gap(other.as_recorded[kind], test.as_recorded[kind]) for kind in kinds]
    sure = any(gap + SURE * error < 0.0 for gap, error in gaps)
    contradicted = any(gap >= max(2.0 * error, 2.0 * np.log(ALIKE)) for gap, error in gaps)
    if not sure or contradicted:
        return 0.0
    return min(gap for gap, _ in gaps)


def in_degrees(test: RecordingUnderTest) -> list[Finding]:
    """Return a Finding where motion in degrees explains more: only the torques can tell it."""
    robot, data = test.data.robot, test.data
    residual, torque = np.linalg.norm(test.free_residual), np.linalg.norm(test.torque)
    limited = np.any(np.isfinite(robot.lower)) or any(robot.prismatic)
    if limited or residual < SYSTEMATIC_RESIDUAL * torque:
        return []
    turned = []
    for observation in data.observations:
        position, velocity = _radians(observation.position), _radians(observation.velocity)
        turned.append(replace(observation, position=position, velocity=velocity))
    in_radians = data.observed(turned)
    wide = wide_factor(in_radians, test.wide.structure)
    other = RecordingUnderTest(in_radians, wide, test.nominal)
    errors, recorded = (x.as_recorded[FREE].mean(2) for x in (other, test))
    gap, error = log_ratio(errors, recorded)
    if gap > -SURE * error:
        return []
    return [found('all positions in degrees', test.names, removed_percent(gap))]


def _radians(series: Mapping[str, Any]) -> dict[str, Any]:
    return {joint: (t, np.radians(x)) for joint, (t, x) in series.items()}
