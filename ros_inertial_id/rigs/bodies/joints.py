"""
Bodies and the joints between them, as far as random motions need them.

Bodies are measured one by one, so a joint is not needed to know how they move; it says which
motions can occur at all, and with that which parameters are identifiable.
"""

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .description import rotation_of, vector
from ..measurement.body_state import acceleration_at, BodyState
from ...errors import ConfigError

KINDS = ('fixed', 'revolute', 'spherical', 'free')


@dataclass(frozen=True)
class Joint:
    """
    What holds a body to its parent.

    parent : index of a body before it, -1 for a body that moves freely; kind : one of KINDS
    position, own_position : (3,) the joint in the parent's and in the body's own frame [m]
    rotation : (3, 3) of the body in its parent at joint angle zero (fixed, revolute)
    axis : (3,) unit vector of a revolute joint, in the body's frame
    """

    parent: int
    kind: str
    position: np.ndarray
    own_position: np.ndarray
    rotation: np.ndarray
    axis: np.ndarray


def free_joint() -> Joint:
    """Return the Joint of a body that nothing holds."""
    return Joint(-1, 'free', np.zeros(3), np.zeros(3), np.eye(3), np.array([0.0, 0.0, 1.0]))


def read_joint(entry: Mapping[str, Any], name: str, before: Sequence[str],
               default: tuple[str, str]) -> Joint:
    """
    Return the Joint that a body's entry of a description asks for.

    entry : mapping with ``parent, joint, position, own_position, rpy, axis``, all optional
    before : names of the bodies so far; default : (parent, kind) where the entry says nothing
    """
    parent, kind = entry.get('parent', default[0]), entry.get('joint', default[1])
    if parent and parent not in before:
        raise ConfigError(f'parent of body {name!r}', found=repr(parent), exists=before,
                          do='list a parent before its children')
    if kind not in KINDS:
        raise ConfigError(f'joint of body {name!r}', found=repr(kind), exists=KINDS)
    if (kind == 'free') != (not parent):
        raise ConfigError(f'body {name!r}', expected='a parent and a joint, or neither',
                          found=f'parent {parent!r}, joint {kind!r}')
    axis = vector(entry.get('axis', (0, 0, 1)), f'axis of body {name!r}')
    if not np.any(axis):
        raise ConfigError(f'axis of body {name!r}', expected='not zero')
    return Joint(before.index(parent) if parent else -1, kind,
                 vector(entry.get('position', (0, 0, 0)), f'position of body {name!r}'),
                 vector(entry.get('own_position', (0, 0, 0)), f'own_position of body {name!r}'),
                 rotation_of(entry.get('rpy', (0, 0, 0)), f'rpy of body {name!r}'),
                 axis / np.linalg.norm(axis))


def random_bodies(joints: Sequence[Joint], samples: int, rng: np.random.Generator,
                  gravity_world: np.ndarray) -> tuple[BodyState, ...]:
    """
    Return a BodyState per joint: random motion that the joints allow.

    samples : of every state; rng : of the motion; gravity_world : (3,) [m/s^2]
    """
    def some(size, scale=1.0):
        return scale * rng.standard_normal((samples, size))

    frames = []
    for joint in joints:
        if joint.parent < 0:
            R = Rotation.random(samples, rng).as_matrix()
            frames.append((some(3), R, some(3, 2.0), some(3, 5.0), some(3, 5.0)))
            continue
        p, R, omega, alpha, acc = frames[joint.parent]
        turn, spin, speeding = _relative(joint, samples, rng)
        spin, speeding = _apply(R, spin), _apply(R, speeding)
        Rc = R @ turn
        r, s = _apply(R, joint.position), _apply(Rc, joint.own_position)
        omega_c = omega + spin
        alpha_c = alpha + speeding + np.cross(omega, spin)
        acc_c = acc + acceleration_at(omega, alpha, r) - acceleration_at(omega_c, alpha_c, s)
        frames.append((p + r - s, Rc, omega_c, alpha_c, acc_c))
    return tuple(_state(frame, gravity_world, rng) for frame in frames)


def _relative(joint, samples, rng):
    """Return rotation (N, 3, 3), rates and accelerations (N, 3) of a joint, in the parent."""
    zero = np.zeros((samples, 3))
    if joint.kind == 'fixed':
        return np.broadcast_to(joint.rotation, (samples, 3, 3)), zero, zero
    if joint.kind == 'spherical':
        turn = Rotation.random(samples, rng).as_matrix()
        return (turn, 2.0 * rng.standard_normal((samples, 3)),
                5.0 * rng.standard_normal((samples, 3)))
    angle = rng.uniform(-np.pi, np.pi, (samples, 1))
    turn = joint.rotation @ Rotation.from_rotvec(angle * joint.axis).as_matrix()
    axis = joint.rotation @ joint.axis
    return (turn, 2.0 * rng.standard_normal((samples, 1)) * axis,
            5.0 * rng.standard_normal((samples, 1)) * axis)


def _apply(R, x):
    return np.einsum('nij,...j->ni' if np.ndim(x) == 1 else 'nij,nj->ni', R, x)


def _state(frame, gravity_world, rng):
    p, R, omega, alpha, acc = frame
    into = R.transpose(0, 2, 1)
    return BodyState(p, Rotation.from_matrix(R).as_quat(), _apply(into, omega),
                     _apply(into, alpha), _apply(into, acc - np.asarray(gravity_world)),
                     rng.standard_normal(p.shape))
