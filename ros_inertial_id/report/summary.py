"""The summary of an identification as plain text, for terminals and logs."""

from textwrap import wrap

from .digits import ratio, significant
from .knowledge import evaluate, fits, NOT
from .reach import force_unit
from .words import verdict
from ..dynamics.friction import LAWS
from ..identification.model.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model

WIDTH, WIDEST = 98, 118  # of sentences, of the table
LISTED = 4  # names in a sentence


def summary(model: IdentifiedModel) -> str:
    """Return a ``model`` as a short text table with the verdict below it."""
    lines = [*_head(model), '', *(line.rstrip() for line in _table(model)), '']
    for text in verdict(model, LISTED):
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
    laws, coefficients = _friction(model, joints)
    unit = force_unit(robot_of_model(model))
    rows = [[f'RMS [{unit}]', *(f'{part[:5]}.' for part, _ in columns), *laws],
            ['', *(kind for _, kind in columns), *(f'[{unit}]' for unit in laws.values())]]
    rows += [[joint, *(significant(fit['rms'][joint]) for fit in columns.values()),
              *(coefficients.get((joint, law), '') for law in laws)] for joint in joints]
    if ' or ' not in unit:  # newtons and newton metres have no common mean
        rows.append(['all', *(significant(fit['rms_all']) for fit in columns.values())])
    rows.append(['relative [%]', *(significant(fit['relative_percent'])
                                   for fit in columns.values())])
    wide = [max(len(row[k]) for row in rows if k < len(row)) for k in range(len(rows[0]))]
    # Friction laws that do not fit beside the others are in the report.
    shown = [k for k in range(len(wide)) if sum(wide[:k + 1]) + 2 * k <= WIDEST]
    return ['  '.join([row[0].ljust(wide[0]), *map(str.rjust, row[1:len(shown)], wide[1:])])
            for row in rows]


def _friction(model: IdentifiedModel, joints: list[str]
              ) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return {law: unit} and {(joint, law): coefficient with its standard error}."""
    laws, coefficients = {}, {}
    for item in evaluate(model):
        entry, law = item.entry, item.lead.law
        if item.lead.owner in joints and law in LAWS:
            laws[law] = entry['unit']
            coefficients[item.lead.owner, law] = (
                NOT if item.grade == NOT
                else f"{entry['value']:.2g} +- {entry['standard_error']:.1g}")
    return laws, coefficients
