"""What is known is kept, sharpens what is grouped with it, and contradicts nothing silently."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError
from ros_inertial_id.estimation.base_parameters import with_known
from ros_inertial_id.estimation.estimators import ridge, weighted
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

OPTIONS = serial_arm.Options(friction=('viscous', 'coulomb'), coulomb_width=0.01)


@pytest.fixture(scope='module')
def arm():
    """Return (problem of a noisy three-joint arm, its true standard parameters)."""
    urdf = mujoco_arm.description('arm3')
    true = mujoco_arm.true_urdf(urdf, 8)
    t, q, v, a = mujoco_arm.motion(3, 10, 50, speed=0.6)
    tau = mujoco_arm.torque(true, q, v, a) + mujoco_arm.friction(v, 0.4, 0.7)
    tau += 0.05 * np.random.default_rng(0).normal(size=v.shape)
    problem, _ = mujoco_arm.problem(urdf, OPTIONS, t, q, v, a, tau)
    return problem, np.concatenate([load_robot_model(true).inertias.ravel(), [0.4, 0.7] * 3])


def given(problem, *lines):
    """Return the Problem with known parameters."""
    base = replace(problem.base, parameters=with_known(problem.base.parameters, lines))
    return replace(problem, base=base)


def test_an_exact_value_is_kept_and_the_others_are_those_of_moving_it_aside(arm):
    problem, truth = arm
    place = problem.base.names().index('fc2')
    known = ridge(given(problem, f'fc2 {truth[33]}'))
    assert known.params[place] == pytest.approx(truth[33], abs=1e-5)
    A, b, _ = problem.factors.system(known.standard_deviation)
    others = np.delete(np.arange(len(b)), place)
    aside, *_ = np.linalg.lstsq(A[:, others], b - A[:, place] * truth[33], rcond=None)
    # But for the prior in the others, which moves them by a fraction of their error.
    assert np.all(np.abs(known.params[others] - aside) < 0.3 * known.bse[others])
    assert np.all(known.bse <= ridge(problem).bse * 1.01)


def test_an_uncertain_value_is_weighed_against_the_data(arm):
    problem, truth = arm
    place = problem.base.names().index('fv1')
    free = weighted(problem)
    error = free.bse[place]
    value = free.params[place] + 2 * error
    known = ridge(given(problem, f'fv1 {value} {error}'))
    # Two equally sure sources: half way between them, surer by the root of two.
    assert known.params[place] == pytest.approx(free.params[place] + error, abs=0.3 * error)
    assert known.bse[place] == pytest.approx(error / np.sqrt(2), rel=0.15)


def test_a_link_and_a_joint_can_be_known_as_described():
    urdf = mujoco_arm.description('arm3')
    robot = load_robot_model(urdf)
    parameters = with_known(serial_arm.parameters(robot, OPTIONS), ('link3', 'joint1'))
    tight = {p.name for p in parameters if p.prior_sd <= 1e-5 * p.scale}
    assert tight == {
        f'{s}3' for s in ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
    } | {'fv1', 'fc1'}


@pytest.mark.parametrize(
    'line, words',
    [
        ('elbow 3', 'elbow.*Ixx1'),
        ('fv1 much', 'NAME VALUE'),
        ('fv1 1 -1', 'NAME VALUE'),
        ('', 'NAME VALUE'),
        ('link3 2.0', 'one of its parameters'),
    ],
)
def test_what_cannot_be_known_is_refused(line, words):
    robot = load_robot_model(mujoco_arm.description('arm3'))
    with pytest.raises(ConfigError, match=words):
        with_known(serial_arm.parameters(robot, OPTIONS), (line,))


def test_known_values_reach_the_model_and_the_consistent_estimate():
    urdf = mujoco_arm.description('arm3')
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(3, 20, 100, speed=0.8)
    tau = mujoco_arm.torque(urdf, q, v, a) + mujoco_arm.friction(v, 0.4, 0.7)
    tau += 0.1 * np.random.default_rng(0).normal(size=v.shape)
    recording = mujoco_arm.recording(names, t, q, v, tau)
    options = replace(
        options_class('serial_arm')(),
        friction=('viscous', 'coulomb'),
        given=('m2 4.5', 'fv3 0.35', 'mcz3 0.01'),
        consistent=True,
    )
    model = identify([recording], options, urdf=urdf).model
    values = dict(zip((p.name for p in model.parameters), model.values))
    assert values['m2'] == pytest.approx(4.5, abs=1e-6)
    assert values['fv3'] == pytest.approx(0.35, abs=1e-4)
    assert values['mcz3'] == pytest.approx(0.01, abs=1e-6)
    entry = next(e for e in model.base if e['name'] == 'fv3')
    assert entry['value'] == pytest.approx(0.35, abs=1e-4)
    with pytest.raises(ConfigError, match='estimator: ridge'):
        identify([recording], replace(options, estimator='weighted'), urdf=urdf)
