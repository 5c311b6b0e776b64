"""The summary of an identification: as text for terminals and logs, as numbers for programs."""

from textwrap import wrap
from typing import Any

from .digits import ratio, significant
from .knowledge import evaluate, fits, NOT
from .links import links_of
from .recording_words import force_unit
from .uses import uses_of
from .words import verdict
from ..dynamics.friction import LAWS
from ..identification.model.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model

WIDTH, LONGEST = 98, 118  # of sentences, of the table
LISTED = 4  # names in a sentence
ENTRY_KEYS = ('name', 'expression', 'value', 'standard_error', 'unit', 'determined',
              'relative_percent', 'nominal', 'unconstrained')


def summary(model: IdentifiedModel) -> str:
    """Return a ``model`` as a short text table with uses and verdict below it."""
    lines = [*_head(model), '', *(line.rstrip() for line in _table(model)), '']
    for text in (*uses_of(model).sentences(), *verdict(model, LISTED)):
        lines += wrap(text, WIDTH, initial_indent='- ', subsequent_indent='  ')
    return '\n'.join(lines)


def _head(model: IdentifiedModel) -> list[str]:
    s, first = model.statistics, model.preprocessing[0]
    gravity = '; '.join(' '.join(f'{x:.3g}' for x in g) for g in model.mounting['gravity_base'])
    bags = len(model.preprocessing)
    signal = [f'{first["rate"]:.4g} Hz'] if first.get('rate') else []
    signal += [f'low-pass {first["cutoff"]:.3g} Hz', f'{first["velocity"]} velocity']
    return [f"{model.robot['name']}: {model.method}, gravity [{gravity}] m/s^2 in "
            f"{model.robot['base_link']}",
            f"{s['samples']} samples of {bags} recording{'s' if bags > 1 else ''}, "
            f"{', '.join(signal)}; rank {s['rank_in_data']} of {s['rank']}, condition number "
            f"{ratio(s['condition_number'])}"]


def _table(model: IdentifiedModel) -> list[str]:
    """Return rows of a table per joint: residual RMS, friction; then over all and relative."""
    columns = {(part, kind): fit[kind] for part, fit in fits(model).items()
               for kind in ('filtered', 'raw') if kind in fit}
    joints = list(columns['training', 'filtered']['rms'])
    laws: dict[str, str] = {}
    coefficients = {}
    for item in evaluate(model):
        entry, law = item.entry, item.lead.law
        if item.lead.owner in joints and law in LAWS:
            laws[law] = entry['unit']
            coefficients[item.lead.owner, law] = NOT if item.grade == NOT else (
                f"{entry['value']:.2g} +- {entry['standard_error']:.1g}")
    unit = force_unit(robot_of_model(model))
    rows = [[f'RMS [{unit}]', *(f'{part[:5]}.' for part, _ in columns), *laws],
            ['', *(kind for _, kind in columns), *(f'[{unit}]' for unit in laws.values())]]
    rows += [[joint, *(significant(fit['rms'][joint]) for fit in columns.values()),
              *(coefficients.get((joint, law), '') for law in laws)] for joint in joints]
    if ' or ' not in unit:  # newtons and newton metres have no common mean
        rows.append(['all', *(significant(fit['rms_all']) for fit in columns.values())])
    rows.append(['relative [%]', *(significant(fit['relative_percent'])
                                   for fit in columns.values())])
    width = [max(len(row[k]) for row in rows if k < len(row)) for k in range(len(rows[0]))]
    # Friction laws that do not fit beside the others are in the report.
    shown = [k for k in range(len(width)) if sum(width[:k + 1]) + 2 * k <= LONGEST]
    return ['  '.join([row[0].ljust(width[0]), *map(str.rjust, row[1:len(shown)], width[1:])])
            for row in rows]


def outline(model: IdentifiedModel) -> dict[str, Any]:
    """Return the numbers of a ``model`` for programs: those of --json and of the page."""
    numbers = dict(model.statistics)
    if 'unconstrained' in numbers:
        numbers['unconstrained'] = {k: v for k, v in numbers['unconstrained'].items()
                                    if k != 'values'}
    known = {k: v for k, v in model.mounting.items() if k in ('known', 'missing')}
    return {'method': model.method, 'verdict': verdict(model), **numbers,
            'uses': uses_of(model).to_dict(),
            'links': [link.to_dict() for link in links_of(model)],
            'base_parameters': [{k: entry[k] for k in ENTRY_KEYS if k in entry}
                                for entry in model.base],
            'mounting_parameters': known, 'preprocessing': model.preprocessing,
            'mounting': {k: v for k, v in model.mounting.items() if k not in known}}
