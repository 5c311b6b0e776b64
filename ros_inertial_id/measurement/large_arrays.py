"""
Large arrays: in files without a name, which the kernel writes out where memory is short.

A recording of hours is larger than many a memory.  Its arrays lie in the folder for temporary
files (TMPDIR) and go when nobody holds them any more, also when the process is killed.
"""

import math
import mmap
import os
from tempfile import TemporaryFile
import weakref

import numpy as np

LARGE = 1 << 24  # bytes of an array that is not kept in memory
_mapped: 'weakref.WeakSet[mmap.mmap]' = weakref.WeakSet()


def empty(shape: tuple[int, ...], dtype: np.dtype | type, least: int = LARGE) -> np.ndarray:
    """
    Return an array to be filled, in a file if it is large and the disk has room.

    shape, dtype : of the array; objects stay in memory; least : bytes of a large one
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < max(least, 1) or dtype.hasobject:
        return np.empty(shape, dtype)
    try:
        with TemporaryFile(prefix='ros_inertial_id_') as file:
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk says so here, not later
            mapped = mmap.mmap(file.fileno(), size)
    except (OSError, AttributeError):  # no room, or no Linux
        return np.empty(shape, dtype)
    _mapped.add(mapped)
    return np.frombuffer(mapped, dtype).reshape(shape)


def page_out() -> None:
    """Let go of the pages of all large arrays: they come back when they are read again."""
    for mapped in list(_mapped):
        mapped.madvise(mmap.MADV_DONTNEED)
