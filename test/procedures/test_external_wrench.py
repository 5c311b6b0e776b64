"""The external wrench against MuJoCo's and closed forms; what no torque shows is not claimed."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import RobotModelError
from ros_inertial_id.procedures.external_wrench import UNSEEN_WRENCH, WrenchObserver
from ros_inertial_id.procedures.momentum_observer import External

URDF = Path(__file__).parents[2] / 'urdf'
WRENCH = np.array([3.0, -5.0, 8.0, 0.4, -0.2, 0.6])  # [N], [N m]


def external(torque, deviation, outside=None):
    """Return the External torques (N, n) with standard deviations (n,)."""
    torque = np.asarray(torque)
    none, deviation = np.zeros_like(torque), np.broadcast_to(deviation, torque.shape)
    return External(
        torque,
        deviation,
        torque,
        deviation,
        none,
        none > 0.0,
        none > 0.0,
        none if outside is None else outside,
    )


def franka(seed=0):
    """Return the robot, random positions (7,), and MuJoCo's J (6, 7) in the last link's axes."""
    text = (URDF / 'franka.urdf').read_text()
    robot = load_robot_model(text)
    q = np.random.default_rng(seed).uniform(0.2, 1.0, len(robot)) * np.where(
        np.arange(len(robot)) == 3, -1.0, 1.0
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    places = [model.joint(name).qposadr[0] for name in robot.joint_names]
    data.qpos[places] = q
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    body = model.joint(robot.joint_names[-1]).bodyid[0]
    linear, angular = np.zeros((2, 3, model.nv))
    mujoco.mj_jacBody(model, data, linear, angular, body)
    R = data.xmat[body].reshape(3, 3)
    return (
        robot,
        q,
        np.vstack([R.T @ linear, R.T @ angular])[
            :, [model.joint(name).dofadr[0] for name in robot.joint_names]
        ],
    )


def test_a_wrench_on_the_last_link_is_found_with_its_error():
    robot, q, J = franka()
    rng, deviation = np.random.default_rng(1), np.linspace(0.05, 0.3, 7)
    torque = J.T @ WRENCH + deviation * rng.standard_normal((2000, 7))
    wrench, covariance = WrenchObserver(robot).wrenches(
        np.broadcast_to(q, torque.shape), external(torque, deviation)
    )
    error = wrench - WRENCH
    np.testing.assert_allclose(
        error.mean(0), 0.0, atol=4.0 * np.sqrt(np.diag(covariance[0]) / 2000).max()
    )
    found = np.einsum('ni,nij,nj->n', error, np.linalg.inv(covariance), error)
    assert found.mean() == pytest.approx(6.0, rel=0.1)  # chi-square; 2000 of them: to 1.3 %


def test_what_a_singular_posture_hides_has_a_large_variance_and_no_value():
    # The planar arm's torques are those of two components of six.
    robot = load_robot_model((URDF / 'arm2.urdf').read_text())
    wrench, covariance = WrenchObserver(robot).wrenches(
        np.array([[0.3, 0.8], [0.3, 0.0]]), external([[1.0, 2.0]] * 2, [0.1, 0.1])
    )
    sizes, ways = np.linalg.eigh(covariance[0])
    assert (sizes[2:] > 0.99 * UNSEEN_WRENCH**2).all() and (sizes[:2] < 1e4).all()
    np.testing.assert_allclose(ways[:, 2:].T @ wrench[0], 0.0, atol=1e-3)


def test_beyond_the_range_a_wrench_is_unknown_and_a_link_must_exist():
    robot, q, J = franka()
    outside = np.zeros((2, 7))
    outside[1, 2] = 0.3
    wrench, covariance = WrenchObserver(robot).wrenches(
        np.stack([q, q]), external([J.T @ WRENCH] * 2, np.full(7, 0.1), outside)
    )
    np.testing.assert_allclose(wrench[0], WRENCH, atol=1e-4)
    assert np.isnan(wrench[1]).all() and np.isnan(covariance[1]).all()
    with pytest.raises(RobotModelError, match="no link 'hand'"):
        WrenchObserver(robot, 'hand')
