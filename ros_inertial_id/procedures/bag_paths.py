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
    found: list[str] = []
    single = [arguments] if isinstance(arguments, (str, Path)) else arguments
    for argument in map(str, single):
        matches = (
            sorted(glob.glob(argument), key=_natural) if _is_pattern(argument) else [argument]
        )
        own = [
            bag
            for match in matches
            for bag in (_inside(Path(match)) if _is_folder_of_bags(match) else [match])
        ]
        if not own:
            raise RecordingError(f'{argument} holds no bag', expected='rosbag2 folders or files')
        found += own
    return list(dict.fromkeys(found))


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
    return any(_is_pattern(a) or _is_folder_of_bags(a) and _inside(Path(a)) for a in arguments)


def _is_pattern(argument: str) -> bool:
    return glob.has_magic(argument) and not os.path.exists(argument)


def _is_folder_of_bags(path: str) -> bool:
    return Path(path).is_dir() and not is_bag(Path(path))


def _inside(folder: Path, above: frozenset[Path] = frozenset()) -> list[str]:
    """Return the bags in a ``folder``; ``above`` : folders on the way, to which links may lead."""
    out, above = [], above | {folder.resolve()}
    for path in sorted(folder.iterdir(), key=lambda p: _natural(p.name)):
        if path.name.startswith('.') or path.resolve() in above:
            continue
        if path.is_dir():
            out += [str(path)] if is_bag(path) else _inside(path, above)
        elif _is_storage(path):
            out.append(str(path))
    return out


def _is_storage(path: Path) -> bool:
    return path.name.endswith(SUFFIXES) and path.is_file()


def _natural(name: str) -> list[int | str]:
    return [int(word) if word.isdecimal() else word for word in re.split(r'(\d+)', name)]
