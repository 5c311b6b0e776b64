"""
Independent coordinates from all markers at once, by least squares on the mechanism.

Every camera frame is solved by itself (marker_fit.py).  Where some do not show every marker, their
assembly and what they leave open come from the frames around them (continuity.py).  What does not
fit throughout is explained: two markers exchanged, or one misplaced.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .continuity import likeliest_path, smoothed
from .marker_fit import MarkerFit, OUTLIER
from ..dynamics.mechanism import Mechanism
from ...errors import RecordingError
from ...measurement.interpolation import LONGEST_GAP

WRONG = 10.0       # times its noise: a marker that does not sit where it is said to
TOO_FEW = 0.5      # share of frames that must be usable
MOST = 0.5         # share of a marker's readings that may be outliers
WEAK = 2.0         # times the usual standard deviation: a frame leans on those around it


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


def reconstruct_markers(robot: Mechanism, frames: Any, marker_noise: float,
                        tag_noise: float) -> MarkerMotion:
    """
    Return the MarkerMotion of a Mechanism on which Frames were seen.

    marker_noise [m], tag_noise [rad] : standard deviations of one reading
    robot : Mechanism; frames : what was seen, in the base frame
    """
    fit = MarkerFit(robot, frames, marker_noise, tag_noise)
    rows = np.arange(len(frames.t))
    z, q, _ = fit.search(rows)
    _explain_misfit(fit, q)
    kept = fit.inliers(q)
    z, q, covariance = fit.refine(rows, q, kept)
    if not kept.all() or _worse(covariance, WEAK).any():
        return _in_continuity(fit, q)
    turning = [i for i, j in enumerate(robot.independent) if not robot.prismatic[j]]
    z[:, turning] = np.unwrap(z[:, turning], axis=0)
    q[:, list(robot.independent)] = z
    return MarkerMotion(frames.t, z, covariance, q, z, fit.notes(q, rows, kept))


def _in_continuity(fit, q):
    """Return the MarkerMotion of frames of which some do not show everything, from q (M, n)."""
    q, open_, changed = likeliest_path(fit, q)
    good = fit.good(q)
    _check_enough(good)
    motion = smoothed(fit, q, good)
    _check_enough(motion.kept.any(1))
    _check_agreement(fit, motion.kept)
    rows = np.flatnonzero(motion.kept.any(1))
    reading, near, covariance = fit.refine(rows, motion.q[rows], motion.kept[rows])
    known = ~_lost_way(fit.frames.t[rows], open_[rows], _worse(covariance, WEAK))
    rows, reading, near, covariance = (x[known] for x in (rows, reading, near, covariance))
    smooth = motion.z[rows]
    aside = fit.turned(reading - smooth)
    certain = np.diagonal(covariance, axis1=1, axis2=2) + motion.variance[rows]
    far = (aside ** 2 > OUTLIER ** 2 * certain).any(1)
    weak = _worse(covariance, WEAK) | far
    z = smooth + np.where(weak[:, None], 0.0, aside)
    q = np.where(weak[:, None], motion.q[rows], near)
    q[:, list(fit.robot.independent)] = z
    return MarkerMotion(
        fit.frames.t[rows], z, covariance, q, smooth + np.where(far[:, None], 0.0, aside),
        {**fit.notes(q, rows, motion.kept), 'marker_frames_of_another_assembly': changed,
         'marker_frames_smoothed': int(weak.sum())})


def _lost_way(t, open_, weak):
    """
    Return in which frames (M,) at t [s] nobody can say which assembly it is.

    Open for longer than is bridged anywhere, and meanwhile where assemblies meet (weak).
    """
    edges = np.flatnonzero(np.diff(np.r_[False, open_ | weak, False].astype(int)))
    out = np.zeros(len(t), dtype=bool)
    for first, end in edges.reshape(-1, 2):
        run = slice(first, end)
        out[run] = t[end - 1] - t[first] > LONGEST_GAP and open_[run].any() and weak[run].any()
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
               'camera or in one frame: name those of two cameras in cameras:')


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
