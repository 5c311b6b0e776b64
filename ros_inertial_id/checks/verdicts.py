"""
Verdicts: good, usable or do not use, by rules on quantities with a meaning.

For a joint, with its residual in cross-validation, or of data that the model has not seen,
relative to its own torque (RMS over RMS):

- do not use: more than half remains as residual (three quarters of the variance is what a model
  should explain at least); at 100 % predicting zero is better; or a finding says it is wrong;
- usable: more than a fifth; or more than a tenth that lasts, i.e. is no noise but something that
  the model lacks; or more than a fifth outside the trained range; or worse than the description
  alone; or a finding is doubtful;
- good: otherwise.

For the whole the same on all torques together; it is never better than usable while more than a
fifth of a joint's torque remains, and names that joint: a wrist weighs nothing in the sum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from .finding import DO_NOT_USE, DOUBTFUL, Finding, GOOD, USABLE, Verdict, WRONG

HALF, FIFTH, TENTH = 0.5, 0.2, 0.1
LASTING = 0.3  # [s] for which a residual is correlated that no filter makes so
WORSE = 1.3  # than the description alone, whose friction is fitted to the same data
CROSS, VALIDATION = 'in cross-validation', 'on the validation recording'


@dataclass(frozen=True)
class Judged:
    """residual, torque : {joint: RMS of the residual, of measured torque}; where : in words."""

    residual: Mapping[str, float]
    torque: Mapping[str, float]
    where: str = CROSS

    def words(self, share: float) -> str:
        """Return a ``share`` of the torque in words."""
        return f'{100 * share:.3g} % relative residual {self.where}'


def joint_verdicts(fit: Judged, nominal: Mapping[str, float], findings: Sequence[Finding],
                   lasting: Mapping[str, float] = MappingProxyType({}),
                   outside: Mapping[str, float] = MappingProxyType({})) -> dict[str, Verdict]:
    """
    Return {joint: Verdict}.

    fit : what is judged, of joints that moved
    nominal : {joint: RMS of what the description alone leaves}, may be empty
    findings : of the checks; lasting : {joint: integrated correlation time of the residual [s]}
    outside : {joint: RMS of the residual outside of the trained range}; both may be empty
    """
    out = {}
    for joint, rms in fit.torque.items():
        residual = fit.residual[joint]
        share = residual / rms if rms else 0.0
        own = [f for f in findings if joint in f.joints]
        reasons = [f.says for f in own if f.severity == DOUBTFUL]
        if TENTH < share <= FIFTH and lasting.get(joint, 0.0) > LASTING:
            reasons.append(f'{fit.words(share)} that lasts {lasting[joint]:.2g} s: it is no noise')
        if rms and outside.get(joint, 0.0) > FIFTH * rms >= residual:
            reasons.append(f'{100 * outside[joint] / rms:.3g} % relative residual outside of the '
                           'trained range')
        if joint in nominal and residual > WORSE * nominal[joint]:
            reasons.append('worse than the description alone')
        out[joint] = _verdict(fit, share, [f.says for f in own if f.severity == WRONG], reasons)
    return out


def whole_verdict(fit: Judged, joints: Mapping[str, Verdict], findings: Sequence[Finding]
                  ) -> Verdict:
    """
    Return the Verdict of all joints together.

    fit : as in ``joint_verdicts``, which gave ``joints``; findings : of the checks
    """
    total = np.linalg.norm(list(fit.torque.values())) if fit.torque else 0.0
    share = float(np.linalg.norm(list(fit.residual.values())) / total) if total else 0.0
    out = _verdict(fit, share, [f.says for f in findings if f.severity == WRONG],
                   [f.says for f in findings if f.severity == DOUBTFUL])
    bad = [joint for joint, v in joints.items() if v.word == DO_NOT_USE]
    poor = [joint for joint, v in joints.items() if joint not in bad
            and fit.residual.get(joint, 0.0) > FIFTH * fit.torque.get(joint, 0.0)]
    named = [f'not for {", ".join(bad)}'] * bool(bad) + [
        f'more than {100 * FIFTH:.0f} % relative residual of {", ".join(poor)} {fit.where}'
        ] * bool(poor)
    if named and out.word != DO_NOT_USE and fit.torque:
        return Verdict(USABLE, (*out.reasons, *named))
    return out


def _verdict(fit: Judged, share: float, wrong: Sequence[str], doubtful: Sequence[str]) -> Verdict:
    """Return the Verdict of a relative residual and of reasons against it."""
    reasons = list(dict.fromkeys(wrong))
    if share >= 1.0:
        reasons.append(f'{fit.words(share)}: predicting zero is better')
    elif share > HALF:
        reasons.append(fit.words(share))
    if reasons:
        return Verdict(DO_NOT_USE, tuple(reasons))
    reasons = [*dict.fromkeys(doubtful), *[fit.words(share)] * (share > FIFTH)]
    return Verdict(USABLE if reasons else GOOD, tuple(reasons))
