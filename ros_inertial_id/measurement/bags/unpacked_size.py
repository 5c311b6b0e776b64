"""
What strangers have compressed: how much it may unpack to, and whether damage to it would show.

Measurements are never so alike as a bomb.
"""

from pathlib import Path

from ...errors import RecordingError

FREE, RATIO = 1 << 28, 200  # bytes that anything may unpack to; times its size that it may
MEMBERS = 10_000  # columns, arrays, topics or joints, more than any log has
ZSTD, LZ4 = b'\x28\xb5\x2f\xfd', b'\x04\x22\x4d\x18'  # begin what is compressed
HEAD = 5  # bytes of a frame: four that begin it, then its flags
CHECKSUM = 1 << 2  # flag of both (RFC 8878, 3.1.1.1.1; LZ4 frame format 1.6)


def has_checksum(frame: bytes) -> bool:
    """Return whether unpacking verifies a ``frame``, of which the first bytes are enough."""
    if len(frame) < HEAD or not frame.startswith((ZSTD, LZ4)):
        return False
    return bool(frame[HEAD - 1] & CHECKSUM)


def check_unpacked(source: str | Path, plain: int, members: int = 0, packed: int = -1) -> None:
    """
    Raise RecordingError where ``packed`` bytes of measurements cannot be ``plain`` ones.

    source : file, folder or topic; members : columns, arrays, topics or joints in it
    packed : without it those of the file or folder
    """
    if packed < 0:
        files = [*Path(source).rglob('*')] or [Path(source)]
        packed = sum(file.stat().st_size for file in files)
    if plain > max(FREE, RATIO * packed):
        raise RecordingError(
            f'{source} is no recording',
            found=f'{packed} bytes that unpack to {plain} or more: nothing measured is so alike',
        )
    if members > MEMBERS:
        raise RecordingError(
            f'{source} is no recording',
            found=f'{members} columns or more',
            expected=f'at most {MEMBERS}',
            do='leave out what is not of joints',
        )
