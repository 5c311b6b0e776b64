"""Alternatives of gravity: taken off the efforts, or from another direction."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .described import nominal_residual, UNDESCRIBED
from .evidence import Evidence
from .hypothesis import Candidate, Fitted
from .scores import combined, together, WORTH
from ..dynamics.robot_model import STANDARD_GRAVITY
from ..estimation.gravity_search import sphere, tangent

SMALL = 0.005       # relative residual that leaves no room for a gain of one joint
BADLY = 0.1         # relative residual from which costly alternatives are asked
DIRECTIONS = 60     # of gravity: 15 degrees apart, then refined
UPRIGHT = np.array([0.0, 0.0, -1.0])  # as most robots stand
DESCRIBED = 0.3     # relative error of the gravity torques of a description
HALF = 0.5          # of the torque, or of what was left before, that a description may leave
COMPENSATED = 0.2   # share of gravity that a driver leaves
STEPS_OF_GRAVITY = 6
CERTAIN = 7.0       # nats: odds of a thousand to one
TURNED = 3.0        # [deg] of gravity, from which a mounting is wrong


def gravity(evidence: Evidence) -> Iterator[Candidate]:
    """Yield gravity taken off the efforts, or from where ``evidence`` says it comes."""
    joints, described = evidence.rows.robot.joint_names, evidence.rows.prior.nominal
    h, (nats, inertia) = evidence.hypothesis(gravity=np.zeros(3)), _no_gravity(evidence)
    models = evidence.described.nats
    # Currents hold a small share of gravity too, but the same of inertial torques.
    lacks = nats > 0.0 and inertia > -CERTAIN and models['no gravity'] > models['alone']
    if lacks or not described:
        fit = _at_least(evidence.fit(h), evidence.base.evidence + nats)
        yield Candidate('gravity compensated', 'gravity has been taken off the efforts already',
                        'record the whole motor torque, or give mounting: gravity 0 0 0', h, fit,
                        joints)
    if not np.any(evidence.rows.gravity):
        return
    if lacks:
        yield from _described_gravity(evidence, fit, nats)
    if described:  # small masses below zero explain the same efforts as well
        yield _from(evidence, -evidence.rows.gravity, cost=float(np.log(2.0)))
    if evidence.base.relative < 2 * SMALL:
        return
    declared = evidence.rows.gravity / np.linalg.norm(evidence.rows.gravity)
    if evidence.base.relative < BADLY and _nats_of_tilt(evidence, declared) < WORTH:
        return
    starts = [declared]
    if evidence.base.relative > BADLY:
        by = sorted(sphere(DIRECTIONS), key=lambda d: evidence.total_residual(
            evidence.hypothesis(gravity=STANDARD_GRAVITY * d))[0])
        # Up and down differ in the sign of masses alone, which the description decides.
        starts += [by[0], -by[0], by[1], UPRIGHT]
    tilted = [d for d in (_tilted(evidence, d) for d in starts)
              if _described_there(evidence, STANDARD_GRAVITY * d)]
    direction = max(tilted, default=declared, key=lambda d: evidence.fit(
        evidence.hypothesis(gravity=STANDARD_GRAVITY * d)).evidence)
    if np.degrees(np.arccos(np.clip(direction @ declared, -1, 1))) >= TURNED:
        yield _from(evidence, STANDARD_GRAVITY * direction, float(np.log(DIRECTIONS) + 4.0))


def _from(evidence: Evidence, gravity: np.ndarray, cost: float) -> Candidate:
    """Return the Candidate of another ``gravity`` (3,) [m/s^2]."""
    declared, h = evidence.rows.gravity, evidence.hypothesis(gravity=gravity)
    cosine = gravity @ declared / np.linalg.norm(gravity) / np.linalg.norm(declared)
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    words = ' '.join(f'{x:.2f}' for x in gravity + 0.0)
    return Candidate('wrong mounting', f'the mounting is wrong: gravity is {angle:.0f} degrees '
                     'from where it was said to be', f'give mounting: gravity {words}, after '
                     'a look at the robot', h, evidence.fit(h), evidence.rows.robot.joint_names,
                     cost=cost)


def _at_least(fit: Fitted, evidence: float) -> Fitted:
    return replace(fit, evidence=max(fit.evidence, evidence))


def _described_gravity(evidence: Evidence, none: Fitted, nats: float) -> Iterator[Candidate]:
    """
    Yield the gravity torques of the description taken off the efforts, as drivers do.

    none : the fit without any gravity, which explains less; nats : by which gravity is missing
    """
    rows = evidence.rows
    if not rows.prior.nominal or evidence.base.relative < 2 * SMALL:
        return
    added = tuple((rows.columns(j, rows.gravity) - rows.columns(j, np.zeros(3)))
                  @ rows.prior.mean[at] for j, at in enumerate(rows.places))
    h = evidence.hypothesis(added=added)
    fit = evidence.fit(h)
    if fit.residual @ fit.residual > none.residual @ none.residual:
        return
    fit = _at_least(fit, evidence.base.evidence + nats + 1.0)
    yield Candidate('gravity compensated', 'gravity, as the description has it, has been taken '
                    'off the efforts already', 'record the whole motor torque, or add the same '
                    'gravity again', h, fit, rows.robot.joint_names)


def _no_gravity(evidence: Evidence) -> tuple[float, float]:
    """
    Return the nats by which the description says that the efforts lack gravity, and inertia not.

    Free masses of zero explain efforts without gravity as well, so the residual cannot tell; the
    share of the nominal gravity torque in the efforts can, as far as the description is right.
    Inertial torques are then there as described, or by the same share as gravity: a unit.
    """
    rows, nats, inertia = evidence.rows, 0.0, 0.0
    if not rows.prior.nominal:
        return 0.0, 0.0
    for j, at in enumerate(rows.places):
        inert = rows.columns(j, np.zeros(3))
        weight = (rows.columns(j, rows.gravity) - inert) @ rows.prior.mean[at]
        X = np.column_stack([weight, inert @ rows.prior.mean[at], inert[:, -4:-1]])
        size = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
        y = rows.targets[j][:, j]
        x, *_ = np.linalg.lstsq(X / size, y, rcond=1e-10)
        covariance = np.linalg.pinv((X / size).T @ (X / size))
        left = np.sum((y - (X / size) @ x) ** 2) / evidence.effective[j]
        share, error = x[0] / size[0], np.sqrt(covariance[0, 0] * left) / size[0]
        own, slack = x[1] / size[1], np.sqrt(covariance[1, 1] * left) / size[1]
        if not error:  # it has no torque
            continue
        heavy = min(1.0, (size[0] / max(np.linalg.norm(y), 1e-300)) ** 2)  # or it hardly matters
        there, gone = DESCRIBED ** 2 + error ** 2, COMPENSATED ** 2 + error ** 2
        nats += heavy * _clipped((1 - abs(share)) ** 2, there, share ** 2, gone)
        alike = (DESCRIBED * share) ** 2 + error ** 2 + slack ** 2
        inertia += heavy * _clipped((own - share) ** 2, alike, (own - 1) ** 2,
                                    DESCRIBED ** 2 + slack ** 2)
    return float(nats), float(inertia)


def _clipped(off: float, variance: float, other: float, its: float) -> float:
    """Return the nats for the square ``other`` of variance ``its`` against ``off`` of its own."""
    nats = 0.5 * (off / variance - other / its + np.log(variance / its))
    return float(np.clip(nats, -UNDESCRIBED, UNDESCRIBED))


def _described_there(evidence: Evidence, gravity: np.ndarray) -> bool:
    """Return whether the description, where there is one, is right or better under ``gravity``."""
    if not evidence.rows.prior.nominal:
        return True
    there = np.linalg.norm(nominal_residual(evidence.rows, gravity))
    before = np.linalg.norm(evidence.nominal)
    return bool(there < HALF * max(before, np.linalg.norm(evidence.base.torque)))


def _nats_of_tilt(evidence: Evidence, direction: np.ndarray) -> float:
    """Return the nats that turning gravity from its ``direction`` could explain."""
    rows, columns = evidence.rows, []
    for j, at in enumerate(rows.places):
        values = np.repeat(evidence.base.values[at][:, None], 2, axis=1)
        still = rows.combined(j, values, np.zeros(3))
        columns.append(np.stack([rows.combined(j, values[:, :1], STANDARD_GRAVITY * u)[:, 0]
                                 for u in tangent(direction).T], axis=1) - still)
    return together(evidence, combined(evidence, columns))


def _tilted(evidence: Evidence, direction: np.ndarray) -> np.ndarray:
    """Return the direction of gravity that Gauss-Newton steps of two angles reach."""
    rows, best, found = evidence.rows, np.inf, direction
    for _ in range(STEPS_OF_GRAVITY):
        h = evidence.hypothesis(gravity=STANDARD_GRAVITY * direction)
        left, values = evidence.total_residual(h)
        if left >= best:
            break
        best, found, across = left, direction, tangent(direction)
        extra = []
        for j, at in enumerate(rows.places):
            still = rows.columns(j, np.zeros(3))
            extra.append(np.stack([(rows.columns(j, STANDARD_GRAVITY * u) - still)
                                   @ values[at] for u in across.T], axis=1))
        angles = evidence.total_residual(replace(h, extra=tuple(extra)))[1][-2:]
        size = float(np.linalg.norm(angles))
        direction = direction + across @ angles * min(1.0, 0.5 / max(size, 1e-12))
        direction = direction / np.linalg.norm(direction)
    return found
