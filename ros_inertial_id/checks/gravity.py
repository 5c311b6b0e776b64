"""
Alternatives of gravity, of angles and of bodies.

Gravity taken off the efforts, or from another direction; angles in degrees; a tool that the
description lacks.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .evidence import ALIKE, BADLY, Evidence, FLOOR, WORTH
from .finding import CERTAIN, HALF, NOTE
from .hypothesis import Candidate, UNDESCRIBED
from .samples import equations, FRICTION
from ..dynamics.robot_model import STANDARD_GRAVITY
from ..estimation.gravity import DIRECTIONS, sphere, tangent, turned

UPRIGHT = np.array([0.0, 0.0, -1.0])  # as most robots stand
DESCRIBED = 0.3     # relative error of the gravity torques of a description
COMPENSATED = 0.2   # share of gravity that a driver leaves
STEPS_OF_GRAVITY = 6
TURNED = 3.0        # [deg] of gravity, from which a mounting is wrong
EXPLAINED = 0.35    # of what the description leaves, that a load may leave


def gravity(evidence: Evidence) -> Iterator[Candidate]:
    """Yield gravity taken off the efforts, or from where ``evidence`` says it comes."""
    s = evidence.samples
    yield from _compensated(evidence)
    if not np.any(s.gravity):
        return
    # Small masses below zero explain the same efforts as well, and so do offsets of an arm that
    # hardly moves: the description must say so by itself.
    if s.described and (np.linalg.norm(evidence.nominal_under(-s.gravity))
                        < np.linalg.norm(evidence.nominal)):
        yield _from(evidence, -s.gravity, cost=float(np.log(2.0)))
    declared = s.gravity / np.linalg.norm(s.gravity)
    if evidence.base.relative < FLOOR or (
            evidence.base.relative < BADLY and _nats_of_tilt(evidence, declared) < WORTH):
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
    declared, h = evidence.samples.gravity, evidence.hypothesis(gravity=gravity)
    cosine = gravity @ declared / np.linalg.norm(gravity) / np.linalg.norm(declared)
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    words = ' '.join(f'{x:.2f}' for x in gravity + 0.0)
    return Candidate('wrong mounting', f'the mounting is wrong: gravity is {angle:.0f} degrees '
                     'off the direction given', f'give mounting: gravity {words}, if '
                     'the robot stands so', h, evidence.fit(h), evidence.samples.robot.joint_names,
                     cost=cost)


def _compensated(evidence: Evidence) -> Iterator[Candidate]:
    """
    Yield gravity taken off the efforts: all of it, or that of the description, as drivers do.

    Free masses of zero explain efforts without gravity as well, so the residual cannot tell, but
    the description can.  Where free bodies need gravity all the same, the description is rough.
    """
    s, none, nats = evidence.samples, evidence.hypothesis(gravity=np.zeros(3)), 0.0
    tried = {'gravity has been taken off the efforts already': none}
    if s.described:
        models = evidence.descriptions.nats
        nats, inertia = _no_gravity(evidence)
        # Currents hold a small share of gravity too, but the same of inertial torques.
        if nats <= 0.0 or inertia <= -CERTAIN or models['no gravity'] <= models['alone']:
            return
        if np.any(s.gravity):
            tried['gravity, as the description has it, has been taken off the efforts already'] = (
                evidence.hypothesis(added=tuple(
                    s.torque(j, s.mean) - s.torque(j, s.mean, np.zeros(3))
                    for j in range(len(s.robot)))))
    fits = {says: evidence.fit(h) for says, h in tried.items()}
    says = min(fits, key=lambda one: float(np.linalg.norm(fits[one].residual)))
    fit, h = fits[says], tried[says]
    if np.mean(np.log(fit.residual / evidence.base.residual)) < np.log(ALIKE):
        fit = replace(fit, evidence=max(fit.evidence, evidence.base.evidence + nats))
        yield Candidate('gravity compensated', says, 'record the whole motor torque, or give '
                        'mounting: gravity 0 0 0, or add the same gravity again', h, fit,
                        s.robot.joint_names)


def _no_gravity(evidence: Evidence) -> tuple[float, float]:
    """
    Return the nats by which the description says that the efforts lack gravity, and inertia not.

    Free masses of zero explain efforts without gravity as well, so the residual cannot tell; the
    share of the nominal gravity torque in the efforts can, as far as the description is right.
    Inertial torques are then there as described, or by the same share as gravity: a unit.
    """
    s, nats, inertia = evidence.samples, 0.0, 0.0
    for j in range(len(s.robot)):
        inert, y = s.torque(j, s.mean, np.zeros(3)), s.motion.tau[:, j]
        X = np.column_stack([s.torque(j, s.mean) - inert, inert, s.columns(j)[:, -FRICTION:-1]])
        size = np.maximum(np.linalg.norm(X, axis=0), 1e-300)
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
    if not evidence.samples.described:
        return True
    there = np.linalg.norm(evidence.nominal_under(gravity))
    before = np.linalg.norm(evidence.nominal)
    return bool(there < HALF * max(before, np.linalg.norm(evidence.base.torque)))


def _pulls(evidence: Evidence, direction: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
    """Return per joint the torques (N, 2) of ``values`` (p,) by gravity across a ``direction``."""
    s, out = evidence.samples, []
    for j in range(len(s.robot)):
        still = s.torque(j, values, np.zeros(3))
        out.append(np.stack([s.torque(j, values, STANDARD_GRAVITY * u) - still
                             for u in tangent(direction).T], axis=1))
    return out


def _nats_of_tilt(evidence: Evidence, direction: np.ndarray) -> float:
    """Return the nats that turning gravity from its ``direction`` could explain."""
    return evidence.score(_pulls(evidence, direction, evidence.base.values)).together()


def _tilted(evidence: Evidence, direction: np.ndarray) -> np.ndarray:
    """Return the direction of gravity that Gauss-Newton steps of two angles reach."""
    best, found = np.inf, direction
    for _ in range(STEPS_OF_GRAVITY):
        h = evidence.hypothesis(gravity=STANDARD_GRAVITY * direction)
        left, values = evidence.total_residual(h)
        if left >= best:
            break
        best, found = left, direction
        extra = tuple(_pulls(evidence, direction, values))
        angles = evidence.total_residual(replace(h, extra=extra))[1][-2:]
        length = min(1.0, 0.5 / max(float(np.linalg.norm(angles)), 1e-12))
        direction = turned(direction, tangent(direction), length * angles)
    return found


def in_degrees(evidence: Evidence) -> Iterator[Candidate]:
    """
    Yield motion in degrees, by ``evidence``.

    Where joints have limits, these tell it; without any, only the torques can.
    """
    s, robot = evidence.samples, evidence.samples.robot
    if (evidence.base.relative < BADLY or np.any(np.isfinite(robot.lower))
            or any(robot.prismatic)):
        return
    radians = replace(equations(robot, s.motion.in_radians(), s.parameters, s.fold),
                      gravity=s.gravity)
    yield Candidate('position in degrees', 'positions and velocities of all joints are in '
                    'degrees', 'publish radians', evidence.as_recorded,
                    Evidence(radians.as_declared, evidence.effective).base, robot.joint_names,
                    mended=radians)


def tool(evidence: Evidence) -> Iterator[Candidate]:
    """Yield a tool or payload that by ``evidence`` the description lacks."""
    s, nominal = evidence.samples, evidence.nominal
    if (not s.described  # or free bodies leave as much as the description
            or np.linalg.norm(evidence.base.residual) > EXPLAINED * np.linalg.norm(nominal)):
        return
    models = evidence.descriptions
    gain = float((evidence.effective * np.log(np.maximum(nominal, 1e-12) / np.maximum(
        models.left['load'], 1e-12))).sum())
    own, mass = float(s.mean[10 * (len(s.robot) - 1)]), models.mass
    if (models.nats['load'] > max(models.nats[x] for x in ('alone', 'factor', 'no gravity'))
            and models.total('load') * ALIKE < models.total('factor')
            and models.total('load') < EXPLAINED * np.linalg.norm(nominal) and gain > 0
            and abs(mass) > max(0.1, 2 * DESCRIBED * own)):
        fit = replace(evidence.base, evidence=evidence.base.evidence + gain)
        yield Candidate('payload not declared', f'the last link carries about {mass:+.2g} kg that '
                        'the description does not have', 'add the tool or payload to the '
                        'description', evidence.as_recorded, fit, (s.robot.joint_names[-1],),
                        severity=NOTE, tests='the description with and without a load', cost=5.0)
