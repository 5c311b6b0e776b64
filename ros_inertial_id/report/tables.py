"""Tables: what the page of an identification lists, as texts with numbers to sort by."""

from collections.abc import Mapping, Sequence
import re
from typing import Any

from .knowledge import (
    CORRELATED,
    evaluate,
    fits,
    Knowledge,
    NOT,
    percent,
    significant,
    typeset,
    with_error,
)
from .links import Link
from .links import UNITS as LINK_UNITS
from .recording_words import gravity_estimated, mounting_words, unit_of
from .sheet import Cell, Table
from .uses import CONTACT, FEEDFORWARD, GRAVITY, JointUse, SIMULATION, Uses
from ..checks.finding import odds
from ..dynamics.friction import LAWS, nonlinear_unit
from ..identification.identified_model import IdentifiedModel, plain
from ..identification.settings import options_class
from ..measurement.joints.drives import is_commanded
from ..measurement.summary import Summary

COV_TYPES = {
    'segments': ' Standard errors are cluster-robust, by segments of distinct motion (cov_type: '
    'segments).',
    'rows': ' Standard errors allow for the autocorrelation of the residuals (cov_type: rows).',
}
SHOWN_UNITS = {'s': (1e3, 'ms'), '1': (100.0, '%'), 'rad': (1e3, 'mrad')}  # {unit: factor, shown}


def uses_table(uses: Uses) -> Table:
    """Return one row per use: its grade, the numbers that decide it, what the grades mean."""
    return Table(
        ('use', 'grade', 'numbers', 'graded by the ratio of', 'good up to', 'no above'),
        [
            (
                use.capitalize(),
                _graded(grade),
                numbers,
                *(Cell(text, None, 'dim') for text in meaning),
            )
            for use, grade, numbers, *meaning in uses.rows()
        ],
        range(1, 4),
    )


def _graded(grade: str, text: str = '') -> Cell:
    return Cell(text or grade, None, f'grade-{grade.split()[0]}')


def joints_table(joints: Sequence[JointUse]) -> Table:
    """Return one row per joint: the grade of every use, with the number that decides it."""
    shown = {
        GRAVITY: 'gravity compensation, error of holding',
        FEEDFORWARD: 'feedforward, residual',
        CONTACT: 'contact, above',
        SIMULATION: 'simulation',
    }
    shown = {use: head for use, head in shown.items() if any(use in j.uses for j in joints)}
    rows = [
        (
            j.name,
            *(
                _graded(
                    j.uses[use],
                    ', '.join(filter(None, (j.uses[use], j.number(use) * (use != SIMULATION)))),
                )
                if use in j.uses
                else '-'
                for use in shown
            ),
            significant(j.residual),
            significant(j.torque),
            j.unit,
        )
        for j in joints
    ]
    return Table(
        ('joint or row', *shown.values(), 'residual RMS', 'measured RMS', 'unit'),
        rows,
        range(1, 1 + len(shown)),
    )


def links_table(links: Sequence[Link]) -> Table:
    """Return mass, centre of mass and principal moments of inertia of ``links``, and the prior."""
    rows = []
    for link in links:
        cells = []
        for k, sure in enumerate(link.determined[:7]):
            value, error = float(link.values[k]), float(link.errors[k])
            shown = (
                with_error(value, error)
                if error < abs(value)
                else (f'{value:.2g}', f'{error:.2g}')
            )
            nominal = '' if link.nominal is None else f' ({link.nominal[k]:.3g})'
            cells.append(Cell(' ± '.join(shown) + nominal, value, '' if sure else 'dim'))
        rows.append((link.name, *cells))
    heads = ['mass', 'centre x', 'centre y', 'centre z', *(f'inertia {k}' for k in (1, 2, 3))]
    return Table(
        ('link', *(f'{head} [{unit}]' for head, unit in zip(heads, LINK_UNITS))),
        rows,
        note=(
            'Value of the model ± standard error (robot description). Centre of mass in the '
            'frame of '
            "the link's joint, principal moments of inertia about the centre of mass. Grey: the "
            'data '
            'determine only sums with other links (see the base parameters); the error is then '
            'that '
            'of the prior, and other values predict the same torques.'
        ),
    )


def residuals_table(model: IdentifiedModel, unit: str) -> Table:
    """Return the residuals of every joint in every part of the data; ``unit`` : of all."""
    parts = fits(model)
    columns = {
        f'{part}, {kind}': fit[kind]
        for part, fit in parts.items()
        for kind in ('filtered', 'raw')
        if kind in fit
    }
    every = columns.values()
    rows = [('samples', *(str(fit['samples']) for fit in every))]
    rows += [
        (name, *(significant(fit['rms'][name]) for fit in every))
        for name in parts['training']['filtered']['rms']
    ]
    if ' or ' not in unit:
        rows.append(('all', *(significant(fit['rms_all']) for fit in every)))
    rows.append(('relative', *(f'{significant(fit["relative_percent"])} %' for fit in every)))
    return Table(
        (f'RMS [{unit}]', *columns),
        rows,
        title='Residuals',
        note=(
            'Relative: residual over measured torque (RMS), all joints together. Filtered: '
            'against '
            'the measured torque behind the filter of the positions; raw: as recorded. '
            'Cross-validation: five parts of the training data, each predicted by an estimate '
            'from '
            'the others with the same friction laws and direction of gravity.'
        ),
    )


def parameter_table(known: Sequence[Knowledge], cov_type: str = '') -> Table:
    """Return the base parameters; ``cov_type`` : of their errors, as in the statistics."""
    rows = []
    for item in known:
        entry, relative = item.entry, item.entry['relative_percent']
        value, error = (
            with_error(entry['value'], entry['standard_error'])
            if (entry['determined'])
            else ('', '')
        )
        shown = (
            Cell(
                f'{value} ± {error}{" !" * item.negative}',
                entry['value'],
                'flag' if item.negative else 'unit',
            )
            if value
            else Cell('not determined by the data', '', 'missing')
        )
        away = (
            (entry['nominal'] - entry['value']) / entry['standard_error']
            if (item.has_nominal and value and entry['standard_error'])
            else None
        )
        rows.append(
            (
                item.name,
                shown,
                Cell(percent(relative) if value else '', relative),
                Cell(typeset(entry['unit']), None, 'unit'),
                Cell(
                    f'{entry["nominal"]:.4g}' if item.has_nominal else '',
                    entry['nominal'] if item.has_nominal else '',
                ),
                Cell('' if away is None else f'{abs(away):.1f}', away, 'whisker'),
                f'{item.partner} ({item.correlation:+.2f})' * (item.inflation > CORRELATED),
                Cell(entry['expression'], None, 'mono'),
            )
        )
    heads = [
        'name',
        'value',
        'relative error [%]',
        'unit',
        'description',
        'difference [standard errors]',
        'strongly correlated with',
        'expression',
    ]
    return Table(
        heads,
        rows,
        (3, 6, 7),
        grades=[item.grade for item in known],
        note=(
            'The number that ends a name is that of the link or joint; R marks a sum. Moments of '
            "inertia are about the origin of the link's joint frame, products are tensor "
            'elements. '
            '! is negative, which is physically impossible. Bars: two standard errors about the '
            'value; diamond: the description, at most eight standard errors away.'
            + COV_TYPES.get(cov_type, '')
        ),
    )


def friction_table(model: IdentifiedModel) -> Table:
    """Return the friction coefficients per joint and law, and their nonlinear parameters."""
    constants = model.statistics.get('nonlinear_parameters', {})
    units: dict[str, dict[str, None]] = {}  # of turning and of sliding joints
    inside: dict[str, dict[str, None]] = {}
    by_joint: dict[str, dict[str, Knowledge]] = {}
    for item in evaluate(model):
        law, unit = item.lead.law, item.entry['unit']
        if law not in LAWS:
            continue
        by_joint.setdefault(item.lead.owner, {})[law] = item
        units.setdefault(law, {})[unit] = None
        if item.lead.nonlinear is not None and item.entry['determined']:
            inside.setdefault(law, {})[nonlinear_unit(law, unit)] = None

    def cell(item: Knowledge | None) -> Cell:
        if item is None:
            return Cell('in a sum', None, 'dim')
        if item.grade == NOT:
            return Cell('not determined by the data', None, 'missing')
        text = ' ± '.join(with_error(item.entry['value'], item.entry['standard_error']))
        return Cell(text + ' !' * item.negative, None, 'flag' * item.negative)

    rows = [
        (
            joint,
            *(cell(own.get(law)) for law in units),
            *(_constant(own[law], constants) if law in own else '' for law in inside),
        )
        for joint, own in by_joint.items()
    ]
    return Table(
        (
            'joint',
            *(f'{law} [{" or ".join(of)}]' for law, of in units.items()),
            *(f'{law}, nonlinear [{" or ".join(of)}]' for law, of in inside.items()),
        ),
        rows,
    )


def decisions(model: IdentifiedModel) -> Table:
    """Return what was decided for a ``model``, what was taken and why."""
    rows = []
    by_question: dict[str, list[Mapping[str, Any]]] = {}
    for entry in model.statistics.get('choices') or []:
        tried = f', of {entry["tried"]} tried' if 'tried' in entry else ''
        by_question.setdefault(entry['what'] + tried, []).append(entry)
    for question, entries in by_question.items():
        for entry in sorted(entries, key=lambda entry: not entry['chosen']):
            rows.append(
                (
                    question,
                    entry['candidate'] if entry['chosen'] else f'not: {entry["candidate"]}',
                    _evidence(entry),
                )
            )
    for number, entry in enumerate(model.preprocessing, 1):
        where = f', recording {number}' if len(model.preprocessing) > 1 else ''
        rows += [
            (f'{what}{where}', taken, why) for what, taken, why in _of_signals(Summary.of(entry))
        ]
    return Table(('decision', 'taken', 'why'), rows, (1, 2))


def nuisance_table(model: IdentifiedModel) -> Table | None:
    """Return what sensors of a ``model`` do, as the recording shows it, None where unknown."""
    entries = model.statistics.get('nuisances')
    if not entries:
        return None
    rows = []
    for entry in entries:
        factor, unit = SHOWN_UNITS.get(entry['unit'], (1.0, entry['unit']))
        numbers = (factor * entry[key] for key in ('value', 'standard_error', 'prior'))
        value, error, prior = (f'{number:.2g}' for number in numbers)
        size = abs(entry['value']) / max(entry['standard_error'], 1e-300)
        applied = 'yes' if entry.get('applied') else 'no'
        shown = Cell(f'{value} ± {error} {unit}', size)
        rows.append((entry['what'], entry['joint'] or 'all', shown, f'{prior} {unit}', applied))
    return Table(
        ('what', 'joint', 'estimate', 'prior', 'taken off'),
        rows,
        (0, 1),
        note=(
            'Each under its prior, by which a sensor is off that nobody calibrated: where the '
            'error is that of the prior, the recording does not show it. A load is as accurate '
            'as the described masses.'
        ),
    )


def _evidence(entry: Mapping[str, Any]) -> str:
    """Return what speaks for a candidate or against it, in words."""
    error, worse, evidence = (
        entry.get(key) for key in ('left_out_error', 'worse_percent', 'evidence')
    )
    words = [] if error is None else [f'cross-validated residual {significant(error)} %']
    if worse and not entry['chosen']:
        size, spread = with_error(abs(worse), entry['worse_error_percent'])
        words.append(f'{"worse" if worse > 0.0 else "better"} by {size} ± {spread} %')
    if evidence:
        words.append(
            f'log-likelihood {"higher" if evidence > 0.0 else "lower"} by '
            f'{abs(evidence):.3g} (odds {odds(abs(evidence))})'
        )
    return ', '.join(words)


def _of_signals(seen: Summary) -> list[tuple[str, str, str]]:
    """Return (decision, taken, why) of the signals of one recording."""
    rows = []
    if seen.rate:
        recorded = ''
        if seen.duration:
            recorded = f'recorded for {seen.duration:.4g} s'
        rows.append(('rate', f'{seen.rate:.4g} Hz', recorded))
    if seen.time_offset_found is not None:
        rows.append(_of_delay(seen))
    why = ['given']
    if seen.cutoff_chosen:
        why = ['chosen from the data']
    if seen.motion_ends_at:
        why.append(f'the motion ends at {seen.motion_ends_at:.3g} Hz')
    rows.append(('low-pass cutoff', f'{seen.cutoff:.3g} Hz', '; '.join(why)))
    differ = ''
    if seen.velocity_disagreement is not None:
        percent = 100 * seen.velocity_disagreement
        differ = f'measured and differentiated velocities differ by {percent:.2g} %'
    rows.append(('velocity', seen.velocity, differ))
    return rows


def _of_delay(seen: Summary) -> tuple[str, str, str]:
    """Return (decision, taken, why) of the delay of the efforts, or of the commands."""
    what, delay = 'effort delay', seen.time_offset_found or 0.0
    if is_commanded(seen.effort_kind):  # which are late where the efforts they make are early
        what, delay = 'command delay', -delay
    error = seen.time_offset_error or 0.0
    taken = 'applied' if seen.time_offset else 'not applied'
    why = f'estimated {1e3 * delay:.1f} ± {1e3 * error:.1f} ms'
    if abs(delay) < 2.0 * error:
        why += '; not significant'
    return what, taken, why


def text(value: Any) -> str:
    """Return a plain ``value`` as text."""
    if isinstance(value, bool) or value is None:
        return {True: 'yes', False: 'no', None: '-'}[value]
    if isinstance(value, Mapping):
        return '; '.join(f'{key} {text(part)}' for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return ', '.join(text(v) or 'none' for v in value)
    return f'{value:.4g}' if isinstance(value, float) else str(value)


def names_table(model: IdentifiedModel) -> Table:
    """Return (number, link, joint) of a ``model``: what numbers in parameter names stand for."""
    links: dict[str, str] = {}
    joints: dict[str, str] = {}
    for p in model.parameters:
        number = re.search(r'\d+$', p.name)
        if number and p.owner:
            (joints if p.law else links).setdefault(number[0], p.owner)
    if len(model.robot['joints']) == len(links):  # every link is carried by a joint of its own
        joints = {**dict(zip(links, model.robot['joints'])), **joints}
    return Table(
        ('number', 'link', 'joint'),
        [(n, links.get(n, ''), joints.get(n, '')) for n in {**links, **joints}],
        (1, 2),
        title='Numbers in the names',
    )


def validity_table(model: IdentifiedModel, robot: Any) -> Table:
    """Return the ranges of the training data per joint or body of a ``robot``."""
    names = list(dict.fromkeys(name for seen in model.validity_range.values() for name in seen))
    rows = [
        (
            where,
            *(' to '.join(map(significant, seen[name])) if name in seen else '' for name in names),
        )
        for where, seen in model.validity_range.items()
    ]
    return Table(
        ('joint or body', *(f'{name} [{unit_of(robot, name)}]' for name in names)),
        rows,
        title='Validity range: what the training data cover',
    )


def settings_table(model: IdentifiedModel) -> Table:
    """Return robot, gravity, mounting and the options that are not as by default."""
    rows = [
        (
            'robot',
            f'{model.robot["name"]}, base {model.robot["base_link"]}, '
            f'{len(model.robot["joints"])} joints',
        )
    ]
    rows += [
        (
            f'gravity in {model.robot["base_link"]}',
            f'[{", ".join(f"{x:.4g}" for x in gravity)}] m/s²'
            + ', estimated from the torques' * gravity_estimated(model),
        )
        for gravity in model.mounting['gravity_base']
    ]
    rows += [('mounting', mounting_words(model))]
    rows += [
        (f'option {name}', text(value))
        for name, value in changed_options(model).items()
        if name != 'mounting'
    ]
    return Table(('setting', 'value'), rows, (1,))


def _constant(item: Knowledge, constants: dict[str, Any]) -> str:
    """Return the constant in a law, or the end of those tried that it lies at: none is known."""
    ends = constants.get(item.name, {})
    if 'least' not in ends or None not in (ends['least'], ends['greatest']):
        return significant(item.lead.nonlinear)
    if ends['least'] == ends['greatest']:
        return 'not determined'
    return (
        f'at least {ends["least"]:.3g}'
        if ends['greatest'] is None
        else f'at most {ends["greatest"]:.3g}'
    )


def changed_options(model: IdentifiedModel) -> dict[str, Any]:
    """Return {option: value} of the options of a ``model`` that are not as by default."""
    usual = options_class(model.method)()
    return {
        name: value
        for name, value in model.options.items()
        if plain(value) != plain(getattr(usual, name, None))
    }


def provenance_tables(model: IdentifiedModel) -> list[Table]:
    """Return a table per recording that a ``model`` comes from, and one of the versions."""
    out = [
        Table(
            (part, 'value'),
            [
                (key.replace('_', ' '), Cell(text(value), None, 'break'))
                for key, value in entry.items()
                if value not in (None, '', [], (), {})
            ],
            (1,),
        )
        for part, place in (('training', 'recordings'), ('validation', 'validation'))
        for entry in model.provenance.get(place, ())
    ]
    versions = [
        ('created', model.provenance['created']),
        *model.provenance['versions'].items(),
        ('kinematics sha256', Cell(model.robot['kinematics_sha256'], None, 'break')),
    ]
    return [*out, Table(('version', 'value'), versions, (1,))]
