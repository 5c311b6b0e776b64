"""
How much the description of the bodies counts: the weight of the divergence from it.

Described bodies are as good as their author: the weight is a property of the recording.  Its
evidence says how far bodies are from the description that the rows show well (MacKay 1992).  What
a model lacks looks like bodies that are described badly, too, and few directions say nothing of
the others: a weight below one has to predict stretches that are left out better as well, by a
standard error and by LOW_WEIGHT_EARNS, and data alone have to determine most of the bodies.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .predicting import prior_knowledge
from ..choose.choice import log_ratio, predicts_consistently
from ..prepare.dataset import Dataset
from ...estimation.consistency import consistent_values, Known, weighed, WeighedBodies
from ...estimation.estimators import Estimate, Problem
from ...estimation.r_factors import merge, one_thread, RFactors
from ...estimation.residuals import FEWEST_BLOCKS
from ...methods.capabilities import EstimateOfRows

USUAL_WEIGHT = 1.0  # masses within a factor of two, bodies of any shape
# By the last, masses within a half: nothing says so of bodies that the rows do not show.
WEIGHTS = (0.1, 0.3, USUAL_WEIGHT, 3.0)
LOW_WEIGHT_EARNS = 0.05  # of the error of what is left out
MOST = 0.5  # of the base parameters of bodies
SETS_LEFT_OUT = 4  # of stretches, every fourth
SOLUTION_ACCURACY = 1e-4  # of a solution whose errors are compared


@dataclass(frozen=True)
class WeightOfDescription:
    """weight : of the divergence; errors : (b, k) of base parameters, by what is left open."""

    weight: float
    errors: np.ndarray


def weight_of_description(
    data: Dataset, problem: Problem, rows: EstimateOfRows, stretches: Sequence[RFactors]
) -> WeightOfDescription:
    """
    Return the WeightOfDescription of physically consistent links, one where none are asked for.

    rows : the unconstrained estimate; stretches : RFactors of each stretch about the ``problem``
    """
    if not predicts_consistently(data):
        return WeightOfDescription(USUAL_WEIGHT, np.zeros((len(problem.base), 0)))
    with_links, known = prior_knowledge(data, problem, rows.inherited, USUAL_WEIGHT)
    with one_thread():
        tried = weighed(with_links, rows.free, known, WEIGHTS)
        best = _most_evident(tried)
        if best.weight < USUAL_WEIGHT:
            left_out = _LeftOutStretches(with_links, rows.free, known, stretches)
            if not (_shows_bodies(problem, rows.free) and left_out.ask_for(best.weight)):
                tried = [bodies for bodies in tried if bodies.weight >= USUAL_WEIGHT]
                best = _most_evident(tried)
    return WeightOfDescription(best.weight, _errors(tried, best))


def _most_evident(tried: Sequence[WeighedBodies]) -> WeighedBodies:
    """Return the WeighedBodies of the greatest evidence."""
    return max(tried, key=lambda bodies: bodies.log_evidence)


def _errors(tried: Sequence[WeighedBodies], best: WeighedBodies) -> np.ndarray:
    """Return H (b, k): how params move with the weight, times the roots of its likelihoods."""
    evidence = np.array([bodies.log_evidence for bodies in tried])
    likelihoods = np.exp(evidence - best.log_evidence)
    moves = np.array([bodies.params - best.params for bodies in tried])
    return np.asarray((np.sqrt(likelihoods / likelihoods.sum())[:, None] * moves).T)


def _shows_bodies(problem: Problem, free: Estimate) -> bool:
    """Return whether data alone determine most base parameters of bodies."""
    base = problem.base
    of_bodies = np.array([not base.parameters[k].law for k in base.independent])
    return bool(free.determined[of_bodies].mean() > MOST)


@dataclass(frozen=True)
class _LeftOutStretches:
    """Stretches of a ``problem`` with all links that bodies by the others predict."""

    problem: Problem
    free: Estimate
    known: Known
    stretches: Sequence[RFactors]

    def ask_for(self, weight: float) -> bool:
        """Return whether a ``weight`` predicts them so much better than the usual one."""
        if len(self.stretches) < FEWEST_BLOCKS:
            return False
        gap, standard_error = log_ratio(self._errors(weight), self._errors(USUAL_WEIGHT))
        return gap < -max(standard_error, 2.0 * LOW_WEIGHT_EARNS)  # of logarithms of squares

    def _errors(self, weight):
        """Return weighted squared errors (count,) of the stretches."""
        deviations, known = self.free.standard_deviation, replace(self.known, weight=weight)
        values = consistent_values(self.problem, deviations, known, SOLUTION_ACCURACY)
        errors = np.zeros(len(self.stretches))
        numbers = np.arange(len(self.stretches))
        for number in range(SETS_LEFT_OUT):
            is_left_out = numbers % SETS_LEFT_OUT == number
            others = merge([self.stretches[k] for k in numbers[~is_left_out]])
            beta = self.problem.base.reduce(values(others))
            for k in numbers[is_left_out]:
                for name, group in self.stretches[k].groups.items():
                    errors[k] += (group.residual(beta) / deviations[name]) ** 2
        return errors
