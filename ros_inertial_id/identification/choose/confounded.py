"""
Columns that a recorded motion does not tell from those of every model.

Where each joint moves as one sinusoid, acceleration and position are proportional: a spring and a
rotor inertia cancel in all of the motion, also in every stretch that is left out of it, so that no
residual shows a wrong pair.  The columns do: nothing of the spring's is outside of the others'.
Friction in proportion to a load that hardly changes is dry friction in the same way.

What depends on the position is asked about, beside what depends on rates: moments of inertia and
laws of every joint.  Another motion moves both otherwise.
"""

from dataclasses import dataclass

import numpy as np

from ..reduce.model_columns import ModelColumns
from ..reduce.wide_factor import WEIGHING_UNITS
from ...dynamics.friction import LAWS
from ...estimation.least_squares import span

# Of a column, outside of the others: less, and an error of the model of 3 % of the torque becomes
# one of 20 % of it where position and acceleration differ otherwise.
SEPARABLE_SHARE = 0.15


@dataclass(frozen=True)
class Confounded:
    """The column ``name`` of a ``law`` of a ``joint``; share : of it outside of the others."""

    name: str
    law: str
    joint: str
    share: float


def confounded(
    model_columns: ModelColumns, common: np.ndarray, asked: np.ndarray
) -> tuple[Confounded, ...]:
    """
    Return those of the columns ``asked`` (m,) that the motion does not tell from ``common`` (k,).

    common : columns of every model; a constant torque among them is no part of any column
    """
    parameters, rows = model_columns.parameters, model_columns.whole.triangle
    of_position = [k for k in asked if LAWS[parameters[k].law].position]
    if not of_position:
        return ()
    constant, rates = _constants_and_rates(model_columns, common)
    columns = rows[:, of_position]
    changing = np.linalg.norm(_outside(rows[:, constant], columns), axis=0)
    outside = np.linalg.norm(_outside(rows[:, constant + rates], columns), axis=0)
    shares = outside / np.maximum(changing, 1e-300)
    out = []
    for column, share in zip(of_position, shares.tolist()):
        if share < SEPARABLE_SHARE:
            parameter = parameters[column]
            out.append(Confounded(parameter.name, parameter.law, parameter.owner, share))
    return tuple(out)


def _constants_and_rates(model_columns, common):
    """Return the columns of ``common`` of constant torques, and of what depends on rates."""
    constant, rates = [], []
    for column in common:
        parameter = model_columns.parameters[column]
        if not parameter.law:
            if parameter.unit not in WEIGHING_UNITS:
                rates.append(column)
            continue
        law = LAWS.get(parameter.law)
        if law and (law.brakes or law.inertial):
            rates.append(column)
        else:
            constant.append(column)
    return constant, rates


def _outside(columns, about):
    """Return what is of ``about`` (m, n) outside of the ``columns`` (m, k)."""
    basis = span(columns)
    return about - basis @ (basis.T @ about)
