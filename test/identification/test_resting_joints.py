"""Joints that stood still get no friction of their own; recordings that share the joints do."""

import mujoco_arm
import numpy as np
import pytest

import ros_inertial_id as rid
from ros_inertial_id.checks.finding import NOTE

POSE = np.array([0.4, -0.5, 0.6])


def _moved(moving, seed, seconds=15.0):
    """Return a Recording of a 3R arm of which some joints move, and its q, v, a and torques."""
    urdf = mujoco_arm.description('arm3')
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(3, seconds, 200.0, seed=seed, speed=1.0)
    own = np.isin(np.arange(3), moving).astype(float)
    q, v, a = POSE + (q - q.mean(0)) * own, v * own, a * own
    rigid = mujoco_arm.torque(urdf, q, v, a)
    rng = np.random.default_rng(seed)
    tau = rigid + [3.0, 2.0, 1.0] * mujoco_arm.friction(v, 0.5, 1.0)
    tau += 0.05 * rng.standard_normal(tau.shape)
    recording = mujoco_arm.measured(rng, names, t, q, v, tau, mounting='upright', urdf=urdf)
    return recording, (q, v, a), rigid, tau


@pytest.fixture(scope='module')
def alone():
    """Return the Result of a recording in which the second joint moves alone."""
    return rid.identify(_moved([1], 1)[0])


def test_joints_that_stood_predict_what_the_description_says_and_no_friction(alone):
    owners = {p.owner for p in alone.model.identified.parameters if p.law}
    names = alone.model.identified.robot['joints']
    assert owners == {names[1]}
    _, motion, rigid, tau = _moved([0, 1, 2], 2)
    predicted = alone.model.torque(*motion)
    for j in (0, 2):
        # The bodies are the description's but for what the moving joint's torques add in noise.
        error = np.sqrt(np.mean((predicted[:, j] - rigid[:, j]) ** 2))
        assert error < 0.1 * np.sqrt(np.mean(rigid[:, j] ** 2))
    moving = predicted[:, 1] - tau[:, 1]
    assert np.sqrt(np.mean(moving**2)) < 0.1 * np.sqrt(np.mean(tau[:, 1] ** 2))


def test_recordings_that_move_the_joints_in_turn_make_one_model(alone):
    result = rid.identify([_moved([1], 1)[0], _moved([0, 2], 3)[0]])
    assert len({p.owner for p in result.model.identified.parameters if p.law}) == 3
    resting = [f for f in result.checkup.checks if f.name == 'joints at rest']
    assert len(resting) == 2 and all(f.severity == NOTE for f in resting)
    assert [f.severity for f in alone.checkup.checks if f.name == 'joints at rest'] != [NOTE]
    _, motion, _, tau = _moved([0, 1, 2], 2)
    left = result.model.torque(*motion) - tau
    assert np.linalg.norm(left) < 0.05 * np.linalg.norm(tau)
