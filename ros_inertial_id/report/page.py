"""The page: everything of an identification in one HTML file that needs nothing else."""

from jinja2 import Environment, PackageLoader, select_autoescape, StrictUndefined
import numpy as np

from .curves import curves, friction_curves
from .digits import percent, ratio, significant, typeset, with_error
from .knowledge import evaluate, fits, MIXED
from .pictures import cutoff_picture, friction_picture, parameter_picture, torque_picture
from .reach import force_unit, robot_of_model, unit_of
from .words import chapters
from ..dynamics.friction import LAWS
from ..identification.model import plain
from ..identification.settings import options_class

SIGNALS = (  # key of an observation's summary, words, unit, digits
    ('topic', 'topic', '', 0), ('effort_topic', 'effort from', '', 0),
    ('effort_kind', 'kind of effort', '', 0),
    ('rate', 'rate', 'Hz', 4), ('duration', 'duration', 's', 4), ('samples', 'samples', '', 0),
    ('missing', 'missing samples', '', 0), ('gaps', 'gaps that split it', '', 0),
    ('segments', 'segments', '', 0), ('velocity', 'velocity', '', 0),
    ('velocity_disagreement', 'measured against differentiated velocity, relative',
     '', 2),
    ('motion_ends_at', 'motion ends at', 'Hz', 3), ('cutoff', 'low-pass cutoff', 'Hz', 3),
    ('cutoff_chosen', 'cutoff chosen from the data', '', 0),
    ('decimate', 'learnt from every so many samples', '', 0))


def render(identification):
    """Return the HTML text of an Identification."""
    model = identification.model
    environment = Environment(
        loader=PackageLoader('ros_inertial_id.report', ''), undefined=StrictUndefined,
        autoescape=select_autoescape(default=True), trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(significant=significant, ratio=ratio, typeset=typeset)
    known, robot = evaluate(model), robot_of_model(model)
    return environment.get_template('report.html').render(
        model=model, s=model.statistics, training=fits(model)['training'],
        verdict=chapters(model), unit=force_unit(robot),
        signals=_signals(model), cutoffs=_cutoffs(model),
        bodies=_bodies(model), validity_range=_region(model, robot),
        fits=_columns(model), correlation=_correlation(model),
        torque=_torque(model, identification), friction=_friction(model, identification),
        parameter_picture=parameter_picture(known), consistent=_consistent(model),
        parameters=[_parameter_row(item) for item in known],
        options=_changed_options(model),
        recordings=_recordings(model))


def _signals(model):
    """Return rows (words, one text per recording) of what was understood of the signals."""
    known = {'cutoff_curve', *(key for key, *_ in SIGNALS)}
    rows = list(SIGNALS)
    rows += [(key, key, '', 0) for key in model.preprocessing[0] if key not in known]
    out = []
    for key, words, unit, digits in rows:
        values = [summary.get(key) for summary in model.preprocessing]
        if all(value is None for value in values):
            continue
        texts = [_text(value, digits) for value in values]
        if any(texts):
            out.append((words, [f'{text} {unit}'.strip() for text in texts]))
    return out


def _cutoffs(model):
    """Return (number of the recording, picture) where the cutoff was searched for."""
    return [(number, cutoff_picture(summary['cutoff_curve'], summary['cutoff']))
            for number, summary in enumerate(model.preprocessing, 1) if 'cutoff_curve' in summary]


def _text(value, digits):
    if isinstance(value, bool) or value is None:
        return {True: 'yes', False: 'no', None: '-'}[value]
    if isinstance(value, dict):
        texts = {k: _text(v, digits) for k, v in value.items()}
        return '; '.join(f'{k} {text}' for k, text in texts.items() if text)
    if isinstance(value, (list, tuple)):
        return ', '.join(_text(v, digits) for v in value)
    if isinstance(value, float):
        return significant(value, digits) if digits else f'{value:.6g}'
    return str(value)


def _columns(model):
    """Return (part, kind, fit) of every residual statistics there is."""
    s = model.statistics
    parts = fits(model)
    if 'consistent' in s:
        parts = {'training, free': s['training'], 'training, consistent': parts.pop('training'),
                 **parts}
    return [(part, kind, fit[kind]) for part, fit in parts.items() for kind in ('filtered', 'raw')]


def _correlation(model):
    """Return {group: (samples, seconds or None)} over which its residual is correlated."""
    first = model.preprocessing[0]
    period = first.get('decimate', 1) / first['rate'] if first.get('rate') else None
    return {name: (n, n * period if period else None)
            for name, n in model.statistics['correlation_samples'].items()}


def _torque(model, identification):
    """Return (group, picture) with validation and training side by side."""
    parts = {'validation': curves(model, identification.validation),
             'training': curves(model, identification.training)}
    parts = {what: drawn for what, drawn in parts.items() if drawn}
    errors = fits(model)
    out = []
    for name in next(iter(parts.values()), {}):
        titled = [(_title(what, drawn[name], errors[what]['filtered']['rms'][name]), drawn[name])
                  for what, drawn in parts.items()]
        out.append((name, torque_picture(titled)))
    return out


def _title(what, curve, error):
    size = np.sqrt(np.nanmean(curve.y ** 2))
    share = f' ({significant(100 * error / size)} %)' if size else ''
    return (f'{what}: residual {significant(error)} of {significant(size)} {curve.unit} '
            f'RMS{share}')


def _parameter_row(item):
    entry = item.entry
    row = {'name': item.name, 'expression': entry['expression'], 'unit': typeset(entry['unit']),
           'owner': item.lead.owner, 'determined': entry['determined'], 'grade': item.grade,
           'nominal': '' if item.lead.law else f"{entry['nominal']:.4g}",
           'impossible': item.impossible, 'mixed': '', 'surprise': None}
    if entry['determined']:
        row['value'], row['error'] = with_error(entry['value'], entry['standard_error'])
        row['relative'] = percent(entry['relative_percent'])
        row['surprise'] = None if item.lead.law else item.surprise
    if item.inflation > MIXED:
        row['mixed'] = f'{item.partner} ({item.correlation:+.2f})'
    return row


def _bodies(model):
    """Return (number, link, joint): what the numbers at the end of parameter names stand for."""
    links, joints = model.robot['links'], model.robot['joints']
    if len(joints) != len(links):  # bodies that no joint of their own carries
        joints = [''] * len(links)
    return [(k + 1, link, joint) for k, (link, joint) in enumerate(zip(links, joints))]


def _changed_options(model):
    """Return {option: text} of what is not as by default."""
    usual = options_class(model.method)()
    return {name: _text(value, 0) for name, value in model.options.items()
            if plain(value) != plain(getattr(usual, name, None))}


def _friction(model, identification):
    """Return None, or the picture and a table of laws and coefficients per joint."""
    drawn = friction_curves(model, identification.training)
    laws, rows, shapes, units, consistent = {}, {}, {}, {}, _consistent(model)
    for item in evaluate(model):
        law, row = item.lead.law, _parameter_row(item)
        if law not in LAWS:
            continue
        if row['determined'] and consistent:
            row['value'], row['error'] = consistent['base'][item.name]
        laws[law] = row['unit']
        rows.setdefault(item.lead.owner, {})[law] = row
        if item.lead.nonlinear is not None and row['determined']:
            shapes[item.lead.owner, law] = f'{item.lead.nonlinear:.3g}'
            units[law] = LAWS[law].nonlinear_unit
    if not laws:
        return None
    return {'picture': friction_picture(drawn) if drawn else '', 'laws': laws, 'rows': rows,
            'nonlinear': shapes, 'nonlinear_units': units}


def _consistent(model):
    """Return None, or base name -> (value, error) texts and link -> smallest eigenvalue."""
    found = model.statistics.get('consistent')
    if not found:
        return None
    return {'base': {name: with_error(value, found['standard_error'][name])
                     for name, value in found['base'].items()},
            'eigenvalues': found['smallest_pseudo_inertia_eigenvalue'],
            'loss': found['loss_percent']}


def _region(model, robot):
    """Return {quantity: unit} and (where, {quantity: text of its range}) of the training data."""
    units = {name: typeset(unit_of(robot, name))
             for seen in model.validity_range.values() for name in seen}
    return units, [(where, {name: f'{significant(low)} to {significant(high)}'
                            for name, (low, high) in seen.items()})
                   for where, seen in model.validity_range.items()]


def _recordings(model):
    """Return (part, provenance) of every recording that was used."""
    provenance = model.provenance
    return [(part, entry) for part, key in (('training', 'recordings'),
                                            ('validation', 'validation'))
            for entry in provenance.get(key, ())]
