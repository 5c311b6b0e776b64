"""A second motion is made for what a first identification leaves open."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation import design as module
from ros_inertial_id.excitation.design import (
    design,
    design_parameters,
    DesignOptions,
    information_of,
)
from ros_inertial_id.excitation.feedforward import feedforward_error
from ros_inertial_id.excitation.problem import motion_problem
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class

ARM = load_robot_model((Path(__file__).parents[2] / 'urdf' / 'arm3.urdf').read_text())
OPTIONS = DesignOptions(restarts=1, seconds=3600.0, period=5.0, sigma=(1.0,))


def model_of(base, covariance, more=0):
    """Return what the design reads of a model; ``more`` base parameters of unknown columns."""
    entries = [{'name': n, 'grouping': g} for n, g in zip(base.names(), base.groupings())]
    entries += [{'name': f'fz{k}', 'grouping': {f'fz{k}': 1.0}} for k in range(more)]
    return SimpleNamespace(
        method='serial_arm',
        options={},
        base=entries,
        covariance=covariance,
        statistics={},
        validity_range={},
    )


def test_information_is_the_inverse_covariance_of_what_both_know():
    base = motion_problem(ARM, OPTIONS)[1]
    root = np.random.default_rng(0).standard_normal((len(base) + 2, 3 * len(base)))
    covariance = root @ root.T
    known = information_of(model_of(base, covariance, more=2), design_parameters(ARM, OPTIONS))
    inner = np.linalg.inv(covariance[:-2, :-2])  # marginal: of what the design has columns for
    np.testing.assert_allclose(
        known[np.ix_(base.independent, base.independent)],
        inner,
        rtol=1e-6,
        atol=1e-9 * np.abs(inner).max(),
    )
    K = base.matrix()
    np.testing.assert_allclose(known, K.T @ inner @ K, atol=1e-6 * np.abs(known).max())


def test_model_of_another_robot_is_refused():
    with pytest.raises(MotionError, match='of another robot'):
        information_of(
            model_of(motion_problem(ARM, OPTIONS)[1], np.eye(2), more=1).__class__(
                base=[{'name': 'x', 'grouping': {'x': 1.0}}], covariance=np.eye(1)
            ),
            design_parameters(ARM, OPTIONS),
        )


def test_second_motion_answers_what_the_first_left_open(monkeypatch):
    problem, base = motion_problem(ARM, OPTIONS)
    # a first recording that says nothing of the last joint's friction, and much of the rest
    covariance = np.diag(np.full(len(base), 1e-4))
    last = [k for k, name in enumerate(base.names()) if name == 'fc3']
    covariance[last, last] = 1e4
    monkeypatch.setattr(module, 'read_model_text', lambda path: path)
    monkeypatch.setattr(
        module.IdentifiedModel,
        'from_yaml',
        classmethod(lambda cls, text, source: model_of(base, covariance)),
    )
    found = []
    second = design(
        ARM,
        replace(OPTIONS, model='model.yaml'),
        lambda now: found.append(now.found),
        lambda: found[-1] > 0,
    )  # any motion will do
    # friction widths known to a factor e: 4 is the square of friction of 2 sigma
    alone = np.sqrt(
        np.einsum('jkl,lk->j', problem.moments, covariance)
        + 4.0 * problem.width_moments / problem.weights**2
    )
    assert second.torque_errors[2] < 0.01 * alone[2]
    assert (second.torque_errors < alone).all()
    assert 'not known: the model has no band for joint1' in second.words()[0]


def test_the_error_of_a_feedforward_is_said_of_the_motion_that_is_designed(tmp_path):
    t, q, v, a = mujoco_arm.motion(3, 15.0, 100.0, seed=1)
    rng, urdf = np.random.default_rng(0), mujoco_arm.description('arm3')
    tau = mujoco_arm.torque(urdf, q, v, a) + 0.5 * np.sign(v) + 0.1 * rng.standard_normal(q.shape)
    model = identify(
        [mujoco_arm.recording(ARM.joint_names, t, q, v, tau)],
        options_class('serial_arm')(mounting='upright', cutoff=50.0),
        urdf=urdf,
    ).model
    error = feedforward_error(model, ARM.joint_names, t, (q, v, a))
    # Of the motion that it was identified from: 0.1 N m of noise is what the residual has.
    np.testing.assert_allclose(error.rms, 0.1, rtol=0.35)
    assert (error.peak > 2.5 * error.rms).all() and error.outside == 0.0
    faster = feedforward_error(model, ARM.joint_names, t / 2.0, (q, 2.0 * v, 4.0 * a))
    assert (faster.rms > 1.5 * error.rms).all() and faster.outside > 0.9
    (tmp_path / 'model.yaml').write_text(model.to_yaml())
    own = design(ARM, replace(OPTIONS, model=str(tmp_path / 'model.yaml')), None, lambda: True)
    assert own.words()[0].startswith('feedforward error of the model, rms and peak [N m, N]: jo')
    assert own.summary()['feedforward_error']['rms'].keys() == set(ARM.joint_names)
