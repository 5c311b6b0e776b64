"""
Drives: what a driver reports on the motor's side of gears and couplings, on the joint's side.

Motor angles = C G joint angles with gear ratios G and coupling C, so by virtual work joint
torques = G C' motor torques.  Khalil and Dombre 2002, ch. 9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .channels import columns_of
from ..recording import Channel
from ...errors import ConfigError
from ...options import option, pasted

COMMAND = 'command'


@dataclass(frozen=True)
class DriveOptions:
    """On which side of the gears signals are measured."""

    effort_kind: str = option(
        'link',
        'what effort is: torque on the link side, the same with opposite sign, on the '
        'motor side, or current; command: none is measured, it follows from commands, stiffness '
        'and damping',
        choices=('link', 'link_negated', 'motor', 'current', COMMAND),
    )
    stiffness: tuple[float, ...] = option(
        (), 'of the position control of commanded drives, one per joint', unit='N m/rad'
    )
    damping: tuple[float, ...] = option(
        (),
        'the same per difference of velocities, one per joint; empty: found as viscous friction, '
        'and no torque is limited',
        unit='N m s/rad',
    )
    position_kind: str = option(
        'link',
        'what position and velocity are: of the joint, or of the motor',
        choices=('link', 'motor'),
    )
    gear_ratio: tuple[float, ...] = option(
        (), 'motor turns per joint turn, one per joint; empty: 1'
    )
    drive_gain: tuple[float, ...] = option(
        (), 'motor torque per current, one per joint; empty: 1', unit='N m/A'
    )
    calibration: tuple[float, ...] = option(
        (),
        'relative standard error of the scale of the efforts, one per joint, as inertial-id '
        'drive-gains prints it; empty: .01',
        at_least=0.0,
    )
    coupling: tuple[float, ...] = option(
        (),
        'matrix C (row by row) of a coupled drive: motor angles = C (gear_ratio joint '
        'angles); empty: none',
    )
    position_offset: tuple[float, ...] = option(
        (), 'joint angle where the recorded position is zero, one per joint; empty: 0', unit='rad'
    )


def is_commanded(effort_kind: str) -> bool:
    """Return whether efforts of a kind are not measured, but follow from commands."""
    return effort_kind == COMMAND


def is_limited(effort_kind: str, damping: Sequence[float]) -> bool:
    """
    Return whether efforts by commands end at the effort limit.

    Stiffness alone says more than the drive gives: an unknown damping takes some of it away.
    """
    return bool(damping) or not is_commanded(effort_kind)


def gains_to_paste(
    method: str, kind: str, gains: Mapping[str, float | None], errors: Mapping[str, float]
) -> str:
    """
    Return the line of a configuration with gains that were found, see ``pasted``.

    kind : of effort; gains : {joint: drive_gain or stiffness, None where it was not determined},
    which becomes the middle one with an error of as much; errors : relative standard errors
    """
    found = [gain for gain in gains.values() if gain is not None]
    middle = float(np.median(found))
    values, calibration = [], []
    for joint, gain in gains.items():
        value, error = middle, 1.0
        if gain is not None:
            value, error = gain, errors[joint]
        values.append(float(f'{value:.6g}'))
        calibration.append(float(f'{error:.2g}'))
    name = 'drive_gain'
    if is_commanded(kind):
        name = 'stiffness'
    return pasted(method, {'effort_kind': kind, name: values, 'calibration': calibration})


def motor_turns(options: DriveOptions, count: int) -> np.ndarray:
    """
    Return the matrix C G (n, n): motor angles per joint angle.

    Raises ConfigError for lists of another length and a matrix without inverse.
    """
    if len(options.coupling) not in (0, count * count):
        raise ConfigError(
            'option coupling',
            expected=f'{count * count} values, row by row',
            found=f'{len(options.coupling)} values',
        )
    coupling = np.eye(count)
    if len(options.coupling):
        coupling = np.asarray(options.coupling, dtype=float).reshape(count, count)
    turns = coupling @ np.diag(per_joint(options.gear_ratio, 'gear_ratio', count))
    if abs(np.linalg.det(turns)) < 1e-12:
        raise ConfigError(
            'gear_ratio and coupling',
            found='motors that cannot place all joints',
            expected='a matrix that has an inverse',
        )
    return turns


def motor_speeds(options: DriveOptions, count: int) -> dict[int, np.ndarray]:
    """Return {motor: (n,)} of motors that several joints turn: their speed per joint speed."""
    turns = motor_turns(options, count)
    rows = turns
    if np.all(np.diag(turns)):
        rows = turns / np.diag(turns)[:, None]
    return {k: row for k, row in enumerate(rows) if np.count_nonzero(row) > 1}


def joint_side(channel: Channel, joints: Sequence[str], options: DriveOptions) -> Channel:
    """Return a Channel of joint states whose positions and velocities are those of ``joints``."""
    count = len(joints)
    offset = np.zeros(count)
    if len(options.position_offset):
        offset = per_joint(options.position_offset, 'position_offset', count)
    if options.position_kind == 'link' and not np.any(offset):
        return channel
    if not set(joints) <= set(channel.names):
        return channel  # whoever needs those that are missing will say so
    turns = _joint_turns(options, count)
    columns = columns_of(channel, joints)
    fields = dict(channel.fields)
    for name, zero in (('position', offset), ('velocity', np.zeros(count))):
        if name not in fields:
            continue
        of_motors, of_joints = fields[name][:, columns], fields[name].copy()
        for j, row in enumerate(turns):
            motors = np.flatnonzero(row)  # a motor that is missing spoils only its joints
            of_joints[:, columns[j]] = of_motors[:, motors] @ row[motors] + zero[j]
        fields[name] = of_joints
    return replace(channel, fields=fields)


def _joint_turns(options: DriveOptions, count: int) -> np.ndarray:
    """Return the matrix (n, n) of joint angles per recorded angle, of motors or of joints."""
    if options.position_kind == 'link':
        return np.eye(count)
    turns = np.linalg.inv(motor_turns(options, count))
    turns[abs(turns) < 1e-12 * abs(turns).max()] = 0.0
    return turns


def per_joint(values: Sequence[float], name: str, count: int) -> np.ndarray:
    """Return the ``values`` of an option (n,), of which one stands for all; ones without any."""
    if len(values) not in (0, 1, count):
        raise ConfigError(
            f'option {name}',
            expected=f'{count} values, one per joint',
            found=f'{len(values)} values',
        )
    if not len(values):
        return np.ones(count)
    return np.broadcast_to(np.asarray(values, dtype=float), count)
