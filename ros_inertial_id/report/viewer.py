"""Viewer: an arm in 3D, moving or at rest, with the inertia of its links; see viewer.js."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .curves import trained_range
from .drawings import Drawings
from ..dynamics.inertial_parameters import about_center, bodies
from ..dynamics.robot_model import RobotModel
from ..excitation.regressor_adjoint import Chain, TreePass
from ..identification.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model

HUES = 8  # joints that differ by colour; those beyond are dashed
Tool = tuple[int, np.ndarray]  # number of a body, and a point (3,) in its joint frame [m]


def joint_styles(robot: RobotModel) -> list[tuple[str, str]]:
    """Return (name, style) of the joints of a ``robot``, as curves and links are drawn."""
    styles = []
    for j, name in enumerate(robot.joint_names):
        style = f'j{j % HUES}'
        if j >= HUES:
            style += ' further'
        styles.append((name, style))
    return styles


def arm_view(
    drawings: Drawings, robot: RobotModel, tree: TreePass, tool: Tool | None = None, **more: Any
) -> dict[str, Any]:
    """
    Return the links of an arm and their places as plain values, which viewer.js draws.

    tree : of the postures of a motion, or of one; tool : the end effector, where there is one
    more : period [s] of a motion, charts over its time, bounds (sphere, box), ellipsoids
    """
    points, ends = [np.zeros((3, 1, tree.p.shape[2])), tree.p], list(robot.parents)
    styles = [f's-{style}' for _, style in joint_styles(robot)]
    if tool:
        body, offset = tool
        points.append(
            (tree.p[:, body] + np.einsum('xkb,k->xb', tree.R[:, :, body], offset))[:, None]
        )
        ends.append(body)
        styles.append('s-tool')
    return {
        'points': drawings.array(np.concatenate(points, axis=1).transpose(2, 1, 0).ravel()),
        'count': len(ends) + 1,
        'links': [
            (end + 1, number, style) for number, (end, style) in enumerate(zip(ends, styles), 1)
        ],
        'gravity': robot.gravity_base.tolist(),
        'joints': joint_styles(robot),
        **more,
    }


def inertia_view(drawings: Drawings, model: IdentifiedModel) -> dict[str, Any] | None:
    """
    Return the view of an arm amid its training range with ellipsoids of inertia, None of others.

    An ellipsoid is the solid body of uniform density that has mass, centre and moments of inertia
    of a link, as identified and as described.
    """
    robot = robot_of_model(model)
    columns = bodies(model.parameters)
    if not isinstance(robot, RobotModel) or not set(robot.link_names) <= columns.keys():
        return None
    q = trained_range(model).mean(axis=0)[:, None]
    tree = TreePass(Chain.of(robot), q, 0.0 * q, 0.0 * q, robot.gravity_base)
    nominal = np.array([p.nominal for p in model.parameters])
    ellipsoids = []
    for i, link in enumerate(robot.link_names):
        ten = slice(columns[link], columns[link] + 10)
        for kind, values in (('nominal', nominal[ten]), ('identified', model.values[ten])):
            if values[0] > 0.0:
                shape = ellipsoid(values, tree.R[:, :, i, 0], tree.p[:, i, 0])
                ellipsoids.append((kind, *shape))
    return arm_view(drawings, robot, tree, ellipsoids=ellipsoids)


def ellipsoid(
    ten: Sequence[float] | np.ndarray, R: np.ndarray, p: np.ndarray
) -> tuple[list[float], list[list[float]]]:
    """
    Return centre (3,) and half axes (3, 3; columns) in the base frame [m] of ten parameters.

    ten : in a frame with rotation R (3, 3) and origin p (3,) in the base frame [m]
    """
    mass, centre, inertia = about_center(ten)
    moments, axes = np.linalg.eigh(inertia)
    squares = 2.5 / mass * (moments.sum() - 2.0 * moments)
    return (p + R @ centre).tolist(), (R @ axes * np.sqrt(np.maximum(squares, 0.0))).tolist()
