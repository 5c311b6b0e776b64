"""Each estimator does what it is for, where the others fail."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import EstimationError
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import ESTIMATORS, Problem, ridge, weighted
from ros_inertial_id.estimation.r_factors import GroupFactor, RFactors, triangle
from ros_inertial_id.estimation.robust import instrumental, robust
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

NO_FRICTION = serial_arm.Options(friction=())


def arm(noise, seed=0, wild=0.0):
    """Return (Problem of a two-joint arm with noisy torques, its true base parameters)."""
    urdf = mujoco_arm.description('arm2')
    true = mujoco_arm.true_urdf(urdf, 7)
    rng = np.random.default_rng(seed)
    t, q, v, a = mujoco_arm.motion(2, 20, 50, seed=3)
    tau = mujoco_arm.torque(true, q, v, a) + noise * rng.normal(size=v.shape)
    impacted = rng.random(v.shape) < wild
    tau = np.where(impacted, tau + 30.0 + 10.0 * rng.normal(size=v.shape), tau)
    problem, _ = mujoco_arm.problem(urdf, NO_FRICTION, t, q, v, a, tau)
    return problem, problem.base.reduce(load_robot_model(true).inertias.ravel())


def linear(W, y):
    """Return the Problem of plain rows W (N, k), y (N,) in one group."""
    k = W.shape[1]
    parameters = tuple(Parameter(f'x{i}', '', 1.0, 0.0, 10.0, 'rows') for i in range(k))
    base = find_base_parameters(np.random.default_rng(0).normal(size=(3 * k, k)), parameters)
    R = triangle(np.asfortranarray(np.column_stack([W, y, y])))
    group = GroupFactor('', np.arange(k), R, len(y))
    return Problem(RFactors(k, {'rows': group}), base, {})


@pytest.mark.parametrize('name', ['ordinary', 'weighted', 'robust', 'instrumental'])
def test_exact_data_give_exact_parameters(name):
    problem, truth = arm(0.0)
    estimate = ESTIMATORS[name](replace(problem, instruments=lambda parameters: (
        (block, block) for block in problem.read(parameters))))
    np.testing.assert_allclose(estimate.params, truth, atol=1e-7)


def test_ridge_leans_towards_nominal_by_less_than_its_error():
    problem, _ = arm(0.5)
    lean, free = ridge(problem), weighted(problem)
    assert np.all(np.abs(lean.params - free.params) < 0.5 * free.bse)


@pytest.mark.parametrize('name', ['ordinary', 'weighted', 'ridge', 'robust'])
def test_standard_errors_are_those_of_repeated_runs(name):
    z = []
    for seed in range(40):
        problem, truth = arm(np.array([2.0, 0.2]), seed)
        estimate = ESTIMATORS[name](problem)
        z.append((estimate.params - truth) / estimate.bse)
    scatter = np.sqrt(np.mean(np.square(z)))
    # 320 values; ordinary takes one variance for both joints, so its errors are a compromise.
    low, high = (0.5, 1.6) if name == 'ordinary' else (0.85, 1.15)
    assert low < scatter < high


def test_wild_samples_bend_least_squares_but_not_the_robust_estimate():
    clean, truth = arm(0.2, 1)
    impacted, _ = arm(0.2, 1, wild=0.05)
    error = {name: np.abs(f(impacted).params - truth) / f(clean).bse
             for name, f in (('weighted', weighted), ('robust', robust))}
    assert np.median(error['weighted']) > 5.0
    assert np.median(error['robust']) < 2.5
    own, plain = (f(impacted).standard_deviation['joint1'] for f in (robust, weighted))
    assert own < 1.5 * 0.2 < plain


def test_robust_errors_grow_with_what_wild_rows_cost():
    rng, size = np.random.default_rng(3), 4000
    W = rng.normal(size=(size, 4))
    y = W @ np.ones(4) + np.where(rng.random(size) < 0.3, 20.0, 1.0) * rng.normal(size=size)
    estimate = robust(replace(linear(W, y), read=lambda parameters: [
        RegressorBlock(np.arange(size) * 0.01, 0,
                       (RowGroup('rows', '', np.arange(4), W, y, y),))]))
    sigma = estimate.standard_deviation['rows']
    u = (y - W @ estimate.params) / sigma
    # Huber and Ronchetti 2009, Eq. 7.84: sigma^2 mean psi^2 / (mean psi')^2 (W'W)^-1
    inside = np.mean(np.abs(u) < 1.345)
    cost = np.sqrt(np.mean(np.clip(u, -1.345, 1.345) ** 2)) / inside
    assert cost > 1.08  # what leaving it out would miss
    expected = sigma * cost * np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    np.testing.assert_allclose(estimate.bse, expected, rtol=0.03)  # it settles to a hundredth


def test_robust_estimate_that_does_not_settle_is_given_and_said(monkeypatch, caplog):
    impacted, truth = arm(0.2, 1, wild=0.05)
    settled = robust(impacted)
    assert not caplog.messages
    monkeypatch.setattr('ros_inertial_id.estimation.robust.PASSES', 6)
    estimate = robust(impacted)
    assert 'has not settled after 6 passes' in caplog.text
    assert np.all(np.abs(estimate.params - settled.params) < 2.0 * settled.bse)


def test_instruments_of_other_samples_are_refused():
    problem, _ = arm(0.1)

    def shifted(parameters):
        for block in problem.read(parameters):
            yield block, block.rows(slice(1, None))

    with pytest.raises(EstimationError, match='other samples'):
        instrumental(replace(problem, instruments=shifted))
