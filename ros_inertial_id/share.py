"""Files that come with the package: of the source tree, where ament finds it, where pip does."""

from collections.abc import Iterator
from difflib import get_close_matches
import os
from pathlib import Path
import sys

from .errors import ConfigError

PACKAGE = 'ros_inertial_id'
INDEX = Path('share') / 'ament_index' / 'resource_index' / 'packages' / PACKAGE


def shared_file(folder: str, name: str) -> Path:
    """
    Return the path of a file that comes with the package.

    ConfigError names what there is instead.
    """
    for place in _places():
        if (place / folder / name).exists():
            return place / folder / name
    pattern = f'*{Path(name).suffix}'
    exists = sorted({p.stem for place in _places() for p in (place / folder).glob(pattern)})
    stem = Path(name).stem
    what, close = (
        f'{folder} {stem!r} does not come with the package',
        get_close_matches(stem, exists),
    )
    if close:
        raise ConfigError(what, do=f'did you mean {close[0]!r}?')
    raise ConfigError(what, exists=exists)


def config_file(name: str, folder: str = 'config') -> str:
    """
    Return the path of a configuration.

    name : a path of a YAML file, or what one that comes with the package is called; '' stays so
    folder : of those that come with the package
    ConfigError names those that come with the package.
    """
    if not name or Path(name).suffix in ('.yaml', '.yml') or Path(name).exists():
        return name
    return str(shared_file(folder, f'{name}.yaml'))


def _places() -> Iterator[Path]:
    """Yield the share folders there may be: of the source tree, of colcon, of pip."""
    source = Path(__file__).resolve().parents[1]
    if (source / 'package.xml').exists():  # of a checkout, before any copy of it
        yield source
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        if (Path(prefix) / INDEX).exists():
            yield Path(prefix) / 'share' / PACKAGE
    yield Path(sys.prefix) / 'share' / PACKAGE
