"""
Contacts: windows in which the residual is far beyond what it is elsewhere.

They are left out.  The residual is that of a model which the worst segments of the motion take no
part in, as a contact bends a fit of all.  Friction explains anything where a joint stands or turns
round, and the filter smears it into the samples beside: neither says anything of a contact.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtri

from .finding import Finding, MASKED
from .signals import Runs, runs
from .thin_samples import thin_samples
from .thresholds import (CONTACT_CERTAIN, CONTACT_FAR, CONTACT_LOAD, CONTACT_SHARE, CONTACT_SLOW,
                         CONTACT_WINDOW, FIFTH, MOTION_BEGINS, SLOW)
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.systems import Systems
from ..measurement.sampling import moving_mean

USUAL = 0.8      # of the windows have no contact: their scatter says what is far beyond
LEAST = 0.25     # least scatter of a logarithm: a window has few independent samples
NOISE = 0.003    # of the torque: no residual of a robot is smaller
SUSPICIOUS = 2.0  # standard deviations of a window that belongs to a contact beside it


def contacts(data: Dataset, systems: Systems, places: np.ndarray,
             efforts: np.ndarray | None = None) -> list[Finding]:
    """
    Return the Findings of contacts in a Dataset of one recording.

    places : (k,) columns of the model of ``systems``
    efforts : (n, n) what the torque of each joint takes of all efforts, by column; its own: None
    """
    samples = thin_samples(data, systems, places, efforts)
    return contact_findings(
        samples.t, samples.residual, np.sqrt(np.mean(samples.torque ** 2, axis=0)),
        samples.velocity, dict(zip(data.robot.joint_names, data.robot.parents)),
        1.0 / data.observations[0].summary['cutoff'])


def contact_findings(t: np.ndarray, residual: np.ndarray, torque: np.ndarray,
                     velocity: np.ndarray, parents: Mapping[str, int], smear: float
                     ) -> list[Finding]:
    """
    Return the Finding of windows that are far beyond the others, if there are any.

    t : (N,) [s]; residual : (N, n), torque : (n,) rms of what was measured [N m, N]
    velocity : (N, n); parents : {joint: number of the one before it, -1 of none}
    smear : [s] over which the filter spreads a step
    """
    step = max(float(np.median(np.diff(t))), 1e-4)
    size = max(1, round(CONTACT_WINDOW / step))
    moving = moving_mean(slow(velocity), max(size, round(smear / step))) < 1e-9
    far, beyond = _windows(residual, torque, moving, size)
    nats = 0.5 * np.maximum(beyond, 0.0) ** 2 - np.log(max(1.0, len(t) / size))
    rms = np.sqrt(np.maximum(moving_mean(residual ** 2, size, 'constant'), 0.0))
    hit = (nats > CONTACT_CERTAIN)[:, None] & (far > CONTACT_FAR) & (rms > FIFTH * torque)
    hit &= rms <= _before(rms * (far > CONTACT_FAR), [*parents.values()])
    hit &= (np.linalg.norm(rms * hit, axis=1) > CONTACT_LOAD * np.linalg.norm(torque))[:, None]
    for a, b in runs((beyond > SUSPICIOUS) | hit.any(axis=1)):
        hit[a:b + 1] = hit[a:b + 1].any(axis=0)
    windows = [(a, b) for a, b in _joined(t, runs(hit.any(axis=1)))
               if min(t[a] - t[0], t[-1] - t[b]) > MOTION_BEGINS]
    chosen = np.concatenate([np.arange(a, b + 1) for a, b in windows] or [np.zeros(0, int)])
    if not 0 < len(chosen) <= CONTACT_SHARE * len(t):
        return []
    touched = tuple(n for n, own in zip(parents, hit[chosen].any(axis=0)) if own)
    return [Finding('contact', f'the efforts of {", ".join(touched)} are far from what the motion '
                    'explains: contact, a push or a collision', 'residuals of a joint in a window '
                    'against those in all others', float(nats[chosen].max()), 'nats', touched,
                    MASKED, 'move without touching anything',
                    tuple((float(t[a]), float(t[b])) for a, b in windows))]


def slow(velocity: np.ndarray) -> np.ndarray:
    """Return (N, n) 1 where joints rest, or are slow beside their usual ``velocity`` (N, n)."""
    usual = np.sqrt(np.mean(velocity ** 2, axis=0))
    return (np.abs(velocity) <= np.maximum(CONTACT_SLOW * usual, SLOW)).astype(float)


def _before(rms: np.ndarray, parents: Sequence[int]) -> np.ndarray:
    """
    Return (N, n) the torque by which joints before each one are off together, inf where none is.

    What touches a link loads the joints before it by longer levers: one joint alone has friction.
    """
    square = np.full_like(rms, np.inf)
    for j, parent in enumerate(parents):
        if parent >= 0:
            further = square[:, parent] if parents[parent] >= 0 else 0.0
            square[:, j] = rms[:, parent] ** 2 + further
    return np.sqrt(square)


def _windows(residual: np.ndarray, torque: np.ndarray, moving: np.ndarray, size: int
             ) -> tuple[np.ndarray, np.ndarray]:
    """
    Return residuals in windows of ``size`` samples (N, n), and how far beyond all are (N,).

    The first are RMS in units of what is usual of each joint, the second standard deviations of
    the logarithm of their mean square, which is theirs: heavy tails of friction are no event.
    Where a joint is not ``moving`` (N, n) its samples count for nothing.
    """
    usual = np.sqrt([np.quantile(own[k] if k.any() else own, USUAL)
                     for own, k in zip(residual.T ** 2, moving.T)])
    r = moving * residual / np.maximum(usual, NOISE * torque)
    square = np.maximum(moving_mean(r ** 2, size, 'constant'), 1e-12)
    counted = moving.any(axis=1)
    level = 0.5 * np.log(square.sum(axis=1) / np.maximum(moving.sum(axis=1), 1.0))
    middle, high = np.quantile(level[counted], (0.5, USUAL)) if counted.any() else (0.0, 0.0)
    return np.sqrt(square), (level - middle) / max((high - middle) / ndtri(USUAL), LEAST)


def _joined(t: np.ndarray, found: Runs) -> Runs:
    """Return the ``found`` runs, one where they are nearer than the averaging."""
    out: Runs = []
    for a, b in found:
        near = bool(out) and t[a] - t[out[-1][1]] < 2 * CONTACT_WINDOW
        out.append((out.pop()[0] if near else a, b))
    return out
