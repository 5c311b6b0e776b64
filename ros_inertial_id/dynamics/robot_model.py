"""
RobotModel: what mechanics needs to know of a robot, read from a URDF text by pinocchio.

Meshes are never loaded.  Bodies and joints are numbered from 0 in pinocchio's order (a parent
comes before its children); links fixed to one another are one body.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
import fnmatch
from functools import cached_property, lru_cache
import hashlib
from itertools import chain
from typing import Any

import numpy as np
import pinocchio as pin

from .described_inertias import plausible_inertias
from .description import check_description, parsable, parsed_xml
from .regressor import joint_steps, JointStep
from ..errors import ConfigError, RobotModelError
from ..options import nearest, option

INFINITE_LIMIT = 1e30  # of a joint: what ``parsable`` writes for none
STANDARD_GRAVITY = 9.81  # [m/s^2], the value of the papers
REVOLUTE, PRISMATIC = 'JointModelR', 'JointModelP'  # as pinocchio's names of joints begin
BASE_KINDS = {'JointModelFreeFlyer': 'floating', 'JointModelPlanar': 'planar'}  # of URDF
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
        """Return the JointSteps: the constants of the motion from body to body."""
        return joint_steps(self)

    @cached_property
    def moved(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return of every joint (body that it moves, its index among the body's ancestors)."""
        moved: list[list[tuple[int, int]]] = [[] for _ in self.joint_names]
        for body in range(len(self)):
            for index, joint in enumerate(self.ancestors(body)):
                moved[joint].append((body, index))
        return tuple(map(tuple, moved))

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
        slides = np.where(np.isfinite(self.upper), np.abs(self.upper), 0.0)
        slides = np.where(self.prismatic, slides, 0.0)
        distances = {-1: 0.0}  # of the base and every body
        for i, parent in enumerate(self.parents):
            distances[i] = distances[parent] + np.linalg.norm(self.translations[i]) + slides[i]
        return max(float(max(distances.values())), 0.1)

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


@dataclass(frozen=True)
class FloatingTree:
    """
    A robot whose joints are a tree on a base that moves.

    tree : RobotModel of the joints on the base, held; its base link is a body of the robot where
        what holds it is known
    """

    tree: RobotModel


def numbered_links(robot: RobotModel, names: Collection[str]) -> list[tuple[int, str]]:
    """Return (number, link) of a robot's bodies; -1 of the base, if it is one of ``names``."""
    links = list(enumerate(robot.link_names))
    if robot.base_link in names:
        links.insert(0, (-1, robot.base_link))
    return links


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
        match, in its order; a pattern of locked_joints leaves out joints that joints: or another
        entry names.  Positions come one for each entry of locked_joints, or one for each joint.
    ConfigError where they do not.
    """
    moving = tuple(_parse(urdf).names[1:])
    joints = tuple(dict.fromkeys(_all_matches(options.joints, moving)))
    spared = {*joints, *options.locked_joints}
    unspared = [name for name in moving if name not in spared]
    locked = [_matches(entry, unspared) for entry in options.locked_joints]
    return joints, _locked_positions(locked, options.locked_positions)


def _locked_positions(
    locked: Sequence[Sequence[str]], positions: Sequence[float]
) -> dict[str, float]:
    """
    Return {joint: position [rad, m]} of joints that are held.

    locked : names by entry of locked_joints
    positions : none (zero), one for every entry or one for every name; ConfigError otherwise
    """
    names = list(chain.from_iterable(locked))
    if not positions:
        return dict.fromkeys(names, 0.0)
    if len(positions) == len(names):
        return dict(zip(names, positions))
    if len(positions) != len(locked):
        raise ConfigError(
            'option locked_positions',
            found=f'{len(positions)} values',
            expected=f'{len(names)} values, one per locked joint: {", ".join(names)}',
        )
    held: dict[str, float] = {}
    for names_of_entry, position in zip(locked, positions):
        held.update(dict.fromkeys(names_of_entry, position))
    return held


def check_locked(urdf: str, entries: Sequence[str]) -> None:
    """
    Raise ConfigError for names or patterns of ``entries`` that are no joint of a ``urdf`` (text).

    For those that are typed: a configuration may be of several robots.
    """
    moving = tuple(_parse(urdf).names[1:])
    for entry in entries:
        if not set(_matches(entry, moving)) & set(moving):
            raise ConfigError(
                f'--lock {entry!r} is no joint that moves',
                exists=moving,
                do=nearest(entry, moving),
            )


def _all_matches(entries: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return ``_matches`` of all ``entries``, one after the other."""
    return [name for entry in entries for name in _matches(entry, names)]


def _matches(entry: str, names: Sequence[str]) -> list[str]:
    """Return the ``names`` that an entry stands for: itself, but for a pattern with * or ?."""
    if '*' in entry or '?' in entry:
        return fnmatch.filter(names, entry)
    return [entry]


def position_limits(urdf: str) -> dict[str, tuple[float, float]]:
    """Return {joint: (lower, upper) [rad, m]} of a URDF text, nan where there is none."""
    model = _parse(urdf)
    limits = {}
    for name, joint in zip(model.names[1:], model.joints[1:]):
        lower, upper, *_ = joint_limits(model, joint)
        limits[name] = lower, upper
    return limits


def mimicked(urdf: str) -> dict[str, tuple[str, float, float]]:
    """Return {joint: (the joint that it follows, multiplier, offset)} of a URDF text."""
    followers = {}
    for joint in parsed_xml(urdf).iterfind('joint'):
        for mimic in joint.iterfind('mimic'):
            followers[joint.get('name', '')] = (
                mimic.get('joint', ''),
                float(mimic.get('multiplier', 1.0)),
                float(mimic.get('offset', 0.0)),
            )
    return followers


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
    moving, held = tuple(full.names[1:]), dict(locked)
    named = [*joint_names, *held]
    unknown = [name for name in named if name not in moving]
    if unknown:
        raise RobotModelError(
            f'joint {unknown[0]!r} is not a moving joint of robot {full.name!r}',
            exists=moving,
            do='correct joints: or locked_joints:',
        )
    unnamed = [name for name in moving if name not in named]
    if joint_names and unnamed:
        raise RobotModelError(
            f'robot {full.name!r} has joints that are neither measured nor locked',
            found=unnamed,
            do='list them in locked_joints: (held at locked_positions:), '
            'patterns such as hand_* as well',
        )
    measured = set(joint_names) or set(unnamed)
    if not measured:
        raise RobotModelError(
            f'all joints of robot {full.name!r} are locked',
            expected='at least one that moves',
            found=f'locked_joints: {", ".join(held)}',
            do='leave out of locked_joints: what moves',
        )
    return _describe(_lock(full, held, measured), urdf)


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


def _lock(full: Any, held: Mapping[str, float], measured: set[str]) -> Any:
    """
    Return pinocchio's model with all joints fixed but the ``measured`` ones.

    full : with all joints; held : {joint: position [rad, m]}, 0 of others
    """
    fixed = [name for name in full.names[1:] if name not in measured]
    if not fixed:
        return full
    q = pin.neutral(full)
    for name, position in held.items():
        joint = full.joints[full.getJointId(name)]
        if joint.nq == 1:
            q[joint.idx_q] = position
        elif joint.nq == 2:  # a continuous joint is (cos, sin) to pinocchio
            q[joint.idx_q : joint.idx_q + 2] = np.cos(position), np.sin(position)
    return pin.buildReducedModel(full, [full.getJointId(name) for name in fixed], q)


def _describe(model: Any, urdf: str) -> RobotModel:
    """Return the RobotModel, without gravity, of pinocchio's ``model`` of a ``urdf`` text."""
    _check_kinds(model)
    joints, placements, inertias = model.joints, model.jointPlacements, model.inertias
    rows = []
    for i in range(1, model.njoints):
        axis, limits = joint_axis(joints[i]), joint_limits(model, joints[i])
        standard = inertias[i].toDynamicParameters()
        rows.append((placements[i].rotation, placements[i].translation, axis, limits, standard))
    rotations, translations, axes, limits_by_joint, standard_parameters = map(np.array, zip(*rows))
    lower, upper, velocity, effort = limits_by_joint.T
    arrays = {
        'rotations': rotations,
        'translations': translations,
        'axes': axes,
        'lower': lower,
        'upper': upper,
        'velocity': velocity,
        'effort': effort,
        'inertias': standard_parameters,
        'gravity_base': np.zeros(3),
    }
    for array in arrays.values():
        array.setflags(write=False)
    base_link, *link_names = _link_names(model)
    return RobotModel(
        name=model.name,
        urdf=urdf,
        base_link=base_link,
        joint_names=tuple(model.names[1:]),
        link_names=tuple(link_names),
        parents=tuple((np.array(model.parents, dtype=int) - 1)[1:].tolist()),
        prismatic=tuple(joint.shortname().startswith(PRISMATIC) for joint in joints[1:]),
        pin_model=model,
        doubts=plausible_inertias(parsable(urdf))[1],
        **arrays,
    )


def _link_names(model: Any) -> list[str]:
    """Return of the base and of every joint the first link that it carries, or its own name."""
    names = list(model.names)
    for frame in reversed(model.frames):
        if frame.type == pin.FrameType.BODY:
            names[frame.parentJoint] = frame.name
    return names


def _check_kinds(model: Any) -> None:
    """Raise RobotModelError for a joint that is neither revolute nor prismatic."""
    for name, joint in zip(model.names[1:], model.joints[1:]):
        kind = joint.shortname()
        if kind in BASE_KINDS:
            raise RobotModelError(
                'this base moves',
                found=f'joint {name!r}, which is {BASE_KINDS[kind]}',
                expected='a base that is held',
                do='identify with --method floating_base; where the base stands or hangs still, '
                f'--lock "{name}" (locked_joints:)',
            )
        if joint.nv != 1 or not kind.startswith((REVOLUTE, PRISMATIC)):
            raise RobotModelError(
                f'joint {name!r} is of a kind that is not supported',
                expected='revolute, continuous or prismatic',
                found=kind,
                do=f'where it is held, --lock "{name}" (locked_joints:), or give it type="fixed"',
            )


def joint_axis(joint: Any) -> np.ndarray:
    """Return the axis (3,) of pinocchio's ``joint``, revolute or prismatic, in its own frame."""
    data = joint.createData()
    joint.calc(data, np.ones(joint.idx_q + joint.nq))  # at any position it is the same
    column = np.asarray(data.S).ravel()
    linear, angular = column[:3], column[3:]
    if linear.any():
        return linear
    return angular


def joint_limits(model: Any, joint: Any) -> list[float]:
    """Return lower, upper, velocity and effort limit of a ``joint``, nan where there is none."""
    lower, upper = np.nan, np.nan
    if joint.nq == 1:
        lower = model.lowerPositionLimit[joint.idx_q]
        upper = model.upperPositionLimit[joint.idx_q]
    velocity, effort = model.upperVelocityLimit[joint.idx_v], model.upperEffortLimit[joint.idx_v]
    limits = np.array([lower, upper, velocity, effort])
    given = np.isfinite(limits) & (np.abs(limits) < INFINITE_LIMIT)
    return list(np.where(given, limits, np.nan).tolist())


def _along_z(numbers: Sequence[float], magnitude: float, imu_gravity: Any) -> np.ndarray:
    return np.array([0.0, 0.0, -magnitude])


def _by_rpy(numbers: Sequence[float], magnitude: float, imu_gravity: Any) -> np.ndarray:
    base_in_world = pin.rpy.rpyToMatrix(*right_angles(numbers))
    return np.asarray(base_in_world.T @ [0.0, 0.0, -magnitude])


def _as_given(numbers: Sequence[float], magnitude: float, imu_gravity: Any) -> np.ndarray:
    return np.array(numbers)


def _by_rho_phi(numbers: Sequence[float], magnitude: float, imu_gravity: Any) -> np.ndarray:
    """Troebinger et al., Eq. 3: upright is rho = pi."""
    rho, phi = right_angles(numbers)
    direction = [np.sin(rho) * np.cos(phi), np.sin(rho) * np.sin(phi), np.cos(rho)]
    return magnitude * np.array(direction)


def _by_imu(numbers: Sequence[float], magnitude: float, imu_gravity: Any) -> np.ndarray:
    """Take the direction alone: the scale of an IMU may be wrong."""
    if imu_gravity is None:
        raise ConfigError(
            'mounting imu needs an IMU on the base',
            found='no sensor_msgs/msg/Imu in the recording',
            do='record it, or give the mounting as rpy or gravity',
        )
    return magnitude * np.asarray(imu_gravity) / np.linalg.norm(imu_gravity)


# {first word: names of the numbers after it, gravity (3,) in the base frame by them}
MOUNTINGS: dict[str, tuple[str, Callable[[Sequence[float], float, Any], np.ndarray]]] = {
    'upright': ('', _along_z),
    'rpy': ('R P Y', _by_rpy),
    'gravity': ('X Y Z', _as_given),
    'rho_phi': ('RHO PHI', _by_rho_phi),
    'imu': ('', _by_imu),
}


def gravity_from_mounting(
    mounting: str, imu_gravity: np.ndarray | None = None, magnitude: float = STANDARD_GRAVITY
) -> np.ndarray:
    """
    Return gravity in the base frame (3,) [m/s^2] for a mounting in the user's words.

    ``upright``; ``rpy R P Y`` of the base in the world [rad]; ``gravity X Y Z`` [m/s^2];
    ``rho_phi RHO PHI`` [rad]; ``imu``: the direction that a base IMU at rest measured
    (``imu_gravity``).  Angles are those of ``right_angles``.
    magnitude : of gravity where the words give its direction alone [m/s^2]
    ConfigError for other words.
    """
    kind, *words = _words_of(mounting)
    if kind not in MOUNTINGS:
        raise _unknown_mounting(mounting)
    names, gravity = MOUNTINGS[kind]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise _unknown_mounting(mounting) from None
    if len(numbers) != len(names.split()) or not np.isfinite(numbers).all():
        raise _unknown_mounting(mounting)
    return gravity(numbers, magnitude, imu_gravity)


def _unknown_mounting(mounting: str) -> ConfigError:
    mountings = tuple(f'{kind} {names}'.strip() for kind, (names, _) in MOUNTINGS.items())
    return ConfigError('mounting', found=repr(mounting), exists=mountings)


def _words_of(mounting: str) -> list[str]:
    """Return the words of a ``mounting``, at least one, which may be ''."""
    return str(mounting).replace(',', ' ').split() or ['']


def right_angles(angles: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return ``angles`` [rad], multiples of 90 degrees for those that are rounded ones."""
    exact = np.pi / 2 * np.round(np.asarray(angles) / (np.pi / 2))
    return np.where(np.abs(angles - exact) < RIGHT_ANGLE, exact, angles)


def rounded_mounting(mounting: str) -> str:
    """Return a ``mounting`` in the degrees of ``right_angles``, '' where they change nothing."""
    kind, *words = _words_of(mounting)
    if kind not in ('rpy', 'rho_phi'):
        return ''
    given = np.array(words, dtype=float)
    taken = right_angles(given)
    if np.allclose(taken, given, atol=1e-9, rtol=0.0):
        return ''
    degrees = ' '.join(f'{x:.6g}' for x in np.degrees(taken))
    return f'{kind} {degrees} degrees'


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
