"""What the estimators share, against formulas of textbooks on all rows at once."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.errors import EstimationError
from ros_inertial_id.estimation.estimators import ordinary, ridge, weighted
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

OPTIONS = serial_arm.Options(friction=('viscous', 'coulomb'), coulomb_width=0.01)
NOISE = np.array([2.0, 0.5, 0.1])  # [N m], as in METHODS.md section 1


def arm(duration=20, noise=NOISE, seed=0):
    """Return (Problem, motion and noisy torques) of a three-joint arm."""
    urdf = mujoco_arm.description('arm3')
    t, q, v, a = mujoco_arm.motion(3, duration, 50, seed=3)
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 7), q, v, a) + 0.5 * v
    tau = tau + noise * np.random.default_rng(seed).normal(size=v.shape)
    return mujoco_arm.problem(urdf, OPTIONS, t, q, v, a, tau)[0], (urdf, t, q, v, a, tau)


def stacked(base, urdf, *motion):
    """Return (W (N, b), y (N,), joint of every row (N,)) of all rows."""
    W, y, joint = [], [], []
    for block in mujoco_arm.rows(urdf, base.parameters, *motion):
        for j, group in enumerate(block.groups):
            full = np.zeros((len(group.y), len(base.parameters)))
            full[:, group.columns] = group.W
            W.append(full[:, base.independent])
            y.append(group.y)
            joint.append(np.full(len(group.y), j))
    return np.vstack(W), np.concatenate(y), np.concatenate(joint)


@pytest.fixture(scope='module')
def problem():
    """Return the Problem of twenty seconds."""
    return arm()[0]


@pytest.fixture(scope='module')
def rows(problem):
    """Return what ``stacked`` does of all its rows."""
    return stacked(problem.base, *arm()[1])


def test_ordinary_is_least_squares_with_its_covariance(problem, rows):
    W, y, _ = rows
    estimate = ordinary(problem)
    solution = np.linalg.lstsq(W, y, rcond=None)[0]
    error = np.abs(estimate.params - solution)
    assert np.all(error < 1e-9 * estimate.bse)
    variance = ((y - W @ solution) ** 2).sum() / (len(y) - len(solution))
    np.testing.assert_allclose(
        estimate.cov_params, variance * np.linalg.inv(W.T @ W), rtol=1e-6, atol=1e-12
    )
    assert estimate.condition_number == pytest.approx(np.linalg.cond(W), rel=1e-6)


def test_weighted_is_aitkens_with_the_joints_own_deviations(problem, rows):
    W, y, joint = rows
    estimate = weighted(problem)
    found = np.array(list(estimate.standard_deviation.values()))
    # 1000 rows a joint: a deviation is known to 1 / sqrt(2000) = 2 %.
    np.testing.assert_allclose(found, NOISE, rtol=0.1)
    square = np.bincount(joint, (y - W @ estimate.params) ** 2)
    # The parameters take their number of degrees of freedom, a third from each joint.
    np.testing.assert_allclose(found**2, square / (np.bincount(joint) - W.shape[1] / 3), rtol=1e-4)
    weight = 1.0 / found[joint]
    Ww, yw = W * weight[:, None], y * weight
    np.testing.assert_allclose(
        estimate.cov_params, np.linalg.inv(Ww.T @ Ww), rtol=1e-6, atol=1e-12
    )
    solution = np.linalg.lstsq(Ww, yw, rcond=None)[0]
    # The weights are those of the step before, the same to within a hundredth.
    assert np.all(np.abs(estimate.params - solution) < 0.02 * estimate.bse)


def test_ridge_is_the_bayesian_mean_and_covariance(problem, rows):
    W, y, joint = rows
    estimate = ridge(problem)
    weight = 1.0 / np.array(list(estimate.standard_deviation.values()))[joint]
    Ww, yw = W * weight[:, None], y * weight
    prior = np.linalg.inv(problem.base.prior_covariance())
    covariance = np.linalg.inv(Ww.T @ Ww + prior)
    mean = covariance @ (Ww.T @ yw + prior @ problem.base.nominal())
    np.testing.assert_allclose(estimate.cov_params, covariance, rtol=1e-6, atol=1e-12)
    assert np.all(np.abs(estimate.params - mean) < 0.02 * estimate.bse)


def test_correlated_rows_count_for_fewer(problem):
    joints = problem.factors.groups
    alone = weighted(problem)
    slow = weighted(replace(problem, correlation={name: 9.0 for name in joints}))
    np.testing.assert_allclose(slow.params, alone.params, rtol=1e-12)
    np.testing.assert_allclose(slow.bse, 3.0 * alone.bse, rtol=1e-9)
    assert slow.standard_deviation == alone.standard_deviation


def standing_still():
    """Return the Problem of an arm whose second and third joint hardly move."""
    urdf = mujoco_arm.description('arm3')
    t, q, v, a = mujoco_arm.motion(3, 20, 50, seed=3)
    for x in (q, v, a):
        x[:, 1:] = 0.0
    q[:, 1:] = 0.4
    rng = np.random.default_rng(0)
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 7), q, v, a)
    return mujoco_arm.problem(urdf, OPTIONS, t, q, v, a, tau + 0.05 * rng.normal(size=v.shape))[0]


def test_ridge_stays_at_nominal_where_the_data_are_silent():
    problem = standing_still()
    estimate, names = ridge(problem), problem.base.names()
    unseen = [names.index(n) for n in ('fv2', 'fc3', 'fv3')]
    np.testing.assert_allclose(estimate.params[unseen], problem.base.nominal()[unseen], atol=1e-9)
    assert not estimate.determined[unseen].any()
    assert np.isclose(
        estimate.bse[unseen], np.sqrt(np.diag(problem.base.prior_covariance()))[unseen]
    ).all()
    assert estimate.determined[names.index('fv1')]
    assert 0 < estimate.rank < len(problem.base)


def test_fewer_rows_than_parameters_are_refused():
    problem = arm(duration=0.1)[0]
    with pytest.raises(
        EstimationError, match='too short: joint1; expected more than 7 samples; found 5'
    ):
        weighted(problem)
