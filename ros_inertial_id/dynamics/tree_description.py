"""
Tree descriptions: a URDF in the making, with the options that close its loops.

What describes a mechanism in another way (MJCF, YAML) is turned into this: bodies on joints, of
one degree of freedom or of several, and lines of options as doc/describing_mechanisms.md has them.
The text that comes of it is a URDF with one element more, which holds a configuration:

    <robot> ... <ros_inertial_id>closed_loop: {closures: [point a b]}</ros_inertial_id></robot>
"""

from collections.abc import Mapping, Sequence
from html import escape, unescape
from itertools import pairwise
import re

import numpy as np
import pinocchio as pin
import yaml

from ..errors import RobotModelError
from ..options import TAG

X, Y, Z = np.eye(3)
SOURCE = 'mjcf'  # attribute of <robot> that names the MJCF file that it was read from
SINGLE = {'hinge': 'continuous', 'slide': 'prismatic', 'fixed': 'fixed'}  # of URDF, unbounded
# Kinds of several degrees of freedom: suffix, kind and default axis of each joint of one.
COMPOSITE = {
    'universal': (('_1', 'hinge', X), ('_2', 'hinge', Y)),
    'ball': (('_1', 'hinge', X), ('_2', 'hinge', Y), ('_3', 'hinge', Z)),
    'free': (
        ('_x', 'slide', X),
        ('_y', 'slide', Y),
        ('_z', 'slide', Z),
        ('_yaw', 'hinge', Z),
        ('_pitch', 'hinge', Y),
        ('_roll', 'hinge', X),
    ),
}
SEVERAL = {kind: len(joints) for kind, joints in COMPOSITE.items()}  # degrees of freedom
FLOATING = 'floating'  # a joint of URDF whose child goes where it likes: of a base that moves
KINDS = (*SINGLE, *COMPOSITE)
Inertial = tuple[float, np.ndarray, np.ndarray]  # mass, centre and tensor, see ``link``
# Elements of an inertia tensor in the order of a URDF: attribute, row, column.
TENSOR = (
    ('ixx', 0, 0),
    ('ixy', 0, 1),
    ('ixz', 0, 2),
    ('iyy', 1, 1),
    ('iyz', 1, 2),
    ('izz', 2, 2),
)


def placement(
    position: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0), rotation: np.ndarray | None = None
) -> np.ndarray:
    """Return the homogeneous matrix (4, 4) of a position (3,) [m] and a rotation (3, 3)."""
    out = np.eye(4)
    out[:3, 3] = position
    if rotation is not None:
        out[:3, :3] = rotation
    return out


class TreeDescription:
    """
    Links and joints of a tree, added from the base on, and ``options`` of closed_loop.

    source : path of an MJCF that it was read from, '' of what is none
    joints : names of all moving joints so far, in the order they were added
    """

    def __init__(self, name: str, base: str, source: str = '') -> None:
        self.name, self.source, self.joints = name, source, list[str]()
        self.options: dict[str, list[str]] = {}
        self._links, self._parts = [base], [f'<link name="{escape(base)}"/>']

    def say(self, option: str, *lines: str) -> None:
        """Add ``lines`` to an ``option`` of closed_loop."""
        if lines:
            self.options.setdefault(option, []).extend(lines)

    def link(self, name: str, inertial: Inertial | None = None) -> None:
        """
        Add a link, which a joint must carry.

        inertial : (mass [kg], centre (3,) [m], tensor (3, 3) about the centre [kg m^2]) in the
            frame of the link; None for a point, which no mass has
        RobotModelError where there is a link of this name.
        """
        if name in self._links:
            raise RobotModelError('the description has two bodies of one name', found=name)
        self._links.append(name)
        body = ''
        if inertial is not None:
            mass, centre, tensor = inertial
            elements = ' '.join(f'{n}="{float(tensor[i, j]):.15g}"' for n, i, j in TENSOR)
            body = (
                f'<inertial><origin xyz="{_numbers(centre)}"/><mass value="{float(mass):.15g}"'
                f'/><inertia {elements}/></inertial>'
            )
        self._parts.append(f'<link name="{escape(name)}">{body}</link>')

    def point(self, name: str, parent: str, place: np.ndarray) -> str:
        """Add a frame at a ``place`` (4, 4) of the link ``parent``; return its ``name``."""
        self.link(name)
        self._add_joint(f'{name}_fixed', 'fixed', (parent, name), place)
        return name

    def joint(
        self,
        name: str,
        kind: str,
        ends: tuple[str, str],
        place: np.ndarray,
        *,
        axes: Sequence[np.ndarray] = (),
        limits: Mapping[str, float] | None = None,
    ) -> tuple[str, ...]:
        """
        Add a joint; return the names of its joints of one degree of freedom.

        kind : of KINDS, or FLOATING; ends : links (parent, child), the child added already
        place : (4, 4) of the joint in its parent [m]
        axes : (3,) each in the joint's frame, z where there are none: one of a hinge or slide, two
            of a universal joint (x and y), three of a ball joint (x, y and z)
        limits : lower, upper, effort, velocity of a hinge or slide [rad, m, N m, N, 1/s]
        Joints of several degrees of freedom are hinges and slides on links between them, which
        are no bodies: their parameters are known to be zero.
        """
        if kind in ('fixed', FLOATING):
            self._add_joint(name, kind, ends, place)
            return ()
        if kind in SINGLE:
            axis = next(iter(axes), Z)
            self._add_moving(name, kind, ends, place, axis, limits or {})
            return (name,)
        suffixes, kinds, default_axes = zip(*COMPOSITE[kind])
        if len(axes):
            default_axes = tuple(axes)
        names = tuple(name + suffix for suffix in suffixes)
        crosses = [f'{joint}_cross' for joint in names[:-1]]
        links = [ends[0], *crosses, ends[1]]
        for joint, single, axis, pair in zip(names, kinds, default_axes, pairwise(links)):
            if pair[1] in crosses:
                self.link(pair[1])
                self.say('known', pair[1])
            self._add_moving(joint, single, pair, place, axis, {})
            place = np.eye(4)
        return names

    def _add_moving(
        self,
        name: str,
        kind: str,
        ends: tuple[str, str],
        place: np.ndarray,
        axis: np.ndarray,
        limits: Mapping[str, float],
    ) -> None:
        """Add one hinge or slide."""
        if name in self.joints:
            raise RobotModelError('the description has two joints of one name', found=name)
        self.joints.append(name)
        urdf_type, limit = SINGLE[kind], {'effort': 0.0, 'velocity': 0.0, **limits}
        bounded = 'lower' in limits and 'upper' in limits
        if kind == 'hinge' and bounded:
            urdf_type = 'revolute'
        if kind == 'slide' and not bounded:
            limit.update(lower=-1e3, upper=1e3)
        numbers = ' '.join(f'{key}="{value:.15g}"' for key, value in limit.items())
        motion = f'<axis xyz="{_numbers(axis)}"/><limit {numbers}/>'
        self._add_joint(name, urdf_type, ends, place, motion)

    def _add_joint(
        self, name: str, urdf_type: str, ends: tuple[str, str], place: np.ndarray, motion: str = ''
    ) -> None:
        """Add the text of a joint; motion : elements that a joint which moves has besides."""
        rpy = pin.rpy.matrixToRpy(np.ascontiguousarray(place[:3, :3]))
        self._parts.append(
            f'<joint name="{escape(name)}" type="{urdf_type}"><parent link="{escape(ends[0])}"/>'
            f'<child link="{escape(ends[1])}"/>'
            f'<origin xyz="{_numbers(place[:3, 3])}" rpy="{_numbers(rpy)}"/>{motion}</joint>'
        )

    def urdf(self) -> str:
        """Return the text; with options of closed_loop where there are any."""
        attributes = f'name="{escape(self.name)}"'
        if self.source:
            attributes += f' {SOURCE}="{escape(self.source)}"'
        lines = [f'<robot {attributes}>', *self._parts]
        if self.options:
            block = yaml.safe_dump({'closed_loop': self.options}, sort_keys=False, width=90)
            lines.append(f'<{TAG}>\n{escape(block)}</{TAG}>')
        return '\n'.join([*lines, '</robot>', ''])


def mjcf_source(urdf: str) -> str:
    """Return the path of the MJCF file that a text of ``TreeDescription`` was read from, or ''."""
    found = re.search(rf'<robot\b[^>]*\s{SOURCE}="([^"]*)"', urdf)
    if found is None:
        return ''
    return unescape(found[1])


def _numbers(values):
    """Return numbers in words; what is rounding beside the others, or beside one, is zero."""
    values = np.asarray(values, dtype=float)
    values = np.where(np.abs(values) < 1e-14, 0.0, values)
    return ' '.join(f'{value:.15g}' for value in values)
