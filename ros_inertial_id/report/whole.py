"""
The whole: mass and centre of mass of all bodies of a robot whose base moves.

The centre is a sum of parameters for every position of the joints, so that its error is known
where the split of mass between base and limbs is not.  Both are sums of base parameters, and their
errors those of the estimate: the description is in it once and is not taken to confirm it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .knowledge import covariance_with_errors, lead_columns, with_error
from .links import DECIDED
from ..dynamics.body_motion import apply, body_motions
from ..dynamics.inertial_parameters import bodies
from ..dynamics.robot_model import FloatingTree, numbered_links, RobotModel
from ..identification.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model

POSITIONS = 200  # of the joints, within the range of the training


@dataclass(frozen=True)
class Whole:
    """
    Mass and centre of mass of a whole robot, as far as the data halve the error at least.

    frame : link in whose frame the centre is, that of the base
    mass, mass_error : [kg]
    centre, errors : (3,) joints in the middle of their range [m], NaN where not determined
    largest_errors : (3,) over the range of the joints in the training [m]
    """

    frame: str
    mass: float
    mass_error: float
    centre: np.ndarray
    errors: np.ndarray
    largest_errors: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: None of what is not determined."""
        numbers = zip('xyz', self.centre, self.errors, self.largest_errors)
        out: dict[str, Any] = {
            'frame': self.frame,
            'mass': {'value': self.mass, 'standard_error': self.mass_error, 'unit': 'kg'},
        }
        for axis, value, error, largest in numbers:
            out[axis] = None
            if np.isfinite(value):
                out[axis] = {
                    'value': float(value),
                    'standard_error': float(error),
                    'largest_error': float(largest),
                    'unit': 'm',
                }
        return out


def whole_of(model: IdentifiedModel) -> Whole | None:
    """Return the Whole of a ``model``, None where its base is held or the mass not determined."""
    robot, first = robot_of_model(model), bodies(model.parameters)
    if not isinstance(robot, FloatingTree) or robot.tree.base_link not in first:
        return None
    covariance, leads = covariance_with_errors(model), lead_columns(model)
    prior_sd = np.array([p.prior_sd for p in model.parameters])
    of_mass = np.zeros(len(model.parameters))
    of_mass[list(first.values())] = 1.0
    moments = _first_moments(robot.tree, first, _positions(model), len(of_mass))
    mass = float(of_mass @ model.values)
    centres = moments @ model.values / mass
    slopes = (moments - centres[..., None] * of_mass) / mass
    mass_variance = float(of_mass[leads] @ covariance @ of_mass[leads])
    if DECIDED * mass_variance >= np.sum((of_mass * prior_sd) ** 2):
        return None
    of_base = slopes[..., leads]
    variances = np.sum((of_base @ covariance) * of_base, axis=2)
    before = np.sum((slopes * prior_sd) ** 2, axis=2)
    errors = np.sqrt(np.maximum(variances, 0.0))
    determined = (DECIDED * variances < before).all(axis=0)
    centre, error, largest = (
        np.where(determined, x, np.nan) for x in (centres[0], errors[0], errors.max(axis=0))
    )
    return Whole(robot.tree.base_link, mass, float(np.sqrt(mass_variance)), centre, error, largest)


def _positions(model: IdentifiedModel) -> np.ndarray:
    """Return positions (B, n) of the joints in the range of the training, its middle first."""
    ranges = np.array([model.validity_range[joint]['q'] for joint in model.robot['joints']])
    lower, upper = ranges.T
    drawn = np.random.default_rng(0).uniform(lower, upper, (POSITIONS, len(ranges)))
    return np.vstack([(lower + upper) / 2, drawn])


def _first_moments(
    tree: RobotModel, first: dict[str, int], q: np.ndarray, count: int
) -> np.ndarray:
    """
    Return the rows (B, 3, count) of mass times centre in the frame of the base, at q (B, n).

    first : {link: first of its ten columns}
    """
    out = np.zeros((len(q), 3, count))
    motions = body_motions(tree, q)
    for body, link in numbered_links(tree, first):
        motion, column = motions[body + 1], first[link]
        out[:, :, column] = motion.p.T
        for axis, unit in enumerate(np.eye(3)):
            out[:, :, column + 1 + axis] = apply(motion.R, unit).T
    return out


class WholeFacts(NamedTuple):
    """
    Mass [kg], centre [mm] and its largest errors [mm] over the range, as texts.

    largest : '' where no component of the centre is determined
    """

    mass: str
    centre: str
    largest: str
    frame: str


def whole_facts(whole: Whole | None) -> WholeFacts | None:
    """Return the facts of a ``whole``, None of none."""
    if whole is None:
        return None
    components, largest = [], []
    for axis, value, error, most in zip('xyz', whole.centre, whole.errors, whole.largest_errors):
        text = 'not determined'
        if np.isfinite(value):
            text = ' ± '.join(with_error(1e3 * value, 1e3 * error))
            largest.append(f'{1e3 * most:.2g}')
        components.append(f'{axis} {text}')
    mass = ' ± '.join(with_error(whole.mass, whole.mass_error))
    return WholeFacts(mass, ', '.join(components), ', '.join(largest), whole.frame)
