"""URDF texts of robots that nobody built: any tree of joints, axes and placements askew."""

import numpy as np

KINDS = {
    'revolute': ('revolute',) * 4,
    'prismatic': ('prismatic',) * 3,
    'continuous': ('continuous',) * 3,
    'mixed': ('revolute', 'prismatic', 'continuous', 'prismatic', 'revolute'),
}
BRANCHES = (-1, 0, 0, 1, 1, 2, -1)  # parent of each joint: two trees on one base, forks in one


def tree_urdf(kinds, parents=None, seed=0, name='tree'):
    """
    Return the URDF text of joints j0, j1, ... of ``kinds``; j<i> carries link l<i>.

    parents : index of the joint before each, -1 for the base; default a chain
    """
    rng = np.random.default_rng(seed)
    parents = range(-1, len(kinds) - 1) if parents is None else parents
    parts = [f'<robot name="{name}"><link name="base"/>']
    for i, (kind, parent) in enumerate(zip(kinds, parents)):
        axis = rng.normal(size=3)
        parts.append(
            f'<joint name="j{i}" type="{kind}">'
            f'<parent link="{"base" if parent < 0 else f"l{parent}"}"/><child link="l{i}"/>'
            f'{_origin(0.4 * rng.normal(size=3), rng.uniform(-2, 2, 3))}'
            f'<axis xyz="{_text(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-2" upper="2" effort="50" velocity="3"/></joint>'
            f'<link name="l{i}">{_inertial(rng)}</link>'
        )
    return ''.join(parts) + '</robot>'


def _inertial(rng):
    """Return the inertial of ten random point masses: a body that can exist."""
    points, masses = 0.2 * rng.normal(size=(10, 3)), rng.uniform(0.05, 0.5, 10)
    centre = masses @ points / masses.sum()
    turn = rng.uniform(-1, 1, 3)
    points = (points - centre) @ _rotation(turn)  # into the inertial's own axes
    xx, xy, xz, yy, yz, zz = (
        sum(m * ((p @ p) * (i == j) - p[i] * p[j]) for m, p in zip(masses, points))
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )
    return (
        f'<inertial>{_origin(centre, turn)}<mass value="{masses.sum():.17g}"/>'
        f'<inertia ixx="{xx:.17g}" ixy="{xy:.17g}" ixz="{xz:.17g}" iyy="{yy:.17g}" '
        f'iyz="{yz:.17g}" izz="{zz:.17g}"/></inertial>'
    )


def _rotation(rpy):
    """Return the rotation matrix of URDF's roll, pitch, yaw."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler('xyz', rpy).as_matrix()


def _origin(xyz, rpy):
    return f'<origin xyz="{_text(xyz)}" rpy="{_text(rpy)}"/>'


def _text(numbers):
    return ' '.join(f'{x:.17g}' for x in numbers)
