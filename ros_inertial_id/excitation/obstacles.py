"""What stands around the robot, from the words of the options to shapes of the base."""

import coal
import numpy as np
import pinocchio as pin

from ..errors import MotionError

OBSTACLES = {'box': 6, 'sphere': 4, 'cylinder': 5}  # kind: how many numbers
STRIP = 0.1  # [m] a wide box is cut into strips that are not much wider than thick, as capsules
#              would else enclose too much
FLOOR = (20.0, 20.0, 1.0)  # [m] of the box that is the floor
UPRIGHT = np.cos(np.radians(10.0))  # gravity within ten degrees of the base's -z axis


def obstacle_shapes(text: str, name: str) -> list[pin.GeometryObject]:
    """
    Return the shapes of one obstacle.

    text : ``box X Y Z LX LY LZ``, ``sphere X Y Z R``, ``cylinder X Y Z R LENGTH``: centre and
        size in the base frame [m], along its axes; name : of the shapes
    Raises MotionError for a text that is none of these.
    """
    kind, *words = str(text).split() or ['']
    try:
        numbers = np.array([float(word) for word in words])
        good = len(numbers) == OBSTACLES[kind] and bool(np.isfinite(numbers).all())
    except (KeyError, ValueError):
        good = False
    if not good or not (numbers[3:] > 0).all():
        raise MotionError('option obstacles', found=repr(text), exists=(
            'box X Y Z LX LY LZ', 'sphere X Y Z R', 'cylinder X Y Z R LENGTH'))
    center, size = numbers[:3], numbers[3:]
    if kind == 'sphere':
        parts = [(center, coal.Sphere(*size))]
    elif kind == 'cylinder':
        parts = [(center, coal.Cylinder(*size))]
    else:
        parts = _strips(center, size)
    return [pin.GeometryObject(f'{name}_{k}', 0, 0, pin.SE3(np.eye(3), place), shape)
            for k, (place, shape) in enumerate(parts)]


def floor_shape(height: float) -> pin.GeometryObject:
    """Return the floor whose surface is at ``height`` [m] of the base frame."""
    middle = np.array([0.0, 0.0, height - 0.5 * FLOOR[2]])
    return pin.GeometryObject('floor_0', 0, 0, pin.SE3(np.eye(3), middle), coal.Box(*FLOOR))


def is_upright(gravity: np.ndarray) -> bool:
    """Return whether ``gravity`` (3,) in the base frame [m/s^2] is that of a base on a floor."""
    size = float(np.linalg.norm(gravity))
    return size > 0.0 and -gravity[2] / size >= UPRIGHT


def _strips(center, size):
    """Return (center, Box) of the strips, side by side, that a box of ``size`` (3,) falls into."""
    thin, wide, _ = np.argsort(size)
    count = int(np.ceil(size[wide] / max(2.0 * size[thin], STRIP)))
    across = np.eye(3)[wide] * size[wide] / count
    strip = size - across * (count - 1)
    return [(center + (k - 0.5 * (count - 1)) * across, coal.Box(*strip)) for k in range(count)]
