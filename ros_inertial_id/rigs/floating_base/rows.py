"""
Rows of a robot on a base that moves, without the forces of its feet.

    P [Y | friction] pi = P [0; tau],   P = 1 - C C',   C spans what the feet can do

The forces that fit best are taken off every row, and what is left of it is known: the sum of
squares is that of rows projected onto the null space of the contacts.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .contacts import foot_jacobians, without_contacts
from .observation import FloatingState
from .robot import FloatingRobot
from ..dynamics.rigid_bodies import AXES, ROW_UNITS
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import moving_base_rows, RowGroup
from ...methods.arm_friction import ArmFriction

STEP = 1e-3  # [m/s^2], [rad/s^2], [rad/s]: rows are linear in it, of velocities almost
ROWS_BLOCK = 512  # samples: all rows of a block, (6 + n, p, B), stay within tens of megabytes


class FloatingRows:
    """
    The rows of ``parameters`` of a FloatingRobot.

    columns : (k,) indices of the parameters that have columns: those ``wanted`` (p,) bool
    """

    def __init__(
        self, robot: FloatingRobot, parameters: Sequence[Parameter], wanted: np.ndarray
    ) -> None:
        self._robot = robot
        bodies = 10 * len(robot.link_names)
        self.columns = np.flatnonzero(wanted)
        places = np.full(len(parameters), -1)
        places[self.columns] = np.arange(len(self.columns))
        by_body = wanted[:bodies].reshape(-1, 10)
        self._of_bodies = [np.flatnonzero(body).tolist() for body in by_body]
        self._body_places = [p[p >= 0] for p in places[:bodies].reshape(-1, 10)]
        first = 10
        if robot.carried:  # whose base has no parameters
            self._of_bodies.insert(0, [])
            self._body_places.insert(0, np.zeros(0, dtype=int))
            first = 0
        self._friction = ArmFriction(robot.tree, parameters[first:], wanted[first:])
        self._friction_places = [places[first + np.array(k)] for k in self._friction.columns]

    def friction(self, state: FloatingState) -> list[np.ndarray]:
        """Return the friction columns (k, N) of every joint."""
        return self._friction(state)

    def full(self, state: FloatingState, friction: Sequence[np.ndarray]) -> np.ndarray:
        """
        Return the rows (6 + n, k, B) of a ``state`` before any force of a foot is taken off.

        friction : of ``friction``, or empty
        """
        base = np.ascontiguousarray(state.base.T)
        of_bodies = moving_base_rows(
            self._robot.tree, base, state.q, state.v, state.a, self._of_bodies
        )
        out = np.zeros((6 + len(self._robot), len(self.columns), len(state.t)))
        bodies = [-1, *range(len(self._robot))]
        for body, rows, places in zip(bodies, of_bodies, self._body_places):
            moved = [*range(6), *(6 + j for j in self._robot.tree.ancestors(body))]
            for row, values in zip(moved, rows):
                out[row, places] = values
        for j, (places, values) in enumerate(zip(self._friction_places, friction)):
            out[6 + j, places] = values
        return out

    def by_base(self, state: FloatingState) -> np.ndarray:
        """Return the slopes (r, 9, B, k) of what is left of the rows by the base's motion."""
        left, still = self.projection(state), self.full(state, ())
        out = []
        for change in STEP * np.eye(9):
            moved = self.full(replace(state, base=state.base + change), ())
            out.append(left((moved - still) / STEP).transpose(0, 2, 1))
        return np.stack(out, axis=1)

    def projection(self, state: FloatingState) -> 'Projection':
        """Return the Projection of rows of a ``state`` that leaves no force of a foot."""
        robot = self._robot
        if robot.carried:
            return Projection(6)
        if not robot.feet:
            return Projection(0)
        lever = robot.tree.reach() / 2
        jacobians = foot_jacobians(robot, state.q, state.up.T, state.ground)
        return Projection(0, without_contacts(jacobians, state.standing, lever), lever)


class Projection:
    """
    What is left of rows.

    first : row that is the first of those left
    C : (B, r, c) of rows whose first three are ``lever`` times as large, or None
    """

    def __init__(self, first: int, C: np.ndarray | None = None, lever: float = 1.0) -> None:
        self._first, self._C, self._lever = first, C, lever

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return what is left of ``rows`` (r, k, B)."""
        if self._C is None:
            return rows[self._first :]
        scaled = rows.transpose(2, 0, 1).copy()
        scaled[:, :3] *= self._lever
        scaled -= self._C @ (self._C.transpose(0, 2, 1) @ scaled)
        scaled[:, :3] /= self._lever
        return np.ascontiguousarray(scaled.transpose(1, 2, 0))


def row_names(robot: FloatingRobot) -> tuple[list[str], list[str]]:
    """Return names and units of the rows: six of the base, where it has any, then of joints."""
    units = ['N m', 'N']
    names = list(robot.joint_names)
    joint_units = [units[slides] for slides in robot.tree.prismatic]
    if robot.carried:
        return names, joint_units
    of_base = [f'{robot.base_link} {axis}' for axis in AXES]
    return [*of_base, *names], [*ROW_UNITS, *joint_units]


def groups_of(
    robot: FloatingRobot, columns: np.ndarray, rows: np.ndarray, y: np.ndarray, y_raw: np.ndarray
) -> tuple[RowGroup, ...]:
    """
    Return the RowGroups of ``rows`` (r, k, B) of a ``robot`` and of y, y_raw (r, B).

    columns : (k,) indices of their parameters
    """
    groups = []
    for row, name, unit, target, raw in zip(rows, *row_names(robot), y, y_raw):
        groups.append(RowGroup(name, unit, columns, row.T, target, raw))
    return tuple(groups)


def efforts(tau: np.ndarray) -> np.ndarray:
    """Return [0; tau] (6 + n, 1, B) of torques (B, n): nothing drives the base."""
    return np.concatenate([np.zeros((6, len(tau))), tau.T])[:, None]
