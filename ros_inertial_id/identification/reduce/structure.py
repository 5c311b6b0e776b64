"""
Structure: what the columns can show, and which alternatives among them the data choose.

The constants inside a friction law that are not linear have a column for every one that is tried,
so that a choice needs no second look at the data: separable least squares over a grid (Golub and
Pereyra 1973).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress, product

import numpy as np

from ..prepare.mounting import structural_base
from ...dynamics.friction import LAWS, USUAL_CONSTANTS
from ...dynamics.inertial_parameters import Parameter
from ...errors import EstimationError
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import params_of, Problem, ridge
from ...estimation.least_squares import nonnegative_solution, span
from ...estimation.r_factors import merge, RFactors, triangle
from ...methods.contract import Method

USUAL_WIDTH = 4  # in the order of smooth widths tried: .02 rad/s
SWEEPS = 10  # joint by joint, until nothing changes
SURELY_OTHER = (
    3.0  # standard deviations by which another constant than the usual one explains more
)


@dataclass(frozen=True)
class Structure:
    """
    What random motion shows of the columns, and where each goes in the R factors.

    base : BaseParameters; of alternatives (nonlinear parameters tried) the first stands for all
    columns : (p,) Parameters
    keep : (p,) column -> place in the R factors or -1: base columns first, then the alternatives
    choices : name -> places of the alternatives of a base column
    """

    base: BaseParameters
    columns: tuple[Parameter, ...]
    keep: np.ndarray
    choices: dict[str, list[int]]

    def places_in(self, general: 'Structure') -> np.ndarray:
        """
        Return (places,) where the columns of these places stand in the R factors of another.

        general : Structure of the same columns and more
        EstimationError where it does not hold a column.
        """
        there = general.parameters_of_places()
        indices = dict(zip(there, range(len(there))))
        wanted = self.parameters_of_places()
        if not indices.keys() >= set(wanted):
            raise EstimationError(
                'a base parameter of this mounting has no column in the factors',
                do='round the placements of the robot description',
            )
        return np.array([indices[parameter] for parameter in wanted])

    def parameters_of_places(self) -> list[Parameter]:
        """Return the Parameter of every place in the R factors."""
        columns = np.flatnonzero(self.keep >= 0)
        in_order = columns[np.argsort(self.keep[columns])]
        return [self.columns[column] for column in in_order]


def alternatives(parameters: Sequence[Parameter]) -> dict[str, list[int]]:
    """Return {name: [column, ...]} of ``parameters`` that differ in their nonlinear one alone."""
    by_name = _columns_by_name(parameters)
    return {name: columns for name, columns in by_name.items() if len(columns) > 1}


def _columns_by_name(parameters: Sequence[Parameter]) -> dict[str, list[int]]:
    """Return {name: [column, ...]} in the order of the first of each."""
    by_name: dict[str, list[int]] = {}
    for column, parameter in enumerate(parameters):
        by_name.setdefault(parameter.name, []).append(column)
    return by_name


def one_alternative(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the ``parameters`` with one alone of every set: the middle one of the last law."""
    laws = np.array([p.law for p in parameters])
    taken = np.ones(len(parameters), dtype=bool)
    for columns in map(np.array, alternatives(parameters).values()):
        of_last_law = columns[laws[columns] == laws[columns[-1]]]
        middle = of_last_law[len(of_last_law) // 2]
        taken[columns] = False
        taken[middle] = True
    return tuple(compress(parameters, taken))


def structure_of(method: Method, robots: Sequence, columns: Sequence[Parameter]) -> Structure:
    """Return the Structure that random states of ``robots``, under every mounting, show."""
    primary = [indices[0] for indices in _columns_by_name(columns).values()]
    base = structural_base(method, robots, [columns[index] for index in primary])
    keep = np.full(len(columns), -1)
    keep[np.array(primary)[base.independent]] = np.arange(len(base))
    choices, places = {}, len(base)
    for name, indices in alternatives(columns).items():
        first, *others = indices
        if keep[first] >= 0:
            keep[others] = np.arange(places, places + len(others))
            places += len(others)
            choices[name] = keep[indices].tolist()
    return Structure(base, tuple(columns), keep, choices)


def harmonic_of(parameter: Parameter) -> int:
    """Return which harmonic of a turn a Parameter is of, 0 of none or of a slide."""
    law = LAWS.get(parameter.law)  # None of bodies, springs and dampers of rigs
    if law is not None and parameter.unit == law.unit:
        return law.harmonic
    return 0


def alike_constants(structure: Structure) -> list[dict[str, Parameter]]:
    """Return the constants tried for all joints alike: {coefficient: Parameter} of each."""
    parameters = structure.parameters_of_places()
    tried: dict[tuple[str, float | None], dict[str, Parameter]] = {}
    for name, places in structure.choices.items():
        for place in places:
            parameter = parameters[place]
            constants = tried.setdefault((parameter.law, parameter.nonlinear), {})
            constants.setdefault(name, parameter)
    return list(tried.values()) or [{}]


def usual_constants(tried: Sequence[Mapping[str, Parameter]]) -> int:
    """Return the constants ``tried`` of all joints unless others predict better: smooth ones."""
    memory = []
    for constants in tried:
        memory.append(any(LAWS[parameter.law].memory for parameter in constants.values()))
    smooth = np.flatnonzero(np.logical_not(memory))
    if not smooth.size:
        smooth = np.arange(len(tried))
    return int(smooth[min(USUAL_WIDTH, len(smooth) - 1)])


def chosen_constants(
    structure: Structure, stretches: Sequence[RFactors], correlation_rows: Mapping[str, float]
) -> dict[str, Parameter]:
    """
    Return the constants of least residual, joint by joint: {coefficient: Parameter}.

    correlation_rows : {group: how many rows say what one would}

    Friction does not drive in any of them: else wide steps stand against others of negative sign.
    Two constants of one joint are searched together: one alone makes up for what is wrong in the
    other, and there it stays.  USUAL_CONSTANTS stay unless others are surely better: beside noise
    a wide stiction and a narrow dip of it are large and cancel.
    """
    base, choices = structure.base, structure.choices
    if not choices:
        return {}
    parameters = structure.parameters_of_places()
    factors = merge([f.select(np.arange(len(parameters))) for f in stretches])
    base_columns = [indices[0] for indices in choices.values()]
    places = dict(zip(choices, base_columns))
    together = _searched_together({name: parameters[choices[name][0]].owner for name in choices})
    for _ in range(SWEEPS):
        columns = np.arange(len(base))
        columns[base_columns] = list(places.values())
        beta = params_of(ridge)(Problem(factors.select(columns), base, {}))
        best = dict(places)
        for names in together:
            tried = list(product(*(choices[name] for name in names)))
            given = np.isin(columns, [best[name] for name in names], invert=True)
            residuals = _residuals(factors, beta[given], columns[given], tried, parameters)
            rows = _independent_rows(factors, parameters[tried[0][0]].owner, correlation_rows)
            best.update(zip(names, _least_unless_usual(tried, residuals, rows, parameters)))
            columns[base_columns] = list(best.values())
        if best == places:
            break
        places = best
    return {name: parameters[place] for name, place in places.items()}


def _independent_rows(
    factors: RFactors, joint: str, correlation_rows: Mapping[str, float]
) -> float:
    """Return how many independent rows are of a ``joint``: of all where it has none of its own."""
    of_joint = factors.groups
    if joint in factors.groups:
        of_joint = {joint: factors.groups[joint]}
    return sum(group.rows / correlation_rows[name] for name, group in of_joint.items())


def _least_unless_usual(
    tried: Sequence[tuple[int, ...]],
    residuals: Sequence[float],
    rows: float,
    parameters: Sequence[Parameter],
) -> tuple[int, ...]:
    """Return that of ``tried`` of least residual; of usual constants if none is surely less."""
    squares = np.square(residuals)
    usual = np.array([_is_usual(columns, parameters) for columns in tried])
    least = int(np.argmin(squares))
    least_of_usual = int(np.argmin(np.where(usual, squares, np.inf)))
    variance = squares[least] / max(rows, 1.0)
    if squares[least_of_usual] - squares[least] < SURELY_OTHER**2 * variance:
        return tried[least_of_usual]
    return tried[least]


def _is_usual(columns: Sequence[int], parameters: Sequence[Parameter]) -> bool:
    """Return whether ``columns`` have the usual constants of their laws, those that have one."""
    for column in columns:
        parameter = parameters[column]
        if parameter.nonlinear != USUAL_CONSTANTS.get(parameter.law, parameter.nonlinear):
            return False
    return True


def _searched_together(owners: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return coefficients of {coefficient: joint} that are searched at once: pairs of a joint."""
    of_joint: dict[str, list[str]] = {}
    for name, owner in owners.items():
        of_joint.setdefault(owner, []).append(name)
    together: list[tuple[str, ...]] = []
    for names in of_joint.values():
        together += combinations(names, min(2, len(names)))
    return together


def _residuals(
    factors: RFactors,
    beta: np.ndarray,
    columns: np.ndarray,
    tried: Sequence[tuple[int, ...]],
    parameters: Sequence[Parameter],
) -> list[float]:
    """
    Return the residual norm with each of the columns ``tried``, the others at ``beta``.

    beta : (k,) of the other ``columns`` (k,)

    The joint's other friction is free.  That of a joint without rows of its own (a dependent joint
    of a closed loop) shows in all rows.
    """
    joint = parameters[tried[0][0]].owner
    groups = list(factors.groups.values())
    if joint in factors.groups:
        groups = [factors.groups[joint]]
    W = np.vstack([group.equations(factors.size) for group in groups])
    target = np.concatenate([group.R[:, -2] for group in groups])
    brakes = np.array([bool(p.law) and p.owner == joint for p in parameters])[columns]
    target = target - W[:, columns[~brakes]] @ beta[~brakes]
    friction = columns[brakes]
    every = np.append(friction, np.unique(tried))
    R = triangle(np.asfortranarray(np.column_stack([W[:, every], target])))
    W = np.zeros((len(R), W.shape[1]))
    W[:, every] = R[:, :-1]
    return [_residual(W, R[:, -1], np.append(friction, chosen), parameters) for chosen in tried]


def _residual(
    W: np.ndarray, target: np.ndarray, friction: np.ndarray, parameters: Sequence[Parameter]
) -> float:
    """Return the norm of what columns ``friction`` (k,) of W leave of ``target`` (m,)."""
    signed = np.array([_may_be_negative(parameters[column].law) for column in friction])
    # What may have either sign is taken off; the others are not negative.
    basis = span(W[:, friction[signed]])
    passive = W[:, friction[~signed]]
    A = passive - basis @ (basis.T @ passive)
    b = target - basis @ (basis.T @ target)
    A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    try:
        return float(np.linalg.norm(b - A @ nonnegative_solution(A, b)))
    except RuntimeError:  # columns that differ by rounding alone: they explain nothing for sure
        return float(np.linalg.norm(b))


def _may_be_negative(law: str) -> bool:
    """Return whether a coefficient of the ``law`` has either sign, as a constant force has."""
    return law not in LAWS or LAWS[law].signed


def at_constants(
    structure: Structure, constants: Mapping[str, Parameter]
) -> tuple[BaseParameters, np.ndarray]:
    """
    Return base parameters with given constants in their columns, and the map (places, b) to them.

    structure : of all columns that are tried; constants : name -> Parameter with law and constant
    EstimationError where one was not among those tried.
    """
    base, parameters = structure.base, structure.parameters_of_places()
    with_constants = list(base.parameters)
    chosen = np.arange(len(base))
    for name, places in structure.choices.items():
        place = _place_of(constants[name], places, parameters)
        chosen[places[0]] = place
        with_constants[base.independent[places[0]]] = parameters[place]
    T = np.eye(len(parameters))[:, chosen]
    return replace(base, parameters=tuple(with_constants)), T


def _place_of(wanted: Parameter, places: Sequence[int], parameters: Sequence[Parameter]) -> int:
    """Return the first of ``places`` with the law and constant of a Parameter."""
    for place in places:
        tried = parameters[place]
        if (tried.law, tried.nonlinear) == (wanted.law, wanted.nonlinear):
            return place
    raise EstimationError(
        f'{wanted.name} of the model: {wanted.law or "no law"}, {wanted.nonlinear}',
        exists=sorted({f'{parameters[k].law} {parameters[k].nonlinear}' for k in places}),
        do='identify the model again with the friction laws of the plan',
    )
