"""
Held postures: overall moments to link parameters, and what they leave open.

Step one of suspended_platform, by overall mass moments of free vibrations with the links held.
Then all links are one rigid body on the platform: the description with its first link alone,
which is the whole (Homma and Yamaura, Eqs. 1 to 4).  Moving a body's moments into another frame is
a congruence of its pseudo-inertia, P' = T P T', so the moments of the whole are linear in the
links' parameters whatever the joints (Eqs. 5 to 7 and 10, there for spherical joints).  What
postures alone never determine is given as a combination, with its interval (Eq. 19).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
import yaml

from ..bodies.description import mapping, read_description
from ..bodies.joints import random_bodies
from ..measurement.body_state import BodyState
from ..suspended_platform.method import known_mass, SuspendedPlatform
from ..suspended_platform.rig import KEYS, PlatformRig
from ...dynamics.inertial_parameters import (
    Parameter,
    parameters_of,
    pseudo_inertia,
    SYMBOLS,
    UNITS,
)
from ...dynamics.regressor import RegressorBlock, RowGroup
from ...errors import EstimationError
from ...estimation.base_parameters import BaseParameters, find_base_parameters
from ...estimation.estimators import Estimate, ordinary, Problem
from ...estimation.r_factors import RFactors
from ...identification.identify import identify
from ...identification.prepare.dataset import Progress
from ...identification.prepare.mounting import robot_of
from ...measurement.recording import Recording

MOMENTS = ('Ixx', 'Iyy', 'Izz')
ROUNDED_ZERO = 1e-12  # what rounding leaves of a direction that has no such component
_UNIT = np.array([pseudo_inertia(row) for row in np.eye(10)])
suspended_platform = SuspendedPlatform()


@dataclass(frozen=True)
class Postures:
    """
    Held postures with the moments of the whole.

    rotations (N, n, 3, 3), positions (N, n, 3) : of the n links in the frame of the first [m]
    moments : (N, 10) standard parameters of the whole in that frame
    """

    rotations: np.ndarray
    positions: np.ndarray
    moments: np.ndarray


@dataclass(frozen=True)
class PostureResult:
    """
    Base parameters by held postures.

    base : of all postures that the joints allow; estimate : of these
    links : number of them
    """

    base: BaseParameters
    estimate: Estimate
    links: int

    def intervals(self) -> dict[str, tuple[float, float]]:
        """
        Return {name: (least, greatest)} of moments of inertia that are open (Eq. 19).

        By moments of inertia that are positive; empty where postures are too few or more than one
        combination is open.  EstimationError when none are positive.
        """
        base, names = self.base, [p.name for p in self.base.parameters]
        N = np.zeros((len(names), len(base.dependent)))
        N[base.dependent, np.arange(N.shape[1])] = 1.0
        N[base.independent] = -base.X
        moments = [k for k, name in enumerate(names) if name[:3] in MOMENTS]
        through = np.flatnonzero((np.abs(N[moments]) > ROUNDED_ZERO).any(0))
        if len(through) != 1 or self.estimate.rank < len(base):
            return {}
        moments = [k for k in moments if abs(N[k, through[0]]) > ROUNDED_ZERO]
        move = N[moments, through[0]]
        start = base.expand(self.estimate.params, np.zeros(len(names)))[moments]
        zero = -start / move  # of the combination, where a moment of inertia would be zero
        low = zero[move > 0.0].max(initial=-np.inf)
        high = zero[move < 0.0].min(initial=np.inf)
        if low >= high:
            raise EstimationError(
                'no positive moments of inertia explain the data',
                do='check the springs, the overall mass and the postures',
            )
        ends = np.sort(start[:, None] + move[:, None] * [low, high])
        return {names[k]: (float(a), float(b)) for k, (a, b) in zip(moments, ends)}


def identify_held(
    text: str, recordings: Sequence[Recording], options: Any, progress: Progress | None = None
) -> Postures:
    """
    Return the Postures of ``recordings``, one each, of the calibrated rig in a YAML ``text``.

    options : of suspended_platform with EstimationOptions; their ``posture`` is taken as held
    ConfigError without links; RecordingError when a link was not still; EstimationError when the
    whole is not determined.
    """
    options = replace(options, posture='held')
    one_body = _first_link_alone(text)
    rotations, positions, moments = [], [], []
    for recording in recordings:
        robot = robot_of(recording, options, text, suspended_platform.name)
        observed = suspended_platform.observe(recording, robot, options)
        held = _places(next(observed.states(training=True)).rows(slice(0, 1)).bodies)
        rotations.append(held[0])
        positions.append(held[1])
        model = identify(
            [recording], options, method=suspended_platform.name, urdf=one_body, progress=progress
        ).model
        moments.append(_moments_of_all(model, robot.mass))
    return Postures(np.concatenate(rotations), np.concatenate(positions), np.array(moments))


def _first_link_alone(text):
    """Return the YAML ``text`` of a rig with its first link alone; ConfigError without links."""
    data = read_description(text, KEYS)
    name, link = next(iter(mapping(data.get('links'), 'links').items()))
    return yaml.safe_dump({**data, 'links': {name: link}}, sort_keys=False)


def _moments_of_all(model, mass):
    """Return the ten parameters of all links as one body; ``mass`` [kg] where it was given."""
    values = {e['name']: e['value'] for e in model.base}
    unknown = [name for name, value in values.items() if name.endswith('0') and value is None]
    if unknown:
        raise EstimationError(
            'a held posture does not show the whole',
            found=unknown,
            do='push and turn the platform in all directions',
        )
    return [values.get(f'{symbol}0', mass) for symbol in SYMBOLS]


def identify_postures(
    text: str,
    postures: Postures,
    options: Any = None,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> PostureResult:
    """
    Return the PostureResult of the rig in a YAML ``text``.

    options : of suspended_platform, its defaults with damping as given if None
    gravity : (3,) in the base frame [m/s^2]
    """
    if options is None:
        options = suspended_platform.Options(damping='given')
    robot = suspended_platform.build(text, options, np.asarray(gravity))
    columns = tuple(p for p in suspended_platform.parameters(robot, options) if not p.law)
    base = find_base_parameters(_random_rows(robot, columns), columns)
    factors = RFactors(len(base))
    keep = np.full(len(columns), -1)
    keep[base.independent] = np.arange(len(base))
    factors.accumulate(posture_block(postures, robot), keep)
    return PostureResult(base, ordinary(Problem(factors, base, {})), len(robot.link_names))


def posture_block(postures: Postures, robot: PlatformRig) -> RegressorBlock:
    """Return the RegressorBlock of Postures, nine rows each; columns: the links' parameters."""
    count, links = postures.positions.shape[:2]
    T = np.zeros((count, links, 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = postures.rotations, postures.positions, 1.0
    ten = parameters_of(np.einsum('nlij,kjm,nlom->nlkio', T, _UNIT, T))  # (N, links, column, row)
    rows = ten.transpose(3, 1, 2, 0).reshape(10, 10 * links, count)
    W, y = known_mass(rows[1:], robot.mass), postures.moments[:, 1:].T
    if np.isfinite(robot.mass):
        y, W = y - robot.mass * W[:, 0], W[:, 1:]
    groups = tuple(
        RowGroup(f'overall {symbol}', unit, np.arange(W.shape[1]), W[i].T, y[i], y[i])
        for i, (symbol, unit) in enumerate(zip(SYMBOLS[1:], UNITS[1:]))
    )
    return RegressorBlock(np.arange(float(count)), 0, groups)


def _places(bodies: Sequence[BodyState]) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations (N, n, 3, 3), positions (N, n, 3) of links in the frame of the first."""
    base = bodies[1]
    back = Rotation.from_quat(base.quaternion_xyzw).inv()
    rotations = [(back * Rotation.from_quat(b.quaternion_xyzw)).as_matrix() for b in bodies[1:]]
    return (
        np.stack(rotations, 1),
        np.stack([back.apply(b.position - base.position) for b in bodies[1:]], 1),
    )


def _random_rows(robot: PlatformRig, columns: Sequence[Parameter]) -> np.ndarray:
    """Return rows of random postures that the joints allow, of as many as there are columns."""
    bodies = random_bodies(
        robot.joints, len(columns), np.random.default_rng(0), robot.gravity_base
    )
    rotations, positions = _places(bodies)
    some = Postures(rotations, positions, np.zeros((len(columns), 10)))
    return np.concatenate([g.W for g in posture_block(some, robot).groups])
