"""
The one choice of a model: what predicts stretches of the motion that are left out of the fit.

Viscous and Coulomb friction, offset and rotor inertia are there in every joint.  The width of the
Coulomb step, friction in proportion to the load, a spring, a power law and a tilt of gravity are
tried, for all joints alike, by linear solutions that lean on the description.  What is left out
are quarters of the time, the fastest motion, the ends of the range and every fourth stretch.  The
simplest is taken that predicts as well as the best within one standard error of the difference
over stretches (Breiman, Friedman, Olshen and Stone 1984, Sec. 3.4.3).  The difference is that of
the logarithms of squared errors: every stretch counts alike, whether much or little of it is
explained.  A joint has a width of its own where that predicts its own torque better by OWN standard
errors.  What the options say is not chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from ..prepare.dataset import Dataset
from ..reduce.structure import alike_constants, chosen_constants, Structure
from ..reduce.systems import Systems
from ..reduce.wide_factor import WideFactor
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import bodies, Parameter
from ...estimation.covariance import FEWEST
from ...measurement.joints.kinematic_state import AT_REST
from ...methods.capabilities import JointTorques

GRAVITY = 'gravity'  # stands among the laws for the two angles of its direction
LARGEST = 0.35  # [rad] of tilt; beyond it the description is likelier wrong than the mounting
LEAST = 0.002   # [rad] of tilt, a tenth of a degree: the same mounting
OWN = 2.0       # standard errors: fifteen widths are tried for every joint


@dataclass(frozen=True)
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

    def words(self) -> str:
        """Return what it consists of, in words."""
        widths = {f'{p.law} {p.nonlinear:g}' for p in self.constants.values() if p.nonlinear}
        laws = [law for law in self.extras if law != GRAVITY]
        return ', '.join([*sorted(widths)[:2], ' and '.join(laws) or 'no further friction law',
                          'gravity as the torques show it' if GRAVITY in self.extras
                          else 'gravity as given'])


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
        with_tilt = self._beside(True)
        if with_tilt is None:
            return None
        places = np.flatnonzero(with_tilt.params)
        jackknife = np.array([self.systems.solve(stacked, places)[-2:].sum(1)
                              for stacked in self.systems.without[-4:]])
        away = jackknife - jackknife.mean(0)
        return with_tilt.params[-2:], 0.75 * away.T @ away

    def without_tilt(self) -> tuple[float, float]:
        """Return by how much gravity as given predicts worse than as shown, and the error."""
        one, other = self._beside(False), self._beside(True)
        if one is None or other is None:
            return 0.0, 0.0
        return log_ratio(one.errors, other.errors)

    def _beside(self, tilted: bool) -> Candidate | None:
        """Return the candidate like the best one, with a tilt of gravity or without."""
        laws = {x for x in self.best.extras if x != GRAVITY}
        return next((c for c in self.candidates if c.constants == self.best.constants
                     and {*c.extras} == laws | ({GRAVITY} if tilted else set())),
                    None)


def log_ratio(errors: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """
    Return the mean logarithm of the ratio of squared errors, and its standard error.

    errors, others : (count,) or (sets, count) of independent stretches, of two models
    """
    ratios = np.nanmean(np.atleast_2d(np.log(errors / others)), axis=0)
    return float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios))
                                       ) if len(ratios) > 1 else 0.0


def choose(data: Dataset, wide: WideFactor) -> Choice:
    """Return the Choice of constants, friction laws and gravity for a ``wide`` factor of data."""
    options, given = data.options, data.robot.gravity_base
    structure, resting = wide.structure, resting_columns(wide)
    parameters = structure.parameters_of_places()
    auto = isinstance(data.method, JointTorques) and data.method.chooses_laws(options)
    optional = {p.law for p in parameters if auto and p.law and LAWS[p.law].optional}
    own = np.array([p.name not in resting for p in parameters])
    widths = alike_constants(structure) if auto else [chosen_constants(structure, wide.stretches)]

    def places(constants: Mapping[str, Parameter], extras: Sequence[str]) -> np.ndarray:
        taken = [own[k] and (p.law not in optional or p.law in extras)
                 and constants.get(p.name, p) == p for k, p in enumerate(parameters)]
        tilts = [len(parameters), len(parameters) + 1] * (GRAVITY in extras)
        return np.append(np.flatnonzero(taken), tilts).astype(int)

    first = _usual(widths)
    systems = Systems(wide, given, places(widths[first], ()))
    tilts = [GRAVITY] * _tilt_is_asked(data, wide)
    extras = [law for law in sorted(optional)
              if any(p.law == law and own[k] for k, p in enumerate(parameters))]
    tried: dict[tuple[int, tuple[str, ...]], Candidate] = {}

    def candidate(width: int, laws: tuple[str, ...]) -> Candidate:
        if (width, laws) not in tried:
            at = places(widths[width], laws)
            errors = systems.left_out(at) if systems.count > 1 else np.ones((1, 1))
            tried[width, laws] = Candidate(widths[width], laws, errors,
                                           systems.solve(systems.whole, at).sum(1))
        return tried[width, laws]

    best = first
    if systems.count >= FEWEST:
        beside = [candidate(k, tuple(tilts)) for k in range(len(widths))]
        best = _simplest(beside, [k != first for k in range(len(widths))])
        laws = [(*e, *tilt) for count in range(len(extras) + 1)
                for e in combinations(extras, count) for tilt in {(), tuple(tilts)}]
        models = [candidate(best, e) for e in laws]
        chosen = models[_simplest(models, [len(e) for e in laws])]
        own_widths = _own_widths(systems, widths, chosen, places)
        if own_widths != chosen.constants:
            widths.append(own_widths)
            best = len(widths) - 1
            chosen = candidate(best, chosen.extras)
            candidate(best, tuple(x for x in chosen.extras if x != GRAVITY))
    else:
        chosen = candidate(best, tuple(extras))
    tilt = np.linalg.norm(chosen.params[-2:])
    if GRAVITY in chosen.extras and not LEAST < tilt < LARGEST:
        chosen = candidate(best, tuple(x for x in chosen.extras if x != GRAVITY))
    columns = tuple(p for p in structure.columns if p.name not in resting and (
        p.law not in optional or p.law in chosen.extras))
    return Choice(columns, not auto, systems, chosen, tuple(tried.values()), bool(tilts))


def _simplest(candidates: Sequence[Candidate], complexity: Sequence[float]) -> int:
    """Return which candidate is the simplest within a standard error of the best."""
    ratios = [log_ratio(c.errors, candidates[0].errors)[0] for c in candidates]
    best = candidates[int(np.argmin(ratios))]
    gaps = [log_ratio(c.errors, best.errors) for c in candidates]
    alike = [k for k, (gap, error) in enumerate(gaps) if gap <= error + 1e-12]
    return min(alike, key=lambda k: (complexity[k], gaps[k][0]))


def _usual(widths: Sequence[Mapping[str, Parameter]]) -> int:
    """Return which constants all joints have unless others predict better: a smooth step."""
    smooth = [k for k, own in enumerate(widths) if not any(LAWS[p.law].memory
                                                           for p in own.values())]
    return smooth[min(1, len(smooth) - 1)]


def _own_widths(systems: Systems, widths: Sequence[Mapping[str, Parameter]], chosen: Candidate,
                places: Callable[..., np.ndarray]) -> dict[str, Parameter]:
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


def resting_columns(wide: WideFactor) -> set[str]:
    """
    Return the names of friction and rotor inertia of joints that stood still.

    The noise of their velocities is all that a fit has for them: what it makes of that would be
    used as soon as they move.
    """
    if not wide.joints:
        return set()
    return {p.name for p in wide.structure.columns if p.law and np.ptp(
        wide.ranges.get(p.owner, {}).get('q', (0.0, np.inf))) < AT_REST}


def _tilt_is_asked(data: Dataset, wide: WideFactor) -> bool:
    """Return whether a tilt of gravity is among what is chosen."""
    gravity = data.robot.gravity_base
    return bool(wide.heavy.size and gravity.any() and not data.options.mounting
                and predicts_consistently(data)
                and all(np.allclose(r.gravity_base, gravity) for r in data.robots))


def predicts_consistently(data: Dataset) -> bool:
    """Return whether physically consistent bodies predict ``data``."""
    options = data.options
    return bool(options.consistent or options.estimator == 'ridge' and not options.unconstrained
                and bodies(data.method.parameters(data.robot, options)))


def choice_entries(choice: Choice) -> list[dict[str, Any]]:
    """Return the entries of ``statistics['choices']``: what was tried, and by how much worse."""
    entries, best = [], choice.best
    for c in choice.candidates:
        worse, error = log_ratio(c.errors, best.errors)
        entries.append({'what': 'model', 'candidate': c.words(),
                        'worse_percent': float(50.0 * worse),
                        'worse_error_percent': float(50.0 * error), 'chosen': c is best})
    return entries
