"""Accumulation: training data into R factors about base columns and open alternatives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .dataset import Dataset
from .mounting import structural_base
from ..dynamics.inertial_parameters import Parameter
from ..dynamics.regressor import RegressorBlock
from ..estimation.base_parameters import BaseParameters
from ..estimation.constants_grid import Grid
from ..estimation.cross_validation import FOLDS
from ..estimation.estimators import Problem
from ..estimation.nonlinear_parameters import (alternatives, choose_nonlinear, refine_nonlinear,
                                               RefinedNonlinear)
from ..estimation.problem import two_step
from ..estimation.r_factors import merge, RFactors
from ..methods.contract import Method


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

    def parameters_of_places(self) -> list[Parameter]:
        """Return the Parameter of every place in the R factors."""
        owner = {int(place): self.columns[k] for k, place in enumerate(self.keep) if place >= 0}
        return [owner[k] for k in range(len(owner))]


def structure_of(method: Method, robots: Sequence, columns: Sequence[Parameter]) -> Structure:
    """
    Return the Structure: random states under every mounting show all that is possible.

    method : of the rows; robots : of one description, each with its gravity
    columns : Parameters of the rows
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


def accumulate(data: Dataset, columns: Sequence[Parameter], keep: np.ndarray) -> list[RFactors]:
    """
    Return FOLDS RFactors, each of one stretch of time of every recording.

    data : the Dataset; columns : (p,) Parameters of the rows
    keep : (p,) their places in the R factors, -1: none
    """
    size = int(keep.max()) + 1
    folds = [RFactors(size) for _ in range(FOLDS)]
    done, whole = 0, data.samples(training=True)
    for robot, observation in data.pairs():
        own, seen = observation.samples(training=True), 0
        for state in data.states_of(observation):
            for block in data.method.regress_wanted(state, robot, columns, keep >= 0):
                for fold, part in _cut(block, seen, own):
                    folds[fold].accumulate(part, keep)
                seen, done = seen + len(block.t), done + len(block.t)
                data.report('identify', done, whole)
    return [f for f in folds if f.groups]


def _cut(block: RegressorBlock, seen: int, own: int) -> Iterator[tuple[int, RegressorBlock]]:
    """Yield (fold, part of the block) so that every recording falls into FOLDS equal stretches."""
    fold = np.minimum((seen + np.arange(len(block.t))) * FOLDS // own, FOLDS - 1)
    for number in np.unique(fold):
        where = np.flatnonzero(fold == number)
        yield int(number), block.rows(slice(where[0], where[-1] + 1))


def choose_alternatives(
        structure: Structure, folds: Sequence[RFactors],
        correlation: Mapping[str, float] | None = None
) -> tuple[BaseParameters, list[RFactors], Grid | None]:
    """
    Return base and folds with the chosen nonlinear parameters alone, and the Grid of all or None.

    structure : of the columns; folds : RFactors as ``accumulate`` returns them
    correlation : group -> see Problem, for choices between laws; none by default
    """
    base, choices = structure.base, structure.choices
    if not choices:
        return base, list(folds), None
    parameters = structure.parameters_of_places()
    total = merge(folds)
    picked = choose_nonlinear(total, base, choices, parameters, correlation)
    laws = {name: parameters[choices[name][k]].law for name, k in picked.items()}
    grid = Grid(total, {name: ks[0] for name, ks in choices.items()},
                {name: [k for k in ks if parameters[k].law == laws[name]]
                 for name, ks in choices.items()}, tuple(parameters))
    selection, final = np.arange(len(base)), list(base.parameters)
    for name, k in picked.items():
        place = choices[name][0]
        selection[place] = choices[name][k]
        final[base.independent[place]] = parameters[choices[name][k]]
    return replace(base, parameters=tuple(final)), [f.select(selection) for f in folds], grid


def refine(problem: Problem, laws: set[str]) -> RefinedNonlinear | None:
    """
    Return the RefinedNonlinear parameters of friction laws, None where there are none.

    problem : with grid or read; laws : names of those to refine
    """
    own = [problem.base.parameters[k] for k in problem.base.independent]
    if not any(p.law in laws and p.nonlinear for p in own):
        return None
    return refine_nonlinear(problem, two_step(problem)[1], laws)


def standard(base: BaseParameters, params: np.ndarray) -> np.ndarray:
    """Return standard parameters (p,) with base parameters ``params`` (b,), others nominal."""
    return base.expand(params, [p.nominal for p in base.parameters])
