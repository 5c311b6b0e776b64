"""Where the camera stands: what it saw, in the base link."""

from collections.abc import Sequence
from dataclasses import replace

from scipy.spatial.transform import Rotation

from ..measurement.markers import common_frames, Frames, Marker
from ...errors import ConfigError


def view(markers: Sequence[Marker], camera: Sequence[float]) -> Frames:
    """
    Return the Frames of all Markers in the base link.

    camera : X Y Z ROLL PITCH YAW of it in the base link [m, rad]; none: the base link itself
    """
    seen = common_frames(markers)
    if not camera:
        return seen
    if len(camera) != 6:
        raise ConfigError(
            'option camera', expected='six numbers X Y Z ROLL PITCH YAW', found=camera
        )
    turn = Rotation.from_euler('xyz', camera[3:]).as_matrix()
    return replace(
        seen, rotation=turn @ seen.rotation, position=seen.position @ turn.T + camera[:3]
    )
