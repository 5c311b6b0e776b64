"""
Described links: those that are taken as the description has them, so that drives alone are found.

A link of the option ``links`` is known as by ``given``: friction, rotor inertia and the delay are
what the data have left to decide.  A description is not exact, though: how far its links may
be off is in ``described_link_errors``, what that does to the drives in the budget of their errors.
"""

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ...dynamics.inertial_parameters import parameters_of, pseudo_inertia
from ...errors import ConfigError
from ...measurement.joints.effort_source import DESCRIBED_SCALE
from ...methods.contract import Robot

ALL_LINKS = 'described'


def with_described_links(options: Any, robot: Robot) -> Any:
    """
    Return ``options`` with the links of ``robot`` that are taken as described among what is given.

    ConfigError where a name is of no link, and where links are not physically consistent.
    """
    if not options.links:
        return options
    if options.unconstrained:
        raise ConfigError(
            'option links',
            found='unconstrained: true',
            expected='physically consistent bodies, the default, which keep links as described',
        )
    links = described_links(options, robot)
    return replace(options, given=tuple(dict.fromkeys([*options.given, *links])))


def described_links(options: Any, robot: Robot) -> list[str]:
    """Return the names of the links of ``robot`` that ``options`` take as described."""
    names = set[str]()
    for pattern in options.links:
        if pattern == ALL_LINKS:
            pattern = '*'
        matches = [link for link in robot.link_names if fnmatchcase(link, pattern)]
        if not matches:
            raise ConfigError('option links', found=pattern, exists=(ALL_LINKS, *robot.link_names))
        names.update(matches)
    return [link for link in robot.link_names if link in names]


def described_link_errors(pi: np.ndarray) -> np.ndarray:
    """
    Return how far a link may be off: errors (10, 7) of its standard parameters ``pi`` (10,).

    Of unit size, independent: the density, the place along three axes, the stretch along them,
    each by DESCRIBED_SCALE; places by that share of the rms distance of the mass from the joint.
    """
    P = pseudo_inertia(np.asarray(pi, dtype=float))
    mass, moment = P[3, 3], P[:3, 3]
    if mass <= 0.0:
        return np.zeros((10, 7))
    about_centre = P[:3, :3] - np.outer(moment, moment) / mass
    distance = np.sqrt(max(np.trace(P[:3, :3]), 0.0) / mass)
    errors = [np.asarray(pi, dtype=float)]
    for axis in np.eye(3):
        shifted, stretched = np.zeros((2, 4, 4))
        shifted[:3, 3] = shifted[3, :3] = mass * distance * axis
        shifted[:3, :3] = distance * (np.outer(axis, moment) + np.outer(moment, axis))
        along = np.outer(axis, axis) @ about_centre
        stretched[:3, :3] = along + along.T
        errors += [parameters_of(shifted), parameters_of(stretched)]
    return DESCRIBED_SCALE * np.column_stack(errors)
