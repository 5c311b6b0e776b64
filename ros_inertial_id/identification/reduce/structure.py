"""Structure: what the columns can show, and which alternatives among them the data choose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..prepare.mounting import structural_base
from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...errors import EstimationError
from ...estimation.base_parameters import BaseParameters
from ...estimation.nonlinear_parameters import alternatives, choose_nonlinear, Grid
from ...estimation.r_factors import merge, RFactors
from ...methods.contract import Method

SMOOTH = 3  # in the order of widths tried: .02 rad/s


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


def usual_constants(tried: Sequence[Mapping[str, Parameter]]) -> int:
    """Return which constants ``tried`` all joints have unless others predict better: smooth."""
    smooth = [k for k, own in enumerate(tried) if not any(LAWS[p.law].memory for p in own.values())
              ] or list(range(len(tried)))
    return smooth[min(SMOOTH, len(smooth) - 1)]


def chosen_constants(structure: Structure, stretches: Sequence[RFactors]) -> dict[str, Parameter]:
    """Return the constants of least residual, joint by joint: {coefficient: Parameter}."""
    if not structure.choices:
        return {}
    places = np.arange(int(structure.keep.max()) + 1)
    parameters = structure.parameters_of_places()
    picked = choose_nonlinear(merge([f.select(places) for f in stretches]), structure.base,
                              structure.choices, parameters)
    return {name: parameters[structure.choices[name][k]] for name, k in picked.items()}


def grid_of(structure: Structure, factors: RFactors, constants: Mapping[str, Parameter]) -> Grid:
    """
    Return the Grid of the constants tried for the laws of ``constants``.

    factors : about the places of the ``structure``
    EstimationError where a law of ``constants`` was not among those tried.
    """
    parameters, choices = structure.parameters_of_places(), {}
    for name, places in structure.choices.items():
        own = [k for k in places if parameters[k].law == constants[name].law]
        if not own:
            raise EstimationError(f'{name} of the model: {constants[name].law or "no law"}',
                                  exists=sorted({parameters[k].law for k in places}),
                                  do='identify the model again with the friction laws of the plan')
        choices[name] = own
    return Grid(factors, {name: ks[0] for name, ks in structure.choices.items()}, choices,
                tuple(parameters))


def at_constants(structure: Structure, constants: Mapping[str, Parameter]
                 ) -> tuple[BaseParameters, np.ndarray]:
    """
    Return base parameters with given constants in their columns, and the map (places, b) to them.

    structure : of all columns that are tried; constants : name -> Parameter with law and constant
    """
    grid = grid_of(structure, RFactors(int(structure.keep.max()) + 1), constants)
    base, final = structure.base, list(structure.base.parameters)
    for name, places in structure.choices.items():
        k = base.independent[places[0]]
        final[k] = replace(grid.parameters[grid.choices[name][0]],
                           nonlinear=constants[name].nonlinear)
    base = replace(base, parameters=tuple(final))
    return base, grid.columns(base)
