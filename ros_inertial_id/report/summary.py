"""The summary of an identification: as text for terminals and logs, as numbers for programs."""

from textwrap import wrap
from typing import Any

from .knowledge import ratio
from .links import links_of
from .tables import friction_table, joints_table
from .uses import uses_of
from .words import chapters, verdict
from ..identification.identified_model import IdentifiedModel
from ..measurement.summary import Summary

WIDTH = 98  # of sentences
LISTED = 4  # names in a sentence
ENTRY_KEYS = (
    'name',
    'expression',
    'value',
    'standard_error',
    'unit',
    'determined',
    'relative_percent',
    'nominal',
    'unconstrained',
)


def summary(model: IdentifiedModel) -> str:
    """Return a ``model`` as short text: uses per joint, friction, and how well it predicts."""
    uses = uses_of(model)
    lines = [*_head(model), '', *joints_table(uses.joints).lines()]
    friction = friction_table(model)
    lines += ['', *friction.lines()] if friction.rows else []
    for title, texts in {'Uses': uses.sentences(), **chapters(model, LISTED)}.items():
        if title != 'Parameters' and texts:  # which the report lists
            lines += ['', f'{title}:']
            lines += [
                line
                for text in texts
                for line in wrap(text, WIDTH, initial_indent='- ', subsequent_indent='  ')
            ]
    return '\n'.join(lines)


def _head(model: IdentifiedModel) -> list[str]:
    s, first = model.statistics, Summary.of(model.preprocessing[0])
    gravity = '; '.join(' '.join(f'{x:.3g}' for x in g) for g in model.mounting['gravity_base'])
    bags = len(model.preprocessing)
    signal = []
    if first.rate:
        signal.append(f'{first.rate:.4g} Hz')
    signal += [f'low-pass {first.cutoff:.3g} Hz', f'{first.velocity} velocity']
    return [
        f'{model.robot["name"]}: {model.method}, gravity [{gravity}] m/s^2 in '
        f'{model.robot["base_link"]}',
        f'{s["samples"]} samples of {bags} recording{"s" if bags > 1 else ""}, '
        f'{", ".join(signal)}; rank {s["rank_in_data"]} of {s["rank"]}, condition number '
        f'{ratio(s["condition_number"])}',
    ]


def outline(model: IdentifiedModel) -> dict[str, Any]:
    """Return the numbers of a ``model`` for programs: those of --json and of the page."""
    numbers = dict(model.statistics)
    if 'unconstrained' in numbers:
        numbers['unconstrained'] = {
            k: v for k, v in numbers['unconstrained'].items() if k != 'values'
        }
    known = {k: v for k, v in model.mounting.items() if k in ('known', 'missing')}
    return {
        'method': model.method,
        'sentences': verdict(model),
        **numbers,
        'uses': uses_of(model).to_dict(),
        'links': [link.to_dict() for link in links_of(model)],
        'base_parameters': [
            {k: entry[k] for k in ENTRY_KEYS if k in entry} for entry in model.base
        ],
        'mounting_parameters': known,
        'preprocessing': model.preprocessing,
        'mounting': {k: v for k, v in model.mounting.items() if k not in known},
    }
