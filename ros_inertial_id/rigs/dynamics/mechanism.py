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
from xml.etree import ElementTree as xml

import numpy as np

from .closure import constraint, Coupling, FrameClosure
from ...dynamics.robot_model import link_placements, RobotModel, RobotOptions
from ...options import option

NEARLY = 1e-7  # largest closure error [m, -] of which one Newton step leaves nothing
SINGULAR = 0.02  # dexterity below it: a dead centre
LOOSE = 0.2  # share of the largest rate at a dead centre that is worth a name
CLOSE = 1e-6  # [m] between the axes of one joint of several degrees of freedom
SHAPES = ('visual', 'collision')


@dataclass(frozen=True)
class MechanismOptions(RobotOptions):
    """How the tree of the robot description is closed, and which coordinates describe it."""

    closures: tuple[str, ...] = option(
        (),
        'loop closures, one per line: point A B, planar_point A B, axis A B, weld A B '
        '(links), coupling J K RATIO [L RATIO ...] [OFFSET] (joints; J may be a motor instead)',
    )
    elastic_joints: tuple[str, ...] = option(
        (),
        'joints that a motor turns through a spring and damper, with encoders on both sides: '
        '"JOINT MOTOR", the motor by the name of its position and torque in the recording',
    )
    independent: tuple[str, ...] = option(
        (), 'joints whose positions describe the mechanism; empty: chosen and reported'
    )
    start: tuple[str, ...] = option(
        (), 'an assembled configuration, about: "JOINT POSITION" each; decides the branch'
    )


@dataclass(frozen=True)
class Mechanism:
    """
    A closed mechanism of n joints and k independent coordinates.

    robot : RobotModel of the opened tree
    independent (k,), dependent (n - k,) : joint indices; start : (n,) assembled configuration
    lengths (n,), row_lengths (m,), size : see ``moment_arms``; gearing (k,) : see ``gearing``
    best : largest of the smallest singular values of dependent Jacobians that were reached
    forces : of force_elements.py; actuated : indices of measured motors
    known : parameter name -> value that is not estimated
    tied : name of a known one -> {name: coefficient} of others that are taken off its value
    """

    robot: RobotModel
    closures: tuple[FrameClosure | Coupling, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    start: np.ndarray
    lengths: np.ndarray = field(repr=False)
    row_lengths: np.ndarray = field(repr=False)
    size: float
    gearing: np.ndarray = field(repr=False)
    best: float = 1.0
    forces: tuple[Any, ...] = ()
    actuated: tuple[int, ...] = ()
    known: dict[str, float] = field(default_factory=dict)
    tied: dict[str, dict[str, float]] = field(default_factory=dict)

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

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Return the names of the actuated joints."""
        return tuple(self.robot.joint_names[j] for j in self.actuated)

    @property
    def has_scale(self) -> bool:
        """Return whether a parameter is known that is not zero: no factor of all is free then."""
        return any(self.known.values())

    def kinematics_sha256(self) -> str:
        """Return a hash of kinematics and closures: two mechanisms with it move alike."""
        closures = [c.text for c in self.closures]
        words = [self.robot.kinematics_sha256(), *closures, str(self.independent)]
        return hashlib.sha256('\n'.join(words).encode()).hexdigest()

    def constraint(
        self, q: np.ndarray, v: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return C (B, m), J (B, m, n) and bias (B, m) at q, v (B, n)."""
        return constraint(self.robot, self.closures, q, v)

    def transformation(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return R (B, n, k) with v = R zdot, and dexterity (B,), at closed configurations q (B, n).

        Dexterity is 1 in the best posture that was reached, 0 at a dead centre: the smallest
        singular value means nothing by itself, that of regular postures of machines differs by a
        hundred (Gosselin and Angeles 1990).
        """
        _, J, _ = self.constraint(q)
        R = self._with_dependent(-self.solve_dependent(J, J[:, :, list(self.independent)]))
        return R, self.smallest(J) / self.best

    def closing(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return R (B, n, k) at q (B, n), how far closures are open (B,), and the step that closes.

        The step (B, n), of dependent joints, is Newton-Raphson's; q need not be closed.
        """
        step = np.zeros(q.shape)
        C, J, _ = self.constraint(q)
        solved = -self.solve_dependent(
            J, np.concatenate([C[:, :, None], J[:, :, list(self.independent)]], axis=2)
        )
        step[:, list(self.dependent)] = solved[:, :, 0]
        return self._with_dependent(solved[:, :, 1:]), np.abs(C).max(1, initial=0.0), step

    def _with_dependent(self, dependent):
        """Return R (B, n, k) whose rows of dependent joints (B, n - k, k) are given."""
        R = np.zeros((len(dependent), len(self.robot), len(self)))
        R[:, list(self.independent), np.arange(len(self))] = 1.0
        R[:, list(self.dependent)] = dependent
        return R

    def motion(
        self, q: np.ndarray, R: np.ndarray, zdot: np.ndarray, zddot: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """
        Return v, a (B, n) of the closed mechanism at q (B, n) with R (B, n, k).

        zdot, zddot : (B, k) rates and accelerations of the independent coordinates [rad, m, s]
        """
        v = np.einsum('bnk,bk->bn', R, zdot)
        a = np.einsum('bnk,bk->bn', R, zddot)
        if self.dependent:
            _, J, bias = self.constraint(q, v)
            a[:, list(self.dependent)] -= self.solve_dependent(J, bias[:, :, None])[:, :, 0]
        return v, a

    def scaled(self, J: np.ndarray) -> np.ndarray:
        """Return the dependent columns (B, m, n - k) of Jacobians J (B, m, n), comparable."""
        return (
            J[:, :, list(self.dependent)]
            / self.lengths[list(self.dependent)]
            * (self.row_lengths[:, None])
        )

    def smallest(self, J: np.ndarray) -> np.ndarray:
        """Return the smallest singular values (B,) of the dependent columns of J (B, m, n)."""
        if not self.dependent:
            return np.ones(len(J))
        A = self.scaled(J)
        return np.sqrt(np.clip(np.linalg.eigvalsh(np.swapaxes(A, 1, 2) @ A)[:, 0], 0.0, None))

    def loose(self, q: np.ndarray) -> str:
        """Return the names of the joints that may go either way at a dead centre q (n,)."""
        A = self.scaled(self.constraint(q[None])[1])[0]
        share = np.abs(np.linalg.svd(A)[2][-1])
        return ', '.join(
            self.robot.joint_names[self.dependent[k]]
            for k in np.flatnonzero(share > LOOSE * share.max())
        )

    def solve_dependent(
        self, J: np.ndarray, right: np.ndarray, refined: bool = True
    ) -> np.ndarray:
        """
        Return x (B, n - k, r) of least squares with J_dependent x = right, J (B, m, n).

        refined : by a second solution; the normal matrix squares the condition
        """
        scale = self.lengths[list(self.dependent)]
        A = J[:, :, list(self.dependent)] / scale
        transposed = np.swapaxes(A, 1, 2)
        normal = transposed @ A
        # The guard against singular configurations is ``dexterity``; here only keep it solvable.
        ridge = 1e-15 * np.trace(normal, axis1=1, axis2=2)[:, None, None] + 1e-300
        normal += ridge * np.eye(normal.shape[-1])
        x = np.linalg.solve(normal, transposed @ right)
        if refined:
            x += np.linalg.solve(normal, transposed @ (right - A @ x))
        return x / scale[:, None]


def describe(robot: RobotModel, q: np.ndarray) -> str:
    """Return 'joint position' words of a configuration q (n,) [rad, m]."""
    return ', '.join(f'{name} {value:.4g}' for name, value in zip(robot.joint_names, q))


def coupled(mechanism: Mechanism) -> bool:
    """Return whether a linear coupling ties joints together."""
    return any(isinstance(c, Coupling) for c in mechanism.closures)


def virtual_links(robot: RobotModel) -> tuple[str, ...]:
    """
    Return the names of the links that are no bodies: they need no inertia.

    A URDF makes joints of several degrees of freedom from joints of one, so loops need links
    between the axes of a universal joint or the slides of a free body: without mass, without a
    shape, from whose own origin the next joint goes on.
    Where no link of the URDF has an inertia, all are bodies of which nothing is known.
    """
    if not (robot.inertias[:, 0] > 0.0).any():
        return ()
    visible = {
        link.get('name')
        for link in xml.fromstring(robot.urdf).iter('link')
        if any(link.find(kind) is not None for kind in SHAPES)
    }
    fixed_links: list[dict[str, np.ndarray]] = [{} for _ in robot.link_names]
    for link, (body, placement) in link_placements(robot).items():
        if body >= 0:
            fixed_links[body][link] = placement[:3, 3]
    out = []
    for body, name in enumerate(robot.link_names):
        if robot.inertias[body, 0] != 0.0 or visible & set(fixed_links[body]):
            continue
        if _extent(robot, body, fixed_links[body].values()) < CLOSE:
            out.append(name)
    return tuple(out)


def _extent(robot, body, points):
    """Return the largest distance [m] of points (3,) and next joints from a body's origin."""
    distances = [np.linalg.norm(point) for point in points]
    for joint, parent in enumerate(robot.parents):
        along_slide = robot.prismatic[body] or robot.prismatic[joint]
        if parent == body and not along_slide:
            distances.append(np.linalg.norm(robot.translations[joint]))
    return max(distances, default=0.0)
