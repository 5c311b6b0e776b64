"""
Newton and Euler for rigid bodies that are measured one by one: their wrenches.

The wrench that the outside puts on a group of bodies is linear in their standard parameters.
Whatever they do to each other cancels in the sum, so only the wrenches that cross the border of
the group need a sensor (d'Alembert, with unit twists of a common frame as virtual motions).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dynamics.regressor import body_rows, RowGroup

AXES = ('fx', 'fy', 'fz', 'nx', 'ny', 'nz')  # of the six rows: force, then torque
ROW_UNITS = ('N',) * 3 + ('N m',) * 3


def wrench_groups(
    name: str, columns: np.ndarray, rows: np.ndarray, y: np.ndarray, y_raw: np.ndarray
) -> tuple[RowGroup, ...]:
    """
    Return the six RowGroups "``name`` AXIS" of forces [N] and torques [N m].

    columns : (k,) of all, or (6, k); rows : (6, N, k); y, y_raw : (N, 6) filtered and as recorded
    """
    columns = np.broadcast_to(columns, (6, rows.shape[2]))
    return tuple(
        RowGroup(f'{name} {axis}', unit, columns[i], rows[i], y[:, i], y_raw[:, i])
        for i, (axis, unit) in enumerate(zip(AXES, ROW_UNITS))
    )


def own_rows(body: Any) -> np.ndarray:
    """
    Return the rows (6, 10, N) of one body: force, then torque, at its origin along its own axes.

    body : with ``omega, alpha, acc`` (N, 3) in its own frame, ``acc`` without gravity
    """
    count = len(body.omega)
    unit = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, count))
    zero = np.zeros((3, 3, count))
    return _rows(body, np.concatenate([unit, zero]), np.concatenate([zero, unit]))


def composite_rows(bodies: Sequence[Any], origin: np.ndarray) -> np.ndarray:
    """
    Return the rows (6, 10 k, N) of the sum of k bodies: force, then torque about ``origin``.

    bodies : each with ``position`` (N, 3), ``rotation()`` (N, 3, 3) and what own_rows needs
    origin : (N, 3) in the world [m], along whose axes the rows are
    """
    out = []
    for body in bodies:
        R = body.rotation()
        inward = R.transpose(1, 2, 0)  # (row, component in the body, sample)
        arm = np.einsum('nji,nj->in', R, body.position - origin)
        moment = np.cross(inward, arm, axisa=1, axisb=0, axisc=1)
        zero = np.zeros_like(inward)
        out.append(_rows(body, np.concatenate([inward, moment]), np.concatenate([zero, inward])))
    return np.concatenate(out, axis=1)


def _rows(body, u, w):
    acc, alpha, omega = (np.ascontiguousarray(x.T) for x in (body.acc, body.alpha, body.omega))
    return body_rows(u, w, acc, alpha, omega)
