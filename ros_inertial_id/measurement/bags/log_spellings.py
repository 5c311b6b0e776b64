"""
What the columns of a log are, by their names: tables of words and units, and column_meaning.

A column (n,) of one joint is ``q_<joint>``, ``q.<joint>``, ``q/<joint>``, ``q[<joint>]``, ``q1``,
``<joint>_position``, ``msg.q1``, ``state.q[0]``, or ``/topic/<joint>/position``; in small or large
letters.  A matrix (n, k) is ``q``, ``data.q``, ``joint_positions``.  Units stand in brackets,
"q1 [deg]", or as ``time_ms``; without one columns are SI.  A spelling that is not understood is a
word more in a row of WORDS, UNITS or QUALIFIERS.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
import re

import numpy as np

JOINT_QUANTITIES = ('position', 'velocity', 'effort')
TIME, NAMES = 'time', 'names'


@dataclass(frozen=True)
class QuantityWords:
    """A row: what logs call a quantity, the best first; is_current : no torques."""

    quantity: str
    spellings: tuple[str, ...]
    is_current: bool = False


@dataclass(frozen=True)
class Unit:
    """A row: spellings of a unit; scale : to SI, of a time to ns; is_current : of no torque."""

    spellings: tuple[str, ...]
    scale: float
    is_current: bool = False


WORDS = (
    QuantityWords(
        'position', ('position', 'positions', 'pos', 'q', 'qpos', 'observation.state', 'theta')
    ),
    QuantityWords('velocity', ('velocity', 'velocities', 'vel', 'v', 'dq', 'qd', 'qdot', 'qvel')),
    QuantityWords(
        'effort',
        ('effort', 'efforts', 'torque', 'torques', 'tau', 'tau_j', 'trq', 'qfrc_actuator'),
    ),
    QuantityWords('effort', ('current', 'currents'), is_current=True),
    QuantityWords(TIME, ('stamp', 'timestamp', 'time_stamp', 'time', 'times', 't', 'tick')),
    QuantityWords(NAMES, ('joint_names', 'names', 'name', 'joints')),  # of joints, in cells
)
UNITS = (
    Unit(('rad', 'rad/s', 'rad/sec', 'rad_s', 'radians', 'm', 'm/s'), 1.0),
    Unit(('n', 'nm', 'n m', 'n*m', 'n.m', 'n·m'), 1.0),
    Unit(('a', '%'), 1.0, is_current=True),
    Unit(('mrad', 'mm', 'mm/s', 'mnm', 'nmm', 'n mm', 'n*mm', 'n.mm', 'n·mm'), 1e-3),
    Unit(('ma',), 1e-3, is_current=True),
    Unit(('deg', '°', 'deg/s', '°/s', 'deg/sec', 'deg_s', 'degrees', 'dps'), np.pi / 180),
    Unit(('rpm',), np.pi / 30),
)
UNITS_WITHOUT_BRACKETS = ('deg', 'deg_s', 'rad', 'rad_s', 'rpm', 'dps', 'nm', 'mnm')  # q1_deg
TIME_UNITS = (
    Unit(('s', 'sec', 'secs'), 10**9),
    Unit(('ms', 'msec', 'msecs'), 10**6),
    Unit(('us', 'usec', 'µs'), 1000),
    Unit(('ns', 'nsec', 'nsecs', 'nanosec'), 1),
)
NO_UNIT = Unit((), 0)
QUALIFIERS = {  # words beside that of the quantity
    'measured': (
        *('raw', 'meas', 'measured', 'msr', 'actual', 'filtered', 'est'),
        *('present', 'feedback'),
    ),
    'commanded': (
        *('des', 'desired', 'cmd', 'command', 'commands', 'commanded', 'ref', 'reference'),
        *('target', 'setpoint', 'goal', 'action'),
    ),
    'commanded effort': ('ff', 'feedforward'),
    'no sensor': ('error', 'external'),
}


def _by_spelling(rows: Iterable[Unit]) -> dict[str, Unit]:
    return {spelling: row for row in rows for spelling in row.spellings}


UNIT_OF = _by_spelling(UNITS)
TIME_UNIT_OF = _by_spelling(TIME_UNITS)
_SPELLED = [(spelling, row) for row in WORDS for spelling in row.spellings]
_WORDS_OF = dict(_SPELLED)
_PREFERENCE = {spelling: rank for rank, (spelling, _) in enumerate(_SPELLED)}
# Among the times of one log PlotJuggler's goes first, then seconds with their nanoseconds beside.
PLOTJUGGLER_TIME, PAIRED_TIME, HEADER_TIME, NAMED_TIME = range(4)


def _one_of(*words: str) -> str:
    return '|'.join(map(re.escape, sorted(words, key=len, reverse=True)))


def _words_of(*quantities: str) -> str:
    return _one_of(*(word for word, row in _WORDS_OF.items() if row.quantity in quantities))


_WORD = rf'(?P<word>{_words_of(*JOINT_QUANTITIES)})'
_LABEL = r'((?P<number>\d+)|[_./ \[](?P<joint>[^\]]+)\]?)?'
_FORMS = tuple(  # how the words of a quantity and a joint stand together; the first that fits
    re.compile(form, re.I)
    for form in (
        rf'/(.*/)?(?P<joint>[^/]+)/{_WORD}',  # /joint_states/elbow/position
        rf'(joint[_ ]?)?{_WORD}{_LABEL}',  # q, q1, q_elbow, q[0], joint_positions
        rf'(?P<joint>.+)[_. ]{_WORD}',  # elbow_position, Axis 1 Position
        rf'.*[./](joint[_ ]?)?{_WORD}{_LABEL}',  # msg.q1, state.q[0], data.q
    )
)
_TIME_UNIT = rf'(?P<unit>{_one_of(*TIME_UNIT_OF)})'
_TIME = re.compile(
    rf'(%|__|.*[./])?(?P<word>header[._/]stamp|{_words_of(TIME)})'
    rf'(([ _./]+[\[(]?|[\[(]){_TIME_UNIT}[\])]?)?|(?P<part>secs?|nsecs?|nanosec)',
    re.I,
)
_NAMES = re.compile(rf'(.*[./])?({_words_of(NAMES)})[_\[]?(?P<number>\d*)\]?', re.I)
_UNIT = re.compile(
    rf'(?<=\S)(\s+\[|\s*\()(?P<bracketed>{_one_of(*UNIT_OF)})[\])]$|'
    rf'(?<=\w)[_ ](?P<bare>{_one_of(*UNITS_WITHOUT_BRACKETS)})(?=$|_\d)',
    re.I,
)


def _qualifier(words: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of ``words`` with one separator: actual_q1, cmd.q1, q_actual, q_cmd1."""
    word = _one_of(*words)
    return re.compile(
        rf'(?<![^_./ ])({word})[_ ]|^({word})[./]|[_./ ]({word})(?=$|[./\[\d])', re.I
    )


_MEASURED = _qualifier(QUALIFIERS['measured'])
_COMMANDED = _qualifier((*QUALIFIERS['commanded'], *QUALIFIERS['commanded effort']))
_COMMANDED_POSITION = re.compile(  # command_1, whose quantity no word says
    rf'(?<![^_./ ])({_one_of(*QUALIFIERS["commanded"])})(?=$|[_./ \[\d])', re.I
)
_NO_SENSOR = re.compile(
    rf'(^|[_./ ])({_one_of(*QUALIFIERS["no sensor"])})($|[_./ \[])|(tau|torque)_?ext', re.I
)
_OF_JOINT_J = re.compile(r'tau_(j\d+)$', re.I)  # beside q_j1; beside q1 libfranka's of joint 1
_DESIRED = re.compile(r'_d(?=$|[_./ \[\d])')  # of libfranka, beside the same without it


@dataclass(frozen=True)
class ColumnMeaning:
    """
    What the name of a column says.

    quantity : one of JOINT_QUANTITIES, TIME, or NAMES
    joint : its name or number; '' where the column is of all joints or of none
    rank : among spellings of one quantity in one log the lowest is used
    scale : to SI; of a time to ns, 0 where the name has no unit
    is_current : an effort that is no torque; is_commanded : what a joint was to do
    """

    quantity: str
    joint: str = ''
    rank: tuple[int, ...] = ()
    scale: float = 1.0
    is_current: bool = False
    is_commanded: bool = False

    @property
    def is_measured(self) -> bool:
        """Return whether the column is what a joint did."""
        return self.quantity in JOINT_QUANTITIES and not self.is_commanded


def column_meaning(name: str) -> ColumnMeaning | None:
    """Return what a column of this ``name`` holds, None where no row of the tables says it."""
    text = name.strip()
    if time := _TIME.fullmatch(text):
        return _time_meaning(time)
    text, unit = _without_unit(text)
    if names := _NAMES.fullmatch(text):
        return ColumnMeaning(NAMES, names['number'])
    if _NO_SENSOR.search(text):
        return None
    unqualified = _MEASURED.sub('', text)
    uncommanded = _COMMANDED.sub('', unqualified)
    for candidate in (uncommanded, _COMMANDED_POSITION.sub('position', unqualified)):
        if match := _in_a_form(candidate):
            word = match['word'].lower()
            words = _WORDS_OF[word]
            return ColumnMeaning(
                words.quantity,
                match.groupdict().get('number') or match['joint'] or '',
                rank=(int(uncommanded != text), _PREFERENCE[word]),
                scale=unit.scale,
                is_current=words.is_current or unit.is_current,
                is_commanded=candidate != unqualified,
            )
    return None


def column_meanings(names: Iterable[str]) -> dict[str, ColumnMeaning]:
    """Return the meanings of the columns of one log by their ``names``, of those that have one."""
    names = list(names)
    last_words = {_last_word(name) for name in names}
    meanings = {}
    for name in names:
        meaning = _desired_meaning(name, last_words) or column_meaning(name)
        if meaning is not None:
            meanings[name] = meaning
    joints = {meaning.joint for meaning in meanings.values()}
    for name, meaning in meanings.items():
        named = _OF_JOINT_J.search(name)
        if named and named[1] in joints:
            meanings[name] = replace(meaning, joint=named[1])
    return meanings


def _desired_meaning(name: str, last_words: set[str]) -> ColumnMeaning | None:
    """Return the meaning of ``q_d`` where there is a ``q``, None for other names."""
    measured = _DESIRED.sub('', name)
    if measured == name or _last_word(measured) not in last_words:
        return None
    meaning = column_meaning(measured)
    if meaning is None or meaning.quantity not in JOINT_QUANTITIES:
        return None
    return replace(meaning, is_commanded=True)


def _last_word(name: str) -> str:
    """Return the name of a column without its unit, and without the topic or struct before it."""
    text, _ = _without_unit(name.strip())
    return re.split('[./]', text)[-1]


def _in_a_form(text: str) -> re.Match[str] | None:
    """Return the match of the first of the forms that a name without qualifiers has."""
    for form in _FORMS:
        if match := form.fullmatch(text):
            return match
    return None


def _without_unit(text: str) -> tuple[str, Unit]:
    """Return the name of a column of joints without its unit, and the unit, SI if none is said."""
    match = _UNIT.search(text)
    if not match:
        return text, UNITS[0]
    unit = UNIT_OF[(match['bracketed'] or match['bare']).lower()]
    return text[: match.start()] + text[match.end() :], unit


def _time_meaning(match: re.Match[str]) -> ColumnMeaning:
    """Return the meaning of a time; of two named alike, nanoseconds are the exact one."""
    word = (match['word'] or '').lower()
    unit = TIME_UNIT_OF.get((match['unit'] or match['part'] or '').lower(), NO_UNIT)
    if match.string.startswith('__'):
        rank: tuple[int, ...] = (PLOTJUGGLER_TIME,)
    elif word in _WORDS_OF:
        rank = (NAMED_TIME, int(unit.scale != 1), _PREFERENCE[word])
    else:
        rank = (HEADER_TIME,)
    return ColumnMeaning(TIME, rank=rank, scale=unit.scale)
