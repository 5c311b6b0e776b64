"""
Covariance over stretches of the motion (cov_type: segments).

What differs between stretches more than white noise lets one expect is model error, which belongs
into the standard errors: they are clusters of residuals (Bell and McCaffrey 2002).  What a model
lacks for seconds (friction of a slow motion) outlasts a stretch, and its neighbours share it:
joined until they are several times longer (Kuensch 1989).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtri, polygamma, psi, stdtrit

from .estimators import effective_standard_deviation, Estimate, Problem
from .r_factors import RFactors

FEWEST = 8
ALONE = 0.99  # of the information on a direction: no other stretch tells how wrong one is
LASTING = 5.0  # times what correlates a residual: a stretch so long knows its error to 5 %
LEVEL = 0.975  # of the one-sided interval at which Student's t and the normal agree
PRIORS = np.geomspace(1e3, 0.1, 2000)  # degrees of freedom: the answer is right to 1e-5


def robust_errors(problem: Problem, estimate: Estimate, folds: Sequence[RFactors],
                  prior: np.ndarray, least: float = 1.0) -> Estimate:
    """
    Return the Estimate with errors no smaller than what differs between stretches of the motion.

    folds : RFactors of each stretch
    prior : (b, b) covariance of what is known without data
    least : of the covariance by rows, that remains where stretches differ by less
    Each stretch pulls the estimate by its residual; those pulls are the errors, each larger by
    the share of the information that is its own, which the fit took out of the residual (Bell and
    McCaffrey 2002; leaving it out, as a jackknife does, overdoes that where stretches show
    different things).  Nothing changes with fewer than FEWEST stretches.  The few know each error
    to a quarter: see ``moderated_covariance``.
    """
    count, size = len(folds), len(problem.base)
    if count < FEWEST:
        return estimate
    systems = joined(problem, normal_equations(problem, estimate, folds))
    scale = problem.base.prior_sd
    systems *= np.outer(np.append(scale, 1.0), np.append(scale, 1.0))
    prior, information = prior / np.outer(scale, scale), systems[:, :-1, :-1]
    pulls = systems[:, :-1, -1] - information @ (estimate.params / scale)
    root = _root(np.linalg.solve(np.eye(size) + prior @ information.sum(0), prior))
    shares, turns = np.linalg.eigh(root.T @ information @ root)
    lone = 1.0 / np.sqrt(1.0 - np.clip(shares, 0.0, ALONE))
    away = scale * np.einsum('ab,gbk,gk,gck,dc,gd->ga', root, turns, lone, turns, root, pulls,
                             optimize=True)
    covariance = moderated_covariance(estimate.cov_params, away - away.mean(0), least)
    bse = np.sqrt(estimate.bse ** 2 + np.diag(covariance - estimate.cov_params))
    return replace(estimate, bse=bse, cov_params=covariance, by_rows=estimate.cov_params,
                   data_bse=bse / np.maximum(estimate.bse, 1e-300) * estimate.data_bse)


def _root(covariance):
    """Return F (b, b), F F' = ``covariance``, which may be singular."""
    variances, turn = np.linalg.eigh((covariance + covariance.T) / 2)
    return turn * np.sqrt(np.maximum(variances, 0.0))


def moderated_covariance(covariance: np.ndarray, away: np.ndarray,
                         least: float = 1.0) -> np.ndarray:
    """
    Return the covariance (b, b) of parameters with what differs between stretches in it.

    covariance : (b, b) by independent rows; away : (count, b) what each stretch adds to them
    least : see ``robust_errors``
    That of the stretches is drawn towards a multiple of the former, as a matrix (Ledoit and Wolf
    2004), by the weights of ``moderation``; nothing gets known better, parameters or sums of them.
    """
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    ratios = np.linalg.norm(away, axis=0) / np.maximum(errors, 1e-300)
    common, own = moderation(ratios, len(away) - 1)
    root = _root(covariance)
    each = away @ np.linalg.pinv(root).T  # in standard errors of directions that are independent
    sizes, turns = np.linalg.eigh(own * each.T @ each)
    axes = root @ turns
    return (axes * np.maximum(least, common + sizes)) @ axes.T


def moderation(ratios: np.ndarray, freedom: int) -> tuple[float, float]:
    """
    Return the common variance, and the share of each one's own, of errors drawn to one size.

    ratios : (b,) of estimated to expected standard errors; freedom : degrees of each
    Empirical Bayes with an inverse chi-square prior, whose degrees of freedom come from the spread
    of the logarithms beyond chance (Smyth 2004).  As wide as Student's t asks for, at 95 %.
    """
    logs = 2.0 * np.log(np.maximum(ratios, 1e-6)) - psi(freedom / 2) + np.log(freedom / 2)
    spread = float(np.var(logs, ddof=1)) if len(logs) > 1 else np.inf
    excess = spread - float(polygamma(1, freedom / 2))
    prior = 1.0 / np.interp(excess, polygamma(1, PRIORS / 2), 1.0 / PRIORS)
    common = np.exp(logs.mean() + psi(prior / 2) - np.log(prior / 2))
    wide = as_wide(prior + freedom) ** 2 / (prior + freedom)
    return wide * prior * common, wide * freedom


def as_wide(freedom: float) -> float:
    """Return by how much errors of ``freedom`` degrees widen to hold 95 % (Student's t)."""
    return float(stdtrit(freedom, LEVEL) / ndtri(LEVEL))


def joined(problem: Problem, systems: np.ndarray) -> np.ndarray:
    """
    Return sums (count, m, m) of successive ``systems`` that what the model lacks does not outlast.

    problem : whose correlation of rows says how long that is; systems : (k, m, m) of stretches
    They are no fewer than FEWEST, of which the errors are known.
    """
    count = len(systems)
    lasting = max(problem.correlation.get(name, 1.0) / g.rows
                  for name, g in problem.factors.groups.items())  # of all the time
    together = max(1, min(int(np.ceil(LASTING * lasting * count)), count // FEWEST))
    return np.add.reduceat(systems, np.arange(0, count, together))


def normal_equations(problem: Problem, estimate: Estimate, folds: Sequence[RFactors]
                     ) -> np.ndarray:
    """
    Return the normal equations (count, b + 1, b + 1) of [W, y], weighted as in the ``estimate``.

    problem : about b base columns
    """
    size = len(problem.base)
    sigma = effective_standard_deviation(problem, estimate.standard_deviation)
    out = np.zeros((len(folds), size + 1, size + 1))
    for sums, factors in zip(out, folds):
        for name, group in factors.groups.items():
            rows = np.column_stack([group.equations(factors.size)[:, :size], group.R[:, -2]])
            sums += rows.T @ rows / sigma[name] ** 2
    return out
