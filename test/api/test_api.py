"""The public API: five lines from bag to torque, and what it writes is what it predicts."""

import copy
from dataclasses import replace
from pathlib import Path
import pickle
import runpy
import sys

import mujoco
import mujoco_arm
import numpy as np
import pinocchio as pin
import pytest
from scipy.interpolate import CubicSpline

import ros_inertial_id as rid
from ros_inertial_id.api.table import table
from ros_inertial_id.cli.main import main
from ros_inertial_id.identification.prepare.dataset import read_dataset
from ros_inertial_id.identification.settings import prediction_options

LATE = 0.015  # [s] of efforts
EXAMPLE = Path(__file__).parents[2] / 'examples' / 'first_steps.py'


def random_motion(samples=40, seed=3):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.5, 1.5, (3, samples, 3))


def test_everything_that_is_offered_exists_and_is_documented():
    for name in rid.__all__:
        assert getattr(rid, name).__doc__, name
    assert set(rid.__all__) <= set(dir(rid)) and rid.__version__
    with pytest.raises(AttributeError, match='no attribute'):
        rid.anything_else


def test_torque_is_that_of_the_true_arm(arm3, result):
    q, v, a = random_motion()
    v[np.abs(v) < 0.2] = 0.2  # beyond the width over which Coulomb friction changes sign
    true = mujoco_arm.torque(arm3[1], q, v, a) + mujoco_arm.friction(v)
    tau = result.model.torque(q, v, a)
    # Identified from 20 s of noise-free data behind a filter: a per cent of the largest torque.
    assert np.abs(tau - true).max() < 0.02 * np.abs(true).max()


def test_torque_is_the_sum_of_its_terms(result):
    q, v, a = random_motion()
    model = result.model
    inertia = np.einsum('nij,nj->ni', model.mass_matrix(q), a)
    still = model.torque(q, 0.0 * v, a)
    offset = model.friction(0.0 * v)
    springs = model.torque(q, 0.0 * v, 0.0 * a) - model.gravity(q) - offset
    np.testing.assert_allclose(still, inertia + model.gravity(q) + offset + springs, atol=1e-9)
    np.testing.assert_allclose(
        model.mass_matrix(q), model.mass_matrix(q).swapaxes(1, 2), atol=1e-9
    )
    one = model.torque(q[0], v[0], a[0])
    assert one.shape == (3,) and np.allclose(one, model.torque(q, v, a)[0], atol=1e-12)
    with pytest.raises(rid.ConfigError, match='expected arrays'):
        model.torque(q[:, :2], v[:, :2], a[:, :2])


def test_what_depends_on_the_position_is_no_friction(arm3, arm3_motion):
    """A torque of 2 cos q is 2 N m at the zero position, at which friction is asked."""
    names, t, q, v, _, tau = arm3_motion
    part = slice(0, 2500)
    recording = mujoco_arm.recording(
        names, t[part], q[part], v[part], tau[part] + 2.0 * np.cos(q[part])
    )
    model = rid.identify(recording, urdf=arm3[0], friction=('viscous', 'coulomb', 'cosine1')).model
    assert np.abs(model.friction(np.zeros(3))).max() < 1e-9
    np.testing.assert_allclose(model.friction(np.full(3, 2.0)), 0.8 * 2.0 + 0.5, atol=0.1)


def test_the_table_has_names_values_errors_and_units(result):
    table = result.model.base_parameters
    assert len(table) == len(table.names) == len(table.values) == len(table.units)
    assert table[table.names[0]] is table[0] and dict(table[0])['unit'] == table.units[0]
    assert (table.standard_errors[np.isfinite(table.values)] > 0).all()
    assert table.names[0] in str(table) and f'<td>{table.names[0]}</td>' in table._repr_html_()


def test_written_files_have_the_models_gravity_and_inertia(result, tmp_path):
    model = result.model
    beyond = model.to_urdf(tmp_path / 'arm.urdf')
    text = (tmp_path / 'arm.urdf').read_text()
    assert all(line in text for line in beyond)
    q, _, a = random_motion()
    robot = pin.buildModelFromUrdf(str(tmp_path / 'arm.urdf'))
    data = robot.createData()
    gravity = [pin.computeGeneralizedGravity(robot, data, x) for x in q]
    np.testing.assert_allclose(gravity, model.gravity(q), atol=1e-8)
    # Rotor inertia is held by MJCF and by pinocchio's model, not by a URDF.
    model = model.export('mujoco', tmp_path / 'arm.xml').model
    arm = mujoco.MjModel.from_xml_path(str(tmp_path / 'arm.xml'))
    state, ours = mujoco.MjData(arm), model.to_pinocchio()
    data = ours.createData()
    for x, gravity, M, acceleration in zip(q, model.gravity(q), model.mass_matrix(q), a):
        state.qpos[:] = x
        mujoco.mj_forward(arm, state)
        np.testing.assert_allclose(state.qfrc_bias, gravity, atol=1e-8)
        product = np.zeros(3)
        mujoco.mj_mulM(arm, state, product, acceleration)
        np.testing.assert_allclose(product, M @ acceleration, atol=1e-8)
        tau = pin.rnea(ours, data, x, np.zeros(3), acceleration)
        np.testing.assert_allclose(tau, gravity + M @ acceleration, atol=1e-8)


def test_what_is_predicted_is_what_was_validated(bags):
    recording, other = map(rid.read_bag, bags[:2])
    model = rid.identify(recording, validate=other, friction=['viscous', 'presliding']).model
    said = model.statistics['validation']['filtered']
    # Friction of a motion that is given goes through no filter.
    for prediction, within in ((model.predict(other), 1e-9), (given(model, other), 0.02)):
        assert prediction.names == model.joint_names and prediction.units == ('N m',) * 3
        residual = model.predict(other).measured - prediction.torque
        rms = np.sqrt(np.mean(residual**2, axis=0))
        np.testing.assert_allclose(rms, list(said['rms'].values()), rtol=within)
    assert model.validate(other)['filtered'] == said


def test_predictions_have_a_band_that_a_model_file_keeps(arm3_motion, tmp_path):
    names, t, q, v, _, tau = arm3_motion
    # Friction that no law has: what is left of it grows with the speed.
    tau = tau + 0.1 * v * np.sin(5.0 * q) + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    half = len(t) // 2
    one, other = (
        replace(
            mujoco_arm.recording(names, t[part], q[part], v[part], tau[part]),
            robot_description=mujoco_arm.description('arm3'),
        )
        for part in (slice(None, half), slice(half, None))
    )
    model = rid.identify(one).model
    found = model.predict(other)
    inside = (found.lower <= found.measured) & (found.measured <= found.upper)
    width = np.mean(found.upper - found.lower, axis=0) / np.std(found.residual, axis=0)
    assert np.all(inside.mean(axis=0) > 0.85) and inside.mean() > 0.9 and np.all(width < 6.0)
    model.save(tmp_path / 'model.yaml')
    again = rid.load_model(tmp_path / 'model.yaml')
    np.testing.assert_array_equal(again.predict(other).upper, found.upper)
    fast = again.predict((np.zeros(1), q[:1], 100.0 + 0.0 * q[:1], 0.0 * q[:1]))
    half = np.max(found.upper - found.torque, axis=0)
    assert np.all(fast.outside > 10.0) and np.all(fast.upper - fast.torque > 10.0 * half)
    del again.statistics['prediction_band']  # as models of before are
    assert np.isnan(again.predict(other).lower).all() and found.outside.shape == found.torque.shape


def test_a_validation_writes_what_is_predicted_beside_what_was_measured(result, bags, tmp_path):
    result.model.save(tmp_path / 'model.yaml')
    words = ['validate', str(tmp_path / 'model.yaml'), str(bags[1]), '--out-bag']
    assert main([*words, str(tmp_path / 'predicted.mcap')]) == 0
    assert main([*words, str(tmp_path / 'predicted.mcap')]) == 2  # never written over
    recording, found = rid.read_bag(tmp_path / 'predicted.mcap'), result.model.predict(bags[1])
    whole = rid.read_bag(bags[1]).channels['/joint_states'].fields['effort']
    np.testing.assert_array_equal(recording.channels['/joint_states'].fields['effort'], whole)
    for topic, torque in (
        ('predicted', found.torque),
        ('residual', found.residual),
        ('predicted_band/upper', found.upper),
    ):
        channel = recording.channels[f'/torque_prediction/{topic}']
        np.testing.assert_array_equal(channel.fields['effort'], torque)
    assert channel.names == found.names
    np.testing.assert_allclose(
        1e-9 * (channel.stamp_ns - recording.origin_ns()), found.t, atol=1e-9
    )


def given(model, recording):
    """Return the prediction for the motion of a recording, without its torques."""
    identified = model.identified
    data = read_dataset(
        [recording], prediction_options(identified), identified.method, identified.robot['urdf']
    )
    states = [state for _, state in data.states(training=False)]
    return model.predict(tuple(np.concatenate([getattr(s, x) for s in states]) for x in 'tqva'))


def test_a_motion_remembers_its_reversals_and_a_state_does_not(bags):
    recording = rid.read_bag(bags[0])
    model = rid.identify(recording, friction=['viscous', 'presliding']).model
    t = np.linspace(0.0, 2.0, 401)
    q = np.stack([np.sin(3.0 * t), 0.0 * t, 0.0 * t], axis=1)
    v, a = np.gradient(q, t, axis=0), 0.0 * q
    (law,) = (
        p for p in model.identified.parameters if (p.law, p.owner) == ('presliding', 'joint1')
    )
    friction = model.identified.values[model.identified.parameters.index(law)]
    state, begun = 0.0, model.torque(q, v, a)[:, 0] - friction * np.sign(v[:, 0])
    expected = [begun[0]]  # nothing is known of the way before: zero
    for step, rate, rest in zip(np.diff(q[:, 0]), v[1:, 0], begun[1:]):
        state = np.sign(rate) + (state - np.sign(rate)) * np.exp(-abs(step) / law.nonlinear)
        expected.append(rest + friction * state)
    np.testing.assert_allclose(model.predict((t, q, v, a)).torque[:, 0], expected, atol=1e-9)
    for wrong in ((t[:-1], q, v, a), (t[::-1], q, v, a), (t, q[:, :2], v, a)):
        with pytest.raises(rid.ConfigError):
            model.predict(wrong)


def test_a_mounting_that_was_not_identified_is_refused(result):
    q = random_motion()[0]
    assert np.allclose(result.model.mounted('upright').gravity(q), result.model.gravity(q))
    with pytest.raises(rid.RobotModelError, match='were not identified'):
        result.model.mounted('rpy 0 1.5708 0')


def test_the_example_runs_from_bag_to_report(bags, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, 'argv', [str(EXAMPLE), *map(str, bags)])
    ran = runpy.run_path(str(EXAMPLE), run_name='__main__')
    assert ran['urdf_difference'] < 1e-8 and ran['mjcf_difference'] < 1e-8
    assert 'RMS residual' in capsys.readouterr().out and (tmp_path / 'report.html').exists()


@pytest.mark.parametrize('fault', ['none', 'noise for a torque', 'no motion seen', 'late'])
def test_check_says_the_verdict_that_identify_says(arm3, arm3_recording, fault):
    fields = dict(arm3_recording.channels['/joint_states'].fields)
    if fault == 'late':
        t = 1e-9 * (arm3_recording.channels['/joint_states'].stamp_ns - arm3_recording.origin_ns())
        fields['effort'] = CubicSpline(t, fields['effort'])(t - LATE)
    rng = np.random.default_rng(0)
    effort = fields['effort'] + 0.05 * rng.normal(size=fields['effort'].shape)
    if fault == 'noise for a torque':
        effort[:, 2] = rng.normal(0.0, effort[:, 2].std(), len(effort))
    if fault == 'no motion seen':
        effort = rng.normal(size=effort.shape)
    changed = replace(
        arm3_recording,
        channels={
            '/joint_states': replace(
                arm3_recording.channels['/joint_states'], fields={**fields, 'effort': effort}
            )
        },
    )
    checked, identified = (verb(changed, urdf=arm3[0]) for verb in (rid.check, rid.identify))
    for joint, crossed in identified.model.statistics['cross_validation']['rms'].items():
        measured = identified.model.statistics['cross_validation']['measured_rms'][joint]
        share = checked.residual[joint] / checked.torque[joint]
        assert share == pytest.approx(crossed / measured, rel=1e-9)
    assert checked.to_dict()['verdict'] == identified.model.statistics['verdict']
    assert (checked.verdict.word == 'good') == (fault == 'none')
    says = [f.says for f in checked.checks if f.name == 'effort delayed']
    assert len(says) == (fault == 'late')
    if says:  # one estimate, and the true one
        found = identified.model.identified.preprocessing[0]['time_offset_found']
        assert f'{1e3 * found:.1f} +- ' in says[0] and abs(found - LATE) < 1e-3


def test_negated_efforts_have_a_cause_and_no_estimate(arm3, arm3_recording):
    channel = arm3_recording.channels['/joint_states']
    negated = replace(
        arm3_recording,
        channels={
            '/joint_states': replace(
                channel, fields={**channel.fields, 'effort': -channel.fields['effort']}
            )
        },
    )
    found = rid.check(negated, urdf=arm3[0])
    assert found.verdict.word == 'do not use' and found.checks[0].name == 'effort negated'
    with pytest.raises(rid.EstimationError, match='efforts of all joints are negated'):
        rid.identify(negated, urdf=arm3[0])


@pytest.mark.parametrize('verb', [rid.identify, rid.check])
@pytest.mark.parametrize('nothing', [(), None])
def test_no_recording_is_said(verb, nothing):
    with pytest.raises(rid.RecordingError, match='expected one or more; found none'):
        verb(nothing)


def test_paths_of_bags_serve_as_recordings(bags, arm3):
    paths = [str(bag) for bag in bags[:2]]
    by_path = rid.identify(paths[0], validate=bags[1])
    by_recording = rid.identify(rid.read_bag(bags[0]), validate=[rid.read_bag(bags[1])])
    assert np.array_equal(by_path.model.identified.values, by_recording.model.identified.values)
    assert by_path.model.statistics['validation'] == by_recording.model.statistics['validation']
    assert rid.check(paths[0]).verdict == by_path.checkup.verdict
    with pytest.raises(rid.RecordingError, match='holds no description of the robot.*give urdf='):
        rid.identify('log.npz')
    with pytest.raises(rid.RecordingError, match='expected Recordings, paths of bags or logs'):
        rid.identify(5.0, urdf=arm3[0])


def test_results_are_short_in_a_notebook(result):
    assert repr(result) == result.summary()
    assert len(repr(result.model)) < 120 and 'base parameters' in repr(result.model)
    with pytest.raises(rid.ConfigError, match="no base parameter 'zzz'; .*there is: "):
        result.model.base_parameters['zzz']


def test_a_table_is_copied_and_may_be_empty():
    rows = table('joint', [{'joint': 'j1', 'rms': 0.5}])
    for copied in (copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        assert repr(copied) == repr(rows) and copied['j1'].rms == 0.5
    assert len(table('joint', []).to_dataframe()) == 0


def test_models_are_compared_and_payloads_sought_by_one_call(result, bags, tmp_path):
    result.model.save(tmp_path / 'model.yaml')
    found = rid.compare([result, tmp_path / 'model.yaml'], bags[1])
    assert found.different == [] and len(set(map(str, found.fits.values()))) == 1
    with pytest.raises(rid.EstimationError, match='no payload is seen'):
        rid.payload(result, bags[1])
    with pytest.raises(rid.ConfigError, match='expected two models or more'):
        rid.compare([result])


def test_a_motion_is_designed_by_one_call(arm3, tmp_path):
    found = rid.design(arm3[0], out=tmp_path, seconds=1.0, restarts=1, seed=1)
    assert (tmp_path / 'motion.yaml').is_file() and found.motion.joint_names
    with pytest.raises(rid.ConfigError, match='nonsense'):
        rid.design(arm3[0], nonsense=1)
