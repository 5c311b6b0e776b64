"""Joint channels: which topic carries the joints; its values, refused where not whole."""

from dataclasses import replace
from typing import Collection, Mapping, Sequence

import numpy as np

from .. import signals
from ..recording import Channel, empty, joined, page_out, Recording
from ...errors import RecordingError

JOINT_STATE = 'sensor_msgs/msg/JointState'
LARGEST = 1e12  # of what a joint measures, in any unit
PIECE = 50_000  # samples that are looked at together
BROKEN = 0.2  # of the messages with values that are no numbers: of more of them a source fails
GAP = 0.5  # [s] between messages across which a turn may hide
TURN = 2.0 * np.pi
NO_EFFORT = 1e-9  # [N m, N, A]: noise of any sensor is more, what nobody wrote to is less
MOST = 1.0  # [rad] that a joint which wraps moves between two messages
SHORTEST = 1.0  # [s]: no arm shows its inertia in less
SAME_PLACE = 0.1  # [rad, m] between the joint states of one robot on two topics, late by a little


def find_channel(recording: Recording, joints: Sequence[str], topic: str, what: str) -> Channel:
    """
    Return the JointState Channel that carries ``what`` (position, velocity, effort) of all joints.

    topic : '' for the fastest that carries them, with effort where there is such a topic; the
        shortest of equally fast ones.  Several, with blanks between them, are read as one; so are
        those that carry all joints only together

    Raises RecordingError that says what is there instead, or that several robots may be meant.
    """
    topics = topic.split()
    channels = _asked(recording.of_type(JOINT_STATE), topics, recording)
    channels.sort(key=lambda channel: _rank(channel, joints))
    complete = [c for c in channels if set(joints) <= set(c.names) and carries(c, what, joints)]
    if complete and len(topics) < 2:
        first = complete[0]
        with_effort = carries(first, 'effort', joints)
        equal = [c for c in complete if carries(c, 'effort', joints) == with_effort]
        _check_one_robot(equal, joints)
        return first
    sources: dict[str, Channel] = {}
    for joint in joints:
        carrying = [c for c in channels if carries(c, what, [joint])]
        if not carrying:
            raise _lacking(channels, what, joints)
        sources[joint] = carrying[0]
    return _as_one(sources)


def _rank(channel: Channel, joints: Sequence[str]) -> tuple[bool, int, int]:
    """Return the sort key of a ``channel``: with effort, fast, of a short topic comes first."""
    return not carries(channel, 'effort', joints), -_octave(channel), len(channel.topic)


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
    without = [joint for joint in joints if not carries(best, what, [joint])]
    do = None
    if what == 'effort':
        do = _without_effort(without, joints)
    return RecordingError(
        f'{best.topic} has no {what}', found=f'none for {", ".join(without)}', do=do
    )


def _asked(
    channels: Mapping[str, Channel], topics: Sequence[str], recording: Recording
) -> list[Channel]:
    """Return the ``channels`` of ``topics``, all without; RecordingError where there is none."""
    named: dict[str, Channel] = {}
    for name, channel in channels.items():
        is_measured = 'command' not in name.rpartition('/')[2]
        if topics or is_measured:
            named[name.lstrip('/')] = channel
    for topic in topics:
        if topic.lstrip('/') not in named:
            raise RecordingError(
                f'topic {topic} is not in the recording',
                exists=tuple(channels) or tuple(recording.channels),
            )
    if not named:
        found = [f'{name} ({channel.type})' for name, channel in recording.channels.items()]
        raise RecordingError(
            'the recording has no joint states',
            expected=JOINT_STATE,
            found=found + recording.unread(),
        )
    if topics:
        return [named[topic.lstrip('/')] for topic in topics]
    return list(named.values())


def _without_joints(missing: Sequence[str], joints: Collection[str]) -> str:
    """Return what to do about those of ``joints`` that are ``missing``."""
    do = (
        'give the URDF of this robot; of a mechanism with loops name joints that are there '
        'as independent:'
    )
    if len(missing) == len(joints):
        return do
    return f'lock those that stand still, --lock "{",".join(missing)}" (locked_joints:), or {do}'


def _without_effort(silent: Sequence[str], joints: Collection[str]) -> str:
    """Return what to do about those of ``joints`` that have no effort."""
    do = (
        'let the driver report efforts, record a topic with them and name it in effort_topic:, or '
        'where drives follow position commands give effort_kind: command with their stiffness:'
    )
    if len(silent) == len(joints):
        return do
    return (
        f'lock what is no part of the arm, --lock "{",".join(silent)}" (locked_joints:), or {do}'
    )


def _check_one_robot(channels: Sequence[Channel], joints: Sequence[str]) -> None:
    """Raise RecordingError where ``channels`` of several namespaces place the joints elsewhere."""
    first = channels[0]
    for other in channels[1:]:
        if other.topic.rpartition('/')[0] == first.topic.rpartition('/')[0]:
            continue
        stamps = np.percentile(first.stamp_ns, np.linspace(5.0, 95.0, 50))
        apart = np.abs(_positions(first, joints, stamps) - _positions(other, joints, stamps))
        if not np.nanmax(np.nanmedian(apart, axis=0)) < SAME_PLACE:
            raise RecordingError(
                'the joint states of several robots have these joints',
                found=f'{first.topic}, {other.topic}',
                expected='those of one',
                do='say which in joint_states_topic:',
            )


def _positions(channel: Channel, joints: Sequence[str], stamps: np.ndarray) -> np.ndarray:
    """Return the positions (N, n) of ``joints`` in the messages from ``stamps`` (N,) [ns] on."""
    messages = np.searchsorted(channel.stamp_ns, stamps).clip(max=len(channel) - 1)
    columns = [channel.names.index(joint) for joint in joints]
    return np.asarray(channel.fields['position'][messages][:, columns])


def _as_one(sources: Mapping[str, Channel]) -> Channel:
    """Return the Channels of {joint: Channel} as one, its messages in order of their stamps."""
    joints_of: dict[str, list[str]] = {}
    for joint, channel in sources.items():
        joints_of.setdefault(channel.topic, []).append(joint)
    channels = {channel.topic: channel for channel in sources.values()}
    topics = ' '.join(joints_of)
    parts = [_of_joints(channel, joints_of[topic], topics) for topic, channel in channels.items()]
    one = joined(parts)
    if len(parts) == 1:
        return one
    return one.rows(np.argsort(one.stamp_ns, kind='stable'))


def _of_joints(channel: Channel, joints: Sequence[str], topic: str) -> Channel:
    """Return a ``channel`` of ``joints`` alone, under another ``topic``."""
    columns = [channel.names.index(joint) for joint in joints]
    fields = {name: values[:, columns] for name, values in channel.fields.items()}
    return replace(channel, topic=topic, names=tuple(joints), fields=fields)


def groups(channel: Channel, joints: Sequence[str]) -> list[list[str]]:
    """Return ``joints`` of a ``channel`` in groups that come in the same messages."""
    columns = [channel.names.index(joint) for joint in joints]
    together = np.zeros((len(joints), len(joints)))  # messages that carry both
    for low in range(0, len(channel), PIECE):
        page_out()
        positions = channel.fields['position'][low : low + PIECE][:, columns]
        carried = np.isfinite(positions).astype(float)
        together += carried.T @ carried
    fewest = np.minimum.outer(np.diag(together), np.diag(together))
    members: dict[int, list[str]] = {}
    for k, joint in enumerate(joints):
        first = int(np.argmax(2.0 * together[k] >= fewest[k]))
        members.setdefault(first, []).append(joint)
    return list(members.values())


def _octave(channel: Channel) -> int:
    """Return the rate of a Channel as a power of two [Hz]: closer ones count as equally fast."""
    if not len(channel):
        return 0
    seconds = (channel.stamp_ns.max() - channel.stamp_ns.min()) * 1e-9
    if not seconds:
        return 0
    return round(np.log2(len(channel) / seconds))


def carries(channel: Channel, what: str, joints: Sequence[str]) -> bool:
    """Return whether ``channel`` has at least one finite ``what`` of each of ``joints``."""
    if what not in channel.fields:
        return False
    columns = [channel.names.index(j) for j in joints if j in channel.names]
    return bool(columns) and all(_some_finite(channel.fields[what][:, c]) for c in columns)


def sound(x: np.ndarray) -> np.ndarray:
    """Return which of x are numbers that a robot can have, in any unit; same shape."""
    return np.abs(x) < LARGEST  # not-a-number is not


def _some_finite(x: np.ndarray) -> bool:
    """Return whether any of x (N,) is finite; the first samples mostly are."""
    return bool(sound(x[:1]).any()) or any(
        sound(x[k : k + PIECE]).any() for k in range(0, len(x), PIECE)
    )


def all_finite(values: np.ndarray, columns: Sequence[int]) -> bool:
    """Return whether all ``values`` (N, k) of ``columns`` are finite, looked at in pieces."""
    for low in range(0, len(values), PIECE):
        page_out()
        part = values[low : low + PIECE]
        if [*columns] != [*range(part.shape[1])]:
            part = part[:, columns]
        if part.size and not -LARGEST < part.min() <= part.max() < LARGEST:  # nor is not-a-number
            return False
    return True


def series_of(
    channel: Channel, what: str, joints: Sequence[str], origin: int, t: np.ndarray | None = None
) -> dict:
    """
    Return {joint: (stamps [s], values)} of the messages of a ``channel`` that carry the joint.

    what : position, velocity or effort; origin : zero of time [ns]; t : (n,) [s] the channel's
    stamps, where they are known; RecordingError for a joint that is carried without a finite value
    """
    if t is None:
        t = (channel.stamp_ns - origin) * 1e-9
    columns = [channel.names.index(joint) for joint in joints]
    if all_finite(channel.fields[what], columns):
        return {joint: (t, channel.fields[what][:, c]) for joint, c in zip(joints, columns)}
    series = {}
    good_before, stamps = np.ones(len(t), dtype=bool), t
    for joint, column in zip(joints, columns):
        values = channel.fields[what][:, column]
        good = sound(values)
        carried = np.zeros(len(t), dtype=bool)
        for quantity in channel.fields.values():
            carried |= ~np.isnan(quantity[:, column])
        broken = ~good & carried
        if broken.any():
            raise _broken(f'{what} of {joint} in {channel.topic}', t, values, broken)
        if not np.array_equal(good, good_before):  # most joints lack the same: they share stamps
            good_before, stamps = good, _chosen(t, good)
        series[joint] = stamps, _chosen(values, good)
    return series


def _chosen(values: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Return the ``values`` (n,) that are ``good`` (n,), themselves where all are."""
    if good.all():
        return values
    return np.compress(good, values, out=empty((int(good.sum()),), values.dtype))


def _broken(what: str, t: np.ndarray, values: np.ndarray, broken: np.ndarray) -> RecordingError:
    """Return the error of ``values`` (n,) at t (n,) [s] that are ``broken`` (n,), not lacking."""
    wrong = 'not finite'
    if np.isfinite(values[broken]).all():
        wrong = f'beyond {LARGEST:g}'
    first = int(np.flatnonzero(broken)[0])
    return RecordingError(
        f'{what} is {wrong} in {int(broken.sum())} of {len(t)} messages',
        found=f'{values[first]} at {t[first]:.3f} s (sample {first})',
        do='cut the recording with @START:END or correct its source',
    )


def whole(channel: Channel, joints: Sequence[str] = (), most: float = 1.0) -> Channel:
    """
    Return a JointState ``channel`` without the messages that ``series_of`` refuses.

    Of ``joints``, by default all, such a message lacks a quantity that others carry (another
    node repeats positions), or has values that are no numbers.  Of more than the share ``most``
    of the latter all are kept: such a source fails.
    """
    columns = [channel.names.index(joint) for joint in joints or channel.names]
    if all(all_finite(values, columns) for values in channel.fields.values()):
        return channel
    bare, broken = _unusable(channel, columns)
    left_out = bare
    if (broken & ~bare).sum() <= most * (~bare).sum():
        left_out = broken
    if not left_out.any() or left_out.all():
        return channel
    return channel.rows(~left_out)


def _unusable(channel: Channel, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return which messages (N,) of a ``channel`` are bare, and which of them or others broken.

    bare : lacking a whole quantity that others carry; broken : of a value that is no number
    """
    published = {
        name: np.array([_some_finite(values[:, column]) for column in columns])
        for name, values in channel.fields.items()
    }
    bare, broken = np.zeros((2, len(channel)), dtype=bool)
    for low in range(0, len(channel), PIECE):
        page_out()
        rows = slice(low, low + PIECE)
        part = {name: values[rows][:, columns] for name, values in channel.fields.items()}
        carried = np.any([~np.isnan(values) for values in part.values()], axis=0)
        for name, values in part.items():
            due = carried & published[name]
            bare[rows] |= due.any(axis=1) & (np.isnan(values) | ~due).all(axis=1)
            broken[rows] |= (due & ~sound(values)).any(axis=1)
    return bare, broken


def check_effort(effort: Mapping, topic: str, moving: Collection[str] = ()) -> None:
    """
    Raise RecordingError when an effort of a ``topic`` is zero, or the same while its joint moves.

    effort : {joint: (t, values)}; moving : joints that move
    """
    silent = [
        joint for joint, (_, values) in effort.items() if not np.any(np.abs(values) > NO_EFFORT)
    ]
    if silent:
        raise RecordingError(
            f'the effort in {topic} is zero in every message',
            found=f'for {", ".join(silent)} (less than {NO_EFFORT:g} is none)',
            do=_without_effort(silent, effort),
        )
    frozen = [joint for joint in moving if joint in effort and not np.ptp(effort[joint][1])]
    if frozen:
        raise RecordingError(
            f'the effort in {topic} is the same in every message',
            expected='one that changes as the joint moves',
            found=', '.join(f'{j} {effort[j][1][0]:.4g}' for j in frozen),
            do='the driver repeats a value: correct it, or name another topic in effort_topic:',
        )


def common_clock(
    motion: Channel, force: Channel, joints: Sequence[str], origin: int
) -> signals.Clock:
    """
    Return the Clock of the messages of the fastest of ``joints``, where motion and force overlap.

    origin : zero of time [ns]; RecordingError when less than half of the motion is in common
    """
    columns = [motion.names.index(j) for j in joints]
    stamps, position = motion.stamp_ns, motion.fields['position']
    if not all_finite(position, columns):  # the fastest: others come between its messages
        known = np.isfinite(position)[:, columns]
        stamps = stamps[known[:, np.argmax(known.sum(axis=0))]]
    clock = signals.uniform_clock(stamps, origin, motion.topic)
    if clock.period >= SHORTEST:
        raise RecordingError(
            f'samples of {motion.topic} are {clock.period:.3g} s apart',
            expected='many in a second',
            do='look at the unit of its times: stamps are in seconds',
        )
    if force is not motion:
        signals.uniform_clock(force.stamp_ns, origin, force.topic)
        overlap = (min(stamps[-1], force.stamp_ns[-1]) - max(stamps[0], force.stamp_ns[0])) * 1e-9
        if overlap < 0.5 * (stamps[-1] - stamps[0]) * 1e-9:
            raise RecordingError(
                f'{motion.topic} and {force.topic} are on two clocks',
                found=f'{overlap:.3f} s in common of {(stamps[-1] - stamps[0]) * 1e-9:.3f} s',
                do='stamp both with the same clock',
            )
        inside = (stamps >= force.stamp_ns[0]) & (stamps <= force.stamp_ns[-1])
        clock = signals.uniform_clock(stamps[inside], origin, motion.topic)
    return clock


class Unwrapper:
    """
    Takes steps of nearly one turn between two messages back, in successive Channels.

    Across a gap nothing is known and nothing is changed.  counts : {joint: how often it wrapped}
    """

    def __init__(self, joints: Sequence[str]):
        self.counts: dict[str, int] = {}
        self._joints = tuple(joints)
        # Of the last message: time [s], position, turned, step [rad].
        self._last: dict[str, tuple[float, float, float, float]] = {}

    def __call__(self, channel: Channel) -> Channel:
        """Return the ``channel`` with positions that go on where they wrapped."""
        position = channel.fields.get('position')
        if position is None:
            return channel
        columns = {
            joint: channel.names.index(joint) for joint in self._joints if joint in channel.names
        }
        unwrapped = position  # copied where the first joint wraps: hours of positions are large
        for low in range(0, len(position), PIECE):
            page_out()
            part = slice(low, low + PIECE)
            t, q = channel.stamp_ns[part] * 1e-9, position[part]
            if self._steady(columns, t, q):
                continue
            q = q.copy()
            for joint, column in columns.items():
                self._follow(joint, t, q[:, column])
            if self.counts and unwrapped is position:
                unwrapped = position.copy()
            if self.counts:
                unwrapped[part] = q
        if not self.counts:
            return channel
        return replace(channel, fields={**channel.fields, 'position': unwrapped})

    def _steady(self, columns, t, position):
        """Return whether no joint wraps here or did before; remember the last message then."""
        if self.counts or len(columns) < len(self._joints) or (0 < len(self._last) < len(columns)):
            return False
        q = position[:, list(columns.values())]
        before = q[:1]
        if self._last:
            before = np.array([[self._last[joint][1] for joint in columns]])
        steps = np.diff(np.concatenate([before, q]), axis=0)
        if not (np.abs(steps) < TURN / 2).all():  # nor is one not a number
            return False
        for joint, place, step in zip(columns, q[-1].tolist(), steps[-1].tolist()):
            self._last[joint] = t[-1], place, 0.0, step
        return True

    def _follow(self, joint, t, q):
        """Add to positions q (N,) of a joint the turns that it made, and remember them."""
        rows = np.flatnonzero(np.isfinite(q))
        if not len(rows):
            return
        t, known = t[rows], q[rows]
        time, place, turned, before = self._last.get(joint, (t[0], known[0], 0.0, 0.0))
        steps = np.where(np.diff(t, prepend=time) <= GAP, np.diff(known, prepend=place), 0.0)
        jumps = _jumps(steps, np.append(before, steps[:-1]))
        turns = turned - TURN * np.cumsum(np.sign(steps) * jumps)
        self._last[joint] = t[-1], known[-1], float(turns[-1]), float(steps[-1])
        if jumps.any():
            self.counts[joint] = self.counts.get(joint, 0) + int(jumps.sum())
        if self.counts:
            q[rows] += turns


def _jumps(steps, before):
    """Return which steps (N,) are no motion but a wrap; before : (N,) the one before each."""
    left = steps - TURN * np.sign(steps)
    # A fast motor turns as far between messages: a wrap follows small steps, or the wrap of noise
    # at the seam.
    slow = (np.abs(before) < MOST) | (np.abs(before + steps) < MOST)
    return (np.abs(steps) > TURN / 2) & (np.abs(left) < MOST) & slow
