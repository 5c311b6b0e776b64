"""
Checked identification: samples that a checkup masks are left out, the model carries the verdict.

    checkup = check(recordings, options)
    result = identify(cleaned(recordings, checkup), options)
    result.model.statistics.update(checked_statistics(result.model.statistics, checkup))
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from .finding import (
    Checkup,
    CROSS,
    DO_NOT_USE,
    Finding,
    GOOD,
    MASKED,
    of_severity,
    USABLE,
    VALIDATION,
    Verdict,
    verdict_entry,
    verdict_of,
    verdicts_of,
    WRONG,
)
from .thresholds import CONTACT_MARGIN, FAR_ABOVE, ROUNDED, SYSTEMATIC_OF_ALL, SYSTEMATIC_RESIDUAL
from .verdicts import joint_verdicts, Judged, no_better_than, whole_verdict
from ..measurement.joints.channels import JOINT_STATE
from ..measurement.joints.kinematic_state import AT_REST
from ..measurement.recording import Channel, empty, page_out, Recording

Verdicts = tuple[Verdict, Mapping[str, Verdict]]  # of all joints together, {joint: Verdict}

UNCHECKED = 'units and masses not checked for method'
NOISE_UNKNOWN = 'of which nobody knows how much is noise'
NOT_DETERMINED = 'not determined: the motion shows none of {rank} base parameters{of}'
COPIED_SAMPLES = 100_000  # samples that are copied together
BRIDGED = 0.04  # [s] that a straight line follows the motion; longer is a gap
MARGINS = {'contact': CONTACT_MARGIN}  # [s] on either side of a window that are masked as well
STAMP_ROUNDING = 1e-6  # [s] of stamps: the margin of other windows


def masks(findings: Sequence[Finding]) -> list[Finding]:
    """Return those of ``findings`` that mask samples."""
    return [finding for finding in of_severity(findings, MASKED) if finding.windows]


def without_bad(recording: Recording, findings: Sequence[Finding]) -> tuple[Recording, float]:
    """
    Return a ``recording`` without what ``findings`` mask, and the share of samples it lost.

    An isolated bad sample is dropped for its joint and bridged like a lost message; a window is
    dropped for all joints and becomes a gap, on both sides of which the filter starts anew.
    """
    masked = masks(findings)
    if not masked:
        return recording, 0.0
    channels = dict(recording.channels)
    lost_shares = [0.0]
    named = set[str]()
    for finding in masked:
        named.update(finding.joints)
    for topic, channel in recording.channels.items():
        concerned = named.intersection(channel.names)
        if channel.type == JOINT_STATE and concerned:
            channels[topic], lost = _without(channel, masked, recording.origin_ns())
            lost_shares.append(lost)
    return recording.without_samples(channels), max(lost_shares)


def _without(channel: Channel, masked: Sequence[Finding], origin: int) -> tuple[Channel, float]:
    """Return a ``channel`` with NaN where ``masked``, and the share of its samples."""
    t = (channel.stamp_ns - origin) * 1e-9
    bad = np.zeros((len(t), len(channel.names)), dtype=bool)
    all_joints = np.arange(len(channel.names))
    ordered = bool(np.all(t[1:] >= t[:-1]))
    for finding in masked:
        named = np.flatnonzero(np.isin(channel.names, finding.joints))
        margin = MARGINS.get(finding.name, STAMP_ROUNDING)
        for start, end in finding.windows:
            inside = _inside(t, start - margin, end + margin, ordered)
            columns = named
            if end - start > BRIDGED:
                columns = all_joints
            bad[inside[:, None], columns] = True
    fields = dict(channel.fields)
    for name, values in channel.fields.items():
        if values.ndim == 2:
            fields[name] = _masked(values, bad)
    return replace(channel, fields=fields), float(bad.mean())


def _inside(t: np.ndarray, start: float, end: float, ordered: bool) -> np.ndarray:
    """Return the numbers of the samples t (N,) [s] from ``start`` to ``end``."""
    if ordered:  # thousands of windows of hours
        return np.arange(np.searchsorted(t, start), np.searchsorted(t, end, 'right'))
    return np.flatnonzero((t >= start) & (t <= end))


def _masked(values: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Return values (N, k) with NaN where they are ``bad``, piece by piece."""
    out = empty(values.shape, values.dtype)
    for low in range(0, len(values), COPIED_SAMPLES):
        page_out()
        part = slice(low, low + COPIED_SAMPLES)
        out[part] = np.where(bad[part], np.nan, values[part])
    return out


def cleaned(recordings: Sequence[Recording], checkup: Checkup) -> list[Recording]:
    """Return the ``recordings`` without the samples that their ``checkup`` masks."""
    out = []
    for number, recording in enumerate(recordings):
        findings = [finding for finding in checkup.checks if finding.recording == number]
        without, _ = without_bad(recording, findings)
        out.append(without)
    return out


def reason_not_to_use(checkup: Checkup) -> str:
    """Return the reason for which a ``checkup`` leaves a recording out, '' if it does not."""
    if checkup.verdict.word != DO_NOT_USE:
        return ''
    wrong = [finding.sentence() for finding in of_severity(checkup.checks, WRONG)]
    if wrong:
        return '; '.join(wrong[:2])
    return '; '.join(checkup.verdict.reasons)


def judged(checkup: Checkup, statistics: Mapping[str, Any]) -> Checkup:
    """Return a ``checkup`` with verdict and residuals of the model with these ``statistics``."""
    entry = statistics['verdict']
    unseen, _ = _unseen(statistics)
    residual = _residual(unseen, checkup)
    joints = verdicts_of(entry['joints'])
    return replace(checkup, verdict=verdict_of(entry), residual=residual, joints=joints)


def _unseen(statistics: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the residuals that the verdict of an identification is on, and of what they are."""
    if statistics.get('cross_validation'):
        return statistics['cross_validation'], CROSS
    return statistics['training']['filtered'], 'in training'


def _residual(fit: Mapping[str, Any], checkup: Checkup) -> dict[str, float]:
    """Return {joint: RMS} for the torques of a Checkup, as shares of them in a ``fit``."""
    out = {}
    for joint, torque in checkup.torque.items():
        share = fit['rms'][joint] / max(fit['measured_rms'][joint], 1e-300)
        out[joint] = share * torque
    return out


def checked_statistics(statistics: Mapping[str, Any], checkup: Checkup) -> dict[str, Any]:
    """
    Return ``checks``, ``masked_share`` and ``verdict`` of a model, for its statistics.

    statistics : of the IdentifiedModel; checkup : of its training data
    The verdict is on the residual of each joint where the model that predicts is fitted to the
    other stretches, not on that of the checkup's fit, and on its validation where there is one.
    """
    fit, where = _unseen(statistics)
    verdict, joints = _by_residuals(fit, where, checkup, {})
    if joints and 'validation' in statistics:
        verdict, joints = _with_validation(verdict, joints, statistics['validation'])
        training = statistics['training']['filtered'].get('relative_percent')
        validation = statistics['validation']['filtered'].get('relative_percent')
        verdict = _with_ratio(verdict, training, validation)
    undetermined = _undetermined(statistics)
    if undetermined:
        verdict = no_better_than(DO_NOT_USE, verdict, undetermined)
    return {**checkup.to_dict(), 'verdict': verdict_entry(verdict, joints)}


def _undetermined(statistics: Mapping[str, Any]) -> list[str]:
    """Return the reason against a model whose bodies, or all, are as described and no better."""
    if statistics.get('determined') == 0:
        return [NOT_DETERMINED.format(rank=statistics['rank'], of='')]
    bodies = statistics.get('bodies', {'rank': 0})
    if bodies['rank'] and not bodies['determined']:
        return [NOT_DETERMINED.format(rank=bodies['rank'], of=' of bodies')]
    return []


def _with_validation(
    whole: Verdict, joints: Mapping[str, Verdict], validation: Mapping[str, Any]
) -> Verdicts:
    """Return Verdicts that are no better than the residuals of a ``validation``."""
    fit = validation['filtered']
    measured = fit['measured_rms']
    ranges = validation.get('range', {})
    torque = {joint: measured[joint] for joint in measured if _moved(joint, ranges)}
    validated = Judged(fit['rms'], torque, VALIDATION)
    joints_then = joint_verdicts(validated, {}, ())
    whole_then = whole_verdict(validated, joints_then, ())
    if _unchecked(whole):
        whole_then = _wrong_with_a_joint(whole_then, joints_then)
    joints_now = {}
    for joint, verdict in joints.items():
        joints_now[joint] = _worse_of(verdict, joints_then.get(joint, Verdict(GOOD)))
    return _worse_of(whole, whole_then), joints_now


def _moved(joint: str, ranges: Mapping[str, Any]) -> bool:
    """Return whether a ``joint`` moved in the ``ranges`` of a validation, if that is known."""
    positions = ranges.get(joint, {}).get('q', (0.0, np.inf))
    return bool(np.ptp(positions) > AT_REST)


def _worse_of(before: Verdict, then: Verdict) -> Verdict:
    return no_better_than(then.word, before, then.reasons)


def _unchecked(verdict: Verdict) -> list[str]:
    """Return the reasons of a ``verdict`` that say what no check has looked for."""
    return [reason for reason in verdict.reasons if reason.startswith(UNCHECKED)]


def _wrong_with_a_joint(whole: Verdict, joints: Mapping[str, Verdict]) -> Verdict:
    """
    Return the Verdict of the ``whole`` where no check has looked for what is wrong with a joint.

    It may be wrong with all of them.
    """
    words = {verdict.word for verdict in joints.values()}
    if DO_NOT_USE not in words:
        return whole
    return replace(whole, word=DO_NOT_USE)


def _with_ratio(verdict: Verdict, training: float | None, validation: float | None) -> Verdict:
    """Return a ``verdict`` that names a residual [%] far above the one in ``training``."""
    if not training or not validation:
        return verdict
    if validation < max(FAR_ABOVE * training, 400.0 * SYSTEMATIC_OF_ALL):
        return verdict
    reason = (
        f'{validation:.3g} % relative residual {VALIDATION}, {validation / training:.1f} '
        f'times that in training ({training:.3g} %): the model lacks what that motion shows'
    )
    return no_better_than(USABLE, verdict, [reason])


def residual_verdict(
    fit: Mapping[str, Any],
    where: str,
    checkup: Checkup,
    outside: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Any]:
    """
    Return the verdict on residuals.

    fit : {rms, measured_rms: {joint: of data that the model has not seen}}; where : in words
    checkup : of these data, whose own rows may be filtered otherwise: shares are compared
    outside : {joint: the same, of what left the trained range}
    """
    return verdict_entry(*_by_residuals(fit, where, checkup, outside))


def _by_residuals(
    fit: Mapping[str, Any], where: str, checkup: Checkup, outside: Mapping[str, float]
) -> Verdicts:
    """Return the Verdicts of ``residual_verdict``."""
    residual = _residual(fit, checkup)
    fitted = Judged(
        residual, checkup.torque, where, checkup.noise, checkup.best, checkup.independent
    )
    if not checkup.torque:  # of methods without model checks the model's numbers are all there is
        fitted = _of_rows(fit, where)
    if not any(fitted.torque.values()):  # rows that say zero have no torque to compare with
        return checkup.verdict, checkup.joints
    joints = joint_verdicts(fitted, checkup.nominal, checkup.checks, outside)
    verdict = whole_verdict(fitted, joints, checkup.checks)
    share = fitted.share(list(fitted.torque))
    if not checkup.torque and share > SYSTEMATIC_RESIDUAL:
        verdict = no_better_than(USABLE, verdict, [f'{fitted.words(share)}, {NOISE_UNKNOWN}'])
    unchecked = _unchecked(checkup.verdict)
    if not unchecked:
        return verdict, joints
    verdict = no_better_than(USABLE, _wrong_with_a_joint(verdict, joints), unchecked)
    joints = {joint: no_better_than(USABLE, joints[joint], unchecked) for joint in joints}
    return verdict, joints


def _of_rows(fit: Mapping[str, Any], where: str) -> Judged:
    """Return the Judged of rows that measure more than rounding."""
    rounding = ROUNDED * max(fit['measured_rms'].values(), default=0.0)
    torque = {row: rms for row, rms in fit['measured_rms'].items() if rms > rounding}
    return Judged(fit['rms'], torque, where)
