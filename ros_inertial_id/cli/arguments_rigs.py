"""The arguments of the verbs for rigs and drives."""

import argparse

from .shared_arguments import add_config, add_loads, add_report, add_rig, MOUNTING


def add_calibrate(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``calibrate`` to its parser ``verb``."""
    add_rig(verb, 'suspended_platform')
    add_loads(verb, "in the platform's frame")
    verb.add_argument('--out', required=True, help="description to write: the rig's, calibrated")
    add_report(verb)


def add_postures(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``postures`` to its parser ``verb``."""
    add_rig(verb, 'suspended_platform')
    verb.add_argument('postures', nargs='?', default='',
                      help='YAML of postures with their moments, see '
                      'rigs/suspended_platform/postures.py')
    verb.add_argument('--held', action='append', default=[], metavar='BAG',
                      help='free vibration on the calibrated rig with the links held in a '
                      'posture; may be given several times')


def add_frequencies(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``frequencies`` to its parser ``verb``."""
    add_rig(verb, 'suspended_platform')
    verb.add_argument('frequencies', help='YAML of postures with their frequencies, or bags of '
                      'free decays; see rigs/suspended_platform/held_frequencies.py')


def add_sensors(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``sensors`` to its parser ``verb``."""
    add_rig(verb, 'rigid_body')


def add_drive_gains(verb: argparse.ArgumentParser) -> None:
    """Add the arguments of ``drive-gains`` to its parser ``verb``."""
    add_loads(verb, 'in the joint frame of the link that carries it',
              ', or "MASS" alone: the rest is found')
    verb.add_argument('--gain', action='append', default=[], metavar='JOINT=GAIN',
                      help='torque per effort that is known; may be given several times')
    verb.add_argument('--link', default='', help='that carries the loads; default: the last')
    verb.add_argument('--urdf', help='robot description; default: the one in the bag')
    add_config(verb, 'named as the method')
    verb.add_argument('--method', default='', choices=['', 'serial_arm', 'closed_loop'],
                      metavar='METHOD', help='serial_arm or closed_loop')
    verb.add_argument('--mounting', help=MOUNTING)
