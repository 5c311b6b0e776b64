"""Methods of bodies: what their rigs have in common, and what their bodies cannot be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from .description import with_inertials
from .joints import random_bodies
from .observation import BodiesObservation, BodiesState
from ..estimation.inherited_errors import ErringRows
from ..estimation.motion_noise import DRAWS, NoisyRows, rows_of_noise
from ..estimation.noisy_rows import InheritsErrors
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...dynamics.robot_model import RobotOptions
from ...measurement.joints.kinematic_state import CutoffOptions
from ...measurement.summary import Summary
from ...methods.capabilities import Addition, DescribesRobots, Limit, WithAdditions
from ...methods.contract import Method, OptionsT, RobotT
from ...options import option


@dataclass(frozen=True)
class BodiesOptions(RobotOptions, CutoffOptions):
    """What both methods of bodies are asked for."""

    estimator: str = option(
        'weighted',
        'estimator; there is no nominal body to lean on',
        choices=('ordinary', 'weighted'),
    )
    largest_clock_offset: float = option(
        0.1,
        'between the stamps of poses and IMUs on one body; 0: they share a clock',
        unit='s',
        at_least=0.0,
    )


class BodiesMethod(
    Method[RobotT, BodiesState, BodiesObservation, OptionsT],
    InheritsErrors,
    DescribesRobots,
    WithAdditions,
):
    """A method whose observations are BodiesObservations."""

    def additions(self, robot: RobotT, options: OptionsT) -> Sequence[Addition]:
        """Return what a ``robot`` may have besides."""
        return ()

    def description_with(
        self,
        links: Mapping[str, Sequence[float]],
        robot: Any,
        options: Mapping[str, Any],
        summary: Summary,
    ) -> str:
        """Return the YAML text of a ``robot`` with ``inertial`` of the identified ``links``."""
        return with_inertials(robot.urdf, links)

    def random_state(self, robot: Any, samples: int, rng: np.random.Generator) -> BodiesState:
        """Return a BodiesState of random motion: what the structure alone can show."""
        bodies = random_bodies(robot.joints, samples, rng, robot.gravity_base)
        none = np.zeros((samples, 6 * len(robot.wrenches)))
        return BodiesState(np.arange(samples, dtype=float), 0, bodies, none, none)

    def validity_range(self, state: BodiesState, robot: Any) -> dict[str, dict[str, np.ndarray]]:
        """Return body -> {omega, alpha, acc: (N,)}: largest component at every instant."""
        out = {}
        for name, body in zip(robot.body_names, state.bodies):
            out[name] = {q: np.abs(getattr(body, q)).max(1) for q in ('omega', 'alpha', 'acc')}
        return out

    def noisy_rows(
        self,
        observation: BodiesObservation,
        robot: RobotT,
        parameters: Sequence[Parameter],
        rng: np.random.Generator,
    ) -> Iterator[NoisyRows]:
        """Yield NoisyRows of a BodiesObservation; see NoisyMotion."""
        yield from self._with_noise(observation, robot, parameters, DRAWS, rng)

    def rows_with_noise(
        self, observation: BodiesObservation, robot: RobotT, parameters: Sequence[Parameter]
    ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """Yield the rows with noise of one draw; see WithAdditions."""
        rng = np.random.default_rng(0)
        for pair in self._with_noise(observation, robot, parameters, 1, rng):
            yield pair.rows, pair.noisy, pair.times

    def erring_rows(
        self, observation: BodiesObservation, robot: RobotT, parameters: Sequence[Parameter]
    ) -> ErringRows:
        """Return the ErringRows of a BodiesObservation; see InheritsErrors."""
        shared, own = (list(observation.motion.erring(kind)) for kind in (True, False))
        erring = [observation, *(replace(observation, motion=m) for m in (*shared, *own))]

        def blocks():
            for states in zip(*(o.states(training=True) for o in erring)):
                calibrated = self.calibrated_rows(states[0], robot)
                moved = zip(*(self.regress(state, robot, parameters) for state in states))
                yield from zip(calibrated, moved)

        return ErringRows(len(shared), len(own), blocks())

    def calibrated_rows(self, state: BodiesState, robot: Any) -> Iterator[RegressorBlock | None]:
        """
        Yield blocks about the calibrated numbers, beside those of ``regress`` for the same state.

        Both together are zero.  None where nothing was calibrated.
        """
        yield from repeat(None)

    def _with_noise(self, observation, robot, parameters, draws, rng):
        """Yield NoisyRows of so many ``draws``."""
        states = observation.noisy_states(draws, rng)
        yield from rows_of_noise(states, lambda state: self.regress(state, robot, parameters))


def mass_limits(parameters: Sequence[Parameter], heaviest: float) -> Iterator[Limit]:
    """Yield that no mass of ``parameters`` is above the ``heaviest`` [kg]."""
    for k, parameter in enumerate(parameters):
        if parameter.unit != 'kg':
            continue

        def words(value, error, name=parameter.name):
            return (
                f'the wrenches are those of {value:.3g} kg ({name}), more than the '
                f'{heaviest:.3g} kg of mass:'
            )

        yield Limit(
            'mass beyond mass:',
            np.eye(len(parameters))[k],
            'kg',
            words,
            'record wrenches in N and N m, not in counts of the sensor; '
            'of a body that is so heavy give mass:',
            most=heaviest,
        )


def dense_rows(blocks: Sequence[RegressorBlock], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (N, m, ``count``) and y (N, m) of the m RowGroups in ``blocks``."""
    parts_of_groups = list(zip(*(block.groups for block in blocks)))
    shape = sum(len(block.t) for block in blocks), len(parts_of_groups)
    A, y = np.zeros((*shape, count)), np.zeros(shape)
    for k, parts in enumerate(parts_of_groups):
        y[:, k] = np.concatenate([g.y for g in parts])
        A[:, k, parts[0].columns] = np.concatenate([g.W for g in parts])
    return A, y
