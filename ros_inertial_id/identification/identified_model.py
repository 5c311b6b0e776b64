"""
IdentifiedModel: a YAML file that says everything needed to predict with it and to judge it.

SCHEMA says which keys, types and finite numbers it has, and is checked once where a file is read.
Behind it nobody checks again.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
import math
from typing import Any, NamedTuple

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
        data = {'format': FORMAT, 'version': VERSION}
        for item in fields(self):
            data[item.name] = getattr(self, item.name)
        data['parameters'] = [
            dict(asdict(p), value=float(v)) for p, v in zip(self.parameters, self.values)
        ]
        del data['values']
        data['covariance'] = [' '.join(f'{x:.17g}' for x in row) for row in self.covariance]
        return yaml.dump(
            plain(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=98
        )

    @classmethod
    def from_yaml(cls, text: str, source: str = 'model') -> 'IdentifiedModel':
        """
        Return the model in YAML text.

        text : as ``to_yaml`` makes it; source : where it comes from, for messages
        ConfigError when it is something else, of another version, incomplete or damaged.
        """
        data = yaml_content(text, source)
        if not isinstance(data, dict) or data.get('format') != FORMAT:
            raise ConfigError(
                f'{source} is not an identified model',
                expected=f'format: {FORMAT}',
                found=data.get('format') if isinstance(data, dict) else type(data),
            )
        if data.get('version') != VERSION:
            raise ConfigError(
                f'{source} is of another version',
                expected=VERSION,
                found=data.get('version'),
                do='identify again with this version',
            )
        data = with_present_keys(data)
        del data['format'], data['version']
        names = {f.name for f in fields(cls)} - {'values'}
        for words, keys in (
            ('is incomplete; it has no', names - set(data)),
            ('has keys that no model file has:', set(data) - names),
        ):
            if keys:
                raise ConfigError(f'{source} {words} {", ".join(sorted(map(str, keys)))}')
        return cls(**checked_content(data, source))


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
    return (
        {names.get(key, key): item for key, item in value.items()}
        if isinstance(value, dict)
        else value
    )


def plain(value: Any) -> Any:
    """Return a ``value`` as numbers, lists and dicts of Python alone, not-a-number as None."""
    if isinstance(value, dict):
        return {path_text(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return path_text(value) if isinstance(value, str) else value


class _Dumper(getattr(yaml, 'CSafeDumper', yaml.SafeDumper)):  # type: ignore[misc]
    """Short lists of numbers on one line, long texts as blocks."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        'tag:yaml.org,2002:str', text, style='|' if '\n' in text else None
    ),
)
_Dumper.add_representer(
    list,
    lambda dumper, values: dumper.represent_sequence(
        'tag:yaml.org,2002:seq',
        values,
        flow_style=all(isinstance(x, (int, float, bool, type(None))) for x in values),
    ),
)


class Leaf(NamedTuple):
    """A value: what it is in ``words``, and whether one ``holds``."""

    words: str
    holds: Callable[[Any], bool]


def _finite(value: Any) -> bool:
    return (isinstance(value, float) or type(value) is int and abs(value) < 1 << 53) and (
        abs(value) <= LARGEST
    )


ANYTHING = Leaf('anything', lambda value: True)
LONG_TEXT = Leaf('a text', lambda value: isinstance(value, str))
TEXT = Leaf(
    f'a text of at most {MOST_LETTERS} letters',
    lambda value: isinstance(value, str) and len(value) <= MOST_LETTERS,
)
FLAG = Leaf('true or false', lambda value: isinstance(value, bool))
NUMBER = Leaf('a finite number', _finite)
POSITIVE = Leaf('a positive number', lambda value: _finite(value) and value > SMALLEST)
NUMBER_OR_NONE = Leaf('a finite number or null', lambda value: value is None or _finite(value))
ERROR_OR_NONE = Leaf(
    'a number not below 0, or null', lambda value: value is None or _finite(value) and value >= 0.0
)
INTERVAL = Leaf(
    'two finite numbers, the smaller first',
    lambda value: (
        isinstance(value, list)
        and len(value) == 2
        and all(map(_finite, value))
        and value[0] <= value[1]
    ),
)
PAIR_OR_NONE = Leaf(
    'two finite numbers or null',
    lambda value: (
        value is None or (isinstance(value, list) and len(value) == 2 and all(map(_finite, value)))
    ),
)

# A mapping names its keys, optional ones with ?, and may have others; {str: item} is one of any
# keys.  [item] is a list, [item, ...] one of at least one, [item] * n one of n.
NUMBERS = {str: NUMBER}
RESIDUALS = {
    'rms': NUMBERS,
    'relative_percent': NUMBER_OR_NONE,
    'measured_rms?': NUMBERS,
    'samples?': NUMBER,
    'rms_all?': NUMBER_OR_NONE,
}
FIT = {'filtered': RESIDUALS, 'raw?': RESIDUALS}
RANGE = {str: {str: INTERVAL}}
OUTSIDE = {
    'samples_percent?': NUMBER_OR_NONE,
    'relative_percent_inside?': NUMBER_OR_NONE,
    'relative_percent_outside?': NUMBER_OR_NONE,
    'joints?': {str: {str: {'samples_percent': NUMBER, 'seen': INTERVAL}}},
}
SCHEMA: dict[str, Any] = {
    'method': TEXT,
    'options': {'estimator': TEXT, str: ANYTHING},
    'robot': {'name': TEXT, 'joints': [TEXT], 'kinematics_sha256': TEXT, 'urdf': LONG_TEXT},
    'mounting': {
        'text': [TEXT],
        'gravity_base': [[NUMBER] * 3, ...],
        'known?': [TEXT],
        'missing?': [TEXT],
    },
    'parameters': [
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
        },
        ...,
    ],
    'base': [
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
        },
        ...,
    ],
    'covariance': [TEXT],
    'statistics': {
        'training': FIT,
        'samples': NUMBER,
        'rank': NUMBER,
        'rank_in_data': NUMBER,
        'condition_number': NUMBER_OR_NONE,
        'correlation_samples': {str: POSITIVE},
        'validation?': {
            **FIT,
            'outside?': OUTSIDE,
            'range?': RANGE,
            'fixed_cutoff?': {'cutoff': NUMBER, 'relative_percent': NUMBER_OR_NONE},
        },
        'cross_validation?': RESIDUALS,
        'standard_deviation?': NUMBERS,
        'dependence?': {str: {'inflation': NUMBER, 'partner': TEXT, 'correlation': NUMBER}},
        'prediction_band?': {'level?': NUMBER, 'joints': {str: NUMBERS}},
        'unconstrained?': {'training?': FIT, 'validation?': FIT},
        'nonlinear_parameters?': {
            str: {'value': NUMBER, 'least?': NUMBER_OR_NONE, 'greatest?': NUMBER_OR_NONE}
        },
        'masked_share?': [NUMBER_OR_NONE],
        'checks?': [{str: ANYTHING}],
        'choices?': [
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
        ],
        'verdict?': {'word': TEXT, 'reasons': [TEXT], 'joints?': {str: {'word': TEXT}}},
        'consistent?': {'loss_percent': NUMBER_OR_NONE, 'links?': {str: [NUMBER] * 10}},
    },
    'validity_range': RANGE,
    'preprocessing': [
        {
            'cutoff': POSITIVE,
            'velocity': TEXT,
            'motion_ends_at?': NUMBER_OR_NONE,
            'velocity_disagreement?': NUMBER_OR_NONE,
            **{
                f'{key}?': NUMBER
                for key in (
                    'rate',
                    'decimate',
                    'duration',
                    'time_offset',
                    'time_offset_found',
                    'time_offset_error',
                    'time_offset_residual_ratio',
                )
            },
        },
        ...,
    ],
    'provenance': {
        'created': TEXT,
        'recordings': [{str: ANYTHING}],
        'versions': {str: TEXT},
        'validation?': [{str: ANYTHING}],
        'left_out?': {str: TEXT},
    },
}


def check(value: Any, schema: Any, where: str) -> None:
    """Raise ConfigError that names the place, from ``where`` on, at which a value differs."""
    if isinstance(schema, Leaf):
        if not schema.holds(value):
            raise ConfigError(where, expected=schema.words, found=repr(value)[:80])
    elif isinstance(schema, list):
        exact = len(schema) > 1 and ... not in schema
        least = len(schema) if exact else len(schema) - 1
        if not isinstance(value, list) or len(value) < least or exact and len(value) != least:
            raise ConfigError(
                where,
                expected=f'a list of {"" if exact else "at least "}{least}',
                found=repr(value)[:80],
            )
        for k, item in enumerate(value):
            check(item, schema[0], f'{where}, {k + 1}')
    else:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise ConfigError(where, expected='a mapping of texts', found=repr(value)[:80])
        lacking = sorted(k for k in schema if k is not str and k[-1] != '?' and k not in value)
        if lacking:
            raise ConfigError(f'{where} is incomplete; it has no {", ".join(lacking)}')
        for key, item in value.items():
            check(
                item,
                schema.get(key, schema.get(f'{key}?', schema.get(str, ANYTHING))),
                f'{where}, {key}',
            )


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
            raise ConfigError(
                f'{source} is damaged: parameters, {k + 1}, nonlinear',
                expected='a number where the law has one',
                found=entry['nonlinear'],
            )
    try:
        parameters = tuple(
            Parameter(**{k: v for k, v in p.items() if k != 'value'}) for p in data['parameters']
        )
        covariance = np.array([[float(x) for x in row.split()] for row in data['covariance']])
        good = covariance.shape == (len(data['base']),) * 2
    except (TypeError, ValueError):
        good = False
    names = {p['name'] for p in data['parameters']}
    if (
        not good
        or not np.isfinite(covariance).all()
        or any(
            not (entry['grouping'] and names.issuperset(entry['grouping']))
            or entry['determined']
            and None in (entry['value'], entry['standard_error'])
            for entry in data['base']
        )
    ):
        raise ConfigError(
            f'{source} is damaged',
            found='other content',
            expected='columns of '
            'parameters, base parameters of them, and as many rows of covariance',
        )
    return dict(
        data,
        values=np.array([float(p['value']) for p in data['parameters']]),
        covariance=covariance,
        parameters=parameters,
    )
