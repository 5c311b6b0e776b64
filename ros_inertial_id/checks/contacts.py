"""
Contacts: what pushes the arm for a while.

Short ones are windows in which the residual is far beyond what it is elsewhere: they are left
out.  One of several seconds bends the fit that should show it: it is an alternative, a torque of
the shape of half a sine or constant, that is there from one time to another.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy.special import ndtri

from .evidence import Evidence, VISIBLE, WORTH
from .finding import CERTAIN, DOUBTFUL, FIFTH, Finding, MASKED
from .hypothesis import Candidate
from .samples import correlation_of, WIDTH
from .signals import runs
from ..measurement.spectral import moving_mean

WINDOW = 0.2     # [s] over which residuals are averaged
RARE = 0.2       # share of the samples: more is no event but how the data are
USUAL = 1.0 - RARE  # of the windows have no contact: their scatter says what is far beyond
LEAST = 0.25     # least scatter of the logarithm: of the few independent samples of a window
NOISE = 0.003    # of the torque: no residual of a robot is smaller
FAR = 3.0        # times the residual of the whole joint
BEGIN = 1.5      # [s] in which a motion begins or ends
MARGIN = 0.1     # [s] on either side
SUSPICIOUS = 2.0  # standard deviations of a window, from which a closer look is worth it
STEPS = 3        # of the fit without the worst samples, which shows these better
NEIGHBOURS = 5   # samples: what comes alone is noise
PIECES = 24      # of time, between which a long push begins and ends
FEWEST = 20      # samples of a piece
LESS = 0.9       # of its residual: a joint that is concerned


def without_contacts(evidence: Evidence) -> tuple[Evidence, list[Finding]]:
    """Return the ``evidence`` of the samples without contact, and the Findings."""
    if _windows(evidence, evidence)[1].max() < SUSPICIOUS:
        return evidence, []
    hit, nats = _hits(evidence, _trimmed(evidence))
    if not hit.any() or hit.any(axis=1).mean() > RARE:
        return evidence, []
    found, t = _findings(evidence, hit, nats), evidence.samples.motion.t
    keep = np.ones(len(t), dtype=bool)
    for start, end in (w for f in found for w in f.windows):
        keep &= (t < start) | (t > end)
    return (evidence if keep.all() else Evidence(evidence.samples.chosen(keep))), found


def _trimmed(whole: Evidence) -> Evidence:
    """
    Return the Evidence of the samples that it explains best: a contact bends a fit of all.

    Least trimmed squares by concentration steps (Rousseeuw and Van Driessen 2006).
    """
    fitted, plain = whole, whole.samples.as_declared
    for _ in range(STEPS):
        left = whole.residuals(whole.as_recorded, fitted.base) / fitted.base.residual
        size = moving_mean((left ** 2).sum(axis=1), NEIGHBOURS)
        keep = size < np.quantile(size, USUAL)
        fitted = Evidence(plain.chosen(keep), whole.effective)
    return fitted


def _windows(whole: Evidence, fitted: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the mean squares of residuals in windows around every sample, and how far beyond.

    whole : of all samples; fitted : of those that give the parameters
    Both are (N, n): of residuals while their joint moves; and by how many standard deviations of
    the windows of a joint these are too large.
    """
    motion = whole.samples.motion
    moving = np.abs(motion.v) > WIDTH
    # At rest friction takes any value below its limit: that is no contact.
    r = whole.residuals(whole.as_recorded, fitted.base) * moving
    step = max(float(np.median(np.diff(motion.t))), 1e-4)
    size = max(1, int(round(WINDOW / step)))
    square = np.maximum(moving_mean(r ** 2, size, 'constant'), 0.0)
    level = 0.5 * np.log(np.maximum(square, (NOISE * fitted.base.torque) ** 2))
    # How residuals scatter from window to window is theirs: heavy tails of friction are no event.
    counted = np.where(moving | ~moving.any(axis=0), level, np.nan)
    middle, high = np.nanquantile(counted, (0.5, USUAL), axis=0)
    return square, (level - middle) / np.maximum((high - middle) / ndtri(USUAL), LEAST)


def _hits(whole: Evidence, fitted: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, n) what is hit that the ``fitted`` samples do not explain, and (N,) its nats."""
    square, beyond = _windows(whole, fitted)
    # What lasts longer than a window makes fewer of them independent.
    count = max(1.0, np.ptp(whole.samples.motion.t) / WINDOW)
    cost = float(np.log(np.minimum(count, whole.effective).sum()))
    nats = 0.5 * np.maximum(beyond, 0.0) ** 2 - cost
    hit = (nats > CERTAIN) & (np.sqrt(square) > np.maximum(FIFTH * fitted.base.torque,
                                                           FAR * fitted.base.residual))
    # What touches the arm loads it as a whole: a small joint alone has friction of its own.
    loaded = np.sqrt((square * hit).sum(axis=1)) > VISIBLE * np.linalg.norm(fitted.base.torque)
    return _grown(hit & loaded[:, None], beyond > SUSPICIOUS), (nats * hit).max(axis=1)


def _grown(hit: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Return (N, n) the stretches that are ``beyond`` the usual and hold a ``hit``."""
    out = np.zeros_like(hit)
    for j in range(hit.shape[1]):
        for a, b in runs(beyond[:, j] | hit[:, j]):
            out[a:b + 1, j] = hit[a:b + 1, j].any()
    return out


def _findings(whole: Evidence, hit: np.ndarray, nats: np.ndarray) -> list[Finding]:
    """Return the Finding of what is ``hit`` (N, n), as sure as (N,) ``nats``, or none."""
    t, names = whole.samples.motion.t, whole.samples.robot.joint_names
    windows: list[tuple[float, float]] = []
    for a, b in runs(np.asarray(hit.any(axis=1))):  # one where nearer than the averaging
        near = bool(windows) and t[a] - windows[-1][1] < 2 * WINDOW
        windows.append((windows.pop()[0] if near else float(t[a]), float(t[b])))
    inside = {w: np.flatnonzero((t >= w[0]) & (t <= w[1])) for w in windows}
    # As the motion begins or ends friction does what no law describes: to all joints at the very
    # end, to one alone near it.  That is no contact.
    touched = tuple(w for w, k in inside.items() if min(w[0] - t[0], t[-1] - w[1]) >= (
        BEGIN if hit[k].any(axis=0).sum() <= 1 else WINDOW))
    if not touched:
        return []
    k = np.concatenate([inside[w] for w in touched])
    joints = tuple(n for n, own in zip(names, hit[k].any(axis=0)) if own)
    return [Finding('contact', f'the efforts of {", ".join(joints)} are far from what the motion '
                    'explains: contact, a push or a collision', 'residuals of a joint in a window '
                    'against those in all others', float(nats[k].max()), 'nats', joints, MASKED,
                    'move without touching anything', touched)]


def long_pushes(evidence: Evidence) -> Iterator[Candidate]:
    """Yield a push of several seconds by ``evidence``: a link that is pushed loads many joints."""
    s, found = evidence.samples, _best_shape(evidence)
    if found is None:
        return
    column, cost = found
    moved, t = np.flatnonzero(~s.still), s.motion.t[np.flatnonzero(column)]
    columns = np.outer(column, evidence.base.torque[moved])
    h = evidence.hypothesis(extra=tuple(columns * (moved == j) for j in range(len(s.robot))))
    fit = evidence.fit(h)
    # A torque that is there for long correlates the residual without it, so that few samples seem
    # independent, though they are where it is known.
    other = Evidence(s, np.maximum(evidence.effective, evidence.effective_of(h, fit)))
    nats = other.fit(h).evidence - other.base.evidence
    joints = tuple(s.robot.joint_names[j] for j in moved
                   if fit.residual[j] < LESS * evidence.base.residual[j])
    if joints and min(t[0] - s.motion.t[0], s.motion.t[-1] - t[0]) > BEGIN:
        yield Candidate('contact', f'the efforts of {", ".join(joints)} are off from {t[0]:.1f} '
                        f'to {t[-1]:.1f} s: a long push, a load or an offset of the sensor',
                        'move without touching anything', h,
                        replace(fit, evidence=evidence.base.evidence + nats), joints,
                        severity=DOUBTFUL, cost=cost)


def _best_shape(evidence: Evidence) -> tuple[np.ndarray, float] | None:
    """
    Return the shape (N,) of a push that explains a joint best, and the nats of the choice.

    Scores on pieces of time ask for all shapes of a joint at once.  None where none is worth it.
    """
    s, samples = evidence.samples, len(evidence.samples.fold)
    count = min(PIECES, samples // FEWEST)
    if count < 3:
        return None
    piece = np.arange(samples) * count // samples
    shapes = np.array([shape(count, low, high) for shape in (_constant, _bump)
                       for low, high in combinations(range(1, count + 1), 2)])
    best, most = None, WORTH
    for j in map(int, np.flatnonzero(~s.still)):
        own = evidence.score(evidence.of_joint(
            j, evidence.base.torque[j] * (piece[:, None] == np.arange(count))))
        bare = own.information - np.eye(count)  # without the prior of each column
        nats = 0.5 * (shapes @ own.toward) ** 2 / (
            1.0 + ((shapes @ bare) * shapes).sum(axis=1))
        k = int(np.argmax(nats))
        gain = _of_shares(evidence, j, float(nats[k]), shapes[k][piece])
        if gain > most:
            best, most = shapes[k][piece], gain
    return None if best is None else (best, float(np.log(len(shapes) * len(s.robot))))


def _constant(count: int, low: int, high: int) -> np.ndarray:
    """Return (count,) ones from ``low`` to ``high``, zeros elsewhere."""
    k = np.arange(count)
    return ((k >= low) & (k < high)).astype(float)


def _bump(count: int, low: int, high: int) -> np.ndarray:
    """Return (count,) half a sine from ``low`` to ``high``, zeros elsewhere."""
    return _constant(count, low, high) * np.sin(np.pi * (np.arange(count) + 0.5 - low)
                                                / (high - low))


def _of_shares(evidence: Evidence, j: int, nats: float, column: np.ndarray) -> float:
    """
    Return the ``nats`` of a score as those of a fit that removes as much of the residual.

    column : (N,) that it is of; independent samples are counted in what it leaves
    """
    left, shape = evidence.left[:, j], column - column.mean()
    whole = evidence.base.weight[j] * float(left @ left)
    gone = min(2.0 * nats / max(whole, 1e-300), 1.0 - NOISE ** 2)
    rest = left - shape * (shape @ left) / max(float(shape @ shape), 1e-300)
    count = max(evidence.effective[j], len(rest) / correlation_of(rest))
    return float(-0.5 * count * np.log1p(-gone))
