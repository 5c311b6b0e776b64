"""
Independent coordinates from all markers at once, by least squares on the mechanism.

Every camera frame is solved by itself (marker_fit.py), with markers left out that do not fit the
others.  A frame whose markers fit several postures, or that lies beside its neighbours, is left
out: what is lost for a short time is interpolated, as samples of any other sensor are.  What does
not fit throughout is explained: two markers exchanged, or one misplaced.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .marker_fit import MarkerFit, OUTLIER
from ..dynamics.mechanism import Mechanism
from ..measurement.markers import Frames
from ...errors import RecordingError

MISPLACED = 10.0  # times its noise: a marker that does not sit where it is said to
TOO_FEW = 0.5  # share of frames that must be usable
APART = 4.0  # times its noise: markers that contradict one another
ASTRAY = 3 * OUTLIER  # usual distances from the middle of its neighbours


@dataclass(frozen=True)
class MarkerMotion:
    """
    Independent coordinates seen by a camera.

    t : (M,) [s]; z : (M, k) [rad, m] of covariance (M, k, k); q : (M, n)
    notes : what was found: rms per marker, frames, outliers
    """

    t: np.ndarray
    z: np.ndarray
    covariance: np.ndarray
    q: np.ndarray
    notes: dict


def reconstruct_markers(
    robot: Mechanism, frames: Frames, marker_noise: float, tag_noise: float
) -> MarkerMotion:
    """
    Return the MarkerMotion of a Mechanism on which Frames were seen, in the base frame.

    marker_noise [m], tag_noise [rad] : standard deviations of one reading
    """
    fit = MarkerFit(robot, frames, marker_noise, tag_noise)
    z, q, _ = fit.search(np.arange(len(frames.t)))
    _explain_misfit(fit, q)
    sure = fit.determined(q)
    _check_determined(frames.names, sure)
    inliers = fit.inliers(q)
    good = sure & fit.good(q)
    _check_enough(good[sure])
    good[good] = _on_the_way(fit, frames.t[good], z[good])
    rows = np.flatnonzero(good)
    z, q, covariance = fit.refine(rows, q[rows], inliers[rows])
    z[:, fit.turning] = np.unwrap(z[:, fit.turning], axis=0)
    q[:, list(robot.independent)] = z
    return MarkerMotion(frames.t[rows], z, covariance, q, fit.notes(q, rows, inliers))


def _check_enough(good):
    """Raise RecordingError where too few frames fit."""
    if good.mean() < TOO_FEW:
        raise RecordingError(
            'the markers do not fit the mechanism',
            expected='most camera frames usable',
            found=f'{int(good.sum())} of {len(good)} frames',
            do='check markers:, the camera pose and the lengths in the URDF',
        )


def _check_determined(names, sure):
    """Raise RecordingError where most frames show markers that fit several postures."""
    if sure.mean() < TOO_FEW:
        raise RecordingError(
            f'the markers leave open which assembly is seen: {", ".join(names)}',
            expected='most camera frames in which it is certain',
            found=f'{int(sure.sum())} of {len(sure)} frames',
            do='put a marker on another link, or give the orientation of a tag (pose)',
        )


def _explain_misfit(fit, q):
    """Raise RecordingError when markers are off throughout; say which, or which are exchanged."""
    names = fit.frames.names
    typical = np.nanmedian(fit.misfit(q), axis=0)
    if np.nanmax(typical) < APART:
        return
    deviations = ', '.join(f'{n} {x * fit.noise[0]:.4f} m' for n, x in zip(names, typical))
    if np.nanmax(typical) < MISPLACED:
        raise RecordingError(
            'the markers do not fit one another',
            expected='most readings within marker_noise '
            f'({fit.noise[0]:g} m) and tag_noise of one motion',
            found=deviations,
            do='check links and lengths in the URDF, the noise, and whether all topics are of one '
            'camera or in one frame, and stamped by one clock',
        )
    rows = np.unique(np.linspace(0, len(q) - 1, 60).astype(int))
    exchanged = {
        pair: fit.misfit_exchanged(*pair, rows) for pair in combinations(range(len(names)), 2)
    }
    noise = fit.noise[0]
    if min(exchanged.values(), default=np.inf) < MISPLACED:
        a, b = min(exchanged, key=exchanged.__getitem__)
        raise RecordingError(
            f'markers {names[a]} and {names[b]} are exchanged',
            found=f'misfit {np.nanmax(typical) * noise:.4f} m as configured, '
            f'{exchanged[a, b] * noise:.4f} m the other way round',
            do='exchange them in markers:',
        )
    worst = int(np.nanargmax(typical))
    raise RecordingError(
        f'marker {names[worst]} does not sit where the configuration says',
        expected=f'about {noise:.2g} m off',
        found=deviations,
        do='check its link, its clock, the camera pose, the lengths in the URDF and start: '
        '(another branch?)',
    )


def _on_the_way(fit, stamps, z):
    """Return which frames (M,) at ``stamps`` lie between those before and after, z (M, k)."""
    steps = np.diff(stamps)
    share = (steps[:-1] / (steps[:-1] + steps[1:]))[:, None]
    aside = np.abs(fit.turned(z[1:-1] - z[:-2] - share * fit.turned(z[2:] - z[:-2])))
    usual = np.median(aside, axis=0) / 0.6745
    return np.r_[True, (aside <= ASTRAY * usual).all(1), True]
