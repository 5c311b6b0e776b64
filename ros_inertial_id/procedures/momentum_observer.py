"""
Torques from outside, by the generalized momentum: no accelerations are needed.

With p = M(q) v the equation of motion is p' = C(q, v)' v - g(q) - friction + tau + external, and

    r = K (p - integral of (C' v - g - friction + tau + r))

follows the external torque as a first-order filter of bandwidth K does (De Luca, Albu-Schaeffer,
Haddadin, Hirzinger 2006, Eq. 9 to 12).  Between samples everything is integrated by the trapezoid
rule.  What r is wrong by: noise of torque and velocity, measured on the run by second differences,
the model's own error, and the friction of a joint that hardly moves, which may be anything up to
its level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics.friction import friction_column, presliding_step
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.pinocchio_model import momentum_terms
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError
from ..identification.model.identified_model import IdentifiedModel
from ..methods import METHODS

GAP = 0.1  # [s] between samples after which the observer begins anew
MEMORY = 0.5  # [s] over which noise is averaged
SETTLING = 5.0  # time constants until a new observer may speak of contact
DRY = ('coulomb', 'presliding', 'coulomb_atan', 'asymmetric', 'stiction')  # at rest: anything


def observer_of(model: IdentifiedModel, robot: RobotModel, bandwidth: float,
                threshold: float) -> 'MomentumObserver':
    """
    Return the MomentumObserver of an identified ``model``; its own error is that of its residuals.

    robot : RobotModel as the model was identified for, mounted as it is
    bandwidth, threshold : see MomentumObserver
    Raises ConfigError for a model of anything but a serial arm, else as MomentumObserver does.
    """
    if not METHODS[model.method].observes_momentum:
        raise ConfigError('external torques are of serial arms',
                          found=f'a model of {model.method!r}')
    errors = model.statistics['standard_deviation']
    return MomentumObserver(robot, model.parameters, model.values,
                            error=np.array([errors[joint] for joint in robot.joint_names]),
                            bandwidth=bandwidth, threshold=threshold)


@dataclass(frozen=True)
class External:
    """
    External torques at N instants.

    torque : (N, n) what the surroundings do to the joints [N m], [N] of sliders
    standard_deviation : (N, n) of it; contact : (N, n) whether it is more than errors explain
    """

    torque: np.ndarray
    standard_deviation: np.ndarray
    contact: np.ndarray


class MomentumObserver:
    """
    The residual momentum of a serial arm of n joints, sample by sample.

    robot : RobotModel, mounted as it is; parameters, values : (p,) identified ones of serial_arm
    error : (n,) standard deviation of the model's own torque error [N m]
    bandwidth : of the residual [rad/s]; threshold : standard deviations that contact must exceed
    Raises EstimationError when a body is not physically consistent, ConfigError for friction of
    motors that turn several joints.
    """

    def __init__(self, robot: RobotModel, parameters: Sequence[Parameter], values: np.ndarray, *,
                 error: np.ndarray, bandwidth: float = 50.0, threshold: float = 6.0):
        joints, count = list(robot.joint_names), len(robot)
        terms = [(joints.index(p.owner), p, float(x)) for p, x in zip(parameters, values)
                 if p.law and p.owner in joints]
        strange = [p.owner for p in parameters[10 * count:] if p.owner not in joints]
        if strange:
            raise ConfigError('external torques of coupled drives are not supported',
                              found=sorted(set(strange)))
        armature = np.zeros(count)
        for j, p, x in terms:
            armature[j] += x * (p.law == 'armature')
        self._robot, self._error = robot, np.asarray(error, dtype=float)
        self._terms = momentum_terms(
            robot, np.asarray(values)[:10 * count].reshape(count, 10), armature)
        self._friction = [term for term in terms if term[1].law not in ('armature', 'presliding')]
        self._presliding = [term for term in terms if term[1].law == 'presliding']
        self._bandwidth, self._threshold = bandwidth, threshold
        self.restart()

    def restart(self) -> None:
        """Begin anew: the next sample has none before it."""
        count = len(self._robot)
        self._time, self._began = -np.inf, 0.0
        self._residual, self._z = np.zeros(count), np.zeros(len(self._presliding))
        self._before: tuple[np.ndarray, ...] = ()
        self._tail = np.zeros((0, 2, count))
        self._noise = np.zeros((2, count))

    def add(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> External:
        """
        Return the External torques at samples that follow those given before.

        t : (N,) [s], increasing; q, v, tau : (N, n) measured positions, velocities and joint
            torques on the link side [rad, rad/s, N m]
        After a gap in time the observer begins anew.
        """
        friction, dry = self._friction_of(q, v)
        out = np.zeros((3, *np.shape(q)))
        for k, now in enumerate(t):
            step = now - self._time
            if not 0.0 < step <= GAP:
                self.restart()
                self._began, step = now, 0.0
            out[:2, k] = self._step(now, step, q[k], v[k], tau[k] - friction[k])
            settled = now - self._began > SETTLING / self._bandwidth
            out[2, k] = settled & (np.abs(out[0, k]) > self._threshold * out[1, k] + dry[k])
        return External(out[0], out[1], out[2].astype(bool))

    def _step(self, now, step, q, v, tau):
        """Return the residual (n,) and its standard deviation after one more sample."""
        K = self._bandwidth
        mass, force = self._terms(q, v)
        momentum, force = mass @ v, force + tau
        if step:
            momentum_before, force_before = self._before
            half = 0.5 * K * step
            self._residual = ((1.0 - half) * self._residual + K * (
                momentum - momentum_before) - half * (force + force_before)) / (1.0 + half)
        self._time, self._before = now, (momentum, force)
        self._measure_noise(step, v, tau)
        noise = K * step / 2.0 * self._noise[1] + K ** 2 * (mass ** 2 @ self._noise[0])
        return self._residual, np.sqrt(noise + self._error ** 2)

    def _measure_noise(self, step, v, tau):
        """Average the variances of measured velocity and torque, by second differences."""
        self._tail = np.concatenate([self._tail[-2:], [[v, tau]]])
        if len(self._tail) < 3 or not step:
            return
        square = (self._tail[0] - 2.0 * self._tail[1] + self._tail[2]) ** 2 / 6.0
        share = max(step / MEMORY, step / max(self._time - self._began, step))
        self._noise += min(share, 1.0) * (square - self._noise)

    def _friction_of(self, q, v):
        """Return the friction (N, n) [N m] and what of it is unknown near rest (N, n)."""
        friction, unknown = np.zeros(np.shape(q)), np.zeros(np.shape(q))
        still = np.zeros(len(q))
        for j, parameter, value in self._friction:
            column = friction_column(parameter, q[:, j], v[:, j], still)
            friction[:, j] += value * column
            if parameter.law in DRY:
                unknown[:, j] += abs(value) * (1.0 - np.minimum(np.abs(column), 1.0))
        if self._presliding:
            joints = [j for j, _, _ in self._presliding]
            scale = np.array([value for _, _, value in self._presliding])
            distance = np.array([p.nonlinear for _, p, _ in self._presliding])
            steps = np.diff(q[:, joints], axis=0, prepend=self._last(q)[joints][None])
            for k, (step, speed) in enumerate(zip(steps, v[:, joints])):
                self._z = presliding_step(self._z, step, speed, distance)
                friction[k, joints] += scale * self._z
                unknown[k, joints] += np.abs(scale) * (1.0 - np.abs(self._z))
        self._place = np.array(q[-1]) if len(q) else self._last(q)
        return friction, unknown

    def _last(self, q):
        """Return the positions (n,) before those of q (N, n), the first ones where none were."""
        known = np.isfinite(self._time)
        return self._place if known else np.array(q[0])
