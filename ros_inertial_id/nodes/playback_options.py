"""The parameters of the player of motions."""

from dataclasses import dataclass

from ..options import option


@dataclass(frozen=True)
class PlaybackOptions:
    """What is played, how fast, and what stops it."""

    motion_file: str = option('', 'YAML of a designed motion (inertial-id design)')
    controller: str = option('joint_trajectory_controller/joint_trajectory',
                             'JointTrajectory topic of the controller, or its action: a '
                             'name that ends in follow_joint_trajectory')
    joint_states_topic: str = option('joint_states', 'topic of the joint states')
    speed_scaling_topic: str = option(
        'speed_scaling_state_broadcaster/speed_scaling', 'Float64 topic [%] of a driver that can '
        'slow trajectories down (UR); empty: none')
    periods: int = option(1, 'how often the motion is played', at_least=1, at_most=1000)
    speed: float = option(1.0, 'share of the designed speed; begin with 0.1', at_least=0.01,
                          at_most=1.0)
    approach_speed: float = option(0.2, 'share of the speed limits on the way to the start',
                                   at_least=0.01, at_most=0.5)
    tracking: float = option(0.1, 'largest distance from the course', unit='rad', at_least=0.001)
    stale: float = option(0.1, 'longest silence of the joint states', unit='s', at_least=0.03)
    effort: float = option(0.95, 'largest share of the effort limits', at_least=0.01, at_most=1.0)
    recorder: str = option('recorder', 'recorder node to start and stop; empty: none')
    config: str = option('', 'YAML with a block design; its values are defaults of design.*')
    design_out: str = option('designs', 'folder of the motions that ~/design makes')
