"""A base that moves, joints that bend, play and forces: each is named, and none for another."""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.checks.check import check
from ros_inertial_id.checks.finding import DOUBTFUL, NOTE
from ros_inertial_id.identification.settings import load_options

OPTIONS = load_options('', 'serial_arm')[1]
URDF = mujoco_arm.description('franka')
MIDDLE = np.array([0.2, 0.0, 0.2, -1.6, 0.2, 1.8, 0.2])


@pytest.fixture(scope='module')
def moved():
    """Return t (N,), q, v, a and torques (N, 7) of a Franka that is not quite its description."""
    t, q, v, a = mujoco_arm.motion(7, 20.0, 200.0, seed=1, speed=1.0)
    q = q - q.mean(0) + MIDDLE
    return t, q, v, a, mujoco_arm.torque(mujoco_arm.true_urdf(URDF, 1), q, v, a)


def _said(t, q, v, tau):
    """Return the Findings, but for notes, of a motion as measured, with friction and noise."""
    rng, size = np.random.default_rng(1), tau.std(0)
    tau = tau + size * (0.15 * v + 0.1 * np.tanh(v / 0.01)
                        + 0.003 * rng.standard_normal(tau.shape))
    q, v = q + 1e-5 * rng.standard_normal(q.shape), v + 1e-3 * rng.standard_normal(v.shape)
    recording = replace(mujoco_arm.recording(mujoco_arm.joints_of(URDF), t, q, v, tau, 'upright'),
                        robot_description=URDF)
    return [f for f in check([recording], OPTIONS).checks if f.severity != NOTE]


def _on_a_base(q, v, a, angle, turning, turned):
    """Return the torques (N, 7) on a base that turns about y by pinocchio's floating base."""
    model = pin.buildModelFromXML(mujoco_arm.true_urdf(URDF, 1), pin.JointModelFreeFlyer())
    data, out = model.createData(), []
    for k in range(len(q)):
        where = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, angle[k], 0.0)).coeffs()
        out.append(pin.rnea(model, data, np.concatenate([np.zeros(3), where, q[k]]),
                            np.concatenate([np.zeros(4), [turning[k], 0.0], v[k]]),
                            np.concatenate([np.zeros(4), [turned[k], 0.0], a[k]]))[6:].copy())
    return np.array(out)


def test_a_base_that_is_shaken_is_named_with_its_acceleration(moved):
    t, q, v, a, tau = moved
    none = np.zeros_like(q)
    for axis, share in enumerate((0.6, 0.8)):
        pull = mujoco_arm.torque(mujoco_arm.true_urdf(URDF, 1), q, none, none, np.eye(3)[axis])
        tau = tau + 0.4 * share * np.sin(2 * np.pi * 3.0 * t)[:, None] * pull
    found, = _said(t, q, v, tau)
    assert (found.name, found.severity) == ('base moves', DOUBTFUL)
    size = float(re.search(r'about ([\d.]+) m/s', found.says).group(1))
    assert size == pytest.approx(0.4 / np.sqrt(2.0), rel=0.3)  # what three unknowns show of it


def test_a_base_that_rocks_is_named(moved):
    t, q, v, a, _ = moved
    size, w = 0.004, 2 * np.pi * 3.0  # 4 mrad at 3 Hz: 0.04 m/s^2 of gravity, 1.4 rad/s^2
    tau = _on_a_base(q, v, a, size * np.sin(w * t), size * w * np.cos(w * t),
                     -size * w ** 2 * np.sin(w * t))
    found, = _said(t, q, v, tau)
    assert found.name == 'base moves' and 'rad/s^2' in found.says


def test_a_force_on_the_last_link_is_no_motion_of_the_base(moved):
    t, q, v, _, tau = moved
    model = pin.buildModelFromXML(URDF)
    data, push = model.createData(), 3.0 * np.sin(2 * np.pi * 3.0 * t)
    loaded = []
    for x, force in zip(q, push):
        pin.computeJointJacobians(model, data, x)
        J = pin.getJointJacobian(model, data, model.njoints - 1, pin.LOCAL_WORLD_ALIGNED)
        loaded.append(J[:3].T @ [force, 0.5 * force, 0.0])
    assert not [f for f in _said(t, q, v, tau + loaded) if f.name == 'base moves']


def test_the_stiffness_of_a_joint_is_that_of_the_simulation(moved):
    (t, q, _, _, tau), stiffness = moved, 4000.0
    measured = q + tau / stiffness
    found, = _said(t, measured, np.gradient(measured, t, axis=0), tau)
    assert (found.name, found.severity) == ('elastic joint', DOUBTFUL)
    assert found.joints[0] == 'fr3_joint2'  # carries most
    said = float(re.search(r'fr3_joint2 by 1 rad for (\d+) N m', found.says).group(1))
    assert said == pytest.approx(stiffness, rel=0.2)


def test_play_is_named_with_its_joint_and_is_no_motion_of_the_base(moved):
    t, q, _, _, tau = moved
    measured = q.copy()
    measured[:, 1] += 0.0005 * np.sign(tau[:, 1])  # 1 mrad from flank to flank
    found = _said(t, measured, np.gradient(measured, t, axis=0), tau)
    assert found[0].name == 'backlash' and found[0].joints == ('fr3_joint2',)
    assert not [f for f in found if f.name == 'base moves']
