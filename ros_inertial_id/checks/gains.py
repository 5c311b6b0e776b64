"""Alternatives of the efforts: another unit or a current, the gain of one joint."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .evidence import ALIKE, BADLY, Evidence, WORTH
from .finding import DOUBTFUL, HALF, WRONG
from .hypothesis import Candidate
from .samples import FRICTION

SMALL = 0.005       # relative residual that leaves no room for a gain of one joint
OFF_COMMON, OFF_ONE = 1.5, 1.1  # factors between efforts and torques that are worth a word
OFF_SURELY = 1.25   # of one joint: what is less must be most of the residual
PER_GAIN = 3.0      # nats that a free gain costs: it could be anything within a factor of 20


def gains(evidence: Evidence) -> Iterator[Candidate]:
    """Yield efforts in another unit: by ``evidence`` one factor, percent, or one per joint."""
    if not evidence.samples.described:
        return
    if evidence.base.relative > SMALL:
        yield from _one_gain(evidence)
    ratio, error = evidence.own_ratios
    size = np.maximum(np.abs(ratio), 1e-12)
    sure = error < 0.3 * size
    if not np.any(np.abs(np.log(size[sure])) > np.log(OFF_COMMON)):
        return
    models = evidence.descriptions
    if models.nats.get('percent', -np.inf) > max(models.nats['alone'], models.nats['no gravity']):
        yield _gain(evidence, evidence.samples.robot.effort / 100.0, 0.0, ('effort in percent',
                    'the efforts are percent of the limits'))
    if (models.nats['no gravity'] < max(models.nats['factor'], models.nats['factors'])
            and models.total('no gravity') > models.total('factors')):
        yield from _units(evidence, ratio, sure)


def _units(evidence: Evidence, ratio: np.ndarray, sure: np.ndarray) -> Iterator[Candidate]:
    """Yield one factor for all, and one for each by the (n,) ``ratio`` where that is ``sure``."""
    size, models = np.maximum(np.abs(ratio), 1e-12), evidence.descriptions
    middle = float(np.exp(np.median(np.log(size[sure]))))
    loaded, common = models.total('load') / models.total('factor'), None
    if abs(np.log(middle)) > np.log(OFF_COMMON) and loaded > 1.0 / ALIKE:
        unit = (' (N mm, or mN m)' if abs(np.log(middle / 1e3)) < 0.7 else
                ' (motor currents?)' if middle < 1.0 else '')
        load = ('' if loaded > ALIKE else '; or the last link carries about '
                f'{models.mass:+.2g} kg that the description does not have')
        # One number that makes the description right is no chance: it competes as a description.
        right = models.total('factor') < HALF * np.linalg.norm(evidence.base.torque)
        nats = models.nats['factor'] - models.nats['alone'] if right else 0.0
        common = _gain(evidence, np.full(len(size), 1 / middle), PER_GAIN, (
            'effort in another unit', f'the efforts of all joints are about {middle:.3g} times '
            f'torques{unit}{load}'), nats, DOUBTFUL if load else WRONG)
        yield common
    own = np.mean(np.abs(np.log(size[sure] / middle)) > np.log(OFF_COMMON)) > 0.5
    if own and models.nats['factors'] > max(models.nats['factor'], models.nats['load']):
        # Motors that are mounted the other way round have negative gains.
        sign = np.where(sure & (ratio < 0.0), -1.0, 1.0)
        scale = _own_gains(evidence, sign / np.where(sure, size, middle))
        each = _gain(evidence, scale, PER_GAIN * len(size), (
            'effort is a current', 'the efforts are no torques: every joint has a gain of its '
            'own, as motor currents have'))
        if common is None or each.fit.relative < common.fit.relative:
            yield each


def _gain(evidence: Evidence, scale: np.ndarray, cost: float, named: tuple[str, str],
          nats: float = 0.0, severity: str = WRONG) -> Candidate:
    """Return the Candidate of a ``scale`` (n,), worth at least ``nats`` by the description."""
    h = evidence.hypothesis(scale=scale)
    fit = evidence.fit(h)
    fit = replace(fit, evidence=max(fit.evidence, evidence.base.evidence + nats))
    return Candidate(*named, 'publish torques, or give effort_kind: and drive_gain:', h,
                     fit, evidence.samples.robot.joint_names, severity, cost)


def _factor(evidence: Evidence, j: int, values: np.ndarray) -> float:
    """Return the efforts of joint ``j`` over the torques of ``values`` (p,), friction apart."""
    s = evidence.samples
    X = np.column_stack([s.torque(j, values), s.columns(j)[:, -FRICTION:-1]])
    return float(np.linalg.lstsq(X, s.motion.tau[:, j], rcond=1e-10)[0][0])


def _own_gains(evidence: Evidence, scale: np.ndarray) -> np.ndarray:
    """Return (n,) factors from efforts to torques, refined by what all joints say of bodies."""
    best, best_fit = scale, evidence.fit(evidence.hypothesis(scale=scale))
    for _ in range(3):
        factors = [_factor(evidence, j, best_fit.values) for j in range(len(scale))]
        scale = np.array([1 / x if x * s > 0.1 else s for x, s in zip(factors, scale)])
        fit = evidence.fit(evidence.hypothesis(scale=scale))
        if fit.evidence <= best_fit.evidence:
            break
        best, best_fit = scale, fit
    return best


def _one_gain(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the one joint whose gain does not fit what the others show of the same bodies."""
    names, count = evidence.samples.robot.joint_names, len(evidence.samples.robot)
    tried = []
    for j in _suspects(evidence):
        # The fit without the joint, then its own gain, and again with it.
        fit, h, said = evidence.fit(evidence.as_recorded, without=j), evidence.as_recorded, []
        for _ in range(3):
            factor = float(np.clip(abs(_factor(evidence, j, fit.values)) or 1.0, 1e-4, 1e4))
            said.append(np.log(factor))
            h = evidence.hypothesis(scale=np.where(np.arange(count) == j, 1 / factor, 1.0))
            fit = evidence.fit(h)
        # Others say little of a joint whose bodies they do not carry, and the description may be
        # rough: where they agree that there is a gain, its size is the description's.
        ratio, error = (abs(x[j]) for x in evidence.own_ratios)
        apart = abs(np.log(ratio / factor)) if ratio else np.inf
        agreed = error < np.log(ALIKE) * ratio and apart < min(np.log(ALIKE), abs(np.log(ratio)))
        if agreed:
            factor, h = ratio, evidence.hypothesis(
                scale=np.where(np.arange(count) == j, 1 / ratio, 1.0))
            fit = evidence.fit(h)
        # An effort that is divided by much weighs little, and bodies follow it: it is a gain
        # only where the other joints say so by themselves, without it.
        apart = said[0] / said[-1] if said[-1] else 0.0
        if abs(np.log(factor)) > np.log(OFF_ONE) and (agreed or apart > HALF):
            tried.append((fit.evidence, j, factor, h, fit, agreed))
    if not tried:
        return
    _, j, factor, h, fit, agreed = max(tried, key=lambda one: one[0])
    # Bodies and friction that the model lacks are worth as much as a small gain, unless the
    # description says the same number.
    small = abs(np.log(factor)) < np.log(OFF_SURELY)
    if fit.relative > evidence.base.relative * (1.0 / ALIKE if agreed else HALF if small else 1.0):
        return
    yield Candidate('gain of a joint', f'the effort of {names[j]} is {factor:.3g} times what '
                    'the other joints say of the same bodies',
                    f'check the torque constant and gear ratio of {names[j]}', h, fit,
                    (names[j],), cost=PER_GAIN + np.log(count), surely=bool(agreed))


def _suspects(evidence: Evidence) -> list[int]:
    """Return the joints whose gain could explain some of a residual that is not large anyway."""
    s, joints = evidence.samples, np.arange(len(evidence.samples.robot))
    if evidence.base.relative > BADLY:
        return joints.tolist()
    torques = [s.torque(j, evidence.base.values)[:, None] * (joints == j)
               for j in range(len(joints))]
    nats, _ = evidence.score(torques).each()
    return np.flatnonzero(nats > WORTH).tolist()
