"""Tables 2 and 3 of the suspended platform's paper: three held postures of two links."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from ros_inertial_id.rigs.calibration.postures import Postures

MASS = 80.817
TEXT = """
platform:
  pose: /platform
  stiffness: [1, 1, 1, 1, 1, 1]
  inertial: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
links:
  link0: {parent: platform, joint: fixed}
  link1: {parent: link0, joint: spherical, pose: /link1}
mass: 80.817
"""
# Table 2: xx yy zz xy zx yz about the centre of mass; centres; rotations of link 1.
INERTIA = (
    (2.9221, 1.6368, 2.3958, 0.0066, -0.0017, 0.0203),
    (3.6841, 1.6167, 3.1638, 0.0155, 0.0, 0.0723),
    (3.3737, 2.1047, 3.1348, -0.6960, -0.2345, -0.6275),
)
CENTER = ((0.0002, -0.2562, -0.1265), (-0.0001, -0.2382, -0.1244), (0.0332, -0.2468, -0.0942))
TURN = (
    ((0.9999, 0.0071, 0.0099), (-0.0096, 0.9576, 0.2880), (-0.0074, -0.2881, 0.9576)),
    ((0.9998, 0.0037, 0.0179), (0.0014, 0.9620, -0.2730), (-0.0182, 0.2730, 0.9618)),
    ((-0.0010, 0.0, -1.0), (-0.0316, 0.9995, 0.0), (0.9995, 0.0316, -0.0010)),
)
# Table 3: combinations of parameters -> value.
TABLE_3 = {
    'mcx0': 0.0599,
    'mcy0': -20.2678,
    'mcz0': -7.6113,
    'mcx1': -0.0177,
    'mcy1': 0.3212,
    'mcz1': -2.6268,
    'Iyz0': -2.5027,
    'Ixz0': 0.0121,
    'Ixy0': 0.0192,
    'Iyz1': 0.0519,
    'Ixz1': -0.0087,
    'Ixy1': -0.0052,
    'Ixx0 -Iyy0': 6.6079,
    'Izz0 -Iyy0': 5.2583,
    'Ixx1 -Iyy1': -0.0238,
    'Izz1 -Iyy1': -0.5064,
    'Iyy0 Iyy1': 2.9315,
}


def tensor(xx, yy, zz, xy, zx, yz):
    return np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])


def combination(text):
    return {word.lstrip('-'): -1.0 if word[0] == '-' else 1.0 for word in text.split()}


def postures():
    """Return the Postures of Table 2."""
    turn = Rotation.from_matrix(TURN).as_matrix()  # four printed digits are no rotation yet
    rotations = np.stack([np.broadcast_to(np.eye(3), (3, 3, 3)), turn], axis=1)
    moments = [_about_the_joint(tensor(*row), np.array(c)) for row, c in zip(INERTIA, CENTER)]
    return Postures(rotations, np.zeros((3, 2, 3)), np.array(moments))


def _about_the_joint(inertia, center):
    """Return the ten parameters of all links by their inertia about their centre (Steiner)."""
    moved = inertia + MASS * (center @ center * np.eye(3) - np.outer(center, center))
    return [MASS, *MASS * center, *moved[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]


def with_table_3(result):
    """Return the result with the paper's own estimate in the place of ours."""
    J1zz = 0.0  # any: the combinations do not depend on it
    full = {k: v for k, v in TABLE_3.items() if ' ' not in k}
    full['Izz1'] = J1zz
    full['Iyy1'] = J1zz - TABLE_3['Izz1 -Iyy1']
    full['Ixx1'] = full['Iyy1'] + TABLE_3['Ixx1 -Iyy1']
    full['Iyy0'] = TABLE_3['Iyy0 Iyy1'] - full['Iyy1']
    full['Ixx0'] = full['Iyy0'] + TABLE_3['Ixx0 -Iyy0']
    full['Izz0'] = full['Iyy0'] + TABLE_3['Izz0 -Iyy0']
    values = result.base.reduce([full.get(p.name, 0.0) for p in result.base.parameters])
    return replace(result, estimate=replace(result.estimate, params=values))
