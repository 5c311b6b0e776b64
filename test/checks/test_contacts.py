"""Test contacts on residuals that are made up, with what friction and noise do beside them."""

import numpy as np
import pytest
from scipy.signal import lfilter

from ros_inertial_id.checks.contacts import contact_findings
from ros_inertial_id.checks.finding import MASKED

JOINTS, STEP = ('a', 'b', 'c', 'd'), 0.03
TORQUE = np.array([20.0, 30.0, 8.0, 2.0])


def _motion(seed, seconds=40.0):
    """Return t (N,), velocities (N, 4) and residuals: correlated noise with heavy tails."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, STEP)
    velocity = np.sin(np.outer(t, 2.0 * np.pi * rng.uniform(0.1, 0.4, 4)) + rng.uniform(0, 6, 4))
    noise = lfilter([1.0], [1.0, -0.8], rng.standard_t(4.0, (len(t), 4)), axis=0)
    return t, velocity, 0.02 * TORQUE * noise / noise.std(0)


def _found(t, velocity, residual, smear=0.0):
    return contact_findings(t, residual, TORQUE, velocity, JOINTS, smear)


@pytest.mark.parametrize('seed', range(20))
def test_noise_with_heavy_tails_and_friction_at_reversals_are_no_contact(seed):
    t, velocity, residual = _motion(seed)
    assert not _found(t, velocity, residual)
    # A gearbox whose breakaway is half of its torque, wherever it stands or turns round.
    assert not _found(t, velocity, residual + 0.5 * TORQUE * (np.abs(velocity) < 0.05))
    velocity[300:500, 2] = 0.0
    residual[300:500, 2] += TORQUE[2]
    assert not _found(t, velocity, residual)


def test_a_pushed_link_is_found_where_it_is_pushed():
    missed = 0
    for seed in range(20):
        t, velocity, residual = _motion(seed)
        start = np.random.default_rng(seed).uniform(3.0, 35.0)
        push = np.sin(np.pi * np.clip((t - start) / 0.8, 0.0, 1.0))
        pushed = residual + np.outer(push, 0.5 * TORQUE * (np.arange(4) < 2))
        found = _found(t, velocity, pushed)
        missed += not found
        if found:
            (contact,), ((low, high),) = found, found[0].windows
            assert contact.severity == MASKED and set(contact.joints) <= {'a', 'b'}
            # The filter and the averaging smear what begins by a fifth of a second.
            assert low == pytest.approx(start, abs=0.25)
            assert high == pytest.approx(start + 0.8, abs=0.25)
    assert missed <= 2  # one that a reversal of both joints hides


def test_what_a_wrist_alone_does_and_where_motion_begins_is_no_contact():
    t, velocity, residual = _motion(3)
    small, early = residual.copy(), residual.copy()
    small[600:630, 3] += 0.3 * TORQUE[3]  # 2 % of all torques are more
    early[:40, :2] += TORQUE[:2]
    assert not _found(t, velocity, small) and not _found(t, velocity, early)


def test_a_reversal_that_the_filter_smears_is_no_contact():
    t, velocity, residual = _motion(4)
    velocity[:] = np.sin(0.4 * np.pi * t)[:, None]  # all joints turn round every 2.5 s
    k = np.searchsorted(t, 12.5)
    residual += np.exp(-(((t - t[k]) / 0.3) ** 2))[:, None] * TORQUE
    assert not _found(t, velocity, residual, smear=1.0)
