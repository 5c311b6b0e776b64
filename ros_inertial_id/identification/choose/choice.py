"""
The one choice of a model: what predicts stretches of the motion that are left out of the fit.

Viscous and Coulomb friction, offset and rotor inertia are there in every joint.  The width of the
Coulomb step, friction in proportion to the load, a spring, a power law and a tilt of gravity are
tried, for all joints alike, by linear solutions that lean on the description.  What is left out
are quarters of the time, the fastest motion, the ends of the range and every fourth stretch.  The
simplest is taken that predicts as well as the best within one standard error of the difference
over stretches (Breiman, Friedman, Olshen and Stone 1984, Sec. 3.4.3).  The difference is that of
the logarithms of squared errors: every stretch counts alike, whether much or little of it is
explained.  A joint has a width of its own where that predicts its own torque better by OWN
standard errors.  What the options say is not chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..prepare.dataset import Dataset
from ..reduce.structure import alike_constants, chosen_constants, usual_constants
from ..reduce.systems import resting_columns, Systems
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import bodies, Parameter
from ...estimation.least_squares import deviations
from ...estimation.residuals import FEWEST_BLOCKS
from ...methods.capabilities import JointTorques

GRAVITY = 'gravity'  # stands among the laws for the two angles of its direction
LARGEST = 0.35  # [rad] of tilt; beyond it the description is likelier wrong than the mounting
LEAST = 0.002  # [rad] of tilt, a tenth of a degree: the same mounting
OWN = 3.0  # standard errors: by 2, one of fifteen widths wins by chance at every third joint


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
    def tilt(self) -> float:
        """Return by how much gravity is tilted [rad]."""
        return float(np.linalg.norm(self.params[-2:]))

    def words(self) -> str:
        """Return what it consists of, in words."""
        widths = {
            f'{p.law} {p.nonlinear:g} {LAWS[p.law].nonlinear_unit}'
            for p in self.constants.values()
            if p.nonlinear
        }
        laws = [law for law in self.extras if law != GRAVITY]
        return ', '.join(
            [
                *sorted(widths),
                ' and '.join(laws) or 'no further friction law',
                'gravity as the torques show it' if GRAVITY in self.extras else 'gravity as given',
            ]
        )


@dataclass(frozen=True)
class Choice:
    """
    The model that was chosen.

    columns : of the laws that take part; joint_by_joint : whether constants are each joint's own
    systems : of the wide factor, with weights; best : Candidate among candidates
    tilt_asked : whether a tilt of gravity was among what was tried
    """

    columns: tuple[Parameter, ...]
    joint_by_joint: bool
    systems: Systems
    best: Candidate
    candidates: Sequence[Candidate]
    tilt_asked: bool

    @property
    def tilted(self) -> bool:
        """Return whether gravity is taken as the torques show it."""
        return GRAVITY in self.best.extras

    def shown_tilt(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return angles (2,) [rad] of gravity as the torques show it, covariance (2, 2)."""
        with_tilt = self.beside(True)
        if with_tilt is None:
            return None
        places = np.flatnonzero(with_tilt.params)
        away = deviations(
            np.array(
                [
                    self.systems.solution(stacked, places)[-2:]
                    for stacked in self.systems.without_each
                ]
            )
        )
        return with_tilt.params[-2:], away.T @ away

    def without_tilt(self) -> tuple[float, float, float]:
        """
        Return by how much gravity as given predicts worse than as shown, the error, evidence.

        The first two are of the logarithm of squared errors; evidence : log-likelihood difference
        of stretches left out
        """
        one, other = self.beside(False), self.beside(True)
        if one is None or other is None:
            return 0.0, 0.0, 0.0
        totals = [float(np.nanmean(c.errors, axis=0).sum()) for c in (one, other)]
        return *log_ratio(one.errors, other.errors), 0.5 * (totals[0] - totals[1])

    def beside(self, tilted: bool) -> Candidate | None:
        """Return the candidate like the best one, with a tilt of gravity or without."""
        laws = {x for x in self.best.extras if x != GRAVITY}
        return next(
            (
                c
                for c in self.candidates
                if c.constants == self.best.constants
                and {*c.extras} == laws | ({GRAVITY} if tilted else set())
            ),
            None,
        )


def log_ratio(errors: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """
    Return the mean logarithm of the ratio of squared errors, and its standard error.

    errors, others : (count,) or (sets, count) of independent stretches, of two models
    """
    ratios = np.nanmean(np.atleast_2d(np.log(errors / others)), axis=0)
    return float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios))) if len(
        ratios
    ) > 1 else 0.0


def choose(data: Dataset, systems: Systems) -> Choice:
    """Return the Choice of constants, friction laws and gravity by the Systems of ``data``."""
    trials = _Trials(data, systems)
    first, tilt, asked = trials.first, trials.tilt, trials.tilt_asked
    free = tilt if asked else ()
    if systems.count < FEWEST_BLOCKS:
        (best,) = trials.candidates([(first, trials.extras)])
        return Choice(
            trials.columns(best),
            trials.joint_by_joint,
            systems,
            best,
            list(trials.tried.values()),
            asked,
        )
    beside = trials.candidates([(k, free) for k in range(len(trials.widths))])
    width = _simplest(beside, [k != first for k in range(len(beside))])
    laws = [
        (*e, *t)
        for count in range(len(trials.extras) + 1)
        for e in combinations(trials.extras, count)
        for t in dict.fromkeys([(), free])
    ]
    models = trials.candidates([(width, e) for e in laws])
    best = models[_simplest(models, [len(e) for e in laws])]
    own_widths = _own_widths(systems, trials.widths, best, trials.places)
    if own_widths != best.constants:
        trials.widths.append(own_widths)
        width = len(trials.widths) - 1
        (best,) = trials.candidates([(width, best.extras)])
    bare = tuple(x for x in best.extras if x != GRAVITY)
    # Also where gravity is given: what the torques say is shown.
    untilted, _ = trials.candidates([(width, bare), (width, (*bare, *tilt))])
    if best.tilt and not LEAST < best.tilt < LARGEST:
        best = untilted
    return Choice(
        trials.columns(best),
        trials.joint_by_joint,
        systems,
        best,
        list(trials.tried.values()),
        asked,
    )


class _Trials:
    """Candidates that are tried, each once."""

    def __init__(self, data: Dataset, systems: Systems) -> None:
        wide, self.systems = systems.wide, systems
        self.parameters, self.resting = systems.parameters, resting_columns(wide)
        auto = isinstance(data.method, JointTorques) and data.method.chooses_laws(data.options)
        self.optional = {p.law for p in self.parameters if auto and p.law and LAWS[p.law].optional}
        self.moves = np.array([p.name not in self.resting for p in self.parameters])
        self.extras = tuple(
            law
            for law in sorted(self.optional)
            if any(p.law == law and moves for p, moves in zip(self.parameters, self.moves))
        )
        self.joint_by_joint = not auto
        self.widths: list[Mapping[str, Parameter]] = [
            *(
                alike_constants(wide.structure)
                if auto
                else [chosen_constants(wide.structure, wide.stretches)]
            )
        ]
        self.first = usual_constants(self.widths)
        alike = bool(
            wide.gravity_columns.size
            and systems.given.any()
            and predicts_consistently(data)
            and all(np.allclose(r.gravity_base, systems.given) for r in data.robots)
        )
        self.tilt = (GRAVITY,) if alike else ()
        self.tilt_asked = alike and not data.options.mounting
        self.tried: dict[tuple[int, tuple[str, ...]], Candidate] = {}

    def places(self, constants: Mapping[str, Parameter], extras: Sequence[str]) -> np.ndarray:
        """Return the places of the columns of a model, tilts last."""
        taken = [
            moves
            and (p.law not in self.optional or p.law in extras)
            and constants.get(p.name, p) == p
            for p, moves in zip(self.parameters, self.moves)
        ]
        tilts = [len(taken), len(taken) + 1] * (GRAVITY in extras)
        return np.append(np.flatnonzero(taken), tilts).astype(int)

    def columns(self, best: Candidate) -> tuple[Parameter, ...]:
        """Return the Parameters of all columns of the laws of a candidate."""
        structure = self.systems.wide.structure
        return tuple(
            p
            for p in structure.columns
            if p.name not in self.resting and (p.law not in self.optional or p.law in best.extras)
        )

    def candidates(self, models: Sequence[tuple[int, tuple[str, ...]]]) -> list[Candidate]:
        """Return the Candidates of ``models``: with the widths of a number, and laws."""
        systems = self.systems
        new = [one for one in dict.fromkeys(models) if one not in self.tried]
        at = [self.places(self.widths[width], laws) for width, laws in new]
        errors = systems.left_out(at) if new and systems.count > 1 else np.ones((len(new), 1, 1))
        for (width, laws), places, own in zip(new, at, errors):
            self.tried[width, laws] = Candidate(
                self.widths[width], laws, own, systems.solution(systems.whole, places)
            )
        return [self.tried[one] for one in models]


def _simplest(candidates: Sequence[Candidate], complexity: Sequence[float]) -> int:
    """Return which candidate is the simplest within a standard error of the best."""
    ratios = [log_ratio(c.errors, candidates[0].errors)[0] for c in candidates]
    best = candidates[int(np.argmin(ratios))]
    gaps = [log_ratio(c.errors, best.errors) for c in candidates]
    alike = [k for k, (gap, error) in enumerate(gaps) if gap <= error + 1e-12]
    return min(alike, key=lambda k: (complexity[k], gaps[k][0]))


def _own_widths(
    systems: Systems,
    widths: Sequence[Mapping[str, Parameter]],
    chosen: Candidate,
    places: Callable[..., np.ndarray],
) -> dict[str, Parameter]:
    """
    Return {coefficient: Parameter} with widths of their own where they predict their joint better.

    The widest of a law are not asked: nothing bounds them.
    """
    out, groups = dict(chosen.constants), list(systems.names)
    parameters = systems.parameters
    for name, now in chosen.constants.items():
        if now.owner not in groups:
            continue
        tried = [own[name] for own in widths if name in own]
        last = {p.law: p for p in tried}
        inside = [p for p in tried if p != now and p != last[p.law]]
        at = places(out, chosen.extras)
        at = at[at != parameters.index(now)]
        alternatives = np.array([parameters.index(p) for p in (now, *inside)])
        errors = systems.exchanged(at, alternatives, groups.index(now.owner))
        gaps = [log_ratio(e, errors[0]) for e in errors[1:]]
        better = [(gap, p) for (gap, error), p in zip(gaps, inside) if gap < -OWN * error]
        if better:
            out[name] = min(better, key=lambda pair: pair[0])[1]
    return out


def predicts_consistently(data: Dataset) -> bool:
    """Return whether physically consistent bodies predict ``data``."""
    options = data.options
    return bool(
        options.consistent
        or options.estimator == 'ridge'
        and not options.unconstrained
        and bodies(data.method.parameters(data.robot, options))
    )


def choice_entries(choice: Choice) -> list[dict[str, Any]]:
    """Return entries of ``statistics['choices']``: the chosen one, the next best, the plainest."""
    best, target = choice.best, choice.systems.target
    others = sorted(
        (c for c in choice.candidates if c is not best),
        key=lambda c: log_ratio(c.errors, best.errors)[0],
    )
    plainest = [c for c in others if not c.extras][-1:]
    shown, entries = [best, *others[:1]], []
    for c in [*shown, *(c for c in plainest if c not in shown)]:
        worse, error = log_ratio(c.errors, best.errors)
        left_out = np.nanmean(c.errors, axis=0).sum()
        entries.append(
            {
                'what': 'model',
                'tried': len(choice.candidates),
                'candidate': c.words(),
                'chosen': c is best,
                'left_out_error': float(100.0 * np.sqrt(left_out / target)),
                'worse_percent': float(50.0 * worse),
                'worse_error_percent': float(50.0 * error),
            }
        )
    return entries
