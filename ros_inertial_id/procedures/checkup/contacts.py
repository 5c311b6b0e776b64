"""
Contacts: windows in which the residual is far beyond what it is elsewhere (a push, a collision).
"""

import numpy as np
from scipy.ndimage import uniform_filter1d

from .evidence import Evidence
from .finding import Finding, MASKED
from .raw_signals import runs
from .rows import chosen_rows, WIDTH

WINDOW = 0.2     # [s] over which residuals are averaged
BEYOND = 6.0     # robust standard deviations of that average
CERTAIN = 20.0   # nats of a window: the residuals of a model are not Gaussian
VISIBLE = 0.2    # of the joint's torque: a stretch that by itself would not be good
RARE = 0.2       # share of the samples: more is no event but how the data are
MARGIN = 0.1     # [s] on either side
ROUNDS = 2       # the fit without the windows shows them better


def without_contacts(evidence: Evidence) -> tuple[Evidence, list[Finding]]:
    """Return the ``evidence`` of the samples without contact, and one Finding per recording."""
    whole = evidence
    found: list[Finding] = []
    for _ in range(ROUNDS):
        hit, nats = _beyond(whole, evidence)
        if not hit.any() or hit.any(axis=1).mean() > RARE:
            break
        found = _findings(whole, hit, nats)
        evidence = Evidence(chosen_rows(whole.rows, np.asarray(~hit.any(axis=1))))
    return evidence, found


def _beyond(whole: Evidence, fitted: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Return (N, n) whether a residual is beyond the others, and (N, n) its evidence [nats]."""
    r = whole.residuals(whole.as_recorded, fitted.base)
    motion = whole.rows.motion
    scale = np.maximum(1.4826 * np.median(np.abs(r), axis=0), 0.01 * fitted.base.torque)
    z2 = np.empty_like(r)
    for number in np.unique(motion.number):
        own = np.flatnonzero(motion.number == number)
        step = max(float(np.median(np.diff(motion.t[own]))), 1e-4)
        size = max(1, int(round(WINDOW / step)))
        # At rest friction takes any value below its limit: that is no contact.
        z = r[own] / scale * (np.abs(motion.v[own]) > WIDTH)
        z2[own] = np.maximum(uniform_filter1d(z ** 2, size, axis=0), 0.0)
    per_sample = whole.effective / len(r)
    nats = 0.5 * np.maximum(z2 - 1.0 - np.log(np.maximum(z2, 1e-12)), 0.0) * per_sample
    hit = (z2 > BEYOND ** 2) & (np.sqrt(z2) * scale > VISIBLE * fitted.base.torque)
    for j in range(r.shape[1]):
        for a, b in runs(hit[:, j]):
            if nats[a:b + 1, j].sum() < CERTAIN:
                hit[a:b + 1, j] = False
    return hit, nats


def _findings(whole: Evidence, hit: np.ndarray, nats: np.ndarray) -> list[Finding]:
    motion, names, out = whole.rows.motion, whole.rows.robot.joint_names, []
    for number in np.unique(motion.number):
        own = motion.number == number
        if not hit[own].any():
            continue
        joints = tuple(n for j, n in enumerate(names) if hit[own, j].any())
        t = motion.t[own]
        windows = _joined([(t[a], t[b]) for a, b in runs(hit[own].any(axis=1))])
        out.append(Finding(
            'contact', f'the efforts of {", ".join(joints)} are far from what the motion '
            'explains: contact, a push or a collision', 'residuals in a window against all others',
            float((nats * hit)[own].sum()), 'nats', joints, MASKED,
            'move without touching anything', windows, int(number)))
    return out


def _joined(windows: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return windows as one where they are nearer than the averaging is long."""
    out: list[tuple[float, float]] = []
    for start, end in windows:
        if out and start - out[-1][1] < 2 * WINDOW:
            out[-1] = (out[-1][0], end)
        else:
            out.append((float(start), float(end)))
    return tuple(out)
