"""Alternatives of the efforts' gains: another unit, percent, currents, the gain of one joint."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .evidence import Evidence
from .hypothesis import Candidate
from .scores import combined, each, WORTH

SMALL = 0.005       # relative residual that leaves no room for a gain of one joint
BADLY = 0.1         # relative residual from which costly alternatives are asked
OFF_COMMON, OFF_ONE = 1.5, 1.1  # factors between efforts and torques that are worth a word
SHORT = 0.05        # of the largest torque that an effort lacks
OFF_SURELY = 1.25   # of one joint: what is less must be most of the residual
HALF = 0.5
PER_GAIN = 3.0      # nats that a free gain costs: it could be anything within a factor of 20


def gains(evidence: Evidence) -> Iterator[Candidate]:
    """Yield efforts in another unit: by ``evidence`` one factor, percent, or one per joint."""
    if not evidence.rows.prior.nominal:
        return
    if evidence.base.relative > SMALL:
        yield from _one_gain(evidence)
    ratio, error = evidence.own_ratios
    size = np.maximum(np.abs(ratio), 1e-12)
    sure = error < 0.3 * size
    if not sure.any():
        return
    off = np.abs(np.log(size)) > np.log(OFF_COMMON)
    if not off[sure].any():
        return
    models = evidence.described
    if models.nats.get('percent', -np.inf) > max(models.nats['alone'], models.nats['no gravity']):
        yield _gain(evidence, evidence.rows.robot.effort / 100.0, 0.0, 'effort in percent',
                    'the efforts are percent of the limits')
    if models.best() not in ('load', 'no gravity'):
        yield from _units(evidence, ratio, sure)


def _units(evidence: Evidence, ratio: np.ndarray, sure: np.ndarray) -> Iterator[Candidate]:
    """
    Yield one factor for all joints, and one for each where that explains more.

    ratio : (n,) efforts over described torques; sure : (n,) bool where that is known
    """
    size = np.maximum(np.abs(ratio), 1e-12)
    middle, common = float(np.exp(np.median(np.log(size[sure])))), None
    if abs(np.log(middle)) > np.log(OFF_COMMON):
        unit = (' (N mm, or mN m)' if abs(np.log(middle / 1e3)) < 0.7 else
                ' (motor currents?)' if middle < 1.0 else '')
        common = _gain(evidence, np.full(len(size), 1 / middle), PER_GAIN,
                       'effort in another unit',
                       f'the efforts of all joints are about {middle:.3g} times torques{unit}')
        yield common
    off = np.abs(np.log(size[sure])) > np.log(OFF_COMMON)
    nats = evidence.described.nats
    if (np.ptp(np.log(size[sure])) < np.log(OFF_COMMON) or off.mean() <= 0.5
            or nats['factors'] < nats['factor']):
        return
    # Motors that are mounted the other way round have negative gains.
    sign = np.where(sure & (ratio < 0.0), -1.0, 1.0)
    own = _gain(evidence, _own_gains(evidence, sign / np.where(sure, size, middle)),
                PER_GAIN * len(size), 'effort is a current', 'the efforts are no torques: every '
                'joint has a gain of its own, as motor currents have')
    if common is None or own.fit.relative < common.fit.relative:
        yield own


def _gain(evidence: Evidence, scale: np.ndarray, cost: float, name: str, says: str) -> Candidate:
    h = evidence.hypothesis(scale=scale)
    return Candidate(name, says, 'publish torques, or give effort_kind: and drive_gain:', h,
                     evidence.fit(h), evidence.rows.robot.joint_names, cost=cost)


def _own_gains(evidence: Evidence, scale: np.ndarray) -> np.ndarray:
    """Return (n,) factors from efforts to torques, refined by what all joints say of bodies."""
    rows = evidence.rows
    best, best_fit = scale, evidence.fit(evidence.hypothesis(scale=scale))
    for _ in range(3):
        for j, at in enumerate(rows.places):
            A = rows.columns(j, rows.gravity)
            X = np.column_stack([A[:, :-4] @ best_fit.values[at[:-4]], A[:, -4:-1]])
            x, *_ = np.linalg.lstsq(X, rows.targets[j][:, j], rcond=1e-10)
            if x[0] * scale[j] > 0.1:
                scale = np.where(np.arange(len(scale)) == j, 1 / x[0], scale)
        fit = evidence.fit(evidence.hypothesis(scale=scale))
        if fit.evidence <= best_fit.evidence:
            break
        best, best_fit = scale, fit
    return best


def _one_gain(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the one joint whose gain does not fit what the others show of the same bodies."""
    rows = evidence.rows
    names, count = rows.robot.joint_names, len(rows.robot)
    best: Any = None
    for j in _suspects(evidence):
        factor: Any = 1.0
        for _ in range(3):  # the fit without the joint, then its own gain, and again with it
            scale = np.ones(count)
            scale[j] = 1 / factor
            others = [k for k in range(count) if k != j]
            fit = evidence.fit(evidence.hypothesis(scale=scale), joints=others) \
                if factor == 1.0 else evidence.fit(evidence.hypothesis(scale=scale))
            predicted = rows.columns(j, rows.gravity)[:, :-4] @ fit.values[rows.places[j][:-4]]
            X = np.column_stack([predicted, rows.columns(j, rows.gravity)[:, -4:-1]])
            x, *_ = np.linalg.lstsq(X, rows.targets[j][:, j], rcond=1e-10)
            factor = abs(x[0]) if x[0] else 1.0
            factor = float(np.clip(factor, 1e-4, 1e4))
        if abs(np.log(factor)) < np.log(OFF_ONE):
            continue
        scale = np.ones(count)
        scale[j] = 1 / factor
        fit = evidence.fit(evidence.hypothesis(scale=scale))
        if abs(np.log(factor)) < np.log(OFF_SURELY) and (
                fit.relative > HALF * evidence.base.relative):
            continue  # bodies and friction that the model lacks are worth as much
        if best is None or fit.evidence > best[2].evidence:
            best = j, factor, fit, evidence.hypothesis(scale=scale)
    if best:
        j, factor, fit, h = best
        yield Candidate('gain of a joint', f'the effort of {names[j]} is {factor:.3g} times what '
                        'the other joints say of the same bodies',
                        f'check the torque constant and gear ratio of {names[j]}', h, fit,
                        (names[j],), cost=PER_GAIN + np.log(count))


def saturation(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the joint whose effort falls short where the torque is large, best by ``evidence``."""
    rows, tried = evidence.rows, []
    for j in _suspects(evidence):
        at, values = rows.places[j], evidence.base.values
        for _ in range(2):  # by the bodies that the fit without it, and then with it, has
            torque = rows.columns(j, rows.gravity) @ values[at]
            column = torque * (torque / max(np.abs(torque).max(), 1e-300)) ** 2
            h = evidence.hypothesis(extra=tuple(
                (column if k == j else np.zeros_like(column))[:, None]
                for k in range(len(rows.robot))))
            fit = evidence.fit(h)
            values = fit.values
        short = -float(values[len(rows.prior.mean)])
        if short > SHORT and fit.residual[j] < HALF * evidence.base.residual[j]:
            tried.append((fit.evidence, j, short, h, fit))
    if tried:
        _, j, short, h, fit = max(tried, key=lambda one: one[0])
        name = rows.robot.joint_names[j]
        yield Candidate('effort saturates', f'the efforts of {name} fall short by '
                        f'{100 * short:.0f} % where its torque is largest',
                        'stay below what the sensor or the drive can show', h, fit, (name,),
                        cost=PER_GAIN + float(np.log(len(rows.robot))))


def _suspects(evidence: Evidence) -> list[int]:
    """Return the joints whose gain could explain some of a residual that is not large anyway."""
    rows, count = evidence.rows, len(evidence.rows.robot)
    if evidence.base.relative > BADLY:
        return list(range(count))
    columns = []
    for j, at in enumerate(rows.places):
        values = np.zeros((len(at), count))
        values[:-4, j] = evidence.base.values[at[:-4]]
        columns.append(rows.combined(j, values))
    nats, _ = each(evidence, combined(evidence, columns))
    return np.flatnonzero(nats > WORTH).tolist()
