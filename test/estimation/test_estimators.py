"""Each estimator does what it is for, where the others fail."""

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.estimation.estimators import ESTIMATORS, ridge, weighted
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']


@pytest.mark.parametrize('name', ['ordinary', 'weighted'])
def test_exact_data_give_exact_parameters(name):
    problem, truth, _ = mujoco_arm.two_joint_problem()
    np.testing.assert_allclose(ESTIMATORS[name](problem).params, truth, atol=1e-7)


def test_ridge_leans_towards_nominal_by_less_than_its_error():
    problem, *_ = mujoco_arm.two_joint_problem(0.5)
    lean, free = ridge(problem), weighted(problem)
    assert np.all(np.abs(lean.params - free.params) < 0.5 * free.bse)


@pytest.mark.parametrize('name', ['ordinary', 'weighted', 'ridge'])
def test_standard_errors_are_those_of_repeated_runs(name):
    z = []
    for seed in range(40):
        problem, truth, _ = mujoco_arm.two_joint_problem(np.array([2.0, 0.2]), seed)
        estimate = ESTIMATORS[name](problem)
        z.append((estimate.params - truth) / estimate.bse)
    scatter = np.sqrt(np.mean(np.square(z)))
    # 320 values; ordinary takes one variance for both joints, so its errors are a compromise.
    low, high = (0.5, 1.6) if name == 'ordinary' else (0.85, 1.15)
    assert low < scatter < high


def test_an_error_of_more_torque_than_there_was_is_no_number():
    """At one speed viscous and Coulomb friction look alike: 0 +- 11 says nothing of either."""
    urdf, rng = mujoco_arm.description('arm2'), np.random.default_rng(0)
    t = np.arange(0.0, 20.0, 0.02)
    v = np.array([1.0, -0.7]) + 1e-4 * rng.normal(size=(len(t), 2))
    q, a = np.outer(t, [1.0, -0.7]), np.zeros_like(v)
    tau = (
        mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 7), q, v, a)
        + 0.4 * v
        + 0.3 * np.sign(v)
        + 0.05 * rng.normal(size=v.shape)
    )
    problem, _ = mujoco_arm.problem(
        urdf, serial_arm.Options(friction=('viscous', 'coulomb')), t, q, v, a, tau
    )
    estimate, names = weighted(problem), problem.base.names()
    friction = np.array([n.startswith('f') for n in names])
    assert not estimate.determined[friction].any() and estimate.determined[~friction].any()
    assert (estimate.data_bse[friction] < problem.base.prior_sd[friction]).all()
