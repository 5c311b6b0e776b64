"""What could be wrong with efforts (signs, order, unit, gains, times), gravity, angles, a body."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from .assignment import least_assignment
from .delays import way_of
from .finding import DOUBTFUL, severity_of, WRONG
from .recording_under_test import Alternative, DESCRIBED, FREE, RecordingUnderTest, Sizes
from .thresholds import (
    ASKED,
    CERTAIN_FINDING,
    DELAY_BY_LOAD,
    ENCODER_ZERO,
    GAIN_OF_ALL,
    LATE_ALONE,
    LATE_OF_ALL,
    LEAST_GAIN,
    LEAST_LOAD,
    LOAD_OF_LINK,
    STRONG_EVIDENCE,
    SURE_OF_CAUSE,
    TURNED_GRAVITY,
    UNIT,
    UNUSABLE_DELAY,
)
from ..identification.choose.choice import LARGEST_TILT
from ..identification.prepare.mounting import across_gravity, turned

USUAL_DELAY = 0.05  # [s], prior deviations of what is sought
USUAL_ZERO = 0.1  # [rad]
USUAL_GAIN = 100.0
FARTHEST_GAIN = 4.0  # times the middle one of all joints: farther is how a description is wrong
SMALLEST_GAIN = 1e-3
MILLI = np.log(1e3)  # of N mm over N m
SAME_UNIT = 0.7  # of a logarithm of a factor, within which it is that of a unit
ALONE_LATE = 3.0  # times the delay of any other joint
LARGEST_MOUNTING_ERROR = 0.5  # of gravity: less is shown by the described bodies at all


def negated(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the efforts of one joint, or of several, negated."""
    ratio, error = (np.diagonal(x) for x in test.described_factors)
    driven, against = test.driving > SURE_OF_CAUSE, ratio < -ASKED * error
    candidates: list[tuple[int, ...]] = [(j,) for j in np.flatnonzero(test.moved).tolist()]
    for chosen in (driven, against, driven | against):
        joints = tuple(np.flatnonzero(chosen).tolist())
        candidates.append(joints)
        candidates.extend(_without_one(joints))
    for joints in sorted(set(candidates)):
        if 0 < len(joints) < test.count:
            confirmed = bool(driven[list(joints)].all())
            yield _negated(test, 'effort of a joint negated', joints, confirmed)


def _without_one(joints: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield ``joints`` without each of them in turn: one may be there by what else it lacks."""
    for left in joints:
        yield tuple(j for j in joints if j != left)


def all_negated(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the efforts of all joints negated."""
    confirmed = bool(np.median(test.driving) > SURE_OF_CAUSE)
    yield _negated(test, 'effort negated', range(test.count), confirmed)


def _negated(test, name, joints, confirmed):
    negative = np.isin(np.arange(test.count), joints)
    sign = np.where(negative, -1.0, 1.0)
    change = test.with_target(sign[:, None] * test.measured)
    return Alternative(name, joints, change, confirmed_by_friction=confirmed)


def permuted(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the efforts in another order: every column explains another joint best."""
    joints = range(test.count)
    by_bodies = least_assignment(_left_by_columns(test))
    by_description = least_assignment(_against_description(test))
    orders = {by_bodies, by_description}
    for order in (by_bodies, by_description):
        orders |= _single_cycles(order)
    for first, second in combinations(joints, 2):
        orders.add(exchanged_pair(joints, first, second))
    for order in sorted(orders - {tuple(joints)}):
        moved = [j for j in joints if order[j] != j]
        if not test.moved[moved].all():
            continue
        target = np.zeros_like(test.measured)
        for joint, column in enumerate(order):
            target[joint, test.elements.effort(column)] = 1.0
        words = ', '.join(f'{test.names[order[j]]} holds {test.names[j]}' for j in moved)
        yield Alternative('efforts permuted', moved, test.with_target(target), {'columns': words})


def exchanged_pair(order: Sequence[int], first: int, second: int) -> tuple[int, ...]:
    """Return an ``order`` with two of its places exchanged."""
    out = list(order)
    out[first], out[second] = out[second], out[first]
    return tuple(out)


def _left_by_columns(test):
    """Return (n, n) logarithms of what the columns of a joint leave of the efforts of another."""
    elements = test.elements
    efforts = [elements.effort(j) for j in range(test.count)]
    out = np.zeros((test.count, test.count))
    free = test.free_bodies(test.gravity)
    for j, group in enumerate(free.groups):
        k = group.count
        recorded = group.triangle(elements.count)[:, k:][:, efforts]
        residual_norms = np.linalg.norm(recorded[k:], axis=0)
        of_all = np.linalg.norm(recorded, axis=0)
        out[j] = np.log(np.maximum(residual_norms, 1e-9) / np.maximum(of_all, 1e-300))
    return out


def _against_description(test):
    """Return (n, n) how little the efforts of one joint are those described of another."""
    ratio, error = test.described_factors
    evidence = np.log1p((ratio / np.maximum(error, 1e-300)) ** 2)
    return -evidence * np.where(ratio > 0, 1.0, 0.2)


def _single_cycles(order):
    """Return the orders that each have one of the cycles of a permutation ``order`` alone."""
    out = set()
    for cycle in _cycles(order):
        alone = list(range(len(order)))
        for joint in cycle:
            alone[joint] = order[joint]
        out.add(tuple(alone))
    return out


def _cycles(order):
    """Return the cycles of a permutation that are longer than one."""
    out: list[list[int]] = []
    for start in range(len(order)):
        cycle = [start]
        while order[cycle[-1]] != start:
            cycle.append(order[cycle[-1]])
        if len(cycle) > 1 and start == min(cycle):
            out.append(cycle)
    return out


def units(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the efforts of all joints times one factor."""
    factors, shown = test.own_factors()
    if not shown.any():
        return
    log_factor = float(np.median(np.log(np.abs(factors[shown]))))
    if abs(log_factor) * np.sqrt(shown.sum()) <= np.log(GAIN_OF_ALL):
        return
    factor = float(np.exp(log_factor))
    unit = ''
    if abs(log_factor - MILLI) < SAME_UNIT:
        unit = ' (N mm, or mN m)'
    elif factor < 1.0:
        unit = ' (motor currents?)'
    change = test.scaled(np.full(test.count, factor))
    plausible = np.abs(np.log(np.maximum(factors / factor, 1e-9))) < np.log(FARTHEST_GAIN)
    by_joint = np.where(shown & plausible, factors, factor)
    unknown = [name for name, k in zip(test.names, shown & plausible) if not k]
    words = {
        'factor': f'{factor:.3g}',
        'unit': unit,
        'factors': by_joint,
        'unknown': unknown,
    }
    yield Alternative('effort in another unit', range(test.count), change, words)


def percent(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield efforts in percent of the limits."""
    limits = test.data.robot.effort
    if not test.described or np.any(limits <= 0):
        return
    factors = 100.0 / limits
    if np.abs(np.log(factors)).max() > np.log(UNIT):
        words = {'factors': factors}
        yield Alternative('effort in percent', range(test.count), test.scaled(factors), words)


def currents(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield efforts that are no torques: a factor of either sign for each joint."""
    factors, shown = test.own_factors()
    log_factors = np.log(np.abs(factors[shown]))
    if shown.sum() < 2 or np.median(np.abs(log_factors - np.median(log_factors))) <= np.log(UNIT):
        return
    words = {'factors': factors}
    yield Alternative('effort is a current', range(test.count), test.scaled(factors), words)


def gains(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the efforts of one joint times a factor."""
    described = np.diagonal(test.described_factors[0])
    for j in np.flatnonzero(test.moved).tolist():
        by_others = _gain_by_others(test, j)
        between = np.sqrt(max(by_others * described[j], 0.0))
        for factor in (by_others, described[j], between):
            if factor > 0.0:
                yield _gain(test, j, float(factor))


def _gain_by_others(test, joint):
    """Return the factor of a joint's efforts that bodies by the other joints show."""
    sizes = test.sizes
    joint_alone = sizes.picked('measured', [joint])
    share = sizes.of(joint_alone, USUAL_GAIN, base=sizes.measured - joint_alone)
    return 1.0 / max(share, SMALLEST_GAIN)


def _gain(test, joint, factor):
    factors = np.ones(test.count)
    factors[joint] = factor
    log_factor = abs(np.log(factor))
    severity = severity_of(log_factor, 2.0 * np.log(LEAST_GAIN), within=DOUBTFUL, beyond=WRONG)
    return Alternative(
        'gain of a joint',
        [joint],
        test.scaled(factors),
        {'factor': f'{factor:.3g}'},
        severity,
        below_report_size=log_factor < np.log(LEAST_GAIN),
    )


def late(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the efforts of all joints late or early."""
    every = range(test.count)
    yield _late(test, 'effort delayed', every, _delay(test.sizes, every), LATE_OF_ALL)


def one_late(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the efforts of a joint late or early, by far more than those of any other."""
    delays = np.array([_delay(test.sizes, [j]) for j in range(test.count)])
    for j in np.flatnonzero(test.moved).tolist():
        others = np.abs(np.delete(delays, j)).max(initial=0.0)
        if abs(delays[j]) > ALONE_LATE * others:
            yield _late(test, 'effort of a joint delayed', [j], delays[j], LATE_ALONE)


def _late(test, name, joints, delay, least):
    """Return a ``delay`` [s] of the efforts of ``joints``, below report size under ``least``."""
    rate = test.element(test.elements.rate, joints)
    severity = severity_of(abs(delay), UNUSABLE_DELAY, within=DOUBTFUL, beyond=WRONG)
    return Alternative(
        name,
        joints,
        test.with_target(test.measured + delay * rate),
        {'delay': f'{1e3 * abs(delay):.0f} ms {way_of(delay)}'},
        severity,
        below_report_size=_is_no_delay(test, joints, delay, least),
    )


def _is_no_delay(test, joints, delay, least):
    """
    Return whether what looks like a ``delay`` [s] may be something else.

    Friction that grows with the load may take most of it: both change efforts by what is odd in
    the speed (Bittencourt and Gunnarsson 2012).
    """
    if abs(delay) < least or not test.data.first.effort_source.may_be_late:
        return True
    beside_load = _delay(Sizes(test, test.loaded_friction), joints)
    return abs(beside_load) < DELAY_BY_LOAD * abs(delay)


def _delay(sizes, joints):
    """Return the delay [s] of the efforts of ``joints``."""
    return sizes.of(sizes.picked('rate', list(joints)), USUAL_DELAY)


def encoders(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the zero of one encoder off."""
    sizes = test.sizes
    for j in np.flatnonzero(test.moved).tolist():
        zero = sizes.of(sizes.picked('slope', [j]), USUAL_ZERO)
        slope = test.element(test.elements.slope(j))
        yield Alternative(
            'encoder zero off',
            [j],
            test.with_target(test.measured + zero * slope),
            {'zero': f'{zero:+.2g}'},
            below_report_size=abs(zero) < ENCODER_ZERO,
        )


def mounting(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield gravity from where the described bodies say it comes, and its opposite."""
    magnitude = float(np.linalg.norm(test.gravity))
    if not magnitude or not test.described:
        return
    directions = [-test.gravity]
    shown = _described_gravity(test)
    if np.linalg.norm(shown) > LARGEST_MOUNTING_ERROR * magnitude:
        directions.append(shown * magnitude / np.linalg.norm(shown))
    for gravity in directions:
        if gravity @ test.gravity > np.cos(TURNED_GRAVITY) * magnitude**2:
            continue
        better = test.left_out([replace(test.plain, gravity=gravity)], DESCRIBED)[0]
        if test.gap(better, test.as_recorded[DESCRIBED])[0] > 0.0:
            continue
        gravity = _refined_gravity(test, gravity)
        angle = np.arccos(np.clip(gravity @ test.gravity / magnitude**2, -1.0, 1.0))
        if angle > TURNED_GRAVITY:
            words = {
                'angle': f'{np.degrees(angle):.0f}',
                'gravity': ' '.join(f'{x:.2f}' for x in gravity + 0.0),
            }
            change = replace(test.plain, gravity=gravity)
            yield Alternative('wrong mounting', range(test.count), change, words)


def _described_gravity(test):
    """Return gravity (3,) [m/s^2] with which described bodies explain the efforts best."""
    judge, elements = test.bodies_as_described, test.elements
    columns = [test.element(k) for k in range(elements.gravity.start, elements.gravity.stop)]
    targets = np.concatenate(
        [np.stack(columns, axis=2), test.targets([test.plain], DESCRIBED)], axis=2
    )
    unknowns = len(judge.prior.unit)
    stacked = judge.stacked(range(judge.count), targets)
    rest = stacked.triangle[unknowns:, unknowns:]
    usual = 10.0  # [m/s^2]
    rows = np.vstack([usual * rest[:, :3], np.eye(3)])
    target = np.append(rest[:, 3] + rest[:, 4], np.zeros(3))
    return test.gravity + usual * np.linalg.lstsq(rows, target, rcond=None)[0]


def _refined_gravity(test, gravity):
    """Return ``gravity`` (3,) turned by the tilt that free bodies show there, if it is small."""
    judge = test.free_bodies(gravity)
    stacked = judge.stacked(range(judge.count), test.targets([test.plain], FREE))
    tilt = judge.solved_targets(stacked)[-2:, 0]
    if np.linalg.norm(tilt) >= LARGEST_TILT:
        return gravity
    magnitude = np.linalg.norm(gravity)
    return magnitude * turned(gravity / magnitude, across_gravity(gravity), tilt)


def compensated(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield gravity taken off the efforts: all of it, or that of the description."""
    if not test.gravity.any() or not test.described:
        return
    every = range(test.count)
    weightless = replace(test.plain, gravity=np.zeros(3))
    yield Alternative('gravity compensated', every, weightless, {'whose': ''})
    target = test.measured.copy()
    target[:, test.elements.gravity] = test.gravity
    words = {'whose': ', as the description has it,'}
    yield Alternative('gravity compensated', every, test.with_target(target), words)


def other_body(test: RecordingUnderTest) -> Iterator[Alternative]:
    """Yield the link that explains surely more than any other, else a load at the last link."""
    if not test.described:
        return
    links = _links_otherwise(test)
    if links:
        words = {'masses': ', or that of '.join(_otherwise(test, link) for link in links)}
        yield _other_link(test, 'link described otherwise', links[0], words)
    elif _is_loaded(test):
        last = test.count - 1
        yield _other_link(
            test, 'payload not declared', last, {'mass': f'+{_mass_words(test, last)}'}
        )


def _links_otherwise(test):
    """
    Return the links but the last that explain the efforts: the best, those alike.

    A load is usual, and a link that is described so wrongly is not: it takes more to say.
    """
    *links, load = test.other_links
    best = max([link.log_odds for link in links], default=0.0)
    if best < max(STRONG_EVIDENCE, load.log_odds + CERTAIN_FINDING):
        return []
    alike = []
    for k, link in enumerate(links):
        if link.log_odds > best - STRONG_EVIDENCE and _is_other_mass(test, k):
            alike.append(k)
    return sorted(alike, key=lambda k: -links[k].log_odds)


def _is_loaded(test):
    """Return whether the last link is surely heavier than described."""
    last = test.count - 1
    return test.other_links[last].mass > 0.0 and _is_other_mass(test, last)


def _is_other_mass(test, link):
    """Return whether the mass of a ``link`` is off by more than those of descriptions are."""
    other = test.other_links[link]
    return abs(other.mass) > max(_least_mass(test, link), ASKED * other.error)


def _otherwise(test, link):
    """Return in words what the description of a ``link`` has too little or too much."""
    name = test.data.robot.link_names[link]
    if test.other_links[link].mass > 0.0:
        return f'{name} lacks about {_mass_words(test, link)} kg'
    return f'{name} has about {_mass_words(test, link)} kg too much'


def _mass_words(test, link):
    """Return the size of the mass that a ``link`` differs by [kg], with its error, in words."""
    other = test.other_links[link]
    return f'{abs(other.mass):.2g} +- {other.error:.1g}'


def _other_link(test, name, link, words):
    return Alternative(name, [link], replace(test.plain, link=link), words)


def _least_mass(test, link):
    """Return the mass [kg] by which a ``link`` is otherwise than descriptions usually are."""
    return max(LEAST_LOAD, LOAD_OF_LINK * test.nominal.reshape(-1, 10)[link, 0])
