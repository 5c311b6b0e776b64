"""
Meshes: the corners of a link's shape, where its file is there; nothing else of it is read.

A mesh that is absent, damaged, too large or of another format is passed over: audits need none.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
import os
from pathlib import Path
import re

import numpy as np

from .hulls import outermost
from ..given_files import instead_of_a_file

LARGEST_STL = 1 << 26  # bytes
LARGEST_SCENE = 1 << 23  # bytes of formats that a scene is built of: 2 s
STL_HEAD = 84  # bytes of a binary STL before its triangles
TRIANGLE = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])
PACKAGE_PATHS = ('ROS_PACKAGE_PATH', 'AMENT_PREFIX_PATH', 'COLCON_PREFIX_PATH')


def mesh_points(reference: str, folder: str) -> np.ndarray | None:
    """
    Return corners (P, 3) of the mesh that a description refers to, None where it is not read.

    reference : package://, model://, file:// or a path; folder : of the description, '' : none
    """
    if not folder:
        return None
    for path in _places(reference, Path(folder)):
        if path.is_file() and not instead_of_a_file(path):
            return _read(str(path))
    return None


def _places(reference: str, folder: Path) -> Iterator[Path]:
    """Yield where a mesh may be that a description in a ``folder`` refers to."""
    scheme, name = _parted(reference)
    if '\0' in name:
        return
    if scheme not in ('package', 'model'):
        yield folder / name
        return
    package, _, inside = name.partition('/')
    for above in (folder, *folder.parents):
        if above.name == package:
            yield above / inside
        yield above / package / inside
        yield above / inside
    for variable in PACKAGE_PATHS:
        for prefix in filter(None, os.environ.get(variable, '').split(os.pathsep)):
            yield Path(prefix) / package / inside
            yield Path(prefix) / 'share' / package / inside


def _parted(reference: str) -> tuple[str, str]:
    """Return scheme and path of a ``reference``; '' and the path where it has no scheme."""
    match = re.match(r'(\w+)://(.*)', reference)
    if match:
        return match[1], match[2]
    return '', reference.replace('\\', '/')


@lru_cache(maxsize=256)
def _read(path: str) -> np.ndarray | None:
    """Return the outermost corners (P, 3) in a file, None where it holds none."""
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        return None
    try:
        points = reader(path)
    except (OSError, RuntimeError, ValueError):
        return None
    if points is None or not len(points) or not np.isfinite(points).all():
        return None
    points = outermost(points)
    points.setflags(write=False)
    return points


def _stl(path: str) -> np.ndarray | None:
    """Return the corners of an STL, binary or text."""
    size = os.path.getsize(path)
    if size > LARGEST_STL:
        return None
    content = Path(path).read_bytes()
    count = int.from_bytes(content[STL_HEAD - 4 : STL_HEAD], 'little')
    if size == STL_HEAD + count * TRIANGLE.itemsize:
        triangles = np.frombuffer(content, TRIANGLE, count, STL_HEAD)
        return triangles['corners'].reshape(-1, 3).astype(float)
    corners = re.findall(rb'vertex\s+(\S+)\s+(\S+)\s+(\S+)', content)
    return np.array(corners, dtype=float).reshape(-1, 3)


def _scene(path: str) -> np.ndarray | None:
    """Return the corners of what coal reads: COLLADA and OBJ, in m and with their z up."""
    if os.path.getsize(path) > LARGEST_SCENE:
        return None
    import coal

    return np.array(coal.MeshLoader().load(path, np.ones(3)).vertices(), dtype=float)


READERS: dict[str, Callable[[str], np.ndarray | None]] = {
    '.stl': _stl,
    '.dae': _scene,
    '.obj': _scene,
}
