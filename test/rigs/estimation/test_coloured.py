"""Standard errors under noise that grows with frequency: what they say is what happens."""

import numpy as np
import pytest
from scipy.signal import butter, sosfiltfilt

from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.residuals import Residuals
from ros_inertial_id.rigs.estimation.instrumental import score_covariance, tapered_autocovariances

RATE, SAMPLES = 100.0, 1000


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
    W, rng, beta = _columns(), np.random.default_rng(0), np.array([3.0, -2.0])
    inverse, place = np.linalg.inv(W.T @ W), np.arange(2)
    found, stated, plain = [], [], []
    for _ in range(200):
        block = _block(W, W @ beta + _noise(rng))
        estimate = inverse @ W.T @ block.groups[0].y
        residuals = Residuals()
        residuals.add(block, {'x': W @ estimate})
        scores = score_covariance(
            [(block, block)], tapered_autocovariances(residuals), {'x': 1.0}, place
        )
        found.append(estimate)
        stated.append(np.diag(inverse @ scores @ inverse))
        plain.append(
            np.diag(inverse)
            * residuals.filtered.residual['x']
            / SAMPLES
            * residuals.correlation()['x']
        )
    actual, stated, plain = np.std(found, 0), *(np.sqrt(np.mean(x, 0)) for x in (stated, plain))
    # 200 runs know a deviation to 5 %; the window smears the spectrum, so it errs upwards.
    assert np.all(stated > 0.85 * actual)
    # What size and correlation time alone would say is several times as much.
    assert np.all(stated < 0.6 * plain) and stated[1] < 2.2 * actual[1]


@pytest.mark.parametrize('seed', range(5))
def test_no_motion_has_a_negative_variance(seed):
    """
    The autocovariance is cut off; the taper keeps its spectrum that of a noise, which is >= 0.

    A spectrum below zero at the frequency of a motion would give its size a negative variance.
    """
    residuals = Residuals()
    noise = _noise(np.random.default_rng(seed))
    residuals.add(_block(np.zeros((SAMPLES, 2)), noise), {'x': np.zeros(SAMPLES)})
    gamma = tapered_autocovariances(residuals)['x']
    middle = len(gamma) // 2
    assert gamma[middle] == pytest.approx(noise.var(), rel=0.01)  # of a mean near zero
    lags = np.arange(-middle, middle + 1)
    waves = np.cos(np.outer(np.linspace(0.0, np.pi, 500), lags))
    spectrum = waves @ gamma
    assert spectrum.min() > -1e-9 * spectrum.max()
