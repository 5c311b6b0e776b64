"""
What a first identification knows already: a second motion is designed for what is still open.

Its base parameters beta = K pi have the covariance C, so its recordings are worth W'W = K' C^-1 K
about the columns pi, to which those of the next motion add (Gautier and Khalil 1992 design each
motion alone; the sum is Fisher's information of both).
"""

from collections.abc import Sequence

import numpy as np

from ..dynamics.inertial_parameters import Parameter
from ..errors import MotionError
from ..identification.model import IdentifiedModel


def information_of(model: IdentifiedModel, parameters: Sequence[Parameter]) -> np.ndarray:
    """
    Return W'W / sigma^2 (p, p) that a first identification is worth.

    model : IdentifiedModel of the same robot; parameters : (p,) the columns of the design
    What the model knows of other columns, as of friction laws that the design has not, is
    averaged over.  Raises MotionError when they have nothing in common.
    """
    place = {p.name: k for k, p in enumerate(parameters)}
    shared = [k for k, entry in enumerate(model.base) if set(entry['grouping']) <= set(place)]
    if not shared:
        raise MotionError('the model is of another robot',
                          expected=f'parameters as {parameters[0].name}, {parameters[-1].name}',
                          found=[entry['name'] for entry in model.base[:3]])
    K = np.zeros((len(shared), len(parameters)))
    for row, k in zip(K, shared):
        for name, coefficient in model.base[k]['grouping'].items():
            row[place[name]] = coefficient
    covariance = model.covariance[np.ix_(shared, shared)]
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    inverse = np.linalg.pinv(covariance / np.outer(scale, scale), hermitian=True)
    return K.T @ (inverse / np.outer(scale, scale)) @ K
