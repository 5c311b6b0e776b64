"""
Calibration of a suspended platform: from recordings with known masses to a description.

The extrinsics of an IMU on it belong to the rig, so those of all recordings are pooled, and later
identifications begin with them.  Errors of springs and extrinsics are correlated, and a later
identification rests on both: their covariance is joint.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from ..bodies.description import mapping, read_description, with_entries
from ..estimation.instrumental import (
    moments_of,
    score_covariance,
    tapered_autocovariances,
    weighted,
)
from ..measurement.imu_mounting import EXTRINSICS
from ..suspended_platform.calibration import (
    calibration_blocks,
    calibration_parameters,
    predicted_state,
    stiffness_of,
    without_moment,
)
from ..suspended_platform.observation import acceleration_noise, observe_platform
from ..suspended_platform.rig import KEYS, platform_rig
from ...errors import EstimationError, RecordingError
from ...estimation.least_squares import solved_sums
from ...estimation.residuals import Residuals
from ...identification.prepare.dataset import Progress
from ...measurement.recording import Recording
from ...measurement.summary import Summary

NOISE = 1.5  # times the residual that the markers' noise makes; linear springs give 1.0
ROUNDS = 3  # of instruments from the last estimate: the second already changes little


@dataclass(frozen=True)
class Calibration:
    """
    Springs and platform as identified.

    stiffness, stiffness_error : (6, 6) [N/m, N, N m/rad] with standard errors
    platform, platform_error : (10,) inertial parameters with standard errors, see SYMBOLS
    imu : position [m] and rpy [rad] of the one on the platform, with errors; empty without
    residual : row group -> rms of the residual [N, N m]
    excess : largest rms of a force, in those that the noise of the markers makes
    summaries : per recording what was understood of it
    doubts : what contradicts the markers' layout, in words
    text : the description with all of it filled in
    """

    stiffness: np.ndarray
    stiffness_error: np.ndarray
    platform: np.ndarray
    platform_error: np.ndarray
    imu: dict[str, np.ndarray]
    residual: dict[str, float]
    excess: float
    summaries: tuple[Summary, ...]
    doubts: tuple
    text: str

    @property
    def verdict(self) -> str:
        """Return in words what contradicts the calibration, or whether its residual is noise."""
        if self.doubts:
            return f'do not use: {"; or ".join(self.doubts)}'
        if self.excess < NOISE:
            return f'the residual is that of noise ({self.excess:.1f} times what markers make)'
        return (
            f'the residual is {self.excess:.1f} times what the noise of the markers makes: '
            'something touched the platform, an added mass was not fixed or not what was '
            'said, or the springs are not linear'
        )


def calibrate_platform(
    text: str,
    loaded: Sequence[tuple[Recording, np.ndarray]],
    options: Any,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    progress: Progress | None = None,
) -> Calibration:
    """
    Return the Calibration of the platform that a YAML ``text`` describes.

    loaded : [(Recording, added (10,)), ...], inertial parameters in the platform's frame, zeros
        for the empty platform, at least one not
    options : as for suspended_platform; gravity : (3,) in the base frame [m/s^2]
    RecordingError without two different masses; EstimationError when a number is not determined.
    """
    if not any(np.any(added) for _, added in loaded):
        raise RecordingError(
            'the platform was recorded empty only',
            expected='recordings with a known mass on it too',
            do='empty vibrations fix ratios, not sizes',
        )
    if len(masses := {float(added[0]) for _, added in loaded}) < 2:
        raise RecordingError(
            'all recordings carry the same mass',
            expected='two masses or more, of which one may be none',
            found=f'{masses.pop():g} kg in all',
            do='record the empty platform, too: with one mass the size of the '
            'stiffness rests on how the mass tilts it',
        )
    rig = platform_rig(_platform_only(text), np.asarray(gravity))
    observations = []
    for number, (recording, _) in enumerate(loaded, 1):
        observations.append(observe_platform(recording, rig, options))
        if progress:
            progress('observe', number, len(loaded))
    rest = _rest(
        [o for o, (_, added) in zip(observations, loaded) if not np.any(added)] or observations
    )
    states = [
        (state, np.asarray(added, dtype=float))
        for o, (_, added) in zip(observations, loaded)
        for state in o.states(training=True)
    ]
    columns = calibration_parameters()
    value = _least_squares(states, rest, columns)
    for _ in range(ROUNDS):
        rest, value = without_moment(rest, value)
        value, covariance, residual, inverse = _instrumental(states, rest, value)
    extrinsics, covariance = _with_extrinsics(
        observations, [added for _, added in loaded], rest, value, (covariance, residual, inverse)
    )
    error = np.sqrt(np.diag(covariance))[:43]
    unknown = [p.name for p, e in zip(columns, error) if not e < p.prior_sd]
    if unknown:
        raise EstimationError(
            'the vibrations do not determine the platform',
            found=unknown,
            do='push and turn it in all directions, and add the mass at several places',
        )
    doubts = [
        doubt['says']
        for o in observations
        for doubt in o.summary.details['doubts']
        if doubt['severity'] == 'wrong'
    ]
    excess = _excess(observations, [added for _, added in loaded], value, residual)
    imu = (
        _described_extrinsics(rig.sources[0].imu, extrinsics, covariance[43:, 43:])
        if len(extrinsics)
        else {}
    )
    return _result(
        value,
        covariance,
        rest,
        text,
        imu,
        residual=residual,
        excess=excess,
        doubts=tuple(dict.fromkeys(doubts)),
        summaries=tuple(o.summary for o in observations),
    )


def _least_squares(states, rest, columns):
    """Return the least squares estimate (43,): biased by noise, good for a start."""
    scale, sums = np.array([p.scale for p in columns]), np.zeros((43, 44))
    for state, added in states:
        for block in calibration_blocks(state, rest, added):
            for group in block.groups:
                W = group.W * scale
                sums += W.T @ np.column_stack([W, group.y])
    return solved_sums(sums) * scale


def _instrumental(states, rest, value):
    """
    Return (estimate (43,), covariance, rms, inverse of Z'W) by noise-free accelerations.

    Least squares shrinks what multiplies noisy accelerations, here by percents as no term has a
    known size in an empty vibration.  Accelerations that the last estimate predicts from poses
    carry a hundredth of that noise (Soderstrom and Stoica 1989, refined instruments).
    """
    pairs, residuals = [], Residuals()
    for state, added in states:
        quiet = predicted_state(state, rest, value, added)
        for block, other in zip(
            calibration_blocks(state, rest, added), calibration_blocks(quiet, rest, added)
        ):
            pairs.append((block, other))
            residuals.add(block, {g.name: g.W @ value for g in block.groups})
    count = sum(len(block.t) for block, _ in pairs)
    rms = {name: float(np.sqrt(x / count)) for name, x in residuals.filtered.residual.items()}
    sd = {name: max(x, 1e-9) for name, x in rms.items()}
    ZW, Zy = weighted(moments_of(pairs, np.arange(43)), sd)
    size = np.maximum(np.sqrt(np.abs(np.diag(ZW))), 1e-300)
    try:
        inverse = np.linalg.inv(ZW / size / size[:, None]) / size / size[:, None]
    except np.linalg.LinAlgError:
        inverse = np.full((43, 43), np.nan)  # nothing moved it, see the caller
    scores = score_covariance(pairs, tapered_autocovariances(residuals), sd, np.arange(43))
    return inverse @ Zy, inverse @ scores @ inverse.T, rms, inverse


def _excess(observations, added, value, residual):
    """Return the largest rms residual of the three forces in units of the markers' noise."""
    square = [
        (acceleration_noise(o) * (value[0] + pi[0])) ** 2 for o, pi in zip(observations, added)
    ]
    noise = np.sqrt(np.mean(square, axis=0))
    forces = np.array([x for name, x in residual.items() if name.split()[-1][0] == 'f'])
    return float((forces / np.maximum(noise, 1e-9)).max())


def _platform_only(text):
    data = read_description(text, KEYS)
    platform = dict(mapping(data.get('platform'), 'platform'))
    platform.pop('covariance', None)  # what was known before is not used
    return yaml.safe_dump({'platform': platform}, sort_keys=False)


def _rest(observations):
    """Return (position, rotation) of the mean pose of the empty platform."""
    poses = [state.bodies[0] for o in observations for state in o.states(training=True)]
    position = np.concatenate([b.position for b in poses]).mean(0)
    return position, Rotation.from_quat(
        np.concatenate([b.quaternion_xyzw for b in poses])
    ).mean().as_matrix()


def _result(value, covariance, rest, text, imu, **notes):
    error = np.sqrt(np.diag(covariance))[:43]
    K, dK = stiffness_of(value), stiffness_of(error)
    text = with_entries(
        text,
        ('platform',),
        {
            'stiffness': K,
            'damping': value[31:37],
            'preload': value[37:43],
            'rest_position': rest[0],
            'rest_rpy': Rotation.from_matrix(rest[1]).as_euler('xyz'),
            'inertial': value[:10],
            'covariance': [
                ' '.join(f'{x:.9g}' for x in row[: k + 1]) for k, row in enumerate(covariance)
            ],
            **{f'imu_{key}': imu[key] for key in ('position', 'rpy') if imu},
        },
    )
    return Calibration(K, dK, value[:10], error[:10], imu, text=text, **notes)


def _with_extrinsics(observations, loads, rest, value, fit):
    """
    Return rotation and shift (6,) [rad, m] of the IMU over all recordings, (0,) without one.

    And the covariance (49, 49) of the calibrated numbers, then of these.

    value : (43,) the estimate by instrumental variables; fit : its covariance (43, 43), rms by
    group, inverse of Z'W, before the errors of how the IMU sits in each recording
    """
    covariance, rms, inverse = fit
    found = [o.motion.fused[0].fused.extrinsics() for o in observations if 0 in o.motion.fused]
    if not found:
        return np.zeros(0), covariance
    sd = {name: max(x, 1e-9) for name, x in rms.items()}
    weights = [np.linalg.inv(errors @ errors.T) for _, errors in found]
    pooled = np.linalg.inv(sum(weights))
    covariance = np.pad(covariance, (0, len(EXTRINSICS)))
    for observation, added, weight, (_, errors) in zip(observations, loads, weights, found):
        slope = np.vstack(
            [-inverse @ _scores(observation, added, rest, value, sd), pooled @ weight @ errors]
        )
        covariance += slope @ slope.T
    return pooled @ sum(w @ x for w, (x, _) in zip(weights, found)), covariance


def _scores(observation, added, rest, value, sd):
    """Return the change (43, r) of the sum of Z'r by the r errors of how the IMU sits."""
    out = 0.0
    others = [replace(observation, motion=m) for m in observation.motion.erring(shared=False)]
    for states in zip(*(o.states(training=True) for o in (observation, *others))):
        quiet = predicted_state(states[0], rest, value, added)
        for z, *blocks in zip(*(calibration_blocks(s, rest, added) for s in (quiet, *states))):
            for instrument, *groups in zip(z.groups, *(b.groups for b in blocks)):
                r = np.array([g.W @ value - g.y for g in groups])
                out += instrument.W.T @ (r[1:] - r[0]).T / sd[instrument.name] ** 2
    return out


def _described_extrinsics(imu, extrinsics, covariance):
    """Return {position [m], rpy [rad], position_error, rpy_error} (3,) of a BodySource."""
    rotation, shift = np.split(extrinsics, 2)
    turned = Rotation.from_rotvec(rotation) * Rotation.from_matrix(imu.rotation)
    rpy, small = turned.as_euler('xyz'), 1e-6
    slope = [(Rotation.from_rotvec(v) * turned).as_euler('xyz') - rpy for v in small * np.eye(3)]
    error = np.sqrt(np.diag(np.transpose(slope) @ covariance[:3, :3] @ slope)) / small
    return {
        'position': np.asarray(imu.position) + shift,
        'rpy': rpy,
        'position_error': np.sqrt(np.diag(covariance)[3:]),
        'rpy_error': error,
    }
