"""What a researcher types first: fifty lines, written down before the code that answers them."""

import pickle

import numpy as np
import pinocchio as pin
import pytest

import ros_inertial_id as rid

LINES = """
result
str(result)
result.verdict
result.verdict.word
result.verdict.reasons
result.uses
result.uses.joints
result.validation
result.validation['filtered']['rms']
result.residuals
result.residuals.to_dataframe()
result.residuals['joint1'].validation
result.residuals.cross_validation_percent
result.checkup
result.model
result._repr_html_()
result.report(tmp_path / 'report.html')
model.verdict
model.statistics['condition_number']
model.base_parameters
model.base_parameters.to_dataframe()
pandas.DataFrame(model.base_parameters)
model.base_parameters['IzzR1'].standard_error
model.links
model.links['link2'].mass
model.links['link2'].mass_error
model.links['link2'].center_of_mass
model.links['link2'].inertia
model.links.to_dataframe().loc['link2', ['mass', 'mass_error']]
model.links[-1].determined
[link.mass for link in model.links]
model.link_names
model.joint_names
model.gravity_base
model.covariance
model.friction(v)
model.friction_parameters
model.predict((t, q, v, a)).torque
prediction
prediction.to_dataframe()
prediction.to_dataframe()['residual'].plot
prediction.residual
prediction.rms
prediction.relative_percent
prediction.upper - prediction.lower
pickle.loads(pickle.dumps(model)).torque(q, v, a)
dir(model.links)
""".strip().split('\n')


@pytest.fixture(scope='module')
def names(bags, result, tmp_path_factory):
    rng = np.random.default_rng(0)
    q, v, a, tau = rng.uniform(-1.0, 1.0, (4, 20, 3))
    other = rid.read_bag(bags[1])
    return {
        'result': result,
        'model': result.model,
        'q': q,
        'v': v,
        'a': a,
        'tau': tau,
        't': np.arange(20.0),
        'other': other,
        'prediction': result.model.predict(other),
        'tmp_path': tmp_path_factory.mktemp('lines'),
        'np': np,
        'pickle': pickle,
        'pandas': pytest.importorskip('pandas'),
    }


@pytest.mark.parametrize('line', LINES)
def test_what_people_type_works_and_shows_itself(line, names):
    assert repr(eval(line, dict(names))) is not None


def test_dynamics_are_those_of_pinocchio(names):
    """Rotors aside, the inertial terms are those that pinocchio computes of the same bodies."""
    model, q, v, a, tau = (names[x] for x in ('model', 'q', 'v', 'a', 'tau'))
    robot = model.to_pinocchio()
    data = robot.createData()
    coriolis = [pin.computeCoriolisMatrix(robot, data, x, y) @ y for x, y in zip(q, v)]
    np.testing.assert_allclose(model.coriolis(q, v), coriolis, atol=1e-9)
    np.testing.assert_allclose(
        model.torque(q, v, model.forward_dynamics(q, v, tau)), tau, atol=1e-9
    )
    beta = np.where(
        np.isnan(model.base_parameters.value),
        model.base_parameters.nominal,
        model.base_parameters.value,
    )
    np.testing.assert_allclose(model.regressor(q, v, a) @ beta, model.torque(q, v, a), atol=1e-6)


def test_links_are_those_of_the_written_description(names, tmp_path):
    model, table = names['model'], names['model'].links
    model.to_urdf(tmp_path / 'arm.urdf')
    robot = pin.buildModelFromUrdf(str(tmp_path / 'arm.urdf'))
    for link, body in zip(table, list(robot.inertias)[1:]):
        assert link.mass == pytest.approx(body.mass, rel=1e-6)
        np.testing.assert_allclose(link.center_of_mass, body.lever, atol=1e-8)
        np.testing.assert_allclose(link.inertia, body.inertia, atol=1e-8)
        assert link.inertia_error.shape == (3, 3) and link.mass_error > 0.0
