"""
Knowledge: what the numbers of a model are worth, parameter by parameter.

Everything is read from the model's base entries and their covariance.  The inflation of a
variance (Marquardt 1970) tells a parameter that the motion hardly excites (inflation near 1) from
one that it excites, but only together with others (large inflation).
"""

from dataclasses import dataclass
import re

import numpy as np

from ..dynamics.friction import LAWS

WELL, ROUGH, ZERO, NOT = 'known well', 'known roughly', 'not told from zero', 'not determined'
WELL_PERCENT = 10.0  # standard error over value: two digits are right
ROUGH_PERCENT = 50.0  # two standard errors from zero
MIXED = 10.0  # inflation of the variance above which a parameter counts as mixed with others
SURE = 3.0  # standard errors: of fifty true statements few are contradicted by chance


@dataclass(frozen=True)
class Knowledge:
    """
    One base parameter, judged.

    entry : as in ``model.base``; lead : Parameter that stands first in its expression
    grade : WELL, ROUGH, ZERO or NOT; inflation : of its variance by the others (>= 1)
    partner, correlation : the determined parameter whose estimate goes with this one most
    never_negative : whether it is a sum of masses, moments of inertia, friction
    """

    entry: dict
    lead: object
    grade: str
    inflation: float
    partner: str
    correlation: float
    never_negative: bool

    @property
    def name(self):
        """Return the name of the base parameter."""
        return self.entry['name']

    @property
    def kind(self):
        """Return what shows it: 'gravity' (masses, moments), 'inertia', 'friction', 'offset'."""
        law = self.lead.law
        if law in ('', 'armature'):
            return 'inertia' if 'm^2' in self.entry['unit'] else 'gravity'
        return 'friction' if law == 'damper' or law in LAWS and LAWS[law].brakes else 'offset'

    @property
    def impossible(self):
        """Return whether it is surely below zero although a sum of what cannot be."""
        entry = self.entry
        return bool(self.never_negative and entry['determined']
                    and entry['value'] + SURE * entry['standard_error'] < 0.0)

    @property
    def surprise(self):
        """Return how many standard errors the value lies from the robot description's."""
        entry = self.entry
        if not entry['determined'] or not entry['standard_error']:
            return 0.0
        return abs(entry['value'] - entry['nominal']) / entry['standard_error']


def evaluate(model):
    """Return the Knowledge of every base parameter of an IdentifiedModel, in its order."""
    parameters = {p.name: p for p in model.parameters}
    dependence = _dependence(model)
    return [Knowledge(entry, parameters[next(iter(entry['grouping']))], _grade(entry),
                      *dependence.get(entry['name'], (1.0, '', 0.0)),
                      _never_negative(entry['grouping'], parameters))
            for entry in model.base]


def fits(model):
    """Return {training, validation: {filtered, raw}} of the parameters the model predicts with."""
    s = model.statistics
    out = {'training': s.get('consistent', s)['training']}
    if 'validation' in s:
        out['validation'] = s['validation']
    return out


def _never_negative(grouping, parameters):
    """Return whether a sum adds up only what no body and no drive has below zero."""
    return all(coefficient > 0.0 and _positive(parameters[name])
               for name, coefficient in grouping.items())


def _positive(parameter):
    if parameter.law:
        return parameter.law in LAWS and not LAWS[parameter.law].signed
    return re.fullmatch(r'(m|Ixx|Iyy|Izz)\d+', parameter.name) is not None


def _grade(entry):
    if not entry['determined']:
        return NOT
    relative = entry['relative_percent']
    if relative is None or relative > ROUGH_PERCENT:
        return ZERO
    return WELL if relative <= WELL_PERCENT else ROUGH


def _dependence(model):
    """Return {name: (inflation, closest other, correlation to it)} of what is determined."""
    where = [k for k, entry in enumerate(model.base) if entry['determined']]
    names = [model.base[k]['name'] for k in where]
    covariance = np.asarray(model.covariance)[np.ix_(where, where)]
    size = np.sqrt(np.diag(covariance))
    size = np.where(size > 0.0, size, 1.0)
    R = covariance / np.outer(size, size)
    if len(where) < 2:
        return {}
    # Nearly undetermined directions may leave R singular to working precision.
    inflation = np.maximum(1.0, np.diag(np.linalg.pinv(R, hermitian=True)))
    others = R - np.diag(np.diag(R))
    closest = np.argmax(np.abs(others), axis=1)
    return {name: (float(inflation[k]), names[closest[k]], float(others[k, closest[k]]))
            for k, name in enumerate(names)}
