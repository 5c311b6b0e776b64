"""The R factors against least squares of all rows at once."""

import numpy as np
import pytest

from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.r_factors import combined, products_triangle, RFactors, triangle

COLUMNS = {'a': np.array([0, 1, 2, 3, 4, 5]), 'b': np.array([1, 3, 4, 5]), 'c': np.array([5])}
SIZE = 6
EVERY = np.arange(SIZE)


def block(rng, rows=40, noise=0.1):
    """Return a RegressorBlock of three groups that know more and less of six columns."""
    truth, groups = np.arange(1.0, SIZE + 1), []
    for name, columns in COLUMNS.items():
        W = rng.normal(size=(rows, len(columns)))
        y = W @ truth[columns] + noise * rng.normal(size=rows)
        groups.append(RowGroup(name, 'N m', columns, W, y, y + rng.normal(size=rows)))
    return RegressorBlock(np.arange(rows) * 1.0, 0, tuple(groups))


def accumulated(blocks, keep=EVERY, size=SIZE):
    """Return the RFactors of blocks."""
    factors = RFactors(size)
    for one in blocks:
        factors.accumulate(one, keep)
    return factors


def rows_of(blocks, standard_deviation=None):
    """Return (W, y) of all groups of all blocks, stacked and weighted."""
    W, y = [], []
    for one in blocks:
        for group in one.groups:
            weight = 1.0 / standard_deviation[group.name] if standard_deviation else 1.0
            full = np.zeros((len(group.y), SIZE))
            full[:, group.columns] = group.W
            W.append(full * weight)
            y.append(group.y * weight)
    return np.vstack(W), np.concatenate(y)


@pytest.fixture
def blocks():
    """Return blocks of several lengths, one with fewer rows than columns."""
    rng = np.random.default_rng(0)
    return [block(rng, rows) for rows in (40, 3, 1, 100, 17)]


@pytest.mark.parametrize('standard_deviation', [None, {'a': 0.5, 'b': 3.0, 'c': 0.01}])
def test_folded_blocks_give_the_batch_solution(blocks, standard_deviation):
    A, b, outside = accumulated(blocks).system(standard_deviation)
    W, y = rows_of(blocks, standard_deviation)
    solution, square, *_ = np.linalg.lstsq(W, y, rcond=None)
    np.testing.assert_allclose(np.linalg.solve(A, b), solution, rtol=1e-10)
    np.testing.assert_allclose(A.T @ A, W.T @ W, rtol=1e-10, atol=1e-10 * (W**2).sum())
    assert outside**2 == pytest.approx(square[0], rel=1e-10)
    np.testing.assert_array_equal(np.tril(A, -1), 0.0)


def test_a_prior_counts_as_further_rows(blocks):
    prior = np.triu(np.random.default_rng(5).normal(size=(SIZE + 1, SIZE + 1)))
    A, b, _ = accumulated(blocks).system(None, prior)
    W, y = rows_of(blocks, None)
    W, y = np.vstack([W, prior[:, :-1]]), np.append(y, prior[:, -1])
    np.testing.assert_allclose(
        np.linalg.solve(A, b), np.linalg.lstsq(W, y, rcond=None)[0], rtol=1e-10
    )


def test_merged_triangles_are_those_of_all_rows(blocks):
    together = accumulated(blocks)
    apart = accumulated(blocks[:2]).merge(accumulated(blocks[2:]))
    assert apart.rows() == together.rows() == 3 * 161
    for name, group in together.groups.items():
        other = apart.groups[name]
        np.testing.assert_allclose(
            other.R.T @ other.R, group.R.T @ group.R, rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize('raw', [False, True])
def test_selected_and_combined_columns_leave_what_they_leave_of_the_rows(blocks, raw):
    T, x = np.random.default_rng(4).normal(size=(SIZE, 3)), np.array([0.5, -1.0, 2.0])
    for factors, columns in (
        (accumulated(blocks).combine(T), T),
        (accumulated(blocks).select([4, 1, 3]), np.eye(SIZE)[:, [4, 1, 3]]),
    ):
        for k, (name, own) in enumerate(COLUMNS.items()):
            groups = [b.groups[k] for b in blocks]
            y = np.concatenate([g.y_raw if raw else g.y for g in groups])
            expected = np.linalg.norm(y - np.vstack([g.W for g in groups]) @ (columns @ x)[own])
            assert factors.groups[name].residual(x, raw) == pytest.approx(expected, rel=1e-10)


def test_keeps_the_accuracy_of_qr_where_normal_equations_lose_it():
    rng = np.random.default_rng(1)
    left, _ = np.linalg.qr(rng.normal(size=(4000, SIZE)))
    right, _ = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))
    W = left * np.logspace(0, -7, SIZE) @ right.T  # condition number 1e7
    truth = np.ones(SIZE)
    parts = [
        RegressorBlock(np.arange(500.0), 0, (RowGroup('a', '', EVERY, w, w @ truth, w @ truth),))
        for w in np.split(W, 8)
    ]
    A, b, _ = accumulated(parts).system()
    error = np.abs(np.linalg.solve(A, b) - truth).max()
    assert error < 1e-8  # 1e7 times 2e-16, with room; measured 1e-10
    normal = np.abs(np.linalg.solve(W.T @ W, W.T @ (W @ truth)) - truth).max()
    assert normal > 100 * error


def test_triangle_of_nothing_but_zeros_is_zero():
    np.testing.assert_array_equal(triangle(np.zeros((5, 3), order='F')), np.zeros((3, 3)))


def test_what_fades_counts_as_rows_of_less_weight(blocks):
    factors = accumulated(blocks)
    before, rows = factors.groups['a'].R, factors.groups['a'].rows
    factors.fade(0.3)
    after = factors.groups['a']
    np.testing.assert_allclose(after.R.T @ after.R, 0.3 * before.T @ before, rtol=1e-12)
    assert after.rows == pytest.approx(0.3 * rows)


def test_products_give_the_triangle_of_rows_and_nothing_of_a_column_that_others_explain():
    """Of products with each other a sum of columns is left to rounding, not below nothing."""
    rows = np.random.default_rng(3).normal(size=(50, 4)) * [1e3, 1.0, 1e-3, 1.0]
    R = np.linalg.qr(rows, mode='r')
    assert products_triangle(rows.T @ rows) == pytest.approx(np.sign(np.diag(R))[:, None] * R)
    rows = np.column_stack([rows, rows @ [1.0, 1.0, 1.0, 1.0], np.zeros(50)])
    of_sum = products_triangle(rows.T @ rows)[:, 4:]
    assert of_sum[:4, 0] == pytest.approx(np.sign(np.diag(R)) * R.sum(axis=1))
    assert np.abs(of_sum[4, 0]) < 1e-6 * np.linalg.norm(rows[:, 4]) and not of_sum[:, 1].any()


def test_products_of_combinations_are_those_of_combined_columns():
    """Columns that are taken as they are, negated, left out and summed."""
    rows = np.random.default_rng(4).normal(size=(2, 9, 4))
    T = np.array([[0.0, 1.0, 0.0, 0.5], [0.0, 0.0, -2.0, 0.5], [1.0, 0, 0, 0], [0, 0, 0, 0]])
    products = rows.swapaxes(1, 2) @ rows
    expected = (rows @ T).swapaxes(1, 2) @ (rows @ T)
    assert combined(products, T) == pytest.approx(expected)
