"""
Words: what a model says, what it does not and what would help, as sentences.

Every sentence is computed from the model's statistics, base entries and validity range; where
there is nothing to say, nothing is said.  Subject, verb, standard term; number with unit; advice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .knowledge import (
    best_fit,
    CORRELATED,
    evaluate,
    fits,
    Knowledge,
    NOT,
    ratio,
    ROUGH,
    significant,
    SURE,
    WELL,
    ZERO,
)
from .recording_words import force_unit, goes_round, mounting_words, recording_sentences
from ..checks.finding import CROSS, DO_NOT_USE, odds, VALIDATION, WRONG
from ..checks.thresholds import UNUSABLE_RESIDUAL
from ..identification.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model
from ..measurement.summary import Summary
from ..methods import DEFAULT_METHOD

CARRIES_OVER, MUCH_WORSE = 1.3, 2.0  # other data over training, relative residuals
CONTRADICTED = 5.0  # log-likelihood difference against a given direction that is an alarm
SAME_MOUNTING = 0.1  # [deg]
LEAST_SHARE = 1.0  # % of the samples outside of a range that are worth a word
FARTHEST = 3  # quantities outside of a range that are named
UNUSABLE_PERCENT = 100.0 * UNUSABLE_RESIDUAL  # relative: above it nothing is said for a model
EXACT_PERCENT = 1e-6  # below it a residual is rounding
AUTOCORRELATED = 4.0  # times as long as white noise is behind the same filter
MANY = 1 / 3  # share of the parameters of a kind that makes advice worth giving


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

    return {
        'Prediction': [
            *_verdict(model),
            *_gravity(model),
            *_fit(model),
            *_worst(model),
            *_consistent(model),
            *_residual(model, few),
        ],
        'Recordings': [*_structure(model), *recording_sentences(model)],
        'Parameters': [*_parameters(model, known, few)],
        'What would help': [*_motion(model, known), *_mounting(model, few)],
    }


def _structure(model: IdentifiedModel) -> Iterator[str]:
    s = model.statistics
    if s.get('rank_by_energy') != s.get('rank_of_bodies'):
        yield (
            'Alarm: the structure of the mechanism is not certain. Its bodies have '
            f'{s["rank_of_bodies"]} base parameters by the torques and '
            f'{s["rank_by_energy"]} by the energy; check start: and independent:, and round '
            'the placements of the URDF.'
        )


def _verdict(model: IdentifiedModel) -> Iterator[str]:
    found = model.statistics.get('verdict')
    if found:
        reasons = '; '.join(reasons_of(found))
        yield f'Verdict: {found["word"]}{": " * bool(reasons)}{reasons}.'


def reasons_of(verdict: Mapping[str, Any]) -> list[str]:
    """Return the reasons of a ``verdict``, those of the validation instead of the same before."""
    texts = dict.fromkeys(verdict['reasons'])
    return [
        text
        for text in texts
        if not text.endswith(CROSS) or text.removesuffix(CROSS) + VALIDATION not in texts
    ]


def _gravity(model: IdentifiedModel) -> Iterator[str]:
    """Yield what the torques say against the direction of gravity as it was given."""
    entries = [
        c for c in model.statistics.get('choices') or [] if c['what'] == 'gravity direction'
    ]
    if len(entries) != 2:
        return
    given, found = entries
    gain = f'{found["evidence"]:.0f} (odds {odds(found["evidence"])})'
    if not given['chosen']:
        yield (
            f'Gravity in the base frame is estimated from the torques, {found["candidate"]}; '
            f'log-likelihood higher by {gain} than for the mounting '
            f'({mounting_words(model)}).'
        )
    elif found['evidence'] > CONTRADICTED and found.get('tilt_deg', 0.0) > SAME_MOUNTING:
        yield (
            f'Alarm: the torques contradict the mounting ({mounting_words(model)}). '
            f'{found["candidate"]} has a log-likelihood higher by {gain}; '
            'check mounting:, or leave it out and the direction is estimated.'
        )


def _fit(model: IdentifiedModel) -> Iterator[str]:
    found = fits(model)
    training = found['training']['filtered']['relative_percent']
    if 'validation' in found:
        fit, raw = found['validation']['filtered'], found['validation']['raw']
        other, unit = fit['relative_percent'], force_unit(robot_of_model(model))
        rms = '' if ' or ' in unit else f'RMS {significant(fit["rms_all"])} {unit}; '
        yield (
            f'Validation recording: relative residual {_percent(other)} ({rms}raw '
            f'{_percent(raw["relative_percent"])}), in training '
            f'{_percent(training)}: {_compared(other, training, model)}.'
        )
        yield from _beyond(found['validation'])
    elif 'cross-validation' in found:
        other = found['cross-validation']['filtered']['relative_percent']
        yield (
            f'No validation recording. 5-fold cross-validation: relative residual '
            f'{_percent(other)} (training {_percent(training)}): '
            f'{_compared(other, training, model, "left-out parts of this motion")}.'
        )
    else:
        yield (
            f'No validation recording: the relative residual of {_percent(training)} in '
            'training says nothing about other motions.'
        )


def _beyond(found: dict[str, Any]) -> Iterator[str]:
    """Yield what a validation says of motion outside of the training, and at a fixed cutoff."""
    outside = found.get('outside')
    if outside and outside['samples_percent'] >= LEAST_SHARE:
        inside, beyond = (
            _percent(outside[f'relative_percent_{side}']) for side in ('inside', 'outside')
        )
        most = sorted(
            (
                (entry['samples_percent'], f'{joint} {name}', entry['seen'])
                for joint, quantities in outside['joints'].items()
                for name, entry in quantities.items()
            ),
            reverse=True,
        )[:FARTHEST]
        named = ', '.join(
            f'{what} {significant(low)} to {significant(high)} ({share:.0f} %)'
            for share, what, (low, high) in most
        )
        share = outside['samples_percent']
        yield (
            f'{share:.0f} % of the validation recording lies outside the validity range; '
            f'relative residual {beyond} there, {inside} inside; most: {named}.'
        )
    fixed = found.get('fixed_cutoff')
    if fixed:
        yield (
            f'Behind a low-pass of {fixed["cutoff"]:.0f} Hz, as other tools state it, the '
            f'relative residual of the validation is {_percent(fixed["relative_percent"])}.'
        )


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


def _compared(
    other: float | None,
    training: float | None,
    model: IdentifiedModel,
    unseen: str = 'data it has not seen',
) -> str:
    if other is None or not training:
        return 'they cannot be compared'
    s = model.statistics
    if other > UNUSABLE_PERCENT:
        return 'more than half of the torque, so the model must not be used'
    if s.get('validation_seen'):
        return (
            'no validation, since the model was identified from these samples '
            f'({", ".join(s["validation_seen"])})'
        )
    if s.get('verdict', {}).get('word') == DO_NOT_USE or any(
        found['severity'] == WRONG for found in s.get('checks') or ()
    ):
        return 'not meaningful while the checks call the recording wrong'
    if other <= CARRIES_OVER * training or other < EXACT_PERCENT:
        lost = [
            f'{name} ({_percent(share)} of its own torque)'
            for name, share in relative_residuals(model).items()
            if share > UNUSABLE_PERCENT
        ]
        return f'the model generalizes to {unseen}' + (
            f', but not for {", ".join(lost)}' if lost else ''
        )
    if other <= MUCH_WORSE * training:
        return f'somewhat worse than in training ({other / training:.1f} times)'
    beyond = s.get('validation', {}).get('outside') or {}
    inside = beyond.get('relative_percent_inside')
    crossed = (s.get('cross_validation') or {}).get('relative_percent', 0.0)
    cause = (
        'the validation moves outside the validity range'
        if beyond and (inside is None or inside <= MUCH_WORSE * training)
        else 'the model overfits one motion'
        if crossed > MUCH_WORSE * training
        else 'the motion shows what the model lacks, or the robot has changed in between'
    )
    return f'{other / training:.1f} times worse than in training: {cause}'


def _consistent(model: IdentifiedModel) -> Iterator[str]:
    found = model.statistics.get('consistent')
    if found:
        yield (
            'The model uses the physically consistent parameters; their weighted training '
            f'residual is {significant(found["loss_percent"], 2)} % above that of '
            'unconstrained least squares.'
        )


def _residual(model: IdentifiedModel, few: Any) -> Iterator[str]:
    """Say whether the residual is noise, by its correlation against that of the filter."""
    s, first = model.statistics, Summary.of(model.preprocessing[0])
    if not first.rate or not first.cutoff:
        return
    period, correlation = first.decimate / first.rate, s['correlation_samples']
    noise, longest = max(period, 0.5 / first.cutoff), max(correlation.values()) * period
    bad = [
        name
        for name in sorted(correlation, key=lambda name: -correlation[name])
        if correlation[name] * period > AUTOCORRELATED * noise
    ]
    if not bad and all(x < UNUSABLE_PERCENT for x in relative_residuals(model).values()):
        yield f'The residuals are autocorrelated for {longest:.2g} s at most, as filtered noise.'
    if not bad:
        return
    fewest = s['samples'] / max(correlation.values())
    yield (
        f'The residuals of {"all joints" if len(bad) == len(correlation) else few(bad)} are '
        f'autocorrelated for up to {longest:.2g} s (filtered noise: {noise:.2g} s): friction, '
        'elasticity or sensor drift is not modelled. Effective sample size: '
        f'{fewest:.0f} of {s["samples"]}; the standard errors are widened accordingly.'
    )


def _parameters(model: IdentifiedModel, known: Sequence[Knowledge], few: Any) -> Iterator[str]:
    """Count what the base parameters are worth; name what is missing, far off or impossible."""
    grades = [item.grade for item in known]
    yield (
        'Relative standard errors of the base parameters: '
        + ', '.join(
            f'{grades.count(grade)} {grade}'
            for grade in dict.fromkeys(sorted(grades, key=(WELL, ROUGH, ZERO, NOT).index))
        )
        + '.'
    )
    missing = [k.name for k in known if k.grade == NOT]
    if missing:
        yield f'Not determined by the data, no value is given: {few(missing)}.'
    described = [k for k in known if k.has_nominal and k.grade != NOT]
    far = [
        f'{k.name} ({k.difference:.0f})'
        for k in sorted(described, key=lambda k: -k.difference)
        if k.difference > SURE
    ]
    if described:
        yield (
            f'Different from the robot description by more than {SURE:.0f} standard errors: '
            f'{few(far) if far else "none"} of {len(described)} inertial parameters.'
        )
    wrong = [
        f'{k.name} = {(k.entry.get("unconstrained") or [k.entry["value"]])[0]:.2g}'
        for k in known
        if k.impossible
    ]
    if wrong:
        yield (
            f'Negative, which is physically impossible: {few(wrong)}; '
            + (
                'the model uses the constrained estimates.'
                if 'unconstrained' in model.statistics
                else 'an effect that is not modelled: give single values no meaning.'
            )
        )
    chance = [k.name for k in known if k.negative and not k.impossible]
    if chance:
        yield (
            f'Negative, though not significantly (physically impossible): {few(chance)}; '
            '--consistent gives possible values.'
        )


def _motion(model: IdentifiedModel, known: Sequence[Knowledge]) -> Iterator[str]:
    """Say which motion would determine what is open, by how far the joints moved."""
    poor = [k for k in known if k.grade in (ZERO, NOT)]
    if not poor:
        yield 'All parameters that motion under this mounting can determine are significant.'
        return
    for better, kinds in (('Faster', ('inertia', 'friction')), ('Wider', ('gravity', 'offset'))):
        lacking = []
        for kind in kinds:
            some, every = (sum(k.kind == kind for k in group) for group in (poor, known))
            if some > MANY * every:
                lacking.append(f'{some} of {every} {kind}')
        if lacking and not (better == 'Wider' and goes_round(model)):
            yield f'{better} motion reduces the errors of {" and ".join(lacking)} parameters.'
    mixed = sum(k.inflation > CORRELATED for k in poor)
    if mixed > MANY * len(poor):
        arm = model.method == DEFAULT_METHOD  # motions of others are not designed
        yield (
            f'{mixed} parameters are strongly correlated (condition number '
            f'{ratio(model.statistics["condition_number"])}); '
            + (
                'a designed motion separates them: inertial-id design --model.'
                if arm
                else 'moving everything at once, at several frequencies, separates them.'
            )
        )


def _mounting(model: IdentifiedModel, few: Any) -> Iterator[str]:
    """Name the parameters that other mountings need and the recorded ones do not excite."""
    missing = model.mounting.get('missing')
    if missing:
        yield (
            f'Under this mounting no motion excites {few(missing)}; other mountings need them. '
            'Record with the base tilted before the robot is mounted another way.'
        )
