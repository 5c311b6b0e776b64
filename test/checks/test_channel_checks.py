"""Test what samples show by themselves: of joints without a description, of sensors, in pieces."""

from dataclasses import replace
import re
from xml.etree import ElementTree

import mujoco_arm
import numpy as np
import pytest
from recording_faults import columns, rebuilt
from recordings import recording_of

from ros_inertial_id.checks import channel_checks as module
from ros_inertial_id.checks import signal_values
from ros_inertial_id.checks.channel_checks import channel_checks, signal_findings
from ros_inertial_id.checks.finding import DOUBTFUL, MASKED, NOTE, WRONG
from ros_inertial_id.checks.signals import Quantity, raw_signals
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.recording import Channel
from ros_inertial_id.measurement.signals import uniform_clock

IMU = 'sensor_msgs/msg/Imu'


def _motion(seconds=20.0, rate=200.0, joints=3):
    t, q, v, a = mujoco_arm.motion(joints, seconds, rate, seed=4)
    rng = np.random.default_rng(0)
    tau = 3.0 * np.sin(q) + 0.2 * a + 0.5 * np.tanh(v / 0.05)
    return t, q, v + 1e-3 * rng.standard_normal(v.shape), tau + 0.02 * rng.standard_normal(v.shape)


def _joints(t, q, v, tau):
    return mujoco_arm.recording(('a', 'b', 'c')[: q.shape[1]], t, q, v, tau)


def _names(recording):
    return [f.name for f in channel_checks(recording) if f.severity != NOTE]


def test_clean_joints_without_a_description_are_silent():
    assert channel_checks(_joints(*_motion())) == []


def test_an_arm_at_rest_between_steps_of_its_encoder_is_one_robot():
    rng = np.random.default_rng(1)  # pushed now and then: most samples repeat, others jump
    t, q, v, tau = _motion(rate=100.0)
    q = 1e-4 * np.round(q[0] / 1e-4 + rng.choice([-1, 0, 1], q.shape, p=[0.15, 0.7, 0.15]))
    assert 'two robots on one topic' not in _names(_joints(t, q, 0.0 * v, tau))
    # Beside noise that is finer than a step.
    assert 'two robots on one topic' not in _names(
        _joints(t, q + 1e-7 * rng.standard_normal(q.shape), 0.0 * v, tau)
    )
    q[:, 0] = _motion(rate=100.0)[1][:, 0]
    assert not any('quantised' in name for name in _names(_joints(t, q, 0.0 * v, tau)))
    other = q.copy()
    other[::2] += 0.3
    assert 'two robots on one topic' in _names(_joints(t, other, 0.0 * v, tau))


def test_an_arm_that_rests_is_not_sampled_slower_than_it_publishes():
    t, q, v, tau = _motion()
    q[:1200], v[:1200] = q[1200], 0.0
    assert not any(f.name == 'samples held' for f in channel_checks(_joints(t, q, v, tau)))
    for x in (q, v):
        x[1::2] = x[::2]
    assert 'samples held' in [f.name for f in channel_checks(_joints(t, q, v, tau))]


@pytest.mark.parametrize('rate', [100.0, 1000.0])
def test_a_spike_is_found_where_it_is_at_any_rate(rate):
    t, q, v, tau = _motion(rate=rate)
    k = int(7.0 * rate)
    v[k, 1] += 3.0
    (finding,) = channel_checks(_joints(t, q, v, tau))
    assert (finding.name, finding.joints) == ('velocity spikes', ('b',))
    np.testing.assert_allclose(finding.windows, [(t[k], t[k])])


def test_clipped_stuck_and_broken_values_are_named():
    t, q, v, tau = _motion()
    limited, stuck, broken = tau.copy(), tau.copy(), tau.copy()
    limited[:, 0] = np.clip(tau[:, 0], -1.5, 1.5)  # most of the time: both ends
    stuck[1000:1600, 2] = stuck[1000, 2]
    broken[77, 1] = np.nan
    assert _names(_joints(t, q, v, limited)) == ['effort clipped']
    assert _names(_joints(t, q, v, stuck)) == ['effort stuck']
    (finding,) = [f for f in channel_checks(_joints(t, q, v, broken)) if f.severity != NOTE]
    assert finding.name == 'effort not finite' and finding.windows == ((t[77], t[77]),)
    assert finding.says == 'the effort of b is not finite in 1 of 4000 messages'
    assert finding.severity == MASKED


@pytest.mark.parametrize('weight', [0.0, 30.0])
def test_a_coarse_sensor_that_turns_back_slowly_is_not_clipped(weight):
    """It stays on its outermost step for 20 samples in a row, but on those beside it as well."""
    t, q, v, tau = _motion()
    tau[:, 0] = weight + 0.03 * np.round(100.0 * np.sin(2.0 * np.pi * 0.3 * t))  # [N m]
    assert 'effort clipped' not in _names(_joints(t, q, v, tau))


@pytest.mark.parametrize('rows', [slice(0, 1), slice(0, 4), slice(-1, None), slice(-3, None)])
def test_messages_that_are_broken_at_an_end_are_masked(rows):
    t, q, v, tau = _motion()
    q[rows], tau[rows] = q[rows] + 0.5, 50.0 * tau[rows] + 20.0
    found = channel_checks(_joints(t, q, v, tau))
    assert [(f.name, f.joints, f.severity) for f in found] == [
        (name, ('a', 'b', 'c'), MASKED) for name in ('position spikes', 'effort spikes')
    ]
    for finding in found:
        np.testing.assert_allclose(finding.windows, [t[rows][[0, -1]]])
    assert 'jumps where the recording begins or ends' in found[0].says


@pytest.mark.parametrize('first', [1, 3])
def test_friction_that_reverses_at_an_end_as_it_does_elsewhere_breaks_nothing(first):
    """Reversals are a few in thousands of samples: rarer than the steps of one in a hundred."""
    t = np.arange(0.0, 10.0, 2.5e-3)
    phase = 2.0 * np.pi * 0.4 * (t - t[first])
    q = -np.cos(phase)[:, None] * [1.0, 0.5, 0.7]
    v = np.sin(phase)[:, None] * [1.0, 0.5, 0.7] * 2.0 * np.pi * 0.4
    rng = np.random.default_rng(0)
    tau = 2.0 * q + 1.5 * np.sign(v) + 0.01 * rng.standard_normal(q.shape)
    assert not channel_checks(_joints(t, q, v, tau))


def test_messages_that_lack_are_lost_and_no_jitter():
    t, q, v, tau = _motion()
    keep = np.sort(np.random.default_rng(0).permutation(len(t))[:2800])
    keep = np.unique(np.r_[0, keep, len(t) - 1])
    t = t + np.random.default_rng(1).uniform(-5e-4, 5e-4, len(t))  # a tenth of the period
    (finding,) = channel_checks(_joints(*(x[keep] for x in (t, q, v, tau))))
    assert finding.severity == NOTE and finding.name == 'messages lost'
    assert finding.says == (
        f'{4000 - len(keep)} of 4000 messages are lost; all gaps are interpolated'
    )


@pytest.mark.parametrize('length, severity', [(99, NOTE), (599, DOUBTFUL)])
def test_bursts_of_lost_messages_say_how_long_they_are(length, severity):
    t, q, v, tau = _motion()
    keep = np.ones(len(t), dtype=bool)
    keep[1000 : 1000 + length], keep[2500 : 2500 + length] = False, False
    (finding,) = channel_checks(_joints(*(x[keep] for x in (t, q, v, tau))))
    assert finding.severity == severity
    gap = np.diff(t[keep]).max()
    assert finding.says == (
        f'{2 * length} of 4000 messages are lost; 2 gaps, up to {gap:.2g} s, '
        'are too long to interpolate'
    )


def test_messages_that_a_busy_driver_sends_together_are_not_called_lost():
    t, q, v, tau = _motion()
    sent = t[19::20].repeat(20) + 2e-5 * np.tile(np.arange(20.0), len(t) // 20)
    sent += np.random.default_rng(0).uniform(0.0, 4e-6, len(t))
    (finding,) = [f for f in channel_checks(_joints(sent, q, v, tau)) if 'messages' in f.says]
    assert finding.says == 'messages come 20 at a time, then none for 99.6 ms'
    assert finding.severity == DOUBTFUL


def test_coarse_positions_are_no_wrong_stamps():
    t, q, v, tau = _motion()
    # Noise of the differences takes from the slope on them.
    found = channel_checks(_joints(t, 0.04 * np.round(q / 0.04), v, tau))
    assert {f.name for f in found} == {'position quantised'}
    found = channel_checks(_joints(1.3 * t, q, v, tau))
    assert 'wrong rate or stamps' in {f.name for f in found}


def test_stamps_that_begin_anew_are_episodes():
    t, q, v, tau = _motion()
    episodes = np.tile(t[:1000], 4)
    (finding,) = channel_checks(_joints(episodes, q, v, tau))
    assert finding.says == 'the stamps begin anew 3 times in 4000 messages'
    assert 'episodes one after the other' in finding.do and finding.name == 'stamps run backwards'
    with pytest.raises(RecordingError, match='begin anew each time: episodes'):
        uniform_clock((episodes * 1e9).astype(int), 0, '/a')
    back = np.where(t < 8.0, t, t - 0.8)  # one clock that is set back
    (finding,) = channel_checks(_joints(back, q, v, tau))
    assert 'run backwards 1 times' in finding.says


def test_messages_that_come_twice_are_no_stamps_that_repeat():
    t, q, v, tau = _motion()
    twice = np.sort(np.r_[np.arange(len(t)), 40 * np.arange(100) + 7])
    (finding,) = channel_checks(_joints(*(x[twice] for x in (t, q, v, tau))))
    assert finding.says == '100 of 4100 messages come twice' and finding.severity == NOTE
    other = np.r_[False, np.diff(t[twice]) == 0.0]
    tau = tau[twice] + 1e-3 * other[:, None]
    (finding,) = channel_checks(_joints(t[twice], q[twice], v[twice], tau))
    assert finding.says == '100 of 4100 messages have the stamp of the one before'
    assert finding.severity == DOUBTFUL


def test_stamps_before_the_clock_runs_are_another_clock():
    t, q, v, tau = _motion()
    early = np.where(np.arange(len(t)) < 400, t, t + 1.7e9)
    (finding,) = channel_checks(_joints(early, q, v, tau))
    assert finding.says == 'the stamps jump by 1.7e+09 s after 400 messages'


def test_messages_that_come_in_another_order_are_sorted_and_counted():
    t, q, v, tau = _motion()
    order = np.arange(len(t))
    order[[100, 101, 2000, 2001]] = order[[101, 100, 2001, 2000]]
    (finding,) = channel_checks(_joints(*(x[order] for x in (t, q, v, tau))))
    assert finding.says.startswith('4 of 4000 messages do not come in the order of their stamps')
    assert finding.severity == NOTE


def test_a_clock_that_is_set_back_early_is_a_note_and_one_in_the_middle_is_wrong():
    t, q, v, tau = _motion()
    (finding,) = channel_checks(_joints(np.where(t < 2.0, t, t - 0.5), q, v, tau))
    assert finding.name == 'clock set back' and finding.severity == NOTE
    assert '88 % of the messages are used' in finding.says
    (finding,) = channel_checks(_joints(np.where(t < 9.0, t, t - 0.5), q, v, tau))
    assert finding.name == 'stamps run backwards' and finding.severity == WRONG
    assert re.search(r'BAG@9\.0[01]\d: takes the longest part', finding.do)


def test_a_jerk_that_positions_show_is_no_spike_of_velocities():
    t, q, v, tau = _motion(rate=100.0)
    jerks = np.flatnonzero(np.diff(np.sign(v[:, 1])))[1:-1] + 1  # backlash at reversals
    way = np.zeros(len(t))
    for k in jerks:
        v[k, 1] += 1.0
        way += 0.01 * np.clip(np.arange(len(t)) - k + 0.5, 0.0, 1.0)
    assert _names(_joints(t, q, v, tau)) == ['velocity spikes']
    q[:, 1] += way
    assert _names(_joints(t, q, v, tau)) == []


def test_values_that_repeat_at_standstill_are_not_held():
    t, q, v, tau = _motion()
    rest = 1200  # of 4000 messages, with a flicker of the last digit now and then
    flicker = 1e-3 * (np.random.default_rng(2).random((rest, 3)) < 0.1)
    smooth = np.clip((t - t[rest]) / 2.0, 0.0, 1.0)[:, None] ** 2
    v = smooth * v + np.gradient(smooth[:, 0], t)[:, None] * (q - q[0])
    q = 1e-5 * np.round((q[0] + smooth * (q - q[0])) / 1e-5)
    v[:rest] = flicker
    tau[:rest] = 0.05 * np.round(tau[:rest] / 0.05)
    assert channel_checks(_joints(t, q, v, tau)) == []


def test_coarse_steps_that_last_are_not_stuck():
    # A current of few digits on a joint without load for a while: it leaves its level by one step.
    t, q, v, tau = _motion()
    load = np.clip(np.abs(t - 8.0) / 2.0 - 1.0, 0.0, 1.0)
    tau[:, 2] = 0.2 * np.round(15.0 * load * np.sin(3.0 * t))
    assert _names(_joints(t, q, v, tau)) == []
    tau[2500:3000, 2] = tau[2500, 2]
    assert 'effort stuck' in _names(_joints(t, q, v, tau))


def test_joints_that_come_in_messages_of_their_own_are_checked_each():
    t, q, v, tau = _motion()
    for x in (q, v, tau):  # the third joint is published by another driver, in turns
        x[::2, 2] = np.nan
        x[1::2, :2] = np.nan
    assert channel_checks(_joints(t, q, v, tau)) == []
    v[501, 2] += 3.0
    assert _names(_joints(t, q, v, tau)) == ['velocity spikes']


def test_pieces_of_a_long_recording_are_one_finding(monkeypatch):
    t, q, v, tau = _motion()
    v[500, 1] += 3.0
    v[3500, 1] += 3.0
    monkeypatch.setattr(module, 'CHANNEL_PIECE', 1000)
    (finding,) = channel_checks(_joints(t, q, v, tau))
    assert finding.evidence == 2.0 and [w[0] for w in finding.windows] == [t[500], t[3500]]


def test_other_sensors_are_checked_channel_by_channel():
    rng, n = np.random.default_rng(5), 2000
    stamps = np.arange(n) * 5_000_000
    rate = np.cumsum(rng.standard_normal((n, 3)), axis=0) * 0.01

    def imu(values, stamp_ns=stamps):
        channel = Channel('/imu', IMU, stamp_ns, stamp_ns, {'angular_velocity': values})
        return recording_of(channel)

    assert channel_checks(imu(rate.copy())) == []
    frozen, late = rate.copy(), stamps.copy()
    frozen[400:1200] = frozen[400]
    late[700] = late[650]
    (finding,) = channel_checks(imu(frozen))
    assert finding.name == 'frozen' and finding.windows[0] == pytest.approx((2.0, 5.995))
    assert [f.name for f in channel_checks(imu(rate.copy(), late))] == ['stamps run backwards']


def test_degrees_are_found_where_the_recording_has_a_description():
    t, q, v, tau = _motion()
    urdf = mujoco_arm.description('arm3')
    recording = mujoco_arm.recording(
        mujoco_arm.joints_of(urdf), t, np.degrees(q), np.degrees(v), tau
    )
    found = channel_checks(replace(recording, robot_description=urdf))
    assert 'position in degrees' in [f.name for f in found]


def _with_limits(urdf, factor):
    """Return the URDF text with position limits ``factor`` times as wide."""
    tree = ElementTree.fromstring(urdf)
    for limit in tree.iter('limit'):
        for end in {'lower', 'upper'} & set(limit.keys()):
            limit.set(end, str(factor * float(limit.get(end))))
    return ElementTree.tostring(tree, encoding='unicode')


REAL_ARMS = {
    'kuka': ('kuka_lwr4/measurement_1.npz', 'kuka_lwr4/kuka_lwr4.urdf', 'lwr_{}_joint', 0),
    'panda': ('panda/excitation.npz', 'panda/panda.urdf', 'panda_joint{}', 1),
}


@pytest.mark.parametrize('arm', REAL_ARMS)
@pytest.mark.parametrize('factor', [1.0, 0.5, 0.25])
def test_limits_that_are_too_narrow_make_no_degrees_of_radians(shared_data, arm, factor):
    log, urdf, joint, first = REAL_ARMS[arm]
    recording = mujoco_arm.real(log, tuple(joint.format(first + k) for k in range(7)))
    urdf = _with_limits((shared_data / urdf).read_text(), factor)
    assert _names(replace(recording, robot_description=urdf)) == []


def test_a_joint_that_turns_twice_as_far_as_described_is_not_in_degrees():
    """Limits of half a turn on either side, of a joint that makes a whole one."""
    t, q, v, tau = _motion()
    urdf = mujoco_arm.description('arm3')
    wide = 2.0 * np.pi / np.abs(q).max(axis=0)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, wide * q, wide * v, tau)
    tree = ElementTree.fromstring(urdf)
    for limit in tree.iter('limit'):
        limit.set('lower', '-3.14')
        limit.set('upper', '3.14')
    urdf = ElementTree.tostring(tree, encoding='unicode')
    assert channel_checks(replace(recording, robot_description=urdf)) == []


@pytest.mark.parametrize('arm', ['arm3', 'franka'])
@pytest.mark.parametrize('velocity_unit', [1.0, 180.0 / np.pi])
def test_positions_of_simulated_arms_in_degrees_are_wrong(arm, velocity_unit):
    recording = mujoco_arm.recorded(arm, 1)
    _, channel, _, q, v, _ = columns(recording)
    in_degrees = rebuilt(recording, position=np.degrees(q), velocity=velocity_unit * v)
    (finding,) = [f for f in channel_checks(in_degrees) if f.severity == WRONG]
    assert (finding.name, finding.joints) == ('position in degrees', channel.names)


def test_what_is_not_finite_is_said_beside_what_explains_all_else():
    t, q, v, tau = _motion()
    v[77] = np.nan
    turned = channel_checks(_joints(t, np.mod(q + 0.5, 2.0 * np.pi), v, tau))
    assert {f.name for f in turned} == {'velocity not finite', 'position not unwrapped'}
    t[2000:] -= 1.0
    assert _names(_joints(t, q, v, tau)) == ['velocity not finite', 'stamps run backwards']


def test_a_crank_that_turns_many_times_is_not_in_degrees():
    t, q, v, tau = _motion(joints=1)
    urdf = (mujoco_arm.URDF / 'slider_crank.urdf').read_text()
    turning = mujoco_arm.recording(('crank',), t, q + 9.0 * t[:, None], v + 9.0, tau)
    assert channel_checks(replace(turning, robot_description=urdf)) == []


def test_a_gap_says_nothing_of_the_velocities_beside_it(monkeypatch):
    urdf = mujoco_arm.description('arm3')
    t, q, v, _ = mujoco_arm.motion(3, 4.4, 500, seed=6)
    keep = (t < 1.4) | (t > 2.4)
    recording = replace(
        mujoco_arm.recording(mujoco_arm.joints_of(urdf), t[keep], q[keep], v[keep], q[keep]),
        robot_description=urdf,
    )
    assert not [f for f in channel_checks(recording) if 'velocit' in f.says]
    monkeypatch.setattr(signal_values, 'GAP_PERIODS', np.inf)  # a line across it would
    assert [f for f in channel_checks(recording) if 'velocit' in f.says]


def test_a_stretch_of_a_recording_may_lack_efforts():
    """Those of another topic that ended before: nothing is known of their signs there."""
    channel = _joints(*_motion()).channels['/joint_states']
    (signals,) = module.joint_signals(channel, {}, origin=0)
    none = Quantity(np.empty(0), np.empty((0, 3)))
    assert module.signal_findings(replace(signals, effort=none, same_topic=False)) == []


def _of_arm(q, v, tau, t, lower=-2.8, upper=2.8):
    """Return the findings on three joints whose limits are those given [rad]."""
    links = ''.join(f'<link name="l{k}"/>' for k in range(4))
    joints = ''.join(
        f'<joint name="{name}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<axis xyz="0 0 1"/><limit lower="{lower}" upper="{upper}" effort="9" velocity="9"/>'
        '</joint>'
        for k, name in enumerate('abc')
    )
    robot = load_robot_model(f'<robot name="r">{links}{joints}</robot>')
    recording = _joints(t, q, v, tau)
    (signals,) = raw_signals(recording, robot, SignalOptions())
    return {f.name: f for f in signal_findings(signals)}


TICKS = 4096.0 / (2.0 * np.pi)
SERVO = 60.0 / (2.0 * np.pi) / 0.229


@pytest.mark.parametrize(
    ('velocity_unit', 'named'),
    [
        (SERVO, 'counts of 0.229 rpm where the positions are counts of 4096 in a turn'),
        (np.degrees(1.0), 'degrees where the positions are counts of 4096 in a turn'),
        (60.0 / (2.0 * np.pi), 'revolutions per minute where the positions are counts of 4096'),
    ],
)
def test_registers_of_servos_are_named(velocity_unit, named):
    t, q, v, tau = _motion()
    ticks = np.round(q * TICKS + 2048.0)
    findings = _of_arm(ticks, np.round(v * velocity_unit), tau, t)
    assert set(findings) >= {'position in counts', 'velocity in another unit'}
    assert f'whole numbers up to {ticks.max():.4g}' in findings['position in counts'].says
    assert named in findings['velocity in another unit'].says
    assert findings['position in counts'].severity == WRONG


def test_degrees_that_may_be_percent_are_said_as_both():
    t, q, v, tau = _motion()
    for largest, words in ((130.0, 'are in degrees: up to 130'), (90.0, 'percent of their range')):
        scale = largest / np.abs(q).max()
        finding = _of_arm(scale * q, scale * v, tau, t)['position in degrees']
        assert words in finding.says and '--columns "q_*_deg=NAME_*' in finding.do
        assert ('recorded again' in finding.do) == (largest < 100.0)


@pytest.mark.parametrize(('shift', 'severity'), [(0.0, NOTE), (1.5, WRONG)])
def test_turns_of_a_joint_with_limits_are_put_together_where_these_allow_it(shift, severity):
    """As a driver that reports 0 to 360 degrees; with a zero far off no turn is the right one."""
    t, q, v, tau = _motion()
    q *= 2.5 / np.abs(q).max()
    wrapped = np.mod(q + shift, 2.0 * np.pi)
    assert _of_arm(wrapped, v, tau, t)['position not unwrapped'].severity == severity


def test_velocities_and_stamps_are_both_named_where_either_may_be_wrong():
    t, q, v, tau = _motion()
    rate = _of_arm(q, 6.33 * v, tau, t)['wrong rate or stamps']
    assert 'stamps are wrong, or the velocities' in rate.says and '"-=NAME_*"' in rate.do
    unit = _of_arm(q, np.degrees(v), tau, t)['velocity in another unit']
    assert 'degrees per second' in unit.says and 'to rad and rad/s' in unit.do
