"""
Files that a user names: their texts are read here and nowhere else.

A name may be that of a pipe to which nobody writes, of a device that never ends or of a film.
"""

import os
from pathlib import Path
import stat

from .errors import ConfigError, file_errors, path_text

LARGEST_TEXT = 1 << 25  # letters: ten times the longest description, model or configuration
PIECE = 1 << 16  # letters that are read together
KINDS = {
    stat.S_IFDIR: 'a folder',
    stat.S_IFIFO: 'a pipe',
    stat.S_IFSOCK: 'a socket',
    stat.S_IFCHR: 'a device',
    stat.S_IFBLK: 'a device',
}

DESCRIPTION = 'a robot description'
BY_SUFFIX = {
    DESCRIPTION: ('.urdf', '.xacro', '.xml', '.mjcf', '.sdf'),
    'a recording': ('.csv', '.npz', '.mat', '.parquet', '.jsonl', '.hdf5', '.h5', '.mcap', '.db3'),
    'a page': ('.html',),
}


def kind_by_name(path: str | Path) -> str:
    """Return in words what the name of a file at ``path`` says that it is, '' for nothing."""
    suffix = Path(path).suffix.lower()
    for kind, suffixes in BY_SUFFIX.items():
        if suffix in suffixes:
            return kind
    return ''


def instead_of_a_file(path: str | Path) -> str:
    """Return in words what is at a ``path`` instead of a file; '' for a file or nothing."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ''
    return KINDS.get(stat.S_IFMT(mode), '')


def given_text(path: str | Path, what: str = '', encoding: str = 'utf-8') -> str:
    """
    Return the text of a file.

    what : what messages call it, '' for its ``path``
    ConfigError where it is no file, cannot be read, or is longer than LARGEST_TEXT.
    """
    what = what or path_text(path)
    kind = instead_of_a_file(path)
    if kind:
        do = None
        if kind == KINDS[stat.S_IFIFO]:
            do = 'write what comes from it to a file, and give that'
        raise ConfigError(f'{what} cannot be read', expected='a file', found=kind, do=do)
    pieces: list[str] = []
    with file_errors(what), open(path, encoding=encoding) as file:
        while piece := file.read(PIECE):  # all at once would take the room of LARGEST_TEXT
            pieces.append(piece)
            if len(pieces) * PIECE > LARGEST_TEXT:
                raise ConfigError(
                    f'{what} cannot be read', expected=f'a text of at most {LARGEST_TEXT >> 20} MB'
                )
    return ''.join(pieces)
