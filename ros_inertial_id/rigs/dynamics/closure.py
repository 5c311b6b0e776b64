"""
Loop closures: what the cut joints demand, C(q) = 0, its Jacobian and its bias, for a block.

A closure is one line of words; frames are links of the robot description:

    point A B              the origins coincide                                     3 rows
    planar_point A B       they coincide in the x and y of A (a planar mechanism)   2 rows
    axis A B               they coincide and so do the z axes (a revolute cut)      5 rows
    weld A B               the frames coincide                   12 rows, six of them redundant
    coupling J K RATIO [L RATIO ...] [OFFSET]   q_J = RATIO q_K + ... + OFFSET      1 row

A J that is no joint of the description is a motor that turns so: it may be driven (``actuated``),
have an encoder (``independent``) and brake by its own speed (``friction``).

Positions are compared in the frame A (so its motion is accounted for), directions e of A and f of
B by e.f = 0, or 1 for the same axis.  Sources: Garcia de Jalon and Bayo 1994, ch. 3 and 5; Wehage
and Haug 1982.

Columns of the Jacobian are measured in the moment arms that the joints have about what they
close, so neither the size of the machine nor the limits of a slide matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .joint_names import finite_number, joint_index
from ...dynamics.body_motion import body_motions, cross, Frame, frame_of, twists
from ...dynamics.robot_model import RobotModel
from ...errors import ConfigError, RobotModelError

POSITION_ROWS = {'point': (0, 1, 2), 'planar_point': (0, 1), 'axis': (0, 1, 2), 'weld': (0, 1, 2)}
# Pairs (axis of A, axis of B) that must stay perpendicular, or for one axis parallel: three pairs
# alone would also fit welded frames that are turned by half.
DIRECTION_ROWS = {
    'point': (),
    'planar_point': (),
    'axis': ((0, 2), (1, 2)),
    'weld': tuple((i, j) for i in range(3) for j in range(3)),
}
STRUCTURAL_RANK = 1e-7  # relative singular values of a Jacobian above it are structure
OPEN_POSTURES = 32  # random postures of the open tree that show the moment arms


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

    def in_metres(self) -> np.ndarray:
        """Return which rows (m,) compare positions."""
        return np.arange(self.rows()) < len(POSITION_ROWS[self.kind])

    def in_directions(self) -> np.ndarray:
        """Return which rows (m,) compare directions."""
        return ~self.in_metres()

    def row_lengths(self, lengths: np.ndarray, size: float) -> np.ndarray:
        """Return the lengths (m,) of rows; lengths : (n,) of joints, size : of the loops [m]."""
        return np.where(self.in_metres(), 1.0, size)


@dataclass(frozen=True)
class Coupling:
    """q[joint] = ratios . q[others] + offset [rad or m] (belt, gear, differential, ...)."""

    text: str
    joint: int
    others: tuple[int, ...]
    ratios: tuple[float, ...]
    offset: float

    def rows(self) -> int:
        """Return the number of rows."""
        return 1

    def in_metres(self) -> np.ndarray:
        """Return that its row (1,) compares no positions."""
        return np.array([False])

    def in_directions(self) -> np.ndarray:
        """Return that its row (1,) compares no directions."""
        return np.array([False])

    def row_lengths(self, lengths: np.ndarray, size: float) -> np.ndarray:
        """Return the length (1,) of its joint; lengths : (n,) of all joints, size : of loops."""
        return lengths[[self.joint]]


def parse_closure(text: str, robot: RobotModel) -> FrameClosure | Coupling:
    """Return the closure of one line of the tree ``robot``; ConfigError says what is wrong."""
    kind, *words = str(text).split() or ['']
    if kind in POSITION_ROWS and len(words) == 2:
        return _frame_closure(text, kind, words, robot)
    if kind == 'coupling' and len(words) >= 3:
        return _coupling(text, words, robot)
    raise ConfigError(
        'closure',
        found=repr(text),
        exists=(
            'point A B',
            'planar_point A B',
            'axis A B',
            'weld A B',
            'coupling J K RATIO [L RATIO ...] [OFFSET]',
        ),
    )


def _frame_closure(text, kind, names, robot):
    """Return the FrameClosure of two named frames, on different bodies."""
    first, second = (frame_of(robot, name) for name in names)
    if first.body == second.body:
        raise RobotModelError(
            f'closure {text!r} joins two frames of one body',
            found=names,
            do='name frames of different bodies',
        )
    return FrameClosure(text, kind, first, second)


def _coupling(text, words, robot):
    """Return the Coupling of words J K RATIO [L RATIO ...] [OFFSET]."""
    joint, *terms = words
    offset = ''
    if len(terms) % 2:
        *terms, offset = terms
    names, factors = [joint, *terms[::2]], terms[1::2]
    lead, *others = (joint_index(robot.joint_names, name, f'closure {text!r}') for name in names)
    try:
        ratios = tuple(finite_number(x) for x in factors)
        constant = finite_number(offset or '0')
    except ValueError:
        raise ConfigError(
            f'closure {text!r}',
            expected='numbers after the joints',
            found=' '.join([*factors, offset]).strip(),
        ) from None
    return Coupling(text, lead, tuple(others), ratios, constant)


def constraint(
    robot: RobotModel,
    closures: Sequence[FrameClosure | Coupling],
    q: np.ndarray,
    v: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return (C (B, m), J (B, m, n), bias (B, m)) of closures at q, v (B, n) [rad, m, s].

    d^2 C / dt^2 = J a + bias on the closed mechanism; rows in m, or 1 for directions.  Without v
    the bias is zero.
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
            others, ratios = list(closure.others), np.array(closure.ratios)
            C[row] = q[:, closure.joint] - q[:, others] @ ratios - closure.offset
            J[row, closure.joint], J[row, others] = 1.0, -ratios[:, None]
        else:
            _frame_rows(robot, motions, closure, C[part], J[part], bias[part])
        row = part.stop
    return C.T, np.moveaxis(J, -1, 0), bias.T


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
        bias[:count] = _dots(
            axes, B.a - A.a - cross(A.alpha, d) - cross(A.omega, rate) - cross(A.omega, drag)
        )
    normals = []
    for k, (i, j) in enumerate(DIRECTION_ROWS[closure.kind], count):
        e, f = A.R[:, i], B.R[:, j]
        normal = cross(f, e)
        C[k] = _dot(e, f) - (i == j)
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


def moment_arms(
    robot: RobotModel, closures: Sequence[FrameClosure | Coupling], q: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """
    Return lengths (n,) of joints [m/rad, 1], of closure rows (m,) [m, 1], and the loops' size [m].

    What one unit of a joint moves, at random postures of the open tree, sliders as in q (n,).
    """
    slide = np.asarray(robot.prismatic)
    rng = np.random.default_rng(0)
    postures = np.where(slide, q, rng.uniform(-np.pi, np.pi, (OPEN_POSTURES, len(q))))
    squares = (constraint(robot, closures, postures)[1] ** 2).mean(0)
    no_row = np.zeros(0, dtype=bool)
    metres = np.concatenate([no_row, *(c.in_metres() for c in closures)])
    directions = np.concatenate([no_row, *(c.in_directions() for c in closures)])
    arms, turns = (np.sqrt(squares[rows].sum(0)) for rows in (metres, directions))
    in_loop = ~slide & (arms > STRUCTURAL_RANK * max(arms.max(initial=0.0), 1e-300))
    size = robot.reach()
    if in_loop.any():
        size = float(np.median(arms[in_loop]))
    lengths = np.hypot(arms, size * turns)
    idle = lengths <= STRUCTURAL_RANK * size
    lengths[idle] = np.where(slide[idle], 1.0, size)  # in no loop, or in couplings alone
    row_lengths = [c.row_lengths(lengths, size) for c in closures]
    return lengths, np.concatenate([np.zeros(0), *row_lengths]), size
