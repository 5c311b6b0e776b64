"""
Calibration of a suspended platform: from recordings with known masses to a description.

The extrinsics of an IMU on it belong to the rig, so those of all recordings are pooled, and later
identifications begin with them.  Errors of springs and extrinsics are correlated, and a later
identification rests on both: their covariance is joint.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from .given_loads import (
    COMMON_FACTOR,
    given_loads,
    GivenLoad,
    loaded_recordings,
    odd_loads,
    with_load,
)
from ..bodies.description import mapping, read_description, with_entries
from ..estimation.motion_noise import DRAWS, NoisyRows
from ..estimation.rows_less_noise import RowsLessNoise
from ..measurement.imu_mounting import EXTRINSICS
from ..suspended_platform.calibration import (
    calibration_blocks,
    calibration_parameters,
    stiffness_of,
    without_moment,
)
from ..suspended_platform.observation import acceleration_noise, observe_platform
from ..suspended_platform.rig import KEYS, platform_rig
from ...dynamics.regressor import RegressorBlock
from ...errors import EstimationError, RecordingError
from ...estimation.least_squares import solved_sums
from ...estimation.residuals import residuals_of
from ...identification.prepare.dataset import Progress
from ...measurement.recording import Recording
from ...measurement.summary import Summary

NOISE_ALONE = 1.5  # times the residual that the markers' noise makes; linear springs give 1.0
COUNT = 43  # unknowns beside loads
ROUNDS = 2  # from the last estimate, whose rest pose and noise count: the second changes little


@dataclass(frozen=True)
class Calibration:
    """
    Springs and platform as identified.

    stiffness, stiffness_error : (6, 6) [N/m, N, N m/rad] with standard errors
    platform, platform_error : (10,) inertial parameters with standard errors, see SYMBOLS
    imu : position [m] and rpy [rad] of the one on the platform, with errors; empty without
    residual : row group -> rms of the residual [N, N m]
    excess : largest rms of a force, in those that the noise of the markers makes
    loads : per loaded recording what it is said to carry, and what the others show
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
    loads: tuple[GivenLoad, ...]
    summaries: tuple[Summary, ...]
    doubts: tuple
    text: str

    @property
    def verdict(self) -> str:
        """Return in words what contradicts the calibration, or whether its residual is noise."""
        if self.doubts:
            return f'do not use: {"; or ".join(self.doubts)}'
        odd = odd_loads(self.loads, self.excess, NOISE_ALONE)
        if odd:
            said = '; or, as likely, '.join(load.sentence() for load in odd)
            return f'do not use: {said}: weigh it again, or leave that recording out'
        if self.excess < NOISE_ALONE:
            return (
                f'the residual is that of noise ({self.excess:.1f} times what markers make); '
                f'{COMMON_FACTOR}'
            )
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
    _check_masses([np.asarray(added, dtype=float) for _, added in loaded])
    rig = platform_rig(_platform_only(text), np.asarray(gravity))
    added, vibrations = [np.asarray(load, dtype=float) for _, load in loaded], []
    places = {number: COUNT + k for k, number in enumerate(loaded_recordings(added))}
    for number, (recording, _) in enumerate(loaded):
        observation = observe_platform(recording, rig, options)
        vibrations.append(_Vibration(observation, added[number], places.get(number)))
        if progress:
            progress('observe', number + 1, len(loaded))
    fit = _SpringFit(vibrations)
    fit.start()
    for _ in range(ROUNDS):
        fit.refine()
    imu = fit.find_extrinsics(rig.sources[0].imu)
    fit.check_determined()
    return Calibration(
        stiffness=stiffness_of(fit.value),
        stiffness_error=stiffness_of(fit.error),
        platform=fit.value[:10],
        platform_error=fit.error[:10],
        imu=imu,
        residual=fit.residual,
        excess=fit.excess(fit.residual),
        loads=tuple(fit.given_loads()),
        summaries=tuple(v.observation.summary for v in vibrations),
        doubts=_layout_doubts(vibrations),
        text=with_entries(text, ('platform',), _entries(fit, imu)),
    )


def _check_masses(loads):
    """Raise RecordingError where loads [(10,), ...] are not two different masses."""
    if not any(np.any(added) for added in loads):
        raise RecordingError(
            'the platform was recorded empty only',
            expected='recordings with a known mass on it too',
            do='empty vibrations fix ratios, not sizes',
        )
    masses = {float(added[0]) for added in loads}
    if len(masses) < 2:
        raise RecordingError(
            'all recordings carry the same mass',
            expected='two masses or more, of which one may be none',
            found=f'{masses.pop():g} kg in all',
            do='record the empty platform, too: with one mass the size of the '
            'stiffness rests on how the mass tilts it',
        )


@dataclass(frozen=True)
class _Vibration:
    """
    One recording of the platform, and the parameters (10,) of what was added to it.

    place : column of its share, see ``given_loads``; None without a load
    """

    observation: Any  # a BodiesObservation with a PlatformMotion
    added: np.ndarray
    place: int | None

    @cached_property
    def states(self):
        """Return the BodiesStates of the platform."""
        return list(self.observation.states(training=True))

    def blocks(self, state, rest):
        """Yield the RegressorBlocks of a state, displacements from a ``rest`` pose."""
        for block in calibration_blocks(state, rest, self.added):
            yield with_load(block, self.place)

    def noisy_rows(self, rest, rng):
        """Yield NoisyRows with noise by ``rng``, displacements from a ``rest`` pose."""
        for state, noisy, times in self.observation.noisy_states(DRAWS, rng):
            rows = list(self.blocks(state, rest))
            for draw, moved in enumerate(noisy):
                for block, again in zip(rows, self.blocks(moved, rest)):
                    yield NoisyRows(block, again, draw, times)

    def extrinsics(self):
        """Return rotation and shift (6,) [rad, m] of its IMU, and their errors, None without."""
        return self.observation.motion.platform.extrinsics()

    def under_imu_errors(self):
        """Return the observation, then it under each error of unit size of how IMUs sit."""
        erring = self.observation.motion.erring(shared=False)
        return [self.observation, *(replace(self.observation, motion=m) for m in erring)]


class _SpringFit:
    """
    The 43 numbers of platform and springs that vibrations show, step by step.

    value, error : (43,) estimate and standard errors; rest : pose of the empty platform
    covariance : (43, 43), and (49, 49) once the extrinsics of an IMU are found
    residual : row group -> rms [N, N m]
    """

    def __init__(self, vibrations):
        self.vibrations = vibrations
        self.rest = _mean_pose(vibrations)
        self.value = np.zeros(43)
        self.covariance = np.full((43, 43), np.inf)
        self.residual = {}
        self._parameters = calibration_parameters()
        self._inverse = np.zeros((43, 43))  # of W'W: from scores to numbers
        self._blocks: list[RegressorBlock] = []  # of all recordings

    @property
    def error(self):
        return np.sqrt(np.diag(self.covariance))[:43]

    def start(self):
        """Begin with least squares: biased by noise, good for a start."""
        scale = np.array([p.scale for p in self._parameters])
        sums = np.zeros((43, 44))
        for block in self._rows_of_all():
            for group in block.groups:
                W = group.W[:, :43] * scale
                sums += W.T @ np.column_stack([W, group.y])
        self.value = solved_sums(sums) * scale

    def refine(self):
        """
        Estimate once more, without the noise in the rows.

        Least squares shrinks what multiplies noisy accelerations, here by percents as no term has
        a known size in an empty vibration.
        """
        self.rest, self.value = without_moment(self.rest, self.value)
        self._blocks = list(self._rows_of_all())
        loads = sum(v.place is not None for v in self.vibrations)
        values = np.append(self.value, np.zeros(loads))
        residuals = residuals_of(self._blocks, values)
        self.residual = residuals.filtered.summary()['rms']
        self._rows = RowsLessNoise(
            self._blocks, self._noisy_rows(), values, residuals, self._deviation()
        )
        solution, self._inverse = self._rows.solved(np.arange(43))
        self.value = solution[:43]
        scores = self._rows.scores(residuals)[:43, :43]
        self.covariance = self._inverse @ scores @ self._inverse.T

    def _rows_of_all(self):
        for vibration in self.vibrations:
            for state in vibration.states:
                yield from vibration.blocks(state, self.rest)

    def _noisy_rows(self):
        rng = np.random.default_rng(0)
        for vibration in self.vibrations:
            yield from vibration.noisy_rows(self.rest, rng)

    def _deviation(self):
        """Return row group -> standard deviation [N, N m] by which its rows are weighted."""
        return {name: max(x, 1e-9) for name, x in self.residual.items()}

    def given_loads(self):
        """Return the GivenLoads of the recordings."""
        added = [vibration.added for vibration in self.vibrations]
        return given_loads(self._rows, self._blocks, added, COUNT, self.excess)

    def check_determined(self):
        """Raise EstimationError where a number is not known better than before any data."""
        unknown = [p.name for p, e in zip(self._parameters, self.error) if not e < p.prior_sd]
        if unknown:
            raise EstimationError(
                'the vibrations do not determine the platform',
                found=unknown,
                do='push and turn it in all directions, and add the mass at several places',
            )

    def find_extrinsics(self, imu):
        """
        Return {position [m], rpy [rad], position_error, rpy_error} (3,) of the platform's IMU.

        Pooled over all recordings, empty without an IMU.  The covariance grows by six numbers,
        and by what their errors do to the other 43.

        imu : BodySource as described
        """
        found = [(v, v.extrinsics()) for v in self.vibrations]
        fused = [(v, *extrinsics) for v, extrinsics in found if extrinsics is not None]
        if not fused:
            return {}
        weights = [np.linalg.inv(errors @ errors.T) for _, _, errors in fused]
        pooled = np.linalg.inv(sum(weights))
        covariance = np.pad(self.covariance, (0, len(EXTRINSICS)))
        for (vibration, _, errors), weight in zip(fused, weights):
            slope = np.vstack([-self._inverse @ self._scores(vibration), pooled @ weight @ errors])
            covariance += slope @ slope.T
        self.covariance = covariance
        mean = pooled @ sum(w @ extrinsics for w, (_, extrinsics, _) in zip(weights, fused))
        return _described_extrinsics(imu, mean, covariance[43:, 43:])

    def _scores(self, vibration):
        """Return the change (43, r) of the sum of W'r by the r errors of how the IMU sits."""
        out, deviation = 0.0, self._deviation()
        rows = partial(calibration_blocks, rest=self.rest, added=vibration.added)
        for states in zip(*(o.states(training=True) for o in vibration.under_imu_errors())):
            for blocks in zip(*map(rows, states)):
                for groups in zip(*(b.groups for b in blocks)):
                    r = np.array([g.W @ self.value - g.y for g in groups])
                    out += groups[0].W.T @ (r[1:] - r[0]).T / deviation[groups[0].name] ** 2
        return out

    def excess(self, residual):
        """
        Return the largest rms of the three forces in units of the markers' noise.

        residual : {row group: rms [N, N m]}
        """
        square = [
            (acceleration_noise(v.observation) * (self.value[0] + v.added[0])) ** 2
            for v in self.vibrations
        ]
        noise = np.sqrt(np.mean(square, axis=0))
        forces = [x for name, x in residual.items() if name.split()[-1].startswith('f')]
        return float((np.array(forces) / np.maximum(noise, 1e-9)).max())


def _mean_pose(vibrations):
    """Return the mean position (3,) [m], rotation (3, 3) of the empty platform, or of any."""
    empty = [v for v in vibrations if not np.any(v.added)]
    states = chain.from_iterable(v.states for v in empty or vibrations)
    platform = [state.bodies[0] for state in states]
    position = np.concatenate([b.position for b in platform]).mean(0)
    attitude = Rotation.from_quat(np.concatenate([b.quaternion_xyzw for b in platform]))
    return position, attitude.mean().as_matrix()


def _layout_doubts(vibrations):
    """Return the doubts about the markers' layout, in words, each once."""
    doubts = chain.from_iterable(v.observation.summary.details['doubts'] for v in vibrations)
    return tuple(dict.fromkeys(d['says'] for d in doubts if d['severity'] == 'wrong'))


def _entries(fit, imu):
    """Return {key: value} of what a calibrated platform's description says."""
    out = {
        'stiffness': stiffness_of(fit.value),
        'damping': fit.value[31:37],
        'preload': fit.value[37:43],
        'rest_position': fit.rest[0],
        'rest_rpy': Rotation.from_matrix(fit.rest[1]).as_euler('xyz'),
        'inertial': fit.value[:10],
        'covariance': _lower_triangle(fit.covariance),
    }
    if imu:
        out['imu_position'], out['imu_rpy'] = imu['position'], imu['rpy']
    return out


def _lower_triangle(matrix):
    """Return a line of numbers of every row, up to the diagonal."""
    lines = []
    for k, row in enumerate(matrix):
        numbers = [f'{x:.9g}' for x in row[: k + 1]]
        lines.append(' '.join(numbers))
    return lines


def _platform_only(text):
    data = read_description(text, KEYS)
    platform = dict(mapping(data.get('platform'), 'platform'))
    platform.pop('covariance', None)  # what was known before is not used
    return yaml.safe_dump({'platform': platform}, sort_keys=False)


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
