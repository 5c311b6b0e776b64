"""Live prediction of an arm's torques: every sample of its motion is computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .contract import LiveTorques
from ..dynamics.friction import friction_column, LAWS, presliding_step
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.pinocchio_model import inverse_dynamics
from ..dynamics.robot_model import RobotModel
from ..measurement.joints.kinematic_state import JointSpaceState
from ..measurement.joints.live_clock import through


@dataclass(frozen=True)
class _Brakes:
    """
    Friction columns of one law and constant; of laws with a memory, of all constants.

    parameter : the first of them; constants : (k,) of each
    ratios : (k, n) speed of what each brakes per speed of the joints; coefficients : times these
    """

    parameter: Parameter
    constants: list[float | None]
    ratios: np.ndarray
    coefficients: np.ndarray

    @property
    def law(self):
        """Return the Law."""
        return LAWS[self.parameter.law]

    def torques(self, states):
        """Return (N, n) what the ``states`` (N, k) of the columns brake with."""
        return states @ self.coefficients


def _brakes_of(ratios, parameters, values):
    """Return the _Brakes of the friction columns, {column: (n,)}, that have a value."""
    columns_alike: dict[tuple[str, float | None], list[int]] = {}
    for k in ratios:
        if not values[k]:
            continue
        law, constant = parameters[k].law, parameters[k].nonlinear
        if LAWS[law].memory:
            constant = None
        columns_alike.setdefault((law, constant), []).append(k)
    brakes = []
    for columns in columns_alike.values():
        constants = [parameters[k].nonlinear for k in columns]
        alike = np.array([ratios[k] for k in columns])
        coefficients = values[columns][:, None] * alike
        brakes.append(_Brakes(parameters[columns[0]], constants, alike, coefficients))
    return brakes


class ArmPrediction:
    """
    Predicts the joint torques of a tree robot with the parameters of ``serial_arm``.

    robot : RobotModel of n joints
    ratios : {column: (n,)} of friction, see ``speed_ratios``
    parameters, values : (p,) of the columns
    """

    def __init__(
        self,
        robot: RobotModel,
        ratios: Mapping[int, np.ndarray],
        parameters: Sequence[Parameter],
        values: np.ndarray,
    ) -> None:
        self._names = robot.joint_names
        self._dynamics = inverse_dynamics(robot, values[: 10 * len(robot)])
        self._friction = FrictionPrediction(robot, ratios, parameters, values)

    def __call__(self, state: JointSpaceState) -> LiveTorques:
        """Return the LiveTorques of the samples of a ``state``, which follows the last one."""
        rigid = self._rigid(state.q, state.v, state.a)
        now, filtered = self._friction(state)
        return LiveTorques(self._names, rigid + now, state.tau - rigid - filtered, state.tau)

    def states(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the torques (N, n) of states q, v, a (N, n), each alone, presliding developed."""
        return self._rigid(q, v, a) + self._friction.states(q, v, a)

    def _rigid(self, q, v, a):
        """Return the torques (N, n) of the bodies."""
        return np.array([self._dynamics(*row) for row in zip(q, v, a)])


class FrictionPrediction:
    """
    Predicts the friction of the joints of a tree robot; see ArmPrediction.

    Each tick is computed once: friction with corners or a memory goes on from the tick before.
    """

    def __init__(
        self,
        robot: RobotModel,
        ratios: Mapping[int, np.ndarray],
        parameters: Sequence[Parameter],
        values: np.ndarray,
    ) -> None:
        self._joints = len(robot)
        self._presliding: _Brakes | None = None
        smooth, cornered = [], []
        for brakes in _brakes_of(ratios, parameters, values):
            if brakes.law.memory:
                self._presliding = brakes
            elif brakes.parameter.nonlinear is None:
                smooth.append(brakes)
            else:
                cornered.append(brakes)
        self._smooth = _FrictionTorques(smooth, robot)
        self._cornered = _FrictionTorques(cornered, robot)
        self._developed = _FrictionTorques(smooth + cornered, robot)
        self._restart()

    def _restart(self):
        """Forget the ticks before: torques with corners, and the state of presliding friction."""
        self._newest, self._sharp = -np.inf, np.empty((0, self._joints))
        self._last_position, self._state = None, np.zeros(())

    def __call__(self, state: JointSpaceState) -> tuple[np.ndarray, np.ndarray]:
        """
        Return torques (N, n) of the samples of a ``state``, which follows the last one.

        As they are, jumps included, and filtered as the measured torques are.
        """
        around = state.around
        assert around is not None
        first = self._first_new_row(around)
        sharp = self._corners(around.q[first:], around.v[first:], around.a[first:])
        self._sharp = np.concatenate([self._sharp, sharp])[-len(around.t) :]
        self._newest = around.t[-1]
        smooth = self._smooth(state.q, state.v, state.a)
        filtered = through(self._sharp, around.kernel, len(around.kernel) // 2)
        return smooth + self._sharp[around.keep], smooth + filtered

    def states(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the torques (N, n) of states q, v, a (N, n), each alone, presliding developed."""
        out = self._developed(q, v, a)
        if self._presliding is not None:
            out += self._presliding.torques(np.sign(v @ self._presliding.ratios.T))
        return out

    def _first_new_row(self, around):
        """Return the first row that was not computed before; all are new after a gap."""
        t = around.t
        first = int(np.searchsorted(t, self._newest + 0.5 * (t[1] - t[0])))
        if not 0 < first <= len(self._sharp):
            self._restart()
            return 0
        return first

    def _corners(self, q, v, a):
        """Return the friction torque (M, n) of the next ticks that has corners, unfiltered."""
        out = self._cornered(q, v, a)
        presliding = self._presliding
        if presliding is None or not len(q):
            return out
        positions, speeds = q @ presliding.ratios.T, v @ presliding.ratios.T
        if self._last_position is None:
            self._last_position = positions[0]
        steps = np.diff(positions, axis=0, prepend=self._last_position[None])
        distances = np.array(presliding.constants)
        states = np.empty_like(steps)
        for k, (step, speed) in enumerate(zip(steps, speeds)):
            self._state = states[k] = presliding_step(self._state, step, speed, distances)
        self._last_position = positions[-1]
        return out + presliding.torques(states)


class _FrictionTorques:
    """Torques (N, n) of several _Brakes, which have no memory."""

    def __init__(self, brakes: Sequence[_Brakes], robot: RobotModel) -> None:
        no_column = np.zeros((0, len(robot)))
        self._nominal = inverse_dynamics(robot, np.ravel(robot.inertias))
        self._loaded = any(of_law.law.loaded for of_law in brakes)
        self._ratios = np.concatenate([no_column, *(of_law.ratios for of_law in brakes)]).T
        self._coefficients = np.concatenate([no_column, *(b.coefficients for b in brakes)])
        self._laws = []
        first = 0
        for of_law in brakes:
            chosen = slice(first, first + len(of_law.ratios))
            self._laws.append((of_law.parameter, chosen))
            first = chosen.stop

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        motion = [x @ self._ratios for x in (q, v, a)]
        motion.append(self._load(q, v, a))
        columns = np.empty_like(motion[0])
        for parameter, chosen in self._laws:
            of_law = [x[:, chosen] for x in motion]
            columns[:, chosen] = friction_column(parameter, *of_law)
        return columns @ self._coefficients

    def _load(self, q, v, a):
        """Return the torque (N, k) that the gears pass on, by the nominal model; 0 if not used."""
        if not self._loaded or not len(q):
            return np.zeros((len(q), self._ratios.shape[1]))
        torques = np.stack([self._nominal(*sample) for sample in zip(q, v, a)])
        return torques @ self._ratios
