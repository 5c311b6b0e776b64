"""
Collision shapes: of a URDF's links as far as they can be had, and of what stands around them.

A mesh is found through its package (ament index), its file: address, or in folders that are named.
Where a mesh cannot be found, the link gets a rod from its joint to the joints that it carries,
ROUGH thick: rougher than the link, but never left out.
"""

from collections.abc import Sequence
import os
from pathlib import Path
from typing import Any
import xml.etree.ElementTree as ET

import coal
import numpy as np
import pinocchio as pin

from ..dynamics.description import parsable, parsed_xml
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError

OBSTACLES = {'box': 6, 'sphere': 4, 'cylinder': 5}  # kind: how many numbers
FLOOR = (20.0, 20.0, 1.0)  # [m] of the box that is the floor
UPRIGHT = np.cos(np.radians(10.0))  # gravity within ten degrees of the base's -z axis
Z = np.array([0.0, 0.0, 1.0])
ROUGH = 0.08  # [m] radius about the line between the joints of a link whose mesh was not found


def link_geometry(
    robot: RobotModel, folders: Sequence[str] = ()
) -> tuple[pin.GeometryModel, set[int], list[str]] | None:
    """
    Return the shapes of a robot's links, None where its URDF says nothing of any.

    A GeometryModel of convex shapes, the numbers of those that stand for meshes as rods, and what
    is rough, in words.

    folders : where meshes are sought besides the packages that are installed
    Raises MotionError when a mesh that was found cannot be read.
    """
    root, notices = parsed_xml(parsable(robot.urdf)), []
    if root.find('link/collision/geometry') is None:
        if root.find('link/visual/geometry') is None:
            return None
        notices.append('the URDF has no collision shapes: its visual ones are used')
        for link in root.iter('link'):
            for shape in link.findall('visual'):
                shape.tag = 'collision'
    missing = _resolve(root, folders)
    try:
        model = pin.buildGeomFromUrdfString(
            robot.pin_model, ET.tostring(root, encoding='unicode'), pin.GeometryType.COLLISION
        )
    except (RuntimeError, ValueError) as error:
        raise MotionError(
            'the collision meshes cannot be read',
            found=str(error).split('\n')[0],
            do='correct the files',
        ) from None
    for item in model.geometryObjects:
        if isinstance(item.geometry, coal.BVHModelBase):
            item.geometry.buildConvexHull(True, 'Qt')
            item.geometry = item.geometry.convex
    described = len(model.geometryObjects)
    if missing:
        for item in _rods(robot, missing):
            model.addGeometryObject(item)
        notices.append(
            f'meshes of {", ".join(missing)} were not found: rods {2 * ROUGH:g} m '
            'thick between the joints stand for them; install the package of the '
            'description, or give meshes: the folder that holds them'
        )
    return model, set(range(described, len(model.geometryObjects))), notices


def _resolve(root, folders):
    """Write absolute paths into ``root``; return the links whose meshes were not found."""
    missing = []
    for link in root.iter('link'):
        for shape in link.findall('collision'):
            mesh = shape.find('geometry/mesh')
            if mesh is None:
                continue
            path = find_mesh(mesh.get('filename', ''), folders)
            if path is None:  # a rod stands for it
                link.remove(shape)
                missing.append(link.get('name'))
            else:
                mesh.set('filename', str(path))
    return sorted(set(missing))


def find_mesh(name: str, folders: Sequence[str]) -> Path | None:
    """
    Return the file that a URDF calls ``name``, None when there is none.

    name : package://PACKAGE/PATH, file:///PATH, or a path, relative to one of ``folders``
    folders : a folder, a package or a folder of packages, each
    """
    tries = []
    if name.startswith('package://'):
        package, _, rest = name[len('package://') :].partition('/')
        tries = [share / rest for share in _shares(package)]
        for folder in map(Path, folders):
            tries += [folder / package / rest, folder / rest]
    elif name.startswith('file://'):
        tries = [Path(name[len('file://') :])]
    else:
        tries = [Path(folder) / name for folder in folders] + [Path(name)]
    return next((path.resolve() for path in tries if path.is_file()), None)


def _shares(package):
    """Return the share folders of an installed ROS package, without needing ROS."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    return [Path(prefix) / 'share' / package for prefix in prefixes if prefix]


def _rods(robot, links):
    """Return capsules from the joint of each of the ``links`` to the joints on it."""
    model, rods = robot.pin_model, []
    for name in links:
        number = model.getFrameId(name, pin.BODY)  # a joint may have the name of its link
        frame = model.frames[number]
        body, start = frame.parentJoint, frame.placement.translation
        ends = [
            model.jointPlacements[j].translation
            for j in range(1, model.njoints)
            if model.parents[j] == body
            and np.linalg.norm(model.jointPlacements[j].translation - start) > 1e-6
        ]
        for k, end in enumerate(ends or [start]):
            rotation, shape = _rod(end - start)
            placement = pin.SE3(rotation, 0.5 * (start + end))
            rods.append(pin.GeometryObject(f'{name}_{k}', body, number, placement, shape))
    return rods


def _rod(way: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return rotation (3, 3) and shape of a rod along a ``way`` (3,) [m], a ball without one."""
    length = float(np.linalg.norm(way))
    if not length:
        return np.eye(3), coal.Sphere(ROUGH)
    rotation = pin.Quaternion.FromTwoVectors(Z, way).toRotationMatrix()
    return rotation, coal.Capsule(ROUGH, length)


def obstacle_shape(text: str, name: str) -> pin.GeometryObject:
    """
    Return the shape called ``name`` of one obstacle.

    text : ``box X Y Z LX LY LZ``, ``sphere X Y Z R``, ``cylinder X Y Z R LENGTH``: centre and
        size in the base frame [m], along its axes; MotionError for any other
    """
    kind, *words = str(text).split() or ['']
    try:
        numbers = np.array([float(word) for word in words])
    except ValueError:
        numbers = np.zeros(0)
    if len(numbers) != OBSTACLES.get(kind) or not _is_solid(numbers):
        raise MotionError(
            'option obstacles',
            found=repr(text),
            exists=('box X Y Z LX LY LZ', 'sphere X Y Z R', 'cylinder X Y Z R LENGTH'),
        )
    center, dimensions = numbers[:3], numbers[3:]
    shape = {'sphere': coal.Sphere, 'cylinder': coal.Cylinder, 'box': coal.Box}[kind](*dimensions)
    return pin.GeometryObject(f'{name}_0', 0, 0, pin.SE3(np.eye(3), center), shape)


def _is_solid(numbers: np.ndarray) -> bool:
    return bool(np.isfinite(numbers).all() and (numbers[3:] > 0).all())


def floor_shape() -> pin.GeometryObject:
    """Return the floor, whose surface is at z = 0 of the base frame."""
    middle = np.array([0.0, 0.0, -0.5 * FLOOR[2]])
    return pin.GeometryObject('floor_0', 0, 0, pin.SE3(np.eye(3), middle), coal.Box(*FLOOR))


def is_upright(gravity: np.ndarray) -> bool:
    """Return whether ``gravity`` (3,) in the base frame [m/s^2] is that of a base on a floor."""
    magnitude = float(np.linalg.norm(gravity))
    return magnitude > 0.0 and -gravity[2] / magnitude >= UPRIGHT
