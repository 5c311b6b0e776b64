"""
Links: what each link of a robot weighs, where its mass is, and how well the data determine it.

The numbers are those of the model that predicts.  Their errors combine what the data say of sums
of parameters with the prior about each (``knowledge.posterior``): where the data determine only a
sum, the error of its parts stays that of the prior.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .knowledge import posterior
from ..dynamics.inertial_parameters import about_center, bodies
from ..identification.identified_model import IdentifiedModel

QUANTITIES = ('mass', 'x', 'y', 'z', 'I1', 'I2', 'I3', 'Ixx', 'Iyy', 'Izz', 'Ixy', 'Ixz', 'Iyz')
UNITS = ('kg', 'm', 'm', 'm', *['kg m^2'] * 9)
DIFFERENCE_STEP = 1e-5  # of a prior standard deviation, for derivatives
DECIDED = 4.0  # variance of the prior over that with the data, above which the data decide
POSITIVE = (0, 4, 5, 6, 7, 8, 9)  # quantities that mean something from two standard errors on


@dataclass(frozen=True)
class Link:
    """
    One link; arrays (13,) of QUANTITIES: mass, centre of mass, inertia about it.

    values, errors : of the model, with standard errors; nominal : of the description, None where
        it has no mass
    determined : whether the data halve the error at least, and mass and moments are significant
    """

    name: str
    values: np.ndarray
    errors: np.ndarray
    nominal: np.ndarray | None
    determined: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: a mapping per quantity."""
        nominal: Sequence[float | None] = [None] * len(QUANTITIES)
        if self.nominal is not None:
            nominal = list(self.nominal)
        numbers = {
            name: {
                'value': self.values[k],
                'standard_error': self.errors[k],
                'nominal': nominal[k],
                'unit': UNITS[k],
                'determined': bool(self.determined[k]),
            }
            for k, name in enumerate(QUANTITIES)
        }
        return {'link': self.name, **numbers}


def links_of(model: IdentifiedModel) -> list[Link]:
    """Return the Links of a ``model`` that have a positive mass, none of a rig without bodies."""
    first_columns = bodies(model.parameters)
    if not first_columns:
        return []
    covariance = posterior(model, alone=True)
    undetermined = _undetermined(model)
    links = []
    for name, first in first_columns.items():
        ten = slice(first, first + 10)
        if model.values[first] > 0.0:
            links.append(_link(name, model, ten, covariance[ten, ten], undetermined))
    return links


def _undetermined(model: IdentifiedModel) -> set[str]:
    """Return the parameters that stand in sums of which the data say nothing."""
    names: set[str] = set()
    for entry in model.base:
        if not entry['determined']:
            names.update(entry['grouping'])
    return names


def _link(
    name: str,
    model: IdentifiedModel,
    ten: slice,
    covariance: np.ndarray,
    undetermined: Set[str],
) -> Link:
    """
    Return the Link of ten parameters of a ``model``.

    ten : their numbers; covariance : (10, 10) with the data; undetermined : names
    """
    parameters, values = model.parameters[ten], model.values[ten]
    prior_sd = np.array([p.prior_sd for p in parameters])
    slope = _slopes(values, DIFFERENCE_STEP * prior_sd)
    before = np.sum((slope * prior_sd) ** 2, axis=1)
    now = np.einsum('ij,jk,ik->i', slope, covariance, slope)
    quantities, errors = _central(values), np.sqrt(np.maximum(now, 0.0))
    determined = DECIDED * now < before
    determined[1:4] &= [p.name not in undetermined for p in parameters[1:4]]
    positive = [*POSITIVE]
    determined[positive] &= 2.0 * errors[positive] < quantities[positive]
    described = np.array([p.nominal for p in parameters])
    nominal = None
    if described[0] > 0.0:
        nominal = _central(described)
    return Link(name, quantities, errors, nominal, determined)


def _central(ten: np.ndarray) -> np.ndarray:
    """Return QUANTITIES (..., 13) of parameters (..., 10): principal moments, then link axes."""
    _, centre, inertia = about_center(ten)
    return np.concatenate(
        [
            ten[..., :1],
            centre,
            np.linalg.eigvalsh(inertia),
            inertia[..., [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
        ],
        axis=-1,
    )


def _slopes(ten: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the derivatives (13, 10) of ``_central``, by differences of ``steps`` (10,)."""
    each = np.diag(steps)
    return (_central(ten + each) - _central(ten - each)).T / (2.0 * steps)
