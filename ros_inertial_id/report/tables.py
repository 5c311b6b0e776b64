"""Tables: the rows that the page shows, as texts, with numbers to sort by where they differ."""

from collections.abc import Mapping
import re
from typing import Any

from .digits import percent, significant, typeset, with_error
from .knowledge import fits, Knowledge, MIXED, ROUGH, WELL
from .reach import unit_of
from .words import relative_residuals
from ..dynamics.friction import LAWS
from ..identification.model.identified_model import IdentifiedModel, plain
from ..identification.settings import options_class
from ..methods import DEFAULT_METHOD

SIGNALS = (  # key of an observation's summary, words, unit, digits
    ('topic', 'topic', '', 0), ('effort_topic', 'effort from', '', 0),
    ('effort_kind', 'kind of effort', '', 0), ('position_kind', 'kind of position', '', 0),
    ('rate', 'rate', 'Hz', 4), ('duration', 'duration', 's', 4), ('samples', 'samples', '', 0),
    ('missing', 'missing samples', '', 0),
    ('not_finite', 'messages left out for values that are no numbers', '', 0),
    ('gaps', 'gaps that split it', '', 0),
    ('gaps_at', 'gaps from, to', 's', 4), ('segments', 'segments', '', 0),
    ('velocity', 'velocity', '', 0),
    ('velocity_disagreement', 'measured against differentiated velocity, relative', '', 2),
    ('motion_ends_at', 'motion ends at', 'Hz', 3), ('cutoff', 'low-pass cutoff', 'Hz', 3),
    ('cutoff_chosen', 'cutoff chosen from the data', '', 0),
    ('decimate', 'used one of so many samples', '', 0),
    ('held', 'joints held', '', 0), ('not_still', 'links that were not still', '', 3),
    ('imus', 'IMUs', '', 3), ('sources', 'poses, RMS of markers [m]', '', 3),
    ('impacts', 'impacts from, to', 's', 4),
    ('time_offset', 'efforts stamped late, corrected by', 's', 3),
    ('time_offset_found', 'efforts stamped late, as found', 's', 3),
    ('time_offset_error', '... its standard error', 's', 2),
    ('time_offset_residual_ratio', '... residual with it over that without', '', 3),
    ('unwrapped', 'joints that wrapped, times', '', 0), ('bias', 'sensor bias', 'N and N m', 3),
    ('camera', 'camera, position [m] and rotation vector', 'rad', 4),
    ('independent', 'independent joints', '', 0), ('motion', 'motion from', '', 0),
    ('torque', 'torque from', '', 0),
    ('torque_clock_offset', 'torque stamped late, corrected by', 's', 3),
    ('torque_clock_offset_error', '... its standard error', 's', 2),
    ('torque_clock_drift', '... that is in the middle, and grows by', 's per s', 2),
    ('marker_rms', 'markers, RMS', 'm', 3), ('marker_frames', 'frames of markers', '', 0),
    ('marker_frames_lost', 'frames of markers lost', '', 0),
    ('marker_deviation', 'position by markers, standard error', 'rad or m', 3),
    ('smoothed_deviation', 'position, velocity, acceleration after smoothing, standard errors '
     '[rad or m, s]', '', 3))
UNITS = {  # of keys within what an IMU or a source says of itself
    'rate': 'Hz', 'clock_offset': 's', 'clock_drift': 's per s', 'gyro_bias': 'rad/s',
    'accelerometer_bias': 'm/s²', 'turned_degrees': '°', 'shifted': 'm',
    'misfit': 'rad/s and m/s²', 'silent': 's at most', 'silent_from': 's',
    'variance': 'rad²/s² and m²/s⁴'}
NAMES = {'turned_degrees': 'turned by', 'shifted': 'shifted by'}
HIDDEN = {'cutoff_curve', 'jerk_noise', 'jerk_noise_alone', 'torque_clock_gain'}


def joint_rows(model: IdentifiedModel) -> list[dict[str, Any]]:
    """
    Return one row per row group of a ``model``: verdict, relative residual, sizes, correlation.

    The verdict is that of the checks where they were made, else whether the residual is noise.
    """
    parts, shares = fits(model), relative_residuals(model)
    fit = parts.get('validation', parts['training'])['filtered']
    whole = model.statistics.get('verdict') or {}
    checked = whole.get('joints', {})
    first, correlation = model.preprocessing[0], model.statistics['correlation_samples']
    period = first.get('decimate', 1) / first['rate'] if first.get('rate') else None
    rows = []
    for name, rms in fit['rms'].items():
        verdict = checked.get(name, {})
        own = [words for words in dict.fromkeys(verdict.get('reasons', ()))
               if words not in whole['reasons']]  # what holds for all stands at the top
        samples = correlation.get(name)
        rows.append({
            'name': name, 'word': verdict.get('word', ''),
            'reasons': '; '.join(own), 'rms': significant(rms),
            'measured': significant(fit.get('measured_rms', {}).get(name)),
            'relative': significant(shares.get(name)), 'share': shares.get(name, 0.0),
            'correlated': significant(samples),
            'seconds': significant(samples * period, 2) if period and samples else ''})
    return sorted(rows, key=lambda row: -row['share'])


def fit_columns(model: IdentifiedModel) -> list[tuple[str, str, dict[str, Any]]]:
    """Return (part, kind, fit) of every residual statistics there is of a ``model``."""
    s = model.statistics
    parts = fits(model)
    free = s.get('unconstrained', {}).get('training')
    if free:
        parts['training, unconstrained'] = free
    return [(part, kind, fit[kind]) for part, fit in parts.items()
            for kind in ('filtered', 'raw') if kind in fit]


def parameter_row(item: Knowledge) -> dict[str, Any]:
    """Return one base parameter (an ``item`` of Knowledge) as texts and numbers to sort by."""
    entry = item.entry
    row = {'name': item.name, 'expression': entry['expression'], 'unit': typeset(entry['unit']),
           'owner': item.lead.owner, 'determined': entry['determined'], 'grade': item.grade,
           'nominal': f"{entry['nominal']:.4g}" if item.described else '',
           'impossible': item.impossible, 'negative': item.negative, 'mixed': '',
           'surprise': None, 'unconstrained': '', 'number': entry['value'],
           'share': entry['relative_percent'], 'prior': entry['nominal']}
    if entry['determined']:
        row['value'], row['error'] = with_error(entry['value'], entry['standard_error'])
        row['relative'] = percent(entry['relative_percent'])
        row['surprise'] = item.surprise if item.described else None
        if entry.get('unconstrained'):
            row['unconstrained'] = ' ± '.join(with_error(*entry['unconstrained']))
    if item.inflation > MIXED:
        row['mixed'] = f'{item.partner} ({item.correlation:+.2f})'
    return row


def counts(known: list[Knowledge]) -> dict[str, int]:
    """Return how many of ``known`` are determined, well or roughly, and below zero."""
    return {'all': len(known), 'useful': sum(k.grade in (WELL, ROUGH) for k in known),
            'negative': sum(k.negative for k in known)}


def signals(model: IdentifiedModel) -> list[tuple[str, list[str]]]:
    """Return (words, one text per recording) of what was understood of a ``model``'s signals."""
    known = {*HIDDEN, *(key for key, *_ in SIGNALS)}
    rows = list(SIGNALS)
    rows += [(key, key.replace('_', ' '), '', 0) for key in model.preprocessing[0]
             if key not in known]
    out = []
    for key, words, unit, digits in rows:
        values = [summary.get(key) for summary in model.preprocessing]
        if all(value is None for value in values):
            continue
        texts = [text(value, digits) for value in values]
        if any(texts):
            out.append((words, [f'{words} {unit}'.strip() if words else '' for words in texts]))
    return out


def text(value: Any, digits: int = 0, by_name: bool = True) -> str:
    """
    Return a plain value as text.

    value : number, text, list or mapping; digits : significant ones of numbers, 0 for six
    by_name : a mapping has names of topics, links, joints; within them words, and names again
    """
    if isinstance(value, bool) or value is None:
        return {True: 'yes', False: 'no', None: '-'}[value]
    if isinstance(value, Mapping):
        texts = {k: text(v, digits, not by_name) for k, v in value.items() if v not in ([], {})}
        keys = {k: str(k) if by_name else NAMES.get(k, k.replace('_', ' ')) for k in value}
        return '; '.join(f"{keys[k]} {words} {UNITS.get(k, '')}".strip()
                         for k, words in texts.items() if words.strip('-, '))
    if isinstance(value, (list, tuple)):
        return ', '.join(text(v, digits) or 'none' for v in value)
    if isinstance(value, float):
        return significant(value, digits) if digits else f'{value:.6g}'
    return str(value)


def bodies(model: IdentifiedModel) -> list[tuple[str, str, str]]:
    """Return (number, link, joint) of a ``model``: what numbers in parameter names stand for."""
    links: dict[str, str] = {}
    joints: dict[str, str] = {}
    for p in model.parameters:
        number = re.search(r'\d+$', p.name)
        if number and p.owner:
            (joints if p.law else links).setdefault(number[0], p.owner)
    if len(model.robot['joints']) == len(links):  # every link is carried by a joint of its own
        joints = {**dict(zip(links, model.robot['joints'])), **joints}
    return [(n, links.get(n, ''), joints.get(n, '')) for n in {**links, **joints}]


def changed_options(model: IdentifiedModel) -> dict[str, str]:
    """Return {option: text} of the options of a ``model`` that are not as by default."""
    usual = options_class(model.method)()
    return {name: text(value) for name, value in model.options.items()
            if plain(value) != plain(getattr(usual, name, None))}


def friction(known: list[Knowledge], model: IdentifiedModel) -> dict[str, Any] | None:
    """
    Return laws with units, and coefficients per joint; None where there is no friction.

    known : Knowledge of the base parameters; model : they are of
    """
    laws: dict[str, str] = {}
    rows: dict[str, dict[str, Any]] = {}
    nonlinear: dict[tuple[str, str], str] = {}
    units: dict[str, str] = {}
    for item in known:
        law, row = item.lead.law, parameter_row(item)
        if law not in LAWS:
            continue
        laws[law] = row['unit']
        rows.setdefault(item.lead.owner, {})[law] = row
        if item.lead.nonlinear is not None and row['determined']:
            nonlinear[item.lead.owner, law] = f'{item.lead.nonlinear:.3g}'
            units[law] = LAWS[law].nonlinear_unit
    if not laws:
        return None
    return {'laws': laws, 'rows': rows, 'nonlinear': nonlinear, 'nonlinear_units': units}


def validity_range(model: IdentifiedModel, robot: Any) -> tuple[dict[str, str], list[Any]]:
    """
    Return {quantity: unit} and (where, {quantity: text of its range}) of the training data.

    model : identified; robot : of its method
    """
    units = {name: typeset(unit_of(robot, name))
             for seen in model.validity_range.values() for name in seen}
    return units, [(where, {name: f'{significant(low)} to {significant(high)}'
                            for name, (low, high) in seen.items()})
                   for where, seen in model.validity_range.items()]


def recordings(model: IdentifiedModel) -> list[tuple[str, dict[str, str]]]:
    """Return (part, {key: text}) of every recording that a ``model`` comes from."""
    return [(part, {key.replace('_', ' '): text(value) for key, value in entry.items()
                    if value not in (None, '', [], (), {})})
            for part, place in (('training', 'recordings'), ('validation', 'validation'))
            for entry in model.provenance.get(place, ())]


def command(model: IdentifiedModel) -> str:
    """Return the command line that makes a ``model`` again, and the options it needs in a YAML."""
    def paths(place: str) -> list[str]:
        return [_windowed(entry) for entry in model.provenance.get(place, ())]

    words = ['inertial-id identify', *paths('recordings')]
    words += [f'--validate {path}' for path in paths('validation')]
    changed = {k: v for k, v in model.options.items() if k in changed_options(model)}
    words += [f'--method {model.method}'] if model.method != DEFAULT_METHOD else []
    words += ['--config options.yaml'] if changed else []
    lines = [' '.join([*words, '--out result'])]
    if changed:
        lines += ['', '# options.yaml', f'{model.method}:']
        lines += [f'  {name}: {_yaml(value)}' for name, value in changed.items()]
    return '\n'.join(lines)


def _windowed(entry: Mapping[str, Any]) -> str:
    """Return a bag's path, with its window where only a part was used."""
    path, ends = str(entry.get('path', 'BAG')), [entry.get('start_s'), entry.get('end_s')]
    if any(end is not None for end in ends):
        path += '@' + ':'.join('' if x is None else f'{x:g}' for x in ends)
    return f'"{path}"' if re.search(r'[\s&;|<>*?()$]', path) else path


def _yaml(value: Any) -> str:
    """Return a plain value in YAML's flow style; strings are quoted as JSON has them."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_yaml(v) for v in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def choices(model: IdentifiedModel) -> list[dict[str, str]]:
    """Return what was chosen for a ``model`` and why, one mapping of texts per choice."""
    entries = model.statistics.get('choices') or []
    return [{str(key).replace('_', ' '): text(value, 4) for key, value in entry.items()}
            for entry in entries]


def checks(model: IdentifiedModel) -> list[dict[str, Any]]:
    """Return the findings of the checks of a ``model``'s recordings, as texts."""
    rows = []
    for entry in model.statistics.get('checks') or []:
        windows = ', '.join(f'{a:.2f} to {b:.2f}' for a, b in entry.get('windows') or ())
        rows.append({'severity': entry['severity'], 'says': entry['says'], 'do': entry['do'],
                     'joints': ', '.join(entry.get('joints') or ()), 'windows': windows,
                     'evidence': f"{significant(entry['evidence'])} {entry['unit']}"})
    return rows
