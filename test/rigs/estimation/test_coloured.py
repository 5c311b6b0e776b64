"""Standard errors under noise that grows with frequency: what they say is what happens."""

import numpy as np
from scipy.signal import butter, sosfiltfilt

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import Problem, weighted
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.estimation.residuals import residuals_of
from ros_inertial_id.rigs.estimation.motion_noise import DRAWS, motion_noise, NoisyRows

RATE, SAMPLES, REPETITIONS = 100.0, 1000, 60
COLUMNS = tuple(Parameter(name, 'kg', 1.0, 0.0, 1e3, 'body') for name in 'ab')
BETA = np.array([3.0, -2.0])


def _columns():
    """Return rows (N, 2) of a swing at 1 Hz and one at 2.3 Hz."""
    t = np.arange(SAMPLES) / RATE
    return np.column_stack([np.sin(2 * np.pi * t), np.cos(2 * np.pi * 2.3 * t)])


def _noise(rng):
    """Return white noise differentiated twice behind a low-pass of 8 Hz."""
    white = rng.standard_normal(SAMPLES + 200)
    smooth = sosfiltfilt(butter(2, 8.0, fs=RATE, output='sos'), white)
    return np.diff(smooth, 2)[99 : 99 + SAMPLES] * RATE**2


def _block(W, y):
    return RegressorBlock(
        np.arange(SAMPLES) / RATE, 0, (RowGroup('x', 'N', np.arange(2), W, y, y),)
    )


def test_stated_errors_are_those_of_many_repetitions():
    W, rng = _columns(), np.random.default_rng(0)
    base = find_base_parameters(np.random.default_rng(1).standard_normal((30, 2)), COLUMNS)
    found, stated, plain = [], [], []
    for _ in range(REPETITIONS):
        block, factors = _block(W, W @ BETA + _noise(rng)), RFactors(2)
        factors.accumulate(block, np.arange(2))
        values = np.linalg.lstsq(W, block.groups[0].y, rcond=None)[0]
        residuals = residuals_of([block], values)
        problem = Problem(factors, base, residuals.correlation())
        estimate = weighted(problem)
        pairs = [
            NoisyRows(block, _block(W, block.groups[0].y + _noise(rng)), draw, 1.0)
            for draw in range(DRAWS)
        ]
        noise = motion_noise(pairs, base.places(), values, residuals)
        found.append(estimate.params)
        stated.append(noise.made_good(problem, estimate, None).bse)
        plain.append(estimate.bse)
    actual, stated, plain = (
        np.std(found, 0),
        *(np.sqrt(np.mean(np.square(x), 0)) for x in (stated, plain)),
    )
    # 60 runs know a deviation to 10 %; a few percent of the residual may be the torque's.
    assert np.all(stated > 0.8 * actual) and stated[1] < 1.6 * actual[1]
    # What size and correlation time alone would say is several times as much.
    assert np.all(stated < 0.6 * plain)
