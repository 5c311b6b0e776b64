"""
IdentifiedModel: a YAML file that says everything needed to predict with it and to judge it.

SCHEMA says which keys, types and finite numbers it has, and is checked once where a file is read.
Behind it nobody checks again.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields
import math
from typing import Any, Protocol

import numpy as np
import yaml

from ..dynamics.friction import LAWS
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..errors import ConfigError, path_text
from ..options import yaml_content

FORMAT = 'ros_inertial_id/identified_model'
VERSION = 1
MOST_LETTERS = 100_000  # of a text but the URDF: a row of the covariance of 4000 parameters
LARGEST, SMALLEST = 1e30, 1e-100  # of numbers: squares and reciprocals stay finite
FIRST_INEXACT = 1 << 53  # the whole numbers below it are floats, too


@dataclass(frozen=True)
class IdentifiedModel:
    """
    What was identified, from what, and how well.

    method, options : of the identification (options as plain values)
    robot : name, joints, kinematics_sha256, urdf; mounting : text and gravity_base
    parameters : tuple of Parameter; values : (p,) standard parameters that reproduce the base
        parameters (those that the data cannot show are as in the robot description)
    base : list of dicts name, expression, value, standard_error, unit, determined, nominal,
        relative_percent, and unconstrained (value, standard error) by the data alone where bodies
        are physically consistent
    covariance : (b, b) of the base parameters as they predict torque, given the laws, their
        constants and gravity; not knowing these is in the standard errors only
    statistics : rank, condition number, residuals in training, left-out and validation data
    validity_range : joint -> smallest and largest q, v, a in training
    preprocessing, provenance : how signals were prepared; bags, hashes, windows, versions
    """

    method: str
    options: dict[str, Any]
    robot: dict[str, Any]
    mounting: dict[str, Any]
    parameters: tuple[Parameter, ...]
    values: np.ndarray
    base: list[dict[str, Any]]
    covariance: np.ndarray
    statistics: dict[str, Any]
    validity_range: dict[str, Any]
    preprocessing: list[Any]
    provenance: dict[str, Any] = field(default_factory=dict)

    def predict(self, block: RegressorBlock) -> dict[str, np.ndarray]:
        """Return group name -> predicted rows (B,) of a RegressorBlock ``block``."""
        return block.predicted(self.values)

    def to_yaml(self) -> str:
        """Return the model as YAML text."""
        content = {'format': FORMAT, 'version': VERSION}
        for item in fields(self):
            content[item.name] = getattr(self, item.name)
        del content['values']
        content['parameters'] = [
            {**asdict(parameter), 'value': float(value)}
            for parameter, value in zip(self.parameters, self.values)
        ]
        content['covariance'] = list(map(_row_text, self.covariance))
        return yaml.dump(
            plain(content), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=98
        )

    @classmethod
    def from_yaml(cls, text: str, source: str = 'model') -> 'IdentifiedModel':
        """
        Return the model in YAML text.

        text : as ``to_yaml`` makes it; source : where it comes from, for messages
        ConfigError when it is something else, of another version, incomplete or damaged.
        """
        content = yaml_content(text, source)
        found: Any = type(content)
        if isinstance(content, dict):
            found = content.get('format')
        if found != FORMAT:
            raise ConfigError(
                f'{source} is not an identified model', expected=f'format: {FORMAT}', found=found
            )
        if content.get('version') != VERSION:
            raise ConfigError(
                f'{source} is of another version',
                expected=VERSION,
                found=content.get('version'),
                do='identify again with this version',
            )
        content = with_present_keys(content)
        del content['format'], content['version']
        lacking = set(SCHEMA) - set(content)
        if lacking:
            raise ConfigError(f'{source} is incomplete; it has no {_listed(lacking)}')
        unknown = set(content) - set(SCHEMA)
        if unknown:
            raise ConfigError(f'{source} has keys that no model file has: {_listed(unknown)}')
        return cls(**checked_content(content, source))


def _row_text(row: np.ndarray) -> str:
    """Return the numbers of a ``row`` of the covariance as text, to the last digit."""
    return ' '.join(f'{x:.17g}' for x in row)


def _listed(keys: set[Any]) -> str:
    return ', '.join(sorted(map(str, keys)))


# Keys of model files of version 0.1.0, which are still read: {where: {then: now}}.
FORMER_KEYS: dict[str, dict[str, str]] = {
    '': {'region': 'validity_range'},
    'statistics': {'deviation': 'standard_deviation', 'shapes': 'nonlinear_parameters'},
    'parameters': {'spread': 'prior_sd', 'shape': 'nonlinear'},
    'preprocessing': {'struck': 'impacts'},
}


def with_present_keys(data: dict[str, Any]) -> dict[str, Any]:
    """Return the content ``data`` of a model file, keys of 0.1.0 as they are called now."""
    return {
        FORMER_KEYS[''].get(key, key): _renamed(value, FORMER_KEYS.get(key, {}))
        for key, value in data.items()
    }


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Return a mapping with other ``names`` of keys, or a list of such; all else as it is."""
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, dict):
        return {names.get(key, key): item for key, item in value.items()}
    return value


def plain(value: Any) -> Any:
    """Return a ``value`` as numbers, lists and dicts of Python alone, not-a-number as None."""
    for kind, conversion in PLAIN:
        if isinstance(value, kind):
            return conversion(value)
    return value


def _plain_mapping(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    return {path_text(key): plain(item) for key, item in mapping.items()}


def _plain_number(number: float) -> float | None:
    if math.isfinite(number):
        return number
    return None


# How a value of each type is written; the first that fits. All others are written as they are.
PLAIN: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (dict, _plain_mapping),
    ((list, tuple), lambda items: list(map(plain, items))),
    (np.ndarray, lambda array: plain(array.tolist())),
    (np.generic, lambda scalar: plain(scalar.item())),
    (float, _plain_number),
    (str, path_text),
)


class _Dumper(getattr(yaml, 'CSafeDumper', yaml.SafeDumper)):  # type: ignore[misc]
    """Short lists of numbers on one line, long texts as blocks."""


def _represent_text(dumper: Any, text: str) -> Any:
    style = None
    if '\n' in text:
        style = '|'
    return dumper.represent_scalar('tag:yaml.org,2002:str', text, style=style)


def _represent_list(dumper: Any, items: list[Any]) -> Any:
    on_one_line = all(isinstance(item, (int, float, type(None))) for item in items)
    return dumper.represent_sequence('tag:yaml.org,2002:seq', items, flow_style=on_one_line)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)


class Expected(Protocol):
    """What a place of a model file has to hold."""

    def check(self, value: Any, where: str) -> None:
        """Raise ConfigError that names the place, from ``where`` on, at which a value differs."""


@dataclass(frozen=True)
class Leaf:
    """A value: what it is in ``words``, and whether one ``holds``."""

    words: str
    holds: Callable[[Any], bool]

    def check(self, value: Any, where: str) -> None:
        """Raise ConfigError, see Expected."""
        if not self.holds(value):
            raise ConfigError(where, expected=self.words, found=repr(value)[:80])


def _is_number(value: Any) -> bool:
    """Return whether a value is a number whose square is finite, an integer also as a float."""
    if type(value) is int:
        return abs(value) < FIRST_INEXACT
    return isinstance(value, float) and abs(value) <= LARGEST


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _is_mapping_of_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value))


def _or_none(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the test ``holds`` with None allowed."""
    return lambda value: value is None or holds(value)


ANYTHING = Leaf('anything', lambda value: True)
LONG_TEXT = Leaf('a text', _is_text)
TEXT = Leaf(
    f'a text of at most {MOST_LETTERS} letters',
    lambda value: _is_text(value) and len(value) <= MOST_LETTERS,
)
FLAG = Leaf('true or false', lambda value: isinstance(value, bool))
NUMBER = Leaf('a finite number', _is_number)
POSITIVE = Leaf('a positive number', lambda value: _is_number(value) and value > SMALLEST)
NUMBER_OR_NONE = Leaf('a finite number or null', _or_none(_is_number))
ERROR_OR_NONE = Leaf(
    'a number not below 0, or null', _or_none(lambda value: _is_number(value) and value >= 0.0)
)
INTERVAL = Leaf(
    'two finite numbers, the smaller first',
    lambda value: _is_pair(value) and value[0] <= value[1],
)
PAIR_OR_NONE = Leaf('two finite numbers or null', _or_none(_is_pair))
MAPPING = Leaf('a mapping of texts', _is_mapping_of_texts)


@dataclass(frozen=True)
class ListOf:
    """A list of items: ``at_least`` so many, or ``exactly`` so many."""

    item: Expected
    at_least: int = 0
    exactly: int | None = None

    def check(self, value: Any, where: str) -> None:
        """Raise ConfigError, see Expected."""
        self._length().check(value, where)
        for number, item in enumerate(value, 1):
            self.item.check(item, f'{where}, {number}')

    def _length(self) -> Leaf:
        if self.exactly is None:
            return Leaf(
                f'a list of at least {self.at_least}',
                lambda value: isinstance(value, list) and len(value) >= self.at_least,
            )
        return Leaf(
            f'a list of {self.exactly}',
            lambda value: isinstance(value, list) and len(value) == self.exactly,
        )


class Keys:
    """A mapping: what each of its keys holds, of optional ones with ?, and what ``others`` do."""

    def __init__(self, expected: Mapping[str, Expected], others: Expected = ANYTHING) -> None:
        self.required = {key for key in expected if not key.endswith('?')}
        self.expected = {key.removesuffix('?'): item for key, item in expected.items()}
        self.others = others

    def check(self, value: Any, where: str) -> None:
        """Raise ConfigError, see Expected."""
        MAPPING.check(value, where)
        lacking = self.required - set(value)
        if lacking:
            raise ConfigError(f'{where} is incomplete; it has no {_listed(lacking)}')
        for key, item in value.items():
            self.expected.get(key, self.others).check(item, f'{where}, {key}')


def each(item: Expected) -> Keys:
    """Return what a mapping of any keys holds, an ``item`` of each."""
    return Keys({}, others=item)


NUMBERS = each(NUMBER)
RESIDUALS = Keys(
    {
        'rms': NUMBERS,
        'relative_percent': NUMBER_OR_NONE,
        'measured_rms?': NUMBERS,
        'samples?': NUMBER,
        'rms_all?': NUMBER_OR_NONE,
    }
)
FIT_OF = {'filtered': RESIDUALS, 'raw?': RESIDUALS}
FIT = Keys(FIT_OF)
RANGE = each(each(INTERVAL))
OUTSIDE = Keys(
    {
        'samples_percent?': NUMBER_OR_NONE,
        'relative_percent_inside?': NUMBER_OR_NONE,
        'relative_percent_outside?': NUMBER_OR_NONE,
        'joints?': each(each(Keys({'samples_percent': NUMBER, 'seen': INTERVAL}))),
    }
)
PARAMETER = Keys(
    {
        'name': TEXT,
        'unit': TEXT,
        'owner': TEXT,
        'law': TEXT,
        'scale': POSITIVE,
        'nominal': NUMBER,
        'prior_sd': POSITIVE,
        'value': NUMBER,
        'nonlinear': NUMBER_OR_NONE,
    }
)
BASE_PARAMETER = Keys(
    {
        'name': TEXT,
        'expression': TEXT,
        'unit': TEXT,
        'determined': FLAG,
        'nominal': NUMBER,
        'value': NUMBER_OR_NONE,
        'standard_error': ERROR_OR_NONE,
        'relative_percent': NUMBER_OR_NONE,
        'grouping': NUMBERS,
        'unconstrained?': PAIR_OR_NONE,
    }
)
CHOICE = Keys(
    {
        'what': TEXT,
        'candidate?': TEXT,
        'chosen?': FLAG,
        'evidence?': NUMBER,
        'tilt_deg?': NUMBER_OR_NONE,
        'left_out_error?': NUMBER_OR_NONE,
        'worse_percent?': NUMBER_OR_NONE,
        'worse_error_percent?': NUMBER_OR_NONE,
    }
)
STATISTICS = Keys(
    {
        'training': FIT,
        'samples': NUMBER,
        'rank': NUMBER,
        'rank_in_data': NUMBER,
        'condition_number': NUMBER_OR_NONE,
        'correlation_samples': each(POSITIVE),
        'validation?': Keys(
            {
                **FIT_OF,
                'outside?': OUTSIDE,
                'range?': RANGE,
                'fixed_cutoff?': Keys({'cutoff': NUMBER, 'relative_percent': NUMBER_OR_NONE}),
            }
        ),
        'cross_validation?': RESIDUALS,
        'standard_deviation?': NUMBERS,
        'dependence?': each(Keys({'inflation': NUMBER, 'partner': TEXT, 'correlation': NUMBER})),
        'prediction_band?': Keys({'level?': NUMBER, 'joints': each(NUMBERS)}),
        'unconstrained?': Keys({'training?': FIT, 'validation?': FIT}),
        'nonlinear_parameters?': each(
            Keys({'value': NUMBER, 'least?': NUMBER_OR_NONE, 'greatest?': NUMBER_OR_NONE})
        ),
        'masked_share?': ListOf(NUMBER_OR_NONE),
        'checks?': ListOf(each(ANYTHING)),
        'choices?': ListOf(CHOICE),
        'verdict?': Keys(
            {'word': TEXT, 'reasons': ListOf(TEXT), 'joints?': each(Keys({'word': TEXT}))}
        ),
        'consistent?': Keys(
            {'loss_percent': NUMBER_OR_NONE, 'links?': each(ListOf(NUMBER, exactly=10))}
        ),
    }
)
PREPROCESSING = Keys(
    {
        'cutoff': POSITIVE,
        'velocity': TEXT,
        'motion_ends_at?': NUMBER_OR_NONE,
        'velocity_disagreement?': NUMBER_OR_NONE,
        'rate?': NUMBER,
        'decimate?': NUMBER,
        'duration?': NUMBER,
        'time_offset?': NUMBER,
        'time_offset_found?': NUMBER,
        'time_offset_error?': NUMBER,
        'time_offset_residual_ratio?': NUMBER,
    }
)
SCHEMA: dict[str, Expected] = {
    'method': TEXT,
    'options': Keys({'estimator': TEXT}),
    'robot': Keys(
        {'name': TEXT, 'joints': ListOf(TEXT), 'kinematics_sha256': TEXT, 'urdf': LONG_TEXT}
    ),
    'mounting': Keys(
        {
            'text': ListOf(TEXT),
            'gravity_base': ListOf(ListOf(NUMBER, exactly=3), at_least=1),
            'known?': ListOf(TEXT),
            'missing?': ListOf(TEXT),
        }
    ),
    'parameters': ListOf(PARAMETER, at_least=1),
    'base': ListOf(BASE_PARAMETER, at_least=1),
    'covariance': ListOf(TEXT),
    'statistics': STATISTICS,
    'validity_range': RANGE,
    'preprocessing': ListOf(PREPROCESSING, at_least=1),
    'provenance': Keys(
        {
            'created': TEXT,
            'recordings': ListOf(each(ANYTHING)),
            'versions': each(TEXT),
            'validation?': ListOf(each(ANYTHING)),
            'left_out?': each(TEXT),
        }
    ),
}


def checked_content(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """
    Return the fields of an IdentifiedModel out of the content of a file.

    data : {key: value} as SCHEMA has them; source : where it comes from, for messages
    ConfigError names the first place that no identification writes so.
    """
    for key, expected in SCHEMA.items():
        expected.check(data[key], f'{source} is damaged: {key}')
    _check_nonlinear(data['parameters'], source)
    try:
        parameters = tuple(map(_parameter, data['parameters']))
        covariance = _covariance(data['covariance'], len(data['base']))
        _check_base(data['base'], {parameter.name for parameter in parameters})
    except (TypeError, ValueError):
        raise ConfigError(
            f'{source} is damaged',
            found='other content',
            expected='columns of '
            'parameters, base parameters of them, and as many rows of covariance',
        ) from None
    return dict(
        data,
        values=np.array([float(entry['value']) for entry in data['parameters']]),
        covariance=covariance,
        parameters=parameters,
    )


def _check_nonlinear(entries: Sequence[Mapping[str, Any]], source: str) -> None:
    """Raise ConfigError at a parameter without its law's nonlinear one, or with one of none."""
    laws = {name for name, law in LAWS.items() if law.nonlinear_values != (None,)}
    for number, entry in enumerate(entries, 1):
        has_nonlinear = entry['nonlinear'] is not None
        if has_nonlinear != (entry['law'] in laws):
            raise ConfigError(
                f'{source} is damaged: parameters, {number}, nonlinear',
                expected='a number where the law has one',
                found=entry['nonlinear'],
            )


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    """Return the Parameter of an ``entry``; TypeError where it has keys that no Parameter has."""
    described = dict(entry)
    del described['value']
    return Parameter(**described)


def _covariance(rows: Sequence[str], count: int) -> np.ndarray:
    """Return the covariance (count, count) of its ``rows``; ValueError where it is none."""
    covariance = np.array([list(map(float, row.split())) for row in rows])
    if covariance.shape != (count, count):
        raise ValueError('not square')
    if not np.isfinite(covariance).all():
        raise ValueError('not finite')
    return covariance


def _check_base(entries: Sequence[Mapping[str, Any]], names: Set[str]) -> None:
    """Raise ValueError at a base parameter of no parameter in ``names``, or without its value."""
    for entry in entries:
        grouping = set(entry['grouping'])
        if not grouping or not grouping <= names:
            raise ValueError('of other parameters')
        if entry['determined'] and None in (entry['value'], entry['standard_error']):
            raise ValueError('determined, without a value')
