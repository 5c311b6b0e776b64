"""Alternatives of the motion: an encoder's zero, elasticity, play, a base that moves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .contacts import link_levers
from .evidence import CERTAIN, Evidence, SURELY, WORTH
from .finding import DOUBTFUL
from .hypothesis import Candidate, Fitted, Hypothesis
from .samples import METHOD, WIDTH

AXES = 3           # of an acceleration of the base: more joints than these must agree on it
PRIORS = np.geomspace(0.03, 30.0, 7)  # of torques by it over the residual
FEW = 400          # samples by which encoders and joints that bend are looked for first
ENCODER = 0.02     # [rad] of an encoder's zero that is worth a word
UNIT = 0.1         # [rad] that a zero may usually be off
BENDS = 0.02       # [rad] or [m] by which a joint may usually bend under the RMS of its load
SMALL = 1e-3       # of a change, for the slope of the torques
CERTAINLY = 3.0    # standard errors of a compliance, which is never negative
AROUND = 0.05      # [s] before and after a reversal of the load, or
SAMPLES = 2.5      # as many samples
FEWEST = 4         # reversals, and FEWEST windows elsewhere twice
SCATTER = 0.25     # least, of the logarithm of a residual from window to window


@dataclass(frozen=True)
class _Shared:
    """
    What unknowns that all joints share in every sample explain of the residual.

    nats : of each joint's residual, predicted from the other joints; left : (n,) shares of its RMS
    unknowns : (M, m); torque : (M, n) by them
    """

    nats: float
    left: np.ndarray
    unknowns: np.ndarray
    torque: np.ndarray


def moving_base(evidence: Evidence) -> Iterator[Candidate]:
    """
    Yield the base that is accelerated, alike for all joints, along its axes or about them as well.

    Three or six unknowns in every sample; each joint's residual is predicted from those that the
    others show, and surely better than from a force on any link, or from accelerations of one or
    of all joints, which noise and play of gears make.
    """
    s, count, few = evidence.samples, len(evidence.samples.robot), _few(evidence)
    if (~s.still).sum() <= AXES:
        return
    columns, errors = _of_base(evidence, few)
    along, whole = (_shared(evidence, few, columns[:, :, :k], errors[:, :k].sum(axis=1))
                    for k in (AXES, 2 * AXES))
    turns = whole.nats > along.nats + CERTAIN
    shaken, axes = (whole, 2 * AXES) if turns else (along, AXES)
    cost = float(np.log(2 * len(PRIORS)))
    if shaken.nats - cost < SURELY:
        return
    ones, zeros = np.ones(len(s.fold)), np.zeros(len(s.fold))
    joints = np.stack([np.stack(_torques_of(evidence, k, (zeros, zeros, ones), few), axis=1)
                       for k in range(count)], axis=2)
    others = [joints, *(joints[:, :, [k]] for k in range(count)), *link_levers(s, few)]
    least = shaken.nats - CERTAIN - np.log(len(others))
    if any(_shared(evidence, few, own).nats > least for own in others):
        return
    every = np.arange(len(s.fold))
    columns, errors = _of_base(evidence, every)
    shaken = _shared(evidence, every, columns[:, :, :axes], errors[:, :axes].sum(axis=1))
    size = np.sqrt((shaken.unknowns ** 2).mean(axis=0).reshape(-1, AXES).sum(axis=1))
    words = ' and '.join(f'{x:.2g} {unit}' for x, unit in zip(size, ('m/s^2', 'rad/s^2')))
    base = evidence.base
    yield Candidate(
        'base moves', f'the base of the robot is shaken by about {words} (RMS)',
        'fix it, or move the robot more gently',
        evidence.hypothesis(added=tuple(-shaken.torque.T)),
        replace(base, evidence=base.evidence + shaken.nats, residual=base.residual * shaken.left),
        s.robot.joint_names, severity=DOUBTFUL, cost=cost, surely=True, tests='the residual of '
        'a joint predicted from the others, by accelerations of the base, of joints, or forces')


def _of_base(evidence: Evidence, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return torques (M, n, 6) by unit accelerations of the base, and mean squared errors."""
    s, n, torques, errors = evidence.samples, len(evidence.samples.robot), [], []
    bodies, none = s.parameters[:10 * n], np.zeros_like(s.motion.q[chosen])
    state = METHOD.state_of(s.robot, s.motion.q[chosen], none, none)
    covariance = np.linalg.inv(evidence.base.matrix)[:10 * n, :10 * n]
    covariance = covariance * s.sd[:10 * n] * s.sd[:10 * n, None]
    for unit in np.eye(2 * AXES):
        blocks = list(METHOD.regress(state, replace(s.robot, gravity_base=unit), bodies))
        rows = [(own[0].columns, np.concatenate([g.W for g in own]))
                for own in zip(*(block.groups for block in blocks))]
        torques.append(np.stack([W @ evidence.base.values[at] for at, W in rows], axis=1))
        errors.append([((W @ covariance[np.ix_(at, at)]) * W).sum(axis=1).mean()
                       for at, W in rows])
    return np.stack(torques, axis=2), np.array(errors).T


def _shared(evidence: Evidence, chosen: np.ndarray, columns: np.ndarray,
            errors: np.ndarray | float = 0.0) -> _Shared:
    """
    Return the _Shared of samples ``chosen`` (M,) by unknowns whose size is the likeliest.

    columns : (M, n, m) torques by them; errors : (n,) mean squares of the columns' own
    """
    moves, best, residual = ~evidence.samples.still, None, evidence.left[chosen]
    square = np.mean(residual ** 2, axis=0)
    largest = (columns ** 2).mean(axis=0).sum(axis=1) / np.maximum(square, 1e-300)
    for prior in PRIORS if (moves * largest).any() else ():
        variance = prior ** 2 / (moves * largest).sum()  # of an unknown
        rms = np.sqrt(square + variance * errors)
        weight = moves / np.maximum(rms, 1e-150)
        A, r = columns * weight[:, None], residual * weight
        inverse = np.linalg.inv(np.einsum('njk,njl->nkl', A, A)
                                + np.eye(columns.shape[2]) / variance)
        unknowns = np.einsum('nkl,njl,nj->nk', inverse, A, r, optimize=True)
        fitted = np.einsum('njk,nk->nj', A, unknowns)
        # Each from the others: Allen's PRESS (1974).
        others = np.einsum('njk,nkl,njl->nj', A, inverse, A, optimize=True)
        left = rms * np.sqrt(np.mean(((r - fitted) / (1.0 - others)) ** 2, axis=0))
        left = np.where(moves, np.maximum(left / np.sqrt(np.maximum(square, 1e-300)), 1e-6), 1.0)
        nats = -float(evidence.effective @ np.log(left))
        if best is None or nats > best.nats:
            best = _Shared(nats, left, unknowns, fitted * rms)
    return best or _Shared(0.0, np.ones(len(square)), np.zeros(columns[:, 0].shape),
                           np.zeros(residual.shape))


def encoders(evidence: Evidence) -> Iterator[Candidate]:
    """Yield the zero of an encoder off, by ``evidence`` for the torques' slope with angles."""
    s, names = evidence.samples, evidence.samples.robot.joint_names
    few, none = _few(evidence), np.zeros(len(s.fold))
    off = none + UNIT, none, none
    slopes = [_torques_of(evidence, k, off, few) for k in range(len(names))]
    nats, zeros = evidence.score([np.stack(own, axis=1) for own in zip(*slopes)], few).each()
    # One encoder is off, not all: the one whose zero alone brings most.
    k = int(np.argmax(nats))
    zero = -UNIT * float(zeros[k])
    if nats[k] < WORTH or abs(zero) < ENCODER:
        return
    h = evidence.hypothesis(extra=tuple(X[:, None] for X in _torques_of(evidence, k, off)))
    yield Candidate('encoder zero off', f'the zero of the position of {names[k]} is about '
                    f'{zero:+.2g} rad off', 'give position_offset: or zero the encoder', h,
                    evidence.fit(h), (names[k],), cost=float(np.log(len(names))))


def _few(evidence: Evidence) -> np.ndarray:
    """Return the FEW samples (M,) that stand for all."""
    count = len(evidence.samples.fold)
    return np.arange(0, count, max(1, count // FEW))


def elastic_joints(evidence: Evidence) -> Iterator[Candidate]:
    """
    Yield joints whose positions, measured at the motor, are off by their load over a stiffness.

    The first order of a flexible joint (Spong 1987): angles, speeds and accelerations of the link
    lag by the torque and its slopes, in the torques of all joints at once.
    """
    s, names = evidence.samples, evidence.samples.robot.joint_names
    few = _few(evidence)
    load = np.stack([s.torque(j, evidence.base.values) for j in range(len(names))], axis=1)
    size = np.maximum(np.sqrt(np.mean(load ** 2, axis=0)), 1e-300)
    bent = {k: _with_slopes(s.motion.t, -BENDS * load[:, k] / size[k])
            for k in map(int, np.flatnonzero(~s.still))}
    bends = {k: _torques_of(evidence, k, bent[k], few) for k in bent}
    nats, values = evidence.score([np.stack(own, axis=1) for own in zip(*bends.values())],
                                  few).each()
    worth = [k for k, own, x in zip(bends, nats, values) if own > WORTH and x > 0.0]
    if not worth:
        return
    whole = {k: _torques_of(evidence, k, bent[k]) for k in worth}
    tried: list[tuple[tuple[Hypothesis, Fitted], tuple[int, ...]]] = [
        (_bending(evidence, whole, (k,)), (k,)) for k in worth]
    several = tuple(own[0] for (_, fit), own in tried
                    if fit.evidence > evidence.base.evidence + WORTH)
    if len(several) > 1:
        tried.append((_bending(evidence, whole, several), several))
    (h, fit), joints = max(tried, key=lambda one: one[0][1].evidence)
    found = fit.values[len(s.mean):]
    error = np.sqrt(np.diagonal(np.linalg.inv(fit.matrix))[len(s.mean):])
    sure = [n for n, k in enumerate(joints) if found[n] > CERTAINLY * error[n]]
    if not sure or (found < -CERTAINLY * error).any():
        return
    stiffness = [float(f'{size[joints[n]] / BENDS / found[n]:.2g}') for n in sure]
    each = ', '.join(f'{names[joints[n]]} by 1 {"m" if s.robot.prismatic[joints[n]] else "rad"} '
                     f'for {x:g} {"N" if s.robot.prismatic[joints[n]] else "N m"}'
                     for n, x in zip(sure, stiffness))
    yield Candidate('elastic joint', f'joints bend under their load: {each}',
                    'measure positions at the links, or move more slowly', h, fit,
                    tuple(names[joints[n]] for n in sure), severity=DOUBTFUL, surely=True,
                    cost=float(np.log(2 * len(names))))


def _with_slopes(t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return x (N,) of times ``t`` (N,), its slope and the slope of that."""
    slope = np.gradient(x, t)
    return x, slope, np.gradient(slope, t)


def _bending(evidence: Evidence, bends: dict[int, list[np.ndarray]], joints: tuple[int, ...]
             ) -> tuple[Hypothesis, Fitted]:
    """Return (Hypothesis, Fitted) of ``joints`` that bend by free shares of ``bends``."""
    h = evidence.hypothesis(extra=tuple(np.stack(own, axis=1)
                                        for own in zip(*(bends[k] for k in joints))))
    return h, evidence.fit(h)


def _torques_of(evidence: Evidence, joint: int, change: Sequence[np.ndarray],
                chosen: np.ndarray | slice = slice(None)) -> list[np.ndarray]:
    """
    Return per joint (M,) how torques of samples ``chosen`` (M,) follow a change of a ``joint``.

    change : of its angle, speed and acceleration, (N,) each in all samples
    """
    s, n = evidence.samples, len(evidence.samples.robot)
    motion, values = s.motion.rows(chosen), evidence.base.values[:10 * n]
    moved = [b.predicted(values) for b in METHOD.regress(METHOD.state_of(s.robot, *(
        x + SMALL * np.outer(d[chosen], np.arange(n) == joint)
        for x, d in zip((motion.q, motion.v, motion.a), change))), s.robot, s.parameters[:10 * n])]
    return [(np.concatenate([b[name] for b in moved])
             - s.torque(j, evidence.base.values)[chosen]) / SMALL
            for j, name in enumerate(s.robot.joint_names)]


def backlash(evidence: Evidence) -> Iterator[Candidate]:
    """
    Yield the joint with play: the links leap from flank to flank where its load changes sign.

    The residual of all joints around these moments is compared with windows elsewhere, by how it
    scatters there; what a joint's friction does as its own speed is reversed is left out.
    """
    s, names = evidence.samples, evidence.samples.robot.joint_names
    t, half = s.motion.t, max(AROUND, SAMPLES * float(np.median(np.diff(s.motion.t))))
    counted = np.stack([(np.abs(v) > WIDTH) & ~_near(t, _reversals(t, v), 2.0 * half)
                        for v in s.motion.v.T], axis=1)
    energy = (evidence.left ** 2 / np.mean(evidence.left ** 2, axis=0) * counted).sum(axis=1)
    starts, tried = np.arange(t[0], t[-1] - 2.0 * half, 2.0 * half), []
    for k in map(int, np.flatnonzero(~s.still)):
        at = _reversals(t, s.torque(k, evidence.base.values))
        apart = starts[~_near(starts + half, at, 2.0 * half)]
        there, elsewhere = (_levels(t, energy, counted.sum(axis=1), x, 2.0 * half)
                            for x in (at - half, apart))
        if len(there) < FEWEST or len(elsewhere) < 2 * FEWEST:
            continue
        error = max(elsewhere.std(), SCATTER) * np.sqrt(1 / len(there) + 1 / len(elsewhere))
        louder = there.mean() - elsewhere.mean()
        tried.append((0.5 * max(louder / error, 0.0) ** 2, k, np.exp(louder), len(there)))
    nats, k, times, count = max(tried, default=(0.0, 0, 1.0, 0))
    if nats < SURELY:
        return
    base, share = evidence.base, _near(t, _reversals(t, s.torque(k, evidence.base.values)), half)
    left = np.sqrt(np.mean(evidence.left[~share] ** 2, axis=0)
                   / np.mean(evidence.left ** 2, axis=0))
    yield Candidate('backlash', f'the residual is {times:.2g} times larger around the {count} '
                    f'reversals of the load of {names[k]} than elsewhere: play of its gear or of '
                    'its coupling', f'look for play of {names[k]}, or load it one way by gravity',
                    evidence.as_recorded, replace(base, evidence=base.evidence + nats,
                                                  residual=base.residual * np.minimum(left, 1.0)),
                    (names[k],), severity=DOUBTFUL, cost=float(np.log(len(names))), surely=True,
                    tests='the residual at reversals of a load against the residual elsewhere')


def _reversals(t: np.ndarray, course: np.ndarray) -> np.ndarray:
    """Return the times (k,) [s] between successive samples at which a ``course`` (N,) is zero."""
    k = np.flatnonzero((course[1:] > 0.0) != (course[:-1] > 0.0))
    return t[k] + (t[k + 1] - t[k]) * course[k] / (course[k] - course[k + 1])


def _near(t: np.ndarray, moments: np.ndarray, distance: float) -> np.ndarray:
    """Return (N,) bool which times are nearer to one of some ``moments`` (k,) [s]."""
    low, high = (np.searchsorted(moments, x) for x in (t - distance, t + distance))
    return np.asarray(high > low)


def _levels(t: np.ndarray, energy: np.ndarray, count: np.ndarray, starts: np.ndarray,
            width: float) -> np.ndarray:
    """Return the logarithms of the RMS of windows that begin at ``starts`` and hold a count."""
    low, high = (np.searchsorted(t, x) for x in (starts, starts + width))
    total, number = (np.append(0.0, np.cumsum(x))[[high, low]] for x in (energy, count))
    total, number = total[0] - total[1], number[0] - number[1]
    full = (number > 0) & (total > 0.0) & (high - low >= 2)
    return np.asarray(0.5 * np.log(total[full] / number[full]))
