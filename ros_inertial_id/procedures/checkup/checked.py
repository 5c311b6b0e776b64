"""
Checked identification: samples that a checkup masks are left out, the model carries the verdict.

    checkup = check(recordings, options)
    result = identify(cleaned(recordings, checkup), options)
    result.model.statistics.update(checked_statistics(result.model.statistics, checkup))
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from .finding import Checkup, Verdict, verdict_entry, WORDS
from .masking import without_bad
from .raw_signals import AT_REST
from .verdicts import joint_verdicts, whole_verdict
from ...measurement.recording import Recording


def cleaned(recordings: Sequence[Recording], checkup: Checkup) -> list[Recording]:
    """Return the ``recordings`` without the samples that their ``checkup`` masks."""
    return [without_bad(recording, [f for f in checkup.checks if f.recording == number])[0]
            for number, recording in enumerate(recordings)]


def checked_statistics(statistics: Mapping[str, Any], checkup: Checkup) -> dict[str, Any]:
    """
    Return ``checks``, ``masked_share`` and ``verdict`` of a model, for its statistics.

    statistics : of the IdentifiedModel; checkup : of its training data
    The verdict is on the model's own left-out residual, not on that of the checkup's fit, and on
    its validation where there is one.
    """
    training = statistics['training']['filtered']
    left_out = statistics.get('left_out_relative_percent') or 0.0
    worse = max(1.0, left_out / max(training['relative_percent'] or 1.0, 1e-12))
    rms = {joint: worse * x for joint, x in training['rms'].items()}
    verdict = residual_verdict(rms, checkup)
    if checkup.torque and 'validation' in statistics:
        verdict = _with_validation(verdict, statistics['validation'])
    return {**checkup.to_dict(), 'verdict': verdict}


def _with_validation(verdict: Mapping[str, Any], validation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ``verdict`` that is no better than the residuals of joints in a ``validation``."""
    fit, seen = validation['filtered'], validation.get('range', {})
    torque = {joint: rms for joint, rms in fit['measured_rms'].items()
              if np.ptp(seen.get(joint, {}).get('q', (0.0, np.inf))) > AT_REST}
    residual = {joint: fit['rms'][joint] for joint in torque}
    joints = joint_verdicts(residual, torque, {}, ())
    whole = whole_verdict(residual, torque, joints, ())

    def worse(old: Mapping[str, Any], new: Verdict) -> dict[str, Any]:
        return {'word': max(old['word'], new.word, key=WORDS.index),
                'reasons': [*old['reasons'], *(f'validation: {r}' for r in new.reasons)]}

    return {**worse(verdict, whole), 'joints': {
        joint: worse(old, joints[joint]) if joint in joints else old
        for joint, old in verdict['joints'].items()}}


def residual_verdict(rms: Mapping[str, float], checkup: Checkup,
                     outside: Mapping[str, float] = MappingProxyType({})) -> dict[str, Any]:
    """
    Return the verdict on residuals.

    rms : {joint: of data that the model has not seen}; checkup : of these data
    outside : {joint: the same, of what left the trained range}
    """
    if not checkup.torque:
        return verdict_entry(checkup.verdict, checkup.joints)
    residual = {joint: rms[joint] for joint in checkup.torque}
    joints = joint_verdicts(residual, checkup.torque, checkup.nominal, checkup.checks,
                            checkup.lasting, outside)
    whole = whole_verdict(residual, checkup.torque, joints, checkup.checks)
    return verdict_entry(whole, joints)
