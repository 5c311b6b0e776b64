"""
What the columns of a log are, by their names (WORDS, CLOCKS); in small or large letters.

A column (n,) of one joint is ``q_<joint>``, ``q.<joint>``, ``q/<joint>``, ``q[<joint>]``, ``q1``,
``<joint>_position``, ``msg.q1``, ``state.q[0]``, or ``/topic/<joint>/position``; numbered joints
are taken in ascending order.  A matrix (n, k) is ``q``, ``data.q``, ``joint_positions``.
``names`` or ``name0`` are joints in the order of the columns, in every row or once.  ``measured``,
``actual`` and ``raw`` change nothing; what is ``desired``, ``target`` or ``cmd`` was commanded, as
``q_d`` beside ``q``; ``action`` alone is positions.  What is ``external`` or an ``error`` is left
out.  Units stand in brackets, "q1 [deg]", or as ``time_ms``; without one columns are SI.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
import re
import shlex
from typing import Any

import numpy as np

from ..recording import empty, page_out
from ...errors import RecordingError

Table = Mapping[str, Any]  # {name: (n,) or (n, k)}
WORDS = {  # of a quantity, the best first
    'position': ('position', 'positions', 'pos', 'q', 'qpos', 'observation.state', 'theta'),
    'velocity': ('velocity', 'velocities', 'vel', 'v', 'dq', 'qd', 'qdot', 'qvel'),
    'effort': (
        'effort',
        'efforts',
        'torque',
        'torques',
        'tau',
        'tau_j',
        'trq',
        'qfrc_actuator',
        'current',
        'currents',
    ),
}
QUANTITY = {word: quantity for quantity, words in WORDS.items() for word in words}
CLOCKS = ('stamp', 'timestamp', 'time', 'times', 't', 'tick')
SECONDS = {
    name: unit
    for unit, names in {  # [ns]
        10**9: 's sec secs',
        10**6: 'ms msec msecs',
        1000: 'us usec µs',
        1: 'ns nsec nsecs nanosec',
    }.items()
    for name in names.split()
}
SI = {
    name: value
    for names, value in {
        'rad,rad/s,rad/sec,radians,m,m/s,n,nm,n m,n*m,n.m,n·m,a,%': 1.0,
        'mrad,mm,mm/s,mnm,ma': 1e-3,
        'deg,°,deg/s,°/s,deg/sec,degrees,dps': np.pi / 180,
        'rpm': np.pi / 30,
    }.items()
    for name in names.split(',')
}
RENAME = (
    'name its columns: --columns "time q1..q6 v1..v6 tau1..tau6", or rename them: '
    '--columns "q_*=*_angle tau_*=*_moment"'
)
CURRENT = ('current', 'currents', 'a', 'ma', '%')  # words and units of efforts that are no torques


def _one_of(words):
    return '|'.join(map(re.escape, sorted(words, key=len, reverse=True)))


_WORD, _NS = rf'(?P<word>{_one_of(QUANTITY)})', rf'(?P<unit>{_one_of(SECONDS)})'
_LABEL = r'((?P<number>\d+)|[_./ \[](?P<joint>[^\]]+)\]?)?'
_FORMS = tuple(
    re.compile(form, re.I)
    for form in (
        rf'/(.*/)?(?P<joint>[^/]+)/{_WORD}',
        rf'(joint_?)?{_WORD}{_LABEL}',
        rf'(?P<joint>.+)[_. ]{_WORD}',
        rf'.*[./](joint_?)?{_WORD}{_LABEL}',
    )
)
_CLOCK = re.compile(
    rf'(%|__|.*[./])?(?P<word>header[._/]stamp|{_one_of(CLOCKS)})'
    rf'(([ _./]+[\[(]?|[\[(]){_NS}[\])]?)?|(?P<part>secs?|nsecs?|nanosec)',
    re.I,
)
_SECONDS_OF = re.compile(r'(.*?)(sec|secs)', re.I)  # whose nanoseconds have a column of their own
_NAMES = re.compile(r'(.*[./])?(joint_names|names?|joints)[_\[]?(?P<number>\d*)\]?', re.I)
_MEASURED = re.compile(
    r'^(raw|meas|measured|msr|actual|filtered|est)[_. ]|(?<=\w)[_. ]'
    r'(raw|meas|measured|msr|actual|filtered|est)(?=$|\d|[_./ \[])',
    re.I,
)
_NO_SENSOR = re.compile(r'(^|[_./ ])(error|external)($|[_./ \[])|(tau|torque)_?ext', re.I)
_COMMAND = 'des|desired|cmd|commands?|commanded|ref|reference|target|setpoint|goal|action'
_POSITION = re.compile(rf'(?<![^_./ ])({_COMMAND})(?=$|[_./ \[\d])', re.I)  # command_1
_COMMANDED = re.compile(
    rf'^({_COMMAND}|ff|feedforward)[_./ ]|'  # cmd_q1, tau_ff1
    rf'[_./ ]({_COMMAND}|ff|feedforward)(?=$|[_./ \[\d])',
    re.I,
)
_DESIRED = re.compile(r'_d(?=$|[_./ \[\d])')  # of libfranka, beside the same without it
_UNIT = re.compile(
    rf'(?<=\S)(\s+\[|\s*\()(?P<unit>{_one_of(SI)})[\])]$|'
    r'(?<=\w)[_ ](?P<suffix>deg|rad|rpm|dps|nm|mnm)(?=$|_\d)',
    re.I,
)


@dataclass(frozen=True)
class Meaning:
    """
    What a column is: of which quantity and joint ('' for all or none).

    rank : lower ones are preferred; scale : to SI; current : no torque; commanded : not measured
    """

    quantity: str
    joint: str
    rank: tuple[bool, int] = (False, 0)
    scale: float = 1.0
    current: bool = False
    commanded: bool = False


@dataclass(frozen=True)
class JointColumns:
    """
    The joint states, or the commands, in a table.

    fields : position, velocity, effort -> (n, k)
    joints : k names, or numbers where the table has none
    columns : quantity -> names of its columns, in the order of the joints; used : of all in it
    rows : (N,) bool, which n rows of the table these are: in others all cells are empty
    current : whether the efforts are no torques
    """

    fields: dict[str, np.ndarray]
    joints: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]
    used: frozenset[str]
    rows: np.ndarray
    current: bool

    @property
    def named(self) -> bool:
        """Return whether the joints have names."""
        return bool(''.join(self.joints).strip('0123456789'))

    def like(self, other: 'JointColumns', where: str) -> 'JointColumns':
        """Return these, which are from ``where``, in the order of the joints of ``other`` ones."""
        both = self.named and other.named
        if len(self.joints) != len(other.joints) or both and set(self.joints) != set(other.joints):
            raise RecordingError(
                f'{where} is of other joints', found=self.joints, expected=other.joints
            )
        joints = other.joints if both else self.joints
        order = [self.joints.index(joint) for joint in joints]
        return replace(
            self,
            joints=joints,
            columns={kind: tuple(own[k] for k in order) for kind, own in self.columns.items()},
            fields={kind: x[:, order] for kind, x in self.fields.items()},
        )


def meaning(name: str) -> Meaning | None:
    """Return what a column of this ``name`` is; None for no quantity of joints, nor names."""
    plain = name.strip()
    united = _UNIT.search(plain)
    if united:
        plain = plain[: united.start()] + plain[united.end() :]
    unit = (united['unit'] or united['suffix']).lower() if united else ''
    if names := _NAMES.fullmatch(plain):
        return Meaning('names', names['number'])
    measured = _MEASURED.sub('', plain)
    short = _COMMANDED.sub('', measured)
    match = next(
        filter(
            None,
            (
                form.fullmatch(text)
                for text in (short, _POSITION.sub('position', measured))
                for form in _FORMS
            ),
        ),
        None,
    )
    if match is None or _NO_SENSOR.search(plain):
        return None
    parts, word = match.groupdict(), match['word'].lower()
    quantity = QUANTITY[word]
    return Meaning(
        quantity,
        parts.get('number') or parts['joint'] or '',
        (short != plain, WORDS[quantity].index(word)),
        SI.get(unit, 1.0),
        word in CURRENT or unit in CURRENT,
        match.string != measured,
    )


def of_joints(name: str) -> bool:
    """Return whether a column of this ``name`` holds what joints measure."""
    said = meaning(name)
    return said is not None and said.quantity in WORDS and not said.commanded


def clocks(names: Iterable[str]) -> list[tuple[tuple[str, ...], int]]:
    """Return (columns, their unit [ns] or 0) of times, the best first; two are s and ns."""
    names = list(names)
    found: list[tuple[tuple[float, ...], tuple[str, ...], int]] = []
    for name in names:
        if match := _CLOCK.fullmatch(name):
            word, unit = (match['word'] or '').lower(), match['unit'] or match['part'] or ''
            rank = (
                (0,)
                if name.startswith('__')
                else (2, unit.lower()[:1] != 'n', CLOCKS.index(word))
                if word in CLOCKS
                else (1,)
            )
            found.append((rank, (name,), SECONDS.get(unit.lower(), 0)))
            if whole := _SECONDS_OF.fullmatch(name):
                found += [
                    ((0.5,), (name, rest), 1)
                    for rest in names
                    if rest.lower()
                    in {f'{whole[1]}{end}'.lower() for end in ('nanosec', 'nsec', 'nsecs')}
                ]
    return [(own, unit) for _, own, unit in sorted(found, key=lambda one: one[0])]


def joint_columns(where: str, table: Table, commanded: bool = False) -> JointColumns | None:
    """
    Return what joints measure in a ``table``, None where no column is of joints.

    where : of the log, for messages; commanded : return what they were commanded instead
    """
    chosen = _chosen(where, list(table), commanded)
    for name, _ in (column for own in chosen.values() for column in own.values()):
        if table[name].dtype.kind not in 'fiu':
            raise RecordingError(f'{where}: {name} is not numeric', found=table[name].dtype)
    matrices = {
        quantity: name
        for quantity, own in chosen.items()
        if len(own) == 1
        for name, _ in own.values()
        if table[name].ndim == 2
    }
    single = [list(own) for quantity, own in chosen.items() if quantity not in matrices]
    labels = (
        single[0]
        if single
        else [str(k) for name in list(matrices.values())[:1] for k in range(table[name].shape[1])]
    )
    numbered = not ''.join(labels).strip('0123456789')
    labels = sorted(labels, key=int) if numbered and any(labels) else labels
    fields, columns = {}, {}
    for quantity, own in chosen.items():
        if quantity in matrices:
            ((name, said),) = own.values()
            fields[quantity] = _scaled([table[name]], [said.scale])
            columns[quantity] = tuple(f'{name}[{k}]' for k in range(table[name].shape[1]))
        elif set(own) == set(labels) and {table[name].shape for name, _ in own.values()} == {
            table[own[labels[0]][0]].shape[:1]
        }:
            fields[quantity] = _scaled(
                *zip(*((table[own[j][0]], own[j][1].scale) for j in labels))
            )
            columns[quantity] = tuple(own[j][0] for j in labels)
    shapes = {x.shape for x in fields.values()}
    if set(fields) != set(chosen) or len(shapes) > 1 or any(len(shape) != 2 for shape in shapes):
        raise differing(where, table)
    if not fields:
        return None
    rows = np.any([_with_values(x) for x in fields.values()], axis=0)
    if not rows.all():
        fields = {
            kind: np.compress(rows, x, 0, empty((int(rows.sum()), x.shape[1]), float))
            for kind, x in fields.items()
        }
    names, cells = _names_in_cells(where, table, rows, fields) if numbered else ([], [])
    used = {*cells, *(name for own in chosen.values() for name, _ in own.values())}
    return JointColumns(
        fields,
        tuple(names or labels),
        columns,
        frozenset(used),
        rows,
        any(said.current for _, said in chosen.get('effort', {}).values()),
    )


def _scaled(columns, scales):
    """Return the only matrix (n, k), or columns (n,) as one, in SI: a new array of floats."""
    single = columns[0].ndim == 1
    out = empty((len(columns[0]), len(columns)) if single else columns[0].shape, float)
    for k, (x, scale) in enumerate(zip(columns, scales)):
        np.multiply(x, scale, out=out[:, k] if single else out)
        page_out()
    return out


def _with_values(x):
    """Return which rows of x (n, k) hold a number."""
    page_out()
    return np.isfinite(x).any(axis=1)


def differing(where: str, table: Table) -> RecordingError:
    """Return the error of a ``table`` whose columns do not belong together; ``where``: of it."""
    return RecordingError(
        f'{where}: the columns do not belong together',
        found=[f'{name} {np.shape(x)}' for name, x in table.items()][:50],
        expected='time (n,), position (n, joints), velocity and effort like position',
        do=RENAME,
    )


def _chosen(where, names, commanded):
    """Return {quantity: {joint or '': (name of the column, Meaning)}}: the best spelling."""
    last, said = {re.split('[./]', name)[-1] for name in names}, {}
    for name in names:
        short = _DESIRED.sub('', name)
        desired = short != name and re.split('[./]', short)[-1] in last
        one = meaning(short if desired else name)
        if (
            one
            and one.quantity in WORDS
            and commanded == (one.commanded or desired)
            and not (commanded and one.current)
        ):  # no feedforward [N m]
            said[name] = one
    chosen: dict[str, dict[str, tuple[str, Meaning]]] = {}
    for quantity in WORDS:
        best = min((x.rank for x in said.values() if x.quantity == quantity), default=None)
        for name, one in said.items():
            if (one.quantity, one.rank) == (quantity, best):
                before, _ = chosen.setdefault(quantity, {}).setdefault(one.joint, (name, one))
                if before != name:
                    raise RecordingError(
                        f'{where}: {quantity} of joint {one.joint} is there twice',
                        found=f'{before} and {name}',
                        exists=names,
                        do='say which is meant: --columns "q=NAME tau=NAME"',
                    )
    return chosen


def _names_in_cells(where, table, rows, fields):
    """Return the joints that cells name, once or in every row, and the columns; reorder rows."""
    named = [name for name in table if (said := meaning(name)) and said.quantity == 'names']
    cells = [
        np.char.decode(x, errors='replace') if x.dtype.kind == 'S' else x.astype(str)
        for x in map(table.__getitem__, named)
    ]
    orders: list[list[str]] = []
    if len(cells) == 1 and len(cells[0]) != len(rows):
        orders = [cells[0].ravel().tolist()]
    elif cells:
        found, row = np.unique(np.column_stack(cells)[rows], axis=0, return_inverse=True)
        orders = found.tolist()
        if len(cells) == 1 and cells[0].ndim == 1:  # a list in one cell
            orders = [re.findall(r'[^\s\'",\[\]()]+', cell) for (cell,) in orders]
    if not orders or len(orders[0]) != next(iter(fields.values())).shape[1]:
        return [], []
    for k, order in enumerate(orders[1:], 1):
        if sorted(order) != sorted(orders[0]):
            raise RecordingError(
                f'{where}: the joints change',
                expected='the same in every row',
                found=[' '.join(names) for names in (orders[0], order)],
            )
        for x in fields.values():
            x[row.ravel() == k] = x[row.ravel() == k][:, [order.index(j) for j in orders[0]]]
    return orders[0], named


def renamed(where: str, table: Table, columns: str) -> dict[str, Any]:
    """
    Return a ``table`` by the names that its columns are given.

    where : of the log, for messages
    columns : NEW=OLD with spaces between, * stands for a joint, - as NEW for one not wanted; or
        names of all (of the only matrix, where there is one), q1..q6 for six
    """
    words = _expanded(columns)
    if words and '=' not in columns:
        matrices = [x for x in table.values() if np.ndim(x) == 2 and x.shape[1] == len(words)]
        values = list(matrices[0].T if len(matrices) == 1 else table.values())
        if len(values) != len(words) or any(np.ndim(x) > 1 for x in values):
            raise RecordingError(
                f'{where} has other columns',
                found=f'{len(table)}: '
                + ', '.join(f'{name} {np.shape(x) or ""}' for name, x in table.items()),
                expected=f'{len(words)} as named, or one matrix of {len(words)} columns',
            )
        return {word: x for word, x in zip(words, values) if word != '-'}
    out: dict[str, str] = {}
    for word in shlex.split(columns):
        new, _, old = word.partition('=')
        pattern = re.compile(re.escape(old).replace(r'\*', '(.+)'))
        matches = [(name, match) for name in table if (match := pattern.fullmatch(name))]
        if not matches or not new or not old:
            raise RecordingError(
                f'{where} has no column {old!r}',
                exists=list(table)[:50],
                expected='NEW=OLD, such as tau_*=*_moment',
            )
        out |= {name: new.replace('*', (*match.groups(), '')[0]) for name, match in matches}
    return {
        out.get(name, name): x
        for name, x in table.items()
        if out.get(name) != '-' and (name in out or name not in out.values())
    }


def _expanded(columns):
    """Return the names in a text, ``q1..q3`` as q1 q2 q3."""
    out: list[str] = []
    for word in columns.split():
        span = re.fullmatch(r'(.*?)(\d{1,4})\.\.\1(\d{1,4})', word)
        out += [f'{span[1]}{k}' for k in range(int(span[2]), int(span[3]) + 1)] if span else [word]
    return out
