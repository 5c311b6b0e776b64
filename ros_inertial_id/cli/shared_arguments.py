"""Arguments that several verbs share, with their words."""

import argparse

from ..share import config_file

MOUNTING = 'how the base is mounted: upright; "rpy R P Y" [rad]; "gravity X Y Z"; ' \
           '"rho_phi RHO PHI"; imu; default: as the bag says'
RIG_MOUNTING = 'how the world of the markers stands: upright (default); "gravity X Y Z"; ...'
METHOD = 'serial_arm (default), closed_loop, rigid_body or suspended_platform'
LOAD = ('"MASS X Y Z" of a point, "MASS X Y Z A B C" of a block with edges A B C [m] along the '
        'axes, or ten standard parameters')


def add_config(verb: argparse.ArgumentParser, block: str) -> None:
    """Add the configuration to the parser ``verb``, of which it reads a ``block``."""
    verb.add_argument('--config', default='', type=config_file,
                      help=f'YAML with a block {block}, or a name in config/ of the package')


def add_estimator(verb: argparse.ArgumentParser) -> None:
    """Add what chooses the method and its options to the parser ``verb``."""
    add_config(verb, 'named as the method')
    verb.add_argument('--method', default='', metavar='METHOD', help=METHOD)
    verb.add_argument('--estimator', help='ridge (default), weighted, ordinary, robust, ...')
    verb.add_argument('--consistent', action='store_const', const=True,
                      help='physically consistent links (positive definite pseudo-inertia): '
                      'full parameters')


def add_report(verb: argparse.ArgumentParser) -> None:
    """Add the page of the result to the parser ``verb``."""
    verb.add_argument('--report', default='', metavar='FILE', help='HTML page to write; default: '
                      'none')


def add_rig(verb: argparse.ArgumentParser, method: str) -> None:
    """
    Add the description of a rig and its settings to a parser.

    verb : the parser; method : name of the block that holds the settings
    """
    verb.add_argument('rig', help='description of the rig, a YAML')
    add_config(verb, method)
    verb.add_argument('--mounting', help=RIG_MOUNTING)


def add_loads(verb: argparse.ArgumentParser, frame: str, less: str = '') -> None:
    """
    Add recordings with and without a known load to a parser.

    verb : the parser; frame : in which the load is given, in words; less : that would do, too
    """
    verb.add_argument('--empty', action='append', default=[], metavar='BAG',
                      help='recording without a load; may be given several times')
    verb.add_argument('--loaded', nargs=2, action='append', default=[], metavar=('BAG', 'LOAD'),
                      help=f'recording with a known load, {LOAD}, {frame}{less}; may be given '
                      'several times')
