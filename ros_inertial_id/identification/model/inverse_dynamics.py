"""
Inverse dynamics of an identified model: torques of motions that are given and not measured.

Every term is a share of the same rows ``W(q, v, a) pi``: bodies at rest are gravity, their change
with each acceleration is the mass matrix (Khalil and Dombre 2002, ch. 9), the other columns are
friction and springs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...errors import ConfigError
from ...methods.contract import Method, StateTorques

INERTIAL = ('', 'armature')  # laws whose torque is linear in a; '' is a body


@dataclass(frozen=True)
class InverseDynamics:
    """
    The torques of a robot of n joints with identified parameters, as it is mounted.

    method, robot : see methods/contract.py; of a closed loop the n are the independent joints
    parameters, values : (p,) standard parameters
    """

    method: Method
    robot: Any
    parameters: tuple[Parameter, ...]
    values: np.ndarray

    def torque(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray:
        """
        Return the joint torques (..., n) [N m] ([N] of sliders), at the joints.

        q, v, a : (..., n) positions [rad], velocities [rad/s], accelerations [rad/s^2] ([m] ...)
        Every state stands alone: presliding friction has no memory and is as developed.
        """
        if self._torques is None:
            return self._sum(q, v, a, lambda p: True)
        shape, flat = self._flat(q, v, a)
        return self._torques(*flat).reshape(shape)

    def gravity(self, q: ArrayLike) -> np.ndarray:
        """Return the torques (..., n) that hold the bodies at rest at q (..., n) [N m]."""
        return self._sum(q, 0.0, 0.0, lambda p: not p.law)

    def friction(self, v: ArrayLike) -> np.ndarray:
        """
        Return the torques (..., n) of friction and offsets at velocities v (..., n) [N m].

        What depends on the position (springs, ripple) takes no part.
        """
        v = np.asarray(v, dtype=float)
        return self._sum(0.0 * v, v, 0.0, lambda p: p.law not in INERTIAL
                         and not (p.law in LAWS and LAWS[p.law].position))

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """Return the mass matrices (..., n, n) at q (..., n) [kg m^2], rotors included."""
        q = np.asarray(q, dtype=float)
        still = self._sum(q, 0.0, 0.0, lambda p: p.law in INERTIAL)
        columns = [self._sum(q, 0.0, unit, lambda p: p.law in INERTIAL) - still
                   for unit in np.eye(q.shape[-1])]
        return np.stack(columns, axis=-1)

    def _sum(self, q: ArrayLike, v: ArrayLike, a: ArrayLike,
             wanted: Callable[[Parameter], bool]) -> np.ndarray:
        """Return the torques (..., n) of the parameters that are wanted."""
        shape, flat = self._flat(q, v, a)
        share = self.values * [wanted(p) for p in self.parameters]
        # What is known beforehand stands beside the rows as a whole: it has no shares.
        whole = all(wanted(p) for p in self.parameters)
        out = [np.stack([x + (g.known if whole else 0.0) for g, x in
                         zip(block.groups, block.predicted(share).values())], axis=-1)
               for block in self.method.regress(
                   self.method.state_of(self.robot, *flat), self.robot, self.parameters)]
        return np.concatenate(out).reshape(shape)

    def _flat(self, q: ArrayLike, v: ArrayLike, a: ArrayLike
              ) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Return the shape (..., n) of states, and q, v, a as (N, n)."""
        arrays = [np.asarray(x, dtype=float) for x in (q, v, a)]
        if not arrays[0].shape == arrays[1].shape == arrays[2].shape:
            arrays = list(np.broadcast_arrays(*arrays))
        shape, count = arrays[0].shape, len(self.robot.coordinates)
        if not shape or shape[-1] != count:
            raise ConfigError('q, v, a', expected=f'arrays (..., {count}), one column per joint',
                              found=f'shape {shape}')
        return shape, [x.reshape(-1, count) for x in arrays]

    @cached_property
    def _torques(self) -> StateTorques | None:
        return self.method.torques(self.robot, self.parameters, self.values)
