"""Instrumental variables: exact where the data are, and of the same samples as they."""

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import EstimationError
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.estimation.instrumental import instrumental

serial_arm = METHODS['serial_arm']


@pytest.fixture(scope='module')
def arm():
    """Return (Problem of a two-joint arm, parameters -> its blocks, true base parameters)."""
    urdf = mujoco_arm.description('arm2')
    true, (t, q, v, a) = mujoco_arm.true_urdf(urdf, 7), mujoco_arm.motion(2, 20, 50, seed=3)
    tau = mujoco_arm.torque(true, q, v, a)
    problem, _ = mujoco_arm.problem(urdf, serial_arm.Options(friction=()), t, q, v, a, tau)
    return (
        problem,
        lambda parameters: mujoco_arm.rows(urdf, parameters, t, q, v, a, tau),
        problem.base.reduce(load_robot_model(true).inertias.ravel()),
    )


def test_exact_data_give_exact_parameters(arm):
    problem, read, truth = arm
    found = instrumental(
        problem, read, lambda parameters: ((block, block) for block in read(parameters))
    )
    np.testing.assert_allclose(found.params, truth, atol=1e-7)


def test_instruments_of_other_samples_are_refused(arm):
    problem, read, _ = arm
    with pytest.raises(EstimationError, match='other samples'):
        instrumental(
            problem,
            read,
            lambda parameters: ((block, block.rows(slice(1, None))) for block in read(parameters)),
        )
