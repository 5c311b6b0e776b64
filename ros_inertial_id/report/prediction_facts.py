"""
Facts about the prediction: verdict, gravity, residuals and their noise, what a model carries over.

Each subject has a tuple of its own; a function computes it, None where the model knows nothing of
it.  Attributes that are texts or numbers stand in the texts of ``sentences.SENTENCES``; those
that are true or false say which of them apply.
"""

from collections.abc import Mapping
import math
from typing import Any, NamedTuple

from .knowledge import best_fit, fits, shortened, significant
from .model_statistics import ModelStatistics
from .mounting import force_unit, mounting_words
from ..checks.finding import CROSS, odds, VALIDATION
from ..checks.thresholds import UNUSABLE_RESIDUAL
from ..identification.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model
from ..measurement.summary import Summary

CARRIES_OVER, MUCH_WORSE = 1.3, 2.0  # other data over training, relative residuals
AGAINST_DIRECTION = 5.0  # log-likelihood difference against a given direction that is an alarm
SAME_MOUNTING = 0.1  # [deg]
LEAST_SHARE = 1.0  # % of the samples outside of a range that are worth a word
FARTHEST = 3  # quantities outside of a range that are named
UNUSABLE_PERCENT = 100.0 * UNUSABLE_RESIDUAL  # relative: above it nothing is said for a model
EXACT_PERCENT = 1e-6  # below it a residual is rounding
AUTOCORRELATED = 4.0  # times as long as white noise is behind the same filter


def percent_or_unknown(value: float | None) -> str:
    """Return a ``value`` in percent as text, also where none is known."""
    if value is None:
        return 'an unknown share'
    return f'{significant(value)} %'


def reasons_of(verdict: Mapping[str, Any]) -> list[str]:
    """Return the reasons of a ``verdict``, those of the validation instead of the same before."""
    texts = dict.fromkeys(verdict['reasons'])
    replaced = {
        text.removesuffix(VALIDATION) + CROSS for text in texts if text.endswith(VALIDATION)
    }
    return [text for text in texts if text not in replaced]


def relative_residuals(model: IdentifiedModel) -> dict[str, float]:
    """
    Return {row group: relative residual [%]} in validation, else cross-validation, else training.

    model : identified; empty where its file does not say how large the measured torques were
    """
    fit = best_fit(model)[1]
    measured = fit.get('measured_rms', {})
    return {
        name: 100.0 * rms / measured[name]
        for name, rms in fit['rms'].items()
        if measured.get(name)
    }


def worst_joint(model: IdentifiedModel) -> tuple[str, float] | None:
    """Return (row group, relative residual [%]) of the worst of a ``model``, None if unknown."""
    percents = relative_residuals(model)
    if not percents:
        return None
    return max(percents.items(), key=lambda item: item[1])


class VerdictFacts(NamedTuple):
    """word : of the verdict; reasons : why it is not better, '' for none."""

    word: str
    reasons: str

    @property
    def explained(self) -> bool:
        """Whether there are reasons."""
        return bool(self.reasons)

    @property
    def bare(self) -> bool:
        """Whether there are none."""
        return not self.reasons


def verdict_facts(model: IdentifiedModel) -> VerdictFacts | None:
    """Return the verdict on a ``model``, None where there is none."""
    verdict = ModelStatistics(model).verdict
    if not verdict:
        return None
    return VerdictFacts(verdict['word'], '; '.join(reasons_of(verdict)))


class GravityFacts(NamedTuple):
    """
    The direction of gravity as it was given, against the one that the torques show.

    direction : that the torques show, in words; evidence : log-likelihood difference for it
    tilt_deg : between both [deg]; mounting : as it was given, in words
    estimated : whether the direction of the torques was taken
    """

    direction: str
    evidence: float
    tilt_deg: float
    mounting: str
    estimated: bool

    @property
    def odds(self) -> str:
        """Return the evidence as odds."""
        return odds(self.evidence)

    @property
    def contradicted(self) -> bool:
        """Whether the torques speak against the direction that was taken as given."""
        if self.estimated or self.tilt_deg <= SAME_MOUNTING:
            return False
        return self.evidence > AGAINST_DIRECTION


def gravity_facts(model: IdentifiedModel) -> GravityFacts | None:
    """Return both directions of gravity of a ``model``, None where no other one was tried."""
    directions = ModelStatistics(model).directions
    if len(directions) != 2:
        return None
    given, by_torques = directions
    return GravityFacts(
        direction=by_torques['candidate'],
        evidence=by_torques['evidence'],
        tilt_deg=by_torques.get('tilt_deg', 0.0),
        mounting=mounting_words(model),
        estimated=not given['chosen'],
    )


class Generalization(NamedTuple):
    """
    Relative residuals [%] of data that a model was not estimated from, against those in training.

    percent, in_training : None where they are not known
    of_training : recordings that the model was estimated from after all
    unsound : whether the checks call the recording wrong
    lost : joints whose own torque is not predicted, with their residuals
    inside : residual within the validity range, None where no sample is
    leaves_range : whether samples are outside of it; crossed : residual in cross-validation
    unseen : these data, in words
    """

    percent: float | None
    in_training: float | None
    of_training: str
    unsound: bool
    lost: str
    inside: float | None
    leaves_range: bool
    crossed: float
    unseen: str

    @property
    def times(self) -> float:
        """Return the ratio to the training's, "not a number" where that is unknown."""
        if self.percent is None or not self.in_training:
            return math.nan
        return self.percent / self.in_training

    @property
    def conclusion(self) -> str:
        """Return the key of ``sentences.CONCLUSIONS`` that holds: the first in this order."""
        if self.percent is None or math.isnan(self.times):
            return 'incomparable'
        if self.percent > UNUSABLE_PERCENT:
            return 'unusable'
        if self.of_training:
            return 'not other data'
        if self.unsound:
            return 'unsound recording'
        if self.times <= CARRIES_OVER or self.percent < EXACT_PERCENT:
            return self._carried_over()
        if self.times <= MUCH_WORSE:
            return 'somewhat worse'
        return self._cause()

    def _carried_over(self) -> str:
        if self.lost:
            return 'generalizes in part'
        return 'generalizes'

    def _cause(self) -> str:
        """Return the key of why a model is much worse than in training."""
        limit = MUCH_WORSE * (self.in_training or 0.0)
        good_inside = self.inside is None or self.inside <= limit
        if self.leaves_range and good_inside:
            return 'outside the range'
        if self.crossed > limit:
            return 'overfits'
        return 'lacks something'


def generalization(model: IdentifiedModel, percent: float | None, unseen: str) -> Generalization:
    """
    Return the comparison of other data with the training of a ``model``.

    percent : relative residual on them; unseen : these data, in words
    """
    s = ModelStatistics(model)
    lost = [
        f'{name} ({percent_or_unknown(own_percent)} of its own torque)'
        for name, own_percent in relative_residuals(model).items()
        if own_percent > UNUSABLE_PERCENT
    ]
    return Generalization(
        percent=percent,
        in_training=fits(model)['training']['filtered']['relative_percent'],
        of_training=', '.join(s.seen_in_training),
        unsound=s.refused or bool(s.wrong),
        lost=', '.join(lost),
        inside=s.outside.get('relative_percent_inside'),
        leaves_range=bool(s.outside),
        crossed=s.cross_validation.get('relative_percent', 0.0),
        unseen=unseen,
    )


class ValidatedFacts(NamedTuple):
    """
    Relative residuals in words: on the validation recording, there as recorded, in training.

    rms : the RMS, where all rows have one unit, else ''
    compared : said as its conclusion
    """

    percent: str
    raw: str
    training: str
    rms: str
    compared: Generalization


class CrossedFacts(NamedTuple):
    """Relative residuals in words, in cross-validation and in training; see ValidatedFacts."""

    percent: str
    training: str
    compared: Generalization


class TrainedFacts(NamedTuple):
    """The relative residual in training in words, where there are no other data."""

    training: str


def fit_facts(model: IdentifiedModel) -> ValidatedFacts | CrossedFacts | TrainedFacts:
    """Return the residuals of a ``model`` on the data that say most."""
    parts = fits(model)
    training = percent_or_unknown(parts['training']['filtered']['relative_percent'])
    if 'validation' in parts:
        fit, raw = parts['validation']['filtered'], parts['validation']['raw']
        percent = fit['relative_percent']
        return ValidatedFacts(
            percent=percent_or_unknown(percent),
            raw=percent_or_unknown(raw['relative_percent']),
            training=training,
            rms=_rms_in_words(fit, force_unit(robot_of_model(model))),
            compared=generalization(model, percent, 'data it has not seen'),
        )
    if 'cross-validation' in parts:
        percent = parts['cross-validation']['filtered']['relative_percent']
        return CrossedFacts(
            percent=percent_or_unknown(percent),
            training=training,
            compared=generalization(model, percent, 'left-out parts of this motion'),
        )
    return TrainedFacts(training)


def _rms_in_words(fit: Mapping[str, Any], unit: str) -> str:
    """Return the RMS over all rows, '' where turning and sliding joints have two units."""
    if ' or ' in unit:
        return ''
    return f'RMS {significant(fit["rms_all"])} {unit}; '


class RangeFacts(NamedTuple):
    """
    The part of a validation outside of the validity range.

    percent : of the samples; inside, beyond : relative residuals; farthest : quantities, in words
    """

    percent: float
    inside: str
    beyond: str
    farthest: str

    @property
    def worth_a_word(self) -> bool:
        """Whether these are more than single samples."""
        return self.percent >= LEAST_SHARE


def range_facts(model: IdentifiedModel) -> RangeFacts | None:
    """Return the part of a validation outside the range of a ``model``, None for none."""
    outside = ModelStatistics(model).outside
    if not outside:
        return None
    quantities = []
    for joint, entries in outside['joints'].items():
        for quantity, entry in entries.items():
            quantities.append((entry['samples_percent'], f'{joint} {quantity}', entry['seen']))
    quantities.sort(reverse=True)
    named = [
        f'{quantity} {significant(low)} to {significant(high)} ({percent:.0f} %)'
        for percent, quantity, (low, high) in quantities[:FARTHEST]
    ]
    return RangeFacts(
        percent=outside['samples_percent'],
        inside=percent_or_unknown(outside['relative_percent_inside']),
        beyond=percent_or_unknown(outside['relative_percent_outside']),
        farthest=', '.join(named),
    )


class CutoffFacts(NamedTuple):
    """A validation behind another low-pass: its cutoff [Hz] and the relative residual."""

    cutoff: float
    percent: str


def cutoff_facts(model: IdentifiedModel) -> CutoffFacts | None:
    """Return the validation of a ``model`` behind a fixed low-pass, None where there is none."""
    fixed = ModelStatistics(model).validation.get('fixed_cutoff')
    if not fixed:
        return None
    return CutoffFacts(fixed['cutoff'], percent_or_unknown(fixed['relative_percent']))


class WorstFacts(NamedTuple):
    """The joint with the largest relative residual, which a total over all joints hides."""

    name: str
    value: float
    of: int

    @property
    def hidden(self) -> bool:
        """Whether there are other joints, and a residual beyond rounding."""
        return self.of > 1 and self.value > EXACT_PERCENT

    @property
    def percent(self) -> str:
        """Return the residual of its own torque."""
        return percent_or_unknown(self.value)


def worst_facts(model: IdentifiedModel) -> WorstFacts | None:
    """Return the worst joint of a ``model``, None where torques are not known."""
    worst = worst_joint(model)
    if worst is None:
        return None
    return WorstFacts(*worst, of=len(relative_residuals(model)))


class ConsistencyFacts(NamedTuple):
    """The weighted training residual of physically consistent parameters, above the least."""

    loss_percent: str


def consistency_facts(model: IdentifiedModel) -> ConsistencyFacts | None:
    """Return the loss of a ``model`` by physical consistency, None without it."""
    consistent = ModelStatistics(model).consistent
    if not consistent:
        return None
    return ConsistencyFacts(significant(consistent['loss_percent'], 2))


class NoiseFacts(NamedTuple):
    """
    Times [s] for which residuals are autocorrelated.

    longest : of all joints; noise : of white noise behind the same filter
    joints : longer than noise, '' for none; predicted : whether every joint is
    effective, samples : size of the sample by the longest time, and as counted
    """

    longest: float
    noise: float
    joints: str
    predicted: bool
    effective: float
    samples: int

    @property
    def white(self) -> bool:
        """Whether all residuals are filtered noise, of a model that predicts every joint."""
        return self.predicted and not self.joints

    @property
    def coloured(self) -> bool:
        """Whether residuals of some joints are no noise."""
        return bool(self.joints)


def noise_facts(model: IdentifiedModel, listed: int) -> NoiseFacts | None:
    """Return the autocorrelation of residuals, None of a ``model`` without signals."""
    s, first = model.statistics, Summary.of(model.preprocessing[0])
    if not first.rate or not first.cutoff:
        return None
    period = first.decimate / first.rate  # [s] between the rows
    noise = max(period, 0.5 / first.cutoff)
    correlation = s['correlation_samples']
    coloured = [
        name for name, rows in correlation.items() if rows * period > AUTOCORRELATED * noise
    ]
    coloured.sort(key=lambda name: -correlation[name])
    joints = shortened(coloured, listed)
    if coloured and len(coloured) == len(correlation):
        joints = 'all joints'
    most_rows = max(correlation.values())
    return NoiseFacts(
        longest=most_rows * period,
        noise=noise,
        joints=joints,
        predicted=all(x < UNUSABLE_PERCENT for x in relative_residuals(model).values()),
        effective=s['samples'] / most_rows,
        samples=s['samples'],
    )


class CurvesFacts(NamedTuple):
    """Of how many samples one is drawn; band_percent : of residuals in the band, 0 without."""

    thinned: int
    band_percent: float

    @property
    def is_thinned(self) -> bool:
        """Whether samples are left out."""
        return self.thinned > 1

    @property
    def has_band(self) -> bool:
        """Whether there is a band."""
        return self.band_percent > 0.0
