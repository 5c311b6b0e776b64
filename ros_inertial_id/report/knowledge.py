"""
Knowledge: what the numbers of a model are worth, parameter by parameter.

Everything is read from the model's base entries and their covariance.  The inflation of a
variance (Marquardt 1970) separates a parameter that the motion hardly excites (inflation near 1)
from one that it excites, but only together with others (large inflation).  Numbers are written
with as many digits as they are worth.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import math
import re
from typing import Any

import numpy as np

from ..dynamics.friction import LAWS, never_negative
from ..dynamics.inertial_parameters import Parameter
from ..identification.identified_model import IdentifiedModel

WELL, ROUGH, ZERO, NOT = 'up to 10 %', '10 to 50 %', 'not significant', 'not determined'
WELL_PERCENT = 10.0  # standard error over value: two digits are right
ROUGH_PERCENT = 50.0  # two standard errors from zero
CORRELATED = 10.0  # inflation of the variance: above it strongly correlated with others
WHERE = {
    'validation': 'on the validation recording',
    'cross-validation': 'in cross-validation',
    'training': 'in sample',
}
DIFFERENT = 3.0  # standard errors: of fifty true statements few are contradicted by chance
MOST_DECIMALS = 9  # of exact data: digits without end help nobody


@dataclass(frozen=True)
class Knowledge:
    """
    One base parameter and what it is worth.

    entry : as in ``model.base``; lead : Parameter that stands first in its expression
    grade : WELL, ROUGH, ZERO or NOT; inflation : of its variance by the others (>= 1)
    partner, correlation : the determined parameter whose estimate goes with this one most
    never_negative : whether it is a sum of masses, moments of inertia, friction
    has_nominal : whether the robot description gives a value for it
    """

    entry: dict[str, Any]
    lead: Parameter
    grade: str
    inflation: float
    partner: str
    correlation: float
    never_negative: bool
    has_nominal: bool = True

    @property
    def name(self) -> str:
        """Return the name of the base parameter."""
        return self.entry['name']

    @property
    def kind(self) -> str:
        """Return the motion that excites it: gravity, inertia, friction or offset."""
        if not self.lead.law:
            return self._kind_of_inertial
        if self.lead.law == 'damper':
            return 'friction'
        law = LAWS.get(self.lead.law)
        if law is None:
            return 'offset'
        if law.inertial:
            return self._kind_of_inertial
        if law.brakes:
            return 'friction'
        return 'offset'

    @property
    def _kind_of_inertial(self) -> str:
        """Return whether a mass or first moment (gravity), or a moment of inertia."""
        if 'm^2' in self.entry['unit']:
            return 'inertia'
        return 'gravity'

    @property
    def undetermined(self) -> bool:
        """Whether the data do not determine it."""
        return self.grade == NOT

    @property
    def described(self) -> bool:
        """Whether it is determined, and the description gives a value to compare with."""
        return self.has_nominal and not self.undetermined

    @property
    def unconstrained(self) -> tuple[float, float]:
        """Return value and standard error by the data alone."""
        entry = self.entry
        value, error = entry.get('unconstrained') or (entry['value'], entry['standard_error'])
        return value, error

    @property
    def _cannot_be_negative(self) -> bool:
        return self.never_negative and self.entry['determined']

    @property
    def impossible(self) -> bool:
        """Whether the data alone have it significantly negative, which is impossible."""
        if not self._cannot_be_negative:
            return False
        value, error = self.unconstrained
        return bool(value + DIFFERENT * error < 0.0)

    @property
    def negative(self) -> bool:
        """Whether its value is negative, significantly or not, which is impossible."""
        return bool(self._cannot_be_negative and self.entry['value'] < 0.0)

    @property
    def deviation(self) -> float | None:
        """Return description minus value in standard errors, None where either is not known."""
        entry = self.entry
        if not (self.has_nominal and entry['determined'] and entry['standard_error']):
            return None
        return float((entry['nominal'] - entry['value']) / entry['standard_error'])

    @property
    def difference(self) -> float:
        """Return the size of the deviation, 0 where there is none."""
        return abs(self.deviation or 0.0)


def evaluate(model: IdentifiedModel) -> list[Knowledge]:
    """Return the Knowledge of every base parameter of a ``model``, in its order."""
    parameters = {p.name: p for p in model.parameters}
    dependence = model.statistics.get('dependence', {})
    without_inertia = _links_without_inertia(model)
    independent = {'inflation': 1.0, 'partner': '', 'correlation': 0.0}
    return [
        _knowledge(entry, parameters, dependence.get(entry['name'], independent), without_inertia)
        for entry in model.base
    ]


def _knowledge(
    entry: dict[str, Any],
    parameters: Mapping[str, Parameter],
    dependence: Mapping[str, Any],
    without_inertia: set[str],
) -> Knowledge:
    """
    Return the Knowledge of one ``entry``.

    dependence : on other parameters; without_inertia : links of the description
    """
    lead = parameters[next(iter(entry['grouping']))]
    return Knowledge(
        entry=entry,
        lead=lead,
        grade=_grade(entry),
        inflation=dependence['inflation'],
        partner=dependence['partner'],
        correlation=dependence['correlation'],
        never_negative=_never_negative(entry['grouping'], parameters),
        has_nominal=not lead.law and lead.owner not in without_inertia,
    )


def fits(model: IdentifiedModel) -> dict[str, Any]:
    """Return {training, cross-validation, validation: {filtered, raw}} of a ``model``."""
    s = model.statistics
    parts = {}
    if 'training' in s:  # a description has none
        parts['training'] = s['training']
    if s.get('cross_validation'):
        parts['cross-validation'] = {'filtered': s['cross_validation']}
    if 'validation' in s:
        parts['validation'] = s['validation']
    return parts


def best_fit(model: IdentifiedModel) -> tuple[str, dict[str, Any]]:
    """Return where the residuals are from that say most of other data, and these residuals."""
    parts = fits(model)
    if model.statistics.get('validation_seen') and len(parts) > 1:
        del parts['validation']  # of samples of the training: no validation
    part = next(name for name in WHERE if name in parts)
    return WHERE[part], parts[part]['filtered']


def posterior(model: IdentifiedModel, alone: bool = False) -> np.ndarray:
    """
    Return the covariance (p, p) of the standard parameters: prior, and what the data say of sums.

    alone : of parameters by themselves, with all of their standard errors, and not of torques that
        they predict together with the model's laws and gravity
    The base parameters K pi were estimated with covariance C, so that the prior P of pi becomes
    P - P K' (K P K' + C)^-1 K P (Kalman update); where the data say nothing the prior stays.
    """
    covariance = np.array(model.covariance)
    if alone:
        covariance = covariance_with_errors(model)
    informative = np.flatnonzero(np.diag(covariance) > 0.0)
    sd = np.array([p.prior_sd for p in model.parameters])
    column_of = {p.name: k for k, p in enumerate(model.parameters)}
    K = np.zeros((len(informative), len(sd)))  # of parameters in units of their prior
    for row, k in enumerate(informative):
        for name, coefficient in model.base[k]['grouping'].items():
            K[row, column_of[name]] = coefficient * sd[column_of[name]]
    scale = np.linalg.norm(K, axis=1)
    K, C = K / scale[:, None], covariance[np.ix_(informative, informative)]
    gain = np.linalg.solve(K @ K.T + C / np.outer(scale, scale), K)
    return np.outer(sd, sd) * (np.eye(len(sd)) - K.T @ gain)


def covariance_with_errors(model: IdentifiedModel) -> np.ndarray:
    """Return the covariance (b, b) of base parameters by themselves, all standard errors in it."""
    covariance = np.array(model.covariance)
    errors = np.array([entry['standard_error'] or 0.0 for entry in model.base])
    return np.asarray(covariance + np.diag(np.maximum(errors**2 - np.diag(covariance), 0.0)))


def lead_columns(model: IdentifiedModel) -> list[int]:
    """Return the numbers (b,) of the parameters whose columns are those of the base parameters."""
    number = {p.name: k for k, p in enumerate(model.parameters)}
    # The first of a sum stands in no other one, with coefficient 1 (Gautier 1991).
    return [number[next(iter(entry['grouping']))] for entry in model.base]


def _links_without_inertia(model: IdentifiedModel) -> set[str]:
    """Return the links whose inertial parameters the description does not give: all are zero."""
    largest: dict[str, float] = {}
    for p in model.parameters:
        if not p.law:
            largest[p.owner] = max(largest.get(p.owner, 0.0), abs(p.nominal))
    return {owner for owner, nominal in largest.items() if not nominal}


def _never_negative(grouping: Mapping[str, float], parameters: Mapping[str, Parameter]) -> bool:
    """Whether a sum adds up only what no body and no drive has below zero."""
    return all(
        coefficient > 0.0 and never_negative(parameters[name])
        for name, coefficient in grouping.items()
    )


def _grade(entry: dict[str, Any]) -> str:
    if not entry['determined']:
        return NOT
    relative = entry['relative_percent']
    if relative is None or relative > ROUGH_PERCENT:
        return ZERO
    if relative <= WELL_PERCENT:
        return WELL
    return ROUGH


def significant(value: float | None, digits: int = 3) -> str:
    """Return a ``value`` with so many significant ``digits``, '-' for None."""
    if value is None or not math.isfinite(value):
        return '-'
    text = f'{value:#.{digits}g}'
    if 'e+0' in text:  # 130, where two digits would be 1.3e+02
        return f'{float(text):.0f}'
    if 'e' in text:
        return f'{value:.{digits - 1}e}'
    return text.rstrip('.')


def ratio(value: float | None) -> str:
    """Return a condition number or gap ``value``; None is how a model file writes infinity."""
    if value is None or not math.isfinite(value):
        return 'infinite'
    return f'{value:.4g}'


def percent(value: float | None) -> str:
    """Return a ``value`` in percent: two significant digits, no decimals from ten on."""
    if value is None:
        return '-'
    if value >= 10.0:
        return f'{value:.0f}'
    return significant(value, 2)


def with_error(value: float, error: float | None) -> tuple[str, str]:
    """Return (value, error) as texts: the error to two digits, the value to the same decimals."""
    if error is None:
        return f'{value:.6g}', '-'
    if not error or not math.isfinite(error):
        return f'{value:.6g}', significant(error, 2)
    decimals = 1 - math.floor(math.log10(error))
    if decimals > MOST_DECIMALS:  # exact data: digits without end help nobody
        return f'{value:.{MOST_DECIMALS}f}', f'{error:.1e}'
    decimals = max(0, decimals)
    return f'{value:.{decimals}f}', f'{error:.{decimals}f}'


def shortened(names: Iterable[str], listed: int) -> str:
    """Return the first of ``names``, as many as are ``listed``, and the number of the others."""
    names = list(names)
    shown = ', '.join(names[:listed])
    more = len(names) - listed
    if more > 0:
        shown += f' and {more} more'
    return shown


def joined(text: str) -> str:
    """Return a ``text`` whose numbers stay beside their units where a line breaks."""
    return re.sub(r'(?<=[\dN]) (?=(N m|N|m|kg|%|s|ms|Hz|rad|deg)\b|%)', '\u00a0', text)


def typeset(unit: str) -> str:
    """Return a ``unit`` or text for pages and pictures: ``kg m^2`` as kg m², ``+-`` as ±."""
    return unit.replace('^2', '\u00b2').replace('^3', '\u00b3').replace(' +- ', ' \u00b1 ')
