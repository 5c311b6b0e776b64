"""
Torques from outside, by the generalized momentum: no accelerations are needed.

With p = M(q) v the equation of motion is p' = C(q, v)' v - g(q) - friction + tau + external, and

    r = K (p - integral of (C' v - g - friction + tau + r))

follows the external torque as a first-order filter of bandwidth K does (De Luca, Albu-Schaeffer,
Haddadin, Hirzinger 2006, Eq. 9 to 12).  Between samples everything is integrated by the trapezoid
rule.  What r is wrong by: noise, measured on the run by what changes within a time constant, the
model's own error, as the band of its predictions has it at this state, and the friction of a joint
that hardly moves, which may be anything up to its level.  Contact is what exceeds all of them more
seldom by chance than so often per hour; beyond the motion of the training nothing is claimed.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.friction import friction_column, LAWS, presliding_step
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.pinocchio_model import momentum_terms, nominal_torques
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError
from ..identification.judge.prediction import alarm_ratios, half_widths, TWO_SIGMA
from ..identification.model.identified_model import IdentifiedModel
from ..methods import METHODS

GAP = 0.1  # [s] between samples after which the observer begins anew
MEMORY = 0.5  # [s] over which noise is averaged
SETTLING = 5.0  # time constants until a new observer may speak of contact
LASTS = 0.005  # [s] for which a torque lasts that is no flicker of noise
WILD = 9.0  # times the variance of noise: more within a time constant is no noise
DRY = ('coulomb', 'presliding', 'coulomb_atan', 'asymmetric', 'stiction')  # at rest: anything


def observer_of(model: IdentifiedModel, robot: RobotModel, bandwidth: float,
                false_alarms: float) -> 'MomentumObserver':
    """
    Return the MomentumObserver of an identified ``model``; its own error is that of its band.

    robot : RobotModel as the model was identified for, mounted as it is
    bandwidth, false_alarms : see MomentumObserver
    Raises ConfigError for a model of anything but a serial arm or one without a band of its
    predictions, else as MomentumObserver does.
    """
    if not METHODS[model.method].observes_momentum:
        raise ConfigError('external torques are of serial arms',
                          found=f'a model of {model.method!r}')
    band = model.statistics.get('prediction_band') or {}
    lacking = [joint for joint in robot.joint_names
               if 'peak' not in band.get('joints', {}).get(joint, {})]
    if lacking:
        raise ConfigError('the model does not know how well it predicts', found=lacking,
                          expected='a band of predicted torques', do='identify it again')
    return MomentumObserver(robot, model.parameters, model.values,
                            band=(band, model.validity_range), bandwidth=bandwidth,
                            false_alarms=false_alarms)


@dataclass(frozen=True)
class External:
    """
    External torques at N instants.

    torque : (N, n) what the surroundings do to the joints [N m], [N] of sliders
    standard_deviation : (N, n) of it; contact : (N, n) whether it is more than errors explain
    unknown : (N, n) whether it would be, but the motion is beyond the validity range
    """

    torque: np.ndarray
    standard_deviation: np.ndarray
    contact: np.ndarray
    unknown: np.ndarray


class MomentumObserver:
    """
    The residual momentum of a serial arm of n joints, sample by sample.

    robot : RobotModel, mounted as it is; parameters, values : (p,) identified ones of an arm
    band : of the model's predictions, and the ranges of its training, see
        ``judge.prediction.half_widths``
    bandwidth : of the residual [rad/s]
    false_alarms : [1/h] how often errors alone may look like contact
    Raises EstimationError when a body is not physically consistent, ConfigError for friction of
    motors that turn several joints.
    """

    def __init__(self, robot: RobotModel, parameters: Sequence[Parameter], values: np.ndarray, *,
                 band: tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]],
                 bandwidth: float = 50.0, false_alarms: float = 1.0):
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
        self._robot, (self._band, ranges) = robot, band
        # An acceleration on the run is mostly noise: it widens the band and bounds nothing.
        self._ranges = {joint: {k: r for k, r in own.items() if k != 'a'}
                        for joint, own in ranges.items()}
        self._terms = momentum_terms(
            robot, np.asarray(values)[:10 * count].reshape(count, 10), armature)
        self._friction = [term for term in terms if term[1].law not in ('armature', 'presliding')]
        self._presliding = [term for term in terms if term[1].law == 'presliding']
        self._loaded = any(LAWS[p.law].loaded for _, p, _ in self._friction)
        self._bandwidth = bandwidth
        self._ratios = alarm_ratios(self._band, joints, false_alarms)
        # Noise behind a first-order filter has about bandwidth / 2 independent values a second.
        self._sigmas = np.sqrt(2.0 * np.log(1800.0 * bandwidth * count / false_alarms))
        self.restart()

    def restart(self) -> None:
        """Begin anew: the next sample has none before it."""
        count = len(self._robot)
        self._time, self._began = -np.inf, 0.0
        self._residual, self._z = np.zeros(count), np.zeros(len(self._presliding))
        self._before: tuple[np.ndarray, ...] = ()
        self._recent: deque[tuple[float, np.ndarray]] = deque()
        self._noise = np.zeros(count)
        self._smooth: np.ndarray | None = None
        self._since = np.full(count, np.inf)

    def add(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> External:
        """
        Return the External torques at samples that follow those given before.

        t : (N,) [s], increasing; q, v, tau : (N, n) measured positions, velocities and joint
            torques on the link side [rad, rad/s, N m]
        After a gap in time the observer begins anew.
        """
        friction, dry = self._friction_of(q, v)
        torque, noise, a = np.zeros((3, *np.shape(q)))
        settled = np.zeros(len(t), dtype=bool)
        for k, now in enumerate(t):
            step = now - self._time
            if not 0.0 < step <= GAP:
                self.restart()
                self._began, step = now, 0.0
            torque[k], noise[k], a[k] = self._step(now, step, q[k], v[k], tau[k] - friction[k])
            settled[k] = now - self._began > SETTLING / self._bandwidth
        joints = self._robot.joint_names
        seen = {joint: {'q': q[:, j], 'v': v[:, j], 'a': a[:, j]}
                for j, joint in enumerate(joints)}
        half, away = half_widths(self._band, joints, seen, self._ranges)
        limit = np.hypot(self._ratios * half, self._sigmas * noise) + dry
        beyond = self._lasting(t, settled[:, None] & (np.abs(torque) > limit))
        return External(torque, np.hypot(half / TWO_SIGMA, noise), beyond & (away == 0.0),
                        beyond & (away > 0.0))

    def _lasting(self, t, beyond):
        """Return what of ``beyond`` (N, n) has been so for LASTS, of two samples at least."""
        out = np.zeros_like(beyond)
        for k, now in enumerate(t):
            out[k] = beyond[k] & (now >= self._since + LASTS)
            self._since = np.where(beyond[k], np.minimum(self._since, now), np.inf)
        return out

    def _step(self, now, step, q, v, tau):
        """Return the residual (n,), its noise and the acceleration after one more sample."""
        K = self._bandwidth
        mass, force = self._terms(q, v)
        momentum, force = mass @ v, force + tau
        self._smooth = v if self._smooth is None else self._smooth
        a = K * (v - self._smooth)
        self._smooth = self._smooth + min(K * step, 1.0) * (v - self._smooth)
        if step:
            momentum_before, force_before = self._before
            half = 0.5 * K * step
            self._residual = ((1.0 - half) * self._residual + K * (
                momentum - momentum_before) - half * (force + force_before)) / (1.0 + half)
        self._time, self._before = now, (momentum, force)
        self._measure_noise(step)
        return self._residual, np.sqrt(self._noise), a

    def _measure_noise(self, step):
        """Average the variance of the residual's noise by its change in a time constant."""
        lag = 1.0 / self._bandwidth
        self._recent.append((self._time, self._residual))
        while len(self._recent) > 2 and self._recent[1][0] <= self._time - lag:
            self._recent.popleft()
        passed = self._time - self._recent[0][0]
        if not step or passed < 0.5 * lag:
            return
        # Of noise behind the filter that is correlated by exp(-K t).
        square = (self._residual - self._recent[0][1]) ** 2 / (
            2.0 * (1.0 - np.exp(-self._bandwidth * passed)))
        age = self._time - self._began
        if age > MEMORY:
            square = np.minimum(square, WILD * self._noise)
        self._noise = self._noise + min(step / min(MEMORY, age), 1.0) * (square - self._noise)

    def _friction_of(self, q, v):
        """Return the friction (N, n) [N m] and what of it is unknown near rest (N, n)."""
        friction, unknown = np.zeros(np.shape(q)), np.zeros(np.shape(q))
        still = np.zeros(np.shape(q))
        load = (nominal_torques(self._robot, q, v, still) if self._loaded else still)
        for j, parameter, value in self._friction:
            column = friction_column(parameter, q[:, j], v[:, j], still[:, j], load[:, j])
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
