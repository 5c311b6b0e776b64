"""Bodies in quaternions: rates without singularities, clusters of markers, cutoffs."""

import numpy as np
import pytest
from recordings import channel_of, EPOCH_NS, recording_of, stamps_of
from scipy.spatial.transform import Rotation

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement import signals
from ros_inertial_id.rigs.measurement.body_state import (
    choose_pose_cutoff,
    continuous,
    state_of_imu,
    state_of_pose,
)
from ros_inertial_id.rigs.measurement.marker_cluster import register_cluster
from ros_inertial_id.rigs.measurement.sources import (
    BodySource,
    common_clock,
    gaps_between,
    one_of,
    read_pose,
)

PERIOD = 1.0 / 200.0
T = np.arange(0.0, 6.0, PERIOD)
GRAVITY = np.array([0.0, 0.0, -9.81])
KERNEL = signals.zero_phase_kernel(PERIOD, 40.0)
INSIDE = slice(200, -200)


def _tumbling():
    """Return rotations, omega, alpha in the body of R = Rz(a) Ry(b) Rx(c), by hand."""
    a, da, dda = 3.0 * T, np.full_like(T, 3.0), np.zeros_like(T)
    b, db, ddb = 2.0 * np.sin(T), 2.0 * np.cos(T), -2.0 * np.sin(T)  # through +-pi/2
    c, dc, ddc = np.sin(2 * T), 2 * np.cos(2 * T), -4 * np.sin(2 * T)
    R = Rotation.from_euler('ZYX', np.column_stack([a, b, c]))
    sb, cb, sc, cc = np.sin(b), np.cos(b), np.sin(c), np.cos(c)
    omega = np.column_stack([dc - da * sb, da * cb * sc + db * cc, da * cb * cc - db * sc])
    alpha = np.column_stack(
        [
            ddc - dda * sb - da * db * cb,
            dda * cb * sc - da * db * sb * sc + da * dc * cb * cc + ddb * cc - db * dc * sc,
            dda * cb * cc - da * db * sb * cc - da * dc * cb * sc - ddb * sc - db * dc * cc,
        ]
    )
    return R, omega, alpha


def test_rates_are_right_through_the_singularity_of_euler_angles():
    R, omega, alpha = _tumbling()
    state = state_of_pose(np.zeros((len(T), 3)), R.as_quat(), KERNEL, PERIOD, GRAVITY)
    # The kernel ends where a millionth of it is left (signals.FORGOTTEN).
    np.testing.assert_allclose(state.omega[INSIDE], omega[INSIDE], atol=2e-6)
    np.testing.assert_allclose(state.alpha[INSIDE], alpha[INSIDE], atol=2e-5)
    np.testing.assert_allclose(state.acc[INSIDE], R.inv().apply(-GRAVITY)[INSIDE], atol=1e-5)


def test_sign_and_length_of_quaternions_do_not_matter():
    R, *_ = _tumbling()
    position = np.column_stack([np.sin(T), np.cos(2 * T), T])
    plain = state_of_pose(position, R.as_quat(), KERNEL, PERIOD, GRAVITY)
    rng = np.random.default_rng(0)
    odd = R.as_quat() * (rng.choice([-1.0, 1.0], len(T)) * rng.uniform(0.8, 1.3, len(T)))[:, None]
    other = state_of_pose(position, odd, KERNEL, PERIOD, GRAVITY)
    for name in ('omega', 'alpha', 'acc'):
        np.testing.assert_allclose(getattr(other, name), getattr(plain, name), atol=1e-9)


def test_constant_rotation_passes_a_low_filter_unchanged():
    """Three turns a second, filtered at 2 Hz: on the group there is nothing to smooth."""
    t = np.arange(0.0, 8.0, PERIOD)
    R = Rotation.from_rotvec(np.outer(3 * 2 * np.pi * t, [0.0, 0.6, 0.8]))
    state = state_of_pose(
        np.zeros((len(t), 3)), R.as_quat(), signals.zero_phase_kernel(PERIOD, 2.0), PERIOD, GRAVITY
    )
    np.testing.assert_allclose(
        state.omega[600:-600],
        np.tile([0, 0.6 * 6 * np.pi, 0.8 * 6 * np.pi], (400, 1)),
        rtol=1e-6,
        atol=1e-6,
    )


def test_imu_beside_the_frame_gives_the_frames_motion():
    R, omega, alpha = _tumbling()
    arm, turn = np.array([0.1, -0.2, 0.05]), Rotation.from_euler('xyz', [0.3, -0.5, 1.0])
    at_frame = R.inv().apply(-GRAVITY)
    there = at_frame + np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))
    state = state_of_imu(
        turn.inv().apply(omega), turn.inv().apply(there), KERNEL, PERIOD, arm, turn.as_matrix()
    )
    np.testing.assert_allclose(state.acc[INSIDE], at_frame[INSIDE], atol=5e-4)
    np.testing.assert_allclose(state.alpha[INSIDE], alpha[INSIDE], atol=1e-3)


def test_quaternions_of_nothing_seen_are_missing():
    q = np.array([[0, 0, 0, 1.0], [0, 0, 0, 0], [0, 0, 0, -1.0]])
    out = continuous(q)
    assert np.isnan(out[1]).all() and np.array_equal(out[0], out[2])
    with pytest.raises(RecordingError, match='no orientation'):
        continuous(np.zeros((3, 4)))


LAYOUT = np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0.1, 0.1, 0.25], [-0.2, 0.15, 0.1]])
LABELS = tuple('abcde')


def _markers(rng, noise=0.0):
    R, *_ = _tumbling()
    place = np.column_stack([np.sin(T), np.cos(T), 0.1 * T])
    x = np.einsum('nij,kj->nki', R.as_matrix(), LAYOUT) + place[:, None]
    return R, place, x + noise * rng.standard_normal(x.shape)


def test_registration_recovers_the_pose_with_markers_missing():
    rng = np.random.default_rng(0)
    R, place, x = _markers(rng)
    x[rng.random(x.shape[:2]) < 0.2] = np.nan
    found = register_cluster(x, LAYOUT, LABELS)
    good = np.isfinite(found.position).all(1)
    assert np.array_equal(good, np.isfinite(x).all(-1).sum(1) >= 3)
    np.testing.assert_allclose(found.position[good], place[good], atol=1e-12)
    angle = (R[good].inv() * Rotation.from_quat(found.quaternion_xyzw[good])).magnitude()
    assert angle.max() < 1e-7


def test_markers_on_a_line_fix_no_pose():
    line = np.outer([0.0, 0.1, 0.2], [1.0, 0.0, 0.0])
    with pytest.raises(RecordingError, match='do not fix a pose'):
        register_cluster(np.zeros((5, 3, 3)), line, LABELS[:3])


def test_residual_of_every_marker_is_reported():
    rng = np.random.default_rng(1)
    _, _, x = _markers(rng, 3e-4)
    x[:, 2] += 2e-3 * rng.standard_normal((len(T), 3))  # one marker hangs loose
    rms = register_cluster(x, LAYOUT, LABELS).rms()
    assert rms.argmax() == 2 and rms[2] > 2 * np.sort(rms)[-2]


def test_exchanged_markers_are_refused_and_named():
    _, _, x = _markers(np.random.default_rng(2), 3e-4)
    x[:, [1, 3]] = x[:, [3, 1]]
    with pytest.raises(RecordingError, match='b and d .*exchanged'):
        register_cluster(x, LAYOUT, LABELS)


def test_markers_exchanged_for_a_while_are_left_out():
    _, _, x = _markers(np.random.default_rng(3), 3e-4)
    x[300:340, [0, 4]] = x[300:340, [4, 0]]
    found = register_cluster(x, LAYOUT, LABELS)
    assert np.isnan(found.position[300:340]).all()
    assert np.isfinite(found.position).all(1).sum() == len(T) - 40


def test_cutoff_lies_between_motion_and_noise():
    rng = np.random.default_rng(4)
    motion = 0.01 * np.sin(2 * np.pi * 1.3 * T) + 0.002 * np.sin(2 * np.pi * 4.0 * T)
    cutoff, _ = choose_pose_cutoff(
        [(motion + 1e-4 * rng.standard_normal(len(T)))[:, None]], PERIOD
    )
    assert 4.0 < cutoff < 10.0


def test_cluster_that_is_lost_cuts_the_clock():
    _, _, x = _markers(np.random.default_rng(5))
    x[500:700] = np.nan
    markers = channel_of(
        '/markers',
        'visualization_msgs/msg/MarkerArray',
        stamps_of(T, EPOCH_NS),
        {'position': x},
        LABELS,
    )
    source = BodySource('body', 'markers', 'markers', layout=dict(zip(LABELS, LAYOUT)))
    recording = recording_of(markers)
    series = read_pose(recording, source, recording.origin_ns())
    clock = common_clock([series], recording.origin_ns())
    ((start, end),) = gaps_between(clock)
    assert start == pytest.approx(499 * PERIOD, abs=1e-3)
    assert end == pytest.approx(700 * PERIOD, abs=1e-3)
    assert series.note['markers_missing']['a']['longest'] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    'names, label, column',
    [
        ((), '2', 2),
        (('b', '0', 'a'), 'a', 2),
        (('b', '0', 'a'), '0', 1),
        (('a', 'b', 'a'), 'a', 0),
    ],
    ids=['by number', 'by name', 'a name before a number', 'of two alike the first'],
)
def test_one_of_many_markers_is_named(names, label, column):
    values = np.random.default_rng(1).normal(size=(4, 3, 3))
    many = channel_of('/m', 'geometry_msgs/msg/PoseArray', stamps_of(T[:4]), {}, names)
    np.testing.assert_array_equal(one_of(many, label, values), values[:, column])
    for unknown in ('', '3'):
        with pytest.raises(RecordingError, match='many markers.*name one'):
            one_of(many, unknown, values)
    np.testing.assert_array_equal(one_of(many, '', values[:, :1]), values[:, 0])
