"""The model is chosen by what predicts: laws, gravity's direction, consistency; and is told."""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.identification.identify import identify, validation
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.report.words import verdict

OPTIONS = options_class('serial_arm')()


def recording(urdf, truth, tilt, seed=0, spring=0.0, load=0.0):
    """
    Return the Recording of 30 s whose base is rolled by ``tilt`` [rad] and called upright.

    spring : [N m/rad] between the first two links; load : friction per torque of the link
    """
    names, rng = mujoco_arm.joints_of(urdf), np.random.default_rng(seed)
    t, q, v, a = mujoco_arm.motion(len(names), 30.0, 200.0, seed=seed, speed=1.5)
    gravity = (0.0, 9.81 * np.sin(tilt), -9.81 * np.cos(tilt))
    tau = mujoco_arm.torque(truth, q, v, a, gravity)
    tau += load * np.abs(tau) * np.sign(v) + 0.8 * v + 0.5 * np.sign(v)
    tau[:, 1] += spring * q[:, 1]
    return mujoco_arm.recording(
        names, t, q, v + 1e-3 * rng.normal(size=q.shape), tau + 0.05 * rng.normal(size=q.shape)
    )


def candidates(model):
    """Return the entries of the gravity direction: as given, as found."""
    return [c for c in model.statistics['choices'] if c['what'] == 'gravity direction']


@pytest.fixture(scope='module')
def tilted(arm3):
    """Return the IdentifiedModel of an arm whose base is tilted by two degrees."""
    return identify([recording(*arm3, np.radians(2.0))], OPTIONS, urdf=arm3[0]).model


def test_a_tilted_base_is_found_and_predicts(arm3, tilted):
    given, found = candidates(tilted)
    assert found['chosen'] and not given['chosen'] and found['evidence'] > 5.0
    direction = np.array(tilted.mounting['gravity_base'][0]) / 9.81
    true = [0.0, np.sin(np.radians(2.0)), -np.cos(np.radians(2.0))]
    stated = float(re.search(r'[+]- ([0-9.]+) deg', found['candidate']).group(1))
    assert np.degrees(np.arccos(np.clip(direction @ true, -1, 1))) < 3.0 * stated < 1.0
    other = [recording(*arm3, np.radians(2.0), seed=1)]
    upright = identify(
        [recording(*arm3, np.radians(2.0))], replace(OPTIONS, mounting='upright'), urdf=arm3[0]
    ).model
    errors = [validation(m, other)[0]['filtered']['relative_percent'] for m in (tilted, upright)]
    assert errors[0] < 0.8 * errors[1]
    # What the user says stands, but the evidence against it is there to be shown.
    assert candidates(upright)[0]['chosen'] and candidates(upright)[0]['evidence'] < -5.0
    assert any(x.startswith('Alarm: the torques contradict') for x in verdict(upright))
    assert not any(x.startswith('Alarm') for x in verdict(tilted))


def test_every_candidate_has_its_numbers_and_the_simplest_that_predicts_is_chosen(tilted):
    rows = [c for c in tilted.statistics['choices'] if c['what'] == 'model']
    (chosen,) = [c for c in rows if c['chosen']]
    assert len(rows) <= 3 and chosen['tried'] > 20 and chosen['worse_percent'] == 0.0
    assert 'gravity as the torques show it' in chosen['candidate']
    assert 'no further friction law' in chosen['candidate']  # neither springs nor powers
    assert all(c['left_out_error'] > 0.0 and np.isfinite(c['worse_percent']) for c in rows)
    given = [c for c in rows if c['candidate'].endswith('gravity as given')]
    assert given and all(c['worse_percent'] > c['worse_error_percent'] for c in given)


def test_a_real_spring_is_no_tilt(arm3):
    model = identify([recording(*arm3, 0.0, spring=20.0)], OPTIONS, urdf=arm3[0]).model
    np.testing.assert_array_equal(model.mounting['gravity_base'], [[0.0, 0.0, -9.81]])
    (spring,) = [b for b in model.base if b['name'] == 'ks2']
    assert spring['value'] == pytest.approx(20.0, abs=3.0 * spring['standard_error'])


def test_friction_that_grows_with_the_load_is_chosen_and_predicts(arm3):
    model, plain = (
        identify([recording(*arm3, 0.0, load=0.08)], replace(OPTIONS, **laws), urdf=arm3[0]).model
        for laws in ({}, {'friction': ('viscous', 'coulomb', 'offset', 'armature')})
    )
    (chosen,) = [c for c in model.statistics['choices'] if c['what'] == 'model' and c['chosen']]
    assert 'coulomb_load' in chosen['candidate']
    # The load is the description's, whose masses are up to a fifth wrong.
    found = {p.name: x for p, x in zip(model.parameters, model.values)}
    assert found['fl2'] == pytest.approx(0.08, rel=0.3)
    other = [recording(*arm3, 0.0, seed=1, load=0.08)]
    errors = [validation(m, other)[0]['filtered']['relative_percent'] for m in (model, plain)]
    assert errors[0] < 0.6 * errors[1]


@pytest.mark.parametrize(
    'speed, width, viscous, power', [(0.3, 0.05, 0.8, 0.0), (1.5, 1e-6, 0.0, 1.5)]
)
def test_a_width_between_those_that_are_tried_is_no_power_law(arm3, speed, width, viscous, power):
    """With a power law that takes the difference of two widths fv was .05 for .8."""
    urdf, truth = arm3
    rng = np.random.default_rng(2)
    t, q, v, a = mujoco_arm.motion(3, 30.0, 200.0, seed=2, speed=speed)
    tau = mujoco_arm.torque(truth, q, v, a) + viscous * v + 0.5 * np.tanh(v / width)
    tau += power * np.sign(v) * np.abs(v) ** (2.0 / 3.0) + 0.05 * rng.normal(size=q.shape)
    made = mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, tau)
    model = identify([made], replace(OPTIONS, mounting='upright'), urdf=urdf).model
    found = {entry['name']: entry['value'] for entry in model.base}
    assert ('fp1' in found) == bool(power)
    for joint in (1, 2, 3):
        assert found[f'fv{joint}'] == pytest.approx(viscous, abs=0.15)
        assert found.get(f'fp{joint}', 0.0) == pytest.approx(power, abs=0.2)


def one_sinusoid(urdf, truth, more=0.0, spring=0.0, seed=0):
    """
    Return the Recording of 30 s in which each joint moves as one sinusoid.

    more : amplitude of another frequency [rad]; spring : of every joint [N m/rad]
    """
    names, rng = mujoco_arm.joints_of(urdf), np.random.default_rng(seed)
    t = np.arange(0.0, 30.0, 0.005)[:, None]
    rate = 2.0 * np.pi * np.array([0.3, 0.35, 0.4])
    other = 2.7 * rate
    q = 0.8 * np.sin(rate * t) + more * np.sin(other * t)
    v = 0.8 * rate * np.cos(rate * t) + more * other * np.cos(other * t)
    a = -0.8 * rate**2 * np.sin(rate * t) - more * other**2 * np.sin(other * t)
    tau = mujoco_arm.torque(truth, q, v, a) + 0.8 * v + 0.5 * np.sign(v) + spring * q
    return mujoco_arm.recording(
        names, t[:, 0], q, v, tau + 0.02 * rng.normal(size=q.shape), urdf=urdf
    )


def test_a_spring_that_the_motion_does_not_tell_from_inertia_is_no_candidate(arm3):
    model = identify([one_sinusoid(*arm3)], OPTIONS).model
    assert not [p for p in model.parameters if p.law == 'spring']
    (left_out,) = [c for c in model.statistics['choices'] if c.get('law') == 'spring']
    assert left_out['joints'] == list(mujoco_arm.joints_of(arm3[0]))
    assert left_out['own_percent'] < 15.0
    assert any('Record a motion with several frequencies' in text for text in verdict(model))


def test_a_spring_is_found_where_the_motion_tells_it_from_inertia(arm3):
    model = identify([one_sinusoid(*arm3, more=0.1, spring=3.0)], OPTIONS).model
    assert not [c for c in model.statistics['choices'] if c.get('law') == 'spring']
    springs = [b for b in model.base if b['name'].startswith('ks')]
    assert len(springs) == 3
    for spring in springs:
        assert spring['value'] == pytest.approx(3.0, abs=3.0 * spring['standard_error'])
