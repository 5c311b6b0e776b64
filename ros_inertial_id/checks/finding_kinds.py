"""
What findings say: per name the sentence, the advice, what was compared and how bad it is.

Checks yield a name, joints, an amount and windows; everything that people read stands here.
``says`` and ``do`` are templates of ``str.format``: the check gives what stands in braces, and
``{joints}`` are the names of the joints.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .finding import DOUBTFUL, Finding, MASKED, NATS, NOTE, REMOVED, Window, WRONG

SAMPLES = 'samples'  # unit


@dataclass(frozen=True)
class FindingKind:
    """
    What is said of every finding of one name.

    says : the sentence; do : advice; tests : what is compared with what
    unit : of the amount; a unit of one word is a plural
    severity : note, masked (left out), doubtful (numbers suffer) or wrong (mend it first); a
        check may say another one
    name : of the finding, where several kinds share it
    """

    says: str
    do: str
    tests: str
    unit: str
    severity: str
    name: str = ''


SIGNAL_KINDS: dict[str, FindingKind] = {}

LEFT_OUT = 'left-out residual'
SIGN = (
    'negate them in the driver, or change the sign by effort_kind: (link, link_negated) or '
    'drive_gain:'
)
STAMP_BOTH = 'stamp both when they are measured'
DIFFERENT_VELOCITIES = 'look for a filter of the velocities, or coarse positions, in the driver'


def _cause(says: str, do: str, severity: str = WRONG) -> FindingKind:
    """Return the kind of a cause: its amount is what it takes of the left-out residual."""
    return FindingKind(says, do, LEFT_OUT, REMOVED, severity)


MODEL_KINDS: dict[str, FindingKind] = {
    'effort negated': _cause('the efforts of all joints are negated', SIGN),
    'effort of a joint negated': _cause('the efforts of {joints} are negated', SIGN),
    'efforts permuted': _cause(
        'the efforts are permuted: the column of {columns}',
        'name the joints in the order of the efforts',
    ),
    'effort in another unit': _cause(
        'the efforts of all joints are about {factor} times torques{unit}', '{gains}'
    ),
    'effort in percent': _cause('the efforts are percent of the limits', '{gains}'),
    'effort is a current': _cause(
        'the efforts are no torques: every joint has a gain of its own, as motor currents have',
        '{gains}',
    ),
    'gain of a joint': _cause(
        'the effort of {joints} is {factor} times what the other joints say of the same bodies',
        'check its torque constant and gear ratio',
    ),
    'effort delayed': _cause('the efforts are about {delay} the motion', STAMP_BOTH),
    'effort of a joint delayed': _cause(
        'the efforts of {joints} are {delay} its motion and the other joints',
        'look at its filter and its stamps',
    ),
    'efforts late': FindingKind(
        'the efforts are {delay} the motion',
        STAMP_BOTH,
        'rate of the efforts, under a prior of 5 ms',
        'ms',
        DOUBTFUL,
        'effort delayed',
    ),
    'all positions in degrees': FindingKind(
        'positions and velocities of all joints are in degrees',
        'publish radians',
        LEFT_OUT,
        REMOVED,
        WRONG,
        'position in degrees',
    ),
    'wrong mounting': _cause(
        'the mounting is wrong: gravity is {angle} degrees off the direction given, along '
        '{gravity}',
        'give this gravity as mounting:, if the robot stands so',
    ),
    'gravity compensated': _cause(
        'gravity{whose} has been taken off the efforts already',
        'record the whole motor torque, or give mounting: gravity 0 0 0, or add the same '
        'gravity again',
    ),
    'encoder zero off': _cause(
        'the zero of the position of {joints} is about {zero} rad off',
        'give position_offset: or zero the encoder',
    ),
    'payload not declared': _cause(
        'the last link carries about {mass} kg that the description does not have',
        'add the tool or payload to the description',
        NOTE,
    ),
    'joint slides in the description': _cause(
        'the description has {joints} as prismatic; the efforts are those of a joint that turns',
        'correct the type of the joint in the description',
    ),
    'joints exchanged': _cause(
        'the joints are exchanged: what is called {columns}',
        'name them in the order of the columns: --joints {order}',
    ),
    'contact': FindingKind(
        'the efforts of {joints} are far from what the motion explains: contact, a push or a '
        'collision',
        'move without touching anything',
        'residuals of a joint in a window against those in all others',
        NATS,
        MASKED,
    ),
    'velocity not used': FindingKind(
        'the measured velocities are not used: {why}',
        DIFFERENT_VELOCITIES,
        'left-out residual with either',
        '% of the velocities',
        NOTE,
    ),
    'velocity used': FindingKind(
        'the measured velocities {why}',
        DIFFERENT_VELOCITIES,
        'left-out residual with either',
        '% of the velocities',
        NOTE,
    ),
    'mounting in degrees': FindingKind(
        'the mounting "{mounting}" is in degrees',
        'give mounting: {radians}',
        'angles against one turn',
        'angles',
        WRONG,
    ),
    'cannot be prepared': FindingKind(
        '{why}', 'see the reason', 'the preparation of the signals', 'recordings', WRONG
    ),
    'joints at rest': FindingKind(
        '{joints} {stand} still: nothing is identified there',
        'move every joint',
        'the range of the positions',
        'joints',
        DOUBTFUL,
    ),
    'arm at rest': FindingKind(
        'the arm moves in {moving:.1f} % of the samples: at rest the efforts show static friction '
        'and contact',
        'record a motion',
        'speeds above {speed:g} rad/s',
        '% of the samples',
        DOUBTFUL,
    ),
    'efforts do not follow the motion': FindingKind(
        'the efforts have nothing to do with the motion ({left:.0f} % relative residual)',
        'look whether these efforts and this description are of this robot and this motion, in '
        'kg and m',
        'residual against predicting zero',
        '% of the torque',
        WRONG,
    ),
    'description of another robot': FindingKind(
        'this description does not explain the efforts: {by_description:.0f} % relative residual '
        'by the description alone, {left:.0f} % with any bodies',
        'give the --urdf of this robot, with its joints in this order',
        LEFT_OUT,
        '% of the torque',
        WRONG,
    ),
    'bodies other than described': FindingKind(
        'the torques are about {factor:.2g} times those that the description gives: '
        '{by_description:.0f} % relative residual by the description alone',
        'no recording tells other masses from another unit of the efforts: weigh the robot',
        'left-out residual of the description',
        '% of the torque',
        NOTE,
    ),
    'gains from described masses': FindingKind(
        'with drive_gain: every joint has its described torque to {off:.1f} %, as gains have that '
        'were found by the described masses: then this model repeats those masses',
        'weigh a load: inertial-id drive-gains finds the gains without the described masses',
        'efforts over described torques',
        '% of the torque',
        DOUBTFUL,
    ),
    'impossible inertia': FindingKind(
        'the description has inertias that no body has: {links}',
        'look for a decimal point, or for units other than kg, m and kg m^2',
        'triangle inequality and size',
        'links',
        NOTE,
    ),
}

KINDS = {**SIGNAL_KINDS, **MODEL_KINDS}


def found(
    name: str,
    joints: Sequence[str],
    amount: float,
    windows: tuple[Window, ...] = (),
    severity: str = '',
    **words: Any,
) -> Finding:
    """
    Return the Finding of a ``name`` of KINDS.

    joints : concerned; amount : in the unit of its kind; windows : (start, end) [s]
    severity : where it is not that of its kind; words : what its sentences have in braces
    """
    kind, words = KINDS[name], {'joints': ', '.join(joints), **words}
    return Finding(
        kind.name or name,
        kind.says.format(**words),
        kind.tests.format(**words),
        float(amount),
        kind.unit,
        tuple(joints),
        severity or kind.severity,
        kind.do.format(**words),
        windows,
    )
