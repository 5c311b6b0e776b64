"""
Thin samples: rows of the motion in which an event of a fifth of a second is seen, and a model.

The model is that which the worst stretches of the motion take no part in: what pushes the arm
bends a fit of all.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..estimation.r_factors import triangle
from ..identification.prepare.dataset import Dataset
from ..identification.prepare.mounting import across_gravity
from ..identification.reduce.systems import Systems
from ..measurement.sampling import moving_mean

SPACING = 0.05   # [s] between samples at most, so that no contact is missed
ENOUGH = 1000    # samples
MOST = 4000
STEPS = 3        # of the fit without the worst, which shows these better
GROUP = 5        # samples: what comes alone is noise
TINY = 1e-300
USUAL = 0.8      # of the stretches, and then of the samples, take part


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
                rows = np.column_stack([A, y])[there][:, used] * w[there, None]
                blocks.append(np.zeros((int(used.sum()), len(used))))
                blocks[-1][:, used] = triangle(np.asfortranarray(rows))
        return triangle(np.asfortranarray(np.vstack(blocks)))


def thin_samples(data: Dataset, systems: Systems, places: np.ndarray,
                 efforts: np.ndarray | None = None) -> ThinSamples:
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
    stride = max(1, -(-whole // MOST), min(round(SPACING * whole / data.seconds()),
                                           whole // ENOUGH))
    parts: list[tuple[np.ndarray, ...]] = []
    robot: Any
    state: Any  # of joints
    for robot, state in data.states(training=True):
        state = state.rows(slice(stride // 2, None, stride))
        rows, low = np.zeros((len(data.robot), len(state.t), len(places))), 0
        for block in data.method.regress(state, replace(robot, gravity_base=gravity),
                                         systems.wide.structure.columns, wanted):
            part, low = slice(low, low + len(block.t)), low + len(block.t)
            for own, g in zip(rows, block.groups):
                k = wanted[g.columns]
                own[part, rank[g.columns[k]]] = g.W[:, k] * unit[keep[g.columns[k]]]
        parts.append((state.t, state.tau @ efforts, state.v, rows.swapaxes(0, 1)))
    t, torque, velocity, rows = map(np.concatenate, zip(*parts))
    lasting = np.array([systems.lasting[name] for name in systems.names])
    return _concentrated(ThinSamples(
        t, torque, velocity, rows.swapaxes(0, 1), systems.prior[:, [*places, -1]],
        np.sqrt(lasting / stride), params[places] / unit[places]))


def _concentrated(samples: ThinSamples) -> ThinSamples:
    """
    Return ``samples`` with a model that their worst take no part in, as these come in groups.

    Their weights come from the other samples alone, too: where a contact makes them small, the
    prior decides instead of the data, and the contact hides.  ``samples.sd`` is for an rms of one.
    Least trimmed squares by concentration steps (Rousseeuw and Van Driessen 2006).
    """
    count, sd = samples.rows.shape[2], samples.sd
    for _ in range(STEPS):
        square = samples.residual ** 2
        size = moving_mean((square / np.maximum(np.median(square, axis=0), TINY)).sum(1), GROUP)
        kept = size <= np.quantile(size, USUAL)
        samples = replace(samples, sd=sd * np.sqrt(np.maximum(square[kept].mean(0), TINY)))
        R = samples.triangle(kept[:, None] / samples.sd)
        samples = replace(samples, params=solve_triangular(R[:count, :count], R[:count, count]))
    return samples
