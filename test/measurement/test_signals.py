"""One clock under jittering stamps, zero-phase filtering, and the cutoff chosen from data."""

import mujoco_arm
import numpy as np
import pytest
from scipy import signal

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement import signals

PERIOD = 0.002


def stamps(times):
    """Return int64 nanoseconds of times [s]."""
    return np.round(np.asarray(times) * 1e9).astype(np.int64)


def clock_of(times):
    """Return the clock under times [s]."""
    ns = stamps(times)
    return signals.uniform_clock(ns, int(ns[0]), '/joint_states')


def test_the_period_of_jittering_stamps_is_their_median():
    rng = np.random.default_rng(0)
    clock = clock_of(np.arange(5000) * PERIOD + rng.uniform(0, 0.8 * PERIOD, 5000))
    # Quartiles of the steps are 0.4 periods apart: the median of 5000 is good to a percent.
    assert clock.period == pytest.approx(PERIOD, rel=0.01)
    assert len(clock.segments) == 1 and clock.gaps == 0


def test_lost_samples_are_counted_and_bridged():
    t = np.delete(np.arange(1000) * PERIOD, [100, 101, 102, 500])
    clock = clock_of(t)
    assert clock.missing == 4 and clock.samples == 996
    assert clock.segments == ((0.0, 1000),)


def test_longer_gaps_cut_the_clock_into_segments():
    t = np.concatenate([np.arange(300) * PERIOD, 7.0 + np.arange(200) * PERIOD])
    clock = clock_of(t)
    assert clock.gaps == 1
    assert clock.segments == ((0.0, 300), (7.0, 200))


def test_time_running_backwards_is_refused_with_the_place():
    t = np.arange(100) * 0.01
    t[60:] -= 0.3
    with pytest.raises(
        RecordingError,
        match=r'stamps of /joint_states run backwards 1 times; '
        r'found first by 0\.290000 s at 0\.590 s .sample 59',
    ):
        clock_of(t)


def test_two_samples_are_too_short():
    with pytest.raises(RecordingError, match='too short; expected at least 3 samples; found 2'):
        clock_of([0.0, 0.1])


@pytest.mark.parametrize('share', [0.01, 0.1, 0.2, 0.25])
def test_the_end_of_a_kernel_does_not_bend_its_passband(share):
    """A motion of 1 rad is changed by 1e-5 at most, less than encoders show, up to a quarter."""
    kernel = signals.zero_phase_kernel(PERIOD, share / PERIOD)
    wanted = np.linspace(0.0, 0.45 / PERIOD, 400)
    _, ours = signal.freqz(kernel, worN=wanted, fs=1 / PERIOD)
    _, once = signal.sosfreqz(
        signal.butter(signals.FILTER_ORDER, 2 * share, output='sos'), worN=wanted, fs=1 / PERIOD
    )
    np.testing.assert_allclose(np.abs(ours), np.abs(once) ** 2, atol=1e-5)


def test_filter_keeps_straight_lines_up_to_the_ends():
    line = np.outer(np.arange(400.0), [1.0, -2.0]) + 5.0
    kernel = signals.zero_phase_kernel(PERIOD, 20.0)
    np.testing.assert_allclose(signals.smooth(line, kernel), line, atol=1e-8)


def test_a_shorter_kernel_for_live_use_still_filters():
    kernel = signals.zero_phase_kernel(PERIOD, 5.0, half_width=0.05)
    assert len(kernel) == 2 * 25 + 1
    response = np.abs(signal.freqz(kernel, worN=[0.0, 0.5, 60.0], fs=1 / PERIOD)[1])
    assert response[0] == pytest.approx(1.0) and response[1] > 0.95 and response[2] < 0.05


def test_a_cutoff_near_half_the_rate_filters_nothing():
    x = np.random.default_rng(0).normal(size=(50, 1))
    np.testing.assert_array_equal(signals.smooth(x, signals.zero_phase_kernel(0.01, 50.0)), x)


@pytest.mark.parametrize('share, error', [(1 / 40, 1e-12), (1 / 10, 1e-6), (1 / 4, 1e-2)])
def test_derivatives_are_right_up_to_a_quarter_of_the_rate(share, error):
    # Order 12: the error of a sine is (w h)^12 / 12012 for slow ones; two-point differences lose
    # 13 % of the second derivative at a tenth of the rate.
    k = np.arange(400)
    w = 2 * np.pi * share
    first, second = signals.smoothed_derivatives(np.sin(w * k)[:, None], np.ones(1), 1.0)[1:]
    inner = slice(40, -40)
    assert abs(first[inner, 0] - w * np.cos(w * k)[inner]).max() < error * w
    assert abs(second[inner, 0] + w**2 * np.sin(w * k)[inner]).max() < 2 * error * w**2


def test_a_lost_sample_spoils_the_derivative_no_further_than_the_stencil():
    x = np.sin(0.1 * np.arange(60))[:, None]
    x[30] = np.nan
    seen = np.isfinite(signals.differentiate(x, 1.0))[:, 0]
    assert seen[: 30 - signals.STENCIL].all() and seen[31 + signals.STENCIL :].all()


def test_cutoff_ignores_joints_that_stand_still():
    t = np.arange(20000) * PERIOD
    rng = np.random.default_rng(0)
    v = np.sin(2 * np.pi * t)[:, None] + 0.005 * rng.normal(size=(len(t), 1))
    alone = signals.choose_cutoff([v], PERIOD)
    still = np.zeros_like(v)
    assert signals.choose_cutoff([np.hstack([v, still, still])], PERIOD) == alone


def _cutoff(v, rate, noise=1e-3):
    noisy = v + noise * np.random.default_rng(1).normal(size=v.shape)
    return signals.choose_cutoff([noisy], 1.0 / rate)[0]


@pytest.mark.parametrize('rate', [250.0, 1000.0])
@pytest.mark.parametrize('duration', [3.0, 40.0])
@pytest.mark.parametrize('top', [0.5, 2.0, 10.0])
def test_the_cutoff_is_never_below_a_sine(top, duration, rate):
    t = np.arange(int(duration * rate)) / rate
    sine = np.sin(2 * np.pi * top * t)[:, None]  # 1 rad/s
    # A short recording of a slow motion leaks up to a few Hz above its noise.
    assert 3.0 * top < _cutoff(sine, rate) < max(25.0, 5.0 * top)
    # The same of positions: differences of their noise grow with the frequency.
    q = -np.cos(2 * np.pi * top * t)[:, None] / (2 * np.pi * top)
    q += 1e-5 * np.random.default_rng(0).normal(size=q.shape)
    assert 3.0 * top < _cutoff(signals.differentiate(q, 1 / rate), rate, 0.0) < max(25.0, 5 * top)


@pytest.mark.parametrize('rate', [250.0, 1000.0])
@pytest.mark.parametrize('noise', [1e-3, 1e-2])
@pytest.mark.parametrize('length', [1.0, 3.0, 20.0])
def test_the_cutoff_is_never_below_a_periodic_motion(length, noise, rate):
    v = mujoco_arm.motion(3, 40.0, rate, seed=int(length), period=length)[2]
    top = 5.0 / length
    assert 3.0 * top < _cutoff(v, rate, noise) < max(18.0, 5.0 * top)


@pytest.mark.parametrize('size', [1.0, 0.03])
def test_a_high_harmonic_beyond_a_wide_gap_is_motion(size):
    t = np.arange(10000) / 250.0
    v = np.sin(2 * np.pi * 0.3 * t) + size * np.sin(2 * np.pi * 8.0 * t)
    assert 24.0 < _cutoff(v[:, None], 250.0) < 40.0


@pytest.mark.parametrize('rate', [10.0, 15.0, 20.0, 50.0])
def test_a_motion_near_a_quarter_of_the_rate_is_found(rate):
    t = np.arange(int(60.0 * rate)) / rate
    sine = np.sin(2 * np.pi * 0.23 * rate * t)[:, None]
    assert _cutoff(sine, rate) == pytest.approx(rate / 4)


def test_a_quantised_motion_without_low_harmonics_is_kept():
    q = mujoco_arm.motion(6, 20.0, 250.0, period=1.0)[1]
    v = signals.differentiate(np.round(q / 1e-4) * 1e-4, 1 / 250.0)
    assert 15.0 < _cutoff(v, 250.0, 0.0) < 25.0


def _lines(t, low, high, joints, speed=1.0, seed=1):
    """Return positions and velocities (N, n) with lines from low to high, 0.1 Hz apart."""
    omega = 2 * np.pi * np.arange(low, high + 0.05, 0.1)
    size = np.random.default_rng(seed).normal(size=(2, len(omega), joints)) / omega[:, None]
    size *= speed / np.sqrt((size**2).sum((0, 1)) / 2)
    sin, cos = np.sin(np.outer(t, omega)), np.cos(np.outer(t, omega))
    return (sin / omega) @ size[0] - (cos / omega) @ size[1], cos @ size[0] + sin @ size[1]


GLITCHES = {  # velocities of one joint [rad/s] at t, every so many seconds
    'velocity jumps up and down': lambda t, every: 0.1 * (t // every % 2),
    'velocity jumps and comes back': lambda t, every: 0.1 * (t > every) * (1.0 - t / every % 1.0),
    'position slips in 16 ms': lambda t, every: (
        1.2 * np.maximum(0.0, np.sin(np.pi * np.minimum(t % every, 0.016) / 0.016))
    ),
    'velocity is wrong for 12 ms': lambda t, every: 0.1 * (t % every < 0.012),
}


@pytest.mark.parametrize('rate', [30.0, 1000.0])
@pytest.mark.parametrize('speed', [0.1, 1.0])
@pytest.mark.parametrize('glitch', GLITCHES)
@pytest.mark.parametrize('measured', [False, True])
def test_a_glitch_of_one_joint_raises_no_cutoff(rate, speed, glitch, measured):
    t = np.arange(int(60.0 * rate)) / rate
    q, v = _lines(t, 0.1, 3.0, 7, speed)
    rng = np.random.default_rng(0)

    def cutoff(extra):
        extra = np.outer(extra, np.eye(7)[3])
        if measured:
            return _cutoff(v + extra, rate)
        noisy = q + np.cumsum(extra, axis=0) / rate + 1e-5 * rng.normal(size=q.shape)
        return _cutoff(signals.differentiate(noisy, 1 / rate), rate, 0.0)

    clean = cutoff(np.zeros(len(t)))
    assert min(3.0 * 3.0, rate / 4) <= clean < 8.0 * 3.0
    assert cutoff(GLITCHES[glitch](t, 10.0)) == pytest.approx(clean, rel=0.3)


@pytest.mark.parametrize('rate', [100, 1000])
@pytest.mark.parametrize(
    'fault',
    [
        lambda t, v: v + 0.05 * np.sin(2 * np.pi * 0.21 * len(t) / t[-1] * t),
        lambda t, v: v + 0.3 * (np.arange(len(t)) % 10 == 0),
        lambda t, v: v * (np.arange(len(t)) % 50 > 0),
        lambda t, v: v[np.arange(len(t)) // 10 * 10],
    ],
    ids=['tone', 'spikes', 'zeros', 'held'],
)
def test_what_velocities_of_one_joint_show_and_positions_do_not_is_no_motion(rate, fault):
    t, rng = np.arange(40 * rate) / rate, np.random.default_rng(0)
    q, v = _lines(t, 0.1, 3.0, 7)
    differences = [signals.differentiate(q + 2e-5 * rng.normal(size=q.shape), 1 / rate)]
    v += 2e-3 * rng.normal(size=v.shape)
    clean = signals.choose_cutoff([v], 1 / rate, differences)[0]
    assert clean == signals.choose_cutoff([v], 1 / rate)[0]
    v[:, 3] = fault(t, v[:, 3])
    assert signals.choose_cutoff([v], 1 / rate, differences)[0] == pytest.approx(clean, rel=0.3)


@pytest.mark.parametrize('every', [1.0, 2.0])
def test_jumps_that_a_controller_smooths_are_no_motion_up_to_its_bandwidth(every):
    t = np.arange(60 * 250) / 250.0
    _, v = _lines(t, 0.1, 3.0, 7, 0.2)
    wrong = signal.sosfilt(
        signal.butter(2, 40.0, fs=250.0, output='sos'), 0.1 * (t % every < 0.012)
    )
    clean = _cutoff(v, 250.0)
    assert _cutoff(v + np.outer(wrong, np.eye(7)[3]), 250.0) == pytest.approx(clean, rel=0.3)


@pytest.mark.parametrize('rate', [100.0, 1000.0])
@pytest.mark.parametrize('before', [0.0, 1.0])
@pytest.mark.parametrize('share', [0.25, 0.5])
def test_a_joint_that_is_fast_for_a_while_is_not_cut(rate, before, share):
    t = np.arange(int(30.0 * rate)) / rate
    slow = np.sin(2 * np.pi * (0.3 * t[:, None] + np.arange(5) / 5.0))
    late = t > 30.0 * (1.0 - share)
    fast = np.where(late, np.sin(2 * np.pi * 8.0 * t), before * np.sin(2 * np.pi * 0.2 * t))
    assert _cutoff(np.column_stack([slow, fast]), rate) >= min(2.0 * 8.0, rate / 4)


@pytest.mark.parametrize('rate', [30.0, 1000.0])
@pytest.mark.parametrize('noise', [1e-5, 3e-4])
def test_joints_that_move_in_turn_and_rest_are_not_cut(rate, noise):
    """Quintic moves of one second: most of their acceleration is below 2 Hz."""
    t = np.arange(int(60.0 * rate)) / rate
    q = noise * np.random.default_rng(0).normal(size=(len(t), 6))
    for move in range(30):
        s = np.clip(t - 2.0 * move - 0.3, 0.0, 1.0)
        q[:, move % 6] += (-1) ** (move // 6) * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    assert _cutoff(signals.differentiate(q, 1 / rate), rate, 0.0) >= min(3.0 * 2.0, rate / 4)


@pytest.mark.parametrize('rate', [30.0, 1000.0])
@pytest.mark.parametrize('noise', [1e-5, 1e-3])
@pytest.mark.parametrize('order', [0, 1, 2, 3])
def test_the_quiet_below_a_motion_is_no_valley(rate, noise, order):
    """Lines from 2 to 5 Hz, or chance that fades beyond 5 Hz with (5 Hz / f)^order."""
    t, rng = np.arange(int(60.0 * rate)) / rate, np.random.default_rng(0)
    if order:
        v = rng.normal(size=(len(t), 3))
        for band in (
            signal.butter(3, 2.0, 'high', fs=rate, output='sos'),
            signal.butter(order, 5.0, fs=rate, output='sos'),
        ):
            v = signal.sosfilt(band, v, axis=0)
        q = np.cumsum(v / v.std(axis=0), axis=0) / rate
    else:
        q, _ = _lines(t, 2.0, 5.0, 3)
    q = q + noise * rng.normal(size=q.shape)
    assert _cutoff(signals.differentiate(q, 1 / rate), rate, 0.0) >= min(3.0 * 5.0, rate / 4)


@pytest.mark.parametrize('rate', [30.0, 1000.0])
@pytest.mark.parametrize('step', [1e-4, 3e-3])
def test_a_coarse_encoder_of_a_slow_motion_sets_no_high_cutoff(rate, step):
    t = np.arange(int(60.0 * rate)) / rate
    q = np.outer(np.sin(2 * np.pi * 0.2 * t), [1.0, 0.5, 0.2])
    v = signals.differentiate(np.round(q / step) * step, 1 / rate)
    assert 3.0 * 0.2 < _cutoff(v, rate, 0.0) < 12.0


@pytest.mark.parametrize('rate', [30.0, 1000.0])
@pytest.mark.parametrize('size', [1.0, 0.03])
def test_a_fast_wrist_among_slow_joints_is_not_cut(rate, size):
    t = np.arange(int(60.0 * rate)) / rate
    q, _ = _lines(t, 0.1, 1.0, 6)
    q = np.column_stack([q, size * np.cos(2 * np.pi * 8.0 * t) / (2 * np.pi * 8.0)])
    q += 1e-5 * np.random.default_rng(0).normal(size=q.shape)
    v = signals.differentiate(q, 1 / rate)
    assert min(2.0 * 8.0, rate / 4) <= _cutoff(v, rate, 0.0) < 5.0 * 8.0


def test_a_recording_of_few_samples_has_a_cutoff():
    for count in range(2, 12):
        v = np.random.default_rng(count).normal(size=(count, 2))
        assert 1.0 <= signals.choose_cutoff([v], 0.01)[0] <= 25.0
