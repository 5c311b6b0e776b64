"""Which feet stand on the ground, as contact flags or forces say, and where they touch it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .robot import FloatingRobot, Foot
from ..measurement.sources import channel_of
from ...dynamics.body_motion import apply, body_motions, cross, twists
from ...errors import RecordingError
from ...measurement.recording import Channel, Recording

FLAG = 0.5  # above which a flag is set
WEIGHT_SHARE = 0.03  # of the robot's weight on a foot: it stands


@dataclass(frozen=True)
class Contacts:
    """
    Which feet touch the ground; of a foot that nothing is said of it is taken that it does.

    series : (stamps (n,) [s], on (n,) bool) of each foot; empty where nothing is recorded
    """

    series: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def standing(self, t: np.ndarray, feet: int, memory: float) -> np.ndarray:
        """
        Return whether each of ``feet`` touched within ``memory`` [s] of times t: (N, feet).

        A foot that is on its way is so taken to touch: its force is left open, and no row of its
        leg is used that a touch would falsify.
        """
        if not self.series:
            return np.ones((len(t), feet), dtype=bool)
        out = np.empty((len(t), feet), dtype=bool)
        for k, (stamps, on) in enumerate(self.series):
            touched = np.concatenate([[0], np.cumsum(on)])
            near = max(memory, float(np.median(np.diff(stamps))))
            first = np.searchsorted(stamps, t - near)
            last = np.searchsorted(stamps, t + near, side='right')
            silent = first == last  # nothing was said: it may touch
            out[:, k] = silent | (touched[last] > touched[first])
        return out


def recorded_contacts(recording: Recording, robot: FloatingRobot, options: Any) -> Contacts:
    """
    Return the Contacts of a ``recording``: one topic for all feet, or one for each.

    options : of the method; RecordingError where they do not name the feet.
    """
    origin = recording.origin_ns()
    series = []
    for topic, feet in feet_by_topic(robot, options).items():
        channel = channel_of(recording, topic)
        t = (channel.stamp_ns - origin) * 1e-9
        series += [(t, on) for on in touching(channel, robot, feet, options).T]
    return Contacts(tuple(series))


def feet_by_topic(robot: FloatingRobot, options: Any) -> dict[str, list[int]]:
    """
    Return {topic: numbers of the feet that it tells of}, nothing where none is named.

    options : of the method; RecordingError where there are neither one topic nor one for each.
    """
    topics = options.contact_topic.split()
    feet = list(range(len(robot.feet)))
    if not topics or not feet:
        return {}
    if len(topics) == 1:
        return {topics[0]: feet}
    if len(topics) == len(feet):
        return {topic: [number] for topic, number in zip(topics, feet)}
    raise RecordingError(
        'option contact_topic',
        expected=f'one topic of all feet, or {len(feet)} of one each',
        found=f'{len(topics)}',
    )


def touching(
    channel: Channel, robot: FloatingRobot, feet: Sequence[int], options: Any
) -> np.ndarray:
    """
    Return whether each of the ``feet`` touches (n, k) at the stamps of a Channel.

    feet : their numbers; options : of the method
    RecordingError where it does not name them.
    """
    threshold = options.contact_threshold or WEIGHT_SHARE * robot.weight
    out = np.empty((len(channel), len(feet)), dtype=bool)
    for on, number in zip(out.T, feet):
        values = _of_one(channel, robot, number, len(feet) == 1)
        if np.isin(values, (0.0, 1.0)).all():
            on[:] = values > FLAG
        else:
            on[:] = np.abs(values) > threshold
    return out


def _of_one(channel: Channel, robot: FloatingRobot, number: int, alone: bool) -> np.ndarray:
    """Return the values (n,) of a foot in a Channel, which may be its ``alone``."""
    if alone and len(robot.feet) > 1:
        return _single(channel)
    return _of_foot(channel, robot, number)


def _of_foot(channel: Channel, robot: FloatingRobot, number: int) -> np.ndarray:
    """Return the values (n,) of the foot of a ``number`` in a Channel of all feet."""
    for field in ('effort', 'position', 'data', 'velocity'):
        values = channel.fields.get(field)
        if values is None or not np.isfinite(values).any():
            continue
        name = robot.feet[number].name
        if name in channel.names:
            return values[:, channel.names.index(name)]
        if values.ndim == 2 and values.shape[1] == len(robot.feet):
            return values[:, number]  # in the order of the option feet
        if values.ndim == 1 and len(robot.feet) == 1:
            return values
    raise RecordingError(
        f'{channel.topic} does not say which feet touch the ground',
        expected=f'a force or a flag of each foot: {", ".join(f.name for f in robot.feet)}',
        found=channel.names or channel.type,
        do='name the feet so, or publish as many values as there are, in that order',
    )


def _single(channel: Channel) -> np.ndarray:
    """Return the values (n,) of a Channel of one foot: a flag, or the size of a force [N]."""
    for field in ('force', 'data', 'effort'):
        values = channel.fields.get(field)
        if values is not None:
            return np.linalg.norm(values.reshape(len(values), -1), axis=1)
    raise RecordingError(
        f'{channel.topic} says no contact', found=channel.type, expected='a force or a flag'
    )


def foot_jacobians(
    robot: FloatingRobot, q: np.ndarray, up: np.ndarray, ground: float
) -> list[np.ndarray]:
    """
    Return of each foot (B, 6 + n, 3 or 6): what its force does to base and joints, transposed.

    q : (B, n); up : (3, B) away from the ground, in the frame of the base
    ground : [m] by which feet touch further up than described
    The force of a point stands at the ground side of its ball, that of a face at its frame.
    """
    motions = body_motions(robot.tree, q)
    out = []
    for foot in robot.feet:
        below = (foot.radius or 0.0) - ground
        out.append(_jacobian(robot, motions, foot, below * up))
    return out


def _jacobian(robot: FloatingRobot, motions: Any, foot: Foot, to_frame: np.ndarray) -> np.ndarray:
    """Return that of one ``foot``; to_frame : (3, B) from where it touches to its frame."""
    body = motions[foot.frame.body + 1]
    point = body.p + apply(body.R, foot.frame.position) - to_frame
    count = point.shape[1]
    out = np.zeros((6 + len(robot), 6, count))
    for k, axis in enumerate(np.eye(3)):
        out[k, :3] = axis[:, None]
        turning = np.broadcast_to(axis[:, None], point.shape)
        out[3 + k, :3], out[3 + k, 3:] = cross(turning, point), turning
    for j, velocity, turn in twists(robot.tree, motions, foot.frame.body, point):
        out[6 + j, :3] = velocity
        if turn is not None:
            out[6 + j, 3:] = turn
    return out[:, : foot.components].transpose(2, 0, 1)


def without_contacts(
    jacobians: list[np.ndarray], standing: np.ndarray, lever: float
) -> np.ndarray | None:
    """
    Return C (B, 6 + n, c), orthonormal or zero: rows - C (C' rows) hold no force of the feet.

    jacobians : of each foot; standing : (B, feet); lever : [m] by which forces on the base count
    as moments; C is of rows so scaled.  None where no foot ever stands.
    """
    if not standing.any():
        return None
    parts = [J * on[:, None, None] for J, on in zip(jacobians, standing.T)]
    B = np.concatenate(parts, axis=2)
    B[:, :3] *= lever
    scale = (B**2).sum((1, 2))
    w, V = np.linalg.eigh(B.transpose(0, 2, 1) @ B)
    inverse = np.where(w > 1e-9 * scale[:, None] + 1e-30, 1.0 / np.sqrt(np.maximum(w, 1e-30)), 0.0)
    return np.asarray(B @ (V * inverse[:, None, :]))
