"""Friction laws, their shape constants with errors, and the choice among them."""

import ast
from dataclasses import replace
from pathlib import Path

import mujoco_arm
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ros_inertial_id.dynamics import friction
from ros_inertial_id.dynamics.friction import (friction_column, friction_parameters, LAWS,
                                               nonlinear_unit, passive_rows, presliding_step)
from ros_inertial_id.estimation.estimators import weighted
from ros_inertial_id.estimation.nonlinear_parameters import Grid, refine_nonlinear
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

PAPER = ('stiction', 'stribeck_atan', 'viscous')
DELTA = 6.0


def sign(v):
    """Return the paper's S(v)."""
    return 2 / np.pi * np.arctan(100 * v)


def paper_friction(v, stiction=2.0, coulomb=1.2, viscous=0.5, delta=DELTA):
    """Return the friction of static_friction_3dof [N m]."""
    return (stiction + (coulomb - stiction) * 2 / np.pi * np.arctan(delta * np.abs(v))) * sign(v) \
        + viscous * v


def paper_data(seed, noise=0.05, speed=0.6, duration=40):
    """Return (urdf, t, q, v, a, tau) of a 3R arm with the paper's friction and noise."""
    urdf = mujoco_arm.description('arm3')
    t, q, v, a = mujoco_arm.motion(3, duration, 100, seed=seed, speed=speed)
    rng = np.random.default_rng(seed)
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, seed), q, v, a) + paper_friction(v)
    return urdf, t, q, v, a, tau + noise * rng.normal(size=v.shape)


def with_shape(problem, law, shape):
    """Return the Problem with another nonlinear parameter in all joints, and a fine grid."""
    parameters = tuple(replace(p, nonlinear=shape) if p.law == law else p
                       for p in problem.base.parameters)
    base = replace(problem.base, parameters=parameters)
    size, own = len(base), [parameters[k] for k in base.independent]
    tried = [replace(p, nonlinear=x) for p in own if p.law == law
             for x in np.geomspace(shape / 10.0, shape * 10.0, 40)]
    keep = np.append(base.places(), size + np.arange(len(tried)))
    wide = RFactors(size + len(tried))
    for block in problem.read(parameters + tuple(tried)):
        wide.accumulate(block, keep)
    places = {p.name: k for k, p in enumerate(own) if p.law == law}
    grid = Grid(wide, places, {name: [size + k for k, p in enumerate(tried) if p.name == name]
                               for name in places}, (*own, *tried))
    return replace(problem, base=base, factors=wide.select(np.arange(size)), grid=grid)


def dahl(q, v, distance):
    """Return Dahl's state sample by sample: d z / d s = (+-1 - z) / distance, exactly."""
    z = [0.0]
    for step, rate in zip(np.diff(q), v[1:]):
        towards = np.sign(rate if rate else step)
        z.append(towards + (z[-1] - towards) * np.exp(-abs(step) / distance))
    return np.array(z)


@pytest.mark.parametrize('law, shape, formula', [
    ('viscous', None, lambda q, v, a: v),
    ('presliding', 0.4, lambda q, v, a: dahl(q, v, 0.4)),
    ('coulomb', 0.0, lambda q, v, a: np.sign(v)),
    ('coulomb', 0.02, lambda q, v, a: (np.exp(100 * v) - 1) / (np.exp(100 * v) + 1)),
    ('coulomb_atan', 0.02, lambda q, v, a: np.angle(1 + 50j * v) / (np.pi / 2)),
    ('asymmetric', 0.0, lambda q, v, a: np.where(v == 0, 0, 1)),
    ('stiction', None, lambda q, v, a: sign(v)),
    ('stribeck_atan', 4.0, lambda q, v, a: np.angle(1 + 4j * abs(v)) / (np.pi / 2) * sign(v)),
    ('stribeck', 0.1, lambda q, v, a: np.exp(-100 * v * v) * np.tanh(100 * v)),
    ('power', 0.5, lambda q, v, a: np.where(v < 0, -1, 1) * np.sqrt(abs(v))),
    ('offset', None, lambda q, v, a: np.ones(7)),
    ('armature', None, lambda q, v, a: a),
    ('spring', None, lambda q, v, a: q),
    ('spring2', None, lambda q, v, a: q * q),
    ('spring3', None, lambda q, v, a: q * q * q),
    *((f'{name}{n}', None, lambda q, v, a, n=n, part=part: part(np.exp(1j * n * q)))
      for n in (1, 2, 3) for name, part in (('sine', np.imag), ('cosine', np.real))),
    ('coulomb_load', 0.02, lambda q, v, a: 3.0 * (np.exp(100 * v) - 1) / (np.exp(100 * v) + 1))])
def test_columns_are_their_formulas(law, shape, formula):
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 7))
    v[3] = 0.0
    parameter, = friction_parameters(1, 'j', (law,), 10.0, {law: (shape,)})
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
    package, names = home.parents[1], LAWS.keys() - {'offset'}  # limits and motions have offsets
    namers = {str(file.relative_to(package)) for file in package.rglob('*.py') if file != home
              and any(isinstance(node, ast.Constant) and node.value in names
                      for node in ast.walk(ast.parse(file.read_text())))}
    assert namers <= {'identification/choose/choice.py',
                      'identification/reduce/reduction.py'}


def test_presliding_follows_the_differential_equation_and_holds_at_rest():
    t = np.linspace(0.0, 3.0, 3001)
    swing, rate = 0.01 * np.sin(2 * np.pi * t), lambda t: 0.02 * np.pi * np.cos(2 * np.pi * t)
    z = solve_ivp(lambda t, z: (np.sign(rate(t)) - z) * abs(rate(t)) / 0.002, (0.0, 3.0), [0.0],
                  t_eval=t, max_step=1e-3).y[0]
    parameter, = friction_parameters(1, 'j', ('presliding',), 10.0, {'presliding': (0.002,)})
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
    columns = friction_parameters(1, 'j', ('coulomb', 'viscous', 'power', *free), 10.0,
                                  {'coulomb': (0.0,)})
    C, any_of_them = passive_rows(columns), len(free) * [-9.0]
    assert (C @ [1.0, 2.0, -1.5, *any_of_them] > 0).all()  # bent down, but braking at any speed
    assert (C @ [0.5, 1.0, -2.5, *any_of_them]).min() < 0  # drives at 1 rad/s
    assert (C @ [-0.1, 1.0, 0.0, *any_of_them]).min() < 0


def test_paper_delta_is_recovered_within_its_stated_error():
    z = []
    for seed in range(6):
        problem, _ = mujoco_arm.problem(paper_data(seed)[0], serial_arm.Options(friction=PAPER),
                                        *paper_data(seed)[1:])
        problem = with_shape(problem, 'stribeck_atan', 16.0)  # started a factor 2.7 away
        found = refine_nonlinear(problem, weighted(problem).standard_deviation)
        for entry in found.values.values():
            assert entry['standard_error'] < 0.5 * DELTA
            z.append((entry['value'] - DELTA) / entry['standard_error'])
    # 18 standard normals: root mean square 1 +- 0.17.
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.5 and np.abs(z).max() < 3.5


def test_not_knowing_delta_widens_the_other_errors_as_the_joint_covariance_does():
    urdf, *motion = paper_data(4)
    problem, _ = mujoco_arm.problem(urdf, serial_arm.Options(friction=PAPER), *motion)
    refined = refine_nonlinear(with_shape(problem, 'stribeck_atan', 7.0),
                               weighted(problem).standard_deviation)
    known = weighted(replace(problem, base=refined.base, factors=refined.factors))
    unknown = known.widened(refined.inflation)

    def rows(base):  # weighted by the residuals' own deviations
        parts = []
        for block in problem.read(base.parameters):
            for group in block.groups:
                W = np.zeros((len(group.y), len(base.parameters)))
                W[:, group.columns] = group.W
                parts.append(W[:, base.independent] / known.standard_deviation[group.name])
        return np.vstack(parts)

    J = [rows(refined.base)]
    for i, k in enumerate(refined.base.independent):
        parameter = refined.base.parameters[k]
        if parameter.nonlinear:
            moved = list(refined.base.parameters)
            moved[k] = replace(parameter, nonlinear=parameter.nonlinear * 1.0001)
            change = (rows(replace(refined.base, parameters=tuple(moved))) - J[0]) / 1e-4
            J.append(change[:, [i]] * known.params[i])
    assert len(J) == 4
    expected = np.sqrt(np.diag(np.linalg.inv(np.hstack(J).T @ np.hstack(J))))[:len(known.bse)]
    assert (expected > 1.2 * known.bse).any()  # what leaving it out would miss
    np.testing.assert_allclose(unknown.bse, expected, rtol=0.02)  # steps, and the last weights
    np.testing.assert_allclose(unknown.data_bse, expected, rtol=0.02)


def test_the_coefficients_of_a_slide_have_units_of_forces_and_metres():
    laws = ['viscous', 'coulomb', 'armature', 'spring', 'spring2', 'power', 'offset']
    slide = {p.law: p.unit for p in friction_parameters(1, 'rail', laws, 50.0, slides=True)}
    assert slide == {'viscous': 'N s/m', 'coulomb': 'N', 'armature': 'kg', 'spring': 'N/m',
                     'spring2': 'N/m^2', 'power': 'N (s/m)^n', 'offset': 'N'}
    assert nonlinear_unit('coulomb', 'N') == 'm/s' and nonlinear_unit('coulomb', 'N m') == 'rad/s'
