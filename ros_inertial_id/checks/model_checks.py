"""
Model checks: what is wrong with a recording that only a model of the arm can tell.

    read -> contacts -> delay -> verdict by residuals -> causes, where it is not good -> findings

The rows are written once, and are those that an identification goes on with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from .causes import causes, CHECKS, Explanation, OTHER_BODY
from .changes_in_time import with_changes
from .checked import masks, without_bad
from .contacts import contacts
from .delays import delay_found, delay_words
from .explains import DELAYED
from .finding import DOUBTFUL, Finding, GOOD, NOTE, REMOVED, severity_of, WRONG
from .finding_kinds import found
from .joint_kind import in_degrees, turning
from .joint_order import exchanged, exchanged_branches
from .recording_under_test import recording_under_test, RecordingUnderTest
from .thresholds import (
    ASKED,
    FOREIGN_RESIDUAL,
    GOOD_RESIDUAL,
    MASSES_OF_GAINS,
    MOVING_SHARE,
    RESTING_SPEED,
    SYSTEMATIC_RESIDUAL,
    UNRELATED_RESIDUAL,
    UNUSABLE_DELAY,
    UNUSABLE_RESIDUAL,
    VISIBLE,
)
from .velocity_kind import by_best_velocity, differentiated
from .verdicts import joint_verdicts, Judged, whole_verdict
from ..auditing.audit import audited_urdf
from ..errors import EstimationError, InertialIdError, RecordingError
from ..identification.choose.nuisances import nuisances, OF_JOINTS
from ..identification.choose.time_offset import aligned
from ..identification.identified_model import IdentifiedModel
from ..identification.prepare.dataset import Dataset, lack_of_inertias, read_dataset
from ..identification.reduce.model_columns import ModelColumns
from ..identification.reduce.wide_factor import wide_factor
from ..measurement.recording import Recording

CAUSE_SAMPLES = 1000  # that show causes, of velocities that are not those identified with
EXCHANGED = 'joints exchanged'
# {finding: what an audit of the description calls it}
DESCRIBED = {
    'placeholders described': ('placeholder',),
    'sides described unlike': ('mirrored links differ', 'products with wrong sign'),
}
# Causes that say what an ampere is worth.
SCALED = {'effort in another unit', 'effort in percent', 'effort is a current'}
ABOUT_ONE = 1.05  # factor of torques: less is not worth a word
LEGS = ', or legs are in contact with the ground'

Rms = dict[str, dict[str, float]]  # {'torque', ...: {joint: of it}}


@dataclass(frozen=True)
class ModelChecks:
    """
    What the model checks say.

    findings : all of them
    rms : torque, residual, noise, best, independent, nominal of a Checkup
    data, columns : aligned, that an identification goes on with, None where there are none
    """

    findings: tuple[Finding, ...]
    rms: Rms
    data: Dataset | None = None
    columns: ModelColumns | None = None


def model_checks(
    recording: Recording,
    settings: tuple[Any, str, str],
    model: IdentifiedModel | None,
    signals: Sequence[Finding],
) -> ModelChecks:
    """
    Return the ModelChecks of one ``recording``, without the samples that signal checks mask.

    settings : options, name of the method, text of the description
    model : instead of the description's inertias; signals : Findings of the signal checks
    """
    options, method, urdf = settings
    try:
        data = read_dataset([recording], options, method, urdf)
        lacking = lack_of_inertias(data)
        if lacking and model is None:
            finding = found('links without inertia', (), 1.0, why=str(lacking))
            return ModelChecks((finding,), {})
        choice = by_best_velocity(data, signals)
        test = recording_under_test(choice.data, model, every=1)
        touched = contacts(choice.data, test.model_columns, test.column_indices)
        if masks(touched):
            without = without_bad(recording, touched)[0]
            checked = model_checks(without, settings, model, signals)
            return replace(checked, findings=(*checked.findings, *touched))
        return _checked(test, choice, model, signals)
    except (RecordingError, EstimationError) as error:
        return ModelChecks((not_prepared(error),), {})


def not_prepared(error: InertialIdError) -> Finding:
    """Return the Finding of a recording that cannot be prepared for an identification."""
    return found('cannot be prepared', (), 1.0, why=str(error))


def _checked(test, choice, model, signals):
    """Return the ModelChecks of a recording without contacts."""
    data, columns = aligned(choice.data, test.identified_columns, wide_factor)
    findings = [*choice.findings, *_resting(test, model), *_described(test.data.robot)]
    late = []
    if not _velocities_lag(choice.data, signals):
        late = _late(data, test)
    if _needs_a_cause(test, data, columns):
        explained = _explained(test, choice, model, signals)
        findings += _with_delay(explained, late)
    else:
        findings += causes(test, (OTHER_BODY,)).findings
        findings += late
    findings += _gains_from_masses(test)
    if getattr(test.data.robot, 'parents', ()).count(-1) > 1:
        findings = [_or_legs(f) for f in findings]
    if not any(finding.name == EXCHANGED for finding in findings):
        findings += exchanged_branches(test)
    return ModelChecks(tuple(findings), _rms(test, model), data, columns)


def _with_delay(explained: list[Finding], late: list[Finding]) -> list[Finding]:
    """Return the findings with the delay that is taken off, where no other cause is named."""
    others = [f for f in explained if f.name != DELAYED]
    named = [f for f in others if f.unit == REMOVED and f.severity != NOTE]
    if named or not late:
        return explained
    return others + late


def _needs_a_cause(test: RecordingUnderTest, data: Dataset, columns: ModelColumns) -> bool:
    """Return whether the verdict is not good anyway, or a sensor does what none should."""
    fit = Judged(
        _by_joint(test, test.free_residual),
        _by_joint(test, test.torque),
        noise=_by_joint(test, test.noise()),
        independent=_by_joint(test, test.independent),
    )
    verdict = whole_verdict(fit, joint_verdicts(fit, {}, ()), ())
    sliding = any(getattr(test.data.robot, 'prismatic', ()))
    if verdict.word != GOOD or sliding or _described_share(test) > GOOD_RESIDUAL:
        return True
    scores = [n.score for n in nuisances(data, columns) if n.what in OF_JOINTS]
    return max(scores, default=0.0) > ASKED


def _described_share(test: RecordingUnderTest) -> float:
    """Return the relative residual of the description alone, 0 without inertias."""
    if not test.described:
        return 0.0
    moved = test.moved
    torque = float(np.linalg.norm(test.torque[moved]))
    return float(np.linalg.norm(test.described_residual[moved])) / max(torque, 1e-300)


def _explained(test, choice, model, signals):
    """Return the Findings of what explains a verdict that is not good."""
    every = 1
    if _velocities_lag(choice.data, signals, used=False):
        # Velocities that lag make causes where there are none.
        data = differentiated(choice)
        if data is not choice.data:
            every = -(-data.samples(training=True) // CAUSE_SAMPLES)
            test = recording_under_test(data, model, every, test.wide)
    explanation = with_changes(test, causes(test, (*CHECKS, OTHER_BODY)))
    findings = list(explanation.findings)
    if findings:
        findings += _contacts_beside(test, explanation)
    sliding = turning(test, model, every)
    if sliding:
        return [*findings, *sliding]
    if not findings:
        degrees = in_degrees(test)
        if degrees:
            return degrees
    order = exchanged(test, explanation.residual)
    if order:
        return [*findings, *order]
    return [*findings, *_large_residual(test, explanation)]


def _contacts_beside(test: RecordingUnderTest, explanation: Explanation) -> list[Finding]:
    """Return the Findings of contacts in data changed by what explains them."""
    target, elements = explanation.change.target, test.elements
    efforts = target[:, elements.effort(0) : elements.effort(test.count)]
    efforts = efforts + np.diag(target[:, elements.measured])
    return masks(contacts(test.data, test.model_columns, test.column_indices, efforts.T))


def _velocities_lag(data, signals, used=True):
    """Return whether a signal check says that velocities lag, ``used``: that are used."""
    lag = any(f.name == 'velocity delayed' and not f.windows for f in signals)
    return lag and (data.first.measured_velocity or not used)


def _late(data: Dataset, test: RecordingUnderTest) -> list[Finding]:
    """Return a Finding where the identification reads the efforts at other times than stamped."""
    if not data.first.effort_source.may_be_late:
        return []
    summary = data.first.summary
    delay = delay_found(summary)
    if not delay:
        return []
    late = found(
        'efforts late',
        test.names,
        1e3 * abs(delay),
        severity=severity_of(abs(delay), UNUSABLE_DELAY, within=DOUBTFUL, beyond=WRONG),
        delay=delay_words(summary),
    )
    return [late]


def _large_residual(test: RecordingUnderTest, explanation: Explanation) -> list[Finding]:
    """Return a Finding where motion, or what is described, does not explain the efforts."""
    torque = max(float(np.linalg.norm(explanation.torque[test.moved])), 1e-300)
    relative = float(np.linalg.norm(explanation.residual[test.moved])) / torque
    causes_found = explanation.findings
    moving = _moving_share(test)
    if (relative > SYSTEMATIC_RESIDUAL and moving < MOVING_SHARE) or not test.moved.any():
        return [_at_rest(test, moving)]
    if _are_currents(test.data, causes_found):
        return [found('effort named as a current', test.names, 100.0 * relative)]
    if relative > UNRELATED_RESIDUAL and _is_unrelated(test, torque):
        name, amount = 'efforts do not follow the motion', 100.0 * relative
        return [found(name, test.names, amount, left=amount)]
    described = _described_share(test)
    foreign = described > UNUSABLE_RESIDUAL and relative > VISIBLE and not causes_found
    if relative > FOREIGN_RESIDUAL or foreign:
        name, amount = 'description of another robot', 100.0 * relative
        by_description = 100.0 * described
        return [found(name, test.names, amount, by_description=by_description, left=amount)]
    if causes_found:
        return []
    return _other_bodies(test)


def _are_currents(data: Dataset, causes_found: Sequence[Finding]) -> bool:
    """Return whether efforts that a log names as currents are taken for torques, unnoticed."""
    if not SCALED.isdisjoint(cause.name for cause in causes_found):
        return False
    kinds = {recording.effort_kind for recording in data.recordings}
    return 'current' in kinds and data.first.summary.effort_kind == 'link'


def _moving_share(test):
    """Return the share of samples in which any joint moves."""
    states: Any = test.data.states(training=True)
    fast = [(np.abs(state.v) > RESTING_SPEED).any(axis=1) for _, state in states]
    return float(np.concatenate(fast).mean())


def _at_rest(test, moving):
    severity = WRONG
    if test.moved.any():
        severity = DOUBTFUL
    return found(
        'arm at rest',
        test.names,
        100.0 * (1.0 - moving),
        severity=severity,
        moving=100 * moving,
        speed=RESTING_SPEED,
    )


def _is_unrelated(test, torque):
    """Return whether free bodies leave the torque even of the data that they are fitted to."""
    fitted = test.fitted_residual()[test.moved]
    return np.linalg.norm(fitted) > UNRELATED_RESIDUAL * torque


def _other_bodies(test: RecordingUnderTest) -> list[Finding]:
    """Return a Finding where the described bodies do not explain what others do."""
    share = _described_share(test)
    if share < GOOD_RESIDUAL:
        return []
    factors = np.diagonal(test.described_factors[0])
    other = found(
        'bodies other than described',
        test.names,
        100.0 * share,
        severity=severity_of(share, UNUSABLE_RESIDUAL, within=NOTE, beyond=DOUBTFUL),
        factor=_times(float(np.median(factors[test.moved]))),
        by_description=100.0 * share,
    )
    return [other]


def _times(factor: float) -> str:
    """Return in words by which ``factor`` torques differ from described ones, '' for about 1."""
    if abs(np.log(max(abs(factor), 1e-9))) < np.log(ABOUT_ONE):
        return ''
    return f', which is about {factor:.2g} times as large as described'


def _gains_from_masses(test: RecordingUnderTest) -> list[Finding]:
    """Return a Finding where gains make every described torque right, as no scale does."""
    if not test.data.options.drive_gain or not test.described:
        return []
    factors, shown = test.own_factors()
    off = np.abs(factors[shown] - 1.0)
    if shown.sum() < 2 or off.max() > MASSES_OF_GAINS:
        return []
    amount = 100.0 * float(off.max())
    return [found('gains from described masses', test.names, amount, off=amount)]


def _resting(test: RecordingUnderTest, model: IdentifiedModel | None) -> list[Finding]:
    """Return a Finding where some joints of an arm stand still."""
    resting = list(compress(test.names, ~test.moved))
    if not resting or not test.moved.any():
        return []
    severity = NOTE  # of data that a model is held against
    if model is None:
        severity = DOUBTFUL
    stand = 'stand'
    if len(resting) == 1:
        stand = 'stands'
    return [found('joints at rest', resting, len(resting), severity=severity, stand=stand)]


def _described(robot: Any) -> list[Finding]:
    """Return Findings of what the description of a ``robot`` says and no robot has."""
    findings = []
    doubts = getattr(robot, 'doubts', ())
    if doubts:
        findings.append(found('impossible inertia', (), len(doubts), links=', '.join(doubts)))
    urdf = getattr(robot, 'urdf', '')
    if not urdf:
        return findings
    audit = audited_urdf(urdf)
    for kind, names in DESCRIBED.items():
        links = [f.part for f in audit.findings if f.name in names and f.severity != NOTE]
        if links:
            findings.append(found(kind, (), len(links), links=', '.join(links)))
    return findings


def _or_legs(finding):
    """Return a ``finding`` of a robot of several limbs, which the ground may be at as well."""
    if finding.severity != WRONG:
        return finding
    do = (
        f'{finding.do}; or hang the robot, or fix its base; on its feet: '
        'identify with --method floating_base'
    )
    return replace(finding, says=finding.says + LEGS, do=do)


def _rms(test: RecordingUnderTest, model: IdentifiedModel | None) -> Rms:
    """Return the numbers of a Checkup, of joints that moved."""
    # What friction takes of a joint at rest says nothing of a model.
    out = {
        'torque': _by_joint(test, test.torque),
        'residual': _by_joint(test, test.free_residual),
        'noise': _by_joint(test, test.noise()),
        'best': _by_joint(test, test.best_residual),
        'independent': _by_joint(test, test.independent),
    }
    # Under a model that is given, friction alone would be fitted to these very data.
    if model is None:
        nominal = test.torque
        if test.described:
            nominal = test.described_residual
        out['nominal'] = _by_joint(test, nominal)
    return out


def _by_joint(test, values):
    """Return {joint: value} of the joints that moved."""
    moved = compress(test.names, test.moved)
    return dict(zip(moved, values[test.moved].tolist()))
