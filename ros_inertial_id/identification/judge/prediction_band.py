"""
Band: how far the torque of a model is from that of the robot, as a function of the state.

It comes from residuals of stretches left out.  Their size per joint grows with speed,
acceleration and near a reversal (non-negative least squares of the absolute residual); relative
to it a quantile makes the band as wide as LEVEL asks for (conformal prediction, Vovk et al.
2005).  Samples of a stretch are alike, so the stretches count, and not the samples (Dunn,
Wasserman and Ramdas 2023).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from .outside import excess
from .validation import ENOUGH
from ..prepare.dataset import Dataset
from ..reduce.stretches import as_wide
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import part_of
from ...estimation.cross_validation import FOLDS, piece_of

LEVEL = 0.95  # share of the samples of motion like the training that a band holds
SLOW = 0.05   # of the largest speed, within which a reversal is near
LEAST = 0.25  # of the mean size of a residual: no state is known better than so
TERMS = ('constant', 'per_speed', 'per_acceleration', 'near_reversal')


def left_out(data: Dataset, parameters: Sequence[Parameter], values: np.ndarray,
             whole: int) -> dict[str, np.ndarray]:
    """
    Return {group: (4, N) stretch, residual, speed, acceleration} of samples left out.

    data : a Dataset of one recording; values : (FOLDS, p) from the other folds
    whole : samples of all recordings, of which some are taken
    """
    samples, seconds, out = data.samples(training=True), data.seconds(), dict[str, Any]()
    stride, done = max(1, whole // ENOUGH), 0
    for robot, state in data.states(training=True):
        chosen = slice((-done) % stride, None, stride)
        seen = part_of(data.method.validity_range(state, robot), chosen)
        piece = piece_of(done + np.arange(len(state.t))[chosen], samples, seconds)
        low, done = 0, done + len(state.t)
        for block in data.thinned(state, robot, parameters, chosen):
            part = slice(low, low := low + len(block.t))
            for g in block.groups:
                all_folds = g.W @ values[:, g.columns].T
                error = g.y - all_folds[np.arange(len(g.y)), piece[part] % FOLDS]
                v, a = ([seen[g.name][k][part] if k in seen.get(g.name, {}) else 0.0 * error
                         for k in 'va'])
                out.setdefault(g.name, []).append(np.stack([piece[part], error, v, a]))
    return {name: np.concatenate(parts, axis=1) for name, parts in out.items()}


def band_of(recordings: Sequence[Mapping[str, np.ndarray]],
            ranges: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """
    Return the entry ``prediction_band`` of the statistics: level, stretches, terms of joints.

    recordings : what ``left_out`` gives of each; ranges : of the training, see Outside
    Half the width at a state is the sum of the terms: constant, per_speed times the speed,
    per_acceleration times the acceleration, near_reversal times what is left to ``slow``.
    """
    joints, count = {}, 0
    for name in recordings[0]:
        columns = [np.vstack([np.full(own[name].shape[1], k), own[name]])
                   for k, own in enumerate(recordings) if name in own]
        recording, piece, error, v, a = np.concatenate(columns, axis=1)
        slow = SLOW * float(np.abs(ranges.get(name, {}).get('v', 0.0)).max())
        features, error = _features(v, a, slow), np.abs(error)
        size = np.maximum(np.abs(features).max(axis=0), np.finfo(float).tiny)
        terms = nnls(features / size, error)[0] / size
        terms[0] = max(terms[0], LEAST * error.mean())
        stretch = np.unique(np.stack([recording, piece]), axis=1, return_inverse=True)[1].ravel()
        count = int(stretch.max()) + 1
        ratio = error / np.maximum(features @ terms, np.finfo(float).tiny)
        terms = terms * quantile_of_stretches(ratio, stretch)
        joints[name] = {**dict(zip(TERMS, terms.tolist())), 'slow': slow}
    return {'level': LEVEL, 'stretches': count, 'joints': joints}


def quantile_of_stretches(ratio: np.ndarray, stretch: np.ndarray) -> float:
    """
    Return the quantile LEVEL of ratios (N,) in a further stretch like those seen.

    ratio : (N,) positive; stretch : (N,) numbers from 0 on
    All stretches count alike.  Of few it is as much wider as Student's t is than the normal
    distribution: their spread is known no better.
    """
    count, order = np.bincount(stretch), np.argsort(ratio)
    share = np.cumsum(1.0 / count[stretch[order]]) / len(count)
    place = min(int(np.searchsorted(share, LEVEL)), len(order) - 1)
    return float(ratio[order[place]]) * as_wide(max(1, len(count) - 1))


def half_widths(band: Mapping[str, Any], names: Sequence[str],
                seen: Mapping[str, Mapping[str, np.ndarray]],
                ranges: Mapping[str, Mapping[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return half the widths (N, g) of the band of row groups, and how far out of range it is (N, g).

    band : of ``band_of``, empty: the widths are not known (not a number); names : of g groups
    seen : {joint or body: {quantity: (N,)}} of the motion; ranges : of the training
    Beyond a range by d half ranges the band is (1 + d) times as wide: what a model lacks there
    is not known, and grows at first with the way.
    """
    away = np.stack([excess(seen, ranges, name) for name in names], axis=1)
    out = np.full(away.shape, np.nan)
    for j, name in enumerate(names):
        terms = band.get('joints', {}).get(name)
        if terms:
            v, a = (seen.get(name, {}).get(k, np.zeros(len(away))) for k in 'va')
            out[:, j] = _features(v, a, terms['slow']) @ [terms[k] for k in TERMS]
    return out * (1.0 + away), away


def _features(v, a, slow):
    """Return (N, 4) what half the width is linear in."""
    speed = np.abs(v)
    near = np.maximum(0.0, 1.0 - speed / slow) if slow else np.zeros_like(speed)
    return np.stack([np.ones_like(speed), speed, np.abs(a), near], axis=1)
