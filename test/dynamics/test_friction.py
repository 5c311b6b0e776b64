"""Friction laws, their constants, and what of them a passive joint can have."""

import ast
from dataclasses import replace
from pathlib import Path
import re

import mujoco_arm
import numpy as np
import pytest
from scipy.integrate import solve_ivp
import static_friction_arm as arm
from tolerances import scores
import yaml

from ros_inertial_id.dynamics import friction
from ros_inertial_id.dynamics.friction import (
    friction_column,
    friction_parameters,
    LARGEST_LOSS,
    LAWS,
    nonlinear_unit,
    passive_rows,
    presliding_step,
)
from ros_inertial_id.identification.identified_model import IdentifiedModel
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.report.parameter_tables import friction_table

OPTIONS = options_class('serial_arm')(friction=arm.LAWS, find_time_offset=False)


def dahl(q, v, distance):
    """Return Dahl's state sample by sample: d z / d s = (+-1 - z) / distance, exactly."""
    z = [0.0]
    for step, rate in zip(np.diff(q), v[1:]):
        towards = np.sign(rate if rate else step)
        z.append(towards + (z[-1] - towards) * np.exp(-abs(step) / distance))
    return np.array(z)


@pytest.mark.parametrize(
    'law, shape, formula',
    [
        ('viscous', None, lambda q, v, a: v),
        ('presliding', 0.4, lambda q, v, a: dahl(q, v, 0.4)),
        ('coulomb', 0.0, lambda q, v, a: np.sign(v)),
        ('coulomb', 0.02, lambda q, v, a: (np.exp(100 * v) - 1) / (np.exp(100 * v) + 1)),
        ('coulomb_atan', 0.02, lambda q, v, a: np.angle(1 + 50j * v) / (np.pi / 2)),
        ('asymmetric', 0.0, lambda q, v, a: np.where(v == 0, 0, 1)),
        ('stiction', 0.01, lambda q, v, a: arm.sign(v)),
        (
            'stribeck_atan',
            4.0,
            lambda q, v, a: np.angle(1 + 4j * abs(v)) / (np.pi / 2) * arm.sign(v),
        ),
        ('stribeck', 0.1, lambda q, v, a: np.exp(-100 * v * v) * np.tanh(100 * v)),
        ('power', 0.5, lambda q, v, a: np.where(v < 0, -1, 1) * np.sqrt(abs(v))),
        ('offset', None, lambda q, v, a: np.ones(7)),
        ('armature', None, lambda q, v, a: a),
        ('spring', None, lambda q, v, a: q),
        ('spring2', None, lambda q, v, a: q * q),
        ('spring3', None, lambda q, v, a: q * q * q),
        *(
            (f'{name}{n}', None, lambda q, v, a, n=n, part=part: part(np.exp(1j * n * q)))
            for n in (1, 2, 3, 4)
            for name, part in (('sine', np.imag), ('cosine', np.real))
        ),
        (
            'coulomb_load',
            0.02,
            lambda q, v, a: 3.0 * (np.exp(100 * v) - 1) / (np.exp(100 * v) + 1),
        ),
    ],
)
def test_columns_are_their_formulas(law, shape, formula):
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 7))
    v[3] = 0.0
    (parameter,) = friction_parameters(1, 'j', (law,), 10.0, {law: (shape,)})
    column = friction_column(parameter, q, v, a, np.full(7, -3.0))
    np.testing.assert_allclose(column, formula(q, v, a), atol=1e-12)


def test_a_law_says_what_others_ask_of_it():
    for name, law in LAWS.items():
        assert law.symbol and law.unit and law.scale > 0.0, name
        assert law.nonlinear == bool(law.nonlinear_unit) or name == 'power'  # a plain exponent
        assert not law.tried or law.nonlinear and not (law.always or law.optional), name
        assert not law.memory or law.dry, name
        assert law.in_urdf in ('', 'stiffness', *friction.JOINT_TERMS), name


def test_nobody_else_names_a_law():
    home = Path(friction.__file__).resolve()
    package, names = (
        home.parents[1],
        LAWS.keys() - {'offset', 'armature'},
    )  # limits have offsets, descriptions armatures
    namers = {
        str(file.relative_to(package))
        for file in package.rglob('*.py')
        if file != home
        and any(
            isinstance(node, ast.Constant) and node.value in names
            for node in ast.walk(ast.parse(file.read_text()))
        )
    }
    assert namers <= {'identification/choose/choice.py', 'identification/reduce/reduction.py'}


def test_presliding_follows_the_differential_equation_and_holds_at_rest():
    t = np.linspace(0.0, 3.0, 3001)
    swing, rate = 0.01 * np.sin(2 * np.pi * t), lambda t: 0.02 * np.pi * np.cos(2 * np.pi * t)
    z = solve_ivp(
        lambda t, z: (np.sign(rate(t)) - z) * abs(rate(t)) / 0.002,
        (0.0, 3.0),
        [0.0],
        t_eval=t,
        max_step=1e-3,
    ).y[0]
    (parameter,) = friction_parameters(1, 'j', ('presliding',), 10.0, {'presliding': (0.002,)})
    none = np.zeros_like(t)
    column = friction_column(parameter, swing, rate(t), none)
    np.testing.assert_allclose(column, z, atol=5e-3)  # of samples of 6e-5 rad on 2e-3
    held = np.concatenate([swing[:200], np.full(100, swing[199])])
    at_rest = friction_column(parameter, held, np.zeros(300), np.zeros(300))[200:]
    np.testing.assert_array_equal(at_rest, column[199])


def test_presliding_goes_on_step_by_step_as_the_differential_equation():
    q, v = np.random.default_rng(3).normal(size=(2, 20))
    v[[4, 9]] = 0.0
    z = [0.0]
    for step, rate in zip(np.diff(q), v[1:]):
        z.append(float(presliding_step(z[-1], step, rate, 0.4)))
    np.testing.assert_allclose(z, dahl(q, v, 0.4), atol=1e-12)


def test_every_law_is_tested():
    marks = test_columns_are_their_formulas.pytestmark
    assert {case[0] for case in marks[0].args[1]} == set(LAWS)


def test_passive_rows_refuse_friction_that_drives():
    free = ('spring', 'spring2', 'spring3', 'sine1', 'cosine2', 'offset')
    columns = friction_parameters(
        1, 'j', ('coulomb', 'viscous', 'power', *free), 10.0, {'coulomb': (0.0,)}
    )
    C, any_of_them = passive_rows(columns), len(free) * [-9.0]
    assert (C @ [1.0, 2.0, -1.5, *any_of_them] > 0).all()  # bent down, but braking at any speed
    assert (C @ [0.5, 1.0, -2.5, *any_of_them]).min() < 0  # drives at 1 rad/s
    assert (C @ [-0.1, 1.0, 0.0, *any_of_them]).min() < 0


@pytest.mark.parametrize(
    'seed, delta, cutoff, noise',
    [(0, 4.0, 0.0, 0.05), (1, 8.0, 6.0, 0.05), (2, 6.17, 0.0, 0.003)],
)  # between two that are tried: that is most of the error
def test_stribeck_is_found_behind_any_cutoff(seed, delta, cutoff, noise):
    """Stiction changes sign within 10 ms: its column has to be filtered as the torque was."""
    recording, truth = arm.recording(seed, delta, noise)
    model = identify([recording], replace(OPTIONS, cutoff=cutoff)).model
    for name, entry in model.statistics['nonlinear_parameters'].items():
        if name.startswith('fcs'):
            assert entry['least'] <= delta * 1.1 and entry['greatest'] >= delta / 1.1
            assert abs(np.log2(entry['value'] / delta)) < 0.6  # K is not known either
    z = np.array(list(scores(model.base, truth).values()))
    # Some 20 numbers; columns of the filtered speed alone leave up to 8 of these errors.
    assert len(z) > 16 and np.sqrt(np.mean(z**2)) < 1.2


@pytest.mark.parametrize('steepness', [50.0, 300.0])
def test_how_steep_stiction_is_at_standstill_is_found_beside_stribecks_speed(steepness):
    """With K = 100 for everybody fs was .9 and 3 for 1.5, 6 and 3 stated errors off."""
    recording, truth = arm.recording(0, 4.0, 0.05, steepness=steepness)
    model = identify([recording], OPTIONS).model
    for name, entry in model.statistics['nonlinear_parameters'].items():
        if name.startswith('fs'):
            assert abs(np.log10(entry['value'] * steepness)) < 0.11  # the next one that is tried
    z = np.array(list(scores(model.base, truth).values()))
    assert np.sqrt(np.mean(z**2)) < 1.2
    found = {entry['name']: entry['value'] for entry in model.base}
    assert [found[f'fs{j}'] for j in (1, 2, 3)] == pytest.approx(3 * [arm.STICTION], rel=0.05)


def test_beside_noise_stiction_is_no_difference_of_two_large_numbers():
    """Any steepness beside any delta fits noise of 2 N m: fs was 11 +- 2 for 1.5, fcs -10."""
    recording, _ = arm.recording(501, 8.0, np.array([2.0, 0.5, 0.1]), rate=250.0)
    model = identify([recording], replace(OPTIONS, estimator='weighted')).model
    found = {entry['name']: entry['value'] for entry in model.base}
    for j, error in ((1, 1.0), (2, 0.2), (3, 0.1)):
        assert abs(found[f'fs{j}'] - arm.STICTION) < error
        assert abs(found[f'fcs{j}'] - arm.STRIBECK) < error
    # What another steepness and delta would make of it is in the errors of the default, but for
    # stiction that is many times the friction at speed (7 N m for joint 1, 4 for joint 2).
    errors = {e['name']: e['standard_error'] for e in identify([recording], OPTIONS).model.base}
    assert 0.1 < errors['fs1'] < 2.0 and errors['fs2'] < 1.0


def test_a_constant_at_the_end_of_those_tried_is_not_known():
    """Where the arm is never slow, nothing tells a fast Stribeck curve from faster ones."""
    model = identify([arm.recording(0, 500.0, 0.05)[0]], OPTIONS).model
    constants = model.statistics['nonlinear_parameters']
    assert all(constants[f'fcs{joint}']['greatest'] is None for joint in (1, 2, 3))
    words = [str(row[-1]) for row in friction_table(model).rows]
    assert all(text.startswith('at least ') or text == 'not determined' for text in words)
    # A file of a version that took K = 100 s/rad for everybody means that.
    content = yaml.safe_load(model.to_yaml())
    for entry in content['parameters']:
        if entry['law'] == 'stiction':
            entry['nonlinear'] = None
    former = IdentifiedModel.from_yaml(yaml.safe_dump(content))
    assert {p.nonlinear for p in former.parameters if p.law == 'stiction'} == {0.01}


@pytest.mark.parametrize('noise, is_step', [(1e-6, True), (5e-3, False)])
def test_a_step_is_found_and_noise_of_the_velocity_widens_it(arm3, noise, is_step):
    """Of slow joints .001 rad/s is no step; of noisy ones a step has the sign of the noise."""
    urdf, truth = arm3
    rng = np.random.default_rng(0)
    t, q, v, a = mujoco_arm.motion(3, 20.0, 200.0, seed=1, speed=0.02)
    tau = mujoco_arm.torque(truth, q, v, a) + 2.0 * v + 0.5 * np.sign(v)
    tau += 1e-3 * rng.normal(size=q.shape)
    measured = v + noise * rng.normal(size=q.shape)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, measured, tau)
    options = options_class('serial_arm')(
        friction=('viscous', 'coulomb'),
        mounting='upright',
        velocity='measured',
        cutoff=40.0,
        find_time_offset=False,
    )
    model = identify([recording], options, urdf=urdf).model
    widths = [entry['value'] for entry in model.statistics['nonlinear_parameters'].values()]
    assert all((width == 0.0) == is_step for width in widths)
    for entry in model.base:
        if entry['name'] in ('fc1', 'fc2', 'fc3') and is_step:
            assert abs(entry['value'] - 0.5) < min(0.02, 4.0 * entry['standard_error'])


def test_a_gear_loses_less_than_it_passes_on(arm3):
    """Described masses of a third make the load a third, and friction 1.5 times this load."""
    urdf, truth = arm3
    light = re.sub(r'mass value="([0-9.]+)"', lambda m: f'mass value="{float(m[1]) / 3}"', urdf)
    t, q, v, a = mujoco_arm.motion(3, 20.0, 200.0, seed=1, speed=1.0)
    tau = mujoco_arm.torque(truth, q, v, a)
    tau += 0.5 * np.abs(tau) * np.sign(v) + 0.8 * v
    tau += 0.02 * np.random.default_rng(0).normal(size=q.shape)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, tau)
    options = options_class('serial_arm')(
        friction=('viscous', 'coulomb', 'coulomb_load'), mounting='upright', find_time_offset=False
    )
    model = identify([recording], options, urdf=light).model
    losses = [x for p, x in zip(model.parameters, model.values) if p.law == 'coulomb_load']
    assert 0.8 < max(losses) < LARGEST_LOSS


def test_the_coefficients_of_a_slide_have_units_of_forces_and_metres():
    laws = ['viscous', 'coulomb', 'armature', 'spring', 'spring2', 'power', 'offset']
    slide = {p.law: p.unit for p in friction_parameters(1, 'rail', laws, 50.0, slides=True)}
    assert slide == {
        'viscous': 'N s/m',
        'coulomb': 'N',
        'armature': 'kg',
        'spring': 'N/m',
        'spring2': 'N/m^2',
        'power': 'N (s/m)^n',
        'offset': 'N',
    }
    assert nonlinear_unit('coulomb', 'N') == 'm/s' and nonlinear_unit('coulomb', 'N m') == 'rad/s'
