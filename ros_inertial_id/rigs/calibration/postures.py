"""
Held postures: overall moments to link parameters, what they leave open, which posture helps.

Step one of suspended_platform, by overall mass moments: a rig or a device for single bodies
reports them, or free vibrations with the links held.  Then all links are one rigid body on the
platform: the description with its first link alone, which is the whole (Homma and Yamaura, Eqs. 1
to 4).  What postures alone never determine is given as a combination, with the interval in which
the bodies are physically consistent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import null_space
import yaml

from .feasible import diagonal_interval, feasible_interval
from ..suspended_platform.method import SuspendedPlatform
from ..suspended_platform.postures import (joined, link_parameters, posture_block, Postures,
                                           postures_of, random_postures)
from ...dynamics.inertial_parameters import SYMBOLS
from ...errors import EstimationError
from ...estimation.base_parameters import BaseParameters, decide_rank, find_base_parameters
from ...estimation.estimators import Estimate, ordinary, Problem
from ...estimation.r_factors import RFactors
from ...identification.identify import identify
from ...identification.prepare.dataset import Progress
from ...identification.prepare.robot import robot_of
from ...measurement.recording import Recording

suspended_platform = SuspendedPlatform()


@dataclass(frozen=True)
class PostureResult:
    """
    Base parameters by held postures, and what these leave open.

    base : of all postures that the joints allow; estimate : of these
    missing : expressions that take motion, as text
    factors : about the base columns, that the estimate is of
    """

    robot: Any
    base: BaseParameters
    estimate: Estimate
    missing: tuple[str, ...]
    factors: RFactors

    def value(self, combination: Mapping[str, float]) -> tuple[float, float] | None:
        """Return (value, error) of a ``combination`` {parameter: factor}; None: it is open."""
        d = self.base.combined(combination)
        if d is None:
            return None
        return (float(d @ self.estimate.params),
                float(np.sqrt(d @ self.estimate.cov_params @ d)))

    def interval(self, name: str) -> dict[str, tuple[float, float] | None]:
        """
        Return {paper, physical: (least, greatest)} of a parameter that is left open.

        paper : by the diagonal of the inertia alone, None where several combinations are open
        physical : by the whole pseudo-inertia of every link
        """
        base, robot = self.base, self.robot
        x0 = base.expand(self.estimate.params, np.zeros(len(base.parameters)))
        E, e = link_parameters(robot, base.parameters)
        direction = np.array([float(p.name == name) for p in base.parameters])
        N = np.zeros((len(x0), len(base.dependent)))
        N[base.dependent, np.arange(N.shape[1])] = 1.0
        N[base.independent] = -base.X
        open_ = N[:, np.abs(direction @ N) > 1e-12]
        paper = (diagonal_interval(x0, open_[:, 0], direction, E, e)
                 if open_.shape[1] == 1 else None)
        return {'paper': paper, 'physical': feasible_interval(x0, N, direction, E, e)}


def identify_held(text: str, recordings: Sequence[Recording], options: Any,
                  progress: Progress | None = None) -> Postures:
    """
    Return the Postures of ``recordings``, one each, of the calibrated rig in a YAML ``text``.

    options : of suspended_platform with EstimationOptions; their ``posture`` is taken as held
    RecordingError when a link was not still; EstimationError when the whole is not determined.
    """
    options = replace(options, posture='held')
    data = yaml.safe_load(text)
    first = next(iter(data['links'] or {}), None)
    whole = yaml.safe_dump({**data, 'links': {first: data['links'][first]}}, sort_keys=False)
    postures = []
    for recording in recordings:
        robot = robot_of(recording, options, text, suspended_platform.name)
        observed = suspended_platform.observe(recording, robot, options)
        bodies = next(observed.states(training=True)).rows(slice(0, 1)).bodies
        model = identify([recording], options, method=suspended_platform.name, urdf=whole,
                         progress=progress).model
        moments = {e['name']: e['value'] for e in model.base}
        open_ = [n for n in moments if n[-1] == '0' and moments[n] is None]
        if open_:
            raise EstimationError('a held posture does not show the whole', found=open_,
                                  do='push and turn the platform in all directions')
        ten = [moments.get(f'{symbol}0', robot.mass) for symbol in SYMBOLS]
        postures.append(postures_of(bodies, np.array([ten])))
    return joined(postures)


def identify_postures(text: str, postures: Postures, options: Any = None,
                      gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> PostureResult:
    """
    Return the PostureResult of the rig in a YAML ``text``.

    options : of suspended_platform, its defaults with damping as given if None
    gravity : (3,) in the base frame [m/s^2]
    """
    options = options or suspended_platform.Options(damping='given')
    robot = suspended_platform.build(text, options, np.asarray(gravity))
    columns = tuple(p for p in suspended_platform.parameters(robot, options) if not p.law)
    base = find_base_parameters(_rows(robot, columns, np.random.default_rng(0)), columns)
    factors = RFactors(len(base))
    keep = np.full(len(columns), -1)
    keep[base.independent] = np.arange(len(base))
    factors.accumulate(posture_block(postures, robot, columns), keep)
    estimate = ordinary(Problem(factors, base, {}))
    return PostureResult(robot, base, estimate, _open_directions(robot, columns, base), factors)


def _rows(robot, columns, rng):
    """Return rows of random postures, of three times as many as needed."""
    block = posture_block(random_postures(robot, len(columns), rng), robot, columns)
    return np.concatenate([g.W for g in block.groups])


def _open_directions(robot, columns, held):
    """Return what held postures leave open though a motion of the joints shows it, as text."""
    rng = np.random.default_rng(0)
    state = suspended_platform.random_state(robot, len(columns), rng)
    rows = np.concatenate([g.W for block in suspended_platform.regress(state, robot, columns)
                           for g in block.groups])
    moving = find_base_parameters(rows, columns)
    scales = np.array([p.scale for p in columns])
    # Directions of the held null space that the moving rows see.
    unseen = null_space(held.matrix() * scales, rcond=1e-9)
    seen = moving.matrix() * scales @ unseen
    _, s, Vt = np.linalg.svd(seen)
    rank, _ = decide_rank(s) if s[0] > 1e-9 else (0, 0.0)
    return tuple(_expression(unseen @ row * scales, columns) for row in Vt[:rank])


def _expression(vector, columns):
    vector = vector / vector[np.argmax(np.abs(vector))]
    terms = []
    for x, parameter in zip(vector, columns):
        if abs(x) > 1e-6:
            size = '' if abs(abs(x) - 1.0) < 1e-6 else f'{abs(x):.4g} '
            terms.append(f"{'-' if x < 0 else '+'} {size}{parameter.name}")
    return ' '.join(terms).removeprefix('+ ')


def suggest_posture(result: PostureResult, postures: Postures, candidates: int = 300,
                    seed: int = 0) -> tuple[Postures, float]:
    """
    Return (Postures of one, factor): the next posture, and by how much it shrinks errors.

    The one among random postures that the joints allow whose nine further rows shrink the volume
    of the confidence ellipsoid most (D-optimal, Fedorov 1972); factor is per parameter.
    """
    robot, base = result.robot, result.base
    columns = base.parameters
    measured = posture_block(postures, robot, columns)
    A = np.concatenate([g.W for g in measured.groups])[:, base.independent] * base.scales()
    tried = random_postures(robot, candidates, np.random.default_rng(seed))
    block = posture_block(tried, robot, columns)
    rows = np.stack([g.W for g in block.groups])[:, :, base.independent] * base.scales()
    factors = A.T @ A
    # What is not determined yet counts as known to a hundred times the physical scale.
    factors += 1e-4 * np.eye(len(base))
    before = np.linalg.slogdet(factors)[1]
    gains = [np.linalg.slogdet(factors + rows[:, k].T @ rows[:, k])[1] - before
             for k in range(candidates)]
    best = int(np.argmax(gains))
    chosen = Postures(*(x[best:best + 1] for x in
                        (tried.rotations, tried.positions, tried.moments)))
    return chosen, float(np.exp(-0.5 * gains[best] / len(base)))
