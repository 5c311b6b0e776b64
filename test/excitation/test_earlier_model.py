"""A second motion is made for what a first identification leaves open."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation import design as module
from ros_inertial_id.excitation.design import (design, design_parameters, DesignOptions,
                                               information_of)
from ros_inertial_id.excitation.problem import motion_problem

ARM = load_robot_model((Path(__file__).parents[2] / 'urdf' / 'arm3.urdf').read_text())
OPTIONS = DesignOptions(restarts=1, processes=1, seconds=3600.0, collisions=False, period=5.0,
                        sigma=(1.0,))


def model_of(base, covariance, more=0):
    """Return what the design reads of a model; ``more`` base parameters of unknown columns."""
    entries = [{'name': n, 'grouping': g} for n, g in zip(base.names(), base.groupings())]
    entries += [{'name': f'fz{k}', 'grouping': {f'fz{k}': 1.0}} for k in range(more)]
    return SimpleNamespace(base=entries, covariance=covariance)


def test_information_is_the_inverse_covariance_of_what_both_know():
    base = motion_problem(ARM, OPTIONS)[1]
    root = np.random.default_rng(0).standard_normal((len(base) + 2, 3 * len(base)))
    covariance = root @ root.T
    known = information_of(model_of(base, covariance, more=2), design_parameters(ARM, OPTIONS))
    inner = np.linalg.inv(covariance[:-2, :-2])  # marginal: of what the design has columns for
    np.testing.assert_allclose(known[np.ix_(base.independent, base.independent)], inner,
                               rtol=1e-6, atol=1e-9 * np.abs(inner).max())
    K = base.matrix()
    np.testing.assert_allclose(known, K.T @ inner @ K, atol=1e-6 * np.abs(known).max())


def test_model_of_another_robot_is_refused():
    with pytest.raises(MotionError, match='of another robot'):
        information_of(model_of(motion_problem(ARM, OPTIONS)[1], np.eye(2), more=1).__class__(
            base=[{'name': 'x', 'grouping': {'x': 1.0}}], covariance=np.eye(1)),
            design_parameters(ARM, OPTIONS))


def test_second_motion_answers_what_the_first_left_open(monkeypatch):
    problem, base = motion_problem(ARM, OPTIONS)
    # a first recording that says nothing of the last joint's friction, and much of the rest
    covariance = np.diag(np.full(len(base), 1e-4))
    last = [k for k, name in enumerate(base.names()) if name == 'fc3']
    covariance[last, last] = 1e4
    monkeypatch.setattr(module, 'read_text', lambda path: path)
    monkeypatch.setattr(module.IdentifiedModel, 'from_yaml',
                        classmethod(lambda cls, text, source: model_of(base, covariance)))
    found = []
    second = design(ARM, replace(OPTIONS, model='model.yaml'), lambda now: found.append(now.found),
                    lambda: found[-1] > 0)  # any motion will do
    alone = np.sqrt(np.einsum('jkl,lk->j', problem.moments, covariance))
    assert second.torque_errors[2] < 0.01 * alone[2]
    assert (second.torque_errors < alone).all()
