"""Closed loops seen by a camera: motion, clocks and mistakes of the set-up, on the MuJoCo rig."""

from dataclasses import replace

import numpy as np
import pytest
from recordings import altered
import simulated_rigs
from simulated_rigs import CRANK, SLIDER, TAG
import slider_crank_lagrangian as oracle

from ros_inertial_id.checks.check import check
from ros_inertial_id.errors import ConfigError, RecordingError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.motion import MOTION, reconstruct

closed_loop = METHODS['closed_loop']

OPTIONS, URDF = simulated_rigs.CRANK_OPTIONS, simulated_rigs.CRANK_URDF
MARKERS = OPTIONS.markers
WITH_IMU = replace(OPTIONS, imus=('/rod/imu rod_imu',))


@pytest.fixture(scope='module')
def rig_recording():
    """Five seconds: 0.1 mm markers at 800 Hz, 1 % dropped, camera 5 ms and IMU 2 ms late."""
    return simulated_rigs.slider_crank(5.0)


@pytest.fixture(scope='module')
def short_recording(rig_recording):
    return rig_recording.window(0.6, 2.4)


@pytest.fixture(scope='module')
def mechanism():
    return closed_loop.build(URDF, OPTIONS, (0.0, 0.0, -9.81))


@pytest.fixture(scope='module')
def seen_model(rig_recording):
    return identify([rig_recording], OPTIONS, method='closed_loop').model


def four_errors(model):
    found = {entry['name']: entry['value'] for entry in model.base}
    return [100 * abs(found[n] / oracle.BASE[n] - 1) for n in oracle.FOUR]


def four_deviations(model):
    found = {entry['name']: entry['standard_error'] for entry in model.base}
    return np.array([found[n] / oracle.BASE[n] for n in oracle.FOUR])


def test_markers_give_all_four_parameters_as_well_as_five_seconds_can(seen_model):
    """The Cramer-Rao bound of the fourth, 0.5 %, lets one run in twenty miss 1 %."""
    stated = 100 * four_deviations(seen_model)
    assert (stated < 1.35 * np.array([0.06, 0.14, 0.50, 0.21])).all()  # 1.0: the bound
    assert (four_errors(seen_model) < 3.0 * stated).all()


def test_camera_clock_is_found(seen_model):
    notes = seen_model.preprocessing[0]
    # Torque is stamped 5 ms before the camera's stamps; 0.1 ms turns the crank by 1 mrad.
    assert notes['time_offset'] == pytest.approx(-5e-3, abs=1e-4)


def test_imu_lowers_the_standard_errors(rig_recording, seen_model):
    model = identify([rig_recording], WITH_IMU, method='closed_loop').model
    assert max(four_errors(model)) < 1.0
    # Not that of the crank's inertia: the noise of the torque alone is most of it.
    # Of markers alone the noise is drawn, and errors are known to a seventh.
    assert (four_deviations(model) < 0.95 * four_deviations(seen_model))[1:].all()
    imu = model.preprocessing[0]['imus']['/rod/imu']
    assert imu['clock_offset'] == pytest.approx(-3e-3, abs=1e-4)  # 2 ms late, the camera 5 ms
    assert imu['gyro_bias'][2] == pytest.approx(0.01, abs=1e-3)


def test_crank_angle_and_its_deviation_are_those_of_the_encoder(rig_recording, mechanism):
    seen, notes, _ = reconstruct(rig_recording, mechanism, OPTIONS)
    channel, encoder = seen.channels[MOTION], rig_recording.channels['/joint_states']
    angle = np.interp(
        (channel.stamp_ns - 5_000_000) * 1e-9,
        encoder.stamp_ns * 1e-9,
        encoder.fields['position'][:, 0],
    )
    error = channel.fields['position'][:, 0] - angle
    assert abs(error.mean()) < 2e-4  # 1e-3 rad of noise each, 4000 samples
    assert error.std() == pytest.approx(
        np.hypot(notes['marker_deviation']['crank'], 1e-3 * np.sqrt(2 / 3)), rel=0.15
    )


def test_frames_with_exchanged_or_missing_markers_are_left_out(short_recording, mechanism):
    crank, slider = (
        np.array(short_recording.channels[t].fields['position']) for t in (CRANK, SLIDER)
    )
    crank[200:230], slider[200:230] = slider[200:230].copy(), crank[200:230].copy()
    crank[400:420] = np.nan
    crank[600] += 0.05
    broken = altered(
        altered(short_recording, CRANK, position=crank),
        SLIDER,
        position=slider,
    )
    good, *_ = reconstruct(short_recording, mechanism, OPTIONS)
    seen, notes, _ = reconstruct(broken, mechanism, OPTIONS)
    assert notes['marker_outliers'][CRANK] == 31
    assert notes['marker_outliers'][SLIDER] == 30
    z, as_good = (r.channels[MOTION].fields['position'][:, 0] for r in (seen, good))
    stamps, as_stamps = (r.channels[MOTION].stamp_ns for r in (seen, good))
    difference = z - np.interp(stamps, as_stamps, as_good)
    assert np.abs(difference).max() < 0.03  # the tag alone: 2 mrad of the rod, six sigma


def test_exchanged_markers_are_named(short_recording):
    swapped = (f'{SLIDER} rod_link', f'{CRANK} slider_link', MARKERS[2])
    with pytest.raises(RecordingError, match='crank_pin.*exchanged'):
        identify([short_recording], replace(OPTIONS, markers=swapped), method='closed_loop')


def test_misplaced_marker_is_named(short_recording):
    wrong = (f'{CRANK} rod_end', *MARKERS[1:])
    with pytest.raises(RecordingError, match='crank_pin does not sit where'):
        identify([short_recording], replace(OPTIONS, markers=wrong), method='closed_loop')


def test_a_rolling_shutter_is_named(short_recording, mechanism):
    """A marker one metre further along x is read 5 ms later."""
    channels = {}
    for topic in (CRANK, SLIDER, TAG):
        channel = short_recording.channels[topic]
        position = np.array(channel.fields['position'])
        velocity = np.gradient(position, channel.stamp_ns * 1e-9, axis=0)
        channels[topic] = position - 5e-3 * position[:, :1] * velocity
    rolling = short_recording
    for topic, position in channels.items():
        rolling = altered(rolling, topic, position=position)
    with pytest.raises(RecordingError, match='rolling shutter.*found (4.[5-9]|5.[0-5])') as found:
        reconstruct(rolling, mechanism, OPTIONS)
    assert 'ms more for every metre' in str(found.value)


def test_assembly_on_the_other_branch_is_said(short_recording):
    """The slider left of the crank closes the loop as well, but no marker is there."""
    other = replace(OPTIONS, start=('crank 0.5', 'rod 2.2', 'slider -0.2'))
    with pytest.raises(RecordingError, match='does not sit where.*another branch'):
        identify([short_recording], other, method='closed_loop')


def wrong_with(recording):
    """Return what a check says is wrong with a recording, which is not to be used."""
    checkup = check([recording], OPTIONS, method='closed_loop')
    assert checkup.verdict.word == 'do not use'
    (finding,) = [f for f in checkup.checks if f.severity == 'wrong']
    return finding.says


def test_imu_mounted_the_wrong_way_round_is_said(short_recording):
    imu = short_recording.channels['/rod/imu']
    turn = np.diag([-1.0, -1.0, 1.0])  # half a turn about the axis of rotation
    wrong = altered(short_recording, '/rod/imu', **{k: v @ turn for k, v in imu.fields.items()})
    with pytest.raises(RecordingError, match='180 degrees off'):
        identify([wrong], WITH_IMU, method='closed_loop')


def test_reversed_torque_sensor_is_said(short_recording):
    torque = short_recording.channels['/crank/torque'].fields['torque']
    negated = altered(short_recording, '/crank/torque', torque=-torque)
    assert 'wrong sign' in wrong_with(negated)


def test_clocks_too_far_apart_are_said(short_recording):
    stamps = short_recording.channels['/crank/torque'].stamp_ns + 80_000_000
    late = altered(short_recording, '/crank/torque', stamp_ns=stamps)
    with pytest.raises(RecordingError, match='not on one clock'):
        identify([late], OPTIONS, method='closed_loop')


@pytest.mark.parametrize(
    'changes',
    [
        {'markers': ('/markers/nothing rod_link',)},
        {'markers': (f'{CRANK} nowhere',)},
        {'markers': (CRANK,)},
        {'camera': (0.0, 1.0)},
        {'imus': ('/rod/imu',)},
        {'torques': ('wheel /crank/torque z',)},
        {'torques': ('crank /crank/torque w',)},
        {'torques': ('rod /crank/torque z',)},
        {'markers': (), 'imus': ('/rod/imu rod_imu',)},
    ],
)
def test_wrong_set_up_is_refused(short_recording, mechanism, changes):
    with pytest.raises((ConfigError, RecordingError, Exception)) as caught:
        reconstruct(short_recording, mechanism, replace(OPTIONS, **changes))
    assert type(caught.value).__module__ == 'ros_inertial_id.errors'
