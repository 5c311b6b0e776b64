"""
Causes: what could be wrong with the recording of an arm, one row of a table each.

A check yields changes of the data (see judges.py).  One of them becomes a finding where it
predicts left-out stretches better than the data as recorded, surely, by physically consistent
solutions, where the other judge does not contradict, and where it matters in size.  The strongest
is named; one that explains alike is named with it.  A check more changes no other one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .finding import DOUBTFUL, Finding, HALF, NOTE, REMOVED, TENTH, WRONG
from .judges import Change, described_judge, FreeBodies, Judge, ONCE
from .thresholds import (ALIKE, BEST, DESCRIBED, GAIN, LATE, LATE_ALONE, LOAD, NOTHING, OF_JOINT,
                         SURE, TOO_LATE, TURNED, UNIT, VISIBLE, ZERO)
from ..dynamics.friction import LAWS
from ..dynamics.inertial_parameters import bodies
from ..estimation.gravity_search import across_gravity, turned
from ..identification.choose.choice import LARGEST, log_ratio, resting_columns
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.systems import Systems
from ..identification.reduce.wide_factor import WideFactor

CONFIRMED = 3   # causes at most, by four consistent solutions each
ASKED = 2.0     # standard errors of linear solutions
OTHERS = '; or, as likely, '
USUAL_LOAD = np.array([2.0] + [0.4] * 3 + [0.08] * 6)  # [kg, kg m, kg m^2]
LEFT_OUT, DESCRIPTION = 'left-out residual', 'left-out residual of the description'


@dataclass(frozen=True)
class Alternative:
    """
    One thing that could be wrong.

    says : the sentence; joints : numbers of those concerned; change : of the data
    severity : if not that of the check; seen : by something else than linear solutions
    small : what friction, elasticity and the description do, too: it competes and is not said
    """

    says: str
    joints: Sequence[int]
    change: Change
    severity: str = ''
    seen: bool = False
    small: bool = False


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


@dataclass
class Arm:
    """
    What checks ask of data as recorded.

    wide : of ``data``; nominal : standard parameters of the bodies, those described or a model's
    """

    data: Dataset
    wide: WideFactor
    nominal: np.ndarray
    judges: dict[bytes, FreeBodies] = field(default_factory=dict)

    def __post_init__(self) -> None:
        structure, resting = self.wide.structure, resting_columns(self.wide)
        parameters = structure.parameters_of_places()
        self.places = np.array([
            k for k, p in enumerate(parameters) if p.name not in resting
            and not (p.law and LAWS[p.law].optional)])
        self.gravity = self.data.robot.gravity_base
        self.systems = Systems(self.wide, self.gravity, self.places)
        self.names = self.data.robot.joint_names
        self.moved = np.array([not any(p.owner == name and p.name in resting
                                       for p in structure.columns) for name in self.names])

    @property
    def count(self) -> int:
        """Return the number of joints."""
        return len(self.names)

    @cached_property
    def described(self) -> bool:
        """Return whether the description has inertias."""
        return bool(np.any(self.nominal))

    @cached_property
    def extras(self) -> np.ndarray:
        """Return the columns (size, e - 1) of targets beside what was measured."""
        wide, base = self.wide, self.wide.structure.base
        values = np.zeros(wide.places)
        standard = np.zeros(len(base.parameters))
        standard[:len(self.nominal)] = self.nominal
        values[:len(base)] = base.reduce(standard)
        still = wide.under(-self.gravity) if wide.heavy.size else wide.under(np.zeros(3))
        pulls = [(wide.under(e) - wide.under(np.zeros(3))) @ values for e in np.eye(3)]
        return np.column_stack([np.eye(wide.total.size)[:, wide.efforts:], still @ values, *pulls])

    @cached_property
    def measured(self) -> np.ndarray:
        """Return the target (n, e) as recorded."""
        return np.eye(1, 1 + self.extras.shape[1]).repeat(self.count, 0)

    @cached_property
    def plain(self) -> Change:
        """Return no change."""
        return Change(self.measured, self.gravity, np.ones(self.count))

    def column(self, extra: int, joints: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Return the target (n, e) of one of the extras in groups of ``joints``."""
        out = np.zeros_like(self.measured)
        out[joints, extra] = 1.0
        return out

    @property
    def rate(self) -> int:
        """Return where the rate of efforts stands among the extras."""
        return 1 + self.count

    @property
    def pull(self) -> int:
        """Return where described torques of gravity along x stand among the extras."""
        return self.measured.shape[1] - 3

    @cached_property
    def load(self) -> np.ndarray:
        """Return the columns (size, 10) of the last link's parameters, in units of a load's."""
        base = self.wide.structure.base
        last = list(bodies(base.parameters).values())[-1] + np.arange(10)
        return self.wide.under(np.zeros(3))[:, :len(base)] @ base.matrix()[:, last] * USUAL_LOAD

    @cached_property
    def described_bodies(self) -> Judge:
        """Return the judge to whom bodies are as described."""
        return described_judge(self.systems, self.places, self.extras, self.plain)

    @cached_property
    def loaded(self) -> Judge:
        """Return the judge to whom all bodies but the last one are as described."""
        return described_judge(self.systems, self.places, self.extras, self.plain, self.load)

    @cached_property
    def loaded_friction(self) -> FreeBodies:
        """Return the judge to whom friction may grow with the load, too."""
        more = [k for k, p in enumerate(self.systems.parameters) if p.law and LAWS[p.law].loaded
                and self.moved[self.names.index(p.owner)]]
        return FreeBodies(self.systems, np.union1d(self.places, more), self.extras, self.gravity)

    def rms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (n,) of efforts, and of what free and described bodies leave of them [N m, N]."""
        rows = np.maximum(self.systems.rows.sum(0), 1.0)
        efforts = self.free_bodies(self.gravity).efforts
        return np.sqrt(efforts / rows), *(self.left(x) for x in self.as_recorded.values())

    def fitted(self) -> np.ndarray:
        """Return the rms (n,) [N m, N] that free bodies leave of all data, none left out."""
        judge = self.free_bodies(self.gravity)
        x = judge.solve(judge.whole, judge.targets([self.plain]))
        return self.left(judge.errors(x, [self.plain], range(len(judge.parts))))

    def left(self, errors: np.ndarray) -> np.ndarray:
        """Return the rms (n,) [N m, N] of left-out ``errors`` (sets, stretches, n)."""
        beyond = (np.nanmean(errors[ONCE], axis=0).sum(0)
                  - BEST ** 2 * self.free_bodies(self.gravity).efforts)
        return np.sqrt(np.maximum(beyond, 0.0) / np.maximum(self.systems.rows.sum(0), 1.0))

    def free_bodies(self, gravity: np.ndarray) -> FreeBodies:
        """Return the judge to whom bodies are free, under a ``gravity`` (3,) [m/s^2]."""
        if gravity.tobytes() not in self.judges:
            self.judges[gravity.tobytes()] = FreeBodies(self.systems, self.places, self.extras,
                                                        gravity)
        return self.judges[gravity.tobytes()]

    def left_out(self, changes: Sequence[Change], tests: str) -> list[np.ndarray]:
        """Return the left-out errors of each of ``changes`` by a judge, see ``Judge.left_out``."""
        out: list[Any] = [None] * len(changes)
        keys = [c.load if tests == DESCRIPTION else c.gravity.tobytes() for c in changes]
        for key in dict.fromkeys(keys):
            own = [k for k, other in enumerate(keys) if other == key]
            judge = (self.free_bodies(changes[own[0]].gravity) if tests == LEFT_OUT else
                     self.loaded if key else self.described_bodies)
            for k, errors in zip(own, judge.left_out([changes[k] for k in own])):
                out[k] = errors
        return out

    @cached_property
    def as_recorded(self) -> dict[str, np.ndarray]:
        """Return the left-out errors of the data as recorded, by each judge."""
        return {tests: self.left_out([self.plain], tests)[0] for tests in (LEFT_OUT, DESCRIPTION)}

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n, n) effort columns over described torques of joints, and their errors."""
        judge = self.described_bodies
        R, n, e = judge.whole[judge.size:, judge.size:], self.count, judge.extras
        ratio, error = np.zeros((n, n)), np.full((n, n), np.inf)
        for j, name in enumerate(self.names):
            own = R[:, j * e:(j + 1) * e] * judge.sd[j]
            D = own[:, -4:] @ np.append(1.0, self.gravity)
            whole, square = np.square(own[:, 1:1 + n]).sum(0).max(), D @ D
            if square <= 1e-12 * whole:
                continue
            ratio[j] = D @ own[:, 1:1 + n] / square
            left = np.square(own[:, 1:1 + n] - np.outer(D, ratio[j])).sum(0)
            rows = self.systems.rows[:, j].sum() / self.systems.lasting[name]
            error[j] = np.sqrt(left / square / rows)
        return ratio, error

    @cached_property
    def driving(self) -> np.ndarray:
        """Return (n,) by how many standard errors friction drives each joint at half its speed."""
        judge = self.free_bodies(self.gravity)
        P, brakes = judge.size, np.zeros((self.count, judge.size))
        for k, place in enumerate(self.places):
            p = self.systems.parameters[place]
            if p.law and LAWS[p.law].brakes and not LAWS[p.law].signed and p.owner in self.names:
                fastest = max(map(abs, self.wide.ranges[p.owner]['v']))
                brakes[self.names.index(p.owner), k] = judge.prior_sd[k] * (
                    1.0 if LAWS[p.law].dry else 0.5 * fastest)
        x = judge.solve(judge.whole, judge.targets([self.plain]))[:, 0]
        spread = solve_triangular(judge.whole[:P, :P], brakes.T, trans='T', check_finite=False)
        return -brakes @ x / np.maximum(np.linalg.norm(spread, axis=0), 1e-300)


def _listed(arm: Arm, joints: Sequence[int]) -> str:
    return ', '.join(arm.names[j] for j in joints)


def negated(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of one joint, of several, or of all negated."""
    ratio, error = (np.diagonal(x) for x in arm.factors)
    driven = arm.driving > SURE
    sets = {(j,) for j in range(arm.count) if arm.moved[j]}
    sets |= {tuple(np.flatnonzero(x)) for x in (driven, ratio < -2.0 * error,
                                               driven | (ratio < -2.0 * error))}
    for joints in sorted(x for x in sets if 0 < len(x) < arm.count):
        yield Alternative(f'the efforts of {_listed(arm, joints)} are negated', joints,
                          _negated(arm, joints), seen=bool(driven[list(joints)].all()))


def all_negated(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of all joints negated."""
    yield Alternative('the efforts of all joints are negated', range(arm.count),
                      _negated(arm, range(arm.count)),
                      seen=bool((arm.driving > SURE).sum() > arm.count / 2))


def _negated(arm: Arm, joints: Sequence[int]) -> Change:
    scale = np.where(np.isin(np.arange(arm.count), joints), -1.0, 1.0)
    return replace(arm.plain, target=scale[:, None] * arm.measured)


def permuted(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts in another order: every column explains another joint best."""
    from scipy.optimize import linear_sum_assignment  # takes long to import: when needed
    n, costs = arm.count, []
    free = arm.free_bodies(arm.gravity)
    own = np.zeros((n, n))
    for j in range(n):
        index, _ = free.parts[0][j]
        rows = np.vstack([part[j][1] for part in free.parts])
        k = len(index)
        Q, _ = np.linalg.qr(rows[:, :k])
        y = rows[:, k + 1:k + 1 + n]
        own[j] = np.log(np.maximum(np.linalg.norm(y - Q @ (Q.T @ y), axis=0), 1e-9)
                        / np.maximum(np.linalg.norm(y, axis=0), 1e-300))
    costs.append(own)
    ratio, error = arm.factors
    costs.append(-np.log1p((ratio / np.maximum(error, 1e-300)) ** 2) * np.where(
        ratio > 0, 1.0, 0.2))
    orders = {tuple(linear_sum_assignment(c)[1].tolist()) for c in costs}
    for order in list(orders):
        cycles = _cycles(order)
        for cycle in cycles if len(cycles) > 1 else ():
            orders.add(tuple(order[j] if j in cycle else j for j in range(n)))
    for pair in combinations(range(n), 2):
        orders.add(tuple(pair[1 - pair.index(j)] if j in pair else j for j in range(n)))
    for order in sorted(orders - {tuple(range(n))}):
        moved = [j for j in range(n) if order[j] != j]
        if not arm.moved[moved].all():
            continue
        target = sum(arm.column(1 + k, [j]) for j, k in enumerate(order))
        words = ', '.join(f'{arm.names[order[j]]} holds {arm.names[j]}' for j in moved)
        yield Alternative(f'the efforts are permuted: the column of {words}', moved,
                          replace(arm.plain, target=target))


def _cycles(order: Sequence[int]) -> list[list[int]]:
    """Return the cycles of a permutation that are longer than one."""
    out: list[list[int]] = []
    for start in range(len(order)):
        if order[start] != start and not any(start in cycle for cycle in out):
            cycle = [start]
            while order[cycle[-1]] != start:
                cycle.append(int(order[cycle[-1]]))
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
        unit = (' (N mm, or mN m)' if abs(np.log(factor / 1e3)) < 0.7 else
                ' (motor currents?)' if factor < 1.0 else '')
        if abs(np.log(factor)) * np.sqrt(sure.sum()) > np.log(DESCRIBED):
            yield Alternative(
                f'the efforts of all joints are about {factor:.3g} times torques{unit}',
                range(arm.count), _scaled(arm, np.full(arm.count, factor)))


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
            yield Alternative('the efforts are percent of the limits', range(arm.count),
                              _scaled(arm, 100.0 / limits))


def currents(arm: Arm) -> Iterator[Alternative]:
    """Yield efforts that are no torques: a factor of either sign for each joint."""
    factors, sure = _factors(arm)
    size = np.log(np.abs(factors[sure]))
    if sure.sum() > 1 and np.median(np.abs(size - np.median(size))) > np.log(UNIT):
        yield Alternative('the efforts are no torques: every joint has a gain of its own, as motor '
                          'currents have', range(arm.count), _scaled(arm, factors))


def gains(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of one joint times a factor."""
    judge, own = arm.free_bodies(arm.gravity), np.diagonal(arm.factors[0])
    for j in np.flatnonzero(arm.moved):
        rest = arm.measured * (np.arange(arm.count) != j)[:, None]
        size = float(judge.sizes(replace(arm.plain, target=rest), [arm.column(0, [j])], 100.0)[0])
        factors = [1.0 / max(size, 1e-3), own[j]]
        for factor in (*factors, np.sqrt(max(factors[0] * factors[1], 0.0))):
            if factor > 0.0:
                yield Alternative(
                    f'the effort of {arm.names[j]} is {factor:.3g} times what the other joints '
                    'say of the same bodies', [j],
                    _scaled(arm, np.where(np.arange(arm.count) == j, factor, 1.0)),
                    small=abs(np.log(factor)) < np.log(GAIN))


def late(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of all joints late or early."""
    delay, words = _delay(arm, range(arm.count))
    yield Alternative(f'the efforts are about {words} the motion', range(arm.count), replace(
        arm.plain, target=arm.measured + delay * arm.column(arm.rate)),
        WRONG if abs(delay) > TOO_LATE else DOUBTFUL,
        small=abs(delay) < LATE or _friction_lags(arm, range(arm.count), delay))


def one_late(arm: Arm) -> Iterator[Alternative]:
    """Yield the efforts of a joint late or early, by far more than those of any other."""
    delays = np.array([_delay(arm, [j])[0] for j in range(arm.count)])
    for j in np.flatnonzero(arm.moved):
        others = np.abs(np.delete(delays, j)).max(initial=0.0)
        delay, words = _delay(arm, [j])
        yield Alternative(
            f'the efforts of {arm.names[j]} are {words} its motion and the other joints', [j],
            replace(arm.plain, target=arm.measured + delay * arm.column(arm.rate, [j])),
            WRONG if abs(delay) > TOO_LATE else DOUBTFUL,
            small=abs(delay) < max(LATE_ALONE, 3.0 * others) or _friction_lags(arm, [j], delay))


def _delay(arm: Arm, joints: Sequence[int], judge: Judge | None = None) -> tuple[float, str]:
    """Return the delay [s] of the efforts of ``joints``, and it in words."""
    judge = judge or arm.free_bodies(arm.gravity)
    delay = float(judge.sizes(arm.plain, [arm.column(arm.rate, joints)], 0.05)[0])
    return delay, f'{1e3 * abs(delay):.0f} ms {"behind" if delay > 0 else "ahead of"}'


def _friction_lags(arm: Arm, joints: Sequence[int], delay: float) -> bool:
    """
    Return whether friction that grows with the load takes most of a ``delay`` [s].

    Both change efforts by what is odd in the speed (Bittencourt and Gunnarsson 2012).
    """
    return abs(_delay(arm, joints, arm.loaded_friction)[0]) < HALF * abs(delay)


def encoders(arm: Arm) -> Iterator[Alternative]:
    """Yield the zero of one encoder off."""
    judge = arm.free_bodies(arm.gravity)
    for j in np.flatnonzero(arm.moved):
        slope = arm.column(arm.rate + 1 + int(j))
        zero = float(judge.sizes(arm.plain, [slope], 0.1)[0])
        if zero:
            yield Alternative(f'the zero of the position of {arm.names[j]} is about {zero:+.2g} '
                              'rad off', [j], replace(arm.plain, target=arm.measured + zero * slope),
                              small=abs(zero) < ZERO)


def mounting(arm: Arm) -> Iterator[Alternative]:
    """Yield gravity from where the described bodies say it comes, and its opposite."""
    size = float(np.linalg.norm(arm.gravity))
    if not (size and arm.described):
        return
    directions = [-arm.gravity]
    shown = arm.gravity + arm.described_bodies.sizes(
        arm.plain, [-arm.column(arm.pull + k) for k in range(3)], 10.0)
    if np.linalg.norm(shown) > 0.5 * size:
        directions.append(shown * size / np.linalg.norm(shown))
    for gravity in directions:
        better = arm.left_out([replace(arm.plain, gravity=gravity)], DESCRIPTION)[0]
        if (gravity @ arm.gravity > np.cos(TURNED) * size ** 2
                or _gap(arm, better, arm.as_recorded[DESCRIPTION])[0] > 0.0):
            continue
        judge = arm.free_bodies(gravity)
        tilt = judge.solve(judge.whole, judge.targets([arm.plain]))[-2:, 0] * judge.prior_sd[-2:]
        if np.linalg.norm(tilt) < LARGEST:
            gravity = size * turned(gravity / size, across_gravity(gravity), tilt)
        angle = np.arccos(np.clip(gravity @ arm.gravity / size ** 2, -1.0, 1.0))
        if angle > TURNED:
            words = ' '.join(f'{x:.2f}' for x in gravity + 0.0)
            yield Alternative(f'the mounting is wrong: gravity is {np.degrees(angle):.0f} degrees '
                              f'off the direction given, along {words}', range(arm.count),
                              replace(arm.plain, gravity=gravity))


def compensated(arm: Arm) -> Iterator[Alternative]:
    """Yield gravity taken off the efforts: all of it, or that of the description."""
    if not (arm.gravity.any() and arm.described):
        return
    yield Alternative('gravity has been taken off the efforts already', range(arm.count),
                      replace(arm.plain, gravity=np.zeros(3)))
    added = arm.measured + sum(g * arm.column(arm.pull + k) for k, g in enumerate(arm.gravity))
    yield Alternative('gravity, as the description has it, has been taken off the efforts already',
                      range(arm.count), replace(arm.plain, target=added))


def payload(arm: Arm) -> Iterator[Alternative]:
    """Yield a load at the last link; a negative mass is none."""
    if arm.described:
        judge = arm.loaded
        x = judge.solve(judge.whole, judge.targets([arm.plain]))[:, 0]
        mass = float(x[-10] * USUAL_LOAD[0])
        if mass > max(LOAD, 0.3 * arm.nominal[-10]):
            yield Alternative(f'the last link carries about {mass:+.2g} kg that the description '
                              'does not have', [arm.count - 1], replace(arm.plain, load=True))


CHECKS = (
    Check('effort negated', all_negated, 0, 'negate them in the driver, or change the sign by '
          'effort_kind: (link, link_negated) or drive_gain:', DESCRIPTION),
    Check('effort of a joint negated', negated, 0, 'negate them in the driver, or change the sign by '
          'effort_kind: (link, link_negated) or drive_gain:'),
    Check('efforts permuted', permuted, 0, 'name the joints in the order of the efforts'),
    Check('effort in another unit', units, 1, 'publish torques, or give effort_kind: and drive_gain:',
          DESCRIPTION),
    Check('effort in percent', percent, 0, 'publish torques, or give effort_kind: and drive_gain:',
          DESCRIPTION),
    Check('effort is a current', currents, 7, 'publish torques, or give effort_kind: and drive_gain:',
          DESCRIPTION),
    Check('gain of a joint', gains, 1, 'check its torque constant and gear ratio'),
    Check('effort delayed', late, 1, 'stamp both when they are measured'),
    Check('effort of a joint delayed', one_late, 1, 'look at its filter and its stamps'),
    Check('wrong mounting', mounting, 2, 'give this gravity as mounting:, if the robot stands so',
          DESCRIPTION),
    Check('gravity compensated', compensated, 0, 'record the whole motor torque, or give mounting: '
          'gravity 0 0 0, or add the same gravity again', DESCRIPTION),
    Check('encoder zero off', encoders, 1, 'give position_offset: or zero the encoder'),
    Check('payload not declared', payload, 10, 'add the tool or payload to the description',
          DESCRIPTION, NOTE))


@dataclass(frozen=True)
class Tried:
    """An alternative of a check that was tried, and its errors by each judge."""

    check: Check
    alternative: Alternative
    errors: dict[str, np.ndarray]


def _gap(arm: Arm, *pairs: np.ndarray) -> tuple[float, float]:
    """Return the mean log ratio of pairs of errors of joints that moved, and its error."""
    errors, others = (np.concatenate([x[..., arm.moved].transpose(0, 2, 1).reshape(
        -1, x.shape[1]) for x in own]) for own in (pairs[::2], pairs[1::2]))
    return log_ratio(errors, others)


def _both(arm: Arm, errors: dict[str, np.ndarray], others: dict[str, np.ndarray]
          ) -> tuple[float, float]:
    return _gap(arm, *(x[tests] for tests in (LEFT_OUT, DESCRIPTION) for x in (errors, others)))


def causes(arm: Arm) -> tuple[list[Finding], np.ndarray]:
    """Return the Finding of the strongest cause, or none, and left-out errors beside it."""
    plain, tried = arm.as_recorded, _tried(arm)
    best = [_fewest(arm, [x for x in tried if x.check is check])
            for check in dict.fromkeys(x.check for x in tried)]
    best.sort(key=lambda x: _both(arm, x.errors, plain)[0])
    best = best[:CONFIRMED]
    best += [x for x in tried if x.alternative.seen and x not in best]
    if all(x.alternative.small for x in best):
        return [], plain[LEFT_OUT]
    without = _confirmed(arm, arm.plain, plain)
    sure = [x for x in (replace(one, errors=_confirmed(arm, one.alternative.change, one.errors))
                        for one in best) if _judge_of(arm, x, without)]
    alike = _alike(arm, sure, without) if sure else []
    if not alike or alike[0].alternative.small:
        return [], plain[LEFT_OUT]
    return [_finding(arm, alike, without)], alike[0].errors[LEFT_OUT]


def _tried(arm: Arm) -> list[Tried]:
    """Return what is tried and that linear solutions make worth a closer look."""
    every = [(check, a) for check in CHECKS for a in check.alternatives(arm)]
    tried = []
    for tests, other in ((LEFT_OUT, DESCRIPTION), (DESCRIPTION, LEFT_OUT)):
        own = [(check, a) for check, a in every if check.tests == tests]
        errors = arm.left_out([a.change for _, a in own], tests)
        own = [(check, a, e) for (check, a), e in zip(own, errors)
               if a.seen or _asked(arm, tests, e)]
        others = arm.left_out([a.change for _, a, _ in own], other)
        tried += [Tried(check, a, {tests: e, other: o}) for (check, a, e), o in zip(own, others)]
    return tried


def _asked(arm: Arm, tests: str, errors: np.ndarray) -> bool:
    gap, error = _gap(arm, errors, arm.as_recorded[tests])
    return gap < -ASKED * error and _matters(arm, errors, arm.as_recorded[tests])


def _confirmed(arm: Arm, change: Change, errors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the ``errors`` of a change with those of consistent bodies, every stretch once."""
    return {LEFT_OUT: arm.free_bodies(change.gravity).consistent(change),
            DESCRIPTION: errors[DESCRIPTION][ONCE]}


def _fewest(arm: Arm, tried: Sequence[Tried]) -> Tried:
    """Return the best alternative of one check, of no more joints than are surely needed."""
    best = min(tried, key=lambda x: _both(arm, x.errors, arm.as_recorded)[0])
    gaps = [(x, *_both(arm, x.errors, best.errors)) for x in tried]
    return min(((x, gap) for x, gap, error in gaps if gap <= SURE * error + 1e-12),
               key=lambda one: (len(one[0].alternative.joints), one[1]))[0]


def _alike(arm: Arm, sure: Sequence[Tried], plain: dict[str, np.ndarray]) -> list[Tried]:
    """Return what is as good as the best of ``sure`` causes, the cheapest first."""
    best = min(sure, key=lambda x: _both(arm, x.errors, plain)[0])
    gaps = [(x, *_both(arm, x.errors, best.errors)) for x in sure]
    # What the description is wrong by is alike in all stretches.
    alike = [(x, gap) for x, gap, error in gaps if gap <= np.hypot(error, 2.0 * np.log(ALIKE))]
    return [x for x, _ in sorted(alike, key=lambda one: (one[0].check.cost, one[1]))]


def _judge_of(arm: Arm, one: Tried, plain: dict[str, np.ndarray]) -> str:
    """Return which judge is sure of a cause that matters, while the other does not contradict."""
    torque, own = arm.rms()[0], list(one.alternative.joints)
    left = arm.left(one.errors[LEFT_OUT])[own]
    if np.linalg.norm(left) > NOTHING * np.linalg.norm(torque[own]):
        return ''
    left, before, whole = (np.linalg.norm(x[arm.moved]) for x in (
        arm.left(one.errors[DESCRIPTION]), arm.left(plain[DESCRIPTION]), torque))
    gaps = {tests: _gap(arm, one.errors[tests], plain[tests]) for tests in (LEFT_OUT, DESCRIPTION)}
    # A change by which a description of another robot explains a little more is no cause.
    asked = [DESCRIPTION] * bool(one.check.tests == DESCRIPTION and left < max(
        HALF * whole, min(NOTHING * whole, TENTH * before)))
    for tests in (*asked, LEFT_OUT):
        gap, error = gaps[tests]
        worse, slack = gaps[LEFT_OUT if tests == DESCRIPTION else DESCRIPTION]
        if (gap < -SURE * error and worse < max(2.0 * slack, 2.0 * np.log(ALIKE))
                and _matters(arm, one.errors[tests], plain[tests])):
            return tests
    return ''


def _matters(arm: Arm, errors: np.ndarray, plain: np.ndarray) -> bool:
    """Return whether what is removed of the residual is worth a word."""
    efforts = arm.free_bodies(arm.gravity).efforts
    gone = np.nanmean(plain, axis=0).sum(0) - np.nanmean(errors, axis=0).sum(0)
    return bool(gone.sum() > VISIBLE ** 2 * efforts.sum()
                or np.any(gone > OF_JOINT ** 2 * efforts))


def _finding(arm: Arm, alike: Sequence[Tried], plain: dict[str, np.ndarray]) -> Finding:
    """Return the Finding of the first of causes that explain ``alike``, with the others named."""
    check, alternative = alike[0].check, alike[0].alternative
    says = dict.fromkeys(x.alternative.says for x in alike if x is alike[0] or not (
        x.check is check or x.alternative.small))
    tests = _judge_of(arm, alike[0], plain)
    gap = _gap(arm, alike[0].errors[tests], plain[tests])[0]
    return Finding(check.name, OTHERS.join(says), tests,
                   float(100.0 * (1.0 - np.exp(0.5 * gap))), REMOVED,
                   tuple(arm.names[j] for j in alternative.joints),
                   alternative.severity or check.severity, check.do)
