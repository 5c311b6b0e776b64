"""Motion counted otherwise: about an axis that is turned, or in degrees."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from .evidence import Evidence
from .hypothesis import Candidate, Fitted
from .rows import Motion, rows_of

TWO = 2.0   # nats more than an effort that is negated: two channels are wrong, not one
COARSE = 3  # every that many samples: it is asked only when the residual is large


def in_degrees(evidence: Evidence) -> list[Candidate]:
    """
    Return the Candidate of motion in degrees; ``evidence`` : of all joints.

    Where joints have limits, these tell it; without any, only the torques can.
    """
    robot = evidence.rows.robot
    if np.any(np.isfinite(robot.lower)) or any(robot.prismatic):
        return []
    thin, before = _thinned(evidence)
    unit = np.full(len(robot), np.pi / 180.0)
    there = _counted(evidence, thin, unit)
    fit = there.base
    fit = replace(fit, evidence=evidence.base.evidence + fit.evidence - before.evidence)
    return [Candidate('position in degrees', 'positions and velocities of all joints are in '
                      'degrees', 'publish radians', there.as_recorded, fit, robot.joint_names,
                      cost=TWO, axes=unit)]


def turned_axes(evidence: Evidence, joints: Collection[str]) -> list[Candidate]:
    """Return Candidates of one of ``joints`` each whose axis is turned; ``evidence`` : all."""
    rows, (thin, before) = evidence.rows, _thinned(evidence)
    out = []
    for j, name in enumerate(rows.robot.joint_names):
        if name not in joints:
            continue
        sign = np.ones(len(rows.robot))
        sign[j] = -1.0
        there = _counted(evidence, thin, sign)
        for effort in (1.0, -1.0):
            scale = np.ones(len(rows.robot))
            scale[j] = effort
            h = there.hypothesis(scale=scale)
            fit = there.fit(h)
            # Of fewer samples: what it gains there, on top of all data as recorded.
            fit = replace(fit, evidence=evidence.base.evidence + fit.evidence - before.evidence)
            what = 'position and velocity' + (', and effort,' if effort < 0 else '')
            out.append(Candidate('axis turned', f'{what} of {name} are negated',
                                 'correct their signs, or the axis in the description', h, fit,
                                 (name,), cost=float(np.log(2 * len(sign))) + TWO, axes=sign))
    return out


def _thinned(evidence: Evidence) -> tuple[Motion, Fitted]:
    """Return some of the samples and their fit as recorded."""
    thin = evidence.rows.motion.rows(np.arange(0, len(evidence.rows.fold), COARSE))
    return thin, _counted(evidence, thin, np.ones(len(evidence.rows.robot))).base


def _counted(evidence: Evidence, thin: Motion, factor: np.ndarray) -> Evidence:
    """Return the Evidence of a motion whose angles are times a ``factor`` (n,)."""
    motion = replace(thin, q=thin.q * factor, v=thin.v * factor, a=thin.a * factor)
    rows = rows_of(evidence.rows.robot, motion, evidence.rows.prior)
    return Evidence(rows, evidence.effective)
