"""
Verdicts: the rules by which residuals and findings make a recording, or a model, good or not.

For a joint, with its residual in cross-validation, or of data that the model has not seen,
relative to its own torque (RMS over RMS):

- do not use: more than half remains as residual (three quarters of the variance is what a model
  should explain at least); at 100 % predicting zero is better; or a finding says it is wrong;
- usable: more than a fifth; or more than a tenth that is systematic, or that noise may hide; or
  more than a fifth outside the trained range; or worse than the description alone; or a finding is
  doubtful;
- good: otherwise.

Systematic is what the residual has beyond noise of the efforts, in squares.  Noise hides what is
within the error of that difference: the more noise there is, the less a recording can show to be
good.  So noise never turns into good what is not good without it.

For the whole the same on all torques together, of which no more than an eightieth may be
systematic.  It is never better than usable while a joint leaves too much of its own torque, and
names that joint: a wrist weighs nothing in the sum.  What is wrong with single joints, beside
which the others predict as well, is said of these joints alone.

A fourth word is no judgement of residuals: ``not checked`` says that no check has looked at the
observations of a method.  It is given in check.py, ``_of_rig``; a model of such data is never
better than usable, see ``residual_verdict`` in checked.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from .finding import (
    CROSS,
    DO_NOT_USE,
    DOUBTFUL,
    Finding,
    GOOD,
    sentences,
    USABLE,
    Verdict,
    WORDS,
    WRONG,
)
from .thresholds import (
    BOTH_SIDES,
    GOOD_RESIDUAL,
    SYSTEMATIC_OF_ALL,
    SYSTEMATIC_RESIDUAL,
    UNUSABLE_RESIDUAL,
    WORSE_THAN_DESCRIBED,
)

BEHIND_DESCRIPTION = (
    f'residual more than {WORSE_THAN_DESCRIBED} times that of the described bodies with fitted '
    'friction'
)
# What the verdict of the whole says of joints that leave too much of their own torque.
NOT_FOR = 'not for {joints}'
POOR = f'more than {100 * GOOD_RESIDUAL:.0f} % relative residual of {{joints}} {{where}}'
LACKING = (
    f'more than {100 * SYSTEMATIC_RESIDUAL:.0f} % systematic residual of {{joints}} {{where}}'
)


@dataclass(frozen=True)
class Judged:
    """
    What is judged, of joints that moved.

    residual, torque : {joint: RMS of the residual, of measured torque}; where : in words
    noise : {joint: RMS that noise of the efforts leaves behind the filter}, empty: not known
    best : {joint: RMS if all data were as their best quarter}, empty: not known
    independent : {joint: number of independent residuals}, empty: so many that they have no error
    """

    residual: Mapping[str, float]
    torque: Mapping[str, float]
    where: str = CROSS
    noise: Mapping[str, float] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    independent: Mapping[str, float] = field(default_factory=dict)

    def share(self, joints: Sequence[str]) -> float:
        """Return the residual of ``joints`` together, relative to their torque."""
        torque = _together(self.torque, joints)
        if not torque:
            return 0.0
        share = _together(self.residual, joints) / torque
        if np.isnan(share):  # nothing is known of it
            return np.inf
        return share

    def words(self, share: float) -> str:
        """Return a ``share`` of the torque in words."""
        return f'{100 * share:.3g} % relative residual {self.where}'

    def systematic(self, joints: Sequence[str], least: float) -> list[str]:
        """Return the reason against more than ``least`` of the torque that is systematic."""
        if not self.noise or not least < self.share(joints) <= GOOD_RESIDUAL:
            return []
        shown, possible = self._systematic_shares(joints)
        if shown > least:
            return [self._not_modelled(joints)]
        if possible > least:
            return [self._hidden(joints, possible)]
        return []

    def lacks(self, joints: Sequence[str], least: float) -> bool:
        """Return whether more than ``least`` of the torque is shown to be systematic."""
        shown = self.noise and self._systematic_shares(joints)[0] > least
        return bool(shown) and self.share(joints) <= GOOD_RESIDUAL

    def _systematic_shares(self, joints):
        """Return what is systematic of the torque, at least and at most (95 %)."""
        squares = np.array([self.residual[joint] ** 2 for joint in joints])
        noise = np.array([self.noise.get(joint, 0.0) ** 2 for joint in joints])
        count = np.array([self.independent.get(joint, np.inf) for joint in joints])
        systematic = np.maximum(squares - noise, 0.0)
        # Squares of s + e, where e is normal of variance w, vary by 2 w^2 + 4 w s^2.
        variance = 2.0 * (squares**2 - systematic**2) / count
        error = BOTH_SIDES * np.sqrt(variance.sum())
        beyond = squares.sum() - noise.sum()
        most = min(max(beyond, 0.0) + error, squares.sum())
        shares = np.sqrt(np.maximum([beyond - error, most], 0.0))
        return shares / _together(self.torque, joints)

    def _noise_share(self, joints):
        """Return in words what noise leaves of the torque of ``joints``."""
        return _percent(_together(self.noise, joints) / _together(self.torque, joints))

    def _not_modelled(self, joints):
        """Return in words what noise and other data leave of the torque of ``joints``."""
        alone = f'sensor noise alone leaves {self._noise_share(joints)}'
        less = ', '.join([alone, *self._best(joints)])
        return f'{self.words(self.share(joints))}, where {less}: something is not modelled'

    def _hidden(self, joints, most):
        """Return in words which systematic ``most`` of the torque noise may hide."""
        return (
            f'{self.words(self.share(joints))}, of which sensor noise leaves '
            f'{self._noise_share(joints)} and may hide a systematic error of up to '
            f'{_percent(most)}: move longer'
        )

    def compared(self, joints: Sequence[str]) -> str:
        """Return the residual of ``joints`` in words, and how good it could be."""
        return _joined(self.words(self.share(joints)), self._best(joints))

    def _best(self, joints):
        """Return in words what is less than the residual of ``joints`` in the same data."""
        out, share = [], self.share(joints)
        torque = _together(self.torque, joints)
        best = _together(self.best, joints) / torque
        if 0.0 < best < share:
            out.append(f'the best quarter of the motion leaves {_percent(best)}')
        others = [joint for joint in self.torque if joint not in joints]
        if others and self.share(others) < share:
            out.append(f'the other joints leave {_percent(self.share(others))}')
        return out


def _joined(said, beside):
    """Return what is ``said``, and what stands ``beside`` it."""
    if not beside:
        return said
    return f'{said}: {", ".join(beside)}'


def _percent(share):
    return f'{100 * share:.2g} %'


def _together(values: Mapping[str, float], joints: Sequence[str]) -> float:
    return float(np.linalg.norm([values.get(joint, 0.0) for joint in joints]))


def joint_verdicts(
    fit: Judged,
    nominal: Mapping[str, float],
    findings: Sequence[Finding],
    outside: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Verdict]:
    """
    Return {joint: Verdict}.

    nominal : {joint: RMS of what the description alone leaves}, may be empty
    findings : of the checks
    outside : {joint: RMS of the residual outside of the trained range}, may be empty
    """
    fit_outside = replace(fit, residual=outside, where='outside the validity range')
    out = {}
    for joint in fit.torque:
        of_joint = [finding for finding in findings if joint in finding.joints]
        wrong = sentences(of_joint, WRONG)
        doubtful = sentences(of_joint, DOUBTFUL)
        doubtful += fit.systematic([joint], SYSTEMATIC_RESIDUAL)
        share_outside = fit_outside.share([joint])
        if share_outside > GOOD_RESIDUAL >= fit.share([joint]):
            doubtful.append(fit_outside.words(share_outside))
        described = nominal.get(joint, np.inf)
        if fit.residual[joint] > WORSE_THAN_DESCRIBED * described:
            doubtful.append(BEHIND_DESCRIPTION)
        out[joint] = _verdict(fit, [joint], wrong, doubtful)
    return out


def whole_verdict(
    fit: Judged, joints: Mapping[str, Verdict], findings: Sequence[Finding]
) -> Verdict:
    """
    Return the Verdict of all joints together.

    fit : as in ``joint_verdicts``, which gave ``joints``; findings : of the checks
    """
    moved = list(fit.torque)
    of_all = [finding for finding in findings if not _of_joints_alone(finding, moved)]
    wrong = sentences(of_all, WRONG)
    doubtful = sentences(findings, DOUBTFUL)
    doubtful += fit.systematic(moved, SYSTEMATIC_OF_ALL)
    verdict = _verdict(fit, moved, wrong, doubtful)
    named = _named_joints(fit, joints)
    if not named or verdict.word == DO_NOT_USE:
        return verdict
    return no_better_than(USABLE, verdict, named)


def _of_joints_alone(finding, moved):
    """Return whether a finding makes single joints wrong, and leaves others to be used."""
    others = set(moved) - set(finding.joints)
    return finding.alone and bool(others)


def _named_joints(fit, joints):
    """Return the reasons that name joints with too much of their own torque left."""
    bad = [joint for joint, verdict in joints.items() if verdict.word == DO_NOT_USE]
    others = [joint for joint in fit.torque if joint not in bad]
    poor = [joint for joint in others if fit.share([joint]) > GOOD_RESIDUAL]
    lacking = [joint for joint in others if fit.lacks([joint], SYSTEMATIC_RESIDUAL)]
    out = []
    for sentence, named in ((NOT_FOR, bad), (POOR, poor), (LACKING, lacking)):
        if named:
            out.append(sentence.format(joints=', '.join(named), where=fit.where))
    return out


def _verdict(
    fit: Judged, joints: Sequence[str], wrong: Sequence[str], doubtful: Sequence[str]
) -> Verdict:
    """Return the Verdict by the relative residual of ``joints`` and reasons against them."""
    share = fit.share(joints)
    residual_reason = fit.words(share)
    reasons = list(wrong)
    if share >= 1.0:
        reasons.append(f'{residual_reason}: predicting zero is better')
    elif share > UNUSABLE_RESIDUAL:
        reasons.append(residual_reason)
    if reasons:
        return Verdict(DO_NOT_USE, _each_once(reasons))
    reasons = list(doubtful)
    if share > GOOD_RESIDUAL:
        reasons.append(fit.compared(joints))
    if reasons:
        return Verdict(USABLE, _each_once(reasons))
    return Verdict(GOOD)


def no_better_than(word: str, verdict: Verdict, reasons: Sequence[str]) -> Verdict:
    """Return a ``verdict`` that is no better than a ``word``, for further ``reasons``."""
    worst = max(word, verdict.word, key=WORDS.index)
    return Verdict(worst, _each_once((*verdict.reasons, *reasons)))


def _each_once(reasons: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons))
