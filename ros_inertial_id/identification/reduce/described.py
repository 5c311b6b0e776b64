"""
Bodies as described: a LeftOut whose bodies are those of the description, friction alone free.

It sees what free bodies absorb: a gain of all joints, a load, gravity that was taken off.
"""

from dataclasses import dataclass

import numpy as np

from .left_out import Elements, LeftOut, Prior, Weights
from .model_columns import ModelColumns
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import bodies
from ...estimation.r_factors import of_columns, triangle
from ...measurement.joints.effort_source import DESCRIBED_SCALE

USUAL_LOAD = np.array([2.0] + [0.4] * 3 + [0.08] * 6)  # [kg, kg m, kg m^2]


@dataclass(frozen=True)
class OneLinkFree:
    """
    What all rows say where ten parameters of one link are free, the other links as described.

    mass : by how much it is heavier than described [kg]; error : standard error of it, as the
        other links are off as descriptions are
    left : weighted squares of the residual; of_none : the same where no link is free
    """

    mass: float
    error: float
    left: float
    of_none: float

    @property
    def explains_most(self) -> bool:
        """Return whether less than a half of the squared residual is left."""
        return self.left < 0.5 * self.of_none


def described_bodies(
    model_columns: ModelColumns,
    column_indices: np.ndarray,
    link: int | None = None,
    floor: float = 0.0,
) -> LeftOut:
    """
    Return the LeftOut to which bodies are those described, whose torques are elements.

    column_indices : (k,) of the model_columns, of which friction is free
    link : number of one whose ten parameters are free, too, the last unknowns
    floor : see LeftOut
    Targets are to be less the torques of the described bodies: see ``less_described``.
    """
    T, deviations = _all_friction(model_columns, column_indices)
    if link is not None:
        T = np.hstack([T, columns_of_link(model_columns, link)])
        deviations = np.append(deviations, USUAL_LOAD)
    prior = Prior.of_zero(deviations)
    plain = model_columns.about(T, prior, model_columns.weights, floor)
    return LeftOut(
        model_columns.wide,
        plain.groups,
        prior,
        _weights(plain, model_columns),
        model_columns.elements,
        floor,
    )


def less_described(elements: Elements, targets: np.ndarray, gravity: np.ndarray) -> np.ndarray:
    """
    Return ``targets`` (groups, e, W) less the torques of the described bodies.

    gravity : (3,) or (3, W) in the base frame [m/s^2]
    """
    out = targets.copy()
    out[:, elements.still] -= 1.0
    out[:, elements.gravity] -= np.reshape(gravity, (3, -1))
    return out


def measured_targets(elements: Elements, groups: int) -> np.ndarray:
    """Return the targets (groups, e, 1) of what was measured."""
    out = np.zeros((groups, elements.count, 1))
    out[:, elements.measured] = 1.0
    return out


def each_link_free(
    model_columns: ModelColumns,
    column_indices: np.ndarray,
    judge: LeftOut,
    targets: np.ndarray,
    nominal: np.ndarray,
) -> list[OneLinkFree]:
    """
    Return OneLinkFree of every link.

    column_indices : see ``described_bodies``, which gave ``judge`` without a link
    targets : (groups, e, 1) less the torques of the described bodies
    nominal : (10 n,) standard parameters of these
    """
    friction, deviations = _all_friction(model_columns, column_indices)
    count, links = len(deviations), len(nominal) // 10
    T = [friction, *(columns_of_link(model_columns, k) for k in range(links))]
    R = _triangle_of_all(model_columns, np.hstack(T), judge.sd, targets)
    of_none = of_columns(R, np.append(np.arange(count), R.shape[1] - 1))[-1, -1] ** 2
    unit = np.append(deviations, USUAL_LOAD)
    ten = count + np.arange(10 * links).reshape(links, 10)
    described = np.column_stack([R[:, of_link] @ nominal[of_link - count] for of_link in ten])
    out = []
    for k, of_link in enumerate(ten):
        chosen = np.append(np.arange(count), of_link)
        left = of_columns(R, np.append(chosen, R.shape[1] - 1))[-1, -1] ** 2
        rows = np.vstack([R[:, chosen] * unit, np.eye(len(unit))])
        asked = np.column_stack([R[:, -1], np.delete(described, k, axis=1)])
        solutions = np.linalg.solve(rows.T @ rows, rows[: len(R)].T @ asked)
        mass, *by_others = unit[count] * solutions[count]
        error = DESCRIBED_SCALE * float(np.linalg.norm(by_others))
        out.append(OneLinkFree(float(mass), error, float(left), float(of_none)))
    return out


def _triangle_of_all(model_columns, T, sd, targets):
    """Return the triangle of all rows over ``sd``, about columns T (P, k) and the target, last."""
    rows = []
    for group, target, of_group in zip(model_columns.groups, targets, sd):
        R = group.triangle(model_columns.elements.count)
        columns, elements = R[:, : group.count], R[:, group.count :]
        rows.append(np.hstack([columns @ T[group.index], elements @ target]) / of_group)
    return triangle(np.asfortranarray(np.vstack(rows)))


def _all_friction(model_columns, column_indices):
    """Return the columns (P, k) of friction in ``column_indices``, and their deviations (k,)."""
    friction = [
        k for k in column_indices if k < model_columns.size and model_columns.parameters[k].law
    ]
    grouped, deviations = _grouped_friction(model_columns)
    T = np.hstack([np.eye(len(model_columns.prior.unit))[:, friction], grouped])
    return T, np.append(model_columns.prior.unit[friction], deviations)


def _grouped_friction(model_columns):
    """
    Return columns (P, k) and deviations (k,) of friction that no motion tells from bodies.

    The rotor of a joint at the base is one number with the inertia that it turns: free bodies
    need no column of their own for it, described ones do.
    """
    base = model_columns.wide.structure.base
    chosen = []
    for k in base.dependent:
        law = LAWS.get(base.parameters[k].law)
        if law and not law.optional:
            chosen.append(k)
    out = np.zeros((len(model_columns.prior.unit), len(chosen)))
    out[: len(base)] = base.matrix()[:, chosen]
    return out, np.array([base.parameters[k].prior_sd for k in chosen])


def columns_of_link(model_columns: ModelColumns, link: int) -> np.ndarray:
    """Return the columns (P, 10) of the standard parameters of a ``link``, by its number."""
    base = model_columns.wide.structure.base
    first = list(bodies(base.parameters).values())[link]
    out = np.zeros((len(model_columns.prior.unit), 10))
    out[: len(base)] = base.matrix()[:, first : first + 10]
    return out


def _weights(plain, model_columns):
    """Return the Weights by residuals beside described bodies."""
    targets = measured_targets(model_columns.elements, len(model_columns.names))
    targets = less_described(model_columns.elements, targets, model_columns.gravity)
    stretches = np.arange(plain.count)
    x = plain.solved_targets(plain.stacked(stretches, targets))
    squares = plain.errors(x, stretches, targets)[:, :, 0].sum(0)
    correlation = np.array([model_columns.correlation_rows[name] for name in model_columns.names])
    rows = np.maximum(plain.rows.sum(0), 1.0)
    return Weights(np.sqrt(squares / rows * correlation), model_columns.correlation_rows)
