"""Noise of the motion: what it shrinks is made good, and what only it excites has no number."""

import numpy as np
import pytest

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import ESTIMATORS, Problem
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.estimation.residuals import residuals_of
from ros_inertial_id.rigs.estimation.motion_noise import DRAWS, motion_noise, NoisyRows

COUNT = 8000
TRUE = np.array([2.0, -1.0, 0.5])
NOISE = np.array([0.5, 0.0, 0.1])  # of the columns, whose true sizes are 1, 1 and 0.01
ON_Y = 0.4  # of the torque, that of the first column
COLUMNS = tuple(Parameter(name, 'kg', 1.0, 0.0, 1.0, 'body') for name in 'abc')


@pytest.fixture(scope='module')
def rows():
    """Return noisy rows, torques of the true ones, and draws of their noise."""
    rng = np.random.default_rng(4)
    true = rng.standard_normal((COUNT, 3)) @ [[1.0, 0.6, 0.0], [0.0, 0.8, 0.0], [0.0, 0.0, 0.01]]
    noise = rng.standard_normal(true.shape)
    W = true + NOISE * noise
    y = true @ TRUE + ON_Y * noise[:, 0] + 0.1 * rng.standard_normal(COUNT)
    return W, y, rng.standard_normal((DRAWS, *true.shape))


def _block(W, y):
    return RegressorBlock(
        np.arange(COUNT, dtype=float), 0, (RowGroup('joint', 'N m', np.arange(3), W, y, y),)
    )


def _estimates(rows, estimator):
    """Return the estimate of least squares, and what is made of it."""
    W, y, draws = rows
    base = find_base_parameters(np.random.default_rng(1).standard_normal((30, 3)), COLUMNS)
    factors, block = RFactors(3), _block(W, y)
    factors.accumulate(block, np.arange(3))
    problem = Problem(factors, base, {'joint': 1.0})
    plain = ESTIMATORS[estimator](problem)
    pairs = [
        NoisyRows(block, _block(W + NOISE * x, y + ON_Y * x[:, 0]), draw, 1.0)
        for draw, x in enumerate(draws)
    ]
    noise = motion_noise(pairs, base.places(), plain.params, residuals_of([block], plain.params))
    return plain, noise.made_good(problem, plain, None)


@pytest.mark.parametrize('estimator', ['ordinary', 'weighted', 'ridge'])
def test_what_noise_in_the_rows_takes_off_is_made_good(rows, estimator):
    """A fourth of noise beside 1 - 0.6^2 of signal that the other column does not have."""
    plain, found = _estimates(rows, estimator)
    seen = (0.64 * TRUE[0] + NOISE[0] * ON_Y) / (NOISE[0] ** 2 + 0.64)
    assert plain.params[0] == pytest.approx(seen, abs=0.05)
    # 8000 rows: G is known to 1.5 %, the noise of the rows is ten times that of the torque.
    np.testing.assert_allclose(found.params[:2], TRUE[:2], atol=0.06)
    A, b = found.system  # what a physically consistent estimate is made of
    np.testing.assert_allclose(np.linalg.solve(A, b)[:2], TRUE[:2], atol=0.06)
    assert found.bse[0] > plain.bse[0]


def test_what_noise_alone_excites_has_no_number(rows):
    """A column of 0.01 under noise of 0.1: least squares finds a hundredth of what is there."""
    plain, found = _estimates(rows, 'weighted')
    assert abs(plain.params[2]) < 0.1 and plain.determined.all()
    assert found.determined.tolist() == [True, True, False] and np.isinf(found.data_bse[2])
    assert found.rank == 2
