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
from itertools import repeat
from typing import Any, Generic

import numpy as np

from .description import with_inertials
from .joints import random_bodies
from .observation import BodiesObservation, BodiesState, doubt
from ..estimation.noisy_rows import NoisyMotion
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...dynamics.robot_model import RobotOptions
from ...estimation.least_squares import left_out, solved_sums, standard_errors
from ...measurement.recording import Recording
from ...measurement.summary import Summary
from ...methods.capabilities import DescribesRobots
from ...methods.contract import Method, OptionsT, RobotT, StateT
from ...options import option

JACKKNIFE_STRETCHES = 16  # left out one by one
HYPOTHESIS_SURE = 5.0  # standard errors of a number of a hypothesis
EXPLAINED_SHARE = 0.05  # share of the squared residual that a hypothesis must take at least
SIMPLER = 1.03  # times the residual left for every number that a hypothesis has
AS_LIKELY = 1.3  # times the residual that the best leaves: as likely
ONE_BY_KINEMATICS = 1e-6  # by which two differ that are one by the kinematics: rounding
EXCESS = 1.5  # times the residual that the noise of the channels makes: there is more than that
RESIDUAL_MATTERS = 0.05  # of the largest measured of its unit: a smaller residual is no matter
CHANNEL_DIGITS = 1e-6  # of the measured: no channel has more of them
MOST_ROWS = 8192  # rows of each kind at most


@dataclass(frozen=True)
class BodiesOptions(RobotOptions):
    """What both methods of bodies are asked for."""

    cutoff: float = option(
        0.0, 'low-pass cutoff; 0: chosen from the data', unit='Hz', at_least=0.0
    )


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


class BodiesMethod(
    Method[RobotT, BodiesState, BodiesObservation, OptionsT], NoisyMotion, DescribesRobots
):
    """A method whose observations are BodiesObservations, and say what is wrong with the rig."""

    @abstractmethod
    def observed(
        self, recording: Recording, robot: RobotT, options: OptionsT
    ) -> BodiesObservation:
        """Return the BodiesObservation of a ``recording``, without a look at its residual."""

    def hypotheses(self, robot: RobotT, options: OptionsT) -> Sequence[Hypothesis[BodiesState]]:
        """Return the errors that a ``robot`` may have."""
        return ()

    def observe(self, recording: Recording, robot: RobotT, options: OptionsT) -> BodiesObservation:
        """Return the BodiesObservation, with ``doubts`` about the rig in its summary."""
        out = self.observed(recording, robot, options)
        doubts = list(out.summary.details['doubts'])
        if not any(entry['severity'] == 'wrong' for entry in doubts):  # which is mended first
            doubts += doubts_of(self, out, robot, options)
        return replace(out, summary=out.summary.with_details(doubts=doubts))

    def heaviest(self, options: OptionsT) -> float:
        """Return the mass [kg] beyond which no body can be by the ``options``."""
        return np.inf

    def description_with(
        self,
        links: Mapping[str, Sequence[float]],
        robot: Any,
        options: Mapping[str, Any],
        summary: Summary,
    ) -> str:
        """Return the YAML text of a ``robot`` with ``inertial`` of the identified ``links``."""
        return with_inertials(robot.urdf, links)

    def random_state(self, robot: Any, samples: int, rng: np.random.Generator) -> BodiesState:
        """Return a BodiesState of random motion: what the structure alone can show."""
        bodies = random_bodies(robot.joints, samples, rng, robot.gravity_base)
        none = np.zeros((samples, 6 * len(robot.wrenches)))
        return BodiesState(np.arange(samples, dtype=float), 0, bodies, none, none)

    def validity_range(self, state: BodiesState, robot: Any) -> dict[str, dict[str, np.ndarray]]:
        """Return body -> {omega, alpha, acc: (N,)}: largest component at every instant."""
        out = {}
        for name, body in zip(robot.body_names, state.bodies):
            out[name] = {q: np.abs(getattr(body, q)).max(1) for q in ('omega', 'alpha', 'acc')}
        return out

    def noisy_rows(
        self, observation: BodiesObservation, robot: RobotT, parameters: Sequence[Parameter]
    ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """Yield RegressorBlocks of the motion, of it with more noise, and how many they are."""
        for state, noisy, times in observation.noisy_states():
            yield from zip(
                self.regress(state, robot, parameters),
                self.regress(noisy, robot, parameters),
                repeat(times),
            )


def doubts_of(
    method: BodiesMethod, observation: BodiesObservation, robot: Any, options: Any
) -> list[dict[str, Any]]:
    """
    Return doubts about the rig of an ``observation``, as the fields of Findings.

    method : that writes its rows; robot, options : of it
    """
    samples = _Thinned(observation)
    if not samples.all:
        return []
    parameters = method.parameters(robot, options)

    def rows_of(state):
        blocks = list(method.regress(state, robot, parameters))
        return np.dstack(dense_rows(blocks, len(parameters)))

    fit = _Fit(*samples.stacked(rows_of))
    tested = []
    for hypothesis in method.hypotheses(robot, options):

        def columns_of(state, columns=hypothesis.columns):
            return columns(state, rows_of(state)[:, :, -1], fit.values)

        tested.append(fit.tested(hypothesis, *samples.stacked(columns_of)))
    groups = next(iter(method.regress(samples.all[0], robot, parameters))).groups
    return (
        likeliest(tested, 'the residual of all rows with and without it')
        or _too_heavy(parameters, fit.least_squares(), method.heaviest(options))
        or _beyond_noise(observation.summary, groups, fit)
    )


@dataclass(frozen=True)
class Tested(Generic[StateT]):
    """
    A Hypothesis beside the model: its numbers (a,), their errors (a,), and which are sure (a,).

    share : of the squared residual that it takes
    """

    hypothesis: Hypothesis[StateT]
    numbers: np.ndarray
    errors: np.ndarray
    sure: np.ndarray
    share: float

    @property
    def name(self) -> str:
        """Return the name of the hypothesis."""
        return self.hypothesis.name

    @property
    def explains(self) -> bool:
        """Return whether it is sure of a number, and takes enough of the residual."""
        if not self.sure.any():
            return False
        return self.share > EXPLAINED_SHARE

    @property
    def remaining(self) -> float:
        """Return the share of the squared residual that it leaves; larger by each number."""
        return (1.0 - self.share) * SIMPLER ** len(self.numbers)

    @property
    def says(self) -> str:
        """Return the error of the rig in words."""
        return self.hypothesis.words(self.numbers, self.errors, self.sure)


def likeliest(tested: Sequence[Tested[StateT]], tests: str) -> list[dict[str, Any]]:
    """
    Return the hypothesis that explains most, and what is as likely, as the fields of a Finding.

    Of its own kind what no data tell from it, as springs on joints that always turn alike.
    """
    likely = sorted([t for t in tested if t.explains], key=lambda t: t.remaining)
    if not likely:
        return []
    best = likely[0]
    same: list[str] = []
    others: dict[str, str] = {}  # name of another hypothesis -> its likeliest words
    for entry in likely:
        if entry.name == best.name:
            if entry.remaining < (1.0 + ONE_BY_KINEMATICS) * best.remaining:
                same.append(entry.says)
        elif entry.remaining < AS_LIKELY * best.remaining:
            others.setdefault(entry.name, entry.says)
    return [
        doubt(
            best.name,
            '; or '.join([*same, *others.values()]),
            tests,
            (100.0 * best.share, '% of the squared residual'),
            best.hypothesis.do,
        )
    ]


def _too_heavy(parameters, solved, heaviest):
    """Return the doubt about a mass beyond any by least squares, which noise makes less of."""
    x, without = solved
    least = x - HYPOTHESIS_SURE * standard_errors(without)
    masses = [(m, p.name) for m, p in zip(least, parameters) if p.unit == 'kg']
    mass, name = max(masses, default=(0.0, ''))
    if mass <= heaviest:
        return []
    return [
        doubt(
            'mass beyond mass:',
            f'the wrenches are those of {mass:.3g} kg at least '
            f'({name}), more than the {heaviest:.3g} kg of mass:',
            'the masses',
            (mass, 'kg'),
            'record wrenches in N and N m, not in counts of the sensor; '
            'of a body that is so heavy give mass:',
        )
    ]


def _beyond_noise(summary, groups, fit):
    """Return the doubt about a _Fit of rows of ``groups`` with more residual than noise."""
    y, sd, noise = fit.rows[:, :, -1], fit.sd, fit.noise()
    if summary.details.get('imus') or not noise.any():  # the noise of IMUs is not drawn
        return []
    varies: dict[str, float] = {}  # unit -> largest standard deviation
    for group, deviation in zip(groups, y.std(0)):
        varies[group.unit] = max(varies.get(group.unit, 0.0), deviation)
    # What the filter cuts of products of motions is no noise, and little.
    ratio = np.where(
        sd > RESIDUAL_MATTERS * np.array([varies[g.unit] for g in groups]),
        sd / np.hypot(noise, CHANNEL_DIGITS * np.sqrt((y**2).mean(0)) + 1e-12),
        0.0,
    )
    worst = int(ratio.argmax())
    if ratio[worst] < EXCESS:
        return []
    return [
        doubt(
            'residual beyond noise',
            f'the residual of {groups[worst].name} is '
            f'{ratio[worst]:.1f} times what the noise of the channels makes',
            'the residual against noise drawn once more',
            (ratio[worst], 'times the noise'),
            'look for what moves or pushes besides, and whether springs, lengths, layouts, '
            'masses, loads and units are as described',
        )
    ]


class _Thinned:
    """All states of an observation, and those with more noise, MOST_ROWS samples at most."""

    def __init__(self, observation):
        every = slice(None, None, 1 + observation.samples(training=True) // MOST_ROWS)
        self.all = [state.rows(every) for state in observation.states(training=True)]
        self._pairs = [
            (state.rows(every), noisy.rows(every), times)
            for state, noisy, times in observation.noisy_states()
        ]

    def stacked(self, make):
        """Return rows (N, m, k) that ``make`` makes of all states, and their changes by noise."""
        rows = np.concatenate([make(state) for state in self.all])
        changes = [
            np.sqrt(times) * (make(noisy) - make(state)) for state, noisy, times in self._pairs
        ]
        return rows, np.concatenate(changes or [np.zeros((1, *rows.shape[1:]))])


class _Fit:
    """
    Least squares of rows [A | y] (N, m, k + 1) without what noise ``changes`` of them.

    values : (k,); sd : (m,) of the residual, by which rows are weighted
    """

    def __init__(self, rows, changes):
        self.rows, self.changes = rows, changes
        self.sd = np.ones(rows.shape[1])
        for _ in range(2):  # with weights by the residual of the first
            self.values, _ = _solved(rows, changes, self.sd)
            self.residual = _residual(rows, self.values)
            self.sd = np.sqrt((self.residual**2).mean(0)) + 1e-12

    def tested(self, hypothesis, columns, changes):
        """Return a Hypothesis Tested by its columns (N, m, a), and what noise changes of them."""
        rows = np.concatenate([columns, self.rows], axis=2)
        changes = np.concatenate([changes, self.changes], axis=2)
        values, without = _solved(rows, changes, self.sd)
        count = columns.shape[2]
        numbers, errors = values[:count], standard_errors(without[:, :count])
        share = 1.0 - self._square(_residual(rows, values)) / self._square(self.residual)
        sure = np.abs(numbers) > HYPOTHESIS_SURE * np.hypot(errors, hypothesis.known)
        return Tested(hypothesis, numbers, errors, sure, float(share))

    def least_squares(self):
        """Return the values (k,) with noise in the rows, and without each stretch."""
        return _solved(self.rows, np.zeros_like(self.changes), self.sd)

    def noise(self):
        """Return the deviation (m,) that noise of the channels makes of the residual."""
        changes = _residual(self.changes, self.values)
        return np.sqrt((changes**2).sum(0) / len(self.rows))

    def _square(self, residual):
        return ((residual / self.sd) ** 2).sum()


def _solved(rows, changes, sd):
    """Return x (k,) of [A | y] (N, m, k + 1) without what noise changes, and without stretches."""
    rows, changes = rows / sd[:, None], changes / sd[:, None]
    size = np.sqrt((rows**2).sum((0, 1)) + (changes**2).sum((0, 1)))
    size[size == 0.0] = size[-1] = 1.0

    def gram(part):
        part = (part / size).reshape(-1, len(size))
        return part[:, :-1].T @ part

    noise = gram(changes) / JACKKNIFE_STRETCHES
    return left_out(
        [gram(part) - noise for part in np.array_split(rows, JACKKNIFE_STRETCHES)],
        lambda sums: solved_sums(sums) / size[:-1],
    )


def _residual(rows, x):
    return rows[:, :, -1] - rows[:, :, :-1] @ x


def dense_rows(blocks: Sequence[RegressorBlock], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (N, m, ``count``) and y (N, m) of the m RowGroups in ``blocks``."""
    parts_of_groups = list(zip(*(block.groups for block in blocks)))
    shape = sum(len(block.t) for block in blocks), len(parts_of_groups)
    A, y = np.zeros((*shape, count)), np.zeros(shape)
    for k, parts in enumerate(parts_of_groups):
        y[:, k] = np.concatenate([g.y for g in parts])
        A[:, k, parts[0].columns] = np.concatenate([g.W for g in parts])
    return A, y
