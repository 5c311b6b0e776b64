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

from .finding import Finding
from .finding_kinds import found
from .signals import Runs, runs
from .thresholds import (
    CONTACT_CERTAIN,
    CONTACT_FAR,
    CONTACT_LOAD,
    CONTACT_RESIDUAL,
    CONTACT_SHARE,
    CONTACT_SLOW,
    CONTACT_WINDOW,
    MOTION_BEGINS,
    RESTING_SPEED,
)
from ..estimation.distributions import normal_quantile
from ..estimation.r_factors import triangle
from ..identification.prepare.dataset import Dataset
from ..identification.prepare.mounting import across_gravity
from ..identification.reduce.model_columns import ModelColumns
from ..lapack import solve_triangular
from ..measurement.sampling import moving_mean

WITHOUT_CONTACT = 0.8  # of samples and windows: their scatter says what is far beyond
SPACING = 0.05  # [s] between samples at most, so that no contact is missed
FEWEST_SAMPLES, MOST_SAMPLES = 1000, 4000
CONCENTRATION_STEPS = 3  # of the fit without the worst, which shows these better
GROUP = 5  # samples: what comes alone is noise
TINY = 1e-300
LEAST_SCATTER = 0.25  # of a logarithm: a window has few independent samples
LEAST_RESIDUAL = 0.003  # of the torque: no residual of a robot is smaller
SUSPICIOUS = 2.0  # standard deviations of a window that belongs to a contact beside it


def contacts(
    data: Dataset,
    model_columns: ModelColumns,
    column_indices: np.ndarray,
    efforts: np.ndarray | None = None,
) -> list[Finding]:
    """
    Return the Findings of contacts in a Dataset of one recording.

    column_indices : (k,) of ``model_columns``, that are fitted
    efforts : (n, n) what the torque of each joint takes of all efforts, by column; its own: None
    """
    samples = thin_samples(data, model_columns, column_indices, efforts)
    torque = np.sqrt(np.mean(samples.torque**2, axis=0))
    smear = 1.0 / data.first.summary.cutoff
    return contact_findings(
        samples.t, samples.residual, torque, samples.velocity, data.robot.joint_names, smear
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
    samples = max(1, round(CONTACT_WINDOW / step))
    moving = moving_mean(slow(velocity), max(samples, round(smear / step))) < 1e-9
    far, beyond = _windows(residual, torque, moving, samples)
    evidence = 0.5 * np.maximum(beyond, 0.0) ** 2 - np.log(max(1.0, len(t) / samples))
    rms = np.sqrt(np.maximum(moving_mean(residual**2, samples, 'constant'), 0.0))
    hit = (evidence > CONTACT_CERTAIN)[:, None] & (far > CONTACT_FAR)
    hit &= rms > CONTACT_RESIDUAL * torque
    # What touches the arm loads it as a whole: a small joint alone has friction of its own.
    hit &= (np.linalg.norm(rms * hit, axis=1) > CONTACT_LOAD * np.linalg.norm(torque))[:, None]
    for a, b in runs((beyond > SUSPICIOUS) | hit.any(axis=1)):
        hit[a : b + 1] = hit[a : b + 1].any(axis=0)
    windows = [
        (a, b)
        for a, b in _joined(t, runs(hit.any(axis=1)))
        if min(t[a] - t[0], t[-1] - t[b]) > MOTION_BEGINS
    ]
    chosen = np.zeros(len(t), dtype=bool)
    for a, b in windows:
        chosen[a : b + 1] = True
    if not 0 < chosen.sum() <= CONTACT_SHARE * len(t):
        return []
    touched = [name for name, hits in zip(joints, hit[chosen].any(axis=0)) if hits]
    seconds = tuple((float(t[a]), float(t[b])) for a, b in windows)
    return [found('contact', touched, evidence[chosen].max(), seconds)]


def slow(velocity: np.ndarray) -> np.ndarray:
    """Return (N, n) 1 where joints rest, or are slow beside their usual ``velocity`` (N, n)."""
    usual = np.sqrt(np.mean(velocity**2, axis=0))
    return (np.abs(velocity) <= np.maximum(CONTACT_SLOW * usual, RESTING_SPEED)).astype(float)


def _windows(
    residual: np.ndarray, torque: np.ndarray, moving: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return residuals in windows of ``size`` samples (N, n), and how far beyond all are (N,).

    The first are RMS in units of what is usual of each joint, the second standard deviations of
    the logarithm of their mean square, which is theirs: heavy tails of friction are no event.
    Where a joint is not ``moving`` (N, n) its samples count for nothing.
    """
    usual = np.array([_usual_size(r, m) for r, m in zip(residual.T, moving.T)])
    r = moving * residual / np.maximum(usual, LEAST_RESIDUAL * torque)
    square = np.maximum(moving_mean(r**2, size, 'constant'), 1e-12)
    counted = moving.any(axis=1)
    level = 0.5 * np.log(square.sum(axis=1) / np.maximum(moving.sum(axis=1), 1.0))
    middle = high = 0.0
    if counted.any():
        middle, high = np.quantile(level[counted], (0.5, WITHOUT_CONTACT))
    scatter = max((high - middle) / normal_quantile(WITHOUT_CONTACT), LEAST_SCATTER)
    return np.sqrt(square), (level - middle) / scatter


def _usual_size(residual: np.ndarray, moving: np.ndarray) -> float:
    """Return the size of a joint's ``residual`` (N,) that most samples in motion stay below."""
    squares = residual**2
    if moving.any():
        squares = squares[moving]
    return float(np.sqrt(np.quantile(squares, WITHOUT_CONTACT)))


def _joined(t: np.ndarray, windows: Runs) -> Runs:
    """Return the ``windows``, one where they are nearer than the averaging."""
    out: Runs = []
    for a, b in windows:
        if out and t[a] - t[out[-1][1]] < 2 * CONTACT_WINDOW:
            a, _ = out.pop()
        out.append((a, b))
    return out


@dataclass(frozen=True)
class ThinSamples:
    """
    Thinned training samples, and a linear model that the worst stretches take no part in.

    t : (N,) [s]; torque, velocity : (N, n); rows : per joint (N, k) columns of the model, in
        units of their priors; prior : (m, k + 1) rows, their target last; sd : (n,) of one sample
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
            there = w > 0.0
            if not there.any():
                continue
            used = np.append(A.any(axis=0), True)
            rows = np.vstack([A.T[np.ix_(used[:-1], there)], y[there]])
            rows *= w[there]
            block = np.zeros((int(used.sum()), len(used)))
            block[:, used] = triangle(rows.T)
            blocks.append(block)
        return triangle(np.asfortranarray(np.vstack(blocks)))


def thin_samples(
    data: Dataset,
    model_columns: ModelColumns,
    column_indices: np.ndarray,
    efforts: np.ndarray | None = None,
) -> ThinSamples:
    """
    Return the ThinSamples of a Dataset of one recording.

    column_indices : (k,) of ``model_columns``, that are fitted
    efforts : (n, n) what the torque of each joint takes of all efforts, by column; its own: None
    """
    params = _first_params(model_columns, column_indices, efforts)
    if efforts is None:
        efforts = np.eye(len(data.robot))
    columns = np.sort(column_indices[column_indices < model_columns.size])
    stride = _stride(data)
    rows, samples = _thin_rows(
        data, model_columns, columns, _gravity(model_columns, params), stride
    )
    t, tau, velocity = map(np.concatenate, zip(*samples))
    correlation = np.array([model_columns.correlation_rows[name] for name in model_columns.names])
    prior = model_columns.prior.of(columns)
    found_before = params[columns] / prior.unit
    return _concentrated(
        ThinSamples(
            t,
            tau @ efforts,
            velocity,
            rows[:, : len(t)],
            prior.rows,
            np.sqrt(correlation / stride),
            found_before,
        )
    )


def _first_params(model_columns, column_indices, efforts):
    """Return the solution (P,) by all samples, contacts among them."""
    if efforts is None:
        return model_columns.solution(model_columns.whole, column_indices)
    targets = np.zeros((len(efforts), 2 + len(efforts), 1))
    targets[:, 2:, 0] = efforts.T
    stacked = model_columns.stacked(range(model_columns.count), targets)
    return model_columns.solve(stacked, column_indices).sum(1)


def _gravity(model_columns, params):
    """Return gravity (3,) [m/s^2] as the torques show it."""
    gravity = model_columns.gravity
    if not params[-2:].any():
        return gravity
    return gravity + np.linalg.norm(gravity) * across_gravity(gravity) @ params[-2:]


def _stride(data):
    """Return of how many training samples one is taken."""
    samples = data.samples(training=True)
    not_missed = min(round(SPACING * samples / data.seconds()), samples // FEWEST_SAMPLES)
    return max(1, -(-samples // MOST_SAMPLES), not_missed)


def _thin_rows(data, model_columns, columns, gravity, stride):
    """Return rows (n, N or more, k) in units of the prior, and [(t, tau, v)] of their samples."""
    structure, unit = model_columns.wide.structure, model_columns.prior.unit
    keep = structure.keep
    wanted, rank = np.isin(keep, columns), np.searchsorted(columns, keep)
    # Of a piece at most every second sample more: what is not used takes no memory.
    most = 2 * (data.samples(training=True) // stride + 1)
    out, samples = np.zeros((len(data.robot), most, len(columns))), []
    low = 0
    robot: Any
    state: Any  # of joints
    for robot, state in data.states(training=True):
        state = state.rows(slice(stride // 2, None, stride))
        mounted = replace(robot, gravity_base=gravity)
        samples.append((state.t, state.tau, state.v))
        for block in data.method.regress(state, mounted, structure.columns, wanted):
            high = low + len(block.t)
            for rows, group in zip(out, block.groups):
                fitted = wanted[group.columns]
                at = group.columns[fitted]
                rows[low:high, rank[at]] = group.W[:, fitted] * unit[keep[at]]
            low = high
    return out, samples


def _concentrated(samples: ThinSamples) -> ThinSamples:
    """
    Return ``samples`` with a model that their worst take no part in, as these come in groups.

    Their weights come from the other samples alone, too: where a contact makes them small, the
    prior decides instead of the data, and the contact hides.  ``samples.sd`` is for an rms of one.
    Least trimmed squares by concentration steps (Rousseeuw and Van Driessen 2006).
    """
    count, sd = samples.rows.shape[2], samples.sd
    for _ in range(CONCENTRATION_STEPS):
        square = samples.residual**2
        usual = np.maximum(np.median(square, axis=0), TINY)
        contact_size = moving_mean((square / usual).sum(1), GROUP)
        good = contact_size <= np.quantile(contact_size, WITHOUT_CONTACT)
        scale = np.sqrt(np.maximum(square[good].mean(0), TINY))
        samples = replace(samples, sd=sd * scale)
        R = samples.triangle(good[:, None] / samples.sd)
        params = solve_triangular(R[:count, :count], R[:count, count])
        samples = replace(samples, params=params)
    return samples
