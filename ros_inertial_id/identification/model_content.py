"""
Model content: what a model file may hold, checked once where it is read.

SCHEMA says which keys, types and finite numbers there are.  Behind it nobody checks again.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.friction import LAWS
from ..dynamics.inertial_parameters import Parameter
from ..errors import ConfigError

LARGEST, SMALLEST = 1e30, 1e-100  # of numbers: squares and reciprocals stay finite


class Leaf(NamedTuple):
    """A value: what it is in ``words``, and whether one ``holds``."""

    words: str
    holds: Callable[[Any], bool]


def _finite(value: Any) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and abs(value) <= LARGEST)


ANYTHING = Leaf('anything', lambda value: True)
TEXT = Leaf('a text', lambda value: isinstance(value, str))
FLAG = Leaf('true or false', lambda value: isinstance(value, bool))
NUMBER = Leaf('a finite number', _finite)
POSITIVE = Leaf('a positive number', lambda value: _finite(value) and value > SMALLEST)
NUMBER_OR_NONE = Leaf('a finite number or null', lambda value: value is None or _finite(value))

# A mapping names its keys, optional ones with ?, and may have others; {str: item} is one of any
# keys.  [item] is a list, [item, ...] one of at least one, [item] * n one of n.
NUMBERS = {str: NUMBER}
RESIDUALS = {'rms': NUMBERS, 'relative_percent': NUMBER_OR_NONE, 'measured_rms?': NUMBERS,
             'samples?': NUMBER, 'rms_all?': NUMBER_OR_NONE}
FIT = {'filtered': RESIDUALS, 'raw?': RESIDUALS}
SCHEMA: dict[str, Any] = {
    'method': TEXT, 'options': {str: ANYTHING},
    'robot': {'name': TEXT, 'joints': [TEXT], 'kinematics_sha256': TEXT, 'urdf': TEXT},
    'mounting': {'gravity_base': [[NUMBER] * 3, ...], 'known?': [TEXT], 'missing?': [TEXT]},
    'parameters': [{'name': TEXT, 'unit': TEXT, 'owner': TEXT, 'law': TEXT, 'scale': POSITIVE,
                    'nominal': NUMBER, 'prior_sd': POSITIVE, 'value': NUMBER,
                    'nonlinear': NUMBER_OR_NONE}, ...],
    'base': [{'name': TEXT, 'expression': TEXT, 'unit': TEXT, 'determined': FLAG,
              'nominal': NUMBER, 'value': NUMBER_OR_NONE, 'standard_error': NUMBER_OR_NONE,
              'relative_percent': NUMBER_OR_NONE, 'grouping': NUMBERS}],
    'covariance': [TEXT],
    'statistics': {
        'training': FIT, 'samples': NUMBER, 'rank': NUMBER, 'rank_in_data': NUMBER,
        'condition_number': NUMBER_OR_NONE, 'correlation_samples': {str: POSITIVE},
        'validation?': FIT, 'standard_deviation?': NUMBERS,
        'prediction_band?': {'joints': {str: NUMBERS}},
        'nonlinear_parameters?': {str: {'value': NUMBER}}, 'masked_share?': [NUMBER_OR_NONE],
        'checks?': [{str: ANYTHING}], 'choices?': [{'what': TEXT}],
        'verdict?': {'word': TEXT, 'reasons': [TEXT], 'joints?': {str: {'word': TEXT}}},
        'consistent?': {'loss_percent': NUMBER_OR_NONE, 'links?': {str: [NUMBER] * 10}}},
    'validity_range': {str: {str: [NUMBER] * 2}},
    'preprocessing': [{'cutoff': POSITIVE, 'velocity': TEXT, 'time_offset?': NUMBER}, ...],
    'provenance': {'created': TEXT, 'recordings': [{str: ANYTHING}]}}


def check(value: Any, schema: Any, where: str) -> None:
    """Raise ConfigError that names the place, from ``where`` on, at which a value differs."""
    if isinstance(schema, Leaf):
        if not schema.holds(value):
            raise ConfigError(where, expected=schema.words, found=repr(value)[:80])
    elif isinstance(schema, list):
        exact = len(schema) > 1 and ... not in schema
        least = len(schema) if exact else len(schema) - 1
        if not isinstance(value, list) or len(value) < least or exact and len(value) != least:
            raise ConfigError(where, expected=f"a list of {'' if exact else 'at least '}{least}",
                              found=repr(value)[:80])
        for k, item in enumerate(value):
            check(item, schema[0], f'{where}, {k + 1}')
    else:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise ConfigError(where, expected='a mapping of texts', found=repr(value)[:80])
        lacking = sorted(k for k in schema if k is not str and k[-1] != '?' and k not in value)
        if lacking:
            raise ConfigError(f"{where} is incomplete; it has no {', '.join(lacking)}")
        for key, item in value.items():
            check(item, schema.get(key, schema.get(f'{key}?', schema.get(str, ANYTHING))),
                  f'{where}, {key}')


def checked_content(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """
    Return the fields of an IdentifiedModel out of the content of a file.

    data : {key: value} as SCHEMA has them; source : where it comes from, for messages
    ConfigError names the first place that no identification writes so.
    """
    for key, schema in SCHEMA.items():
        check(data[key], schema, f'{source} is damaged: {key}')
    curved = {name for name, law in LAWS.items() if law.nonlinear_values != (None,)}
    for k, entry in enumerate(data['parameters']):
        if (entry['law'] in curved) != (entry['nonlinear'] is not None):
            raise ConfigError(f'{source} is damaged: parameters, {k + 1}, nonlinear',
                              expected='a number where the law has one', found=entry['nonlinear'])
    try:
        parameters = tuple(Parameter(**{k: v for k, v in p.items() if k != 'value'})
                           for p in data['parameters'])
        covariance = np.array([[float(x) for x in row.split()] for row in data['covariance']])
        good = not data['base'] or covariance.shape == (len(data['base']),) * 2
    except (TypeError, ValueError):
        good = False
    names = {p['name'] for p in data['parameters']}
    if not good or not np.isfinite(covariance).all() or any(
            not names.issuperset(entry['grouping'])
            or entry['determined'] and None in (entry['value'], entry['standard_error'])
            for entry in data['base']):
        raise ConfigError(f'{source} is damaged', found='other content', expected='columns of '
                          'parameters, base parameters of them, and as many rows of covariance')
    return dict(data, values=np.array([float(p['value']) for p in data['parameters']]),
                covariance=covariance, parameters=parameters)
