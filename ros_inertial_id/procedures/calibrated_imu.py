"""
Calibrated IMU: how it sits on the platform, found once from all recordings of step zero.

What one recording tells of the IMU's turn and place costs as much as the IMU brings; the seat
belongs to the rig, so all recordings tell of one and later ones lean on it.  Springs and seat are
wrong together, and a later identification rests on both: their covariance is joint.
"""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from ..methods.suspended_platform.calibration import calibration_blocks, predicted_state


def pooled_extrinsics(observations):
    """Return (turn and shift (6,), covariance) that observations agree on, None without IMU."""
    seats = [o.motion.rides[0].extrinsics() for o in observations if 0 in o.motion.rides]
    if not seats:
        return None
    weights = [np.linalg.inv(P) for _, P in seats]
    covariance = np.linalg.inv(sum(weights))
    return covariance @ sum(w @ extrinsics for w, (extrinsics, _) in zip(weights, seats)), covariance


def seated(observations, extrinsics):
    """Return the observations as they are when the IMU sits as all of them say."""
    return [replace(o, motion=o.motion.with_ride(
        0, o.motion.rides[0].seated(extrinsics[0], np.zeros((6, 6))))) for o in observations]


def with_extrinsics(observations, loads, rest, value, fit, extrinsics):
    """
    Return the covariance (49, 49) of the calibrated numbers, then turn and shift.

    loads : what was added in each; value (43,) : the estimate by instruments; seat : (6, 6)
    fit : its (covariance, rms, inverse of Z'W), to which comes what the mounting does to it
    """
    covariance, rms, inverse = fit
    spread = {name: max(x, 1e-9) for name, x in rms.items()}
    slope = np.zeros((43, 6))
    for observation, added in zip(observations, loads):
        for sensitivity in observation.motion.extrinsic_sensitivities():
            change = -inverse @ _scores(observation, added, rest, value, sensitivity, spread)
            slope += change @ sensitivity.shared
            covariance = covariance + change @ sensitivity.own @ (change @ sensitivity.own).T
    both = slope @ extrinsics
    return np.block([[covariance + both @ slope.T, both], [both.T, extrinsics]])


def _scores(observation, added, rest, value, sensitivity, spread):
    """Return the change (43, 13) of the sum of Z'r by each number of the mounting."""
    out = np.zeros((43, len(sensitivity.sizes)))
    others = [replace(observation, motion=m) for m in sensitivity.motions]
    for states in zip(*(o.states(training=True) for o in (observation, *others))):
        quiet = predicted_state(states[0], rest, value, added)
        for z, *blocks in zip(*(calibration_blocks(s, rest, added) for s in (quiet, *states))):
            for instrument, *groups in zip(z.groups, *(b.groups for b in blocks)):
                r = np.array([g.W @ value - g.y for g in groups])
                out += instrument.W.T @ (r[1:] - r[0]).T / spread[instrument.name] ** 2
    return out / sensitivity.sizes


def described_extrinsics(imu, extrinsics):
    """Return {position, rpy, position_error, rpy_error} of a BodySource that sits as pooled."""
    (turn, shift), covariance = np.split(extrinsics[0], 2), extrinsics[1]
    turned = Rotation.from_rotvec(turn) * Rotation.from_matrix(imu.rotation)
    rpy, small = turned.as_euler('xyz'), 1e-6
    slope = [(Rotation.from_rotvec(v) * turned).as_euler('xyz') - rpy for v in small * np.eye(3)]
    error = np.sqrt(np.diag(np.transpose(slope) @ covariance[:3, :3] @ slope)) / small
    return {'position': np.asarray(imu.position) + shift, 'rpy': rpy,
            'position_error': np.sqrt(np.diag(covariance)[3:]), 'rpy_error': error}
