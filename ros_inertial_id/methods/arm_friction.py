"""
Friction of an arm: the columns that it adds to the rows of joints, and their Parameters.

A motor that several joints turn brakes by its own speed: its columns stand in the rows of all of
them, times how fast each joint turns it (virtual work).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from ..dynamics.friction import friction_column, friction_columns, friction_parameters, LAWS
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import nominal_torques
from ..dynamics.robot_model import RobotModel
from ..measurement.joints.kinematic_state import JointSpaceState

MOTOR = ' motor'  # ends the owner's name of what a motor brakes that several joints turn
UNKNOWN_LIMIT = 100.0  # [N m, N] effort of a joint whose description has none


def friction_of(
    robot: RobotModel, laws: Sequence[str], widths: Mapping[str, Sequence[float]]
) -> list[Parameter]:
    """
    Return the friction Parameters of joints, then of motors that several joints turn.

    laws, widths : see ``friction_parameters``; a motor has none of a position or a sign
    """
    out = []
    for j, joint in enumerate(robot.joint_names):
        limit, slides = _effort_limit(robot, j), robot.prismatic[j]
        out += friction_parameters(j + 1, joint, laws, limit, widths, slides)
    motor_laws = [law for law in laws if not (LAWS[law].signed or LAWS[law].position)]
    for j in robot.motors:
        motor = robot.joint_names[j] + MOTOR
        limit, slides = _effort_limit(robot, j), robot.prismatic[j]
        for p in friction_parameters(j + 1, motor, motor_laws, limit, widths, slides):
            symbol = p.name.rstrip('0123456789')
            out.append(replace(p, name=f'{symbol}m{j + 1}'))
    return out


def _effort_limit(robot, j):
    """Return the effort limit of joint j [N m, N]."""
    if robot.effort[j] > 0:
        return robot.effort[j]
    return UNKNOWN_LIMIT


def speed_ratios(robot: RobotModel, parameters: Sequence[Parameter]) -> dict[int, np.ndarray]:
    """
    Return {column: (n,)} of friction: speed of what it brakes per speed of each joint.

    parameters : (p,) of all columns; of a joint's own friction it is 1 for that joint, of what
        belongs to no joint and no motor of the robot 0 for all
    """
    of_owner = dict(zip(robot.joint_names, np.eye(len(robot))))
    for j, motor_ratios in robot.motors.items():
        of_owner[robot.joint_names[j] + MOTOR] = motor_ratios
    ratios = {}
    for k in range(10 * len(robot), len(parameters)):
        ratios[k] = of_owner.get(parameters[k].owner, np.zeros(len(robot)))
    return ratios


class ArmFriction:
    """
    The friction columns of the rows of every joint.

    columns : of each joint, (k,) their indices among all Parameters
    """

    def __init__(
        self, robot: RobotModel, parameters: Sequence[Parameter], wanted: np.ndarray
    ) -> None:
        self._robot = robot
        self._joints = []
        ratios = speed_ratios(robot, parameters)
        for j in range(len(robot)):
            columns = [k for k in ratios if wanted[k] and ratios[k][j]]
            terms = [(parameters[k], ratios[k]) for k in columns]
            self._joints.append(_JointFriction(j, columns, terms))
        self.columns = [joint.columns for joint in self._joints]

    def __call__(self, state: JointSpaceState) -> list[np.ndarray]:
        """Return the columns (k, N) of each joint; those with corners are filtered as tau was."""
        load = self._load(state)

        def cornered(*motion: np.ndarray) -> Iterator[np.ndarray]:
            early = np.zeros(len(motion[0]) - len(load))  # the load is unknown before
            for joint in self._joints:
                joint_load = np.concatenate([early, load[:, joint.index]])
                yield joint.cornered(motion, joint_load).T

        out = [joint.smooth(state) for joint in self._joints]
        if state.around is None:  # samples that need not follow one another: developed
            state = replace(state, q=np.zeros_like(state.q))
        for rows, joint, filtered in zip(out, self._joints, state.filtered(cornered)):
            rows[joint.with_corners] = filtered.T
        return out

    def _load(self, state):
        """
        Return the torques (M, n) that gears pass on, by the nominal model; 0 if no law asks.

        M : samples of the FilterContext of the ``state``, between whose own they are interpolated
        """
        t = state.t
        if state.around is not None:
            t = state.around.t
        if not any(joint.loaded for joint in self._joints):
            return np.zeros((len(t), len(self._robot)))
        torques = nominal_torques(self._robot, state.q, state.v, state.a)
        if state.around is None:
            return torques
        return np.stack([np.interp(t, state.t, x) for x in torques.T], axis=1)


class _JointFriction:
    """
    The friction columns of the rows of one joint, the ``index``-th.

    columns : (k,) their indices; with_corners : which of those have corners
    terms : (Parameter, speed ratios (n,)) of each, see ``speed_ratios``
    """

    def __init__(
        self, index: int, columns: list[int], terms: list[tuple[Parameter, np.ndarray]]
    ) -> None:
        self.index = index
        self.columns = np.array(columns, dtype=int)
        self.loaded = any(LAWS[p.law].loaded for p, _ in terms)
        self.with_corners = [k for k, (p, _) in enumerate(terms) if _has_corners(p)]
        self._terms = terms
        self._brakes = []  # columns with corners that brake one thing: slice, Parameters, ratios
        first = 0
        cornered = [terms[k] for k in self.with_corners]
        for _, same_owner in groupby(cornered, key=lambda term: term[0].owner):
            parameters, ratios = zip(*same_owner)
            chosen = slice(first, first + len(parameters))
            self._brakes.append((chosen, parameters, ratios[0]))
            first = chosen.stop

    def smooth(self, state):
        """Return the columns (k, N) for the samples of a ``state``; none with corners is set."""
        motion = state.q, state.v, state.a
        out = np.empty((len(self.columns), len(state.t)))
        for row, (parameter, ratios) in zip(out, self._terms):
            if not _has_corners(parameter):
                row[:] = friction_column(parameter, *self._braked(motion, ratios))
                row *= ratios[self.index]
        return out

    def cornered(self, motion, load):
        """Return the columns (k, M) with corners by q, v, a (M, n) and the joint's load (M,)."""
        out = np.empty((len(self.with_corners), len(load)))
        for chosen, parameters, ratios in self._brakes:
            q, v, a = (np.ascontiguousarray(x) for x in self._braked(motion, ratios))
            columns = friction_columns(parameters, q, v, a, load)
            np.multiply(ratios[self.index], columns, out=out[chosen])
        return out

    def _braked(self, motion, ratios):
        """Return q, v, a (N,) of what is braked, of the motion q, v, a (N, n) of all joints."""
        if np.count_nonzero(ratios) == 1:
            return [x[:, self.index] for x in motion]
        return [x @ ratios for x in motion]


def _has_corners(parameter):
    """Return whether a column is sharper than a filtered torque: filtered alike they match."""
    return parameter.nonlinear is not None or LAWS[parameter.law].dry
