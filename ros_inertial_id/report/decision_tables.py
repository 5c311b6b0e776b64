"""Tables of how a model was made: decisions and their reasons, settings, sensors, provenance."""

from collections.abc import Mapping
from typing import Any

from .choice_facts import candidate_facts
from .model_statistics import ModelStatistics
from .mounting import gravity_estimated, mounting_words
from .sentences import said
from .sheet import Cell, Table
from ..identification.identified_model import IdentifiedModel, plain
from ..identification.settings import options_class
from ..measurement.joints.drives import is_commanded
from ..measurement.summary import Summary

SHOWN_UNITS = {'s': (1e3, 'ms'), '1': (100.0, '%'), 'rad': (1e3, 'mrad')}  # {unit: factor, shown}
# {part of a page's table: its key in the provenance of a model}
RECORDING_KEYS = {'training': 'recordings', 'validation': 'validation'}
ANSWERS = {True: 'yes', False: 'no', None: '-'}
SAYS_NOTHING: tuple[Any, ...] = (None, '', [], (), {})
Decision = tuple[str, str, str]  # what was decided, what was taken, why


def decisions(model: IdentifiedModel) -> Table:
    """Return the decisions for a ``model``: what was asked, what was taken and why."""
    rows = _of_choices(model)
    several = len(model.preprocessing) > 1
    for number, entry in enumerate(model.preprocessing, 1):
        where = ''
        if several:
            where = f', recording {number}'
        of_signals = [decision_of(Summary.of(entry)) for decision_of in OF_SIGNALS]
        rows += [(f'{what}{where}', taken, why) for what, taken, why in filter(None, of_signals)]
    return Table(('decision', 'taken', 'why'), rows, (1, 2))


def _of_choices(model: IdentifiedModel) -> list[Decision]:
    """Return candidates of every question, the one that was taken first."""
    by_question: dict[str, list[Mapping[str, Any]]] = {}
    for candidate in ModelStatistics(model).choices:
        question = candidate['what']
        if 'tried' in candidate:
            question += f', of {candidate["tried"]} tried'
        by_question.setdefault(question, []).append(candidate)
    rows = []
    for question, candidates in by_question.items():
        for candidate in sorted(candidates, key=lambda candidate: not candidate['chosen']):
            taken = candidate['candidate']
            if not candidate['chosen']:
                taken = f'not: {taken}'
            rows.append((question, taken, ', '.join(said(candidate_facts(candidate)))))
    return rows


def _of_rate(summary: Summary) -> Decision | None:
    """Return at which rate a recording was read, None where that is not known."""
    if not summary.rate:
        return None
    recorded = ''
    if summary.duration:
        recorded = f'recorded for {summary.duration:.4g} s'
    return 'rate', f'{summary.rate:.4g} Hz', recorded


def _of_cutoff(summary: Summary) -> Decision:
    """Return the cutoff of the low-pass, and what it was chosen by."""
    why = 'given'
    if summary.cutoff_chosen:
        why = 'chosen from the data'
    if summary.motion_ends_at:
        why += f'; the motion ends at {summary.motion_ends_at:.3g} Hz'
    return 'low-pass cutoff', f'{summary.cutoff:.3g} Hz', why


def _of_velocity(summary: Summary) -> Decision:
    """Return which velocity was taken, and how far the other one is from it."""
    if summary.velocity_disagreement is None:
        return 'velocity', summary.velocity, ''
    percent = 100 * summary.velocity_disagreement
    differ = f'measured and differentiated velocities differ by {percent:.2g} %'
    return 'velocity', summary.velocity, differ


def _of_delay(summary: Summary) -> Decision | None:
    """Return the delay of the efforts, or of the commands, None where it was not estimated."""
    if summary.time_offset_found is None:
        return None
    what, delay = 'effort delay', summary.time_offset_found
    if is_commanded(summary.effort_kind):  # which are late where the efforts they make are early
        what, delay = 'command delay', -delay
    error = summary.time_offset_error or 0.0
    taken = 'not applied'
    if summary.time_offset:
        taken = 'applied'
    why = f'estimated {1e3 * delay:.1f} ± {1e3 * error:.1f} ms'
    if abs(delay) < 2.0 * error:
        why += '; not significant'
    return what, taken, why


OF_SIGNALS = (_of_rate, _of_delay, _of_cutoff, _of_velocity)


def nuisance_table(model: IdentifiedModel) -> Table:
    """Return the errors of sensors that a ``model`` estimates, empty where it has none."""
    rows = [_nuisance(entry) for entry in ModelStatistics(model).nuisances]
    return Table(
        ('what', 'joint', 'estimate', 'prior', 'taken off'),
        rows,
        (0, 1),
        note='Each under its prior, by which a sensor is off that nobody calibrated: where the '
        'error is that of the prior, the recording does not show it. A load is as accurate '
        'as the described masses.',
    )


def _nuisance(entry: Mapping[str, Any]) -> tuple[str, str, Cell, str, str]:
    factor, unit = SHOWN_UNITS.get(entry['unit'], (1.0, entry['unit']))
    value, error, prior = (
        f'{factor * entry[key]:.2g}' for key in ('value', 'standard_error', 'prior')
    )
    significance = abs(entry['value']) / max(entry['standard_error'], 1e-300)
    return (
        entry['what'],
        entry['joint'] or 'all',
        Cell(f'{value} ± {error} {unit}', significance),
        f'{prior} {unit}',
        _text(bool(entry.get('applied'))),
    )


def _text(value: Any) -> str:
    """Return a ``value`` of a model file as text."""
    if value is None or isinstance(value, bool):
        return ANSWERS[value]
    if isinstance(value, float):
        return f'{value:.4g}'
    if isinstance(value, Mapping):
        return '; '.join(f'{key} {_text(part)}' for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ', '.join(_text(part) or 'none' for part in value)
    return str(value)


def settings_table(model: IdentifiedModel) -> Table:
    """Return robot, gravity, mounting and the options that are not as by default."""
    robot = model.robot
    joints = len(robot['joints'])
    rows = [('robot', f'{robot["name"]}, base {robot["base_link"]}, {joints} joints')]
    estimated = ''
    if gravity_estimated(model):
        estimated = ', estimated from the torques'
    for gravity in model.mounting['gravity_base']:
        components = ', '.join(f'{x:.4g}' for x in gravity)
        rows.append((f'gravity in {robot["base_link"]}', f'[{components}] m/s²{estimated}'))
    rows.append(('mounting', mounting_words(model)))
    for name, value in _changed_options(model).items():
        if name != 'mounting':
            rows.append((f'option {name}', _text(value)))
    return Table(('setting', 'value'), rows, (1,))


def _changed_options(model: IdentifiedModel) -> dict[str, Any]:
    """Return {option: value} of the options of a ``model`` that are not as by default."""
    usual = options_class(model.method)()
    return {
        name: value
        for name, value in model.options.items()
        if plain(value) != plain(getattr(usual, name, None))
    }


def provenance_tables(model: IdentifiedModel) -> list[Table]:
    """Return a table per recording that a ``model`` comes from, and one of the versions."""
    tables = []
    for part, key in RECORDING_KEYS.items():
        for entry in model.provenance.get(key, ()):
            rows = [
                (name.replace('_', ' '), Cell(_text(value), None, 'break'))
                for name, value in entry.items()
                if value not in SAYS_NOTHING
            ]
            tables.append(Table((part, 'value'), rows, (1,)))
    versions = [
        ('created', model.provenance['created']),
        *model.provenance['versions'].items(),
        ('kinematics sha256', Cell(model.robot['kinematics_sha256'], None, 'break')),
    ]
    return [*tables, Table(('version', 'value'), versions, (1,))]
