"""
Options: frozen dataclasses whose fields know their description, type, unit and range.

Every room declares its own options with ``option``.  They are read here from YAML:

    serial_arm:
      mounting: rpy 0 1.5708 0
      friction: [viscous, coulomb]
    design:
      acceleration: [15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]

and the nodes declare their ROS parameters from the same fields, so a name, default and unit exist
once.  Unknown keys are refused with the nearest one named.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
import difflib
from functools import lru_cache
from html import unescape
import math
import re
import sys
import types
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import yaml

from .errors import ConfigError
from .given_files import given_text
from .share import config_file

# Blocks of a configuration file that hold no method's options.
DESIGN, DRIVER = 'design', 'driver'
LARGEST_FLOAT = sys.float_info.max  # a whole number of 400 digits is no float
DEEPEST, MOST_COPIED = 100, 100_000  # levels of a YAML; letters that its aliases stand for
MOST_ENTRIES = 100_000  # of a YAML, keys and values: ten times those of a large model
TAG = 'ros_inertial_id'  # of the element of a robot description that holds such blocks
TOPIC = re.compile(r'(?=.{1,200}$)(~?/)?[a-z_]\w*(/[a-z_]\w*)*', re.A | re.I)  # as rmw allows
EXPONENTIAL = re.compile(r'[-+]?\d+(\.\d*)?[eE][-+]?\d{1,3}')
_WORDS = {bool: 'true or false', float: 'a finite number', int: 'a whole number', str: 'a text'}
_SCHEMA = {bool: 'boolean', float: 'number', int: 'integer', str: 'string'}


def option(
    default: Any,
    description: str,
    *,
    unit: str = '',
    at_least: float | None = None,
    at_most: float | None = None,
    choices: Sequence[Any] | None = None,
) -> Any:
    """
    Return a dataclass field that carries its own documentation and range.

    default : value, a tuple for a list; description : one sentence; unit : SI, '' for none
    at_least, at_most : range of a number, or of every number in a list
    choices : the values there are, or those of every element of a list
    """
    metadata = {
        'description': description,
        'unit': unit,
        'at_least': at_least,
        'at_most': at_most,
        'choices': choices,
    }
    return field(default=default, metadata=metadata)


def topic_option(default: Any, description: str) -> Any:
    """Return the field of an option that is a topic, or several with blanks between."""
    return field(default=default, metadata={'description': description, 'topic': True})


def element_type(kind: Any, name: str) -> tuple[type, bool]:
    """Return (type of a value or of its elements, whether the field is a list)."""
    hint = _hints(kind)[name]
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True
    return hint, False


@dataclass(frozen=True)
class Setting:
    """
    What the values of an option may be: see ``option``.

    kind : of a value, or of its elements where ``many`` make a list
    """

    kind: type
    many: bool
    default: Any
    description: str = ''
    unit: str = ''
    at_least: float | None = None
    at_most: float | None = None
    choices: Sequence[Any] | None = None
    topic: bool = False

    def checked(self, value: Any, what: str) -> Any:
        """Return a ``value`` in the type of the option; ConfigError that begins with ``what``."""
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.tolist()
        if not self.many:
            return self._single(self._with_blanks(value), what)
        if isinstance(value, (self.kind, int)) and not isinstance(value, bool):
            value = [value]  # of all joints, or the only one
        if not isinstance(value, (list, tuple)):
            raise ConfigError(
                what, expected=f'a list, of {_WORDS[self.kind]} each', found=_shown(value)
            )
        elements = enumerate(value, 1)
        return tuple(self._single(x, f'{what}, element {number}') for number, x in elements)

    def _with_blanks(self, value: Any) -> Any:
        """Return a list of texts as one text, of topics with blanks between; others as is."""
        if self.kind is not str or not isinstance(value, (list, tuple)):
            return value
        if not all(isinstance(word, str) for word in value):
            return value
        return ' '.join(value)

    def _single(self, value: Any, what: str) -> Any:
        """Return a single value in its type and range, or raise ConfigError."""
        value = self._typed(value, what)
        if self.topic:
            value = _topics(value, what)
        if self.choices and value not in self.choices:
            raise ConfigError(
                what,
                found=_shown(value),
                exists=tuple(self.choices),
                do=nearest(value, self.choices),
            )
        self._check_range(value, what)
        return value

    def _typed(self, value: Any, what: str) -> Any:
        """Return a value in its type; a whole number may stand for a float, none that is none."""
        if isinstance(value, np.generic):
            value = value.item()
        if self.kind is float:
            value = _as_float(value)
        right = type(value) is self.kind
        if right and isinstance(value, float):
            right = math.isfinite(value)
        if not right:
            expected = _WORDS[self.kind] + self._unit_behind(' [{}]')
            raise ConfigError(what, expected=expected, found=_shown(value))
        return value

    def _check_range(self, value: Any, what: str) -> None:
        """Raise ConfigError for a number out of range."""
        if self.at_least is None and self.at_most is None:
            return
        low, high = -math.inf, math.inf
        if self.at_least is not None:
            low = self.at_least
        if self.at_most is not None:
            high = self.at_most
        if not low <= value <= high:
            expected = f'{low} to {high}' + self._unit_behind(' {}')
            raise ConfigError(what, expected=expected, found=value)

    def _unit_behind(self, form: str) -> str:
        """Return the unit in a ``form``, '' where there is none."""
        if not self.unit:
            return ''
        return form.format(self.unit)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the option."""
        out: dict[str, Any] = {'type': _SCHEMA[self.kind]}
        bounds = {'minimum': self.at_least, 'maximum': self.at_most}
        out |= {word: bound for word, bound in bounds.items() if bound is not None}
        if self.choices:
            out['enum'] = list(self.choices)
        default = self.default
        if self.many:
            out = {'anyOf': [{'type': 'array', 'items': out}, out]}
            default = list(default)
        description = self.description + self._unit_behind(' [{}]')
        return {**out, 'description': description, 'default': default}


def settings_of(kind: Any) -> dict[str, Setting]:
    """Return {name: Setting} of the fields of a dataclass ``kind`` of options."""
    return _settings_of(kind)


@lru_cache(maxsize=None)  # of its own: mypy takes a type[Any] for nothing that can be hashed
def _settings_of(kind: Any) -> dict[str, Setting]:
    return {
        spec.name: Setting(*element_type(kind, spec.name), spec.default, **spec.metadata)
        for spec in fields(kind)
    }


def _as_float(value: Any) -> Any:
    """Return a ``value`` as float where it is a whole number, or 1e-3, in YAML 1.1 a text."""
    if type(value) is int and abs(value) <= LARGEST_FLOAT:
        return float(value)
    if isinstance(value, str) and EXPONENTIAL.fullmatch(value):
        return float(value)
    return value


def _shown(value: Any) -> str:
    """Return how a message quotes a ``value``, which may be as long as a file."""
    return repr(value)[:80]


def _topics(value: str, what: str) -> str:
    """Return topics with a blank between, or raise ConfigError."""
    names = value.split()
    if not all(map(TOPIC.fullmatch, names)):
        raise ConfigError(
            what,
            expected='a topic: letters, digits, _ and single /, at most 200, no digit behind a /',
            found=_shown(value),
        )
    return ' '.join(names)


def check_ranges(options: Any) -> None:
    """Raise ConfigError when a value of the dataclass instance ``options`` is not allowed."""
    for name, setting in settings_of(type(options)).items():
        setting.checked(getattr(options, name), f'option {name}')


def options_from(kind: type[Any], values: Mapping[str, Any], source: str) -> Any:
    """
    Return the frozen dataclass ``kind`` from a mapping of plain values.

    values : {field: value}; a whole number may stand for a float
    source : where they come from, for messages
    ConfigError names a key that does not exist, a wrong type, or a value out of range.
    """
    settings = settings_of(kind)
    before, unknown = '', 'there is no option'
    if source:
        before, unknown = f'{source}, ', f'{source} has an unknown key'
    for name in values:
        if name not in settings:
            raise ConfigError(
                f'{unknown} {name!r}',
                do=nearest(name, settings),
                exists=tuple(settings),
            )
    given = {
        name: settings[name].checked(value, f'{before}option {name}')
        for name, value in values.items()
    }
    return kind(**given)


def read_blocks(path: str, methods: Collection[str]) -> dict[str, dict[str, Any] | None]:
    """Return the blocks of a configuration, {} for ''; ``path`` : of a YAML file, or a name."""
    if not path:
        return {}
    data = _blocks(read_yaml(config_file(path)), f'configuration {path}')
    for name in data:
        if name not in (DESIGN, DRIVER) and name not in methods:
            blocks = (*methods, DESIGN, DRIVER)
            raise ConfigError(
                f'{path} has a block {name!r}', exists=blocks, do=nearest(name, blocks)
            )
    return data


def _blocks(data: Any, what: str) -> dict[str, dict[str, Any] | None]:
    """Return the content ``data`` of a configuration; ConfigError where it is not of blocks."""
    if isinstance(data, dict) and all(map(_is_block, data.items())):
        return data
    raise ConfigError(
        what, expected='blocks of options, each named by its method', found=_shown(data)
    )


def _is_block(item: tuple[Any, Any]) -> bool:
    """Return whether an ``item`` of a configuration is (name, options or nothing)."""
    name, block = item
    return isinstance(name, str) and isinstance(block, (dict, types.NoneType))


def read_yaml(path: str) -> Any:
    """Return what the YAML file ``path`` holds; ConfigError where it cannot be read or is none."""
    what = f'configuration {path}'
    return yaml_content(given_text(path, what), what)


class _Loader(getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a key that is there twice, of which YAML keeps the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return the mapping of a ``node``; YAMLError where a key is there twice."""
        scalars = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        keys = [key.value for key in scalars if key.tag != 'tag:yaml.org,2002:merge']
        if len(set(keys)) < len(keys):
            twice = sorted(key for key, count in Counter(keys).items() if count > 1)
            raise yaml.YAMLError(f'{", ".join(twice)} is there twice, {node.start_mark}')
        return super().construct_mapping(node, deep)


def yaml_content(text: str, what: str) -> Any:
    """Return what a YAML ``text`` holds; ConfigError calls it ``what``."""
    try:
        _check_size(text, what)
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        raise ConfigError(f'{what} is not YAML', found=' '.join(str(error).split())) from None


def _check_size(text: str, what: str) -> None:
    """Raise YAMLError where a ``text`` is nested too deeply, or much longer than it looks."""
    size = _WrittenOut()
    for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if number > MOST_ENTRIES:
            raise ConfigError(
                f'{what} is too long', expected=f'at most {MOST_ENTRIES} keys and values'
            )
        size.add(event)
        if len(size.open) > DEEPEST or size.copied > MOST_COPIED:
            raise yaml.YAMLError(f'nesting or aliases beyond all need, {event.start_mark}')


class _WrittenOut:
    """
    The size of a YAML, in letters and nodes, with every alias written out.

    written : of all so far; copied : of aliases; open : (anchor, written before) of the
    collections around the next event
    """

    def __init__(self) -> None:
        self.written = self.copied = 0
        self.open: list[tuple[str | None, int]] = []
        self._anchors: dict[str | None, int] = {}

    def add(self, event: Any) -> None:
        """Take the next ``event`` of a parser."""
        if isinstance(event, yaml.CollectionStartEvent):
            self.open.append((event.anchor, self.written))
            self.written += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self.open.pop()
            self._anchors[anchor] = self.written - before
        elif isinstance(event, yaml.ScalarEvent):
            self._anchors[event.anchor] = 1 + len(event.value)
            self.written += 1 + len(event.value)
        elif isinstance(event, yaml.AliasEvent):
            endless = MOST_COPIED + 1  # of an alias within what it stands for
            size = self._anchors.get(event.anchor, endless)
            self.written += size
            self.copied += size


def pasted(block: str, values: Mapping[str, Any]) -> str:
    """
    Return the line of a configuration that has these ``values`` in a ``block``, to be pasted.

    It is a whole file, or the block of one.
    """
    text: str = yaml.safe_dump(
        {block: dict(values)}, default_flow_style=True, sort_keys=False, width=math.inf
    )
    return text.strip()[1:-1]


def described_blocks(urdf: str) -> dict[str, Any]:
    """Return the configuration that a description (text) holds: {method: options}, {} for none."""
    begin, end = urdf.rfind(f'<{TAG}>'), urdf.rfind(f'</{TAG}>')
    if begin < 0 or end < begin:
        return {}
    text, what = unescape(urdf[begin + len(TAG) + 2 : end]), f'<{TAG}> of the robot description'
    return _blocks(yaml_content(text, what) or {}, what)


def schema(kinds: Mapping[str, type[Any]]) -> dict[str, Any]:
    """Return the JSON schema of a configuration file (draft 2020-12)."""
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'type': 'object',
        'additionalProperties': False,
        'properties': {
            name: {
                'type': ['object', 'null'],
                'description': ' '.join((kind.__doc__ or '').split()),
                'additionalProperties': False,
                'properties': _properties(kind),
            }
            for name, kind in kinds.items()
        },
    }


def _properties(kind: type[Any]) -> dict[str, Any]:
    """Return {name: JSON schema} of the options of a dataclass."""
    return {name: setting.schema() for name, setting in settings_of(kind).items()}


# What other programs call it: words that no spelling brings near.
# A judgement: of words with one letter wrong 98.5 % are known at 0.6, 99 % at 0.5, but of 34
# guesses (train, fit, ...) 23 were taken at 0.5 for another word, 6 at 0.6.
LIKENESS = 0.6
MEANINGS = {
    'mjcf': 'mujoco',
    'sdf': 'gazebo',
    'isaac': 'isaaclab',
    'isaacsim': 'isaaclab',
    'ols': 'ordinary',
    'ls': 'ordinary',
    'lstsq': 'ordinary',
    'least_squares': 'ordinary',
    'wls': 'weighted',
    'gls': 'weighted',
    'bayes': 'ridge',
    'map': 'ridge',
    'tikhonov': 'ridge',
    'torque': 'link',
    'currents': 'current',
    '--duration': '--period',
    '--length': '--period',
    '--time': '--period',
    '--output': '--out',
    '-o': '--out',
    '--description': '--urdf',
    '-u': '--urdf',
    '-c': '--config',
    '--robot': '--urdf',
    '--test': '--validate',
    '--freq': '--rate',
    '--frequency': '--rate',
}


def nearest(name: Any, choices: Any) -> str | None:
    """Return the advice "did you mean ...?" for a ``name`` that is not among ``choices``."""
    written = str(name)[:99]
    meant = MEANINGS.get(written.lower())
    if meant in choices:
        return f'did you mean {meant!r}?'
    bare = {str(choice).lstrip('-'): str(choice) for choice in choices}
    close = difflib.get_close_matches(written.lstrip('-').lower(), bare, n=1, cutoff=LIKENESS)
    if not close:
        return None
    return f'did you mean {bare[close[0]]!r}?'


@lru_cache(maxsize=None)
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass; every one is declared by ``option``."""
    if not is_dataclass(kind):
        raise TypeError(f'{kind} is no dataclass of options')
    return get_type_hints(kind)
