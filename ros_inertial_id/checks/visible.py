"""
Visible: the smallest change of one joint's effort that the checks of a recording would name.

A change of size x leaves a residual of sqrt(r^2 + x^2 g^2), with r what the model leaves of the
joint anyway and g the part of the changed column that no fitted parameter shares (Rao's score
information).  It is named where n / 2 log(1 + x^2 g^2 / r^2) reaches what the checks ask for:
SURELY, or LIMIT where most of the residual is gone; n are the joint's independent samples, fewer
with a change that is as slow as the motion.
"""

import numpy as np

from .changes import PIECES
from .efforts import friction_columns, LATE_ALONE, own_delays, slope_of
from .evidence import BRAKING, Evidence, SURELY, WIDEST
from .gains import AGREE, OFF_ONE, OFF_SURELY, PER_GAIN, SHORT, short_column
from .samples import correlation_of, DELAYS, FRICTION
from .selection import LIMIT

MOST = 3.0      # times the squared residual that is left: what goes is half of the residual
ROUGH = 1.5     # times what is worked out is surely named
STEPS = 4       # of the size and of the samples that count with it
LARGEST = {'delay': float(DELAYS[-2]), 'gain': 2.0, 'saturation': 1.0}  # that are asked for


def smallest_visible(evidence: Evidence) -> dict[str, dict[str, float | None]]:
    """
    Return {joint that moves: {kind of CHANGES: size}}, None where none would be named.

    evidence : of the data as recorded
    delay [s] of this joint's effort alone; gain and saturation as shares of its torque; offset
    jump [N m or N] in the middle of the recording; negated: 1.0 where that would be named
    """
    late = {j: nats for j, (_, _, nats) in own_delays(evidence).items()}
    return {name: _of_joint(evidence, j, max([0.0, *(x for k, x in late.items() if k != j)]))
            for j, name in enumerate(evidence.samples.robot.joint_names)
            if not evidence.samples.still[j] and evidence.base.torque[j] > 0.0}


def _of_joint(evidence: Evidence, j: int, others: float) -> dict[str, float | None]:
    """Return {kind: size} of joint ``j``; others : nats of other joints' delays."""
    s, cost = evidence.samples, float(np.log(len(evidence.samples.robot)))
    torque = s.torque(j, evidence.base.values)
    middle = (np.arange(len(torque)) >= len(torque) // 2).astype(float)
    friction = friction_columns(evidence, j)
    beside = evidence.fit(evidence.hypothesis(extra=evidence.of_joint(j, friction))).residual[j]
    delay = _size(evidence, j, np.column_stack([slope_of(evidence, j), friction]),
                  max(0.0, 2.0 * others - SURELY), beside / evidence.base.residual[j])
    ratio, error = (abs(x[j]) for x in evidence.own_ratios)
    described = error < np.log(AGREE) * ratio and abs(np.log(ratio)) < np.log(AGREE)
    gain = _size(evidence, j, torque[:, None], cost + PER_GAIN, apart=True)
    sizes = {'delay': max(LATE_ALONE, delay),
             'gain': max((OFF_ONE if described else OFF_SURELY) - 1.0, gain),
             'offset jump': _size(evidence, j, middle[:, None], cost + np.log(PIECES),
                                  apart=True),
             'saturation': max(SHORT, _size(evidence, j, short_column(torque)[:, None],
                                            cost + PER_GAIN)),
             'negated': 1.0 if (ROUGH * gain < 2.0  # a gain of -1
                                or _brakes(evidence, j) > ROUGH * (SURELY + cost)) else np.inf}
    return {kind: float(x) if x < LARGEST.get(kind, np.inf) else None
            for kind, x in sizes.items()}


def _size(evidence: Evidence, j: int, columns: np.ndarray, cost: float, left: float = 1.0,
          apart: bool = False) -> float:
    """
    Return the size of the first of ``columns`` (N, m) of joint ``j`` that would be named.

    columns : the others take part in the fit; cost : nats of what was tried
    left : times the residual, that a fit with the others leaves
    apart : samples count as independent as they are without the change
    """
    s, scale = evidence.samples, np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    information = evidence.score(evidence.of_joint(j, columns / scale)).information
    # Without the prior of the columns, but for what keeps it regular.
    bare = information - (1.0 - 1e-9) * np.eye(len(scale))
    own = scale[0] ** 2 / max(float(np.linalg.inv(bare)[0, 0]), 1e-300)
    share = own / (evidence.base.weight[j] * len(columns))
    # Its course in time is what the joint's own columns do not share.
    A = np.column_stack([s.columns(j) * s.sd[s.places[j]], columns[:, 1:]])
    course = columns[:, 0] - A @ np.linalg.lstsq(A, columns[:, 0], rcond=1e-10)[0]
    course *= np.sqrt(share / max(float(np.mean(course ** 2)), 1e-300))
    residual = left * evidence.left[:, j]
    rms, size = left * evidence.base.residual[j], 0.0
    for _ in range(STEPS):
        n = evidence.effective[j] if apart or not size else min(
            evidence.effective[j], len(course) / correlation_of(residual + size * course))
        wanted = min(max(MOST, np.expm1(2.0 * (LIMIT + cost) / n)), np.expm1(
            min(2.0 * (SURELY + cost) / n, 100.0)))
        size = rms * np.sqrt(wanted / max(share, 1e-300))
    return float(size)


def _brakes(evidence: Evidence, j: int) -> float:
    """Return the nats that friction of joint ``j`` costs which drives, once it is negated."""
    s = evidence.samples
    places = 10 * len(s.robot) + FRICTION * j + np.array(BRAKING)
    z = np.maximum(evidence.base.values[places] / s.sd[places], 0.0)
    variance = np.diagonal(np.linalg.inv(evidence.base.matrix))[places]
    return float(np.minimum(WIDEST, 0.5 * z ** 2 / variance).sum())
