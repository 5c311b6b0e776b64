"""
One fusion: IMUs on what moves, and its motion as others measured it, of bodies and mechanisms.

Markers say where something is, an IMU how it turns and what accelerates it; the noise of neither
reaches far into the other's domain.  Deviations from the motion that the markers alone show are
estimated by the smoother of kalman.py, together with how every IMU sits (imu_mounting.py): what it
costs not to know that is in the errors.  What is special about a body or a mechanism is one
function, the readings that a motion leads to and how they change with it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from .imu_mounting import as_mounted, EXTRINSICS, Imu, imu_on, LATE, NUMBERS, ROTATION, SHIFT
from .kalman import at_ticks, drawn_errors, Readings, root_of, smoothed, steady_jerk
from .sources import BodySource
from ...errors import RecordingError
from ...measurement.recording import Recording

INTENSITIES = np.geomspace(1e-5, 1.0, 6)  # [s] jerk noise per squared jerk, tried by likelihood
INTENSITY_SAMPLES = 300  # on which they are tried
LINEARISATIONS = 4  # of linearising at most ...
MOUNTING_SETTLED = 0.1  # ... until the mounting moves by less, in its standard deviations
VAGUE_START = (
    10.0,
    300.0,
    1e4,
)  # noises of a reading by which the first sample may deviate, /s, /s^2
SLOPE_STEPS = 1e-5, 1e-4, 1.0  # of coordinates [rad, m], rates, accelerations (linear) for slopes
STRAYED = 5.0  # rms of the six, in their standard deviations: it was mounted anew


@dataclass(frozen=True)
class Track:
    """
    A uniform stretch of a motion that others than IMUs measured.

    t : (N,) [s]; acceleration : (N, k) of the nominal coordinates
    off, variance : (N, k) measured less nominal coordinates, NaN where not, and of their noise
    kernel : (2 h + 1,) low-pass of the motion
    readings : deviation (N, 3 k) of coordinates, rates and accelerations from the nominal ->
        (N, n, 6) that n IMUs as described read
    """

    t: np.ndarray
    acceleration: np.ndarray
    off: np.ndarray
    variance: np.ndarray
    kernel: np.ndarray
    readings: Callable[[np.ndarray], np.ndarray]

    @property
    def period(self) -> float:
        """Return the time between samples [s]."""
        return self.t[1] - self.t[0]

    def inner(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of ``values`` (N, ...) where the low-pass did not guess the motion."""
        half = len(self.kernel) // 2
        return values[half : len(values) - half]


@dataclass(frozen=True)
class Fused:
    """
    The motion on every Track, and the mounting of n IMUs by p = 19 n numbers of unit variance.

    deviation : [(N, 3 k), ...] from the nominal; slope : [(N, 3 k, p), ...] with the numbers
    mounting : (n, 19)
    errors : (p, r), errors of the numbers by independent ones of unit size; shared : (p, 6 c) by
        an error [rad, m] of extrinsics that were calibrated, the same in all recordings
    drawn : (count, rng) -> [(count, N, 3 k), ...] errors of the deviation, for known numbers
    """

    imus: tuple[Imu, ...]
    deviation: list[np.ndarray]
    slope: list[np.ndarray]
    mounting: np.ndarray
    errors: np.ndarray
    shared: np.ndarray
    drawn: Callable[[int, np.random.Generator], list[np.ndarray]]

    def noisy(self, count: int, rng: np.random.Generator) -> Iterator[list[np.ndarray]]:
        """Yield [deviation (N, 3 k), ...] ``count`` times with errors drawn by ``rng``."""
        errors = self.drawn(count, rng)
        for draw in range(count):
            yield [x + e[draw] for x, e in zip(self.deviation, errors)]

    def erring(self, shared: bool) -> Iterator[list[np.ndarray]]:
        """
        Yield [deviation (N, 3 k), ...] under each independent error of unit size of the mounting.

        shared : those of the calibration, which are the same in all recordings, or the others
        """
        errors = self.errors
        if shared:
            errors = self.shared
        for off in errors.T:
            yield [x + slope @ off for x, slope in zip(self.deviation, self.slope)]

    def notes(self) -> dict[str, dict[str, Any]]:
        """Return topic -> what a report says of each IMU."""
        return {imu.topic: imu.note(x) for imu, x in zip(self.imus, self.mounting)}

    def extrinsics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rotation and shift (6,) [rad, m] of the only IMU, and their errors (6, r)."""
        return self.mounting[0, EXTRINSICS], (self.imus[0].root @ self.errors)[EXTRINSICS]


def fuse(
    recording: Recording, sources: Sequence[BodySource], tracks: Sequence[Track], limit: float
) -> Fused:
    """
    Return the Fused motion of ``tracks`` and the IMUs of ``sources``.

    limit : largest time offset of an IMU [s], 0: the same clock

    Raises RecordingError for an IMU mounted another way than described, or on another body.
    """
    imus = _first_look(recording, sources, tracks, limit)
    fit = _Linearised(tracks, imus)
    for _ in range(LINEARISATIONS):
        if fit.step():
            break
    remaining, shared = fit.errors(sources)
    return Fused(
        imus, fit.deviation, fit.slope, fit.mounting, root_of(remaining), shared, fit.drawn
    )


def _first_look(recording, sources, tracks, limit):
    """Return the Imu of every source, as it should read what others than IMUs measured."""
    expected = []
    for track in tracks:
        nominal = np.zeros((len(track.t), 3 * track.off.shape[1]))
        expected.append(track.inner(track.readings(nominal)))
    times = [track.inner(track.t) for track in tracks]
    imus = []
    for i, source in enumerate(sources):
        imus.append(imu_on(recording, source, times, [y[:, i] for y in expected], limit))
    return tuple(imus)


class _Linearised:
    """
    Deviations of all tracks and the mounting of their IMUs, better after every ``step``.

    numbers : (p,) of the mounting, of unit variance before data; covariance : (p, p) of them
    mounting : (n, 19), what ``root`` (p, p) makes of the numbers
    deviation, slope : as those of Fused
    """

    def __init__(self, tracks, imus):
        self.tracks, self.imus = tracks, imus
        self.root = block_diag(*(imu.root for imu in imus))
        self.numbers = np.full(len(self.root), np.inf)
        self.covariance = np.eye(len(self.root))
        self.mounting = np.zeros((len(imus), NUMBERS))
        self.deviation = [np.zeros((len(x.t), 3 * x.off.shape[1])) for x in tracks]
        self.slope = []
        self._intensity = None  # of the jerk noise, chosen in the first step
        self._readings = []  # of each track, linearised

    def step(self):
        """Linearise at the last estimate and smooth; return whether the mounting has settled."""
        self._readings = readings = [
            _linearised(track, self.imus, deviation, self.mounting, self.root)
            for track, deviation in zip(self.tracks, self.deviation)
        ]
        if self._intensity is None:
            self._intensity = _likeliest(self.tracks[0], readings[0].first(INTENSITY_SAMPLES))
        smooth = [_smoothed(x, r, self._intensity) for x, r in zip(self.tracks, readings)]
        information = sum(x.information for x in smooth) + np.eye(len(self.root))
        before = self.numbers
        self.covariance = np.linalg.inv(information)
        self.numbers = self.covariance @ sum(x.pull for x in smooth)
        self.mounting = (self.root @ self.numbers).reshape(self.mounting.shape)
        self.slope = [x.slope for x in smooth]
        self.deviation = [x.x + x.slope @ self.numbers for x in smooth]
        moved = np.abs(self.numbers - before)
        return (moved < MOUNTING_SETTLED * np.sqrt(np.diag(self.covariance))).all()

    def drawn(self, count, rng):
        """Return [(count, N, 3 k), ...] errors of the deviation for known numbers, by ``rng``."""
        out = []
        for track, readings in zip(self.tracks, self._readings):
            F, Q = _transition(track, self._intensity)
            out.append(drawn_errors(F, Q, readings, _start(track), count, rng))
        return out

    def errors(self, sources):
        """
        Return the covariance (p, p) of this recording alone, and the slope (p, 6 c) by extrinsics.

        sources : BodySources, of which c have a covariance from calibration
        RecordingError for an IMU that was moved since.
        """
        P = self.covariance
        remaining, shared = P, np.zeros((len(P), 0))
        for i, (imu, source) in enumerate(zip(self.imus, sources)):
            if source.covariance is None:
                continue
            known = NUMBERS * i + EXTRINSICS
            block = np.ix_(known, known)
            _check_extrinsics(imu.topic, self.mounting[i], self.numbers[known], P[block])
            shared = np.hstack([shared, P[:, known] @ np.linalg.inv(self.root[block])])
            remaining = remaining - P[:, known] @ P[known]
        return remaining, shared


def _likeliest(track, readings):
    """Return the intensity of jerk noise [s] under which Readings of a Track are likeliest."""
    return max(INTENSITIES, key=lambda i: _smoothed(track, readings, i).log_likelihood())


def _linearised(track, imus, deviation, mounting, root):
    """Return the Readings of a Track and its Imus, mounted as (n, 19), near a ``deviation``."""
    predicted, slope = _with_slope(track.readings, deviation)
    count, k = track.off.shape
    parts = [
        (
            np.broadcast_to(np.eye(k, 3 * k), (count, k, 3 * k)),
            np.zeros((count, k, len(root))),
            track.off,
            track.variance,
        )
    ]
    for i, imu in enumerate(imus):
        expected, turn, change = as_mounted(
            predicted[:, i], imu.rotation, mounting[i], track.period, track.kernel
        )
        stamps = imu.t - mounting[i, LATE]
        near = (stamps >= track.t[0]) & (stamps <= track.t[-1])
        residual, variance = at_ticks(
            track.t, stamps[near], imu.values[near], imu.variance, expected
        )
        H = turn @ slope[:, i]
        # What it would be where neither deviates, as both are small from there.
        residual += (H @ deviation[:, :, None])[:, :, 0] + change @ mounting[i]
        C = np.zeros((count, 6, len(root)))
        C[:, :, NUMBERS * i : NUMBERS * (i + 1)] = change @ imu.root
        parts.append((H, C, residual, variance))
    return Readings(*(np.concatenate(x, axis=1) for x in zip(*parts)))


def _with_slope(readings, deviation):
    """Return readings (N, n, 6) at a ``deviation`` (N, 3 k), and their change with it."""
    steps = np.repeat(SLOPE_STEPS, deviation.shape[1] // 3)
    base = readings(deviation)
    return base, np.stack(
        [(readings(deviation + step) - base) / step.sum() for step in np.diag(steps)], axis=-1
    )


def _smoothed(track, readings, intensity):
    """Return the Smoothed deviations of a Track for jerk noise of an ``intensity``."""
    F, Q = _transition(track, intensity)
    return smoothed(F, Q, readings, _start(track))


def _transition(track, intensity):
    """Return transition and noise (3 k, 3 k) of the deviation of a Track."""
    # Of the deviation, not of the motion: to take a swing for a random walk shrinks it, and the
    # mounting makes up for that.
    jerk = (np.gradient(track.acceleration, track.period, axis=0) ** 2).mean(0)
    return steady_jerk(track.period, intensity * jerk)


def _start(track):
    """Return the covariance (3 k, 3 k) of the first deviation of a Track."""
    start = np.outer(VAGUE_START, np.sqrt(np.nanmedian(track.variance, axis=0))).ravel()
    return np.diag(start**2)


def _check_extrinsics(topic, mounting, unit, P):
    """Raise RecordingError where extrinsics are far from their calibration; unit (6,), P of it."""
    square = unit @ np.linalg.pinv(np.eye(6) - P, 1e-6, hermitian=True) @ unit
    if square > 6 * STRAYED**2:
        raise RecordingError(
            f'the IMU {topic} does not sit where it was calibrated',
            expected='rotation and position within the errors of the calibration',
            found=f'{np.degrees(np.linalg.norm(mounting[ROTATION])):.2f} degrees and '
            f'{1e3 * np.linalg.norm(mounting[SHIFT]):.1f} mm away, or more',
            do='calibrate anew, or leave out covariance: to have it found in each recording',
        )
