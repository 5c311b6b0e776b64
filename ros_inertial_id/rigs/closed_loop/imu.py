"""
IMUs on the bodies of a mechanism, fused with the motion that markers saw.

What an IMU should measure follows from z, zdot, zddot through the mechanism; deviations from a
nominal motion (the filtered markers) are estimated by the error-state smoother of kalman.py, with
readings that rigs/measurement/imu_calibration.py brought to the motion's clock: where an IMU sits
and how it is turned is in the description.
"""

from typing import Any, Sequence

import numpy as np

from .markers import MarkerMotion
from ..dynamics.continuation import newton
from ..dynamics.mechanism import Mechanism
from ..measurement.imu_calibration import calibrated_imu
from ..measurement.kalman import at_ticks, Readings, smoothed_by_white_jerk, vague_start
from ..measurement.sources import BodySource, read_imu
from ...dynamics.body_motion import apply, body_motions, Frame, frame_of, twists
from ...dynamics.regressor import BLOCK
from ...errors import ConfigError
from ...measurement import signals
from ...measurement.recording import Recording

INTENSITIES = np.geomspace(1e-5, 1.0, 11)  # [s] jerk noise per squared jerk, tried by likelihood
PASSES = 3                 # the last changes offsets by microseconds
TRIED = 1200               # samples on which they are tried
EPSILON = 1e-5             # of finite differences, relative to one radian or metre (per second)


def imu_links(robot: Mechanism, lines: Sequence[str]) -> tuple[tuple[str, Frame], ...]:
    """Return ((topic, Frame), ...) of the lines "TOPIC LINK" of option imus."""
    links = []
    for line in lines:
        words = line.split()
        if len(words) != 2:
            raise ConfigError('option imus', expected='"TOPIC LINK"', found=repr(line))
        links.append((words[0], frame_of(robot.robot, words[1])))
    return tuple(links)


def fuse_imus(recording: Recording, robot: Mechanism, seen: MarkerMotion, lines: Sequence[str],
              limit: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """
    Return (t, z (N, k), zdot (N, k), notes) of MarkerMotion ``seen`` and IMUs.

    lines : "TOPIC LINK" each; limit : largest clock offset [s]
    The nominal motion is improved in PASSES: markers alone, then with the IMUs at the offsets and
    biases that the better motion shows.
    """
    links = imu_links(robot, lines)
    series = [read_imu(recording, BodySource(topic, 'imu', topic), recording.origin_ns())
              for topic, _ in links]
    model = ImuMeasurementModel(robot, [link for _, link in links])
    t, nominal = nominal_motion(seen.t, seen.z)
    visible = seen.t, seen.z, np.diagonal(seen.covariance, axis1=1, axis2=2)
    q = seen.q[np.clip(np.searchsorted(seen.t, t), 0, len(seen.t) - 1)]
    nominal, *_ = _smooth(nominal, t, [at_ticks(t, *visible, nominal)])
    notes: dict[str, dict[str, Any]] = {}
    for _ in range(PASSES):
        predicted, slopes = model.slopes(nominal, q)
        sensors = [at_ticks(t, *visible, nominal)]
        for i, imu in enumerate(series):
            read, note = calibrated_imu(imu, np.eye(3), [(t, predicted[:, i])], limit,
                                        checked=imu.topic in notes)
            # A motion that has seen these readings has followed some of their noise.
            note['variance'] = notes.get(imu.topic, note)['variance']
            near = (read.t >= t[0]) & (read.t <= t[-1])
            sensors.append(at_ticks(t, read.t[near], read.values[near], note['variance'],
                                    predicted[:, i], slopes[:, i]))
            notes[imu.topic] = note
        nominal, covariance, _ = _smooth(nominal, t, sensors)
    standard_deviation = np.sqrt(np.median(np.diagonal(covariance, axis1=1, axis2=2), axis=0))
    count = len(robot)
    smoothed = {name: [float(x) for x in standard_deviation[i::count]]
                for i, name in enumerate(robot.coordinates)}
    return t, nominal[:, :count], nominal[:, count:2 * count], {
        'imus': notes, 'smoothed_deviation': smoothed}


def nominal_motion(stamps: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return a uniform clock t (N,) [s] and z, zdot, zddot (N, 3 k) low-passed where noise begins.

    stamps : (M,) [s] of z (M, k) [rad, m]
    """
    period = float(np.median(np.diff(stamps)))
    count = int(round((stamps[-1] - stamps[0]) / period)) + 1
    t = stamps[0] + np.arange(count) * period
    z = np.stack([np.interp(t, stamps, x) for x in z.T], axis=1)
    cutoff, _ = signals.choose_cutoff([signals.differentiate(z, period)], period)
    kernel = signals.zero_phase_kernel(period, cutoff)
    while len(kernel) // 2 + 2 > count // 3 and len(kernel) > 1:
        cutoff *= 1.5
        kernel = signals.zero_phase_kernel(period, cutoff)
    smooth = signals.smooth(z, kernel)
    rate = signals.differentiate(smooth, period)
    return t, np.hstack([smooth, rate, signals.differentiate(rate, period)])


def _smooth(nominal, t, sensors):
    """Return the smoothed states (N, 3 k), covariance, and process noise (k,) by likelihood."""
    H, residual, variance = (np.concatenate(x, axis=1) for x in zip(*sensors))
    start = vague_start(np.nanmedian(variance[:, :nominal.shape[1] // 3], axis=0))
    out, jerk = smoothed_by_white_jerk(nominal, t[1] - t[0], Readings(H, residual, variance),
                                       start, INTENSITIES, TRIED)
    return out.x, out.covariance, jerk


class ImuMeasurementModel:
    """What IMUs at Frames of a Mechanism measure of a motion: angular velocity, specific force."""

    def __init__(self, robot, links):
        self._robot, self._links = robot, links

    def slopes(self, motion: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, ...]:
        """
        Return what is measured (N, links, 6) and its change (N, links, 6, 3 k) with the motion.

        motion : (N, 3 k) z, zdot, zddot; q : (N, n) configurations nearby
        """
        parts = [self._block(motion[low:low + BLOCK], q[low:low + BLOCK])
                 for low in range(0, len(motion), BLOCK)]
        return tuple(np.concatenate(x) for x in zip(*parts))

    def _block(self, motion, q):
        robot, size, count = self._robot, len(q), len(self._robot)
        z, rate, acceleration = np.split(motion, 3, axis=1)
        steps = EPSILON * np.eye(count)[:, None]
        goal = np.vstack([z, *(z + steps)])
        near = np.tile(robot.closing(q)[0], (count + 1, 1, 1))
        q, _ = newton(robot, np.tile(q, (count + 1, 1)), near, goal, goal)
        R, _, _ = robot.closing(q)
        # The motion itself, z moved, zdot moved; it is linear in zddot.
        rows = np.concatenate([np.arange(len(q)), np.tile(np.arange(size), count)])
        rates = np.vstack([np.tile(rate, (count + 1, 1)), *(rate + 10 * steps)])
        v, a = robot.motion(q[rows], R[rows], rates, np.tile(acceleration, (2 * count + 1, 1)))
        motions, out = body_motions(robot.robot, q[rows], v), []
        for link in self._links:
            predicted, turn, arm = self._at(link, motions, a, R)
            base, *moved = np.split(predicted, 2 * count + 1)
            slope = np.zeros((size, 6, 3 * count))
            for k, m in enumerate(moved):
                slope[:, :, k] = (m - base) / (EPSILON * (1 if k < count else 10))
            slope[:, 3:, 2 * count:] = np.einsum('ijb,jkb->bik', turn[..., :size], arm)
            out.append((base, slope))
        return tuple(np.stack(x, axis=1) for x in zip(*out))

    def _at(self, link, motions, a, R):
        """Return readings (B, 6), base to link (3, 3, B), d acceleration / d zddot (3, k, N)."""
        at, size = motions[link.body + 1].at(link), len(R) // (1 + len(self._robot))
        force, arm = at.a - self._robot.gravity_base[:, None], 0.0
        for j, u, _ in twists(self._robot.robot, motions, link.body, at.p):
            force = force + u * a[:, j]
            arm = arm + u[:, None, :size] * R[:size, j].T
        turn = np.swapaxes(at.R, 0, 1)
        return (np.concatenate([apply(turn, at.omega), apply(turn, force)]).T, turn,
                arm + np.zeros((3, len(self._robot), size)))
