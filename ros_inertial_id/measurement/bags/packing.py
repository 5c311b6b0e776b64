"""Compression of bags (zstd, lz4) through the libraries that rosbags brings along."""

import os
import sys

from lz4.frame import LZ4FrameDecompressor

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from ...errors import RecordingError

ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
DAMAGED = (zstd.ZstdError, RuntimeError, ValueError, EOFError, MemoryError)
_BLOCK = 1 << 20
LARGEST = 1 << 30  # bytes of a chunk or message; more is taken for damage
FREE, RATIO = 1 << 28, 200  # bytes that any file may unpack to; times its size that others may


def check_ratio(what: str, packed: int, plain: int) -> None:
    """Raise RecordingError where ``packed`` bytes that hold measurements are no ``plain`` ones."""
    if plain > max(FREE, RATIO * packed):
        raise RecordingError(f'{what} is no recording', found=f'{packed} bytes that unpack to '
                             f'{plain} or more: nothing measured is so alike')


def unpack(data: bytes, method: str, size: int | None = None) -> bytes:
    """
    Return what was compressed; raise one of DAMAGED.

    data : compressed bytes, one frame
    method : '' for none, zstd or lz4
    size : bytes the result should have, None: unknown; at most one more is made
    """
    most = min(LARGEST, max(FREE, RATIO * len(data)))
    size = most if size is None else size
    if size > most:
        raise ValueError(f'{len(data)} bytes that unpack to {size}')
    if not method:
        return data
    if method not in ('zstd', 'lz4'):
        raise ValueError(f'compression {method}')
    unpacker = zstd.ZstdDecompressor() if method == 'zstd' else LZ4FrameDecompressor()
    plain = unpacker.decompress(data, size + 1)  # with room to reach the end of the frame
    if not unpacker.eof:
        raise ValueError(f'the {method} frame does not end')
    return plain


def unpack_file(packed: str, plain: str) -> str:
    """
    Unpack a zstd file as far as it is whole; return what is wrong with it, or ''.

    packed, plain : paths of the file and of the new one
    """
    unpacker, begun = zstd.ZstdDecompressor(), True  # whether a frame has no end yet
    whole = os.stat(packed).st_size
    with open(packed, 'rb') as source, open(plain, 'wb') as target:
        try:
            while block := source.read(_BLOCK):
                begun = True
                while block or not unpacker.needs_input:
                    target.write(unpacker.decompress(block, _BLOCK))
                    check_ratio(packed, whole, target.tell())
                    block = b''
                    if unpacker.eof:
                        block, unpacker = unpacker.unused_data, zstd.ZstdDecompressor()
                        begun = bool(block)
        except DAMAGED as error:
            return str(error) or type(error).__name__
    return 'the zstd frame does not end' if begun else ''
