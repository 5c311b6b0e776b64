"""
What findings say: per name the sentence, the advice, what was compared and how bad it is.

Checks yield a name, joints, an amount and windows; everything that people read stands here.
``says`` and ``do`` are templates of ``str.format``: the check gives what stands in braces, and
``{joints}`` are the names of the joints.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .finding import DOUBTFUL, Finding, MASKED, NATS, NOTE, REMOVED, Window, WRONG
from ..measurement.signals import EPISODES

SAMPLES = 'samples'  # unit


@dataclass(frozen=True)
class FindingKind:
    """
    What is said of every finding of one kind.

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


QUANTITIES = 'position', 'velocity', 'effort'
PUBLISH_RADIANS = (
    'publish radians; of a log give the unit: --columns "q_*_deg=NAME_* v_*_deg_s=NAME_*"'
)
CORRECT_EITHER = (
    'correct the one that is wrong, to rad and rad/s; if it is the velocities, velocity: auto '
    'differentiates positions'
)

# Of joints: values.
SIGNAL_KINDS: dict[str, FindingKind] = {
    'position in degrees': FindingKind(
        says='the positions of {joints} are in degrees: up to {largest:.3g}, beyond their limits',
        do=PUBLISH_RADIANS,
        tests='positions against the limits of the description',
        unit=SAMPLES,
        severity=WRONG,
    ),
    'position in degrees or percent': FindingKind(
        name='position in degrees',
        says='the positions of {joints} are in degrees, or in percent of their range: up to '
        '{largest:.3g}, beyond their limits',
        do='look which they are: percent taken for degrees makes a wrong model that looks right. '
        'Percent, as LeRobot records without use_degrees, is recorded again; degrees: '
        f'{PUBLISH_RADIANS}',
        tests='positions against the limits of the description',
        unit=SAMPLES,
        severity=WRONG,
    ),
    'position in counts': FindingKind(
        says='the positions of {joints} are whole numbers up to {largest:.4g}, far beyond their '
        'limits: counts of an encoder',
        do='publish radians, from the counts in a turn and at zero',
        tests='positions against the limits of the description',
        unit=SAMPLES,
        severity=WRONG,
    ),
    'position not unwrapped': FindingKind(
        says='the position of {joints} jumps by whole turns, and leaves its limits where these '
        'are put together again',
        do='correct the limits in the description or the zero of the encoder',
        tests='jumps of 2 pi',
        unit=SAMPLES,
        severity=WRONG,
    ),
    'position not unwrapped within limits': FindingKind(
        name='position not unwrapped',
        says='the position of {joints} jumps by whole turns',
        do='nothing to do: turns are put together again',
        tests='jumps of 2 pi',
        unit=SAMPLES,
        severity=NOTE,
    ),
    'two robots on one topic': FindingKind(
        says='the positions alternate between two motions: two robots publish on one topic',
        do='give each robot a topic of its own',
        tests='successive steps',
        unit=SAMPLES,
        severity=WRONG,
    ),
    'efforts without sign': FindingKind(
        says='the efforts of {joints} are never below zero: magnitudes, as servos report their '
        'current',
        do='have the driver report the direction: from magnitudes nothing is identified',
        tests='visits of zero',
        unit=SAMPLES,
        severity=WRONG,
    ),
    'velocity or position negated': FindingKind(
        says='velocity and position of {joints} have opposite signs',
        do='correct the sign of the one that contradicts the description',
        tests='velocity against differentiated position',
        unit=SAMPLES,
        severity=DOUBTFUL,
    ),
    'velocity in another unit': FindingKind(
        says='the velocities of {joints} are {factor:.3g} times what the positions say',
        do=CORRECT_EITHER,
        tests='velocity against differentiated position',
        unit=SAMPLES,
        severity=DOUBTFUL,
    ),
    'velocity in a unit that has a name': FindingKind(
        name='velocity in another unit',
        says='the velocities of {joints} are {factor:.3g} times what the positions say: '
        '{unit_of_velocity}',
        do=CORRECT_EITHER,
        tests='velocity against differentiated position',
        unit=SAMPLES,
        severity=DOUBTFUL,
    ),
    'velocity delayed': FindingKind(
        says='the velocities of {joints} are {milliseconds:.0f} ms {direction} the positions',
        do='look for a filter of the velocities in the driver',
        tests='cross-correlation with differentiated position',
        unit=NATS,
        severity=NOTE,
    ),
    'wrong rate or stamps': FindingKind(
        says='the positions change {factor:.3g} times as fast as the velocities of all joints '
        'say: the stamps are wrong, or the velocities are in another unit',
        do='correct the rate or the stamps, or the velocities; of a log leave these out: '
        '--columns "-=NAME_*"',
        tests='velocity against differentiated position',
        unit=SAMPLES,
        severity=WRONG,
    ),
}

# Of joints and sensors: stamps.
SIGNAL_KINDS |= {
    'stamps begin anew': FindingKind(
        name='stamps run backwards',
        says='the stamps begin anew {steps_back} times in {messages} messages',
        do=f'these are {EPISODES}{{cut}}',
        tests='stamps',
        unit=SAMPLES,
        severity=WRONG,
    ),
    'stamps run backwards': FindingKind(
        says='the stamps run backwards {steps_back} times in {messages} messages',
        do='look for two publishers or two clocks on the topic, or a network that exchanges '
        'messages{cut}',
        tests='stamps',
        unit=SAMPLES,
        severity=WRONG,
    ),
    'messages out of order': FindingKind(
        says='{sorted} of {messages} messages do not come in the order of their stamps, by up to '
        '{milliseconds:.0f} ms; they are sorted, which makes the motion a steady one',
        do='look at the recorder and the network',
        tests='way of the joints in either order',
        unit=SAMPLES,
        severity=NOTE,
    ),
    'clock set back': FindingKind(
        says='the clock was set back by up to {seconds:.3g} s; only {percent:.0f} % of the '
        'messages are used, the longest part that runs forwards, from {start:.3f} to {end:.3f} s',
        do='cut the recording with BAG@START:END to use another part',
        tests='stamps',
        unit=SAMPLES,
        severity=NOTE,
    ),
    'stamps jump': FindingKind(
        says='the stamps jump by {seconds:.2g} s after {messages} messages',
        do='two clocks stamp the topic, or it is stamped before its clock runs: cut the '
        'recording there with @START:END',
        tests='stamps',
        unit='s',
        severity=WRONG,
    ),
    'stamps jitter': FindingKind(
        says='{percent:.0f} % of the stamps are more than {limit:.0f} % of the period off',
        do='stamp messages when they are measured, not when they are published',
        tests='steps of the stamps',
        unit=SAMPLES,
        severity=DOUBTFUL,
    ),
    'stamps in bursts': FindingKind(
        name='stamps jitter',
        says='messages come {messages:.0f} at a time, then none for {milliseconds:.3g} ms',
        do='stamp messages when they are measured, not when they are published; if they are, '
        'look at the load of the network and of the recorder',
        tests='steps of the stamps',
        unit=SAMPLES,
        severity=DOUBTFUL,
    ),
    'messages twice': FindingKind(
        says='{repeated} of {messages} messages come twice',
        do='look for two recorders, bridges or repeated sends',
        tests='messages with the stamp and all values of the one before',
        unit=SAMPLES,
        severity=NOTE,
    ),
    'stamps repeat': FindingKind(
        says='{repeated} of {messages} messages have the stamp of the one before',
        do='stamp messages when they are measured, at the full rate of the driver',
        tests='stamps',
        unit=SAMPLES,
        severity=DOUBTFUL,
    ),
    'messages lost': FindingKind(
        says='{lost} of {messages} messages are lost; all gaps are interpolated',
        do='look at the load of the network and of the recorder',
        tests='whole periods between stamps',
        unit=SAMPLES,
        severity=NOTE,
    ),
    'messages lost in long gaps': FindingKind(
        name='messages lost',
        says='{lost} of {messages} messages are lost; {gaps} gaps, up to {longest:.2g} s, are '
        'too long to interpolate',
        do='look at the load of the network and of the recorder',
        tests='whole periods between stamps',
        unit=SAMPLES,
        severity=NOTE,
    ),
}

# Of joints: samples of any quantity or of all.
SIGNAL_KINDS |= {
    'frozen': FindingKind(
        says='intervals in which no value changes ({percent:.2g} % of the samples)',
        do='look for a blocked driver',
        tests='equal messages in a row',
        unit=SAMPLES,
        severity=MASKED,
    ),
    'samples held': FindingKind(
        says='{percent:.0f} % of the messages in motion repeat the previous one: the sensor is '
        'read less often than it is published',
        do='record at the rate of the driver',
        tests='equal values of all joints at once',
        unit=SAMPLES,
        severity=NOTE,
    ),
}

_QUANTITY_KINDS = {
    '{quantity} not finite': FindingKind(
        says='the {quantity} of {joints} is not finite in {broken} of {messages} messages',
        do='correct its source',
        tests='values that are no numbers',
        unit=SAMPLES,
        severity=MASKED,
    ),
    '{quantity} in none': FindingKind(
        name='{quantity} not finite',
        says='{broken} of {messages} messages carry no {quantity} of {joints}',
        do='look whether another node publishes on the topic; these messages are left out',
        tests='messages that lack what others carry',
        unit=SAMPLES,
        severity=MASKED,
    ),
    '{quantity} not finite too often': FindingKind(
        name='{quantity} not finite',
        says='the {quantity} of {joints} is not finite in {broken} of {messages} messages',
        do='correct its source, or cut the recording with @START:END',
        tests='values that are no numbers',
        unit=SAMPLES,
        severity=WRONG,
    ),
    '{quantity} held': FindingKind(
        name='samples held',
        says='{percent:.0f} % of the {quantity} in motion repeat the previous one: the sensor is '
        'read less often than it is published',
        do='record at the rate of the driver',
        tests='equal values of all joints at once',
        unit=NATS,
        severity=NOTE,
    ),
    '{quantity} stuck': FindingKind(
        says='the {quantity} of {joints} keeps one value for {seconds:.2g} s while the joint '
        'moves',
        do='look at the {quantity} of {joints} in the driver',
        tests='runs of one value',
        unit=SAMPLES,
        severity=MASKED,
    ),
    '{quantity} clipped': FindingKind(
        says='the {quantity} of {joints} is clipped at {largest:.4g} in {percent:.2g} % of the '
        'samples',
        do='move with smaller efforts or widen the range of the sensor',
        tests='samples exactly at an extreme value',
        unit=SAMPLES,
        severity=DOUBTFUL,
    ),
    '{quantity} quantised': FindingKind(
        says='the {quantity} of {joints} comes in steps of up to {percent:.2g} % of its '
        'standard deviation',
        do='record with more digits',
        tests='gaps between the values that occur',
        unit=SAMPLES,
        severity=NOTE,
    ),
    '{quantity} spikes': FindingKind(
        says='spikes in the {quantity} of {joints}',
        do='look for broken messages or cables',
        tests='samples that a jump parts from their neighbours',
        unit=SAMPLES,
        severity=MASKED,
    ),
    '{quantity} jumps at an end': FindingKind(
        name='{quantity} spikes',
        says='the {quantity} of {joints} jumps where the recording begins or ends',
        do='look for broken messages or cables',
        tests='samples that a jump parts from their neighbours',
        unit=SAMPLES,
        severity=MASKED,
    ),
}

for _quantity in QUANTITIES:
    for _name, _kind in _QUANTITY_KINDS.items():
        SIGNAL_KINDS[_name.replace('{quantity}', _quantity)] = replace(
            _kind,
            name=_kind.name.replace('{quantity}', _quantity),
            says=_kind.says.replace('{quantity}', _quantity),
            do=_kind.do.replace('{quantity}', _quantity),
        )

SIGNAL_KINDS['base moves'] = FindingKind(
    says='the base moves: its IMU {topic} turns with {turning:.2g} rad/s and changes by '
    '{shoved:.2g} m/s^2 (RMS)',
    do='this base moves: identify with --method floating_base (base: carried, or feet:)',
    tests='readings of an IMU on the base',
    unit='rad/s',
    severity=WRONG,
)
SIGNAL_KINDS['no checksums'] = FindingKind(
    says='single wild values may be damage to the bag: {storage} has no checksums that would '
    'show it',
    do='read another copy of the bag; "ros2 bag record -s mcap" writes checksums',
    tests='spikes in a bag without checksums',
    unit='bags',
    severity=NOTE,
)
SIGNAL_KINDS['effort jumps at an end'] = replace(
    SIGNAL_KINDS['effort jumps at an end'],
    do='look for broken messages or cables, unless friction sets in there',
)

# Of sensors: a channel of a topic, whose name stands where those of joints do.
SIGNAL_KINDS |= {
    'sensor frozen': FindingKind(
        name='frozen',
        says='{channel} repeats the same values ({percent:.2g} % of the messages)',
        do='look for a blocked driver',
        tests='equal messages in a row',
        unit=SAMPLES,
        severity=NOTE,
    ),
    'clipped': FindingKind(
        says='{channel} stops at its largest value in {percent:.2g} % of the messages',
        do='widen the range of the sensor',
        tests='samples exactly at an extreme value',
        unit=SAMPLES,
        severity=DOUBTFUL,
    ),
    'spikes': FindingKind(
        says='{channel} has spikes',
        do='look for broken messages or exchanged markers',
        tests='samples that leave both neighbours',
        unit=SAMPLES,
        severity=NOTE,
    ),
}

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
    'effort named as a current': FindingKind(
        'the efforts are no torques: the log names them as currents, and no drive_gain is given',
        'write the line that inertial-id drive-gains --empty LOG prints to gains.yaml, and give '
        'it as inertial-id identify --config gains.yaml; name columns that are torques: '
        '--columns "tau_*=NAME_*"',
        'names and units of the columns',
        '% of the torque',
        WRONG,
        'effort is a current',
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
        'rate of the efforts, under a prior of 1 ms with heavy tails',
        'ms',
        DOUBTFUL,
        'effort delayed',
    ),
    'all positions in degrees': FindingKind(
        'positions and velocities of all joints are in degrees',
        PUBLISH_RADIANS,
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
    'link described otherwise': _cause(
        'the description of {masses}, the other links taken as described',
        'correct its inertial, or add what is mounted on it',
        NOTE,
    ),
    'effort offset drifts': _cause(
        'the efforts of {joints} drift by {size} {unit} from the beginning to the end '
        '({share:.2g} % of the torque)',
        'record again when drives and sensors are warm, or identify parts of it: @START:END',
    ),
    'effort gain drifts': _cause(
        'the efforts of all joints change by {percent} % from the beginning to the end',
        'record again when the drives are warm',
    ),
    'effort gain jumps': _cause(
        'the efforts of {joints} change by {percent} % about {start} s after the beginning',
        'look for what was switched or set there; cut the recording there: @START:END',
    ),
    'effort offset jumps': _cause(
        'the efforts of {joints} jump by {size} {unit} about {start} s after the beginning '
        '({share:.2g} % of the torque)',
        'look for a sensor that slipped or was zeroed there; cut the recording there: @START:END',
    ),
    'load changes': _cause(
        'what the last link carries changes by {size} kg about {start} s after the beginning',
        'declare what it carries; cut the recording there: @START:END',
    ),
    'joint slides in the description': _cause(
        'the description has {joints} as prismatic; the efforts are those of a joint that turns',
        'correct the type of the joint in the description',
    ),
    'joints exchanged': _cause(
        'the joints are exchanged: what is called {columns}',
        'name them in the order of the columns: --joints {order}',
    ),
    'branches alike': FindingKind(
        'the log names no joints, and the torques cannot tell these branches from each other: '
        '{branches}',
        'look which of them the first columns move, and name the joints in the order of the '
        'columns: --joints',
        LEFT_OUT,
        'pairs',
        NOTE,
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
    'links without inertia': FindingKind(
        '{why}', 'see the reason', 'the masses of the description', 'recordings', WRONG
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
        'give the description of this robot, with its joints in this order',
        LEFT_OUT,
        '% of the torque',
        WRONG,
    ),
    'bodies other than described': FindingKind(
        'the description alone leaves {by_description:.0f} % of the torque{factor}',
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
    'placeholders described': FindingKind(
        'the description has numbers that nobody measured: {links}',
        'efforts that look like currents or like another unit may be torques: weigh the links, '
        'and see inertial-id audit',
        'masses and moments against each other',
        'links',
        NOTE,
    ),
    'sides described unlike': FindingKind(
        'the description gives {links} other bodies than their mirror images',
        'joints that fit better when exchanged may be in order: compare both sides, and see '
        'inertial-id audit',
        'bodies on both sides',
        'links',
        NOTE,
    ),
}

# Of rigs.
RIG_KINDS: dict[str, FindingKind] = {
    'forces late': FindingKind(
        'the measured forces and torques are {delay} the motion, and are read where it is',
        'nothing to do: the delay is taken off',
        'rate of the forces, under a prior of 1 ms with heavy tails',
        'ms',
        NOTE,
    ),
    'residual beyond noise': FindingKind(
        'the residual of {row} is {times:.1f} times what the noise of the channels makes',
        'look for what moves or pushes besides, and whether springs, lengths, layouts, '
        'masses, loads and units are as described',
        'the residual against noise drawn once more',
        'times the noise',
        WRONG,
    ),
}

KINDS = {**SIGNAL_KINDS, **MODEL_KINDS, **RIG_KINDS}


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
