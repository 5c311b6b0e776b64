"""
Live drift: what differs now from what a model says, everything else as the model has it.

The online estimate's R factors, less what the model explains, show the changes that ``drift``
looks for from day to day, but for the direction of gravity.  Their errors are those of the newest
data, by the residual that the changes leave, and those of the model, by its whole covariance:
friction laws that are hard to tell apart are known together far better than each of them.
"""

import datetime

import numpy as np

from .drift import change_columns, DAY, row_deviation, SAME
from .drift_findings import Finding, findings_since, Series
from ..errors import ConfigError
from ..estimation.r_factors import RFactors
from ..estimation.residuals import Residuals
from ..identification.model.identified_model import IdentifiedModel
from ..identification.reduce.structure import at_constants, Structure
from ..methods import METHODS


REPEATS = 30.0  # [s] of motion; what comes later may repeat it, and with it what the model lacks


def check_reference(model: IdentifiedModel, structure: Structure, gravity: np.ndarray) -> None:
    """
    Raise ConfigError, saying what differs, where a ``model`` cannot be compared with rows.

    structure : of the rows; gravity : (3,) in the base frame, under which they were written
    """
    own = model.mounting['gravity_base'][0]
    if not np.allclose(own, gravity, atol=SAME):
        raise ConfigError('drift_model: gravity', expected=np.round(gravity, 4).tolist(),
                          found=own, do="set mounting: 'gravity "
                          f"{' '.join(f'{x:.6g}' for x in own)}'")
    expected = [b['name'] for b in model.base]
    if not METHODS[model.method].joints_alone or expected != structure.base.names():
        raise ConfigError('drift_model: other base parameters than those estimated online',
                          expected=', '.join(structure.base.names()), found=', '.join(expected),
                          do='use the same friction laws')


def changes_since(model: IdentifiedModel, structure: Structure, factors: RFactors,
                  residuals: Residuals, seconds: float) -> tuple[Finding, ...]:
    """
    Return the Findings of what changed since a ``model`` was identified, the surest first.

    structure : of the columns of ``factors``; factors : RFactors of the newest motion
    residuals : under recent estimates, for their correlation; none: nothing is found
    seconds : of motion in ``factors``
    """
    if not residuals.filtered.samples:
        return ()
    base, T = at_constants(structure, {p.name: p for p in model.parameters})
    own = factors.combine(T)
    beta = base.matrix() @ model.values  # also of what the data did not determine
    entries, S, spread = change_columns(base)
    entries, S, spread = entries[:-2], S[:-2, :-2], spread[:-2]
    sigma = row_deviation(residuals)
    delta, _ = _changes(own, sigma, (S, spread), model.covariance, beta)
    correlation, repeated = residuals.correlation(), max(1.0, seconds / REPEATS)
    sigma = {name: max(s, own.groups[name].residual(beta + S @ delta)
                       / np.sqrt(own.groups[name].rows) * correlation[name] ** 0.5)
             * repeated ** 0.5 for name, s in sigma.items()}
    delta, errors = _changes(own, sigma, (S, spread), model.covariance, beta)
    series = [Series(name, joint, law, unit, delta[k:k + 1], errors[k:k + 1],
                     float(beta[place]) if place is not None else 0.0)
              for k, (name, joint, law, unit, place) in enumerate(entries)]
    return findings_since(series, _age(model))


def _changes(factors, sigma, columns, covariance, beta):
    """Return changes (m,) from beta (b,) and their standard errors, those of beta included."""
    S, spread = columns
    A, target, _ = factors.system(sigma)
    B = A @ S
    inverse = np.linalg.inv(B.T @ B + np.diag(1.0 / spread ** 2))
    gain = inverse @ B.T
    through = gain @ A  # of an error of beta
    errors = np.sqrt(np.diag(inverse + through @ covariance @ through.T))
    return gain @ (target - A @ beta), errors


def _age(model: IdentifiedModel) -> float:
    """Return the days since a model was made."""
    made = datetime.datetime.fromisoformat(model.provenance['created'])
    return (datetime.datetime.now(datetime.timezone.utc) - made).total_seconds() / DAY
