"""
Words: what a model says, what it does not and what would help, as sentences.

Every sentence is computed from the model's statistics, base entries and validity range; where
there is nothing to say, nothing is said.  Subject, verb, standard term; number with unit; advice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .knowledge import (best_fit, CORRELATED, evaluate, fits, Knowledge, NOT, ratio, ROUGH,
                        ROUGH_PERCENT, significant, SURE, WELL, WELL_PERCENT, ZERO)
from .recording_words import force_unit, goes_round, reached, recording_sentences
from ..checks.finding import CROSS, DO_NOT_USE, odds, VALIDATION, WRONG
from ..checks.thresholds import HALF
from ..identification.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model
from ..methods import DEFAULT_METHOD

CARRIES_OVER, MUCH_WORSE = 1.3, 2.0  # other data over training, relative residuals
CONTRADICTED = 5.0  # log-likelihood difference against a given direction that is an alarm
SAME_MOUNTING = 0.1  # [deg]
LEAST_SHARE = 1.0  # % of the samples outside of a range that are worth a word
HALF_PERCENT = 100.0 * HALF  # relative residual above which nothing is said for a model
EXACT_PERCENT = 1e-6  # below it a residual is rounding
AUTOCORRELATED = 4.0  # times as long as white noise is behind the same filter
MANY = 1 / 3  # share of the parameters of a kind that makes advice worth giving
SPEEDS, RANGES = ('v', 'a', 'omega', 'alpha'), ('q',)


def verdict(model: IdentifiedModel, listed: int = 10) -> list[str]:
    """Return the verdict on a ``model``, by sentences; ``listed`` : names in one at most."""
    return [text for texts in chapters(model, listed).values() for text in texts]


def chapters(model: IdentifiedModel, listed: int = 10) -> dict[str, list[str]]:
    """Return {heading: sentences} of the verdict on a ``model``, see ``verdict``."""
    known = evaluate(model)

    def few(names: Iterable[str]) -> str:
        names = list(names)
        more = len(names) - listed
        return ', '.join(names[:listed]) + (f' and {more} more' if more > 0 else '')

    return {'Prediction': [*_verdict(model), *_gravity(model), *_fit(model), *_worst(model),
                           *_consistent(model), *_residual(model, few)],
            'Recordings': [*_structure(model), *recording_sentences(model)],
            'Parameters': [*_significant(known, few), *_nominal(known, few),
                           *_insignificant(known, few), *_negative(model, known, few),
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
        reasons = '; '.join(reasons_of(found))
        yield f"Verdict: {found['word']}{': ' * bool(reasons)}{reasons}."


def reasons_of(verdict: Mapping[str, Any]) -> list[str]:
    """Return the reasons of a ``verdict``, those of the validation instead of the same before."""
    texts = dict.fromkeys(verdict['reasons'])
    return [text for text in texts
            if not text.endswith(CROSS) or text.removesuffix(CROSS) + VALIDATION not in texts]


def _gravity(model: IdentifiedModel) -> Iterator[str]:
    """Yield what the torques say against the direction of gravity as it was given."""
    entries = [c for c in model.statistics.get('choices') or []
               if c['what'] == 'gravity direction']
    if len(entries) != 2:
        return
    given, found = entries
    gain = f"{found['evidence']:.0f} (odds {odds(found['evidence'])})"
    if not given['chosen']:
        yield (f"Gravity in the base frame is estimated from the torques, {found['candidate']}; "
               f'log-likelihood higher by {gain} than for the mounting given.')
    elif found['evidence'] > CONTRADICTED and found.get('tilt_deg', 0.0) > SAME_MOUNTING:
        yield ('Alarm: the torques contradict the mounting given. '
               f"{found['candidate']} has a log-likelihood higher by {gain}; "
               'check mounting:, or leave it out and the direction is estimated.')


def _fit(model: IdentifiedModel) -> Iterator[str]:
    found = fits(model)
    training = found['training']['filtered']['relative_percent']
    if 'validation' in found:
        fit, raw = found['validation']['filtered'], found['validation']['raw']
        other, unit = fit['relative_percent'], force_unit(robot_of_model(model))
        rms = '' if ' or ' in unit else f"RMS {significant(fit['rms_all'])} {unit}; "
        yield (f'Validation recording: relative residual {_percent(other)} ({rms}raw '
               f"{_percent(raw['relative_percent'])}), in training "
               f'{_percent(training)}: {_compared(other, training, model)}.')
        yield from _beyond(found['validation'])
    elif 'cross-validation' in found:
        other = found['cross-validation']['filtered']['relative_percent']
        yield (f'No validation recording. 5-fold cross-validation: relative residual '
               f'{_percent(other)} (training {_percent(training)}): '
               f"{_compared(other, training, model, 'left-out parts of this motion')}.")
    else:
        yield (f'No validation recording: the relative residual of {_percent(training)} in '
               'training says nothing about other motions.')


def _beyond(found: dict[str, Any]) -> Iterator[str]:
    """Yield what a validation says of motion outside of the training, and at a fixed cutoff."""
    outside = found.get('outside')
    if outside:
        share, inside = outside['samples_percent'], outside['relative_percent_inside']
        beyond = [f"{joint} {name} {significant(entry['seen'][0])} to "
                  f"{significant(entry['seen'][1])} ({entry['samples_percent']:.0f} %)"
                  for joint, quantities in outside['joints'].items()
                  for name, entry in quantities.items()
                  if entry['samples_percent'] >= LEAST_SHARE]
        if beyond:
            within = '' if inside is None else f' (inside {_percent(inside)})'
            residual = _percent(outside['relative_percent_outside'])
            yield (f'{share:.0f} % of the validation recording lies outside the validity range, '
                   f"with a relative residual of {residual}{within}: {', '.join(beyond)}.")
    fixed = found.get('fixed_cutoff')
    if fixed:
        yield (f"Behind a low-pass of {fixed['cutoff']:.0f} Hz, as other tools state it, the "
               f"relative residual of the validation is {_percent(fixed['relative_percent'])}.")


def worst_joint(model: IdentifiedModel) -> tuple[str, float] | None:
    """Return (row group, relative residual [%]) of the worst of a ``model``, None if unknown."""
    shares = relative_residuals(model)
    return max(shares.items(), key=lambda item: item[1]) if shares else None


def relative_residuals(model: IdentifiedModel) -> dict[str, float]:
    """
    Return {row group: relative residual [%]} in validation, else cross-validation, else training.

    model : identified; empty where its file does not say how large the measured torques were
    """
    fit = best_fit(model)[1]
    size = fit.get('measured_rms', {})
    return {name: 100.0 * rms / size[name] for name, rms in fit['rms'].items() if size.get(name)}


def _worst(model: IdentifiedModel) -> Iterator[str]:
    """Name the joint that a total over all joints hides."""
    worst, shares = worst_joint(model), relative_residuals(model)
    if worst and len(shares) > 1 and worst[1] > EXACT_PERCENT:
        yield f'Worst joint: {worst[0]}, residual {_percent(worst[1])} of its own torque.'


def _percent(value: float | None) -> str:
    return 'an unknown share' if value is None else f'{significant(value)} %'


def _compared(other: float | None, training: float | None, model: IdentifiedModel,
              unseen: str = 'data it has not seen') -> str:
    if other is None or not training:
        return 'they cannot be compared'
    if other > HALF_PERCENT:
        return 'more than half of the torque, so the model must not be used'
    if model.statistics.get('validation_seen'):
        return ('no validation, since the model was identified from these samples '
                f"({', '.join(model.statistics['validation_seen'])})")
    if (model.statistics.get('verdict', {}).get('word') == DO_NOT_USE
            or any(found['severity'] == WRONG for found in model.statistics.get('checks') or ())):
        return 'not meaningful while the checks call the recording wrong'
    ratio = other / training
    if ratio <= CARRIES_OVER or other < EXACT_PERCENT:
        lost = [f'{name} ({_percent(share)} of its own torque)'
                for name, share in relative_residuals(model).items() if share > HALF_PERCENT]
        return (f'the model generalizes to {unseen}'
                + (f", but not for {', '.join(lost)}" if lost else ''))
    if ratio <= MUCH_WORSE:
        return f'somewhat worse than in training ({ratio:.1f} times)'
    return f'{ratio:.1f} times worse than in training: {_cause(model.statistics, training)}'


def _cause(statistics: Mapping[str, Any], training: float) -> str:
    """Return why other data fit so much worse than training, by where they do."""
    beyond = statistics.get('validation', {}).get('outside') or {}
    inside = beyond.get('relative_percent_inside')
    if beyond and (inside is None or inside <= MUCH_WORSE * training):
        return 'the validation moves outside the validity range'
    left_out = statistics.get('cross_validation') or {}
    if left_out.get('relative_percent', 0.0) > MUCH_WORSE * training:
        return 'the model overfits one motion'
    return 'the motion shows what the model lacks, or the robot has changed in between'


def _consistent(model: IdentifiedModel) -> Iterator[str]:
    found = model.statistics.get('consistent')
    if found:
        yield ('The model uses the physically consistent parameters; their weighted training '
               f"residual is {significant(found['loss_percent'], 2)} % above that of "
               'unconstrained least squares.')


def _residual(model: IdentifiedModel, few: Any) -> Iterator[str]:
    """Say whether the residual is noise, by its correlation against that of the filter."""
    s, first = model.statistics, model.preprocessing[0]
    if not first.get('rate') or not first.get('cutoff'):
        return
    period = first.get('decimate', 1) / first['rate']
    noise = max(period, 0.5 / first['cutoff'])
    seconds = {name: n * period for name, n in s['correlation_samples'].items()}
    bad = [n for n in sorted(seconds, key=lambda name: -seconds[name])
           if seconds[n] > AUTOCORRELATED * noise]
    if not bad and all(x < HALF_PERCENT for x in relative_residuals(model).values()):
        yield (f'The residuals are as short as filtered noise (autocorrelated for at most '
               f'{max(seconds.values()):.2g} s).')
    if not bad:
        return
    fewest = min(s['samples'] / n for n in s['correlation_samples'].values())
    where = 'all joints' if len(bad) == len(seconds) else few(bad)
    yield (f'The residuals of {where} are autocorrelated for up to {seconds[bad[0]]:.2g} s '
           f'(filtered noise: {noise:.2g} s): further friction, elasticity or sensor drift is not '
           f"modelled. Effective sample size: {fewest:.0f} of {s['samples']}; the standard errors "
           'are widened accordingly.')


def _significant(known: Sequence[Knowledge], few: Any) -> Iterator[str]:
    well, rough = (sorted((k for k in known if k.grade == grade),
                          key=lambda k: k.entry['relative_percent']) for grade in (WELL, ROUGH))
    yield (f'Standard error up to {WELL_PERCENT:.0f} % of the value: {len(well)} of '
           f'{len(known)} base parameters{_colon(few(k.name for k in well))}.')
    if rough:
        yield (f'Standard error {WELL_PERCENT:.0f} to {ROUGH_PERCENT:.0f} % of the value: '
               f'{len(rough)}{_colon(few(k.name for k in rough))}.')


def _colon(text: str) -> str:
    return f': {text}' if text else ''


def _nominal(known: Sequence[Knowledge], few: Any) -> Iterator[str]:
    bodies = [k for k in known if k.has_nominal and k.grade != NOT]
    if not bodies:
        return
    far = sorted((k for k in bodies if k.difference > SURE), key=lambda k: -k.difference)
    if far:
        yield (f'Different from the robot description by more than {SURE:.0f} standard errors: '
               f'{len(far)} of {len(bodies)} inertial parameters'
               f'{_colon(few(f"{k.name} ({k.difference:.0f})" for k in far))}.')
    else:
        yield (f'No inertial parameter differs from the robot description by more than '
               f'{SURE:.0f} standard errors.')


def _insignificant(known: Sequence[Knowledge], few: Any) -> Iterator[str]:
    zero = [k for k in known if k.grade == ZERO]
    missing = [k for k in known if k.grade == NOT]
    if zero:
        yield (f'Not significant (within 1.96 standard errors of zero): {len(zero)}'
               f'{_colon(few(k.name for k in zero))}.')
    if missing:
        yield (f'Not determined by the data, no value is given: {len(missing)}'
               f'{_colon(few(k.name for k in missing))}.')


def _negative(model: IdentifiedModel, known: Sequence[Knowledge], few: Any) -> Iterator[str]:
    """Name what came out negative although it cannot be, significantly or not."""
    wrong = [f"{k.name} = {(k.entry.get('unconstrained') or [k.entry['value']])[0]:.2g}"
             for k in known if k.impossible]
    chance = [k.name for k in known if k.negative and not k.impossible]
    if wrong and 'unconstrained' in model.statistics:
        count = f'{len(wrong)} unconstrained estimate' + ('s are' if wrong[1:] else ' is')
        yield (f'{count} negative, which is physically impossible: {few(wrong)}. The model uses '
               'the constrained ones; look for an effect that is not modelled.')
    elif wrong:
        yield (f'Negative, which is physically impossible: {few(wrong)}. They absorb an effect '
               'that is not modelled: predict with them, but give single values no meaning.')
    if chance:
        yield (f'Negative, though not significantly (physically impossible): {few(chance)}. Zero '
               'is within the error; --consistent gives possible values.')


def _rank(model: IdentifiedModel) -> Iterator[str]:
    s = model.statistics
    if s['rank_in_data'] < s['rank']:
        yield (f"The data determine {s['rank_in_data']} of the {s['rank']} base parameters that "
               'the kinematics make identifiable.')


def _motion(model: IdentifiedModel, known: Sequence[Knowledge]) -> Iterator[str]:
    """Say which motion would determine what is open, by how far the joints moved."""
    poor = [k for k in known if k.grade in (ZERO, NOT)]
    if not poor:
        yield 'All parameters that motion under this mounting can determine are significant.'
        return
    for better, kinds, quantities in (('Faster', ('inertia', 'friction'), SPEEDS),
                                      ('Wider', ('gravity', 'offset'), RANGES)):
        lacking = []
        for kind in kinds:
            some, every = (sum(k.kind == kind for k in group) for group in (poor, known))
            if some > MANY * every:
                lacking.append(f'{some} of {every} {kind}')
        if lacking and not (quantities == RANGES and goes_round(model)):
            yield (f'{better} motion reduces the errors of {" and ".join(lacking)} parameters'
                   f'{_colon(reached(model, quantities))}.')
    mixed = sum(k.inflation > CORRELATED for k in poor)
    if mixed > MANY * len(poor):
        arm = model.method == DEFAULT_METHOD  # motions of others are not designed
        yield (f'{mixed} parameters are strongly correlated (condition number '
               f"{ratio(model.statistics['condition_number'])}); " + (
                   'a designed motion separates them: inertial-id design --model.' if arm else
                   'moving everything at once, at several frequencies, separates them.'))


def _mounting(model: IdentifiedModel, few: Any) -> Iterator[str]:
    """Name the parameters that other mountings need and the recorded ones do not excite."""
    missing = model.mounting.get('missing')
    if missing:
        yield (f'Under this mounting no motion excites {few(missing)}; other mountings need them. '
               'Record with the base tilted before the robot is mounted another way.')
