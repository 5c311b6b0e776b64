"""Noise of the motion: what it shrinks is made good, and what only it excites has no number."""

from types import SimpleNamespace

import numpy as np
import pytest

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import ESTIMATORS, Problem
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.rigs.estimation.motion_noise import without_noise
from ros_inertial_id.rigs.estimation.noisy_rows import NoisyMotion

COUNT = 20000
TRUE = np.array([2.0, -1.0, 0.5])
NOISE = np.array([0.5, 0.0, 0.1])  # of the columns, whose true sizes are 1, 1 and 0.01
COLUMNS = tuple(Parameter(name, 'kg', 1.0, 0.0, 1.0, 'body') for name in 'abc')


@pytest.fixture(scope='module')
def rows():
    """Return noisy rows, the same with noise once more, and torques of the true ones."""
    rng = np.random.default_rng(4)
    true = rng.standard_normal((COUNT, 3)) @ [[1.0, 0.6, 0.0], [0.0, 0.8, 0.0], [0.0, 0.0, 0.01]]
    W = true + NOISE * rng.standard_normal(true.shape)
    y = true @ TRUE + 0.1 * rng.standard_normal(COUNT)
    return W, W + NOISE * rng.standard_normal(true.shape), y


class _Noisy(NoisyMotion):
    """A method of which one pair of blocks is known."""

    def __init__(self, *pair):
        self.pair = pair

    def noisy_rows(self, observation, robot, parameters):
        """Yield the pair."""
        yield *self.pair, 1.0


def _block(W, y):
    return RegressorBlock(
        np.arange(COUNT, dtype=float), 0, (RowGroup('joint', 'N m', np.arange(3), W, y, y),)
    )


def _estimates(rows, estimator):
    """Return the estimate of least squares, and what is made of it."""
    W, again, y = rows
    base = find_base_parameters(np.random.default_rng(1).standard_normal((30, 3)), COLUMNS)
    factors = RFactors(3)
    factors.accumulate(_block(W, y), np.arange(3))
    problem = Problem(factors, base, {'joint': 1.0})
    data = SimpleNamespace(
        robots=(None,),
        observations=(None,),
        options=SimpleNamespace(estimator=estimator),
        method=_Noisy(_block(W, y), _block(again, y)),
    )
    plain = ESTIMATORS['weighted' if estimator == 'instrumental' else estimator](problem)
    return plain, without_noise(data, problem, plain)


@pytest.mark.parametrize('estimator', ['ordinary', 'weighted', 'ridge'])
def test_what_noise_in_the_rows_takes_off_is_made_good(rows, estimator):
    """A fourth of noise beside 1 - 0.6^2 of signal that the other column does not have."""
    plain, found = _estimates(rows, estimator)
    lost = NOISE[0] ** 2 / (NOISE[0] ** 2 + 0.64)
    assert plain.params[0] == pytest.approx(TRUE[0] * (1.0 - lost), abs=0.05)
    # 20000 rows: G is known to 1 %, the noise of the rows is ten times that of the torque.
    np.testing.assert_allclose(found.params[:2], TRUE[:2], atol=0.04)
    A, b = found.system  # what a physically consistent estimate is made of
    np.testing.assert_allclose(np.linalg.solve(A, b)[:2], TRUE[:2], atol=0.04)
    assert found.bse[0] > plain.bse[0]


def test_what_noise_alone_excites_has_no_number(rows):
    """A column of 0.01 under noise of 0.1: least squares finds a hundredth of what is there."""
    plain, found = _estimates(rows, 'weighted')
    assert abs(plain.params[2]) < 0.1 and plain.determined.all()
    assert found.determined.tolist() == [True, True, False] and np.isinf(found.data_bse[2])
    assert found.rank == 2


def test_instruments_keep_their_own_errors_and_need_no_mending(rows):
    plain, found = _estimates(rows, 'instrumental')
    np.testing.assert_array_equal(found.params, plain.params)
    np.testing.assert_array_equal(found.bse, plain.bse)
    assert found.determined.tolist() == [True, True, False]
