"""The summary of an identification: as text for terminals and logs, as numbers for programs."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from .knowledge import ratio
from .links import Link, links_of
from .parameter_tables import friction_table
from .replay_facts import without_curves
from .tables import joints_table
from .uses import Uses, uses_of
from .whole import Whole, whole_of
from .words import chapters
from ..identification.identified_model import IdentifiedModel
from ..measurement.summary import Summary

SENTENCE_WIDTH = 98  # characters
LISTED_NAMES = 4  # in a sentence
NOT_IN_SUMMARY = 'Parameters'  # chapter that the report lists
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
    'combined_error',
    'budget',
)


def summary(model: IdentifiedModel) -> str:
    """Return a ``model`` as short text: uses per joint, friction, and how well it predicts."""
    uses = uses_of(model)
    lines = [*_head(model), '', *joints_table(uses.joints).lines()]
    friction = friction_table(model)
    if friction.rows:
        lines += ['', *friction.lines()]
    texts = {'Uses': uses.sentences(), **chapters(model, LISTED_NAMES)}
    for title, sentences in texts.items():
        if sentences and title != NOT_IN_SUMMARY:
            lines += ['', f'{title}:', *_items(sentences)]
    return '\n'.join(lines)


def _items(sentences: Iterable[str]) -> list[str]:
    """Return ``sentences`` as lines of a list."""
    lines = []
    for text in sentences:
        lines += wrap(text, SENTENCE_WIDTH, initial_indent='- ', subsequent_indent='  ')
    return lines


def _head(model: IdentifiedModel) -> list[str]:
    s, robot, first = model.statistics, model.robot, Summary.of(model.preprocessing[0])
    directions = '; '.join(map(_vector, model.mounting['gravity_base']))
    recordings = '1 recording'
    if len(model.preprocessing) > 1:
        recordings = f'{len(model.preprocessing)} recordings'
    signal = [f'low-pass {first.cutoff:.3g} Hz', f'{first.velocity} velocity']
    if first.rate:
        signal.insert(0, f'{first.rate:.4g} Hz')
    return [
        f'{robot["name"]}: {model.method}, gravity [{directions}] m/s^2 in {robot["base_link"]}',
        f'{s["samples"]} samples of {recordings}, {", ".join(signal)}; rank {s["rank_in_data"]} '
        f'of {s["rank"]}, condition number {ratio(s["condition_number"])}',
    ]


def _vector(components: Iterable[float]) -> str:
    return ' '.join(f'{x:.3g}' for x in components)


def outline(model: IdentifiedModel) -> dict[str, Any]:
    """Return the numbers of a ``model`` for programs: those of --json and of the page."""
    return outline_of(model, chapters(model), uses_of(model), (links_of(model), whole_of(model)))


def outline_of(
    model: IdentifiedModel,
    texts: Mapping[str, Sequence[str]],
    uses: Uses,
    weights: tuple[Sequence[Link], Whole | None],
) -> dict[str, Any]:
    """Return the ``outline`` of a ``model``; weights : its links, and the whole if it has one."""
    links, whole = weights
    whole_entry = {}
    if whole:
        whole_entry['whole'] = whole.to_dict()
    statistics = dict(model.statistics)
    if 'unconstrained' in statistics:
        unconstrained = dict(statistics['unconstrained'])
        unconstrained.pop('values', None)
        statistics['unconstrained'] = unconstrained
    statistics.pop('systematic_errors', None)
    if 'replay' in statistics:
        statistics['replay'] = without_curves(statistics['replay'])
    mounting = dict(model.mounting)
    of_parameters = {key: mounting.pop(key) for key in ('known', 'missing') if key in mounting}
    return {
        'method': model.method,
        'sentences': [text for sentences in texts.values() for text in sentences],
        **statistics,
        'uses': uses.to_dict(),
        'links': [link.to_dict() for link in links],
        **whole_entry,
        'base_parameters': [_entry(entry) for entry in model.base],
        'mounting_parameters': of_parameters,
        'preprocessing': model.preprocessing,
        'mounting': mounting,
    }


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a base parameter that programs read."""
    return {key: entry[key] for key in ENTRY_KEYS if key in entry}
