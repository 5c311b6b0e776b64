"""
Model errors: what it adds to standard errors that the data leave open which model is true.

A constant inside a friction law is one of those tried: which it is, and that the true one lies
between two of them, moves all other parameters as well.
"""

from dataclasses import dataclass

import numpy as np

from ..choose.choice import Choice, log_ratio
from ...dynamics.friction import never_negative
from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters

UNLIKELY = 0.15  # times the likelihood of the best: two standard deviations away


def choice_errors(choice: Choice, base: BaseParameters) -> np.ndarray:
    """
    Return H (b, k): errors of the base parameters, of unit size, by k models that were not chosen.

    A candidate that predicts worse by z standard errors counts exp(-z^2 / 2) times as much as
    the chosen one: which of them is true is not known (Buckland, Burnham and Augustin 1997).
    """
    moves, weights = [np.zeros(len(base))], [1.0]
    best = _base_values(choice, choice.best.params, choice.best.constants, base)
    for other in choice.candidates:
        if other is not choice.best:
            worse, error = log_ratio(other.errors, choice.best.errors)
            moves.append(_base_values(choice, other.params, other.constants, base) - best)
            weights.append(float(np.exp(-0.5 * max(worse / max(error, 1e-12), 0.0) ** 2)))
    return np.sqrt(np.array(weights) / sum(weights)) * np.array(moves).T


def offset_errors(choice: Choice, base: BaseParameters, standard_error: float) -> np.ndarray:
    """
    Return H (b, 1): errors of the base parameters by the ``standard_error`` [s] of the delay.

    Of a commanded joint an error of the delay is one of viscous friction, stiffness times as
    large, and of inertia, damping times as large.
    """
    systems, params = choice.systems, choice.best.params
    slope = systems.solve(systems.whole, np.flatnonzero(params))[:, 0]
    here, there = (
        _base_values(choice, x, choice.best.constants, base)
        for x in (params, params + standard_error * slope)
    )
    return (there - here)[:, None]


@dataclass(frozen=True, eq=False)
class ConstantProfile:
    """
    How well each constant that was tried for one coefficient explains the data.

    tried : Parameters in order of their constants, chosen : which of them
    params : (tried, places) of each, all other constants as chosen
    weights : (tried,) likelihoods, their sum 1
    """

    tried: tuple[Parameter, ...]
    chosen: int
    params: np.ndarray
    weights: np.ndarray

    def limits(self) -> dict[str, float | None]:
        """Return the least and greatest constant that are possible, None beyond those tried."""
        k = np.flatnonzero(self.weights > UNLIKELY * self.weights.max())
        return {
            'least': self.tried[k[0]].nonlinear if k[0] else None,
            'greatest': (self.tried[k[-1]].nonlinear if k[-1] < len(self.tried) - 1 else None),
        }

    def errors(self, choice: Choice, base: BaseParameters) -> np.ndarray:
        """
        Return H (b, tried + 1): errors of the base parameters, of unit size, by the constant.

        The last is that of a truth which lies anywhere between the constant and the next ones.
        """
        values = [
            _base_values(choice, x, {**choice.best.constants, p.name: p}, base)
            for x, p in zip(self.params, self.tried)
        ]
        low, high = max(0, self.chosen - 1), min(len(values) - 1, self.chosen + 1)
        between = (values[high] - values[low]) / ((high - low) * np.sqrt(12.0))
        moves = np.array(values) - values[self.chosen]
        return np.column_stack([(np.sqrt(self.weights)[:, None] * moves).T, between])


def constant_profiles(choice: Choice) -> dict[str, ConstantProfile]:
    """Return {coefficient: ConstantProfile} of those with several constants."""
    systems, out = choice.systems, {}
    parameters, at = systems.parameters, np.flatnonzero(choice.best.params)
    for name, now in choice.best.constants.items():
        places = [k for k, p in enumerate(parameters) if p.name == name]
        if len(places) < 2:
            continue
        others = at[at != parameters.index(now)]
        params = np.array([systems.solution(systems.whole, np.append(others, k)) for k in places])
        squares = systems.errors(params.T, np.arange(systems.count)).sum(0)
        squares = (squares / systems.sd[:, None] ** 2).sum(0)
        own = [k for k, p in enumerate(parameters) if p.owner == now.owner and never_negative(p)]
        tried = tuple(parameters[k] for k in places)
        chosen = tried.index(now)
        drives = np.array((params[:, own] < 0.0).any(axis=1))  # as no friction does
        drives[chosen] = False
        weights = np.where(drives, 0.0, np.exp(-0.5 * (squares - squares[~drives].min())))
        out[name] = ConstantProfile(tried, chosen, params, weights / weights.sum())
    return out


def _base_values(choice, params, constants, base):
    """Return the base parameters (b,) that a Candidate has of those of another structure."""
    general, parameters = choice.systems.wide.structure.base, choice.systems.parameters
    values = dict(
        zip((p.name for p in general.parameters), general.standard(params[: len(general)]))
    )
    values.update(
        {p.name: params[k] for k, p in enumerate(parameters) if constants.get(p.name) == p}
    )
    return base.reduce([values[p.name] for p in base.parameters])
