"""Contacts: windows in which the residual is far beyond what it is elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from .evidence import CERTAIN, Evidence
from .finding import Finding, MASKED, NOTE
from .samples import Samples, WIDTH
from .signals import runs
from ..measurement.spectral import moving_mean

SAYS = {'contact': 'the efforts of {} are far from what the motion explains: contact, a push or a '
        'collision', 'transient': 'the efforts of {} do not follow the motion where it begins or '
        'ends'}
DO = {'contact': 'move without touching anything',
      'transient': 'cut the first and last second off with BAG@START:END'}
WINDOW = 0.2     # [s] over which residuals are averaged
RARE = 0.2       # share of the samples: more is no event but how the data are
USUAL = 1.0 - RARE  # of the windows have no contact: their scatter says what is far beyond
LEAST = 0.25     # least scatter of the logarithm: of the few independent samples of a window
NOISE = 0.003    # of the torque: no residual of a robot is smaller
VISIBLE = 0.2    # of the joint's torque: a stretch that by itself would not be good
FAR = 3.0        # times the residual of the whole joint
SEEN = 0.02      # of the torque of all joints
BEGIN = 1.5      # [s] in which a motion begins or ends
MARGIN = 0.1     # [s] on either side
SUSPICIOUS = 2.0  # standard deviations of a window, from which a closer look is worth it
STEPS = 3        # of the fit without the worst samples, which shows these better
NEIGHBOURS = 5   # samples: what comes alone is noise
WEAK = 0.02      # of a link's strongest lever: a force along a weaker one is not seen


@dataclass(frozen=True)
class _Windows:
    """
    What a fit leaves in windows around every sample.

    mean, square : (N, n) of the residuals while their joint moves; floor : (n,) least square
    middle, scatter : (n,) of the logarithm of their size from window to window
    """

    mean: np.ndarray
    square: np.ndarray
    floor: np.ndarray
    middle: np.ndarray
    scatter: np.ndarray

    def beyond(self, square: np.ndarray) -> np.ndarray:
        """Return by how many standard deviations windows of mean ``square`` are too loud."""
        level = 0.5 * np.log(np.maximum(square, self.floor))
        return np.asarray((level - self.middle) / self.scatter)

    def nats(self, square: np.ndarray) -> np.ndarray:
        """Return how improbable it is that a window has a mean ``square`` as large."""
        return 0.5 * np.maximum(self.beyond(square), 0.0) ** 2


@dataclass(frozen=True)
class _Hits:
    """hit : (N, n) what is hit; alone : (N, n) for itself; nats : (N,) of the surest cause."""

    hit: np.ndarray
    alone: np.ndarray
    nats: np.ndarray


def without_contacts(evidence: Evidence) -> tuple[Evidence, list[Finding]]:
    """Return the ``evidence`` of the samples without contact, and the Findings."""
    windows = _windows(evidence, evidence)
    if windows.beyond(windows.square).max() < SUSPICIOUS:
        return evidence, []
    hits = _hits(evidence, _trimmed(evidence))
    if not hits.hit.any() or hits.hit.any(axis=1).mean() > RARE:
        return evidence, []
    found, t = _findings(evidence, hits), evidence.samples.motion.t
    keep = np.ones(len(t), dtype=bool)
    for start, end in (w for f in found if f.severity == MASKED for w in f.windows):
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


def _windows(whole: Evidence, fitted: Evidence) -> _Windows:
    """Return the _Windows of the ``whole`` by the parameters of the ``fitted`` samples."""
    motion = whole.samples.motion
    moving = np.abs(motion.v) > WIDTH
    # At rest friction takes any value below its limit: that is no contact.
    r = whole.residuals(whole.as_recorded, fitted.base) * moving
    step = max(float(np.median(np.diff(motion.t))), 1e-4)
    size = max(1, int(round(WINDOW / step)))
    mean = moving_mean(r, size, 'constant')
    square = np.maximum(moving_mean(r ** 2, size, 'constant'), 0.0)
    floor = (NOISE * fitted.base.torque) ** 2
    level = 0.5 * np.log(np.maximum(square, floor))
    # How residuals scatter from window to window is theirs: heavy tails of friction are no event.
    counted = np.where(moving | ~moving.any(axis=0), level, np.nan)
    middle, high = np.nanquantile(counted, (0.5, USUAL), axis=0)
    return _Windows(mean, square, floor, middle,
                    np.maximum((high - middle) / ndtri(USUAL), LEAST))


def _hits(whole: Evidence, fitted: Evidence) -> _Hits:
    """Return the _Hits of the ``whole`` that the ``fitted`` samples do not explain."""
    w = _windows(whole, fitted)
    beyond, nats = w.beyond(w.square), w.nats(w.square)
    # What lasts longer than a window makes fewer of them independent.
    count = max(1.0, np.ptp(whole.samples.motion.t) / WINDOW)
    cost = float(np.log(np.minimum(count, whole.effective).sum()))
    pushed = np.full(len(beyond), -np.inf)
    chosen = np.flatnonzero(nats.sum(axis=1) > CERTAIN + cost)  # a force explains no more
    if len(chosen):
        pushed[chosen] = force_nats(whole.samples, chosen, w.mean[chosen], w.square[chosen],
                                    np.exp(w.middle), w.nats) - cost
    large = np.sqrt(w.square) > np.maximum(VISIBLE * fitted.base.torque,
                                           FAR * fitted.base.residual)
    alone = (nats - cost > CERTAIN) & large
    hit = alone | ((pushed > CERTAIN)[:, None] & (beyond > SUSPICIOUS) & large)
    # What touches the arm loads it as a whole: a small joint alone has friction of its own.
    loaded = np.sqrt((w.square * hit).sum(axis=1)) > SEEN * np.linalg.norm(fitted.base.torque)
    return _Hits(_grown(hit & loaded[:, None], beyond > SUSPICIOUS), alone,
                 np.maximum((nats * alone).max(axis=1) - cost, pushed))


def _grown(hit: np.ndarray, beyond: np.ndarray) -> np.ndarray:
    """Return (N, n) the stretches that are ``beyond`` the usual and hold a ``hit``."""
    out = np.zeros_like(hit)
    for j in range(hit.shape[1]):
        for a, b in runs(beyond[:, j] | hit[:, j]):
            out[a:b + 1, j] = hit[a:b + 1, j].any()
    return out


def _findings(whole: Evidence, hits: _Hits) -> list[Finding]:
    t, names, out = whole.samples.motion.t, whole.samples.robot.joint_names, []
    windows: list[tuple[float, float]] = []
    for a, b in runs(np.asarray(hits.hit.any(axis=1))):  # one where nearer than the averaging
        near = bool(windows) and t[a] - windows[-1][1] < 2 * WINDOW
        windows.append((windows.pop()[0] if near else float(t[a]), float(t[b])))
    inside = {w: np.flatnonzero((t >= w[0]) & (t <= w[1])) for w in windows}
    # As the motion begins or ends friction does what no law describes: to all joints at the very
    # end, to one alone near it.
    begins = tuple(w for w, k in inside.items() if min(w[0] - t[0], t[-1] - w[1]) < (
        BEGIN if hits.alone[k].any(axis=0).sum() <= 1 else WINDOW))
    touched = tuple(w for w in windows if w not in begins)
    for some, name, severity in ((touched, 'contact', MASKED), (begins, 'transient', NOTE)):
        if not some:
            continue
        k = np.concatenate([inside[w] for w in some])
        joints = tuple(n for n, hit in zip(names, hits.hit[k].any(axis=0)) if hit)
        out.append(Finding(name, SAYS[name].format(', '.join(joints)),
                           'residuals in a window against all others, of a joint alone or as a '
                           'force on a link makes them', float(hits.nats[k].max()), 'nats',
                           joints, severity, DO[name], some))
    return out


def force_nats(samples: Samples, chosen: np.ndarray, mean: np.ndarray, square: np.ndarray,
               usual: np.ndarray, nats: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """
    Return (M,) nats that the best force on the middle of one link explains, less its unknowns.

    It loads every joint that carries the link: J' f (Haddadin et al. 2017).  Three unknowns
    explain all joints at once, so a push that is small in each of them is certain in all together,
    and friction of some joints is none: no force loads these alone.
    samples : all; chosen : (M,) samples; mean, square : (M, n) of the residuals around
    these; usual : (n,) size of residuals [N m]; nats : (..., n) of a mean square of residuals
    """
    levers = link_levers(samples, chosen)
    force = np.linalg.pinv(levers / usual[:, None], rcond=WEAK) @ (mean / usual)[..., None]
    torque = (levers @ force)[..., 0]
    left = square - 2.0 * mean * torque + torque ** 2
    explained = (nats(square) - nats(left)).sum(axis=2)
    loaded = np.any(levers != 0.0, axis=(1, 3)).sum(axis=1)
    return np.asarray((explained - np.minimum(loaded, 3)[:, None]).max(axis=0))


def link_levers(samples: Samples, chosen: np.ndarray) -> np.ndarray:
    """
    Return (links, M, n, 3): torques of unit forces on each link, where its gravity pulls.

    samples : all; chosen : (M,) of them
    """
    count = len(samples.robot)
    bodies = samples.mean[:10 * count].reshape(count, 10)
    mass = np.where(bodies[:, :1] > 0.0, bodies[:, :1], np.inf)
    point = np.hstack([np.ones((count, 1)), bodies[:, 1:4] / mass])
    out = np.zeros((count, len(chosen), count, 3))
    for j, (at, heavy) in enumerate(zip(samples.places, samples.heavy)):
        links = at[heavy][::4] // 10
        pulled = samples.matrices[j][chosen, len(at):].reshape(len(chosen), 3, len(links), 4)
        out[links, :, j] = np.einsum('mxlk,lk->lmx', pulled, point[links])
    return out
