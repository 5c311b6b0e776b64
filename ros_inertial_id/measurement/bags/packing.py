"""What is compressed in a bag (zstd, lz4), unpacked to no more than measurements hold."""

import os
from pathlib import Path
import sys

from lz4.frame import LZ4FrameDecompressor

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd  # rosbags brings it

from ...errors import RecordingError

ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
DAMAGED = (zstd.ZstdError, RuntimeError, ValueError, EOFError, MemoryError)
_BLOCK = 1 << 20
FREE, RATIO = 1 << 28, 200  # bytes that anything may unpack to; times its size that it may


def check_ratio(what: str, packed: int, plain: int) -> None:
    """Raise RecordingError where ``packed`` bytes that hold measurements are no ``plain`` ones."""
    if plain > max(FREE, RATIO * packed):
        raise RecordingError(f'{what} is no recording', found=f'{packed} bytes that unpack to '
                             f'{plain} or more: nothing measured is so alike')


def unpack(data: bytes, method: str, size: int | None = None) -> bytes:
    """
    Return what was compressed; raise one of DAMAGED.

    data : compressed bytes, one frame; method : '' for none, zstd or lz4
    size : bytes of the result, None: not known, at most those of a measurement
    """
    if not method:
        return data
    if method not in ('zstd', 'lz4'):
        raise ValueError(f'compression {method}')
    unpacker = zstd.ZstdDecompressor() if method == 'zstd' else LZ4FrameDecompressor()
    most = max(FREE, RATIO * len(data)) if size is None else size
    plain = unpacker.decompress(data, most + 1)  # with room to reach the end of the frame
    if not unpacker.eof:
        raise ValueError(f'the {method} frame does not end after {len(plain)} bytes')
    return plain


def unpack_file(packed: Path, plain: Path) -> None:
    """
    Unpack a zstd file.

    packed, plain : paths of the file and of the new one

    Raises RecordingError for a file that is not whole or unpacks to more than measurements do.
    """
    size = os.stat(packed).st_size
    with zstd.open(packed) as source, plain.open('wb') as target:
        try:
            while block := source.read(_BLOCK):
                target.write(block)
                check_ratio(str(packed), size, target.tell())
        except DAMAGED as error:
            raise RecordingError(f'{packed} cannot be decompressed', found=error,
                                 do='copy it again, or give another storage file alone') from error
