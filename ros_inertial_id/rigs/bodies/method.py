"""
Methods of bodies: whether the residual is noise, and which error of the rig explains it.

The noise of the channels, drawn once more, says how large the residual should be, and what the
noise adds to normal equations, which is taken out (Fuller 1987, Sec. 2.2).  Every hypothesis is
some more columns beside those of the model; how their numbers change without one stretch of the
recording says how sure they are (jackknife).  The one that explains most is named.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np

from .description import with_inertials
from .joints import random_bodies
from .observation import BodiesObservation, BodiesState, doubt
from ..estimation.noisy_rows import NoisyMotion
from ..estimation.scores import MotionFilter
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...dynamics.robot_model import RobotOptions
from ...estimation.least_squares import deviations, left_out, solved_sums
from ...measurement.recording import Recording
from ...methods.capabilities import DescribesRobots
from ...methods.contract import Method, OptionsT, RobotT, StateT
from ...options import option

STRETCHES = 16  # left out one by one
SURE = 5.0      # standard errors of a number of a hypothesis
EXPLAINS = 0.05  # share of the squared residual that a hypothesis must take at least
SIMPLER = 1.03   # times the residual left for every number that a hypothesis has
ALIKE = 1.3     # times the residual that the best leaves: as likely
SAME = 1e-6  # by which two differ that are one by the kinematics: rounding
EXCESS = 1.5    # times the residual that the noise of the channels makes: there is more than that
MATTERS = 0.05  # of the measured: a residual of less is no reason against a rig
BEYOND = 'residual beyond noise'
THROUGHOUT = 0.5  # share of the recording beyond which an impact is none
MOST = 8192     # rows of each kind at most
Rows = Callable[[BodiesState], Iterator[RegressorBlock]]


@dataclass(frozen=True)
class BodiesOptions(RobotOptions):
    """What both methods of bodies are asked for."""

    cutoff: float = option(0.0, 'low-pass cutoff; 0: chosen from the data', unit='Hz',
                           at_least=0.0)
    largest_clock_offset: float = option(
        0.1, 'between the stamps of poses and IMUs on one body; 0: they share a clock', unit='s',
        at_least=0.0)
    decimate: int = option(0, 'learn from every that many sample; 0: twenty per period of the '
                           'cutoff, more add no information', at_least=0)


@dataclass(frozen=True)
class Hypothesis(Generic[StateT]):
    """
    An error that the rig may have.

    columns : of (state, y (N, m), values (p,) of the model) -> (N, m, a)
    known (a,) : standard deviations by which nobody notices or that are in the stated errors
    words : of (numbers (a,), errors (a,), sure (a,) bool) -> what is wrong, in words; do : advice
    """

    name: str
    columns: Callable[[StateT, np.ndarray, np.ndarray], np.ndarray]
    known: np.ndarray
    words: Callable[[np.ndarray, np.ndarray, np.ndarray], str]
    do: str


class BodiesMethod(Method[RobotT, BodiesState, BodiesObservation, OptionsT], NoisyMotion,
                   DescribesRobots):
    """A method whose observations are BodiesObservations, and say what is wrong with the rig."""

    @abstractmethod
    def observed(self, recording: Recording, robot: RobotT,
                 options: OptionsT) -> BodiesObservation:
        """Return the BodiesObservation of a ``recording``, without a look at its residual."""

    def hypotheses(self, robot: RobotT, options: OptionsT) -> Sequence[Hypothesis[BodiesState]]:
        """Return the errors that a ``robot`` may have."""
        return ()

    def observe(self, recording: Recording, robot: RobotT,
                options: OptionsT) -> BodiesObservation:
        """Return the BodiesObservation, with ``doubts`` about the rig in its summary."""
        out = self.observed(recording, robot, options)
        parameters = self.parameters(robot, options)
        more, impacts = [], out.summary.get('impacts') or []
        doubts = list(out.summary['doubts'])
        if not any(entry['severity'] == 'wrong' for entry in doubts):  # which is mended first
            more = doubts_of(out, lambda state: self.regress(state, robot, parameters),
                             len(parameters), self.hypotheses(robot, options))
        lasted = sum(end - start for start, end in impacts)
        if more and (more[0]['name'] != BEYOND or lasted > THROUGHOUT * out.summary['duration']):
            impacts = []  # what is wrong throughout is no burst
        elif impacts:
            more = []
        said = {'impacts': impacts} if 'impacts' in out.summary else {}
        return replace(out, summary={**out.summary, **said, 'doubts': doubts + more})

    def description_with(self, links: Mapping[str, Sequence[float]], robot: Any,
                         options: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
        """Return the YAML text of a ``robot`` with ``inertial`` of the identified ``links``."""
        return with_inertials(robot.urdf, links)

    def random_state(self, robot: Any, samples: int, rng: np.random.Generator) -> BodiesState:
        """Return a BodiesState of random motion: what the structure alone can show."""
        bodies = random_bodies(robot.joints, samples, rng, robot.gravity_base)
        none = np.zeros((samples, 6 * len(robot.wrenches)))
        return BodiesState(np.arange(samples, dtype=float), 0, bodies, none, none)

    def validity_range(self, state: BodiesState,
                       robot: Any) -> dict[str, dict[str, np.ndarray]]:
        """Return body -> {omega, alpha, acc: (N,)}: largest component at every instant."""
        return {name: {q: np.abs(getattr(body, q)).max(1) for q in ('omega', 'alpha', 'acc')}
                for name, body in zip(robot.body_names, state.bodies)}

    def motion_filter(self, observation: BodiesObservation) -> MotionFilter:
        """Return the MotionFilter of the poses."""
        return MotionFilter(observation.kernel, observation.decimate)

    def noisy_rows(self, observation: BodiesObservation, robot: RobotT,
                   parameters: Sequence[Parameter]
                   ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """Yield RegressorBlocks of the motion, of it with more noise, and how many they are."""
        for state, noisy, times in observation.noisy_states():
            pair = (self.regress(s, robot, parameters) for s in (state, noisy))
            for one, other in zip(*pair):
                yield one, other, times


def doubts_of(observation: BodiesObservation, rows: Rows, count: int,
              hypotheses: Sequence[Hypothesis[BodiesState]]) -> list[dict[str, Any]]:
    """
    Return what is wrong with the rig of an ``observation``, as the fields of Findings.

    rows : of a state, about ``count`` parameters
    """
    found = _Equations(observation, rows, count)
    if not found.usable:
        return []
    tested = []
    for hypothesis in hypotheses:
        numbers, errors, share = found.tested(hypothesis)
        sure = np.abs(numbers) > SURE * np.hypot(errors, hypothesis.known)
        tested.append((numbers, errors, sure, share, hypothesis))
    named = likeliest(tested, 'the residual of all rows with and without it')
    if named:
        return named
    worst, excess = found.excess()
    if excess > EXCESS and not observation.summary.get('imus'):  # whose noise is not drawn
        return [doubt(BEYOND, f'the residual of {worst} is {excess:.1f} times '
                      'what the noise of the channels makes', 'the residual against noise drawn '
                      'once more', (excess, 'times the noise'), 'look for what moves or pushes '
                      'besides, and whether springs, lengths, layouts, masses and loads are as '
                      'described')]
    return []


def likeliest(tested: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, float,
                                     Hypothesis[StateT]]],
              tests: str) -> list[dict[str, Any]]:
    """
    Return the hypothesis that explains most, and what is as likely, as the fields of a Finding.

    Of its own kind what no data tell from it, as springs on joints that always turn alike.

    tested : (numbers (a,), errors (a,), sure (a,) bool, share of the squared residual, Hypothesis)
    """
    likely = [((1.0 - share) * SIMPLER ** len(numbers), share, h.words(numbers, errors, sure), h)
              for numbers, errors, sure, share, h in tested if sure.any() and share > EXPLAINS]
    if not likely:
        return []
    likely.sort(key=lambda entry: entry[0])
    left, share, _, best = likely[0]
    same = [words for near, _, words, h in likely
            if h.name == best.name and near < (1.0 + SAME) * left]
    alike = {h.name: words for near, _, words, h in reversed(likely)
             if h.name != best.name and near < ALIKE * left}
    return [doubt(best.name, '; or '.join([*same, *reversed(alike.values())]), tests,
                  (100.0 * share, '% of the squared residual'), best.do)]


class _Equations:
    """Weighted rows of an observation, and what more noise of its channels changes in them."""

    def __init__(self, observation, rows, count):
        stride = 1 + observation.samples(training=True) // MOST
        self._rows, self._count, self._stride = rows, count, stride
        self._states = [self._dense(state) for state in observation.states(training=True)]
        self._pairs = [(self._dense(state), self._dense(noisy), times)
                       for state, noisy, times in observation.noisy_states()]
        self.usable = bool(self._states)
        if self.usable:
            self._A, self._y = self._together(self._states)
            self._dA, self._dy = self._changes()
            self._weigh()

    def _weigh(self):
        self.sd = np.ones(self._y.shape[1])
        for _ in range(2):  # with weights by the residual of the first
            self.values, _ = self._solved(self._A, self._dA)
            self.sd = np.sqrt(((self._y - self._A @ self.values) ** 2).mean(0)) + 1e-12

    def excess(self):
        """Return (row, residual RMS over that of noise) of the row where it is largest."""
        noise = np.sqrt(((self._dy - self._dA @ self.values) ** 2).sum(0) / len(self._y))
        if not noise.all():
            return '', 0.0
        # What the filter cuts of products of motions is no noise, and little.
        ratio = np.where(self.sd > MATTERS * self._y.std(0), self.sd / noise, 0.0)
        worst = int(ratio.argmax())
        return self.names[worst], float(ratio[worst])

    def tested(self, hypothesis):
        """Return numbers (a,), errors (a,) and the share of the residual that they explain."""
        C, dC = self._together(self._states, hypothesis)[0], self._changes(hypothesis)[0]
        A = np.concatenate([self._A, C], axis=2)
        x, without = self._solved(A, np.concatenate([self._dA, dC], axis=2))
        own = slice(self._count, None)
        before, left = ((((self._y - rows @ values) / self.sd) ** 2).sum()
                        for rows, values in ((self._A, self.values), (A, x)))
        errors = np.linalg.norm(deviations(without[:, own]), axis=0)
        return x[own], errors, float(1.0 - left / before)

    def _solved(self, A, dA):
        """Return x of rows A (N, m, k) without what changes dA add, and x without each stretch."""
        size = np.sqrt((A ** 2).sum((0, 1)))
        size, sd = np.where(size > 0.0, size, 1.0), self.sd[:, None]
        noise = self._gram(dA / size / sd, self._dy / self.sd) / STRETCHES
        grams = [self._gram(a, b) - noise for a, b in zip(
            np.array_split(A / size / sd, STRETCHES),
            np.array_split(self._y / self.sd, STRETCHES))]
        return left_out(grams, lambda sums: solved_sums(sums) / size)

    @staticmethod
    def _gram(A, y):
        A, y = A.reshape(-1, A.shape[2]), y.ravel()
        return np.column_stack([A.T @ A, A.T @ y])

    def _together(self, states, hypothesis=None):
        """Return the rows (N, m, p) of states, or a hypothesis' columns, and y (N, m)."""
        parts = []
        for state, A, y in states:
            if hypothesis:
                A = hypothesis.columns(state, y, self.values)[::self._stride]
            parts.append((A, y[::self._stride]))
        return tuple(np.concatenate(x) for x in zip(*parts))

    def _changes(self, hypothesis=None):
        """Return what more noise changes, each sample as large as those that it stands for."""
        if not self._pairs:
            A, y = self._together(self._states[:1], hypothesis)
            return np.zeros((1, *A.shape[1:])), np.zeros((1, *y.shape[1:]))
        (A, y), (B, z) = (self._together([pair[k] for pair in self._pairs], hypothesis)
                          for k in (0, 1))
        share = np.sqrt(self._pairs[0][2])
        return share * (B - A), share * (z - y)

    def _dense(self, state):
        """Return a state, every so many of its rows (N, m, p), and all of y (N, m)."""
        blocks = list(self._rows(state))
        self.names = [group.name for group in blocks[0].groups]
        A, y = dense_rows(blocks, self._count)
        return state, A[::self._stride].copy(), y


def dense_rows(blocks: Sequence[RegressorBlock], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (N, m, ``count``) and y (N, m) of the m RowGroups in ``blocks``."""
    groups = list(zip(*(block.groups for block in blocks)))
    y = np.stack([np.concatenate([g.y for g in group]) for group in groups], axis=1)
    A = np.zeros((*y.shape, count))
    for k, group in enumerate(groups):
        A[:, k, group[0].columns] = np.concatenate([g.W for g in group])
    return A, y
