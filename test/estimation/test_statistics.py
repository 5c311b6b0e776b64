"""Numbers that can be trusted: intervals cover, and what is known only together is named."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.estimation.statistics import dependence
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.prepare.mounting import structural_base
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS

serial_arm = METHODS['serial_arm']

FV, FC, FS, VS = 0.5, 0.8, 0.5, 0.15  # viscous, Coulomb, Stribeck torque and speed


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
