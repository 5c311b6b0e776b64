"""Joint kind: positions in degrees; joints that turn though the description calls them sliders."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .arm import Arm, arm_of, DESCRIPTION, LEFT_OUT
from .finding import Finding, REMOVED, WRONG
from .thresholds import ALIKE, SURE, TENTH
from ..dynamics.robot_model import RobotModel
from ..identification.choose.choice import log_ratio
from ..identification.identified_model import IdentifiedModel
from ..identification.reduce.wide_factor import wide_factor

DEGREES, SLIDES = 'position in degrees', 'joint slides in the description'


def turning(arm: Arm, model: IdentifiedModel | None, every: int) -> list[Finding]:
    """
    Return a Finding of the joints that the description calls prismatic and that turn.

    model, every : as of ``arm_of``; neither any bodies nor the described ones may contradict
    """
    robot, found = arm.data.robot, list[tuple[str, float]]()
    if not isinstance(robot, RobotModel):  # a mechanism may well have its sliders
        return []
    for joint in (name for name, slides in zip(arm.names, robot.prismatic) if slides):
        tree = ElementTree.fromstring(robot.urdf)
        element = tree.find(f"joint[@name='{joint}']")
        if element is None:
            continue
        element.set('type', 'revolute')
        turned = arm.data.method.build(
            ElementTree.tostring(tree, encoding='unicode'), arm.data.options, robot.gravity_base
        )
        other = arm_of(replace(arm.data, robots=(turned,)), model, every)
        gaps = [
            arm.gap(other.as_recorded[tests], arm.as_recorded[tests])
            for tests in (LEFT_OUT, DESCRIPTION)[: 1 + arm.described]
        ]
        if min(gap + SURE * error for gap, error in gaps) < 0.0 and all(
            gap < max(2.0 * error, 2.0 * np.log(ALIKE)) for gap, error in gaps
        ):
            found.append((joint, min(gap for gap, _ in gaps)))
    if not found:
        return []
    joints, gaps_of = zip(*found)
    return [
        Finding(
            SLIDES,
            f'the description has {", ".join(joints)} as prismatic; the efforts '
            'are those of a joint that turns',
            LEFT_OUT,
            float(100.0 * (1.0 - np.exp(0.5 * min(gaps_of)))),
            REMOVED,
            joints,
            WRONG,
            'correct the type of the joint in the description',
        )
    ]


def in_degrees(arm: Arm) -> list[Finding]:
    """Return a Finding where motion in degrees explains more: only the torques can tell it."""
    robot, data = arm.data.robot, arm.data
    torque, residual, _ = arm.rms()
    if (
        np.linalg.norm(residual) < TENTH * np.linalg.norm(torque)
        or np.any(np.isfinite(robot.lower))
        or any(robot.prismatic)
    ):
        return []

    def radians(series: Mapping[str, Any]) -> dict[str, Any]:
        return {joint: (t, np.radians(x)) for joint, (t, x) in series.items()}

    turned = data.observed(
        [
            replace(o, position=radians(o.position), velocity=radians(o.velocity))
            for o in data.observations
        ]
    )
    other = Arm(turned, wide_factor(turned, arm.wide.structure), arm.nominal)
    gap, error = log_ratio(*(x.as_recorded[LEFT_OUT].mean(2) for x in (other, arm)))
    if gap > -SURE * error:
        return []
    return [
        Finding(
            DEGREES,
            'positions and velocities of all joints are in degrees',
            'left-out residual',
            float(100.0 * (1.0 - np.exp(0.5 * gap))),
            REMOVED,
            arm.names,
            WRONG,
            'publish radians',
        )
    ]
