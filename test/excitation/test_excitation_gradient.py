"""Rows and gradient of the search against pinocchio and finite differences."""

import pathlib
import re

import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.objective import Objective
from ros_inertial_id.excitation.problem import DesignOptions, motion_problem
from ros_inertial_id.excitation.regressor_adjoint import Chain, TreePass

URDF = pathlib.Path(__file__).parents[2] / 'urdf'
BODY = (
    '<inertial><origin xyz=".1 .2 .3"/><mass value="1.5"/><inertia ixx=".3" ixy=".02" '
    'ixz="-.01" iyy=".2" iyz=".03" izz=".4"/></inertial>'
)


def branched():
    """Two branches with sliders and slanted axes."""
    joints = (
        ('base', 'revolute', '0 0 1'),
        ('l1', 'prismatic', '0 1 0'),
        ('l2', 'revolute', '0 0.6 0.8'),
        ('l1', 'revolute', '1 0 0'),
        ('l4', 'prismatic', '0 0 -1'),
        ('l5', 'revolute', '0.48 0.6 0.64'),
    )
    parts = ['<robot name="branched"><link name="base"/>']
    for i, (parent, kind, axis) in enumerate(joints, start=1):
        parts.append(
            f'<joint name="j{i}" type="{kind}"><parent link="{parent}"/><child link="l{i}"/>'
            f'<origin xyz=".{i} -.2 .3" rpy=".4 -{i} .2"/><axis xyz="{axis}"/>'
            '<limit lower="-2" upper="2" velocity="2" effort="60"/></joint>'
            f'<link name="l{i}">{BODY}</link>'
        )
    return ''.join(parts) + '</robot>'


def robot_of(name, shapes=False):
    text = branched() if name == 'branched' else (URDF / f'{name}.urdf').read_text()
    text = text if shapes else re.sub(r'<(visual|collision)>.*?</\1>', '', text, flags=re.S)
    return load_robot_model(text, gravity_base=(2.0, -3.0, -9.0))


@pytest.mark.parametrize('name', ['franka', 'branched'])
def test_rows_are_those_of_pinocchio(name):
    robot, rng = robot_of(name), np.random.default_rng(0)
    n = len(robot)
    q, v, a = rng.normal(size=(3, n, 20))
    tree = TreePass(Chain.of(robot), q, v, a, robot.gravity_base)
    rows = np.einsum('xcib,xjb->bjic', tree.Y, tree.s) * robot_moves(robot)[None, :, :, None]
    data = robot.pin_model.createData()
    for k in range(20):
        W = pin.computeJointTorqueRegressor(robot.pin_model, data, q[:, k], v[:, k], a[:, k])
        # rounding of sums of terms of order 100
        assert np.abs(rows[k].reshape(n, -1) - W).max() < 1e-12 * max(1.0, np.abs(W).max())


def robot_moves(robot):
    """Return (joints, bodies) 1 where pinocchio's joint carries the body."""
    model = robot.pin_model
    return np.array(
        [
            [float(j + 1 in list(model.supports[i + 1])) for i in range(len(robot))]
            for j in range(len(robot))
        ]
    )


# Distances have kinks, and coal finds them within 1e-6 m: collisions have a test of their own.
CASES = {
    'plain': ('franka', {}),
    'condition_number': ('franka', {'criterion': 'condition_number', 'friction': ()}),
    'd_optimality': ('arm3', {'criterion': 'd_optimality'}),
    'friction and weights': (
        'arm3',
        {'friction': ('viscous', 'coulomb', 'offset', 'armature'), 'sigma': (2.0, 0.5, 0.1)},
    ),
    'bounded': ('franka', {'box': (-0.3, -0.3, -0.2, 0.3, 0.3, 0.5), 'sphere': 0.6}),
    'given start': ('arm3', {'start': (0.1, 0.5, -0.3), 'effort': (10.0, 9.0, 2.0)}),
    'branched with sliders': ('branched', {'acceleration': (3.0,)}),
}


@pytest.mark.parametrize(
    'case, penalty', [*((case, 100.0) for case in CASES), ('friction and weights', 0.0)]
)  # the criterion alone
def test_gradient_of_the_objective_is_its_derivative(case, penalty):
    name, settings = CASES[case]
    robot = robot_of(name)
    problem = motion_problem(robot, DesignOptions(**settings))[0]
    times = np.arange(40) * (problem.period / 40)
    objective = Objective(problem, times, margin=0.9)
    rng = np.random.default_rng(2)
    # large enough to break every kind of limit, so that every penalty takes part
    x = rng.normal(size=len(robot) * problem.space.shape[1])
    value, gradient = objective(x, 8.0, penalty)
    numeric = np.empty_like(gradient)
    for k, step in enumerate(1e-6 * np.eye(len(x))):
        numeric[k] = (
            objective(x + step, 8.0, penalty)[0] - objective(x - step, 8.0, penalty)[0]
        ) / 2e-6
    assert np.isfinite(value)
    # the bar of the issue; penalties have kinks in their second derivative
    assert np.abs(numeric - gradient).max() < 1e-5 * np.abs(gradient).max()
