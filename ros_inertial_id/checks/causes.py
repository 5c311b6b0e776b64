"""
Causes: what could be wrong with the recording of an arm, one row of a table each.

A check yields changes of the data (see judges.py).  One of them becomes a finding where a judge is
sure that it predicts left-out stretches better than the data as recorded, the other judge does not
contradict, and physically consistent bodies agree.  The strongest is named; one that explains
alike is named with it.  Sizes that friction, elasticity and descriptions have, too, compete and
are not said.  A check more changes no other verdict.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .arm import Alternative, Arm, DESCRIPTION, LEFT_OUT
from .effort_alternatives import (all_negated, currents, gains, late, negated, one_late, percent,
                                  permuted, units)
from .finding import Finding, NOTE, REMOVED, WRONG
from .judges import Change
from .other_alternatives import compensated, encoders, mounting, payload
from .thresholds import ALIKE, ASKED, HALF, NOTHING, SURE, TENTH, VISIBLE

CONFIRMED = 3   # causes at once, by four consistent solutions each
OTHERS = '; or, as likely, '


@dataclass(frozen=True)
class Check:
    """
    One row of the table.

    name, do, severity : as of a Finding; alternatives : what is asked
    cost : how many numbers are free: of what explains alike the cheaper is named first
    tests : by which judge
    """

    name: str
    alternatives: Callable[['Arm'], Iterator[Alternative]]
    cost: int
    do: str
    tests: str = LEFT_OUT
    severity: str = WRONG


SIGN = ('negate them in the driver, or change the sign by effort_kind: (link, link_negated) or '
        'drive_gain:')
TORQUES = 'publish torques, or give effort_kind: and drive_gain:'
CHECKS = (
    Check('effort negated', all_negated, 0, SIGN, DESCRIPTION),
    Check('effort of a joint negated', negated, 0, SIGN),
    Check('efforts permuted', permuted, 0, 'name the joints in the order of the efforts'),
    Check('effort in another unit', units, 1, TORQUES, DESCRIPTION),
    Check('effort in percent', percent, 0, TORQUES, DESCRIPTION),
    Check('effort is a current', currents, 7, TORQUES, DESCRIPTION),
    Check('gain of a joint', gains, 1, 'check its torque constant and gear ratio'),
    Check('effort delayed', late, 1, 'stamp both when they are measured'),
    Check('effort of a joint delayed', one_late, 1, 'look at its filter and its stamps'),
    Check('wrong mounting', mounting, 2, 'give this gravity as mounting:, if the robot stands so',
          DESCRIPTION),
    Check('gravity compensated', compensated, 0, 'record the whole motor torque, or give '
          'mounting: gravity 0 0 0, or add the same gravity again', DESCRIPTION),
    Check('encoder zero off', encoders, 1, 'give position_offset: or zero the encoder'),
    Check('payload not declared', payload, 10, 'add the tool or payload to the description',
          DESCRIPTION, NOTE))


@dataclass(frozen=True)
class Tried:
    """An alternative of a check that was tried, and its errors by each judge."""

    check: Check
    alternative: Alternative
    errors: dict[str, np.ndarray]


def causes(arm: Arm) -> tuple[list[Finding], np.ndarray, Change]:
    """Return the Finding of the strongest cause or none, errors beside it, and its Change."""
    tried = _tried(arm)
    sure = [x for x in (_fewest(arm, [x for x in tried if x.check is check])
                        for check in dict.fromkeys(x.check for x in tried)) if _judge_of(arm, x)]
    while sure:
        alike = _alike(arm, sure)
        if alike[0].alternative.small:
            break
        confirmed = [x for x in alike[:CONFIRMED] if x.alternative.small or _confirmed(arm, x)]
        if confirmed and not confirmed[0].alternative.small:
            return ([_finding(arm, confirmed)], confirmed[0].errors[LEFT_OUT],
                    confirmed[0].alternative.change)
        sure = [x for x in sure if x not in alike]
    return [], arm.as_recorded[LEFT_OUT], arm.plain


def _confirmed(arm: Arm, one: Tried) -> bool:
    """Return whether physically consistent bodies agree with the judge that is sure of a cause."""
    change = one.alternative.change
    gap, error = arm.gap(arm.free_bodies(change.gravity).consistent(change), arm.consistent,
                         joints=one.alternative.joints)
    if _judge_of(arm, one) == DESCRIPTION:
        return gap < max(2.0 * error, 2.0 * np.log(ALIKE))
    return gap < -SURE * error


def _gap(arm: Arm, one: Tried, other: Tried | None = None) -> tuple[float, float]:
    """
    Return the mean log ratio of errors by both judges, to those as recorded, and its error.

    Two alternatives are compared by the joints that either concerns: others say nothing of them.
    """
    others, joints = arm.as_recorded, None
    if other:
        others, joints = other.errors, {*one.alternative.joints, *other.alternative.joints}
    return arm.gap(*(x[tests] for tests in (LEFT_OUT, DESCRIPTION) for x in (one.errors, others)),
                   joints=joints)


def _tried(arm: Arm) -> list[Tried]:
    """Return what is tried and that linear solutions make worth a closer look."""
    every = [(check, a) for check in CHECKS for a in check.alternatives(arm)]
    tried = []
    for tests, other in ((LEFT_OUT, DESCRIPTION), (DESCRIPTION, LEFT_OUT)):
        own = [(check, a) for check, a in every if check.tests == tests]
        errors = arm.left_out([a.change for _, a in own], tests)
        gaps = [arm.gap(e, arm.as_recorded[tests]) for e in errors]
        asked = [(*one, e) for one, e, (gap, error) in zip(own, errors, gaps)
                 if one[1].seen or gap < -ASKED * error]
        others = arm.left_out([a.change for _, a, _ in asked], other)
        tried += [Tried(check, a, {tests: e, other: o}) for (check, a, e), o in zip(asked, others)]
    return tried


def _fewest(arm: Arm, tried: Sequence[Tried]) -> Tried:
    """Return the best alternative of one check, of no more joints than are surely needed."""
    best = min(tried, key=lambda x: _gap(arm, x)[0])
    gaps = [(x, *_gap(arm, x, best)) for x in tried]
    return min(((x, gap) for x, gap, error in gaps if gap <= SURE * error + 1e-12),
               key=lambda one: (len(one[0].alternative.joints), one[1]))[0]


def _alike(arm: Arm, sure: Sequence[Tried]) -> list[Tried]:
    """Return what is as good as the best of ``sure`` causes, the cheapest first."""
    best = min(sure, key=lambda x: _gap(arm, x)[0])
    gaps = [(x, *_gap(arm, x, best)) for x in sure]
    # What the description is wrong by is alike in all stretches.
    alike = [(x, gap) for x, gap, error in gaps if gap <= np.hypot(error, 2.0 * np.log(ALIKE))]
    return [x for x, _ in sorted(alike, key=lambda one: (one[0].check.cost, one[1]))]


def _judge_of(arm: Arm, one: Tried) -> str:
    """Return which judge is sure of a cause, while the other does not contradict, '' if none."""
    torque, plain, own = arm.rms()[0], arm.as_recorded, list(one.alternative.joints)
    if np.linalg.norm(arm.left(one.errors[LEFT_OUT])[own]) > NOTHING * np.linalg.norm(torque[own]):
        return ''
    whole = np.linalg.norm(torque[arm.moved])
    left, before = ({tests: np.linalg.norm(arm.left(errors[tests])[arm.moved])
                     for tests in plain} for errors in (one.errors, plain))
    gaps = {tests: arm.gap(one.errors[tests], plain[tests]) for tests in plain}
    # A change by which a description of another robot explains a little more is no cause.
    foreign = before[DESCRIPTION] > HALF * whole and before[LEFT_OUT] > 2.0 * VISIBLE * whole
    asked = {DESCRIPTION: one.check.tests == DESCRIPTION and left[DESCRIPTION] < max(
                 HALF * whole, min(NOTHING * whole, TENTH * before[DESCRIPTION])),
             LEFT_OUT: not foreign or left[LEFT_OUT] < HALF * before[LEFT_OUT]}
    for tests, other in ((DESCRIPTION, LEFT_OUT), (LEFT_OUT, DESCRIPTION)):
        gap, error = gaps[tests]
        worse, slack = gaps[other]
        contradicted = worse >= max(2.0 * slack, 2.0 * np.log(ALIKE))
        if asked[tests] and not contradicted and gap < -SURE * error:
            return tests
    return LEFT_OUT if one.alternative.seen else ''


def _finding(arm: Arm, alike: Sequence[Tried]) -> Finding:
    """Return the Finding of the first of causes that explain ``alike``, with the others named."""
    check, alternative = alike[0].check, alike[0].alternative
    says = dict.fromkeys(x.alternative.says for x in alike if x is alike[0] or not (
        x.check is check or x.alternative.small))
    tests = _judge_of(arm, alike[0])
    gap = arm.gap(alike[0].errors[tests], arm.as_recorded[tests])[0]
    return Finding(check.name, OTHERS.join(says), tests,
                   float(100.0 * (1.0 - np.exp(0.5 * gap))), REMOVED,
                   tuple(arm.names[j] for j in alternative.joints),
                   alternative.severity or check.severity, check.do)
