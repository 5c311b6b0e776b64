"""
Shapes: the constants inside a friction law that are not linear, one per joint.

Columns for every constant tried are folded together with the others, so a choice needs no second
look at the data: separable least squares over a grid (Golub and Pereyra 1973), joint by joint and
repeated until nothing changes.
"""

import numpy as np

from .estimators import Problem, ridge

SWEEPS = 10


def alternatives(parameters):
    """Return {name: [column, ...]} of parameters that stand more than once, by shape."""
    columns = {}
    for k, parameter in enumerate(parameters):
        columns.setdefault(parameter.name, []).append(k)
    return {name: ks for name, ks in columns.items() if len(ks) > 1}


def choose_shapes(information, base, choices, parameters):
    """
    Return {name: chosen index into ``choices[name]``}.

    information : about the b base columns, then the further alternatives
    choices : name -> information columns of the alternatives, the first one a base column
    parameters : Parameter of every information column
    """
    picked = {name: 0 for name in choices}
    for _ in range(SWEEPS):
        columns = np.arange(len(base))
        for name, k in picked.items():
            columns[choices[name][0]] = choices[name][k]
        problem = Problem(information.select(columns), base, {})
        beta = ridge(problem).params
        new = {name: _best(information, beta, columns, choices[name], parameters)
               for name in choices}
        if new == picked:
            break
        picked = new
    return picked


def _best(information, beta, columns, choice, parameters):
    """Return the alternative that leaves least, the joint's other friction free, the rest held."""
    owner = parameters[choice[0]].owner
    group = information.groups[owner]
    place = {column: k for k, column in enumerate(group.columns)}
    rest = group.R[:, -2].copy()
    free = []
    for column, value in zip(columns, beta):
        if column not in place or column in choice:
            continue
        if parameters[column].law and parameters[column].owner == owner:
            free.append(place[column])
        else:
            rest -= group.R[:, place[column]] * value
    left = []
    for column in choice:
        A = group.R[:, free + [place[column]]]
        solution, *_ = np.linalg.lstsq(A, rest, rcond=None)
        left.append(np.linalg.norm(rest - A @ solution))
    return int(np.argmin(left))
