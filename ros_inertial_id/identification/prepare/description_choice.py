"""
Which description a recording is of, where it holds several, and what parts of a bag share.

A driver publishes its joint states in the namespace of its description: what is in the namespace
of another one is of another robot.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
import logging
import re
from typing import Any

from ...dynamics.robot_model import named_joints, position_limits, RobotOptions
from ...errors import RecordingError
from ...measurement.joints.channels import carries, JOINT_STATE
from ...measurement.recording import Channel, Recording

PART = re.compile(r'_\d+(?=\.[a-z0-9.]*$)')  # of the name of a file of a split bag
_warn_once = cache(logging.getLogger(__name__).warning)


def description_of(recording: Recording, options: Any) -> str:
    """
    Return the URDF text of a Recording, '' without: of several that which its joint states name.

    options : of a method, whose joint_states_topic says which robot is meant
    RecordingError where it may be one or another.
    """
    texts = recording.descriptions
    if len(set(texts.values())) < 2:
        return recording.robot_description
    asked = [topic.lstrip('/') for topic in getattr(options, 'joint_states_topic', '').split()]
    pairs = [
        (topic, states.topic)
        for states in recording.of_type(JOINT_STATE).values()
        if not asked or states.topic.lstrip('/') in asked
        for topic, text in texts.items()
        if _owner(states, list(texts)) in (topic.rpartition('/')[0], None)
        and _serves(states, text, options)
    ]
    chosen = {texts[topic] for topic, _ in pairs}
    if len(chosen) > 1:
        raise RecordingError(
            'the recording holds several robots',
            expected='one',
            found='; '.join(f'{topic} with {states}' for topic, states in pairs),
            do='say which in joint_states_topic:, or give its description: --urdf',
        )
    topic = pairs[0][0] if pairs else next(iter(texts))
    line = (
        f'{recording.provenance.get("path", "a recording")}: of several descriptions {topic} '
        f'is used{f", with {pairs[0][1]}" if pairs else ""}; --urdf gives another'
    )
    _warn_once('%s', line)
    return texts[topic]


def _owner(channel: Channel, topics: Sequence[str]) -> str | None:
    """Return the innermost namespace of descriptions in which a ``channel`` is, None of none."""
    spaces = [topic.rpartition('/')[0] for topic in topics]
    return max((s for s in spaces if channel.topic.startswith(f'{s}/')), key=len, default=None)


def _serves(channel: Channel, urdf: str, options: Any) -> bool:
    """Return whether a ``channel`` has the efforts of all joints that a ``urdf`` wants moved."""
    joints, locked = named_joints(urdf, options) if isinstance(options, RobotOptions) else ((), {})
    wanted = joints or tuple(joint for joint in position_limits(urdf) if joint not in locked)
    return set(wanted) <= set(channel.names) and carries(channel, 'effort', wanted)


def with_shared_texts(recordings: Sequence[Recording]) -> list[Recording]:
    """
    Return ``recordings`` of one robot, those without a description with that of the others.

    It is recorded once: in the first file of a split bag, as is how the robot is mounted.
    """
    described = next((r for r in recordings if r.robot_description), Recording({}))
    out = []
    for recording in recordings:
        if not recording.robot_description:
            recording = replace(
                recording,
                robot_description=described.robot_description,
                descriptions=described.descriptions,
            )
        first = next(
            (r for r in recordings if r.mounting and _whole(r) == _whole(recording)), None
        )
        if first and not recording.mounting:
            recording = replace(recording, mounting=first.mounting)
        out.append(recording)
    return out


def _whole(recording: Recording) -> str:
    """Return the path of the bag of which a ``recording`` may be one file."""
    return PART.sub('', str(recording.provenance.get('path', id(recording))))
