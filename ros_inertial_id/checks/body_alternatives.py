"""Alternatives of the robot: an encoder's zero, a payload, a tool."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .described_models import LOAD
from .evidence import Evidence
from .finding import NOTE
from .gravity_alternatives import DESCRIBED
from .hypothesis import Candidate, Fitted
from .scores import Added, each_by_few, sampled, together, WORTH
from ..dynamics.regressor import tree_rows

ENCODER = 0.02      # [rad] of an encoder's zero that is worth a word
UNIT = 0.1          # [rad] that a zero may usually be off
EXPLAINED = 0.35    # of what the description leaves, that a load may leave
FEW = 400           # samples by which encoders are looked for first
STEPS = np.linspace(0.1, 0.9, 9)  # when a payload could have been picked up, as shares


def encoders(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the zero of an encoder off, by ``evidence`` for the torques' slope with angles."""
    names, count = evidence.rows.robot.joint_names, len(evidence.rows.robot)
    whole = len(evidence.rows.fold)
    few = np.arange(0, whole, max(1, whole // FEW))
    nats, zeros = each_by_few(evidence, _slopes(evidence, range(count), few), few)
    # One encoder is off, not all: the one whose zero alone brings most.
    k = int(np.argmax(nats))
    off = -UNIT * float(zeros[k])
    if nats[k] < WORTH or abs(off) < ENCODER:
        return
    h = evidence.hypothesis(extra=_slopes(evidence, [k], np.arange(whole)))
    yield Candidate('encoder zero off', f'the zero of the position of {names[k]} is about '
                    f'{off:+.2g} rad off', 'give position_offset: or zero the encoder', h,
                    evidence.fit(h), (names[k],), cost=float(np.log(count)))


def _slopes(evidence: Evidence, encoder: Sequence[int],
            chosen: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return per joint (M, m) how torques of samples ``chosen`` (M,) change with zeros (m,)."""
    rows, small = evidence.rows, 1e-4
    motion, values = rows.motion.rows(chosen), evidence.base.values
    slopes = np.empty((len(rows.robot), len(chosen), len(encoder)))
    before = [rows.columns(j, rows.gravity)[chosen][:, :-4] @ values[at[:-4]]
              for j, at in enumerate(rows.places)]
    for column, k in enumerate(encoder):
        q = motion.q.copy()
        q[:, k] += small
        turned = tree_rows(rows.robot, q, motion.v, motion.a, rows.gravity)
        for j, at in enumerate(rows.places):
            slopes[j, :, column] = (turned[j].T @ values[at[:-4]] - before[j]) / small * UNIT
    return tuple(slopes)


def picked_up(evidence: Evidence) -> Iterator[Candidate]:
    """Yield, by ``evidence``, something picked up or put down during the recording."""
    rows = evidence.rows
    number, share, gain = _roughly(evidence)
    if gain < WORTH:
        return
    own = np.flatnonzero(rows.motion.number == number)
    k = own[int(share * (len(own) - 1))]
    changed = (np.arange(len(rows.fold)) >= k) & (rows.motion.number == number)
    fit = evidence.fit(evidence.hypothesis(extra=loaded(evidence, changed)))
    for _ in range(2):
        k = _moment(evidence, fit, own)
        changed = (np.arange(len(rows.fold)) >= k) & (rows.motion.number == number)
        h = evidence.hypothesis(extra=loaded(evidence, changed))
        fit = evidence.fit(h)
    mass = float(fit.values[len(rows.prior.mean)] * LOAD[0])
    when, end = float(rows.motion.t[k]), float(rows.motion.t[own[-1]])
    yield Candidate('payload changed', f'a payload of about {mass:+.2g} kg is '
                    f'{"picked up" if mass > 0 else "put down"} at {when:.2f} s',
                    'cut the recording there with @START:END', h, fit,
                    rows.robot.joint_names, cost=float(np.log(len(STEPS)) + 5.0),
                    windows=((when, end),), recording=int(number))


def _roughly(evidence: Evidence) -> tuple[int, float, float]:
    """Return (recording, share of it, nats by the score) of the best of STEPS."""
    motion, best = evidence.rows.motion, (0, 0.0, -np.inf)
    load = loaded(evidence, np.ones(len(motion.t), dtype=bool))
    for number in np.unique(motion.number):
        own = np.flatnonzero(motion.number == number)
        bounds = [*(STEPS * (len(own) - 1)).astype(int), len(own)]
        after: Added | None = None
        for k in range(len(STEPS) - 1, -1, -1):  # what is there from a step on is there later
            chosen = own[bounds[k]:bounds[k + 1]]
            more = sampled(evidence, [X[chosen] for X in load], chosen)
            after = more if after is None else after + more
            best = max(best, (int(number), float(STEPS[k]), together(evidence, after)),
                       key=lambda x: x[2])
    return best


def loaded(evidence: Evidence, changed: np.ndarray) -> tuple[np.ndarray, ...]:
    """
    Return per joint the columns (N, 10) of a load on the last body in some samples.

    evidence : of the data; changed : (N,) bool, when it is there
    """
    rows = evidence.rows
    last = len(rows.robot) - 1
    out = []
    for j, at in enumerate(rows.places):
        X = np.zeros((len(rows.fold), 10))
        own = np.flatnonzero((at >= 10 * last) & (at < 10 * last + 10))
        if own.size:
            X = rows.columns(j, rows.gravity)[:, own] * LOAD * changed[:, None]
        out.append(X)
    return tuple(out)


def _moment(evidence: Evidence, fit: Fitted, own: np.ndarray) -> int:
    """Return the sample from which the changed parameters explain more than those before."""
    before = np.zeros(len(own))
    with_load = loaded(evidence, np.ones(len(evidence.rows.fold), dtype=bool))
    p = len(evidence.rows.prior.mean)
    for j, at in enumerate(evidence.rows.places):
        r0 = (evidence.rows.targets[j][own, j]
              - evidence.rows.columns(j, evidence.rows.gravity)[own] @ fit.values[at])
        r1 = r0 - with_load[j][own] @ fit.values[p:]
        before += (r0 ** 2 - r1 ** 2) / max(fit.residual[j], 0.01 * fit.torque[j]) ** 2
    return int(own[int(np.argmin(np.cumsum(before)))])


def tool(evidence: Evidence) -> Iterator[Candidate]:
    """Yield a tool or payload that by ``evidence`` the description lacks."""
    rows, nominal = evidence.rows, evidence.nominal
    if (not rows.prior.nominal  # or free bodies leave as much as the description
            or np.linalg.norm(evidence.base.residual) > EXPLAINED * np.linalg.norm(nominal)):
        return
    models = evidence.described
    left, mass = models.left['load'], models.mass
    gain = float((evidence.effective * np.log(np.maximum(nominal, 1e-12)
                                              / np.maximum(left, 1e-12))).sum())
    total = np.linalg.norm(left) / max(np.linalg.norm(nominal), 1e-300)
    own = float(rows.prior.mean[10 * (len(rows.robot) - 1)])
    if (models.best() == 'load' and total < EXPLAINED and gain > 0
            and abs(mass) > max(0.1, 2 * DESCRIBED * own)):
        fit = replace(evidence.base, evidence=evidence.base.evidence + gain)
        yield Candidate('payload not declared', f'the last link carries about {mass:+.2g} kg that '
                        'the description does not have', 'add the tool or payload to the '
                        'description', evidence.as_recorded, fit, (rows.robot.joint_names[-1],),
                        severity=NOTE, tests='the description with and without a load',
                        cost=5.0)
