"""
The mechanisms of benchmark/machines.py that MuJoCo moves, as MJCF: cylinders, slides and a wrist.

Their geometry was chosen before any of them was identified.  Motors have an inertia of their own,
reflected by screws and gears, and viscous friction.
"""

from dataclasses import dataclass
import re

import benchmark_mechanisms
import numpy as np

SIN_60 = np.sqrt(3.0) / 2.0


@dataclass(frozen=True)
class Driven:
    """An MJCF whose ``motors`` follow sums of sines of ``size`` [rad, m] each."""

    mjcf: str
    motors: tuple[str, ...]
    size: tuple[float, ...]


def gripper():
    """Return two fingers that a slide opens by a rod each."""
    return Driven(benchmark_mechanisms.gripper(), ('screw',), (0.018,))


def excavator():
    """Return a boom and a stick in a vertical plane, each pushed by an electric cylinder."""
    boom_cylinder, stick_cylinder = np.hypot(0.25, 0.25), np.hypot(0.475, 0.15 * SIN_60 - 0.1)
    stick_turn = np.arctan2(0.15 * SIN_60 - 0.1, 0.475)
    stick = _body(
        'stick pos="0.8 0 0" axisangle="0 1 0 1.0471975512"',
        _inertial(3.0, (0.28, 0.01, 0.02), (0.02, 0.11, 0.1)),
        'axis="0 1 0" damping="0.8"',
    )
    boom = _body(
        'boom pos="0 0 0.3"',
        _inertial(6.0, (0.35, 0.02, 0.03), (0.05, 0.4, 0.38)),
        'axis="0 -1 0" damping="1.5"',
        stick + _cylinder('lever', '0.25 0 0.1', stick_turn, 0.25),
    )
    closed = (
        f'<connect body1="lift_rod" body2="boom" anchor="{boom_cylinder - 0.2:.12g} 0 0"/>'
        f'<connect body1="lever_rod" body2="stick" anchor="{stick_cylinder - 0.25:.12g} 0 0"/>'
    )
    bodies = boom + _cylinder('lift', '0.15 0 0', np.pi / 4, 0.2)
    return Driven(_mjcf('excavator', bodies, closed), ('lift_rod', 'lever_rod'), (0.1, 0.05))


def scissor_lift():
    """Return a platform on two crossed arms, one of which a slide on the floor pushes."""
    length, way = 0.6, 0.6 * SIN_60
    arm = _inertial(3.0, (0.31, 0.01, 0.015), (0.004, 0.1, 0.1))
    shoe = _body(
        f'shoe pos="{way:.12g} 0 0"',
        _inertial(0.5, (0.0, 0.0, 0.01), (4e-4, 5e-4, 6e-4)),
        'type="slide" axis="1 0 0" damping="12"',
    )
    platform = _body(
        f'platform pos="{length} 0 0" axisangle="0 1 0 2.6179938780"',
        _inertial(8.0, (0.24, -0.02, 0.06), (0.15, 0.4, 0.5)),
        'axis="0 1 0"',
        shoe,
    )
    second = _body('second axisangle="0 1 0 -2.6179938780"', arm, 'axis="0 1 0"', platform)
    first = _body(
        'first pos="0 0 0.1" axisangle="0 1 0 -0.5235987756"', arm, 'axis="0 1 0" damping="0.6"'
    )
    carriage = _body(
        f'carriage pos="{way:.12g} 0 0.1"',
        _inertial(2.0, (0.01, 0.0, 0.02), (0.004, 0.005, 0.006)),
        'type="slide" axis="1 0 0" damping="90" armature="40"',
        second,
    )
    closed = (
        '<connect body1="first" body2="second" anchor="0.3 0 0"/>'
        '<connect body1="first" body2="shoe" anchor="0.6 0 0"/>'
    )
    return Driven(_mjcf('scissor_lift', first + carriage, closed), ('carriage',), (0.05,))


def spherical_wrist():
    """Return a load that two yokes with crossing axes point, five axes through one centre."""
    load = _body(
        'load',
        _inertial(1.2, (0.01, 0.02, 0.06), (0.004, 0.005, 0.003)),
        'axis="0 1 0" damping="0.02"',
    )
    roll = _body(
        'roll pos="0 0 0.3"',
        _inertial(0.6, (0.02, -0.03, 0.01), (0.003, 0.002, 0.004)),
        'axis="1 0 0" damping="0.15" armature="0.03"',
        load,
    )
    link = _body('link', _inertial(0.2, (0.0, 0.01, 0.05), (6e-4, 7e-4, 2e-4)), 'axis="1 0 0"')
    pitch = _body(
        'pitch pos="0 0 0.3"',
        _inertial(0.7, (0.04, 0.01, -0.02), (0.002, 0.004, 0.004)),
        'axis="0 1 0" damping="0.12" armature="0.025"',
        link,
    )
    closed = '<connect body1="load" body2="link" anchor="0 0 0.1"/>'
    return Driven(_mjcf('spherical_wrist', roll + pitch, closed), ('roll', 'pitch'), (0.5, 0.5))


def _cylinder(name, place, turn, way):
    """Return a barrel that points up by ``turn`` [rad], and its rod, ``way`` [m] along it."""
    rod = _body(
        f'{name}_rod pos="{way} 0 0"',
        _inertial(0.5, (0.05, 0.0, 0.004), (2e-4, 0.002, 0.002)),
        'type="slide" axis="1 0 0" damping="150" armature="40"',
    )
    return _body(
        f'{name} pos="{place}" axisangle="0 1 0 {-turn:.12g}"',
        _inertial(1.0, (0.12, 0.005, 0.0), (0.001, 0.006, 0.006)),
        'axis="0 1 0"',
        rod,
    )


def _body(named, inertial, moves, carries=''):
    """
    Return a <body> with a joint of its name.

    named : its name and its place; moves : how its joint moves; carries : bodies on it
    """
    name, _, place = named.partition(' ')
    joint = f'<joint name="{name}" {moves}/>'
    return f'<body name="{name}" {place}>{inertial}{joint}{carries}</body>'


def _inertial(mass, centre, moments):
    """Return the <inertial> of a body."""
    place, about = (' '.join(map(str, values)) for values in (centre, moments))
    return f'<inertial mass="{mass}" pos="{place}" diaginertia="{about}"/>'


def _mjcf(name, bodies, closed):
    """Return the MJCF text of ``bodies`` with loops ``closed``, all slides and yokes driven."""
    driven = re.findall(r'joint name="(\w+)"[^>]*armature', bodies)
    motors = ''.join(f'<motor joint="{joint}"/>' for joint in driven)
    return (
        f'<mujoco model="{name}"><compiler angle="radian"/><worldbody>{bodies}</worldbody>'
        f'<equality>{closed}</equality><actuator>{motors}</actuator></mujoco>'
    )
