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
    MASKED,
    USABLE,
    VALIDATION,
    Verdict,
    verdict_entry,
    verdict_of,
    WORDS,
    WRONG,
)
from .thresholds import CONTACT_MARGIN, FAR_ABOVE, ROUNDED, SYSTEMATIC_OF_ALL
from .verdicts import joint_verdicts, Judged, no_better_than, whole_verdict
from ..measurement.joints.channels import JOINT_STATE
from ..measurement.joints.kinematic_state import AT_REST
from ..measurement.recording import Channel, empty, page_out, Recording

UNCHECKED = 'units and masses not checked for method'
PIECE = 100_000  # samples that are copied together
BRIDGED = 0.04  # [s] that a straight line follows the motion; longer is a gap


def masks(findings: Sequence[Finding]) -> list[Finding]:
    """Return those of ``findings`` that mask samples."""
    return [f for f in findings if f.severity == MASKED and f.windows]


def without_bad(recording: Recording, findings: Sequence[Finding]) -> tuple[Recording, float]:
    """
    Return a ``recording`` without what ``findings`` mask, and the share of samples it lost.

    An isolated bad sample is dropped for its joint and bridged like a lost message; a window is
    dropped for all joints and becomes a gap, on both sides of which the filter starts anew.
    """
    masked = masks(findings)
    if not masked:
        return recording, 0.0
    origin, channels, share = recording.origin_ns(), {}, 0.0
    named = {name for finding in masked for name in finding.joints}
    for topic, channel in recording.channels.items():
        channels[topic] = channel
        if channel.type == JOINT_STATE and named & set(channel.names):
            channels[topic], lost = _without(channel, masked, origin)
            share = max(share, lost)
    return replace(recording, channels=channels), share


def _without(channel: Channel, masked: Sequence[Finding], origin: int) -> tuple[Channel, float]:
    """Return a ``channel`` with NaN where ``masked``, and the share of its samples."""
    t = (channel.stamp_ns - origin) * 1e-9
    bad = np.zeros((len(t), len(channel.names)), dtype=bool)
    ordered = bool(np.all(t[1:] >= t[:-1]))
    for finding in masked:
        columns = [channel.names.index(j) for j in finding.joints if j in channel.names]
        margin = CONTACT_MARGIN if finding.name == 'contact' else 1e-6
        for start, end in finding.windows:
            inside = _inside(t, start - margin, end + margin, ordered)
            if end - start > BRIDGED:
                bad[inside] = True
            else:
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
    for low in range(0, len(values), PIECE):
        page_out()
        part = slice(low, low + PIECE)
        out[part] = np.where(bad[part], np.nan, values[part])
    return out


def cleaned(recordings: Sequence[Recording], checkup: Checkup) -> list[Recording]:
    """Return the ``recordings`` without the samples that their ``checkup`` masks."""
    return [
        without_bad(recording, [f for f in checkup.checks if f.recording == number])[0]
        for number, recording in enumerate(recordings)
    ]


def unusable(found: Checkup) -> str:
    """Return why a recording is left out by its checkup ``found``, '' if it is not."""
    if found.verdict.word != DO_NOT_USE:
        return ''
    causes = [f.sentence() for f in found.checks if f.severity == WRONG]
    return '; '.join(causes[:2]) or '; '.join(found.verdict.reasons) or 'verdict: do not use'


def judged(checkup: Checkup, statistics: Mapping[str, Any]) -> Checkup:
    """Return a ``checkup`` with verdict and residuals of the model with these ``statistics``."""
    entry, unseen = statistics['verdict'], _unseen(statistics)[0]
    joints = {joint: verdict_of(verdict) for joint, verdict in entry['joints'].items()}
    residual = _residual(unseen, checkup)
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
    verdict = residual_verdict(*_unseen(statistics), checkup)
    if verdict['joints'] and 'validation' in statistics:
        verdict = _with_validation(verdict, statistics['validation'])
        training, validation = (
            statistics[kind]['filtered'].get('relative_percent')
            for kind in ('training', 'validation')
        )
        verdict = _with_ratio(verdict, training, validation)
    return {**checkup.to_dict(), 'verdict': verdict}


def _with_validation(verdict: Mapping[str, Any], validation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ``verdict`` that is no better than the residuals of joints in a ``validation``."""
    fit, ranges = validation['filtered'], validation.get('range', {})
    moved = [joint for joint in fit['measured_rms'] if _moved(joint, ranges)]
    torque = {joint: fit['measured_rms'][joint] for joint in moved}
    residual = {joint: fit['rms'][joint] for joint in moved}
    fitted = Judged(residual, torque, VALIDATION)
    joints = joint_verdicts(fitted, {}, ())
    whole = whole_verdict(fitted, joints, ())
    unchecked = any(reason.startswith(UNCHECKED) for reason in verdict['reasons'])
    if unchecked and any(v.word == DO_NOT_USE for v in joints.values()):
        whole = replace(whole, word=DO_NOT_USE)
    out = _worse(verdict, whole)
    out['joints'] = dict(verdict['joints'])
    for joint in moved:
        if joint in out['joints']:
            out['joints'][joint] = _worse(out['joints'][joint], joints[joint])
    return out


def _moved(joint: str, ranges: Mapping[str, Any]) -> bool:
    """Return whether a ``joint`` moved in the ``ranges`` of a validation, if that is known."""
    positions = ranges.get(joint, {}).get('q', (0.0, np.inf))
    return bool(np.ptp(positions) > AT_REST)


def _worse(entry: Mapping[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Return the ``entry`` of a verdict that is no better than another ``verdict``."""
    word = max(entry['word'], verdict.word, key=WORDS.index)
    reasons = list(dict.fromkeys([*entry['reasons'], *verdict.reasons]))
    return {**entry, 'word': word, 'reasons': reasons}


def _with_ratio(
    verdict: dict[str, Any], training: float | None, validation: float | None
) -> dict[str, Any]:
    """Return a ``verdict`` that names a residual [%] far above the one in ``training``."""
    if not training or not validation:
        return verdict
    if validation < max(FAR_ABOVE * training, 400.0 * SYSTEMATIC_OF_ALL):
        return verdict
    reason = (
        f'{validation:.3g} % relative residual {VALIDATION}, {validation / training:.1f} '
        f'times that in training ({training:.3g} %): the model lacks what that motion shows'
    )
    word = max(verdict['word'], USABLE, key=WORDS.index)
    return {**verdict, 'word': word, 'reasons': [*verdict['reasons'], reason]}


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
    fitted = Judged(_residual(fit, checkup), checkup.torque, where, checkup.noise)
    if not checkup.torque:  # of methods without model checks the model's numbers are all there is
        fitted = _of_rows(fit, where)
    if not any(fitted.torque.values()):  # rows that say zero have no torque to compare with
        return verdict_entry(checkup.verdict, checkup.joints)
    joints = joint_verdicts(fitted, checkup.nominal, checkup.checks, outside)
    whole = whole_verdict(fitted, joints, checkup.checks)
    unchecked = [r for r in checkup.verdict.reasons if r.startswith(UNCHECKED)]
    if not unchecked:
        return verdict_entry(whole, joints)
    # No check has looked for what is wrong with a joint: it may be wrong with all of them.
    least = USABLE
    if any(v.word == DO_NOT_USE for v in joints.values()):
        least = DO_NOT_USE
    joints = {joint: no_better_than(USABLE, v, unchecked) for joint, v in joints.items()}
    return verdict_entry(no_better_than(least, whole, unchecked), joints)


def _of_rows(fit: Mapping[str, Any], where: str) -> Judged:
    """Return what is judged of rows that measure more than rounding."""
    rounding = ROUNDED * max(fit['measured_rms'].values(), default=0.0)
    torque = {row: rms for row, rms in fit['measured_rms'].items() if rms > rounding}
    return Judged(fit['rms'], torque, where)
