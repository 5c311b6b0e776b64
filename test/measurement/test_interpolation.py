"""Values between jittering stamps: cubic, local, and blind beyond a gap."""

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from ros_inertial_id.measurement.sampling import interpolate


def _sine(t):
    return np.column_stack([np.sin(2 * np.pi * 2.5 * t), np.cos(2 * np.pi * 1.1 * t)])


def test_a_motion_between_jittering_stamps_is_followed():
    rng = np.random.default_rng(0)
    t = np.arange(500) * 0.01 + 0.002 * rng.uniform(-1, 1, 500)
    wanted = np.linspace(0.5, 4.5, 3777)
    found = interpolate(t, _sine(t), wanted)
    # A cubic spline is off by 5/384 h^4 w^4: 3e-5 for steps to 0.014 s; straight lines by 6e-3.
    assert abs(found - _sine(wanted)).max() < 3e-5
    linear = np.interp(wanted, t, _sine(t)[:, 0])
    assert abs(linear - _sine(wanted)[:, 0]).max() > 1e-3


@pytest.mark.parametrize('samples', [2, 3, 4, 5, 500])
def test_it_is_the_not_a_knot_spline_of_scipy(samples):
    t = np.arange(samples) * 0.01 + 0.002 * np.random.default_rng(0).uniform(-1, 1, samples)
    wanted = np.linspace(t[0] - 0.004, t[-1] + 0.004, 777)
    expected = make_interp_spline(t, _sine(t), k=min(3, samples - 1))(wanted)
    np.testing.assert_allclose(interpolate(t, _sine(t), wanted), expected, atol=1e-13)


def test_what_lies_beyond_a_gap_does_not_count():
    t = np.concatenate([np.arange(100) * 0.01, 2.0 + np.arange(100) * 0.01])
    x = np.where(t < 1.5, t, 1000.0 - t)[:, None]
    first, second = np.arange(100) * 0.01, 2.0 + np.arange(100) * 0.01
    np.testing.assert_allclose(interpolate(t, x, first)[:, 0], first, atol=1e-9)
    np.testing.assert_allclose(interpolate(t, x, second)[:, 0], 1000.0 - second, atol=1e-9)


def test_a_little_outside_the_motion_goes_on():
    t = np.arange(50) * 0.01
    wanted = np.array([-0.005, 0.2, 0.4949])
    np.testing.assert_allclose(interpolate(t, _sine(t), wanted), _sine(wanted), atol=5e-4)


@pytest.mark.parametrize('apart', [0.0, 1e-9, 1e-4])
def test_noise_of_samples_stamped_together_has_bounds(apart):
    # Two samples of one place, a thousandth of a period apart and 0.01 from each other: a spline
    # through both would shoot past by their slope.
    t = np.arange(200) * 0.01
    twice = np.sort(np.append(t, 1.0 + apart))
    x = np.ones((201, 1))
    x[101] = 1.01
    found = interpolate(twice, x, np.linspace(0.9, 1.1, 400))
    assert abs(found - 1.0).max() < 0.011


def test_few_samples_are_interpolated_by_what_they_allow():
    t = np.array([0.0, 0.1])
    np.testing.assert_allclose(interpolate(t, np.array([[1.0], [2.0]]), np.array([0.05])), [[1.5]])
    one = interpolate(t[:1], np.ones((1, 2)), np.array([0.05]))
    np.testing.assert_allclose(one, np.ones((1, 2)))
    assert interpolate(t, np.ones((2, 3)), np.empty(0)).shape == (0, 3)
