"""
Folding: training data into Informations, about the base columns and the shapes still open.
"""

from dataclasses import replace

import numpy as np

from .estimation.estimators import weighted
from .estimation.information import Information
from .estimation.shapes import alternatives, choose_shapes, Grid, refine_shapes
from .mounting import structural_base

FOLDS = 5  # stretches of time, each left out once to judge the others


def structure(rows, robots, columns):
    """
    Return the BaseParameters of the structure, and where every column goes in the information.

    Random states under every mounting show all that is possible; of alternative columns (friction
    widths) the first stands for all.  keep : column -> place in the information or -1: the base
    columns first, then the other alternatives of base columns; choices : name -> places.
    """
    twins = alternatives(columns)
    later = {k for ks in twins.values() for k in ks[1:]}
    primary = [k for k in range(len(columns)) if k not in later]
    parameters = [columns[k] for k in primary]
    base = structural_base(rows, robots, parameters)
    keep = np.full(len(columns), -1)
    keep[np.array(primary)[base.independent]] = np.arange(len(base))
    choices, size = {}, len(base)
    for name, ks in twins.items():
        if keep[ks[0]] >= 0:
            keep[ks[1:]] = np.arange(size, size + len(ks) - 1)
            size += len(ks) - 1
            choices[name] = [int(keep[k]) for k in ks]
    return base, keep, choices


def fold(rows, robots, observations, columns, keep, progress=None):
    """Return FOLDS Informations, each of one stretch of time of every recording."""
    size = int(keep.max()) + 1
    folds = [Information(size) for _ in range(FOLDS)]
    done, whole = 0, sum(o.samples(training=True) for o in observations)
    for robot, observation in zip(robots, observations):
        own, seen = observation.samples(training=True), 0
        for state in observation.states(training=True):
            for block in rows.regress(state, robot, columns):
                for fold, part in _cut(block, seen, own):
                    folds[fold].fold(part, keep)
                seen, done = seen + len(block.t), done + len(block.t)
                if progress:
                    progress('identify', done, whole)
    return [f for f in folds if f.groups]


def _cut(block, seen, own):
    """Yield (fold, part of the block) so that every recording falls into FOLDS equal stretches."""
    fold = np.minimum((seen + np.arange(len(block.t))) * FOLDS // own, FOLDS - 1)
    for number in np.unique(fold):
        where = np.flatnonzero(fold == number)
        yield int(number), block.rows(slice(where[0], where[-1] + 1))


def settle_shapes(base, columns, keep, choices, folds):
    """Return base and folds with the chosen shape constants only, and the Grid of all or None."""
    if not choices:
        return base, folds, None
    owner = {int(place): columns[k] for k, place in enumerate(keep) if place >= 0}
    parameters = [owner[k] for k in range(len(owner))]
    grid = Grid(merge(folds), choices, tuple(parameters))
    picked = choose_shapes(grid.information, base, choices, parameters)
    selection, final = np.arange(len(base)), list(base.parameters)
    for name, k in picked.items():
        place = choices[name][0]
        selection[place] = choices[name][k]
        final[base.independent[place]] = parameters[choices[name][k]]
    return replace(base, parameters=tuple(final)), [f.select(selection) for f in folds], grid


def refine(problem, laws):
    """Return RefinedShapes of friction laws, None where none of them is there."""
    own = [problem.base.parameters[k] for k in problem.base.independent]
    if not any(p.law in laws and p.shape for p in own):
        return None
    return refine_shapes(problem, weighted(problem).deviation, laws)


def places(base):
    """Return the column -> place in the information of base columns alone."""
    keep = np.full(len(base.parameters), -1)
    keep[base.independent] = np.arange(len(base))
    return keep


def merge(folds):
    total = folds[0]
    for fold in folds[1:]:
        total = total.merge(fold)
    return total


def standard(base, estimate):
    """Return standard parameters with the estimate's base parameters, the others nominal."""
    return base.expand(estimate.params, [p.nominal for p in base.parameters])
