"""Friction of an identified arm as it moves; what of it is unknown where joints hardly move."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics.friction import friction_column, Law, LAWS, presliding_step, STRIBECK_STEP
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import nominal_torques
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError


@dataclass(frozen=True)
class JointTerm:
    """An identified term of a joint: its number in the robot, Parameter and value."""

    joint: int
    parameter: Parameter
    value: float

    @property
    def law(self) -> Law:
        """Return the Law of friction, or of the rotor, whose coefficient it is."""
        return LAWS[self.parameter.law]


def terms_of_joints(
    robot: RobotModel, parameters: Sequence[Parameter], values: np.ndarray
) -> list[JointTerm]:
    """
    Return the JointTerms among the parameters of an arm.

    parameters, values : (p,) identified ones, those of the bodies first
    ConfigError for friction of motors that turn several joints.
    """
    joints = list(robot.joint_names)
    of_joints = parameters[10 * len(robot) :]
    strange = {p.owner for p in of_joints if p.owner not in joints}
    if strange:
        raise ConfigError(
            'external torques of coupled drives are not supported', found=sorted(strange)
        )
    values_of_joints = np.asarray(values)[10 * len(robot) :]
    return [
        JointTerm(joints.index(p.owner), p, float(x)) for p, x in zip(of_joints, values_of_joints)
    ]


class ObservedFriction:
    """
    The friction of an arm along its motion, samples after samples.

    robot : RobotModel of n joints, mounted as it is; terms : JointTerms, of which rotors are none
    """

    def __init__(self, robot: RobotModel, terms: Sequence[JointTerm]) -> None:
        self._robot = robot
        self._memoryless: list[JointTerm] = []
        presliding = []
        for term in terms:
            if term.law.memory:
                presliding.append((term.joint, term.value, term.parameter.nonlinear))
            elif not term.law.inertial:
                self._memoryless.append(term)
        self._loaded = any(term.law.loaded for term in self._memoryless)
        joints, self._level, self._distance = np.array(presliding, float).reshape(-1, 3).T
        self._joints = joints.astype(int)
        self._z = np.zeros(len(presliding))  # Dahl's states, 0: unknown
        self._last = np.zeros(len(robot))  # positions of the newest sample

    def along(
        self, q: np.ndarray, v: np.ndarray, begins: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the friction (N, n) [N m], and what of it is unknown near rest (N, n).

        q, v : (N, n) positions [rad] and velocities [rad/s] that follow those given before
        begins : (N,) whether a sample has none before it
        """
        friction, unknown = self._without_memory(q, v)
        if len(self._joints) and len(q):
            self._add_presliding(q, v, begins, friction, unknown)
        return friction, unknown

    def _without_memory(self, q, v):
        """Return friction and unknown (N, n) of laws that a state decides."""
        friction, unknown, still = np.zeros((3, *np.shape(q)))
        load = still
        if self._loaded:
            load = nominal_torques(self._robot, q, v, still)
        for term in self._memoryless:
            j = term.joint
            column = friction_column(term.parameter, q[:, j], v[:, j], still[:, j], load[:, j])
            friction[:, j] += term.value * column
            if term.law.dry:  # at rest: anything up to its level
                level = np.ones(len(q))
                if term.law.loaded:
                    level = np.abs(load[:, j])
                unknown[:, j] += abs(term.value) * (level - np.minimum(np.abs(column), level))
        return friction, unknown

    def _add_presliding(self, q, v, begins, friction, unknown):
        """Add the laws with a memory to ``friction`` and ``unknown`` (N, n)."""
        steps = np.diff(q, axis=0, prepend=self._last[None])
        steps[begins] = 0.0
        self._last = np.array(q[-1])
        for k, begin in enumerate(begins):
            if begin:
                self._z = np.zeros(len(self._z))
            speed = v[k, self._joints]
            self._z = presliding_step(self._z, steps[k, self._joints], speed, self._distance)
            friction[k, self._joints] += self._level * self._z
            # Where the joint rests, how it came to rest no longer tells the friction.
            rest, z = np.maximum(0.0, 1.0 - np.abs(speed) / STRIBECK_STEP), np.abs(self._z)
            unknown[k, self._joints] += np.abs(self._level) * (1.0 - z + 2.0 * rest * z)
