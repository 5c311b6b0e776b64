"""
The contract of a method: how a recording of one kind becomes linear equations ``W pi = y``.

A method is a subclass of ``Method`` and one line of ``methods.METHODS``.  The six abstract methods
are what identification needs; the others say "not supported" until a method overrides them.  The
protocols name what flows between them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Callable, Generic, Iterator, Mapping, Protocol, Sequence, TypeVar

import numpy as np

from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..errors import ConfigError
from ..measurement.recording import Channel, Recording


class Robot(Protocol):
    """
    What mechanics knows of a robot, mechanism or rig: the protocol of ``Method.build``.

    joint_names, link_names : in the order of the parameters
    inertias : (links, 10) nominal standard parameters in the links' frames, see SYMBOLS
    gravity_base : (3,) gravity in the base frame [m/s^2]
    """

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
        """Return the names of the moving joints."""

    @property
    def link_names(self) -> tuple[str, ...]:
        """Return the names of the moving links."""

    @property
    def inertias(self) -> np.ndarray:
        """Return the nominal standard parameters (links, 10)."""

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
    def summary(self) -> Mapping[str, object]:
        """Return what was understood: ``cutoff`` [Hz] and ``velocity`` as chosen, rate, gaps."""

    def samples(self, training: bool = False) -> int:
        """Return about how many samples ``states`` yields, thinned out for ``training``."""

    def states(self, training: bool = False) -> Iterator[State]:
        """Yield States in order of time; ``training``: edges trimmed and thinned out."""

    def low_passed(self, cutoff: float) -> 'Observation':
        """Return the observation of the same motion filtered at ``cutoff`` [Hz] instead."""


RobotT = TypeVar('RobotT', bound=Robot)
StateT = TypeVar('StateT', bound=State)
ObservationT = TypeVar('ObservationT', bound=Observation)
OptionsT = TypeVar('OptionsT')
LiveStateT = TypeVar('LiveStateT', bound=State, covariant=True)


class LiveSource(Protocol[LiveStateT]):
    """
    The newest motion of a running robot, from samples as they come in.

    origin_ns : zero of its seconds [ns], None until something came
    gaps, received : how often samples were missing; how many came
    price : how many times noisier the acceleration is than at a lag of 0.1 s
    """

    origin_ns: int | None
    gaps: int
    received: int
    price: float

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the topics that it listens to."""

    @property
    def standard_deviation(self) -> Mapping[str, np.ndarray]:
        """Return {joint: (3,) of its newest position, velocity, acceleration}; empty: unknown."""

    def add(self, channel: Channel) -> None:
        """Take a Channel ``channel`` of new samples of a topic."""

    def take(self) -> tuple[np.ndarray, LiveStateT] | None:
        """Return (stamps [s], State on a uniform clock around them), or None."""


StateTorques = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


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
        """
        Return those at other times.

        stamps : (M,) wanted; t : (N,) of these, both increasing [s]
        """
        if len(t) < 2:
            return self
        after = np.minimum(np.maximum(np.searchsorted(t, stamps), 1), len(t) - 1)  # fast clips
        share = (stamps - t[after - 1]) / (t[after] - t[after - 1])
        share = np.minimum(np.maximum(share, 0.0), 1.0)[:, None]
        return LiveTorques(self.names, *((1.0 - share) * x[after - 1] + share * x[after]
                                         for x in (self.predicted, self.residual, self.measured)))


class Method(ABC, Generic[RobotT, StateT, ObservationT, OptionsT]):
    """
    One way to write rows ``W pi = y`` from what was measured.

    name : in configuration files and on the command line; Options : frozen dataclass of them
    consistent_by_default : physically consistent bodies predict unless something else is asked for
    distinguishes_motion : ``validity_range`` has q and v of joints, by which segments of distinct
        motion are found
    searches_gravity : gravity's direction is checked against the torques
    predicts_live, is_calibrated : whether ``live`` and ``calibrated`` are supported
    joints_alone : observations are JointSpaceObservations, options have ``find_time_offset``
    takes_known : options have ``known``, parameters that are known before
    observes_momentum : robots are trees, whose momentum shows external torques
    """

    name: str
    Options: type[OptionsT]
    consistent_by_default: bool = False
    distinguishes_motion: bool = False
    searches_gravity: bool = False
    predicts_live: bool = False
    is_calibrated: bool = False
    joints_alone: bool = False
    takes_known: bool = False
    observes_momentum: bool = False

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
    def regress(self, state: StateT, robot: RobotT,
                parameters: Sequence[Parameter]) -> Iterator[RegressorBlock]:
        """Yield the rows of a ``state`` of ``robot``; their columns are the ``parameters``."""

    def regress_wanted(self, state: StateT, robot: RobotT, parameters: Sequence[Parameter],
                       wanted: np.ndarray) -> Iterator[RegressorBlock]:
        """
        Yield the rows of ``regress``, of which columns that are not wanted may be missing.

        wanted : (p,) bool
        """
        return self.regress(state, robot, parameters)

    @abstractmethod
    def random_state(self, robot: RobotT, samples: int, rng: np.random.Generator) -> StateT:
        """
        Return a State of ``samples`` random motions of ``robot``, drawn from ``rng``.

        It moves every way that the structure allows: what its rows do not show, no data can.
        """

    @abstractmethod
    def validity_range(self, state: StateT, robot: RobotT) -> dict[str, dict[str, np.ndarray]]:
        """Return {joint or body: {quantity: (N,)}} of a ``state`` of ``robot``: its range."""

    def angles(self, robot: RobotT) -> tuple[str, ...]:
        """Return the names of joints of ``robot`` for which a turn further is the same."""
        return ()

    def state_of(self, robot: RobotT, q: np.ndarray, v: np.ndarray, a: np.ndarray,
                 t: np.ndarray | None = None) -> StateT:
        """
        Return the State of a motion that is given and not measured.

        robot : of ``build``; q, v, a : (N, n) of its n (independent) joints [rad], [rad/s],
        [rad/s^2] ([m] and so on for sliders).  ConfigError where there are no joints.
        t : (N,) [s] of samples that follow one another, so that presliding friction has its
        memory; None: each stands alone, friction developed
        """
        raise ConfigError('no joint coordinates', found=f'method {self.name}',
                          expected='a method of joints: serial_arm or closed_loop')

    def live(self, robot: RobotT, options: OptionsT, lag: float,
             metadata: Mapping[str, object]) -> LiveSource[StateT]:
        """
        Return the LiveSource of a running robot.

        lag : age of the newest state [s]
        metadata : ``summary`` of the observation that the model comes from
        Raises ConfigError where the method is not supported live.
        """
        raise ConfigError('not supported live', found=f'method {self.name}',
                          do='use a method whose rows come from joint states or a wrist sensor')

    def predictor(self, robot: RobotT, parameters: Sequence[Parameter],
                  values: np.ndarray) -> Callable[[StateT], LiveTorques] | None:
        """
        Return what turns one state of ``live`` after the other into LiveTorques, faster than rows.

        robot : of ``build``; parameters, values : (p,) of the columns
        None by default: the rows of ``regress`` do.
        """
        return None

    def torques(self, robot: RobotT, parameters: Sequence[Parameter],
                values: np.ndarray) -> StateTorques | None:
        """
        Return a function of states alone, q, v, a (N, n), that predicts (N, n), faster than rows.

        robot : of ``build``; parameters, values : (p,) of the columns
        None by default: the rows of ``regress`` do.
        """
        return None

    def noise(self, observation: ObservationT, robot: RobotT, parameters: Sequence[Parameter],
              values: np.ndarray
              ) -> Iterator[tuple[RegressorBlock, dict[str, np.ndarray], float]]:
        """
        Yield (block, {group: errors (B, R)}, how many times it counts) of R draws of noise.

        What the noise of a filtered motion does to the rows, where y is as recorded; nothing by
        default: y went through the same filter.

        values : (p,) of the parameters
        """
        return iter(())

    def noisy_rows(self, observation: ObservationT, robot: RobotT, parameters: Sequence[Parameter]
                   ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """
        Yield (rows, the same rows with the motion's noise once more, how many they stand for).

        observation, robot, parameters : see ``observe`` and ``regress``.  Nothing by default:
        the noise of the motion is not known.
        """
        return iter(())

    def calibrated(self, state: StateT, robot: RobotT) -> Iterator[RegressorBlock]:
        """
        Yield blocks about the calibrated numbers with covariance ``robot.covariance``.

        They stand beside those of ``regress`` for the same ``state`` and ``robot``: both together
        are zero, and observations have a ``motion`` with ``extrinsic_sensitivities()``.
        """
        raise ConfigError('no calibrated numbers', found=f'method {self.name}')

    def chooses_laws(self, options: OptionsT) -> bool:
        """Return whether the ``options`` leave it to the data which friction laws there are."""
        return False

    def gravity_rows(self, state: StateT, robot: RobotT, parameters: Sequence[Parameter],
                     gravities: np.ndarray) -> Iterator[tuple[RegressorBlock, ...]]:
        """
        Yield block by block what each of ``gravities`` (k, 3) [m/s^2] alone adds to the rows.

        state, robot : see ``regress``, its gravity is not used; parameters : of its bodies
        Rows are affine in gravity, and this is their slope: under any gravity they are those
        without it plus these.  Where ``searches_gravity``, else ConfigError.
        """
        raise ConfigError('no rows of gravity', found=f'method {self.name}')

    def links(self, robot: RobotT, options: OptionsT) -> tuple[Parameter, ...]:
        """
        Return all ten Parameters of every link of ``robot``, also those ``parameters`` omits.

        options : see ``build``; nothing by default: none is omitted.
        """
        return ()

    def energy_rows(self, robot: RobotT, parameters: Sequence[Parameter], samples: int,
                    rng: np.random.Generator) -> np.ndarray:
        """
        Return dH/d(parameters) (samples, p) [J per unit] of the energy at random states.

        robot : of ``build``; parameters : p of its bodies; rng : that states are drawn from
        Empty (0, p) by default: the method knows no energy.
        """
        return np.empty((0, len(parameters)))

    def virtual_links(self, robot: RobotT) -> tuple[str, ...]:
        """Return the links of ``robot`` that are no bodies and so need no nominal inertia."""
        return ()

    def total_mass(self, robot: RobotT) -> float | None:
        """Return the mass of all links of ``robot`` together [kg] where its description has it."""
        return None
