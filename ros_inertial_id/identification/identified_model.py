"""
IdentifiedModel: a YAML file that says everything needed to predict with it and to judge it.

SCHEMA says which keys, types and finite numbers it has, and is checked once where a file is read.
Behind it nobody checks again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields
import math
from typing import Any, Protocol

import numpy as np
import yaml

from ..dynamics.friction import LAWS, USUAL_CONSTANTS
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..errors import ConfigError, path_text
from ..options import yaml_content

FORMAT = 'ros_inertial_id/identified_model'
VERSION = 1
MOST_LETTERS = 100_000  # of a text but the URDF: a row of the covariance of 4000 parameters
# Of numbers: squares and reciprocals stay finite, whole numbers are the same as floats.
LARGEST_NUMBER = {float: 1e30, int: (1 << 53) - 1}
SMALLEST_POSITIVE = 1e-100


@dataclass(frozen=True)
class IdentifiedModel:
    """
    What was identified, from what, and how well.

    method, options : of the identification (options as plain values)
    robot : name, joints, kinematics_sha256, urdf; mounting : text and gravity_base
    parameters : tuple of Parameter; values : (p,) standard parameters that reproduce the base
        parameters (those that the data cannot show are as in the robot description)
    base : list of dicts name, expression, value, standard_error, unit, determined, nominal,
        relative_percent, unconstrained (value, standard error) by the data alone where bodies are
        physically consistent, combined_error and budget ({source: standard error}), see
        fit/budget.py
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

    @property
    def systematic_errors(self) -> np.ndarray:
        """Return H (b, k): errors of unit size that no recording shows, (b, 0) in older files."""
        rows = self.statistics.get('systematic_errors', len(self.base) * [''])
        return np.array([list(map(float, row.split())) for row in rows])

    @property
    def combined_covariance(self) -> np.ndarray:
        """
        Return the covariance (b, b) with the errors that no recording shows, see fit/budget.py.

        Of files without these it is ``covariance``.
        """
        errors = self.systematic_errors
        return np.asarray(self.covariance + errors @ errors.T)

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
        content['covariance'] = list(map(row_text, self.covariance))
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
        found: Any = 'something else'
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


def row_text(row: np.ndarray) -> str:
    """Return the numbers of a ``row`` of a matrix as text, to the last digit."""
    return ' '.join(map('{:.17g}'.format, row))


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
    for kind, conversion in CONVERSIONS:
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
CONVERSIONS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
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


def _always(value: Any) -> bool:
    return True


@dataclass(frozen=True)
class Leaf:
    """A value of a ``kind`` that ``holds``, as ``words`` say."""

    words: str
    kind: type
    holds: Callable[[Any], bool] = _always

    def check(self, value: Any, where: str) -> None:
        """Raise ConfigError, see Expected."""
        if not isinstance(value, self.kind) or not self.holds(value):
            raise ConfigError(where, expected=self.words, found=repr(value)[:80])


def _is_number(value: Any) -> bool:
    largest = LARGEST_NUMBER.get(type(value))
    return largest is not None and abs(value) <= largest


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > SMALLEST_POSITIVE


def _is_not_negative(value: Any) -> bool:
    return _is_number(value) and value >= 0.0


def _are_two_numbers(values: Any) -> bool:
    if not isinstance(values, list) or len(values) != 2:
        return False
    return all(map(_is_number, values))


def _are_in_order(values: Any) -> bool:
    return _are_two_numbers(values) and values[0] <= values[1]


def _are_texts(keys: Iterable[Any]) -> bool:
    return all(isinstance(key, str) for key in keys)


def _or_none(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the test ``holds`` with None allowed."""
    return lambda value: value is None or holds(value)


ANYTHING = Leaf('anything', object)
LONG_TEXT = Leaf('a text', str)
TEXT = Leaf(
    f'a text of at most {MOST_LETTERS} letters', str, lambda text: len(text) <= MOST_LETTERS
)
FLAG = Leaf('true or false', bool)
NUMBER = Leaf('a finite number', object, _is_number)
POSITIVE = Leaf('a positive number', object, _is_positive)
INTERVAL = Leaf('two finite numbers, the smaller first', list, _are_in_order)
NUMBER_OR_NONE = Leaf('a finite number or null', object, _or_none(_is_number))
ERROR_OR_NONE = Leaf('a number not below 0, or null', object, _or_none(_is_not_negative))
PAIR_OR_NONE = Leaf('two finite numbers or null', object, _or_none(_are_two_numbers))
MAPPING = Leaf('a mapping of texts', dict, _are_texts)
LIST = Leaf('a list of at least 0', list)
FILLED_LIST = Leaf('a list of at least 1', list, bool)
LIST_OF_3 = Leaf('a list of 3', list, lambda items: len(items) == 3)
LIST_OF_10 = Leaf('a list of 10', list, lambda items: len(items) == 10)


@dataclass(frozen=True)
class Items:
    """A list: what each ``item`` of it holds, and how long it is by the Leaf ``length``."""

    item: Expected
    length: Leaf = LIST

    def check(self, value: Any, where: str) -> None:
        """Raise ConfigError, see Expected."""
        self.length.check(value, where)
        for number, item in enumerate(value, 1):
            self.item.check(item, f'{where}, {number}')


@dataclass(frozen=True)
class Keys:
    """A mapping: what its ``required``, its ``optional`` and ``other`` keys hold."""

    required: Mapping[str, Expected]
    optional: Mapping[str, Expected] = field(default_factory=dict)
    other: Expected = ANYTHING

    def check(self, value: Any, where: str) -> None:
        """Raise ConfigError, see Expected."""
        MAPPING.check(value, where)
        lacking = set(self.required) - set(value)
        if lacking:
            raise ConfigError(f'{where} is incomplete; it has no {_listed(lacking)}')
        expected = {**self.required, **self.optional}
        for key, item in value.items():
            expected.get(key, self.other).check(item, f'{where}, {key}')


def each(item: Expected) -> Keys:
    """Return the Expected of a mapping of any keys, an ``item`` of each."""
    return Keys({}, other=item)


NUMBERS = each(NUMBER)
RANGE = each(each(INTERVAL))
RESIDUALS = Keys(
    {'rms': NUMBERS, 'relative_percent': NUMBER_OR_NONE},
    optional={'measured_rms': NUMBERS, 'samples': NUMBER, 'rms_all': NUMBER_OR_NONE},
)
FIT = Keys({'filtered': RESIDUALS}, optional={'raw': RESIDUALS})
OUTSIDE = Keys(
    {},
    optional={
        'samples_percent': NUMBER_OR_NONE,
        'relative_percent_inside': NUMBER_OR_NONE,
        'relative_percent_outside': NUMBER_OR_NONE,
        'joints': each(each(Keys({'samples_percent': NUMBER, 'seen': INTERVAL}))),
    },
)
VALIDATION = Keys(
    {'filtered': RESIDUALS},
    optional={
        'raw': RESIDUALS,
        'outside': OUTSIDE,
        'range': RANGE,
        'fixed_cutoff': Keys({'cutoff': NUMBER, 'relative_percent': NUMBER_OR_NONE}),
    },
)
ROBOT = Keys({'name': TEXT, 'joints': Items(TEXT), 'kinematics_sha256': TEXT, 'urdf': LONG_TEXT})
MOUNTING = Keys(
    {'text': Items(TEXT), 'gravity_base': Items(Items(NUMBER, LIST_OF_3), FILLED_LIST)},
    optional={'known': Items(TEXT), 'missing': Items(TEXT)},
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
    },
    optional={
        'unconstrained': PAIR_OR_NONE,
        'combined_error': ERROR_OR_NONE,
        'budget': each(ERROR_OR_NONE),
    },
)
NONLINEAR_PARAMETER = Keys(
    {'value': NUMBER}, optional={'least': NUMBER_OR_NONE, 'greatest': NUMBER_OR_NONE}
)
CHOICE = Keys(
    {'what': TEXT},
    optional={
        'candidate': TEXT,
        'chosen': FLAG,
        'evidence': NUMBER,
        'tilt_deg': NUMBER_OR_NONE,
        'left_out_error': NUMBER_OR_NONE,
        'worse_percent': NUMBER_OR_NONE,
        'worse_error_percent': NUMBER_OR_NONE,
        'law': TEXT,
        'joints': Items(TEXT),
        'own_percent': NUMBER,
    },
)
NUISANCE = Keys(
    {
        'what': TEXT,
        'joint': TEXT,
        'unit': TEXT,
        'value': NUMBER,
        'standard_error': NUMBER,
        'prior': NUMBER,
    }
)
VERDICT = Keys(
    {'word': TEXT, 'reasons': Items(TEXT)}, optional={'joints': each(Keys({'word': TEXT}))}
)
CONSISTENT = Keys(
    {'loss_percent': NUMBER_OR_NONE},
    optional={'links': each(Items(NUMBER, LIST_OF_10)), 'weight_of_description': POSITIVE},
)
MODEL, DESCRIBED = 'model', 'described'  # whose errors the entry of a replay has
STATISTICS = Keys(
    {
        'training': FIT,
        'samples': NUMBER,
        'rank': NUMBER,
        'rank_in_data': NUMBER,
        'condition_number': NUMBER_OR_NONE,
        'correlation_samples': each(POSITIVE),
    },
    optional={
        'validation': VALIDATION,
        'cross_validation': RESIDUALS,
        'standard_deviation': NUMBERS,
        'dependence': each(Keys({'inflation': NUMBER, 'partner': TEXT, 'correlation': NUMBER})),
        'prediction_band': Keys({'joints': each(NUMBERS)}, optional={'level': NUMBER}),
        'unconstrained': Keys({}, optional={'training': FIT, 'validation': FIT}),
        'nonlinear_parameters': each(NONLINEAR_PARAMETER),
        'masked_share': Items(NUMBER_OR_NONE),
        'checks': Items(each(ANYTHING)),
        'choices': Items(CHOICE),
        'nuisances': Items(NUISANCE),
        'verdict': VERDICT,
        'consistent': CONSISTENT,
        'systematic_errors': Items(TEXT),
        'replay': Keys(
            {'of': TEXT, 'windows': NUMBER, 'seconds': Items(NUMBER), 'joints': each(ANYTHING)},
            optional={'all': each(ANYTHING), 'worst': each(TEXT)},
        ),
        'ratios_in_simulators': each(POSITIVE),
    },
)
PREPROCESSING = Keys(
    {'cutoff': POSITIVE, 'velocity': TEXT},
    optional={
        'motion_ends_at': NUMBER_OR_NONE,
        'velocity_disagreement': NUMBER_OR_NONE,
        'rate': NUMBER,
        'decimate': NUMBER,
        'duration': NUMBER,
        'time_offset': NUMBER,
        'time_offset_found': NUMBER,
        'time_offset_error': NUMBER,
        'time_offset_residual_ratio': NUMBER,  # no longer written; models of before have it
    },
)
PROVENANCE = Keys(
    {'created': TEXT, 'recordings': Items(each(ANYTHING)), 'versions': each(TEXT)},
    optional={'validation': Items(each(ANYTHING)), 'left_out': each(TEXT)},
)
SCHEMA: dict[str, Expected] = {
    'method': TEXT,
    'options': Keys({'estimator': TEXT}),
    'robot': ROBOT,
    'mounting': MOUNTING,
    'parameters': Items(PARAMETER, FILLED_LIST),
    'base': Items(BASE_PARAMETER, FILLED_LIST),
    'covariance': Items(TEXT),
    'statistics': STATISTICS,
    'validity_range': RANGE,
    'preprocessing': Items(PREPROCESSING, FILLED_LIST),
    'provenance': PROVENANCE,
}


def checked_content(data: Mapping[str, Any], source: str) -> dict[str, Any]:
    """
    Return the fields of an IdentifiedModel out of the content of a file.

    data : {key: value} as SCHEMA has them; source : where it comes from, for messages
    ConfigError names the first place that no identification writes so.
    """
    for key, expected in SCHEMA.items():
        expected.check(data[key], f'{source} is damaged: {key}')
    entries = [_with_former_constant(entry) for entry in data['parameters']]
    _check_nonlinear(entries, source)
    try:
        parameters = tuple(map(_parameter, entries))
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


def _with_former_constant(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ``entry`` of a parameter with the constant that its law had when it was fixed."""
    if entry['nonlinear'] is None and entry['law'] in USUAL_CONSTANTS:
        return {**entry, 'nonlinear': USUAL_CONSTANTS[entry['law']]}
    return entry


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
    numbers = [list(map(float, row.split())) for row in rows]
    covariance = np.asarray_chkfinite(numbers)
    if covariance.shape != (count, count):
        raise ValueError('not square')
    return covariance


def _check_base(entries: Sequence[Mapping[str, Any]], names: Set[str]) -> None:
    """Raise ValueError at a base parameter of no parameter in ``names``, or without its value."""
    for entry in entries:
        grouping = set(entry['grouping'])
        if not grouping or not grouping <= names:
            raise ValueError('of other parameters')
        if entry['determined'] and None in (entry['value'], entry['standard_error']):
            raise ValueError('determined, without a value')
