"""
Where the camera stands, found from the markers together with the motion.

Every frame has its own z, all frames the same pose of the camera, so the normal equations are
block-arrow and z is eliminated frame by frame (Schur complement; Triggs et al. 2000).  Cauchy
weights as in markers.py.  Where nothing is known of the pose it is first sought among random ones
by registration.  What the markers leave undetermined is not given a number: with ``camera:`` it
stays as it says, without it is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from .marker_fit import MarkerFit, OUTLIER
from .markers import WRONG
from .registration import registered
from ..dynamics.continuation import newton
from ..dynamics.mechanism import Mechanism
from ..measurement.markers import common_frames, Frames, Marker
from ...errors import ConfigError, RecordingError

FRAMES = 5000      # at most, spread over the recording; more add no precision
FEW = 120          # enough to find the way by
ROUNDS = 25        # Gauss-Newton steps
SETTLED = 1e-3     # standard errors: a smaller step does not matter
STALLED = 1e-3     # relative loss: by so much worse than before it goes nowhere
STEP = 1e-6        # [rad, m] of differences; residuals are nearly linear
SURE = 0.05        # standard error of a direction, share of the reach: above it is not determined
BAD = OUTLIER ** 2 * np.log1p((WRONG / OUTLIER) ** 2)  # loss of markers that are WRONG
ALIKE = 1.2        # ratio of mean losses below which two poses fit alike
OPEN = 1e-3        # [rad, m] per unit of an open direction: a number that it moves is open, too
TURNED, MOVED = 0.2, 0.1  # [rad], share of the reach: poses that differ more are two


@dataclass(frozen=True)
class Camera:
    """The pose of a camera in the base link: rotation (3, 3), translation (3,) [m]."""

    rotation: np.ndarray
    translation: np.ndarray

    def numbers(self) -> np.ndarray:
        """Return X Y Z ROLL PITCH YAW (6,) [m, rad]."""
        return np.concatenate([self.translation,
                               Rotation.from_matrix(self.rotation).as_euler('xyz')])

    def moved(self, change: np.ndarray, centre: np.ndarray) -> 'Camera':
        """Return it turned by ``change`` (6,) [rad, m] about a ``centre`` (3,), then shifted."""
        turn = Rotation.from_rotvec(change[:3]).as_matrix()
        return Camera(turn @ self.rotation,
                      turn @ (self.translation - centre) + centre + change[3:])

    def placed(self, frames: Frames) -> Frames:
        """Return Frames ``frames`` that it saw in the base link."""
        return replace(frames, rotation=self.rotation @ frames.rotation,
                       position=frames.position @ self.rotation.T + self.translation)


def camera_of(options: Any) -> Camera:
    """Return the Camera that ``options`` (MotionOptions) give; ConfigError for no pose."""
    if len(options.camera) not in (0, 6):
        raise ConfigError('option camera', expected='six numbers X Y Z ROLL PITCH YAW',
                          found=options.camera)
    x = np.array(options.camera or np.zeros(6), dtype=float)
    return Camera(Rotation.from_euler('xyz', x[3:]).as_matrix(), x[:3])


@dataclass(frozen=True)
class FoundPose:
    """
    A Camera that fits, and how well it is known.

    errors : (6, d) of rotation [rad] about ``centre`` (3,) and shift [m], by d independent ones of
        unit size; loose : (6, 6 - d) directions that the markers do not determine
    cost : mean loss (Cauchy), about the mean squared residual in standard deviations
    typical : largest median loss of a marker: what outliers and exchanges do not change
    """

    camera: Camera
    errors: np.ndarray = field(repr=False)
    loose: np.ndarray = field(repr=False)
    centre: np.ndarray
    cost: float
    typical: float


def view(robot: Mechanism, markers: Sequence[Marker],
         options: Any) -> tuple[Frames, dict[str, Any]]:
    """
    Return the Frames of all Markers in the base link, and what was found of the camera.

    With ``find_camera`` its pose is estimated; RecordingError where the data do not determine it.
    """
    camera, seen = camera_of(options), common_frames(markers)
    notes: dict[str, Any] = {}
    if options.find_camera:
        pose = _found(robot, seen, options, camera)
        camera = pose.camera
        notes.update(camera=camera.numbers().tolist(), camera_standard_error=_errors(pose),
                     camera_not_determined=_directions(pose))
    return camera.placed(seen), notes


def _spread(frames, count):
    """Return at most ``count`` of Frames, over all of the recording."""
    rows = np.unique(np.linspace(0, len(frames.t) - 1, min(count, len(frames.t))).astype(int))
    return frames.rows(rows)


def _found(robot, seen, options, camera):
    """Return the FoundPose of Frames ``seen`` by the camera; start there, or anywhere."""
    found = _candidates(robot, seen, options, camera)
    if found[0].typical > BAD:
        raise RecordingError(
            'the markers fit the mechanism from no place of the camera', do='check their links '
            '(two exchanged?), the lengths in the URDF and start: (another branch?), and that all '
            'are of one camera, or of several in one frame')
    if not options.camera or len(found) > 1:
        _refuse_others(found, robot.reach())
    adjustment = PoseAdjustment(robot, _spread(seen, FRAMES), options)
    return adjustment.adjust(found[0].camera)


def _candidates(robot, seen, options, camera):
    """Return FoundPoses near ``camera`` or, if need be, anywhere, the best first."""
    few = PoseAdjustment(robot, _spread(seen, FEW), options)
    found = [few.adjust(camera)] if options.camera else []
    if not found or found[0].typical > BAD:
        found = [few.adjust(Camera(R, p)) for R, p in registered(
            robot, few.fit.library, few.seen, options.marker_noise / options.tag_noise)]
    return sorted(found, key=lambda pose: pose.cost)


class PoseAdjustment:
    """Frames ``seen`` by a camera on a Mechanism: its pose and the motion together."""

    def __init__(self, robot, seen, options):
        self._robot, self.seen = robot, seen
        self.fit = MarkerFit(robot, seen, options.marker_noise, options.tag_noise)
        self._scale = np.repeat([1.0 / robot.reach(), 1.0], 3)  # a turn in metres

    def adjust(self, camera: Camera) -> FoundPose:
        """Return the FoundPose near ``camera``, from the configurations nearest to its frames."""
        robot, index = self._robot, list(self._robot.independent)
        self.fit.frames = camera.placed(self.seen)
        q, before = self.fit.search(np.arange(len(self.seen.t)))[1], np.inf
        for _ in range(ROUNDS):
            residual, slope, P, centre = self._equations(camera, q)
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
            dz = np.einsum('bkl,bl->bk', inverse, own + B @ change)
            camera = camera.moved(change, centre)
            goal = q[:, index] + np.clip(dz, -self.fit.step, self.fit.step)
            nearby, closed = newton(robot, q, robot.transformation(q)[0], goal, goal)
            q = np.where(closed[:, None], nearby, q)
            error = np.maximum(np.linalg.norm(errors, axis=1), 1e-150)
            if (np.abs(change) <= SETTLED * error).all() or before < cost < (1 + STALLED) * before:
                break
            before = cost
        return FoundPose(camera, errors, loose, centre, cost, typical)

    def _equations(self, camera, q):
        """Return residuals (M, m, 6), slopes by z and by the pose, and the centre (3,)."""
        rows = np.arange(len(q))
        frames = self.fit.frames = camera.placed(self.seen)
        residual, slope = self.fit.residuals(rows, q, self._robot.transformation(q)[0])
        centre = np.nanmean(frames.position.reshape(-1, 3), axis=0)
        columns = []
        for change in STEP * np.eye(6):
            self.fit.frames = camera.moved(change, centre).placed(self.seen)
            columns.append((self.fit.residuals(rows, q) - residual) / STEP)
        return residual, slope, np.stack(columns, axis=-1), centre

    def _solve(self, S, right, noise):
        """Return the change (6,), its errors (6, d), and directions (6, 6 - d) left open."""
        values, vectors = np.linalg.eigh(S * np.outer(self._scale, self._scale))
        sure = noise < values * (SURE * self._robot.reach()) ** 2
        inverse = np.where(sure, 1.0 / np.where(sure, values, 1.0), 0.0)
        half = self._scale[:, None] * vectors
        change = half @ (inverse * (half.T @ right))
        return change, (half * np.sqrt(noise * inverse))[:, sure], half[:, ~sure]


def _eliminated(slope, weight, P):
    """Return the inverse of what frames say of z (M, k, k), and what of z and pose (M, k, 6)."""
    A = np.einsum('bmik,bmi,bmil->bkl', slope, weight, slope)
    B = np.einsum('bmik,bmi,bmig->bkg', slope, weight, P)
    return np.linalg.pinv(A, hermitian=True), B


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


def _refuse_others(found, reach):
    """Raise RecordingError where markers alone do not determine the pose of the camera."""
    result, first = found[0], found[0].camera
    if result.loose.shape[1]:
        raise RecordingError(
            'the markers do not determine the pose of the camera', found='; '.join(
                f'{words} is open' for words in _directions(result)),
            do='give camera: as far as it is known, or see more markers or a tag (pose)')
    for other in found[1:]:
        turned = Rotation.from_matrix(first.rotation @ other.camera.rotation.T).magnitude()
        moved = np.linalg.norm(first.translation - other.camera.translation)
        if other.cost < ALIKE * result.cost and (turned > TURNED or moved > MOVED * reach):
            raise RecordingError(
                'the markers fit two places of the camera alike', found=' and '.join(
                    _listed(camera.numbers()) for camera in (first, other.camera)),
                do='give camera: roughly, or the orientation of a tag (pose)')


def _errors(pose):
    """Return errors of X Y Z ROLL PITCH YAW [m, rad] of a FoundPose, None where not determined."""
    slope = np.zeros((6, 6))
    for k, step in enumerate(STEP * np.eye(6)):
        change = pose.camera.moved(step, pose.centre).numbers() - pose.camera.numbers()
        change[3:] = (change[3:] + np.pi) % (2 * np.pi) - np.pi
        slope[:, k] = change / STEP
    open_ = np.abs(slope @ pose.loose).max(1, initial=0.0) > OPEN
    return [None if o else float(e)
            for e, o in zip(np.linalg.norm(slope @ pose.errors, axis=1), open_)]


def _directions(pose):
    """Return words for the directions of a FoundPose that the markers leave open."""
    out = []
    for turn, move in zip(pose.loose[:3].T, pose.loose[3:].T):
        angle, length = np.linalg.norm(turn), np.linalg.norm(move)
        if max(angle, length) < OPEN:
            continue
        if angle > OPEN * length:
            axis = turn / angle
            # The point of the axis nearest to the centre stays where it is.
            place = pose.centre + np.cross(axis, move) / angle
            out.append(f'a turn about the axis {_listed(axis)} through {_listed(place)}')
        else:
            out.append(f'a shift along {_listed(move / length)}')
    return out


def _listed(x):
    return '[' + ', '.join(f'{v:.3f}' for v in np.asarray(x) + 0.0) + ']'
