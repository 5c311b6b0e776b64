"""How much what is compressed may unpack to: measurements are never so alike as a bomb."""

from pathlib import Path

from ...errors import RecordingError

FREE, RATIO = 1 << 28, 200  # bytes that anything may unpack to; times its size that it may


def check_unpacked(path: Path, packed: int, plain: int) -> None:
    """Raise RecordingError where ``packed`` bytes of measurements cannot be ``plain`` ones."""
    if plain > max(FREE, RATIO * packed):
        raise RecordingError(f'{path} is no recording', found=f'{packed} bytes that unpack to '
                             f'{plain} or more: nothing measured is so alike')
