"""What the driver of a robot publishes and listens to: the block ``driver`` of a configuration."""

from pathlib import Path

from .share import shared_file
from ..identification.driver import DriverOptions
from ..options import DRIVER, options_from, read_yaml

__all__ = ['config_path', 'DriverOptions', 'load_driver']


def config_path(robot: str) -> Path:
    """
    Return the path of a configuration.

    robot : a path of a YAML file, or the name of one that comes with the package
    ConfigError names those that come with the package.
    """
    path = Path(robot)
    return path if path.suffix in ('.yaml', '.yml') else shared_file('config', f'{robot}.yaml')


def load_driver(path: Path) -> DriverOptions:
    """Return the DriverOptions of the configuration file ``path``; ConfigError where it is bad."""
    blocks = read_yaml(str(path))
    block = blocks.get(DRIVER) if isinstance(blocks, dict) else None
    return options_from(DriverOptions, block or {}, f'{path}, block {DRIVER}')
