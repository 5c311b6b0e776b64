"""
Inverse dynamics of an identified model: torques of motions that are given and not measured.

Every term is a share of the same rows ``W(q, v, a) pi``: bodies at rest are gravity, their change
with each acceleration is the mass matrix (Khalil and Dombre 2002, ch. 9), the other columns are
friction and springs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics.friction import LAWS
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...errors import ConfigError
from ...methods.capabilities import DirectTorques


def _of_body(parameter: Parameter) -> bool:
    return not parameter.law


def _inertial(parameter: Parameter) -> bool:
    """Return whether a torque is linear in the acceleration: of a body or a rotor."""
    law = LAWS.get(parameter.law)
    return _of_body(parameter) or (law is not None and law.inertial)


def _friction(parameter: Parameter) -> bool:
    """Return whether a torque is of friction or an offset, and not of the position."""
    law = LAWS.get(parameter.law)
    return not _inertial(parameter) and (law is None or not law.position)


_KINDS: dict[str, Callable[[Parameter], bool]] = {
    'all': lambda parameter: True,
    'bodies': _of_body,
    'inertial': _inertial,
    'friction': _friction,
}


@dataclass(frozen=True)
class InverseDynamics:
    """
    The torques of a robot of n joints with identified parameters, as it is mounted.

    method, robot : see JointMotion; of a closed loop the n are the independent joints
    parameters, values : (p,) standard parameters
    """

    method: Any
    robot: Any
    parameters: tuple[Parameter, ...]
    values: np.ndarray

    def torque(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray:
        """
        Return the joint torques (..., n) [N m] ([N] of sliders), at the joints.

        q, v, a : (..., n) positions [rad], velocities [rad/s], accelerations [rad/s^2] ([m] ...)
        Every state stands alone: presliding friction has no memory and is as developed.
        """
        return self._sum(q, v, a, 'all')

    def gravity(self, q: ArrayLike) -> np.ndarray:
        """Return the torques (..., n) that hold the bodies at rest at q (..., n) [N m]."""
        return self._sum(q, 0.0, 0.0, 'bodies')

    def friction(self, v: ArrayLike) -> np.ndarray:
        """Return the torques (..., n) of friction and offsets, no springs, at v (..., n) [N m]."""
        v = joint_array('v', v, len(self.robot.coordinates))
        return self._sum(0.0 * v, v, 0.0, 'friction')

    def coriolis(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Return the torques (..., n) C(q, v) v of Coriolis and centrifugal forces [N m]."""
        return self._sum(q, v, 0.0, 'inertial') - self._sum(q, 0.0, 0.0, 'inertial')

    def forward_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """Return the accelerations (..., n) [rad/s^2] under torques ``tau`` (..., n) [N m]."""
        tau = joint_array('tau', tau, len(self.robot.coordinates))
        rest = tau - self.torque(q, v, 0.0)
        return np.linalg.solve(self.mass_matrix(q), rest[..., None])[..., 0]

    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> np.ndarray:
        """Return the rows (..., n, p) of the standard parameters at states (..., n)."""
        shape, flat = self._flat(q, v, a)
        out = np.zeros((*flat[0].shape, len(self.parameters)))
        first = 0
        for block in self._blocks(*flat):
            samples = slice(first, first + len(block.t))
            for joint, group in enumerate(block.groups):
                out[samples, joint, group.columns] = group.W
            first = samples.stop
        return out.reshape(*shape, -1)

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """Return the mass matrices (..., n, n) at q (..., n) [kg m^2], rotors included."""
        q = joint_array('q', q, len(self.robot.coordinates))
        still = self._sum(q, 0.0, 0.0, 'inertial')
        columns = [self._sum(q, 0.0, unit, 'inertial') - still for unit in np.eye(still.shape[-1])]
        return np.stack(columns, axis=-1)

    def _sum(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, kind: str) -> np.ndarray:
        """Return the torques (..., n) of the parameters of a ``kind``, see ``_KINDS``."""
        shape, flat = self._flat(q, v, a)
        if kind not in self._torques:
            self._torques[kind] = self._torques_of(kind)
        return self._torques[kind](*flat).reshape(shape)

    def _torques_of(self, kind: str) -> Callable[..., np.ndarray]:
        """Return the function (q, v, a) -> torques (N, n) of the parameters of a ``kind``."""
        values = self.values * [_KINDS[kind](parameter) for parameter in self.parameters]
        if isinstance(self.method, DirectTorques):
            return self.method.predictor(self.robot, self.parameters, values).states
        # What is known beforehand stands beside the rows as a whole: it has no shares.
        return partial(self._by_rows, values, kind == 'all')

    def _by_rows(
        self, values: np.ndarray, with_known: bool, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> np.ndarray:
        """Return the torques (N, n) of parameters by the rows of states."""
        torques = []
        for block in self._blocks(q, v, a):
            predicted = block.predicted(values)
            if with_known:
                for group in block.groups:
                    predicted[group.name] += group.known
            torques.append(np.stack(list(predicted.values()), axis=-1))
        return np.concatenate(torques)

    def _blocks(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Iterator[RegressorBlock]:
        """Return the RegressorBlocks of states (N, n)."""
        state = self.method.state_of(self.robot, q, v, a)
        blocks: Iterator[RegressorBlock] = self.method.regress(state, self.robot, self.parameters)
        return blocks

    def _flat(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike
    ) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Return the shape (..., n) of states, and q, v, a as (N, n)."""
        count = len(self.robot.coordinates)
        arrays = [joint_array(name, x, count) for name, x in (('q', q), ('v', v), ('a', a))]
        try:
            arrays = list(np.broadcast_arrays(*arrays, np.zeros(count))[:3])
        except ValueError:
            raise ConfigError(
                'q, v, a',
                expected='as many states of each, or one',
                found=f'shapes {", ".join(str(x.shape) for x in arrays)}',
            ) from None
        return arrays[0].shape, [x.reshape(-1, count) for x in arrays]

    @cached_property
    def _torques(self) -> dict[str, Callable[..., np.ndarray]]:
        return {}


def joint_array(name: str, values: ArrayLike, count: int) -> np.ndarray:
    """
    Return ``values`` as (..., count) floats; a single number is that of all joints.

    name : of the quantity, for ConfigError: other shapes, what is no number or not finite
    """
    expected = f'numbers (..., {count}), one column per joint'
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(name, expected=expected, found=f'{values!r:.60}') from None
    if array.ndim and array.shape[-1] != count:
        raise ConfigError(name, expected=expected, found=f'shape {array.shape}')
    if not np.isfinite(array).all():
        missing = np.count_nonzero(~np.isfinite(array))
        raise ConfigError(
            name,
            expected='finite numbers',
            found=f'{missing} of {array.size} that are NaN or infinite',
            do=f'leave these states out: {name}[np.isfinite({name}).all(axis=-1)]',
        )
    return array
