"""
Loop closures: what the cut joints demand, C(q) = 0, its Jacobian and its bias, for a block.

A closure is one line of words; frames are links of the robot description:

    point A B              the origins coincide                                     3 rows
    planar_point A B       they coincide in the x and y of A (a planar mechanism)   2 rows
    axis A B               they coincide and so do the z axes (a revolute cut)      5 rows
    weld A B               the frames coincide                                      6 rows
    coupling J K RATIO [OFFSET]   q_J = RATIO q_K + OFFSET (belt, gear, parallelogram)  1 row

Positions are compared in the frame A (so its motion is accounted for), directions e of A and f of
B by e.f = 0.  Sources: Garcia de Jalon and Bayo 1994, ch. 3 and 5; Wehage and Haug 1982.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dynamics.body_motion import body_motions, cross, Frame, frame_of, twists
from ...dynamics.robot_model import RobotModel
from ...errors import ConfigError, RobotModelError

POSITION_ROWS = {'point': (0, 1, 2), 'planar_point': (0, 1), 'axis': (0, 1, 2),
                 'weld': (0, 1, 2)}
# Pairs (axis of A, axis of B) that must stay perpendicular.
DIRECTION_ROWS = {'point': (), 'planar_point': (), 'axis': ((0, 2), (1, 2)),
                  'weld': ((0, 2), (1, 2), (0, 1))}


@dataclass(frozen=True)
class FrameClosure:
    """A closure between two Frames; kind: key of POSITION_ROWS."""

    text: str
    kind: str
    first: Frame
    second: Frame

    def rows(self) -> int:
        """Return the number of rows."""
        return len(POSITION_ROWS[self.kind]) + len(DIRECTION_ROWS[self.kind])


@dataclass(frozen=True)
class Coupling:
    """q[first] = ratio q[second] + offset [rad or m]; joints by index."""

    text: str
    first: int
    second: int
    ratio: float
    offset: float

    def rows(self) -> int:
        """Return the number of rows."""
        return 1


def parse_closure(text: str, robot: RobotModel) -> FrameClosure | Coupling:
    """
    Return the FrameClosure or Coupling of one line; ConfigError says what is wrong.

    text : one closure as in the head of this module; robot : RobotModel of the opened tree
    """
    words = str(text).split()
    kind = words[0] if words else ''
    if kind in POSITION_ROWS and len(words) == 3:
        first, second = (frame_of(robot, name) for name in words[1:])
        if first.body == second.body:
            raise RobotModelError(f'closure {text!r} joins two frames of one body',
                                  found=words[1:], do='name frames of different bodies')
        return FrameClosure(text, kind, first, second)
    if kind == 'coupling' and len(words) in (4, 5):
        joints = words[1:3]
        for joint in joints:
            if joint not in robot.joint_names:
                raise RobotModelError(f'closure {text!r}', found=f'joint {joint!r}',
                                      exists=robot.joint_names)
        try:
            numbers = [float(x) for x in words[3:]] + [0.0]
        except ValueError:
            raise ConfigError(f'closure {text!r}', expected='numbers after the joints',
                              found=' '.join(words[3:])) from None
        return Coupling(text, *(robot.joint_names.index(j) for j in joints), *numbers[:2])
    raise ConfigError('closure', found=repr(text), exists=(
        'point A B', 'planar_point A B', 'axis A B', 'weld A B', 'coupling J K RATIO [OFFSET]'))


def constraint(robot: RobotModel, closures: Sequence[FrameClosure | Coupling], q: np.ndarray,
               v: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return (C (B, m), J (B, m, n), bias (B, m)) of closures at q, v (B, n).

    d^2 C / dt^2 = J a + bias on the closed mechanism; rows in m, or 1 for directions.  Without v
    the bias is zero.
    robot : RobotModel of the opened tree; closures : as parsed
    q, v : (B, n) joint positions and velocities [rad, m, s]
    """
    count = sum(c.rows() for c in closures)
    size = len(q)
    C, bias = np.zeros((count, size)), np.zeros((count, size))
    J = np.zeros((count, len(robot), size))
    motions = body_motions(robot, q, v)
    row = 0
    for closure in closures:
        part = slice(row, row + closure.rows())
        if isinstance(closure, Coupling):
            C[row] = q[:, closure.first] - closure.ratio * q[:, closure.second] - closure.offset
            J[row, closure.first], J[row, closure.second] = 1.0, -closure.ratio
        else:
            _frame_rows(robot, motions, closure, C[part], J[part], bias[part])
        row = part.stop
    return C.T, np.moveaxis(J, -1, 0), bias.T


def turned_welds(robot: RobotModel, closures: Sequence[FrameClosure | Coupling],
                 q: np.ndarray) -> np.ndarray:
    """
    Return how far the frames of every weld are turned from one another (B, 9 w), 0: not at all.

    Three pairs of perpendicular axes, as in ``constraint``, also fit frames turned by half.
    robot, closures, q : as for ``constraint``
    """
    motions = body_motions(robot, q)
    pairs = [(motions[c.first.body + 1].at(c.first).R, motions[c.second.body + 1].at(c.second).R)
             for c in closures if isinstance(c, FrameClosure) and c.kind == 'weld']
    out = [np.einsum('ijb,ikb->bjk', *pair) - np.eye(3) for pair in pairs]
    return np.array(out).reshape(len(out), len(q), 9).swapaxes(0, 1).reshape(len(q), -1)


def _frame_rows(robot, motions, closure, C, J, bias):
    """Fill in C (r, B), J (r, n, B) and bias (r, B) of one FrameClosure."""
    A = motions[closure.first.body + 1].at(closure.first)
    B = motions[closure.second.body + 1].at(closure.second)
    rows = list(POSITION_ROWS[closure.kind])
    axes = A.R[:, rows]
    d, moving, count = B.p - A.p, A.omega is not None, len(rows)
    C[:count] = _dots(axes, d)
    if moving:
        rate = B.v - A.v
        drag = rate - cross(A.omega, d)
        bias[:count] = _dots(axes, B.a - A.a - cross(A.alpha, d) - cross(A.omega, rate)
                             - cross(A.omega, drag))
    normals = []
    for k, (i, j) in enumerate(DIRECTION_ROWS[closure.kind], count):
        e, f = A.R[:, i], B.R[:, j]
        normal = cross(f, e)
        C[k] = _dot(e, f)
        if moving:
            turn = cross(cross(B.omega, f), e) + cross(f, cross(A.omega, e))
            bias[k] = _dot(B.alpha - A.alpha, normal) + _dot(B.omega - A.omega, turn)
        normals.append(normal)
    # The point of A that coincides with the origin of B moves with A: relative velocity in A.
    for sign, body in ((-1.0, closure.first.body), (1.0, closure.second.body)):
        for j, u, w in twists(robot, motions, body, B.p):
            J[:count, j] += sign * _dots(axes, u)
            for k, normal in enumerate(normals, count):
                if w is not None:
                    J[k, j] += sign * _dot(w, normal)


def _dots(axes, x):
    """Return the components (r, B) of vectors x (3, B) along axes (3, r, B)."""
    return np.einsum('irb,ib->rb', axes, x)


def _dot(x, y):
    return np.einsum('ib,ib->b', x, y)
