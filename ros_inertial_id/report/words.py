"""
Words: what a model knows, what it does not know and what would help, as sentences.

Every sentence is computed from the model's statistics, base entries and validity range; where
there is nothing to say, nothing is said.
"""

from collections.abc import Callable, Iterable, Iterator
import math
from typing import Any

from .digits import ratio, significant
from .knowledge import (evaluate, fits, Knowledge, MIXED, NOT, ROUGH, ROUGH_PERCENT, SURE, WELL,
                        WELL_PERCENT, ZERO)
from .oddities import oddities
from .reach import force_unit, goes_round, RANGES, reached, SPEEDS
from ..checks.finding import DO_NOT_USE
from ..identification.model.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model

CARRIES_OVER, MUCH_WORSE = 1.3, 2.0  # other data over training, relative residuals
CONTRADICTED = 5.0  # nats against a given direction of gravity that are an alarm
SAME_MOUNTING = 0.1  # [deg]
LEAST_SHARE = 1.0  # % of the samples outside of a range that are worth a word
HALF_PERCENT = 50.0  # relative residual above which nothing is said for a model
EXACT_PERCENT = 1e-6  # below it a residual is rounding
SYSTEMATIC = 4.0  # correlation of residuals over that of white noise behind the same filter
Few = Callable[[Iterable[str]], str]  # lists names, not all where there are many
MANY = 1 / 3  # share of the parameters of a kind that makes advice worth giving


def verdict(model: IdentifiedModel, listed: int = 10) -> list[str]:
    """
    Return the verdict on a model, one sentence per item.

    model : identified; listed : names in a sentence at the most
    """
    return [text for texts in chapters(model, listed).values() for text in texts]


def chapters(model: IdentifiedModel, listed: int = 10) -> dict[str, list[str]]:
    """
    Return {heading: items} of the verdict.

    model : identified; listed : names in a sentence at the most
    """
    known = evaluate(model)

    def few(names: Iterable[str]) -> str:
        names = list(names)
        more = len(names) - listed
        return ', '.join(names[:listed]) + (f' and {more} more' if more > 0 else '')

    return {'How well it predicts': [*_verdict(model), *_gravity(model), *_fit(model),
                                     *_worst(model), *_parts_differ(model), *_consistent(model),
                                     *_residual(model, few)],
            'What was odd in the recordings': [*_structure(model), *oddities(model)],
            'What is known': [*_known(known, few), *_nominal(known, few)],
            'What is not known': [*_unknown(known, few), *_impossible(model, known, few),
                                  *_negative(model, known, few),
                                  *_rank(model)],
            'What would help': [*_motion(model, known), *_mounting(model, few)]}


def _structure(model: IdentifiedModel) -> Iterator[str]:
    s = model.statistics
    if s.get('rank_by_energy') != s.get('rank_of_bodies'):
        yield ('Alarm: the structure of the mechanism is not certain. Its bodies have '
               f"{s['rank_of_bodies']} base parameters by the torques and "
               f"{s['rank_by_energy']} by the energy; check start: and independent:, and round "
               'the placements of the URDF.')


def _verdict(model: IdentifiedModel) -> Iterator[str]:
    found = model.statistics.get('verdict')
    if found:
        reasons = f": {'; '.join(found['reasons'])}" if found['reasons'] else ''
        yield f"Verdict: {found['word']}{reasons}."


def _gravity(model: IdentifiedModel) -> Iterator[str]:
    """Yield what the torques say against the direction of gravity as it was given."""
    entries = [c for c in model.statistics.get('choices') or []
               if c['what'] == 'gravity direction']
    if len(entries) != 2:
        return
    given, found = entries
    if not given['chosen']:
        yield (f"Gravity in the base frame is taken as the torques show it, {found['candidate']}: "
               f"{found['evidence']:.0f} nats better than as given.")
    elif found['evidence'] > CONTRADICTED and found.get('tilt_deg', 0.0) > SAME_MOUNTING:
        yield ('Alarm: the torques contradict the direction of gravity as it is given. '
               f"{found['candidate']} explains them better by {found['evidence']:.0f} nats "
               f"(odds {_odds(found['evidence'])}); "
               + ('check mounting:, or leave it out and the direction is found.'
                  if found.get('halves_agree', True) else
                  'parts of the data disagree on it: check mounting: of each recording.'))


def _odds(nats: float) -> str:
    return f'{math.exp(nats):.0f} to 1' if nats < 10.0 else f'above {math.exp(10.0):.0f} to 1'


def _fit(model: IdentifiedModel) -> Iterator[str]:
    found = fits(model)
    training = found['training']['filtered']['relative_percent']
    if 'validation' in found:
        fit, raw = found['validation']['filtered'], found['validation']['raw']
        other, unit = fit['relative_percent'], force_unit(robot_of_model(model))
        rms = '' if ' or ' in unit else f"RMS {significant(fit['rms_all'])} {unit}; "
        yield (f'Validation: relative residual {_percent(other)} ({rms}raw '
               f"{_percent(raw['relative_percent'])}), in training "
               f'{_percent(training)}: {_compared(other, training, model)}.')
        yield from _reach(found['validation'])
    elif 'cross-validation' in found:
        left = found['cross-validation']['filtered']['relative_percent']
        yield (f'No validation recording. Each fifth of the training data, predicted from the '
               f'others, has a relative residual of {_percent(left)}, all together '
               f'{_percent(training)}: {_compared(left, training, model)}.')
    else:
        yield (f'No validation recording: the relative residual of {_percent(training)} in '
               'training says nothing about other motions.')


def _reach(found: dict[str, Any]) -> Iterator[str]:
    """Yield what a validation says of motion outside of the training, and at a fixed cutoff."""
    outside = found.get('outside')
    if outside:
        share, inside = outside['samples_percent'], outside['relative_percent_inside']
        left = [f"{joint} {name} {significant(entry['seen'][0])} to "
                f"{significant(entry['seen'][1])} ({entry['samples_percent']:.0f} %)"
                for joint, quantities in outside['joints'].items()
                for name, entry in quantities.items()
                if entry['samples_percent'] >= LEAST_SHARE]
        if left:
            within = '' if inside is None else f' (inside {_percent(inside)})'
            yield (f'{share:.0f} % of the validation lies outside of the motion in training, '
                   f"where the residual is {_percent(outside['relative_percent_outside'])}"
                   f"{within}: {', '.join(left)}.")
    fixed = found.get('fixed_cutoff')
    if fixed:
        yield (f"Behind a filter of {fixed['cutoff']:.0f} Hz, as other tools state it, the "
               f"residual is {_percent(fixed['relative_percent'])}.")


def worst_joint(model: IdentifiedModel) -> tuple[str, float] | None:
    """Return (row group, relative residual [%]) of the worst of a ``model``, None if unknown."""
    shares = relative_residuals(model)
    return max(shares.items(), key=lambda item: item[1]) if shares else None


def relative_residuals(model: IdentifiedModel) -> dict[str, float]:
    """
    Return {row group: relative residual [%]} in validation, else in training.

    model : identified; empty where its file does not say how large the measured torques were
    """
    found = fits(model)
    fit = found.get('validation', found['training'])['filtered']
    size = fit.get('measured_rms', {})
    return {name: 100.0 * rms / size[name] for name, rms in fit['rms'].items() if size.get(name)}


def _worst(model: IdentifiedModel) -> Iterator[str]:
    """Name the joint that a total over all joints hides."""
    worst, shares = worst_joint(model), relative_residuals(model)
    if worst and len(shares) > 1 and worst[1] > EXACT_PERCENT:
        yield f'Worst: {worst[0]}, relative residual {_percent(worst[1])} of its own measurements.'


def _percent(value):
    return 'an unknown share' if value is None else f'{significant(value)} %'


def _compared(other, training, model):
    if other is None or not training:
        return 'they cannot be compared'
    if other > HALF_PERCENT:
        return 'more than half of the torque, so the model must not be used'
    if model.statistics.get('validation_seen'):
        return ('no validation, since the model was identified from these samples '
                f"({', '.join(model.statistics['validation_seen'])})")
    if model.statistics.get('verdict', {}).get('word') == DO_NOT_USE:
        return 'which says nothing while the checks find the recording wrong'
    ratio = other / training
    if ratio <= CARRIES_OVER or other < EXACT_PERCENT:
        return 'the model carries over to data it has not seen'
    if ratio <= MUCH_WORSE:
        return f'somewhat worse than in training ({ratio:.1f} times)'
    return (f'{ratio:.1f} times worse than in training, so the model is fitted to one motion or '
            'the other data move where it did not')


def _parts_differ(model: IdentifiedModel) -> Iterator[str]:
    found = fits(model)
    left, training = (found.get(part, {'filtered': {'relative_percent': None}})['filtered'][
        'relative_percent'] for part in ('cross-validation', 'training'))
    if ('validation' in found and left and training and left > MUCH_WORSE * training
            and left > EXACT_PERCENT):
        yield (f'Cross-validation in fifths: {_percent(left)} (training {_percent(training)}). '
               'Parts of the motion excite different parameters, so each is needed.')


def _consistent(model: IdentifiedModel) -> Iterator[str]:
    found = model.statistics.get('consistent')
    if found:
        yield ('The model predicts with physically consistent parameters: '
               f"{significant(found['loss_percent'], 2)} % more weighted residual in training "
               'than unconstrained ones.')


def _residual(model: IdentifiedModel, few: Few) -> Iterator[str]:
    """Say whether the residual is noise, by its correlation against that of the filter."""
    s, first = model.statistics, model.preprocessing[0]
    if not first.get('rate') or not first.get('cutoff'):
        return
    period = first.get('decimate', 1) / first['rate']
    noise = max(period, 0.5 / first['cutoff'])
    seconds = {name: n * period for name, n in s['correlation_samples'].items()}
    bad = [n for n in sorted(seconds, key=lambda name: -seconds[name])
           if seconds[n] > SYSTEMATIC * noise]
    if not bad:
        yield (f'The residuals look like noise behind the filter (correlated over at most '
               f'{max(seconds.values()):.2g} s).')
        return
    fewest = min(s['samples'] / n for n in s['correlation_samples'].values())
    where = 'everywhere' if len(bad) == len(seconds) else f'in {few(bad)}'
    yield (f'The residuals are not noise but correlated for up to {seconds[bad[0]]:.2g} s (noise '
           f'behind the filter: {noise:.2g} s): {where} something is not modelled, such as '
           'friction beyond these laws, elasticity or sensor drift. The standard errors allow '
           f"for it: {s['samples']} samples count as few as {fewest:.0f}.")


def _known(known: list[Knowledge], few: Few) -> Iterator[str]:
    well, rough = (sorted((k for k in known if k.grade == grade),
                          key=lambda k: k.entry['relative_percent']) for grade in (WELL, ROUGH))
    yield (f'Known well, standard error up to {WELL_PERCENT:.0f} %: {len(well)} of {len(known)} '
           f'base parameters{_colon(few(k.name for k in well))}.')
    if rough:
        yield (f'Known roughly, {WELL_PERCENT:.0f} to {ROUGH_PERCENT:.0f} %: {len(rough)}'
               f'{_colon(few(k.name for k in rough))}.')


def _colon(text):
    return f': {text}' if text else ''


def _nominal(known: list[Knowledge], few: Few) -> Iterator[str]:
    bodies = [k for k in known if k.described and k.grade != NOT]
    if not bodies:
        return
    far = sorted((k for k in bodies if k.surprise > SURE), key=lambda k: -k.surprise)
    if far:
        yield (f'Against the robot description by more than {SURE:.0f} standard errors: '
               f'{len(far)} of {len(bodies)} inertial parameters'
               f'{_colon(few(f"{k.name} ({k.surprise:.0f})" for k in far))}.')
    else:
        yield (f'No inertial parameter contradicts the robot description by more than '
               f'{SURE:.0f} standard errors.')


def _unknown(known: list[Knowledge], few: Few) -> Iterator[str]:
    zero = [k for k in known if k.grade == ZERO]
    small = [k for k in zero if k.inflation <= MIXED]
    mixed = sorted((k for k in zero if k.inflation > MIXED), key=lambda k: -abs(k.correlation))
    missing = [k for k in known if k.grade == NOT]
    if small:
        yield (f'Not significant, too small in this motion: {len(small)}'
               f'{_colon(few(k.name for k in small))}.')
    if mixed:
        yield (f'Not significant because the motion shows them only together with others: '
               f'{len(mixed)}{_colon(few(k.name for k in mixed))}. Closest pair: {mixed[0].name} '
               f'with {mixed[0].partner}, correlation {mixed[0].correlation:+.2f}.')
    if missing:
        yield (f'Not determined by the data, no number is given: {len(missing)}'
               f'{_colon(few(k.name for k in missing))}.')


def _impossible(model: IdentifiedModel, known: list[Knowledge], few: Few) -> Iterator[str]:
    wrong = [f"{k.name} = {(k.entry.get('unconstrained') or [k.entry['value']])[0]:.2g}"
             for k in known if k.impossible]
    if wrong and 'unconstrained' in model.statistics:
        yield (f'By the data alone below zero, which is physically impossible: {few(wrong)}. They '
               'absorb something that is not in the model. The model does not use them.')
    elif wrong:
        yield (f'Below zero, which is physically impossible: {few(wrong)}. They absorb something '
               'that is not in the model: predict with them, but do not read them one by one.')


def _negative(model: IdentifiedModel, known: list[Knowledge], few: Few) -> Iterator[str]:
    """Name what came out below zero within its error: zero and small values are as likely."""
    wrong = [k.name for k in known if k.negative and not k.impossible]
    if wrong:
        yield (f'Below zero within {SURE:.0f} standard errors, though it cannot be: {few(wrong)}. '
               'The data allow zero; --consistent gives possible values.')


def _rank(model: IdentifiedModel) -> Iterator[str]:
    s = model.statistics
    if s['rank_in_data'] < s['rank']:
        yield (f"The data show {s['rank_in_data']} of the {s['rank']} directions that the "
               'structure allows.')


def _motion(model: IdentifiedModel, known: list[Knowledge]) -> Iterator[str]:
    """Say which motion would show what is not known, by how far the joints moved."""
    poor = [k for k in known if k.grade in (ZERO, NOT)]
    if not poor:
        yield 'Nothing is left unknown that motion under this mounting can show.'
        return
    for better, kinds, quantities in (('Faster', ('inertia', 'friction'), SPEEDS),
                                      ('Wider', ('gravity', 'offset'), RANGES)):
        lacking = []
        for kind in kinds:
            few, every = (sum(k.kind == kind for k in some) for some in (poor, known))
            if few > MANY * every:
                lacking.append(f'{few} of {every} {kind}')
        if lacking and not (quantities == RANGES and goes_round(model)):
            yield (f'{better} motion would help {" and ".join(lacking)} parameters'
                   f'{_colon(reached(model, quantities))}.')
    mixed = sum(k.inflation > MIXED for k in poor)
    if mixed > MANY * len(poor):
        yield (f'A motion designed for it would separate the {mixed} that are shown only together '
               f"(condition number now {ratio(model.statistics['condition_number'])}).")


def _mounting(model: IdentifiedModel, few: Few) -> Iterator[str]:
    """Name the parameters that other mountings need and the recorded ones do not show."""
    missing = model.mounting.get('missing')
    if missing:
        yield (f'No motion under the recorded mounting shows {few(missing)}. They make no '
               'difference there, but a tilted or wall mounting needs them: record a motion with '
               'the base tilted to know them too.')
