"""
What the columns of a log are, by their names; in small or large letters.

=========  ===================================================================================
time       stamp, timestamp, time, times, t, tick, __time (PlotJuggler), %time (rostopic), with a
           unit beside (time_ms, "time [us]") or without; header.stamp, its sec and nanosec
position   position, positions, pos, q, qpos, observation.state, theta
velocity   velocity, velocities, vel, v, dq, qd, qdot, qvel
effort     effort, efforts, torque, torques, tau, tau_J, trq, qfrc_actuator; current, currents
names      joint_names, names, joints, name, name0: joints in the order of the columns
=========  ===================================================================================

A column (n,) of one joint is ``q_<joint>``, ``q.<joint>``, ``q/<joint>``, ``q[<joint>]``, ``q1``,
``<joint>_position``, ``msg.q1``, ``state.q[0]`` or as PlotJuggler writes it
``/topic/<joint>/position``.  <joint> is a name or a number; numbered joints are taken in ascending
order.  A matrix (n, k) is ``q``, ``data.q``, ``joint_positions``.  Words such as ``measured``,
``actual`` and ``raw`` beside these change nothing; what is ``desired``, ``target``, ``external``
or an ``error`` was not measured and is left out, and so is ``q_d`` beside ``q``.  Units stand in
brackets behind a space: "q1 [deg]"; without one they are SI.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
import re
import shlex
from typing import Any

import numpy as np

from ...errors import RecordingError

WORDS = {  # of a quantity, the best first
    'position': ('position', 'positions', 'pos', 'q', 'qpos', 'observation.state', 'theta'),
    'velocity': ('velocity', 'velocities', 'vel', 'v', 'dq', 'qd', 'qdot', 'qvel'),
    'effort': ('effort', 'efforts', 'torque', 'torques', 'tau', 'tau_j', 'trq', 'qfrc_actuator',
               'current', 'currents')}
QUANTITY = {word: quantity for quantity, words in WORDS.items() for word in words}
CLOCKS = ('stamp', 'timestamp', 'time', 'times', 't', 'tick')
SECONDS = {name: unit for unit, names in {  # [ns]
    10 ** 9: 's sec secs', 10 ** 6: 'ms msec msecs', 1000: 'us usec µs',
    1: 'ns nsec nsecs nanosec'}.items() for name in names.split()}
SI = {'rad': 1.0, 'deg': np.pi / 180, '°': np.pi / 180, 'rad/s': 1.0, 'deg/s': np.pi / 180,
      '°/s': np.pi / 180, 'rpm': np.pi / 30, 'm': 1.0, 'mm': 1e-3, 'm/s': 1.0, 'mm/s': 1e-3,
      'n': 1.0, 'nm': 1.0, 'n m': 1.0, 'n*m': 1.0, 'mnm': 1e-3, 'a': 1.0, 'ma': 1e-3, '%': 1.0}
CURRENT = ('current', 'currents', 'a', 'ma', '%')  # words and units of efforts that are no torques


def _one_of(words):
    return '|'.join(map(re.escape, sorted(words, key=len, reverse=True)))


_WORD, _NS = rf'(?P<word>{_one_of(QUANTITY)})', rf'(?P<unit>{_one_of(SECONDS)})'
_LABEL = r'((?P<number>\d+)|[_./ \[](?P<joint>[^\]]+)\]?)?'
_FORMS = tuple(re.compile(form, re.I) for form in (
    rf'/(.*/)?(?P<joint>[^/]+)/{_WORD}', rf'(joint_?)?{_WORD}{_LABEL}',
    rf'(?P<joint>.+)[_. ]{_WORD}', rf'.*[./](joint_?)?{_WORD}{_LABEL}'))
_CLOCK = re.compile(rf'(%|__|[^/]*\.)?(?P<word>{_one_of(CLOCKS)})'
                    rf'(([ _]+[\[(]?|[\[(]){_NS}[\])]?)?', re.I)
_STAMP = re.compile(rf'((.*[./])?header[._/]stamp([._/]{_NS})?|(?P<part>secs?|nsecs?|nanosec))',
                    re.I)
_NAMES = re.compile(r'(.*[./])?(joint_names|names?|joints)[_\[]?(?P<number>\d*)\]?', re.I)
_MEASURED = re.compile(r'^(raw|meas|measured|msr|actual|filtered|est)[_. ]|(?<=\w)[_. ]'
                       r'(raw|meas|measured|msr|actual|filtered|est)(?=$|\d|[_./ \[])', re.I)
_NOT_MEASURED = re.compile(r'(^|[_./ ])(des|desired|cmd|commands?|commanded|ref|reference|target|'
                           r'setpoint|goal|error|external)($|[_./ \[])|(tau|torque)_?ext', re.I)
_UNIT = re.compile(rf'(?P<plain>.*\S)(\s+\[|\s*\()(?P<unit>{_one_of(SI)})[\])]', re.I)


@dataclass(frozen=True)
class Meaning:
    """
    What a column is: of which quantity and joint ('' for all or none).

    rank : lower ones are preferred
    scale : SI per what is recorded; current : whether an effort is no torque
    """

    quantity: str
    joint: str
    rank: tuple[bool, int]
    scale: float = 1.0
    current: bool = False


@dataclass
class Log:
    """
    What a log holds.

    fields : position, velocity, effort -> (n, k)
    rows : (N,) bool, which n of the log's rows these are: in others all cells are empty
    stamp_ns : (n,) int64, None without time
    names : of the k joints, None where the log has none
    columns : quantity -> names of the columns, in the order of the joints; left_out : of others
    effort_kind : current where the efforts are no torques, else ''
    """

    fields: dict[str, np.ndarray]
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, bool))
    stamp_ns: np.ndarray | None = None
    names: tuple[str, ...] | None = None
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    effort_kind: str = ''


def meaning(name: str) -> Meaning | None:
    """Return what a column of this ``name`` is; None for no quantity of joints, nor names."""
    united = _UNIT.fullmatch(name.strip())
    plain, unit = (united['plain'], united['unit'].lower()) if united else (name.strip(), '')
    if names := _NAMES.fullmatch(plain):
        return Meaning('names', names['number'], (False, 0))
    if _NOT_MEASURED.search(plain):
        return None
    short = _MEASURED.sub('', plain)
    match = next(filter(None, (form.fullmatch(short) for form in _FORMS)), None)
    if match is None:
        return None
    parts, word = match.groupdict(), match['word'].lower()
    label = 'number' if parts.get('number') else 'joint'
    quantity = QUANTITY[word]
    return Meaning(quantity, parts[label] or '',
                   (short != plain, WORDS[quantity].index(word)), SI.get(unit, 1.0),
                   word in CURRENT or unit in CURRENT)


def clocks(names: Iterable[str]) -> list[tuple[tuple[str, ...], int]]:
    """
    Return (names of columns, their unit [ns]) of what may be the time, the best first.

    Two names are seconds and nanoseconds.  A unit of 0 is not said.
    """
    found: list[tuple[tuple[bool | int, ...], tuple[str, ...], int]] = []
    parts: dict[str, dict[int, str]] = {}
    for name in names:
        if match := _STAMP.fullmatch(name):
            unit = SECONDS.get((match['unit'] or match['part'] or '').lower(), 0)
            whole = name[:len(name) - len(match['unit'] or match['part'] or '')]
            if unit:
                parts.setdefault(whole, {})[unit] = name
            else:
                found.append(((1,), (name,), 0))
        elif match := _CLOCK.fullmatch(name):
            unit = SECONDS.get((match['unit'] or '').lower(), 0)
            rank = (0,) if name.startswith('__') else (
                2, unit != 1, CLOCKS.index(match['word'].lower()))
            found.append((rank, (name,), unit))
    found += [((1,), (own[10 ** 9], own[1]), 1) for own in parts.values() if len(own) == 2]
    return [(own, unit) for _, own, unit in sorted(found, key=lambda one: one[0])]


def log_of(where: str, columns: Mapping[str, Any], alone: bool = True) -> Log:
    """
    Return the Log in named columns, its time apart.

    where : of the log, for messages; columns : {name: (n,) or (n, k)}, None for one not read
    alone : whether there must be joints; else there may be other topics beside or instead

    Rows without any value belong to other topics: they are left out.
    Raises RecordingError for columns that hold no numbers or do not belong together.
    """
    chosen = _chosen(where, list(columns))
    if not chosen and not alone:
        return Log({}, left_out=tuple(columns))
    wide = {quantity for quantity, own in chosen.items()
            if len(own) == 1 and np.ndim(columns[next(iter(own.values()))[0]]) > 1}
    labels = _labels(where, {quantity: list(own) for quantity, own in chosen.items()
                             if quantity not in wide}, bool(wide), list(columns))
    log = Log({}, names=None if all(x.isdigit() or not x for x in labels) else tuple(labels))
    for quantity, own in chosen.items():
        picked = list(own.values()) if quantity in wide else [own[label] for label in labels]
        parts = [_numbers(where, name, columns[name]) * said.scale for name, said in picked]
        if len({len(part) for part in parts}) > 1:
            raise RecordingError(f'{where}: {quantity} of joints differ in length',
                                 found=[len(part) for part in parts])
        log.fields[quantity] = parts[0] if quantity in wide else np.stack(parts, axis=1)
        log.columns[quantity] = tuple(name for name, _ in picked)
        if quantity in wide and parts[0].ndim == 2:
            log.columns[quantity] = tuple(f'{picked[0][0]}[{k}]' for k in range(parts[0].shape[1]))
        if quantity == 'effort' and any(said.current for _, said in picked):
            log.effort_kind = 'current'
    log.rows = np.ones(len(next(iter(log.fields.values()))), bool)
    if len({len(x) for x in log.fields.values()}) == 1:
        log.rows = np.any([np.isfinite(x).any(axis=tuple(range(1, x.ndim)))
                           for x in log.fields.values()], axis=0)
        log.fields = {quantity: x[log.rows] for quantity, x in log.fields.items()}
    used = {name for own in chosen.values() for name, _ in own.values()}
    if log.names is None:
        used |= _put_names(where, log, columns)
    log.left_out = tuple(name for name in columns if name not in used
                         and not name.startswith('-'))
    return log


def _numbers(where, name, values):
    if values.dtype.kind not in 'fiu':
        raise RecordingError(f'{where}: {name} is not numeric', found=values.dtype)
    return np.array(values, float)


def _chosen(where, names):
    """Return {quantity: {joint or '': (name of the column, Meaning)}}: the best spelling."""
    said = {name: found for name in names if (found := meaning(name))
            and found.quantity in WORDS}
    for name in [name for name in said if re.sub(r'_d(?=$|[_./ \[\d])', '', name) != name]:
        if re.sub(r'_d(?=$|[_./ \[\d])', '', name) in names:  # desired, as libfranka has it
            del said[name]
    chosen: dict[str, dict[str, tuple[str, Meaning]]] = {}
    ranks = {quantity: min((x.rank for x in said.values() if x.quantity == quantity),
                           default=None) for quantity in WORDS}
    for name, one in said.items():
        if one.rank == ranks[one.quantity]:
            before = chosen.setdefault(one.quantity, {}).setdefault(one.joint, (name, one))
            if before[0] != name:
                raise RecordingError(f'{where}: {one.quantity} of joint {one.joint} is there '
                                     'twice', found=f'{before[0]} and {name}', exists=names,
                                     do='say which is meant: --columns "q=NAME tau=NAME"')
    return chosen


def _labels(where, found, others, exists):
    """Return the joints of columns that are of one joint each, in their order."""
    labels: list[str] = found.get('position') or next(iter(found.values()), [])
    if not (labels or others) or any(set(own) != set(labels) for own in found.values()):
        raise RecordingError(
            f'{where}: the columns do not belong together',
            expected='a header with time, and q_<joint>, v_<joint>, tau_<joint> of every joint',
            found=[f'{kind} of {own}' for kind, own in found.items()] or exists[:50],
            do='name its columns: --columns "time q1..q6 v1..v6 tau1..tau6", or rename them: '
               '--columns "q_*=*_angle tau_*=*_moment"')
    return sorted(labels, key=int) if all(label.isdigit() for label in labels) else labels


def _put_names(where, log, columns):
    """Give a ``log`` the names in cells, samples in one order of joints; return their columns."""
    cells = {name: columns[name] for name in columns if columns[name] is not None
             and (said := meaning(name)) and said.quantity == 'names'}
    if not cells:
        return set()
    table = [np.char.decode(x, errors='replace') if x.dtype.kind == 'S' else x.astype(str)
             for x in map(np.ravel, cells.values())]
    if len(table) == 1 and len(table[0]) != len(log.rows):  # names of all, once
        log.names = tuple(table[0].tolist())
        return set(cells)
    table, joints = [x[log.rows] for x in table], next(iter(log.fields.values())).shape[1]
    if not log.rows.any():
        return set()
    cells_of, row = np.unique(np.stack(table, axis=1), axis=0, return_inverse=True)
    orders = [tuple(order) if len(table) > 1 else tuple(re.findall(r'[^\s\'",\[\]()]+', *order))
              for order in cells_of.tolist()]  # a list in one cell
    first = orders[np.ravel(row)[0]]
    if len(first) != joints:
        return set()
    if any(sorted(order) != sorted(first) for order in orders):
        raise RecordingError(f'{where}: the joints change', expected='the same in every row',
                             found=[' '.join(x) for x in orders[:3]])
    for k, order in enumerate(orders):
        mine, place = np.ravel(row) == k, [order.index(joint) for joint in first]
        for values in log.fields.values():
            values[mine] = values[mine][:, place]
    log.names = first
    return set(cells)


def renamed(where: str, names: Iterable[str], columns: str) -> dict[str, str]:
    """
    Return {name of a column: its new name}.

    where : of the log, for messages
    columns : NEW=OLD with spaces between, * stands for a joint, - as NEW for one not wanted; or
        names of all, q1..q6 for six, - for one not wanted

    Raises RecordingError where there are no such columns.
    """
    names, out = list(names), {}
    if '=' not in columns:
        words = expanded(columns)
        if columns and len(words) != len(names):
            raise RecordingError(f'{where} has other columns', expected=f'{len(words)} as named',
                                 found=len(names))
        return dict(zip(names, words or names))
    for word in shlex.split(columns):
        new, _, old = word.partition('=')
        pattern = re.compile(re.escape(old).replace(r'\*', '(.+)'))
        matches = [(name, match) for name in names if (match := pattern.fullmatch(name))]
        if not matches or not new or not old:
            raise RecordingError(f'{where} has no column {old!r}', exists=names[:50],
                                 expected='NEW=OLD, such as tau_*=*_moment')
        out.update({name: f'-{name}' if new == '-' else new.replace('*', (*match.groups(), '')[0])
                    for name, match in matches})
    taken = set(out.values())
    return {name: out.get(name, f'-{name}' if name in taken else name) for name in names}


def expanded(columns: str) -> list[str]:
    """Return the names in a text, ``q1..q3`` as q1 q2 q3, each ``-`` as -0, -1, ...."""
    out: list[str] = []
    for word in columns.split():
        span = re.fullmatch(r'(.*?)(\d{1,4})\.\.\1(\d{1,4})', word)
        out += ([f'{span[1]}{k}' for k in range(int(span[2]), int(span[3]) + 1)] if span
                else [f'-{len(out)}' if word == '-' else word])
    return out
