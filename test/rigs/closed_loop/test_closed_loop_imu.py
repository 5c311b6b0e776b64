"""What an IMU on a closed mechanism measures, against pinocchio's rigid body kinematics."""

from dataclasses import replace

import clocks_slider_crank as clocks
from machines import machine
import moving_parallelogram as arm
import numpy as np
import pinocchio as pin
import pytest
import seen_slider_crank as seen
import slider_crank_lagrangian as oracle
from tolerances import scores, scores_of

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.imu import imu_links, imu_readings
from ros_inertial_id.rigs.closed_loop.motion import reconstruct

closed_loop = METHODS['closed_loop']

LINKS = {'slider_crank': 'rod_imu', 'parallelogram_arm': 'forearm_link'}


def readings(mechanism, link, q, v, a):
    """Return angular velocity and specific force (6,) of a link by pinocchio."""
    model = mechanism.robot.pin_model
    data = model.createData()
    qs = np.concatenate(
        [[np.cos(x), np.sin(x)] if model.joints[j + 1].nq == 2 else [x] for j, x in enumerate(q)]
    )
    pin.forwardKinematics(model, data, qs, v, a)
    pin.updateFramePlacements(model, data)
    frame = model.getFrameId(link)
    omega = pin.getFrameVelocity(model, data, frame, pin.LOCAL).angular
    acc = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL).linear
    return np.concatenate([omega, acc - data.oMf[frame].rotation.T @ mechanism.gravity_base])


@pytest.mark.parametrize('name', LINKS)
def test_imu_measures_what_pinocchio_says(name):
    mechanism, link = machine(name), LINKS[name]
    state = closed_loop.random_state(mechanism, 20, np.random.default_rng(0))
    index = list(mechanism.independent)
    motion = np.hstack([x[:, index] for x in (state.q, state.v, state.a)])
    ((_, frame),) = imu_links(mechanism, [f'/imu {link}'])
    found = imu_readings(mechanism, [frame], state.q, motion + 0.1, np.full(motion.shape, -0.1))
    expected = [readings(mechanism, link, *x) for x in zip(state.q, state.v, state.a)]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-8)


def test_offset_and_biases_of_an_imu_are_found_against_slow_markers():
    """Markers at 60 Hz, the IMU at 100 Hz, 2 ms late, its biases of 0.01 on every axis."""
    made = clocks.recording(
        3, 6.0, clocks.Clock(60.0), clocks.Clock(100.0, 2e-3), clocks.Clock(100.0)
    )
    options = replace(seen.OPTIONS, markers=seen.LINES, imus=(f'{clocks.IMU} rod_imu',))
    robot = closed_loop.build(seen.URDF, options, (0, 0, -9.81))
    note = reconstruct(made, robot, options)[1]['imus'][clocks.IMU]
    # The rod turns at some 3 rad/s: 600 readings of 5e-3 tell 0.1 ms and 2e-4 rad/s.
    assert note['clock_offset'] == pytest.approx(2e-3, abs=2e-4)
    np.testing.assert_allclose(note['gyro_bias'], clocks.BIAS, atol=1e-3)


def test_errors_with_an_imu_hold_noise_of_the_motion_and_how_the_imu_sits():
    """Within a factor of two of those against the exact motion, which six seconds tell."""
    made = clocks.recording(4, 6.0, clocks.Clock(60.0), clocks.Clock(200.0), clocks.Clock(1000.0))
    options = replace(seen.OPTIONS, markers=seen.LINES, imus=(f'{clocks.IMU} rod_imu',))
    robot = closed_loop.build(seen.URDF, options, (0, 0, -9.81))
    observation = closed_loop.observe(made, robot, options)
    parameters = closed_loop.parameters(robot, options)
    truth = seen.truth(observation.fused.t)
    errors = observation.fused.drawn(24, np.random.default_rng(0))
    inside = slice(60, -60)
    for k, found in enumerate((observation.fused.z, observation.fused.rate)):
        off = found[inside, 0] - truth[k][inside]
        stated = errors[:, inside, k]
        assert 0.5 < np.sqrt((off**2).mean() / (stated**2).mean()) < 2.0
    rows = closed_loop.noisy_rows(observation, robot, parameters, np.random.default_rng(0))
    assert max(pair.draw for pair in rows) == 23
    assert closed_loop.erring_rows(observation, robot, parameters).own == 19


def test_imu_that_sits_beside_its_description_is_found_there():
    """5 mm and 3 degrees: taken as described it biases inertias by many standard errors."""
    urdf = seen.URDF.replace(
        '<origin xyz="0.18 0 0.01" rpy="0 0 0"/>',
        '<origin xyz="0.184 -0.003 0.01" rpy="0.03 0.02 0.0436"/>',
    )
    made = clocks.recording(4, 6.0, clocks.Clock(60.0), clocks.Clock(200.0), clocks.Clock(1000.0))
    options = replace(seen.OPTIONS, markers=seen.LINES, imus=(f'{clocks.IMU} rod_imu',))
    model = identify([made], options, method='closed_loop', urdf=urdf).model
    note = model.preprocessing[0]['imus'][clocks.IMU]
    np.testing.assert_allclose(
        note['turned_degrees'], np.degrees([-0.03, -0.02, -0.0436]), atol=0.1
    )
    # Across the plane no motion shows it; along the turned axes -4.0 and +3.2 mm.
    np.testing.assert_allclose(note['shifted'][:2], [-0.00387, 0.00317], atol=3e-4)
    assert np.abs(scores_of(model.base, oracle.BASE)).max() < 3.5


def test_errors_of_three_coordinates_with_an_imu_are_true():
    """Of sixteen seeds .85 and at most 2.7; 72 of them, half correlated, say it to a fifth."""
    z = []
    for seed in range(4):
        made, start = arm.recording(seed)
        options = options_class('closed_loop')(
            closures=arm.CLOSURES,
            independent=arm.INDEPENDENT,
            start=start,
            estimator='weighted',
            marker_noise=arm.MARKER,
            markers=tuple(f'/{link} {link}' for link in arm.MARKED),
            imus=(f'/imu {arm.CARRIER}',),
            effort_topic='/torque',
        )
        model = identify([made], options, method='closed_loop', urdf=arm.URDF).model
        z += scores(model.base, arm.truth()).values()
    assert len(z) == 72
    assert 0.65 < np.sqrt(np.mean(np.square(z))) < 1.1 and np.abs(z).max() < 3.5
