"""The whole chain in memory: MuJoCo moves a robot, identification finds what moved."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
from random_tree import tree_urdf
import scipy
import yaml

from ros_inertial_id.api.model import model_of
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError, InertialIdError
from ros_inertial_id.identification.identified_model import FORMAT, IdentifiedModel
from ros_inertial_id.identification.identify import identify, validation
from ros_inertial_id.identification.prepare import dataset
from ros_inertial_id.identification.prepare.mounting import check_robot
from ros_inertial_id.identification.settings import options_class, robot_of_model

OPTIONS = options_class('serial_arm')()
VISCOUS, COULOMB, OFFSET = 0.8, 0.5, 0.15
RATE = 250.0
LAWS = {'fv': VISCOUS, 'fc': COULOMB, 'off': OFFSET, 'Ia': 0.0, 'ks': 0.0, 'fp': 0.0, 'fl': 0.0}


def simulated(
    urdf,
    truth,
    seed=0,
    duration=40.0,
    noise=0.1,
    gravity=mujoco_arm.UPRIGHT,
    speed=1.5,
    rate=RATE,
    **place,
):
    """Return (Recording, noise-free joint torques) of a robot of ``truth`` with friction."""
    names = mujoco_arm.joints_of(urdf)
    rng = np.random.default_rng(seed)
    t, q, v, a = mujoco_arm.motion(len(names), duration, rate, seed=seed, speed=speed)
    tau = mujoco_arm.torque(truth, q, v, a, gravity)
    tau += mujoco_arm.friction(v, VISCOUS, COULOMB) + OFFSET
    return mujoco_arm.measured(rng, names, t, q, v, tau, noise, **place), tau


def errors(model, truth):
    """Return (estimate - truth) / standard error of all base parameters of a model."""
    robot = load_robot_model(truth)
    pi = {p.name: x for p, x in zip(model.parameters, robot.inertias.ravel())}
    out = []
    for entry in model.base:
        true = sum(
            c * (pi[n] if n in pi else LAWS[n.rstrip('0123456789')])
            for n, c in entry['grouping'].items()
        )
        assert entry['determined'], entry['name']
        out.append((entry['value'] - true) / entry['standard_error'])
    return np.array(out)


@pytest.mark.parametrize('name', ['ridge', 'weighted', 'ordinary'])
def test_every_estimator_recovers_the_truth_within_its_errors(arm3, name):
    urdf, truth = arm3
    recording, _ = simulated(urdf, truth)
    z = errors(identify([recording], replace(OPTIONS, estimator=name), urdf=urdf).model, truth)
    # 25 values that share a covariance: 3 sigma holds for 99.7 % each; one may stray.
    assert np.sum(np.abs(z) > 3.0) <= 1 and np.abs(z).max() < 4.5
    assert np.sqrt(np.mean(z**2)) > 0.3  # errors are not stated far too wide either


def test_a_robot_with_sliders_is_recovered():
    urdf = tree_urdf(('prismatic', 'revolute', 'prismatic', 'revolute'), seed=2, name='gantry')
    truth = mujoco_arm.true_urdf(urdf, seed=3)
    recording, _ = simulated(
        urdf, truth, seed=1, gravity=(1.0, 2.0, -9.0), speed=1.0, mounting='gravity 1 2 -9'
    )
    z = errors(identify([recording], OPTIONS, urdf=urdf).model, truth)
    assert np.sum(np.abs(z) > 3.0) <= 0.05 * len(z)


def test_seven_joints_are_recovered_and_predict_another_motion():
    urdf = mujoco_arm.description('franka')
    truth = mujoco_arm.true_urdf(urdf, seed=4)
    recording, _ = simulated(urdf, truth, seed=5, duration=60.0)
    other, tau = simulated(urdf, truth, seed=6, duration=15.0, noise=0.0)
    found = identify([recording], OPTIONS, urdf=urdf, validate=[other])
    z = errors(found.model, truth)
    # The rotors of two joints are one with link inertias; no spring and no power law is there.
    assert len(z) == 43 + 7 * 4 - 2
    assert np.mean(np.abs(z) < 3.0) >= 0.95
    assert found.model.statistics['validation']['filtered']['relative_percent'] < 2.0


def test_a_quick_motion_is_not_filtered_away(arm3):
    urdf, truth = arm3
    names, rng = mujoco_arm.joints_of(urdf), np.random.default_rng(0)
    t, q, v, a = mujoco_arm.motion(3, 20.0, RATE, period=1.0)  # harmonics up to 5 Hz
    tau = mujoco_arm.torque(truth, q, v, a) + mujoco_arm.friction(v, VISCOUS, COULOMB) + OFFSET
    recording = mujoco_arm.measured(rng, names, t, q, v, tau, noise=0.1)
    model = identify([recording], OPTIONS, urdf=urdf).model
    # Against the true torque of the true motion: validation filters both sides alike.
    wrong = model_of(model).torque(q, v, a) - tau
    assert (np.sqrt((wrong**2).mean(0) / (tau**2).mean(0)) < 0.01).all()


def test_two_recordings_know_more_than_one(arm3):
    urdf, truth = arm3
    first, second = (simulated(urdf, truth, seed, 20.0)[0] for seed in (0, 1))
    one, both = (identify(parts, OPTIONS, urdf=urdf).model for parts in ([first], [first, second]))
    assert np.abs(errors(both, truth)).max() < 4.5
    ratio = [b['standard_error'] / a['standard_error'] for a, b in zip(one.base, both.base)]
    assert np.median(ratio) < 0.85  # 1 / sqrt(2), and what is new in the second motion
    assert len(both.preprocessing) == 2


def test_identification_is_the_same_every_time(arm3, arm3_recording, monkeypatch):
    models = [identify([arm3_recording], OPTIONS, urdf=arm3[0]).model for _ in range(2)]
    np.testing.assert_array_equal(models[0].values, models[1].values)
    assert models[0].base == models[1].base
    monkeypatch.setattr(dataset, 'MOST_HELD_SAMPLES', 0)  # every pass computes its states anew
    anew = identify([arm3_recording], OPTIONS, urdf=arm3[0]).model
    for one, other in zip(models[0].base, anew.base):
        assert abs(one['value'] - other['value']) < 1e-6 * one['standard_error']  # rounding


def test_residuals_are_the_noise_that_was_put_in(arm3):
    urdf, truth = arm3
    recording, _ = simulated(urdf, truth, noise=0.3)
    statistics = identify([recording], OPTIONS, urdf=urdf).model.statistics
    # White noise of 0.3 N m on thousands of samples: its sample deviation is within 3 %.
    np.testing.assert_allclose(list(statistics['training']['raw']['rms'].values()), 0.3, rtol=0.05)
    filtered = statistics['training']['filtered']['rms'].values()
    assert max(filtered) < 0.15
    percent = statistics['training']['filtered']['relative_percent']
    assert statistics['cross_validation']['relative_percent'] < 2 * percent


def test_the_width_of_coulombs_step_is_found(arm3):
    urdf, truth = arm3
    recording, _ = simulated(urdf, truth, noise=0.02)
    laws = replace(OPTIONS, friction=('viscous', 'coulomb', 'offset', 'armature'))
    for options in (OPTIONS, laws):  # chosen by left-out motion, and joint by joint
        found = identify([recording], options, urdf=urdf).model.statistics['nonlinear_parameters']
        for joint in (1, 2, 3):  # of those tried: the next ones are .003, .02
            assert 0.003 < found[f'fc{joint}']['value'] < 0.02


def test_the_model_file_holds_everything_that_is_needed(arm3, arm3_recording):
    model = identify(
        [replace(arm3_recording, provenance={'path': 'somewhere'})], OPTIONS, urdf=arm3[0]
    ).model
    text = model.to_yaml()
    again = IdentifiedModel.from_yaml(text)
    assert again.to_yaml() == text and FORMAT in text
    np.testing.assert_array_equal(again.values, model.values)
    np.testing.assert_array_equal(again.covariance, model.covariance)
    one, other = (validation(m, [arm3_recording])[0] for m in (model, again))
    assert one == other
    assert again.provenance['recordings'][0]['path'] == 'somewhere'
    assert again.provenance['versions']['pinocchio']
    assert again.provenance['versions']['scipy'] == scipy.__version__
    assert set(again.validity_range) == {'joint1', 'joint2', 'joint3'}
    assert set(again.statistics['prediction_band']['joints']) == set(again.validity_range)


def test_model_files_that_are_something_else_are_refused():
    for text, words in (
        ('a: [', 'is not YAML'),
        ('a: 1', 'not an identified model'),
        ('a: 1\na: 2', 'is not YAML; found a is there twice'),
        (f'format: {FORMAT}\nversion: 99', 'of another version'),
        (f'format: {FORMAT}\nversion: 1', 'is incomplete; it has no base'),
    ):
        with pytest.raises(ConfigError, match=f'model.yaml {words}|model.yaml.*{words}'):
            IdentifiedModel.from_yaml(text, 'model.yaml')


@pytest.fixture(scope='module')
def model_text(arm3, arm3_motion):
    names, t, q, v, _, tau = arm3_motion
    return identify(
        [mujoco_arm.recording(names, t, q, v, tau)], OPTIONS, urdf=arm3[0]
    ).model.to_yaml()


@pytest.mark.parametrize(
    'damage, said',
    [
        (lambda d: d.pop('statistics'), 'is incomplete; it has no statistics'),
        (lambda d: d.update(colour='red'), 'has keys that no model file has: colour'),
        (lambda d: d.update(covariance=d['covariance'][:-1]), 'is damaged'),
        (
            lambda d: d.update(base='nothing'),
            "base; expected a list of at least 1; found 'nothing'",
        ),
        (lambda d: d['base'][3].pop('unit'), 'base, 4 is incomplete; it has no unit'),
        (
            lambda d: d['parameters'][0].update(value=float('nan')),
            'parameters, 1, value; expected a finite number; found nan',
        ),
        (
            lambda d: d['parameters'][0].update(scale=0),
            'scale; expected a positive number; found 0',
        ),
        (lambda d: d['validity_range']['joint1'].update(v=[1.0, -1.0]), 'the smaller first'),
        (lambda d: d['base'][0].update(standard_error=-1.0), 'a number not below 0'),
        (lambda d: d['parameters'][0].update(prior_sd=10**29), 'a positive number'),
        (lambda d: d['base'][0]['grouping'].update(nobody=1.0), 'base parameters of them'),
        (lambda d: d['statistics']['dependence']['IzzR1'].pop('partner'), 'IzzR1 .* no partner'),
        (lambda d: d['preprocessing'][0].update(rate='1a'), 'rate; expected a finite number'),
        (
            lambda d: d['mounting']['text'].append('x' * 5_000_000),
            'text, 2; expected a text of at',
        ),
        (lambda d: d['provenance'].update(created=7), 'created; expected a text of .*; found 7'),
    ],
)
def test_a_damaged_model_file_is_refused_with_what_is_wrong(model_text, damage, said):
    data = yaml.load(model_text, Loader=yaml.CSafeLoader)
    damage(data)
    with pytest.raises(ConfigError, match=said):
        IdentifiedModel.from_yaml(yaml.dump(data, Dumper=yaml.CSafeDumper), 'model.yaml')


@pytest.mark.parametrize(
    'spoil, said',
    [
        (lambda d: d['parameters'][0].update(owner='link9'), 'not those of its'),
        (lambda d: d['validity_range'].popitem(), 'lacks joint3'),
    ],
)
def test_a_model_of_other_columns_than_its_robot_is_refused(model_text, spoil, said):
    data = yaml.load(model_text, Loader=yaml.CSafeLoader)
    check_robot(*with_robot(data))
    spoil(data)
    with pytest.raises(InertialIdError, match=said):
        check_robot(*with_robot(data))


def with_robot(data):
    """Return the IdentifiedModel of the content of its file, and its robot."""
    model = IdentifiedModel.from_yaml(yaml.dump(data, Dumper=yaml.CSafeDumper))
    return model, robot_of_model(model, np.array(mujoco_arm.UPRIGHT))


@pytest.mark.parametrize('nest', ['[', '- '])
def test_a_text_that_is_nested_too_deeply_is_refused(nest):
    with pytest.raises(ConfigError, match='nesting'):
        IdentifiedModel.from_yaml('a:\n  ' + nest * 100000)


def test_a_model_file_cut_anywhere_is_refused_or_whole(model_text):
    for share in np.linspace(0.01, 0.99, 12):
        with pytest.raises(ConfigError):
            IdentifiedModel.from_yaml(model_text[: int(share * len(model_text))])


def test_model_files_of_version_0_1_0_are_still_read(model_text):
    old = (
        model_text.replace('validity_range:', 'region:')
        .replace('prior_sd:', 'spread:')
        .replace(' nonlinear:', ' shape:')
        .replace('\n  standard_deviation:', '\n  deviation:')
    )
    assert old != model_text
    again = IdentifiedModel.from_yaml(old)
    assert again.to_yaml() == model_text
