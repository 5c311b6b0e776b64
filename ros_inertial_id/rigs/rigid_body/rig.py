"""
BodyRig: which bodies are measured, how, and which wrenches act between them.

Read from a YAML text (config/rigid_body.yaml shows one), or made from the URDF of an arm that
carries a payload behind a force-torque sensor.
"""

from dataclasses import dataclass
import hashlib
from typing import Any, Sequence

import numpy as np

from .rates import described_rates, Rates
from ..bodies.description import (
    axes_of,
    mapping,
    read_description,
    read_inertial,
    read_source,
    rotation_of,
    vector,
)
from ..bodies.joints import free_joint, Joint, read_joint
from ...dynamics.body_motion import Frame, frame_of
from ...dynamics.robot_model import robot_from_options, RobotModel, world_alone
from ...errors import ConfigError

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
    rates : Rates of every body, empty where motion is differentiated
    arm, frame : RobotModel and Frame whose motion is the payload's, None without an arm
    principal : whether unknowns are masses and principal inertias
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
    rates: tuple[Rates, ...] = ()
    arm: RobotModel | None = None
    frame: Frame | None = None
    principal: bool = False

    @property
    def body_names(self) -> tuple[str, ...]:
        """Return the names of all bodies."""
        return self.link_names

    @property
    def shows_attitude(self) -> bool:
        """Return whether the attitude of its bodies is measured: not where an IMU is alone."""
        return not any(source and source.kind == 'imu' for source in self.sources)

    @property
    def pin_model(self) -> Any:
        """Return the pinocchio model of the arm; an empty one where bodies are measured."""
        if self.arm is None:
            return world_alone()
        return self.arm.pin_model

    def kinematics_sha256(self) -> str:
        """Return a hash of what the bodies are called, where and how they are joined."""
        if self.arm:
            return hashlib.sha256(
                f'{self.arm.kinematics_sha256()} {self.frame}'.encode()
            ).hexdigest()
        parts = repr((self.link_names, self.wrenches, self.joints, self.groups))
        return hashlib.sha256(parts.encode()).hexdigest()


def payload_rig(urdf: str, options: Any, gravity_base: np.ndarray) -> BodyRig:
    """
    Return the BodyRig of one payload behind a sensor on the arm of a URDF.

    urdf : text of the arm's URDF; options : rigid_body's Options, of which those of the arm and of
    the sensor count
    gravity_base : (3,) in the arm's base frame [m/s^2]
    """
    arm = robot_from_options(urdf, options, gravity_base)
    frame = None
    if options.wrench_frame:
        frame = frame_of(arm, options.wrench_frame, 'correct wrench_frame:')
    wrench = Wrench(options.wrench_topic, PAYLOAD, '', 'body', np.zeros(3), np.eye(3))
    return BodyRig(
        arm.name,
        urdf,
        arm.base_link,
        arm.joint_names,
        (PAYLOAD,),
        np.zeros((1, 10)),
        np.asarray(gravity_base),
        (None,),
        (free_joint(),),
        (wrench,),
        ((0,),),
        (),
        arm,
        frame,
    )


def body_rig(text: str, gravity_base: np.ndarray) -> BodyRig:
    """
    Return the BodyRig of a YAML text; ConfigError names what is wrong in it.

    text : of the description; gravity_base : (3,) in the world [m/s^2]
    """
    data = read_description(text, ('name', 'bodies', 'wrenches'))
    entries = mapping(data.get('bodies'), 'bodies')
    names: list[str] = []
    joints, sources, inertias, rates = [], [], [], []
    for name, entry in entries.items():
        entry = mapping(entry, f'body {name!r}')
        joints.append(read_joint(entry, name, names, ('', 'free')))
        sources.append(read_source(name, entry))
        inertias.append(read_inertial(entry, name))
        rates += described_rates(name, entry)
        names.append(name)
    if len(rates) not in (0, len(names)):
        raise ConfigError(
            'accelerations of some bodies',
            expected='accel: of all or of none',
            found=f'{len(rates)} of {len(names)}',
        )
    wrenches = tuple(
        _read_wrench(topic, entry, names)
        for topic, entry in mapping(data.get('wrenches'), 'wrenches').items()
    )
    groups = body_groups(joints, wrenches, names)
    for group in groups:
        _check_driven({names[k] for k in group}, wrenches)
    return BodyRig(
        str(data.get('name', 'bodies')),
        text,
        'world',
        (),
        tuple(names),
        np.array(inertias),
        np.asarray(gravity_base),
        tuple(sources),
        tuple(joints),
        wrenches,
        groups,
        tuple(rates),
    )


def _check_driven(group, wrenches):
    """Raise ConfigError where no wrench acts from outside on a ``group`` of names."""
    if not any(len({w.on, w.reaction} & group) == 1 for w in wrenches):
        raise ConfigError(
            f'no wrench acts from outside on {", ".join(sorted(group))}',
            do='a wrench must be measured on them, or every equation is 0 = 0',
        )


def body_groups(
    joints: Sequence[Joint], wrenches: Sequence[Wrench], names: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Return tuples of bodies (indices) that hang together without a sensor in between."""
    measured = {frozenset((w.on, w.reaction)) for w in wrenches}
    groups: list[list[int]] = []
    for k, joint in enumerate(joints):  # after its parent
        if joint.parent < 0 or frozenset((names[k], names[joint.parent])) in measured:
            groups.append([k])
            continue
        (carrier,) = (group for group in groups if joint.parent in group)
        carrier.append(k)
    return tuple(map(tuple, groups))


def _read_wrench(topic, entry, names):
    entry = mapping(entry, f'wrench {topic}')
    on, reaction = (str(entry.get(key, '')) for key in ('acts_on', 'from'))
    bodies = [on]
    if reaction:
        bodies.append(reaction)
    for body in bodies:
        if body not in names:
            raise ConfigError(f'wrench {topic}', found=repr(body), exists=names)
    return Wrench(
        topic,
        on,
        reaction,
        axes_of(entry, f'wrench {topic}'),
        vector(entry.get('point', (0, 0, 0)), f'point of wrench {topic}'),
        rotation_of(entry.get('rpy', (0, 0, 0)), f'rpy of wrench {topic}'),
    )
