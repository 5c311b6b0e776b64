"""
Sentences: the one table of words about a model and its recordings, and what reads it.

Per kind of facts it says which attribute must be true, and the text with the facts' attributes in
braces.  Where there is nothing to say, nothing is said.  Subject, verb, standard term; number with
unit; advice.
"""

from collections.abc import Mapping
from typing import Any

from . import (
    budget_facts,
    choice_facts,
    parameter_facts,
    prediction_facts,
    recording_facts,
    replay_facts,
    whole,
)
from .knowledge import DIFFERENT

Facts = tuple[Any, ...]  # a NamedTuple of a module of facts
ALWAYS = ''  # instead of an attribute, of what is said under no condition

# {facts: ((attribute that must be true, sentence), ...)}, said in this order.
SENTENCES: Mapping[type[Facts], tuple[tuple[str, str], ...]] = {
    prediction_facts.VerdictFacts: (
        ('explained', 'Verdict: {word}: {reasons}.'),
        ('bare', 'Verdict: {word}.'),
    ),
    prediction_facts.GravityFacts: (
        (
            'estimated',
            'Gravity in the base frame is estimated from the torques, {direction}; '
            'log-likelihood higher by {evidence:.0f} ({odds}) than for the mounting '
            '({mounting}).',
        ),
        (
            'contradicted',
            'Alarm: the torques contradict the mounting ({mounting}). {direction} has a '
            'log-likelihood higher by {evidence:.0f} ({odds}); check mounting:, or leave it '
            'out and the direction is estimated.',
        ),
    ),
    prediction_facts.ValidatedFacts: (
        (
            ALWAYS,
            'Validation recording: relative residual {percent} ({rms}raw {raw}), in training '
            '{training}: {compared}.',
        ),
    ),
    prediction_facts.CrossedFacts: (
        (
            ALWAYS,
            'No validation recording. 5-fold cross-validation: relative residual {percent} '
            '(training {training}): {compared}.',
        ),
    ),
    prediction_facts.TrainedFacts: (
        (
            ALWAYS,
            'No validation recording: the relative residual of {training} in training says '
            'nothing about other motions.',
        ),
    ),
    prediction_facts.RangeFacts: (
        (
            'worth_a_word',
            '{percent:.0f} % of the validation recording lies outside the validity range; '
            'relative residual {beyond} there, {inside} inside; most: {farthest}.',
        ),
    ),
    prediction_facts.CutoffFacts: (
        (
            ALWAYS,
            'Behind a low-pass of {cutoff:.0f} Hz, as other tools state it, the relative '
            'residual of the validation is {percent}.',
        ),
    ),
    prediction_facts.WorstFacts: (
        ('hidden', 'Worst joint: {name}, residual {percent} of its own torque.'),
    ),
    prediction_facts.ConsistencyFacts: (
        (
            ALWAYS,
            'The model uses the physically consistent parameters; their weighted training '
            'residual is {loss_percent} % above that of unconstrained least squares.',
        ),
    ),
    prediction_facts.NoiseFacts: (
        (
            'white',
            'The residuals are autocorrelated for {longest:.2g} s at most, as filtered noise.',
        ),
        (
            'coloured',
            'The residuals of {joints} are autocorrelated for up to {longest:.2g} s (filtered '
            'noise: {noise:.2g} s): friction, elasticity or sensor drift is not modelled. '
            'Effective sample size: {effective:.0f} of {samples}; the standard errors are widened '
            'accordingly.',
        ),
    ),
    replay_facts.ReplayFacts: (
        (
            'compared',
            'Replay of the {what} in MuJoCo, {windows} times {restart:g} s: drift after {seconds} '
            's {model}; of the description {description}.',
        ),
        (
            'alone',
            'Replay of the {what} in MuJoCo, {windows} times {restart:g} s: drift after {seconds} '
            's {model}.',
        ),
        (ALWAYS, 'Largest replay error beside the motion: {joint}, {percent} (RMS).'),
    ),
    parameter_facts.StructureFacts: (
        (
            'uncertain',
            'Alarm: the structure of the mechanism is not certain. Its bodies have {by_torque} '
            'base parameters by the torques and {by_energy} by the energy; check start: and '
            'independent:, and round the placements of the URDF.',
        ),
    ),
    parameter_facts.ParameterFacts: (
        (ALWAYS, 'Relative standard errors of the base parameters: {grades}.'),
        ('missing', 'Not determined by the data, no value is given: {missing}.'),
        (
            'described',
            f'Different from the robot description by more than {DIFFERENT:.0f} standard errors: '
            '{far} of {described} inertial parameters.',
        ),
        (
            'corrected',
            'Negative, which is physically impossible: {corrected}; the model uses the '
            'constrained estimates.',
        ),
        (
            'uncorrected',
            'Negative, which is physically impossible: {uncorrected}; an effect that is not '
            'modelled: give single values no meaning.',
        ),
        (
            'chance',
            'Negative, though not significantly (physically impossible): {chance}; '
            'inertial-id identify --consistent gives possible values.',
        ),
    ),
    parameter_facts.MotionFacts: (
        (
            'enough',
            'All parameters that motion under this mounting can determine are significant.',
        ),
        ('faster', 'Faster motion reduces the errors of {faster} parameters.'),
        ('wider', 'Wider motion reduces the errors of {wider} parameters.'),
        (
            'mixed_of_arm',
            '{correlated} parameters are strongly correlated (condition number {condition}); a '
            'designed motion separates them: inertial-id design --model.',
        ),
        (
            'mixed_of_rig',
            '{correlated} parameters are strongly correlated (condition number {condition}); '
            'moving everything at once, at several frequencies, separates them.',
        ),
    ),
    parameter_facts.MountingFacts: (
        (
            'missing',
            'Under this mounting no motion excites {missing}; other mountings need them. Record '
            'with the base tilted before the robot is mounted another way.',
        ),
    ),
    whole.WholeFacts: (
        (ALWAYS, 'All bodies together: {mass} kg.'),
        (
            'largest',
            'Centre of mass in {frame}, joints in the middle of their range: {centre} mm; '
            'largest standard errors over the range of the training: {largest} mm.',
        ),
    ),
    budget_facts.BudgetFacts: (
        (
            ALWAYS,
            'Combined standard errors are {wider:.2f} times the standard errors, '
            '{percent:.0f} % of their squares by {what}: {remedy}.',
        ),
        (
            'off',
            'Efforts do not fit the bodies as the other joints show them: {off}. The calibration '
            'is wrong or friction grows with the load; calibrate, until then rely on the combined '
            'errors of parameters of these joints.',
        ),
        (
            'unseen',
            'The motion does not show the effort scale of {unseen}: friction there is uncertain '
            'by up to {uncertain} %; calibrate (calibration:).',
        ),
    ),
    recording_facts.UnusedFacts: ((ALWAYS, 'Recording not used: {path}: {reason}'),),
    recording_facts.ManyUnusedFacts: (
        ('some', '{more} more recordings not used, see provenance of the model file.'),
    ),
    recording_facts.RoundedMountingFacts: (
        (
            'read',
            'The mounting "{given}" is read as {read}: an angle within {tolerance:g} rad of a '
            'right one is that.',
        ),
    ),
    recording_facts.FindingFacts: ((ALWAYS, '{sentence}{where}.'),),
    recording_facts.MaskedFacts: (
        ('some', 'Masked as bad: {percents} of the samples of each recording.'),
    ),
    recording_facts.MarkerFacts: (
        (
            'lost',
            'Marker {marker} of {source} was lost for {seconds:.2f} s, from {since:.2f} s '
            'on{where}.',
        ),
    ),
    recording_facts.ImuFacts: (
        (
            'fell_silent',
            'The IMU on {body} was silent for {silent:.2f} s, from {since:.2f} s on; markers were '
            'used alone{where}.',
        ),
        (
            'is_turned',
            'The IMU on {body} is turned {turned:.1f} degrees from its description; this was '
            'estimated from the motion and corrected{where}.',
        ),
    ),
    recording_facts.WristSensorFacts: (
        (
            ALWAYS,
            'The force-torque sensor of {topic} is turned by {x:.2f}, {y:.2f}, {z:.2f} degrees '
            'about its x, y, z axes; this was estimated from the motion and corrected{where}.',
        ),
    ),
    choice_facts.CandidateFacts: (
        (
            'confounded',
            'at most {own_percent:.0f} % of its column differs from those of every model',
        ),
        ('crossed', 'cross-validated residual {left_out_error} %'),
        ('worse', 'worse by {difference} %'),
        ('better', 'better by {difference} %'),
        ('more_likely', 'log-likelihood higher by {amount:.3g} ({odds})'),
        ('less_likely', 'log-likelihood lower by {amount:.3g} ({odds})'),
    ),
    choice_facts.ConfoundedFacts: (
        (
            'elastic',
            'The motion does not tell {law} of {joints} from inertia, since position and '
            'acceleration are proportional there; the model has none. Record a motion with '
            'several frequencies in each joint.',
        ),
        (
            'loaded',
            'The motion does not tell {law} of {joints} from Coulomb friction, since the load '
            'hardly changes there; the model has none. Record a motion through other postures.',
        ),
    ),
    prediction_facts.CurvesFacts: (
        (
            ALWAYS,
            'Drag to zoom, double click for the whole range; arrow keys, + and - on a selected '
            'chart, Ctrl and the wheel on any. All joints share their time.',
        ),
        ('is_thinned', 'Decimated {thinned}:1, extremes kept.'),
        (
            'has_band',
            'Shaded: the band that holds {band_percent:.0f} % of the residuals of motion like the '
            'training (by cross-validation); it widens outside the validity range.',
        ),
    ),
}

# {Generalization.conclusion: how a sentence about residuals ends}
CONCLUSIONS = {
    'incomparable': 'they cannot be compared',
    'unusable': 'more than half of the torque, so the model must not be used',
    'not other data': 'no validation, since the model was identified from these samples '
    '({of_training})',
    'unsound recording': 'not meaningful while the checks call the recording wrong',
    'generalizes': 'the model generalizes to {unseen}',
    'generalizes in part': 'the model generalizes to {unseen}, but not for {lost}',
    'somewhat worse': 'somewhat worse than in training ({times:.1f} times)',
    'outside the range': '{times:.1f} times worse than in training: the validation moves outside '
    'the validity range',
    'overfits': '{times:.1f} times worse than in training: the model overfits one motion',
    'lacks something': '{times:.1f} times worse than in training: the motion shows what the model '
    'lacks, or the robot has changed in between',
}


class _Attributes(dict[str, Any]):
    """The attributes of facts by their names, as texts ask for them."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts

    def __missing__(self, name: str) -> Any:
        attribute = getattr(self._facts, name)
        if isinstance(attribute, prediction_facts.Generalization):
            return _concluded(attribute)
        return attribute


def said(*subjects: Facts | None) -> list[str]:
    """Return the sentences that apply to ``subjects``, none to those that nothing is known of."""
    texts = []
    for facts in subjects:
        if facts is None:
            continue
        for attribute, text in SENTENCES[type(facts)]:
            if attribute == ALWAYS or getattr(facts, attribute):
                texts.append(text.format_map(_Attributes(facts)))
    return texts


def _concluded(compared: prediction_facts.Generalization) -> str:
    """Return the end of a sentence that compares residuals of other data with the training's."""
    return CONCLUSIONS[compared.conclusion].format_map(_Attributes(compared))
