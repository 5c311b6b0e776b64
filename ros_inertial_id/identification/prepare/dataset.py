"""
Dataset: recordings of one robot, observed, none of them twice: what every later step reads.

A recording that counts twice shrinks all standard errors by a square root of two for nothing, one
of another robot bends all parameters, and a validation on the training data validates nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
import math
from typing import Any

import numpy as np

from .described_links import with_described_links
from .description_choice import description_of
from .locked_joints import with_recorded_locks
from .measured_drives import with_measured_drives
from .mounting import robot_of
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...dynamics.robot_model import RobotModel
from ...errors import RecordingError, RobotModelError
from ...measurement.recording import Recording
from ...methods import METHODS
from ...methods.capabilities import ClosedLoops
from ...methods.contract import Method, Observation, Robot, State

SAME_KINEMATICS = 1e-6  # [m or 1] of placements and axes, as in RobotModel.kinematics_sha256
MOST_HELD_SAMPLES = 80_000  # of all recordings: 50 MB of training states of seven joints
MOST_DIFFERENCES = 4  # of two robots that a message names
# What kinematics are compared by: attribute of RobotModel, what it is called, unit.
KINEMATICS = (
    ('translations', 'placement', ' m'),
    ('rotations', 'orientation', ''),
    ('axes', 'axis', ''),
)
Progress = Callable[[str, int, int], None]


def each_once(recordings: Sequence[Recording]) -> tuple[list[Recording], list[str]]:
    """
    Return ``recordings`` without repetitions, and the names of those left out as repeated.

    A repetition has the same content (its hash) and the same window.
    RecordingError where two windows of one bag overlap.
    """
    distinct: list[Recording] = []
    repeated: list[str] = []
    for recording in recordings:
        earlier = _overlapping(recording, distinct)
        if earlier is None:
            distinct.append(recording)
        elif _window(earlier) == _window(recording):
            repeated.append(name_of(recording))
        else:
            raise RecordingError(
                'two windows of one bag overlap: samples would count twice',
                found=[_name_and_window(earlier), _name_and_window(recording)],
                do='give windows that do not overlap',
            )
    return distinct, repeated


def seen_before(training: Sequence[Mapping[str, Any]], others: Sequence[Recording]) -> list[str]:
    """Return the names of ``others`` that share samples with ``training`` (provenances)."""
    trained = [Recording({}, provenance=entry) for entry in training]
    return [name_of(r) for r in others if _overlapping(r, trained) is not None]


def check_one_robot(robots: Sequence[Any], recordings: Sequence[Recording]) -> None:
    """
    Raise RobotModelError, saying what differs, where ``robots`` of ``recordings`` are not alike.

    They may differ in their mounting and in their nominal inertias, of which the first count.
    """
    first = robots[0]
    do = 'identify each robot by itself, or give the --urdf that holds for all'
    for robot, recording in zip(robots[1:], recordings[1:]):
        if robot.kinematics_sha256() == first.kinematics_sha256():
            continue
        what = f'{name_of(recording)} is of another robot than {name_of(recordings[0])}'
        if tuple(robot.joint_names) != tuple(first.joint_names):
            raise RobotModelError(
                what,
                expected=f'{first.name}: {", ".join(first.joint_names)}',
                found=f'{robot.name}: {", ".join(robot.joint_names)}',
                do=do,
            )
        raise RobotModelError(
            f'{what}: same joint names, other kinematics', found=_differences(first, robot), do=do
        )


def name_of(recording: Recording) -> str:
    """Return the path of a ``recording``, or what stands for one that came from no file."""
    return str(recording.provenance.get('path', 'a recording without a file'))


def _overlapping(recording: Recording, others: Sequence[Recording]) -> Recording | None:
    """Return the first of ``others`` that shares samples with a ``recording``, None without."""
    return next((other for other in others if _share_samples(other, recording)), None)


def _share_samples(first: Recording, second: Recording) -> bool:
    if first is second:
        return True
    content = first.provenance.get('sha256')
    if not content or content != second.provenance.get('sha256'):
        return False
    starts, ends = zip(_window(first), _window(second))
    return max(starts) < min(ends)


def _window(recording: Recording) -> tuple[float, float]:
    """Return the start and end of the window of a ``recording`` [s]."""
    start = recording.provenance.get('start_s') or 0.0
    end = recording.provenance.get('end_s')
    if end is None:
        end = math.inf
    return start, end


def _name_and_window(recording: Recording) -> str:
    start, end = _window(recording)
    until = f'{end:g} s'
    if math.isinf(end):
        until = 'its end'
    return f'{name_of(recording)} from {start:g} s to {until}'


def _differences(first: Any, second: Any) -> str:
    """Return the differences of the kinematics of two robots with the same joint names."""
    if not isinstance(first, RobotModel) or not isinstance(second, RobotModel):
        return 'other axes, placements or closures'
    differences = []
    for attribute, noun, unit in KINEMATICS:
        change = getattr(first, attribute) - getattr(second, attribute)
        largest = np.abs(change).reshape(len(first), -1).max(1)
        for joint in np.flatnonzero(largest > SAME_KINEMATICS):
            name = first.joint_names[joint]
            differences.append(f'{noun} of {name} by {largest[joint]:.3g}{unit}')
    if not differences:
        return 'other parents or kinds of joints'
    named = '; '.join(differences[:MOST_DIFFERENCES])
    more = len(differences) - MOST_DIFFERENCES
    if more > 0:
        named += f' and {more} more'
    return named


class TrainingStates:
    """The training states of an observation: computed once and held, or each time anew."""

    def __init__(self, observation: Observation, hold: bool) -> None:
        self._observation, self._hold = observation, hold

    @cached_property
    def _held(self) -> list[State]:
        return list(self._observation.states(training=True))

    def __iter__(self) -> Iterator[State]:
        if self._hold:
            return iter(self._held)
        return self._observation.states(training=True)


def training_states(observations: Sequence[Observation]) -> tuple[TrainingStates, ...]:
    """Return the TrainingStates of ``observations``, held where all of them have room."""
    samples = sum(o.samples() for o in observations)
    hold = samples <= MOST_HELD_SAMPLES
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
            alone = slice(k, k + 1)
            yield replace(
                self,
                robots=self.robots[alone],
                observations=self.observations[alone],
                recordings=self.recordings[alone],
                training=self.training[alone],
            )

    def samples(self, training: bool) -> int:
        """Return about how many samples there are, thinned out for ``training``."""
        return sum(o.samples(training) for o in self.observations)

    def seconds(self) -> float:
        """Return the duration of the recordings [s]."""
        return float(sum(o.summary.duration for o in self.observations))

    def observed(self, observations: Sequence[Any]) -> 'Dataset':
        """Return the Dataset with other ``observations`` of its recordings."""
        return replace(
            self, observations=tuple(observations), training=training_states(observations)
        )

    def states(self, training: bool) -> Iterator[tuple[Robot, State]]:
        """Yield (robot, state), recording by recording; ``training`` : see Observation."""
        parts: Sequence[Iterable[State]] = self.training
        if not training or not self.training:
            parts = [o.states(training) for o in self.observations]
        for robot, states in zip(self.robots, parts):
            yield from zip(repeat(robot), states)

    def blocks(
        self, parameters: Sequence[Parameter], training: bool = True
    ) -> Iterator[RegressorBlock]:
        """Yield the rows of all states about ``parameters``; ``training`` : see Observation."""
        for robot, state in self.states(training):
            yield from self.method.regress(state, robot, parameters)

    def report(self, stage: str, done: int, total: int) -> None:
        """Tell whoever waits that ``done`` of ``total`` samples of a stage are through."""
        if self.progress is not None:
            self.progress(stage, done, total)


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
    kind = METHODS[method]
    description = urdf or description_of(recordings[0], options)
    options = with_recorded_locks(recordings[0], options, description)
    robots = tuple(robot_of(recording, options, urdf, method) for recording in recordings)
    check_one_robot(robots, recordings)
    options = with_described_links(options, robots[0])
    options = with_measured_drives(options, kind, robots[0])
    observations = kind.alike(_observed(recordings, robots, options, kind), options)
    return Dataset(
        kind,
        robots,
        observations,
        options,
        progress,
        tuple(recordings),
        training_states(observations),
    )


def _observed(
    recordings: Sequence[Recording], robots: Sequence[Robot], options: Any, method: Method
) -> tuple[Any, ...]:
    """Return the observation of each; RecordingError names all recordings that are refused."""
    observations: list[Any] = []
    refused: dict[str, list[str]] = {}
    for recording, robot in zip(recordings, robots):
        try:
            observations.append(method.observe(recording, robot, options))
        except RecordingError as error:
            if len(recordings) == 1:
                raise
            refused.setdefault(str(error), []).append(name_of(recording))
    if refused:
        reasons = [f'{", ".join(names)}: {reason}' for reason, names in refused.items()]
        raise RecordingError('; '.join(reasons))
    return tuple(observations)


def lack_of_inertias(data: Dataset) -> RobotModelError | None:
    """Return what to raise where links have no mass, and the estimator leans on what they have."""
    robot = data.robot
    virtual: Sequence[str] = ()
    if isinstance(data.method, ClosedLoops):
        virtual = data.method.virtual_links(robot)
    bare = [
        name
        for name, pi in zip(robot.link_names, robot.inertias)
        if pi[0] <= 0.0 and name not in virtual
    ]
    if not bare or data.options.estimator != 'ridge':
        return None
    return RobotModelError(
        'the URDF has links without inertia',
        found=getattr(robot, 'doubts', ()) or bare,
        expected='nominal inertias in kg, m and kg m^2, which the ridge estimator leans on',
        do='correct <inertial>, or use estimator: weighted',
    )
