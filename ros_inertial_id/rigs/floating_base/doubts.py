"""What contradicts the contacts: a foot that is told to stand and hangs, or the reverse."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .contacts import foot_jacobians
from .observation import FloatingState
from .robot import FloatingRobot
from ..bodies.observation import doubt

CARRIES = 0.1  # of the weight, on a foot that is in the air
PULLS = 0.05  # of the weight, by which a foot pulls at the ground
OFTEN = 0.1  # share of the samples
FEWEST = 20  # samples of a foot
SINGULAR = 1e-2  # of the largest singular value of a leg: along it the joints show no force


def contact_doubts(
    robot: FloatingRobot, states: Sequence[FloatingState], lacking: Sequence[np.ndarray]
) -> list[dict[str, Any]]:
    """
    Return what contradicts the contacts, as the fields of Findings.

    lacking : (B, n) of every state, what joints exert less than the motion needs [N m]
    """
    if not robot.feet:
        return []
    force = np.concatenate([_normal_forces(robot, *pair) for pair in zip(states, lacking)])
    standing = np.concatenate([state.standing for state in states])
    share = force / robot.weight
    out = []
    for k, foot in enumerate(robot.feet):
        on, off = share[standing[:, k], k], share[~standing[:, k], k]
        if not len(on):
            out.append(_never(foot.name, 'touches the ground'))
        if len(on) > FEWEST:
            pulling = float(np.mean(on < -PULLS))
            if pulling > OFTEN:
                out.append(_pulls(foot.name, pulling))
        if len(off) > FEWEST:
            carrying = float(np.mean(off > CARRIES))
            if carrying > OFTEN:
                out.append(_carries(foot.name, carrying))
    return out


def _normal_forces(
    robot: FloatingRobot, state: FloatingState, lacking: np.ndarray
) -> np.ndarray:
    """Return the forces (B, feet) [N] away from the ground that the joints of each leg show."""
    jacobians = foot_jacobians(robot, state.q, state.up.T)
    out = np.empty((len(state.t), len(robot.feet)))
    for k, J in enumerate(jacobians):
        joints = _own_joints(robot, k)
        of_leg = np.linalg.pinv(J[:, 6 + joints], rcond=SINGULAR)  # (B, c, joints)
        wrench = np.einsum('bcj,bj->bc', of_leg, lacking[:, joints])
        out[:, k] = np.einsum('bc,bc->b', wrench[:, :3], state.up)
    return out


def _own_joints(robot: FloatingRobot, number: int) -> np.ndarray:
    """Return the joints (k,) that move the foot of a ``number`` and no other one."""
    moving = [set(robot.tree.ancestors(foot.frame.body)) for foot in robot.feet]
    others = set().union(*(joints for k, joints in enumerate(moving) if k != number))
    return np.array(sorted(moving[number] - others), dtype=int)


def _never(foot: str, what: str) -> dict[str, Any]:
    return doubt(
        'foot never touches',
        f'{foot} never {what}',
        'contact flags',
        (1.0, 'foot'),
        'check contact_topic: and contact_threshold:, or leave the foot out of feet:',
        'note',
    )


def _pulls(foot: str, share: float) -> dict[str, Any]:
    return doubt(
        'impossible pull',
        f'{foot} pulls at the ground in {100.0 * share:.0f} % of the time that it is told to stand',
        'what the joints of its leg exert beyond the motion',
        (100.0 * share, '% of its samples'),
        'check the signs and the order of efforts, and contact_topic:',
    )


def _carries(foot: str, share: float) -> dict[str, Any]:
    return doubt(
        'foot in the air carries',
        f'{foot} carries the robot in {100.0 * share:.0f} % of the time that it is told to be in '
        'the air',
        'what the joints of its leg exert beyond the motion',
        (100.0 * share, '% of its samples'),
        'correct contact_topic: or contact_threshold:; without contact_topic every foot may stand',
    )
