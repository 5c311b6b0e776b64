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

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from .tree_description import KINDS, placement, SEVERAL, TreeDescription
from ..errors import ConfigError
from ..options import nearest, yaml_content

BASE = 'base'
KEYS = ('parent', 'joint', 'at', 'rpy', 'axes', 'limits', 'mass', 'center', 'inertia')
# Of the keys that hold numbers: name in messages, how many there may be, and what stands for none.
NUMBERS = {
    'at': ('at', (3,), '0 0 0'),
    'rpy': ('rpy', (3,), '0 0 0'),
    'limits': ('limits', (0, 2, 3), ''),
    'mass': ('mass', (1,), ''),
    'center': ('center', (3,), '0 0 0'),
    'inertia': ('inertia (xx, yy, zz, xy, xz, yz)', (3, 6), '0 0 0'),
}


def mechanism_description(text: str) -> str:
    """Return the URDF text, with options of closed_loop, of a mechanism in YAML; ConfigError."""
    what, expected = 'the mechanism', 'bodies: {NAME: {joint: ..., at: ...}}'
    data = _of_kind(dict, yaml_content(text, what), what, expected)
    bodies = _of_kind(dict, data.get('bodies'), what, expected)
    tree = TreeDescription(str(data.get('mechanism')), BASE)
    links = [BASE]
    for name, content in bodies.items():
        _Body(str(name), content).add_to(tree, links)
        links.append(str(name))
    options = {key: lines for key, lines in data.items() if key not in ('mechanism', 'bodies')}
    for option, lines in options.items():
        _of_kind(list, lines, f'{option} of the mechanism', 'a list')
        if option == 'closures':
            lines = [_closure(tree, str(line), k, links) for k, line in enumerate(lines, 1)]
        tree.say(option, *lines)
    return tree.urdf()


def _of_kind(kind: type, value: Any, what: str, expected: str) -> Any:
    """Return a ``value`` that must be of a ``kind``; ConfigError."""
    if not isinstance(value, kind):
        raise ConfigError(what, expected=expected, found=repr(value)[:60])
    return value


def _one_of(names: Sequence[str], value: str, what: str) -> str:
    """Return a ``value`` that must be one of ``names``; ConfigError."""
    if value not in names:
        raise ConfigError(what, found=repr(value), exists=names, do=nearest(value, names))
    return value


class _Body:
    """One body of the text; its methods read one key each, or raise ConfigError."""

    def __init__(self, name: str, content: Any) -> None:
        self._name = name
        self._content = _of_kind(dict, content, f'body {name}', '{joint: ..., at: ...}')
        for key in content:
            _one_of(KEYS, key, f'body {name} has an unknown key')

    def add_to(self, tree: TreeDescription, links: Sequence[str]) -> None:
        """Add the body and the joint that carries it to a ``tree``; ``links`` are there so far."""
        kind, joint = self._joint()
        ends = self._parent(links), self._name
        limits = dict(zip(('lower', 'upper', 'effort'), self._numbers('limits').tolist()))
        axes = self._axes(kind)
        tree.link(self._name, self._inertial())
        rotation = pin.rpy.rpyToMatrix(*self._numbers('rpy'))
        joint_placement = placement(self._numbers('at'), rotation)
        tree.joint(joint, kind, ends, joint_placement, axes=axes, limits=limits)

    def _numbers(self, key: str) -> np.ndarray:
        words, counts, default = NUMBERS[key]
        return _vector(self._content.get(key, default), f'{words} of body {self._name}', counts)

    def _joint(self) -> tuple[str, str]:
        """Return the kind of its joint, of KINDS, and its name, by default that of the body."""
        what, words = f'joint of body {self._name}', str(self._content.get('joint', 'fixed'))
        if len(words.split()) not in (1, 2):
            raise ConfigError(what, expected='KIND or KIND NAME', found=repr(words))
        kind, name = [*words.split(), self._name][:2]
        return _one_of(KINDS, kind, what), name

    def _parent(self, links: Sequence[str]) -> str:
        parent = str(self._content.get('parent', BASE))
        return _one_of(links, parent, f'body {self._name} is on no body before it')

    def _axes(self, kind: str) -> list[np.ndarray]:
        """Return unit vectors (3,), as many as a joint of a ``kind`` has, or none."""
        what, count = f'axes of body {self._name}', SEVERAL.get(kind, 1)
        expected = f'a list of {count} of a joint {kind}, or none'
        axes = _of_kind(list, self._content.get('axes', []), what, expected)
        if len(axes) not in (0, count):
            raise ConfigError(what, found=repr(axes), expected=expected)
        return [_unit_vector(axis, f'axis of body {self._name}') for axis in axes]

    def _inertial(self) -> tuple[float, np.ndarray, np.ndarray] | None:
        """Return mass, centre (3,), tensor (3, 3) about the centre; None of a massless point."""
        if 'mass' not in self._content:
            return None
        moments = self._numbers('inertia')
        xx, yy, zz, xy, xz, yz = np.pad(moments, (0, 6 - len(moments)))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        (mass,) = self._numbers('mass')
        return mass, self._numbers('center'), tensor


def _closure(tree: TreeDescription, line: str, number: int, links: Sequence[str]) -> str:
    """Return a closure whose points are frames: bodies with coordinates get one of their own."""
    words, frames = line.split(), list[str]()
    while words:
        word = words.pop(0)
        position = _position(words[:3])
        if word in links and position is not None:
            end = 'a'
            if len(frames) > 1:  # the kind of the closure, and its first point
                end = 'b'
            word = tree.point(f'closure{number}_{end}', word, placement(position))
            del words[:3]
        frames.append(word)
    return ' '.join(frames)


def _position(words: Sequence[str]) -> list[float] | None:
    """Return the three numbers of ``words``, None where they are others."""
    try:
        x, y, z = map(float, words)
    except ValueError:
        return None
    return [x, y, z]


def _vector(value: Any, what: str, counts: Sequence[int] = (3,)) -> np.ndarray:
    """Return the numbers of a ``value``, as many as one of ``counts``; ConfigError."""
    try:
        numbers = np.array([float(word) for word in _words(value)])
    except (OverflowError, TypeError, ValueError):
        numbers = np.full(1, np.nan)
    if len(numbers) not in counts or not np.isfinite(numbers).all():
        expected = ' or '.join(map(str, counts))
        raise ConfigError(what, expected=f'{expected} numbers', found=repr(value))
    return numbers


def _unit_vector(value: Any, what: str) -> np.ndarray:
    vector = _vector(value, what)
    length = np.linalg.norm(vector)
    if not length:
        raise ConfigError(what, expected='a direction', found=repr(value))
    return np.asarray(vector / length)


def _words(value: Any) -> Any:
    """Return the parts of a ``value`` of the text: of a list, of words or of a number alone."""
    if isinstance(value, str):
        return value.split()
    if isinstance(value, (int, float)):
        return [value]
    return value
