"""
BodyRig: which bodies are measured, how, and which wrenches act between them.

Read from a YAML text (config/rigid_body.yaml shows one), or made from the URDF of an arm that
carries a payload behind a force-torque sensor.
"""

from dataclasses import dataclass, replace
import hashlib
from typing import Any, Mapping, Sequence

import numpy as np
import yaml

from .link_tree import free_joint, Joint, read_inertial, read_joint, rotation_of, vector
from ..measurement.sources import BodySource
from ...dynamics.body_motion import Frame, frame_of
from ...dynamics.robot_model import robot_from_options, RobotModel, world_alone
from ...errors import ConfigError, RobotModelError

MOTIONS = ('pose', 'markers', 'imu')
PAYLOAD = 'payload'


@dataclass(frozen=True)
class Wrench:
    """
    A measured wrench: what ``reaction`` ('' for the outside) puts on body ``on``.

    axes : 'body' when it is measured along axes fixed in ``on``, turned by ``rotation`` (3, 3);
        'world' along the world's
    point : (3,) where it is measured, in the frame of ``on`` [m]
    """

    topic: str
    on: str
    reaction: str
    axes: str
    point: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True)
class BodyRig:
    """
    What the spine calls the robot: bodies, sensors, and groups of bodies with known wrenches.

    sources : a BodySource per body (None for the payload of an arm); joints : a Joint per body
    wrenches : tuple of Wrench; groups : tuple of tuples of bodies that no sensor separates
    arm, frame : RobotModel and Frame whose motion is the payload's, None without an arm
    """

    name: str
    urdf: str
    base_link: str
    joint_names: tuple[str, ...]
    link_names: tuple[str, ...]
    inertias: np.ndarray
    gravity_base: np.ndarray
    sources: tuple[Any, ...]
    joints: tuple[Joint, ...]
    wrenches: tuple[Wrench, ...]
    groups: tuple[tuple[int, ...], ...]
    arm: RobotModel | None = None
    frame: Frame | None = None

    @property
    def pin_model(self) -> Any:
        """Return the pinocchio model of the arm; an empty one where bodies are measured."""
        return self.arm.pin_model if self.arm else world_alone()

    def kinematics_sha256(self) -> str:
        """Return a hash of what the bodies are called, where and how they are joined."""
        if self.arm:
            return hashlib.sha256(f'{self.arm.kinematics_sha256()} {self.frame}'.encode()
                                  ).hexdigest()
        parts = [repr((self.link_names, self.wrenches, self.joints, self.groups))]
        return hashlib.sha256(''.join(parts).encode()).hexdigest()


def payload_rig(urdf: str, options: Any, gravity_base: np.ndarray) -> BodyRig:
    """
    Return the BodyRig of one payload behind a sensor on the arm of a URDF.

    urdf : text of the arm's URDF; options : rigid_body's Options, of which those of the arm and of
    the sensor count
    gravity_base : (3,) in the arm's base frame [m/s^2]
    """
    arm = robot_from_options(urdf, options, gravity_base)
    frame = frame_of(arm, options.wrench_frame) if options.wrench_frame else None
    wrench = Wrench(options.wrench_topic, PAYLOAD, '', 'body', np.zeros(3), np.eye(3))
    return BodyRig(arm.name, urdf, arm.base_link, arm.joint_names, (PAYLOAD,), np.zeros((1, 10)),
                   np.asarray(gravity_base), (None,), (free_joint(),), (wrench,), ((0,),), arm,
                   frame)


def body_rig(text: str, gravity_base: np.ndarray) -> BodyRig:
    """
    Return the BodyRig of a YAML text; ConfigError names what is wrong in it.

    text : of the description; gravity_base : (3,) in the world [m/s^2]
    """
    data = read_description(text, ('name', 'bodies', 'wrenches'))
    entries = mapping(data.get('bodies'), 'bodies')
    names: list[str] = []
    joints, sources, inertias = [], [], []
    for name, entry in entries.items():
        entry = mapping(entry, f'body {name!r}')
        joints.append(read_joint(entry, name, names, ('', 'free')))
        sources.append(read_source(name, entry))
        inertias.append(read_inertial(entry, name))
        names.append(name)
    wrenches = tuple(_read_wrench(topic, entry, names) for topic, entry in
                     mapping(data.get('wrenches'), 'wrenches').items())
    groups = body_groups(joints, wrenches, names)
    for group in groups:
        known = {names[k] for k in group}
        if not any(len({w.on, w.reaction} & known) == 1 for w in wrenches):
            raise ConfigError(f'no wrench acts from outside on {", ".join(sorted(known))}',
                              do='a wrench must be measured on them, or every equation is 0 = 0')
    return BodyRig(str(data.get('name', 'bodies')), text, 'world', (), tuple(names),
                   np.array(inertias), np.asarray(gravity_base), tuple(sources), tuple(joints),
                   wrenches, groups)


def body_groups(joints: Sequence[Joint], wrenches: Sequence[Wrench],
                names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """
    Return tuples of bodies (indices) that hang together without a sensor in between.

    joints : one per body; wrenches : measured ones; names : of the bodies
    """
    measured = {frozenset((w.on, w.reaction)) for w in wrenches}
    group = list(range(len(names)))
    for k, joint in enumerate(joints):
        if joint.parent >= 0 and frozenset((names[k], names[joint.parent])) not in measured:
            old, new = group[k], group[joint.parent]
            group = [new if g == old else g for g in group]
    return tuple(tuple(k for k, g in enumerate(group) if g == label)
                 for label in dict.fromkeys(group))


def read_description(text: str, known: Sequence[str]) -> dict[str, Any]:
    """
    Return the mapping in a YAML text, unknown keys refused.

    text : the YAML; known : keys that may stand in it.  Raises ConfigError, RobotModelError.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError('the description is not YAML',
                          found=str(error).replace('\n', ' ')) from None
    if not isinstance(data, dict):
        raise RobotModelError('the description is neither a URDF nor a YAML mapping',
                              found=repr(text[:40]))
    for key in data:
        if key not in known:
            raise ConfigError('unknown key in the description', found=key, exists=known)
    return data


def read_source(name: str, entry: Mapping[str, Any]) -> BodySource:
    """
    Return the BodySource that a body's entry names; an IMU may be on a body that is seen besides.

    name : of the body; entry : its mapping in the description
    """
    kinds = [kind for kind in MOTIONS if entry.get(kind)]
    imu = None
    if len(kinds) == 2 and kinds[1] == 'imu':
        imu = _source(name, 'imu', entry)
        kinds = kinds[:1]
    if len(kinds) != 1:
        raise ConfigError(f'body {name!r} needs one source of motion', found=kinds or 'none',
                          exists=MOTIONS, do='only an IMU may be there besides')
    return replace(_source(name, kinds[0], entry), imu=imu)


def _source(name, kind, entry):
    layout = entry.get('layout') or {}
    if kind == 'markers':
        layout = {str(label): vector(place, f'marker {label!r} of {name!r}')
                  for label, place in mapping(layout, f'layout of {name!r}').items()}
    rotation = rotation_of(entry.get('imu_rpy', (0, 0, 0)), f'imu_rpy of {name!r}')
    position = vector(entry.get('imu_position', (0, 0, 0)), f'imu_position of {name!r}')
    return BodySource(name, kind, str(entry[kind]), str(entry.get('label', '')), layout,
                      tuple(position), rotation)


def _read_wrench(topic, entry, names):
    entry = mapping(entry, f'wrench {topic}')
    on, reaction, axes = (str(entry.get(key, default)) for key, default in
                          (('acts_on', ''), ('from', ''), ('axes', 'body')))
    for body in (on, *([reaction] if reaction else [])):
        if body not in names:
            raise ConfigError(f'wrench {topic}', found=repr(body), exists=names)
    if axes not in ('body', 'world'):
        raise ConfigError(f'axes of wrench {topic}', found=repr(axes), exists=('body', 'world'))
    return Wrench(topic, on, reaction, axes, vector(entry.get('point', (0, 0, 0)),
                                                    f'point of wrench {topic}'),
                  rotation_of(entry.get('rpy', (0, 0, 0)), f'rpy of wrench {topic}'))


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return ``value`` if it is a mapping that is not empty; ConfigError calls it ``what``."""
    if not isinstance(value, dict) or not value:
        raise ConfigError(what, expected='a mapping of names', found=repr(value))
    return value
