"""
The choice of a model: what predicts stretches of the motion that are left out of the fit.

Viscous and Coulomb friction, offset and rotor inertia are there in every joint, bodies are
physically consistent, and gravity is as declared.  Springs, power laws and the like, gravity along
another direction and bodies that need not be consistent are richer: each is tried beside what was
chosen before, and the best of them is taken if it predicts better by more than one standard error
of the difference over the stretches (Breiman, Friedman, Olshen and Stone 1984, Sec. 3.4.3);
bodies that cannot exist have to predict everything that is left out better.  The
difference is that of the logarithms of the squared errors: every stretch counts alike, whether
much or little of it is explained.  What is left out are quarters of the time, the fastest motion,
the ends of the range and every fourth stretch: what describes the motion that was seen and no
other is not taken.

A spring in every joint explains a tilt of gravity, too, where the arm has been, and nowhere else:
both are tried together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .tilt import GRAVITY, Tilt, tilt_of, tilted, with_angles
from ..fit.fitting import fit, Fitted, values_of_links
from ..passes import Passes
from ..prepare.dataset import Dataset
from ..reduce.reduction import reduce_again, reduce_without, Reduced
from ..reduce.stretches import FEWEST, normal_equations, Stretches
from ..reduce.tilted_rows import tilts_across
from ...dynamics.inertial_parameters import bodies
from ...estimation.constants_choice import log_ratio
from ...estimation.estimators import params_of, ridge
from ...estimation.r_factors import merge
from ...methods.capabilities import JointMotion, JointTorques

PLAIN = ('viscous', 'coulomb', 'presliding', 'offset', 'armature')  # laws that every joint has
LEAST = 0.002   # [rad] of tilt, a tenth of a degree: the same mounting
LARGEST = 0.35  # [rad] of tilt; beyond it the description is likelier wrong than the mounting
EXACT = 1e-8    # of the squared target, in an error: no model predicts better
ROUNDS = 4      # of the rows under a direction that was found, and the tilt that is left
SETTLED = 0.25  # of the error of the direction
ENOUGH = 1e-4   # squared Newton decrement: a hundredth of a standard error


@dataclass(frozen=True)
class Candidate:
    """
    A model that was tried, and how it predicts stretches left out.

    extras : friction laws beyond PLAIN, GRAVITY where its direction is free
    consistent : whether bodies are physically consistent
    errors : (sets, count) squared error of each stretch over the deviations of its rows, not a
        number where the set does not leave it out
    params : base parameters by all the data, then, where gravity is searched, its angles (2,)
        [rad]; zero where it has none
    """

    extras: tuple[str, ...]
    consistent: bool
    errors: np.ndarray
    params: np.ndarray

    @property
    def tilt(self) -> np.ndarray:
        """Return the angles (2,) of gravity [rad]."""
        return self.params[-2:] if GRAVITY in self.extras else np.zeros(2)

    def better_than(self, other: 'Candidate') -> bool:
        """Return whether it predicts better, by more than one standard error."""
        gain, error = log_ratio(self.errors, other.errors)
        return gain < -error

    def nowhere_worse(self, other: 'Candidate') -> bool:
        """Return whether no set that was left out is predicted worse."""
        one, two = (np.nansum(c.errors, axis=1) for c in (self, other))
        return bool((one <= two).all())

    def words(self) -> str:
        """Return what it consists of, in words."""
        laws = [law for law in self.extras if law != GRAVITY]
        return ', '.join([
            'physically consistent bodies' if self.consistent else 'free base parameters',
            ' and '.join(laws) if laws else 'no further friction law',
            'gravity as the torques show it' if GRAVITY in self.extras else 'gravity as given'])


@dataclass(frozen=True)
class Choice:
    """
    The data as they were chosen to be explained.

    data : under gravity as it is used; reduced : with the laws chosen; fitted : of these
    consistent : whether bodies are physically consistent
    stretches : of the motion, None where a method does not tell motions apart
    tilt : where gravity was found, and
    shown_tilt : of it as the torques show it, used or not; None where it is not asked
    entries : of ``statistics['choices']``
    apart : {name of a base parameter: (k,)} errors of unit size by what else may be true
    """

    data: Dataset
    reduced: Reduced
    fitted: Fitted
    consistent: bool
    stretches: Stretches | None = None
    tilt: Tilt | None = None
    shown_tilt: Tilt | None = None
    entries: Sequence[dict[str, Any]] = ()
    apart: Mapping[str, np.ndarray] = field(default_factory=dict)

    def model_errors(self) -> np.ndarray:
        """Return H (b, k): errors of the base parameters, of unit size, by the choice itself."""
        base = self.reduced.base
        none = np.zeros_like(next(iter(self.apart.values()), np.zeros(0)))
        return np.array([self.apart.get(base.parameters[k].name, none)
                         for k in base.independent])


def choose_model(data: Dataset, reduced: Reduced, passes: Passes) -> Choice:
    """
    Return the Choice of friction laws, gravity's direction and consistency.

    What the options say is not chosen; what the torques say of gravity is shown all the same.
    """
    options, fitted = data.options, fit(data, reduced, passes)
    consistent = bool(options.consistent or consistent_by_default(data))
    if not (isinstance(data.method, JointMotion) and (consistent or options.estimator == 'ridge')):
        return Choice(data, reduced, fitted, consistent)
    gravity = data.robot.gravity_base
    stretches = _stretches(data, fitted, consistent, passes)
    if len(stretches.factors) < FEWEST:
        return Choice(data, reduced, fitted, consistent, stretches)
    trials = _Trials(data, fitted, stretches)
    laws = isinstance(data.method, JointTorques) and data.method.chooses_laws(options)
    alike = (tilts_across(data).size > 0 and consistent
             and all(np.allclose(r.gravity_base, gravity) for r in data.robots))
    fixed = () if laws else tuple(law for law in trials.places if law != GRAVITY)
    wanted = [law for law in trials.places if law not in fixed and law != GRAVITY]
    wanted += [GRAVITY] if alike and not options.mounting else []
    best = _forward(trials, trials.tried(fixed, consistent), wanted)
    if not options.consistent and consistent:
        free = trials.tried(best.extras, False)
        best = free if free.better_than(best) and free.nowhere_worse(best) else best
    if alike:  # also where it is given: the report shows what the torques say
        trials.tried(_with(best.extras, GRAVITY), consistent)
        trials.tried(_without(best.extras, GRAVITY), consistent)
    gone = [name for law in trials.places if law != GRAVITY and law not in best.extras
            for name in trials.names(law)]
    if gone:
        reduced = reduce_without(data, reduced, gone)
    found = Choice(data, reduced, fitted, best.consistent, stretches)
    if GRAVITY in best.extras:
        found = _under_gravity(found, best.tilt, passes)
    elif gone:
        fitted = fit(data, reduced, passes)
        found = replace(found, fitted=fitted, stretches=_stretches(
            data, fitted, best.consistent, passes))
    tilt = found.tilt or (trials.tilt(best.extras) if alike else None)
    return replace(found, shown_tilt=tilt, apart=trials.apart(best, wanted), entries=[
        *_entries(trials, best), *_gravity_entries(trials, best, gravity, found, tilt)])


def consistent_by_default(data: Dataset) -> bool:
    """Return whether physically consistent bodies predict ``data`` though nobody asked for it."""
    options = data.options
    return bool(options.estimator == 'ridge' and not options.unconstrained
                and bodies(data.method.parameters(data.robot, options)))


class _Trials:
    """Candidates about base columns and angles of gravity, fitted to all but what is left out."""

    def __init__(self, data: Dataset, fitted: Fitted, stretches: Stretches) -> None:
        base = fitted.problem.base
        base = with_angles(base) if tilts_across(data).size else base
        self.data, self.fitted, self.stretches = data, fitted, stretches
        self.problem = replace(fitted.problem, base=base, factors=merge(stretches.factors))
        self.sets = stretches.left_out()
        self.systems = normal_equations(self.problem, fitted.estimate, stretches.factors)
        self.candidates: dict[tuple[tuple[str, ...], bool], Candidate] = {}
        self.places: dict[str, list[int]] = {}
        for i, (k, row) in enumerate(zip(base.independent, base.X)):
            p = base.parameters[k]
            alone = p.law and p.law not in PLAIN and not np.any(row)
            if alone and (p.owner in self.problem.factors.groups or p.law == GRAVITY):
                self.places.setdefault(p.law, []).append(i)

    @cached_property
    def rest(self):
        """Return the RFactors without each of the sets that are left out."""
        return [merge([f for k, f in enumerate(self.stretches.factors) if k not in one])
                for one in self.sets]

    def names(self, law):
        """Return the names of the parameters of a law."""
        base = self.problem.base
        return [base.parameters[base.independent[i]].name for i in self.places[law]]

    def part(self, extras):
        """Return the Problem about the columns that a candidate has, and their places."""
        base = self.problem.base
        out = [i for law, places in self.places.items() if law not in extras for i in places]
        columns = np.setdiff1d(np.arange(len(base)), out)
        return replace(self.problem, base=base.without(out),
                       factors=self.problem.factors.select(columns)), columns

    def tried(self, extras, consistent):
        """Return the Candidate with these extras."""
        extras = tuple(law for law in self.places if law in extras)
        if (extras, consistent) not in self.candidates:
            self.candidates[extras, consistent] = self._candidate(extras, consistent)
        return self.candidates[extras, consistent]

    def _candidate(self, extras, consistent):
        problem, columns = self.part(extras)
        estimate, count = replace(self.fitted.estimate, system=None), len(self.systems)
        if consistent:
            values = values_of_links(self.data, problem, estimate, None, ENOUGH)

        def params(factors):
            if consistent:
                return problem.base.reduce(values(factors))
            return params_of(ridge)(replace(problem, factors=factors))

        whole = np.zeros(len(self.problem.base))
        whole[columns] = params(problem.factors)
        rows = np.append(columns, -1)
        own = self.systems[:, rows[:, None], rows]
        errors = np.full((len(self.sets), count), np.nan)
        for k, (one, factors) in enumerate(zip(self.sets, self.rest)):
            x = np.append(params(factors.select(columns)), -1.0)
            floor = EXACT * own[one, -1, -1] + 1e-300
            errors[k, one] = np.maximum(np.einsum('a,gab,b->g', x, own[one], x), floor)
        return Candidate(extras, consistent, errors, whole)

    def apart(self, best, wanted):
        """
        Return {parameter: (k,)} by how much it differs in k candidates of what is ``wanted``.

        A candidate that predicts worse by z standard errors counts exp(-z^2 / 2) times as much as
        the chosen one: which of them is true is not known (Buckland, Burnham and Augustin 1997).
        """
        moves, weights = [], [1.0]
        for other in self.candidates.values():
            worse, error = log_ratio(other.errors, best.errors)
            differ = set(other.extras) ^ set(best.extras)
            if differ and differ <= set(wanted) and other.consistent == best.consistent:
                moves.append(other.params - best.params)
                weights.append(float(np.exp(-0.5 * max(worse / max(error, 1e-12), 0.0) ** 2)))
        share = np.sqrt(np.array(weights[1:]) / sum(weights))
        base = self.problem.base
        return {base.parameters[k].name: share * [move[i] for move in moves]
                for i, k in enumerate(base.independent)}

    def tilt(self, extras):
        """Return the Tilt beside other extras."""
        problem, columns = self.part(_with(extras, GRAVITY))
        return tilt_of(self.data, problem, self.fitted, self.stretches, columns)


def _forward(trials, best, wanted):
    """Return the Candidate reached by one extra after the other, as long as they predict."""
    while True:
        tried = [trials.tried(_with(best.extras, law), best.consistent)
                 for law in wanted if law not in best.extras]
        tried = [c for c in tried if c.better_than(best)
                 and (not c.tilt.any() or LEAST < np.linalg.norm(c.tilt) < LARGEST)]
        if not tried:
            return best
        best = min(tried, key=lambda c: log_ratio(c.errors, best.errors)[0])


def _with(extras, law):
    return tuple(dict.fromkeys((*extras, law)))


def _without(extras, law):
    return tuple(x for x in extras if x != law)


def _stretches(data, fitted, consistent, passes):
    """Return the Stretches of the data, gravity pulling at the links as they are estimated."""
    base = fitted.problem.base
    values = (values_of_links(data, fitted.problem, fitted.estimate, fitted.inherited)(
        fitted.problem.factors) if consistent else base.standard(fitted.estimate.params))
    return passes.stretches(data, base, values, tilts_across(data))


def _under_gravity(choice: Choice, angles: np.ndarray, passes: Passes) -> Choice:
    """Return the Choice under gravity as the torques show it, from angles (2,) [rad] on."""
    first = choice.reduced
    for _ in range(ROUNDS):
        data = tilted(choice.data, angles)
        reduced = reduce_again(data, first, passes)
        fitted = fit(data, reduced, passes)
        stretches = _stretches(data, fitted, True, passes)
        problem = replace(fitted.problem, base=with_angles(fitted.problem.base),
                          factors=merge(stretches.factors))
        tilt = tilt_of(data, problem, fitted, stretches, np.arange(len(problem.base)))
        choice = replace(choice, data=data, reduced=reduced, fitted=fitted, stretches=stretches,
                         tilt=tilt)
        angles = tilt.angles
        if angles @ np.linalg.solve(tilt.covariance, angles) < SETTLED ** 2:
            break
    return choice


def _entries(trials: _Trials, best: Candidate) -> list[dict[str, Any]]:
    """Return the entries of all candidates: their error on stretches left out, the difference."""
    target = trials.systems[:, -1, -1].sum()
    entries = []
    for candidate in trials.candidates.values():
        worse, error = log_ratio(candidate.errors, best.errors)
        left_out = np.nanmean(candidate.errors, axis=0).sum()
        entries.append({
            'what': 'model', 'candidate': candidate.words(),
            'left_out_error': float(100.0 * np.sqrt(left_out / max(target, 1e-300))),
            'worse_percent': float(50.0 * worse), 'worse_error_percent': float(50.0 * error),
            'chosen': candidate is best})
    return entries


def _gravity_entries(trials: _Trials, best: Candidate, given: np.ndarray, choice: Choice,
                     tilt: Tilt | None) -> list[dict[str, Any]]:
    """Return the entries of gravity as it was given, and as the torques show it."""
    if tilt is None:
        return []
    used = GRAVITY in best.extras
    moved = choice.data if used else tilted(choice.data, tilt.angles)
    direction = moved.robot.gravity_base / np.linalg.norm(given)
    angle = float(np.degrees(np.arccos(np.clip(direction @ given / np.linalg.norm(given),
                                               -1.0, 1.0))))
    error = float(np.degrees(np.sqrt(np.linalg.eigvalsh(tilt.covariance)[-1])))
    pair = [trials.tried(f(best.extras, GRAVITY), True) for f in (_without, _with)]
    totals = [float(np.nanmean(c.errors, axis=0).sum()) for c in pair]
    evidence = 0.5 * (totals[0] - totals[1])
    if not pair[1].better_than(pair[0]):
        evidence = min(evidence, 0.0)
    target = max(float(trials.systems[:, -1, -1].sum()), 1e-300)
    words = (f'{np.round(direction, 4).tolist()}, tilted by {angle:.2f} +- {error:.2f} deg')
    entries = []
    for k, (what, chosen) in enumerate((('as given', not used), (words, used))):
        worse, sd = log_ratio(pair[k].errors, pair[1 - k if chosen else int(used)].errors)
        entries.append({
            'what': 'gravity direction', 'candidate': what,
            'left_out_error': 100.0 * np.sqrt(totals[k] / target),
            'worse_percent': 0.0 if chosen else 50.0 * worse,
            'worse_error_percent': 0.0 if chosen else 50.0 * sd, 'chosen': chosen,
            'tilt_deg': angle, 'standard_error_deg': error,
            'evidence': evidence if k else -evidence})
    return entries
