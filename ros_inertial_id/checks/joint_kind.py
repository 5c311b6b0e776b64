"""Joint kind: positions in degrees; joints that turn though the description calls them sliders."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import compress
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .causes import removed_percent
from .finding import Finding
from .finding_kinds import found
from .recording_under_test import DESCRIBED, FREE, recording_under_test, RecordingUnderTest
from .thresholds import ALIKE_RESIDUALS, SURE_OF_CAUSE, SYSTEMATIC_RESIDUAL
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
    for joint in compress(test.names, robot.prismatic):
        urdf = _with_turning(robot.urdf, joint)
        if not urdf:
            continue
        turned = test.data.method.build(urdf, test.data.options, robot.gravity_base)
        data = replace(test.data, robots=(turned,))
        gap = surely_better(test, recording_under_test(data, model, every))
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


def surely_better(test: RecordingUnderTest, other: RecordingUnderTest) -> float:
    """Return the mean log ratio of errors where ``other`` is surely better, else 0."""
    kinds = [FREE]
    if test.described:
        kinds.append(DESCRIBED)
    pairs = [other.gap(other.as_recorded[kind], test.as_recorded[kind]) for kind in kinds]
    gaps, errors = np.array(pairs).T
    sure = np.any(gaps + SURE_OF_CAUSE * errors < 0.0)
    worse = np.maximum(2.0 * errors, 2.0 * np.log(ALIKE_RESIDUALS))
    contradicted = np.any(gaps >= worse)
    if not sure or contradicted:
        return 0.0
    return float(gaps.min())


def in_degrees(test: RecordingUnderTest) -> list[Finding]:
    """Return a Finding where motion in degrees explains more: only the torques can tell it."""
    data = test.data
    robot = data.robot
    if np.any(np.isfinite(robot.lower)) or any(robot.prismatic):
        return []
    residual = np.linalg.norm(test.free_residual)
    torque = np.linalg.norm(test.torque)
    if residual < SYSTEMATIC_RESIDUAL * torque:
        return []
    turned = []
    for observation in data.observations:
        position = _radians(observation.position)
        velocity = _radians(observation.velocity)
        turned.append(replace(observation, position=position, velocity=velocity))
    in_radians = data.observed(turned)
    factor = wide_factor(in_radians, test.wide.structure)
    in_degrees = RecordingUnderTest(in_radians, factor, test.nominal)
    gap, error = gap_of_free_bodies(test, in_degrees)
    if gap > -SURE_OF_CAUSE * error:
        return []
    return [found('all positions in degrees', test.names, removed_percent(gap))]


def gap_of_free_bodies(test: RecordingUnderTest, other: RecordingUnderTest) -> tuple[float, float]:
    """
    Return the mean log ratio of errors of free bodies, all joints alike, and its error.

    other : the recording ``test`` written in another way; below zero: it is predicted better
    """
    errors = other.as_recorded[FREE].mean(axis=2)
    recorded = test.as_recorded[FREE].mean(axis=2)
    return log_ratio(errors, recorded)


def _radians(series: Mapping[str, Any]) -> dict[str, Any]:
    return {joint: (t, np.radians(x)) for joint, (t, x) in series.items()}
