"""Alternatives of the robot: an encoder's zero, drift, a payload, a tool."""

from collections.abc import Iterator

import numpy as np

from .candidate import Candidate
from .evidence import Evidence, Fitted
from .finding import DOUBTFUL, NOTE
from .gravity_alternatives import DESCRIBED
from .rows import chosen_rows
from ...dynamics.regressor import tree_rows

ENCODER = 0.02      # [rad] of an encoder's zero that is worth a word
UNIT = 0.1          # [rad] that a zero may usually be off
FEW = 400           # samples by which such things are looked for first
STEPS = np.linspace(0.1, 0.9, 9)  # when a payload could have been picked up, as shares
LOAD = np.array([2.0] + [0.4] * 3 + [0.08] * 6)  # a usual payload [kg, kg m, kg m^2]


def encoders(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the zero of an encoder off, by ``evidence`` for the torques' slope with angles."""
    keep = np.zeros(len(evidence.rows.fold), dtype=bool)
    keep[::max(1, len(keep) // FEW)] = True
    thin = Evidence(chosen_rows(evidence.rows, keep), evidence.effective)
    slopes = _slopes(thin)
    names, count = evidence.rows.robot.joint_names, len(evidence.rows.robot)
    whole = thin.fit(thin.hypothesis(extra=slopes))
    if whole.evidence < thin.base.evidence + 5.0:
        return
    # One encoder is off, not all: the one whose zero alone brings most.
    single = [thin.fit(thin.hypothesis(extra=tuple(s[:, k:k + 1] for s in slopes)))
              for k in range(count)]
    k = int(np.argmax([f.evidence for f in single]))
    off = -UNIT * float(single[k].values[-1])
    if abs(off) < ENCODER:
        return
    h = evidence.hypothesis(extra=_slopes(evidence, k))
    yield Candidate('encoder zero off', f'the zero of the position of {names[k]} is about '
                    f'{off:+.2g} rad off', 'give position_offset: or zero the encoder', h,
                    evidence.fit(h), (names[k],), cost=float(np.log(count)))


def _slopes(evidence: Evidence, only: int | None = None) -> tuple[np.ndarray, ...]:
    """Return per joint (N, n) how torques change with the zero of each encoder, or of one."""
    rows, small = evidence.rows, 1e-4
    count, values = len(rows.robot), evidence.base.values
    chosen = range(count) if only is None else [only]
    slopes = np.empty((count, len(rows.fold), len(chosen)))
    before = [rows.columns(j, rows.gravity)[:, :-4] @ values[rows.places[j][:-4]]
              for j in range(count)]
    for column, k in enumerate(chosen):
        q = rows.motion.q.copy()
        q[:, k] += small
        turned = tree_rows(rows.robot, q, rows.motion.v, rows.motion.a, rows.gravity)
        for j in range(count):
            after = turned[j].T @ values[rows.places[j][:-4]]
            slopes[j, :, column] = (after - before[j]) / small * UNIT
    return tuple(slopes)


def drift(evidence: Evidence) -> Iterator[Candidate]:
    """Yield offsets and friction that change steadily with time, by ``evidence``."""
    rows = evidence.rows
    names, count = rows.robot.joint_names, len(rows.robot)
    t = rows.motion.t
    time = (t - t.mean()) / max(np.ptp(t), 1e-9)
    extra = []
    for j in range(count):
        X = np.zeros((len(t), 3 * count))
        friction = rows.columns(j, rows.gravity)[:, -4:-1]
        X[:, 3 * j:3 * j + 3] = friction * time[:, None] * evidence.base.torque[j]
        extra.append(X)
    h = evidence.hypothesis(extra=tuple(extra))
    fit = evidence.fit(h)
    better = fit.residual < 0.9 * evidence.base.residual
    concerned = tuple(np.array(names)[better].tolist())
    if concerned:
        yield Candidate('drift', f'offset or friction of {", ".join(concerned)} drifts with time, '
                        'as with temperature', 'warm the robot up first, or record shorter', h,
                        fit, concerned, severity=DOUBTFUL)


def picked_up(evidence: Evidence) -> Iterator[Candidate]:
    """Yield, by ``evidence``, something picked up or put down during the recording."""
    rows = evidence.rows
    number, share, gain = _roughly(evidence)
    if gain < 5.0:
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
    """Return (recording, share of it, evidence gained) of the best of STEPS, on few samples."""
    keep = np.zeros(len(evidence.rows.fold), dtype=bool)
    keep[::max(1, len(keep) // FEW)] = True
    thin = Evidence(chosen_rows(evidence.rows, keep))
    motion, best = thin.rows.motion, (0, 0.0, -np.inf)
    for number in np.unique(motion.number):
        own = np.flatnonzero(motion.number == number)
        for share in STEPS:
            changed = ((np.arange(len(motion.t)) >= own[int(share * (len(own) - 1))])
                       & (motion.number == number))
            fit = thin.fit(thin.hypothesis(extra=loaded(thin, changed)))
            best = max(best, (int(number), float(share), fit.evidence - thin.base.evidence),
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
    rows = evidence.rows
    if not rows.prior.nominal:
        return
    nominal, _ = nominal_residual(evidence, None)
    extra = loaded(evidence, np.ones(len(rows.fold), dtype=bool))
    left, x = nominal_residual(evidence, extra)
    gain = float((evidence.effective * np.log(np.maximum(nominal, 1e-12)
                                              / np.maximum(left, 1e-12))).sum())
    total = np.linalg.norm(left) / max(np.linalg.norm(nominal), 1e-300)
    own = float(rows.prior.mean[10 * (len(rows.robot) - 1)])
    if total < 0.35 and abs(x) > max(0.1, 2 * DESCRIBED * own) and gain > 0:
        fit = Fitted(evidence.base.evidence + gain, evidence.base.residual, evidence.base.torque,
                     evidence.base.values, evidence.base.covariance)
        yield Candidate('payload not declared', f'the last link carries about {x:+.2g} kg that '
                        'the description does not have', 'add the tool or payload to the '
                        'description', evidence.as_recorded, fit, (rows.robot.joint_names[-1],),
                        severity=NOTE, tests='the description with and without a load',
                        cost=5.0)


def nominal_residual(evidence: Evidence,
                     extra: tuple[np.ndarray, ...] | None) -> tuple[np.ndarray, float]:
    """
    Return ((n,) RMS of what the description leaves, friction fitted; mass of the load [kg]).

    evidence : of the data; extra : columns of a load that is fitted with it, or None
    """
    rows = evidence.rows
    count = len(rows.robot)
    width = 10 if extra else 0
    H, b, parts = np.zeros((width, width)), np.zeros(width), []
    for j, at in enumerate(rows.places):
        A = rows.columns(j, rows.gravity)
        y = rows.targets[j][:, j] - A[:, :-4] @ rows.prior.mean[at[:-4]]
        F = A[:, -4:]
        Q = np.linalg.qr(F)[0]
        y = y - Q @ (Q.T @ y)
        X = extra[j] - Q @ (Q.T @ extra[j]) if extra else np.zeros((len(y), 0))
        weight = 1.0 / max(evidence.base.residual[j], 0.01 * evidence.base.torque[j]) ** 2
        H += weight * X.T @ X
        b += weight * X.T @ y
        parts.append((X, y))
    x = np.linalg.solve(H + np.eye(width), b) if width else np.zeros(0)
    rms = np.array([np.sqrt(np.mean((y - X @ x) ** 2)) for X, y in parts])
    assert len(rms) == count
    return rms, float(x[0] * LOAD[0]) if width else 0.0
