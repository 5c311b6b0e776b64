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
    joint_verdicts,
    Judged,
    MASKED,
    USABLE,
    VALIDATION,
    Verdict,
    verdict_entry,
    verdict_of,
    whole_verdict,
    WORDS,
    WRONG,
)
from .thresholds import CONTACT_MARGIN, FAR_ABOVE, ROUNDED, SYSTEMATIC
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
    for topic, channel in recording.channels.items():
        joints = {name for f in masked for name in f.joints} & set(channel.names)
        if channel.type != JOINT_STATE or not joints:
            channels[topic] = channel
            continue
        channels[topic], lost = _without(channel, masked, origin)
        share = max(share, lost)
    return replace(recording, channels=channels), share


def _without(channel: Channel, masked: Sequence[Finding], origin: int) -> tuple[Channel, float]:
    t = (channel.stamp_ns - origin) * 1e-9
    bad = np.zeros((len(t), len(channel.names)), dtype=bool)
    ordered = bool(np.all(t[1:] >= t[:-1]))
    for finding in masked:
        columns = [channel.names.index(j) for j in finding.joints if j in channel.names]
        for start, end in finding.windows:
            margin = CONTACT_MARGIN if finding.name == 'contact' else 1e-6
            if ordered:  # thousands of windows of hours
                inside = np.arange(
                    np.searchsorted(t, start - margin), np.searchsorted(t, end + margin, 'right')
                )
            else:
                inside = np.flatnonzero((t >= start - margin) & (t <= end + margin))
            if end - start > BRIDGED:
                bad[inside] = True
            else:
                bad[inside[:, None], columns] = True
    fields = {
        name: _masked(values, bad) if values.ndim == 2 else values
        for name, values in channel.fields.items()
    }
    return replace(channel, fields=fields), float(bad.mean())


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


def judged(found: Checkup, statistics: Mapping[str, Any]) -> Checkup:
    """Return a Checkup with verdict and residuals of the model with these ``statistics``."""
    entry, fit = statistics['verdict'], _unseen(statistics)[0]
    return replace(
        found,
        verdict=verdict_of(entry),
        residual=_residual(fit, found),
        joints={joint: verdict_of(own) for joint, own in entry['joints'].items()},
    )


def _unseen(statistics: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the residuals that the verdict of an identification is on, and of what they are."""
    crossed = statistics.get('cross_validation')
    return (crossed, CROSS) if crossed else (statistics['training']['filtered'], 'in training')


def _residual(fit: Mapping[str, Any], found: Checkup) -> dict[str, float]:
    """Return {joint: RMS} for the torques of a Checkup, as shares of them in a ``fit``."""
    return {
        joint: fit['rms'][joint] / max(fit['measured_rms'][joint], 1e-300) * torque
        for joint, torque in found.torque.items()
    }


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
        verdict = _with_ratio(
            verdict,
            *(
                statistics[kind]['filtered'].get('relative_percent')
                for kind in ('training', 'validation')
            ),
        )
    return {**checkup.to_dict(), 'verdict': verdict}


def _with_validation(verdict: Mapping[str, Any], validation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ``verdict`` that is no better than the residuals of joints in a ``validation``."""
    fit, seen = validation['filtered'], validation.get('range', {})
    torque = {
        joint: rms
        for joint, rms in fit['measured_rms'].items()
        if np.ptp(seen.get(joint, {}).get('q', (0.0, np.inf))) > AT_REST
    }
    residual = {joint: fit['rms'][joint] for joint in torque}
    fitted = Judged(residual, torque, VALIDATION)
    joints = joint_verdicts(fitted, {}, ())
    whole = whole_verdict(fitted, joints, ())

    def worse(old: Mapping[str, Any], new: Verdict) -> dict[str, Any]:
        return {
            'word': max(old['word'], new.word, key=WORDS.index),
            'reasons': list(dict.fromkeys([*old['reasons'], *new.reasons])),
        }

    if any(r.startswith(UNCHECKED) for r in verdict['reasons']) and any(
        own.word == DO_NOT_USE for own in joints.values()
    ):
        whole = replace(whole, word=DO_NOT_USE)
    return {
        **worse(verdict, whole),
        'joints': {
            joint: worse(old, joints[joint]) if joint in joints else old
            for joint, old in verdict['joints'].items()
        },
    }


def _with_ratio(
    verdict: dict[str, Any], training: float | None, validation: float | None
) -> dict[str, Any]:
    """Return a ``verdict`` that names a residual [%] far above the one in ``training``."""
    if (
        not training
        or not validation
        or validation < max(FAR_ABOVE * training, 400.0 * SYSTEMATIC)
    ):
        return verdict
    reason = (
        f'{validation:.3g} % relative residual {VALIDATION}, {validation / training:.1f} '
        f'times that in training ({training:.3g} %): the model lacks what that motion shows'
    )
    return {
        **verdict,
        'word': max(verdict['word'], USABLE, key=WORDS.index),
        'reasons': [*verdict['reasons'], reason],
    }


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
    torque, residual, noise = checkup.torque, _residual(fit, checkup), checkup.noise
    if not torque:  # of methods without model checks the numbers of the model are all there is
        rounding = ROUNDED * max(fit['measured_rms'].values(), default=0.0)
        torque = {row: rms for row, rms in fit['measured_rms'].items() if rms > rounding}
        residual, noise = fit['rms'], {}
    if not any(torque.values()):  # rows that say zero have no torque to compare with
        return verdict_entry(checkup.verdict, checkup.joints)
    fitted = Judged(residual, torque, where, noise)
    joints = joint_verdicts(fitted, checkup.nominal, checkup.checks, outside)
    whole = whole_verdict(fitted, joints, checkup.checks)
    unchecked = tuple(r for r in checkup.verdict.reasons if r.startswith(UNCHECKED))
    if not unchecked:
        return verdict_entry(whole, joints)
    # No check has looked for what is wrong with a joint: it may be wrong with all of them.
    least = DO_NOT_USE if any(v.word == DO_NOT_USE for v in joints.values()) else USABLE
    return verdict_entry(
        _at_best(least, whole, unchecked),
        {joint: _at_best(USABLE, own, unchecked) for joint, own in joints.items()},
    )


def _at_best(word: str, verdict: Verdict, reasons: tuple[str, ...]) -> Verdict:
    """Return a ``verdict`` that is no better than a ``word``, for further ``reasons``."""
    return Verdict(max(word, verdict.word, key=WORDS.index), (*verdict.reasons, *reasons))
