"""A force on one link is recognised by how it loads all joints at once, by MuJoCo's account."""

from xml.etree import ElementTree

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.checks.contacts import force_nats
from ros_inertial_id.checks.samples import DELAYS, equations, LAGS, METHOD, Motion
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.identification.settings import load_options

USUAL = np.array([0.2, 0.2, 0.15, 0.15, 0.08, 0.08, 0.05])  # [N m] of residuals
COUNT = 40


@pytest.fixture(scope='module')
def rows():
    """Return the Rows of a Franka in random postures, at rest."""
    robot = load_robot_model(mujoco_arm.description('franka'))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (COUNT, 7)) + [0, 0, 0, -1.5, 0, 1.5, 0]
    still = np.zeros_like(q)
    motion = Motion(np.arange(COUNT) * 0.1, q, still, still, still,
                    np.zeros((*q.shape, len(DELAYS))), np.zeros((*q.shape, len(LAGS))))
    parameters = METHOD.parameters(robot, load_options('', 'serial_arm')[1])[:70]
    return equations(robot, motion, parameters, np.zeros(COUNT, int))


def _pushed(q, joint, force):
    """Return the torques (COUNT, 7) by which a ``force`` on a link's middle loads the joints."""
    light = mujoco_arm.description('franka')
    robot = ElementTree.fromstring(light)
    joints = mujoco_arm.joints_of(light)
    link = robot.find(f"joint[@name='{joints[joint]}']/child").get('link')
    mass = robot.find(f"link[@name='{link}']/inertial/mass")
    added = float(mass.get('value'))
    mass.set('value', str(2.0 * added))  # a weight in the middle of the link
    heavy, still = ElementTree.tostring(robot, encoding='unicode'), np.zeros_like(q)
    pulls = [mujoco_arm.torque(urdf, q, still, still, force / added) for urdf in (light, heavy)]
    return pulls[1] - pulls[0]


def _nats(square):
    return 0.5 * square / USUAL ** 2


def _found(rows, torque):
    return force_nats(rows, np.arange(COUNT), torque, torque ** 2, USUAL, _nats)


@pytest.mark.parametrize('joint', [1, 3, 6])
def test_one_force_explains_the_torques_of_a_push(rows, joint):
    torque = _pushed(rows.motion.q, joint, np.array([12.0, -9.0, 6.0]))
    whole = _nats(torque ** 2).sum(1)
    # But for its unknowns; near singular postures a part of the force is not seen.
    share = _found(rows, torque) / (whole - min(3, joint + 1))
    assert np.median(share) == pytest.approx(1.0, abs=0.02)
    assert np.all(_found(rows, torque) <= whole)


def test_friction_of_some_joints_is_no_force(rows):
    torque = np.zeros((COUNT, 7))
    torque[:, [2, 4, 6]] = 5.0 * USUAL[[2, 4, 6]]  # as sure as a push in all together
    whole = _nats(torque ** 2).sum(1)
    assert np.median(_found(rows, torque) / whole) < 0.6
