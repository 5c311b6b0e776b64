"""Files that come with the package: from the source tree, else from where they were installed."""

from pathlib import Path
import sys

from ..errors import ConfigError

PLACES = (Path(__file__).resolve().parents[2],
          Path(sys.prefix) / 'share' / 'ros_inertial_id')


def shared_file(folder, name):
    """Return the path of a file in ``folder`` (urdf, config) of the package."""
    for place in PLACES:
        if (place / folder / name).exists():
            return place / folder / name
    pattern = f'*{Path(name).suffix}'
    exists = sorted({p.stem for place in PLACES for p in (place / folder).glob(pattern)})
    raise ConfigError(f'{folder} {Path(name).stem!r} does not come with the package',
                      exists=exists)
