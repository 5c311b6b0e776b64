"""Averaging whole periods: less noise, the same signal, and words where nothing is marked."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
import yaml

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.identification.identify import identify, validation
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions
from ros_inertial_id.measurement.joints.observation import observe_joints
from ros_inertial_id.measurement.recording import Recording

PERIOD, COUNT, RATE, APPROACH = 5.0, 16, 200.0, 1.5
NOISE = 0.05  # [N m]
AVERAGED = SignalOptions(cutoff=20.0, average_periods=True)


def marked(recording, starts, period=PERIOD):
    """Return the Recording with periods that begin at ``starts`` [s after zero]."""
    bounds = [int(round(s * 1e9)) for s in [*starts, starts[-1] + period]]
    return replace(recording, periods=yaml.safe_dump({'period_s': period, 'bounds_ns': bounds}))


@pytest.fixture(scope='module')
def motion():
    """Return names, t, q, v, a and exact tau of COUNT periods of the 3R arm, and its URDFs."""
    urdf = mujoco_arm.description('arm3')
    truth = mujoco_arm.true_urdf(urdf, seed=3)
    t, q, v, a = mujoco_arm.motion(3, COUNT * PERIOD + 2 * APPROACH, RATE, seed=4, period=PERIOD)
    one = int(PERIOD * RATE)
    tau = np.resize(mujoco_arm.torque(truth, q[:one], v[:one], a[:one]), q.shape)
    return mujoco_arm.joints_of(urdf), t, q, v, a, tau, urdf


@pytest.fixture(scope='module')
def noisy(motion):
    """Return the Recording of the motion with noise and marks."""
    names, t, q, v, a, tau, urdf = motion
    noise = np.random.default_rng(0).normal(size=tau.shape) * NOISE
    recording = mujoco_arm.recording(names, t, q, v, tau + noise)
    recording = replace(recording, robot_description=urdf)
    return marked(recording, APPROACH + PERIOD * np.arange(COUNT))


def states(recording, options=AVERAGED, training=False):
    observation = observe_joints(recording, recording.channels['/joint_states'].names, options)
    found = list(observation.states(training))
    return {name: np.concatenate([getattr(s, name) for s in found])
            for name in ('t', 'q', 'v', 'a', 'tau', 'tau_raw')}, observation


def test_noise_shrinks_with_the_root_of_the_number_of_periods(noisy, motion):
    tau = motion[5]
    seen, observation = states(noisy)
    begin, count = int(APPROACH * RATE), int(PERIOD * RATE)
    assert observation.summary['averaged_periods'] == COUNT
    assert len(seen['t']) == count
    noise = (seen['tau_raw'] - tau[begin:begin + count]).std()
    # 3000 samples know their standard deviation to 1.3 %
    assert noise == pytest.approx(NOISE / np.sqrt(COUNT), rel=0.05)


def test_averaged_signals_are_the_motion_up_to_the_very_ends(motion):
    """Nothing is guessed at the ends: the filter runs on into the next period."""
    names, t, q, v, a, tau, _ = motion
    recording = marked(mujoco_arm.recording(names, t, q, v, tau),
                       APPROACH + PERIOD * np.arange(COUNT))
    begin, count = int(APPROACH * RATE), int(PERIOD * RATE)
    for options in (AVERAGED, replace(AVERAGED, velocity='differentiated')):
        seen, _ = states(recording, options)
        # Motion below 1 Hz loses (1 / 20)^8 to the filter and (w h)^2 / 6 to each difference.
        for name, truth in (('q', q), ('v', v), ('a', a)):
            part = truth[begin:begin + count]
            assert np.abs(seen[name] - part).max() < 1e-3 * np.abs(part).max()


def test_average_does_not_depend_on_how_the_period_fits_the_sampling(motion):
    """A third of a sample in every period does not add up over the periods."""
    names = motion[0]
    period = PERIOD + 1.0 / (3 * RATE)
    t, q, v, a = mujoco_arm.motion(3, COUNT * period, RATE, seed=4, period=period)
    recording = marked(mujoco_arm.recording(names, t, q, v, np.sin(q)),
                       period * np.arange(COUNT - 1), period)
    seen, observation = states(recording)
    assert observation.clock.period * len(seen['t']) == pytest.approx(period, rel=1e-12)
    expected = np.stack([np.interp(seen['t'], t, x) for x in q.T], axis=1)
    # linear interpolation: h^2 a / 8
    assert np.abs(seen['q'] - expected).max() < np.abs(a).max() / (4 * RATE ** 2)


def test_pieces_of_an_average_fit_together(noisy, monkeypatch):
    from ros_inertial_id.measurement.joints import kinematic_state
    at_once = states(noisy)[0]
    monkeypatch.setattr(kinematic_state, 'PIECE', 300)
    for name, values in states(noisy)[0].items():
        # Filtering by FFT rounds relative to the largest value in the piece.
        assert np.abs(values - at_once[name]).max() <= 1e-9 * np.abs(at_once[name]).max()


def test_periods_with_a_gap_are_left_out(noisy):
    channel = noisy.channels['/joint_states']
    t = channel.stamp_ns * 1e-9
    broken = channel.rows((t < APPROACH + 2.2 * PERIOD) | (t > APPROACH + 2.4 * PERIOD))
    _, observation = states(replace(noisy, channels={'/joint_states': broken}))
    assert observation.summary['averaged_periods'] == COUNT - 1


def test_identification_agrees_with_the_truth_and_is_as_precise(noisy, motion):
    """A model of averaged periods is that of all samples; both hold for the whole recording."""
    kind = options_class('serial_arm')
    options = kind(estimator='weighted', friction=(), cutoff=20.0)
    whole = identify([noisy], options).model
    averaged = identify([noisy], replace(options, average_periods=True)).model
    pairs = [(x['value'], y['value'], x['standard_error'], y['standard_error'])
             for x, y in zip(averaged.base, whole.base)]
    for one, other, error, error_whole in pairs:
        assert abs(one - other) < 4 * np.hypot(error, error_whole)
        assert error < 2.0 * error_whole
    residual = averaged.statistics['training']['raw']['rms_all']
    assert residual == pytest.approx(NOISE / np.sqrt(COUNT), rel=0.1)
    assert validation(averaged, [replace(noisy, periods='')])[0]['raw']['rms_all'] \
        == pytest.approx(NOISE, rel=0.1)


def test_bag_keeps_the_marks(noisy, tmp_path):
    short = noisy.window(0.0, 3.0)
    write_recording(tmp_path / 'bag', short)
    again = read_bag(tmp_path / 'bag')
    assert again.periods == noisy.periods and list(again.channels) == ['/joint_states']


@pytest.mark.parametrize('periods, words', [
    ('', 'average_periods: true is asked for; found no periods marked in the recording'),
    ('nonsense', 'cannot be read; expected period_s: SECONDS'),
    ('{period_s: 5.0, bounds_ns: [0]}', 'not whole'),
    ('{period_s: 5.0, bounds_ns: [0, 4000000000]}', 'not whole'),
    ('{period_s: 5.0, bounds_ns: [900000000000, 905000000000]}', 'wholly in the recording')])
def test_missing_or_broken_marks_are_refused_with_words(noisy, periods, words):
    with pytest.raises(RecordingError, match=words):
        states(replace(noisy, periods=periods))


def test_recordings_have_no_periods_unless_marked():
    assert Recording({}).periods == ''
