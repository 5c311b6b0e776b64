"""Causes injected into recordings of real arms: the true one is named, and no other beside it."""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pytest
from recording_faults import columns, late, load_torque, rebuilt

from ros_inertial_id.checks.check import check
from ros_inertial_id.checks.finding import DOUBTFUL, NOTE, WRONG
from ros_inertial_id.identification.settings import load_options

OPTIONS = load_options('', 'serial_arm')[1]


@pytest.fixture(scope='module')
def arms(shared_data):
    """Return {name: clean Recording with its description}."""
    out = {}
    for name, log, urdf, joints in (
        ('kuka', 'kuka_lwr4/measurement_1.npz', 'kuka_lwr4/kuka_lwr4.urdf', 'lwr_{}_joint'),
        ('panda', 'panda/excitation.npz', 'panda/panda.urdf', 'panda_joint{}'),
    ):
        first = int(name == 'panda')
        out[name] = replace(
            mujoco_arm.real(log, tuple(joints.format(k) for k in range(first, first + 7))),
            robot_description=(shared_data / urdf).read_text(),
        )
    return out


def _said(recording, change):
    """Return [(name, severity, joints)] of a recording with other efforts, but for notes."""
    _, _, t, _, _, tau = columns(recording)
    found = check([rebuilt(recording, effort=change(t, tau))], OPTIONS).checks
    return [(f.name, f.severity, f.joints) for f in found if f.severity != NOTE]


def _times(j, factor):
    return lambda t, tau: tau * np.where(np.arange(tau.shape[1]) == j, factor, 1.0)


def _late(t, tau):
    out = tau.copy()
    out[:, 1] = late(t, tau[:, [1]], 0.04)[:, 0]
    return out


def test_one_factor_that_makes_the_description_right_is_a_unit(arms):
    (name, severity, joints), *others = _said(arms['panda'], lambda t, tau: 1.82 * tau)
    assert (name, severity, others) == ('effort in another unit', WRONG, [])


def test_a_load_is_no_unit_and_does_not_make_the_recording_doubtful(arms):
    for arm in (arms['panda'], arms['kuka'].window(0.0, 12.5)):
        names, torque = load_torque(arm, 10.0)
        _, _, _, _, _, tau = columns(arm)
        tau[:, names] += torque
        found = check([rebuilt(arm, effort=tau)], OPTIONS).checks
        assert [f.name for f in found if f.severity != NOTE] == []
        load = next(f for f in found if f.name == 'payload not declared')
        mass = float(load.says.split('about ')[1].split()[0])
        assert mass == pytest.approx(10.0, rel=0.1)  # a tenth, as the description is right


@pytest.mark.parametrize(
    'change, name, joint, severity',
    [
        (_times(6, -1.0), 'effort of a joint negated', 'panda_joint7', WRONG),  # by friction alone
        (_times(1, 1.15), 'gain of a joint', 'panda_joint2', DOUBTFUL),
        (_times(2, 1.3), 'gain of a joint', 'panda_joint3', WRONG),
        (_late, 'effort of a joint delayed', 'panda_joint2', WRONG),
    ],
)
def test_a_cause_of_one_joint_is_named_with_its_joint(arms, change, name, joint, severity):
    assert _said(arms['panda'], change) == [(name, severity, (joint,))]


def _negated(joints):
    return lambda t, tau: tau * np.where(np.isin(np.arange(tau.shape[1]), joints), -1.0, 1.0)


@pytest.mark.parametrize('joints', [(1,), (0, 1), (1, 3), (1, 2, 3)])
def test_no_joint_is_negated_beside_those_that_are(arms, joints):
    # Its last joint's efforts, which no body explains, have a tenth less residual negated.
    said = _said(arms['kuka'], _negated(joints))
    names = tuple(f'lwr_{j}_joint' for j in joints)
    assert said == [('effort of a joint negated', WRONG, names)]


def test_a_load_is_said_beyond_what_descriptions_are_off_by(arms):
    kuka = arms['kuka']
    assert _loads(kuka) == []
    (load,) = _loads(_loaded(kuka, 2.0))
    mass, error = re.search(r'about \+(.*?) \+- (.*?) kg', load.says).groups()
    assert abs(float(mass) - 2.0) < 2.5 * float(error) < 2.0


def _loaded(arm, mass):
    """Return the recording of an ``arm`` with a load of ``mass`` [kg]."""
    names, torque = load_torque(arm, mass)
    tau = columns(arm)[-1]
    tau[:, names] += torque
    return rebuilt(arm, effort=tau)


def _loads(arm):
    """Return the Findings of loads and other links of a recording."""
    of_bodies = 'payload not declared', 'link described otherwise'
    return [f for f in check([arm], OPTIONS).checks if f.name in of_bodies]


def test_a_small_gain_is_not_blamed_on_another_joint(arms):
    # The model of this arm lacks as much as 15 % of one joint: it is not seen, and no other is.
    assert _said(arms['kuka'], _times(3, 1.15)) == []


def test_friction_of_a_slow_arm_is_no_contact(arms):
    found = check([arms['kuka'].window(0.0, 8.4)], OPTIONS).checks
    assert 'contact' not in {f.name for f in found}
