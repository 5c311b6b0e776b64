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
EXPLAINS = 0.05  # share of the squared residual that a hypothesis must take at least
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
        return {
            name: {q: np.abs(getattr(body, q)).max(1) for q in ('omega', 'alpha', 'acc')}
            for name, body in zip(robot.body_names, state.bodies)
        }

    def noisy_rows(
        self, observation: BodiesObservation, robot: RobotT, parameters: Sequence[Parameter]
    ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """Yield RegressorBlocks of the motion, of it with more noise, and how many they are."""
        for state, noisy, times in observation.noisy_states():
            pair = (self.regress(s, robot, parameters) for s in (state, noisy))
            for one, other in zip(*pair):
                yield one, other, times


def doubts_of(
    method: BodiesMethod, observation: BodiesObservation, robot: Any, options: Any
) -> list[dict[str, Any]]:
    """
    Return what is wrong with the rig of an ``observation``, as the fields of Findings.

    method : that writes its rows; robot, options : of it
    """
    parameters = method.parameters(robot, options)

    def model(state):
        return np.dstack(
            dense_rows(list(method.regress(state, robot, parameters)), len(parameters))
        )

    states = _Thinned(observation)
    if not states.all:
        return []
    rows, changes = states.stacked(model)
    sd = np.ones(rows.shape[1])
    for _ in range(2):  # with weights by the residual of the first
        x, _ = _solved(rows, changes, sd)
        left = _residual(rows, x)
        sd = np.sqrt((left**2).mean(0)) + 1e-12
    tested = []
    for hypothesis in method.hypotheses(robot, options):
        more, moved = (
            np.concatenate([part, whole], axis=2)
            for part, whole in zip(
                states.stacked(lambda s: hypothesis.columns(s, model(s)[:, :, -1], x)),
                (rows, changes),
            )
        )
        found, others = _solved(more, moved, sd)
        own = slice(more.shape[2] - rows.shape[2])
        errors = standard_errors(others[:, own])
        share = 1.0 - ((_residual(more, found) / sd) ** 2).sum() / ((left / sd) ** 2).sum()
        sure = np.abs(found[own]) > HYPOTHESIS_SURE * np.hypot(errors, hypothesis.known)
        tested.append((found[own], errors, sure, float(share), hypothesis))
    return (
        likeliest(tested, 'the residual of all rows with and without it')
        or _too_heavy(
            parameters, _solved(rows, np.zeros_like(changes), sd), method.heaviest(options)
        )
        or _beyond_noise(
            observation.summary,
            next(iter(method.regress(states.all[0], robot, parameters))).groups,
            rows[:, :, -1],
            sd,
            np.sqrt((_residual(changes, x) ** 2).sum(0) / len(rows)),
        )
    )


def likeliest(
    tested: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, float, Hypothesis[StateT]]],
    tests: str,
) -> list[dict[str, Any]]:
    """
    Return the hypothesis that explains most, and what is as likely, as the fields of a Finding.

    Of its own kind what no data tell from it, as springs on joints that always turn alike.

    tested : (numbers (a,), errors (a,), sure (a,) bool, share of the squared residual, Hypothesis)
    """
    likely = [
        ((1.0 - share) * SIMPLER ** len(numbers), share, h.words(numbers, errors, sure), h)
        for numbers, errors, sure, share, h in tested
        if sure.any() and share > EXPLAINS
    ]
    if not likely:
        return []
    likely.sort(key=lambda entry: entry[0])
    left, share, _, best = likely[0]
    same = [
        words
        for near, _, words, h in likely
        if h.name == best.name and near < (1.0 + ONE_BY_KINEMATICS) * left
    ]
    alike = {
        h.name: words
        for near, _, words, h in reversed(likely)
        if h.name != best.name and near < AS_LIKELY * left
    }
    return [
        doubt(
            best.name,
            '; or '.join([*same, *reversed(alike.values())]),
            tests,
            (100.0 * share, '% of the squared residual'),
            best.do,
        )
    ]


def _too_heavy(parameters, solved, heaviest):
    """Return the doubt about a mass beyond any by least squares, which noise makes less of."""
    x, without = solved
    least = x - HYPOTHESIS_SURE * standard_errors(without)
    mass, name = max(
        ((m, p.name) for m, p in zip(least, parameters) if p.unit == 'kg'), default=(0.0, '')
    )
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


def _beyond_noise(summary, groups, y, sd, noise):
    """Return the doubt about rows y (N, m) with more residual ``sd`` (m,) than noise (m,)."""
    if summary.details.get('imus') or not noise.any():  # the noise of IMUs is not drawn
        return []
    varies = {
        unit: max(y[:, k].std() for k, g in enumerate(groups) if g.unit == unit)
        for unit in {g.unit for g in groups}
    }
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
        """Return what ``make`` makes (N, m, k) of all states, and what more noise changes."""
        whole = np.concatenate([make(state) for state in self.all])
        changes = [
            np.sqrt(times) * (make(noisy) - make(state)) for state, noisy, times in self._pairs
        ]
        return whole, np.concatenate(changes or [np.zeros((1, *whole.shape[1:]))])


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
    groups = list(zip(*(block.groups for block in blocks)))
    y = np.stack([np.concatenate([g.y for g in group]) for group in groups], axis=1)
    A = np.zeros((*y.shape, count))
    for k, group in enumerate(groups):
        A[:, k, group[0].columns] = np.concatenate([g.W for g in group])
    return A, y
