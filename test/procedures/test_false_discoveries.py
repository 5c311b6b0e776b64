"""Findings over a fleet: the stated rate of false discoveries is kept."""

import numpy as np
import pytest

from ros_inertial_id.procedures.drift_findings import hypotheses_of, Series, significant

DAYS, SERIES, FLEETS = np.arange(12.0), 3, 200
STILL, WORN = 8, 2  # robots of a fleet
OPTIMISTIC = 3.0  # times the standard errors is the scatter: with true ones, alarms are fewer


def robots(rng, count, worn):
    """Return the Hypotheses of robots whose series depend on each other; one drifts if worn."""
    out = []
    for _ in range(count):
        mixing = np.eye(SERIES) + 0.8  # a correlation of 0.8 and more, as of one robot's series
        values = rng.normal(size=(len(DAYS), SERIES)) @ mixing
        scatter = np.linalg.norm(mixing, axis=0)
        values[:, 2] += worn * 12.0 * scatter[2] * DAYS / DAYS[-1]
        series = [Series(f'fv{k}', f'joint{k}', 'viscous', 'N m s/rad', values[:, k],
                         np.full(len(DAYS), scatter[k] / OPTIMISTIC), 1.0) for k in range(SERIES)]
        out.append(hypotheses_of(series, DAYS, None))
    return out


@pytest.fixture(scope='module')
def fleets():
    """Return (FLEETS, robots) Hypotheses, none of them in two fleets; those that wear first."""
    rng = np.random.default_rng(0)
    own = robots(rng, FLEETS * WORN, True), robots(rng, FLEETS * STILL, False)
    worn, still = (np.array(part, dtype=object).reshape(FLEETS, -1) for part in own)
    return np.hstack([worn, still])


def named(fleets, rate):
    return np.array([[bool(found) for _, found in significant(list(fleet), rate)]
                     for fleet in fleets])


@pytest.mark.parametrize('rate', [0.05, 0.1])
def test_no_more_fleets_without_a_change_name_a_robot_than_the_rate(fleets, rate):
    share = named(fleets[:, WORN:], rate).any(axis=1).mean()
    assert share <= rate + 3.0 * np.sqrt(rate * (1.0 - rate) / FLEETS)


@pytest.mark.parametrize('rate', [0.05, 0.1])
def test_of_the_robots_that_are_named_no_more_are_unchanged_than_the_rate(fleets, rate):
    found = named(fleets, rate)
    shares = found[:, WORN:].sum(axis=1) / np.maximum(1, found.sum(axis=1))
    assert shares.mean() <= rate + 3.0 * shares.std() / np.sqrt(FLEETS)
    assert found[:, :WORN].mean() >= 0.9  # twelve times the scatter is seen


def test_what_is_too_small_to_matter_is_no_finding():
    values = 0.02 * (DAYS >= 6.0)
    small = Series('fv1', 'joint1', 'viscous', 'N m s/rad', values, np.full(12, 1e-4), 1.0)
    tests = hypotheses_of([small], DAYS, None)
    assert tests.count == 1 and tests.p_value == 1.0
    assert significant([tests], 0.01) == [(1.0, ())]
