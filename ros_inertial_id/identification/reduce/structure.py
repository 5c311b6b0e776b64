"""Structure: what the columns can show, and which alternatives among them the data choose."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..prepare.mounting import structural_base
from ...dynamics.inertial_parameters import Parameter
from ...errors import EstimationError
from ...estimation.base_parameters import BaseParameters
from ...estimation.constants_choice import choose_nonlinear
from ...estimation.estimators import Problem
from ...estimation.nonlinear_parameters import (alternatives, Grid, refine_nonlinear,
                                                RefinedNonlinear)
from ...estimation.problem import two_step
from ...estimation.r_factors import merge, RFactors
from ...methods.contract import Method


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

    @property
    def searched_laws(self) -> set[str]:
        """Return the names of the friction laws whose nonlinear parameter is searched."""
        return {p.law for p in self.columns if p.name in self.choices}

    def without(self, names: Collection[str]) -> 'tuple[Structure, list[int]]':
        """Return the Structure without parameters that stand alone, and which places it keeps."""
        own = [self.base.parameters[k].name for k in self.base.independent]
        base = self.base.without([own.index(name) for name in names])
        left = [k for k, p in enumerate(self.columns) if p.name not in names]
        places = sorted(int(self.keep[k]) for k in left if self.keep[k] >= 0)
        moved = np.append(np.searchsorted(places, np.arange(self.keep.max() + 1)), -1)
        return Structure(base, tuple(self.columns[k] for k in left), moved[self.keep[left]], {
            name: moved[ks].tolist() for name, ks in self.choices.items() if name not in names
        }), places

    def places_in(self, general: 'Structure') -> np.ndarray:
        """
        Return (places,) where the columns of these places stand in the R factors of another.

        general : Structure of the same columns and more
        EstimationError where it does not hold a column.
        """
        known = {p: int(place) for p, place in zip(general.columns, general.keep) if place >= 0}
        wanted = self.parameters_of_places()
        if not all(p in known for p in wanted):
            raise EstimationError('a base parameter of this mounting has no column in the factors',
                                  do='round the placements of the robot description')
        return np.array([known[p] for p in wanted])

    def parameters_of_places(self) -> list[Parameter]:
        """Return the Parameter of every place in the R factors."""
        owner = {int(place): self.columns[k] for k, place in enumerate(self.keep) if place >= 0}
        return [owner[k] for k in range(len(owner))]


def structure_of(method: Method, robots: Sequence, columns: Sequence[Parameter]) -> Structure:
    """
    Return the Structure: random states under every mounting show all that is possible.

    robots : of one description, each with its gravity
    """
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
    return [{own[0].name: next(p for p in own if (p.law, p.nonlinear) == pair) for own in every
             if any((p.law, p.nonlinear) == pair for p in own)} for pair in pairs] or [{}]


def chosen_constants(structure: Structure, stretches: Sequence[RFactors]) -> dict[str, Parameter]:
    """Return the constants of least residual, joint by joint: {coefficient: Parameter}."""
    if not structure.choices:
        return {}
    places = np.arange(int(structure.keep.max()) + 1)
    parameters = structure.parameters_of_places()
    picked = choose_nonlinear(merge([f.select(places) for f in stretches]), structure.base,
                              structure.choices, parameters)
    return {name: parameters[structure.choices[name][k]] for name, k in picked.items()}


def at_constants(structure: Structure, chosen: Mapping[str, Parameter]
                 ) -> tuple[BaseParameters, np.ndarray]:
    """
    Return base parameters with given constants in their columns, and the map (places, b) to them.

    structure : of all columns that are tried; chosen : name -> Parameter with law and constant
    EstimationError where a law of ``chosen`` was not among those tried.
    """
    base, parameters = structure.base, structure.parameters_of_places()
    final, choices = list(base.parameters), {}
    for name, places in structure.choices.items():
        own = [k for k in places if parameters[k].law == chosen[name].law]
        if not own or chosen[name].nonlinear is None:
            raise EstimationError(f'{name} of the model: {chosen[name].law or "no law"}',
                                  exists=sorted({parameters[k].law for k in places}),
                                  do='identify the model again with the friction laws of the plan')
        choices[name] = own
        k = base.independent[places[0]]
        final[k] = replace(parameters[own[0]], nonlinear=chosen[name].nonlinear)
    base = replace(base, parameters=tuple(final))
    size = int(structure.keep.max()) + 1
    grid = Grid(RFactors(size), {name: ks[0] for name, ks in structure.choices.items()}, choices,
                tuple(parameters))
    return base, grid.columns(base)
