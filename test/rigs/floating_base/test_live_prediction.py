"""Torques of a standing quadruped while it runs, by the true parameters of its simulation."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ros_inertial_id.demonstration.simulated_rigs.quadruped import (
    BASE_IMU,
    FEET,
    FEET_FORCES,
    Quadruped,
    STATES,
)
from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.summary import Summary
from ros_inertial_id.methods import METHODS

ROOT = Path(__file__).parents[3]
URDF = (ROOT / 'urdf' / 'quadruped.urdf').read_text()
FLOATING = METHODS['floating_base']
CHANGES = {
    'feet': [f'{foot} 0.02' for foot in FEET],
    'contact_topic': FEET_FORCES,
    'joint_states_topic': STATES,
    'coulomb_width': 0.01,  # as it is simulated
    'cutoff': 20.0,
}
SUMMARY = Summary(
    details={'base_topic': BASE_IMU, 'base_time_offset': 4e-3, 'base_time_offset_error': 1e-4}
)
SECONDS = 3.0
BATCH_NS, SETTLED = 40_000_000, 1.5  # [ns]; [s] until what is up is known
LEG = ('fl_hip', 'fl_thigh', 'fl_calf')


@pytest.fixture(scope='module')
def swayed():
    """Return ({topic: Channel}, true parameters) of SECONDS of the quadruped."""
    rig = Quadruped(URDF, seed=4)
    return rig.advance(SECONDS), rig.truth


@pytest.fixture(scope='module')
def right(swayed):
    """Return what is predicted by the true parameters."""
    return predicted(*swayed)


def options(**changes):
    return load_options('', 'floating_base', {**CHANGES, **changes})[1]


def robot():
    return FLOATING.build(URDF, options(), np.array([0.0, 0.0, -9.81]))


def predicted(channels, truth, lag=0.1, **changes):
    """Return names, measured and residual (N, 18), last state and source, by batches."""
    quadruped = robot()
    parameters = FLOATING.parameters(quadruped, options())
    values = np.array([{**truth, **changes}[p.name] for p in parameters])
    source = FLOATING.source(quadruped, options(), lag, SUMMARY)
    predict = FLOATING.predictor(quadruped, parameters, values)
    end = max(channel.stamp_ns[-1] for channel in channels.values())
    measured, residual, state = [], [], None
    for now in range(0, int(end), BATCH_NS):
        for topic, channel in channels.items():
            rows = np.flatnonzero(channel.stamp_ns // BATCH_NS == now // BATCH_NS)
            if len(rows):
                source.add(channel.rows(rows))
        taken = source.take()
        if taken is None:
            continue
        stamps, state = taken
        if stamps[0] > SETTLED:
            torques = predict(state).at(stamps, state.t)
            measured.append(torques.measured)
            residual.append(torques.residual)
    measured, residual = (np.concatenate([np.zeros((0, 18)), *x]) for x in (measured, residual))
    return torques.names, measured, residual, state, source


def rms(x):
    return np.sqrt(np.mean(np.square(x), axis=0))


def relative(names, measured, residual):
    """Return the residual of the joints relative to what was measured of them."""
    joints = [not name.startswith('trunk') for name in names]
    return np.linalg.norm(residual[:, joints]) / np.linalg.norm(measured[:, joints])


def test_true_parameters_leave_the_noise_of_the_sensors(right):
    names, measured, residual, _, source = right
    whole = 500 * (SECONDS - SETTLED)
    assert 0.8 * whole < len(residual) < whole  # every sample once
    assert relative(names, measured, residual) < 0.03
    assert source.gaps == 0
    seconds = [len(window.t) / 500 for window in (source._base.window, *source._touches)]
    assert max(seconds) < 1.5  # the others are forgotten


def test_what_nobody_declared_on_the_trunk_shows(swayed, right):
    names, measured, without, *_ = right
    mass = swayed[1]['m0']
    _, _, with_load, *_ = predicted(*swayed, m0=mass - 3.0)  # 3 kg more than the model has
    assert relative(names, measured, with_load) > 3.0 * relative(names, measured, without)


def test_foot_that_is_said_to_be_in_the_air_shows_in_its_leg(swayed, right):
    channels, truth = swayed
    names, _, rightly, *_ = right
    feet = channels[FEET_FORCES]
    forces = feet.fields['effort'].copy()
    forces[:, 0] = 0.0
    wrong = {**channels, FEET_FORCES: replace(feet, fields={'effort': forces})}
    _, _, told, *_ = predicted(wrong, truth)
    leg = [names.index(joint) for joint in LEG]
    assert rms(told)[leg].max() > 10.0 * rms(rightly)[leg].max()


def test_residual_is_that_of_the_rows_of_a_recording(swayed, right):
    quadruped = robot()
    parameters = FLOATING.parameters(quadruped, options())
    values = np.array([swayed[1][p.name] for p in parameters])
    _, _, _, state, _ = right
    (block,) = FLOATING.regress(state, quadruped, parameters)
    torques = FLOATING.predictor(quadruped, parameters, values)(state)
    for group, measured, residual in zip(block.groups, torques.measured.T, torques.residual.T):
        np.testing.assert_allclose(measured, group.y, atol=1e-9)
        np.testing.assert_allclose(residual, group.y - group.W @ values[group.columns], atol=1e-9)


def test_nothing_is_predicted_while_the_imu_is_silent(swayed):
    channels = dict(swayed[0])
    imu = channels[BASE_IMU]
    channels[BASE_IMU] = imu.rows(np.flatnonzero(imu.stamp_ns < 2_000_000_000))
    _, _, residual, state, _ = predicted(channels, swayed[1])
    assert np.isfinite(residual).all() and 1.8 < state.t[-1] < 2.0


def test_base_by_odometry_is_refused():
    with pytest.raises(ConfigError, match='an Imu on the base.*identify with the Imu'):
        FLOATING.source(robot(), options(odometry_topic='/odometry'), 0.1, SUMMARY)
