"""
Torques from outside, by the generalized momentum: no accelerations are needed.

With p = M(q) v the equation of motion is p' = C(q, v)' v - g(q) - friction + tau + external, and

    r = K (p - integral of (C' v - g - friction + tau + r))

follows the external torque as a first-order filter of bandwidth K does (De Luca, Albu-Schaeffer,
Haddadin, Hirzinger 2006, Eq. 9 to 12).  Between samples everything is integrated by the trapezoid
rule.  Contact is judged by the mean of the external torque over a WINDOW, from r / K + integral of
r: velocities enter by the difference of two, with less noise than behind a filter as fast.  What
it is wrong by: noise, measured on the run by what changes within the window, the model's own
error, as the band of its predictions has it at this state, and the friction of a joint that hardly
moves, which may be anything up to its level.  Contact is what exceeds all of them more seldom by
chance than so often per hour; beyond the motion of the training nothing is claimed.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .noise import Noise
from ..dynamics.friction import friction_column, LAWS, presliding_step, STRIBECK_STEP
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.pinocchio_model import momentum_terms
from ..dynamics.regressor import nominal_torques
from ..dynamics.robot_model import RobotModel
from ..errors import ConfigError
from ..identification.identified_model import IdentifiedModel
from ..identification.judge.prediction import alarm_ratios, Band, TWO_SIGMA

GAP = 0.1  # [s] between samples after which the observer begins anew
SETTLING = 5.0  # time constants until a new observer may speak of contact
WINDOW = 0.04  # [s] whose mean torque is judged: with LASTS a push is to be seen within 50 ms
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
    lacking = [
        joint for joint in robot.joint_names if 'peak' not in band.get('joints', {}).get(joint, {})
    ]
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
    mean : (N, n) of it over the last WINDOW; standard_deviation, mean_deviation : (N, n) of both
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
        share = min(1.0, (within - period - max(LASTS, period)) / max(WINDOW, period))
        needed = self.limit + NINE_OF_TEN * self.mean_deviation
        return needed / share if share > 0.0 else np.full_like(needed, np.inf)


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
        joints, count = list(robot.joint_names), len(robot)
        terms = [
            (joints.index(p.owner), p, float(x))
            for p, x in zip(parameters, values)
            if p.law and p.owner in joints
        ]
        strange = [p.owner for p in parameters[10 * count :] if p.owner not in joints]
        if strange:
            raise ConfigError(
                'external torques of coupled drives are not supported', found=sorted(set(strange))
            )
        armature = np.zeros(count)
        for j, p, x in terms:
            armature[j] += x * LAWS[p.law].inertial
        self._robot, (entry, ranges) = robot, band
        # An acceleration on the run is mostly noise: it widens the band and bounds nothing.
        self._band = Band(
            entry,
            joints,
            {joint: {k: r for k, r in own.items() if k != 'a'} for joint, own in ranges.items()},
        )
        self._terms = momentum_terms(
            robot, np.asarray(values)[: 10 * count].reshape(count, 10), armature
        )
        self._presliding = [term for term in terms if LAWS[term[1].law].memory]
        self._friction = [
            term for term in terms if not (LAWS[term[1].law].memory or LAWS[term[1].law].inertial)
        ]
        self._loaded = any(LAWS[p.law].loaded for _, p, _ in self._friction)
        self._bandwidth = bandwidth
        self._ratios = alarm_ratios(entry, joints, false_alarms)
        # Means over a window have about one independent value in it.
        self._sigmas = np.sqrt(2.0 * np.log(3600.0 / WINDOW * count / false_alarms))
        self.restart()

    def restart(self) -> None:
        """Begin anew: the next sample has none before it."""
        count = len(self._robot)
        self._time, self._began = -np.inf, 0.0
        self._residual, self._z = np.zeros(count), np.zeros(len(self._presliding))
        self._before: tuple[np.ndarray, ...] = ()
        self._noise = Noise(count, 1.0 / self._bandwidth, self._bandwidth)
        self._sum, self._sums = np.zeros((2, count)), deque[tuple[float, np.ndarray]]()
        self._mean_noise = Noise(count, WINDOW)
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
        torque, noise, a, mean, doubt, mean_noise = np.zeros((6, *np.shape(q)))
        settled = np.zeros(len(t), dtype=bool)
        for k, now in enumerate(t):
            step = now - self._time
            if not 0.0 < step <= GAP:
                self.restart()
                self._began, step = now, 0.0
            torque[k], a[k] = self._step(now, step, q[k], v[k], tau[k] - friction[k])
            noise[k] = self._noise.add(now, torque[k])
            mean[k], doubt[k] = self._mean(now, step, dry[k])
            mean_noise[k] = self._mean_noise.add(now, mean[k])
            settled[k] = now - self._began > SETTLING / self._bandwidth
        joints = self._robot.joint_names
        seen = {
            joint: {'q': q[:, j], 'v': v[:, j], 'a': a[:, j]} for j, joint in enumerate(joints)
        }
        half, away = self._band.at(seen)
        limit = np.hypot(self._ratios * half, self._sigmas * mean_noise) + doubt
        beyond = self._lasting(t, settled[:, None] & (np.abs(mean) > limit))
        deviation, mean_deviation = (
            np.sqrt((half / TWO_SIGMA) ** 2 + x**2 + unsure**2 / 3.0)
            for x, unsure in ((noise, dry), (mean_noise, doubt))
        )
        return External(
            torque,
            deviation,
            mean,
            mean_deviation,
            limit,
            beyond & (away == 0.0),
            beyond & (away > 0.0),
            away,
        )

    def _lasting(self, t, beyond):
        """Return what of ``beyond`` (N, n) has been so for LASTS, of two samples at least."""
        out = np.zeros_like(beyond)
        for k, now in enumerate(t):
            out[k] = beyond[k] & (now >= self._since + LASTS)
            self._since = np.where(beyond[k], np.minimum(self._since, now), np.inf)
        return out

    def _step(self, now, step, q, v, tau):
        """Return the residual (n,) and the acceleration (n,) after one more sample."""
        K = self._bandwidth
        mass, force = self._terms(q, v)
        momentum, force = mass @ v, force + tau
        self._smooth = v if self._smooth is None else self._smooth
        a = K * (v - self._smooth)
        self._smooth = self._smooth + min(K * step, 1.0) * (v - self._smooth)
        if step:
            momentum_before, force_before = self._before
            half, before = 0.5 * K * step, self._residual
            self._residual = (
                (1.0 - half) * self._residual
                + K * (momentum - momentum_before)
                - half * (force + force_before)
            ) / (1.0 + half)
            self._sum[0] += 0.5 * step * (before + self._residual)
        self._time, self._before = now, (momentum, force)
        return self._residual, a

    def _mean(self, now, step, dry):
        """
        Return the means of torque and dry friction (n,) over the WINDOW that ends now.

        What the residual r follows has the integral r / K + integral of r: velocities enter by
        their difference over the window, which is less noise than the residual has.
        """
        self._sum[1] += step * dry
        impulse = self._sum + [self._residual / self._bandwidth, np.zeros_like(dry)]
        self._sums.append((now, impulse))
        while len(self._sums) > 2 and self._sums[1][0] <= now - WINDOW:
            self._sums.popleft()
        return (impulse - self._sums[0][1]) / max(now - self._sums[0][0], WINDOW)

    def _friction_of(self, q, v):
        """Return the friction (N, n) [N m] and what of it is unknown near rest (N, n)."""
        friction, unknown = np.zeros(np.shape(q)), np.zeros(np.shape(q))
        still = np.zeros(np.shape(q))
        load = nominal_torques(self._robot, q, v, still) if self._loaded else still
        for j, parameter, value in self._friction:
            column = friction_column(parameter, q[:, j], v[:, j], still[:, j], load[:, j])
            friction[:, j] += value * column
            if LAWS[parameter.law].dry:  # at rest: anything
                level = np.abs(load[:, j]) if LAWS[parameter.law].loaded else 1.0
                unknown[:, j] += abs(value) * (level - np.minimum(np.abs(column), level))
        if self._presliding:
            joints = [j for j, _, _ in self._presliding]
            scale = np.array([value for _, _, value in self._presliding])
            distance = np.array([p.nonlinear for _, p, _ in self._presliding])
            steps = np.diff(q[:, joints], axis=0, prepend=self._last(q)[joints][None])
            for k, (step, speed) in enumerate(zip(steps, v[:, joints])):
                self._z = presliding_step(self._z, step, speed, distance)
                friction[k, joints] += scale * self._z
                # Where the joint rests, how it came to rest no longer tells the friction.
                rest, z = np.maximum(0.0, 1.0 - np.abs(speed) / STRIBECK_STEP), np.abs(self._z)
                unknown[k, joints] += np.abs(scale) * (1.0 - z + 2.0 * rest * z)
        self._place = np.array(q[-1]) if len(q) else self._last(q)
        return friction, unknown

    def _last(self, q):
        """Return the positions (n,) before those of q (N, n), the first ones where none were."""
        known = np.isfinite(self._time)
        return self._place if known else np.array(q[0])
