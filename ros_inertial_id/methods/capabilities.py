"""
What only some methods can do: classes that a method is of besides, and that are asked for by type.

``isinstance(method, Live)`` says whether a running robot is predicted.  Robots, states, options
and observations are those of the method, see contract.py.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np

from .contract import LiveSource, Method, OptionsT, Predictor, RobotT
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..measurement.joints.effort_source import EffortSource
from ..measurement.joints.kinematic_state import JointSpaceObservation, JointSpaceState
from ..measurement.joints.observation import at_one_cutoff, with_cutoff, with_time_offset
from ..measurement.signals import HIGHEST
from ..measurement.summary import Summary
from ..options import option

FORCE_SCALE_ERROR = 0.01  # of torques and forces as sensors, currents and weighed loads give them


class Live(ABC):
    """Rows of a running robot: its torques are predicted."""

    @abstractmethod
    def source(self, robot: Any, options: Any, lag: float, summary: Summary) -> LiveSource[Any]:
        """
        Return the LiveSource of a running robot.

        lag : age of the newest state [s]
        summary : of the first observation that the model comes from
        """


class LearnsOnline(Live):
    """Its source reaches as far back as filters of recordings do: parameters are found, too."""


class DirectTorques(ABC):
    """Torques without rows, and so faster."""

    @abstractmethod
    def predictor(
        self, robot: Any, parameters: Sequence[Parameter], values: np.ndarray
    ) -> Predictor:
        """Return the Predictor of ``values`` (p,) of the ``parameters``."""


class JointMotion(ABC):
    """
    The motion is that of joints, and can be given instead of measured.

    ``validity_range`` has their q, v and a, by which stretches of distinct motion are found, and
    robots have ``coordinates``, the names of their n (independent) joints.
    """

    @abstractmethod
    def state_of(
        self, robot: Any, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: np.ndarray | None = None
    ) -> Any:
        """
        Return the State of a motion that is given and not measured.

        q, v, a : (N, n) of the n joints [rad], [rad/s], [rad/s^2] ([m] and so on for sliders)
        t : (N,) [s] of samples that follow one another, so that presliding friction has its
        memory; None: each stands alone, friction developed
        """

    @abstractmethod
    def angles(self, robot: Any) -> tuple[str, ...]:
        """Return the joints whose q in ``validity_range`` may be a turn further and the same."""


@dataclass(frozen=True)
class TimeOffsetOptions:
    """How late efforts are, given or sought."""

    time_offset: float = option(
        0.0,
        'by how much efforts are stamped later than the motion; what is found adds to it',
        unit='s',
        at_least=-1.0,
        at_most=1.0,
    )
    find_time_offset: bool = option(
        True, 'search how late efforts are, within 0.05 s, and correct it where it is significant'
    )


class LateEfforts(ABC):
    """
    Efforts may be stamped later than the motion: that is found and taken off.

    Options are TimeOffsetOptions; observations have the EffortSource as ``effort_source``.
    """

    @abstractmethod
    def effort_rates(self, state: Any, robot: Any) -> np.ndarray:
        """Return the derivatives (N, groups) of torques with respect to their delay [N m/s]."""

    @abstractmethod
    def with_time_offset(self, observation: Any, offset: float) -> Any:
        """Return an ``observation`` whose efforts are ``offset`` [s] earlier than stamped."""

    def finds_time_offset(self, options: Any) -> bool:
        """Return whether the ``options`` ask for how late efforts are."""
        return bool(options.find_time_offset)


class JointTorques(
    Method[RobotT, JointSpaceState, JointSpaceObservation, OptionsT], JointMotion, LateEfforts
):
    """
    A Method whose rows need the states and efforts of the joints of a tree, and nothing else.

    So checks, cutoff, delay of the efforts, masks and many recordings at once are the same for all
    of them.  Robots are RobotModels.
    """

    def effort_rates(self, state: JointSpaceState, robot: Any) -> np.ndarray:
        """Return the derivatives (N, n) of torques with respect to their delay [N m/s, N/s]."""
        return EffortSource.rate(state)

    def with_time_offset(
        self, observation: JointSpaceObservation, offset: float
    ) -> JointSpaceObservation:
        """Return an ``observation`` whose efforts are ``offset`` [s] earlier than stamped."""
        return with_time_offset(observation, offset)

    def alike(
        self, observations: Sequence[JointSpaceObservation], options: Any
    ) -> tuple[JointSpaceObservation, ...]:
        """Return several ``observations`` behind one filter, with one kind of velocity."""
        if len(observations) < 2:
            return tuple(observations)
        return at_one_cutoff(observations, options.decimate)

    def behind(
        self, observation: JointSpaceObservation, cutoff: float
    ) -> JointSpaceObservation | None:
        """Return an ``observation`` behind a filter of a ``cutoff`` [Hz], None if too slow."""
        if cutoff >= HIGHEST * observation.summary.rate:
            return None
        return with_cutoff(observation, cutoff)


class Tiltable(ABC):
    """Gravity's direction is found from the torques."""

    @abstractmethod
    def gravity_slopes(
        self, state: Any, robot: Any, wanted: np.ndarray
    ) -> Iterator[Sequence[tuple[np.ndarray, np.ndarray]]]:
        """
        Yield block by block, of each row group, columns (h,) and their slopes (3, h, B).

        Rows are affine in gravity: this is what one m/s^2 along x, y and z of the base adds.
        Blocks and groups are those of ``Method.regress``.

        wanted : (p,) bool, of the parameters of bodies that gravity pulls at
        """


@dataclass(frozen=True)
class EstimateOfRows:
    """
    What rows with errors of their own say, see estimation/estimators.py.

    free : Estimate of the base parameters
    inherited : (b, k) errors of unit size that all rows share, or None
    under_prior : (Problem, Estimate, prior (b, b)) -> the Estimate, by rows that joined a prior,
        with the errors that theirs make of it, or None
    of_clocks, of_model : (b, k) errors of unit size that no prior makes smaller, or None
    """

    free: Any
    inherited: np.ndarray | None = None
    under_prior: Callable[[Any, Any, np.ndarray], Any] | None = None
    of_clocks: np.ndarray | None = None
    of_model: np.ndarray | None = None


class OwnErrors(ABC):
    """Rows have errors that no residual shows: of a noisy motion, of what was calibrated."""

    @abstractmethod
    def estimate(
        self, data: Any, problem: Any, draft: np.ndarray, residuals: Any
    ) -> EstimateOfRows:
        """
        Return the EstimateOfRows of a Problem about the rows of a Dataset ``data``.

        draft : (p,) standard parameters of a first estimate, whose Residuals are ``residuals``
        The estimator is that of the options, which may be one of the method's own.
        """

    def scale_error(self, robot: Any) -> float:
        """Return the relative standard error of all forces together, which no row shows."""
        return FORCE_SCALE_ERROR


class KnownMass(ABC):
    """The mass of all links together may be known, and one of theirs no column."""

    @abstractmethod
    def links(self, robot: Any, options: Any) -> tuple[Parameter, ...]:
        """Return all ten Parameters of every link, also the mass that ``parameters`` omits."""

    @abstractmethod
    def total_mass(self, robot: Any) -> float | None:
        """Return the mass of all links [kg], None where the description does not have it."""


@dataclass(frozen=True)
class KnownOptions:
    """Options of methods that leave out what is known: base parameters are named there, too."""

    known: tuple[str, ...] = option(
        (),
        'what is known or zero by symmetry: "NAME VALUE", "NAME" for zero, "SUM = VALUE" such '
        'as "mcx2 + 0.25 m3 = 0.09", a base parameter by its name, "LINK" for a whole link as it '
        'is in the URDF',
    )


class ClosedLoops(ABC):
    """Links are joined in loops, so that the rows are not those of a tree."""

    @abstractmethod
    def energy_rows(
        self, robot: Any, parameters: Sequence[Parameter], samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return dH/d(parameters) (samples, p) [J per unit] of bodies, at states of ``rng``."""

    @abstractmethod
    def virtual_links(self, robot: Any) -> tuple[str, ...]:
        """Return the links that are no bodies and so need no nominal inertia."""


class DescribesRobots(ABC):
    """Robots are no trees of a URDF: the method writes their descriptions."""

    @abstractmethod
    def description_with(
        self,
        links: Mapping[str, Sequence[float]],
        robot: Any,
        options: Mapping[str, Any],
        summary: Summary,
    ) -> str:
        """
        Return the text of the description of a ``robot`` of ``build`` with identified ``links``.

        links : {body: its ten standard parameters (10,)}, physically consistent
        options : of the model; summary : of the first observation that it comes from
        """


@dataclass(frozen=True)
class Addition:
    """
    What may act besides the model, or otherwise than described, as a >= 1 more columns.

    name : of the finding
    columns : of (state, robot, values (p,) of the model) -> (N, groups, a)
    words : of (numbers (a,), errors (a,)) -> what acts besides; do : advice
    unnoticed : (a,) deviations by which nobody notices
    measured : columns are efforts, with their noise; brakes : no number is below zero
    """

    name: str
    columns: Callable[[Any, Any, np.ndarray], np.ndarray]
    words: Callable[[np.ndarray, np.ndarray], str]
    do: str
    unnoticed: tuple[float, ...] = (0.0,)
    measured: bool = False
    brakes: bool = False


@dataclass(frozen=True)
class Limit:
    """
    A quantity of bodies, ``row`` (p,) times standard parameters plus ``known``, and its limits.

    name : of the finding; unit : of the quantity
    words : of (value, error) -> what is wrong; do : advice
    """

    name: str
    row: np.ndarray
    unit: str
    words: Callable[[float, float], str]
    do: str
    least: float = -np.inf
    most: float = np.inf
    known: float = 0.0

    def is_passed(self, value: float, slack: float) -> bool:
        """Return whether a ``value`` is beyond the limits by more than a ``slack``."""
        return value + slack < self.least or value - slack > self.most


class WithAdditions(ABC):
    """A method that says what its rigs may have besides, and what their bodies cannot be."""

    @abstractmethod
    def additions(self, robot: Any, options: Any) -> Sequence[Addition]:
        """Return what a ``robot`` may have besides, in any order."""

    def limits(
        self, state: Any, robot: Any, parameters: Sequence[Parameter], options: Any
    ) -> Iterator[Limit]:
        """Yield Limits of what the ``parameters`` mean in a ``state``."""
        yield from ()

    def has_scale(self, robot: Any) -> bool:
        """Return whether something known tells the unit of all that was measured."""
        return True

    def rows_with_noise(
        self, observation: Any, robot: Any, parameters: Sequence[Parameter]
    ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """
        Yield (rows, the same rows with all noise once more, times they count).

        Nothing where that is not known, or the residual has more than noise in any case.
        """
        yield from ()
