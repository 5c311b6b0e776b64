"""
Residuals of markers on a mechanism, and the independent coordinates that fit one camera frame.

Every frame is one small nonlinear least squares problem in z (Gauss-Newton), so the closures hold
exactly and each marker helps according to its noise.  The first guess is the nearest of random
configurations of the same assembly; while searching, markers that do not fit count little
(Cauchy weights).  Few markers may fit several postures: ``determined`` says which frames do not.
"""

import copy
from typing import Any

import numpy as np

from ..dynamics.continuation import random_walk
from ..dynamics.couplings import followers
from ..dynamics.mechanism import NEARLY
from ...dynamics.body_motion import body_motions, frame_of, twists

LIBRARY = 400  # random configurations per independent coordinate
GAUSS_NEWTON_STEPS = 15  # Gauss-Newton steps; from the library a handful is enough
STEP_SETTLED = 0.1  # standard deviations: of a smaller step, taken, hardly anything is left
OPEN_STARTS, FRAMES_PER_SET = (
    12,
    10,
)  # postures, and frames of one set of markers, that show what is left open
OUTLIER = 6.0  # standard deviations
LARGEST_STEP = 0.2  # [rad], or share of the reach [m]


class MarkerFit:
    """
    The residuals of one set of Frames on a Mechanism, and Gauss-Newton on them.

    turning : which independent coordinates (k,) look the same after a turn
    """

    def __init__(self, robot, frames, marker_noise, tag_noise):
        self.robot, self.frames = robot, frames
        self._links = [frame_of(robot.robot, link) for link in frames.links]
        self.noise = marker_noise, tag_noise
        slide = np.asarray(robot.prismatic)[list(robot.independent)]
        self.step = LARGEST_STEP * np.where(slide, robot.reach(), 1.0) * robot.gearing
        _, counted = followers(robot, robot.closures, robot.dependent)
        self.turning = ~slide & (not counted)
        self.library = random_walk(robot, LIBRARY * len(robot), np.random.default_rng(0), steps=20)
        motions = body_motions(robot.robot, self.library)
        self._points = np.stack([motions[f.body + 1].at(f).p.T for f in self._links], axis=1)

    def search(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return z, q and covariance of the frames ``rows``, from the nearest configurations."""
        parts = np.array_split(rows, max(1, len(rows) // 256))
        nearest = np.concatenate([self._distances(part).argmin(1) for part in parts])
        return self.refine(rows, self.library[nearest])

    def determined(self, q: np.ndarray) -> np.ndarray:
        """
        Return which frames (M,) show markers that fit one posture alone, q (M, n) or near it.

        It is decided for all frames that show the same markers at once, by some of them: what is
        refined from postures far away must not fit about as well.
        """
        seen = np.isfinite(self.frames.position).all(-1)
        sets, number = np.unique(seen, axis=0, return_inverse=True)
        alone, index = np.zeros(len(sets), dtype=bool), list(self.robot.independent)
        starts = self.library[:: len(self.library) // OPEN_STARTS]
        for k in range(len(sets)):
            rows = np.flatnonzero(number.ravel() == k)
            rows = np.tile(rows[:: -(-len(rows) // FRAMES_PER_SET)], len(starts))
            posture = self.refine(rows, np.repeat(starts, len(rows) // len(starts), axis=0))[1]
            apart = (np.abs(self.turned((posture - q[rows])[:, index])) > self.step).any(1)
            fits = self.loss(rows, posture) < self.loss(rows, q[rows]) + 0.5 * OUTLIER**2
            alone[k] = (apart & fits).reshape(len(starts), -1).any(0).mean() < 0.5
        return alone[number.ravel()]

    def loss(self, rows: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the negative log-likelihood (A,) of frames ``rows`` at q (A, n), Cauchy's law."""
        square = np.nan_to_num(self.residuals(rows, q) ** 2).sum(-1)
        return 0.5 * OUTLIER**2 * np.log1p(square / OUTLIER**2).sum(1)

    def _linearised(self, rows, q, R, kept):
        """
        Return information A (M, k, k) and right-hand side g (M, k) of z.

        rows : (M,) frames; q : (M, n) near the truth, where v = R zdot; R : (M, n, k)
        kept : (M, m) markers that count, each as much as its noise says; None: Cauchy weights
        """
        residual, slope = self.residuals(rows, q, R)
        if kept is None:
            weight = self.weights(residual)
        else:
            weight = np.isfinite(residual) * kept[:, :, None]
        A = np.einsum('bmik,bmi,bmil->bkl', slope, weight, slope)
        return A, np.einsum('bmik,bmi,bmi->bk', slope, weight, np.nan_to_num(residual))

    def weights(self, residual: np.ndarray) -> np.ndarray:
        """Return Cauchy weights of each ``residual`` (M, m, 6), 0 of what was not seen."""
        square = np.nan_to_num(residual**2).mean(-1, keepdims=True)
        return np.isfinite(residual) / (1.0 + square / OUTLIER**2)

    def residuals(self, rows: np.ndarray, q: np.ndarray, R: np.ndarray | None = None) -> Any:
        """
        Return residuals, (M, m, 6), of frames ``rows`` at q (M, n), NaN where nothing was seen.

        In standard deviations.  With R (M, n, k) also the change (M, m, 6, k) of the prediction
        with z.
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
                skew = turn - turn.swapaxes(1, 2)
                out[:, k, 3:] = 0.5 * skew[:, (2, 0, 1), (1, 2, 0)] / self.noise[1]
            if R is None:
                continue
            for j, u, w in twists(robot.robot, motions, link.body, at.p):
                slope[:, k, :3] += u.T[:, :, None] * R[:, None, j] / self.noise[0]
                if w is not None and frames.tags[k]:
                    slope[:, k, 3:] += w.T[:, :, None] * R[:, None, j] / self.noise[1]
        if R is None:
            return out
        return out, slope

    def misfit(self, q: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the misfit, (M, m), at q (M, n) of frames ``rows`` in standard deviations."""
        if rows is None:
            rows = np.arange(len(self.frames.t))
        return np.sqrt((self.residuals(rows, q)[:, :, :3] ** 2).mean(-1))

    def misfit_exchanged(self, a: int, b: int, rows: np.ndarray) -> float:
        """Return the largest median misfit of frames ``rows`` if markers a, b were exchanged."""
        order = np.arange(len(self._links))
        order[[a, b]] = b, a
        exchanged = copy.copy(self)
        exchanged._links = [self._links[k] for k in order]
        exchanged._points = self._points[:, order]
        return np.nanmax(np.nanmedian(exchanged.misfit(exchanged.search(rows)[1], rows), axis=0))

    def good(self, q: np.ndarray) -> np.ndarray:
        """Return which frames (M,) have all the markers they need to be believed at q (M, n)."""
        misfit = self.misfit(q)
        return (misfit < OUTLIER).sum(1) >= np.maximum(1, 0.6 * np.isfinite(misfit).sum(1))

    def inliers(self, q: np.ndarray) -> np.ndarray:
        """Return which markers (M, m) fit at configurations q (M, n)."""
        return self.misfit(q) < OUTLIER

    def notes(self, q: np.ndarray, rows: np.ndarray, kept: np.ndarray) -> dict[str, Any]:
        """Return counts and rms [m] of q (M, n) of ``rows``; kept : (all frames, m) markers."""
        misfit = np.where(kept[rows], self.misfit(q, rows), np.nan)
        seen = np.isfinite(self.frames.position).all(-1)
        rms = np.sqrt(np.nanmean(misfit**2, axis=0)) * self.noise[0]
        outliers = (seen & ~kept).sum(0)
        return {
            'marker_frames': int(len(rows)),
            'marker_frames_lost': int(len(seen) - len(rows)),
            'marker_rms': dict(zip(self.frames.names, rms.tolist())),
            'marker_outliers': dict(zip(self.frames.names, outliers.tolist())),
        }

    def _distances(self, rows):
        """Return squared distances (M, library) [m^2] of frames to the library."""
        distance = np.zeros((len(rows), len(self._points)))
        cap = (0.3 * self.robot.reach()) ** 2  # one marker gone astray must not decide
        for k in range(len(self._links)):
            x = self.frames.position[rows, k]
            square = ((x[:, None] - self._points[None, :, k]) ** 2).sum(-1)
            distance += np.where(np.isfinite(square), np.minimum(square, cap), 0.0)
        return distance

    def turned(self, change: np.ndarray) -> np.ndarray:
        """Return a change of z (..., k) within half a turn, unless couplings count the turns."""
        full_turn = 2.0 * np.pi * self.turning
        return change - full_turn * np.round(change / (2.0 * np.pi))

    def refine(
        self, rows: np.ndarray, q: np.ndarray, kept: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return z, q and covariance of frames ``rows`` (M,) from q (M, n) by Gauss-Newton.

        kept : (M, m) markers that count; None: all by Cauchy weights.  Every step moves along R
        and takes off what the step before left of the closures.
        """
        robot, index = self.robot, list(self.robot.independent)
        start, q, open_ = q, q.copy(), np.zeros(len(rows))
        covariance = np.zeros((len(rows), len(robot), len(robot)))
        active = np.arange(len(rows))
        for _ in range(GAUSS_NEWTON_STEPS):
            R, open_[active], closing = robot.closing(q[active])
            counted = kept
            if kept is not None:
                counted = kept[active]
            A, g = self._linearised(rows[active], q[active], R, counted)
            covariance[active] = inverse = _covariance(A)
            dz = np.clip((inverse @ g[:, :, None])[:, :, 0], -self.step, self.step)
            q[active] += np.einsum('bnk,bk->bn', R, dz) + closing
            small = STEP_SETTLED * np.sqrt(np.diagonal(inverse, axis1=1, axis2=2))
            active = active[(np.abs(dz) > small).any(1) | (open_[active] > NEARLY)]
            if not active.size:
                break
        q[open_ > NEARLY] = start[open_ > NEARLY]
        return q[:, index], q, covariance


def _covariance(information):
    """Return the inverse (M, k, k) of information (M, k, k): large of what no marker shows."""
    size = information.shape[-1]
    ridge = 1e-12 * (1.0 + np.trace(information, axis1=1, axis2=2))  # large, not infinite
    return np.linalg.inv(information + ridge[:, None, None] * np.eye(size))
