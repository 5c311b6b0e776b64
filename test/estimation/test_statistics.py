"""Numbers that can be trusted: intervals cover, and statistics name what is weak."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
from scipy.stats import chi2, f

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import ordinary, Problem
from ros_inertial_id.estimation.r_factors import GroupFactor, RFactors, triangle
from ros_inertial_id.estimation.residuals import Residuals
from ros_inertial_id.estimation.statistics import (condition_causes, dependence,
                                                   essential_parameters, whiteness)
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.judge.mounting import structural_base
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

FV, FC, FS, VS = 0.5, 0.8, 0.5, 0.15  # viscous, Coulomb, Stribeck torque and speed


def linear(W, y, correlation=None):
    """Return the Problem of plain rows W (N, k), y (N,) in one group."""
    k = W.shape[1]
    parameters = tuple(Parameter(f'x{i}', '', 1.0, 0.0, 10.0, 'rows') for i in range(k))
    base = find_base_parameters(np.random.default_rng(0).normal(size=(3 * k, k)), parameters)
    R = triangle(np.asfortranarray(np.column_stack([W, y, y])))
    group = GroupFactor('', np.arange(k), R, len(y))
    return Problem(RFactors(k, {'rows': group}), base, correlation or {})


def test_intervals_cover_between_90_and_98_percent_on_a_realistic_arm():
    urdf = mujoco_arm.description('arm3')
    true = mujoco_arm.true_urdf(urdf, 11)
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(3, 20, 200, seed=2, speed=1.0)
    clean = mujoco_arm.torque(true, q, v, a) + FV * v
    clean += np.tanh(v / 0.01) * (FC + FS * np.exp(-(v / VS) ** 2))
    options = replace(options_class('serial_arm')(), coulomb_width=0.01,
                      friction=('viscous', 'coulomb', 'stribeck', 'offset'))
    hits, speeds = [], []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        step, bit = 2 * np.pi / 2 ** 18, 0.02  # encoder and torque quantisation
        measured = np.round((q + 2e-5 * rng.normal(size=q.shape)) / step) * step
        tau = np.round((clean + 0.2 * rng.normal(size=v.shape)) / bit) * bit
        recording = mujoco_arm.recording(names, t, measured,
                                         v + 2e-3 * rng.normal(size=v.shape), tau)
        model = identify([recording], options, urdf=urdf).model
        base = structural_base(serial_arm, [load_robot_model(urdf)], model.parameters)
        friction = {'viscous': FV, 'coulomb': FC, 'stribeck': FS}
        truth = np.array([friction.get(p.law, 0.0) for p in model.parameters])
        truth[:30] = load_robot_model(true).inertias.ravel()
        for entry, value in zip(model.base, base.reduce(truth)):
            if entry['determined']:
                hits.append(abs(entry['value'] - value) < 1.96 * entry['standard_error'])
        speeds += [(s['value'] - VS) / s['standard_error']
                   for s in model.statistics['nonlinear_parameters'].values()]
    assert len(hits) > 16 * 20
    assert 0.90 <= np.mean(hits) <= 0.98
    assert np.mean(np.abs(speeds) < 1.96) > 0.8  # 48 of them


def test_standard_errors_grow_with_the_root_of_the_correlation():
    rng = np.random.default_rng(1)
    W = rng.normal(size=(400, 2))
    y = W @ [1.0, 2.0] + rng.normal(size=400)
    alone, alike = ordinary(linear(W, y)), ordinary(linear(W, y, {'rows': 4.0}))
    assert alike.bse == pytest.approx(2 * alone.bse, rel=1e-9)


def test_parameters_that_explain_nothing_are_not_essential():
    rng, wrong = np.random.default_rng(2), 0
    for _ in range(50):
        W = rng.normal(size=(300, 6))
        y = W @ [2.0, 0.0, -1.0, 0.0, 0.0, 0.5] + rng.normal(size=300)
        problem = linear(W, y)
        found = essential_parameters(problem, ordinary(problem))
        assert {0, 2, 5} <= set(found['essential'])
        wrong += len(found['essential']) > 3
        assert all(r['F'] <= r['limit'] for r in found['left_out'])
    # One joint test at 5 % keeps too much in about one of twenty; three candidates at most.
    assert wrong <= 12


def test_what_is_left_out_has_the_f_value_and_error_of_a_fit_without_it():
    rng = np.random.default_rng(8)
    W = rng.normal(size=(60, 4)) @ (np.eye(4) + 0.3) * [1.0, 2.0, 0.5, 1.0]
    y = W @ [1.0, 0.02, 0.03, -0.01] + rng.normal(size=60)
    problem = linear(W, y)
    estimate = ordinary(problem)
    A, b = (x / estimate.standard_deviation['rows'] for x in (W, y))

    def squares(columns):
        return np.sum((b - A[:, columns] @ np.linalg.lstsq(A[:, columns], b, rcond=None)[0]) ** 2)

    kept, found = [0, 1, 2, 3], essential_parameters(problem, estimate)
    assert len(found['left_out']) == 3  # the last one is never left out
    for gone, entry in enumerate(found['left_out'], 1):
        inverse = np.linalg.inv(A[:, kept].T @ A[:, kept])
        value = inverse @ A[:, kept].T @ b
        error = 100.0 * np.sqrt(np.diag(inverse)) / np.abs(value)
        assert entry['place'] == kept[int(np.argmax(error))]
        assert entry['relative_percent'] == pytest.approx(error.max(), rel=1e-9)
        kept.remove(entry['place'])
        expected = (squares(kept) - squares([0, 1, 2, 3])) / gone / (squares([0, 1, 2, 3]) / 56)
        assert entry['F'] == pytest.approx(expected, rel=1e-9)
        assert entry['limit'] == pytest.approx(f.ppf(0.95, gone, 56), rel=1e-6)


def test_parameters_that_cannot_be_told_apart_are_named():
    rng = np.random.default_rng(3)
    W = rng.normal(size=(300, 4))
    W[:, 3] = W[:, 1] + 1e-3 * rng.normal(size=300)
    problem = linear(W, W @ np.ones(4) + rng.normal(size=300))
    causes = condition_causes(problem, ordinary(problem))
    assert set(causes[0]['parameters']) == {'x1', 'x3'}
    assert 500 < causes[0]['condition_index'] < 5000  # 2 / 1e-3
    assert all(c['condition_index'] < 3 for c in causes[1:])
    assert len(causes) == 3 and len(condition_causes(problem, ordinary(problem), 9)) == 4


def test_condition_indices_are_ratios_of_singular_values_of_columns_of_one_length():
    W = np.random.default_rng(9).normal(size=(50, 3)) @ (np.eye(3) + 0.9) * [1.0, 20.0, 0.3]
    problem = linear(W, W @ np.ones(3) + np.random.default_rng(10).normal(size=50))
    length = np.linalg.norm(W, axis=0)
    values = np.linalg.eigvalsh(W.T @ W / np.outer(length, length))
    found = [c['condition_index'] for c in condition_causes(problem, ordinary(problem))]
    np.testing.assert_allclose(found, np.sqrt(values[-1] / values), rtol=1e-9)


def test_what_has_no_variance_depends_on_nothing():
    found = dependence(['a', 'b', 'c'], np.array([[4.0, 0.0, 1.0], [0.0, 0.0, 0.0],
                                                  [1.0, 0.0, 1.0]]), np.ones(3, dtype=bool))
    assert found['b']['inflation'] == 1.0 and found['b']['correlation'] == 0.0
    assert found['a']['partner'] == 'c' and found['a']['correlation'] == pytest.approx(0.5)
    assert found['a']['inflation'] == pytest.approx(4.0 / 3.0)  # 1 / (1 - r^2)


def test_a_column_without_motion_is_named_first():
    W = np.random.default_rng(4).normal(size=(100, 3)) * [1.0, 0.0, 1.0]
    problem = linear(W, W @ np.ones(3))
    assert condition_causes(problem, ordinary(problem))[0]['parameters'] == {'x1': 1.0}


def test_whiteness_tells_white_from_smooth():
    rng = np.random.default_rng(5)
    white, smooth = rng.normal(size=(2, 4000))
    smooth = np.convolve(smooth, np.ones(5) / 5, mode='same')
    residuals = Residuals()
    for low in range(0, 4000, 1000):
        part = slice(low, low + 1000)
        groups = tuple(RowGroup(name, '', np.zeros(0, int), np.zeros((1000, 0)), x[part], x[part])
                       for name, x in (('white', white), ('smooth', smooth)))
        residuals.add(RegressorBlock(np.arange(1000.0), 0, groups),
                      {'white': np.zeros(1000), 'smooth': np.zeros(1000)})
    found = whiteness(residuals)
    assert found['white']['white'] and not found['smooth']['white']
    assert found['smooth']['first'] == pytest.approx(0.8, abs=0.05)  # 4 of 5 samples in common


def test_whiteness_is_the_portmanteau_test():
    e = np.random.default_rng(7).normal(size=60)
    residuals = Residuals()
    group = RowGroup('rows', '', np.zeros(0, int), np.zeros((60, 0)), e, e)
    residuals.add(RegressorBlock(np.arange(60.0), 0, (group,)), {'rows': np.zeros(60)})
    rho = [(e[k:] @ e[:-k]) / (60 - k) / (e @ e / 60) for k in range(1, 6)]
    q = sum(60 * 62 * r * r / (60 - k) for k, r in enumerate(rho, 1))
    found = whiteness(residuals, 5)['rows']
    assert found['p_value'] == pytest.approx(chi2.sf(q, 5), rel=1e-9)


def test_what_is_known_together_is_named_with_its_inflation():
    # Of two with correlation r the variance is inflated by 1 / (1 - r^2); a third stands alone.
    sd, r = np.array([2.0, 0.1, 5.0, 1.0]), 0.96
    R = np.eye(4)
    R[0, 1] = R[1, 0] = r
    R[2, 3] = R[3, 2] = 0.999  # with one that is not determined
    shared = dependence('abcd', R * np.outer(sd, sd), np.array([True, True, True, False]))
    assert set(shared) == set('abc')
    assert shared['a']['partner'] == 'b' and shared['b']['correlation'] == pytest.approx(r)
    assert shared['a']['inflation'] == pytest.approx(1.0 / (1.0 - r ** 2))
    assert shared['c']['inflation'] == pytest.approx(1.0)
