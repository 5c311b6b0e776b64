"""
How the offset of a force-torque sensor drifts while it is recorded.

Strain gauges creep as they warm up.  A body moves faster than that, so a slow polynomial of the
time beside the ten parameters and the offset takes the drift out of the wrench.
"""

from dataclasses import replace

import numpy as np

from .force_fit import DRIFT, ends_of, legendre
from ..bodies.body_rig import Wrench
from ..dynamics.rigid_bodies import own_rows
from ..measurement.sources import BodiesObservation, Series

SURE = 5.0     # standard errors beyond which the sensor drifts ...
VISIBLE = 0.5  # ... by so much of the residual, rms to rms: less changes no number
NYQUIST = 2.0  # independent samples per period of the cutoff


def without_drift(observation: BodiesObservation, wrench: Wrench
                  ) -> tuple[Series, list[float]] | None:
    """
    Return (the Series of the sensor without its drift, how far it drifted (6,) [N, N m]) or None.

    observation : of one body behind one sensor, gravity in its accelerations
    wrench : the sensor, along the body's axes; None: it did not drift
    """
    rows_of, loads, times, ends = [], [], [], ends_of(observation)
    turn = np.kron(np.eye(2), wrench.rotation)
    for state in observation.states(training=True):
        rows = own_rows(state.bodies[0])
        rows[3:] -= np.cross(wrench.point, rows[:3], axisb=0, axisc=0)
        rows_of.append(state.sign * np.einsum('ji,jkn->nik', turn, rows))
        loads.append(state.wrench)
        times.append(legendre(state.t, ends))
    drift, error, sd = _fitted(*map(np.concatenate, (rows_of, loads, times)))
    per_period = 1.0 / (observation.clock.period * observation.decimate
                        * observation.summary['cutoff'])
    error *= np.sqrt(max(1.0, per_period / NYQUIST))
    size = np.sqrt((drift ** 2).sum(0) / 3.0)
    if not ((np.abs(drift) > SURE * error).any(0) & (size > VISIBLE * sd)).any():
        return None
    series = observation.wrenches[0]
    moved = legendre(series.t, ends) @ drift
    return (replace(series, values=series.values - moved),
            np.ptp(moved, axis=0).round(4).tolist())


def _fitted(A, y, slow):
    """Return drift and standard errors (DRIFT, 6), residual (6,), of y (N, 6) on A (N, 6, k)."""
    count, own = len(y), A.shape[2]
    still = np.column_stack([np.ones(count), slow])
    sd, offset = np.ones(6), own + (1 + DRIFT) * np.arange(6)
    for _ in range(2):  # with weights by the residual of the first
        W = np.zeros((count, 6, own + 6 * (1 + DRIFT)))
        W[:, :, :own] = A
        for k, first in enumerate(offset):
            W[:, k, first:first + 1 + DRIFT] = still
        W, right = W / sd[:, None], y / sd
        W = W.reshape(-1, W.shape[2])
        size = np.linalg.norm(W, axis=0) + 1e-300
        inverse = np.linalg.pinv((W / size).T @ (W / size), 1e-10, hermitian=True)
        x = inverse @ ((W / size).T @ right.ravel())
        sd = sd * np.sqrt(((right - (W / size @ x).reshape(count, 6)) ** 2).mean(0)) + 1e-12
    place = offset[None] + 1 + np.arange(DRIFT)[:, None]
    return (x / size)[place], (np.sqrt(np.diag(inverse)) / size)[place], sd
