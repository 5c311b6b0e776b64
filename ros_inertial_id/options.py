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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, field, fields, is_dataclass, MISSING
import difflib
from functools import lru_cache
from html import unescape
import math
from pathlib import Path
import re
import sys
import types
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import yaml

from .errors import ConfigError, file_errors

# Blocks of a configuration file that hold no method's options.
DESIGN, DRIVER = 'design', 'driver'
LARGEST_FLOAT = sys.float_info.max  # a whole number of 400 digits is no float
DEEPEST, MOST_COPIED = 100, 100_000  # levels of a YAML; letters that its aliases stand for
TAG = 'ros_inertial_id'  # of the element of a robot description that holds such blocks
TOPIC = re.compile(r'(?=.{1,200}$)(~?/)?[a-z_]\w*(/[a-z_]\w*)*', re.A | re.I)  # as rmw allows
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


def check_ranges(options: Any) -> None:
    """Raise ConfigError when a value of the dataclass instance ``options`` is not allowed."""
    for spec in fields(options):
        _check(type(options), spec, getattr(options, spec.name), f'option {spec.name}')


def options_from(kind: type[Any], values: Mapping[str, Any], source: str) -> Any:
    """
    Return the frozen dataclass ``kind`` from a mapping of plain values.

    values : {field: value}; a whole number may stand for a float
    source : where they come from, for messages
    ConfigError names a key that does not exist, a wrong type, or a value out of range.
    """
    specs = {f.name: f for f in fields(kind)}
    for name in values:
        if name not in specs:
            raise ConfigError(
                f'{source} has an unknown key {name!r}',
                do=nearest(name, specs),
                exists=tuple(specs),
            )
    given = {
        name: _check(kind, specs[name], value, f'{source}, option {name}')
        for name, value in values.items()
    }
    return kind(**given)


def _check(kind: type[Any], spec: 'Field[Any]', value: Any, what: str) -> Any:
    """Return the value of a field in its type, or raise ConfigError that begins with ``what``."""
    element, many = element_type(kind, spec.name)
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    if (
        element is str
        and not many
        and isinstance(value, (list, tuple))
        and all(isinstance(word, str) for word in value)
    ):
        value = ' '.join(value)  # several topics
    if not many:
        return _checked(value, element, spec.metadata, what)
    if not isinstance(value, (list, tuple)):
        raise ConfigError(
            what, expected=f'a list, of {_WORDS[element]} each', found=repr(value)[:80]
        )
    return tuple(
        _checked(v, element, spec.metadata, f'{what}, element {k + 1}')
        for k, v in enumerate(value)
    )


def _checked(value: Any, kind: type, metadata: Mapping[str, Any], what: str) -> Any:
    """Return a single value in its type and range."""
    value = value.item() if isinstance(value, np.generic) else value
    if kind is float and type(value) is int and abs(value) <= LARGEST_FLOAT:
        value = float(value)
    unit = f' {metadata["unit"]}' if metadata.get('unit') else ''
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigError(
            what, expected=f'{_WORDS[kind]}{unit and f" [{unit.strip()}]"}', found=repr(value)[:80]
        )
    if metadata.get('topic'):
        names = str(value).split()
        value = ' '.join(names)
        if not all(map(TOPIC.fullmatch, names)):
            raise ConfigError(
                what,
                expected='a topic: letters, digits, _ and single /, at most '
                '200, no digit behind a /',
                found=repr(value)[:80],
            )
    choices, low, high = (metadata.get(k) for k in ('choices', 'at_least', 'at_most'))
    if choices and value not in choices:
        raise ConfigError(
            what, found=repr(value)[:80], exists=tuple(choices), do=nearest(value, choices)
        )
    if low is not None and value < low or high is not None and value > high:
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        raise ConfigError(what, expected=f'{low} to {high}{unit}', found=value)
    return value


def read_blocks(path: str, methods: Collection[str]) -> dict[str, dict[str, Any] | None]:
    """Return the blocks of a YAML configuration file at ``path``, {} for ''."""
    data = _blocks(read_yaml(path), f'configuration {path}') if path else {}
    for name in data:
        if name not in (DESIGN, DRIVER) and name not in methods:
            blocks = (*methods, DESIGN, DRIVER)
            raise ConfigError(
                f'{path} has a block {name!r}', exists=blocks, do=nearest(name, blocks)
            )
    return data


def _blocks(data: Any, what: str) -> dict[str, dict[str, Any] | None]:
    """Return the content ``data`` of a configuration; ConfigError where it is not of blocks."""
    if not isinstance(data, dict) or not all(
        isinstance(name, str) and isinstance(block, (dict, types.NoneType))
        for name, block in data.items()
    ):
        raise ConfigError(
            what, expected='blocks of options, each named by its method', found=repr(data)[:80]
        )
    return data


def read_yaml(path: str) -> Any:
    """Return what the YAML file ``path`` holds; ConfigError where it cannot be read or is none."""
    with file_errors(f'configuration {path}'):
        text = Path(path).read_text(encoding='utf-8')
    return yaml_content(text, f'configuration {path}')


class _Loader(getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a key that is there twice, of which YAML keeps the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return the mapping of a ``node``; YAMLError where a key is there twice."""
        keys = [
            key.value
            for key, _ in node.value
            if isinstance(key, yaml.ScalarNode) and key.tag != 'tag:yaml.org,2002:merge'
        ]
        twice = {key for key in keys if keys.count(key) > 1} if len(set(keys)) < len(keys) else ()
        if twice:
            raise yaml.YAMLError(f'{", ".join(sorted(twice))} is there twice, {node.start_mark}')
        return super().construct_mapping(node, deep)


def yaml_content(text: str, what: str) -> Any:
    """Return what a YAML ``text`` holds; ConfigError calls it ``what``."""
    try:
        _check_size(text)
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        raise ConfigError(f'{what} is not YAML', found=' '.join(str(error).split())) from None


def _check_size(text: str) -> None:
    """Raise YAMLError where a ``text`` is nested too deeply, or much longer than it looks."""
    whole, copied = 0, 0  # letters and nodes with every alias written out; those of aliases
    outer: list[tuple[str | None, int]] = []
    sizes: dict[str | None, int] = {}
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            outer.append((event.anchor, whole))
            whole += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = outer.pop()
            sizes[anchor] = whole - before
        elif isinstance(event, yaml.ScalarEvent):
            sizes[event.anchor] = 1 + len(event.value)
            whole += sizes[event.anchor]
        elif isinstance(event, yaml.AliasEvent):
            size = sizes.get(event.anchor, MOST_COPIED + 1)  # in what it stands for: endless
            whole, copied = whole + size, copied + size
        if len(outer) > DEEPEST or copied > MOST_COPIED:
            raise yaml.YAMLError(f'nesting or aliases beyond all need, {event.start_mark}')


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
                'properties': {spec.name: _schema_of_field(kind, spec) for spec in fields(kind)},
            }
            for name, kind in kinds.items()
        },
    }


def _schema_of_field(kind: type[Any], spec: 'Field[Any]') -> dict[str, Any]:
    element, many = element_type(kind, spec.name)
    meta = spec.metadata
    unit = f' [{meta["unit"]}]' if meta.get('unit') else ''
    own: dict[str, Any] = {'type': _SCHEMA[element]}
    for key, source in (('minimum', 'at_least'), ('maximum', 'at_most')):
        if meta.get(source) is not None:
            own[key] = meta[source]
    if meta.get('choices'):
        own['enum'] = list(meta['choices'])
    out = {'type': 'array', 'items': own} if many else own
    default = list(spec.default) if many and spec.default is not MISSING else spec.default
    return {**out, 'description': meta.get('description', '') + unit, 'default': default}


# What other programs call it: words that no spelling brings near.
MEANINGS = {
    'ols': 'ordinary',
    'ls': 'ordinary',
    'lstsq': 'ordinary',
    'least_squares': 'ordinary',
    'wls': 'weighted',
    'gls': 'weighted',
    'bayes': 'ridge',
    'map': 'ridge',
    'tikhonov': 'ridge',
    'iv': 'instrumental',
    'torque': 'link',
    'currents': 'current',
}


def nearest(name: Any, choices: Any) -> str | None:
    """Return the advice "did you mean ...?" for a ``name`` that is not among ``choices``."""
    meant = MEANINGS.get(str(name)[:99].lower())
    if meant in choices:
        return f'did you mean {meant!r}?'
    close = difflib.get_close_matches(str(name)[:99], [str(c) for c in choices], n=1, cutoff=0.5)
    return f'did you mean {close[0]!r}?' if close else None


@lru_cache(maxsize=None)
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass; every one is declared by ``option``."""
    if not is_dataclass(kind):
        raise TypeError(f'{kind} is no dataclass of options')
    return get_type_hints(kind)
