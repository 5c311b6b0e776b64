"""
Consistent links: what the options and the method know of masses, for the consistent estimate.

A method that knows the mass of all links together leaves the first one out of its unknowns: it is
the rest.  Here it comes back, as a column that no row shows, with the sum as a constraint, so
that this link too is physically consistent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..prepare.dataset import Dataset
from ...dynamics.inertial_parameters import bodies
from ...errors import ConfigError
from ...estimation.base_parameters import BaseParameters, is_known, with_known
from ...estimation.consistency import consistent, ConsistentEstimate
from ...estimation.cross_validation import cross_validate, LeftOut
from ...estimation.estimators import Estimate, Problem
from ...estimation.r_factors import one_thread, RFactors


@dataclass(frozen=True)
class ConsistentLinks:
    """
    The physically consistent parameters that predict, and how certain they are.

    values : (p,) standard parameters; entry : their entry in the statistics
    free : the unconstrained Estimate; found : ConsistentEstimate
    """

    values: np.ndarray
    entry: dict[str, Any]
    free: Estimate
    found: ConsistentEstimate

    @property
    def estimate(self) -> Estimate:
        """Return the base parameters that predict as an Estimate by independent rows."""
        covariance = self.found.cov_params
        return replace(self.free, params=self.found.params, cov_params=covariance,
                       bse=np.sqrt(np.maximum(np.diag(covariance), 0.0)))

    def carried(self, covariance: np.ndarray) -> np.ndarray:
        """
        Return by which covariance (b, b) one more of the unconstrained parameters widens these.

        covariance : (b, b).  What moves those moves these as far as the data decide (linearised).
        """
        scale = self.free.bse
        share = (self.found.cov_params / scale) @ np.linalg.pinv(
            self.free.cov_params / np.outer(scale, scale), rcond=1e-12, hermitian=True) / scale
        return share @ covariance @ share.T


def consistent_links(data: Dataset, problem: Problem, estimate: Estimate,
                     inherited: np.ndarray | None = None) -> ConsistentLinks:
    """
    Return the ConsistentLinks of an unconstrained ``estimate`` by independent rows.

    inherited : see identification/fit/inherited_errors.py
    """
    whole = replace(problem, base=_with_all_links(data, problem.base))
    found = _consistent(data, whole, estimate, inherited)
    parameters = whole.base.parameters
    links = {link: found.values[k:k + 10].tolist() for link, k in bodies(parameters).items()}
    return ConsistentLinks(
        found.values[len(parameters) - len(problem.base.parameters):],
        {'loss_percent': found.loss_percent,
         'smallest_pseudo_inertia_eigenvalue': found.smallest_eigenvalue, 'links': links},
        estimate, found)


def cross_validate_consistent(data: Dataset, folds: Sequence[RFactors], problem: Problem,
                              estimate: Estimate, inherited: np.ndarray | None
                              ) -> LeftOut | None:
    """
    Return the LeftOut Fit of every fold to the consistent parameters of the others.

    data, problem, estimate, inherited : see ``consistent_links``
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
            masses={p.owner: p.nominal for p in given
                    if p.unit == 'kg' and not p.law and is_known(p)},
            total_mass=_total_mass(data),
            known=[p.name for p in given if p.unit != 'kg' or p.law or not is_known(p)])


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
