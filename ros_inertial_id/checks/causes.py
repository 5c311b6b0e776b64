"""
Causes: what could be wrong with the recording of an arm, one row of a table each.

A row yields alternatives: changes of the data.  One of them becomes a finding where it predicts
stretches left out better than the data as recorded, surely by one kind of bodies, while the other
kind does not contradict: see ``Trial``.  The strongest is named; what explains alike is named with
it.  Sizes that friction, elasticity and descriptions have, too, compete and are not said.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .alternatives import (
    all_negated,
    compensated,
    currents,
    encoders,
    gains,
    late,
    mounting,
    negated,
    one_late,
    other_body,
    percent,
    permuted,
    units,
)
from .finding import Finding
from .finding_kinds import found, KINDS
from .recording_under_test import (
    Alternative,
    Change,
    DESCRIBED,
    EACH_ONCE,
    FREE,
    RecordingUnderTest,
    TINY,
)
from .thresholds import (
    ALIKE_RESIDUALS,
    ASKED,
    GOOD_RESIDUAL,
    SURE_OF_CAUSE,
    SYSTEMATIC_RESIDUAL,
    UNRELATED_RESIDUAL,
    UNUSABLE_RESIDUAL,
)
from ..measurement.joints.drives import COMMAND, gains_to_paste
from ..measurement.joints.effort_source import DESCRIBED_SCALE

CONFIRMED = 3  # causes at most, by four consistent solutions each
EXPLAINED_BY_DESCRIPTION = 0.1  # of what it left before: the change makes the description right
OTHERS_LOSE = 1.5  # times the residual of other joints that a fault of one leaves them to be used
MASSES = 'the described masses are wrong'
OR = '; or, as likely, '
OTHER_KIND = {FREE: DESCRIBED, DESCRIBED: FREE}
Errors = dict[str, np.ndarray]  # {FREE, DESCRIBED: (sets, stretches, n) of stretches left out}


@dataclass(frozen=True)
class Check:
    """
    One row of the table.

    alternatives : what is asked; bodies : which kind judges it
    cost : how many numbers are free: of what explains alike the cheaper is named first
    scales : whether described masses that are wrong do the same to efforts that predict as well
    """

    alternatives: Callable[[RecordingUnderTest], Iterator[Alternative]]
    cost: int
    bodies: str = FREE
    scales: bool = False


CHECKS = (
    Check(all_negated, 0, DESCRIBED),
    Check(negated, 0),
    Check(permuted, 0),
    Check(units, 1, DESCRIBED, scales=True),
    Check(percent, 0, DESCRIBED, scales=True),
    Check(currents, 7, DESCRIBED, scales=True),
    Check(gains, 1),
    Check(late, 1),
    Check(one_late, 1),
    Check(mounting, 2, DESCRIBED),
    Check(compensated, 0, DESCRIBED),
    Check(encoders, 1),
)
OTHER_BODY = Check(other_body, 10, DESCRIBED)  # leaves a model as good, and is asked always


@dataclass(frozen=True)
class Explanation:
    """
    What explains the data.

    findings : the cause, if there is one; change : of the data that it is
    residual, torque : (n,) rms that any bodies leave beside it, and of the efforts [N m, N]
    """

    findings: tuple[Finding, ...]
    change: Change
    residual: np.ndarray
    torque: np.ndarray


@dataclass(frozen=True, eq=False)
class Trial:
    """An alternative of a check that was tried, and its errors by both kinds of bodies."""

    test: RecordingUnderTest
    check: Check
    alternative: Alternative
    errors: Errors

    @property
    def change(self) -> Change:
        """Return the Change of the recording."""
        return self.alternative.change

    def gap(self, others: Errors) -> tuple[float, float]:
        """Return the mean log ratio to ``others``, by both kinds of bodies, and its error."""
        return self.test.gap(
            self.errors[FREE], others[FREE], self.errors[DESCRIBED], others[DESCRIBED]
        )

    def gap_by(self, bodies: str, others: Errors) -> tuple[float, float]:
        """Return the mean log ratio to ``others`` by one kind of ``bodies``, and its error."""
        return self.test.gap(self.errors[bodies], others[bodies])

    def surely_better_by(self, recorded: Errors) -> str:
        """
        Return the kind of bodies that predicts surely better than as ``recorded``, '' if none.

        The other kind must not contradict, nor what the rms of both says.
        """
        if self.is_contradicted(recorded):
            return ''
        if self._makes_description_right(recorded) and self._surely_better(DESCRIBED, recorded):
            return DESCRIBED
        if self._surely_better(FREE, recorded):
            return FREE
        return ''

    def _surely_better(self, bodies, recorded):
        """Return whether ``bodies`` are sure, while the other kind loses no more than chance."""
        gap, error = self.gap_by(bodies, recorded)
        loss, slack = self.gap_by(OTHER_KIND[bodies], recorded)
        return gap < -SURE_OF_CAUSE * error and loss < max(
            2.0 * slack, 2.0 * np.log(ALIKE_RESIDUALS)
        )

    def _makes_description_right(self, recorded):
        """Return whether described bodies are to be asked, and explain the efforts with it."""
        if self.check.bodies != DESCRIBED:
            return False
        with_it, before = self._rms(self.errors, DESCRIBED), self._rms(recorded, DESCRIBED)
        torque = self._torque()
        explained = min(UNRELATED_RESIDUAL * torque, EXPLAINED_BY_DESCRIPTION * before)
        return with_it < max(UNUSABLE_RESIDUAL * torque, explained)

    def is_contradicted(self, recorded: Errors) -> bool:
        """Return whether rms of residuals speak against it, whatever their logarithms say."""
        test, joints = self.test, list(self.alternative.joints)
        free, described = self._rms(self.errors, FREE), self._rms(self.errors, DESCRIBED)
        still = self._rms(self.errors, FREE, joints)
        joints_remain = still > UNRELATED_RESIDUAL * np.linalg.norm(test.torque[joints])
        if self.change.link is not None:  # of the efforts of all, and free bodies know it anyway
            joints_remain = False
        # Logarithms weigh a joint that is hardly explained like all.
        worse = free > ALIKE_RESIDUALS * self._rms(recorded, FREE)
        # Of another robot's description a change explains a part.
        torque = self._torque()
        foreign_before = self._rms(recorded, DESCRIBED) > UNUSABLE_RESIDUAL * torque
        still_foreign = np.sqrt(free * described) > GOOD_RESIDUAL * torque
        foreign = foreign_before and still_foreign
        description_loses = self._description_loses(recorded, joints)
        return any((joints_remain, worse, foreign, description_loses))

    def _description_loses(self, recorded, joints):
        """
        Return whether described bodies lose more of the joints concerned than chance.

        Where more than efforts is changed they may lose what any bodies gain.
        """
        if not self.test.described or self.change.link is not None:
            return False
        most = ALIKE_RESIDUALS
        first_slope = self.test.elements.slope(0)
        if self.change.target[:, first_slope:].any():
            before, after = (self._rms(e, FREE, joints) for e in (recorded, self.errors))
            most = max(ALIKE_RESIDUALS, before / after)
        before = self._rms(recorded, DESCRIBED, joints)
        return self._rms(self.errors, DESCRIBED, joints) > most * before

    def _rms(self, errors: Errors, bodies: str, joints: Any = None) -> float:
        """Return the norm of the rms of ``joints``, those that moved by default."""
        if joints is None:
            joints = self.test.moved
        return max(TINY, float(np.linalg.norm(self.test.residual(errors[bodies])[joints])))

    def _torque(self):
        """Return the norm of the rms of the changed efforts of joints that moved."""
        return float(np.linalg.norm(self.test.torque_of(self.change)[self.test.moved]))


def causes(test: RecordingUnderTest, checks: Sequence[Check]) -> Explanation:
    """Return the Explanation by the strongest cause that ``checks`` find, or by none."""
    nothing = Explanation((), test.plain, test.free_residual, test.torque)
    tried = _tried(test, checks)
    candidates = _strongest(test, tried)
    if all(trial.alternative.below_report_size for trial in candidates):
        return nothing
    recorded = _confirmed_errors(test, test.plain, test.as_recorded)
    sure = _sure(candidates, recorded)
    if not sure:
        return nothing
    alike = _alike(sure, recorded)
    named = alike[0]
    if named.alternative.below_report_size:
        return nothing
    finding, residual = _finding(test, alike, recorded), test.residual(named.errors[FREE])
    return Explanation((finding,), named.change, residual, test.torque_of(named.change))


def _tried(test, checks):
    """Return the Trials of alternatives that lower the left-out error of linear solutions."""
    out = []
    for bodies, other_kind in OTHER_KIND.items():
        trials = [
            Trial(test, check, alternative, {})
            for check in checks
            if check.bodies == bodies
            for alternative in check.alternatives(test)
        ]
        promising = [t for t in _with_errors(test, trials, bodies) if _is_promising(t, bodies)]
        out += _with_errors(test, promising, other_kind)
    return out


def _with_errors(test, trials, bodies):
    """Return ``trials`` with the errors of stretches left out by one kind of ``bodies``."""
    errors = test.left_out([trial.change for trial in trials], bodies)
    return [replace(t, errors={**t.errors, bodies: e}) for t, e in zip(trials, errors)]


def _is_promising(trial, bodies):
    gap, error = trial.gap_by(bodies, trial.test.as_recorded)
    return trial.alternative.confirmed_by_friction or gap < -ASKED * error


def _strongest(test, tried):
    """Return the Trials to confirm: the best of the best checks, and what friction confirms."""
    by_check: dict[Check, list[Trial]] = {}
    for trial in tried:
        by_check.setdefault(trial.check, []).append(trial)
    best = [_fewest_joints(test, trials) for trials in by_check.values()]
    best.sort(key=lambda trial: trial.gap(test.as_recorded)[0])
    out = best[:CONFIRMED]
    confirmed = [trial for trial in tried if trial.alternative.confirmed_by_friction]
    return list(dict.fromkeys([*out, *confirmed]))


def _fewest_joints(test, tried):
    """Return the best Trial of one check, of no more joints than are surely needed."""
    best = min(tried, key=lambda trial: trial.gap(test.as_recorded)[0])
    ranked = []
    for number, trial in enumerate(tried):
        gap, error = trial.gap(best.errors)
        if gap <= SURE_OF_CAUSE * error + 1e-12 or _leaves_no_joint_more(test, trial, best):
            ranked.append((len(trial.alternative.joints), gap, number))
    return tried[min(ranked)[-1]]


def _leaves_no_joint_more(test, trial, best):
    """
    Return whether the ``trial`` leaves no joint a residual that says more than that of ``best``.

    What a few percent of one joint's residual say surely may be anything that its model lacks.
    """
    bodies = trial.check.bodies
    left, least = (test.residual(t.errors[bodies])[test.moved] for t in (trial, best))
    return bool(np.all(left <= ALIKE_RESIDUALS * least))


def _confirmed_errors(test, change, errors):
    """Return the ``errors`` of a change with those of consistent bodies, each stretch once."""
    return {FREE: test.consistent(change), DESCRIBED: errors[DESCRIBED][EACH_ONCE]}


def _sure(candidates, recorded):
    """Return the Trials that are surely right; small ones only compete with others."""
    out: list[Trial] = []
    for trial in sorted(candidates, key=lambda trial: trial.alternative.below_report_size):
        if trial.alternative.below_report_size and not out:
            break
        # Described bodies are the same in both; free ones may explain what no body can.
        if trial.check.bodies == FREE and trial.is_contradicted(trial.test.as_recorded):
            continue
        errors = _confirmed_errors(trial.test, trial.change, trial.errors)
        trial = replace(trial, errors=errors)
        if trial.surely_better_by(recorded):
            out.append(trial)
    return out


def _alike(sure, recorded):
    """Return the causes as good as the best of ``sure`` ones, the cheapest first."""
    best = min(sure, key=lambda trial: trial.gap(recorded)[0])
    ranked = []
    for number, trial in enumerate(sure):
        gap, error = trial.gap(best.errors)
        # What the description is wrong by is alike in all stretches.
        if gap <= np.hypot(error, 2.0 * np.log(ALIKE_RESIDUALS)):
            ranked.append((trial.check.cost, gap, number))
    return [sure[number] for *_, number in sorted(ranked)]


def _finding(test, alike, recorded):
    """Return the Finding of the first of causes that explain ``alike``, with the others named."""
    named = alike[0]
    name, words = named.alternative.name, _words(test, named)
    bodies = named.surely_better_by(recorded)
    gap, _ = named.gap_by(bodies, recorded)
    finding = found(
        name,
        [test.names[j] for j in named.alternative.joints],
        removed_percent(gap),
        severity=named.alternative.severity,
        **words,
    )
    says = {finding.says: None}
    for trial in alike[1:]:
        if trial.check is not named.check and not trial.alternative.below_report_size:
            says[_sentence(test, trial)] = None
    if named.check.scales and not _efforts_alone_tell(named, recorded):
        says[MASSES] = None
    beside, without = (test.residual(errors[FREE]) for errors in (recorded, named.errors))
    alone = others_predict_as_well(test, named.alternative.joints, beside, without)
    return replace(finding, says=OR.join(says), tests=bodies, alone=alone)


def others_predict_as_well(
    test: RecordingUnderTest, joints: Sequence[int], beside: np.ndarray, without: np.ndarray
) -> bool:
    """
    Return whether joints that a cause does not concern lose nothing beside it as recorded.

    joints : concerned; beside, without : rms (n,) of residuals with the cause in the data, without
    A joint that has most of all torque has a part in the numbers of every body.
    """
    joints = list(joints)
    others = test.moved.copy()
    others[joints] = False
    most_torque = np.linalg.norm(test.torque[joints]) > np.linalg.norm(test.torque[others])
    if len(joints) > 1 or most_torque:
        return False
    little = 0.5 * SYSTEMATIC_RESIDUAL * test.torque[others]
    return bool(np.all(beside[others] <= np.maximum(OTHERS_LOSE * without[others], little)))


def _sentence(test, trial):
    """Return the sentence of the finding of a trial."""
    joints = ', '.join(test.names[j] for j in trial.alternative.joints)
    return KINDS[trial.alternative.name].says.format(joints=joints, **_words(test, trial))


def removed_percent(gap: float) -> float:
    """Return the share of the residual [%] that a ``gap`` of log squared errors removes."""
    return float(100.0 * (1.0 - np.exp(0.5 * gap)))


def _efforts_alone_tell(trial, recorded):
    """Return whether free bodies, whatever is described, predict surely better with a change."""
    gap, error = trial.gap_by(FREE, recorded)
    return gap < -SURE_OF_CAUSE * error


def _words(test, trial):
    """Return the fields of the sentences of a trial, but for its joints."""
    words = dict(trial.alternative.words)
    if 'factors' in words:
        words['gains'] = _gains_advice(test, words['factors'], words.get('unknown', ()))
    return words


def _gains_advice(test, factors, unknown):
    """
    Return the advice for efforts that are ``factors`` (n,) times torques.

    unknown : names of joints that show none
    """
    options, kind = test.data.options, 'current'
    weigh = 'inertial-id drive-gains finds it from a weighed load'
    gains = 1.0 / np.broadcast_to(factors, len(test.names))
    if test.data.first.effort_source.is_commanded:
        kind, gains = COMMAND, np.array(options.stiffness) * gains
    elif options.drive_gain:
        return f'the drive_gain: that is given is another: correct it; {weigh}'
    by_joint = dict(zip(test.names, map(_three_digits, gains)))
    by_joint |= dict.fromkeys(unknown)
    line = gains_to_paste(
        test.data.method.name, kind, by_joint, dict.fromkeys(test.names, DESCRIBED_SCALE)
    )
    middle = ''
    if unknown:
        middle = f' ({", ".join(unknown)} not determined: the middle one, error 100 %)'
    return (
        f'write to gains.yaml: {line}{middle}, and give it as inertial-id identify --config '
        'gains.yaml, or publish torques; '
        f'such gains are as accurate as the masses in the description; {weigh}'
    )


def _three_digits(value):
    return float(f'{value:.3g}')
