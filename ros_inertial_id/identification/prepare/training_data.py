"""
Training data: recordings of one robot, none of them twice, and which were seen in training.

A recording that counts twice shrinks all standard errors by a square root of two for nothing, one
of another robot bends all parameters, and a validation on the training data validates nothing.
"""

from collections.abc import Mapping, Sequence
import math
from typing import Any

import numpy as np

from ...dynamics.robot_model import RobotModel
from ...errors import RecordingError, RobotModelError
from ...measurement.recording import Recording

ALIKE = 1e-6  # [m or 1] of placements and axes, as in RobotModel.kinematics_sha256


def each_once(recordings: Sequence[Recording]) -> tuple[list[Recording], list[str]]:
    """
    Return ``recordings`` without repetitions, and the names of those left out as repeated.

    A repetition has the same content (its hash) and the same window.
    RecordingError where two windows of one bag overlap.
    """
    kept: list[Recording] = []
    repeated: list[str] = []
    for recording in recordings:
        same = [r for r in kept if _common(r, recording)]
        if any(_window(r) == _window(recording) for r in same):
            repeated.append(name_of(recording))
        elif same:
            raise RecordingError('two windows of one bag overlap: samples would count twice',
                                 found=[f'{name_of(r)} from {_shown(r)}'
                                        for r in (same[0], recording)],
                                 do='give windows that do not overlap')
        else:
            kept.append(recording)
    return kept, repeated


def seen_before(training: Sequence[Mapping[str, Any]], others: Sequence[Recording]) -> list[str]:
    """
    Return the names of recordings of which samples were in the training data.

    training : provenance of the training recordings
    """
    known = [Recording({}, provenance=entry) for entry in training]
    return [name_of(r) for r in others if any(_common(k, r) for k in known)]


def check_one_robot(robots: Sequence[Any], recordings: Sequence[Recording]) -> None:
    """
    Raise RobotModelError, saying what differs, where ``robots`` of ``recordings`` are not alike.

    They may differ in their mounting and in their nominal inertias, of which the first count.
    """
    first = robots[0]
    for robot, recording in zip(robots[1:], recordings[1:]):
        if robot.kinematics_sha256() == first.kinematics_sha256():
            continue
        names = tuple(first.joint_names), tuple(robot.joint_names)
        what = f'{name_of(recording)} is of another robot than {name_of(recordings[0])}'
        do = 'identify each robot by itself, or give the --urdf that holds for all'
        if names[0] != names[1]:
            raise RobotModelError(what, expected=f'{first.name}: {", ".join(names[0])}',
                                  found=f'{robot.name}: {", ".join(names[1])}', do=do)
        raise RobotModelError(f'{what}: same joint names, other kinematics',
                              found=_differences(first, robot), do=do)


def name_of(recording: Recording) -> str:
    """Return the path of a ``recording``, or what stands for one that came from no file."""
    return str(recording.provenance.get('path', 'a recording without a file'))


def _common(one: Recording, other: Recording) -> bool:
    """Return whether two recordings share samples."""
    if one is other:
        return True
    content = one.provenance.get('sha256')
    if not content or content != other.provenance.get('sha256'):
        return False
    (a, b), (c, d) = _window(one), _window(other)
    return max(a, c) < min(b, d)


def _window(recording: Recording) -> tuple[float, float]:
    start, end = (recording.provenance.get(name) for name in ('start_s', 'end_s'))
    return start or 0.0, math.inf if end is None else end


def _shown(recording: Recording) -> str:
    start, end = _window(recording)
    return f'{start:g} s to ' + ('its end' if math.isinf(end) else f'{end:g} s')


def _differences(one: Any, other: Any) -> str:
    """Return where the kinematics of two robots with the same joint names differ."""
    if not (isinstance(one, RobotModel) and isinstance(other, RobotModel)):
        return 'other axes, placements or closures'
    words = []
    for name, kind in (('translations', 'placement'), ('rotations', 'orientation'),
                       ('axes', 'axis')):
        apart = np.abs(getattr(one, name) - getattr(other, name)).reshape(len(one), -1).max(1)
        words += [f'{kind} of {joint} by {size:.3g}' + (' m' if name == 'translations' else '')
                  for joint, size in zip(one.joint_names, apart) if size > ALIKE]
    return '; '.join(words[:4]) + (f' and {len(words) - 4} more' if len(words) > 4 else '') \
        or 'other parents or kinds of joints'
