"""
PlatformRig: a platform on springs, what is known of it, and the links that stand on it.

Read from a YAML text; urdf/two_link_platform.yaml shows every key.
"""

from dataclasses import dataclass, replace
import hashlib
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..bodies.description import (
    mapping,
    matrix,
    read_description,
    read_inertial,
    read_source,
    rotation_of,
    vector,
)
from ..bodies.joints import free_joint, Joint, read_joint
from ..measurement.body_state import BodyState
from ...dynamics.robot_model import world_alone
from ...errors import ConfigError

Rest = tuple[np.ndarray, np.ndarray]  # position (3,) [m], rotation (3, 3) of the platform
KEYS = ('name', 'platform', 'links', 'mass')
CALIBRATED = 43  # numbers that step zero finds ...
EXTRINSICS = 6  # ... and how an IMU on the platform is turned [rad] and shifted [m] along its axes


@dataclass(frozen=True)
class PlatformRig:
    """
    What the spine calls the robot.

    link_names (n,), sources (n + 1, platform first; None for links bolted to their parent),
    joints (n + 1,) : Joint of every body, the platform's free
    stiffness, damping (6, 6), preload (6,) : wrench = preload - K x - D dx about the platform's
        origin along the world's axes, x displacement [m] and rotation vector [rad] from the rest
        pose rest_position (3,), rest_rotation (3, 3)
    platform : (10,) its standard parameters; mass : of all links together [kg], nan unknown
    inertias (n, 10) : nominal parameters of the links, zeros where the description has none
    covariance : (43, 43) of the calibrated numbers in the order of platform_calibration, or None;
        (49, 49) with turn and shift of the platform's IMU
    """

    name: str
    urdf: str
    link_names: tuple[str, ...]
    sources: tuple[Any, ...]
    joints: tuple[Joint, ...]
    stiffness: np.ndarray
    damping: np.ndarray
    preload: np.ndarray
    rest_position: np.ndarray
    rest_rotation: np.ndarray
    platform: np.ndarray
    mass: float
    gravity_base: np.ndarray
    inertias: np.ndarray
    covariance: np.ndarray | None = None
    base_link: str = 'world'
    joint_names: tuple[str, ...] = ()
    wrenches: tuple[Any, ...] = ()

    @property
    def body_names(self) -> tuple[str, ...]:
        """Return the names of all bodies, the platform's first."""
        return ('platform', *self.link_names)

    @property
    def pin_model(self) -> Any:
        """Return an empty pinocchio model: the world is the only frame."""
        return world_alone()

    def kinematics_sha256(self) -> str:
        """Return a hash of the links' names and joints."""
        return hashlib.sha256(repr((self.link_names, self.joints)).encode()).hexdigest()


def platform_rig(text: str, gravity_base: np.ndarray) -> PlatformRig:
    """
    Return the PlatformRig of a YAML text; ConfigError names what is wrong in it.

    text : of the description; gravity_base : (3,) in the world [m/s^2]
    """
    data = read_description(text, KEYS)
    entry = mapping(data.get('platform'), 'platform')
    source, covariance = _calibrated(entry)
    names, joints, sources, inertias = ['platform'], [free_joint()], [source], []
    for name, link in mapping(data.get('links'), 'links', empty=True).items():
        link = mapping(link, f'link {name!r}')
        joint = read_joint(link, name, names, ('platform', 'fixed'))
        source = None
        if joint.kind != 'fixed':
            source = _pose_source(name, link)
        joints.append(joint)
        sources.append(source)
        inertias.append(read_inertial(link, name))
        names.append(name)
    mass = float('nan')
    if data.get('mass') is not None:
        (mass,) = vector([data['mass']], 'mass', 1)
    return PlatformRig(
        str(data.get('name', 'suspended platform')),
        text,
        tuple(names[1:]),
        tuple(sources),
        tuple(joints),
        matrix(entry.get('stiffness'), 'stiffness'),
        matrix(entry.get('damping') or [0.0] * 6, 'damping'),
        vector(entry.get('preload', [0.0] * 6), 'preload', 6),
        vector(entry.get('rest_position', [0.0] * 3), 'rest_position'),
        rotation_of(entry.get('rest_rpy', [0.0] * 3), 'rest_rpy'),
        vector(entry.get('inertial', [float('nan')] * 10), 'inertial of the platform', 10, True),
        float(mass),
        np.asarray(gravity_base, dtype=float),
        np.array(inertias).reshape(-1, 10),
        covariance,
    )


def _calibrated(entry):
    """Return the platform's BodySource and the covariance of the calibrated numbers, or None."""
    source, covariance = _pose_source('platform', entry), _covariance(entry.get('covariance'))
    if covariance is None:
        return source, None
    if source.imu is None:
        return source, covariance[:CALIBRATED, :CALIBRATED]
    if len(covariance) > CALIBRATED:
        extrinsics = covariance[CALIBRATED:, CALIBRATED:]
        source = replace(source, imu=replace(source.imu, covariance=extrinsics))
    return source, covariance


def _pose_source(name, entry):
    """Return the BodySource of a body; an IMU alone does not show where a body is."""
    source = read_source(name, entry)
    if source.kind == 'imu':
        raise ConfigError(
            f'body {name!r}', expected='markers: or pose:, an imu: besides', found='an IMU alone'
        )
    return source


def check_calibrated(robot: PlatformRig) -> None:
    """Raise ConfigError when a ``robot`` lacks what only calibration can give, or links."""
    if not np.isfinite(robot.stiffness).all() or not np.isfinite(robot.platform).all():
        raise ConfigError(
            'the springs or the platform are not known',
            expected='stiffness: and inertial: in the description',
            do='calibrate the platform with a known mass first',
        )
    if not robot.link_names:
        raise ConfigError('links', expected='at least one link on the platform', found='none')


def displacement(body: BodyState, rest: Rest) -> tuple[np.ndarray, np.ndarray]:
    """Return displacement x [m, rad] and its rate dx (N, 6) of a BodyState from a pose."""
    R = body.rotation()
    turn = Rotation.from_matrix(R @ rest[1].T).as_rotvec()
    return (
        np.concatenate([body.position - rest[0], turn], axis=1),
        np.concatenate([body.velocity, np.einsum('nij,nj->ni', R, body.omega)], axis=1),
    )


def spring_wrench(robot: PlatformRig, platform: BodyState) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the springs' wrench (N, 6) about the platform's origin, and the rates dx (N, 6).

    World axes; the given damping is in the wrench.
    """
    x, dx = displacement(platform, (robot.rest_position, robot.rest_rotation))
    return robot.preload - x @ robot.stiffness.T - dx @ robot.damping.T, dx


def _covariance(rows):
    """Return the covariance (k, k) from the lines of its lower triangle, None for none."""
    if rows is None:
        return None
    try:
        out = np.zeros((len(rows), len(rows)))
        for k, row in enumerate(rows):
            numbers = [float(x) for x in str(row).split()]
            if len(numbers) != k + 1:  # one alone would stand for the whole line
                raise ValueError
            out[k, : k + 1] = out[: k + 1, k] = numbers
    except (TypeError, ValueError):
        out = np.zeros((0, 0))
    sizes = (CALIBRATED, CALIBRATED + EXTRINSICS)
    possible = np.isfinite(out).all() and (np.diag(out) >= 0.0).all()
    if len(out) not in sizes or not possible:
        raise ConfigError(
            'covariance of the platform',
            do='calibrate it anew, or leave it out',
            expected=f'the {CALIBRATED} lines that a calibration writes, or {sizes[1]} '
            'with an IMU',
        )
    return out
