"""
Joint sources: which topic of a recording carries position, velocity, effort, command of a joint.

It is decided here, once for a recording and the joints that are asked for; checks and
identification read what was decided, also from the recording without its bad samples.
"""

from dataclasses import dataclass, field, replace
from itertools import product
import logging
from typing import Iterable, Mapping, Sequence

import numpy as np

from .channels import (
    carries,
    carries_all,
    columns_of,
    JOINT_STATE,
    lock_or,
    plausible,
    without_effort,
)
from .commands import COMMAND_TYPES, Commands, feedforward_of, of_joints
from .drives import is_commanded
from .kinematic_state import AT_REST, SignalOptions
from .message_order import in_order
from ..recording import Channel, joined, LazyChannels, Recording
from ...errors import RecordingError

SAME_PLACE = 0.1  # [rad, m] between the joint states of one robot on two topics, late by a little
_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class JointSources:
    """
    Which topics of one recording carry what of its joints.

    actuated : joints whose efforts count
    position, velocity, effort : {joint: topic}; without those of which nothing is recorded
    command, feedforward : topics of commanded positions, from which the efforts follow, and of
        efforts added to those, '' for none; both are '' where efforts are measured
    passed_over : {topic of joint states that is not read: why}
    no_effort : why there are no efforts to read, None where there are
    """

    actuated: tuple[str, ...]
    position: Mapping[str, str]
    velocity: Mapping[str, str]
    effort: Mapping[str, str] = field(default_factory=dict)
    command: str = ''
    feedforward: str = ''
    passed_over: Mapping[str, str] = field(default_factory=dict)
    no_effort: RecordingError | None = None

    @property
    def same_messages(self) -> bool:
        """Return whether the efforts come in the messages of the motion, if they are read."""
        topics = set(self.position.values())
        if len(topics) == 1:
            return set(self.effort.values()) <= topics
        return self.effort.items() <= self.position.items()

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics of joint states that are read."""
        return tuple(dict.fromkeys([*self.position.values(), *self.effort.values()]))

    def motion_of(self, recording: Recording) -> Channel:
        """Return the Channel of the motion in a ``recording``."""
        return _as_one(recording, self.position)

    def efforts_of(self, recording: Recording, motion: Channel) -> Channel:
        """
        Return the Channel of measured efforts in a ``recording``, ``motion`` itself with it.

        Raises ``no_effort`` where it is the reason that there is none.
        """
        self._check_efforts()
        if self.same_messages:
            return motion
        return _as_one(recording, self.effort)

    def commands_of(self, recording: Recording) -> Commands:
        """Return the Commands in a ``recording``; raises ``no_effort`` where there are none."""
        self._check_efforts()
        joints = self.actuated
        motion = of_joints(recording.channels[self.command], joints)
        feedforward = None
        if self.feedforward:
            feedforward = feedforward_of(recording.channels[self.feedforward], joints)
        topics = ' '.join(filter(None, [self.command, self.feedforward]))
        return Commands.of(topics, joints, motion, feedforward)

    def _check_efforts(self) -> None:
        if self.no_effort is not None:  # raised again and again: without the frames of before
            raise self.no_effort.with_traceback(None)


def joint_sources(
    recording: Recording,
    joints: Sequence[str],
    options: SignalOptions,
    actuated: Sequence[str] | None = None,
) -> JointSources:
    """
    Return the JointSources of the motion of ``joints`` in a ``recording``.

    actuated : joints whose effort counts, where they are not ``joints`` themselves; empty: none
    RecordingError where no topic carries the positions, or several robots may be meant.
    """
    joints = tuple(joints)
    if actuated is None:
        actuated = joints
    commanded = is_commanded(options.effort_kind) and bool(actuated)
    topics = options.joint_states_topic, options.effort_topic
    question = (joints, tuple(actuated), *topics, commanded)
    if question not in recording.decided:
        sources = _decided(recording, joints, tuple(actuated), topics, commanded)
        recording.decided[question] = sources
        for topic, why in sources.passed_over.items():
            _logger.info('%s is not read: %s', topic, why)
    return recording.decided[question]


def _decided(
    recording: Recording,
    joints: tuple[str, ...],
    actuated: tuple[str, ...],
    topics: tuple[str, str],
    commanded: bool,
) -> JointSources:
    """Return the JointSources by ``topics`` of joint states and efforts, '' to choose them."""
    if commanded:
        return _commanded_sources(recording, joints, actuated, topics)
    sources = replace(_motion_sources(recording, joints, topics[0]), actuated=actuated)
    if not actuated:
        return sources
    try:
        effort = _effort_topics(recording, sources, actuated, topics[1])
    except RecordingError as error:
        return replace(sources, no_effort=error.with_traceback(None))
    read = {*sources.position.values(), *effort.values()}
    passed_over = {t: why for t, why in sources.passed_over.items() if t not in read}
    return replace(sources, effort=effort, passed_over=passed_over)


def _motion_sources(recording: Recording, joints: tuple[str, ...], topics: str) -> JointSources:
    """Return the JointSources of positions and velocities of ``joints`` alone."""
    position = _topics_of(recording, joints, topics, 'position')
    velocity = {}
    for joint, topic in position.items():
        if carries(recording.channels[topic], 'velocity', [joint]):
            velocity[joint] = topic
    passed_over = {}
    for topic, channel in recording.of_type(JOINT_STATE).items():
        if topic not in position.values():
            passed_over[topic] = _why_not(channel, joints, topics)
    return JointSources(joints, position, velocity, passed_over=passed_over)


def _why_not(channel: Channel, joints: Sequence[str], topics: str) -> str:
    """Return why a ``channel`` of joint states is not read, ``topics`` being asked for."""
    missing = [joint for joint in joints if joint not in channel.names]
    if topics:
        return f'joint_states_topic: is {topics}'
    if _named_as_commands(channel.topic):
        return 'its name says that it holds commands'
    if missing:
        return f'it lacks {", ".join(missing)}'
    for what in ('position', 'effort'):
        if not carries(channel, what, joints):
            return f'it has no {what} of all joints'
    return 'another topic is faster, or as fast with a shorter name'


def _effort_topics(
    recording: Recording, sources: JointSources, actuated: tuple[str, ...], topics: str
) -> dict[str, str]:
    """Return {joint: topic} of measured efforts: of those of the motion if no other is asked."""
    if topics:
        return _topics_of(recording, actuated, topics, 'effort')
    of_motion = dict(sources.position)
    read = list(dict.fromkeys(of_motion.values()))
    if len(read) == 1:
        of_motion = dict.fromkeys(actuated, read[0])
    for joint in actuated:
        topic = of_motion.get(joint)
        if topic is None or not carries_all(recording.channels[topic], 'effort', [joint]):
            return _topics_of(recording, actuated, ' '.join(read), 'effort')
    return {joint: of_motion[joint] for joint in actuated}


def _commanded_sources(
    recording: Recording,
    joints: tuple[str, ...],
    actuated: tuple[str, ...],
    topics: tuple[str, str],
) -> JointSources:
    """Return the JointSources of commanded drives, whose commands are no joint states."""
    states_topics, command_topics = topics
    try:
        commands = _command_topics(recording, actuated, command_topics)
        command = _positions_among(recording, commands, actuated)
        feedforward = _only_other(commands, command)
    except RecordingError as error:
        motion = _motion_sources(recording, joints, states_topics)
        return replace(motion, no_effort=error.with_traceback(None))
    rest = {topic: kind for topic, kind in recording.types().items() if topic not in commands}
    states = replace(recording, channels=LazyChannels(rest, recording.channels.__getitem__))
    return replace(
        _motion_sources(states, joints, states_topics),
        actuated=actuated,
        command=command,
        feedforward=feedforward,
    )


def _command_topics(recording: Recording, joints: Sequence[str], topics: str) -> list[str]:
    """
    Return the topics of commands to n ``joints``.

    topics : their names, with blanks between; '' for the only one that may be meant
    RecordingError where there is none, or several may be.
    """
    types = {topic: kind for topic, kind in recording.types().items() if kind in COMMAND_TYPES}
    names = topics.split()
    if names:
        chosen, unknown = _meant(names, types)
        if unknown:
            raise _no_commands(f'topic {unknown[0]} is not in the recording', chosen, types)
        return chosen
    chosen = []
    for topic in types:
        if topic.endswith('joint_states'):
            continue
        if carries(of_joints(recording.channels[topic], joints), 'position', joints):
            chosen.append(topic)
    if not chosen:
        raise _no_commands('the recording has no commands to the joints', chosen, types)
    if len(chosen) > 1:
        raise _no_commands('several topics may be the commands', chosen, types)
    return chosen


def _meant(names: Sequence[str], topics: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return those of ``topics`` that ``names`` mean, with a slash or not, and other names."""
    by_name = {topic.lstrip('/'): topic for topic in topics}
    meant, unknown = [], []
    for name in names:
        if name.lstrip('/') in by_name:
            meant.append(by_name[name.lstrip('/')])
        else:
            unknown.append(name)
    return meant, unknown


def _no_commands(problem: str, chosen: list[str], types: Mapping[str, str]) -> RecordingError:
    """Return the error of commands that are not to be found among ``types`` {topic: type}."""
    return RecordingError(
        problem,
        found=chosen or None,
        exists=[f'{topic} ({kind})' for topic, kind in types.items()],
        do='record the topic of the commands, and name it in effort_topic:',
    )


def _positions_among(recording: Recording, topics: Sequence[str], joints: Sequence[str]) -> str:
    """Return the first of ``topics`` that commands positions of all ``joints``."""
    for topic in topics:
        if carries_all(of_joints(recording.channels[topic], joints), 'position', joints):
            return topic
    first = of_joints(recording.channels[topics[0]], joints)
    raise RecordingError(
        f'{first.topic} commands no positions of all joints',
        expected=tuple(joints),
        found=first.names or None,
        do='name the topic of the commands in effort_topic:',
    )


def _only_other(topics: Sequence[str], command: str) -> str:
    """Return the one of ``topics`` beside ``command``, that of a feedforward, '' for none."""
    others = [topic for topic in dict.fromkeys(topics) if topic != command]
    if len(others) > 1:
        raise RecordingError(
            'several topics beside that of the commanded positions',
            found=others,
            expected='one, of a feedforward',
            do='name one of them in effort_topic:',
        )
    return ''.join(others)


def find_channel(recording: Recording, joints: Sequence[str], topic: str, what: str) -> Channel:
    """
    Return the JointState Channel that carries ``what`` (position, velocity, effort) of all joints.

    topic : '' for the fastest that carries them, with effort where there is such a topic; the
        shortest of equally fast ones.  Several, with blanks between them, are read as one; so are
        those that carry all joints only together

    Raises RecordingError that says what is there instead, or that several robots may be meant.
    """
    return _as_one(recording, _topics_of(recording, joints, topic, what))


def _topics_of(
    recording: Recording, joints: Sequence[str], topics: str, what: str
) -> dict[str, str]:
    """Return {joint: topic} of ``what`` of all ``joints``; ``topics`` as of ``find_channel``."""
    names = topics.split()
    channels = _candidates(recording, names)
    ranked = sorted(channels, key=lambda topic: _rank(channels[topic], joints))
    complete = [topic for topic in ranked if carries_all(channels[topic], what, joints)]
    if complete and len(names) < 2:
        _check_one_robot([channels[topic] for topic in complete], joints)
        return dict.fromkeys(joints, complete[0])
    topic_of: dict[str, str] = {}
    for joint, topic in product(joints, ranked):
        if joint not in topic_of and carries(channels[topic], what, [joint]):
            topic_of[joint] = topic
    if len(topic_of) < len(joints):
        raise _lacking(list(channels.values()), what, joints)
    return topic_of


def _candidates(recording: Recording, names: Sequence[str]) -> dict[str, Channel]:
    """Return {topic: joint states} of the topics ``names``, by default all that are measured."""
    states = recording.of_type(JOINT_STATE)
    chosen, unknown = _meant(names, states)
    if unknown:
        raise RecordingError(
            f'topic {unknown[0]} is not in the recording',
            exists=tuple(states) or tuple(recording.channels),
        )
    if not names:
        chosen = [topic for topic in states if not _named_as_commands(topic)]
    if not chosen:
        in_recording = [f'{topic} ({kind})' for topic, kind in recording.types().items()]
        raise RecordingError(
            'the recording has no joint states',
            expected=JOINT_STATE,
            found=in_recording + recording.unread(),
        )
    candidates = {topic: states[topic] for topic in chosen}
    _check_messages(candidates, recording.provenance.get('left_out', {}))
    return candidates


def _check_messages(candidates: Mapping[str, Channel], left_out: Mapping[str, str]) -> None:
    """Raise RecordingError where all messages were ``left_out``, {topic: why}."""
    if all(topic in left_out and not len(states) for topic, states in candidates.items()):
        raise RecordingError(
            f'no message of {", ".join(candidates)} can be used',
            found=[left_out[topic] for topic in candidates],
        )


def _named_as_commands(topic: str) -> bool:
    return 'command' in topic.rpartition('/')[2]


def _rank(channel: Channel, joints: Sequence[str]) -> tuple[bool, int, int]:
    """Return the sort key of a ``channel``: with effort, fast, of a short topic comes first."""
    return not carries(channel, 'effort', joints), -_octave(channel), len(channel.topic)


def _octave(channel: Channel) -> int:
    """Return the rate of a Channel as a power of two [Hz]: closer ones count as equally fast."""
    if not len(channel):
        return 0
    seconds = (channel.stamp_ns.max() - channel.stamp_ns.min()) * 1e-9
    if not seconds:
        return 0
    return round(np.log2(len(channel) / seconds))


def _lacking(channels: Sequence[Channel], what: str, joints: Sequence[str]) -> RecordingError:
    """Return the error of ``channels`` that do not carry ``what`` of all ``joints``."""
    best = max(channels, key=lambda c: len(set(joints) & set(c.names)))
    missing = [joint for joint in joints if joint not in best.names]
    if missing:
        return RecordingError(
            f'{best.topic} lacks joints',
            expected=missing,
            exists=best.names,
            do=_without_joints(missing, joints),
        )
    silent = [joint for joint in joints if not carries(best, what, [joint])]
    do = None
    if what == 'effort':
        do = without_effort(silent, joints, _moving(best))
    return RecordingError(
        f'{best.topic} has no {what}', found=f'none for {", ".join(silent)}', do=do
    )


def _moving(channel: Channel) -> list[str]:
    """Return the joints of a ``channel`` whose plausible positions are not all the same."""
    out = []
    for k, joint in enumerate(channel.names):
        positions = channel.fields['position'][:, k]
        positions = positions[plausible(positions)]
        if len(positions) and np.ptp(positions) > AT_REST:
            out.append(joint)
    return out


def _without_joints(missing: Sequence[str], joints: Sequence[str]) -> str:
    """Return advice about those of ``joints`` that are ``missing``."""
    advice = (
        'give the URDF of this robot; of a mechanism with loops name joints that are there '
        'as independent:'
    )
    return lock_or(missing, joints, 'those that stand still', advice)


def _check_one_robot(channels: Sequence[Channel], joints: Sequence[str]) -> None:
    """
    Raise RecordingError where ``channels`` of several namespaces place the joints elsewhere.

    Compared with the first are those that have efforts as it has, or have none as well.
    """
    first = channels[0]
    with_effort = carries(first, 'effort', joints)
    alike = [channel for channel in channels if carries(channel, 'effort', joints) == with_effort]
    for channel in alike:
        if _namespace(channel) == _namespace(first):
            continue
        stamps = np.percentile(first.stamp_ns, np.linspace(5.0, 95.0, 50))
        distance = np.abs(_positions(first, joints, stamps) - _positions(channel, joints, stamps))
        if not np.nanmax(np.nanmedian(distance, axis=0)) < SAME_PLACE:
            raise RecordingError(
                'the joint states of several robots have these joints',
                found=f'{first.topic}, {channel.topic}',
                expected='those of one',
                do='say which in joint_states_topic:',
            )


def _namespace(channel: Channel) -> str:
    return channel.topic.rpartition('/')[0]


def _positions(channel: Channel, joints: Sequence[str], stamps: np.ndarray) -> np.ndarray:
    """Return the positions (N, n) of ``joints`` in the messages from ``stamps`` (N,) [ns] on."""
    messages = np.searchsorted(channel.stamp_ns, stamps).clip(max=len(channel) - 1)
    return np.asarray(channel.fields['position'][messages][:, columns_of(channel, joints)])


def _as_one(recording: Recording, topic_of: Mapping[str, str]) -> Channel:
    """Return the Channels of {joint: topic} as one, its messages in order of their stamps."""
    joints_of: dict[str, list[str]] = {}
    for joint, topic in topic_of.items():
        joints_of.setdefault(topic, []).append(joint)
    topics = list(joints_of)
    if len(topics) == 1:
        return in_order(recording.channels[topics[0]]).channel
    parts = []
    for topic, joints in joints_of.items():
        channel = in_order(recording.channels[topic]).channel
        columns = columns_of(channel, joints)
        fields = {name: values[:, columns] for name, values in channel.fields.items()}
        parts.append(replace(channel, topic=' '.join(topics), names=tuple(joints), fields=fields))
    together = joined(parts)
    return together.rows(np.argsort(together.stamp_ns, kind='stable'))
