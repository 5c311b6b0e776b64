"""What the methods share whose observations are of whole bodies: markers, poses and IMUs."""

from collections.abc import Iterator, Sequence

from ..measurement.sources import BodiesObservation, BodiesState
from ...dynamics.inertial_parameters import Parameter
from ...dynamics.regressor import RegressorBlock
from ...methods.contract import Method, OptionsT, RobotT


class BodiesMethod(Method[RobotT, BodiesState, BodiesObservation, OptionsT]):
    """A method whose observations are BodiesObservations."""

    def noisy_rows(self, observation: BodiesObservation, robot: RobotT,
                   parameters: Sequence[Parameter]
                   ) -> Iterator[tuple[RegressorBlock, RegressorBlock, float]]:
        """Yield RegressorBlocks of the motion, of it with more noise, and how many they are."""
        for state, noisy, times in observation.noisy_states():
            pair = (self.regress(s, robot, parameters) for s in (state, noisy))
            for one, other in zip(*pair):
                yield one, other, times
