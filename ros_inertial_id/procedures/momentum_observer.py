"""
Torques from outside, by the generalized momentum: no accelerations are needed.

With p = M(q) v the equation of motion is p' = C(q, v)' v - g(q) - friction + tau + external, and

    r = K (p - integral of (C' v - g - friction + tau + r))

follows the external torque as a first-order filter of bandwidth K does (De Luca, Albu-Schaeffer,
Haddadin, Hirzinger 2006, Eq. 9 to 12).  Between samples everything is integrated by the trapezoid
rule.  Contact is judged by the mean of the external torque over MEAN_WINDOW, from r / K +
integral of r: velocities enter by the difference of two, with less noise than behind a filter as
fast.  What it is wrong by: noise, measured on the run by what changes within the window, the
model's own error, as the band of its predictions has it at this state, and the friction of a joint
that hardly moves, which may be anything up to its level.  Contact is what exceeds all of them more
seldom by chance than so often per hour; beyond the motion of the training nothing is claimed.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .noise import drop_before, Noise
from .observed_friction import ObservedFriction, terms_of_joints
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.pinocchio_model import momentum_terms
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import alarm_ratios, Band, TWO_SIGMA

OBSERVER_GAP = 0.1  # [s] between samples after which the observer begins anew
SETTLING = 5.0  # time constants until a new observer may speak of contact
MEAN_WINDOW = 0.04  # [s] whose mean torque is judged: with LASTS a push is to be seen within 50 ms
LASTS = 0.005  # [s] for which it lasts: a single sample may be wrong
NINE_OF_TEN = 1.28  # standard deviations, of one side


def observer_of(
    model: IdentifiedModel, robot: RobotModel, bandwidth: float, false_alarms: float
) -> 'MomentumObserver':
    """
    Return the MomentumObserver of an identified ``model``; its own error is that of its band.

    robot : RobotModel as the model was identified for, mounted as it is
    bandwidth, false_alarms : see MomentumObserver
    Raises ConfigError for a model of anything but a serial arm or one without a band of its
    predictions, else as MomentumObserver does.
    """
    if not isinstance(robot, RobotModel):  # a tree, whose momentum shows them
        raise ConfigError(
            'external torques are of serial arms', found=f'a model of {model.method!r}'
        )
    band = model.statistics.get('prediction_band') or {}
    joints = band.get('joints', {})
    lacking = [name for name in robot.joint_names if 'peak' not in joints.get(name, {})]
    if lacking:
        raise ConfigError(
            'the model does not know how well it predicts',
            found=lacking,
            expected='a band of predicted torques',
            do='identify it again',
        )
    return MomentumObserver(
        robot,
        model.parameters,
        model.values,
        band=(band, model.validity_range),
        bandwidth=bandwidth,
        false_alarms=false_alarms,
    )


@dataclass(frozen=True)
class External:
    """
    External torques at N instants.

    torque : (N, n) what the surroundings do to the joints [N m], [N] of sliders
    mean : (N, n) of it over the last MEAN_WINDOW
    standard_deviation, mean_deviation : (N, n) of both
    limit : (N, n) size of the mean up to which errors explain it
    contact : (N, n) whether it is more; unknown : (N, n) whether it would be, but the motion is
        beyond the validity range
    outside : (N, n) how far the motion is beyond that range, in half ranges
    """

    torque: np.ndarray
    standard_deviation: np.ndarray
    mean: np.ndarray
    mean_deviation: np.ndarray
    limit: np.ndarray
    contact: np.ndarray
    unknown: np.ndarray
    outside: np.ndarray

    def smallest_seen(self, within: float, period: float) -> np.ndarray:
        """
        Return the torques (N, n) that are called contact in nine of ten cases ``within`` [s].

        period : of the samples [s]
        They begin at once and stay; errors of the model and noise add to them or take away.
        Infinite where samples are too far apart.
        """
        # At the least that share of the window is of the push, when the second sample tells.
        share = min(1.0, (within - period - max(LASTS, period)) / max(MEAN_WINDOW, period))
        needed = self.limit + NINE_OF_TEN * self.mean_deviation
        if share <= 0.0:
            return np.full_like(needed, np.inf)
        return needed / share


class MomentumObserver:
    """
    The residual momentum of a serial arm of n joints, sample by sample.

    robot : RobotModel, mounted as it is; parameters, values : (p,) identified ones of an arm
    band : of the model's predictions, and the ranges of its training, see
        ``judge.prediction.Band``
    bandwidth : of the residual [rad/s]
    false_alarms : [1/h] how often errors alone may look like contact
    Raises EstimationError when a body is not physically consistent, ConfigError for friction of
    motors that turn several joints.
    """

    def __init__(
        self,
        robot: RobotModel,
        parameters: Sequence[Parameter],
        values: np.ndarray,
        *,
        band: tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]],
        bandwidth: float = 50.0,
        false_alarms: float = 1.0,
    ):
        count, (entry, ranges) = len(robot), band
        terms = terms_of_joints(robot, parameters, values)
        armature = np.zeros(count)
        for term in terms:
            armature[term.joint] += term.value * term.law.inertial
        bodies = np.asarray(values)[: 10 * count].reshape(count, 10)
        self._robot, self._bandwidth = robot, bandwidth
        self._terms = momentum_terms(robot, bodies, armature)
        self._friction = ObservedFriction(robot, terms)
        self._band = Band(entry, robot.joint_names, _without_acceleration(ranges))
        self._ratios = alarm_ratios(entry, robot.joint_names, false_alarms)
        # Means over a window have about one independent value in it.
        self._sigmas = np.sqrt(2.0 * np.log(3600.0 / MEAN_WINDOW * count / false_alarms))
        self.restart()

    def restart(self) -> None:
        """Begin anew: the next sample has none before it."""
        count = len(self._robot)
        self._time, self._began = -np.inf, 0.0
        self._residual = np.zeros(count)
        self._before: tuple[np.ndarray, ...] = ()  # momentum and force of the newest sample
        self._noise = Noise(count, 1.0 / self._bandwidth, self._bandwidth)
        self._integrals = np.zeros((2, count))  # of the residual and of dry friction
        self._impulses = deque[tuple[float, np.ndarray]]()  # within the window
        self._mean_noise = Noise(count, MEAN_WINDOW)
        self._smooth = np.zeros(count)  # velocity behind a filter as fast as the residual
        self._since = np.full(count, np.inf)

    def add(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> External:
        """
        Return the External torques at samples that follow those given before.

        t : (N,) [s], increasing; q, v, tau : (N, n) measured positions, velocities and joint
            torques on the link side [rad, rad/s, N m]
        After a gap in time the observer begins anew.
        """
        steps = np.diff(t, prepend=self._time)
        begins = ~((0.0 < steps) & (steps <= OBSERVER_GAP))
        friction, dry = self._friction.along(q, v, begins)
        torque, noise, a, mean, doubt, mean_noise = np.zeros((6, *np.shape(q)))
        settled = np.zeros(len(t), dtype=bool)
        for k, now in enumerate(t):
            if begins[k]:
                self.restart()
                self._begin(now, q[k], v[k], tau[k] - friction[k])
            else:
                a[k] = self._step(now, steps[k], q[k], v[k], tau[k] - friction[k])
                self._integrals[1] += steps[k] * dry[k]
            torque[k] = self._residual
            noise[k] = self._noise.add(now, torque[k])
            mean[k], doubt[k] = self._mean(now)
            mean_noise[k] = self._mean_noise.add(now, mean[k])
            settled[k] = now - self._began > SETTLING / self._bandwidth
        half, outside = self._band.at(self._motion(q, v, a))
        limit = np.hypot(self._ratios * half, self._sigmas * mean_noise) + doubt
        beyond = self._lasting(t, settled[:, None] & (np.abs(mean) > limit))
        return External(
            torque,
            _combined(half, noise, dry),
            mean,
            _combined(half, mean_noise, doubt),
            limit,
            beyond & (outside == 0.0),
            beyond & (outside > 0.0),
            outside,
        )

    def _motion(self, q, v, a):
        """Return {joint: {quantity: (N,)}} of positions, velocities and accelerations (N, n)."""
        return {
            joint: {'q': q[:, j], 'v': v[:, j], 'a': a[:, j]}
            for j, joint in enumerate(self._robot.joint_names)
        }

    def _lasting(self, t, beyond):
        """Return what of ``beyond`` (N, n) has been so for LASTS, of two samples at least."""
        out = np.zeros_like(beyond)
        for k, now in enumerate(t):
            out[k] = beyond[k] & (now >= self._since + LASTS)
            self._since = np.where(beyond[k], np.minimum(self._since, now), np.inf)
        return out

    def _begin(self, now, q, v, tau):
        """Take the first sample."""
        self._time, self._began, self._smooth = now, now, v
        self._before = self._momentum(q, v, tau)

    def _momentum(self, q, v, tau):
        """Return the momentum (n,) and the force (n,) that changes it."""
        mass, force = self._terms(q, v)
        return mass @ v, force + tau

    def _step(self, now, step, q, v, tau):
        """Bring the residual (n,) to one more sample; return the acceleration (n,)."""
        K = self._bandwidth
        acceleration = K * (v - self._smooth)
        self._smooth = self._smooth + min(K * step, 1.0) * (v - self._smooth)
        momentum, force = self._momentum(q, v, tau)
        momentum_before, force_before = self._before
        half, before = 0.5 * K * step, self._residual
        self._residual = (
            (1.0 - half) * before
            + K * (momentum - momentum_before)
            - half * (force + force_before)
        ) / (1.0 + half)
        self._integrals[0] += 0.5 * step * (before + self._residual)
        self._time, self._before = now, (momentum, force)
        return acceleration

    def _mean(self, now):
        """
        Return the means of torque and dry friction (n,) over the window that ends now.

        What the residual r follows has the integral r / K + integral of r: velocities enter by
        their difference over the window, which is less noise than the residual has.
        """
        impulse = self._integrals.copy()
        impulse[0] += self._residual / self._bandwidth
        self._impulses.append((now, impulse))
        drop_before(self._impulses, now - MEAN_WINDOW)
        began, before = self._impulses[0]
        return (impulse - before) / max(now - began, MEAN_WINDOW)


def _without_acceleration(ranges):
    """Return ranges without those of accelerations: on the run they are mostly noise."""
    return {
        owner: {quantity: ends for quantity, ends in of_owner.items() if quantity != 'a'}
        for owner, of_owner in ranges.items()
    }


def _combined(half, noise, unsure):
    """Return standard deviations (N, n) by half a band, noise, and up to ``unsure`` more."""
    return np.sqrt((half / TWO_SIGMA) ** 2 + noise**2 + unsure**2 / 3.0)
