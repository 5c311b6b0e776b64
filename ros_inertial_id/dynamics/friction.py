"""
Friction laws as columns of the regressor: tau_friction = sum coefficient * column(v, a).

A law is one function and one line of ``LAWS``.  A law may hold one shape constant that is not
linear (the width of Coulomb's step); the constants tried for it become columns of their own, of
which the estimation keeps one per joint (variable projection, Golub and Pereyra 1973).
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np

from ..errors import ConfigError
from .inertial_parameters import Parameter


@dataclass(frozen=True)
class Law:
    """column(q, v, a, shape) -> (...,) for one joint; unit of the coefficient; shapes tried."""

    symbol: str
    unit: str
    scale: float
    column: Callable
    shapes: tuple = (None,)


def viscous(q, v, a, shape):
    """Return the column of fv [N m s/rad]: v."""
    return v


def coulomb(q, v, a, shape):
    """Return the column of fc [N m]: tanh(v / width), sign(v) for a width of zero."""
    return np.tanh(v / shape) if shape else np.sign(v)


def offset(q, v, a, shape):
    """Return the column of a constant torque or sensor offset [N m]: 1."""
    return np.ones_like(v)


def armature(q, v, a, shape):
    """Return the column of the reflected rotor inertia Ia [kg m^2]: a."""
    return a


# Widths [rad/s] from "a step" to "slower than most motions": a torque that was filtered by the
# robot shows a wider step than the friction itself has.
COULOMB_WIDTHS = (0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08)

LAWS = {
    'viscous': Law('fv', 'N m s/rad', 1.0, viscous),
    'coulomb': Law('fc', 'N m', 1.0, coulomb, COULOMB_WIDTHS),
    'offset': Law('off', 'N m', 1.0, offset),
    'armature': Law('Ia', 'kg m^2', 0.01, armature),
}


def check_laws(names):
    """Raise ConfigError when a friction law does not exist or is named twice."""
    for name in names:
        if name not in LAWS:
            raise ConfigError('friction law', found=repr(name), exists=tuple(LAWS))
    if len(set(names)) != len(names):
        raise ConfigError('friction laws are named twice', found=names)


def friction_parameters(number, joint, laws, effort_limit, shapes=None):
    """
    Return the Parameters of joint ``number`` (counted from 1), one per column.

    effort_limit : of the joint [N m]; the belief before data is zero +- that limit.
    shapes : {law: value} to use instead of those tried.  Columns of one name with different
        shapes are alternatives: at most one of them takes part in an estimate.
    """
    out = []
    for name in laws:
        law = LAWS[name]
        tried = (shapes[name],) if shapes and name in shapes else law.shapes
        out += [Parameter(f'{law.symbol}{number}', law.unit, law.scale, 0.0, effort_limit, joint,
                          name, shape) for shape in tried]
    return out


def friction_column(parameter, q, v, a):
    """Return the column (N,) of a friction Parameter for the samples (N,) of its joint."""
    return LAWS[parameter.law].column(q, v, a, parameter.shape)
