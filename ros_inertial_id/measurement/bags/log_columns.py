"""
What the columns of a log are, by their names; in small or large letters.

========  ====================================================================================
time      stamp_s, time_s, timestamp, stamp, time, times, t, __time [s]; stamp_ns, time_ns,
          timestamp_ns [ns]
position  position, positions, pos, q, theta
velocity  velocity, velocities, vel, v, dq, qd, qdot
effort    effort, efforts, torque, torques, tau, trq, current, currents (which of them is an
          option of the identification)
========  ====================================================================================

A column (n,) of one joint is ``q_<joint>``, ``q.<joint>``, ``q/<joint>``, ``q[<joint>]``,
``<joint>_position`` or as PlotJuggler writes it ``/topic/<joint>/position``, with any of the names
above.  <joint> is a name, or a number (then also ``q1``); numbered joints are taken in ascending
order.  A matrix (n, k) is ``q``, ``joint_positions`` or ``q_<anything>``.  Words such as
``measured``, ``actual`` and ``raw`` beside these change nothing; what is ``desired`` or ``target``
was not measured and is left out.  joint_names, names or joints are those of the joints.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import re
import shlex

import numpy as np

from ...errors import RecordingError

ALIASES = {alias: kind for kind, aliases in {
    'time [ns]': ('stamp_ns', 'time_ns', 'timestamp_ns'),
    'time [s]': ('stamp_s', 'time_s', 'timestamp', 'stamp', 'time', 'times', 't', '__time'),
    'position': ('position', 'positions', 'pos', 'q', 'theta'),
    'velocity': ('velocity', 'velocities', 'vel', 'v', 'dq', 'qd', 'qdot'),
    'effort': ('effort', 'efforts', 'torque', 'torques', 'tau', 'trq', 'current', 'currents'),
    'names': ('joint_names', 'names', 'joints')}.items() for alias in aliases}
FIELDS = ('position', 'velocity', 'effort')
CLOCKS = {'time [ns]': 1, 'time [s]': 10 ** 9}  # [ns]
_WORDS = '|'.join(sorted((a for a, kind in ALIASES.items() if kind in FIELDS), key=len)[::-1])
_FORMS = (re.compile(rf'(joint_?)?(?P<word>{_WORDS})'
                     r'((?P<number>\d+)|[_./ \[](?P<joint>[^\]]+)\]?)?', re.I),
          re.compile(rf'/(.*/)?(?P<joint>[^/]+)/(?P<word>{_WORDS})', re.I),
          re.compile(rf'(?P<joint>.+)[_. ](?P<word>{_WORDS})', re.I))
_MEASURED = re.compile(r'^(raw|meas|measured|msr|actual|filtered)[_. ]|(?<=\w)[_. ]'
                       r'(raw|meas|measured|msr|actual|filtered)(?=$|\d|[_./ \[])', re.I)
_NOT_MEASURED = re.compile(r'(^|[_./ ])(des|desired|cmd|command|commanded|ref|reference|target|'
                           r'setpoint|goal)($|[_./ \[])', re.I)
_UNIT = re.compile(r'(\s+\[|\s*\()(s|sec|rad|rad/s|N ?m|A|m|m/s|N)[\])]$')
LAST_NS = 2 ** 31 * 10 ** 9  # of builtin_interfaces/Time


@dataclass
class Log:
    """
    What a log holds.

    fields : position, velocity, effort -> (n, k)
    stamp_ns : (n,) int64, None where the log has no time
    names : of the k joints, None where the log has none
    understood : position, velocity, effort, time -> names of the columns; left_out : of others
    """

    fields: dict[str, np.ndarray]
    stamp_ns: np.ndarray | None
    names: tuple[str, ...] | None
    understood: dict[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()


def meaning(name: str) -> tuple[str, str, bool] | None:
    """Return (quantity, joint or '', whether in plain words) of a column, None: not known."""
    plain = _UNIT.sub('', name.strip())
    if plain.lower() in ALIASES:
        return ALIASES[plain.lower()], '', True
    if _NOT_MEASURED.search(plain):
        return None
    short = _MEASURED.sub('', plain)
    match = next(filter(None, (form.fullmatch(short) for form in _FORMS)), None)
    if match is None:
        return None
    parts = match.groupdict()
    label = parts.get('number') or parts['joint'] or ''
    return ALIASES[parts['word'].lower()], label, short == plain


def log_of(where: str, columns: Mapping[str, np.ndarray | None]) -> Log:
    """
    Return the Log in named columns.

    where : of the log, for messages; columns : {name: (n,) or (n, k)}, None for one not read

    Raises RecordingError for columns that hold no numbers or do not belong together.
    """
    read = {name: values for name, values in columns.items() if values is not None}
    found = _columns_by_joint(where, list(read))
    clock = next((kind for kind in CLOCKS if kind in found), '')
    names = found.pop('names', {})
    stamps = {kind: found.pop(kind) for kind in CLOCKS if kind in found}
    for name in (name for own in found.values() for name in own.values()):
        if read[name].dtype.kind not in 'fiu':
            raise RecordingError(f'{where}: {name} is not numeric', found=read[name].dtype)
    wide = {kind: next(iter(own.values())) for kind, own in found.items()
            if len(own) == 1 and read[next(iter(own.values()))].ndim > 1}
    labels = _labels(where, {kind: own for kind, own in found.items() if kind not in wide},
                     bool(wide), list(columns))
    log = Log({}, None, tuple(labels), {})
    for kind, own in found.items():
        log.understood[kind] = tuple([wide[kind]] if kind in wide else [own[x] for x in labels])
        parts = [np.array(read[name], float) for name in log.understood[kind]]
        if len({len(part) for part in parts}) > 1:
            raise RecordingError(f'{where}: {kind} of joints differ in length',
                                 found=[len(part) for part in parts])
        log.fields[kind] = parts[0] if kind in wide else np.stack(parts, axis=1)
    if clock:
        name = stamps[clock]['']
        log.stamp_ns = nanoseconds(where, np.asarray(read[name]), CLOCKS[clock])
        log.understood['time'] = (name,)
    if names:
        array = np.asarray(read[names['']]).ravel()
        log.names = tuple(np.char.decode(array, errors='replace') if array.dtype.kind == 'S'
                          else map(str, array))
    elif all(label.isdigit() or not label for label in labels):
        log.names = None
    used = {*names.values(), *(name for own in log.understood.values() for name in own)}
    log.left_out = tuple(name for name in columns if name and name not in used
                         and not name.startswith('-'))
    return log


def _columns_by_joint(where, names):
    """Return {quantity: {joint or '': name of the column}}; plain words before others."""
    places = list(ALIASES)
    understood = [(name, said) for name in names if (said := meaning(name))]
    understood.sort(key=lambda item: (
        not item[1][2], places.index(item[0].lower()) if item[0].lower() in ALIASES else -1))
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    for name, (kind, label, plain) in understood:
        before, first = found.setdefault(kind, {}).setdefault(label, (name, plain))
        if before != name and kind in FIELDS and plain == first:
            raise RecordingError(f'{where}: {kind} of joint {label} is there twice',
                                 found=f'{before} and {name}', exists=names,
                                 do='say which is meant: --columns "q=NAME tau=NAME"')
    return {kind: {label: name for label, (name, _) in sorted(
        own.items(), key=lambda item: names.index(item[1][0]))} for kind, own in found.items()}


def _labels(where, found, others, exists):
    """Return the joints of columns that are of one joint each, in their order."""
    labels = list(found.get('position') or next(iter(found.values()), ()))
    if not (labels or others) or any(set(own) != set(labels) for own in found.values()):
        raise RecordingError(
            f'{where}: the columns do not belong together',
            expected='a header with time, and q_<joint>, v_<joint>, tau_<joint> of every joint',
            found=[f'{kind} of {list(own)}' for kind, own in found.items()] or exists[:50],
            do='name its columns: --columns "time q1..q6 v1..v6 tau1..tau6", or rename them: '
               '--columns "q_*=*_angle tau_*=*_moment"')
    return sorted(labels, key=int) if all(label.isdigit() for label in labels) else labels


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


def nanoseconds(where: str, times: np.ndarray, unit: int = 10 ** 9) -> np.ndarray:
    """
    Return times as (n,) int64 [ns], exact to the nearest.

    where : they come from, for the message; times : (n,), or dates; unit : of the times [ns]
    Whole seconds go apart: today's unix time in float, times 1e9, would be 128 ns off.
    """
    if times.dtype.kind == 'M':
        times, unit = times.astype('datetime64[ns]').astype(np.int64), 1
    if times.dtype.kind not in 'fiu':
        raise RecordingError(f'{where}: time is not numeric', found=times.dtype)
    last = LAST_NS // unit
    wrong = np.flatnonzero(~((times > -last) & (times < last)))
    if wrong.size:
        raise no_time(f'{where}, sample {wrong[0]}', times.flat[wrong[0]])
    whole = np.floor(times).astype(np.int64)
    return whole * unit + np.round((times - whole) * unit).astype(np.int64)


def no_time(where: str, found: object) -> RecordingError:
    """Return the error of a number that is no time."""
    return RecordingError(f'{where}: no time', found=found,
                          do='a time in seconds is named stamp_s, in nanoseconds stamp_ns')
