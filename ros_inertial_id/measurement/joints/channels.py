"""Joint channels: what a JointState Channel carries of joints, refused where not whole."""

from typing import Collection, Mapping, Sequence

import numpy as np

from .. import signals
from ..recording import Channel, empty, page_out
from ...errors import RecordingError

JOINT_STATE = 'sensor_msgs/msg/JointState'
LARGEST_PLAUSIBLE = 1e12  # of what a joint measures, in any unit
ROWS_AT_ONCE = 50_000  # messages that are looked at together
BROKEN = 0.2  # of the messages with values that are no numbers: of more of them a source fails
NO_EFFORT = 1e-9  # [N m, N, A]: noise of any sensor is more, what nobody wrote to is less
SHORTEST = 1.0  # [s]: no arm shows its inertia in less
LEAST_OVERLAP = 0.5  # of the motion during which efforts are recorded, or clocks differ
Series = dict[str, tuple[np.ndarray, np.ndarray]]  # {joint: (stamps [s], values)}


def columns_of(channel: Channel, joints: Sequence[str]) -> list[int]:
    """Return the columns of ``joints`` in the fields of a ``channel``."""
    return [channel.names.index(joint) for joint in joints]


def groups(channel: Channel, joints: Sequence[str]) -> list[list[str]]:
    """Return ``joints`` of a ``channel`` in groups that come in the same messages."""
    columns = columns_of(channel, joints)
    together = np.zeros((len(joints), len(joints)))  # messages that carry both
    for low in range(0, len(channel), ROWS_AT_ONCE):
        page_out()
        positions = channel.fields['position'][low : low + ROWS_AT_ONCE][:, columns]
        carried = np.isfinite(positions).astype(float)
        together += carried.T @ carried
    fewest = np.minimum.outer(np.diag(together), np.diag(together))
    members: dict[int, list[str]] = {}
    for k, joint in enumerate(joints):
        first = int(np.argmax(2.0 * together[k] >= fewest[k]))
        members.setdefault(first, []).append(joint)
    return list(members.values())


def carries(channel: Channel, what: str, joints: Sequence[str]) -> bool:
    """
    Return whether ``channel`` has a plausible ``what`` of each of those of ``joints`` that it has.

    False where it has none of them; ``carries_all`` asks for all.
    """
    if what not in channel.fields:
        return False
    in_channel = [joint for joint in joints if joint in channel.names]
    if not in_channel:
        return False
    values = channel.fields[what]
    return all(_any_plausible(values[:, c]) for c in columns_of(channel, in_channel))


def carries_all(channel: Channel, what: str, joints: Sequence[str]) -> bool:
    """Return whether ``channel`` has all ``joints``, and ``what`` of each."""
    return set(joints) <= set(channel.names) and carries(channel, what, joints)


def plausible(x: np.ndarray) -> np.ndarray:
    """Return which of x are numbers that a robot can have, in any unit; same shape."""
    return np.abs(x) < LARGEST_PLAUSIBLE  # not-a-number is not


def _any_plausible(x: np.ndarray) -> bool:
    """Return whether any of x (N,) is plausible; the first samples mostly are."""
    if plausible(x[:1]).any():
        return True
    return any(plausible(x[k : k + ROWS_AT_ONCE]).any() for k in range(0, len(x), ROWS_AT_ONCE))


def all_plausible(values: np.ndarray, columns: Sequence[int]) -> bool:
    """Return whether all ``values`` (N, k) of ``columns`` are plausible, looked at in pieces."""
    is_every_column = [*columns] == [*range(values.shape[1])]
    for low in range(0, len(values), ROWS_AT_ONCE):
        page_out()
        part = values[low : low + ROWS_AT_ONCE]
        if not is_every_column:
            part = part[:, columns]
        # Comparisons with not-a-number are false.
        if part.size and not -LARGEST_PLAUSIBLE < part.min() <= part.max() < LARGEST_PLAUSIBLE:
            return False
    return True


def series_of(channel: Channel, what: str, joints: Sequence[str], t: np.ndarray) -> Series:
    """
    Return {joint: (stamps [s], values)} of the messages of a ``channel`` that carry the joint.

    what : position, velocity or effort; t : (n,) [s] the channel's stamps
    RecordingError for a joint that is carried without a finite value, or in no message
    """
    columns = columns_of(channel, joints)
    values = channel.fields[what]
    if all_plausible(values, columns):
        return {joint: (t, values[:, column]) for joint, column in zip(joints, columns)}
    stamps_of: dict[bytes, np.ndarray] = {}  # most joints lack the same: they share stamps
    series = {}
    for joint, column in zip(joints, columns):
        good = plausible(values[:, column])
        _refuse_broken(channel, what, joint, good, t)
        if not good.any():  # no more, behind the checks
            raise RecordingError(f'{channel.topic} has no {what} of {joint} that can be used')
        key = good.tobytes()
        if key not in stamps_of:
            stamps_of[key] = _chosen(t, good)
        series[joint] = stamps_of[key], _chosen(values[:, column], good)
    return series


def _chosen(values: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Return the ``values`` (n,) that are ``good`` (n,), themselves where all are."""
    if good.all():
        return values
    return np.compress(good, values, out=empty((int(good.sum()),), values.dtype))


def _refuse_broken(
    channel: Channel, what: str, joint: str, good: np.ndarray, t: np.ndarray
) -> None:
    """
    Raise RecordingError where messages that carry a ``joint`` have no plausible ``what`` of it.

    good : (n,) which messages have one; t : (n,) [s] their stamps
    """
    column = channel.names.index(joint)
    carried = np.zeros(len(t), dtype=bool)
    for quantity in channel.fields.values():
        carried |= ~np.isnan(quantity[:, column])
    broken = np.flatnonzero(~good & carried)
    if not broken.size:
        return
    values = channel.fields[what][:, column]
    wrong = 'not finite'
    if np.isfinite(values[broken]).all():
        wrong = f'beyond {LARGEST_PLAUSIBLE:g}'
    first = int(broken[0])
    raise RecordingError(
        f'{what} of {joint} in {channel.topic} is {wrong} in {len(broken)} of {len(t)} messages',
        found=f'{values[first]} at {t[first]:.3f} s (sample {first})',
        do='cut the recording with @START:END or correct its source',
    )


def without_incomplete(
    channel: Channel, joints: Sequence[str] = (), most_broken: float = 1.0
) -> Channel:
    """
    Return a JointState ``channel`` without the messages that ``series_of`` refuses.

    Of ``joints``, by default all, such a message lacks a quantity that others carry (another
    node repeats positions), or has values that are no numbers.  Of more than the share
    ``most_broken`` of the latter all are kept: such a source fails.
    """
    columns = columns_of(channel, joints or channel.names)
    if all(all_plausible(values, columns) for values in channel.fields.values()):
        return channel
    bare, broken = _unusable(channel, columns)
    left_out = bare
    if (broken & ~bare).sum() <= most_broken * (~bare).sum():
        left_out = broken
    if not left_out.any() or left_out.all():
        return channel
    return channel.rows(~left_out)


def _unusable(channel: Channel, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return which messages (N,) of a ``channel`` are bare, and which of them or others broken.

    bare : lacking a whole quantity that others carry; broken : of a value that is no number
    """
    published = {}
    for name, values in channel.fields.items():
        published[name] = np.array([_any_plausible(values[:, column]) for column in columns])
    bare, broken = np.zeros((2, len(channel)), dtype=bool)
    for low in range(0, len(channel), ROWS_AT_ONCE):
        page_out()
        rows = slice(low, low + ROWS_AT_ONCE)
        part = {name: values[rows][:, columns] for name, values in channel.fields.items()}
        carried = np.any([~np.isnan(values) for values in part.values()], axis=0)
        for name, values in part.items():
            due = carried & published[name]
            bare[rows] |= due.any(axis=1) & (np.isnan(values) | ~due).all(axis=1)
            broken[rows] |= (due & ~plausible(values)).any(axis=1)
    return bare, broken


def check_effort(effort: Mapping, topic: str, moving: Collection[str] = ()) -> None:
    """
    Raise RecordingError when an effort of a ``topic`` is zero, or the same while its joint moves.

    effort : {joint: (t, values)}; moving : joints that move
    """
    silent, frozen = [], []
    for joint, (_, values) in effort.items():
        if not np.any(np.abs(values) > NO_EFFORT):
            silent.append(joint)
        elif joint in moving and not np.ptp(values):
            frozen.append(joint)
    if silent:
        raise RecordingError(
            f'the effort in {topic} is zero in every message',
            found=f'for {", ".join(silent)} (less than {NO_EFFORT:g} is none)',
            do=without_effort(silent, effort, moving),
        )
    if frozen:
        raise RecordingError(
            f'the effort in {topic} is the same in every message',
            expected='one that changes as the joint moves',
            found=', '.join(f'{joint} {effort[joint][1][0]:.4g}' for joint in frozen),
            do='the driver repeats a value: correct it, or name another topic in effort_topic:',
        )


def without_effort(silent: Sequence[str], joints: Collection[str], moving: Collection[str]) -> str:
    """
    Return advice about those of ``joints`` that have no effort.

    moving : joints that move: what is silent then is passive, or light
    """
    advice = (
        'let the driver report efforts, record a topic with them and name it in effort_topic:, or '
        'where drives follow position commands write "serial_arm: {effort_kind: command}" to '
        'servo.yaml and find their gains: inertial-id drive-gains --empty BAG --config servo.yaml'
        ', of a log with --urdf'
    )
    passive = [joint for joint in silent if joint in moving]
    driven = [joint for joint in joints if joint not in silent]
    if not passive or not driven:
        which = 'what is no part of the arm and stands still'
        return lock_or(silent, joints, which, advice)
    independent = [joint for joint in joints if joint in driven or joint in passive]
    locked = lock_or(silent, joints, 'what is too light to matter (fingers)', advice)
    return (
        f'if no motor moves {", ".join(passive)} (a pendulum) write "closed_loop: '
        f'{{independent: [{", ".join(independent)}], actuated: [{", ".join(driven)}]}}" to '
        'passive.yaml, then inertial-id identify BAG --method closed_loop --config passive.yaml, '
        f'or {locked}'
    )


def lock_or(concerned: Sequence[str], joints: Collection[str], which: str, advice: str) -> str:
    """Return ``advice``, or to lock the ``concerned``, ``which`` in words, where others remain."""
    if len(concerned) == len(joints):
        return advice
    return f'lock {which}, --lock "{",".join(concerned)}" (locked_joints:), or {advice}'


def common_clock(
    motion: Channel, force: Channel, joints: Sequence[str], origin: int
) -> signals.Clock:
    """
    Return the Clock of the messages of the fastest of ``joints``, where motion and force overlap.

    origin : zero of time [ns]; RecordingError when less than half of the motion is in common
    """
    columns = columns_of(motion, joints)
    stamps, position = motion.stamp_ns, motion.fields['position']
    if not all_plausible(position, columns):  # the fastest: others come between its messages
        carried = np.isfinite(position)[:, columns]
        stamps = stamps[carried[:, np.argmax(carried.sum(axis=0))]]
    clock = signals.uniform_clock(stamps, origin, motion.topic)
    if clock.period >= SHORTEST:
        raise RecordingError(
            f'samples of {motion.topic} are {clock.period:.3g} s apart',
            expected='many in a second',
            do='look at the unit of its times: stamps are in seconds',
        )
    if force is motion:
        return clock
    signals.uniform_clock(force.stamp_ns, origin, force.topic)
    start = max(stamps[0], force.stamp_ns[0])
    end = min(stamps[-1], force.stamp_ns[-1])
    overlap, duration = (end - start) * 1e-9, (stamps[-1] - stamps[0]) * 1e-9
    if overlap < LEAST_OVERLAP * duration:
        raise RecordingError(
            f'{motion.topic} and {force.topic} are on two clocks',
            found=f'{overlap:.3f} s in common of {duration:.3f} s',
            do='stamp both with the same clock',
        )
    inside = (stamps >= force.stamp_ns[0]) & (stamps <= force.stamp_ns[-1])
    return signals.uniform_clock(stamps[inside], origin, motion.topic)
