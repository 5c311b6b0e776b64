"""Held postures: the tables of suspended_platform, and what they leave open."""

from dataclasses import replace

import numpy as np
import pytest
import two_link_postures as paper
from two_link_postures import combination, TABLE_3, TEXT, with_table_3

from ros_inertial_id.errors import ConfigError, EstimationError
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.rigs.calibration.postures import identify_held, identify_postures


@pytest.fixture(scope='module')
def result():
    return identify_postures(TEXT, paper.postures())


def value_of(result, text):
    """Return (value, standard error) of a combination as Table 3 has it, None where it is open."""
    base, factors = result.base, combination(text)
    c = np.array([factors.get(p.name, 0.0) for p in base.parameters])
    d = c[base.independent]
    return (
        (d @ result.estimate.params, np.sqrt(d @ result.estimate.cov_params @ d))
        if np.allclose(d @ base.X, c[base.dependent], atol=1e-9)
        else None
    )


def test_table_3_follows_from_table_2(result):
    for text, expected in TABLE_3.items():
        value, _ = value_of(result, text)
        assert value == pytest.approx(expected, abs=0.006), text  # rounding of Table 2


def test_postures_show_seventeen_of_eighteen_and_say_which_is_missing(result):
    assert len(result.base) == 17 and result.estimate.rank == 17
    assert value_of(result, 'Iyy0') is None


def test_missing_moment_of_inertia_lies_in_the_papers_interval(result):
    interval = with_table_3(result).intervals()['Iyy0']
    np.testing.assert_allclose(interval, (0.0, 2.4251), atol=1e-4)  # paper: 2.4250


def test_interval_of_our_own_estimate_agrees_within_its_error(result):
    low, high = result.intervals()['Iyy0']
    assert low == 0.0
    error = value_of(result, 'Iyy0 Izz1')[1]
    assert high == pytest.approx(2.425, abs=min(error, 0.01))


def test_moments_of_inertia_that_cannot_all_be_positive_are_refused(result):
    params = result.estimate.params.copy()
    params[result.base.expressions().index('Iyy0 + Izz1')] = -1.0
    with pytest.raises(EstimationError, match='no positive moments'):
        replace(result, estimate=replace(result.estimate, params=params)).intervals()


@pytest.mark.parametrize('links', ['', 'links:', 'links: {}', 'links: [a]'])
def test_postures_of_a_platform_without_links_are_refused(links):
    text = f'platform: {{pose: /platform}}\n{links}\n'
    with pytest.raises(ConfigError, match='^links; expected a mapping'):
        identify_held(text, [], options_class('suspended_platform')())
