"""Efforts that are stamped late: found against MuJoCo's torques, applied, and left if unsure."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
import sampled_arm

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.prepare.mounting import robot_of
from ros_inertial_id.identification.settings import options_class, prediction_options
from ros_inertial_id.measurement.summary import Summary
from ros_inertial_id.methods import METHODS

OPTIONS = replace(
    options_class('serial_arm')(),
    coulomb_width=0.0,
    friction=('viscous', 'coulomb', 'offset', 'armature'),
)


def _recordings(late, rate=250.0, seed=0):
    """Return (training, validation) Recordings of other motions of one arm."""
    rng = np.random.default_rng(seed)
    urdf = mujoco_arm.true_urdf(mujoco_arm.description('arm3'), seed)
    return [
        sampled_arm.sampled(urdf, sampled_arm.Motion(3, 1.0, rng), rate, 15.0, rng, late=late)
        for _ in range(2)
    ]


def _percent(model):
    return model.statistics['validation']['filtered']['relative_percent']


@pytest.mark.parametrize('late, rate', [(0.02, 100.0), (-0.015, 500.0)])
def test_late_efforts_are_found_and_cost_nothing(late, rate):
    recordings = _recordings(late, rate)
    model = identify(recordings[:1], OPTIONS, validate=recordings[1:]).model
    found = model.preprocessing[0]
    assert found['time_offset'] == found['time_offset_found']
    assert abs(found['time_offset'] - late) < 4.0 * found['time_offset_error']
    assert found['time_offset_error'] < 3e-4
    punctual = _recordings(0.0, rate)
    best = identify(punctual[:1], OPTIONS, validate=punctual[1:]).model
    blind = identify(
        recordings[:1], replace(OPTIONS, find_time_offset=False), validate=recordings[1:]
    ).model
    # Noise of the samples at the ends, which are others here, is a third of what is left.
    assert _percent(model) < 1.4 * _percent(best) < 0.4 * _percent(blind)


@pytest.mark.parametrize('seed', [0, 6])  # nothing, and two standard errors
def test_of_punctual_efforts_nothing_is_applied_but_what_its_error_says(seed):
    recordings = _recordings(0.0, seed=seed)
    found = identify(recordings[:1], OPTIONS).model.preprocessing[0]
    assert found['time_offset'] == found['time_offset_found']
    assert abs(found['time_offset_found']) < 4.0 * found['time_offset_error'] < 1e-3


def test_a_delay_that_is_not_sure_is_applied_and_its_error_is_in_the_parameters():
    """Noise that hides a delay: what is known of it goes into the model, as does what is not."""
    late, rng = 0.006, np.random.default_rng(4)
    recording = _recordings(late, rate=100.0)[0]
    channel = recording.channels['/joint_states']
    noise = (
        0.3 * channel.fields['effort'].std(0) * rng.standard_normal(channel.fields['effort'].shape)
    )
    noisy = replace(
        recording,
        channels={
            '/joint_states': replace(
                channel, fields={**channel.fields, 'effort': channel.fields['effort'] + noise}
            )
        },
    )
    model = identify([noisy], OPTIONS).model
    found = model.preprocessing[0]
    assert abs(found['time_offset'] - late) < 4.0 * found['time_offset_error']
    assert 0.0 < found['time_offset'] and found['time_offset_error'] < 5e-3
    blind = identify([noisy], replace(OPTIONS, find_time_offset=False)).model
    widened = np.sqrt(np.diag(model.covariance)) / np.sqrt(np.diag(blind.covariance))
    assert widened.max() > 1.02
    (delay,) = [n for n in model.statistics['nuisances'] if n['what'] == 'delay of the efforts']
    assert (delay['value'], delay['applied']) == (found['time_offset_found'], True)


def test_a_base_that_is_tilted_is_no_offset():
    urdf, rng, tilt = mujoco_arm.description('arm3'), np.random.default_rng(2), np.radians(3.0)
    t, q, v, a = mujoco_arm.motion(3, 20.0, 200.0, seed=2)
    tau = mujoco_arm.torque(
        mujoco_arm.true_urdf(urdf, seed=1),
        q,
        v,
        a,
        (0.0, 9.81 * np.sin(tilt), -9.81 * np.cos(tilt)),
    )
    tau += mujoco_arm.friction(v) + 0.05 * rng.standard_normal(q.shape)
    made = mujoco_arm.recording(
        mujoco_arm.joints_of(urdf), t, q, v + 1e-3 * rng.standard_normal(q.shape), tau
    )
    found = identify([made], OPTIONS, urdf=urdf).model.preprocessing[0]
    # Without a column for it: 5 ms by 6 to 12 standard errors.  The bodies of the description are
    # a fifth off, so that a tenth of that is left.
    assert abs(found['time_offset_found']) < 5e-4


def test_what_the_user_says_is_applied_and_the_rest_is_found():
    recordings = _recordings(0.02)
    given = identify(recordings[:1], replace(OPTIONS, time_offset=0.02)).model.preprocessing[0]
    assert given['time_offset'] == pytest.approx(0.02, abs=3e-4)
    assert abs(given['time_offset_found']) < 3e-4


def test_live_prediction_reads_late_efforts_where_the_motion_is():
    recordings = _recordings(0.02, 500.0)
    model = identify(recordings[:1], OPTIONS).model
    options = prediction_options(model)
    assert options.time_offset == model.preprocessing[0]['time_offset']
    robot = robot_of(recordings[1], options)
    live = METHODS['serial_arm'].source(
        robot,
        replace(options, joint_states_topic='/joint_states'),
        0.2,
        Summary.of(model.preprocessing[0]),
    )
    channel = recordings[1].channels['/joint_states']
    live.add(channel)
    _, state = live.take()
    assert live.topics == ('/joint_states',)
    observed = METHODS['serial_arm'].observe(recordings[1], robot, options)
    t, tau = zip(*[(s.t, s.tau) for s in observed.states()])
    t, tau = np.concatenate(t), np.concatenate(tau)
    inner = (state.t > 1.0) & (state.t < 13.0)
    offline = np.stack([np.interp(state.t[inner], t, x) for x in tau.T], axis=1)
    # The live kernel is cut at the lag and filters less: noise of 0.05 N m over some samples.
    # Twenty milliseconds would cost the torque several percent of some ten newton metres.
    assert np.sqrt(((state.tau[inner] - offline) ** 2).mean()) < 0.05
