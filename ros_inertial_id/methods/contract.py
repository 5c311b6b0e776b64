"""
The contract of a method: how a recording of one kind becomes linear equations ``W pi = y``.

A method is a subclass of ``Method`` and an entry point of METHODS_GROUP, see plugins.py, in this
package or another.  It has the six abstract methods, and what else it can do by the classes of
capabilities.py.  The protocols name what flows between them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, Iterator, Protocol, Sequence, TypeVar

import numpy as np

from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..measurement.recording import Channel, Recording
from ..measurement.summary import Summary


class Robot(Protocol):
    """What mechanics knows of a robot, mechanism or rig: the protocol of ``Method.build``."""

    @property
    def name(self) -> str:
        """Return the name in the description."""

    @property
    def urdf(self) -> str:
        """Return the text of the description: a URDF, or the YAML of a rig."""

    @property
    def base_link(self) -> str:
        """Return the name of the link in whose frame gravity and positions are given."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the names of the moving joints, in the order of the parameters."""

    @property
    def link_names(self) -> tuple[str, ...]:
        """Return the names of the moving links, in the order of the parameters."""

    @property
    def inertias(self) -> np.ndarray:
        """Return nominal standard parameters (links, 10) in the links' frames, see SYMBOLS."""

    @property
    def gravity_base(self) -> np.ndarray:
        """Return gravity (3,) in the base frame [m/s^2]."""

    def kinematics_sha256(self) -> str:
        """Return a hash of axes and placements: equal for robots of the same kinematics."""


class State(Protocol):
    """Consecutive samples of the motion and of what was measured with it."""

    @property
    def t(self) -> np.ndarray:
        """Return the stamps (N,) since the start of the recording [s]."""

    @property
    def segment(self) -> int:
        """Return the number of the stretch between two gaps."""

    def rows(self, chosen: slice, /) -> 'State':
        """Return the state of the samples chosen by a slice."""


class Observation(Protocol):
    """The motion of one recording; states are computed piece by piece, each time anew."""

    @property
    def summary(self) -> Summary:
        """Return the Summary: ``cutoff`` [Hz] and ``velocity`` as chosen, rate, gaps."""

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` yields, thinned out for ``training``."""

    def states(self, training: bool = False) -> Iterator[State]:
        """Yield States in order of time; ``training``: edges trimmed and thinned out."""


RobotT = TypeVar('RobotT', bound=Robot)
StateT = TypeVar('StateT', bound=State)
ObservationT = TypeVar('ObservationT', bound=Observation)
OptionsT = TypeVar('OptionsT')
LiveStateT = TypeVar('LiveStateT', bound=State, covariant=True)


class LiveSource(Protocol[LiveStateT]):
    """The newest motion of a running robot, from samples as they come in."""

    @property
    def origin_ns(self) -> int | None:
        """Return zero of its seconds [ns], None until something came."""

    @property
    def gaps(self) -> int:
        """Return how often samples were missing."""

    @property
    def acceleration_noise_factor(self) -> float:
        """Return how many times noisier the acceleration is than at a lag of 0.1 s."""

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics that it listens to."""

    def add(self, channel: Channel) -> None:
        """Take a Channel ``channel`` of new samples of a topic."""

    def take(self) -> tuple[np.ndarray, LiveStateT] | None:
        """Return (stamps [s], State on a uniform clock around them), or None."""


@dataclass(frozen=True)
class LiveTorques:
    """
    Torques of N samples of a running machine with n row groups.

    names : of the groups; predicted : (N, n) what the motors do now, friction jumps where it jumps
    residual : (N, n) measured minus predicted, filtered alike; measured : (N, n), filtered
    """

    names: tuple[str, ...]
    predicted: np.ndarray
    residual: np.ndarray
    measured: np.ndarray

    def at(self, stamps: np.ndarray, t: np.ndarray) -> 'LiveTorques':
        """Return those at ``stamps`` (M,), between those of ``t`` (N,), both increasing [s]."""
        if len(t) < 2:
            return self
        after = np.minimum(np.maximum(np.searchsorted(t, stamps), 1), len(t) - 1)  # fast clips
        share = (stamps - t[after - 1]) / (t[after] - t[after - 1])
        share = np.minimum(np.maximum(share, 0.0), 1.0)[:, None]
        return LiveTorques(
            self.names,
            *(
                (1.0 - share) * x[after - 1] + share * x[after]
                for x in (self.predicted, self.residual, self.measured)
            ),
        )


class Predictor(Protocol):
    """Torques of a robot with its parameters, by inverse dynamics."""

    def __call__(self, state: Any, /) -> LiveTorques:
        """Return the LiveTorques of the samples of a ``state``, which follows the last one."""

    def states(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the torques (N, n) of states alone, q, v, a (N, n)."""


class Method(ABC, Generic[RobotT, StateT, ObservationT, OptionsT]):
    """
    One way to write rows ``W pi = y`` from what was measured.

    name : in configuration files and on the command line; Options : frozen dataclass of them
    What only some can do are classes of capabilities.py, which a method is of besides.
    """

    name: str
    Options: type[OptionsT]

    @abstractmethod
    def build(self, urdf: str, options: OptionsT, gravity_base: np.ndarray) -> RobotT:
        """
        Return the Robot of a description.

        urdf : text of the URDF or of the rig's YAML; options : an instance of ``Options``
        gravity_base : (3,) in the base frame [m/s^2]
        """

    @abstractmethod
    def parameters(self, robot: RobotT, options: OptionsT) -> tuple[Parameter, ...]:
        """Return the Parameter of every column, for a ``robot`` of ``build``; options as there."""

    @abstractmethod
    def observe(self, recording: Recording, robot: RobotT, options: OptionsT) -> ObservationT:
        """Return the Observation of a ``recording`` of ``robot``; options : see ``build``."""

    @abstractmethod
    def regress(
        self,
        state: StateT,
        robot: RobotT,
        parameters: Sequence[Parameter],
        wanted: np.ndarray | None = None,
    ) -> Iterator[RegressorBlock]:
        """
        Yield the rows of a ``state`` of ``robot``; their columns are the ``parameters``.

        wanted : (p,) bool, columns that are not may be missing; None: all are wanted
        """

    @abstractmethod
    def random_state(self, robot: RobotT, samples: int, rng: np.random.Generator) -> StateT:
        """
        Return a State of ``samples`` random motions of ``robot``, drawn from ``rng``.

        It moves every way that the structure allows: what its rows do not show, no data can.
        """

    def chooses_laws(self, options: OptionsT) -> bool:
        """Return whether the ``options`` leave it to the data which friction laws there are."""
        return False

    def alike(
        self, observations: Sequence[ObservationT], options: OptionsT
    ) -> tuple[ObservationT, ...]:
        """Return the ``observations`` of one robot as they are read together."""
        return tuple(observations)

    def behind(self, observation: ObservationT, cutoff: float) -> ObservationT | None:
        """
        Return an ``observation`` behind a filter of a ``cutoff`` [Hz], as other tools have it.

        None where its rows are not filtered by one cutoff, or it is recorded too slowly.
        RecordingError where it is too short.
        """
        return None

    @abstractmethod
    def validity_range(self, state: StateT, robot: RobotT) -> dict[str, dict[str, np.ndarray]]:
        """Return {joint or body: {quantity: (N,)}} of a ``state`` of ``robot``: its range."""
