"""
The ten standard inertial parameters of a rigid body: their order, names, units and meaning.

Order (pinocchio's): ``m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz``: mass [kg], first moment
[kg m], inertia tensor elements [kg m^2] about the origin of the body's joint frame, in that frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import EstimationError, RobotModelError

SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
UNITS = ('kg',) + ('kg m',) * 3 + ('kg m^2',) * 6
# One kilogram at a tenth of a metre: columns scaled by these are comparable numbers, so that a
# rank can be read off their singular values (scaling by the columns' own norms would promote
# rounding noise to full rank).
SCALES = (1.0,) + (0.1,) * 3 + (0.01,) * 6


@dataclass(frozen=True)
class Parameter:
    """
    One column of a regressor.

    name : symbol with the number of its body or joint, for example ``Ixx2`` or ``fv3``
    unit : of the value
    scale : physical size that makes columns comparable (same unit)
    nominal : prior value, before any data (URDF) (same unit)
    prior_sd : standard deviation of that prior (same unit)
    owner : link or joint it belongs to
    law : name of the friction law, '' for a parameter of a body
    nonlinear : value of the nonlinear parameter inside the column (a friction width), else None
    """

    name: str
    unit: str
    scale: float
    nominal: float = 0.0
    prior_sd: float = 1.0
    owner: str = ''
    law: str = ''
    nonlinear: float | None = None


def body_parameters(number: int, link: str, nominal: np.ndarray, reach: float) -> list[Parameter]:
    """
    Return the ten Parameters of body ``number`` (counted from 1).

    link : its name; nominal : (10,) from the URDF
    reach : size of the robot [m], bounds where mass can be
    The prior standard deviation is the body's own mass placed anywhere within a third of the
    reach: a prior that hardly resists data, yet keeps what the data do not determine near the
    URDF.
    """
    mass = max(abs(nominal[0]), 0.1)
    arm = max(reach / 3.0, 0.05)
    return ten_of_body(number, link, nominal, (mass, arm))


def ten_of_body(
    number: int, link: str, nominal: np.ndarray, size: tuple[float, float]
) -> list[Parameter]:
    """
    Return the ten Parameters of body ``number`` of a ``link``, known about to its size.

    nominal : (10,); size : mass [kg] and distance from the origin [m] that it may have
    """
    mass, arm = size
    prior_sd = (mass,) + (mass * arm,) * 3 + (mass * arm**2,) * 6
    return [
        Parameter(f'{s}{number}', u, c, float(p), d, link)
        for s, u, c, p, d in zip(SYMBOLS, UNITS, SCALES, nominal, prior_sd)
    ]


def pseudo_inertia(parameters: np.ndarray) -> np.ndarray:
    """
    Return the pseudo-inertia matrix (..., 4, 4) of ten parameters (..., 10).

    Positive definite exactly when a mass distribution with these moments exists (Wensing, Kim,
    Slotine 2018, Eq. 8): [[Sigma, m c], [m c', m]] with Sigma = tr(I)/2 - I.
    """
    pi = np.asarray(parameters, dtype=float)
    inertia = inertia_tensor(pi)
    half_trace = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)
    out = np.zeros(pi.shape[:-1] + (4, 4))
    out[..., :3, :3] = half_trace[..., None, None] * np.eye(3) - inertia
    out[..., :3, 3] = out[..., 3, :3] = pi[..., 1:4]
    out[..., 3, 3] = pi[..., 0]
    return out


def inertia_tensor(parameters: np.ndarray) -> np.ndarray:
    """Return the inertia tensors (..., 3, 3) about the frame origin of (..., 10) parameters."""
    pi = np.asarray(parameters, dtype=float)
    xx, xy, yy, xz, yz, zz = np.moveaxis(pi[..., 4:10], -1, 0)
    rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def parameters_of(pseudo: np.ndarray) -> np.ndarray:
    """Return the ten parameters (..., 10) of pseudo-inertia matrices (..., 4, 4)."""
    P = np.asarray(pseudo, dtype=float)
    second = P[..., :3, :3]
    inertia = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    return np.stack(
        [
            P[..., 3, 3],
            P[..., 0, 3],
            P[..., 1, 3],
            P[..., 2, 3],
            inertia[..., 0, 0],
            inertia[..., 0, 1],
            inertia[..., 1, 1],
            inertia[..., 0, 2],
            inertia[..., 1, 2],
            inertia[..., 2, 2],
        ],
        axis=-1,
    )


def about_center(parameters: np.ndarray | Sequence[float]) -> tuple[Any, np.ndarray, np.ndarray]:
    """
    Return mass [kg] (float or list), centre (..., 3) of it [m], inertia about that (..., 3, 3).

    parameters : (..., 10) of bodies with a mass that is not zero; inertia : [kg m^2]
    """
    pi = np.asarray(parameters, dtype=float)
    mass, centre = pi[..., 0], pi[..., 1:4] / pi[..., :1]
    return mass.tolist(), centre, inertia_tensor(pi) - _steiner(mass, centre)


def about_origin(mass: float, centre: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """
    Return the ten parameters (10,) of a body, see ``about_center``.

    mass : [kg]; centre : (3,) of mass [m]; inertia : (3, 3) about it [kg m^2]
    """
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia + _steiner(mass, centre)
    return np.array([mass, *(mass * centre), xx, xy, yy, xz, yz, zz])


def _steiner(mass, centre):
    """Return inertias (..., 3, 3) about the origin minus those about the centre."""
    square = (centre**2).sum(-1)[..., None, None] * np.eye(3)
    return np.asarray(mass)[..., None, None] * (square - centre[..., None] * centre[..., None, :])


def check_consistent(parameters: np.ndarray, name: str) -> None:
    """Raise EstimationError where no body has the ten ``parameters`` (10,) of ``name``."""
    if np.linalg.eigvalsh(pseudo_inertia(parameters))[0] <= 0.0:
        raise EstimationError(
            f'no body has the parameters of {name}',
            found='a pseudo-inertia that is not positive definite',
            do='identify with --consistent',
        )


def bodies(parameters: Sequence[Parameter]) -> dict[str, int]:
    """
    Return {link: first of its ten columns} of the bodies among Parameters.

    parameters : (p,), the ten of a body side by side
    """
    return {p.owner: k for k, p in enumerate(parameters) if _is_mass_of_body(parameters, k)}


def carrying_body(parameters: Sequence[Parameter], link: str = '') -> tuple[str, int]:
    """
    Return (name, first of its ten columns) of the body that carries a load.

    link : its name, '' for the last one; RobotModelError where no moving link is called so
    """
    links = bodies(parameters)
    link = link or list(links)[-1]
    if link not in links:
        raise RobotModelError(
            f'{link!r} carries nothing', exists=tuple(links), expected='a moving link of the model'
        )
    return link, links[link]


def _is_mass_of_body(parameters: Sequence[Parameter], k: int) -> bool:
    """Return whether the ten Parameters of a body begin with the one at ``k``."""
    mass, ten = parameters[k], parameters[k : k + 10]
    if mass.unit != 'kg' or len(ten) < 10:
        return False
    return all(p.owner == mass.owner and not p.law for p in ten)
