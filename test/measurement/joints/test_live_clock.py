"""LiveClock: tick by tick what filtering at once gives, and motion without lag at a price."""

import numpy as np
import pytest

from ros_inertial_id.measurement import signals
from ros_inertial_id.measurement.joints.live_clock import endpoint_kernels, LiveClock
from ros_inertial_id.measurement.live import LiveMotion

PERIOD = 2e-3


def motion(t):
    """Return q, v, a (N, 1) below 1 Hz."""
    w = np.array([1.7, 3.1, 5.3])
    phase = np.outer(t, w) + [0.0, 1.0, 2.0]
    return (
        np.sin(phase).sum(1)[:, None],
        (w * np.cos(phase)).sum(1)[:, None],
        (-(w**2) * np.sin(phase)).sum(1)[:, None],
    )


@pytest.mark.parametrize('batch', [1, 7, 300])
def test_batches_of_any_size_are_filtered_as_all_at_once(batch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, 2)).cumsum(0)
    tau = rng.normal(size=(1200, 2))
    kernel = signals.zero_phase_kernel(PERIOD, 20.0, 0.06)
    kernels = (kernel, *signals.derivative_kernels(kernel, PERIOD))
    clock, states, next_tick = LiveClock(0.0, PERIOD, kernels, kernel, False), [], 0
    next_tick = clock.past + clock.half
    for low in range(0, len(x), batch):
        clock.move(x[low : low + batch])
        last = clock.moved - 1 - clock.ahead - clock.half
        if last >= next_tick:
            clock.load(tau[clock.loaded : last + clock.half + 1])
            states.append(clock.state(next_tick, last))
            next_tick = last + 1
    q, v, a = (np.concatenate([getattr(s, name) for s in states]) for name in 'qva')
    expected = signals.smoothed_derivatives(x, kernel, PERIOD)
    rows = slice(round(states[0].t[0] / PERIOD), next_tick)
    assert next_tick > 1000
    for found, whole in zip((q, v, a), expected):
        np.testing.assert_allclose(found, whole[rows], atol=1e-9 * np.abs(whole).max())
    np.testing.assert_allclose(
        np.concatenate([s.tau for s in states]), signals.smooth(tau, kernel)[rows], atol=1e-9
    )


@pytest.mark.parametrize('measured', [True, False])
def test_a_causal_clock_needs_no_future(measured):
    t = np.arange(0.0, 2.0, PERIOD)
    q, v, a = motion(t)
    clock = LiveClock(0.0, PERIOD, endpoint_kernels(PERIOD, 51), np.ones(1), measured, causal=True)
    clock.move(np.hstack([q, v]) if measured else q)
    assert clock.ahead == 0
    first, last = clock.past, len(t) - 1
    clock.load(q[first:])
    state = clock.state(first, last)
    for found, truth, share in (
        (state.q, q, 0.01),
        (state.v, v, 0.01),
        (state.a, a, 0.01 if measured else 0.05),
    ):
        # A cubic over 0.1 s of 0.84 Hz: (w T)^4 / 24 = 0.3 % of value, some times that of slope.
        assert np.abs(found - truth[first:]).max() < share * np.abs(truth).max()


def test_without_lag_every_sample_is_ripe_four_samples_later():
    live = LiveMotion(10.0, True, 0.0, np.eye(1))
    live.origin_ns, behind = 0, []
    for t in np.arange(400) * 1e-3:
        live.move(np.array([t]), np.sin([[t]]), np.cos([[t]]))
        live.load(0, np.array([t]), np.sin([[t]]))
        taken = live.take()
        if taken is not None:
            behind.append(t - taken[0][-1])
            np.testing.assert_allclose(taken[1].q[:, 0], np.sin(taken[1].t), atol=1e-5)
    # At once, but for a few whose stamps round to the other side of a tick.
    assert len(behind) > 280 and max(behind) < 4.5e-3
