"""
Bodies as described: a LeftOut whose bodies are those of the description, friction alone free.

It sees what free bodies absorb: a gain of all joints, a load, gravity that was taken off.
"""

from dataclasses import dataclass

import numpy as np

from .left_out import Elements, LeftOut, Prior, Weights
from .model_columns import ModelColumns
from ..prepare.described_links import described_link_errors
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import bodies

MASS_AND_CENTRE = 4  # numbers of a load
LEAST_MASS = 1e-3  # [kg] of a described link: its centre is known
USUAL_LOAD = np.array([2.0] + [0.4] * 3 + [0.08] * 6)  # [kg, kg m, kg m^2]


@dataclass(frozen=True)
class OtherLink:
    """
    What all rows say of a link that is other than described, the others off as descriptions are.

    mass : by how much it is heavier than described [kg]; error : standard error of it
    log_odds : over that no link is, of what explains the rows
    """

    mass: float
    error: float
    log_odds: float


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


def other_links(
    model_columns: ModelColumns, column_indices: np.ndarray, nominal: np.ndarray, floor: float
) -> list[OtherLink]:
    """
    Return OtherLink of every link: its mass, at its described centre; of the last one a load.

    column_indices, floor : see ``described_bodies``; nominal : (10 n,) parameters described
    A load has ten numbers, but its mass and centre alone are what speaks for it: the other six
    explain whatever is wrong with the last link.
    """
    friction, deviations = _all_friction(model_columns, column_indices)
    of_links = [columns_of_link(model_columns, k) for k in range(len(nominal) // 10)]
    described = nominal.reshape(-1, 10)
    off = [columns @ described_link_errors(ten) for columns, ten in zip(of_links, described)]
    usual = np.hstack([friction, *off])
    usual_deviations = np.append(deviations, np.ones(usual.shape[1] - len(deviations)))
    others = [
        (columns @ ten[:, None] / max(ten[0], LEAST_MASS), USUAL_LOAD[:1])
        for columns, ten in zip(of_links[:-1], described)
    ]
    others.append((of_links[-1], USUAL_LOAD))
    plain = model_columns.about(
        usual, Prior.of_zero(usual_deviations), model_columns.weights, floor
    )
    weights = _weights(plain, model_columns)
    return _each_beside(model_columns, (usual, usual_deviations), others, weights)


def _each_beside(model_columns, usual, others, weights):
    """
    Return OtherLink of each of ``others``, columns (P, q) and deviations (q,), mass first.

    usual : columns (P, c) and deviations (c,) of what is free anyway
    """
    usual_columns, usual_deviations = usual
    count = len(usual_deviations)
    T = np.hstack([usual_columns, *(columns for columns, _ in others)])
    deviations = np.concatenate([usual_deviations, *(sd for _, sd in others)])
    judge = model_columns.about(T, Prior.of_zero(deviations), weights)
    targets = measured_targets(model_columns.elements, len(model_columns.names))
    targets = less_described(model_columns.elements, targets, model_columns.gravity)
    stacked = judge.stacked(range(judge.count), targets)
    target = len(deviations)
    none = _log_evidence(stacked.triangle_of(np.append(np.arange(count), target)))
    out = []
    first = count
    for _, sd in others:
        of_link = first + np.arange(len(sd))[::-1]  # the mass last: its error is the diagonal's
        triangle = stacked.triangle_of(np.concatenate([np.arange(count), of_link, [target]]))
        diagonal = triangle[-2, -2]
        mass, error = sd[0] * triangle[-2, -1] / diagonal, sd[0] / abs(diagonal)
        speaking = np.concatenate([np.arange(count), of_link[-MASS_AND_CENTRE:], [target]])
        log_odds = _log_evidence(stacked.triangle_of(speaking)) - none
        out.append(OtherLink(float(mass), float(error), log_odds))
        first += len(sd)
    return out


def _log_evidence(R: np.ndarray) -> float:
    """Return the log-likelihood of a triangle's target, its unknowns of unit size beforehand."""
    diagonal = np.abs(np.diagonal(R))
    return float(-0.5 * diagonal[-1] ** 2 - np.log(diagonal[:-1]).sum())


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
    """Return the Weights by residuals of ``plain`` beside described bodies."""
    targets = measured_targets(model_columns.elements, len(model_columns.names))
    targets = less_described(model_columns.elements, targets, model_columns.gravity)
    stretches = np.arange(plain.count)
    x = plain.solved_targets(plain.stacked(stretches, targets))
    squares = plain.errors(x, stretches, targets)[:, :, 0].sum(0)
    correlation = np.array([model_columns.correlation_rows[name] for name in model_columns.names])
    rows = np.maximum(plain.rows.sum(0), 1.0)
    return Weights(np.sqrt(squares / rows * correlation), model_columns.correlation_rows)
