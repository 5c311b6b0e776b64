"""
Verdicts: good, usable or do not use, by rules on quantities with a meaning.

For a joint, with its left-out residual relative to its own torque (RMS over RMS):

- do not use: more than half remains as residual (three quarters of the variance is what a model
  should explain at least); at 100 % predicting zero is better; or a finding says it is wrong;
- usable: more than a fifth, or worse than the description alone, or a finding is doubtful;
- good: otherwise.

For the whole the same on all torques together; it is never better than usable while a joint is
not to be used.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from .finding import DO_NOT_USE, DOUBTFUL, Finding, GOOD, USABLE, Verdict, WRONG

HALF, FIFTH = 0.5, 0.2
WORSE = 1.3  # than the description alone, whose friction is fitted to the same data


def joint_verdicts(residual: Mapping[str, float], torque: Mapping[str, float],
                   nominal: Mapping[str, float],
                   findings: Sequence[Finding]) -> dict[str, Verdict]:
    """
    Return {joint: Verdict}.

    residual, torque : {joint: RMS of the left-out residual, of the measured torque}
    nominal : {joint: RMS of what the description alone leaves}, may be empty
    findings : of the checks
    """
    out = {}
    for joint, rms in torque.items():
        share = residual[joint] / rms if rms else 0.0
        own = [f for f in findings if joint in f.joints]
        out[joint] = _verdict(share, [f for f in own if f.severity == WRONG],
                              [f for f in own if f.severity == DOUBTFUL],
                              joint in nominal and residual[joint] > WORSE * nominal[joint])
    return out


def whole_verdict(residual: Mapping[str, float], torque: Mapping[str, float],
                  joints: Mapping[str, Verdict], findings: Sequence[Finding]) -> Verdict:
    """
    Return the Verdict of all joints together.

    residual, torque : as in ``joint_verdicts``, which gave ``joints``; findings : of the checks
    """
    total = np.linalg.norm(list(torque.values())) if torque else 0.0
    share = float(np.linalg.norm(list(residual.values())) / total) if total else 0.0
    out = _verdict(share, [f for f in findings if f.severity == WRONG],
                   [f for f in findings if f.severity == DOUBTFUL], False)
    bad = [joint for joint, v in joints.items() if v.word == DO_NOT_USE]
    if bad and out.word != DO_NOT_USE and torque:
        return Verdict(USABLE, (*out.reasons, f'not for {", ".join(bad)}'))
    return out


def _verdict(share: float, wrong: Sequence[Finding], doubtful: Sequence[Finding],
             worse: bool) -> Verdict:
    percent = f'{100 * share:.3g} % relative residual on left-out data'
    reasons = [f.says for f in wrong]
    if share >= 1.0:
        reasons.append(f'{percent}: predicting zero is better')
    elif share > HALF:
        reasons.append(percent)
    if reasons:
        return Verdict(DO_NOT_USE, tuple(reasons))
    reasons = [f.says for f in doubtful]
    if share > FIFTH:
        reasons.append(percent)
    if worse:
        reasons.append('worse than the description alone')
    return Verdict(USABLE if reasons else GOOD, tuple(reasons))
