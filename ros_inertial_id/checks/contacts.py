"""
Contacts: windows in which the residual is far beyond what it is elsewhere.

They are left out.  The residual is that of a model which the worst segments of the motion take no
part in, as a contact bends a fit of all.  Friction explains anything where a joint stands or turns
round, and the filter smears it into the samples beside: neither says anything of a contact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .finding import Finding, MASKED
from .signals import Runs, runs
from .thresholds import (
    CONTACT_CERTAIN,
    CONTACT_FAR,
    CONTACT_LOAD,
    CONTACT_SHARE,
    CONTACT_SLOW,
    CONTACT_WINDOW,
    FIFTH,
    MOTION_BEGINS,
    SLOW,
)
from ..estimation.distributions import normal_quantile
from ..estimation.r_factors import triangle
from ..identification.prepare.dataset import Dataset
from ..identification.prepare.mounting import across_gravity
from ..identification.reduce.systems import Systems
from ..lapack import solve_triangular
from ..measurement.sampling import moving_mean

USUAL = 0.8  # of samples and windows have no contact: their scatter says what is far beyond
SPACING = 0.05  # [s] between samples at most, so that no contact is missed
ENOUGH, MOST = 1000, 4000  # samples
STEPS = 3  # of the fit without the worst, which shows these better
GROUP = 5  # samples: what comes alone is noise
TINY = 1e-300
LEAST = 0.25  # least scatter of a logarithm: a window has few independent samples
NOISE = 0.003  # of the torque: no residual of a robot is smaller
SUSPICIOUS = 2.0  # standard deviations of a window that belongs to a contact beside it


def contacts(
    data: Dataset, systems: Systems, places: np.ndarray, efforts: np.ndarray | None = None
) -> list[Finding]:
    """
    Return the Findings of contacts in a Dataset of one recording.

    places : (k,) columns of the model of ``systems``
    efforts : (n, n) what the torque of each joint takes of all efforts, by column; its own: None
    """
    samples = thin_samples(data, systems, places, efforts)
    return contact_findings(
        samples.t,
        samples.residual,
        np.sqrt(np.mean(samples.torque**2, axis=0)),
        samples.velocity,
        data.robot.joint_names,
        1.0 / data.observations[0].summary['cutoff'],
    )


def contact_findings(
    t: np.ndarray,
    residual: np.ndarray,
    torque: np.ndarray,
    velocity: np.ndarray,
    joints: Sequence[str],
    smear: float,
) -> list[Finding]:
    """
    Return the Finding of windows that are far beyond the others, if there are any.

    t : (N,) [s]; residual : (N, n), torque : (n,) rms of what was measured [N m, N]
    velocity : (N, n); joints : their names
    smear : [s] over which the filter spreads a step
    """
    step = max(float(np.median(np.diff(t))), 1e-4)
    size = max(1, round(CONTACT_WINDOW / step))
    moving = moving_mean(slow(velocity), max(size, round(smear / step))) < 1e-9
    far, beyond = _windows(residual, torque, moving, size)
    nats = 0.5 * np.maximum(beyond, 0.0) ** 2 - np.log(max(1.0, len(t) / size))
    rms = np.sqrt(np.maximum(moving_mean(residual**2, size, 'constant'), 0.0))
    hit = (nats > CONTACT_CERTAIN)[:, None] & (far > CONTACT_FAR) & (rms > FIFTH * torque)
    # What touches the arm loads it as a whole: a small joint alone has friction of its own.
    hit &= (np.linalg.norm(rms * hit, axis=1) > CONTACT_LOAD * np.linalg.norm(torque))[:, None]
    for a, b in runs((beyond > SUSPICIOUS) | hit.any(axis=1)):
        hit[a : b + 1] = hit[a : b + 1].any(axis=0)
    windows = [
        (a, b)
        for a, b in _joined(t, runs(hit.any(axis=1)))
        if min(t[a] - t[0], t[-1] - t[b]) > MOTION_BEGINS
    ]
    chosen = np.concatenate([np.arange(a, b + 1) for a, b in windows] or [np.zeros(0, int)])
    if not 0 < len(chosen) <= CONTACT_SHARE * len(t):
        return []
    touched = tuple(n for n, own in zip(joints, hit[chosen].any(axis=0)) if own)
    return [
        Finding(
            'contact',
            f'the efforts of {", ".join(touched)} are far from what the motion '
            'explains: contact, a push or a collision',
            'residuals of a joint in a window against those in all others',
            float(nats[chosen].max()),
            'nats',
            touched,
            MASKED,
            'move without touching anything',
            tuple((float(t[a]), float(t[b])) for a, b in windows),
        )
    ]


def slow(velocity: np.ndarray) -> np.ndarray:
    """Return (N, n) 1 where joints rest, or are slow beside their usual ``velocity`` (N, n)."""
    usual = np.sqrt(np.mean(velocity**2, axis=0))
    return (np.abs(velocity) <= np.maximum(CONTACT_SLOW * usual, SLOW)).astype(float)


def _windows(
    residual: np.ndarray, torque: np.ndarray, moving: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return residuals in windows of ``size`` samples (N, n), and how far beyond all are (N,).

    The first are RMS in units of what is usual of each joint, the second standard deviations of
    the logarithm of their mean square, which is theirs: heavy tails of friction are no event.
    Where a joint is not ``moving`` (N, n) its samples count for nothing.
    """
    usual = np.sqrt(
        [np.quantile(own[k] if k.any() else own, USUAL) for own, k in zip(residual.T**2, moving.T)]
    )
    r = moving * residual / np.maximum(usual, NOISE * torque)
    square = np.maximum(moving_mean(r**2, size, 'constant'), 1e-12)
    counted = moving.any(axis=1)
    level = 0.5 * np.log(square.sum(axis=1) / np.maximum(moving.sum(axis=1), 1.0))
    middle, high = np.quantile(level[counted], (0.5, USUAL)) if counted.any() else (0.0, 0.0)
    return np.sqrt(square), (level - middle) / max((high - middle) / normal_quantile(USUAL), LEAST)


def _joined(t: np.ndarray, found: Runs) -> Runs:
    """Return the ``found`` runs, one where they are nearer than the averaging."""
    out: Runs = []
    for a, b in found:
        near = bool(out) and t[a] - t[out[-1][1]] < 2 * CONTACT_WINDOW
        out.append((out.pop()[0] if near else a, b))
    return out


@dataclass(frozen=True)
class ThinSamples:
    """
    Thinned training samples, and a linear model that the worst stretches take no part in.

    t : (N,) [s]; torque, velocity : (N, n); rows : per joint (N, k) columns of the model, in units
        of their priors; prior : (m, k + 1) rows, their target last; sd : (n,) of one sample
    params : (k,) of the model, in the same units
    """

    t: np.ndarray
    torque: np.ndarray
    velocity: np.ndarray
    rows: np.ndarray
    prior: np.ndarray
    sd: np.ndarray
    params: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Return (N, n) what the model leaves of the torque."""
        return self.torque - (self.rows @ self.params).T

    def triangle(self, weight: np.ndarray) -> np.ndarray:
        """Return (k + 1, k + 1) all samples of a ``weight`` (N, n) and the prior, triangular."""
        blocks = [self.prior]
        for A, y, w in zip(self.rows, self.torque.T, weight.T):
            there, used = w > 0.0, np.append(A.any(axis=0), True)
            if there.any():
                rows = np.vstack([A.T[np.ix_(used[:-1], there)], y[there]])
                rows *= w[there]
                blocks.append(np.zeros((int(used.sum()), len(used))))
                blocks[-1][:, used] = triangle(rows.T)
        return triangle(np.asfortranarray(np.vstack(blocks)))


def thin_samples(
    data: Dataset, systems: Systems, places: np.ndarray, efforts: np.ndarray | None = None
) -> ThinSamples:
    """
    Return the ThinSamples of a Dataset of one recording.

    places : (k,) columns of the model of ``systems``
    efforts : (n, n) what the torque of each joint takes of all efforts, by column; its own: None
    """
    if efforts is None:
        efforts, params = np.eye(len(data.robot)), systems.solution(systems.whole, places)
    else:
        targets = [np.append([0.0, 0.0], column)[:, None] for column in efforts.T]
        params = systems.solve(systems.stacked(range(systems.count), targets), places).sum(1)
    keep, unit, gravity = systems.wide.structure.keep, systems.prior_sd, systems.gravity
    if params[-2:].any():
        gravity = gravity + np.linalg.norm(gravity) * across_gravity(gravity) @ params[-2:]
    places = np.sort(places[places < systems.size])
    wanted, rank = np.isin(keep, places), np.searchsorted(places, keep)
    whole = data.samples(training=True)
    stride = max(
        1, -(-whole // MOST), min(round(SPACING * whole / data.seconds()), whole // ENOUGH)
    )
    parts, count = list[tuple[np.ndarray, ...]](), 0
    # Of a piece at most every second sample more: what is not used takes no memory.
    out = np.zeros((len(data.robot), 2 * (whole // stride + 1), len(places)))
    robot: Any
    state: Any  # of joints
    for robot, state in data.states(training=True):
        state = state.rows(slice(stride // 2, None, stride))
        rows, low = out[:, count : count + len(state.t)], 0
        count += len(state.t)
        for block in data.method.regress(
            state, replace(robot, gravity_base=gravity), systems.wide.structure.columns, wanted
        ):
            part, low = slice(low, low + len(block.t)), low + len(block.t)
            for own, g in zip(rows, block.groups):
                k = wanted[g.columns]
                own[part, rank[g.columns[k]]] = g.W[:, k] * unit[keep[g.columns[k]]]
        parts.append((state.t, state.tau @ efforts, state.v))
    t, torque, velocity = map(np.concatenate, zip(*parts))
    lasting = np.array([systems.correlation_rows[name] for name in systems.names])
    return _concentrated(
        ThinSamples(
            t,
            torque,
            velocity,
            out[:, :count],
            systems.prior[:, [*places, -1]],
            np.sqrt(lasting / stride),
            params[places] / unit[places],
        )
    )


def _concentrated(samples: ThinSamples) -> ThinSamples:
    """
    Return ``samples`` with a model that their worst take no part in, as these come in groups.

    Their weights come from the other samples alone, too: where a contact makes them small, the
    prior decides instead of the data, and the contact hides.  ``samples.sd`` is for an rms of one.
    Least trimmed squares by concentration steps (Rousseeuw and Van Driessen 2006).
    """
    count, sd = samples.rows.shape[2], samples.sd
    for _ in range(STEPS):
        square = samples.residual**2
        size = moving_mean((square / np.maximum(np.median(square, axis=0), TINY)).sum(1), GROUP)
        kept = size <= np.quantile(size, USUAL)
        samples = replace(samples, sd=sd * np.sqrt(np.maximum(square[kept].mean(0), TINY)))
        R = samples.triangle(kept[:, None] / samples.sd)
        samples = replace(samples, params=solve_triangular(R[:count, :count], R[:count, count]))
    return samples
