"""Rigs of the suspended platform with known truth: Table 1 of suspended_platform, and a leg."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation
from swinging_platform import Link, SwingingPlatform
import two_link_platform as shown
import yaml


def turned(axis, degrees):
    """Return the rotation (3, 3) about x, y or z."""
    return Rotation.from_euler(axis, degrees, degrees=True).as_matrix()


def cloud(prefix, places):
    """Return {marker: place}."""
    return {f'{prefix}{k}': np.array(p, dtype=float) for k, p in enumerate(places)}


def named(link, name, prefix, kind='fixed'):
    """Return a shown link under another name, without an IMU, its markers as prefix0, ..."""
    return replace(
        link, name=name, imu=None, layout=cloud(prefix, link.layout.values()), kind=kind
    )


SPRINGS, STIFFNESS = shown.SPRINGS, shown.SPRINGS.stiffness
PLATFORM = named(shown.PLATFORM, 'platform', 'p')
LINK0, LINK1 = named(shown.TRUNK, 'link0', ''), named(shown.LIMB, 'link1', 'q', 'spherical')
TWO_LINKS = (PLATFORM, LINK0, LINK1)
POSTURES = (
    [turned('x', 0)],
    [turned('x', -35)],
    [turned('y', -90)],
    [turned('z', 90) @ turned('x', 30)],
)
LOOSE = ([turned('x', 50)], [turned('y', 50)])
_LEG = [
    [0.1, 0.1, -0.05],
    [-0.1, 0.1, -0.08],
    [0.1, -0.1, -0.15],
    [-0.1, -0.1, -0.3],
    [0.1, 0.08, -0.3],
    [-0.1, 0.08, -0.32],
]
_FOOT = [
    [0.06, 0.1, -0.05],
    [-0.06, 0.1, -0.03],
    [0.06, -0.06, -0.05],
    [-0.06, -0.06, -0.03],
    [0.05, 0.15, 0.03],
    [-0.05, 0.16, 0.02],
]
LEG = (
    PLATFORM,
    LINK0,
    Link(
        'thigh',
        8.0,
        np.array([0, 0.01, -0.19]),
        np.diag([0.14, 0.14, 0.03]),
        friction=1.5,
        layout=cloud('t', _LEG),
    ),
    Link(
        'shank',
        3.5,
        np.array([0, 0, -0.18]),
        np.diag([0.045, 0.045, 0.006]),
        kind='revolute',
        axis=(1.0, 0.0, 0.0),
        position=np.array([0, 0, -0.42]),
        friction=0.6,
        layout=cloud('s', 0.8 * np.array(_LEG)),
    ),
    Link(
        'foot',
        1.1,
        np.array([0, 0.06, -0.03]),
        np.diag([0.005, 0.0015, 0.005]),
        position=np.array([0, 0, -0.40]),
        friction=0.08,
        layout=cloud('f', _FOOT),
    ),
)


def ten(link):
    """Return the ten standard parameters of a Link about its frame."""
    return link.parameters


def description(links, calibrated=True):
    """Return the YAML description; without what only calibration finds unless ``calibrated``."""

    def plain(x):
        return np.asarray(x, dtype=float).tolist()

    platform = {'markers': '/markers', 'layout': {k: plain(v) for k, v in links[0].layout.items()}}
    if calibrated:
        platform |= {
            'stiffness': plain(SPRINGS.stiffness),
            'preload': plain(SPRINGS.preload),
            'inertial': plain(ten(links[0])),
        }
    entries = {}
    for parent, link in zip(links, links[1:]):
        entry = {'parent': parent.name, 'joint': link.kind, 'position': plain(link.position)}
        if link.kind != 'fixed':
            entry |= {
                'markers': '/markers',
                'axis': plain(link.axis),
                'layout': {k: plain(v) for k, v in link.layout.items()},
            }
        entries[link.name] = entry
    return yaml.safe_dump(
        {
            'platform': platform,
            'links': entries,
            'mass': float(sum(link.mass for link in links[1:])),
        },
        sort_keys=False,
    )


def record(links, posture, duration, seed, held=True, stop=None):
    """Return a Recording of links (after the first, which is bolted) in a posture."""
    return SwingingPlatform(links, SPRINGS, [None, *posture], held, seed, stop).record(duration)


def loaded(added, duration, seed, platform=PLATFORM, springs=SPRINGS):
    """Return (Recording, ten parameters) of the platform with a known (mass, place) on it."""
    links, pi = [platform], np.zeros(10)
    if added:
        weight = Link('weight', added[0], np.array(added[1]), np.diag([0.3, 0.3, 0.5]))
        links.append(weight)
        pi = ten(weight)
    rig = SwingingPlatform(links, springs, [None] * (len(links) - 1), True, seed)
    return rig.record(duration), pi


def truth(model, links):
    """Return [(value, standard error, truth)] of a model's base entries of the links."""
    known = {
        f'{s}{k}': v
        for k, link in enumerate(links[1:])
        for s, v in zip(
            ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz'), ten(link)
        )
    }
    out = []
    for entry in model.base:
        if entry['unit'] not in ('kg m', 'kg m^2'):
            continue
        total, sign = 0.0, 1.0
        words, factor = entry['expression'].split(), 1.0
        for word in words:
            if word in '+-':
                sign = -1.0 if word == '-' else 1.0
            elif word in known:
                total += sign * factor * known[word]
                factor = 1.0
            else:
                factor = float(word)
        out.append((entry['value'], entry['standard_error'], total))
    return out
