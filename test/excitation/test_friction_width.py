"""What a motion shows of friction widths, and the last step of a search, on a finer grid."""

import pathlib
import re

import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation import search as module
from ros_inertial_id.excitation.friction_width import by_widths, moments
from ros_inertial_id.excitation.objective import Objective
from ros_inertial_id.excitation.problem import DesignOptions, motion_problem

URDF = pathlib.Path(__file__).parents[2] / 'urdf' / 'arm3.urdf'
WIDTH, FILTER = 0.02, 0.016  # [rad/s], [s]


def arm3():
    """Return an arm without shapes, whose distances have kinks."""
    return load_robot_model(re.sub('<collision>.*?</collision>', '', URDF.read_text(),
                                   flags=re.S))


def slope(v):
    """Return the derivative of tanh(v / w) by log w, of finite differences."""
    return (np.tanh(v / (WIDTH * np.exp(1e-5))) - np.tanh(v / (WIDTH * np.exp(-1e-5)))) / 2e-5


def test_variance_is_that_of_one_more_column():
    """Friction of 2 sigma, the logarithm known to 1: the posterior variance, by its slopes."""
    times = np.arange(-100, 101) * 0.005
    v = np.array([0.2 * times, times])  # [rad/s]: reversals at 0.2 and 1 rad/s^2
    states = np.random.default_rng(0).uniform(-1.0, 1.0, 200_000) ** 3  # as the workspace has them
    found = by_widths(v, 0.005, moments(np.array([1.0, 1.0]), 3), 3 * 201)[0]
    kernel = np.exp(-0.5 * (np.arange(-20, 21) * 0.005 / FILTER) ** 2)
    kernel /= kernel.sum()
    for one, variance in zip(v, found):
        passed = np.convolve(2.0 * slope(one), kernel, 'same')
        posterior = 1.0 / (1.0 + 3.0 * np.sum(passed ** 2))
        # the mean of so many states is right within 0.5 %
        assert variance == pytest.approx(posterior * np.mean((2.0 * slope(states)) ** 2), rel=0.02)
    assert found[0] < 0.15 * found[1]  # five times as slow; the filter takes most of the other


def test_gradient_of_the_criterion_alone_is_its_derivative():
    """Without penalties, which are larger: the widths take part in both."""
    problem = motion_problem(arm3(), DesignOptions())[0]
    objective = Objective(problem, np.arange(40) * (problem.period / 40))
    x = np.random.default_rng(2).normal(size=3 * problem.space.shape[1])
    gradient = objective(x, 8.0, 0.0)[1]
    numeric = [(objective(x + step, 8.0, 0.0)[0] - objective(x - step, 8.0, 0.0)[0]) / 2e-6
               for step in 1e-6 * np.eye(len(x))]
    assert np.abs(np.array(numeric) - gradient).max() < 1e-5 * np.abs(gradient).max()


def test_the_best_motion_is_settled_on_a_finer_grid(monkeypatch):
    monkeypatch.setattr(module, 'RUNS', ((4.0, 100.0, 15), (64.0, 3e3, 15), (400.0, 1e4, 15)))
    options = DesignOptions(criterion='condition_number', friction=())
    problem = motion_problem(arm3(), options)[0]
    every = [c.value for k in range(2)
             for c in module.restart(problem, 20, k, 0, (np.inf, np.inf))]
    found = [c.value for c in module.search(problem, 20, 2, 0, 1e9, 1)]
    assert found[:len(every)] == every
    assert found[len(every)] == pytest.approx(min(every), rel=1e-3)  # from the best of both
    assert min(found) < min(every)
