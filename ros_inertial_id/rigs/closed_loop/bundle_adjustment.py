"""
What all camera frames share, poses and clocks, estimated together with the motion.

Every frame has its own z, all frames the same camera poses and clock offsets, so the normal
equations are block-arrow and z is eliminated frame by frame (Schur complement; bundle adjustment,
Triggs et al. 2000).  Robust weights as in markers.py.  Directions that the markers
leave open (a lone marker on a crank says nothing of a turn about its axis) are not moved.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .cameras import Camera, camera_of, placed
from .marker_fit import MarkerFit, OUTLIER
from ..dynamics.continuation import newton
from ..measurement.marker_clocks import on_one_clock, reference_stamps, velocity_of
from ..measurement.markers import common_frames

ROUNDS = 25        # Gauss-Newton steps
SETTLED = 1e-3     # standard errors: a smaller step does not matter
STALLED = 1e-3     # relative loss: by so much worse than before it goes nowhere
APART = 0.010      # [s] between clock offsets to start from
STEP = 1e-6        # [rad, m, s] of differences; residuals are nearly linear
SURE = 0.05        # standard error of a direction, share of the reach: above it is not determined


@dataclass(frozen=True)
class Shared:
    """
    What all frames share.

    cameras : Cameras, the first one sees what no other does
    offsets : topic -> [s] that it is stamped later than the first marker's
    notes : for logs and the model file
    errors : (g, d) of [rotation, position of a centre of every camera, offsets, drifts] [rad, m,
        s, s per s] by d independent ones of unit size; empty: none
    drifts : topic of ``offsets`` -> by how much later per second [s per s], none in the ``middle``
        [s], for those whose clock drifts
    """

    cameras: tuple[Camera, ...]
    offsets: dict
    notes: dict
    errors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    drifts: dict = field(default_factory=dict)
    middle: float = 0.0

    def frames(self, markers: Sequence[Any], t: np.ndarray | None = None) -> Any:
        """Return the Frames of Markers ``markers`` in the base frame, at t (M,) [s] or all."""
        steady = [replace(m, t=m.t - self.drifts[m.topic] * (m.t - self.middle))
                  if m.topic in self.drifts else m for m in markers]
        together = on_one_clock(steady, self.offsets, t)
        if t is not None:
            together = [m.rows(np.isin(m.t, t)) for m in together]
        return common_frames(placed(together, self.cameras))


@dataclass(frozen=True)
class Adjusted:
    """
    A Shared that fits, and how well it is known.

    loose : (g, d) directions that the markers do not determine
    centre : (3,) that the errors of ``shared`` are about
    cost : mean loss (Cauchy), about the mean squared residual in standard deviations
    typical : largest median loss of a marker: what outliers and exchanges do not change
    """

    shared: Shared
    loose: np.ndarray
    centre: np.ndarray
    cost: float
    typical: float

    @property
    def covariance(self) -> np.ndarray:
        """Return that (g, g) of what is shared."""
        return self.shared.errors @ self.shared.errors.T


class Bundle:
    """
    Frames of Markers on a mechanism at times t (M,) [s].

    shared : whose offsets are free, and poses of free cameras; limit : of clock offsets [s]
    """

    def __init__(self, robot, markers, options, shared, t):
        self._robot, self._markers, self.limit = robot, markers, options.largest_clock_offset
        self.t = t
        self._unplaced = replace(shared, cameras=tuple(
            replace(c, rotation=np.eye(3), translation=np.zeros(3)) for c in shared.cameras))
        frames = self.camera_frames()
        self.fit = MarkerFit(robot, frames, options.marker_noise, options.tag_noise)
        # Rotations and times in metres: what they move.
        poses = [np.full(3, 1.0 / robot.reach()), np.ones(3)] * len(shared.cameras)
        clock = 1.0 / max(_speed(frames), 1e-9)
        self._scale = np.concatenate([
            *poses, np.full(len(shared.offsets), clock),
            np.full(len(shared.drifts), 2.0 * clock / max(t[-1] - t[0], 1e-9))])
        clocks = len(shared.offsets) + len(shared.drifts)
        self._free = np.flatnonzero(np.r_[np.repeat([c.free for c in shared.cameras], 6),
                                          np.ones(clocks, dtype=bool)])
        self._velocities = {k: velocity_of(m) for k, m in enumerate(markers)
                            if m.topic in shared.offsets}

    def camera_frames(self) -> Any:
        """Return the Frames as the camera sees them."""
        return self._unplaced.frames(self._markers, self.t)

    def starts(self) -> list[float]:
        """Return clock offsets [s] to start from, a little beyond the limit, smallest first."""
        count = int(np.ceil(2.0 * self.limit / APART))
        return sorted(APART * np.arange(-count, count + 1), key=abs)

    def search(self, shared: Shared) -> np.ndarray:
        """Return the configurations q (M, n) nearest to the frames as ``shared`` places them."""
        self.fit.frames = shared.frames(self._markers, self.t)
        return self.fit.search(np.arange(len(self.fit.frames.t)))[1]

    def loss(self, shared: Shared, q: np.ndarray) -> float:
        """Return the mean loss of a Shared ``shared`` at configurations q (M, n)."""
        self.fit.frames = shared.frames(self._markers, self.t)
        return _weights(self.fit.residuals(np.arange(len(q)), q))[1]

    def adjust(self, shared: Shared, q: np.ndarray) -> Adjusted:
        """Return the Adjusted near ``shared``, from the configurations q (M, n)."""
        robot, index = self._robot, list(self._robot.independent)
        before = np.inf
        for _ in range(ROUNDS):
            residual, slope, P, centre = self._equations(shared, q)
            weight, cost, typical = _weights(residual)
            residual, P = np.nan_to_num(residual), np.nan_to_num(P)
            inverse, B = _eliminated(slope, weight, P)
            own = np.einsum('bmik,bmi,bmi->bk', slope, weight, residual)
            S = (np.einsum('bmig,bmi,bmih->gh', P, weight, P)
                 - np.einsum('bkg,bkl,blh->gh', B, inverse, B))
            right = (np.einsum('bkg,bkl,bl->g', B, inverse, own)
                     - np.einsum('bmig,bmi,bmi->g', P, weight, residual))
            noise = _variance(residual, weight, own.size + len(S))
            change, errors, loose = self._solve(S, right, noise)
            dz = np.einsum('bkl,bl->bk', inverse, own + B @ change[self._free])
            shared = moved(shared, change, centre)
            goal = q[:, index] + np.clip(dz, -self.fit.step, self.fit.step)
            nearby, closed = newton(robot, q, robot.transformation(q)[0], goal, goal)
            q = np.where(closed[:, None], nearby, q)
            error = np.maximum(np.linalg.norm(errors, axis=1), 1e-150)
            if (np.abs(change) <= SETTLED * error).all() or before < cost < (1 + STALLED) * before:
                break
            before = cost
        return Adjusted(replace(shared, errors=errors), loose, centre, cost, typical)

    def errors_of_motion(self, shared: Shared, q: np.ndarray) -> np.ndarray:
        """Return those of z (M, k, d) at configurations q (M, n) by the errors of ``shared``."""
        residual, slope, P, _ = self._equations(shared, q)
        inverse, B = _eliminated(slope, _weights(residual)[0], np.nan_to_num(P))
        return inverse @ B @ shared.errors[self._free]

    def _equations(self, shared, q):
        """Return residuals (M, m, 6), slopes by z and by what is shared, and the centre (3,)."""
        rows = np.arange(len(q))
        R = self._robot.transformation(q)[0]
        frames = self.fit.frames = shared.frames(self._markers, self.t)
        centre = np.nanmean(frames.position.reshape(-1, 3), axis=0)
        residual, slope = self.fit.residuals(rows, q, R)
        columns = [np.zeros(residual.shape + (0,))]
        seen_by = np.array([camera_of(shared.cameras, name.split('[')[0])
                            for name in frames.names])
        poses = 6 * len(shared.cameras)
        for k in self._free[self._free < poses]:
            step = STEP * np.eye(poses)[k]
            camera = k // 6
            self.fit.frames = _turned(frames, step[6 * camera:], centre, seen_by == camera)
            columns.append(((self.fit.residuals(rows, q) - residual) / STEP)[..., None])
        clocks = {topic: self._by_clock(shared, topic, frames) for topic in shared.offsets}
        since = (frames.t - shared.middle)[:, None, None]
        columns += [*(x[..., None] for x in clocks.values()),
                    *((since * clocks[topic])[..., None] for topic in shared.drifts)]
        return residual, slope, np.concatenate(columns, axis=-1), centre

    def _by_clock(self, shared, topic, frames):
        """Return the slope (M, m, 6) of residuals by the clock offset of a topic [1/s]."""
        out = np.zeros(frames.position.shape[:2] + (6,))
        turn = shared.cameras[camera_of(shared.cameras, topic)].rotation
        for k, velocity in self._velocities.items():
            if self._markers[k].topic == topic:
                v = velocity(frames.t + shared.offsets[topic]).reshape(-1, 2, 3) @ turn.T
                out[:, k] = (v / np.array(self.fit.noise)[:, None]).reshape(-1, 6)
        return out

    def _solve(self, S, right, noise):
        """Return the change (g,), its errors (g, e), and directions (g, d) left open."""
        size, part = len(self._scale), self._free
        scale = self._scale[part]
        values, vectors = np.linalg.eigh(S * np.outer(scale, scale))
        sure = noise < values * (SURE * self._robot.reach()) ** 2
        inverse = np.where(sure, 1.0 / np.where(sure, values, 1.0), 0.0)
        half = scale[:, None] * vectors
        change = np.zeros(size)
        change[part] = half @ (inverse * (half.T @ right))
        errors, loose = (np.zeros((size, int(x.sum()))) for x in (sure, ~sure))
        errors[part] = (half * np.sqrt(noise * inverse))[:, sure]
        loose[part] = half[:, ~sure]
        return change, errors, loose


def moved(shared: Shared, change: np.ndarray, centre: np.ndarray) -> Shared:
    """
    Return ``shared``, its cameras turned about the centre (3,) [m] and shifted, offsets changed.

    change : (6 cameras + offsets + drifts,) rotation vectors [rad], displacements [m], clocks [s]
    """
    poses = 6 * len(shared.cameras)
    clocks, drifts = np.split(change[poses:], [len(shared.offsets)])
    return replace(
        shared, cameras=tuple(c.moved(change[6 * k:6 * k + 6], centre)
                              for k, c in enumerate(shared.cameras)),
        offsets={t: float(x + d) for (t, x), d in zip(shared.offsets.items(), clocks)},
        drifts={t: float(x + d) for (t, x), d in zip(shared.drifts.items(), drifts)})


def spread_stamps(markers: Sequence[Any], shared: Shared, count: int) -> np.ndarray:
    """Return at most ``count`` stamps [s] of frames, over all of the recording."""
    t = reference_stamps(markers, shared.offsets)
    return t[np.unique(np.linspace(0, len(t) - 1, min(count, len(t))).astype(int))]


def _eliminated(slope, weight, P):
    """Return the inverse of what frames say of z (M, k, k), and what of z and shared (M, k, g)."""
    A = np.einsum('bmik,bmi,bmil->bkl', slope, weight, slope)
    B = np.einsum('bmik,bmi,bmig->bkg', slope, weight, P)
    return np.linalg.pinv(A, hermitian=True), B


def _turned(frames, change, centre, chosen):
    """Return Frames with ``chosen`` markers turned about a centre (3,), moved by change (6,)."""
    turn = Rotation.from_rotvec(change[:3]).as_matrix()
    position, rotation = frames.position.copy(), frames.rotation.copy()
    position[:, chosen] = (position[:, chosen] - centre) @ turn.T + centre + change[3:6]
    rotation[:, chosen] = turn @ rotation[:, chosen]
    return replace(frames, position=position, rotation=rotation)


def _weights(residual):
    """
    Return Cauchy weights of residuals (M, m, 6), the mean loss, and the typical one.

    NaN is what was not seen; typical is the largest median of a marker.  While most of them are
    large, on the way, an outlier is what is large among them.
    """
    seen = np.isfinite(residual)
    square = np.nan_to_num(residual ** 2).sum(-1) / np.maximum(seen.sum(-1), 1)
    looked = seen.any(-1)
    width = OUTLIER ** 2 * max(1.0, float(np.median(square[looked])))
    loss = OUTLIER ** 2 * np.log1p(square / OUTLIER ** 2)
    each = np.nanmedian(np.where(looked, loss, np.nan)[:, looked.any(0)], axis=0)
    weight = seen / (1.0 + square / width)[:, :, None]
    return weight, float(loss[looked].mean()), float(each.max())


def _variance(residual, weight, unknowns):
    """Return the variance of residuals in squared standard deviations."""
    return float((weight * residual ** 2).sum() / max(1.0, weight.sum() - unknowns))


def _speed(frames):
    """Return the typical speed [m/s] of the markers of Frames."""
    steps = np.linalg.norm(np.diff(frames.position, axis=0), axis=-1)
    steps = steps / np.diff(frames.t)[:, None]
    return float(np.nanmedian(steps)) if np.isfinite(steps).any() else 1.0
