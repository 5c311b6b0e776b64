"""The wide factor against direct least squares of the same rows: gravity, delays, stretches."""

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.friction import LAWS
from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import Problem, weighted
from ros_inertial_id.estimation.r_factors import merge, RFactors
from ros_inertial_id.identification.prepare.dataset import read_dataset
from ros_inertial_id.identification.reduce.model_columns import ModelColumns
from ros_inertial_id.identification.reduce.wide_factor import wide_factor, wide_structure
from ros_inertial_id.identification.settings import options_class

OPTIONS = options_class('serial_arm')()


@pytest.mark.parametrize('condition, limit', [(1e2, 1e-9), (1e4, 1e-9), (1e6, 1e-9), (1e7, 1e-8)])
def test_triangles_of_stretches_lose_nothing_beside_direct_least_squares(condition, limit):
    rng = np.random.default_rng(3)
    rows, count = 4000, 12
    U, V = (
        np.linalg.qr(rng.standard_normal(shape))[0] for shape in ((rows, count), (count, count))
    )
    W = U * np.geomspace(1.0, 1.0 / condition, count) @ V.T * np.sqrt(rows)
    y = W @ rng.standard_normal(count) + 0.1 * rng.standard_normal(rows)
    base = find_base_parameters(
        rng.standard_normal((40, count)),
        tuple(Parameter(f'x{k}', '', 1.0, 0.0, 1e12, 'rows') for k in range(count)),
    )
    stretches = []
    for part in np.array_split(np.arange(rows), 16):
        own = RFactors(count)
        own.accumulate(
            RegressorBlock(
                part * 1e-3,
                0,
                (RowGroup('rows', '', np.arange(count), W[part], y[part], y[part]),),
            ),
            np.arange(count),
        )
        stretches.append(own)
    found = weighted(Problem(merge(stretches), base, {})).params
    # Columns of unit length, QR of all rows at once, one step of refinement: the oracle.
    size = np.linalg.norm(W, axis=0)
    Q, R = np.linalg.qr(W / size)
    direct = np.linalg.solve(R, Q.T @ y) / size
    residual = y - W @ direct
    direct += np.linalg.solve(R, Q.T @ residual) / size
    sigma = np.linalg.norm(residual) / np.sqrt(rows - count)
    error = sigma * np.linalg.norm(np.linalg.inv(R), axis=1) / size
    assert np.abs((found - direct) / error).max() < limit


@pytest.fixture(scope='module')
def arm():
    """Return (Dataset, WideFactor) of a 3R arm."""
    recording = mujoco_arm.recorded('arm3', 2)
    data = read_dataset([recording], OPTIONS, 'serial_arm', recording.robot_description)
    return data, wide_factor(
        data, wide_structure(data, data.method.parameters(data.robot, OPTIONS))
    )


def test_rows_under_any_gravity_are_algebra(arm):
    data, wide = arm
    gravity = np.array([3.0, -2.0, 7.0])
    turned = wide.total.combine(wide.columns_under_gravity(gravity - data.robot.gravity_base))
    robot = data.method.build(data.robot.urdf, OPTIONS, gravity)
    rows = {name: [] for name in wide.groups}
    for _, state in data.states(training=True):
        for block in data.method.regress(state, robot, wide.structure.columns):
            for g in block.groups:
                place = wide.structure.keep[g.columns]
                W = np.zeros((len(g.y), wide.places))
                W[:, place[place >= 0]] = g.W[:, place >= 0]
                rows[g.name].append(np.column_stack([W, g.y]))
    # The load of a gear is a magnitude: its friction stays as under gravity as given.
    affine = np.append(
        [not LAWS[p.law].loaded if p.law else True for p in wide.structure.parameters_of_places()],
        True,
    )
    for name, group in turned.groups.items():
        own = np.concatenate(rows[name])
        R = np.zeros((len(group.R), wide.places + 1))
        R[:, group.columns], R[:, -1] = group.R[:, :-2], group.R[:, -2]
        found, expected = ((x.T @ x)[np.ix_(affine, affine)] for x in (R, own))
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_what_is_left_out_is_predicted_from_the_others_alone(arm):
    data, wide = arm
    model_columns = ModelColumns(wide, data.robot.gravity_base)
    (errors,) = model_columns.left_out([model_columns.plain])
    one = wide.sets_left_out().every[0]
    rest = np.setdiff1d(np.arange(model_columns.count), one)
    A, b = [model_columns.prior.rows[:, :-1]], [model_columns.prior.rows[:, -1]]
    for j, name in enumerate(model_columns.names):
        for s in rest:
            group = wide.stretches[s].groups[name]
            own = np.zeros((len(group.R), model_columns.size + 2))
            first = group.columns < wide.places
            own[:, group.columns[first]] = group.R[:, :-2][:, first]
            A.append(own * model_columns.prior_sd / model_columns.sd[j])
            b.append(group.R[:, -2] / model_columns.sd[j])
    A, b = np.vstack(A)[:, model_columns.plain], np.concatenate(b)
    x = np.linalg.lstsq(A, b, rcond=None)[0] * model_columns.prior_sd[model_columns.plain]
    for s in one:
        square = 0.0
        for j, name in enumerate(model_columns.names):
            group = wide.stretches[s].groups[name]
            own = np.zeros((len(group.R), model_columns.size + 2))
            first = group.columns < wide.places
            own[:, group.columns[first]] = group.R[:, :-2][:, first]
            left = group.R[:, -2] - own[:, model_columns.plain] @ x
            square += left @ left / model_columns.sd[j] ** 2
        assert errors[0, s] == pytest.approx(square, rel=1e-6)
    assert np.isnan(errors[0, rest]).all()


def test_a_solution_leaves_its_prior_as_it_was(arm):
    """Also rows that are in memory column by column, which a QR in place would overwrite."""
    data, wide = arm
    columns = ModelColumns(wide, data.robot.gravity_base)
    every = np.arange(len(columns.prior.unit))
    judge = columns.about(np.eye(len(every)), columns.prior.of(every), columns.weights)
    before = judge.prior.rows.copy()
    np.testing.assert_allclose(
        judge.whole.triangle,
        columns.whole.triangle,
        atol=1e-9 * np.abs(columns.whole.triangle).max(),
    )
    np.testing.assert_array_equal(judge.prior.rows, before)


def test_a_column_exchanged_is_a_solution_with_the_other(arm):
    data, wide = arm
    model_columns = ModelColumns(wide, data.robot.gravity_base)
    name, alternatives = next(iter(wide.structure.choices.items()))
    now = next(k for k in alternatives if k in model_columns.plain)
    others = np.array([k for k in alternatives if k != now][:3])
    group = model_columns.names.index(model_columns.parameters[now].owner)
    without = model_columns.plain[model_columns.plain != now]
    found = model_columns.exchanged(without, others, group)
    for errors, k in zip(found, others):
        at = np.append(without, k)
        for one, stacked, own in zip(wide.sets_left_out().every, model_columns.without, errors):
            x = model_columns.solution(stacked, at)[:, None]
            direct = model_columns.errors(x, one)[:, group, 0]
            np.testing.assert_allclose(own[one], direct, rtol=1e-7)
    assert name == model_columns.parameters[now].name
