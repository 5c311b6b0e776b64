"""From joint channels to states: any order, jitter and drops, efforts of every kind, in pieces."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
from recordings import altered, recording_of

from ros_inertial_id.errors import ConfigError, RecordingError
from ros_inertial_id.measurement import signals
from ros_inertial_id.measurement.joints import kinematic_state
from ros_inertial_id.measurement.joints.effort_source import EffortSource
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.joints.observation import at_one_cutoff, observe_joints
from ros_inertial_id.measurement.recording import Recording

FIELDS = ('t', 'q', 'v', 'a', 'tau', 'tau_raw')
SLOW = SignalOptions(cutoff=20.0)


def whole(observation, training=False):
    """Return all states of an observation as one dict of arrays."""
    states = list(observation.states(training))
    return {name: np.concatenate([getattr(s, name) for s in states]) for name in FIELDS}


def test_states_are_the_motion_that_was_recorded(arm3_recording, arm3_motion):
    names, t, q, v, a, tau = arm3_motion
    seen = whole(observe_joints(arm3_recording, names, SLOW))
    inner = slice(200, -200)
    np.testing.assert_allclose(seen['t'], t, atol=1e-9)
    # Motion below 0.5 Hz loses (0.5 / 20)^8 to the filter and (w h)^2 / 6 to differences.
    for name, truth in (('q', q), ('v', v), ('a', a)):
        assert np.abs(seen[name] - truth)[inner].max() < 1e-3 * np.abs(truth).max()
    np.testing.assert_allclose(seen['tau_raw'], tau, atol=1e-9)


def test_the_same_joints_come_out_whatever_the_order_in_the_messages(arm3_recording):
    names = arm3_recording.channels['/joint_states'].names
    channel = arm3_recording.channels['/joint_states']
    order = [2, 0, 1]
    extra = {
        k: np.column_stack([v[:, order], np.full(len(channel), 7.0)])
        for k, v in channel.fields.items()
    }
    shuffled = replace(channel, fields=extra, names=tuple(names[k] for k in order) + ('finger',))
    other = whole(observe_joints(recording_of(shuffled), names, SLOW))
    for name, values in whole(observe_joints(arm3_recording, names, SLOW)).items():
        np.testing.assert_array_equal(other[name], values)


@pytest.mark.parametrize('velocity', ['measured', 'differentiated'])
def test_pieces_of_any_size_give_the_same_states(arm3_recording, monkeypatch, velocity):
    names = arm3_recording.channels['/joint_states'].names
    options = replace(SLOW, velocity=velocity)
    monkeypatch.setattr(kinematic_state, 'SAMPLES_OF_STATE', 10**6)
    at_once = whole(observe_joints(arm3_recording, names, options))
    monkeypatch.setattr(kinematic_state, 'SAMPLES_OF_STATE', 700)
    piecewise = whole(observe_joints(arm3_recording, names, options))
    for name, values in at_once.items():
        # Filtering by FFT rounds relative to the largest value in the piece.
        np.testing.assert_allclose(
            piecewise[name], values, rtol=0, atol=1e-9 * np.abs(values).max()
        )


def test_a_column_is_filtered_as_the_torque_was(arm3_recording, arm3_motion, monkeypatch):
    names = arm3_motion[0]
    monkeypatch.setattr(kinematic_state, 'SAMPLES_OF_STATE', 900)
    observation = observe_joints(arm3_recording, names, SLOW)
    columns = np.concatenate(
        [s.filtered(lambda q, v, a: [np.sign(v)])[0] for s in observation.states()]
    )
    expected = signals.smooth(np.sign(whole(observation)['v']), observation.kernel)
    inner = slice(200, -200)
    np.testing.assert_allclose(columns[inner], expected[inner], atol=1e-9)


def test_training_leaves_out_the_ends_and_thins_evenly(arm3_recording, arm3_motion):
    observation = observe_joints(arm3_recording, arm3_motion[0], replace(SLOW, decimate=7))
    t = whole(observation, training=True)['t']
    np.testing.assert_allclose(np.diff(t), 7 * observation.clock.period, rtol=1e-9)
    period = observation.clock.period
    assert t[0] > 1 / 20.0 - period and t[-1] < arm3_motion[1][-1] - 1 / 20.0 + period


def test_jitter_and_lost_samples_cost_little(arm3_motion):
    names, t, q, v, a, tau = arm3_motion
    rng = np.random.default_rng(0)
    when = t + rng.uniform(-0.4, 0.4, len(t)) * (t[1] - t[0])
    at = [np.column_stack([np.interp(when, t, x) for x in y.T]) for y in (q, v, tau)]
    kept = np.sort(rng.permutation(len(t))[: int(0.97 * len(t))])
    recording = mujoco_arm.recording(names, when[kept] + 1.0, *(x[kept] for x in at))
    observation = observe_joints(recording, names, SLOW)
    seen = whole(observation)
    # Drops make the median step a percent longer than the period, so fewer seem to be missing.
    assert 0 < observation.summary.missing <= len(t) - len(kept)
    when = seen['t'] + recording.origin_ns() * 1e-9 - 1.0
    inner = slice(200, -200)
    for name, truth in (('q', q), ('v', v), ('a', a)):
        expected = np.column_stack([np.interp(when, t, x) for x in truth.T])
        assert np.abs(seen[name] - expected)[inner].max() < 0.02 * np.abs(truth).max()


def test_nothing_is_made_up_across_a_gap(arm3_motion):
    names, t, q, v, _, tau = arm3_motion
    kept = (t < 12.0) | (t > 19.0)
    recording = mujoco_arm.recording(names, *(x[kept] for x in (t, q, v, tau)))
    observation = observe_joints(recording, names, SLOW)
    assert [s.segment for s in observation.states()] == [0, 1]
    seen = whole(observation)['t']
    assert not np.any((seen > 12.01) & (seen < 18.99))


@pytest.mark.parametrize('spoil', [lambda v: -v, lambda v: np.degrees(v), np.zeros_like])
def test_measured_velocities_that_are_wrong_are_not_used(arm3_recording, arm3_motion, spoil):
    wrong = altered(arm3_recording, velocity=spoil(arm3_motion[3]))
    observation = observe_joints(wrong, arm3_motion[0])
    assert observation.summary.velocity == 'differentiated'


def test_velocities_of_a_joint_that_hardly_moves_decide_nothing(arm3_recording, arm3_motion):
    names, _, q, v = arm3_motion[:4]
    slow = altered(arm3_recording, position=q * [1.0, 1.0, 0.01], velocity=v * [1.0, 1.0, 0.0])
    assert observe_joints(slow, names).summary.velocity == 'measured'


def test_velocities_are_not_needed(arm3_recording, arm3_motion):
    names, _, _, v = arm3_motion[:4]
    observation = observe_joints(altered(arm3_recording, velocity=None), names, SLOW)
    assert observation.summary.velocity == 'differentiated'
    seen = whole(observation)['v'][200:-200]
    assert np.abs(seen - v[200:-200]).max() < 1e-3 * np.abs(v).max()


def test_efforts_may_come_on_another_topic(arm3_recording, arm3_motion):
    names, t, _, _, _, tau = arm3_motion
    force = mujoco_arm.recording(
        names,
        t[::2],
        np.full((len(t[::2]), 3), np.nan),
        np.full((len(t[::2]), 3), np.nan),
        tau[::2],
    )
    motion = altered(arm3_recording, effort=None).channels['/joint_states']
    both = Recording(
        {
            '/joint_states': motion,
            '/torques': replace(force.channels['/joint_states'], topic='/torques'),
        }
    )
    observation = observe_joints(both, names, replace(SLOW, effort_topic='/torques'))
    assert observation.summary.effort_topic == '/torques'
    seen = whole(observation)['tau_raw'][::2]
    assert len(seen) == pytest.approx(len(t[::2]), abs=2)
    np.testing.assert_allclose(seen, tau[: 2 * len(seen) : 2], atol=1e-9)
    with pytest.raises(
        RecordingError,
        match='topic /efforts is not in the recording; there is: /joint_states, /torques',
    ):
        observe_joints(both, names, replace(SLOW, effort_topic='/efforts'))


def power_at_motors(options, tau_motor, v):
    """Return the mechanical power that motor torques put into joints that turn with v."""
    n = len(v)
    coupling = np.array(options.coupling or np.eye(n).ravel()).reshape(n, n)
    motor_speed = coupling @ (np.array(options.gear_ratio or np.ones(n)) * v)
    return tau_motor @ motor_speed


@pytest.mark.parametrize(
    'options',
    [
        SignalOptions(effort_kind='motor'),
        SignalOptions(effort_kind='motor', gear_ratio=(100.0, -80.0, 51.0)),
        SignalOptions(
            effort_kind='motor',
            gear_ratio=(100.0, 80.0, 50.0),
            coupling=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 1.0),
        ),
        SignalOptions(effort_kind='motor', coupling=(1.0, 0.0, 0.0, 0.2, 1.0, 0.0, 0.0, 0.5, 1.0)),
    ],
)
def test_effort_maps_keep_the_virtual_work(options):
    rng = np.random.default_rng(0)
    tau_motor, v = rng.normal(size=(2, 3))
    joint_torque = EffortSource.of(options, 3).torque(tau_motor)
    assert joint_torque @ v == pytest.approx(power_at_motors(options, tau_motor, v), rel=1e-12)


def test_currents_become_torques_by_gain_and_gear():
    options = SignalOptions(effort_kind='current', drive_gain=(0.1, 0.2), gear_ratio=(100.0, 50.0))
    np.testing.assert_allclose(EffortSource.of(options, 2).torque([2.0, 3.0]), [20.0, 30.0])


def test_a_sensor_of_opposite_sign_is_turned_in_the_states(arm3_motion):
    """As KUKA's FRI and Kinova's actuators report the torque of a link."""
    names, t, q, v, _, tau = arm3_motion
    options = replace(SLOW, effort_kind='link_negated')
    found = whole(observe_joints(mujoco_arm.recording(names, t, q, v, -tau), names, options))
    np.testing.assert_allclose(found['tau_raw'], tau, atol=1e-12)


def test_motions_of_coupled_motors_are_those_of_the_joints(arm3_motion):
    names, t, q, v, _, tau = arm3_motion
    turns = np.diag([100.0, 120.0, 50.0])
    turns[2, 1] = 40.0  # the third motor sits behind the second joint
    zero = np.array([0.0, -np.pi / 2, 0.3])
    recording = mujoco_arm.recording(
        names, t, (q - zero) @ turns.T, v @ turns.T, tau @ np.linalg.inv(turns)
    )
    options = replace(
        SLOW,
        effort_kind='motor',
        position_kind='motor',
        gear_ratio=(100.0, 120.0, 50.0),
        position_offset=tuple(zero),
        coupling=tuple((turns / [100.0, 120.0, 50.0]).ravel()),
    )
    plain = whole(observe_joints(mujoco_arm.recording(names, t, q, v, tau), names, SLOW))
    found = whole(observe_joints(recording, names, options))
    for name in ('q', 'v', 'a', 'tau_raw'):
        np.testing.assert_allclose(found[name], plain[name], atol=1e-9)


@pytest.mark.parametrize(
    'options, words',
    [
        (
            {'gear_ratio': (1.0, 2.0, 3.0)},
            'expected effort_kind: motor or current, or position_kind',
        ),
        ({'effort_kind': 'motor', 'gear_ratio': (1.0, 0.0, 3.0)}, 'a matrix that has an inverse'),
        ({'effort_kind': 'motor', 'gear_ratio': (1.0, 2.0)}, 'gear_ratio; expected 3 values'),
        (
            {'effort_kind': 'motor', 'coupling': (1.0, 2.0)},
            'coupling; expected 9 values, row by row',
        ),
        ({'effort_kind': 'current'}, 'effort_kind: current needs drive_gain; expected 3 values'),
    ],
)
def test_effort_options_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        EffortSource.of(SignalOptions(**options), 3)


def test_a_long_rest_before_the_motion_does_not_choose_for_it(arm3_motion):
    names, t, q, v, _, tau = arm3_motion
    rng = np.random.default_rng(0)
    rest = 25000  # samples at 250 Hz: 100 s
    waiting = [np.concatenate([np.tile(x[0], (rest, 1)), x]) for x in (q, 0.0 * v, tau)]
    waiting[1][rest:] = v
    summaries = []
    for values in ((q, v, tau), waiting):
        when = np.arange(len(values[0])) * (t[1] - t[0])
        noisy = [x + s * rng.normal(size=x.shape) for x, s in zip(values, (1e-5, 1e-3, 0.1))]
        recording = mujoco_arm.recording(names, when, *noisy)
        summaries.append(observe_joints(recording, names).summary)
    for summary in summaries:
        assert summary.velocity == 'measured'
    # Which third-octave band is the quietest hangs on the noise: two bands are a factor of 1.6.
    assert 0.6 < summaries[1].cutoff / summaries[0].cutoff < 1.7


def test_a_window_counts_no_sample_that_its_filter_guessed(arm3_recording, arm3_motion):
    names, options = arm3_motion[0], SignalOptions(cutoff=5.0)
    everything = whole(observe_joints(arm3_recording, names, options))
    window = arm3_recording.window(5.0, 20.0)
    observed = observe_joints(window, names, options)
    seen = whole(observed)
    edge = round(0.2 * 250)  # a period of the cutoff, as in training
    assert len(seen['t']) == 15 * 250 + 1 - 2 * edge
    assert len(whole(observed, training=True)['t']) <= len(seen['t'])
    middle = slice(5 * 250 + edge, 20 * 250 + 1 - edge)
    guessed = whole(replace(observed, cut=(False, False)))
    for name in ('v', 'a', 'tau'):
        size = np.abs(everything[name]).max()
        error = np.abs(seen[name] - everything[name][middle]).max()
        ends = np.abs(guessed[name] - everything[name][5 * 250 : 20 * 250 + 1]).max()
        # Beyond the main lobe the kernel swings on with a few percent of its peak.
        assert error < 0.02 * size and ends > 3.0 * error
    # What was recorded as a whole counts as a whole, and where a window ends with it.
    assert len(everything['t']) == len(arm3_motion[1])
    late = whole(observe_joints(arm3_recording.window(5.0, None), names, options))
    assert len(late['t']) == len(arm3_motion[1]) - 5 * 250 - edge


def test_recordings_of_one_identification_are_filtered_alike(arm3_recording, arm3_motion):
    names = arm3_motion[0]
    slow, fast = (
        observe_joints(arm3_recording, names, SignalOptions(cutoff=c)) for c in (4.0, 9.0)
    )
    by_position = observe_joints(
        arm3_recording, names, SignalOptions(cutoff=9.0, velocity='differentiated')
    )
    first, second = at_one_cutoff([slow, by_position])
    assert first.summary.cutoff == second.summary.cutoff == 9.0
    assert first.summary.velocity == second.summary.velocity == 'differentiated'
    assert first.decimate == second.decimate and first.trim == second.trim
    np.testing.assert_array_equal(whole(first)['a'], whole(second)['a'])
    np.testing.assert_array_equal(whole(at_one_cutoff([slow, fast])[0])['v'], whole(fast)['v'])
    # What was recorded too slowly for the highest is filtered by its own rate, unless it is given.
    channel = arm3_recording.channels['/joint_states'].rows(slice(None, None, 10))
    rare = observe_joints(recording_of(channel), names)
    for chosen, cutoff in ((True, 25.0 / 4.0), (False, 9.0)):
        other = replace(fast, summary=replace(fast.summary, cutoff_chosen=chosen))
        assert at_one_cutoff([rare, other])[0].summary.cutoff == pytest.approx(cutoff)
