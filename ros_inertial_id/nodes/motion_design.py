"""What the player plays and how, and designing it, with the options that are ``design.*``."""

from dataclasses import dataclass, replace
import datetime
from pathlib import Path

import numpy as np
from rclpy.node import Node

from .long_work import LongWork
from .parameters import configured, ConfiguredOptions, declare_options, read_options
from ..dynamics.friction import check_laws
from ..dynamics.robot_model import gravity_from_mounting, robot_from_options, RobotModel
from ..excitation.collision import CollisionShapes, wanted_shapes
from ..excitation.design import design, DesignOptions, load_design, Progress
from ..excitation.limits import kinematic_limits, Limits
from ..excitation.problem import refuse_loops
from ..excitation.shapes import obstacle_shape
from ..options import described_blocks, option, topic_option
from ..report.design_files import write_design

PREFIX = 'design.'
DESIGNS = 'designs'  # folder of the motions that ~/design makes


@dataclass(frozen=True)
class PlaybackOptions(ConfiguredOptions):
    """What is played, how fast, and what stops it."""

    motion_file: str = option('', 'YAML of a designed motion (inertial-id design)')
    controller: str = topic_option(
        '',
        'JointTrajectory topic of the controller, or its action: a name that ends in '
        'follow_joint_trajectory; empty: as the configuration says, else '
        'joint_trajectory_controller/joint_trajectory',
    )
    from_command: bool = option(
        False,
        'the controller goes on from its last command (interpolate_from_desired_state) and '
        'cannot say so: the first motion may begin where the arm is measured',
    )
    speed_scaling_topic: str = topic_option(
        'speed_scaling_state_broadcaster/speed_scaling',
        'Float64 topic [%] of a driver that can slow trajectories down (UR); none',
    )
    periods: int = option(1, 'how often the motion is played', at_least=1, at_most=1000)
    speed: float = option(
        1.0, 'share of the designed speed; begin with 0.1', at_least=0.01, at_most=1.0
    )
    tracking: float = option(0.1, 'largest distance from the course', unit='rad', at_least=0.001)
    stale: float = option(0.1, 'longest silence of the joint states', unit='s', at_least=0.03)
    effort: float = option(0.95, 'largest share of the effort limits', at_least=0.01, at_most=1.0)
    recorder: str = topic_option('recorder', 'recorder node to start and stop; none')


def declare_design(node: Node, config: str) -> None:
    """
    Declare design.* with the block ``design`` of the YAML file ``config``, '' for defaults.

    Where the design is of no mounting, that of the identification's block holds.
    """

    def check(options: DesignOptions) -> None:
        gravity_from_mounting(options.mounting or 'upright')
        check_laws(options.friction)
        for text in options.obstacles:
            obstacle_shape(text, 'obstacle')

    defaults, mounting = load_design(config), configured(config)
    if not defaults.mounting and mounting != 'imu':
        defaults = replace(defaults, mounting=mounting)
    declare_options(node, DesignOptions, defaults, prefix=PREFIX, check=check)


def design_options(node: Node) -> DesignOptions:
    """Return the DesignOptions of now."""
    return read_options(node, DesignOptions, prefix=PREFIX)


def robot_of(urdf: str, options: DesignOptions) -> tuple[RobotModel, CollisionShapes, Limits]:
    """Return robot, its shapes and limits of the text ``urdf`` as ``options`` say; no loops."""
    refuse_loops(described_blocks(urdf))
    gravity = gravity_from_mounting(
        options.mounting or 'upright', magnitude=options.gravity_magnitude
    )
    robot = robot_from_options(urdf, options, gravity)
    return (
        robot,
        wanted_shapes(robot, options, np.random.default_rng(0)),
        kinematic_limits(robot, options),
    )


def designed(robot: RobotModel, options: DesignOptions, work: LongWork) -> tuple[str, str]:
    """Return (path of motion.yaml in a new folder in DESIGNS, words); slow."""

    def note(now: Progress) -> None:
        words = f'designing: {now.seconds:.0f} s of at most {now.budget:.0f}'
        if now.best:
            words += f', best {now.best:.4g}'
        work.step(words, now.seconds, now.budget)

    result = design(robot, options, note, lambda: work.enough)
    work.step('writing the motion')
    name = datetime.datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3]
    path = write_design(result, Path(DESIGNS) / name)[0]
    return str(path.resolve()), f'designed: {", ".join(result.words())}'
