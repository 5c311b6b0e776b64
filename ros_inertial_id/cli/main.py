"""
inertial-id: identification on bags, with no ROS graph.

Standard output is for results (one JSON object with --json), standard error for progress and
errors.  Exit status 0 on success, 2 on bad input with one line that says what to do.
"""

import argparse
import logging
import os
import sys

from .console import LOAD
from . import verbs, verbs_rigs
from ..errors import InertialIdError
from ..estimation.r_factors import one_thread
from ..methods import METHODS

MOUNTING = 'how the base is mounted: upright; "rpy R P Y" [rad]; "gravity X Y Z"; ' \
           '"rho_phi RHO PHI"; imu; default: as the bag says'
RIG_MOUNTING = 'how the world of the markers stands: upright (default); "gravity X Y Z"; ...'


def main(arguments=None):
    """Run the command line; return the exit status."""
    logging.basicConfig(level=logging.WARNING, format='%(levelname)s: %(message)s')
    options = _parser().parse_args(arguments)
    try:
        with one_thread():
            return options.run(options) or 0
    except InertialIdError as error:
        print(f'inertial-id: {error}', file=sys.stderr)
        return 2
    except BrokenPipeError:  # who reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print('inertial-id: interrupted', file=sys.stderr)
        return 130


def _parser():
    parser = argparse.ArgumentParser(
        prog='inertial-id', description='Identify the inertial parameters of a robot from bags. '
        'A bag may be cut: BAG@START:END, seconds after the first stamp, either may be empty.')
    add = parser.add_subparsers(required=True, metavar='VERB')
    _import(_verb(add, 'import', verbs.import_, 'turn a log (.npz, .csv) into a bag'))
    _identify(_verb(add, 'identify', verbs.identify_, 'identify a model from bags'))

    verb = _verb(add, 'validate', verbs.validate, 'judge a model on a bag')
    verb.add_argument('model', help='model.yaml')
    verb.add_argument('bag', help='bag to judge by')

    verb = _verb(add, 'payload', verbs.payload, 'weigh what an identified arm carries')
    verb.add_argument('model', help='model.yaml of the bare arm')
    verb.add_argument('bags', nargs='+', metavar='BAG', help='recording with the load')
    verb.add_argument('--link', default='', help='that carries it; default: the last')
    verb.add_argument('--frame', default='', help='link in whose frame the numbers are given')

    verb = _verb(add, 'design', verbs.design_, 'design a motion that reveals the parameters')
    verb.add_argument('urdf', help='robot description')
    verb.add_argument('--config', default='', help='YAML with a design block')
    verb.add_argument('--mounting', help=MOUNTING)
    verb.add_argument('--seconds', type=float, help='how long the search may take')
    verb.add_argument('--seed', type=int, help='of the random motions it starts from')
    verb.add_argument('--out', required=True, help='folder for motion.yaml, .csv, .html')

    _rigs(add)
    verb = _verb(add, 'demo', verbs.demo, 'run the whole chain on a simulated robot (needs ROS 2)')
    verb.add_argument('--out', default='demo', help='folder for bags, model and report')
    verb.add_argument('--robot', default='franka', help='franka, arm2, arm3')
    verb.add_argument('--rig', default='', help='instead of an arm: slider_crank, '
                      'suspended_platform, wrist_sensor',
                      choices=['', 'slider_crank', 'suspended_platform', 'wrist_sensor'])
    return parser


def _rigs(add):
    rig = 'description of the rig, a YAML'
    verb = _verb(add, 'calibrate', verbs_rigs.calibrate,
                 'find the springs of a suspended platform from free vibrations')
    verb.add_argument('rig', help=rig)
    _loads(verb, 'in the platform\'s frame')
    _settings(verb, 'suspended_platform')
    verb.add_argument('--out', required=True, help='description to write: the rig\'s, calibrated')

    verb = _verb(add, 'postures', verbs_rigs.postures,
                 'find link parameters from overall moments in held postures')
    verb.add_argument('rig', help=rig)
    verb.add_argument('postures', nargs='?', default='',
                      help='YAML of postures with their moments, see methods/suspended_platform/posture_file.py')
    verb.add_argument('--held', action='append', default=[], metavar='BAG',
                      help='free vibration on the calibrated rig with the links held in a '
                      'posture; may be given several times')
    _settings(verb, 'suspended_platform')

    verb = _verb(add, 'frequencies', verbs_rigs.frequencies,
                 'find link parameters from natural frequencies alone, in held postures')
    verb.add_argument('rig', help=rig)
    verb.add_argument('frequencies', help='YAML of postures with their frequencies, or bags of '
                      'free decays; see methods/suspended_platform/held_frequencies.py')
    _settings(verb, 'suspended_platform')

    verb = _verb(add, 'sensors', verbs_rigs.sensors,
                 'tell which wrench sensors a chain of bodies can do without')
    verb.add_argument('rig', help=rig)
    _settings(verb, 'rigid_body')

    verb = _verb(add, 'drive-gains', verbs_rigs.drive_gains,
                 'find what effort is worth in torque, by a known load or a known gain')
    _loads(verb, 'in the joint frame of the link that carries it')
    verb.add_argument('--gain', action='append', default=[], metavar='JOINT=GAIN',
                      help='torque per effort that is known; may be given several times')
    verb.add_argument('--link', default='', help='that carries the loads; default: the last')
    verb.add_argument('--urdf', help='robot description; default: the one in the bag')
    verb.add_argument('--config', default='', help='YAML with a block of the method\'s name')
    verb.add_argument('--method', default='', choices=['', 'serial_arm', 'closed_loop'],
                      metavar='METHOD', help='serial_arm or closed_loop')
    verb.add_argument('--mounting', help=MOUNTING)


def _settings(verb, method):
    verb.add_argument('--config', default='', help=f'YAML with a {method} block')
    verb.add_argument('--mounting', help=RIG_MOUNTING)


def _loads(verb, frame):
    verb.add_argument('--empty', action='append', default=[], metavar='BAG',
                      help='recording without a load; may be given several times')
    verb.add_argument('--loaded', nargs=2, action='append', default=[], metavar=('BAG', 'LOAD'),
                      help=f'recording with a known load, {LOAD}, {frame}; may be given several '
                      'times')


def _verb(add, name, run, text):
    verb = add.add_parser(name, help=text, description=text)
    verb.set_defaults(run=run)
    verb.add_argument('--json', action='store_true', help='print one JSON object, nothing else')
    return verb


def _import(verb):
    verb.add_argument('log', help='.npz or .csv with time, positions, velocities, torques')
    verb.add_argument('--urdf', required=True, help='robot description, stored in the bag')
    verb.add_argument('--out', required=True, help='bag to write')
    verb.add_argument('--rate', type=float, help='samples per second, for a log without time')
    verb.add_argument('--columns', default='', help='columns of a .csv without a header line, for '
                      'example "time q1..q6 v1..v6 - tau1..tau6"')
    verb.add_argument('--joints', help='joint names in the order of the columns, with commas')


def _identify(verb):
    verb.add_argument('bags', nargs='+', metavar='BAG', help='bag to learn from')
    verb.add_argument('--validate', action='append', default=[], metavar='BAG',
                      help='bag to judge by; may be given several times')
    verb.add_argument('--urdf', help='robot description; default: the one in the bag')
    verb.add_argument('--config', default='', help='YAML with a block of the method\'s name')
    verb.add_argument('--method', default='', choices=['', *METHODS], metavar='METHOD',
                      help=f'one of {", ".join(METHODS)}')
    verb.add_argument('--mounting', help=MOUNTING)
    verb.add_argument('--identify-gravity', nargs='?', const='nominal', metavar='PRIOR',
                      help='find the direction of gravity from the motion and use it; its sign '
                      'is decided by the URDF\'s inertias (nominal, default), by a direction '
                      '"X Y Z", or by nothing (none)')
    verb.add_argument('--estimator', help='ridge (default), weighted, ordinary, robust, ...')
    verb.add_argument('--consistent', action='store_const', const=True,
                      help='full parameters of bodies that can exist')
    verb.add_argument('--urdf-out', help='write the description with the identified inertias '
                      'there: a URDF, or the YAML of a rig (with --consistent)')
    verb.add_argument('--out', required=True, help='folder for model.yaml and report.html')
