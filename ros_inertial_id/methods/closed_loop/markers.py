"""
Independent coordinates from all markers at once, by least squares on the mechanism.

Every camera frame is one small nonlinear least squares problem in z (Gauss-Newton), so the
closures hold exactly and each marker helps according to its noise.  The first guess is the nearest
of random configurations of the same assembly; markers that do not fit are left out (Cauchy
weights while searching, a threshold at the end) and frames that went astray start again from
their neighbours in time.  What does not fit is explained: two markers exchanged, or one misplaced.
"""

import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ...dynamics.body_motion import body_motions, frame_of, twists
from ...dynamics.continuation import newton, random_walk
from ...dynamics.mechanism import CLOSED, Mechanism
from ...errors import RecordingError

LIBRARY = 400      # random configurations per independent coordinate
ROUNDS = 15        # Gauss-Newton steps; from the library a handful is enough
SETTLED = 1e-2     # standard deviations: a smaller step does not matter
OUTLIER = 6.0      # standard deviations
LARGEST_STEP = 0.2  # [rad], or share of the reach [m]
WRONG = 10.0       # times its noise: a marker that does not sit where it is said to
TOO_FEW = 0.5      # share of frames that must be usable


@dataclass(frozen=True)
class MarkerMotion:
    """
    Independent coordinates seen by a camera.

    t : (M,) [s]; z : (M, k) [rad, m]; covariance : (M, k, k); q : (M, n)
    notes : what was found: rms per marker, frames, outliers, exchanges
    """

    t: np.ndarray
    z: np.ndarray
    covariance: np.ndarray
    q: np.ndarray
    notes: dict


def reconstruct_markers(robot: Mechanism, frames: Any, marker_noise: float,
                        tag_noise: float) -> MarkerMotion:
    """
    Return the MarkerMotion of a Mechanism on which Frames were seen.

    marker_noise [m], tag_noise [rad] : standard deviations of one reading
    robot : Mechanism; frames : what was seen, in the base frame
    """
    fit = MarkerFit(robot, frames, marker_noise, tag_noise)
    z, q, _ = fit.search(np.arange(len(frames.t)))
    _explain_misfit(fit, z, q)
    good = fit.good(q)
    z, q, good = _again_from_neighbours(fit, robot, z, q, good)
    if good.mean() < TOO_FEW:
        raise RecordingError('the markers do not fit the mechanism',
                             expected='most camera frames usable',
                             found=f'{int(good.sum())} of {len(good)} frames',
                             do='check markers:, the camera pose and the lengths in the URDF')
    kept = fit.inliers(q)
    z, q, covariance = fit.refine(np.flatnonzero(good), q[good], kept[good])
    turning = [i for i, j in enumerate(robot.independent) if not robot.prismatic[j]]
    z[:, turning] = np.unwrap(z[:, turning], axis=0)
    q[:, list(robot.independent)] = z
    return MarkerMotion(frames.t[good], z, covariance, q, fit.notes(q, np.flatnonzero(good), kept))


class MarkerFit:
    """The residuals of one set of Frames on a Mechanism, and Gauss-Newton on them."""

    def __init__(self, robot, frames, marker_noise, tag_noise):
        self.robot, self.frames = robot, frames
        self._links = [frame_of(robot.robot, link) for link in frames.links]
        self.noise = marker_noise, tag_noise
        slide = np.asarray(robot.prismatic)[list(robot.independent)]
        self._step = LARGEST_STEP * np.where(slide, robot.reach(), 1.0)
        walk = random_walk(robot, LIBRARY * len(robot), np.random.default_rng(0), steps=20)
        self._library = walk
        self._points = np.stack(
            [body_motions(robot.robot, walk)[f.body + 1].at(f).p.T for f in self._links], axis=1)

    def search(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return z, q and covariance of the frames ``rows``, from the nearest configurations."""
        start = np.concatenate([self._nearest(part) for part in
                                np.array_split(rows, max(1, len(rows) // 256))])
        return self._iterate(rows, self._library[start], None)

    def refine(self, rows: np.ndarray, q: np.ndarray,
               kept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return z, q and covariance of frames by chosen markers alone.

        rows : (M,) indices of the frames; q : (M, n) to start from
        kept : (M, m) markers that count
        """
        return self._iterate(rows, q, kept)

    def residuals(self, rows: np.ndarray, q: np.ndarray, R: np.ndarray | None = None) -> Any:
        """
        Return residuals (M, m, 6) in standard deviations, NaN where nothing was seen.

        With R (M, n, k) also their Jacobian (M, m, 6, k): change of the prediction with z.

        rows : (M,) indices of the frames; q : (M, n) configurations
        """
        robot, frames = self.robot, self.frames
        motions = body_motions(robot.robot, q)
        out = np.full((len(rows), len(self._links), 6), np.nan)
        slope = np.zeros(out.shape + (len(robot),))
        for k, link in enumerate(self._links):
            at = motions[link.body + 1].at(link)
            out[:, k, :3] = (frames.position[rows, k] - at.p.T) / self.noise[0]
            if frames.tags[k]:
                turn = np.einsum('bij,kjb->bik', frames.rotation[rows, k], at.R)
                out[:, k, 3:] = 0.5 * np.stack([turn[:, 2, 1] - turn[:, 1, 2],
                                                turn[:, 0, 2] - turn[:, 2, 0],
                                                turn[:, 1, 0] - turn[:, 0, 1]], 1) / self.noise[1]
            if R is None:
                continue
            for j, u, w in twists(robot.robot, motions, link.body, at.p):
                slope[:, k, :3] += u.T[:, :, None] * R[:, None, j] / self.noise[0]
                if w is not None and frames.tags[k]:
                    slope[:, k, 3:] += w.T[:, :, None] * R[:, None, j] / self.noise[1]
        return out if R is None else (out, slope)

    def misfit(self, q: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """
        Return the position misfit (M, m) of every marker in standard deviations.

        q : (M, n) configurations; rows : (M,) indices of their frames, None: all
        """
        rows = np.arange(len(self.frames.t)) if rows is None else rows
        return np.sqrt((self.residuals(rows, q)[:, :, :3] ** 2).mean(-1))

    def misfit_exchanged(self, a: int, b: int, rows: np.ndarray) -> float:
        """
        Return the largest median misfit of a marker if markers a and b were exchanged.

        a, b : indices of the markers; rows : (M,) indices of the frames
        """
        order = np.arange(len(self._links))
        order[[a, b]] = b, a
        other = copy.copy(self)
        other._links = [self._links[k] for k in order]
        other._points = self._points[:, order]
        return np.nanmax(np.nanmedian(other.misfit(other.search(rows)[1], rows), axis=0))

    def good(self, q: np.ndarray) -> np.ndarray:
        """Return which frames (M,) have all the markers they need to be believed at q (M, n)."""
        misfit = self.misfit(q)
        seen = np.isfinite(misfit)
        fits = np.where(seen, misfit, np.inf) < OUTLIER
        return seen.any(1) & (fits.sum(1) >= np.maximum(1, 0.6 * seen.sum(1)))

    def inliers(self, q: np.ndarray) -> np.ndarray:
        """Return which markers (M, m) fit at configurations q (M, n)."""
        return np.where(np.isfinite(self.misfit(q)), self.misfit(q), np.inf) < OUTLIER

    def notes(self, q: np.ndarray, rows: np.ndarray, kept: np.ndarray) -> dict[str, Any]:
        """
        Return what was found, for logs and the model file.

        q : (M, n); rows : (M,) frames that were used; kept : (all frames, m) markers that fit
        """
        misfit = np.where(kept[rows], self.misfit(q, rows), np.nan)
        seen = np.isfinite(self.frames.position).all(-1)
        rms = np.sqrt(np.nanmean(misfit ** 2, axis=0)) * self.noise[0]
        return {'marker_exchanged': self._exchanged(q, rows, kept),
                'marker_frames': int(len(rows)), 'marker_frames_lost': int(len(seen) - len(rows)),
                'marker_rms': {n: float(x) for n, x in zip(self.frames.names, rms)},
                'marker_outliers': {n: int(x) for n, x in
                                    zip(self.frames.names, (seen & ~kept).sum(0))}}

    def _exchanged(self, q, rows, kept):
        """Return {'A, B': frames} in which two left out markers are in each other's place."""
        motions, names = body_motions(self.robot.robot, q), self.frames.names
        place = [motions[link.body + 1].at(link).p.T for link in self._links]
        near, out = OUTLIER * self.noise[0] * np.sqrt(3.0) * 10, {}
        for a, b in combinations(range(len(names)), 2):
            both = np.stack([self.frames.position[rows, a] - place[b],
                             self.frames.position[rows, b] - place[a]])
            count = int(((np.linalg.norm(both, axis=-1) < near).all(0)
                         & ~kept[rows, a] & ~kept[rows, b]).sum())
            if count:
                out[f'{names[a]}, {names[b]}'] = count
        return out

    def _nearest(self, rows):
        """Return the index of the library's configuration nearest to each frame."""
        distance = np.zeros((len(rows), len(self._points)))
        cap = (0.3 * self.robot.reach()) ** 2  # one marker gone astray must not decide
        for k in range(len(self._links)):
            x = self.frames.position[rows, k]
            square = ((x[:, None] - self._points[None, :, k]) ** 2).sum(-1)
            distance += np.where(np.isfinite(square), np.minimum(square, cap), 0.0)
        return distance.argmin(1)

    def _iterate(self, rows, q, kept):
        """
        Return z, q and covariance; with ``kept`` None all markers by Cauchy weights.

        Every step moves along R and takes off what the step before left of the closures.
        """
        robot, index = self.robot, list(self.robot.independent)
        start, q, open_ = q, q.copy(), np.zeros(len(rows))
        covariance = np.zeros((len(rows), len(robot), len(robot)))
        active = np.arange(len(rows))
        for _ in range(ROUNDS):
            R, open_[active], closing = self._closing(q[active])
            residual, slope = self.residuals(rows[active], q[active], R)
            weight = np.isfinite(residual).astype(float)
            residual = np.nan_to_num(residual)
            if kept is None:
                norm = (residual ** 2).mean(-1, keepdims=True)
                weight = weight / (1.0 + norm / OUTLIER ** 2)
            else:
                weight = weight * kept[active][:, :, None]
            A = np.einsum('bmik,bmi,bmil->bkl', slope, weight, slope)
            g = np.einsum('bmik,bmi,bmi->bk', slope, weight, residual)
            # The ridge makes the variance of what no marker shows large, not infinite.
            ridge = 1e-12 * (1.0 + np.trace(A, axis1=1, axis2=2))
            inverse = np.linalg.inv(A + ridge[:, None, None] * np.eye(len(robot)))
            covariance[active] = inverse
            dz = np.clip((inverse @ g[:, :, None])[:, :, 0], -self._step, self._step)
            q[active] += np.einsum('bnk,bk->bn', R, dz) + closing
            small = SETTLED * np.sqrt(np.diagonal(inverse, axis1=1, axis2=2))
            active = active[(np.abs(dz) > small).any(1) | (open_[active] > CLOSED)]
            if not active.size:
                break
        q[open_ > CLOSED] = start[open_ > CLOSED]
        return q[:, index], q, covariance

    def _closing(self, q):
        """Return R (M, n, k), how far closures are open (M,), and the step (M, n) to close."""
        robot = self.robot
        step, R = np.zeros(q.shape), np.zeros(q.shape + (len(robot),))
        R[:, list(robot.independent), np.arange(len(robot))] = 1.0
        if not robot.dependent:
            return R, np.zeros(len(q)), step
        C, J, _ = robot.constraint(q)
        right = np.concatenate([C[:, :, None], J[:, :, list(robot.independent)]], axis=2)
        solved = -robot.solve_dependent(J, right)
        step[:, list(robot.dependent)] = solved[:, :, 0]
        R[:, list(robot.dependent)] = solved[:, :, 1:]
        return R, np.abs(C).max(1), step


def _again_from_neighbours(fit, robot, z, q, good):
    """Solve frames that went astray again, from what lies around them in time."""
    t = fit.frames.t
    bad = np.flatnonzero(~good)
    if not bad.size or good.sum() < 2:
        return z, q, good
    turning = np.array([not robot.prismatic[j] for j in robot.independent])
    around = z[good].copy()
    around[:, turning] = np.unwrap(around[:, turning], axis=0)
    goal = np.stack([np.interp(t[bad], t[good], x) for x in around.T], 1)
    near = np.flatnonzero(good)[np.clip(np.searchsorted(t[good], t[bad]), 0, good.sum() - 1)]
    start = z[near] + (goal - around[np.clip(np.searchsorted(t[good], t[bad]), 0,
                                             good.sum() - 1)])
    q0, closed = newton(robot, q[near], robot.transformation(q[near])[0], start, start)
    kept = np.where(np.isfinite(fit.misfit(q0, bad)), fit.misfit(q0, bad), np.inf)
    kept = (kept < 5 * OUTLIER) & closed[:, None]
    some = kept.any(1)
    if some.any():
        rows = bad[some]
        z[rows], q[rows], _ = fit.refine(rows, q0[some], kept[some])
        fits = fit.inliers(q)[rows] & kept[some]
        good[rows] = fits.any(1)
    return z, q, good


def _explain_misfit(fit, z, q):
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
        a, b = min(found, key=found.get)
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
