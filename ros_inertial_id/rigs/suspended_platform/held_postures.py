"""
Overall mass moments of held postures as rows in the links' parameters (suspended_platform).

Moving a body's moments into another frame is a congruence of its pseudo-inertia, P' = T P T', so
the moments of the whole are linear in the links' parameters whatever the joints (Homma and
Yamaura, Eqs. 5 to 7, for spherical joints).
"""

from dataclasses import dataclass
from typing import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .method import known_mass
from .rig import PlatformRig
from ..bodies.link_tree import random_bodies
from ..measurement.body_state import BodyState
from ...dynamics.inertial_parameters import (Parameter, parameters_of, pseudo_inertia, SYMBOLS,
                                             UNITS)
from ...dynamics.regressor import COLUMN, RegressorBlock, ROW, RowGroup

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
    """
    Return the RegressorBlock of Postures; columns as suspended_platform.parameters.

    postures : with their moments; robot : PlatformRig, whose mass counts if it is known
    parameters : of the columns
    """
    W = known_mass(posture_rows(postures.rotations, postures.positions), robot.mass)
    y = postures.moments[:, 1:].T
    if np.isfinite(robot.mass):
        y, W = y - robot.mass * W[:, 0], W[:, 1:]
    groups = tuple(RowGroup(f'overall {symbol}', unit, np.arange(W.shape[1]), W[i].T, y[i], y[i])
                   for i, (symbol, unit) in enumerate(zip(SYMBOLS[1:], UNITS[1:])))
    return RegressorBlock(np.arange(len(y[0]), dtype=float), 0, groups)


def random_postures(robot: PlatformRig, count: int, rng: np.random.Generator) -> Postures:
    """
    Return Postures (moments zero) that the joints allow, in the frame of the first link.

    robot : PlatformRig; count : of postures; rng : that they are drawn from
    """
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

    robot : PlatformRig; parameters : p columns of its rows
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
