"""
Online: the estimate while the robot moves.

The first seconds are looked at as a recording is: cutoff, clocks, kind of velocity.  From then on
new samples are filtered, written as rows, folded and forgotten; the triangles give the estimate
at any moment, by the steps of identification/identify.py.  What the estimate before predicted of samples it had
not seen is its honest error (prequential; Dawid 1984).  The newest stretch is kept and looked at
again: where a motion grows livelier than the filter lets through, learning begins anew with it.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..errors import ConfigError, EstimationError, RecordingError
from ..estimation.estimators import ESTIMATORS, Problem
from ..estimation.known_parameters import with_known
from ..estimation.r_factors import one_thread, RFactors
from ..estimation.residuals import Residuals
from ..identification.accumulation import choose_alternatives, refine, standard, structure_of
from ..identification.entries import base_entries
from ..identification.robot import robot_of
from ..measurement.recording import joined, Recording
from ..methods import METHODS

WARM_UP = 8.0    # [s] of motion by which the signals are judged
LONGEST = 30.0   # [s] that are kept
LOOK = 4.0       # [s] from one look at them to the next
LIVELIER = 1.2   # times the cutoff: what was filtered before is lost
LAG = 2.0        # [s] behind the newest sample, which leaves the filter as long as a recording's
REMEMBERED = 0.95  # of the residuals' statistics from one second to the next
FOLDED = ('ordinary', 'weighted', 'ridge')  # estimators that need no second look at the data


@dataclass(frozen=True)
class OnlineEstimate:
    """
    What is known so far.

    base : entries as in IdentifiedModel.base; seconds, samples : learnt from
    unseen_percent : residual of new samples under the estimate before, relative; None at first
    """

    base: list
    seconds: float
    samples: int
    rank: int
    condition_number: float
    unseen_percent: float


class OnlineIdentification:
    """
    One robot while it moves: ``add`` new samples, ``estimate`` now and then.

    urdf : text; options : of the method with EstimationOptions
    waiting : why there is no estimate yet, '' once there is
    """

    def __init__(self, urdf, options, method='serial_arm'):
        if not METHODS[method].predicts_live:
            raise ConfigError('nothing to learn online', found=f'method {method}',
                              exists=[n for n, m in METHODS.items() if m.predicts_live])
        if options.estimator not in FOLDED or options.consistent or options.choose_friction:
            raise ConfigError('online estimation', expected=f'estimator: one of {FOLDED}',
                              found=f'{options.estimator}, consistent: {options.consistent}, '
                              f'choose_friction: {options.choose_friction}',
                              do='identify from a recording for these')
        self._urdf, self._options, self._method = urdf, options, METHODS[method]
        self._kept, self._looked, self._live = {}, -np.inf, None
        self.summary, self.waiting = {}, f'the first {WARM_UP:.0f} s of motion'

    @property
    def gaps(self):
        """Return how often the stream broke and was begun anew."""
        return self._live.gaps if self._live else 0

    def add(self, channel):
        """Take a Channel of new samples; RecordingError says which of them cannot be used."""
        self._kept.setdefault(channel.topic, []).append(channel)
        for topic in self._live.topics if self._live else ():  # with or without the slash
            if topic.lstrip('/') == channel.topic.lstrip('/'):
                self._live.add(replace(channel, topic=topic))

    def estimate(self):
        """Learn what has come and return the OnlineEstimate, None as long as there is none."""
        with one_thread():
            self._look()
            if self._live is None:
                return None
            while (taken := self._live.take()) is not None:
                self._learn(taken[1])
            try:
                return self._estimate()
            except EstimationError as error:  # too few samples yet
                self.waiting = str(error)
                return None

    def _look(self):
        """Look at what was kept as at a recording; begin when it is one, or a livelier one."""
        newest = max((parts[-1].stamp_ns[-1] for parts in self._kept.values()), default=0) * 1e-9
        if newest < self._looked + (0.0 if self._live is None else LOOK):
            return
        self._looked = newest
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
        if self._live is None or observation.summary['cutoff'] > LIVELIER * self.summary['cutoff']:
            self._begin(recording, robot, dict(observation.summary))

    def _recent(self):
        """Return the last LONGEST seconds as a Recording, and keep no more; None below WARM_UP."""
        channels = {topic: joined(parts) for topic, parts in self._kept.items()}
        if not channels:
            return None
        recording = Recording(channels, self._urdf)
        span = (max(c.stamp_ns.max() for c in channels.values()) - recording.origin_ns()) * 1e-9
        if span > LONGEST:
            recording = recording.window(span - LONGEST)
        self._kept = {topic: [c] for topic, c in recording.channels.items() if len(c)}
        return recording if span >= WARM_UP else None

    def _begin(self, recording, robot, summary):
        """Learn from a Recording, filtered as its summary says, and from what comes after it."""
        fixed = replace(self._options, cutoff=summary['cutoff'], velocity=summary['velocity'])
        columns = with_known(self._method.parameters(robot, fixed), fixed.given)
        structure = structure_of(self._method, [robot], columns)
        live = self._method.live(robot, fixed, LAG, summary)
        for channel in [_channel(recording.channels, topic) for topic in live.topics]:
            live.add(channel)
        self._structure, self._robot, self._live = structure, robot, live
        self._factors = RFactors(int(structure.keep.max()) + 1)
        self._seconds, self._next = 0.0, -np.inf
        self._predicting, self._residuals = None, Residuals()
        self.summary, self.waiting = summary, ''

    def _learn(self, state):
        """Fold a state's samples in, as thinned out as in a recording; hear their residuals."""
        period = self.summary['decimate'] / self.summary['rate']
        fresh = np.flatnonzero(state.t > self._next)
        if not fresh.size:
            return
        state = state.rows(slice(fresh[0], None, self.summary['decimate']))
        self._next = state.t[-1] + 0.999 * period
        if self._predicting is not None:
            base, values = self._predicting
            self._residuals.fade(REMEMBERED ** (len(state.t) * period))
            for block in self._blocks(state, base.parameters):
                self._residuals.add(block, {g.name: g.W @ values[g.columns]
                                            for g in block.groups})
        for block in self._blocks(state, self._structure.columns):
            self._factors.accumulate(block, self._structure.keep)
            self._seconds += len(block.t) * period

    def _blocks(self, state, columns):
        """Yield the RegressorBlocks of samples whose measured side was received."""
        for block in self._method.regress(state, self._robot, columns):
            received = np.all([np.isfinite(g.y) & np.isfinite(g.y_raw) for g in block.groups], axis=0)
            if received.any():
                yield block if received.all() else block.rows(np.flatnonzero(received))

    def _estimate(self):
        base, folds, grid = choose_alternatives(self._structure, [self._factors])
        options, problem = self._options, Problem(folds[0], base, {}, grid=grid)
        laws = self._structure.searched_laws & set(options.refine_nonlinear)
        refined = refine(problem, laws) if grid else None
        if refined:
            base = refined.base
            problem = replace(problem, base=base,
                              factors=self._factors.combine(grid.columns(base)))
        found = ESTIMATORS[options.estimator](
            replace(problem, correlation=self._residuals.correlation()))
        if refined:
            found = refined.inflate(found)
        self._predicting = base, standard(base, found)
        fit = self._residuals.filtered
        return OnlineEstimate(
            base_entries(base, found), self._seconds,
            max(g.rows for g in self._factors.groups.values()), found.rank,
            found.condition_number, fit.summary()['relative_percent'] if fit.samples else None)


def _channel(channels, topic):
    """Return the Channel of a topic, named as the topic is."""
    for name, channel in channels.items():
        if name.lstrip('/') == topic.lstrip('/'):
            return replace(channel, topic=topic)
    raise RecordingError(f'{topic} was not heard', exists=tuple(channels),
                         do='add it to topics:')
