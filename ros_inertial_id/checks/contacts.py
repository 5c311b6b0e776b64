"""
Contacts: short ones are windows in which the residual is far beyond what it is elsewhere.

They are left out.  The residual is that of a model which the worst stretches of the motion take no
part in, as a contact bends a fit of all.  Long pushes are torques of several seconds, constant or
half a sine: a link that is pushed loads many joints, and an offset of a sensor that changes looks
the same.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import ndtri

from .finding import DOUBTFUL, Finding, MASKED
from .signals import Runs, runs
from .thin_samples import amid, slow, thin_samples, ThinSamples
from .thresholds import (CERTAIN, CONTACT_CERTAIN, CONTACT_FAR, CONTACT_LOAD, CONTACT_SHARE,
                         CONTACT_WINDOW, FIFTH, PUSH_LESS)
from ..estimation.residuals import autocovariances, correlation_time
from ..identification.prepare.dataset import Dataset
from ..identification.reduce.systems import Systems
from ..measurement.sampling import moving_mean

USUAL = 0.8      # of the windows have no contact: their scatter says what is far beyond
LEAST = 0.25     # least scatter of a logarithm: a window has few independent samples
NOISE = 0.003    # of the torque: no residual of a robot is smaller
SUSPICIOUS = 2.0  # standard deviations of a window that belongs to a contact beside it
PIECES = 24      # of time, between which a long push begins and ends
ROUNDING = 1e-5  # of the squared residual, that a push leaves: less is rounding
TINY = 1e-9


def contacts(data: Dataset, systems: Systems, places: np.ndarray,
             efforts: np.ndarray | None = None) -> list[Finding]:
    """
    Return the Findings of contacts in a Dataset of one recording, of a long push without any.

    places : (k,) columns of the model of ``systems``
    efforts : (n, n) what the torque of each joint takes of all efforts, by column; its own: None
    """
    samples, joints = thin_samples(data, systems, places, efforts), data.robot.joint_names
    size = np.sqrt(np.mean(samples.torque ** 2, axis=0))
    return (contact_findings(samples.t, samples.residual, size, samples.velocity, joints)
            or long_push_findings(samples, joints))


def contact_findings(t: np.ndarray, residual: np.ndarray, torque: np.ndarray,
                     velocity: np.ndarray, joints: Sequence[str]) -> list[Finding]:
    """
    Return the Finding of windows that are far beyond the others, if there are any.

    t : (N,) [s]; residual : (N, n), torque : (n,) rms of what was measured [N m, N]
    velocity : (N, n); joints : their names
    """
    step = max(float(np.median(np.diff(t))), 1e-4)
    size = max(1, round(CONTACT_WINDOW / step))
    far, beyond = _windows(residual, torque, velocity, size)
    nats = 0.5 * np.maximum(beyond, 0.0) ** 2 - np.log(max(1.0, len(t) / size))
    rms = np.sqrt(np.maximum(moving_mean(residual ** 2, size, 'constant'), 0.0))
    hit = (nats > CONTACT_CERTAIN)[:, None] & (far > CONTACT_FAR) & (rms > FIFTH * torque)
    # What touches the arm loads it as a whole: a small joint alone has friction of its own.
    hit &= (np.linalg.norm(rms * hit, axis=1) > CONTACT_LOAD * np.linalg.norm(torque))[:, None]
    for a, b in runs((beyond > SUSPICIOUS) | hit.any(axis=1)):
        hit[a:b + 1] = hit[a:b + 1].any(axis=0)
    windows = [(a, b) for a, b in _joined(t, runs(hit.any(axis=1))) if amid(t[a], t[b], t)]
    chosen = np.concatenate([np.arange(a, b + 1) for a, b in windows] or [np.zeros(0, int)])
    if not 0 < len(chosen) <= CONTACT_SHARE * len(t):
        return []
    touched = tuple(n for n, own in zip(joints, hit[chosen].any(axis=0)) if own)
    return [Finding('contact', f'the efforts of {", ".join(touched)} are far from what the motion '
                    'explains: contact, a push or a collision', 'residuals of a joint in a window '
                    'against those in all others', float(nats[chosen].max()), 'nats', touched,
                    MASKED, 'move without touching anything',
                    tuple((float(t[a]), float(t[b])) for a, b in windows))]


def _windows(residual: np.ndarray, torque: np.ndarray, velocity: np.ndarray, size: int
             ) -> tuple[np.ndarray, np.ndarray]:
    """
    Return residuals in windows of ``size`` samples (N, n), and how far beyond all are (N,).

    The first are RMS in units of what is usual of each joint, the second standard deviations of
    the logarithm of their mean square, which is theirs: heavy tails of friction are no event.
    Friction at rest and where a joint reverses is no contact: such samples count for nothing.
    """
    moving = moving_mean(slow(velocity).astype(float), size) < 1e-9
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


def long_push_findings(samples: ThinSamples, joints: Sequence[str]) -> list[Finding]:
    """
    Return the Finding of the push of several seconds that explains most, if it is certain.

    A push bends the fit that should show it, so that the model is fitted beside it, to samples
    in which a joint moves.
    """
    t, torque = samples.t, np.sqrt(np.mean(samples.torque ** 2, axis=0))
    weight = ~slow(samples.velocity) / samples.sd
    left, Q = _fitted(samples, weight)
    piece = np.minimum(((t - t[0]) / max(np.ptp(t), 1e-9) * PIECES).astype(int), PIECES - 1)
    shapes = _shapes()
    P = (piece[:, None] == np.arange(PIECES))[:, :, None] * weight[:, None]
    seen = Q.swapaxes(1, 2) @ P.transpose(2, 0, 1)
    toward = shapes @ (P * left[:, None]).sum(axis=0)
    size = shapes ** 2 @ (P ** 2).sum(axis=0) - np.square(shapes @ seen.swapaxes(1, 2)).sum(2).T
    gain = toward / np.maximum(size, TINY)
    share = np.minimum(toward * gain / np.maximum((left ** 2).sum(axis=0), TINY), 1.0 - ROUNDING)
    own = (np.sqrt(1.0 - share) < PUSH_LESS) & (np.abs(gain) > FIFTH * torque)
    # What touches the arm loads it as a whole: a small joint alone has friction of its own.
    load = np.linalg.norm(gain * own, axis=1, keepdims=True)
    own &= load > CONTACT_LOAD * np.linalg.norm(torque)
    k = int(np.argmax(-(np.log1p(-share) * own).sum(axis=1)))
    push = shapes[k] @ P - (Q @ (seen @ shapes[k])[:, :, None])[:, :, 0].T
    # A push that is there correlates what holds it: few samples would seem independent.
    nats = -0.5 * len(t) * np.log1p(-share[k]) / _lasting(left - push * gain[k])
    own = own[k]
    certain = float(nats[own].sum() - np.log(len(shapes) * len(joints)))
    during = t[shapes[k][piece] > 0.0]
    if certain < CERTAIN or not amid(during[0], during[-1], t):
        return []
    names = tuple(n for n, concerned in zip(joints, own) if concerned)
    return [Finding('contact', f'the efforts of {", ".join(names)} are off from {during[0]:.1f} '
                    f'to {during[-1]:.1f} s: a long push, a load or an offset of the sensor',
                    'residuals with a torque for some time, and without', certain, 'nats', names,
                    DOUBTFUL, 'move without touching anything')]


def _fitted(samples: ThinSamples, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted residuals (N, n) of the model, and its columns (n, N, k), orthonormal."""
    R, A = samples.triangle(weight), samples.rows * weight.T[:, :, None]
    count = A.shape[2]
    Q = solve_triangular(R[:count, :count].T, A.reshape(-1, count).T, lower=True).T
    Q = Q.reshape(A.shape)
    return samples.torque * weight - (Q @ R[:count, count]).T, Q


def _shapes() -> np.ndarray:
    """Return shapes (m, PIECES) of a push: constant and half a sine between any two pieces."""
    k, out = np.arange(PIECES), []
    for low, high in combinations(range(1, PIECES), 2):
        inside = (k >= low) & (k < high)
        out += [inside, inside * np.sin(np.pi * (k + 0.5 - low) / (high - low))]
    return np.array(out, dtype=float)


def _lasting(series: np.ndarray) -> np.ndarray:
    """Return (n,) the integrated correlation times of ``series`` (N, n) [samples]."""
    lags = autocovariances(series.T) / np.arange(len(series), 0, -1)
    return np.array([correlation_time(own) for own in lags])
