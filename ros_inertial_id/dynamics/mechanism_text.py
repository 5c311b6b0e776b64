"""
Mechanisms in YAML: bodies on joints, which may be universal, ball or free in one word.

    mechanism: hexapod
    bodies:
      platform: {joint: free, at: [0, 0, 0.7], mass: 6, inertia: [0.1, 0.1, 0.2]}
      barrel0: {joint: universal foot0, at: [0.49, -0.1, 0], axes: ['0 1 0', '1 0 0'], mass: 1.1}
      rod0: {parent: barrel0, joint: slide leg0, mass: 0.5, center: [0, 0, -0.2]}
    closures: ['point platform 0.2 -0.2 0 rod0']
    independent: [leg0]

A closure may name points by a body and three coordinates [m] in its frame; all other keys are
options of closed_loop.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from .tree_description import KINDS, placement, SEVERAL, TreeDescription
from ..errors import ConfigError
from ..options import nearest, yaml_content

KEYS = ('parent', 'joint', 'at', 'rpy', 'axes', 'limits', 'mass', 'center', 'inertia')
BASE = 'base'


def mechanism_description(text: str) -> str:
    """Return the URDF text, with options of closed_loop, of a mechanism in YAML; ConfigError."""
    data = yaml_content(text, 'the mechanism')
    bodies = data.get('bodies') if isinstance(data, dict) else None
    if not isinstance(bodies, dict) or not all(isinstance(b, dict) for b in bodies.values()):
        raise ConfigError(
            'the mechanism',
            expected='bodies: {NAME: {joint: ..., at: ...}}',
            found=repr(bodies)[:60],
        )
    tree = TreeDescription(str(data['mechanism']), BASE)
    links = [BASE]
    for name, entry in bodies.items():
        _body(tree, str(name), entry, links)
        links.append(str(name))
    for key, lines in data.items():
        if key in ('mechanism', 'bodies'):
            continue
        if not isinstance(lines, list):
            raise ConfigError(f'{key} of the mechanism', expected='a list', found=repr(lines))
        tree.say(
            key,
            *(
                lines
                if key != 'closures'
                else (
                    _closure(tree, str(line), number, links)
                    for number, line in enumerate(lines, 1)
                )
            ),
        )
    return tree.urdf()


def _body(tree: TreeDescription, name: str, entry: Mapping[str, Any], links: list[str]) -> None:
    """Add one body and the joint that carries it."""
    for key in entry:
        if key not in KEYS:
            raise ConfigError(
                f'body {name} has an unknown key', found=key, exists=KEYS, do=nearest(key, KEYS)
            )
    kind, *names = str(entry.get('joint', 'fixed')).split() or ['']
    parent = str(entry.get('parent', BASE))
    if kind not in KINDS or len(names) > 1:
        raise ConfigError(
            f'joint of body {name}',
            found=repr(entry.get('joint')),
            exists=[f'{k} [NAME]' for k in KINDS],
            do=nearest(kind, KINDS),
        )
    if parent not in links:
        raise ConfigError(f'body {name} is on no body before it', found=parent, exists=links)
    given = entry.get('axes', [])
    if not isinstance(given, list) or given and len(given) != SEVERAL.get(kind, 1):
        raise ConfigError(
            f'axes of body {name}',
            found=repr(given),
            expected=f'a list of {SEVERAL.get(kind, 1)} of a joint {kind}, or none',
        )
    axes = [_vector(a, f'axis of body {name}') for a in given]
    if not all(axis.any() for axis in axes):
        raise ConfigError(f'axis of body {name}', expected='a direction', found='0 0 0')
    axes = [axis / np.linalg.norm(axis) for axis in axes]
    bounds = _vector(entry.get('limits', ()), f'limits of body {name}', (0, 2, 3)).tolist()
    limits = dict(zip(('lower', 'upper', 'effort'), bounds))
    tree.link(name, _inertial(name, entry))
    turn = pin.rpy.rpyToMatrix(*_vector(entry.get('rpy', '0 0 0'), f'rpy of body {name}'))
    place = placement(_vector(entry.get('at', '0 0 0'), f'at of body {name}'), turn)
    tree.joint(names[0] if names else name, kind, (parent, name), place, axes=axes, limits=limits)


def _inertial(name, entry):
    """Return (mass, centre (3,), tensor (3, 3) about the centre) of a body's entry, or None."""
    if 'mass' not in entry:
        return None
    values = _vector(
        entry.get('inertia', '0 0 0'), f'inertia (xx, yy, zz, xy, xz, yz) of body {name}', (3, 6)
    )
    xx, yy, zz, xy, xz, yz = np.pad(values, (0, 6 - len(values)))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    (mass,) = _vector([entry['mass']], f'mass of body {name}', (1,))
    return mass, _vector(entry.get('center', '0 0 0'), f'center of body {name}'), tensor


def _closure(tree, line, number, links):
    """Return a closure whose points are frames: bodies with coordinates get one of their own."""
    words = line.split()
    out: list[str] = []
    while words:
        word = words.pop(0)
        coordinates = words[:3]
        try:
            place = [float(x) for x in coordinates] if word in links and len(words) > 2 else []
        except ValueError:
            place = []
        if place:
            word = tree.point(f'closure{number}_{"ab"[len(out) > 1]}', word, placement(place))
            del words[:3]
        out.append(word)
    return ' '.join(out)


def _vector(value, what, counts=(3,)):
    """Return as many numbers of a list or of words as one of ``counts``."""
    words = value.split() if isinstance(value, str) else value
    try:
        out = np.array([float(x) for x in words])
    except (OverflowError, TypeError, ValueError):
        out = np.full(1, np.nan)
    if len(out) not in counts or not np.isfinite(out).all():
        raise ConfigError(
            what, expected=f'{" or ".join(map(str, counts))} numbers', found=repr(value)
        )
    return out
