"""
Independent coordinates from all markers at once, by least squares on the mechanism.

Every camera frame is solved by itself (marker_fit.py).  Where some do not show every marker, an
iterated Kalman smoother (Bell and Cathey 1993) begins with the frames that fit one posture alone
and linearises all markers at the motion they show together: markers that do not fit it are left
out, frames that show too little lean on their neighbours, for as long as a gap is bridged.  What
does not fit throughout is explained: two markers exchanged, or one misplaced.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .marker_fit import covariance_of, MarkerFit, OUTLIER
from ..dynamics.continuation import newton
from ..dynamics.mechanism import Mechanism
from ..measurement.kalman import Readings, smoothed_by_white_jerk
from ..measurement.markers import Frames
from ...errors import RecordingError
from ...measurement import signals
from ...measurement.interpolation import LONGEST_GAP

WRONG = 10.0       # times its noise: a marker that does not sit where it is said to
TOO_FEW = 0.5      # share of frames that must be usable
MOST = 0.5         # share of a marker's readings that may be outliers
WEAK = 2.0         # times the usual standard deviation: a frame leans on those around it
INTENSITIES = np.geomspace(1e-6, 1.0, 9)  # [s] jerk noise per squared jerk, by likelihood
TRIED = 800        # frames on which they are tried
WIDTHS = 3 * OUTLIER, OUTLIER, None  # of Cauchy weights, pass by pass; None: outliers are out
NOTHING = 1e-10    # of the best seen direction's information: nothing is seen there
WIDE = 10.0        # of the motion's own size: how little is known of its first state
ASTRAY = 3 * OUTLIER  # usual distances from the middle of its neighbours: no place to start from


@dataclass(frozen=True)
class MarkerMotion:
    """
    Independent coordinates seen by a camera.

    t : (M,) [s]; z : (M, k) [rad, m], smoothed in frames that show too little; q : (M, n)
    reading : (M, k) what each frame says by itself, of covariance (M, k, k)
    notes : what was found: rms per marker, frames, outliers, exchanges
    """

    t: np.ndarray
    z: np.ndarray
    covariance: np.ndarray
    q: np.ndarray
    reading: np.ndarray
    notes: dict


def reconstruct_markers(robot: Mechanism, frames: Frames, marker_noise: float,
                        tag_noise: float) -> MarkerMotion:
    """
    Return the MarkerMotion of a Mechanism on which Frames were seen, in the base frame.

    marker_noise [m], tag_noise [rad] : standard deviations of one reading
    """
    fit = MarkerFit(robot, frames, marker_noise, tag_noise)
    rows = np.arange(len(frames.t))
    z, q, _ = fit.search(rows)
    _explain_misfit(fit, q)
    kept = fit.inliers(q)
    z, q, covariance = fit.refine(rows, q, kept)
    if not kept.all() or _worse(covariance, WEAK).any():
        return _in_continuity(fit, q)
    turning = ~np.asarray(robot.prismatic)[list(robot.independent)]
    z[:, turning] = np.unwrap(z[:, turning], axis=0)
    q[:, list(robot.independent)] = z
    return MarkerMotion(frames.t, z, covariance, q, z, fit.notes(q, rows, kept))


def _in_continuity(fit, q):
    """Return the MarkerMotion of frames of which some do not show everything, from q (M, n)."""
    sure = fit.determined(q)
    _check_determined(fit.frames.names, sure)
    good = sure & fit.good(q)
    _check_enough(good[sure])
    smooth, variance, path, kept = _smoothed(fit, q, good)
    _check_enough(kept.any(1))
    _check_agreement(fit, kept)
    rows = np.flatnonzero(kept.any(1) & ~_too_long(fit.frames.t, ~sure))
    reading, near, covariance = fit.refine(rows, path[rows], kept[rows])
    smooth = smooth[rows]
    aside = fit.turned(reading - smooth)
    certain = np.diagonal(covariance, axis1=1, axis2=2) + variance[rows]
    far = (aside ** 2 > OUTLIER ** 2 * certain).any(1)
    weak = _worse(covariance, WEAK) | far
    z = smooth + np.where(weak[:, None], 0.0, aside)
    q = np.where(weak[:, None], path[rows], near)
    q[:, list(fit.robot.independent)] = z
    return MarkerMotion(
        fit.frames.t[rows], z, covariance, q, smooth + np.where(far[:, None], 0.0, aside),
        {**fit.notes(q, rows, kept), 'marker_frames_smoothed': int(weak.sum())})


def _too_long(t, unsure):
    """Return which frames (M,) at t [s] are of a run of ``unsure`` ones longer than is bridged."""
    edges = np.flatnonzero(np.diff(np.r_[False, unsure, False].astype(int)))
    out = np.zeros(len(t), dtype=bool)
    for first, end in edges.reshape(-1, 2):
        out[first:end] = t[end - 1] - t[first] > LONGEST_GAP
    return out


def _worse(covariance, times):
    """Return which frames (M,) show a coordinate with ``times`` the usual standard deviation."""
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    return (variance > times ** 2 * np.median(variance, axis=0)).any(1)


def _check_enough(good):
    """Raise RecordingError where too few frames fit."""
    if good.mean() < TOO_FEW:
        raise RecordingError('the markers do not fit the mechanism',
                             expected='most camera frames usable',
                             found=f'{int(good.sum())} of {len(good)} frames',
                             do='check markers:, the camera pose and the lengths in the URDF')


def _check_determined(names, sure):
    """Raise RecordingError where most frames show markers that fit several postures."""
    if sure.mean() < TOO_FEW:
        raise RecordingError(
            f'the markers leave open which assembly is seen: {", ".join(names)}',
            expected='most camera frames in which it is certain',
            found=f'{int(sure.sum())} of {len(sure)} frames',
            do='put a marker on another link, or give the orientation of a tag (pose)')


def _check_agreement(fit, kept):
    """Raise RecordingError where a marker contradicts the others in most frames (M, m)."""
    seen = np.isfinite(fit.frames.position).all(-1)
    out = (seen & ~kept).sum(0) / np.maximum(seen.sum(0), 1)
    if out.max() > MOST:
        raise RecordingError(
            'the markers do not fit one another', expected=f'most readings within {OUTLIER:g} '
            f'times marker_noise ({fit.noise[0]:g} m) and tag_noise of one motion',
            found='beyond it ' + ', '.join(
                f'{name} {100 * x:.0f} %' for name, x in zip(fit.frames.names, out)),
            do='check links and lengths in the URDF, the noise, and whether all topics are of one '
               'camera or in one frame')


def _explain_misfit(fit, q):
    """Raise RecordingError when markers are off throughout; say which, or which are exchanged."""
    names = fit.frames.names
    typical = np.nanmedian(fit.misfit(q), axis=0)
    if np.nanmax(typical) < WRONG:
        return
    rows = np.unique(np.linspace(0, len(q) - 1, 60).astype(int))
    found = {pair: fit.misfit_exchanged(*pair, rows)
             for pair in combinations(range(len(names)), 2)}
    noise = fit.noise[0]
    if found and min(found.values()) < WRONG:
        a, b = min(found, key=found.__getitem__)
        raise RecordingError(
            f'markers {names[a]} and {names[b]} are exchanged',
            found=f'misfit {np.nanmax(typical) * noise:.4f} m as configured, '
            f'{found[a, b] * noise:.4f} m the other way round', do='exchange them in markers:')
    worst = int(np.nanargmax(typical))
    raise RecordingError(
        f'marker {names[worst]} does not sit where the configuration says',
        expected=f'about {noise:.2g} m off', found=', '.join(
            f'{n} {x * noise:.4f} m' for n, x in zip(names, typical)),
        do='check its link, the camera pose, the lengths in the URDF and start: (another branch?)')


def _smoothed(fit, q, good):
    """
    Return what all frames together show at each: z (M, k), its variance, q (M, n) closed there.

    Also which markers (M, m) fit; q : of every frame by itself; good : (M,) which to begin with
    """
    index = list(fit.robot.independent)
    stamps, rows = fit.frames.t, np.arange(len(q))
    good = good.copy()
    good[good] = _on_the_way(fit, stamps[good], q[good][:, index])
    z = q[:, index].copy()
    z[good] = z[good][0] + np.cumsum(np.vstack([np.zeros((1, len(index))), fit.turned(
        np.diff(z[good], axis=0))]), axis=0)
    t, nominal = nominal_motion(stamps[good], z[good], clock=stamps)
    ticks = np.clip(np.round((stamps - t[0]) / (t[1] - t[0])).astype(int), 0, len(t) - 1)
    near = q[good][np.searchsorted(stamps[good], stamps).clip(0, good.sum() - 1)]
    kept = np.zeros((len(q), len(fit.frames.names)), dtype=bool)
    # Around the frames themselves where they are believed: the nominal motion, low-passed, may be
    # nearer to another assembly.
    believed, closed = good, good
    for width in WIDTHS:
        here = _at(stamps, t, nominal[:, :len(index)])
        around = np.where(believed[:, None], q, near)
        A, g, kept[closed] = fit.linearised(
            rows[closed], around[closed], fit.robot.closing(around[closed])[0], width)
        g += np.einsum('bkl,bl->bk', A, fit.turned(around[closed][:, index] - here[closed]))
        nominal, variance = _smooth(t, nominal, _on_ticks(A, g, ticks[closed], nominal))
        here = _at(stamps, t, nominal[:, :len(index)])
        near, closed = _moved(fit, near, here)
        believed = good & closed & ~_apart(fit, q, here, variance[ticks])
    return here, variance[ticks], near, kept & closed[:, None]


def _apart(fit, q, z, variance):
    """Return which frames (M,) of configurations q (M, n) are no noise away from z (M, k)."""
    A, _, _ = fit.linearised(np.arange(len(q)), q, fit.robot.closing(q)[0])
    own = np.diagonal(covariance_of(A), axis1=1, axis2=2)
    aside = fit.turned(z - q[:, list(fit.robot.independent)])
    return (aside ** 2 > OUTLIER ** 2 * (own + variance)).any(1)


def _on_the_way(fit, stamps, z):
    """Return which frames (M,) at ``stamps`` lie between those before and after, z (M, k)."""
    steps = np.diff(stamps)
    share = (steps[:-1] / (steps[:-1] + steps[1:]))[:, None]
    aside = np.abs(fit.turned(z[1:-1] - z[:-2] - share * fit.turned(z[2:] - z[:-2])))
    usual = np.median(aside, axis=0) / 0.6745
    return np.r_[True, (aside <= ASTRAY * usual).all(1), True]


def nominal_motion(stamps: np.ndarray, z: np.ndarray,
                   clock: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """
    Return a uniform clock t (N,) [s] and z, zdot, zddot (N, 3 k) low-passed where noise begins.

    stamps : (M,) [s] of z (M, k) [rad, m]; clock : (L,) [s] that t is to span; None: stamps
    """
    clock = stamps if clock is None else clock
    period = float(np.median(np.diff(clock)))
    count = int(round((clock[-1] - clock[0]) / period)) + 1
    t = clock[0] + np.arange(count) * period
    z = _at(t, stamps, z)
    cutoff, _ = signals.choose_cutoff([signals.differentiate(z, period)], period)
    kernel = signals.zero_phase_kernel(period, cutoff)
    while len(kernel) // 2 + 2 > count // 3 and len(kernel) > 1:
        cutoff *= 1.5
        kernel = signals.zero_phase_kernel(period, cutoff)
    smooth = signals.smooth(z, kernel)
    rate = signals.differentiate(smooth, period)
    return t, np.hstack([smooth, rate, signals.differentiate(rate, period)])


def _at(times, t, rows):
    return np.stack([np.interp(times, t, x) for x in rows.T], axis=1)


def _moved(fit, q, z):
    """Return configurations (M, n) closed at z (M, k) from q (M, n), and where they are."""
    index = list(fit.robot.independent)
    goal = q[:, index] + fit.turned(z - q[:, index])
    moved, closed = newton(fit.robot, q, fit.robot.transformation(q)[0], goal, goal)
    return np.where(closed[:, None], moved, q), closed


def _on_ticks(A, g, ticks, nominal):
    """Return Readings of what frames with information A (M, k, k) say along its eigenvectors."""
    count = A.shape[-1]
    values, vectors = np.linalg.eigh(A)
    shown = values > NOTHING * np.median(values[:, -1])
    along = np.einsum('bkl,bk->bl', vectors, g)
    H = np.zeros((len(nominal), count, nominal.shape[1]))
    residual, variance = np.full((len(nominal), count), np.nan), np.ones((len(nominal), count))
    H[ticks, :, :count] = np.swapaxes(vectors, 1, 2)
    safe = np.where(shown, values, 1.0)
    residual[ticks] = np.where(shown, along / safe, np.nan)
    variance[ticks] = 1.0 / safe
    return Readings(H, residual, variance)


def _smooth(t, nominal, readings):
    """Return the smoothed states (N, 3 k) and the variance (N, k) of their positions."""
    period, count = t[1] - t[0], nominal.shape[1] // 3
    size = np.sqrt((nominal ** 2).mean(0)) + np.repeat(np.ptp(nominal[:, :count], axis=0), 3) * (
        np.tile([1.0, 0.1 / period, 0.01 / period ** 2], count).reshape(count, 3).T.ravel())
    start = WIDE * (size + 1e-9)
    out, _ = smoothed_by_white_jerk(nominal, period, readings, start, INTENSITIES, TRIED)
    return out.x, np.diagonal(out.covariance, axis1=1, axis2=2)[:, :count]
