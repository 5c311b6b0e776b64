"""
Options: frozen dataclasses whose fields know their description, unit and range.

Every room declares its own options with ``option``; ``config.py`` reads them from YAML and the
nodes declare their ROS parameters from the same fields, so a name, default and unit exist once.
"""

from dataclasses import field

from .errors import ConfigError


def option(default, description, *, unit='', at_least=None, at_most=None, choices=None,
           item=str):
    """
    Return a dataclass field that carries its own documentation and range.

    item : type of the elements where the default is a tuple (str or float)
    """
    metadata = {'description': description, 'unit': unit, 'at_least': at_least,
                'at_most': at_most, 'choices': choices,
                'item': item}
    return field(default=default, metadata=metadata)


def check_ranges(options):
    """Raise ConfigError when a field of the dataclass instance ``options`` leaves its range."""
    for name, spec in options.__dataclass_fields__.items():
        value, meta = getattr(options, name), spec.metadata
        choices, low, high = meta.get('choices'), meta.get('at_least'), meta.get('at_most')
        if choices and value not in choices:
            raise ConfigError(f'option {name}', found=repr(value), exists=choices)
        if low is not None and value < low or high is not None and value > high:
            low = '-inf' if low is None else low
            high = 'inf' if high is None else high
            unit = f" {meta['unit']}" if meta['unit'] else ''
            raise ConfigError(f'option {name}', expected=f'{low} to {high}{unit}', found=value)
