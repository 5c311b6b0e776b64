"""
The one choice of a model: what predicts stretches of the motion that are left out of the fit.

Viscous and Coulomb friction, offset and rotor inertia are there in every joint.  The width of the
Coulomb step, friction in proportion to the load, a spring, a power law and a tilt of gravity are
tried, for all joints alike, by linear solutions that lean on the description.  What is left out
are quarters of the time, the fastest motion, the ends of the range and every fourth stretch.  The
simplest is taken that predicts as well as the best within one standard error of the difference
over stretches (Breiman, Friedman, Olshen and Stone 1984, Sec. 3.4.3).  The difference is that of
the logarithms of squared errors: every stretch counts alike, whether much or little of it is
explained.  A joint has a constant of its own where that predicts its own torque better by
OWN_CONSTANT_ERRORS standard errors, and by HARMONIC_ERRORS a torque by its own position, harmonics
of a turn of which its range holds a whole period.  A tilt of gravity has to lower the error by
TILT_EARNS besides.  What the options say is not chosen, and no column that the motion cannot tell
from those of every model: see confounded.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from .confounded import Confounded, confounded
from ..prepare.dataset import Dataset
from ..reduce.model_columns import ModelColumns, resting_columns, TILT_PRIOR
from ..reduce.structure import alike_constants, chosen_constants, harmonic_of, usual_constants
from ..reduce.wide_factor import holds_period
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import bodies, Parameter
from ...estimation.least_squares import deviations
from ...estimation.residuals import FEWEST_BLOCKS

GRAVITY = 'gravity'  # stands among the laws for the two angles of its direction
GRAVITY_WORDS = {False: 'gravity as given', True: 'gravity as the torques show it'}  # if tilted
LAW_LEFT_OUT = 'law that the motion cannot tell from others'
LARGEST_TILT = 0.35  # [rad] beyond it the description is likelier wrong than the mounting
SMALLEST_TILT = 0.002  # [rad] a tenth of a degree: the same mounting
# Of the error of stretches left out, by which a tilt of TILT_PRIOR lowers it, a larger one by more
# in proportion: so much it moves the torque of other motions, and what a model lacks leans on it.
TILT_EARNS = 0.05
OWN_CONSTANT_ERRORS = 3.0  # by 2, one of fifteen wins by chance at every third joint
HARMONIC_ERRORS = 4.0  # up to four orders are asked in every joint, of a dozen stretches
Constant = tuple[str, float | None]  # law and constant in it
ROUNDING_GAP = 1e-12  # of logarithms: candidates that differ by less are alike


@dataclass(frozen=True, eq=False)
class Candidate:
    """
    A model that was tried, and how it predicts stretches left out.

    constants : {coefficient: Parameter with its law and constant}
    extras : laws beyond those of every joint, GRAVITY where its direction is free
    errors : (sets, count) weighted squared error of each stretch, nan where not left out
    params : (places + 2,) by all the data
    """

    constants: Mapping[str, Parameter]
    extras: tuple[str, ...]
    errors: np.ndarray
    params: np.ndarray

    @property
    def laws(self) -> tuple[str, ...]:
        """Return the laws beyond those of every joint."""
        return tuple(sorted(set(self.extras) - {GRAVITY}))

    @property
    def tilted(self) -> bool:
        """Return whether gravity is taken as the torques show it."""
        return GRAVITY in self.extras

    def is_of(self, constants: Mapping[str, Parameter], laws: Sequence[str], tilted: bool) -> bool:
        """Return whether it has these ``constants``, further ``laws`` and kind of gravity."""
        return (self.constants, self.laws, self.tilted) == (constants, laws, tilted)

    @property
    def tilt(self) -> float:
        """Return the tilt of gravity [rad]."""
        return float(np.linalg.norm(self.params[-2:]))

    @property
    def bending(self) -> set[str]:
        """Return the laws that bend the friction curve."""
        return {name for name in self.laws if LAWS[name].bends}

    def words(self) -> str:
        """Return the choice in words."""
        constants = {_constant_in_words(p) for p in self.constants.values()}
        laws = ' and '.join(self.laws) or 'no further friction law'
        return ', '.join([*sorted(constants), laws, GRAVITY_WORDS[self.tilted]])


@dataclass(frozen=True)
class Choice:
    """
    The model that was chosen.

    columns : of the laws that take part; joint_by_joint : whether constants are each joint's own
    model_columns : of the wide factor, with weights; best : Candidate among candidates
    confounded : columns that the motion does not tell from those of every model
    """

    columns: tuple[Parameter, ...]
    joint_by_joint: bool
    model_columns: ModelColumns
    best: Candidate
    candidates: Sequence[Candidate]
    confounded: Sequence[Confounded] = ()

    @property
    def tilted(self) -> bool:
        """Return whether gravity is taken as the torques show it."""
        return self.best.tilted

    @cached_property
    def estimated_tilt(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return angles (2,) [rad] of gravity as the torques show it, covariance (2, 2)."""
        tilted = self.beside(True)
        if tilted is None:
            return None
        columns = np.flatnonzero(tilted.params)
        angles = [
            self.model_columns.solution(stacked, columns)[-2:]
            for stacked in self.model_columns.without_each
        ]
        root = deviations(np.array(angles))
        return tilted.params[-2:], root.T @ root

    def without_tilt(self) -> tuple[float, float, float]:
        """
        Return the log ratio of errors, gravity as given to as shown, its error, evidence.

        The first two are of the logarithm of squared errors; evidence : log-likelihood difference
        of stretches left out
        """
        as_given, as_shown = self.beside(False), self.beside(True)
        if as_given is None or as_shown is None:
            return 0.0, 0.0, 0.0
        worse, error = log_ratio(as_given.errors, as_shown.errors)
        evidence = 0.5 * (
            _each_stretch_once(as_given.errors) - _each_stretch_once(as_shown.errors)
        )
        return worse, error, evidence

    def beside(self, tilted: bool) -> Candidate | None:
        """Return the candidate like the best one, with a tilt of gravity or without."""
        best = self.best
        matches = (c for c in self.candidates if c.is_of(best.constants, best.laws, tilted))
        return next(matches, None)


def _constant_in_words(parameter: Parameter) -> str:
    """Return a law and the constant in it, with its unit."""
    if not parameter.nonlinear:
        return f'{parameter.law} as a step'
    return f'{parameter.law} {parameter.nonlinear:g} {LAWS[parameter.law].nonlinear_unit}'


def log_ratio(errors: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """
    Return the mean logarithm of the ratio of squared errors, and its standard error.

    errors, others : (count,) or (sets, count) of independent stretches, of two models
    """
    of_sets = np.atleast_2d(np.log(errors / others))
    ratios = of_sets.mean(axis=0, where=~np.isnan(of_sets))
    standard_error = 0.0
    if len(ratios) > 1:
        standard_error = float(ratios.std(ddof=1) / np.sqrt(len(ratios)))
    return float(ratios.mean()), standard_error


def _each_stretch_once(errors: np.ndarray) -> float:
    """Return the sum of squared ``errors`` (sets, count), means over the sets of each stretch."""
    return float(np.nanmean(errors, axis=0).sum())


def choose(data: Dataset, model_columns: ModelColumns) -> Choice:
    """Return the Choice of constants, friction laws and gravity by the columns of ``data``."""
    trials = _Trials(data, model_columns)
    if model_columns.count < FEWEST_BLOCKS:
        best = trials.candidate(trials.usual_constants_number, trials.laws)
    else:
        best = _best(trials)
    return Choice(
        trials.parameters_of(best),
        trials.joint_by_joint,
        model_columns,
        best,
        list(trials.tried.values()),
        trials.confounded,
    )


def _best(trials: '_Trials') -> Candidate:
    """
    Return the simplest Candidate that predicts as well as the best: constants, then laws.

    A tilt of gravity counts as one more law, so that it has to predict better by a standard error,
    and by TILT_EARNS; it is taken only between SMALLEST_TILT and LARGEST_TILT, and where no
    mounting is given.
    """
    constants_number = _chosen_constants_number(trials)
    best = _chosen_laws(trials, constants_number)
    constants = _constants_of_joints(trials, best)
    if constants != best.constants:
        constants_number = trials.add_constants(constants)
        best = trials.candidate(constants_number, best.extras)
    best = _with_harmonics(trials, constants_number, best)
    # Also where gravity is given: what the torques say is shown.
    with_tilt = (*best.laws, *trials.tilt_extras)
    untilted, _ = trials.candidates([(constants_number, best.laws), (constants_number, with_tilt)])
    if SMALLEST_TILT < best.tilt < LARGEST_TILT:
        return best
    return untilted


def _chosen_constants_number(trials: '_Trials') -> int:
    """Return the constants of all joints, the usual ones unless others predict better."""
    numbers = range(len(trials.constants))
    candidates = trials.candidates([(number, trials.asked_tilt_extras) for number in numbers])
    return _simplest(candidates, np.array(numbers) != trials.usual_constants_number)


def _chosen_laws(trials: '_Trials', constants_number: int) -> Candidate:
    """Return the Candidate with the fewest of further laws and a tilt of gravity."""
    counts = range(len(trials.laws) + 1)
    laws = chain.from_iterable(combinations(trials.laws, count) for count in counts)
    tilts = dict.fromkeys([(), trials.asked_tilt_extras])
    models = [(constants_number, (*further, *tilt)) for further, tilt in product(laws, tilts)]
    candidates = trials.candidates(models)
    best = _fewest_extras(candidates)
    if best.tilted and not _tilt_earns(trials, constants_number, best):
        candidates = [candidate for candidate in candidates if not candidate.tilted]
        best = _fewest_extras(candidates)
    if not _bends_beyond_widths(trials, constants_number, best):
        best = _fewest_extras([c for c in candidates if not c.bending])
    return best


def _tilt_earns(trials: '_Trials', constants_number: int, tilted: Candidate) -> bool:
    """Return whether the tilt of a candidate lowers the error by what one of its size has to."""
    untilted = trials.candidate(constants_number, tilted.laws)
    gain, _ = log_ratio(untilted.errors, tilted.errors)
    asked = TILT_EARNS * tilted.tilt / TILT_PRIOR
    return gain >= 2.0 * asked  # of logarithms of squares


def _fewest_extras(candidates: Sequence[Candidate]) -> Candidate:
    """Return the Candidate with the fewest extras within a standard error of the best."""
    complexity = np.array([len(candidate.extras) for candidate in candidates])
    return candidates[_simplest(candidates, complexity)]


def _bends_beyond_widths(trials: '_Trials', constants_number: int, candidate: Candidate) -> bool:
    """
    Return whether laws that bend the friction curve predict better than two neighbouring widths.

    Where the width of Coulomb friction is between two that are tried, such a law takes the
    difference, and with it most of the viscous coefficient; two widths at once are as free.
    """
    if not candidate.bending:
        return True
    plain = tuple(extra for extra in candidate.extras if extra not in candidate.bending)
    errors = trials.errors_between_constants(constants_number, plain)
    return all(log_ratio(rival, candidate.errors)[0] > 0.0 for rival in errors)


class _Trials:
    """
    Models that can be tried, and the Candidates of those that were, each once.

    constants : sets of them that are tried; usual_constants_number : of the one tried first
    laws : that take part only where they predict better
    joint_by_joint : whether there is one set alone, each joint with its own constants
    alternatives : {coefficient: its columns, by the constant of each}
    harmonics : {extra: names of its coefficients} of those of single joints
    not_shown : names of what takes part in no model: of joints that rest, and ``confounded``
    tilt_extras : (GRAVITY,) where the torques can show a tilt; asked_tilt_extras : where it may be
        used, too
    """

    def __init__(self, data: Dataset, model_columns: ModelColumns) -> None:
        self.model_columns, self.parameters = model_columns, model_columns.parameters
        self.not_shown = resting_columns(model_columns.wide)
        self.alternatives: dict[str, dict[Constant, int]] = {}
        for k, parameter in enumerate(self.parameters):
            of_name = self.alternatives.setdefault(parameter.name, {})
            of_name[parameter.law, parameter.nonlinear] = k
        structure = model_columns.wide.structure
        self.joint_by_joint = not _chooses_laws(data)
        self.optional: set[str] = set()
        self.constants: list[Mapping[str, Parameter]]
        if self.joint_by_joint:
            stretches, correlation = model_columns.wide.stretches, model_columns.correlation_rows
            self.constants = [chosen_constants(structure, stretches, correlation)]
        else:
            self.constants = [*alike_constants(structure)]
            self.optional = {name for name, law in LAWS.items() if law.by_need}
        self.harmonics: dict[str, set[str]] = {}
        self.usual_constants_number = usual_constants(self.constants)
        self.confounded = self._confounded()
        self.not_shown |= {column.name for column in self.confounded}
        self._taken: dict[tuple[str, ...], np.ndarray] = {}  # of extras, once that is known
        shown = {p.law for p in self.parameters if p.name not in self.not_shown}
        self.laws = tuple(sorted(law for law in self.optional & shown if LAWS[law].optional))
        self.tilt_extras = _tilt_extras(data, model_columns)
        self.asked_tilt_extras = self.tilt_extras
        if data.options.mounting:
            self.asked_tilt_extras = ()
        self.tried: dict[tuple[int, tuple[str, ...]], Candidate] = {}

    def _confounded(self):
        """Return the Confounded columns of laws that not every model has."""
        constants = self.constants[self.usual_constants_number]
        common = self._with_constants(constants, self._taking_part(()))
        asked = {law for law in self.optional if LAWS[law].optional}
        optional = [p.law in asked and self._is_shown(p) for p in self.parameters]
        return confounded(self.model_columns, common, np.flatnonzero(optional))

    def _is_shown(self, parameter):
        return parameter.name not in self.not_shown

    def add_constants(self, constants: Mapping[str, Parameter]) -> int:
        """Add ``constants`` to those that can be tried; return their number."""
        self.constants.append(constants)
        return len(self.constants) - 1

    def takes_part(self, parameter: Parameter, extras: Sequence[str]) -> bool:
        """Return whether a column is one of a model with these ``extras``."""
        if not self._is_shown(parameter):
            return False
        if parameter.law not in self.optional or parameter.law in extras:
            return True
        return any(parameter.name in self.harmonics.get(extra, ()) for extra in extras)

    def _taking_part(self, extras):
        """Return whether (columns,) each is one of a model with these ``extras``, tilts last."""
        tilted = GRAVITY in extras
        return np.array([*(self.takes_part(p, extras) for p in self.parameters), tilted, tilted])

    def orders(self) -> dict[str, list[int]]:
        """Return {joint: harmonics of which its positions hold a whole period}."""
        out: dict[str, set[int]] = {}
        for parameter in self.parameters:
            order, joint = harmonic_of(parameter), parameter.owner
            is_moved = self._is_shown(parameter) and joint in self.model_columns.names
            if order and is_moved and holds_period(self.model_columns.wide.ranges, parameter):
                out.setdefault(joint, set()).add(order)
        return dict(zip(out, map(sorted, out.values())))

    def harmonics_of(self, joint: str, orders: Sequence[int]) -> str:
        """Return the extra that stands for harmonics of these ``orders`` in one joint."""
        extra = f'harmonics {", ".join(map(str, orders))} of {joint}'
        self.harmonics[extra] = {
            p.name for p in self.parameters if p.owner == joint and harmonic_of(p) in orders
        }
        return extra

    def column_indices(
        self, constants: Mapping[str, Parameter], extras: tuple[str, ...]
    ) -> np.ndarray:
        """Return the indices of the columns of a model, tilts last."""
        if extras not in self._taken:
            self._taken[extras] = self._taking_part(extras)
        return self._with_constants(constants, self._taken[extras])

    def _with_constants(self, constants, taking_part):
        """Return the indices of columns ``taking_part`` (columns,), one of each constant."""
        taken = taking_part.copy()
        for name, parameter in constants.items():
            alternatives = list(self.alternatives[name].values())
            taken[alternatives] = False
            column = self.column_of(parameter)
            taken[column] = taking_part[column]
        return np.flatnonzero(taken)

    def column_of(self, parameter: Parameter) -> int:
        """Return the column of a ``parameter``."""
        return self.alternatives[parameter.name][parameter.law, parameter.nonlinear]

    def errors_between_constants(
        self, constants_number: int, extras: tuple[str, ...]
    ) -> list[np.ndarray]:
        """
        Return the ``errors`` of models with further columns of the neighbouring widths, if any.

        constants_number : of the constants whose columns all models have; extras : their laws
        """
        columns = self.column_indices(self.constants[constants_number], extras)
        models = [columns]
        widths = [all(LAWS[p.law].has_width for p in c.values()) for c in self.constants]
        for number in (constants_number - 1, constants_number + 1):
            if widths[constants_number] and 0 <= number < len(widths) and widths[number]:
                further = self.column_indices(self.constants[number], extras)
                models.append(np.union1d(columns, further))
        return list(self.model_columns.left_out(models))

    def parameters_of(self, best: Candidate) -> tuple[Parameter, ...]:
        """Return the Parameters of all columns of the laws of a candidate."""
        columns = self.model_columns.wide.structure.columns
        return tuple(p for p in columns if self.takes_part(p, best.extras))

    def candidate(self, constants_number: int, extras: tuple[str, ...]) -> Candidate:
        """Return the Candidate with the constants of a number, and ``extras``."""
        return self.candidates([(constants_number, extras)])[0]

    def candidates(self, models: Sequence[tuple[int, tuple[str, ...]]]) -> list[Candidate]:
        """Return the Candidates of ``models``: with the constants of a number, and extras."""
        model_columns = self.model_columns
        untried = [model for model in dict.fromkeys(models) if model not in self.tried]
        columns = [self.column_indices(self.constants[k], extras) for k, extras in untried]
        errors = np.ones((len(untried), 1, 1))
        if untried and model_columns.count > 1:
            errors = model_columns.left_out(columns)
        for k, (constants_number, extras) in enumerate(untried):
            self.tried[constants_number, extras] = Candidate(
                self.constants[constants_number],
                extras,
                errors[k],
                model_columns.solution(model_columns.whole, columns[k]),
            )
        return [self.tried[model] for model in models]


def _chooses_laws(data: Dataset) -> bool:
    """Return whether the options leave friction laws and constants to the data."""
    return data.method.chooses_laws(data.options)


def _tilt_extras(data: Dataset, model_columns: ModelColumns) -> tuple[str, ...]:
    """Return (GRAVITY,) where torques can show a tilt: of consistent bodies, under one gravity."""
    gravities = np.array([robot.gravity_base for robot in data.robots])
    one_gravity = np.allclose(gravities, model_columns.given)
    if model_columns.acts_on_tilt and one_gravity and predicts_consistently(data):
        return (GRAVITY,)
    return ()


def _simplest(candidates: Sequence[Candidate], complexity: np.ndarray) -> int:
    """
    Return the index of the simplest candidate within a standard error of the best.

    complexity : (m,) of each; of the same the one that predicts best
    """
    ratios = [log_ratio(c.errors, candidates[0].errors)[0] for c in candidates]
    best = candidates[int(np.argmin(ratios))]
    gaps, errors = np.transpose([log_ratio(c.errors, best.errors) for c in candidates])
    alike = np.flatnonzero(gaps <= errors + ROUNDING_GAP)
    order = np.lexsort((gaps[alike], complexity[alike]))
    return int(alike[order[0]])


def _constants_of_joints(trials: _Trials, chosen: Candidate) -> dict[str, Parameter]:
    """
    Return {coefficient: Parameter} with other constants where they predict their joint better.

    The widest of a law are not asked: nothing bounds them.
    """
    model_columns = trials.model_columns
    joints = list(model_columns.names)
    constants = dict(chosen.constants)
    for name, common in chosen.constants.items():
        if common.owner not in joints:
            continue
        tried = [tried_set[name] for tried_set in trials.constants if name in tried_set]
        widest = {p.law: p for p in tried}
        alternatives = [common]
        alternatives += [p for p in tried if p not in (common, widest[p.law])]
        columns = trials.column_indices(constants, chosen.extras)
        columns = columns[columns != trials.column_of(common)]
        indices = np.array([trials.column_of(p) for p in alternatives])
        errors = model_columns.exchanged(columns, indices, joints.index(common.owner))
        gaps, gap_errors = np.transpose([log_ratio(e, errors[0]) for e in errors])
        better = gaps < -OWN_CONSTANT_ERRORS * gap_errors
        constants[name] = alternatives[int(np.argmin(np.where(better, gaps, 0.0)))]
    return constants


def _with_harmonics(trials: _Trials, constants_number: int, chosen: Candidate) -> Candidate:
    """
    Return the Candidate with harmonics of the turn in the joints that they predict better.

    A joint has as few as predict its own torque as well as the best within a standard error.
    """
    orders = trials.orders()
    longest = max(map(len, orders.values()), default=0)
    models = [chosen.extras]
    for count in range(1, longest + 1):
        further = [trials.harmonics_of(joint, orders[joint][:count]) for joint in orders]
        models.append((*chosen.extras, *further))
    if len(models) == 1:
        return chosen
    columns = [trials.column_indices(chosen.constants, extras) for extras in models]
    errors = np.array([trials.model_columns.left_out_of_groups(indices) for indices in columns])
    extras = []
    for joint, of_joint in orders.items():
        count = _fewest_harmonics(errors[:, trials.model_columns.names.index(joint)])
        if count:
            extras.append(trials.harmonics_of(joint, of_joint[:count]))
    if not extras:
        return chosen
    candidate = trials.candidate(constants_number, (*chosen.extras, *extras))
    gap, error = log_ratio(candidate.errors, chosen.errors)
    if gap < -error:
        return candidate
    return chosen


def _fewest_harmonics(errors: np.ndarray) -> int:
    """Return how many harmonics a joint needs by ``errors`` (most + 1, sets, count) with each."""
    gaps, gap_errors = np.transpose([log_ratio(e, errors[0]) for e in errors])
    if not (gaps < -HARMONIC_ERRORS * gap_errors).any():
        return 0
    best = errors[int(np.argmin(gaps))]
    worse, worse_errors = np.transpose([log_ratio(e, best) for e in errors])
    return int(np.flatnonzero(worse <= worse_errors + ROUNDING_GAP)[0])


def predicts_consistently(data: Dataset) -> bool:
    """Return whether physically consistent bodies predict ``data``."""
    options = data.options
    if options.consistent:
        return True
    if options.estimator != 'ridge' or options.unconstrained:
        return False
    return bool(bodies(data.method.parameters(data.robot, options)))


def choice_entries(choice: Choice) -> list[dict[str, Any]]:
    """
    Return entries of ``statistics['choices']``: the chosen model, the next best, the plainest.

    And the laws that the motion cannot tell from those of every model.
    """
    best = choice.best
    others = list(choice.candidates)
    others.remove(best)
    others.sort(key=lambda candidate: log_ratio(candidate.errors, best.errors)[0])
    plain = [candidate for candidate in others if not candidate.extras]
    shown = dict.fromkeys([best, *others[:1], *plain[-1:]])
    entries = [_entry(choice, candidate) for candidate in shown]
    return [*entries, *_confounded_entries(choice.confounded)]


def _confounded_entries(confounded_columns: Sequence[Confounded]) -> list[dict[str, Any]]:
    """Return one entry of each law that is left out of models of some joints."""
    by_law: dict[str, list[Confounded]] = {}
    for column in confounded_columns:
        by_law.setdefault(column.law, []).append(column)
    entries = []
    for law, columns in by_law.items():
        joints = [column.joint for column in columns]
        entry = {
            'what': LAW_LEFT_OUT,
            'candidate': f'{law} of {", ".join(joints)}',
            'chosen': False,
            'law': law,
            'joints': joints,
            'own_percent': 100.0 * max(column.share for column in columns),
        }
        entries.append(entry)
    return entries


def _entry(choice: Choice, candidate: Candidate) -> dict[str, Any]:
    """Return the entry of one of the candidates."""
    worse, error = log_ratio(candidate.errors, choice.best.errors)
    left_out = _each_stretch_once(candidate.errors)
    return {
        'what': 'model',
        'tried': len(choice.candidates),
        'candidate': candidate.words(),
        'chosen': candidate is choice.best,
        'left_out_error': float(100.0 * np.sqrt(left_out / choice.model_columns.target)),
        'worse_percent': float(50.0 * worse),
        'worse_error_percent': float(50.0 * error),
    }
