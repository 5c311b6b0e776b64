"""How far a model may be from the truth: by what it says of itself, in standard errors."""

import numpy as np


def scores(base, truth):
    """
    Return {name: error in standard errors} of determined entries of a model's ``base``.

    truth : of standard parameters; entries of others than these are left out
    """
    errors = {}
    for entry in base:
        grouping = entry['grouping']
        if entry['determined'] and truth.keys() >= grouping.keys():
            true = sum(factor * truth[name] for name, factor in grouping.items())
            errors[entry['name']] = (entry['value'] - true) / entry['standard_error']
    return errors


def scores_of(base, truth):
    """Return the errors (k,) in standard errors of entries of a ``base``; truth : k by name."""
    entries = {entry['name']: entry for entry in base}
    return np.array(
        [
            (entries[name]['value'] - true) / entries[name]['standard_error']
            for name, true in truth.items()
        ]
    )
