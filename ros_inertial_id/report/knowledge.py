"""
Knowledge: what the numbers of a model are worth, parameter by parameter.

Everything is read from the model's base entries and their covariance.  The inflation of a
variance (Marquardt 1970) separates a parameter that the motion hardly excites (inflation near 1)
from one that it excites, but only together with others (large inflation).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.friction import LAWS, never_negative
from ..dynamics.inertial_parameters import Parameter
from ..estimation.statistics import dependence
from ..identification.model.identified_model import IdentifiedModel

WELL, ROUGH, ZERO, NOT = 'known well', 'known roughly', 'not significant', 'not determined'
MARKS = {WELL: 'well', ROUGH: 'rough', ZERO: 'zero', NOT: ''}  # classes of the style sheet
WELL_PERCENT = 10.0  # standard error over value: two digits are right
ROUGH_PERCENT = 50.0  # two standard errors from zero
MIXED = 10.0  # inflation of the variance above which a parameter counts as mixed with others
SURE = 3.0  # standard errors: of fifty true statements few are contradicted by chance


@dataclass(frozen=True)
class Knowledge:
    """
    One base parameter and what it is worth.

    entry : as in ``model.base``; lead : Parameter that stands first in its expression
    grade : WELL, ROUGH, ZERO or NOT; inflation : of its variance by the others (>= 1)
    partner, correlation : the determined parameter whose estimate goes with this one most
    never_negative : whether it is a sum of masses, moments of inertia, friction
    described : whether the robot description says a value for it
    """

    entry: dict[str, Any]
    lead: Parameter
    grade: str
    inflation: float
    partner: str
    correlation: float
    never_negative: bool
    described: bool = True

    @property
    def name(self) -> str:
        """Return the name of the base parameter."""
        return self.entry['name']

    @property
    def mark(self) -> str:
        """Return the class of the style sheet for its grade."""
        return MARKS[self.grade]

    @property
    def kind(self) -> str:
        """Return what shows it: 'gravity' (masses, moments), 'inertia', 'friction', 'offset'."""
        law = self.lead.law
        if law in ('', 'armature'):
            return 'inertia' if 'm^2' in self.entry['unit'] else 'gravity'
        return 'friction' if law == 'damper' or law in LAWS and LAWS[law].brakes else 'offset'

    @property
    def impossible(self) -> bool:
        """Return whether the data alone have it surely below zero, though it cannot be."""
        entry = self.entry
        if not (self.never_negative and entry['determined']):
            return False
        value, error = entry.get('unconstrained') or (entry['value'], entry['standard_error'])
        return bool(value + SURE * error < 0.0)

    @property
    def negative(self) -> bool:
        """Return whether its value is below zero, surely or not, although it cannot be."""
        return bool(self.never_negative and self.entry['determined'] and self.entry['value'] < 0.0)

    @property
    def surprise(self) -> float:
        """Return how many standard errors the value lies from the robot description's."""
        entry = self.entry
        if not self.described or not entry['determined'] or not entry['standard_error']:
            return 0.0
        return abs(entry['value'] - entry['nominal']) / entry['standard_error']


def evaluate(model: IdentifiedModel) -> list[Knowledge]:
    """Return the Knowledge of every base parameter of a ``model``, in its order."""
    parameters = {p.name: p for p in model.parameters}
    known, silent = _dependence(model), _not_described(model)
    out = []
    for entry in model.base:
        lead = parameters[next(iter(entry['grouping']))]
        shared = known.get(entry['name'], {'inflation': 1.0, 'partner': '', 'correlation': 0.0})
        out.append(Knowledge(entry, lead, _grade(entry), shared['inflation'], shared['partner'],
                             shared['correlation'],
                             _never_negative(entry['grouping'], parameters),
                             not lead.law and lead.owner not in silent))
    return out


def fits(model: IdentifiedModel) -> dict[str, Any]:
    """Return {training, cross-validation, validation: {filtered, raw}} of a ``model``."""
    s = model.statistics
    out = {'training': s['training']}
    if s.get('cross_validation'):
        out['cross-validation'] = {'filtered': s['cross_validation']}
    if 'validation' in s:
        out['validation'] = s['validation']
    return out


def _not_described(model: IdentifiedModel) -> set[str]:
    """Return the links whose inertial parameters the description does not give: all are zero."""
    largest: dict[str, float] = {}
    for p in model.parameters:
        if not p.law:
            largest[p.owner] = max(largest.get(p.owner, 0.0), abs(p.nominal))
    return {owner for owner, size in largest.items() if not size}


def _never_negative(grouping: dict[str, float], parameters: dict[str, Parameter]) -> bool:
    """Return whether a sum adds up only what no body and no drive has below zero."""
    return all(coefficient > 0.0 and never_negative(parameters[name])
               for name, coefficient in grouping.items())


def _grade(entry: dict[str, Any]) -> str:
    if not entry['determined']:
        return NOT
    relative = entry['relative_percent']
    if relative is None or relative > ROUGH_PERCENT:
        return ZERO
    return WELL if relative <= WELL_PERCENT else ROUGH


def _dependence(model: IdentifiedModel) -> dict[str, dict[str, Any]]:
    """Return what the model says of what is known together, else what its covariance says."""
    if 'dependence' in model.statistics:
        return dict(model.statistics['dependence'])
    return dependence([entry['name'] for entry in model.base], np.asarray(model.covariance),
                      np.array([entry['determined'] for entry in model.base]))
