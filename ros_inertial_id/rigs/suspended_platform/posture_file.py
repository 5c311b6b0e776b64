"""
Posture file: held postures of a rig and the moments of the whole in each, as YAML.

    postures:
    - center: [0.0, -0.256, -0.127]        # of the mass of all links, in the first one's frame [m]
      inertia: [2.92, 0.0, 1.64, 0.0, 0.02, 2.40]  # about it: Ixx Ixy Iyy Ixz Iyz Izz [kg m^2]
      links:
        thigh: {rpy: [0.3, 0.0, 0.0]}      # in its parent [rad]; or rotation: three rows
        shank: {angle: -0.5}               # of a revolute joint [rad]
"""

from typing import Any, Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .held_postures import overall_moments, Postures
from .rig import PlatformRig
from ..bodies.body_rig import mapping, read_description
from ..bodies.link_tree import rotation_of, vector
from ...dynamics.inertial_parameters import inertia_tensor
from ...errors import ConfigError

KEYS = ('center', 'inertia', 'links')
ORTHOGONAL = 0.01  # of printed rotations: four digits are far within


def posture_entries(text: str, keys: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Return [('posture 1', its mapping with none but ``keys``), ...] of a YAML text."""
    entries = read_description(text, ('postures',)).get('postures')
    if not isinstance(entries, list) or not entries:
        raise ConfigError('postures', expected='a list of postures', found=repr(entries))
    out = [(f'posture {k}', mapping(entry, f'posture {k}')) for k, entry in enumerate(entries, 1)]
    for where, entry in out:
        for key in entry:
            if key not in keys:
                raise ConfigError(f'unknown key in {where}', found=key, exists=keys)
    return out


def read_postures(text: str, robot: PlatformRig) -> Postures:
    """
    Return the Postures of a PlatformRig in a YAML text; ConfigError names what is wrong.

    text : see the head of this module; robot : PlatformRig, whose mass must be known
    """
    entries = posture_entries(text, KEYS)
    if not np.isfinite(robot.mass):
        raise ConfigError('the description has no mass', expected='mass: of all links together, '
                          'to which the moments belong')
    rotations, positions, centers, inertias = [], [], [], []
    for where, entry in entries:
        R, p = link_poses(robot, entry.get('links') or {}, where)
        rotations.append(R)
        positions.append(p)
        centers.append(vector(entry.get('center'), f'center of {where}'))
        inertias.append(inertia_tensor(np.concatenate([np.zeros(4), vector(
            entry.get('inertia'), f'inertia of {where}', 6)])))
    return Postures(np.array(rotations), np.array(positions),
                    overall_moments(robot.mass, np.array(centers), np.array(inertias)))


def joined(postures: Sequence[Postures]) -> Postures:
    """Return several Postures ``postures`` as one."""
    return Postures(*(np.concatenate([getattr(p, name) for p in postures])
                      for name in ('rotations', 'positions', 'moments')))


def link_poses(robot: PlatformRig, links: Mapping[str, Any],
               where: str) -> tuple[np.ndarray, np.ndarray]:
    """
    Return rotations (n, 3, 3), positions (n, 3) of the links in the first one's frame.

    robot : PlatformRig; links : {name: how it is turned in its parent}, as in the file
    where : name of the posture, for what ConfigError says
    """
    rotations, positions = platform_poses(robot, links, where)
    return rotations[0].T @ rotations, (positions - positions[0]) @ rotations[0]


def platform_poses(robot: PlatformRig, links: Mapping[str, Any],
                   where: str) -> tuple[np.ndarray, np.ndarray]:
    """
    Return rotations (n, 3, 3), positions (n, 3) of the links in the platform's frame.

    robot, links, where : as for ``link_poses``
    """
    for name in links:
        if name not in robot.link_names:
            raise ConfigError(f'unknown link in {where}', found=name, exists=robot.link_names)
    frames = [(np.eye(3), np.zeros(3))]
    for name, joint in zip(robot.link_names, robot.joints[1:]):
        carrier, place = frames[joint.parent]
        R = carrier @ _turn(links.get(name), joint, f'link {name!r} in {where}',
                            free=name == robot.link_names[0])
        frames.append((R, place + carrier @ joint.position - R @ joint.own_position))
    rotations, positions = zip(*frames[1:])
    return np.array(rotations), np.array(positions)


def relative_turns(robot: PlatformRig, postures: Postures) -> list[dict[str, dict[str, Any]]]:
    """
    Return per posture {link: its entry} of the links that can turn, as the file has them.

    robot : PlatformRig to whose links the ``postures`` belong
    """
    out = []
    for rotations in postures.rotations:
        turns = {}
        for k, (name, joint) in enumerate(zip(robot.link_names, robot.joints[1:])):
            if joint.kind == 'fixed' or joint.parent < 1:
                continue
            relative = rotations[joint.parent - 1].T @ rotations[k]
            if joint.kind == 'revolute':
                turn = Rotation.from_matrix(joint.rotation.T @ relative).as_rotvec()
                turns[name] = {'angle': float(turn @ joint.axis)}
            else:
                turns[name] = {'rpy': Rotation.from_matrix(relative).as_euler('xyz').tolist()}
        out.append(turns)
    return out


def _turn(entry, joint, what, free):
    """Return the rotation (3, 3) of a link in its parent; ``free``: nothing hangs on it."""
    if joint.kind == 'fixed' or entry is None and free:
        return joint.rotation
    entry = mapping(entry, f'{what}, how it is turned in its parent')
    kinds = ('angle',) if joint.kind == 'revolute' else ('rpy', 'rotation')
    if len(entry) != 1 or not set(entry) <= set(kinds):
        raise ConfigError(what, found=list(entry), expected=' or '.join(kinds))
    (kind, value), = entry.items()
    if kind == 'angle':
        angle, = vector([value], f'angle of {what}', 1)
        return joint.rotation @ Rotation.from_rotvec(angle * joint.axis).as_matrix()
    if kind == 'rpy':
        return rotation_of(value, f'rpy of {what}')
    rows = np.array([vector(row, f'rotation of {what}') for row in value])
    if rows.shape != (3, 3) or np.abs(rows @ rows.T - np.eye(3)).max() > ORTHOGONAL or (
            np.linalg.det(rows) < 0.0):
        raise ConfigError(f'rotation of {what}', expected='three rows of a rotation matrix',
                          found=value)
    return Rotation.from_matrix(rows).as_matrix()
