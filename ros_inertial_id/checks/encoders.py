"""Alternative of the motion: the zero of an encoder."""

from collections.abc import Iterator

import numpy as np

from .evidence import Evidence, WORTH
from .hypothesis import Candidate
from .samples import METHOD

FEW = 400       # samples by which the joint is looked for
ENCODER = 0.02  # [rad] of an encoder's zero that is worth a word
UNIT = 0.1      # [rad] that a zero may usually be off
SMALL = 1e-4    # [rad] of an angle, for the slope of the torques


def encoders(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the zero of an encoder off, by ``evidence`` for the torques' slope with angles."""
    s, names = evidence.samples, evidence.samples.robot.joint_names
    few = np.arange(0, len(s.fold), max(1, len(s.fold) // FEW))
    slopes = [_torques_of(evidence, k, few) for k in range(len(names))]
    nats, zeros = evidence.score([np.stack(own, axis=1) for own in zip(*slopes)], few).each()
    # One encoder is off, not all: the one whose zero alone brings most.
    k = int(np.argmax(nats))
    zero = -UNIT * float(zeros[k])
    if nats[k] < WORTH or abs(zero) < ENCODER:
        return
    h = evidence.hypothesis(extra=tuple(X[:, None] for X in _torques_of(evidence, k)))
    yield Candidate('encoder zero off', f'the zero of the position of {names[k]} is about '
                    f'{zero:+.2g} rad off', 'give position_offset: or zero the encoder', h,
                    evidence.fit(h), (names[k],), cost=float(np.log(len(names))))


def _torques_of(evidence: Evidence, joint: int,
                chosen: np.ndarray | slice = slice(None)) -> list[np.ndarray]:
    """
    Return per joint (M,) what UNIT in the angle of a ``joint`` adds to torques, to first order.

    chosen : (M,) of the samples
    """
    s, n = evidence.samples, len(evidence.samples.robot)
    motion, values = s.motion.rows(chosen), evidence.base.values[:10 * n]
    moved = motion.q + SMALL * (np.arange(n) == joint)
    blocks = [b.predicted(values) for b in METHOD.regress(
        METHOD.state_of(s.robot, moved, motion.v, motion.a), s.robot, s.parameters[:10 * n])]
    return [(np.concatenate([b[name] for b in blocks])
             - s.torque(j, evidence.base.values)[chosen]) * (UNIT / SMALL)
            for j, name in enumerate(s.robot.joint_names)]
