"""Facts about a replay in a simulator: how far it drifts, beside the description as it came."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .drawings import Drawings
from .knowledge import significant
from .sheet import Section, Table
from ..identification.identified_model import DESCRIBED, IdentifiedModel, MODEL

THOUSANDTHS = {'rad': 'mrad', 'm': 'mm'}
AWAY = 'runs away'


class ReplayFacts(NamedTuple):
    """
    A replay in words.

    what : commands or torques; windows : how often it was restarted, every ``restart`` [s]
    seconds : after a restart, of the drifts of the ``model`` and of the description
    joint, percent : the worst one, its RMS error of its motion [%]
    """

    what: str
    windows: int
    restart: float
    seconds: str
    model: str
    description: str
    joint: str
    percent: str

    @property
    def compared(self) -> bool:
        """Whether all joints have one unit and something is described."""
        return bool(self.model and self.description)

    @property
    def alone(self) -> bool:
        """Whether all joints have one unit and nothing is described."""
        return bool(self.model and not self.description)


def replay_facts(model: IdentifiedModel) -> ReplayFacts | None:
    """Return the facts of the replay of a ``model``, None without one."""
    entry = model.statistics.get('replay')
    if not entry:
        return None
    shares = replay_shares(entry)
    joint = max(shares, key=lambda name: shares[name])
    together, model_words, described_words = entry.get('all'), '', ''
    if together:
        model_words = _drift_words(together, MODEL)
        described_words = _drift_words(together, DESCRIBED)
    return ReplayFacts(
        what=entry['of'],
        windows=entry['windows'],
        restart=entry['restart'],
        seconds=_listed([f'{x:g}' for x in entry['seconds']]),
        model=model_words,
        description=described_words,
        joint=joint,
        percent=f'{significant(100.0 * shares[joint], 2)} %',
    )


def replay_shares(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return {joint: RMS of its error over that of its motion} of a replay's ``entry``."""
    shares = {}
    for joint, numbers in entry['joints'].items():
        rms = numbers[MODEL]['rms']
        shares[joint] = np.inf
        if rms is not None:
            shares[joint] = rms / max(numbers['motion'] or 0.0, 1e-9)
    return shares


def _drift_words(numbers: Mapping[str, Any], who: str) -> str:
    """Return drift and RMS of a model or of the description in words, '' where it has none."""
    if who not in numbers:
        return ''
    errors, unit = numbers[who], THOUSANDTHS[numbers['unit']]
    drifts = _listed([_in_thousandths(x) for x in errors['drift']])
    return f'{drifts} {unit}, RMS {_in_thousandths(errors["rms"])} {unit}'


def _in_thousandths(value: float | None) -> str:
    if value is None:
        return AWAY
    return significant(1e3 * value, 2)


def _listed(words: Sequence[str]) -> str:
    return f'{", ".join(words[:-1])} and {words[-1]}'


def replay_table(entry: Mapping[str, Any]) -> Table:
    """Return one row per joint of a replay's ``entry``: drift, RMS, motion."""
    after = [f'after {x:g} s' for x in entry['seconds']]
    head = ('joint', 'unit', *after, 'RMS', 'motion', *(f'described, {x}' for x in after[-1:]))
    rows = []
    for joint, numbers in entry['joints'].items():
        drifts = [_in_thousandths(x) for x in numbers[MODEL]['drift']]
        row = [joint, THOUSANDTHS[numbers['unit']], *drifts]
        row += [_in_thousandths(numbers[MODEL]['rms']), _in_thousandths(numbers['motion'])]
        described = ''
        if DESCRIBED in numbers:
            described = _in_thousandths(numbers[DESCRIBED]['drift'][-1])
        rows.append([*row, described])
    return Table(head, rows)


def replay_chart(entry: Mapping[str, Any], drawings: Drawings) -> str:
    """Return the number of the chart of the worst joint of a replay's ``entry``."""
    curves = entry['worst']
    joint = curves['joint']
    unit = entry['joints'][joint]['unit']
    names = {'measured': 'measured', MODEL: 'model', DESCRIBED: 'description'}
    lines = {}
    for key, name in names.items():
        if key in curves:
            lines[name] = np.array(curves[key].split(), dtype=float)
    t = np.array(curves['t'].split(), dtype=float)
    return drawings.lines(f'Worst joint, {joint}', ('position', unit), ('time', 's'), t, lines)


def replay_section(model: IdentifiedModel, sentences: list[str], drawings: Drawings) -> Section:
    """Return the section of the replay of a ``model`` with its ``sentences``."""
    entry = model.statistics['replay']
    return Section(
        'Replay in a simulator',
        f'{entry["of"]} of {entry["recording"]}, {entry["windows"]} times {entry["restart"]:g} s',
        sentences,
        [replay_table(entry)],
        charts=[replay_chart(entry, drawings)],
        opened=False,
    )


def without_curves(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a replay's ``entry`` for programs: its numbers."""
    return {key: value for key, value in entry.items() if key != 'worst'}
