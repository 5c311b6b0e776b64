"""What the player plays and how, and designing it: in a thread, so that the node answers."""

from dataclasses import dataclass
import datetime
import pathlib
import threading

import numpy as np

from .parameters import declare_options, read_options
from ..dynamics.robot_model import gravity_from_mounting, robot_from_options, RobotModel
from ..errors import InertialIdError
from ..excitation.collision import CollisionShapes, wanted_shapes
from ..excitation.design import design, DesignOptions, load_design
from ..excitation.limits import kinematic_limits, Limits
from ..options import check_ranges, option
from ..report.design_files import write_design

PREFIX = 'design.'


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


class MotionDesign:
    """
    One design at a time, with the options that are parameters ``design.*`` of the node.

    config : YAML file whose block ``design`` holds their defaults, or ''
    """

    def __init__(self, node, config):
        self._node, self._thread, self._outcome = node, None, None
        self._ended, self._progress = False, None
        check_ranges(declare_options(node, DesignOptions, load_design(config), prefix=PREFIX))

    def options(self) -> DesignOptions:
        """Return the DesignOptions of now."""
        return read_options(self._node, DesignOptions, prefix=PREFIX)

    def robot(self, urdf: str) -> tuple[RobotModel, CollisionShapes, Limits]:
        """Return robot, its shapes and limits of the text ``urdf`` as ``design.*`` say."""
        options = self.options()
        gravity = gravity_from_mounting(options.mounting or 'upright',
                                        magnitude=options.gravity_magnitude)
        robot = robot_from_options(urdf, options, gravity)
        return (robot, wanted_shapes(robot, options, np.random.default_rng(0)),
                kinematic_limits(robot, options))

    @property
    def busy(self) -> bool:
        """Return whether a design is under way or its outcome was not taken yet."""
        return self._thread is not None

    def begin(self, urdf: str, folder: str) -> float:
        """
        Design for the text ``urdf``; what comes of it goes to a new folder in ``folder``.

        Returns the seconds that the search may take.
        """
        options, (robot, *_) = self.options(), self.robot(urdf)
        check_ranges(options)
        self._ended = False
        self._thread = threading.Thread(target=self._work, args=(robot, options, folder))
        self._thread.start()
        return options.seconds

    def _work(self, robot, options, folder):
        try:
            result = design(robot, options, self._note, lambda: self._ended)
            name = datetime.datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3]
            path = write_design(result, pathlib.Path(folder) / name)[0]
            self._outcome = str(path.resolve()), f"designed: {', '.join(result.words())}"
        except InertialIdError as error:
            self._outcome = '', f'design failed: {error}'
        except Exception as error:  # a fault of ours: say so and stay alive
            self._outcome = '', ('design failed: internal error, please report: '
                                 f'{type(error).__name__}: {error}')

    def _note(self, progress):
        self._progress = progress

    def progress(self) -> str:
        """Return in words how far the search is."""
        now = self._progress
        if now is None:
            return 'designing'
        best = f', best {now.best:.4g}' if now.best else ''
        return f'designing: {now.seconds:.0f} s of at most {now.budget:.0f}{best}'

    def outcome(self) -> tuple[str, str] | None:
        """Return (path of motion.yaml or '', words) once when the design has ended, else None."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread.join()
        self._thread = self._progress = None
        return self._outcome

    def end(self) -> None:
        """Let the search end at its best motion so far."""
        self._ended = True

    def close(self) -> None:
        """End and wait: a thread must not outlive the middleware."""
        self.end()
        if self._thread is not None:
            self._thread.join()
