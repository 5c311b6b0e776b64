"""Bag paths: the bags that folders, patterns and single paths stand for."""

from collections.abc import Sequence
import glob
import os
from pathlib import Path
import re

from ..errors import RecordingError

_PART = re.compile(r'_\d+$')
SUFFIXES = ('.mcap', '.db3', '.mcap.zstd', '.db3.zstd', '.mcap.zst', '.db3.zst')


def find_bags(arguments: Sequence[str | Path] | str | Path) -> list[str]:
    """
    Return the paths of all bags that ``arguments`` stand for, each once, numbers in their order.

    An argument is a bag, BAG@START:END, a pattern (``day*``), or a folder in which, at any
    depth, bags lie: folders, or single files.
    RecordingError where a folder or pattern holds none.
    """
    if isinstance(arguments, (str, Path)):
        arguments = [arguments]
    bags: list[str] = []
    for argument in map(str, arguments):
        matches = _matches(argument)
        if not matches:
            raise RecordingError(f'{argument} holds no bag', expected='rosbag2 folders or files')
        bags += matches
    return list(dict.fromkeys(bags))


def _matches(argument: str) -> list[str]:
    """Return the bags that one argument stands for."""
    paths = [argument]
    if _is_pattern(argument):
        paths = sorted(glob.glob(argument), key=_natural)
    bags = []
    for path in paths:
        if _is_folder_of_bags(path):
            bags += _inside(Path(path))
        else:
            bags.append(path)
    return bags


def is_bag(path: Path) -> bool:
    """
    Return whether a folder ``path`` is a rosbag2 itself.

    Files without metadata are the parts of one (``day_0.mcap``, ``day_1.mcap``) or bags of their
    own (``monday.mcap``, ``tuesday.mcap``).
    """
    if (path / 'metadata.yaml').is_file():
        return True
    stems = {_PART.sub('', p.name.split('.')[0]) for p in path.iterdir() if _is_storage(p)}
    return len(stems) == 1


def several(arguments: Sequence[str]) -> bool:
    """Return whether one of ``arguments`` is a folder of bags or a pattern."""
    return any(map(_may_hold_several, arguments))


def _may_hold_several(argument: str) -> bool:
    if _is_pattern(argument):
        return True
    return _is_folder_of_bags(argument) and bool(_inside(Path(argument)))


def _is_pattern(argument: str) -> bool:
    return glob.has_magic(argument) and not os.path.exists(argument)


def _is_folder_of_bags(path: str) -> bool:
    return Path(path).is_dir() and not is_bag(Path(path))


def _inside(folder: Path, above: frozenset[Path] = frozenset()) -> list[str]:
    """Return the bags in a ``folder``; ``above`` : folders on the way, to which links may lead."""
    bags, above = [], above | {folder.resolve()}
    for path in sorted(folder.iterdir(), key=lambda p: _natural(p.name)):
        if path.name.startswith('.') or path.resolve() in above:
            continue
        if _is_folder_of_bags(str(path)):
            bags += _inside(path, above)
        elif path.is_dir() or _is_storage(path):
            bags.append(str(path))
    return bags


def _is_storage(path: Path) -> bool:
    return path.name.endswith(SUFFIXES) and path.is_file()


def _natural(name: str) -> list[int | str]:
    return [int(word) if word.isdecimal() else word for word in re.split(r'(\d+)', name)]
