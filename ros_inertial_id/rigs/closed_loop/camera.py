"""
Where the camera stands, given or found from the markers together with the motion.

Every frame has its own z, all frames the same pose of the camera.  In turn z is fitted frame by
frame (marker_fit.py) and the pose moved by Gauss-Newton, with what z can follow taken off its
columns (variable projection, Golub and Pereyra 1973).  As long as the pose is coarse, all markers
are as noisy as they are off.  Where nothing is known of it, it is first sought by registration.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .marker_fit import MarkerFit
from .registration import registered, SAME_POSE
from ..dynamics.mechanism import Mechanism
from ..measurement.markers import common_frames, Frames, Marker
from ...errors import ConfigError, RecordingError

SEEKING_FRAMES, FINDING_FRAMES = (
    120,
    5000,
)  # frames by which the pose is sought, and found: more add no precision
CAMERA_ROUNDS = 25
CAMERA_SETTLED = 1e-3  # standard errors: a smaller step does not matter
DIRECTION_SURE = 0.05  # standard error, share of the reach, of a direction that is determined
FITS_NOWHERE = 4.0  # standard deviations: the median of a marker that fits nowhere
POSES_FIT_ALIKE = 1.2  # ratio of mean losses below which two poses fit alike
POSE_NUMBERS = 'turn about x', 'turn about y', 'turn about z', 'x', 'y', 'z'


@dataclass(frozen=True)
class Camera:
    """The pose of a camera in the base link: rotation (3, 3), translation (3,) [m]."""

    rotation: np.ndarray
    translation: np.ndarray

    def numbers(self) -> np.ndarray:
        """Return X Y Z ROLL PITCH YAW (6,) [m, rad]."""
        return np.concatenate(
            [self.translation, Rotation.from_matrix(self.rotation).as_euler('xyz')]
        )

    def moved(self, change: np.ndarray) -> 'Camera':
        """Return it turned where it stands and shifted by a ``change`` (6,) [rad, m]."""
        turn = Rotation.from_rotvec(change[:3]).as_matrix()
        return Camera(turn @ self.rotation, self.translation + change[3:])

    def placed(self, frames: Frames) -> Frames:
        """Return Frames ``frames`` that it saw in the base link."""
        return replace(
            frames,
            rotation=self.rotation @ frames.rotation,
            position=frames.position @ self.rotation.T + self.translation,
        )


def camera_of(options: Any) -> Camera:
    """Return the Camera that ``options`` (MotionOptions) give; ConfigError for no pose."""
    if len(options.camera) not in (0, 6):
        raise ConfigError(
            'option camera', expected='six numbers X Y Z ROLL PITCH YAW', found=options.camera
        )
    x = np.zeros(6)
    if options.camera:
        x = np.array(options.camera, dtype=float)
    return Camera(Rotation.from_euler('xyz', x[3:]).as_matrix(), x[:3])


@dataclass(frozen=True)
class FoundCamera:
    """
    A Camera that fits.

    standard_error : (6,) of shift [m] and turn [rad] along and about the base's axes
    loose : the POSE_NUMBERS that markers leave open; loss : mean loss of a frame (Cauchy)
    misfit : largest median of a marker [standard deviations]
    """

    camera: Camera
    standard_error: np.ndarray
    loose: tuple[str, ...]
    loss: float
    misfit: float


def view(
    robot: Mechanism, markers: Sequence[Marker], options: Any
) -> tuple[Frames, dict[str, Any]]:
    """
    Return the Frames of all Markers in the base link, and what was found of the camera.

    With ``find_camera`` its pose is estimated; RecordingError where the data do not determine it.
    """
    camera, seen = camera_of(options), common_frames(markers)
    if not options.find_camera:
        return camera.placed(seen), {}
    few, many = (
        MarkerFit(robot, _spread(seen, count), options.marker_noise, options.tag_noise)
        for count in (SEEKING_FRAMES, FINDING_FRAMES)
    )
    starts = [camera]
    if not options.camera:
        arm = options.marker_noise / options.tag_noise
        poses = registered(robot, few.library, few.frames, arm)
        starts = [Camera(R, p) for R, p in poses]
    first, *candidates = sorted((_found(few, start) for start in starts), key=lambda x: x.loss)
    _check(first, candidates)
    best = _found(many, first.camera)
    return best.camera.placed(seen), {
        'camera': best.camera.numbers().tolist(),
        'camera_standard_error': best.standard_error.tolist(),
    }


def _spread(frames, count):
    """Return at most ``count`` of Frames, over all of the recording."""
    rows = np.unique(np.linspace(0, len(frames.t) - 1, min(count, len(frames.t))).astype(int))
    return frames.rows(rows)


def _found(fit, camera):
    """Return the FoundCamera near a ``camera`` that saw the frames of a MarkerFit."""
    seen, rows, noise = fit.frames, np.arange(len(fit.frames.t)), fit.noise
    fit.frames, scale = camera.placed(seen), 1.0
    q = fit.search(rows)[1]
    for _ in range(CAMERA_ROUNDS):
        off = float(np.nanmedian(np.abs(fit.residuals(rows, q)))) * scale / 0.6745
        scale = max(1.0, off)
        fit.noise = noise[0] * scale, noise[1] * scale
        q = fit.refine(rows, q)[1]
        change, error, loose = _step(fit, rows, q, camera, seen)
        camera = camera.moved(change)
        fit.frames = camera.placed(seen)
        if scale == 1.0 and (np.abs(change) <= CAMERA_SETTLED * error).all():
            break
    fit.noise = noise
    misfit = float(np.nanmax(np.nanmedian(fit.misfit(q), axis=0)))
    found = FoundCamera(camera, np.roll(error, 3), loose, float(fit.loss(rows, q).mean()), misfit)
    fit.frames = seen
    return found


def _step(fit, rows, q, camera, seen):
    """Return the change (6,) [rad, m] of a camera, its standard error (6,), and what is open."""
    residual, slope = fit.residuals(rows, q, fit.robot.transformation(q)[0])
    weight = fit.weights(residual)
    # What is seen moves by turn x place + shift; a tag turns along.
    P = np.zeros(residual.shape + (6,))
    arms = np.nan_to_num(seen.position @ camera.rotation.T)
    P[:, :, :3, :3] = -np.cross(np.eye(3), arms[:, :, None]).swapaxes(2, 3) / fit.noise[0]
    P[:, :, :3, 3:], P[:, :, 3:, :3] = -np.eye(3) / fit.noise[0], -np.eye(3) / fit.noise[1]
    A = np.einsum('bmik,bmi,bmil->bkl', slope, weight, slope)
    B = np.einsum('bmik,bmi,bmig->bkg', slope, weight, P)
    S = np.einsum('bmig,bmi,bmih->gh', P, weight, P) - np.einsum(
        'bkg,bkl,blh->gh', B, np.linalg.pinv(A, hermitian=True), B
    )
    right = np.einsum('bmig,bmi,bmi->g', P, weight, np.nan_to_num(residual))
    reach = fit.robot.reach()
    scaled = np.repeat([1.0 / reach, 1.0], 3)  # a turn in metres
    values, vectors = np.linalg.eigh(S * np.outer(scaled, scaled))
    sure = values * (DIRECTION_SURE * reach) ** 2 > 1.0
    half = (scaled[:, None] * vectors)[:, sure] / np.sqrt(values[sure])
    open_ = np.abs(vectors[:, ~sure]).max(1, initial=0.0) > 0.1
    return (
        half @ (half.T @ right),
        np.linalg.norm(half, axis=1),
        tuple(name for name, o in zip(POSE_NUMBERS, open_) if o),
    )


def _check(first, candidates):
    """Raise RecordingError where the best FoundCamera fits nowhere, or is not the only one."""
    if first.misfit > FITS_NOWHERE:
        raise RecordingError(
            'the markers fit the mechanism from no place of the camera',
            do='check their links '
            '(two exchanged?), the lengths in the URDF and start: (another branch?), and that all '
            'are of one camera; leave camera: empty where it is not even roughly known',
        )
    if first.loose:
        raise RecordingError(
            'the markers do not determine the pose of the camera',
            found=', '.join(first.loose) + ' open',
            do='see more markers or a tag (pose), or give camera: without find_camera',
        )
    for candidate in candidates:
        turn = Rotation.from_matrix(first.camera.rotation @ candidate.camera.rotation.T)
        if candidate.loss < POSES_FIT_ALIKE * first.loss and turn.magnitude() > SAME_POSE:
            raise RecordingError(
                'the markers fit two places of the camera alike',
                do='give camera: roughly, or the orientation of a tag (pose)',
            )
