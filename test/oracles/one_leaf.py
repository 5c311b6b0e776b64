"""Changes of one value of nested mappings and lists, as damaged files have them."""

import copy
import math
import random

DELETED = object()
VALUES = (DELETED, None, {}, [], 'x', True, 0, -1.0, 1e-300, 1e308, math.nan, 10**400)


def leaves(data, path=()):
    """Yield the paths of all values of nested mappings and lists; of lists the ends."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else ()
    if isinstance(data, list):
        items = [(k, data[k]) for k in sorted({0, len(data) - 1}) if data]
    for key, value in items:
        yield from leaves(value, (*path, key))


def changed(data, path, value):
    """Return the content with one value changed or deleted."""
    out = at = copy.deepcopy(data)
    for key in path[:-1]:
        at = at[key]
    if value is DELETED:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return out


def changes(data, most):
    """Yield (path, value, content) of ``most`` changes of a content, the same ones every time."""
    cases = [(path, value) for path in leaves(data) for value in VALUES]
    for path, value in random.Random(0).sample(cases, min(most, len(cases))):
        yield path, value, changed(data, path, value)
