"""
Model errors: what it adds to standard errors that the data leave open which model is true.

A constant inside a friction law is one of those tried: which it is, and that the true one lies
between two of them, moves all other parameters as well.  So does the delay of the efforts, which
is known to its standard error.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ..choose.choice import Choice, log_ratio
from ..prepare.dataset import Dataset
from ..reduce.left_out import Weights
from ..reduce.structure import alternatives
from ...dynamics.friction import LARGEST_STICTION, never_negative, STICTION_AND_DIP
from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Estimate

STATISTICS, LAWS, DELAY = 'statistics', 'laws', 'delay'  # sources of error
FOLLOWED = 2  # constants that another one of the joint moves by, from one tried to the next
CELL_POINTS = 20  # between half a step below a constant and half a step above
UNLIKELY = 0.15  # times the likelihood of the best: two standard deviations away


@dataclass(frozen=True, eq=False)
class ConstantProfile:
    """
    How well each constant that was tried for one coefficient explains the data.

    tried : Parameters in order of their constants, chosen : which of them
    beside : {coefficient: Parameter} of further constants of the joint, best with each of them
    params : (tried, columns) of each, constants of other joints as chosen
    weights : (tried,) likelihoods, their sum 1
    losses : (tried,) minus their logarithms less that of the chosen
    """

    tried: tuple[Parameter, ...]
    chosen: int
    beside: tuple[dict[str, Parameter], ...]
    params: np.ndarray
    weights: np.ndarray
    losses: np.ndarray

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
        for parameter, beside, params in zip(self.tried, self.beside, self.params):
            constants = {**choice.best.constants, **beside, parameter.name: parameter}
            rows.append(_base_values(choice, params, constants, base))
        values = np.array(rows)
        low, high = max(0, self.chosen - 1), min(len(values) - 1, self.chosen + 1)
        per_step = (values[high] - values[low]) / (high - low)
        between = per_step * self._steps_away()
        moves = values - values[self.chosen]
        return np.column_stack([(np.sqrt(self.weights)[:, None] * moves).T, between])

    def _steps_away(self) -> float:
        """
        Return how far the truth is from the constant, rms, in steps from one tried to the next.

        Within half a step; the logarithm of the likelihood is the parabola through the constant
        and its neighbours.  Where the data tell nothing it is 1 / sqrt(12), as of a uniform one.
        """
        neighbours = (self.chosen - 1, self.chosen + 1)
        beside = [self.losses[k] for k in neighbours if 0 <= k < len(self.losses)]
        below, above = beside[0], beside[-1]  # the same at an end
        steps = (np.arange(CELL_POINTS) + 0.5) / CELL_POINTS - 0.5
        loss = 0.5 * (below * (steps**2 - steps) + above * (steps**2 + steps))
        likelihood = np.exp(loss.min() - loss)
        return float(np.sqrt(likelihood @ steps**2 / likelihood.sum()))


def model_errors(
    data: Dataset, choice: Choice, base: BaseParameters, profiles: Iterable[ConstantProfile]
) -> dict[str, np.ndarray]:
    """Return {source: H (b, k)}: errors of the base parameters, of unit size, by what is open."""
    laws = [choice_errors(choice, base)]
    for profile in profiles:
        laws.append(profile.errors(choice, base))
    return {LAWS: np.hstack(laws), DELAY: delay_errors(data, choice, base)}


def statistical_errors(estimate: Estimate) -> dict[str, np.ndarray]:
    """
    Return {source: H (b, 1)}: the standard errors of an ``estimate``, by what makes them.

    STATISTICS are what is left beside the sources that the estimate knows.
    """
    errors, remaining = {}, estimate.bse**2
    for source, covariance in estimate.by_source.items():
        variances = np.minimum(np.diag(covariance), remaining)
        errors[source] = np.sqrt(variances)[:, None]
        remaining = remaining - variances
    return {STATISTICS: np.sqrt(remaining)[:, None], **errors}


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

    A method whose rows do not hold the rate of efforts has its own, see ``EstimateOfRows``.
    The delay of the efforts is estimated beside the parameters; they move with it by the solution
    for the efforts' rate.  Of a commanded joint an error of the delay is one of viscous friction,
    stiffness times as large, and of inertia, damping times as large.
    """
    standard_error = _delay_error(data)
    if not standard_error or not choice.model_columns.wide.late:
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


def constant_profiles(
    choice: Choice, correlation: Mapping[str, float]
) -> dict[str, ConstantProfile]:
    """
    Return {coefficient: ConstantProfile} of those with several constants.

    correlation : {row group: how many rows say what one would}, as errors of parameters have it
    """
    choice = replace(choice, model_columns=_as_correlated(choice.model_columns, correlation))
    tried, constants = alternatives(choice.model_columns.parameters), choice.best.constants
    profiles = {}
    for name, chosen in constants.items():
        if name not in tried:
            continue
        further = [
            further
            for further, parameter in constants.items()
            if further != name and further in tried and parameter.owner == chosen.owner
        ]
        profiles[name] = _profile(choice, chosen, tried, further)
    return profiles


def _as_correlated(model_columns, correlation):
    """Return ModelColumns whose rows count by a ``correlation``: a choice has room to spare."""
    before = model_columns.correlation_rows
    ratios = [correlation.get(k, 1.0) / before.get(k, 1.0) for k in model_columns.names]
    sd = model_columns.sd * np.sqrt(ratios)
    return model_columns.with_weights(Weights(sd, dict(correlation)))


def _profile(
    choice: Choice, chosen: Parameter, tried: Mapping[str, Sequence[int]], beside: Sequence[str]
) -> ConstantProfile:
    """
    Return the ConstantProfile of a coefficient.

    chosen : its Parameter; tried : {coefficient: column of each constant}
    beside : further coefficients of the joint with constants; they follow step by step
    """
    parameters = choice.model_columns.parameters
    columns = tried[chosen.name]
    constants = tuple(parameters[column] for column in columns)
    number = constants.index(chosen)
    start = {name: parameters.index(choice.best.constants[name]) for name in beside}
    best = _followed(choice, columns[number], tried, start)
    above = _each_followed(choice, columns[number + 1 :], tried, best.beside)
    below = _each_followed(choice, columns[:number][::-1], tried, best.beside)
    fits = [*below[::-1], best, *above]
    params = np.array([fit.params for fit in fits])
    squares = np.array([fit.squares for fit in fits])
    passive = [
        k for k, p in enumerate(parameters) if p.owner == chosen.owner and never_negative(p)
    ]
    drives = np.array((params[:, passive] < 0.0).any(axis=1))  # as no friction does
    impossible = drives | _sticks_too_much(params, parameters, chosen.owner)
    impossible[number] = False
    likelihood = np.exp(-0.5 * (squares - squares[~impossible].min()))
    weights = np.where(impossible, 0.0, likelihood)
    best_beside = tuple(
        {name: parameters[column] for name, column in fit.beside.items()} for fit in fits
    )
    losses = 0.5 * (squares - squares[number])
    return ConstantProfile(constants, number, best_beside, params, weights / weights.sum(), losses)


def _sticks_too_much(
    params: np.ndarray, parameters: Sequence[Parameter], joint: str
) -> np.ndarray:
    """
    Return which ``params`` (m, columns) have a ``joint`` that sticks as none does (m,) bool.

    Beside noise a wide stiction and a narrow dip of it may be as large as they like.
    """
    totals = []
    for law in STICTION_AND_DIP:
        of_law = [k for k, p in enumerate(parameters) if p.owner == joint and p.law == law]
        totals.append(params[:, of_law].sum(axis=1))
    static, dip = totals
    at_speed = static + dip
    return np.asarray((static > 0.0) & (at_speed * LARGEST_STICTION < static))


@dataclass(frozen=True, eq=False)
class _Followed:
    """
    The solution with one constant.

    beside : {coefficient: column} of further constants of the joint
    params : (columns,); squares : weighted squared error
    """

    beside: dict[str, int]
    params: np.ndarray
    squares: float


def _each_followed(choice, columns, tried, beside):
    """Return what is ``_followed`` with each of ``columns`` in turn, from constants ``beside``."""
    out = []
    for column in columns:
        out.append(_followed(choice, column, tried, beside))
        beside = out[-1].beside
    return out


def _followed(
    choice: Choice, column: int, tried: Mapping[str, Sequence[int]], beside: Mapping[str, int]
) -> _Followed:
    """Return the best solution with a ``column``, and constants near those ``beside``."""
    model_columns, parameters = choice.model_columns, choice.model_columns.parameters
    replaced = {parameters[column].name, *beside}
    others = [
        k
        for k in np.flatnonzero(choice.best.params).tolist()
        if _name(parameters, k) not in replaced
    ]
    near = [_near(tried[name], at) for name, at in beside.items()]
    solutions = []
    for columns in product(*near):
        used = np.array([*others, column, *columns])
        params = model_columns.solution(model_columns.whole, used)
        squares = model_columns.errors(params[:, None], np.arange(model_columns.count))[:, :, 0]
        squares = (squares.sum(0) / model_columns.sd**2).sum()
        solutions.append(_Followed(dict(zip(beside, columns)), params, float(squares)))
    return min(solutions, key=lambda solution: solution.squares)


def _near(tried: Sequence[int], column: int) -> Sequence[int]:
    """Return the columns of ``tried`` that are at most FOLLOWED from a ``column``."""
    number = list(tried).index(column)
    return tried[max(0, number - FOLLOWED) : number + FOLLOWED + 1]


def _name(parameters: Sequence[Parameter], column: int) -> str:
    """Return the name of the coefficient of a ``column``, of a tilt none."""
    if column >= len(parameters):
        return ''
    return parameters[column].name


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
