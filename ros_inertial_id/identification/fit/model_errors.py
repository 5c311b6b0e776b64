"""
Model errors: what it adds to standard errors that the data leave open which model is true.

A constant inside a friction law is one of those tried: which it is, and that the true one lies
between two of them, moves all other parameters as well.  So does the delay of the efforts, which
is known to its standard error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..choose.choice import Choice, log_ratio
from ..prepare.dataset import Dataset
from ..reduce.structure import alternatives
from ...dynamics.friction import never_negative
from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters

STATISTICS, LAWS, DELAY = 'statistics', 'laws', 'delay'  # sources of error
UNLIKELY = 0.15  # times the likelihood of the best: two standard deviations away


@dataclass(frozen=True, eq=False)
class ConstantProfile:
    """
    How well each constant that was tried for one coefficient explains the data.

    tried : Parameters in order of their constants, chosen : which of them
    params : (tried, columns) of each, all other constants as chosen
    weights : (tried,) likelihoods, their sum 1
    """

    tried: tuple[Parameter, ...]
    chosen: int
    params: np.ndarray
    weights: np.ndarray

    def limits(self) -> dict[str, float | None]:
        """Return the least and greatest constant that are possible, None beyond those tried."""
        possible = np.flatnonzero(self.weights > UNLIKELY * self.weights.max())
        constants = [parameter.nonlinear for parameter in self.tried]
        least, greatest = [None, *constants[1:]], [*constants[:-1], None]
        return {'least': least[possible[0]], 'greatest': greatest[possible[-1]]}

    def errors(self, choice: Choice, base: BaseParameters) -> np.ndarray:
        """
        Return H (b, tried + 1): errors of the base parameters, of unit size, by the constant.

        The last is that of a truth which lies anywhere between the constant and the next ones.
        """
        rows = []
        for parameter, params in zip(self.tried, self.params):
            constants = {**choice.best.constants, parameter.name: parameter}
            rows.append(_base_values(choice, params, constants, base))
        values = np.array(rows)
        low, high = max(0, self.chosen - 1), min(len(values) - 1, self.chosen + 1)
        # A uniform distribution over a step has the step / sqrt(12) as standard deviation.
        between = (values[high] - values[low]) / ((high - low) * np.sqrt(12.0))
        moves = values - values[self.chosen]
        return np.column_stack([(np.sqrt(self.weights)[:, None] * moves).T, between])


def model_errors(
    data: Dataset, choice: Choice, base: BaseParameters, profiles: Iterable[ConstantProfile]
) -> dict[str, np.ndarray]:
    """Return {source: H (b, k)}: errors of the base parameters, of unit size, by what is open."""
    laws = [choice_errors(choice, base)]
    for profile in profiles:
        laws.append(profile.errors(choice, base))
    return {LAWS: np.hstack(laws), DELAY: delay_errors(data, choice, base)}


def choice_errors(choice: Choice, base: BaseParameters) -> np.ndarray:
    """
    Return H (b, k): errors of the base parameters, of unit size, by k models that were tried.

    A candidate that predicts worse by z standard errors counts exp(-z^2 / 2) times as much as
    the chosen one: which of them is true is not known (Buckland, Burnham and Augustin 1997).
    """
    best = _base_values(choice, choice.best.params, choice.best.constants, base)
    moves, weights = [np.zeros(len(base))], [1.0]
    for candidate in choice.candidates:
        if candidate is choice.best:
            continue
        worse, error = log_ratio(candidate.errors, choice.best.errors)
        z = max(worse / max(error, 1e-12), 0.0)
        values = _base_values(choice, candidate.params, candidate.constants, base)
        moves.append(values - best)
        weights.append(float(np.exp(-0.5 * z**2)))
    return np.sqrt(np.array(weights) / sum(weights)) * np.array(moves).T


def delay_errors(data: Dataset, choice: Choice, base: BaseParameters) -> np.ndarray:
    """
    Return H (b, 1): errors of the base parameters by that of the delay, (b, 0) without a delay.

    The delay of the efforts is estimated beside the parameters; they move with it by the solution
    for the efforts' rate.  Of a commanded joint an error of the delay is one of viscous friction,
    stiffness times as large, and of inertia, damping times as large.
    """
    standard_error = _delay_error(data)
    if not standard_error:
        return np.zeros((len(base), 0))
    model_columns, best = choice.model_columns, choice.best
    slope = model_columns.solve(model_columns.whole, np.flatnonzero(best.params))[:, 0]
    moved = best.params + standard_error * slope
    before = _base_values(choice, best.params, best.constants, base)
    after = _base_values(choice, moved, best.constants, base)
    return (after - before)[:, None]


def _delay_error(data: Dataset) -> float | None:
    """Return the standard error [s] of the delay of the efforts, None where there is none."""
    if not data.observations:  # none of what is learnt online
        return None
    return data.first.summary.time_offset_error


def constant_profiles(choice: Choice) -> dict[str, ConstantProfile]:
    """Return {coefficient: ConstantProfile} of those with several constants."""
    model_columns = choice.model_columns
    columns = np.flatnonzero(choice.best.params)
    tried = alternatives(model_columns.parameters)
    profiles = {}
    for name, chosen in choice.best.constants.items():
        if name in tried:
            further = columns[columns != model_columns.parameters.index(chosen)]
            profiles[name] = _profile(choice, chosen, tried[name], further)
    return profiles


def _profile(
    choice: Choice, chosen: Parameter, tried: Sequence[int], further: np.ndarray
) -> ConstantProfile:
    """
    Return the ConstantProfile of a coefficient.

    chosen : its Parameter; tried : column of each constant; further : (k,) columns beside it
    """
    model_columns, parameters = choice.model_columns, choice.model_columns.parameters
    params = np.array(
        [
            model_columns.solution(model_columns.whole, np.append(further, column))
            for column in tried
        ]
    )
    squares = model_columns.errors(params.T, np.arange(model_columns.count)).sum(0)
    squares = (squares / model_columns.sd[:, None] ** 2).sum(0)
    constants = tuple(parameters[column] for column in tried)
    number = constants.index(chosen)
    passive = [
        k for k, p in enumerate(parameters) if p.owner == chosen.owner and never_negative(p)
    ]
    drives = np.array((params[:, passive] < 0.0).any(axis=1))  # as no friction does
    drives[number] = False
    likelihood = np.exp(-0.5 * (squares - squares[~drives].min()))
    weights = np.where(drives, 0.0, likelihood)
    return ConstantProfile(constants, number, params, weights / weights.sum())


def _base_values(
    choice: Choice, params: np.ndarray, constants: Mapping[str, Parameter], base: BaseParameters
) -> np.ndarray:
    """Return the base parameters (b,) that a Candidate has of those of another structure."""
    general = choice.model_columns.wide.structure.base
    standard = general.standard(params[: len(general)])
    values = {parameter.name: x for parameter, x in zip(general.parameters, standard)}
    for parameter, x in zip(choice.model_columns.parameters, params):
        if constants.get(parameter.name) == parameter:
            values[parameter.name] = x
    return base.reduce([values[parameter.name] for parameter in base.parameters])
