"""Which combinations of parameters rows can show: rank, groupings, words."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest
from random_tree import KINDS, tree_urdf

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import EstimationError
from ros_inertial_id.estimation.base_parameters import BaseParameters, find_base_parameters
from ros_inertial_id.estimation.estimators import prior_rows
from ros_inertial_id.identification.prepare.mounting import structural_base
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

NO_FRICTION = serial_arm.Options(friction=())
TILTED = (3.0, -4.0, -7.0)


def base_of(robot, options=NO_FRICTION):
    """Return the BaseParameters of a robot as it is mounted."""
    return structural_base(serial_arm, [robot], serial_arm.parameters(robot, options))


def pin_rows(robot, count, seed):
    """Return the regressor (count * n, 10 n) of random states by pinocchio."""
    model, data = robot.pin_model, robot.pin_model.createData()
    rng = np.random.default_rng(seed)
    return np.vstack(
        [
            pin.computeJointTorqueRegressor(model, data, robot.pin_q(q), v, a)
            for q, v, a in rng.normal(size=(count, 3, len(robot)))
        ]
    )


ROBOTS = {
    **{kind: tree_urdf(kinds, seed=5) for kind, kinds in KINDS.items()},
    'franka': mujoco_arm.description('franka'),
    'arm3': mujoco_arm.description('arm3'),
}


@pytest.mark.parametrize('gravity', [mujoco_arm.UPRIGHT, TILTED])
@pytest.mark.parametrize('urdf', ROBOTS.values(), ids=ROBOTS)
def test_moving_along_the_null_space_leaves_all_torques(urdf, gravity):
    robot = load_robot_model(urdf, gravity_base=gravity)
    base = base_of(robot)
    rng = np.random.default_rng(1)
    pi = robot.inertias.ravel()
    # Any other values of the grouped parameters, the base parameters held.
    other = base.expand(base.reduce(pi), pi + rng.normal(size=len(pi)))
    assert np.abs(other - pi).max() > 0.1
    W = pin_rows(robot, 40, seed=2)
    assert np.abs(W @ (other - pi)).max() < 1e-9 * np.abs(W @ pi).max()


@pytest.mark.parametrize('urdf', ROBOTS.values(), ids=ROBOTS)
def test_rank_is_that_of_many_rows_by_pinocchio(urdf):
    robot = load_robot_model(urdf, gravity_base=TILTED)
    base = base_of(robot)
    # Twenty times the rows that are needed, by other code: scaled columns as all ranks here.
    scales = [p.scale for p in base.parameters]
    singular = np.linalg.svd(pin_rows(robot, 300, seed=3) * scales, compute_uv=False)
    assert np.sum(singular > 1e-9 * singular[0]) == len(base)
    assert base.gap > 1e6


def test_a_real_description_has_as_many_as_its_neighbour_in_the_papers(shared_data):
    # KUKA LWR4+: spherical shoulder, elbow and wrist like the Franka, without its offsets.
    robot = load_robot_model((shared_data / 'kuka_lwr4' / 'kuka_lwr4.urdf').read_text())
    singular = np.linalg.svd(pin_rows(robot, 300, seed=4), compute_uv=False)
    assert len(base_of(robot)) == np.sum(singular > 1e-9 * singular[0]) == 43


def test_friction_of_every_joint_is_a_base_parameter_and_armature_joins_the_inertia():
    robot = load_robot_model(mujoco_arm.description('arm3'))
    options = serial_arm.Options(friction=('viscous', 'coulomb', 'armature'), coulomb_width=0.0)
    base = base_of(robot, options)
    # Rotors 1 and 2 are one with the inertia about the axis of their own link; Izz3 moves with
    # joint 2 as well, so the third rotor can be told from it.
    assert len(base) == 15 + 3 + 3 + 1
    names = [base.parameters[k].name for k in base.independent]
    assert [n for n in names if n.startswith('Ia')] == ['Ia3']
    assert any(e.startswith('Izz1 ') and e.endswith('Ia1') for e in base.expressions())


def test_expressions_say_what_is_computed():
    robot = load_robot_model(mujoco_arm.description('arm3'))
    base = base_of(robot)
    pi = dict(zip((p.name for p in base.parameters), np.random.default_rng(0).normal(size=30)))
    values = base.reduce(list(pi.values()))
    for text, value in zip(base.expressions(), values):
        words = ('+ ' + text).split()
        total, sign, factor = 0.0, 1.0, 1.0
        for word in words:
            if word in '+-':
                sign, factor = (1.0 if word == '+' else -1.0), 1.0
            elif word in pi:
                total += sign * factor * pi[word]
            else:
                factor = float(word)
        assert total == pytest.approx(value, rel=1e-4, abs=1e-4)  # six digits are printed


@pytest.mark.parametrize('noise', [1e-12, 1e-9, 1e-7])
def test_groupings_survive_rows_that_are_not_exact(noise):
    robot = load_robot_model(mujoco_arm.description('arm3'))
    parameters = serial_arm.parameters(robot, NO_FRICTION)
    exact = find_base_parameters(pin_rows(robot, 60, seed=0), parameters)
    rows = pin_rows(robot, 60, seed=0)
    rows = rows + noise * np.random.default_rng(1).normal(size=rows.shape)
    found = find_base_parameters(rows, parameters)
    assert len(found) == len(exact) == 15  # METHODS.md: elimination alone finds 19
    np.testing.assert_array_equal(found.independent, exact.independent)
    # Columns are of order 1, those of grouped parameters down to a hundredth: error 100 noise.
    np.testing.assert_allclose(found.X, exact.X, atol=1e3 * noise + 1e-8)


def test_rows_without_effect_are_refused():
    parameter = Parameter('x1', 'kg', 1.0)
    with pytest.raises(EstimationError, match='no parameter has any effect on the measured rows'):
        find_base_parameters(np.zeros((5, 2)), (parameter, replace(parameter, name='y1')))


def test_what_sums_share_does_not_hide_by_what_they_differ_before_any_data():
    """In the head of a small parallel robot legs have inertias in their masses by 1 / length^2."""
    parameters = tuple(Parameter(name, '', 1.0, 0.0, 1.0) for name in ('m1', 'm2', 'Iyy3'))
    indices = np.arange(3)
    base = BaseParameters(parameters, indices[:2], indices[2:], np.full((2, 1), 1e9), 1e12)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(base.prior_covariance())
    A, _ = prior_rows(base)
    # Of the difference m1 - m2 the variance is 1 + 1, whatever the inertia is.
    assert np.square(A @ [1.0, -1.0]).sum() == pytest.approx(2.0, rel=1e-6)
