"""
Online: the estimate while the robot moves.

The first seconds are examined as a recording is: cutoff, clocks, kind of velocity.  From then on
new samples are filtered, written as rows of a wide factor and dropped; it gives the estimate at
any moment, chosen and fitted as identification/identify.py does.  The residual of new samples
under the estimate before them is an unbiased prediction error (prequential; Dawid 1984); that of a
first estimate is its own error and no noise, so only residuals under recent estimates count.  The
newest stretch is kept and examined again: where a motion has a higher bandwidth than the filter,
learning begins anew with it.  What is old may be forgotten, exponentially in time.

Of a bag that has ended the estimate differs from the identification's: LAG at its ends is not
learnt from, and stretches are pieces of time, so that errors are those of other stretches and
another of models that predict alike may be chosen.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .growing_factor import GrowingFactor, with_torques
from ..dynamics.inertial_parameters import Parameter
from ..errors import ConfigError, EstimationError, RecordingError
from ..estimation.base_parameters import with_known
from ..estimation.r_factors import one_thread
from ..estimation.residuals import Residuals
from ..identification.choose.choice import Choice, choose
from ..identification.fit.fitting import fit, Solution
from ..identification.model.outcome import base_entries
from ..identification.prepare.dataset import Dataset
from ..identification.prepare.locked_joints import with_recorded_locks
from ..identification.prepare.mounting import robot_of
from ..identification.reduce.model_columns import ModelColumns
from ..identification.reduce.wide_factor import wide_structure
from ..measurement.bags.messages import JOINT_STATE
from ..measurement.joints.channels import without_incomplete
from ..measurement.joints.commands import command_topics
from ..measurement.recording import Channel, joined, Recording
from ..measurement.summary import Summary
from ..methods import DEFAULT_METHOD, METHODS, methods_of
from ..methods.capabilities import LearnsOnline

EXAMINED_FIRST = 8.0  # [s] of motion by which the signals are examined
KEPT_SECONDS = 30.0  # [s] that are kept
EXAMINE = 4.0  # [s] from one examination to the next, ...
SELDOM = 16.0  # [s] ... later a quarter of what was learnt, at most this
HIGHER = 1.2  # times the cutoff: what was filtered before is lost
LAG = 2.0  # [s] behind the newest sample: the filter is as long as a recording's
FORGETTING = 0.95  # factor on the residuals' statistics per second
GROWN = 1.5  # times the data by which an estimate is another one: its residuals begin anew
CORRELATION_SECONDS = 2.5  # [s] of residuals that show their correlation
CHOICE = 1.5  # times the data with which the model is chosen again


@dataclass(frozen=True)
class OnlineEstimate:
    """
    The estimate from all samples so far.

    base : entries as in IdentifiedModel.base; seconds : accumulated [s]
    parameters, values : (p,) standard ones behind them; gravity : (3,) in the base frame [m/s^2]
    condition_number : of the accumulated rows about the base parameters
    unseen_percent : residual of new samples under the estimate before, relative; None at first
    """

    base: list[dict[str, Any]]
    parameters: tuple[Parameter, ...]
    values: np.ndarray
    gravity: np.ndarray
    seconds: float
    condition_number: float
    unseen_percent: float | None


class OnlineIdentification:
    """
    One robot while it moves: ``add`` new samples, ``estimate`` now and then.

    urdf : text; options : of the method, by its name, with EstimationOptions
    forget : time constant with which old samples count less [s]; 0: they never do
    commands : topics of commands, where the drives have no torques
    summary : of the observation whose filter is used; waiting : why there is no estimate yet, ''
        once there is
    ConfigError for a method that cannot learn sample by sample.
    """

    def __init__(
        self, urdf: str, options: Any, method: str = DEFAULT_METHOD, forget: float = 0.0
    ) -> None:
        kind = METHODS[method]
        if not isinstance(kind, LearnsOnline):
            raise ConfigError(
                'nothing to learn online',
                found=f'method {method}',
                exists=methods_of(LearnsOnline),
            )
        self._urdf, self._method, self._options = urdf, kind, options
        self.commands = command_topics(options)
        self._recent_parts: dict[str, list[Channel]] = {}
        self._examined, self._forget = -np.inf, forget
        self._live: Any = None
        self._predicting: tuple[Any, tuple[Parameter, ...], np.ndarray] | None = None
        self._chosen: tuple[Choice, float] | None = None
        self.summary = Summary()
        self.waiting = f'the first {EXAMINED_FIRST:.0f} s of motion'

    @property
    def gaps(self) -> int:
        """Return how often the stream broke and was begun anew."""
        if self._live is None:
            return 0
        return self._live.gaps

    def add(self, channel: Channel) -> None:
        """Take a ``channel`` of new samples; RecordingError for those that cannot be used."""
        self._recent_parts.setdefault(channel.topic, []).append(channel)
        if self._live is None:
            return
        for topic in self._live.topics:  # with or without the slash
            if topic.lstrip('/') == channel.topic.lstrip('/'):
                self._live.add(replace(channel, topic=topic))

    def estimate(self) -> OnlineEstimate | None:
        """Learn what has come and return the OnlineEstimate, None as long as there is none."""
        with one_thread():
            self._examine()
            if self._live is None:
                return None
            while (taken := self._live.take()) is not None:
                self._learn(taken[1])
            if not self._factors.moves:  # the filter sees LAG to both sides
                self.waiting = f'motion in {2 * LAG:.0f} s of all topics without a gap'
                return None
            try:
                return self._estimate()
            except (EstimationError, np.linalg.LinAlgError) as error:  # too few samples yet
                self.waiting = str(error)
                return None

    def _examine(self):
        """Examine what came of late as a recording; begin when it is one, or of more bandwidth."""
        if not self._is_time_to_examine():
            return
        recording = self._recent()
        if recording is None or (self._live is not None and self._options.cutoff):
            return
        try:
            robot = robot_of(recording, self._options, self._urdf, self._method.name)
            observation = self._method.observe(recording, robot, self._options)
        except RecordingError as error:
            if self._live is None:
                self.waiting = str(error)
            return
        if self._live is None or observation.summary.cutoff > HIGHER * self.summary.cutoff:
            self._begin(recording, robot, observation.summary)

    def _is_time_to_examine(self):
        """Return whether the last examination is long enough ago; if so this is one."""
        newest = max((parts[-1].stamp_ns[-1] for parts in self._recent_parts.values()), default=0)
        due = self._examined
        if self._live is not None:
            due += examined_after(self._learnt)
        if newest * 1e-9 < due:
            return False
        self._examined = newest * 1e-9
        return True

    def _recent(self):
        """Return the last KEPT_SECONDS as a Recording, and keep no more; None of too few."""
        if not self._recent_parts:
            return None
        channels = {topic: _usable(parts) for topic, parts in self._recent_parts.items()}
        recording = Recording(channels, self._urdf)
        newest = max(channel.stamp_ns.max() for channel in channels.values())
        span = (newest - recording.origin_ns()) * 1e-9
        if span > KEPT_SECONDS:
            recording = recording.window(span - KEPT_SECONDS)
        self._recent_parts = {topic: [c] for topic, c in recording.channels.items() if len(c)}
        if span < EXAMINED_FIRST:
            return None
        return recording

    def _begin(self, recording, robot, summary):
        """Learn from a Recording, filtered as its summary says, and from what comes after it."""
        fixed = replace(
            with_recorded_locks(recording, self._options, self._urdf),
            cutoff=summary.cutoff,
            velocity=summary.velocity,
        )
        data = Dataset(self._method, (robot,), (), fixed)
        columns = with_known(self._method.parameters(robot, fixed), fixed.given)
        live = self._method.source(robot, fixed, LAG, summary)
        channels = [_channel(recording.channels, topic) for topic in live.topics]
        for channel in channels:
            live.add(channel)
        self._data, self._live = data, live
        self._factors = GrowingFactor(
            self._method, robot, wide_structure(data, columns), self._forget
        )
        self._learnt, self._next = 0.0, -np.inf
        self._predicting, self._chosen = None, None
        self._residuals, self._former, self._since = Residuals(), Residuals(), 0.0
        self.summary, self.waiting = summary, ''

    def _learn(self, state):
        """Accumulate a state's samples, thinned out as in a recording, and their residuals."""
        period = self.summary.decimate / self.summary.rate
        fresh = np.flatnonzero(state.t > self._next)
        if not fresh.size:
            return
        state = state.rows(slice(fresh[0], None, self.summary.decimate))
        self._next = state.t[-1] + 0.999 * period
        if self._predicting is not None:
            self._compare(state, period, *self._predicting)
        self._factors.add(state, period)
        self._learnt += len(state.t) * period

    def _compare(self, state, period, robot, parameters, values):
        """Add the residuals of a state's samples under the estimate before them."""
        if self._factors.seconds > GROWN * max(self._since, CORRELATION_SECONDS):
            self._former, self._residuals = self._residuals, Residuals()
            self._since = self._factors.seconds
        self._residuals.fade(FORGETTING ** (len(state.t) * period))
        for block in self._method.regress(state, robot, parameters):
            measured = with_torques(block)
            if measured.size:
                block = block.rows(measured)
                self._residuals.add(block, block.predicted(values))

    def _recent_residuals(self):
        """Return the Residuals under recent estimates, those before while they are too few."""
        period = self.summary.decimate / self.summary.rate
        few = self._residuals.filtered.samples * period < CORRELATION_SECONDS
        if few and self._former.filtered.samples:
            return self._former
        return self._residuals

    def _estimate(self):
        solution, recent = self._solution(), self._recent_residuals().filtered
        base, free = solution.problem.base, solution.free
        self._predicting = solution.data.robot, base.parameters, solution.values
        self.waiting = ''
        return OnlineEstimate(
            base_entries(base, solution.estimate),
            *self._predicting[1:],
            solution.data.robot.gravity_base,
            self._factors.seconds,
            free.condition_number,
            recent.relative_percent,
        )

    def _solution(self) -> Solution:
        """Return the Solution by what was learnt, chosen anew with CHOICE times the data."""
        wide, gravity = self._factors.wide(), self._data.robot.gravity_base
        if self._chosen is None or self._learnt > CHOICE * self._chosen[1]:
            self._chosen = choose(self._data, ModelColumns(wide, gravity)), self._learnt
        choice, _ = self._chosen
        model_columns = ModelColumns(wide, gravity, weights=choice.model_columns.weights)
        return fit(
            self._data,
            replace(choice, model_columns=model_columns),
            lambda *_: self._recent_residuals(),
        )


def _usable(parts):
    """Return Channels of a topic as one, of joint states without messages that lack something."""
    channel = joined(parts)
    if channel.type != JOINT_STATE:
        return channel
    return without_incomplete(channel)


def examined_after(seconds: float) -> float:
    """Return after how long [s] to look again at what was learnt for ``seconds`` [s]."""
    return min(max(seconds / 4.0, EXAMINE), SELDOM)


def _channel(channels, topic):
    """Return the Channel of a topic, named as the topic is."""
    for name, channel in channels.items():
        if name.lstrip('/') == topic.lstrip('/'):
            return replace(channel, topic=topic)
    raise RecordingError(
        f'{topic} was not received', exists=tuple(channels), do='add it to topics:'
    )
