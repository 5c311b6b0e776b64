"""What could be wrong with efforts (signs, order, unit, gains, times), gravity, angles, a body."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from .arm import Alternative, Arm, DESCRIPTION, USUAL_LOAD
from .finding import DOUBTFUL, WRONG
from .judges import Change, Judge
from .thresholds import (
    ASKED,
    DESCRIBED,
    GAIN,
    HALF,
    LATE,
    LATE_ALONE,
    LOAD,
    SURE,
    TOO_LATE,
    TURNED,
    UNIT,
    ZERO,
)
from ..estimation.r_factors import triangle
from ..identification.choose.choice import LARGEST
from ..identification.prepare.mounting import across_gravity, turned


def negated(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of one joint, or of several, negated."""
    ratio, error = (np.diagonal(x) for x in arm.factors)
    driven, against = arm.driving > SURE, ratio < -ASKED * error
    sets = {(j,) for j in np.flatnonzero(arm.moved).tolist()} | {
        tuple(np.flatnonzero(x).tolist()) for x in (driven, against, driven | against)
    }
    for joints in sorted(x for x in sets if 0 < len(x) < arm.count):
        names = ', '.join(arm.names[j] for j in joints)
        yield _negated(arm, names, joints, bool(driven[list(joints)].all()))


def all_negated(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of all joints negated."""
    yield _negated(arm, 'all joints', range(arm.count), bool(np.median(arm.driving) > SURE))


def _negated(arm: Arm, names: str, joints: Sequence[int], seen: bool) -> Alternative:
    sign = np.where(np.isin(np.arange(arm.count), joints), -1.0, 1.0)
    return Alternative(
        f'the efforts of {names} are negated',
        joints,
        replace(arm.plain, target=sign[:, None] * arm.measured),
        seen=seen,
    )


def permuted(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts in another order: every column explains another joint best."""
    n, free = arm.count, arm.free_bodies(arm.gravity)
    own = np.zeros((n, n))
    for j in range(n):
        k = len(free.parts[0][j][0])
        R = triangle(np.asfortranarray(np.vstack([part[j][1] for part in free.parts])))
        y = R[:, k + 1 : k + 1 + n]
        own[j] = np.log(
            np.maximum(np.linalg.norm(y[k:], axis=0), 1e-9)
            / np.maximum(np.linalg.norm(y, axis=0), 1e-300)
        )
    ratio, error = arm.factors
    described = -np.log1p((ratio / np.maximum(error, 1e-300)) ** 2) * np.where(ratio > 0, 1.0, 0.2)
    orders = {_order_of_least(c) for c in (own, described)}
    orders |= {
        tuple(order[j] if j in cycle else j for j in range(n))
        for order in orders
        for cycle in _cycles(order)
    }
    orders |= {
        tuple(pair[1 - pair.index(j)] if j in pair else j for j in range(n))
        for pair in combinations(range(n), 2)
    }
    for order in sorted(orders - {tuple(range(n))}):
        moved = [j for j in range(n) if order[j] != j]
        if not arm.moved[moved].all():
            continue
        target = np.sum([arm.column(1 + k, [j]) for j, k in enumerate(order)], axis=0)
        words = ', '.join(f'{arm.names[order[j]]} holds {arm.names[j]}' for j in moved)
        yield Alternative(
            f'the efforts are permuted: the column of {words}',
            moved,
            replace(arm.plain, target=target),
        )


def _order_of_least(cost: np.ndarray) -> tuple[int, ...]:
    """Return the column (n,) of each row of ``cost`` (n, n), all different, of the least sum."""
    order = cost.argmin(axis=1)
    if len(np.unique(order)) < len(order):
        from scipy.optimize import linear_sum_assignment  # takes long to import: when needed

        order = linear_sum_assignment(cost)[1]
    return tuple(order.tolist())


def _cycles(order: Sequence[int]) -> list[list[int]]:
    """Return the cycles of a permutation that are longer than one."""
    out: list[list[int]] = []
    for start in range(len(order)):
        cycle = [start]
        while order[cycle[-1]] != start:
            cycle.append(order[cycle[-1]])
        if len(cycle) > 1 and start == min(cycle):
            out.append(cycle)
    return out


def _scaled(arm: Arm, factors: np.ndarray) -> Change:
    """Return the Change of efforts that are ``factors`` (n,) times torques."""
    scale = 1.0 / factors
    return replace(arm.plain, target=scale[:, None] * arm.measured, scale=scale)


def units(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of all joints times one factor."""
    factors, sure = _factors(arm)
    if sure.any():
        factor = float(np.exp(np.median(np.log(np.abs(factors[sure])))))
        unit = (
            ' (N mm, or mN m)'
            if abs(np.log(factor / 1e3)) < 0.7
            else ' (motor currents?)'
            if factor < 1.0
            else ''
        )
        if abs(np.log(factor)) * np.sqrt(sure.sum()) > np.log(DESCRIBED):
            yield Alternative(
                f'the efforts of all joints are about {factor:.3g} times torques{unit}',
                range(arm.count),
                _scaled(arm, np.full(arm.count, factor)),
            )


def _factors(arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) efforts over described torques, and where this is known."""
    ratio, error = (np.diagonal(x) for x in arm.factors)
    sure = error < 0.3 * np.abs(ratio)
    return np.where(sure, ratio, np.median(ratio[sure]) if sure.any() else 1.0), sure


def percent(arm: Arm) -> Iterator[Alternative]:
    """Yield efforts in percent of the limits."""
    limits = arm.data.robot.effort
    if arm.described and np.all(limits > 0):
        if np.abs(np.log(100.0 / limits)).max() > np.log(UNIT):
            yield Alternative(
                'the efforts are percent of the limits',
                range(arm.count),
                _scaled(arm, 100.0 / limits),
            )


def currents(arm: Arm) -> Iterator[Alternative]:
    """Yield efforts that are no torques: a factor of either sign for each joint."""
    factors, sure = _factors(arm)
    size = np.log(np.abs(factors[sure]))
    if sure.sum() > 1 and np.median(np.abs(size - np.median(size))) > np.log(UNIT):
        yield Alternative(
            'the efforts are no torques: every joint has a gain of its own, as '
            'motor currents have',
            range(arm.count),
            _scaled(arm, factors),
        )


def gains(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of one joint times a factor."""
    judge, own = arm.free_bodies(arm.gravity), np.diagonal(arm.factors[0])
    for j in np.flatnonzero(arm.moved).tolist():
        rest = arm.measured * (np.arange(arm.count) != j)[:, None]
        size = float(judge.sizes(replace(arm.plain, target=rest), [arm.column(0, [j])], 100.0)[0])
        factors = [1.0 / max(size, 1e-3), own[j]]
        for factor in (*factors, np.sqrt(max(factors[0] * factors[1], 0.0))):
            if factor > 0.0:
                yield Alternative(
                    f'the effort of {arm.names[j]} is {factor:.3g} times what the other joints '
                    'say of the same bodies',
                    [j],
                    _scaled(arm, np.where(np.arange(arm.count) == j, factor, 1.0)),
                    DOUBTFUL if abs(np.log(factor)) < 2.0 * np.log(GAIN) else WRONG,
                    small=abs(np.log(factor)) < np.log(GAIN),
                )


def late(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of all joints late or early."""
    every = range(arm.count)
    yield _late(arm, every, _delay(arm, every), ('the efforts are about', 'the motion'), LATE)


def one_late(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of a joint late or early, by far more than those of any other."""
    delays = np.array([_delay(arm, [j]) for j in range(arm.count)])
    for j in np.flatnonzero(arm.moved).tolist():
        if abs(delays[j]) > 3.0 * np.abs(np.delete(delays, j)).max(initial=0.0):
            words = f'the efforts of {arm.names[j]} are', 'its motion and the other joints'
            yield _late(arm, [j], delays[j], words, LATE_ALONE)


def _late(
    arm: Arm, joints: Sequence[int], delay: float, words: tuple[str, str], least: float
) -> Alternative:
    """Return a ``delay`` [s] of the efforts of ``joints``, small below ``least`` [s]."""
    way = 'behind' if delay > 0 else 'ahead of'
    # Friction that grows with the load may take most of it: both change efforts by what is odd
    # in the speed (Bittencourt and Gunnarsson 2012).  What is commanded acts late, always.
    small = (
        abs(delay) < least
        or not arm.data.observations[0].effort_source.may_be_late
        or (abs(_delay(arm, joints, arm.loaded_friction)) < HALF * abs(delay))
    )
    return Alternative(
        f'{words[0]} {1e3 * abs(delay):.0f} ms {way} {words[1]}',
        joints,
        replace(arm.plain, target=arm.measured + delay * arm.column(arm.rate, joints)),
        WRONG if abs(delay) > TOO_LATE else DOUBTFUL,
        small=small,
    )


def _delay(arm: Arm, joints: Sequence[int], judge: Judge | None = None) -> float:
    """Return the delay [s] of the efforts of ``joints``, to a ``judge`` or free bodies."""
    judge = judge or arm.free_bodies(arm.gravity)
    return float(judge.sizes(arm.plain, [arm.column(arm.rate, joints)], 0.05)[0])


def encoders(arm: Arm) -> Iterator[Alternative]:
    """Yield the zero of one encoder off."""
    judge = arm.free_bodies(arm.gravity)
    for j in np.flatnonzero(arm.moved).tolist():
        slope = arm.column(arm.rate + 1 + j)
        zero = float(judge.sizes(arm.plain, [slope], 0.1)[0])
        yield Alternative(
            f'the zero of the position of {arm.names[j]} is about {zero:+.2g} rad off',
            [j],
            replace(arm.plain, target=arm.measured + zero * slope),
            small=abs(zero) < ZERO,
        )


def mounting(arm: Arm) -> Iterator[Alternative]:
    """Yield gravity from where the described bodies say it comes, and its opposite."""
    size = float(np.linalg.norm(arm.gravity))
    if not (size and arm.described):
        return
    directions = [-arm.gravity]
    shown = arm.gravity + arm.described_bodies.sizes(
        arm.plain, [-arm.column(arm.pull + k) for k in range(3)], 10.0
    )
    if np.linalg.norm(shown) > 0.5 * size:
        directions.append(shown * size / np.linalg.norm(shown))
    for gravity in directions:
        better = arm.left_out([replace(arm.plain, gravity=gravity)], DESCRIPTION)[0]
        if (
            gravity @ arm.gravity > np.cos(TURNED) * size**2
            or arm.gap(better, arm.as_recorded[DESCRIPTION])[0] > 0.0
        ):
            continue
        judge = arm.free_bodies(gravity)
        tilt = judge.solve(judge.whole, judge.targets([arm.plain]))[-2:, 0] * judge.prior_sd[-2:]
        if np.linalg.norm(tilt) < LARGEST:
            gravity = size * turned(gravity / size, across_gravity(gravity), tilt)
        angle = np.arccos(np.clip(gravity @ arm.gravity / size**2, -1.0, 1.0))
        if angle > TURNED:
            words = ' '.join(f'{x:.2f}' for x in gravity + 0.0)
            yield Alternative(
                f'the mounting is wrong: gravity is {np.degrees(angle):.0f} degrees '
                f'off the direction given, along {words}',
                range(arm.count),
                replace(arm.plain, gravity=gravity),
            )


def compensated(arm: Arm) -> Iterator[Alternative]:
    """Yield gravity taken off the efforts: all of it, or that of the description."""
    if not (arm.gravity.any() and arm.described):
        return
    yield Alternative(
        'gravity has been taken off the efforts already',
        range(arm.count),
        replace(arm.plain, gravity=np.zeros(3)),
    )
    added = arm.measured + sum(g * arm.column(arm.pull + k) for k, g in enumerate(arm.gravity))
    yield Alternative(
        'gravity, as the description has it, has been taken off the efforts already',
        range(arm.count),
        replace(arm.plain, target=added),
    )


def payload(arm: Arm) -> Iterator[Alternative]:
    """Yield a load at the last link; a negative mass is none."""
    if arm.described:
        judge = arm.loaded
        x = judge.solve(judge.whole, judge.targets([arm.plain]))[:, 0]
        mass = float(x[-10] * USUAL_LOAD[0])
        if mass > max(LOAD, 0.3 * arm.nominal[-10]):
            yield Alternative(
                f'the last link carries about {mass:+.2g} kg that the description does not have',
                [arm.count - 1],
                replace(arm.plain, load=True),
            )
