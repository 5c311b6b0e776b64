"""Driver: the block ``driver`` of a configuration, what a robot's driver publishes and follows."""

from dataclasses import dataclass

from ...options import option


@dataclass(frozen=True)
class DriverOptions:
    """Names that the driver gives to its topics, relative to its namespace."""

    namespace: str = option('', 'of the driver and of the nodes beside it')
    joint_states: str = option('joint_states', 'topic of the joint states with effort, the '
                               'fastest there is')
    controller: str = option('joint_trajectory_controller/joint_trajectory',
                             'JointTrajectory topic of the controller that is active')
