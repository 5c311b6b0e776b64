"""FFT convolution, spectrum, low-pass and mean of neighbours are those of scipy."""

import numpy as np
import pytest
from scipy import fft, ndimage, signal

from ros_inertial_id.measurement.sampling import (
    butterworth_kernel,
    convolve_at,
    convolve_inside,
    fast_size,
    moving_mean,
    power_spectra,
)
from ros_inertial_id.measurement.signals import FILTER_ORDER, zero_phase_kernel

RANDOM = np.random.default_rng(0)


def test_sizes_of_transforms_are_those_of_scipy():
    sizes = [*range(1, 2000), 99999, 1234567]
    assert [fast_size(n) for n in sizes] == [fft.next_fast_len(n, real=True) for n in sizes]


@pytest.mark.parametrize(
    'samples, reach', [(5, 5), (100, 1), (101, 100), (4096, 33), (50000, 1501), (9000, 4001)]
)
def test_convolution_is_that_of_direct_sums(samples, reach):
    x, kernel = RANDOM.normal(size=(samples, 3)), RANDOM.normal(size=reach)
    expected = np.stack([np.convolve(column, kernel, 'valid') for column in x.T], axis=1)
    # Rounding of sums of so many products.
    np.testing.assert_allclose(
        convolve_inside(x, kernel), expected, atol=1e-13 * samples**0.5 * reach**0.5
    )


@pytest.mark.parametrize(
    'rows',
    [slice(None), slice(0, None, 7), slice(3, -5, 33), slice(200, 201, 2), slice(700, 40, 3)],
)
def test_some_rows_of_a_convolution_are_those_of_the_whole(rows):
    x, kernel = RANDOM.normal(size=(1000, 3)), RANDOM.normal(size=151)
    expected = np.stack([np.convolve(column, kernel, 'valid') for column in x.T], axis=1)[rows]
    np.testing.assert_allclose(convolve_at(x, kernel, rows), expected, atol=1e-11)


@pytest.mark.parametrize('samples, window', [(1000, 256), (1000, 255), (64, 64), (10001, 4000)])
def test_mean_of_spectra_is_welchs(samples, window):
    x = np.cumsum(RANDOM.normal(size=(samples, 2)), axis=0)
    frequency, power = power_spectra(x, 0.004, window)
    f, p = signal.welch(x, 250.0, nperseg=window, detrend='linear', axis=0)
    np.testing.assert_allclose(frequency, f)
    np.testing.assert_allclose(power.mean(axis=0), p, rtol=1e-9, atol=1e-12 * p.max())


@pytest.mark.parametrize(
    'period, cutoff', [(0.001, 8.0), (0.004, 40.0), (0.01, 20.0), (0.001, 200.0)]
)
def test_kernel_is_that_of_a_filter_run_both_ways(period, cutoff):
    sos = signal.butter(FILTER_ORDER, 2.0 * cutoff * period, output='sos')
    half = int(np.ceil(1.0 / (cutoff * period)))
    impulse = np.zeros(2 * 40 * half + 1)
    impulse[40 * half] = 1.0
    expected = signal.sosfiltfilt(sos, impulse, padlen=0)[39 * half : 41 * half + 1]
    kernel = butterworth_kernel(period, cutoff, FILTER_ORDER, half)
    # Forty periods of the cutoff away nothing is left to cut off; near Nyquist rounding grows.
    np.testing.assert_allclose(kernel, expected, atol=1e-12 * expected.max())
    whole = zero_phase_kernel(period, cutoff)
    middle = len(whole) // 2
    np.testing.assert_allclose(whole, whole[::-1])
    np.testing.assert_allclose(
        whole[middle] / whole[middle + 1], expected[half] / expected[half + 1], rtol=1e-4
    )


@pytest.mark.parametrize('size', [1, 2, 5, 40, 90])
@pytest.mark.parametrize('mode, scipys', [('symmetric', 'reflect'), ('constant', 'constant')])
def test_mean_of_neighbours_is_that_of_ndimage(size, mode, scipys):
    x = RANDOM.normal(size=(40, 3))
    expected = ndimage.uniform_filter1d(x, size, axis=0, mode=scipys)
    # Rounding of running sums.
    np.testing.assert_allclose(moving_mean(x, size, mode), expected, atol=1e-14)
