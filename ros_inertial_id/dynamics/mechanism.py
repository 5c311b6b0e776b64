"""
Mechanism: a tree with loops, described by its independent coordinates z.

The loops are opened at cut joints; closures put them back (closure.py).  Coordinates are
partitioned into independent and dependent ones, v = R zdot, a = R zddot + S c (Garcia de Jalon
and Bayo 1994, ch. 5; Wehage and Haug 1982).  Closures of planar loops have redundant rows, so
dependent rates come from least squares, not from an inverse.
"""

from dataclasses import dataclass, field
import hashlib
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.optimize import least_squares

from .closure import constraint, Coupling, FrameClosure, parse_closure, POSITION_ROWS
from .robot_model import robot_from_options, RobotModel, RobotOptions
from ..errors import ConfigError, RobotModelError
from ..options import option

CLOSED = 1e-10         # largest closure error [m, -] of a solved configuration
SINGULAR = 0.02        # ratio of singular values of the dependent Jacobian below it
FULL_RANK = 1e-7       # relative singular values of a Jacobian above it are structure


@dataclass(frozen=True)
class MechanismOptions(RobotOptions):
    """How the tree of the robot description is closed, and which coordinates describe it."""

    closures: tuple[str, ...] = option(
        (), 'loop closures, one per line: point A B, planar_point A B, axis A B, weld A B '
        '(links), coupling J K RATIO [OFFSET] (joints)')
    independent: tuple[str, ...] = option(
        (), 'joints whose positions describe the mechanism; empty: chosen and reported')
    start: tuple[str, ...] = option(
        (), 'an assembled configuration, about: "JOINT POSITION" each; decides the branch')


@dataclass(frozen=True)
class Mechanism:
    """
    A closed mechanism of n joints and k independent coordinates.

    robot : RobotModel of the opened tree; closures : as parsed
    independent (k,), dependent (n - k,) : joint indices; start : (n,) assembled configuration
    lengths : (n,) what makes one unit of every joint comparable [m/rad, 1]
    forces : ForceElements (dynamics/force_elements.py); actuated : indices of measured motors
    known : parameter name -> value that is not estimated
    """

    robot: Any
    closures: tuple[FrameClosure | Coupling, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    start: np.ndarray
    lengths: np.ndarray = field(repr=False)
    forces: tuple[Any, ...] = ()
    actuated: tuple[int, ...] = ()
    known: dict[str, float] = field(default_factory=dict)

    def __len__(self):
        return len(self.independent)

    def __getattr__(self, name):
        # What the spine asks of any robot (name, urdf, joint_names, inertias ...) is the tree's.
        if name.startswith('__') or name == 'robot':
            raise AttributeError(name)
        return getattr(self.robot, name)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Return the names of the independent joints."""
        return tuple(self.robot.joint_names[i] for i in self.independent)

    def kinematics_sha256(self) -> str:
        """Return a hash of kinematics and closures: two mechanisms with it move alike."""
        words = [self.robot.kinematics_sha256(), *(c.text for c in self.closures),
                 str(self.independent)]
        return hashlib.sha256('\n'.join(words).encode()).hexdigest()

    def constraint(self, q: np.ndarray,
                   v: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return C (B, m), J (B, m, n) and bias (B, m) at q, v (B, n)."""
        return constraint(self.robot, self.closures, q, v)

    def transformation(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (R (B, n, k) with v = R zdot, dexterity (B,)) at closed configurations q."""
        _, J, _ = self.constraint(q)
        R = np.zeros((len(q), len(self.robot), len(self)))
        R[:, list(self.independent), np.arange(len(self))] = 1.0
        R[:, list(self.dependent)] = -self.solve_dependent(J, J[:, :, list(self.independent)])
        return R, self._dexterity(J)

    def motion(self, q: np.ndarray, R: np.ndarray, zdot: np.ndarray,
               zddot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return v, a (B, n) of the closed mechanism at q (B, n) with R (B, n, k).

        zdot, zddot : (B, k) rates of the independent coordinates
        zdot, zddot : (B, k) rates and accelerations of the independent coordinates [rad, m, s]
        """
        v = np.einsum('bnk,bk->bn', R, zdot)
        a = np.einsum('bnk,bk->bn', R, zddot)
        if self.dependent:
            _, J, bias = self.constraint(q, v)
            a[:, list(self.dependent)] -= self.solve_dependent(J, bias[:, :, None])[:, :, 0]
        return v, a

    def solve_dependent(self, J: np.ndarray, right: np.ndarray) -> np.ndarray:
        """
        Return x (B, n - k, r) with J_dependent x = right (B, m, r) by least squares.

        J : (B, m, n) Jacobian of the closures
        J : (B, m, n) Jacobian of the closures, of which the dependent columns count
        """
        scale = self.lengths[list(self.dependent)]
        A = J[:, :, list(self.dependent)] / scale
        transposed = np.swapaxes(A, 1, 2)
        normal = transposed @ A
        size = normal.shape[-1]
        # The guard against singular configurations is ``dexterity``; here only keep it solvable.
        ridge = 1e-15 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(size)
        inverse = np.linalg.inv(normal + ridge + 1e-300 * np.eye(size))
        x = inverse @ (transposed @ right)
        x = x + inverse @ (transposed @ (right - A @ x))  # refined: the normal matrix squares
        return x / scale[:, None]

    def _dexterity(self, J):
        """Return the ratio (B,) of singular values of the dependent Jacobian; 0: dead centre."""
        if not self.dependent:
            return np.ones(len(J))
        A = J[:, :, list(self.dependent)] / self.lengths[list(self.dependent)]
        A = A * self._row_lengths()[:, None]
        values = np.linalg.eigvalsh(np.swapaxes(A, 1, 2) @ A)
        return np.sqrt(np.clip(values[:, 0], 0.0, None) / np.maximum(values[:, -1], 1e-300))

    def _row_lengths(self):
        """Return what makes metres of every row (m,) of the closures, of angles too."""
        reach, out = self.robot.reach(), []
        for closure in self.closures:
            if isinstance(closure, Coupling):
                out.append(self.lengths[closure.first])
            else:
                places = len(POSITION_ROWS[closure.kind])
                out += [1.0] * places + [reach] * (closure.rows() - places)
        return np.array(out)


def mechanism_from_options(urdf: str, options: MechanismOptions,
                           gravity_base: np.ndarray) -> Mechanism:
    """
    Return the Mechanism that MechanismOptions ask for, assembled.

    urdf : text of the opened tree; options : MechanismOptions
    gravity_base : (3,) in the base frame [m/s^2]
    ConfigError, RobotModelError where it cannot be assembled or is singular there.
    urdf : text of the opened tree; options : a MechanismOptions
    gravity_base : (3,) in the base frame [m/s^2]
    Raises ConfigError and RobotModelError, which say what is wrong and what exists.
    """
    robot = robot_from_options(urdf, options, gravity_base)
    closures = tuple(parse_closure(text, robot) for text in options.closures)
    lengths = np.where(robot.prismatic, 1.0, robot.reach())
    guess, given = _start(robot, options.start)
    wanted = _indices(robot, options.independent, 'independent')
    q = _assemble(robot, closures, guess, sorted(set(wanted) & set(given)))
    rank = _rank(constraint(robot, closures, q[None])[1][0] / lengths)
    independent = wanted or _choose(robot, closures, q, lengths, rank)
    if len(independent) != len(robot) - rank:
        raise ConfigError('option independent', found=[robot.joint_names[i] for i in independent],
                          expected=f'{len(robot) - rank} joints: {len(robot)} joints less {rank} '
                          'independent closure equations', exists=robot.joint_names)
    dependent = tuple(i for i in range(len(robot)) if i not in independent)
    q.setflags(write=False)
    mechanism = Mechanism(robot, closures, tuple(independent), dependent, q, lengths)
    if dependent and mechanism.transformation(q[None])[1][0] < SINGULAR:
        raise RobotModelError(
            'the mechanism is singular where it is assembled', expected='another start: or other '
            'independent: coordinates', found=describe(robot, q))
    return mechanism


def describe(robot: RobotModel, q: np.ndarray) -> str:
    """
    Return 'joint position' words of a configuration (n,).

    robot : RobotModel of n joints; q : (n,) [rad, m]
    robot : RobotModel of the tree; q : joint positions [rad, m]
    """
    return ', '.join(f'{name} {value:.4g}' for name, value in zip(robot.joint_names, q))


def _start(robot, lines):
    """Return the guess (n,) and the joints it gives."""
    q, given = np.zeros(len(robot)), []
    for line in lines:
        words = str(line).split()
        try:
            index, value = robot.joint_names.index(words[0]), float(words[1])
        except (ValueError, IndexError):
            raise ConfigError('option start', expected='"JOINT POSITION"', found=repr(line),
                              exists=robot.joint_names) from None
        q[index] = value
        given.append(index)
    return q, given


def _indices(robot, names, what):
    for name in names:
        if name not in robot.joint_names:
            raise ConfigError(f'option {what}', found=repr(name), exists=robot.joint_names)
    return tuple(robot.joint_names.index(name) for name in names)


def _assemble(robot, closures, guess, held):
    """Return the closed configuration (n,) next to a guess, joints ``held`` kept if possible."""
    if not closures:
        return guess
    for kept in (held, []):
        free = [i for i in range(len(robot)) if i not in kept]
        if not free:
            continue

        def error(x):
            q = guess.copy()
            q[free] = x
            return constraint(robot, closures, q[None])[0][0]

        result = least_squares(error, guess[free], method='trf', xtol=1e-15, ftol=1e-15,
                               gtol=1e-15, max_nfev=200)
        q = guess.copy()
        q[free] = result.x
        worst = np.abs(error(result.x))
        if worst.max() < 1e-8:
            return q
    names = [c.text for c in closures for _ in range(c.rows())]
    raise RobotModelError('the mechanism cannot be assembled', expected='all closures met',
                          found=f'{worst.max():.3g} m left in "{names[int(worst.argmax())]}" at '
                          + describe(robot, q), do='give start: with positions near assembled')


def _rank(J):
    singular = np.linalg.svd(J, compute_uv=False) if J.size else np.zeros(1)
    return int((singular > FULL_RANK * max(singular[0], 1e-300)).sum())


def _choose(robot, closures, q, lengths, rank):
    """Return the independent joints: what pivoting leaves when dependent ones are taken first."""
    if not rank:
        return tuple(range(len(robot)))
    J = constraint(robot, closures, q[None])[1][0] / lengths
    _, _, pivots = qr(J, pivoting=True, mode='economic')
    return tuple(sorted(int(i) for i in pivots[rank:]))


def coupled(mechanism: Mechanism) -> bool:
    """Return whether a linear coupling ties joints of a ``mechanism`` together."""
    return any(isinstance(c, Coupling) for c in mechanism.closures)
