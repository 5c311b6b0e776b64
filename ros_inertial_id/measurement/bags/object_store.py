"""
Object stores: bags and caches under URLs (``s3://bucket/robots``), by fsspec.

A URL becomes a ``UPath`` of universal_pathlib, which has the methods of a ``pathlib.Path``.
Storage files are copied to a temporary folder before they are read: sqlite3 and decompression need
files, and a bag is read twice (its messages, its hash).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import hashlib
import os
from pathlib import Path
import shutil
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import ConfigError


def is_url(path: str | Path) -> bool:
    """Return whether ``path`` is in an object store."""
    return '://' in str(path)


def path_of(path: str | Path) -> Path:
    """
    Return a ``path``, of files or a URL, as what has the methods of a Path.

    ConfigError where a URL needs a package that is not installed.
    """
    if not is_url(path):
        return Path(path)
    try:
        from upath import UPath
        url: Any = UPath(path)
        url.fs  # that of the protocol is imported only now
        return url
    except (ImportError, ValueError) as error:
        raise ConfigError(f'{path} cannot be opened', found=error,
                          do="pip install 'ros_inertial_id[remote]', and what fsspec names for "
                          'this protocol (s3fs, gcsfs, adlfs)') from None


@contextmanager
def local_files(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield ``files`` as files of this machine: those of an object store as copies."""
    if not any(is_url(file) for file in files):
        yield list(files)
        return
    with TemporaryDirectory(prefix='ros_inertial_id_') as folder:
        copies = [Path(folder, file.name) for file in files]
        for file, copy in zip(files, copies):
            with file.open('rb') as source, copy.open('wb') as goal:
                shutil.copyfileobj(source, goal, 1 << 20)
        yield copies


def version_of(files: Sequence[Path]) -> str:
    """
    Return a hash that is another one where one of ``files`` was written anew, without reading it.

    By place, size and times of change, which no program can set back, or what the object store
    keeps of it (such as its ETag); OSError where there is no such file.
    """
    digest = hashlib.sha256()
    for file in files:
        digest.update(f'{file.resolve()}\n{_version(file)}\n'.encode('utf-8', 'surrogateescape'))
    return digest.hexdigest()


def _version(file: Any) -> str:
    if is_url(file):
        return str(file.fs.ukey(file.path))
    found = os.stat(file)
    return f'{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}'
