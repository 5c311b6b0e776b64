"""
Judging: what parameters leave unexplained, in blocks read again or in what was folded.
"""

import numpy as np

from .errors import RecordingError
from .estimation.estimators import Problem
from .estimation.residuals import Fit, Residuals
from .folding import merge

ENOUGH = 20000  # samples whose residuals tell how they are correlated
CURVE = 2000  # points per curve kept for the report


def judge(rows, robots, observations, parameters, values, training, progress):
    """Return Residuals of standard parameters, thinned blocks for curves, and the region seen."""
    residuals, curves, region = Residuals(), [], {}
    whole = sum(o.samples(training) for o in observations)
    stride, done = max(1, whole // CURVE), 0
    # In training this is for the correlation of residuals alone (their size is folded already).
    spread = max(1, whole // ENOUGH) if training else 1
    pairs = ((robot, state) for robot, o in zip(robots, observations)
             for state in o.states(training))
    for number, (robot, state) in enumerate(pairs):
        _widen(region, rows.region(state, robot))
        if number % spread and hasattr(state, 'rows'):
            thin = state.rows(slice((-done) % stride, None, stride))
            curves += rows.regress(thin, robot, parameters)
            done += len(state.t)
            continue
        for block in rows.regress(state, robot, parameters):
            residuals.add(block, {g.name: g.W @ values[g.columns] for g in block.groups})
            curves.append(block.rows(np.arange((-done) % stride, len(block.t), stride)))
            done += len(block.t)
            if progress:
                progress('judge', done, whole)
    if not done:
        raise RecordingError('the recording is too short', found='no samples left after filtering')
    return residuals, tuple(curves), region


def _widen(region, seen):
    """Widen joint -> {q, v, a: [smallest, largest]} by what a state holds."""
    for where, quantities in seen.items():
        entry = region.setdefault(where, {})
        for name, column in quantities.items():
            low, high = entry.get(name, (np.inf, -np.inf))
            entry[name] = [min(low, float(column.min())), max(high, float(column.max()))]


def fits(information, beta):
    """Return {filtered, raw} residuals of base parameters over all that was folded."""
    out = {}
    for kind in ('filtered', 'raw'):
        fit = Fit()
        for name, group in information.groups.items():
            fit.samples = max(fit.samples, group.rows)
            fit.residual[name] = group.residual(beta, kind == 'raw') ** 2
            fit.target[name] = group.target(kind == 'raw') ** 2
        out[kind] = fit.summary()
    return out


def left_out_percent(folds, base, estimator, correlation):
    """Return the relative residual [%] of every fold under the estimate of the others."""
    if len(folds) < 2:
        return None
    square, target = 0.0, 0.0
    for k, fold in enumerate(folds):
        others = merge(folds[:k] + folds[k + 1:])
        beta = estimator(Problem(others, base, correlation)).params
        square += sum(g.residual(beta) ** 2 for g in fold.groups.values())
        target += sum(g.target() ** 2 for g in fold.groups.values())
    return float(100.0 * np.sqrt(square / target))
