"""Each estimator does what it is for, where the others fail."""

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.estimation.estimators import ESTIMATORS, ridge, weighted
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

NO_FRICTION = serial_arm.Options(friction=())


def arm(noise, seed=0):
    """Return (Problem of a two-joint arm with noisy torques, its true base parameters)."""
    urdf = mujoco_arm.description('arm2')
    true = mujoco_arm.true_urdf(urdf, 7)
    rng = np.random.default_rng(seed)
    t, q, v, a = mujoco_arm.motion(2, 20, 50, seed=3)
    tau = mujoco_arm.torque(true, q, v, a) + noise * rng.normal(size=v.shape)
    problem, _ = mujoco_arm.problem(urdf, NO_FRICTION, t, q, v, a, tau)
    return problem, problem.base.reduce(load_robot_model(true).inertias.ravel())


@pytest.mark.parametrize('name', ['ordinary', 'weighted'])
def test_exact_data_give_exact_parameters(name):
    problem, truth = arm(0.0)
    np.testing.assert_allclose(ESTIMATORS[name](problem).params, truth, atol=1e-7)


def test_ridge_leans_towards_nominal_by_less_than_its_error():
    problem, _ = arm(0.5)
    lean, free = ridge(problem), weighted(problem)
    assert np.all(np.abs(lean.params - free.params) < 0.5 * free.bse)


@pytest.mark.parametrize('name', ['ordinary', 'weighted', 'ridge'])
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
