"""
Calibrated IMU: its extrinsics on the platform, found once from all recordings of step zero.

The extrinsics belong to the rig, so they are pooled over all recordings of the calibration and
later identifications use them as known; found anew from every recording they would cost as much
information as the IMU adds.  Errors of springs and extrinsics are correlated, and a later
identification rests on both: their covariance is joint.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..suspended_platform.calibration import calibration_blocks, predicted_state

Extrinsics = tuple[np.ndarray, np.ndarray]


def pooled_extrinsics(observations: Sequence[Any]) -> Extrinsics | None:
    """
    Return (rotation vector [rad] and shift [m] (6,), covariance (6, 6)); None without an IMU.

    observations : of the platform, whose estimates are averaged by their covariances
    """
    motions = [o.motion.fused_motions for o in observations]
    found = [fused[0].extrinsics() for fused in motions if 0 in fused]
    if not found:
        return None
    weights = [np.linalg.inv(P) for _, P in found]
    covariance = np.linalg.inv(sum(weights))
    weighted = sum(w @ extrinsics for w, (extrinsics, _) in zip(weights, found))
    return covariance @ weighted, covariance


def with_known_extrinsics(observations: Sequence[Any], extrinsics: Extrinsics) -> list[Any]:
    """Return the ``observations`` with the IMU where the pooled ``extrinsics`` have it."""
    return [replace(o, motion=o.motion.with_fused_motion(
        0, o.motion.fused_motions[0].with_extrinsics(extrinsics[0], np.zeros((6, 6)))))
            for o in observations]


def with_extrinsics(observations: Sequence[Any], loads: Sequence[np.ndarray], rest: tuple,
                    value: np.ndarray, fit: tuple[np.ndarray, Mapping[str, float], np.ndarray],
                    extrinsics: np.ndarray) -> np.ndarray:
    """
    Return the covariance (49, 49) of the calibrated numbers, then rotation and shift of the IMU.

    observations : of the platform; loads : inertial parameters (10,) added in each of them
    rest : (position (3,) [m], rotation (3, 3)) where displacements are zero
    value : (43,) the estimate by instrumental variables
    fit : its (covariance (43, 43), {row group: rms}, inverse of Z'W), before the extrinsics
    extrinsics : their covariance (6, 6)
    """
    covariance, rms, inverse = fit
    sd = {name: max(x, 1e-9) for name, x in rms.items()}
    slope = np.zeros((43, 6))
    for observation, added in zip(observations, loads):
        for sensitivity in observation.motion.extrinsic_sensitivities():
            change = -inverse @ _scores(observation, added, rest, value, sensitivity, sd)
            slope += change @ sensitivity.shared
            covariance = covariance + change @ sensitivity.own @ (change @ sensitivity.own).T
    both = slope @ extrinsics
    return np.block([[covariance + both @ slope.T, both], [both.T, extrinsics]])


def _scores(observation, added, rest, value, sensitivity, sd):
    """Return the change (43, 13) of the sum of Z'r by each number of the extrinsics."""
    out = np.zeros((43, len(sensitivity.sizes)))
    others = [replace(observation, motion=m) for m in sensitivity.motions]
    for states in zip(*(o.states(training=True) for o in (observation, *others))):
        quiet = predicted_state(states[0], rest, value, added)
        for z, *blocks in zip(*(calibration_blocks(s, rest, added) for s in (quiet, *states))):
            for instrument, *groups in zip(z.groups, *(b.groups for b in blocks)):
                r = np.array([g.W @ value - g.y for g in groups])
                out += instrument.W.T @ (r[1:] - r[0]).T / sd[instrument.name] ** 2
    return out / sensitivity.sizes


def described_extrinsics(imu: Any, extrinsics: Extrinsics) -> dict[str, np.ndarray]:
    """
    Return {position [m], rpy [rad], position_error, rpy_error} (3,) of an IMU.

    imu : BodySource with its nominal placement; extrinsics : as ``pooled_extrinsics`` gives them
    """
    (rotation, shift), covariance = np.split(extrinsics[0], 2), extrinsics[1]
    turned = Rotation.from_rotvec(rotation) * Rotation.from_matrix(imu.rotation)
    rpy, small = turned.as_euler('xyz'), 1e-6
    slope = [(Rotation.from_rotvec(v) * turned).as_euler('xyz') - rpy for v in small * np.eye(3)]
    error = np.sqrt(np.diag(np.transpose(slope) @ covariance[:3, :3] @ slope)) / small
    return {'position': np.asarray(imu.position) + shift, 'rpy': rpy,
            'position_error': np.sqrt(np.diag(covariance)[3:]), 'rpy_error': error}
