"""Every stretch predicted from the others, against least squares on all rows at once."""

import numpy as np
import pytest

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import ordinary, params_of, Problem
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.identification.judge.statistics import cross_validate

COLUMNS, ROWS, FOLDS = 8, 12, 4
EVERY = np.arange(COLUMNS)
BASE = find_base_parameters(
    np.random.default_rng(0).normal(size=(40, COLUMNS)),
    tuple(Parameter(f'x{i}', '', 1.0, 0.0, 1e3, 'rows') for i in EVERY),
)


def folds(rng):
    """Return (RFactors, W, y) of each fold: few rows a column, so those seen are fitted better."""
    out = []
    for _ in range(FOLDS):
        W = rng.normal(size=(ROWS, COLUMNS))
        y = W.sum(1) + rng.normal(size=ROWS)
        factors = RFactors(COLUMNS)
        factors.accumulate(
            RegressorBlock(np.arange(ROWS) * 0.01, 0, (RowGroup('rows', '', EVERY, W, y, y),)),
            EVERY,
        )
        out.append((factors, W, y))
    return out


def estimated(factors):
    """Return the least squares solution of R factors."""
    return params_of(ordinary)(Problem(factors, BASE, {}))


def test_each_fold_is_predicted_from_the_others_alone():
    data = folds(np.random.default_rng(1))
    square = target = 0.0
    for k, (_, W, y) in enumerate(data):
        others = [d for i, d in enumerate(data) if i != k]
        beta = np.linalg.lstsq(
            np.vstack([d[1] for d in others]), np.concatenate([d[2] for d in others]), rcond=None
        )[0]
        square, target = square + np.sum((y - W @ beta) ** 2), target + y @ y
    found = cross_validate([d[0] for d in data], estimated)
    assert found.residual == pytest.approx({'rows': square}, rel=1e-6)
    assert found.target == pytest.approx({'rows': target}) and found.samples == FOLDS * ROWS
    assert found.relative_percent == pytest.approx(100.0 * np.sqrt(square / target), rel=1e-6)
    assert cross_validate([data[0][0]], estimated) is None
