"""What the driver of a robot publishes and listens to: the block ``driver`` of a configuration."""

from pathlib import Path

from ..identification.driver import DriverOptions
from ..options import DRIVER, options_from, read_yaml

__all__ = ['DriverOptions', 'load_driver']


def load_driver(path: Path) -> DriverOptions:
    """Return the DriverOptions of the configuration file ``path``; ConfigError where it is bad."""
    blocks = read_yaml(str(path))
    block = blocks.get(DRIVER) if isinstance(blocks, dict) else None
    return options_from(DriverOptions, block or {}, f'{path}, block {DRIVER}')
