"""
Mountings: which base parameters gravity shows, and for which mounting a model can predict.

Gravity along the first axis hides first moments (the VBS of Troebinger et al.); gravity in
general directions shows all there are (their generalized set, GBS).  A model predicts under
another mounting exactly when every base parameter of that mounting is a combination of those
that were identified.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..identified_model import IdentifiedModel
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.robot_model import STANDARD_GRAVITY
from ...errors import RobotModelError
from ...estimation.base_parameters import BaseParameters, find_base_parameters
from ...estimation.r_factors import one_thread, RFactors
from ...methods.capabilities import ClosedLoops
from ...methods.contract import Method

SAMPLES = 3   # random samples per column: enough for any structure (PERFORMANCE.md)
SPAN = 1e-6   # relative residual of a combination that is inside the span of others
SAME = 0.02   # m/s^2, a tenth of a degree: the same mounting


def structural_base(method: Method, robots: Sequence[Any],
                    parameters: Sequence[Parameter]) -> BaseParameters:
    """
    Return the BaseParameters that random motion under the mountings of ``robots`` would show.

    robots : of one URDF, each with its gravity; parameters : one per column
    """
    rng = np.random.default_rng(0)
    factors, keep = RFactors(len(parameters)), np.arange(len(parameters))
    for robot in robots:
        state = method.random_state(robot, -(-SAMPLES * len(parameters) // len(robots)), rng)
        for block in method.regress(state, robot, parameters):
            factors.accumulate(block, keep)
    return find_base_parameters(factors.system()[0], parameters)


def rank_of_bodies(method: Method, robots: Sequence[Any],
                   base: BaseParameters) -> dict[str, int]:
    """
    Return {'rank_of_bodies': by the rows, 'rank_by_energy': by the gradient of the energy}.

    Two ways to one number (Gautier 1991): where they differ the structure is not certain.
    Nothing is returned where no loops are closed.

    base : BaseParameters that it returned
    """
    if not isinstance(method, ClosedLoops):
        return {}
    bodies = [p for p in base.parameters if not p.law]
    rng = np.random.default_rng(1)  # other states than those of the rows
    rows = [method.energy_rows(robot, bodies, SAMPLES * len(bodies), rng) for robot in robots]
    by_rows = sum(not base.parameters[k].law for k in base.independent)
    return {'rank_of_bodies': by_rows,
            'rank_by_energy': len(find_base_parameters(np.concatenate(rows), bodies))}


def any_mounting(method: Method, urdf: str, options: Any) -> list[Any]:
    """Return robots under three gravities that together show the generalized base set."""
    return [method.build(urdf, options, STANDARD_GRAVITY * axis) for axis in np.eye(3)]


def unknown(known: BaseParameters, wanted: BaseParameters) -> np.ndarray:
    """Return the indices (k,) of base parameters ``wanted`` that ``known`` ones do not give."""
    scales = np.array([p.scale for p in wanted.parameters])
    span, targets = (K / np.linalg.norm(K, axis=1)[:, None]
                     for K in (base.matrix() / scales for base in (known, wanted)))
    basis, _ = np.linalg.qr(span.T)
    outside = np.linalg.norm(targets - (targets @ basis) @ basis.T, axis=1)
    return np.flatnonzero(outside > SPAN)


def mounting_parameters(method: Method, urdf: str, options: Any,
                        base: BaseParameters) -> dict[str, list[str]]:
    """
    Return {known: [...], missing: [...]}: names of the generalized base parameters.

    base : BaseParameters that the recorded mountings show
    """
    general = structural_base(method, any_mounting(method, urdf, options), base.parameters)
    lacking = set(unknown(base, general).tolist())
    names = general.names()
    return {'known': [n for k, n in enumerate(names) if k not in lacking],
            'missing': [n for k, n in enumerate(names) if k in lacking]}


def check_mounting(method: Method, model: IdentifiedModel, options: Any, robot: Any) -> None:
    """
    Raise RobotModelError, naming what is missing, when a model cannot predict ``robot``.

    robot : the same robot, mounted as it is at present
    """
    known = [np.array(g) for g in model.mounting['gravity_base']]
    if any(np.allclose(robot.gravity_base, g, atol=SAME) for g in known):
        return
    with one_thread():
        before = structural_base(method, [method.build(model.robot['urdf'], options, g)
                                          for g in known], model.parameters)
        now = structural_base(method, [robot], model.parameters)
    lacking = unknown(before, now)
    if lacking.size:
        names, words = now.names(), now.expressions()
        raise RobotModelError(
            'this mounting needs parameters that were not identified',
            found=[f'{names[k]} = {words[k]}' for k in lacking],
            expected=f"gravity_base as in {model.mounting['gravity_base']}, not "
                     f'{np.round(robot.gravity_base, 3).tolist()}',
            do='identify with a recording under this mounting too')


def tangent(direction: np.ndarray) -> np.ndarray:
    """
    Return two orthonormal vectors (3, 2) across a unit vector.

    direction : (3,)
    """
    Q, _ = np.linalg.qr(np.column_stack([direction, np.eye(3)[:, np.argsort(np.abs(direction))]]))
    return Q[:, 1:3]


def turned(direction: np.ndarray, across: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """
    Return a unit vector turned by small angles.

    direction : (3,) unit vector; across : (3, 2) two across it; angles : (2,) towards these [rad]
    """
    moved = direction + across @ angles
    return np.asarray(moved / np.linalg.norm(moved))


def across_gravity(gravity: np.ndarray) -> np.ndarray:
    """Return unit vectors (3, 2) across ``gravity`` (3,), their cross product along it."""
    direction = gravity / np.linalg.norm(gravity)
    across = tangent(direction)
    return across if np.cross(*across.T) @ direction > 0.0 else across[:, ::-1]
