"""
Descriptions as far from the truth as identification supposes them: a draw from its prior.

The divergence between a body and its description counts with weight one (see
estimation/consistency.py): near the description that is a normal distribution of S in P0 = L
exp(S) L', with P = L L' the pseudo-inertia of the true body, S symmetric, variance 1 on its
diagonal and 1/2 beside it.  Masses are off by a factor of two or so, centres by most of a radius
of gyration.  Stated errors can only be right in the mean over such descriptions: beside one that
is better they are too wide.
"""

import re

import numpy as np
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

NUMBER = r'"([-+0-9.e]+)"'
AXES = ('x', 'y', 'z')


def drawn(urdf, seed):
    """Return the URDF text with bodies, and priors of friction, drawn by ``seed``."""
    rng = np.random.default_rng([7, seed])
    bodies = re.sub(r'<inertial>.*?</inertial>', lambda m: _other_body(m[0], rng), urdf)

    def other_prior(match):
        value, deviation = float(match[2]), float(match[3])
        other = abs(value + deviation * rng.standard_normal())
        return f'{match[1]} {other:.6g} {match[3]}'

    return re.sub(r'(  - (?:k|fv|fc|Ia)\d+) (\S+) (\S+)', other_prior, bodies)


def _other_body(text, rng):
    """Return another <inertial> than ``text``, which has a mass."""
    mass = float(re.search('mass value=' + NUMBER, text)[1])
    centre, turn = _triple(text, 'xyz'), _triple(text, 'rpy')
    R = Rotation.from_euler('xyz', turn).as_matrix()
    inertia = R @ _tensor(text) @ R.T
    P = np.zeros((4, 4))
    P[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia + mass * np.outer(centre, centre)
    P[:3, 3] = P[3, :3] = mass * centre
    P[3, 3] = mass
    L = np.linalg.cholesky(P)
    X = rng.standard_normal((4, 4))
    P = L @ expm((X + X.T) / 2) @ L.T
    mass, centre = P[3, 3], P[:3, 3] / P[3, 3]
    second = P[:3, :3] - mass * np.outer(centre, centre)
    return _inertial(mass, centre, np.trace(second) * np.eye(3) - second)


def _triple(text, attribute):
    """Return the three numbers of an ``attribute`` of the origin, zero without it."""
    found = re.search(attribute + '="([^"]*)"', text)
    if found is None:
        return np.zeros(3)
    return np.array(found[1].split(), dtype=float)


def _tensor(text):
    """Return the inertia tensor (3, 3) of an <inertial>."""
    out = np.zeros((3, 3))
    for i, row in enumerate(AXES):
        for j, column in enumerate(AXES[i:], i):
            out[i, j] = out[j, i] = float(re.search(f'i{row}{column}={NUMBER}', text)[1])
    return out


def _inertial(mass, centre, inertia):
    """Return the <inertial> of a body, its axes those of the link."""
    place = ' '.join(f'{x:.9g}' for x in centre)
    moments = ''
    for i, row in enumerate(AXES):
        for j, column in enumerate(AXES[i:], i):
            moments += f' i{row}{column}="{inertia[i, j]:.9g}"'
    return (
        f'<inertial><origin xyz="{place}" rpy="0 0 0"/><mass value="{mass:.9g}"/>'
        f'<inertia{moments}/></inertial>'
    )
