"""What a coefficient is in lengths: the right formula among several of the same value."""

import numpy as np
import pytest

from ros_inertial_id.identification.model.symbolic_groupings import LengthFormulas

# The first time 0.2 * 0.1 = 0.02 and 0.5 - 0.2 = 0.3: one value, several formulas.
LENGTHS = {'l1': np.array([0.2, 0.206, 0.195]), 'l2': np.array([0.1, 0.098, 0.101]),
           'l3': np.array([0.02, 0.0203, 0.0199]), 'l4': np.array([0.5, 0.51, 0.49]),
           'l5': np.array([0.3, 0.296, 0.305])}


@pytest.mark.parametrize('formula,degree,text', [
    (lambda a, b, c, d, e: a * b, 2, 'l1 l2'),
    (lambda a, b, c, d, e: c, 1, 'l3'),
    (lambda a, b, c, d, e: -2 * a, 1, '2 l1'),
    (lambda a, b, c, d, e: d - a, 1, '(l4 - l1)'),
    (lambda a, b, c, d, e: e, 1, 'l5'),
    (lambda a, b, c, d, e: a * a + d * d, 2, '(l1^2 + l4^2)'),
    (lambda a, b, c, d, e: 2 * a * b - c * c, 2, '(2 l1 l2 - l3^2)'),
    (lambda a, b, c, d, e: (b + c) ** 2, 2, '(l2 + l3)^2'),
    (lambda a, b, c, d, e: -a / d, 0, 'l1/l4'),
    (lambda a, b, c, d, e: a * b / d, 1, 'l1 l2/l4'),
    (lambda a, b, c, d, e: 1 / (a * a), -2, '(1/l1^2)'),
    (lambda a, b, c, d, e: 2 / a, -1, '2 (1/l1)'),
    (lambda a, b, c, d, e: np.full(3, 0.02), 1, None),
    (lambda a, b, c, d, e: 0.7071 * a, 1, None),
    (lambda a, b, c, d, e: a + b + c, 1, None),
    (lambda a, b, c, d, e: a ** 3, 3, None)])
def test_the_formula_that_holds_each_time_is_found(formula, degree, text):
    assert LengthFormulas(LENGTHS).find(formula(*LENGTHS.values()), degree) == text
