"""Branches of a tree that are alike: legs or arms that only places and masses tell apart."""

from itertools import combinations

from .robot_model import RobotModel

SHORTEST_BRANCH = 2  # joints: fingers and wheels of one joint are no limb

Branch = tuple[int, ...]


def alike_branches(robot: RobotModel) -> list[tuple[Branch, Branch]]:
    """
    Return pairs of branches of a ``robot`` on one body that have joints of the same kinds.

    A branch is the numbers of its joints, those of both in the same order.
    """
    branches: dict[tuple, list[Branch]] = {}
    for joint, parent in enumerate(robot.parents):
        branch = robot.subtree(joint)
        if len(branch) >= SHORTEST_BRANCH:
            branches.setdefault((parent, _structure(robot, branch)), []).append(branch)
    return [pair for alike in branches.values() for pair in combinations(alike, 2)]


def _structure(robot: RobotModel, branch: Branch) -> tuple:
    """Return for every joint of a ``branch`` which of them carries it, and whether it slides."""
    first = branch[0]
    out = []
    for joint in branch:
        carrier = -1
        if joint != first:
            carrier = branch.index(robot.parents[joint])
        out.append((carrier, bool(robot.prismatic[joint])))
    return tuple(out)
