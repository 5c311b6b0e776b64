"""
Where locked joints are: at the recorded position, which may not change while they are locked.

A link that is held elsewhere than the model takes it weighs otherwise on the joints before it,
and no residual shows it: free bodies take it up.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ...dynamics.robot_model import (
    load_robot_model,
    mimicked,
    named_joints,
    position_limits,
    RobotOptions,
)
from ...errors import ConfigError, RecordingError
from ...measurement.joints.channels import JOINT_STATE, sound
from ...measurement.recording import Recording

SHIFT = 0.02  # of the first moment of the body that carries it: a gripper's fingers shift it less
HELD = 0.05  # [rad or m]: nothing that is fixed, brake or servo, gives way by more
GLITCHES = 1.0  # [%] of the samples at either end that may be none of the joint's positions


def with_recorded_locks(recording: Recording, options: Any, urdf: str) -> Any:
    """
    Return the options with every joint named, and locked ones where the Recording has them.

    options : with RobotOptions; urdf : text of the description
    A joint that was not recorded is where the one that it mimics puts it, else at 0.

    RecordingError for a joint that moves what weighs while it is locked, or that is far beyond
    its limits; ConfigError for locked_positions that contradict the recording.
    """
    if not isinstance(options, RobotOptions) or not options.locked_joints:
        return options
    joints, locked = named_joints(urdf, options)
    followed, limits = mimicked(urdf), position_limits(urdf)

    def shifts(joint: str, start: float, end: float) -> bool:
        """Return whether a joint between two positions shifts what the others have to hold."""
        if abs(end - start) <= HELD:
            return False
        one, other = (
            load_robot_model(urdf, joints, locked={**locked, joint: x}).inertias[:, :4]
            for x in (start, end)
        )
        moment, way = (np.linalg.norm(x[:, 1:], axis=1) for x in (one, other - one))
        return not one[:, 0].any() or bool((way > SHIFT * moment).any())

    for joint, given in locked.items():
        moved, factor, offset = joint, 1.0, 0.0
        values = _recorded(recording, joint, options)
        if not len(values) and joint in followed:
            moved, factor, offset = followed[joint]
            values = _recorded(recording, moved, options)
        if not len(values) or getattr(options, 'position_kind', 'link') == 'motor':
            continue
        least, middle, most = (
            factor * float(x) + offset
            for x in np.percentile(values, [GLITCHES, 50.0, 100.0 - GLITCHES])
        )
        low, high = limits.get(joint, (np.nan, np.nan))
        if not options.locked_positions and abs(middle - (high + low) / 2) > 1.5 * (high - low):
            raise RecordingError(
                f'the recorded position of {joint} is far beyond its limits',
                found=f'{middle:.3g}',
                expected=f'{low:.3g} to {high:.3g}',
                do='it has another unit: say in locked_positions where it is [rad or m]',
            )
        if shifts(joint, least, most):
            how, do = (
                ('moves', 'do not lock it')
                if moved == joint
                else (
                    f'follows {moved}, which moves',
                    'method closed_loop, friction: of the joints, '
                    f"closures: ['coupling {joint} {moved} {factor:g} {offset:g}']",
                )
            )
            raise RecordingError(
                f'{joint} is locked and {how} in the recording',
                expected='one that stands still',
                found=f'{min(least, most):.3g} to {max(least, most):.3g} rad (m)',
                do=f'cut the recording to where it stands, BAG@START:END, or identify it: {do}',
            )
        if not options.locked_positions:
            locked[joint] = middle
        elif shifts(joint, given, middle):
            raise ConfigError(
                f'locked_positions say another place of {joint} than the recording',
                expected=f'{middle:.3g} as recorded',
                found=given,
                do='leave locked_positions out, and the recording counts; a model '
                'holds only for the place that it was identified at',
            )
    return replace(
        options,
        joints=joints,
        locked_joints=tuple(locked),
        locked_positions=tuple(locked.values()),
    )


def _recorded(recording: Recording, joint: str, options: Any) -> np.ndarray:
    """Return the positions (N,) of a ``joint`` in the fullest topic that has it, none without."""
    asked = [topic.lstrip('/') for topic in getattr(options, 'joint_states_topic', '').split()]
    for channel in sorted(
        recording.of_type(JOINT_STATE).values(),
        key=lambda c: (c.topic.lstrip('/') not in asked, -len(c.names)),
    ):
        if joint in channel.names and 'position' in channel.fields:
            values = channel.fields['position'][:, channel.names.index(joint)]
            values = values[sound(values)]
            if len(values):
                return values
    return np.empty(0)
