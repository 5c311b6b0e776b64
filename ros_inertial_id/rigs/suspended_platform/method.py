"""
suspended_platform: links on a platform hung on springs, without any joint torque.

The springs are known, so the pose of the platform is a force sensor: six rows of Newton and Euler
for platform and links together (Homma and Yamaura, Eq. 15).  Recordings of free vibration with
the links held in postures give the overall mass moments, those of links let loose the rest; both
are the same rows, so any mixture of recordings is one identification.
"""

from dataclasses import dataclass
from typing import Iterator, Sequence

import numpy as np

from .calibration import calibration_blocks
from .observation import observe_platform
from .rig import check_calibrated, platform_rig, PlatformRig, spring_wrench
from ..bodies.method import BodiesMethod, BodiesOptions
from ..bodies.observation import BodiesObservation, BodiesState
from ..dynamics.rigid_bodies import AXES, composite_rows, wrench_groups
from ...dynamics.inertial_parameters import Parameter, ten_of_body
from ...dynamics.regressor import BLOCK, RegressorBlock
from ...measurement.recording import Recording
from ...methods.capabilities import KnownMass
from ...options import option

DAMPING_UNITS = ('N s/m',) * 3 + ('N m s/rad',) * 3


@dataclass(frozen=True)
class SuspendedPlatformOptions(BodiesOptions):
    """All options of the method; the recorder and nodes declare them as parameters."""

    damping: str = option(
        'identified',
        'damping of the springs beyond the given one: identified along the six axes, or none',
        choices=('identified', 'given'),
    )
    posture: str = option(
        'auto',
        'whether joints are held: decide by their motion, or refuse what is not held',
        choices=('auto', 'held'),
    )
    size: float = option(
        0.5, 'how far from its frame the mass of a link may be', unit='m', at_least=1e-3
    )
    link_mass: float = option(
        30.0,
        'how heavy a link may be: errors beyond it mean "not determined"',
        unit='kg',
        at_least=1e-3,
    )
    velocity: str = option(
        'differentiated', 'poses are differentiated', choices=('differentiated',)
    )


class SuspendedPlatform(BodiesMethod[PlatformRig, SuspendedPlatformOptions], KnownMass):
    """Free or forced motion of links on a sprung platform: six rows, no torques."""

    name = 'suspended_platform'
    Options = SuspendedPlatformOptions

    def build(
        self, urdf: str, options: SuspendedPlatformOptions, gravity_base: np.ndarray
    ) -> PlatformRig:
        """Return the PlatformRig of a YAML text under gravity (3,) in the world [m/s^2]."""
        robot = platform_rig(urdf, gravity_base)
        check_calibrated(robot)
        return robot

    def parameters(
        self, robot: PlatformRig, options: SuspendedPlatformOptions
    ) -> tuple[Parameter, ...]:
        """
        Return the Parameters of all columns: those of every link, then the damping.

        With a known overall mass that of the first link is left out: it follows from the others.
        """
        out = list(self.links(robot, options))
        if np.isfinite(robot.mass):
            out = out[1:]
        if options.damping == 'identified':
            out += [
                Parameter(f'd{axis[1]}{axis[0]}', unit, 1.0, 0.0, 100.0, 'platform', 'damping')
                for axis, unit in zip(AXES, DAMPING_UNITS)
            ]
        return tuple(out)

    def links(
        self, robot: PlatformRig, options: SuspendedPlatformOptions
    ) -> tuple[Parameter, ...]:
        """Return the ten Parameters of every link, also a mass that follows from the others."""
        return tuple(
            p
            for k, (link, nominal) in enumerate(zip(robot.link_names, robot.inertias))
            for p in ten_of_body(k, link, nominal, (options.link_mass, options.size))
        )

    def observe(
        self, recording: Recording, robot: PlatformRig, options: SuspendedPlatformOptions
    ) -> BodiesObservation:
        """Return the BodiesObservation of platform and links in a Recording."""
        return observe_platform(recording, robot, options)

    def regress(
        self,
        state: BodiesState,
        robot: PlatformRig,
        parameters: Sequence[Parameter],
        wanted: np.ndarray | None = None,
    ) -> Iterator[RegressorBlock]:
        """Yield the RegressorBlocks of a BodiesState; columns as ``parameters``."""
        damped = sum(p.law == 'damping' for p in parameters)
        bodies = len(parameters) - damped
        for low in range(0, len(state.t), BLOCK):
            piece = state.rows(slice(low, low + BLOCK))
            wrench, rate = spring_wrench(robot, piece.bodies[0])
            W = composite_rows(piece.bodies, piece.bodies[0].position)
            y = wrench - np.einsum('ikn,k->ni', W[:, :10], robot.platform)
            W = known_mass(W[:, 10:], robot.mass)
            if np.isfinite(robot.mass):
                y, W = y - robot.mass * W[:, 0].T, W[:, 1:]
            rows, columns = W.transpose(0, 2, 1), np.tile(np.arange(bodies), (6, 1))
            if damped:
                rows = np.concatenate([rows, rate.T[:, :, None]], axis=2)
                columns = np.column_stack([columns, bodies + np.arange(6)])
            groups = wrench_groups('platform', columns, rows, y, y)
            yield RegressorBlock(piece.t, state.segment, groups)

    def total_mass(self, robot: PlatformRig) -> float | None:
        """Return the mass of all links [kg] where the rig's description has it."""
        if np.isfinite(robot.mass):
            return robot.mass
        return None

    def calibration_covariance(self, robot: PlatformRig) -> np.ndarray:
        """Return that of springs and platform of a PlatformRig; see InheritsErrors."""
        if robot.covariance is None:
            return np.zeros((0, 0))
        return robot.covariance

    def calibrated_rows(self, state: BodiesState, robot: PlatformRig) -> Iterator[RegressorBlock]:
        """Yield RegressorBlocks about the calibrated numbers of a PlatformRig."""
        rest = robot.rest_position, robot.rest_rotation
        yield from calibration_blocks(state, rest, np.zeros(10))


def known_mass(W: np.ndarray, mass: float) -> np.ndarray:
    """
    Return rows (6, 10 n, N) about the sum of the masses, in the place of the first one.

    m0 = M - m1 - ...: the column of every other mass becomes its difference to the first.

    W : (6, 10 n, N) of n links; mass : of all of them [kg], nan: not known, W stays as it is
    """
    if not np.isfinite(mass):
        return W
    W = W.copy()
    W[:, 10::10] -= W[:, :1]
    return W
