"""
Markers on one rigid body: from their labelled positions to the pose of the body.

The pose of every sample is the least squares registration of the cluster's layout onto the
markers seen, by singular value decomposition (Arun, Huang, Blostein 1987; Umeyama 1991 for the
sign of the determinant).  Markers that are missing (NaN) are left out; two that were exchanged
by the camera system show as residuals that an exchange removes.

What is left shows more: its mean along the body's axes says that a marker sits elsewhere than in
the layout.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from .body_state import white_variance
from ...errors import RecordingError

FLAT = 1e-3  # [m]: second singular value of the markers seen, below which they are on a line
NOT_RIGID = 5.0  # a sample whose residual is so many times the usual one is no rigid registration
ASIDE = 1e-3, 3.0  # [m] and standard deviations of a reading: a marker sits elsewhere
COMPLETE_FRAMES = 50  # frames that show all markers, to say so
EXCHANGE_MENDS = (
    1.0 / 3.0
)  # an exchange that leaves less than this share of the residual explains it


@dataclass(frozen=True)
class Registration:
    """
    Poses of a cluster.

    position (N, 3) [m], quaternion_xyzw (N, 4) : of the body's frame, NaN where too few markers
        were seen or those seen are no rigid body
    residual (N, k) : distance of every marker from its place in the layout [m], NaN unseen
    """

    position: np.ndarray
    quaternion_xyzw: np.ndarray
    residual: np.ndarray

    def rms(self) -> np.ndarray:
        """Return the residual of every marker over all samples (k,) [m]."""
        good = np.isfinite(self.position[:, :1]) & np.isfinite(self.residual)
        square = np.where(good, self.residual, 0.0) ** 2
        return np.sqrt(square.sum(0) / np.maximum(good.sum(0), 1))


def register_cluster(
    markers: np.ndarray, layout: np.ndarray, labels: Sequence[str], topic: str = ''
) -> Registration:
    """
    Return the Registration of markers onto their layout in the body.

    markers : (N, k, 3) [m] in the world, NaN unseen; layout : (k, 3) [m] in the body's frame
    labels : (k,) names, and topic, for messages.  Samples that are no rigid body, as those in
    which two markers are exchanged, become NaN.

    Raises RecordingError for a layout on a line and a cluster exchanged in most samples.
    """
    layout = np.asarray(layout, dtype=float)
    if len(layout) < 3 or _flatness(layout) < FLAT:
        raise RecordingError(
            f'the markers {", ".join(labels)} of {topic} do not fix a pose',
            expected='at least three that are not on a line',
            found=f'{len(layout)} in the layout',
        )
    rotation, position, residual = _register(markers, layout)
    error = _rms(residual)
    usual = np.nan
    if np.isfinite(error).any():
        usual = np.nanmedian(error)
    best, pair = _best_exchange(markers, layout, error)
    if pair is not None:
        names = f'{labels[pair[0]]} and {labels[pair[1]]}'
        raise RecordingError(
            f'markers {names} of {topic} are exchanged',
            found=f'residual {usual * 1e3:.1f} mm, exchanged {best * 1e3:.1f} mm',
            do='correct the layout or the labels of the camera system',
        )
    quaternion = np.full((len(position), 4), np.nan)
    position[error > max(NOT_RIGID * usual, 1e-6)] = np.nan
    good = np.isfinite(position).all(1)
    if good.any():
        quaternion[good] = Rotation.from_matrix(rotation[good]).as_quat()
    return Registration(position, quaternion, residual)


def _register(markers, layout):
    """Return rotations (N, 3, 3), positions (N, 3), residuals (N, k); NaN where not determined."""
    seen = np.isfinite(markers).all(-1)
    weight = seen / np.maximum(seen.sum(1, keepdims=True), 1)
    x = np.where(seen[..., None], markers, 0.0)
    centre_x = np.einsum('nk,nkj->nj', weight, x)
    centre_l = weight @ layout
    there = np.where(seen[..., None], layout - centre_l[:, None], 0.0)
    here = np.where(seen[..., None], x - centre_x[:, None], 0.0)
    U, s, Vt = np.linalg.svd(np.einsum('nki,nkj->nij', here, there))
    U[..., 2] *= np.sign(np.linalg.det(U) * np.linalg.det(Vt))[:, None]
    rotation = U @ Vt
    position = centre_x - np.einsum('nij,nj->ni', rotation, centre_l)
    placed = np.einsum('nij,kj->nki', rotation, layout) + position[:, None]
    residual = np.where(seen, np.linalg.norm(markers - placed, axis=-1), np.nan)
    # Of a product of two layouts: the second one says that they are not on a line.
    lost = (seen.sum(1) < 3) | (s[:, 1] < FLAT**2)
    position[lost] = np.nan
    residual[lost] = np.nan
    return rotation, position, residual


def _flatness(layout):
    return np.linalg.svd(layout - layout.mean(0), compute_uv=False)[1]


def _rms(residual):
    """Return the residual of every sample (N,) over the markers it shows, NaN for none."""
    seen = np.isfinite(residual)
    square = np.where(seen, residual, 0.0) ** 2
    return np.sqrt(square.sum(1) / np.where(seen.any(1), seen.sum(1), np.nan))


def _best_exchange(markers, layout, error):
    """Return (residual, pair) when an exchange mends the typical sample, else (_, None)."""
    finite = np.flatnonzero(np.isfinite(error))
    if not finite.size:
        return np.nan, None
    some = finite[np.linspace(0, len(finite) - 1, min(51, len(finite))).astype(int)]
    after = {}
    for pair in combinations(range(len(layout)), 2):
        order = np.arange(len(layout))
        order[list(pair)] = pair[::-1]
        after[pair] = np.nanmedian(_rms(_register(markers[some][:, order], layout)[2]))
    best, usual = min(after, key=after.__getitem__), np.median(error[some])
    if usual > 1e-6 and after[best] < EXCHANGE_MENDS * usual:
        return after[best], best
    return after[best], None


def off_layout(
    markers: np.ndarray, layout: np.ndarray, labels: Sequence[str], poses: Registration
) -> dict[str, list[float]]:
    """
    Return {label: [x, y, z]} of markers that sit elsewhere beyond doubt, from their place [m].

    markers : (N, k, 3) [m]; poses : their Registration onto the layout (k, 3)
    """
    good = np.isfinite(poses.position).all(1) & np.isfinite(markers).all((1, 2))
    if good.sum() < COMPLETE_FRAMES:
        return {}
    noise = float(np.sqrt(np.mean(white_variance(markers[good].reshape(good.sum(), -1)))))
    aside = (
        _shown_layout(
            markers[good],
            layout,
            poses.position[good],
            Rotation.from_quat(poses.quaternion_xyzw[good]),
        )
        - layout
    )
    far = np.linalg.norm(aside, axis=1) > max(ASIDE[0], ASIDE[1] * noise)
    return {label: x.tolist() for label, x, off in zip(labels, aside, far) if off}


def _shown_layout(markers, layout, position, turn):
    """
    Return the layout (k, 3) [m] that markers (N, k, 3) show, in the frame of most of it.

    The sum of distances is least, so that a single marker that sits elsewhere does not move it.
    """
    shape = np.stack(
        [turn.inv().apply(markers[:, k] - position).mean(0) for k in range(len(layout))]
    )
    weight = np.ones(len(layout))
    for _ in range(50):  # weights of the last distances: least sum (Weiszfeld 1937)
        centres = [np.average(x, axis=0, weights=weight) for x in (layout, shape)]
        R, _ = Rotation.align_vectors(layout - centres[0], shape - centres[1], weights=weight)
        placed = R.apply(shape - centres[1]) + centres[0]
        weight = 1.0 / np.maximum(np.linalg.norm(placed - layout, axis=1), 1e-5)
    return placed
