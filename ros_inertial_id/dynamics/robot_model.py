"""
RobotModel: what mechanics needs to know of a robot, read from a URDF text by pinocchio.

Meshes are never loaded.  Bodies and joints are numbered from 0 in pinocchio's order (a parent
comes before its children); links fixed to one another are one body.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
import fnmatch
from functools import cached_property, lru_cache
import hashlib
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

from .described_inertias import plausible_inertias
from .description import check_description, parsable
from .regressor import joint_steps, JointStep
from ..errors import ConfigError, RobotModelError
from ..options import option

STANDARD_GRAVITY = 9.81  # [m/s^2], the value of the papers
RIGHT_ANGLE = 1e-4  # [rad] from a multiple of 90 degrees: 3.1416 is pi, and not a tilt


@dataclass(frozen=True)
class RobotOptions:
    """Which joints of the robot description move, and how the robot is mounted."""

    joints: tuple[str, ...] = option(
        (),
        'joints that move, * stands for any letters: left_*; empty: all moving joints of the URDF',
    )
    locked_joints: tuple[str, ...] = option(
        (), 'moving joints of the URDF that are held still; patterns as well: hand_*'
    )
    locked_positions: tuple[float, ...] = option(
        (),
        'where they are held, one per entry or per joint; empty: where they are in the '
        'recording, else 0',
        unit='rad or m',
    )
    mounting: str = option(
        '',
        'how the base is mounted: upright, rpy R P Y, gravity X Y Z, rho_phi RHO PHI, imu; '
        'empty: as the recording says, else upright',
    )
    gravity_magnitude: float = option(
        STANDARD_GRAVITY,
        'local gravity for mountings that give a direction alone (all but '
        'gravity X Y Z): 9.780 at the equator to 9.832 at the poles',
        unit='m/s^2',
        at_least=0.1,
        at_most=30.0,
    )


@dataclass(frozen=True)
class RobotModel:
    """
    A tree of n bodies, each moved by one joint.

    name : of the robot; urdf : its text; base_link : root, frame of gravity
    joint_names, link_names : (n,), link i is what joint i carries
    parents : (n,) index of the body that carries joint i, -1 for the base
    rotations (n, 3, 3), translations (n, 3) : joint frame i in its parent's frame at q = 0 [m]
    axes : (n, 3) unit vectors in the joint frame; prismatic : (n,) bool
    inertias : (n, 10) nominal standard parameters from the URDF
    lower, upper [rad], velocity [rad/s], effort [N m] : (n,) limits, nan where not given
    gravity_base : (3,) gravity in the base frame [m/s^2]
    pin_model : the pinocchio model, gravity set
    motors : {joint: (n,)} motors that several joints turn, their speed per joint speed
    doubts : links whose described inertias no body has, in words; see ``plausible_inertias``
    """

    name: str
    urdf: str
    base_link: str
    joint_names: tuple[str, ...]
    link_names: tuple[str, ...]
    parents: tuple[int, ...]
    rotations: np.ndarray
    translations: np.ndarray
    axes: np.ndarray
    prismatic: tuple[bool, ...]
    inertias: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    gravity_base: np.ndarray
    pin_model: Any = field(repr=False, compare=False)
    motors: dict[int, np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    doubts: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __len__(self):
        return len(self.joint_names)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the joints whose motion describes the robot: all of a tree."""
        return self.joint_names

    @cached_property
    def steps(self) -> tuple[JointStep, ...]:
        """Return what is constant in the motion from body to body."""
        return joint_steps(self)

    @cached_property
    def moved(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return of every joint the bodies that it moves, each with its place in their chain."""
        return tuple(
            tuple((i, self.ancestors(i).index(j)) for i in self.subtree(j))
            for j in range(len(self))
        )

    def subtree(self, joint: int) -> tuple[int, ...]:
        """Return the bodies that move with ``joint``, itself first."""
        moved = [joint]
        for body in range(joint + 1, len(self)):
            if self.parents[body] in moved:
                moved.append(body)
        return tuple(moved)

    def ancestors(self, body: int) -> tuple[int, ...]:
        """Return the joints that move ``body``, from the base to itself."""
        chain = []
        while body >= 0:
            chain.append(body)
            body = self.parents[body]
        return tuple(reversed(chain))

    def reach(self) -> float:
        """Return the longest distance from the base along the chain [m]; sliders fully out."""
        lengths = np.zeros(len(self))
        slide = np.where(np.isfinite(self.upper), np.abs(self.upper), 0.0)
        for i, parent in enumerate(self.parents):
            before = lengths[parent] if parent >= 0 else 0.0
            own = slide[i] if self.prismatic[i] else 0.0
            lengths[i] = before + np.linalg.norm(self.translations[i]) + own
        return max(float(lengths.max()), 0.1)

    def pin_q(self, q: np.ndarray) -> np.ndarray:
        """Return pinocchio's configurations (..., nq) of joint positions q (..., n) [rad, m]."""
        out = np.empty((*np.shape(q)[:-1], self.pin_model.nq))
        for joint, angle in zip(self.pin_model.joints[1:], np.moveaxis(q, -1, 0)):
            if joint.nq == 1:
                out[..., joint.idx_q] = angle
            else:  # a continuous joint is (cos, sin) to pinocchio
                out[..., joint.idx_q], out[..., joint.idx_q + 1] = np.cos(angle), np.sin(angle)
        return out

    def kinematics_sha256(self) -> str:
        """Return a hash of joint names and kinematics: two robots with it move alike."""
        digest = hashlib.sha256(repr((self.joint_names, self.parents, self.prismatic)).encode())
        for array in (self.rotations, self.translations, self.axes):
            digest.update((np.round(array, 6) + 0.0).tobytes())
        return digest.hexdigest()


def robot_from_options(
    urdf: str, options: Any, gravity_base: np.ndarray | Sequence[float]
) -> RobotModel:
    """
    Return the RobotModel that RobotOptions ask for.

    urdf : text; options : RobotOptions; gravity_base : (3,) in the base frame [m/s^2]
    ConfigError, RobotModelError where they do not fit together.
    """
    joints, locked = named_joints(urdf, options)
    return load_robot_model(urdf, joints, gravity_base=gravity_base, locked=locked)


def named_joints(urdf: str, options: Any) -> tuple[tuple[str, ...], dict[str, float]]:
    """
    Return the names of joints that move, none for all, and {joint: position} of locked ones.

    urdf : text; options : RobotOptions, whose patterns stand for the joints of the URDF that they
        name, in its order; one of locked_joints spares what is named otherwise.  Positions come
        one for each entry of locked_joints, or one for each joint.
    ConfigError where they do not.
    """
    moving = tuple(_parse(urdf).names[1:])
    joints = tuple(dict.fromkeys(n for entry in options.joints for n in _matches(entry, moving)))
    spared = {*joints, *options.locked_joints}
    named = [
        [n for n in _matches(entry, moving) if n == entry or n not in spared]
        for entry in options.locked_joints
    ]
    names, positions = tuple(n for own in named for n in own), options.locked_positions
    if len(positions) == len(named) != len(names):
        positions = tuple(x for own, x in zip(named, positions) for _ in own)
    if positions and len(positions) != len(names):
        raise ConfigError(
            'option locked_positions',
            found=f'{len(positions)} values',
            expected=f'{len(names)} values, one per locked joint: {", ".join(names)}',
        )
    return joints, dict(zip(names, positions or (0.0,) * len(names)))


def _matches(entry: str, names: Sequence[str]) -> list[str]:
    """Return which of ``names`` an entry stands for: itself, but for a pattern with * or ?."""
    return fnmatch.filter(names, entry) if set(entry) & set('*?') else [entry]


def position_limits(urdf: str) -> dict[str, tuple[float, float]]:
    """Return {joint: (lower, upper) [rad, m]} of a URDF text, nan where there is none."""
    model = _parse(urdf)
    limits = {
        name: joint_limits(model, joint) for name, joint in zip(model.names[1:], model.joints[1:])
    }
    return {name: (lower, upper) for name, (lower, upper, *_) in limits.items()}


def mimicked(urdf: str) -> dict[str, tuple[str, float, float]]:
    """Return {joint: (the joint that it follows, multiplier, offset)} of a URDF text."""
    found = ElementTree.fromstring(
        urdf.encode('utf-8', 'replace'), ElementTree.XMLParser(encoding='utf-8')
    )
    return {
        joint.get('name', ''): (
            mimic.get('joint', ''),
            float(mimic.get('multiplier', 1.0)),
            float(mimic.get('offset', 0.0)),
        )
        for joint in found.findall('joint')
        for mimic in joint.findall('mimic')
    }


def load_robot_model(
    urdf: str,
    joint_names: Sequence[str] = (),
    *,
    gravity_base: np.ndarray | Sequence[float] = (0.0, 0.0, -STANDARD_GRAVITY),
    locked: Mapping[str, float] | None = None,
) -> RobotModel:
    """
    Return the RobotModel of a URDF text ``urdf``.

    joint_names : joints that move; empty means every moving joint of the URDF
    locked : {joint name: position [rad or m]} held fixed; their links join the one before
    gravity_base : (3,) [m/s^2], in the frame of the root link
    RobotModelError where it cannot be read or its joints are not those named.
    """
    gravity = np.array(gravity_base, dtype=float)
    described = _described(urdf, tuple(joint_names), tuple((locked or {}).items()))
    model = described.pin_model.copy()
    model.gravity.linear = gravity
    gravity.setflags(write=False)
    return replace(described, gravity_base=gravity, pin_model=model)


@lru_cache(maxsize=8)
def _described(
    urdf: str, joint_names: tuple[str, ...], locked: tuple[tuple[str, float], ...]
) -> RobotModel:
    """Return the RobotModel without gravity: a description is read once for all mountings."""
    full = _parse(urdf)
    moving = tuple(full.names[1:])
    held = dict(locked)
    for name in (*joint_names, *held):
        if name not in moving:
            raise RobotModelError(
                f'joint {name!r} is not a moving joint of robot {full.name!r}',
                exists=moving,
                do='correct joints: or locked_joints:',
            )
    wanted = set(joint_names) or set(moving) - set(held)
    left = [n for n in moving if n not in wanted and n not in held]
    if left:
        raise RobotModelError(
            f'robot {full.name!r} has joints that are neither measured nor locked',
            found=left,
            do='list them in locked_joints: (held at locked_positions:), '
            'patterns such as hand_* as well',
        )
    return _describe(_lock(full, held, wanted), urdf)


@lru_cache(maxsize=8)
def _parse(urdf: str) -> Any:
    check_description(urdf)
    try:
        model = pin.buildModelFromXML(plausible_inertias(parsable(urdf))[0])
    except (ValueError, RuntimeError) as error:
        raise RobotModelError('the URDF cannot be read', found=str(error).split('\n')[0]) from None
    if model.njoints < 2:
        raise RobotModelError(f'robot {model.name!r} has no moving joint', expected='at least one')
    return model


def _lock(full, locked, wanted):
    fixed = [n for n in full.names[1:] if n not in wanted]
    if not fixed:
        return full
    q = pin.neutral(full)
    for name, value in locked.items():
        joint = full.joints[full.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
        )
    return pin.buildReducedModel(full, [full.getJointId(n) for n in fixed], q)


def _describe(model, urdf):
    kinds = [joint.shortname() for joint in model.joints[1:]]
    for name, kind, joint in zip(model.names[1:], kinds, model.joints[1:]):
        if joint.nv != 1 or not kind.startswith(('JointModelR', 'JointModelP')):
            raise RobotModelError(
                f'joint {name!r} is of a kind that is not supported',
                expected='revolute, continuous or prismatic',
                found=kind,
            )
    count = model.njoints - 1
    axes = np.array([joint_axis(joint) for joint in model.joints[1:]])
    limits = [joint_limits(model, joint) for joint in model.joints[1:]]
    lower, upper, velocity, effort = np.array(limits).T
    placements = [model.jointPlacements[i + 1] for i in range(count)]
    arrays = {
        'rotations': np.array([p.rotation for p in placements]),
        'translations': np.array([p.translation for p in placements]),
        'axes': axes,
        'lower': lower,
        'upper': upper,
        'velocity': velocity,
        'effort': effort,
        'inertias': np.array([model.inertias[i + 1].toDynamicParameters() for i in range(count)]),
        'gravity_base': np.zeros(3),
    }
    for array in arrays.values():
        array.setflags(write=False)
    bodies = [f for f in model.frames if f.type == pin.FrameType.BODY]
    first: dict[int, str] = {}
    for frame in bodies:
        first.setdefault(frame.parentJoint, frame.name)
    links = tuple(first.get(i + 1, model.names[i + 1]) for i in range(count))
    return RobotModel(
        name=model.name,
        urdf=urdf,
        base_link=bodies[0].name,
        joint_names=tuple(model.names[1:]),
        link_names=links,
        parents=tuple(int(model.parents[i + 1]) - 1 for i in range(count)),
        prismatic=tuple(k.startswith('JointModelP') for k in kinds),
        pin_model=model,
        doubts=plausible_inertias(parsable(urdf))[1],
        **arrays,
    )


def joint_axis(joint: Any) -> np.ndarray:
    """Return the axis (3,) of pinocchio's ``joint``, revolute or prismatic, in its own frame."""
    data = joint.createData()
    joint.calc(data, np.ones(joint.idx_q + joint.nq))  # at any position it is the same
    column = np.asarray(data.S).ravel()
    return column[:3] if np.any(column[:3]) else column[3:]


def joint_limits(model: Any, joint: Any) -> list[float]:
    """Return lower, upper, velocity and effort limit of a ``joint``, nan where there is none."""
    lower, upper = np.nan, np.nan
    if joint.nq == 1:
        lower = model.lowerPositionLimit[joint.idx_q]
        upper = model.upperPositionLimit[joint.idx_q]
    values = (
        lower,
        upper,
        model.upperVelocityLimit[joint.idx_v],
        model.upperEffortLimit[joint.idx_v],
    )
    return [x if np.isfinite(x) and abs(x) < 1e30 else np.nan for x in values]


def gravity_from_mounting(
    mounting: str, imu_gravity: np.ndarray | None = None, magnitude: float = STANDARD_GRAVITY
) -> np.ndarray:
    """
    Return gravity in the base frame (3,) [m/s^2] for a mounting in the user's words.

    ``upright``; ``rpy R P Y`` of the base in the world [rad]; ``gravity X Y Z`` [m/s^2];
    ``rho_phi RHO PHI`` [rad] (Troebinger et al., Eq. 3: upright is rho = pi); ``imu``: the
    direction that a base IMU at rest measured (``imu_gravity``), whose scale may be wrong.
    Angles are those of ``right_angles``.
    magnitude : of gravity where the words give its direction alone [m/s^2]
    ConfigError for other words.
    """
    words = str(mounting).replace(',', ' ').split()
    kind = words[0] if words else ''
    expected = {'upright': 0, 'rpy': 3, 'gravity': 3, 'rho_phi': 2, 'imu': 0}
    try:
        numbers = [float(x) for x in words[1:]]
        good = expected[kind] == len(numbers) and bool(np.all(np.isfinite(numbers)))
    except (KeyError, ValueError):
        good = False
    if not good:
        raise ConfigError(
            'mounting',
            found=repr(mounting),
            exists=('upright', 'rpy R P Y', 'gravity X Y Z', 'rho_phi RHO PHI', 'imu'),
        )
    if kind == 'rpy':
        return pin.rpy.rpyToMatrix(*right_angles(numbers)).T @ [0.0, 0.0, -magnitude]
    if kind == 'gravity':
        return np.array(numbers)
    if kind == 'rho_phi':
        rho, phi = right_angles(numbers)
        return magnitude * np.array(
            [np.sin(rho) * np.cos(phi), np.sin(rho) * np.sin(phi), np.cos(rho)]
        )
    if kind == 'imu':
        if imu_gravity is None:
            raise ConfigError(
                'mounting imu needs an IMU on the base',
                found='no sensor_msgs/msg/Imu in the recording',
                do='record it, or give the mounting as rpy or gravity',
            )
        return magnitude * np.asarray(imu_gravity) / np.linalg.norm(imu_gravity)
    return np.array([0.0, 0.0, -magnitude])


def right_angles(angles: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return ``angles`` [rad], multiples of 90 degrees for those that are rounded ones."""
    exact = np.pi / 2 * np.round(np.asarray(angles) / (np.pi / 2))
    return np.where(np.abs(angles - exact) < RIGHT_ANGLE, exact, angles)


def rounded_mounting(mounting: str) -> str:
    """Return in which degrees ``right_angles`` reads a ``mounting``, '' where as it stands."""
    kind, *words = str(mounting).replace(',', ' ').split() or ['']
    if kind not in ('rpy', 'rho_phi'):
        return ''
    given = np.array(words, dtype=float)
    taken = right_angles(given)
    degrees = ' '.join(f'{x:.6g}' for x in np.degrees(taken))
    return '' if np.allclose(taken, given, atol=1e-9, rtol=0.0) else f'{kind} {degrees} degrees'


def world_alone() -> Any:
    """Return an empty pinocchio model: the world is the only frame."""
    return pin.Model()


def link_placements(robot: RobotModel) -> dict[str, tuple[int, np.ndarray]]:
    """Return {link: (body, (4, 4) placement in the body's joint frame)}, body -1 for the base."""
    return {
        frame.name: (frame.parentJoint - 1, frame.placement.homogeneous.copy())
        for frame in robot.pin_model.frames
        if frame.type == pin.FrameType.BODY
    }
