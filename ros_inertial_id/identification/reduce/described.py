"""
Bodies as described: a LeftOut whose bodies are those of the description, friction alone free.

It sees what free bodies absorb: a gain of all joints, a load, gravity that was taken off.
"""

import numpy as np

from .left_out import Elements, LeftOut, Prior, Weights
from .model_columns import ModelColumns
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import bodies

USUAL_LOAD = np.array([2.0] + [0.4] * 3 + [0.08] * 6)  # [kg, kg m, kg m^2]


def described_bodies(
    model_columns: ModelColumns, column_indices: np.ndarray, load: bool = False, floor: float = 0.0
) -> LeftOut:
    """
    Return the LeftOut to which bodies are those described, whose torques are elements.

    column_indices : (k,) of the model_columns, of which friction is free
    load : whether ten parameters of the last link are free, too, the last unknowns
    floor : see LeftOut
    Targets are to be less the torques of the described bodies: see ``less_described``.
    """
    friction = [
        k for k in column_indices if k < model_columns.size and model_columns.parameters[k].law
    ]
    grouped, grouped_deviations = _grouped_friction(model_columns)
    T = np.hstack([np.eye(len(model_columns.prior.unit))[:, friction], grouped])
    deviations = np.append(model_columns.prior.unit[friction], grouped_deviations)
    if load:
        T = np.hstack([T, last_link(model_columns)])
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


def last_link(model_columns: ModelColumns) -> np.ndarray:
    """Return the columns (P, 10) of the last link's standard parameters."""
    base = model_columns.wide.structure.base
    first = list(bodies(base.parameters).values())[-1]
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
