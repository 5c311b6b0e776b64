"""Reduction: the data as R factors about base parameters, friction laws and constants chosen."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .structure import choose_alternatives, refine, Structure, structure_of
from ..passes import Accumulated, Passes
from ..prepare.dataset import Dataset
from ..settings import EstimationOptions
from ...dynamics.inertial_parameters import Parameter
from ...estimation.base_parameters import BaseParameters
from ...estimation.estimators import Problem
from ...estimation.nonlinear_parameters import alternatives, Grid, RefinedNonlinear
from ...estimation.r_factors import merge, RFactors
from ...measurement.joints.kinematic_state import AT_REST
from ...methods.capabilities import JointTorques

REFINED = {'coulomb', 'presliding', 'stribeck', 'stribeck_atan'}  # whose constants leave the grid
NEAR = 4  # constants beside the chosen one: as many as interpolation between them needs


@dataclass(frozen=True)
class Reduced:
    """
    The data as R factors about the base columns.

    base : BaseParameters; folds : RFactors of the base columns, one per stretch of time
    grid : of the nonlinear parameters tried, None where there are none; searched : their laws
    refined : what refining them gave; notes : {key of the statistics: what was chosen}
    tried : Structure, and folds about all its columns, alternatives included
    ranges : joint -> {q, v, a: [smallest, largest]} of the data
    laws : entries of ``statistics['choices']``, where one coefficient has several laws
    """

    base: BaseParameters
    folds: Sequence[RFactors]
    grid: Grid | None
    searched: set[str]
    refined: RefinedNonlinear | None
    notes: dict[str, Any]
    tried: tuple[Structure, Sequence[RFactors]]
    ranges: dict[str, Any]
    laws: list[dict[str, Any]]


def reduce_data(data: Dataset, structure: Structure, passes: Passes) -> Reduced:
    """Return the data as R factors, friction laws and nonlinear parameters chosen."""
    rows = passes.accumulated(data, structure)
    columns = structure.columns
    if isinstance(data.method, JointTorques):
        columns = _of_motion(structure, rows.ranges)
    if len(columns) < len(structure.columns):
        structure = structure_of(data.method, data.robots, columns)
        rows = passes.accumulated(data, structure)
    return choose(structure, rows, data.options)


def _of_motion(structure: Structure, ranges: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """
    Return the columns without friction and rotor inertia of joints that stood still.

    The noise of their velocities is all that a fit has for them: what it makes of that would be
    used as soon as they move.
    """
    return tuple(p for p in structure.columns if not p.law or np.ptp(
        ranges.get(p.owner, {}).get('q', (0.0, np.inf))) >= AT_REST)


def reduce_without(data: Dataset, before: Reduced, names: Collection[str]) -> Reduced:
    """Return the data ``before`` without laws that stand alone (``names``), constants anew."""
    structure, wide = before.tried
    structure, places = structure.without(names)
    rows = Accumulated([f.select(places) for f in wide], before.ranges)
    return choose(structure, rows, data.options)


def choose(structure: Structure, rows: Accumulated, options: EstimationOptions) -> Reduced:
    """Return the ``rows`` about base columns, friction laws and nonlinear parameters chosen."""
    wide = rows.folds
    base, folds, grid, entries = choose_alternatives(structure, wide)
    searched = structure.searched_laws & REFINED
    refined = refine(Problem(merge(folds), base, {}, grid=grid), searched) if grid else None
    if refined and grid:
        base = refined.base
        folds = [f.combine(grid.columns(base)) for f in wide]
    return Reduced(base, folds, grid, searched, refined, {}, (structure, wide), rows.ranges,
                   entries)


def reduce_again(data: Dataset, before: Reduced, passes: Passes) -> Reduced:
    """
    Return the data of other mountings as R factors, with the friction laws chosen before.

    data : the Dataset, its robots under another gravity; before : Reduced under the first one
    """
    kept = {p.name: p for p in before.base.parameters if p.nonlinear is not None}
    columns: list[Parameter] = []
    own = {p.name for p in before.base.parameters}
    tried = [p for p in before.tried[0].columns if p.name in own]
    several = {tried[ks[0]].name for ks in alternatives(tried).values()}
    for parameter in tried:
        if parameter.name not in several or parameter in _near(tried, kept[parameter.name]):
            columns.append(parameter)
    return reduce_data(data, structure_of(data.method, data.robots, columns), passes)


def _near(tried, chosen):
    """Return the Parameters of the chosen one's law whose constants are next to its own."""
    own = [p for p in tried if p.name == chosen.name and p.law == chosen.law]
    first = int(np.searchsorted([p.nonlinear for p in own], chosen.nonlinear)) - NEAR // 2
    first = int(np.clip(first, 0, max(0, len(own) - NEAR)))
    return own[first:first + NEAR]
