"""
Configuration: a YAML file's block of the method's name becomes the method's options.

    serial_arm:
      mounting: rpy 0 1.5708 0
      friction: [viscous, coulomb]
    design:
      acceleration: [15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]

Unknown keys are refused with the nearest one named.
"""

from dataclasses import fields
import difflib
import pathlib

import yaml

from .errors import ConfigError
from .excitation.design import DesignOptions
from .identify import options_class
from .methods import METHODS
from .options import check_ranges

DESIGN = 'design'


def load_options(path='', method='', changes=None):
    """
    Return (method, options) of a configuration file with single options changed.

    path : of the YAML file, '' for defaults; method : '' for the file's own, else serial_arm
    changes : {option: value}, for example from the command line
    """
    blocks = _read(path) if path else {}
    present = [name for name in blocks if name != DESIGN]
    if not method:
        if len(present) > 1:
            raise ConfigError(f'{path} has blocks for several methods', found=present,
                              do='choose one with --method')
        method = next(iter(present), 'serial_arm')
    kind = options_class(method)
    values = dict(blocks.get(method) or {}, **(changes or {}))
    return method, options_from(kind, values, path or 'the options')


def load_design(path='', changes=None):
    """Return the DesignOptions of a configuration file's design block, single ones changed."""
    blocks = _read(path) if path else {}
    values = dict(blocks.get(DESIGN) or {}, **(changes or {}))
    return options_from(DesignOptions, values, path or 'the options')


def options_from(kind, values, source):
    """Return the frozen dataclass ``kind`` from a mapping of plain values."""
    specs = {f.name: f for f in fields(kind)}
    for name in values:
        if name not in specs:
            raise ConfigError(f'{source} has an unknown key {name!r}',
                              do=_nearest(name, specs), exists=tuple(specs))
    options = kind(**{name: _converted(name, value, getattr(kind(), name), source)
                      for name, value in values.items()})
    check_ranges(options)
    return options


def _converted(name, value, default, source):
    """Return the value in the type of the default; a whole number may stand for a float."""
    if isinstance(default, tuple):
        if isinstance(value, (list, tuple)):
            return tuple(float(x) if isinstance(x, int) and not isinstance(x, bool) else x
                         for x in value)
    elif isinstance(default, bool) or isinstance(value, bool):
        if isinstance(default, bool) and isinstance(value, bool):
            return value
    elif isinstance(default, float) and isinstance(value, (int, float)):
        return float(value)
    elif isinstance(value, type(default)):
        return value
    kinds = {tuple: 'a list', bool: 'true or false', float: 'a number', int: 'a whole number',
             str: 'a text'}
    raise ConfigError(f'{source}, key {name}', expected=kinds.get(type(default), type(default)),
                      found=repr(value))


def _read(path):
    try:
        data = yaml.safe_load(pathlib.Path(path).read_text())
    except OSError as error:
        raise ConfigError(f'configuration {path} cannot be read', found=error.strerror) from None
    except yaml.YAMLError as error:
        raise ConfigError(f'configuration {path} is not YAML',
                          found=' '.join(str(error).split())) from None
    if not isinstance(data, dict) or not all(isinstance(v, (dict, type(None)))
                                             for v in data.values()):
        raise ConfigError(f'configuration {path}', expected='a block named by the method',
                          exists=(*METHODS, DESIGN))
    for name in data:
        if name not in METHODS and name != DESIGN:
            raise ConfigError(f'{path} has a block {name!r}', exists=(*METHODS, DESIGN),
                              do=_nearest(name, (*METHODS, DESIGN)))
    return data


def _nearest(name, choices):
    close = difflib.get_close_matches(str(name), list(choices), n=1, cutoff=0.5)
    return f'did you mean {close[0]!r}?' if close else None
