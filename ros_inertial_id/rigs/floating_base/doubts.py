"""What contradicts what was said: of the contacts of feet, of the sensor on the base."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .base_motion import ImuMotion
from .contacts import foot_jacobians
from .observation import FloatingObservation, FloatingState
from .robot import FloatingRobot
from ..bodies.observation import doubt
from ...dynamics.body_motion import body_motions

CARRIES = 0.1  # of the weight, on a foot that is in the air
PULLS = 0.05  # of the weight, by which a foot pulls at the ground
NOTHING = 0.02  # of the weight, on a foot that carries nothing
OFTEN = {  # share of the samples
    'impossible pull': 0.1,
    'foot in the air carries': 0.1,
    'foot on the ground carries nothing': 0.3,
}
CONTRADICTIONS = {  # says, advice, severity
    'impossible pull': (
        'pulls at the ground in {percent:.0f} % of the time that it stands',
        'check the signs and the order of efforts, and contact_topic:',
        'wrong',
    ),
    'foot in the air carries': (
        'carries the robot in {percent:.0f} % of the time that it is said to be in the air',
        'correct contact_topic: or contact_threshold:; without a topic every foot may stand',
        'wrong',
    ),
    'foot on the ground carries nothing': (
        'carries nothing in {percent:.0f} % of the time that it is said to stand',
        'correct contact_topic: or contact_threshold:',
        'doubtful',
    ),
}
NEGATED = 'the accelerometer has the other sign: at rest it has to read 9.81 m/s^2 upwards'
EXPLAINS = 0.6  # of the residual is left at most by a mounting that is right
FEWEST = 20  # samples of a foot
LEAST_HEIGHT = 5e-3  # [m] that feet are off before it is said: rubber and radii are some of it
SURE = 3.0  # standard errors of it
SINGULAR_LEG = 1e-2  # of the largest singular value of a leg: along it the joints show no force


def contact_doubts(
    observation: FloatingObservation,
    robot: FloatingRobot,
    states: Sequence[FloatingState],
    lacking: Sequence[np.ndarray],
) -> list[dict[str, Any]]:
    """
    Return what contradicts the contacts, as the fields of Findings.

    lacking : (2, B, n) of every state, what joints exert less than the motion needs [N m], by
    fitted bodies and by those described.  Each has errors of its own, of the motion and of the
    description: what contradicts the contacts is what both say.
    """
    parts = [_normal_forces(robot, *pair) for pair in zip(states, lacking)]
    force = np.concatenate(parts, axis=1)
    t = np.concatenate([state.t for state in states])
    said = observation.contacts.standing(t, len(robot.feet), 0.0)
    may_stand = np.concatenate([state.standing for state in states])
    flagged = bool(observation.contacts.series)
    out = []
    for k, foot in enumerate(robot.feet):
        share = force[..., k] / robot.weight
        measures = (
            ('impossible pull', share < -PULLS, said[:, k]),
            ('foot in the air carries', share > CARRIES, ~may_stand[:, k]),
            ('foot on the ground carries nothing', np.abs(share) < NOTHING, flagged & said[:, k]),
        )
        for name, contradicts, when in measures:
            if np.count_nonzero(when) <= FEWEST:
                continue
            often = float(np.mean(np.all(contradicts, axis=0)[when]))
            if often > OFTEN[name]:
                out.append(_contradiction(name, foot.name, often))
        if flagged and said[:, k].all():
            out.append(_never(foot.name, 'leaves'))
        if not said[:, k].any():
            out.append(_never(foot.name, 'touches'))
    return out


def height_doubts(height: float, error: float) -> list[dict[str, Any]]:
    """
    Return the fields of a Finding where feet touch a ``height`` [m] higher than described.

    error : its standard error [m]
    """
    if abs(height) < max(LEAST_HEIGHT, SURE * error):
        return []
    size, where = 1e3 * abs(height), ('lower', 'higher')[height > 0.0]
    return [
        doubt(
            'height of the feet',
            f'the feet touch {size:.0f} +- {1e3 * error:.0f} mm {where} than described',
            'where forces of the feet explain most of the rows',
            (size, 'mm'),
            'correct the radii or places in feet:, or the description of the legs',
        )
    ]


def _contradiction(name: str, foot: str, share: float) -> dict[str, Any]:
    """Return the fields of a Finding of CONTRADICTIONS in a ``share`` of a foot's samples."""
    says, do, severity = CONTRADICTIONS[name]
    percent = 100.0 * share
    return doubt(
        f'{foot}: {name}',
        f'{foot} {says.format(percent=percent)}',
        f'what the joints of the leg of {foot} exert beyond its motion',
        (percent, '% of its samples'),
        do,
        severity,
    )


def _never(foot: str, what: str) -> dict[str, Any]:
    """Return the fields of a note on flags of a ``foot`` that never change."""
    return doubt(
        f'{foot} never {what}',
        f'{foot} never {what} the ground',
        f'contact flags of {foot}',
        (1.0, 'foot'),
        'if it did: check contact_topic: and contact_threshold:',
        'note',
    )


def mounting_doubts(
    observation: FloatingObservation,
    relative: Callable[[FloatingObservation], float],
    turned: bool,
) -> list[dict[str, Any]]:
    """
    Return the fields of a Finding where an IMU with other signs, units or axes explains more.

    relative : of an observation -> the residual that is left of its rows
    turned : whether other axes are tried
    """
    if not isinstance(observation.base, ImuMotion):
        return []
    least, words = EXPLAINS * relative(observation), ''
    for said, turn, factors in _mountings(turned):
        left = relative(replace(observation, base=observation.base.remounted(turn, factors)))
        if left < least:
            least, words = left, said
    if not words:
        return []
    return [
        doubt(
            'IMU otherwise than described',
            words,
            'the residual with other axes, signs and units',
            (100.0 * least, '% residual with it'),
            'correct the frame of the IMU in the description, or what it publishes',
        )
    ]


def upside_down(robot: FloatingRobot, states: Sequence[FloatingState]) -> list[dict[str, Any]]:
    """Return the fields of a Finding where feet are above the base, as the accelerometer says."""
    heights = []
    for state in states:
        motions = body_motions(robot.tree, state.q)
        for foot in robot.feet:
            place = motions[foot.frame.body + 1].at(foot.frame).p
            base = motions[robot.tree.ancestors(foot.frame.body)[0] + 1].p
            heights.append(np.einsum('ib,bi->b', place - base, state.up))
    if not heights or np.mean(np.concatenate(heights)) < 0.0:
        return []
    return [
        doubt(
            'IMU otherwise than described',
            NEGATED,
            'the height of the feet below the joints of their legs',
            (float(np.mean(np.concatenate(heights))), 'm'),
            'publish the specific force, or correct the frame of the IMU in the description',
        )
    ]


def _mountings(turned: bool) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield words, rotation (3, 3), and factors (2,) of gyro and accelerometer to be tried."""
    upright = np.eye(3)
    yield NEGATED, upright, np.array([1.0, -1.0])
    yield 'the gyro has the other sign', upright, np.array([-1.0, 1.0])
    yield 'the gyro is in degrees per second', upright, np.array([np.pi / 180.0, 1.0])
    if not turned:
        return
    for axes in product((0.0, 0.5, 1.0, 1.5), repeat=2):
        for first in (0.0, 0.5):
            rpy = np.pi * np.array([axes[0], first, axes[1]])
            words = ' '.join(f'{angle:.2f}' for angle in rpy)
            turn = Rotation.from_euler('xyz', rpy).as_matrix()
            yield (
                f'the axes of the IMU are turned: rpy {words}, about, within its frame',
                turn,
                (np.ones(2)),
            )


def _normal_forces(robot: FloatingRobot, state: FloatingState, lacking: np.ndarray) -> np.ndarray:
    """Return forces (2, B, feet) [N] away from the ground: what each leg lacks (2, B, n)."""
    jacobians = foot_jacobians(robot, state.q, state.up.T, state.ground)
    out = np.empty((len(lacking), len(state.t), len(robot.feet)))
    for k, J in enumerate(jacobians):
        joints = _own_joints(robot, k)
        of_leg = np.linalg.pinv(J[:, 6 + joints], rcond=SINGULAR_LEG)  # (B, c, joints)
        wrench = np.einsum('bcj,kbj->kbc', of_leg, lacking[..., joints])
        out[..., k] = np.einsum('kbc,bc->kb', wrench[..., :3], state.up)
    return out


def _own_joints(robot: FloatingRobot, number: int) -> np.ndarray:
    """Return the joints (k,) that move the foot of a ``number`` and no other one."""
    moving = [set(robot.tree.ancestors(foot.frame.body)) for foot in robot.feet]
    others = set().union(*(joints for k, joints in enumerate(moving) if k != number))
    return np.array(sorted(moving[number] - others), dtype=int)
