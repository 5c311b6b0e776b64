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


def read_joint(
    entry: Mapping[str, Any], name: str, before: Sequence[str], default: tuple[str, str]
) -> Joint:
    """
    Return the Joint that a body's entry of a description asks for.

    entry : mapping with ``parent, joint, position, own_position, rpy, axis``, all optional
    before : names of the bodies so far; default : (parent, kind) where the entry says nothing
    """
    parent, kind = entry.get('parent', default[0]), entry.get('joint', default[1])
    if parent and parent not in before:
        raise ConfigError(
            f'parent of body {name!r}',
            found=repr(parent),
            exists=before,
            do='list a parent before its children',
        )
    if kind not in KINDS:
        raise ConfigError(f'joint of body {name!r}', found=repr(kind), exists=KINDS)
    if (kind == 'free') != (not parent):
        raise ConfigError(
            f'body {name!r}',
            expected='a parent and a joint, or neither',
            found=f'parent {parent!r}, joint {kind!r}',
        )
    axis = vector(entry.get('axis', (0, 0, 1)), f'axis of body {name!r}')
    if not np.any(axis):
        raise ConfigError(f'axis of body {name!r}', expected='not zero')
    number = -1
    if parent:
        number = before.index(parent)
    return Joint(
        number,
        kind,
        vector(entry.get('position', (0, 0, 0)), f'position of body {name!r}'),
        vector(entry.get('own_position', (0, 0, 0)), f'own_position of body {name!r}'),
        rotation_of(entry.get('rpy', (0, 0, 0)), f'rpy of body {name!r}'),
        axis / np.linalg.norm(axis),
    )


def jointed(parent: BodyState, joint: Joint, body: BodyState) -> BodyState:
    """Return the BodyState of a body with the attitude of ``body``, its place by the joint."""
    turn, carrier = (Rotation.from_quat(b.quaternion_xyzw) for b in (body, parent))
    position = parent.position + carrier.apply(joint.position) - turn.apply(joint.own_position)
    pivot = parent.acc + acceleration_at(parent.omega, parent.alpha, joint.position)
    acc = turn.inv().apply(carrier.apply(pivot)) - acceleration_at(
        body.omega, body.alpha, joint.own_position
    )
    return BodyState(position, body.quaternion_xyzw, body.omega, body.alpha, acc)


def carried(
    parent: BodyState, joint: Joint, turn: Rotation, spin: np.ndarray, speeding: np.ndarray
) -> BodyState:
    """
    Return the BodyState of a body that is turned by ``turn`` in its parent.

    spin, speeding : (N, 3) or (3,) rate and acceleration of the Joint along the body's axes
        [rad/s, rad/s^2]
    """
    omega, alpha = turn.inv().apply(parent.omega), turn.inv().apply(parent.alpha)
    turned = BodyState(
        parent.position,
        (Rotation.from_quat(parent.quaternion_xyzw) * turn).as_quat(),
        omega + spin,
        alpha + speeding + np.cross(omega, spin),
        parent.acc,
    )
    return jointed(parent, joint, turned)


def random_bodies(
    joints: Sequence[Joint], samples: int, rng: np.random.Generator, gravity_world: np.ndarray
) -> tuple[BodyState, ...]:
    """
    Return a BodyState per joint: random motion that the joints allow.

    samples : of every state; rng : of the motion; gravity_world : (3,) [m/s^2]
    """

    def some(scale, axes=3):
        return scale * rng.standard_normal((samples, axes))

    bodies: list[BodyState] = []
    for joint in joints:
        turn, spin, speeding = Rotation.random(samples, rng), some(2.0), some(5.0)
        if joint.parent < 0:
            acc = turn.inv().apply(some(5.0) - np.asarray(gravity_world))
            bodies.append(BodyState(some(1.0), turn.as_quat(), spin, speeding, acc, some(1.0)))
            continue
        if joint.kind in ('fixed', 'revolute'):
            moves = float(joint.kind == 'revolute')
            turn = Rotation.from_matrix(joint.rotation) * Rotation.from_rotvec(
                moves * rng.uniform(-np.pi, np.pi, (samples, 1)) * joint.axis
            )
            spin, speeding = moves * some(2.0, 1) * joint.axis, moves * some(5.0, 1) * joint.axis
        bodies.append(carried(bodies[joint.parent], joint, turn, spin, speeding))
    return tuple(bodies)
