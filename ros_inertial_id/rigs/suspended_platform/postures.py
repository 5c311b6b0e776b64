"""
Held postures of a rig with the moments of the whole in each: their YAML file, and their rows.

    postures:
    - center: [0.0, -0.256, -0.127]        # of the mass of all links, in the first one's frame [m]
      inertia: [2.92, 0.0, 1.64, 0.0, 0.02, 2.40]  # about it: Ixx Ixy Iyy Ixz Iyz Izz [kg m^2]
      links:
        thigh: {rpy: [0.3, 0.0, 0.0]}      # in its parent [rad]; or rotation: three rows
        shank: {angle: -0.5}               # of a revolute joint [rad]

Moving a body's moments into another frame is a congruence of its pseudo-inertia, P' = T P T', so
the moments of the whole are linear in the links' parameters whatever the joints (Homma and
Yamaura, Eqs. 5 to 7, for spherical joints).
"""

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .method import known_mass
from .rig import PlatformRig
from ..bodies.description import mapping, read_description, rotation_of, vector
from ..bodies.joints import random_bodies
from ..measurement.body_state import BodyState
from ...dynamics.inertial_parameters import (inertia_tensor, Parameter, parameters_of,
                                             pseudo_inertia, SYMBOLS, UNITS)
from ...dynamics.regressor import COLUMN, RegressorBlock, ROW, RowGroup
from ...errors import ConfigError

KEYS = ('center', 'inertia', 'links')
ORTHOGONAL = 0.01  # of printed rotations: four digits are far within
_UNIT = np.array([pseudo_inertia(row) for row in np.eye(10)])


@dataclass(frozen=True)
class Postures:
    """
    Held postures with the moments of the whole.

    rotations (N, n, 3, 3), positions (N, n, 3) : of the n links in one common frame [m]
    moments : (N, 10) standard parameters of the whole in that frame
    """

    rotations: np.ndarray
    positions: np.ndarray
    moments: np.ndarray


def overall_moments(mass: float, center: np.ndarray,
                    inertia_about_center: np.ndarray) -> np.ndarray:
    """
    Return (N, 10) standard parameters from mass [kg], centres (N, 3) [m], inertias (N, 3, 3).

    inertia_about_center : [kg m^2] about the centre, as such devices report it.
    center : (N, 3) of mass [m], all in one common frame
    """
    c = np.asarray(center, dtype=float)
    steiner = (np.einsum('ni,ni->n', c, c)[:, None, None] * np.eye(3)
               - np.einsum('ni,nj->nij', c, c))
    inertia = np.asarray(inertia_about_center) + mass * steiner
    masses = np.full(len(c), float(mass))
    return np.column_stack([masses, mass * c, inertia[:, ROW, COLUMN]])


def posture_rows(rotations: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """
    Return (9, 10 n, N): first moments and inertia of the whole in ten parameters per link.

    rotations (N, n, 3, 3), positions (N, n, 3) : of the n links in one common frame [m]
    """
    return overall_rows(rotations, positions)[1:]


def overall_rows(rotations: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """
    Return (10, 10 n, N): the ten parameters of the whole in those of the links.

    rotations (N, n, 3, 3), positions (N, n, 3) : of the n links in one common frame [m]
    """
    count, links = positions.shape[:2]
    T = np.zeros((count, links, 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = rotations, positions, 1.0
    moved = np.einsum('nlij,kjm,nlom->nlkio', T, _UNIT, T)
    ten = parameters_of(moved)  # (N, links, column, row)
    return ten.transpose(3, 1, 2, 0).reshape(10, 10 * links, count)


def posture_block(postures: Postures, robot: PlatformRig,
                  parameters: Sequence[Parameter]) -> RegressorBlock:
    """Return the RegressorBlock of Postures; columns as suspended_platform.parameters."""
    W = known_mass(posture_rows(postures.rotations, postures.positions), robot.mass)
    y = postures.moments[:, 1:].T
    if np.isfinite(robot.mass):
        y, W = y - robot.mass * W[:, 0], W[:, 1:]
    groups = tuple(RowGroup(f'overall {symbol}', unit, np.arange(W.shape[1]), W[i].T, y[i], y[i])
                   for i, (symbol, unit) in enumerate(zip(SYMBOLS[1:], UNITS[1:])))
    return RegressorBlock(np.arange(len(y[0]), dtype=float), 0, groups)


def random_postures(robot: PlatformRig, count: int, rng: np.random.Generator) -> Postures:
    """Return Postures (moments zero) that the joints allow, in the frame of the first link."""
    bodies = random_bodies(robot.joints, count, rng, robot.gravity_base, held=True)
    return postures_of(bodies)


def postures_of(bodies: Sequence[BodyState], moments: np.ndarray | None = None) -> Postures:
    """
    Return the Postures of BodyStates, platform first, in the frame of the first link.

    bodies : platform and n links; moments : (N, 10) of the whole, None: zeros
    """
    base = bodies[1]
    back = Rotation.from_quat(base.quaternion_xyzw).inv()
    rotations = [(back * Rotation.from_quat(b.quaternion_xyzw)).as_matrix() for b in bodies[1:]]
    positions = [back.apply(b.position - base.position) for b in bodies[1:]]
    count = len(base.position)
    return Postures(np.stack(rotations, 1), np.stack(positions, 1),
                    np.zeros((count, 10)) if moments is None else moments)


def link_parameters(robot: PlatformRig,
                    parameters: Sequence[Parameter]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return (E (10 n, p), e (10 n,)): all links' ten parameters = E @ parameters + e.

    With a known overall mass the first link's mass is what remains of it.
    """
    links = len(robot.link_names)
    names = [f'{symbol}{k}' for k in range(links) for symbol in SYMBOLS]
    E, e = np.zeros((10 * links, len(parameters))), np.zeros(10 * links)
    for column, parameter in enumerate(parameters):
        if parameter.name in names:
            E[names.index(parameter.name), column] = 1.0
    if np.isfinite(robot.mass):
        E[0] = -E[10::10].sum(0)
        e[0] = robot.mass
    return E, e


def _entries(text):
    """Return [('posture 1', its mapping with none but KEYS), ...] of a YAML text."""
    entries = read_description(text, ('postures',)).get('postures')
    if not isinstance(entries, list) or not entries:
        raise ConfigError('postures', expected='a list of postures', found=repr(entries))
    out = [(f'posture {k}', mapping(entry, f'posture {k}')) for k, entry in enumerate(entries, 1)]
    for where, entry in out:
        for key in entry:
            if key not in KEYS:
                raise ConfigError(f'unknown key in {where}', found=key, exists=KEYS)
        entry['links'] = mapping(entry.get('links'), f'links of {where}', empty=True)
    return out


def read_postures(text: str, robot: PlatformRig) -> Postures:
    """Return the Postures of a PlatformRig in a YAML text; ConfigError names what is wrong."""
    entries = _entries(text)
    if not np.isfinite(robot.mass):
        raise ConfigError('the description has no mass', expected='mass: of all links together, '
                          'to which the moments belong')
    rotations, positions, centers, inertias = [], [], [], []
    for where, entry in entries:
        R, p = link_poses(robot, entry['links'], where)
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
    """
    rotations, positions = platform_poses(robot, links, where)
    return rotations[0].T @ rotations, (positions - positions[0]) @ rotations[0]


def platform_poses(robot: PlatformRig, links: Mapping[str, Any],
                   where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations (n, 3, 3), positions (n, 3) of the links in the platform's frame."""
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
    """Return per posture {link: its entry} of the links that can turn, as the file has them."""
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
