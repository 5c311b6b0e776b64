"""
Which description a recording is of, where it holds several, and what parts of a bag share.

A driver publishes its joint states in the namespace of its description: what is in the namespace
of another one is of another robot.
"""

from collections.abc import Iterable, Sequence
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
    matches = _matches(recording, options)
    if len({texts[topic] for topic, _ in matches}) > 1:
        raise RecordingError(
            'the recording holds several robots',
            expected='one',
            found='; '.join(f'{topic} with {states}' for topic, states in matches),
            do='say which in joint_states_topic:, or give its description: --urdf',
        )
    topic = next(iter(texts))
    reason = ''
    if matches:
        topic, states_topic = matches[0]
        reason = f', with {states_topic}'
    name = recording.provenance.get('path', 'a recording')
    _warn_once(
        '%s', f'{name}: of several descriptions {topic} is used{reason}; --urdf gives another'
    )
    return texts[topic]


def asked_topics(options: Any) -> list[str]:
    """Return the topics that ``joint_states_topic`` of the options names, without leading /."""
    topics: str = getattr(options, 'joint_states_topic', '')
    return [topic.lstrip('/') for topic in topics.split()]


def _matches(recording: Recording, options: Any) -> list[tuple[str, str]]:
    """Return (topic of a description, topic of joint states that may be of its robot)."""
    asked = asked_topics(options)
    matches = []
    for states in recording.of_type(JOINT_STATE).values():
        if asked and states.topic.lstrip('/') not in asked:
            continue
        namespace = _namespace_of(states, recording.descriptions)
        for topic, text in recording.descriptions.items():
            if namespace in (None, _namespace(topic)) and _serves(states, text, options):
                matches.append((topic, states.topic))
    return matches


def _namespace(topic: str) -> str:
    return topic.rpartition('/')[0]


def _namespace_of(channel: Channel, topics: Iterable[str]) -> str | None:
    """Return the innermost namespace of descriptions in which a ``channel`` is, None of none."""
    around = [n for n in map(_namespace, topics) if channel.topic.startswith(f'{n}/')]
    return max(around, key=len, default=None)


def _serves(channel: Channel, urdf: str, options: Any) -> bool:
    """Return whether a ``channel`` has the efforts of all joints that a ``urdf`` wants moved."""
    joints, locked = _named_joints(urdf, options)
    if not joints:
        joints = tuple(joint for joint in position_limits(urdf) if joint not in locked)
    return set(joints) <= set(channel.names) and carries(channel, 'effort', joints)


def _named_joints(urdf: str, options: Any) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the joints that move, none for all, and the locked ones, of any options."""
    if isinstance(options, RobotOptions):
        return named_joints(urdf, options)
    return (), {}


def with_shared_texts(recordings: Sequence[Recording]) -> list[Recording]:
    """
    Return ``recordings`` of one robot, those without a description with that of the others.

    It is recorded once: in the first file of a split bag, as is how the robot is mounted.
    """
    described = next((r for r in recordings if r.robot_description), Recording({}))
    # The first of a bag counts: reversed, it is written last.
    mountings = {_bag_of(r): r.mounting for r in reversed(recordings) if r.mounting}
    completed = []
    for recording in recordings:
        bag = _bag_of(recording)
        if not recording.robot_description:
            recording = replace(
                recording,
                robot_description=described.robot_description,
                descriptions=described.descriptions,
            )
        if not recording.mounting and bag in mountings:
            recording = replace(recording, mounting=mountings[bag])
        completed.append(recording)
    return completed


def _bag_of(recording: Recording) -> str:
    """Return the path of the bag of which a ``recording`` may be one file."""
    path = recording.provenance.get('path', id(recording))
    return PART.sub('', str(path))
