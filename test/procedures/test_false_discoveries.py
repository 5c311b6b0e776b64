"""Findings over a fleet: the stated rate of false discoveries is kept."""

import numpy as np
import pytest

from ros_inertial_id.procedures.drift_findings import hypotheses_of, Series, significant

DAYS, ROBOTS, SERIES = np.arange(12.0), 60, 6


def fleet(rng, drifting):
    """Return the Hypotheses of robots whose series depend on each other; the first ones drift."""
    out = []
    for robot in range(ROBOTS):
        mixing = np.eye(SERIES) + 0.8  # a correlation of 0.8 and more, as of one robot's series
        values = rng.normal(size=(len(DAYS), SERIES)) @ mixing
        errors = np.linalg.norm(mixing, axis=0)
        values[:, 2] += (robot < drifting) * 12.0 * errors[2] * DAYS / DAYS[-1]
        series = [Series(f'fv{k}', f'joint{k}', 'viscous', 'N m s/rad', values[:, k],
                         np.full(len(DAYS), errors[k]), 1.0) for k in range(SERIES)]
        out.append(hypotheses_of(series, DAYS, None))
    return out


@pytest.mark.parametrize('drifting', [0, 20])
def test_the_rate_of_false_discoveries_is_kept(drifting):
    rng, rate, runs, shares, found = np.random.default_rng(drifting), 0.2, 12, [], 0
    for _ in range(runs):
        named = [bool(findings) for _, findings in significant(fleet(rng, drifting), rate)]
        shares.append(sum(named[drifting:]) / max(1, sum(named)))
        found += sum(named[:drifting])
    # The share has a standard deviation of 0.4 at most without any drift: three of the mean.
    assert np.mean(shares) <= rate + 3.0 * 0.4 / np.sqrt(runs) * (1.0 if not drifting else 0.3)
    assert found >= 0.9 * runs * drifting  # twelve standard errors are seen


def test_what_is_too_small_to_matter_is_no_finding():
    values = 0.02 * (DAYS >= 6.0)
    small = Series('fv1', 'joint1', 'viscous', 'N m s/rad', values, np.full(12, 1e-4), 1.0)
    tests = hypotheses_of([small], DAYS, None)
    assert tests.count == 1 and tests.p_value == 1.0
    assert significant([tests], 0.01) == [(1.0, ())]
