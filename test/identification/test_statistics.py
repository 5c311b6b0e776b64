"""What is known only together is named; what the choice of a model leaves open is counted."""

from types import SimpleNamespace

import numpy as np
import pytest

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.estimation.base_parameters import BaseParameters
from ros_inertial_id.identification.choose.choice import Candidate, Choice, choice_entries
from ros_inertial_id.identification.fit.model_errors import choice_errors, delay_errors
from ros_inertial_id.identification.judge.statistics import dependence


def test_what_is_known_together_is_named_with_its_inflation():
    # Of two with correlation r the variance is inflated by 1 / (1 - r^2); a third stands alone.
    sd, r = np.array([2.0, 0.1, 5.0, 1.0]), 0.96
    R = np.eye(4)
    R[0, 1] = R[1, 0] = r
    R[2, 3] = R[3, 2] = 0.999  # with one that is not determined
    shared = dependence('abcd', R * np.outer(sd, sd), np.array([True, True, True, False]))
    assert set(shared) == set('abc')
    assert shared['a']['partner'] == 'b' and shared['b']['correlation'] == pytest.approx(r)
    assert shared['a']['inflation'] == pytest.approx(1.0 / (1.0 - r**2))
    assert shared['c']['inflation'] == pytest.approx(1.0)


@pytest.mark.parametrize('z', [0.0, 2.0])
def test_a_model_that_predicts_worse_by_z_errors_counts_by_its_likelihood(z):
    base = BaseParameters(
        tuple(Parameter(f'x{k}', '', 1.0, 0.0, 1.0, 'rows') for k in range(2)),
        np.arange(2),
        np.arange(0),
        np.zeros((2, 0)),
        np.inf,
    )
    worse = 0.1 * np.array([-1.0, 1.0, -1.0, 1.0])  # standard error of their mean: 0.1 / sqrt(3)
    best, other = (
        SimpleNamespace(params=np.array(params), errors=errors, constants={})
        for params, errors in (
            ([1.0, 2.0], np.ones(4)),
            ([1.5, 0.0], np.exp(worse + z * 0.1 / np.sqrt(3.0))),
        )
    )
    choice = SimpleNamespace(
        best=best,
        candidates=[best, other],
        model_columns=SimpleNamespace(
            parameters=base.parameters, wide=SimpleNamespace(structure=SimpleNamespace(base=base))
        ),
    )
    H = choice_errors(choice, base)
    odds = np.exp(-0.5 * z**2)
    np.testing.assert_allclose(H @ H.T, odds / (1.0 + odds) * np.outer([0.5, -2.0], [0.5, -2.0]))


def test_the_left_out_error_shown_counts_every_stretch_once():
    errors = np.array([[1.0, np.nan, 3.0], [2.0, 4.0, np.nan]])  # of two sets of stretches
    best = Candidate({}, (), errors, np.zeros(2))
    (shown,) = choice_entries(Choice((), False, SimpleNamespace(target=100.0), best, [best]))
    assert shown['left_out_error'] == pytest.approx(100.0 * np.sqrt((1.5 + 4.0 + 3.0) / 100.0))


def test_rows_without_a_rate_of_efforts_show_no_error_of_a_delay():
    # Their first solution is that of what was measured, and no slope with the delay.
    summary = SimpleNamespace(time_offset_error=1e-3)
    data = SimpleNamespace(observations=[None], first=SimpleNamespace(summary=summary))
    wide = SimpleNamespace(late=False)
    columns = SimpleNamespace(wide=wide, whole=None, solve=lambda *_: np.ones((2, 1)))
    choice = SimpleNamespace(model_columns=columns, best=SimpleNamespace(params=np.ones(2)))
    assert delay_errors(data, choice, np.zeros(2)).shape == (2, 0)
