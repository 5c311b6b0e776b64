"""
Dataset: recordings of one robot, observed, none of them twice: what every later step reads.

A recording that counts twice shrinks all standard errors by a square root of two for nothing, one
of another robot bends all parameters, and a validation on the training data validates nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
import math
from typing import Any

import numpy as np

from .description_choice import description_of
from .locked_joints import with_recorded_locks
from .mounting import robot_of
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...dynamics.robot_model import RobotModel
from ...errors import RecordingError, RobotModelError
from ...measurement.joints.observation import at_one_cutoff
from ...measurement.recording import Recording
from ...methods import METHODS
from ...methods.capabilities import JointTorques
from ...methods.contract import Method, Observation, Robot, State

ALIKE = 1e-6  # [m or 1] of placements and axes, as in RobotModel.kinematics_sha256
Progress = Callable[[str, int, int], None]
HELD = 80_000  # samples of all recordings whose training states are held: 50 MB of seven joints


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
            raise RecordingError(
                'two windows of one bag overlap: samples would count twice',
                found=[f'{name_of(r)} from {_shown(r)}' for r in (same[0], recording)],
                do='give windows that do not overlap',
            )
        else:
            kept.append(recording)
    return kept, repeated


def seen_before(training: Sequence[Mapping[str, Any]], others: Sequence[Recording]) -> list[str]:
    """Return the names of ``others`` that share samples with ``training`` (provenances)."""
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
            raise RobotModelError(
                what,
                expected=f'{first.name}: {", ".join(names[0])}',
                found=f'{robot.name}: {", ".join(names[1])}',
                do=do,
            )
        raise RobotModelError(
            f'{what}: same joint names, other kinematics', found=_differences(first, robot), do=do
        )


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
    for name, kind in (
        ('translations', 'placement'),
        ('rotations', 'orientation'),
        ('axes', 'axis'),
    ):
        apart = np.abs(getattr(one, name) - getattr(other, name)).reshape(len(one), -1).max(1)
        words += [
            f'{kind} of {joint} by {size:.3g}' + (' m' if name == 'translations' else '')
            for joint, size in zip(one.joint_names, apart)
            if size > ALIKE
        ]
    return (
        '; '.join(words[:4]) + (f' and {len(words) - 4} more' if len(words) > 4 else '')
        or 'other parents or kinds of joints'
    )


class TrainingStates:
    """The training states of an observation: computed once and held, or each time anew."""

    def __init__(self, observation: Observation, hold: bool) -> None:
        self._observation, self._hold = observation, hold
        self._held: list[State] | None = None

    def __iter__(self) -> Iterator[State]:
        if not self._hold:
            return self._observation.states(training=True)
        if self._held is None:
            self._held = list(self._observation.states(training=True))
        return iter(self._held)


def training_states(observations: Sequence[Observation]) -> tuple[TrainingStates, ...]:
    """Return the TrainingStates of ``observations``, held where all of them have room."""
    hold = sum(o.samples() for o in observations) <= HELD
    return tuple(TrainingStates(o, hold) for o in observations)


@dataclass(frozen=True)
class Dataset:
    """
    A method, and of every recording the robot as it was mounted and what was observed.

    robots, observations : one per recording, see methods/contract.py
    options : of the method with EstimationOptions
    progress : called with (stage, samples done, samples in all) on long work
    recordings : of which they are
    training : TrainingStates of each observation, whatever the mounting; none: computed anew
    """

    method: Method
    robots: tuple[Any, ...]
    observations: tuple[Any, ...]
    options: Any
    progress: Progress | None = None
    recordings: tuple[Recording, ...] = field(default=(), compare=False, repr=False)
    training: tuple[TrainingStates, ...] = field(default=(), compare=False, repr=False)

    @property
    def robot(self) -> Any:
        """Return the first robot: they differ in their mounting alone."""
        return self.robots[0]

    @property
    def first(self) -> Any:
        """Return the first observation: they are filtered and read alike."""
        return self.observations[0]

    def each(self) -> 'Iterator[Dataset]':
        """Yield a Dataset of each recording alone."""
        for k in range(len(self.observations)):
            own = slice(k, k + 1)
            yield replace(
                self,
                robots=self.robots[own],
                observations=self.observations[own],
                recordings=self.recordings[own],
                training=self.training[own],
            )

    def samples(self, training: bool) -> int:
        """Return about how many samples there are, thinned out for ``training``."""
        return sum(o.samples(training) for o in self.observations)

    def seconds(self) -> float:
        """Return how long the recordings take [s]."""
        return float(sum(o.summary['duration'] for o in self.observations))

    def observed(self, observations: Sequence[Any]) -> 'Dataset':
        """Return the Dataset with other ``observations`` of its recordings."""
        return replace(
            self, observations=tuple(observations), training=training_states(observations)
        )

    def states(self, training: bool) -> Iterator[tuple[Robot, State]]:
        """Yield (robot, state), recording by recording; ``training`` : see Observation."""
        held = (
            self.training
            if training and self.training
            else [o.states(training) for o in self.observations]
        )
        for robot, states in zip(self.robots, held):
            for state in states:
                yield robot, state

    def blocks(
        self, parameters: Sequence[Parameter], training: bool = True
    ) -> Iterator[RegressorBlock]:
        """Yield the rows of all states about ``parameters``; ``training`` : see Observation."""
        for robot, state in self.states(training):
            yield from self.method.regress(state, robot, parameters)

    def report(self, stage: str, done: int, whole: int) -> None:
        """Tell whoever waits that ``done`` of ``whole`` samples of a stage are through."""
        if self.progress:
            self.progress(stage, done, whole)


def read_dataset(
    recordings: Sequence[Recording],
    options: Any,
    method: str,
    urdf: str = '',
    progress: Progress | None = None,
) -> Dataset:
    """
    Return the Dataset of Recordings, joints of all of them behind one filter.

    urdf : text of the description, '' for the recordings' own
    Raises what ``Method.build`` and ``Method.observe`` raise, and ``check_one_robot``.
    """
    first = recordings[0]
    options = with_recorded_locks(first, options, urdf or description_of(first, options))
    robots = tuple(robot_of(recording, options, urdf, method) for recording in recordings)
    check_one_robot(robots, recordings)
    observations = _observed(recordings, robots, options, METHODS[method])
    if len(observations) > 1 and isinstance(METHODS[method], JointTorques):
        observations = at_one_cutoff(observations, options.decimate)
    return Dataset(
        METHODS[method],
        robots,
        observations,
        options,
        progress,
        tuple(recordings),
        training_states(observations),
    )


def _observed(recordings, robots, options, method):
    """Return what was observed of each; RecordingError names all recordings that are refused."""
    observations: list[Observation] = []
    refused: dict[str, list[str]] = {}
    for recording, robot in zip(recordings, robots):
        try:
            observations.append(method.observe(recording, robot, options))
        except RecordingError as error:
            if len(recordings) == 1:
                raise
            refused.setdefault(str(error), []).append(name_of(recording))
    if refused:
        raise RecordingError(
            '; '.join(f'{", ".join(names)}: {why}' for why, names in refused.items())
        )
    return tuple(observations)
