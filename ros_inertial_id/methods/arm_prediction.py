"""Live prediction of an arm's torques: every sample of its motion is computed once."""

from collections.abc import Mapping, Sequence

import numpy as np

from .contract import LiveTorques
from ..dynamics.friction import friction_column, LAWS, presliding_step
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.pinocchio_model import inverse_dynamics
from ..dynamics.robot_model import RobotModel
from ..measurement.joints.kinematic_state import JointSpaceState
from ..measurement.joints.live_clock import through

MEMORY = 'memory'  # laws that go on from sample to sample, together
Friction = tuple[Parameter, np.ndarray, np.ndarray]  # of one law: T, coefficients times T (k, n)


class ArmPrediction:
    """
    Predicts the joint torques of a tree robot with the parameters of ``serial_arm``.

    robot : RobotModel of n joints
    turns : {column: (n,)} of friction, how fast each joint turns what the column brakes
    parameters, values : (p,) of the columns

    Each tick is computed once: friction with corners or a memory goes on from the tick before.
    """

    def __init__(
        self,
        robot: RobotModel,
        turns: Mapping[int, np.ndarray],
        parameters: Sequence[Parameter],
        values: np.ndarray,
    ) -> None:
        self._robot = robot
        self._dynamics = inverse_dynamics(robot, values[: 10 * len(robot)])
        laws: dict[tuple[str, float | None], list[int]] = {}
        for k in turns:
            if values[k]:
                law = parameters[k].law
                alike = (MEMORY, None) if LAWS[law].memory else (law, parameters[k].nonlinear)
                laws.setdefault(alike, []).append(k)
        plain: list[Friction] = []
        cornered: list[Friction] = []
        self._memory: tuple[Friction, np.ndarray] | None = None
        for (law, shape), ks in laws.items():
            T = np.array([turns[k] for k in ks])
            entry = (parameters[ks[0]], T, values[ks][:, None] * T)
            if law == MEMORY:
                self._memory = entry, np.array([parameters[k].nonlinear for k in ks])
            else:
                (plain if shape is None else cornered).append(entry)
        self._plain, self._cornered, self._alone = (
            _Columns(entries, robot) for entries in (plain, cornered, plain + cornered)
        )
        self._restart()

    def _restart(self):
        self._newest, self._sharp = -np.inf, np.empty((0, len(self._robot)))
        self._last, self._state = None, np.zeros(())

    def __call__(self, state: JointSpaceState) -> LiveTorques:
        """Return the LiveTorques of the samples of a ``state``, which follows the last one."""
        around = state.around
        assert around is not None
        fresh = self._fresh(around)
        sharp = self._corners(around.q[fresh:], around.v[fresh:], around.a[fresh:])
        self._sharp = np.concatenate([self._sharp, sharp])[-len(around.t) :]
        self._newest = around.t[-1]
        motion = state.q, state.v, state.a
        smooth = self._rigid(*motion) + self._plain(*motion)
        half = len(around.kernel) // 2
        filtered = smooth + through(self._sharp, around.kernel, half)
        return LiveTorques(
            self._robot.joint_names,
            smooth + self._sharp[around.keep],
            state.tau - filtered,
            state.tau,
        )

    def states(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the torques (N, n) of states q, v, a (N, n), each alone, presliding developed."""
        out = self._rigid(q, v, a) + self._alone(q, v, a)
        if self._memory is not None:
            (_, T, C), _ = self._memory
            out += np.sign(v @ T.T) @ C
        return out

    def _fresh(self, around):
        """Return the first row that was not seen; all are new after a gap."""
        t = around.t
        fresh = int(np.searchsorted(t, self._newest + 0.5 * (t[1] - t[0])))
        if not 0 < fresh <= len(self._sharp):
            self._restart()
            return 0
        return fresh

    def _corners(self, q, v, a):
        """Return the friction torque (M, n) of the next ticks that has corners, unfiltered."""
        out = self._cornered(q, v, a)
        if self._memory is None or not len(q):
            return out
        (_, T, C), distances = self._memory
        way, speed = q @ T.T, v @ T.T
        last = way[0] if self._last is None else self._last
        steps = np.diff(way, axis=0, prepend=last[None])
        states = np.empty_like(steps)
        for k, (step, rate) in enumerate(zip(steps, speed)):
            self._state = states[k] = presliding_step(self._state, step, rate, distances)
        self._last = way[-1]
        return out + states @ C

    def _rigid(self, q, v, a):
        """Return the torques (N, n) of the bodies."""
        return np.array([self._dynamics(*row) for row in zip(q, v, a)])


class _Columns:
    """Torques (N, n) of friction columns (Parameter, T (k, n), coefficients (k, n))."""

    def __init__(self, entries: Sequence[Friction], robot: RobotModel) -> None:
        n = len(robot)
        self._nominal = inverse_dynamics(robot, np.ravel(robot.inertias))
        self._loaded = any(LAWS[p.law].loaded for p, _, _ in entries)
        self._turns = np.concatenate([np.zeros((0, n)), *(T for _, T, _ in entries)]).T
        self._coefficients = np.concatenate([np.zeros((0, n)), *(C for _, _, C in entries)])
        ends = np.cumsum([0, *(len(T) for _, T, _ in entries)])
        self._laws = [
            (entry[0], slice(low, high)) for entry, low, high in zip(entries, ends, ends[1:])
        ]

    def __call__(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        motion = [x @ self._turns for x in (q, v, a)]
        columns = np.empty_like(motion[0])
        load = (
            np.stack([self._nominal(*row) for row in zip(q, v, a)]) @ self._turns
            if self._loaded and len(q)
            else np.zeros_like(columns)
        )
        for parameter, own in self._laws:
            columns[:, own] = friction_column(parameter, *(x[:, own] for x in (*motion, load)))
        return columns @ self._coefficients
