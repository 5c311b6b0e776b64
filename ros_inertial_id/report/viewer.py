"""Viewer: an arm in 3D, moving or at rest, with what is known of its links; see viewer.js."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .curves import Curve, trained_range
from .drawings import Drawings, shared_time
from .model_statistics import ModelStatistics
from ..dynamics.inertial_parameters import about_center, bodies
from ..dynamics.robot_model import RobotModel
from ..excitation.regressor_adjoint import Chain, TreePass
from ..identification.identified_model import IdentifiedModel
from ..identification.settings import robot_of_model

HUES = 8  # joints that differ by colour; those beyond are dashed
BASE = {'parent': -1, 'p': [0.0, 0.0, 0.0]}
End = tuple[int, np.ndarray]  # number of a body, and a point (3,) in its joint frame [m]
NO_LENGTH = 1e-3  # [m]: frames that are nearer have one place
# Of a residual in the band of the prediction: up to so many half widths of it, words.
LEVELS = ((0.5, 'below 1/2'), (1.0, '1/2 to 1'), (2.0, '1 to 2'), (np.inf, 'above 2'))


def joint_styles(robot: RobotModel) -> list[tuple[str, str]]:
    """Return (name, style) of the joints of a ``robot``, as curves and links are drawn."""
    styles = []
    for j, name in enumerate(robot.joint_names):
        style = f'j{j % HUES}'
        if j >= HUES:
            style += ' further'
        styles.append((name, style))
    return styles


def ends_of(robot: RobotModel) -> list[End]:
    """Return where each last link of a ``robot`` ends: at its last frame, or centre of mass."""
    ends = []
    for body in set(range(len(robot))) - set(robot.parents):
        places = [
            frame.placement.translation
            for frame in robot.pin_model.frames
            if frame.parentJoint == body + 1
        ]
        end = places[-1]
        if np.linalg.norm(end) < NO_LENGTH:
            mass, *moment = robot.inertias[body][:4]
            end = np.array(moment) / max(mass, np.finfo(float).tiny)
        ends.append((body, end))
    return ends


def arm_view(
    drawings: Drawings, robot: RobotModel, q: np.ndarray, ends: Sequence[End], **more: Any
) -> dict[str, Any]:
    """
    Return the links and joints of an arm as plain values, which viewer.js places and draws.

    q : (N, n) [rad or m] of a motion, or of one posture; ends : of its last links
    more : t [s], an array of the drawings, and link, whose charts it follows, of a motion; charts
        over its time, bounds (sphere, box), ellipsoids, see viewer.js
    """
    frames = [
        BASE,
        *(_frame(drawings, robot, j, positions) for j, positions in enumerate(q.T)),
        *({'parent': body + 1, 'p': end.tolist()} for body, end in ends),
    ]
    styles = [f's-{style}' for _, style in joint_styles(robot)]
    styles += ['s-tool'] * len(ends)
    return {
        'frames': frames,
        'links': [
            (frame['parent'], number, style)
            for number, (frame, style) in enumerate(zip(frames[1:], styles), 1)
        ],
        'gravity': robot.gravity_base.tolist(),
        'joints': joint_styles(robot),
        **more,
    }


def _frame(drawings: Drawings, robot: RobotModel, j: int, q: np.ndarray) -> dict[str, Any]:
    """Return the frame of joint ``j`` in that of its parent at q = 0, and its positions (N,)."""
    return {
        'parent': robot.parents[j] + 1,
        'p': robot.translations[j].tolist(),
        'R': robot.rotations[j].ravel().tolist(),
        'axis': robot.axes[j].tolist(),
        'slides': bool(robot.prismatic[j]),
        'q': drawings.array(q),
    }


def residual_view(
    drawings: Drawings, model: IdentifiedModel, part: str, drawn: Mapping[str, Curve]
) -> dict[str, Any] | None:
    """
    Return the view of an arm whose joints have the colour of their residual in its band.

    part, drawn : of the data, {joint: Curve}; it follows their time, from where a residual is
    farthest out of its band. None of others than arms, and where positions or bands are unknown.
    """
    robot = robot_of_model(model)
    if not isinstance(robot, RobotModel) or set(robot.joint_names) != drawn.keys():
        return None
    joints = [drawn[name] for name in robot.joint_names]
    if any('q' not in curve.seen or not np.isfinite(curve.half).any() for curve in joints):
        return None
    t, level = shared_time(joints[0].t), ModelStatistics(model).band.get('level', 0.0)
    shares = np.nan_to_num([np.abs(curve.residual) / curve.half for curve in joints])
    view = arm_view(
        drawings,
        robot,
        np.stack([curve.seen['q'] for curve in joints], axis=1),
        ends_of(robot),
        t=drawings.array(t),
        link=part,
        start=float(t[shares.max(axis=0).argmax()]),
        levels=[limit for limit, _ in LEVELS[:-1]],
        scale=f'Joints: residual, 1 at the edge of its {100.0 * level:.0f} % band:',
    )
    for frame, curve in zip(view['frames'][1:], joints, strict=False):  # the rest are ends
        frame['name'] = curve.name
        frame['residual'] = drawings.array(curve.residual)
        frame['half'] = drawings.array(curve.half)
    view['joints'] = [(words, f'level{k}') for k, (_, words) in enumerate(LEVELS)]
    return view


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
    return arm_view(drawings, robot, q.T, ends_of(robot), ellipsoids=ellipsoids)


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
