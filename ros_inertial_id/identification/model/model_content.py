"""
Model content: what a model file may hold, checked once where it is read.

A check takes a value and where it stands, and raises ConfigError with words for what no
identification writes.  Behind it nobody checks again.
"""

from collections.abc import Callable, Mapping
import math
from typing import Any

import numpy as np

from ...dynamics.description import HEAVIEST
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...errors import ConfigError
from ...methods import METHODS

Check = Callable[[Any, str], None]
LARGEST = 1e30  # of numbers that are ratios or have units of their own: their squares are finite
SMALLEST = 1e-100  # of numbers that are not zero: what is divided by their squares is finite


def _refused(where: str, expected: str, value: Any) -> ConfigError:
    return ConfigError(where, expected=expected, found=repr(value)[:80])


def number(low: float = -LARGEST, high: float = LARGEST, missing: bool = False,
           zero: bool = True) -> Check:
    """Return the check of a number from ``low`` to ``high``, ``missing`` or ``zero`` if so."""
    def check(value: Any, where: str) -> None:
        if missing and value is None:
            return
        if (isinstance(value, bool) or not isinstance(value, (int, float))
                or not low <= value <= high or not math.isfinite(value)
                or abs(value) < SMALLEST and not (zero and value == 0)):
            raise _refused(where, f'a number from {low:g} to {high:g}'
                           + ('' if zero else ' that is not zero'), value)
    return check


def kind(*types: type) -> Check:
    """Return the check of a value of one of the ``types``."""
    def check(value: Any, where: str) -> None:
        if not isinstance(value, types):
            raise _refused(where, ' or '.join(t.__name__ for t in types), value)
    return check


def choice(*values: Any) -> Check:
    """Return the check of one of ``values``."""
    def check(value: Any, where: str) -> None:
        if not isinstance(value, str) or value not in values:
            raise _refused(where, 'one of ' + ', '.join(map(str, values)), value)
    return check


def listed(item: Check, least: int = 0, length: int | None = None) -> Check:
    """Return the check of a list of ``item``, of a ``length`` or at ``least`` so many."""
    def check(value: Any, where: str) -> None:
        if not isinstance(value, list) or len(value) < least or (
                length is not None and len(value) != length):
            size = f'of {length}' if length is not None else f'of at least {least}'
            raise _refused(where, f'a list {size}', value)
        for k, each in enumerate(value):
            item(each, f'{where}, {k + 1}')
    return check


def mapping(item: Check, needed: Mapping[str, Check] | None = None,
            known: Mapping[str, Check] | None = None, least: int = 0) -> Check:
    """
    Return the check of a mapping of texts.

    item : of values of other keys; needed : of those that must be there; known : of those that
    may; least : how many keys at least
    """
    needed, known = needed or {}, {**(known or {}), **(needed or {})}

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict) or len(value) < least:
            raise _refused(where, f'a mapping of at least {max(least, len(needed))} entries',
                           value)
        lacking = sorted(needed.keys() - value.keys())
        if lacking:
            raise ConfigError(f"{where} is incomplete; it has no {', '.join(lacking)}")
        for key, each in value.items():
            if not isinstance(key, str):
                raise _refused(where, 'keys that are texts', key)
            if item is _unknown and key not in known:
                raise ConfigError(f'{where} has a key that no model file has', found=key,
                                  exists=tuple(known))
            known.get(key, item)(each, f'{where}, {key}')
    return check


def _or_none(item: Check) -> Check:
    def check(value: Any, where: str) -> None:
        if value is not None:
            item(value, where)
    return check


def _range(value: Any, where: str) -> None:
    listed(number(), length=2)(value, where)
    if value[0] > value[1]:
        raise _refused(where, 'the smallest before the largest', value)


def _determined(value: Any, where: str) -> None:
    """Check that an entry of ``base`` has numbers where it says that they are determined."""
    if value['determined'] and None in (value['value'], value['standard_error']):
        raise _refused(where, 'a value and a standard error', None)


def _law(value: Any, where: str) -> None:
    """Check that an entry of ``parameters`` has a nonlinear number where its law has one."""
    law = LAWS.get(value['law'])
    if (law is not None and law.nonlinear_values != (None,)) != (value['nonlinear'] is not None):
        raise _refused(f"{where}, nonlinear of law {value['law']!r}",
                       'a number where the law has one', value['nonlinear'])


def _anything(value: Any, where: str) -> None:
    """Accept what nobody reads but a person."""


def _unknown(value: Any, where: str) -> None:
    """Stand for the values of keys that there are not."""


_ANY_NUMBER = number(missing=True)
_NOT_NEGATIVE, _POSITIVE = number(low=0.0), number(low=0.0, zero=False)
_TEXT = kind(str)
_TEXTS = listed(_TEXT)
_PHYSICAL = number(-HEAVIEST, HEAVIEST)
_RESIDUALS = mapping(
    _anything, {'rms': mapping(_NOT_NEGATIVE, least=1), 'relative_percent': _ANY_NUMBER},
    {'measured_rms': mapping(_NOT_NEGATIVE), 'samples': _NOT_NEGATIVE, 'rms_all': _ANY_NUMBER})
_FIT = mapping(_anything, {'filtered': _RESIDUALS}, {'raw': _RESIDUALS})
_NUMBERS = mapping(_ANY_NUMBER)
_JUDGED = mapping(_anything, {'word': _TEXT, 'reasons': _TEXTS})
_PARAMETER = mapping(_unknown, {
    'name': _TEXT, 'unit': _TEXT, 'owner': _TEXT, 'law': _TEXT,
    'scale': number(1e-12, LARGEST), 'nominal': _PHYSICAL, 'prior_sd': _POSITIVE,
    'value': _PHYSICAL, 'nonlinear': number(1e-9, 1e9, missing=True)})
_BASE = mapping(_anything, {
    'name': _TEXT, 'expression': _TEXT, 'unit': _TEXT, 'determined': kind(bool),
    'nominal': _PHYSICAL, 'value': number(-HEAVIEST, HEAVIEST, missing=True),
    'standard_error': number(low=0.0, missing=True), 'relative_percent': _ANY_NUMBER,
    'grouping': mapping(number(zero=False), least=1)}, {
    'unconstrained': _or_none(listed(number(), length=2))})
_STATISTICS = mapping(_anything, {
    'training': _FIT, 'samples': _POSITIVE, 'rank': _NOT_NEGATIVE,
    'rank_in_data': _NOT_NEGATIVE, 'condition_number': _ANY_NUMBER,
    'correlation_samples': mapping(_POSITIVE)}, {
    'validation': _FIT, 'cross_validation': _or_none(_RESIDUALS),
    'standard_deviation': mapping(_NOT_NEGATIVE), 'rank_gap': _ANY_NUMBER,
    'prediction_band': mapping(_anything, {'joints': mapping(mapping(_NOT_NEGATIVE, {
        term: _NOT_NEGATIVE for term in ('constant', 'per_speed', 'per_acceleration',
                                         'near_reversal', 'slow')}))}, {'angles': _TEXTS}),
    'essential': _TEXTS, 'validation_seen': _TEXTS, 'masked_share': listed(_ANY_NUMBER),
    'nonlinear_parameters': mapping(mapping(_anything, {'value': number()},
                                            {'standard_error': _ANY_NUMBER})),
    'whiteness': mapping(mapping(_anything)), 'dependence': mapping(mapping(
        _anything, {'inflation': number(), 'partner': _TEXT, 'correlation': number(-2.0, 2.0)})),
    'condition_causes': listed(mapping(_anything, {'condition_index': _ANY_NUMBER,
                                                   'parameters': _NUMBERS})),
    'checks': listed(mapping(_anything)), 'keep_all': kind(bool),
    'choices': listed(mapping(_anything, {'what': _TEXT, 'candidate': _TEXT,
                                          'chosen': kind(bool)},
                              {'left_out_error': _ANY_NUMBER, 'evidence': _ANY_NUMBER})),
    'verdict': mapping(_anything, {'word': _TEXT, 'reasons': _TEXTS},
                       {'joints': mapping(_JUDGED)}),
    'unconstrained': mapping(_anything, {}, {'training': _FIT}),
    'consistent': mapping(_anything, {'loss_percent': _ANY_NUMBER}, {
        'links': mapping(listed(_PHYSICAL, length=10)),
        'smallest_pseudo_inertia_eigenvalue': mapping(number())})})
CONTENT: dict[str, Check] = {
    'method': choice(*METHODS), 'options': mapping(_anything),
    'robot': mapping(_anything, {'name': _TEXT, 'joints': _TEXTS, 'kinematics_sha256': _TEXT,
                                 'urdf': _TEXT}, {'links': _TEXTS, 'base_link': _TEXT}),
    'mounting': mapping(_anything, {'gravity_base': listed(listed(number(-30.0, 30.0), length=3),
                                                           least=1)},
                        {'text': _TEXTS, 'known': _TEXTS, 'missing': _TEXTS}),
    'parameters': listed(_PARAMETER, least=1), 'base': listed(_BASE),
    'covariance': listed(_TEXT), 'statistics': _STATISTICS,
    'validity_range': mapping(mapping(_range, least=1), least=1),
    'preprocessing': listed(mapping(_anything, {
        'cutoff': number(0.0, 1e6, zero=False), 'velocity': _TEXT},
        {'time_offset': number(-100.0, 100.0), 'rate': _POSITIVE, 'duration': _NOT_NEGATIVE,
         'samples': _NOT_NEGATIVE, 'decimate': number(1.0)}), least=1),
    'provenance': mapping(_anything, {'created': _TEXT, 'recordings': listed(mapping(_anything))})}


def checked_content(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """
    Return the fields of an IdentifiedModel out of the content of a file.

    data : {key: value} as CONTENT has them; source : where it comes from, for messages
    ConfigError names the first place that no identification writes so.
    """
    for key, check in CONTENT.items():
        check(data[key], f'{source} is damaged: {key}')
    for k, entry in enumerate(data['parameters']):
        _law(entry, f'{source} is damaged: parameters, {k + 1}')
    names = {p['name'] for p in data['parameters']}
    for k, entry in enumerate(data['base']):
        _determined(entry, f'{source} is damaged: base, {k + 1}')
        if set(entry['grouping']) - names:
            raise _refused(f'{source} is damaged: base, {k + 1}, grouping',
                           'names of parameters', sorted(set(entry['grouping']) - names))
    if 'base' in data['statistics'].get('consistent', {}):
        raise ConfigError(f'{source} is of an earlier version', found='base parameters of another '
                          'estimate than that which predicts',
                          do='identify again with this version')
    _check_groups(data['statistics'], source)
    values = np.array([float(p['value']) for p in data['parameters']])
    try:
        covariance = np.array([[float(x) for x in row.split()] for row in data['covariance']])
        good = covariance.shape == (len(data['base']),) * 2 and (
            np.diagonal(covariance) >= 0.0).all() and np.abs(covariance).max() < LARGEST
    except ValueError:
        good = False
    if data['base'] and not good:
        raise ConfigError(f'{source} is damaged: covariance', found='other content',
                          expected=f"{len(data['base'])} rows of as many numbers")
    parameters = tuple(Parameter(**{k: v for k, v in p.items() if k != 'value'})
                       for p in data['parameters'])
    return dict(data, values=values, covariance=covariance, parameters=parameters)


def _check_groups(statistics: Mapping[str, Any], source: str) -> None:
    """Raise ConfigError where residuals are not of the same joints or bodies throughout."""
    fits = {name: statistics[name] for name in ('training', 'validation') if name in statistics}
    found = {f'{name}, {kind}': fit[kind] for name, fit in fits.items()
             for kind in ('filtered', 'raw') if kind in fit}
    if statistics.get('cross_validation'):
        found['cross_validation'] = statistics['cross_validation']
    names = {name: tuple(sorted(entry['rms'])) for name, entry in found.items()}
    names.update({name: tuple(sorted(statistics[name])) for name in (
        'standard_deviation', 'correlation_samples') if name in statistics})
    if len(set(names.values())) > 1:
        raise ConfigError(f'{source} is damaged: statistics',
                          expected='the same joints throughout',
                          found=[f"{name} of {' '.join(of)}" for name, of in names.items()])
