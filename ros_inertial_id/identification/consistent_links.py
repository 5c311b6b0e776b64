"""
Consistent links: what the options and the method know of masses, for the consistent estimate.

A method that knows the mass of all links together leaves the first one out of its unknowns: it is
the rest.  Here it comes back, as a column that no row shows, with the sum as a constraint, so
that this link too is physically consistent.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .dataset import Dataset
from .validation import fits
from ..dynamics.inertial_parameters import bodies
from ..errors import ConfigError
from ..estimation.base_parameters import BaseParameters
from ..estimation.consistency import consistent, ConsistentEstimate
from ..estimation.cross_validation import cross_validate
from ..estimation.estimators import Estimate, Problem
from ..estimation.known_parameters import is_known, with_known
from ..estimation.r_factors import one_thread, RFactors
from ..estimation.residuals import Fit


def consistent_links(data: Dataset, problem: Problem, estimate: Estimate,
                     inherited: np.ndarray | None = None) -> tuple[np.ndarray, dict[str, Any]]:
    """
    Return (standard parameters (p,), their entry in the statistics beside the free ones).

    data : the Dataset; problem, estimate : of its unconstrained identification
    inherited : see identification/inherited_errors.py
    """
    whole = _with_all_links(data, problem.base)
    found = _consistent(data, replace(problem, base=whole), estimate, inherited)
    names, variance = whole.names(), np.diag(found.cov_params)
    links = {link: found.values[k:k + 10].tolist()
             for link, k in bodies(whole.parameters).items()}
    return found.values[len(whole.parameters) - len(problem.base.parameters):], {
        'training': fits(problem.factors, found.params), 'loss_percent': found.loss_percent,
        'smallest_pseudo_inertia_eigenvalue': found.smallest_eigenvalue, 'links': links,
        'base': dict(zip(names, found.params.tolist())),
        'standard_error': dict(zip(names, np.sqrt(np.maximum(variance, 0.0)).tolist())),
        'unconstrained_values': problem.base.standard(estimate.params).tolist()}


def cross_validate_consistent(data: Dataset, folds: Sequence[RFactors], problem: Problem,
                              estimate: Estimate, inherited: np.ndarray | None
                              ) -> Fit | None:
    """
    Return the Fit of every fold to the consistent parameters of the others.

    data, problem, estimate, inherited : see ``consistent_links``; folds : of the problem's factors
    Weights are those of all data, as are laws, constants and gravity.
    """
    plain, whole = replace(estimate, system=None), _with_all_links(data, problem.base)
    return cross_validate(folds, lambda factors: _consistent(
        data, replace(problem, base=whole, factors=factors), plain, inherited).params)


def _consistent(data: Dataset, problem: Problem, estimate: Estimate,
                inherited: np.ndarray | None) -> ConsistentEstimate:
    """Return the ConsistentEstimate of a problem about all links, with what is known."""
    options = data.options
    given = [p for p in with_known(problem.base.parameters, options.given)
             if any(line.split()[0] in (p.name, p.owner) for line in options.given)]
    with one_thread():
        return consistent(
            problem, estimate, inherited=inherited,
            masses={p.owner: p.nominal for p in given if p.unit == 'kg' and is_known(p)},
            total_mass=_total_mass(data),
            known=[p.name for p in given if p.unit != 'kg' or not is_known(p)])


def _with_all_links(data: Dataset, base: BaseParameters) -> BaseParameters:
    """Return BaseParameters with the mass in front that the method leaves out, if it does."""
    names = {p.name for p in base.parameters}
    missing = [p for p in data.method.links(data.robot, data.options) if p.name not in names]
    count = len(missing)
    return replace(base, parameters=(*missing, *base.parameters),
                   independent=base.independent + count,
                   dependent=np.append(np.arange(count), base.dependent + count),
                   X=np.hstack([np.zeros((len(base), count)), base.X]))


def _total_mass(data: Dataset) -> float | None:
    """Return the known mass of all links [kg] or None."""
    masses = (data.options.total_mass, data.method.total_mass(data.robot))
    known = [mass for mass in masses if mass]
    if len(known) == 2 and known[0] != known[1]:
        raise ConfigError('total_mass', expected=f'{known[1]} kg, as the description says',
                          found=f'{known[0]} kg')
    return known[-1] if known else None
