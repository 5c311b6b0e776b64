"""Instrumental variables: exact where the data are, and of the same samples as they."""

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.errors import EstimationError
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.estimation.instrumental import instrumental

serial_arm = METHODS['serial_arm']


@pytest.fixture(scope='module')
def arm():
    """Return (Problem of a two-joint arm, parameters -> its blocks, true base parameters)."""
    problem, truth, (urdf, *motion) = mujoco_arm.two_joint_problem()
    return problem, lambda parameters: mujoco_arm.rows(urdf, parameters, *motion), truth


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
