"""
Structure: what the columns can show, and which alternatives among them the data choose.

The constants inside a friction law that are not linear have a column for every one that is tried,
so that a choice needs no second look at the data: separable least squares over a grid (Golub and
Pereyra 1973).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..prepare.mounting import structural_base
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...errors import EstimationError
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import params_of, Problem, ridge
from ...estimation.least_squares import nonnegative_solution, span
from ...estimation.r_factors import merge, RFactors
from ...methods.contract import Method

SMOOTH = 3  # in the order of widths tried: .02 rad/s
SWEEPS = 10  # joint by joint, until nothing changes


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
        known = {p: int(place) for p, place in zip(general.columns, general.keep) if place >= 0}
        wanted = self.parameters_of_places()
        if not all(p in known for p in wanted):
            raise EstimationError(
                'a base parameter of this mounting has no column in the factors',
                do='round the placements of the robot description',
            )
        return np.array([known[p] for p in wanted])

    def parameters_of_places(self) -> list[Parameter]:
        """Return the Parameter of every place in the R factors."""
        owner = {int(place): self.columns[k] for k, place in enumerate(self.keep) if place >= 0}
        return [owner[k] for k in range(len(owner))]


def alternatives(parameters: Sequence[Parameter]) -> dict[str, list[int]]:
    """Return {name: [column, ...]} of ``parameters`` that differ in their nonlinear one alone."""
    columns: dict[str, list[int]] = {}
    for k, parameter in enumerate(parameters):
        columns.setdefault(parameter.name, []).append(k)
    return {name: ks for name, ks in columns.items() if len(ks) > 1}


def one_alternative(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the ``parameters`` with one alone of every set: the middle one of the last law."""
    drop: set[int] = set()
    for ks in alternatives(parameters).values():
        last = [k for k in ks if parameters[k].law == parameters[ks[-1]].law]
        drop |= set(ks) - {last[len(last) // 2]}
    return tuple(p for k, p in enumerate(parameters) if k not in drop)


def structure_of(method: Method, robots: Sequence, columns: Sequence[Parameter]) -> Structure:
    """Return the Structure that random states of ``robots``, under every mounting, show."""
    same_column = alternatives(columns)
    later = {k for ks in same_column.values() for k in ks[1:]}
    primary = [k for k in range(len(columns)) if k not in later]
    base = structural_base(method, robots, [columns[k] for k in primary])
    keep = np.full(len(columns), -1)
    keep[np.array(primary)[base.independent]] = np.arange(len(base))
    choices, size = {}, len(base)
    for name, ks in same_column.items():
        if keep[ks[0]] >= 0:
            keep[ks[1:]] = np.arange(size, size + len(ks) - 1)
            size += len(ks) - 1
            choices[name] = [int(keep[k]) for k in ks]
    return Structure(base, tuple(columns), keep, choices)


def alike_constants(structure: Structure) -> list[dict[str, Parameter]]:
    """Return the constants tried for all joints alike: {coefficient: Parameter} of each."""
    parameters = structure.parameters_of_places()
    every = [[parameters[k] for k in places] for places in structure.choices.values()]
    pairs = dict.fromkeys((p.law, p.nonlinear) for own in every for p in own)
    return [
        {
            own[0].name: next(p for p in own if (p.law, p.nonlinear) == pair)
            for own in every
            if any((p.law, p.nonlinear) == pair for p in own)
        }
        for pair in pairs
    ] or [{}]


def usual_constants(tried: Sequence[Mapping[str, Parameter]]) -> int:
    """Return which constants ``tried`` all joints have unless others predict better: smooth."""
    smooth = [
        k for k, own in enumerate(tried) if not any(LAWS[p.law].memory for p in own.values())
    ] or list(range(len(tried)))
    return smooth[min(SMOOTH, len(smooth) - 1)]


def chosen_constants(structure: Structure, stretches: Sequence[RFactors]) -> dict[str, Parameter]:
    """
    Return the constants of least residual, joint by joint: {coefficient: Parameter}.

    Friction does not drive in any of them: else wide steps stand against others of negative sign.
    """
    base, choices = structure.base, structure.choices
    if not choices:
        return {}
    parameters = structure.parameters_of_places()
    factors = merge([f.select(np.arange(len(parameters))) for f in stretches])
    picked = {name: 0 for name in choices}
    for _ in range(SWEEPS):
        columns = np.arange(len(base))
        for name, k in picked.items():
            columns[choices[name][0]] = choices[name][k]
        beta = params_of(ridge)(Problem(factors.select(columns), base, {}))
        new = {
            name: int(np.argmin(_residuals(factors, beta, columns, ks, parameters)))
            for name, ks in choices.items()
        }
        if new == picked:
            break
        picked = new
    return {name: parameters[choices[name][k]] for name, k in picked.items()}


def _residuals(factors, beta, columns, choice, parameters):
    """
    Return what each alternative leaves, the joint's other friction free, all else held.

    Friction of a joint without rows of its own (a dependent joint of a closed loop) shows in all.
    """
    owner = parameters[choice[0]].owner
    groups = factors.groups
    groups = [groups[owner]] if owner in groups else list(groups.values())
    size = factors.size
    W, free = np.vstack([group.equations(size) for group in groups]), []
    residual = np.concatenate([group.R[:, -2] for group in groups])
    for column, value in zip(columns, beta):
        if column in choice:
            continue
        if parameters[column].law and parameters[column].owner == owner:
            free.append(column)
        else:
            residual = residual - W[:, column] * value
    out = []
    for candidate in choice:
        # What may have either sign is taken off; the others are not negative.
        own = [*free, candidate]
        signed = [c for c in own if LAWS[parameters[c].law].signed]
        basis = span(W[:, signed])
        out.append(
            _left(
                *(
                    x - basis @ (basis.T @ x)
                    for x in (W[:, [c for c in own if c not in signed]], residual)
                )
            )
        )
    return out


def _left(A, b):
    """Return what columns A (m, k) times numbers that are not negative leave of b (m,)."""
    size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    try:
        return float(np.linalg.norm(b - A / size @ nonnegative_solution(A / size, b)))
    except RuntimeError:  # columns that differ by rounding alone: they explain nothing for sure
        return float(np.linalg.norm(b))


def at_constants(
    structure: Structure, constants: Mapping[str, Parameter]
) -> tuple[BaseParameters, np.ndarray]:
    """
    Return base parameters with given constants in their columns, and the map (places, b) to them.

    structure : of all columns that are tried; constants : name -> Parameter with law and constant
    EstimationError where one was not among those tried.
    """
    parameters, final = structure.parameters_of_places(), list(structure.base.parameters)
    T = np.eye(len(parameters))[:, : len(structure.base)]
    for name, places in structure.choices.items():
        wanted = constants[name]
        own = [
            k
            for k in places
            if (parameters[k].law, parameters[k].nonlinear) == (wanted.law, wanted.nonlinear)
        ]
        if not own:
            raise EstimationError(
                f'{name} of the model: {wanted.law or "no law"}, {wanted.nonlinear}',
                exists=sorted({f'{parameters[k].law} {parameters[k].nonlinear}' for k in places}),
                do='identify the model again with the friction laws of the plan',
            )
        T[:, places[0]] = np.eye(len(parameters))[:, own[0]]
        final[structure.base.independent[places[0]]] = parameters[own[0]]
    return replace(structure.base, parameters=tuple(final)), T
