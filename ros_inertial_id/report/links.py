"""
Links: what each link of a robot weighs, where its mass is, and how well the data determine it.

The numbers are those of the model that predicts.  Their errors combine what the data say of sums
of parameters with the prior about each (``knowledge.posterior``): where the data determine only a
sum, the error of its parts stays that of the prior.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .knowledge import posterior
from ..dynamics.inertial_parameters import about_center, bodies
from ..identification.identified_model import IdentifiedModel

QUANTITIES = ('mass', 'x', 'y', 'z', 'I1', 'I2', 'I3', 'Ixx', 'Iyy', 'Izz', 'Ixy', 'Ixz', 'Iyz')
UNITS = ('kg', 'm', 'm', 'm', *['kg m^2'] * 9)
STEP = 1e-5  # of a prior standard deviation, for derivatives
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
        nominal = [None] * len(QUANTITIES) if self.nominal is None else self.nominal
        columns = zip(QUANTITIES, self.values, self.errors, nominal, UNITS, self.determined)
        numbers = {
            name: {
                'value': value,
                'standard_error': error,
                'nominal': given,
                'unit': unit,
                'determined': bool(sure),
            }
            for name, value, error, given, unit, sure in columns
        }
        return {'link': self.name, **numbers}


def links_of(model: IdentifiedModel) -> list[Link]:
    """Return the Links of a ``model`` that have a positive mass, none of a rig without bodies."""
    first = bodies(model.parameters)
    if not first:
        return []
    covariance = posterior(model, alone=True)
    undetermined = {
        name for entry in model.base if not entry['determined'] for name in entry['grouping']
    }
    out = []
    for name, k in first.items():
        parameters, ten = model.parameters[k : k + 10], model.values[k : k + 10]
        if ten[0] <= 0.0:
            continue
        prior_sd = np.array([p.prior_sd for p in parameters])
        slope = _slopes(ten, STEP * prior_sd)
        before = np.sum((slope * prior_sd) ** 2, axis=1)
        now = np.einsum('ij,jk,ik->i', slope, covariance[k : k + 10, k : k + 10], slope)
        nominal = np.array([p.nominal for p in parameters])
        names = [p.name for p in parameters]
        values, errors = _central(ten), np.sqrt(np.maximum(now, 0.0))
        determined = DECIDED * now < before
        determined[1:4] &= [n not in undetermined for n in names[1:4]]
        determined[[*POSITIVE]] &= 2.0 * errors[[*POSITIVE]] < values[[*POSITIVE]]
        out.append(
            Link(name, values, errors, _central(nominal) if nominal[0] > 0.0 else None, determined)
        )
    return out


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
