"""An IMU and markers on one body against the exact motion, and IMUs that were mounted wrongly."""

from dataclasses import replace

import numpy as np
import pytest
from recordings import channel_of, EPOCH_NS, recording_of, stamps_of
from scipy.spatial.transform import Rotation
from tumbling_body import GRAVITY, motion, pose

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement import signals
from ros_inertial_id.rigs.measurement.body_motion import BodyMotion
from ros_inertial_id.rigs.measurement.body_state import state_of_pose
from ros_inertial_id.rigs.measurement.sources import BodySource, common_clock, read_pose

PLACE = np.array([0.2, -0.1, 0.05])
TURN = Rotation.from_euler('xyz', [10.0, -20.0, 90.0], degrees=True)
OBLIQUE = Rotation.from_euler('xyz', [0.6, -0.5, 0.8])
DELAY, GYRO_BIAS, FORCE_BIAS = 0.012, np.array([0.02, -0.01, 0.005]), np.array([0.1, 0.0, -0.08])
LAYOUT = {
    f'm{k}': np.array(p)
    for k, p in enumerate(
        [[0.3, 0, 0], [0, 0.3, 0], [-0.3, 0, 0.05], [0, -0.3, 0], [0.05, 0, 0.3]]
    )
}


def _recording(seed=0, noise=(3e-4, 2e-3, 0.02), place=PLACE, turn=TURN, until=12.0):
    """Return a Recording of markers and of an IMU whose stamps are late."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, until, 1 / 120)
    p, R = pose(t)
    seen = np.stack([p + R.apply(x) for x in LAYOUT.values()], axis=1)
    at = np.arange(0.05, until, 1 / 300)
    R, omega, alpha, acc = motion(at)
    force = acc + np.cross(alpha, place) + np.cross(omega, np.cross(omega, place))
    gyro, force = turn.inv().apply(omega) + GYRO_BIAS, turn.inv().apply(force) + FORCE_BIAS
    return recording_of(
        channel_of(
            '/markers',
            'visualization_msgs/msg/MarkerArray',
            stamps_of(t, EPOCH_NS),
            {'position': seen + noise[0] * rng.standard_normal(seen.shape)},
            LAYOUT,
        ),
        channel_of(
            '/imu',
            'sensor_msgs/msg/Imu',
            stamps_of(at + DELAY, EPOCH_NS),
            {
                'angular_velocity': gyro + noise[1] * rng.standard_normal(gyro.shape),
                'linear_acceleration': force + noise[2] * rng.standard_normal(gyro.shape),
            },
        ),
    )


def _source(position=PLACE, turn=TURN):
    imu = BodySource('body', 'imu', '/imu', position=tuple(position), rotation=turn.as_matrix())
    return BodySource('body', 'markers', '/markers', layout=LAYOUT, imu=imu)


def _fuse(recording, source, limit=0.1):
    series = read_pose(recording, source, recording.origin_ns())
    t = series.t[0] + np.arange(len(series.t)) / 120
    kernel = signals.zero_phase_kernel(1 / 120, 8.0)
    clock = common_clock([series], recording.origin_ns())
    fused, note = BodyMotion(series, clock, kernel, GRAVITY).fused(
        recording, source.imu, [t], limit
    )
    alone = state_of_pose(series.values[:, :3], series.values[:, 3:], kernel, 1 / 120, GRAVITY)
    return t, fused.at(t), alone, note


def _errors(t, state):
    """Return rms errors of omega, alpha and acc away from the ends."""
    inner = slice(120, -120)
    _, omega, alpha, acc = motion(t)
    return np.array(
        [
            np.sqrt(((a - b)[inner] ** 2).mean())
            for a, b in ((state.omega, omega), (state.alpha, alpha), (state.acc, acc))
        ]
    )


def test_fused_accelerations_of_a_tumbling_body_beat_those_of_the_markers_alone():
    t, state, alone, _ = _fuse(_recording(), _source())
    fused, markers = _errors(t, state), _errors(t, alone)
    # White noise through these filters: 3 to 6 times less from the IMU.
    assert (fused < 0.5 * markers).all(), (fused, markers)


def test_clock_biases_and_a_mounting_that_is_a_little_off_are_found():
    described = _source(
        PLACE + [0.004, -0.003, 0.005], Rotation.from_rotvec([0.01, -0.02, 0.015]) * TURN
    )
    t, state, _, note = _fuse(_recording(), described)
    assert note['clock_offset'] == pytest.approx(DELAY, abs=2e-4)
    np.testing.assert_allclose(note['turned_degrees'], np.degrees([-0.01, 0.02, -0.015]), atol=0.1)
    # The markers' rates are noisy to 5e-3, of which some 200 in 12 s are independent.
    np.testing.assert_allclose(note['gyro_bias'], GYRO_BIAS, atol=1.2e-3)
    np.testing.assert_allclose(note['shifted'], [-0.004, 0.003, -0.005], atol=1.5e-3)
    exact = _errors(t, _fuse(_recording(), _source())[1])
    assert (_errors(t, state) < 1.3 * exact).all()


@pytest.mark.parametrize(
    'kind, axes', [('angular_velocity', slice(0, 3)), ('linear_acceleration', slice(3, 6))]
)
def test_scale_that_is_two_percent_too_large_is_found(kind, axes):
    recording = _recording()
    imu = recording.channels['/imu']
    scaled = replace(
        recording,
        channels={
            **recording.channels,
            '/imu': replace(imu, fields={**imu.fields, kind: 1.02 * imu.fields[kind]}),
        },
    )
    t, state, _, note = _fuse(scaled, _source())
    expected = np.zeros(6)
    expected[axes] = 0.02
    # The markers know their accelerations to about 0.1 m/s^2 of 10, at 200 independent times.
    np.testing.assert_allclose(note['scale_error'], expected, atol=2e-3)
    exact = _errors(t, _fuse(recording, _source())[1])
    assert (_errors(t, state) < 1.3 * exact).all()


def test_scales_of_single_axes_are_no_turn():
    """Along the IMU's own axes, which are none of the body's: 3 % of one, -2 % of another."""
    recording = _recording(turn=OBLIQUE)
    imu = recording.channels['/imu']
    scales = np.array([1.03, 1.0, 0.98])
    fields = {kind: scales * x for kind, x in imu.fields.items()}
    scaled = dict(recording.channels, **{'/imu': replace(imu, fields=fields)})
    *_, note = _fuse(replace(recording, channels=scaled), _source(turn=OBLIQUE))
    np.testing.assert_allclose(note['turned_degrees'], 0.0, atol=0.1)
    np.testing.assert_allclose(note['scale_error'], np.tile(scales - 1.0, 2), atol=2e-3)


def test_with_hardly_any_noise_the_motion_is_exact():
    t, state, _, _ = _fuse(_recording(noise=(1e-6, 1e-5, 1e-4)), _source())
    # What is left are the wobble's overtones beyond the 8 Hz of the filter.
    assert (_errors(t, state) < [2e-3, 2e-2, 2e-2]).all()


def test_imu_that_falls_silent_is_said_and_the_markers_carry_on():
    recording = _recording()
    imu = recording.channels['/imu']
    keep = (imu.stamp_ns < imu.stamp_ns[1500]) | (imu.stamp_ns > imu.stamp_ns[1800])
    silent = replace(recording, channels=dict(recording.channels, **{'/imu': imu.rows(keep)}))
    t, state, alone, note = _fuse(silent, _source())
    assert note['silent'] == pytest.approx(1.0, abs=0.05)
    assert (_errors(t, state) < _errors(t, alone)).all()


@pytest.mark.parametrize(
    'wrong',
    [Rotation.from_euler('x', 180, degrees=True), Rotation.from_euler('y', 30, degrees=True)],
)
def test_imu_that_is_mounted_another_way_is_refused_with_the_right_one(wrong):
    with pytest.raises(RecordingError, match='mounted another way') as caught:
        _fuse(_recording(), _source(turn=TURN * wrong))
    words = str(caught.value).split('imu_rpy: [')[1].split(']')[0]
    found = Rotation.from_euler('xyz', [float(x) for x in words.split(',')])
    assert (found.inv() * TURN).magnitude() < np.radians(3.0)


@pytest.mark.parametrize('limit', [0.0, 0.1])
def test_imu_on_another_body_is_refused(limit):
    recording = _recording()
    imu = recording.channels['/imu']
    other = replace(imu, fields={k: v[::-1].copy() for k, v in imu.fields.items()})
    mixed = replace(recording, channels=dict(recording.channels, **{'/imu': other}))
    with pytest.raises(RecordingError, match='does not turn as the body does'):
        _fuse(mixed, _source(), limit)
