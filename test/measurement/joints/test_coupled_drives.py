"""Motor-side signals of an arm whose last motor several joints turn: as good as joint-side."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.prepare.mounting import robot_of
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.summary import Summary
from ros_inertial_id.methods import METHODS

GEAR = np.array([100.0, 120.0, 50.0])
COUPLING = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.4, 1.0]])
TURNS = COUPLING @ np.diag(GEAR)
ALONG = TURNS[2] / GEAR[2]  # speed of the third motor, on the side of its joint, per joint speed
ZERO = np.array([0.0, -np.pi / 2, 0.3])
VISCOUS, COULOMB, ROTOR = 0.9, 0.6, 0.04  # of the third motor, on the side of its joint
OPTIONS = replace(
    options_class('serial_arm')(),
    cutoff=10.0,
    effort_kind='motor',
    position_kind='motor',
    gear_ratio=tuple(GEAR),
    coupling=tuple(COUPLING.ravel()),
    position_offset=tuple(ZERO),
)


@pytest.fixture(scope='module')
def recording(arm3):
    """Return the Recording of motor angles and torques, in the joints' names."""
    urdf, truth = arm3
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(3, 20.0, 250.0, seed=2)
    speed = v @ ALONG
    brake = VISCOUS * speed + COULOMB * np.tanh(speed / 0.02) + ROTOR * (a @ ALONG)
    tau = mujoco_arm.torque(truth, q, v, a) + 0.5 * v + brake[:, None] * ALONG
    tau += 0.05 * np.random.default_rng(2).normal(size=tau.shape)
    motor = tau @ np.linalg.inv(TURNS)  # by virtual work
    return mujoco_arm.recording(names, t, (q - ZERO) @ TURNS.T, v @ TURNS.T, motor, urdf=urdf)


def test_friction_of_the_coupled_motor_is_found(recording):
    model = identify([recording], OPTIONS).model
    found = {b['name']: b for b in model.base}
    for name, true in (('fvm3', VISCOUS), ('fcm3', COULOMB)):
        assert abs(found[name]['value'] - true) < 4.0 * found[name]['standard_error'], name
    # Its rotor is one with other inertias: it stands in their expressions.
    assert any('Iam3' in b['expression'] for b in model.base)
    assert found['fcm3']['standard_error'] < 0.05 * COULOMB
    assert abs(found['fv1']['value'] - 0.5) < 4.0 * found['fv1']['standard_error']


def test_live_torques_are_those_of_the_joints(recording):
    options = replace(OPTIONS, joint_states_topic='/joint_states')
    live = METHODS['serial_arm'].source(robot_of(recording, options), options, 0.2, Summary())
    channel = recording.channels['/joint_states']
    live.add(channel)
    stamps, state = live.take()
    inner = (state.t > 1.0) & (state.t < stamps[-1] - 1.0)
    power = (channel.fields['velocity'] * channel.fields['effort']).sum(1)  # of the motors
    power = np.interp(state.t[inner], live.seconds(channel.stamp_ns), power)
    left = (state.v * state.tau)[inner].sum(1) - power
    # A step of friction is none behind 10 Hz.  Of the coupling turned round a third would be left.
    assert left.std() < 0.05 * power.std()
