"""Turned axes: position, velocity and acceleration of a joint counted the other way round."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from .candidate import Candidate
from .evidence import Evidence
from .rows import rows_of

TWO = 2.0   # nats more than an effort that is negated: two channels are wrong, not one
COARSE = 3  # every that many samples: it is asked only when the residual is large


def turned_axes(evidence: Evidence, joints: Collection[str]) -> list[Candidate]:
    """Return Candidates of one of ``joints`` each whose axis is turned; ``evidence`` : all."""
    rows = evidence.rows
    thin = rows.motion.rows(np.arange(0, len(rows.fold), COARSE))
    before = Evidence(rows_of(rows.robot, thin, rows.prior), evidence.effective).base
    out = []
    for j, name in enumerate(rows.robot.joint_names):
        if name not in joints:
            continue
        sign = np.ones(len(rows.robot))
        sign[j] = -1.0
        turned = replace(thin, q=thin.q * sign, v=thin.v * sign, a=thin.a * sign)
        there = Evidence(rows_of(rows.robot, turned, rows.prior), evidence.effective)
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
