"""What an IMU on a closed mechanism measures, against pinocchio's rigid body kinematics."""

from dataclasses import replace

import clocks_slider_crank as clocks
from machines import machine
import numpy as np
import pinocchio as pin
import pytest
import seen_slider_crank as seen

from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.imu import imu_links, ImuMeasurementModel
from ros_inertial_id.rigs.closed_loop.motion import reconstruct
from ros_inertial_id.rigs.measurement.kalman import at_ticks, at_times

closed_loop = METHODS['closed_loop']

LINKS = {'slider_crank': 'rod_imu', 'parallelogram_arm': 'forearm_link'}


def readings(mechanism, link, q, v, a):
    """Return angular velocity and specific force (6,) of a link by pinocchio."""
    model = mechanism.robot.pin_model
    data = model.createData()
    qs = np.concatenate([[np.cos(x), np.sin(x)] if model.joints[j + 1].nq == 2 else [x]
                         for j, x in enumerate(q)])
    pin.forwardKinematics(model, data, qs, v, a)
    pin.updateFramePlacements(model, data)
    frame = model.getFrameId(link)
    omega = pin.getFrameVelocity(model, data, frame, pin.LOCAL).angular
    acc = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL).linear
    return np.concatenate([omega, acc - data.oMf[frame].rotation.T @ mechanism.gravity_base])


@pytest.mark.parametrize('name', LINKS)
def test_imu_measures_what_pinocchio_says_and_changes_as_its_slopes_say(name):
    mechanism, link = machine(name), LINKS[name]
    rng, count = np.random.default_rng(0), len(mechanism)
    state = closed_loop.random_state(mechanism, 20, rng)
    index = list(mechanism.independent)
    motion = np.hstack([x[:, index] for x in (state.q, state.v, state.a)])
    (_, frame), = imu_links(mechanism, [f'/imu {link}'])
    imus = ImuMeasurementModel(mechanism, [frame])
    base, slopes = imus.slopes(motion, state.q)
    expected = [readings(mechanism, link, *x) for x in zip(state.q, state.v, state.a)]
    np.testing.assert_allclose(base[:, 0], expected, atol=1e-8)
    step = 1e-4 * rng.standard_normal(motion.shape)
    there, _ = imus.slopes(motion + step, state.q)
    back, _ = imus.slopes(motion - step, state.q)
    along = np.einsum('nis,ns->ni', slopes[:, 0], step)
    # Both differences are good to second order, forward ones in the slopes to first.
    np.testing.assert_allclose(0.5 * (there - back)[:, 0], along,
                               atol=1e-3 * np.abs(along).max())
    assert slopes.shape == (20, 1, 6, 3 * count)


def test_every_reading_counts_once_at_the_tick_next_to_it():
    t = np.arange(5) * 0.1
    predicted = np.column_stack([t, np.ones(5), np.zeros(5)])  # z = t: one coordinate
    stamps = np.array([0.0, 0.06, 0.12, 0.31])
    readings = stamps[:, None] + np.array([1.0, 2.0, 4.0, 8.0])[:, None]
    H, residual, variance = at_ticks(t, stamps, readings, np.array([2.0]), predicted)
    np.testing.assert_allclose(residual[:, 0], [1.0, 3.0, np.nan, 8.0, np.nan])
    np.testing.assert_allclose(variance[:, 0], [2.0, 1.0, np.nan, 2.0, np.nan])
    np.testing.assert_array_equal(H[0], [[1.0, 0.0, 0.0]])


def test_between_slow_ticks_a_fast_motion_is_not_flattened():
    """10 Hz on a clock of 60 Hz: straight lines flatten it by 9 %, and inertias by a quarter."""
    t, times = np.arange(0.0, 2.0, 1.0 / 60.0), np.arange(0.5, 1.5, 1e-3)
    w = 20.0 * np.pi
    found = at_times(times, t, np.stack([np.sin(w * t), np.cos(w * t)], axis=1))
    exact = np.stack([np.sin(w * times), np.cos(w * times)], axis=1)
    # A cubic spline errs by (w h)^4 / 384 at most, 0.3 %.
    np.testing.assert_allclose(found, exact, atol=0.006)


def test_offset_and_biases_of_an_imu_are_found_against_slow_markers():
    """Markers at 60 Hz, the IMU at 100 Hz, 2 ms late, its biases of 0.01 on every axis."""
    made = clocks.recording(3, 6.0, clocks.Clock(60.0), clocks.Clock(100.0, 2e-3),
                            clocks.Clock(100.0))
    options = replace(seen.OPTIONS, markers=seen.LINES, imus=(f'{clocks.IMU} rod_imu',))
    robot = closed_loop.build(seen.URDF, options, (0, 0, -9.81))
    note = reconstruct(made, robot, options)[1]['imus'][clocks.IMU]
    # The rod turns at some 3 rad/s: 600 readings of 5e-3 tell 0.1 ms and 2e-4 rad/s.
    assert note['clock_offset'] == pytest.approx(2e-3, abs=2e-4)
    np.testing.assert_allclose(note['gyro_bias'], clocks.BIAS, atol=1e-3)
