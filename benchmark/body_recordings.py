"""What the machines of bodies.py share: parameters from bodies, and channels of a Recording."""

import numpy as np

from ros_inertial_id.measurement.recording import Channel

SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


def ten(mass, centre, inertia):
    """Return the ten standard parameters about the frame's origin."""
    c, J = np.array(centre), np.array(inertia, dtype=float)
    J = (np.diag(J) if J.ndim == 1 else J) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, J[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])


def truth(bodies, first=1):
    """Return {symbol + number: value} of bodies, each (mass, centre, inertia)."""
    return {f'{s}{k}': x for k, body in enumerate(bodies, first)
            for s, x in zip(SYMBOLS, ten(*body))}


def channel(topic, kind, t, fields, names=()):
    """Return the Channel of samples at times t [s]."""
    stamps = np.round(np.asarray(t) * 1e9).astype(np.int64) + 10 ** 9
    return Channel(topic, kind, stamps, stamps.copy(), fields, names)
