"""
Causes: what could be wrong with the recording of an arm, one row of a table each.

A check yields changes of the data (see judges.py).  One of them becomes a finding where a judge is
sure that it predicts left-out stretches better than the data as recorded, by physically consistent
solutions, and the other judge does not contradict.  The strongest is named; one that explains
alike is named with it.  Sizes that friction, elasticity and descriptions have, too, compete and
are not said.  A check more changes no other verdict.
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
    payload,
    percent,
    permuted,
    units,
)
from .arm import Alternative, Arm, DESCRIPTION, LEFT_OUT
from .finding import Finding, NOTE, REMOVED, WRONG
from .judges import Change, ONCE
from .thresholds import ALIKE, ASKED, FIFTH, HALF, NOTHING, SURE, TENTH

CONFIRMED = 3  # causes at most, by four consistent solutions each
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


SIGN = (
    'negate them in the driver, or change the sign by effort_kind: (link, link_negated) or '
    'drive_gain:'
)
TORQUES = 'publish torques, or give effort_kind: and drive_gain:'
WEIGHED = '; inertial-id drive-gains finds it from a weighed load'
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
    Check(
        'wrong mounting',
        mounting,
        2,
        'give this gravity as mounting:, if the robot stands so',
        DESCRIPTION,
    ),
    Check(
        'gravity compensated',
        compensated,
        0,
        'record the whole motor torque, or give '
        'mounting: gravity 0 0 0, or add the same gravity again',
        DESCRIPTION,
    ),
    Check('encoder zero off', encoders, 1, 'give position_offset: or zero the encoder'),
    Check(
        'payload not declared',
        payload,
        10,
        'add the tool or payload to the description',
        DESCRIPTION,
        NOTE,
    ),
)


@dataclass(frozen=True)
class Tried:
    """An alternative of a check that was tried, and its errors by each judge."""

    check: Check
    alternative: Alternative
    errors: dict[str, np.ndarray]


def _both(
    arm: Arm, errors: dict[str, np.ndarray], others: dict[str, np.ndarray]
) -> tuple[float, float]:
    return arm.gap(*(x[tests] for tests in (LEFT_OUT, DESCRIPTION) for x in (errors, others)))


def causes(arm: Arm) -> tuple[list[Finding], np.ndarray, Change]:
    """Return the Finding of the strongest cause or none, errors beside it, and its Change."""
    plain, tried = arm.as_recorded, _tried(arm)
    best = [
        _fewest(arm, [x for x in tried if x.check is check])
        for check in dict.fromkeys(x.check for x in tried)
    ]
    best.sort(key=lambda x: _both(arm, x.errors, plain)[0])
    best = best[:CONFIRMED]
    best += [x for x in tried if x.alternative.seen and x not in best]
    if all(x.alternative.small for x in best):
        return [], plain[LEFT_OUT], arm.plain
    without, sure = _confirmed(arm, arm.plain, plain), list[Tried]()
    for one in sorted(best, key=lambda x: x.alternative.small):  # these compete with the others
        if sure or not one.alternative.small:
            one = replace(one, errors=_confirmed(arm, one.alternative.change, one.errors))
            sure += [one] * bool(_judge_of(arm, one, without))
    alike = _alike(arm, sure, without) if sure else []
    if not alike or alike[0].alternative.small:
        return [], plain[LEFT_OUT], arm.plain
    return (
        [_finding(arm, alike, without)],
        alike[0].errors[LEFT_OUT],
        alike[0].alternative.change,
    )


def _tried(arm: Arm) -> list[Tried]:
    """Return what is tried and that linear solutions make worth a closer look."""
    every = [(check, a) for check in CHECKS for a in check.alternatives(arm)]
    tried = []
    for tests, other in ((LEFT_OUT, DESCRIPTION), (DESCRIPTION, LEFT_OUT)):
        own = [(check, a) for check, a in every if check.tests == tests]
        errors = arm.left_out([a.change for _, a in own], tests)
        gaps = [arm.gap(e, arm.as_recorded[tests]) for e in errors]
        asked = [
            (*one, e)
            for one, e, (gap, error) in zip(own, errors, gaps)
            if one[1].seen or gap < -ASKED * error
        ]
        others = arm.left_out([a.change for _, a, _ in asked], other)
        tried += [Tried(check, a, {tests: e, other: o}) for (check, a, e), o in zip(asked, others)]
    return tried


def _confirmed(arm: Arm, change: Change, errors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the ``errors`` of a change with those of consistent bodies, every stretch once."""
    return {
        LEFT_OUT: arm.free_bodies(change.gravity).consistent(change),
        DESCRIPTION: errors[DESCRIPTION][ONCE],
    }


def _fewest(arm: Arm, tried: Sequence[Tried]) -> Tried:
    """Return the best alternative of one check, of no more joints than are surely needed."""
    best = min(tried, key=lambda x: _both(arm, x.errors, arm.as_recorded)[0])
    gaps = [(x, *_both(arm, x.errors, best.errors)) for x in tried]
    return min(
        ((x, gap) for x, gap, error in gaps if gap <= SURE * error + 1e-12),
        key=lambda one: (len(one[0].alternative.joints), one[1]),
    )[0]


def _alike(arm: Arm, sure: Sequence[Tried], plain: dict[str, np.ndarray]) -> list[Tried]:
    """Return what is as good as the best of ``sure`` causes, the cheapest first."""
    best = min(sure, key=lambda x: _both(arm, x.errors, plain)[0])
    gaps = [(x, *_both(arm, x.errors, best.errors)) for x in sure]
    # What the description is wrong by is alike in all stretches.
    alike = [(x, gap) for x, gap, error in gaps if gap <= np.hypot(error, 2.0 * np.log(ALIKE))]
    return [x for x, _ in sorted(alike, key=lambda one: (one[0].check.cost, one[1]))]


def _judge_of(arm: Arm, one: Tried, plain: dict[str, np.ndarray]) -> str:
    """Return which judge is sure of a cause, while the other does not contradict, '' if none."""
    torque, own, errors = arm.rms()[0], list(one.alternative.joints), one.errors

    def left(errors: dict[str, np.ndarray], tests: str, joints: Any = arm.moved) -> float:
        return max(1e-300, float(np.linalg.norm(arm.left(errors[tests])[joints])))

    if left(errors, LEFT_OUT, own) > NOTHING * np.linalg.norm(torque[own]):
        return ''
    alone, before = left(errors, DESCRIPTION), left(plain, DESCRIPTION)
    free, whole = left(errors, LEFT_OUT), np.linalg.norm(torque[arm.moved])
    # Logarithms weigh a joint that is hardly explained like all: RMS must not say the opposite.
    if free > ALIKE * left(plain, LEFT_OUT):
        return ''
    # Beside a right cause bodies explain the efforts, any or those described: else it is another
    # robot's description, of which a change explains a part.
    if before > HALF * whole and free * alone > (FIFTH * whole) ** 2:
        return ''
    # Of the joints concerned described bodies leave as much at most, or, where more than efforts
    # is changed, what they lose is less than what any bodies gain.
    change = one.alternative.change
    gained = left(plain, LEFT_OUT, own) / left(errors, LEFT_OUT, own)
    most = max(ALIKE, gained) if change.target[:, arm.rate + 1 :].any() else ALIKE
    if (
        arm.described
        and not change.load
        and left(errors, DESCRIPTION, own) > most * left(plain, DESCRIPTION, own)
    ):
        return ''
    gaps = {tests: arm.gap(one.errors[tests], plain[tests]) for tests in (LEFT_OUT, DESCRIPTION)}
    asked = [DESCRIPTION] * bool(
        one.check.tests == DESCRIPTION
        and alone < max(HALF * whole, min(NOTHING * whole, TENTH * before))
    )
    for tests in (*asked, LEFT_OUT):
        gap, error = gaps[tests]
        worse, slack = gaps[LEFT_OUT if tests == DESCRIPTION else DESCRIPTION]
        if gap < -SURE * error and worse < max(2.0 * slack, 2.0 * np.log(ALIKE)):
            return tests
    return ''


def _finding(arm: Arm, alike: Sequence[Tried], plain: dict[str, np.ndarray]) -> Finding:
    """Return the Finding of the first of causes that explain ``alike``, with the others named."""
    check, alternative = alike[0].check, alike[0].alternative
    says = dict.fromkeys(
        x.alternative.says
        for x in alike
        if x is alike[0] or not (x.check is check or x.alternative.small)
    )
    tests = _judge_of(arm, alike[0], plain)
    gap = arm.gap(alike[0].errors[tests], plain[tests])[0]
    return Finding(
        check.name,
        OTHERS.join(says),
        tests,
        float(100.0 * (1.0 - np.exp(0.5 * gap))),
        REMOVED,
        tuple(arm.names[j] for j in alternative.joints),
        alternative.severity or check.severity,
        _what_to_do(arm, check.do, alternative.change.scale),
    )


def _what_to_do(arm: Arm, do: str, gains: np.ndarray) -> str:
    """Return what to ``do``, of efforts that are no torques with ``gains`` (n,) to begin with."""
    if do is not TORQUES:
        return do
    if arm.data.observations[0].effort_source.is_commanded:
        stiffness = gains * np.array(arm.data.options.stiffness)
        return f'give stiffness: [{", ".join(f"{x:.3g}" for x in stiffness)}]{WEIGHED}'
    if arm.data.options.drive_gain:
        return f'the drive_gain: that is given is another: correct it{WEIGHED}'
    known = any(recording.effort_kind for recording in arm.data.recordings)
    return (
        f'{"give" if known else "publish torques, or give effort_kind: current and"} '
        f'drive_gain: [{", ".join(f"{x:.3g}" for x in gains)}], as right as the described '
        f'masses; torque over gain predicts the current in any case{WEIGHED}'
    )
