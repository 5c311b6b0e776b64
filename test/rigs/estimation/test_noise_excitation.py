"""Noise of the motion: what it shrinks is made good, and what only it excites has no number."""

from types import SimpleNamespace

import numpy as np
import pytest

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import ESTIMATORS, Problem
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.estimation.residuals import residuals_of
from ros_inertial_id.rigs.estimation.noisy_rows import noise_moments, without_noise
from ros_inertial_id.rigs.estimation.scores import autocovariances

COUNT = 20000
TRUE = np.array([2.0, -1.0, 0.5])
NOISE = np.array([0.5, 0.0, 0.1])  # of the columns, whose true sizes are 1, 1 and 0.01
COLUMNS = tuple(Parameter(name, 'kg', 1.0, 0.0, 1.0, 'body') for name in 'abc')
SHARE = 0.3  # of the first column's noise that stands in y as well


def _block(W, y):
    return RegressorBlock(np.arange(COUNT, dtype=float), 0, (
        RowGroup('joint', 'N m', np.arange(3), W, y, y),))


def _estimates(estimator, in_y=0.0, seed=4):
    """Return the Estimate of least squares, and what is made of it."""
    rng = np.random.default_rng(seed)
    true = rng.standard_normal((COUNT, 3)) @ [[1.0, 0.6, 0.0], [0.0, 0.8, 0.0], [0.0, 0.0, 0.01]]
    noise, again = NOISE * rng.standard_normal((2, COUNT, 3))
    W, y = true + noise, true @ TRUE + 0.1 * rng.standard_normal(COUNT) + in_y * noise[:, 0]
    base = find_base_parameters(np.random.default_rng(1).standard_normal((30, 3)), COLUMNS)
    block, moved = _block(W, y), _block(W + again, y + in_y * again[:, 0])
    factors = RFactors(3)
    factors.accumulate(block, np.arange(3))
    problem = Problem(factors, base, {'joint': 1.0})
    data = SimpleNamespace(robots=(None,), observations=(None,), method=SimpleNamespace(
        noisy_rows=lambda *_: [(block, moved, 1.0)]))
    plain = ESTIMATORS[estimator](problem)
    return plain, without_noise(problem, estimator, noise_moments(data, base),
                                autocovariances(residuals_of([block], plain.params)), [block])


@pytest.mark.parametrize('estimator', ['ordinary', 'weighted', 'ridge'])
@pytest.mark.parametrize('in_y', [0.0, SHARE])
def test_what_noise_in_the_rows_takes_off_is_made_good(estimator, in_y):
    """A fourth of noise beside 1 - 0.6^2 of signal that the other column does not have."""
    plain, found = _estimates(estimator, in_y)
    lost = NOISE[0] ** 2 / (NOISE[0] ** 2 + 0.64)
    assert plain.params[0] == pytest.approx(TRUE[0] * (1.0 - lost) + in_y * lost, abs=0.05)
    # 20000 rows: G is known to 1 %, the noise of the rows is ten times that of the torque.
    np.testing.assert_allclose(found.params[:2], TRUE[:2], atol=0.04)
    A, b = found.system  # what a physically consistent estimate is made of
    np.testing.assert_allclose(np.linalg.lstsq(A, b, rcond=1e-9)[0][:2], TRUE[:2], atol=0.04)
    assert found.bse[0] > plain.bse[0]


def test_what_noise_alone_excites_has_no_number():
    """A column of 0.01 under noise of 0.1: least squares finds a hundredth of what is there."""
    plain, found = _estimates('weighted')
    assert abs(plain.params[2]) < 0.1 and plain.determined.all()
    assert found.determined.tolist() == [True, True, False] and np.isinf(found.data_bse[2])
    assert found.rank == 2


def test_a_direction_without_a_number_leaves_the_others_theirs():
    """What no row shows of one column says nothing of how well the others are known."""
    z = []
    for seed in range(20):
        _, found = _estimates('weighted', seed=seed)
        z.append(((found.params - TRUE) / found.bse)[:2])
    # 40 numbers: their rms is known to a tenth.
    assert 0.7 < np.sqrt(np.mean(np.square(z))) < 1.3
