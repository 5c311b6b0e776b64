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
result.findings
result.save(tmp_path / 'model.yaml')
result.uses['feedforward'].grade
result.uses['joint1'].number('contact')
model.parameters['m2'].standard_error
model.standard_errors['IzzR1']
model.total_mass.standard_error
rid.validate(model, other)
rid.compare(model, result)
model.condition_number
result.joints['joint1'].word
other.duration
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
        'rid': rid,
        'pickle': pickle,
        'pandas': pytest.importorskip('pandas'),
    }


MISTAKES = {
    'model.torque(q[:, :2], v, a)': r'q; expected numbers \(\.\.\., 3\).*found shape \(20, 2\)',
    'model.torque(q, v[:7], a)': 'expected as many states of each',
    'model.gravity(np.full(3, np.nan))': 'q; expected finite numbers; found 3 of 3',
    "model.friction(['a', 'b', 'c'])": "v; expected numbers .* found \\['a', 'b', 'c'\\]",
    'model.mass_matrix(np.full(3, 90.0))': 'q of joint1; expected radians.*found 90',
    'model.predict((q, v, a))': r'expected \(t, q, v, a\), or a recording; found 3 parts',
    "result.uses['feed']": 'there is: joint1',
    'rid.compare(model)': 'expected two models or more',
    "rid.load_model('excitation.npz')": 'is no identified model; .*found a recording',
}


@pytest.mark.parametrize('line', MISTAKES)
def test_a_mistake_is_refused_with_a_sentence(line, names):
    with pytest.raises(rid.InertialIdError, match=MISTAKES[line]):
        eval(line, dict(names))


GUESSES = {  # that are no line of this package: the message names the one that is
    "rid.load('model.yaml')": r'load_model\(path\), a recording by read_bag\(path\)',
    "rid.Recording('bag')": r'found str; read a bag by read_bag\(path\)',
    'result.validate(other)': r'its model has: result\.model\.validate',
    'result.unheard_of': r"no attribute 'unheard_of'$",
    'rid.identify(other, other)': 'found Recording; a recording to validate on is validate=',
}


@pytest.mark.parametrize('line', GUESSES)
def test_a_guess_is_answered_by_the_line_that_works(line, names):
    with pytest.raises((rid.InertialIdError, AttributeError), match=GUESSES[line]):
        eval(line, dict(names))


def test_a_description_may_follow_the_recordings(names):
    with pytest.raises(rid.ConfigError, match='nowhere.urdf'):
        rid.check(names['other'], 'nowhere.urdf')


@pytest.mark.parametrize('name', ['result', 'model', 'prediction'])
def test_what_a_prompt_shows_fits_on_a_screen(name, names):
    shown = names[name]
    tables = (names['model'].base_parameters, names['model'].parameters, names['result'].checkup)
    assert max(repr(each).count('\n') for each in (shown, *tables)) < 15
    assert len(str(names['model'].parameters).split('\n')) == 1 + len(names['model'].parameters)


def test_models_are_equal_that_predict_the_same(names):
    model = names['model']
    assert model == names['result'].model == pickle.loads(pickle.dumps(model))
    loaded = model.with_payload(0.5)
    assert model != loaded and model != 'model'


def test_a_load_adds_its_torque(names):
    """That of a point mass is m J' (a - g), here at rest by pinocchio's frame Jacobian."""
    model, q = names['model'], names['q'][0]
    offset, mass = np.array([0.02, -0.01, 0.1]), 0.7
    loaded = model.with_payload(mass, offset)
    robot = model.to_pinocchio()
    frame = robot.addFrame(
        pin.Frame('load', robot.njoints - 1, pin.SE3(np.eye(3), offset), pin.FrameType.OP_FRAME)
    )
    data = robot.createData()
    jacobian = pin.computeFrameJacobian(robot, data, q, frame, pin.LOCAL_WORLD_ALIGNED)[:3]
    expected = -mass * jacobian.T @ model.gravity_base
    np.testing.assert_allclose(loaded.gravity(q) - model.gravity(q), expected, atol=1e-9)
    beta = [
        np.where(
            np.isnan(m.base_parameters.value), m.base_parameters.nominal, m.base_parameters.value
        )
        for m in (model, loaded)
    ]
    rows = model.regressor(q, 0 * q, 0 * q)
    np.testing.assert_allclose(rows @ (beta[1] - beta[0]), expected, atol=1e-9)


def test_a_plot_shows_measured_and_predicted(names):
    matplotlib = pytest.importorskip('matplotlib')
    matplotlib.use('agg')
    axes = names['prediction'].plot()
    assert [len(axis.lines) for axis in axes] == [2, 2, 2]
    assert len(names['result'].plot()) == 3


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


def test_one_number_is_that_of_all_joints(result):
    model, all_alike = result.model, np.full(3, 0.1)
    for function in (model.friction, model.gravity, model.mass_matrix):
        np.testing.assert_array_equal(function(0.1), function(all_alike))
    np.testing.assert_array_equal(model.torque(0.1, 0.1, 0.1), model.torque(*[all_alike] * 3))
