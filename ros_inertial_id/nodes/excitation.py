"""
Node ``excitation``: plays a designed motion through the controller that is already there.

Off until asked.  ``~/design`` makes a motion for the robot description, ``~/check`` rehearses it
in the computer and says what would happen, ``~/play`` starts the recorder, moves slowly to the
start of the motion, plays it and answers at its end, ``~/stop`` brakes.  Joint states are watched
all the time; any doubt brakes the robot along its own path, closes the bag and says why.

What follows what is one table in player_states.py.
"""

from functools import partial
from typing import Any

from rclpy.parameter import Parameter
from std_msgs.msg import String

from .controller_state import Controllers
from .conversions import deliver, first_said, latched, subscribe
from .long_work import CANCELLED, LongWork
from .motion_design import declare_design, design_options, designed, PlaybackOptions, robot_of
from .parameters import declare_options, driver_of, read_options
from .player import FINISHED, PlannedMotion, Player
from .player_states import Event
from .recorder_dialogue import RecorderDialogue
from .running import GuardedNode, main_of
from ..errors import InertialIdError, MotionError
from ..excitation.motion_files import check_kinematics, read_motion
from ..excitation.playback import Guard, plan_course
from ..excitation.rehearsal import rehearse

CONTROLLER_QUESTIONS = 1.0  # [s] between questions whether the controller is active
SETTABLE = ('motion_file', 'from_command', 'periods', 'speed', 'tracking', 'stale', 'effort')
FAILURES = ('stopped', 'design failed')  # how a status of an error begins


class Excitation(GuardedNode):
    """The services of the player, each of which works in a thread of its own."""

    def __init__(self, **node_options):
        super().__init__('excitation', **node_options)
        settings = declare_options(self, PlaybackOptions, settable=SETTABLE)
        declare_design(self, settings.config)
        self._urdf = ''
        self._built: Any = None  # (description and options, what was made of them)
        self._status = 'idle'
        self._status_topic = self.create_publisher(String, '~/status', latched())
        self._work = LongWork(self)
        driver = driver_of(self, settings.config)
        controller = settings.controller or driver.controller
        self._player = Player(
            self,
            controller,
            (driver.joint_states, _unless_none(settings.speed_scaling_topic)),
            self._say,
            self._work.step,
        )
        self._controllers = Controllers(self._work.beside, self.resolve_topic_name(controller))
        recorder = _unless_none(settings.recorder)
        self._recorder = RecorderDialogue(
            self._work, recorder and self.resolve_service_name(recorder)
        )
        subscribe(self, String, 'robot_description', self._take_description, latched())
        for work in (self._design, self._check, self._play):
            self._work.offer(work.__name__.strip('_'), work)
        self.offer('~/stop', self._stop)
        self.offer('~/cancel', self._cancel)
        self.report(self._health)
        self._say('idle')
        self.get_logger().info(
            f'would move {self.resolve_topic_name(controller)} at speed '
            f'{settings.speed:g}; off until asked: call ~/check, then ~/play'
        )

    # In the node's thread

    def _health(self):
        """Return (level, what it does or what keeps it from playing, {key: value})."""
        streams = self._player.joints.streams
        values = streams.values()
        if self._work.busy:
            return 'ok', self._work.words, {**values, **self._work.values}
        failure = ''
        if self._status.startswith(FAILURES):
            failure = self._status
        state = first_said(('error', failure), ('warn', streams.slow()), ('ok', self._status))
        return *state, values

    def _take_description(self, message):
        self._urdf = message.data

    def fault(self, words: str) -> None:
        """Say what went wrong in a callback, and stop a motion that is played."""
        super().fault(words)
        self._player.happens(Event.DOUBT, words)

    def _stop(self):
        if self._work.under_way == 'design':
            self._work.enough = True
            return 'the search ends; the best motion so far is kept'
        return self._cancel()

    def _cancel(self):
        """End what is under way, without a result."""
        if self._player.happens(Event.DOUBT, 'asked to'):
            return 'braking'
        return self._work.cancel()

    def _say(self, status):
        self._status = status
        self._status_topic.publish(String(data=status))
        self.get_logger().info(status)

    def destroy_node(self) -> None:
        """Leave the robot at rest and the bag closed, also after Ctrl-C."""
        try:
            self._player.happens(Event.DOUBT, 'the player was shut down')
        finally:  # also where the middleware has ended: else threads outlive the node
            self._work.close()
        deliver(self._status_topic)
        super().destroy_node()

    # In the thread of the services

    def _robot_of_now(self):
        """Return robot, shapes and limits, made once for a description and design.* of now."""
        if not self._urdf:
            raise MotionError('no robot_description was published')
        wanted = self._urdf, design_options(self)
        if self._built is None or wanted != self._built[0]:  # seconds, where there are meshes
            self._built = wanted, robot_of(*wanted)
        robot = self._built[1][0]
        self._work.in_node(partial(self._player.joints.watch_joints_of, robot))
        return self._built[1]

    def _design(self):
        self._say('designing')
        try:
            path, words = designed(self._robot_of_now()[0], design_options(self), self._work)
        except InertialIdError as error:
            if str(error) == CANCELLED:
                self._say('design cancelled')
            else:
                self._say(f'design failed: {error}')
            raise
        self._work.in_node(lambda: self.set_parameters([Parameter('motion_file', value=path)]))
        self._say(f'{words}; motion_file is {path}')
        return self._status

    def _planned(self, options):
        """Return the PlannedMotion of PlaybackOptions; MotionError where it is refused."""
        if not options.motion_file:
            raise MotionError('no motion', do='set motion_file: to the YAML of a design')
        motion = read_motion(options.motion_file)
        robot, shapes, limits = self._robot_of_now()
        check_kinematics(options.motion_file, robot)
        player = self._player
        position = player.joints.check_ready(options.stale)
        player.controller.check_ready()
        self._controllers.check_active()
        self._controllers.check_stamps_count()
        start = self._work.in_node(
            partial(player.held.position, robot, position, options.tracking)
        )
        held = start is not None
        if start is None:
            if not options.from_command and not self._controllers.leads(robot):
                raise player.held.unknown()
            start = position
        self._work.step('planning')  # where it ends if the node is to
        course = plan_course(motion, start, robot, periods=options.periods, speed=options.speed)
        self._work.step('planning')
        model = design_options(self).model
        rehearsal = rehearse(course, robot, shapes, limits, options.effort, model)
        guard = Guard(options.tracking, options.stale, options.effort)
        return PlannedMotion(rehearsal, robot, guard, held)

    def _check(self):
        planned = self._planned(read_options(self, PlaybackOptions))
        return planned.rehearsal.words(design_options(self).mounting or 'upright')

    def _play(self):
        """Play a motion from planning it to closing its bag."""
        player, in_node = self._player, self._work.in_node
        in_node(partial(player.happens, Event.ASKED))
        try:
            words = self._play_and_record(read_options(self, PlaybackOptions))
        finally:
            in_node(partial(player.happens, Event.CLOSED))
        status = '; '.join(filter(None, words))
        if status != self._status:
            self._say(status)
        if not status.startswith(FINISHED):
            raise MotionError(status)
        return status

    def _play_and_record(self, options):
        """Return the last status of a motion, then the words of controller and recorder."""
        player, work = self._player, self._work
        work.step('planning')
        motion = self._planned(options)  # refused before a bag is opened
        work.step('opening a bag')
        try:
            self._recorder.start()
            player.joints.check_ready(options.stale)
            work.in_node(partial(player.begin, motion))
            while not player.ended.wait(CONTROLLER_QUESTIONS):
                self._controllers.check_active()  # it may be deactivated
            said = player.outcome(lambda: work.closed)  # whose node hears no controller
        except Exception as error:
            try:
                work.in_node(partial(player.happens, Event.DOUBT, str(error)))
            finally:
                self._recorder.stop()
            raise
        return player.how, said, self._recorder.stop()


def _unless_none(name: str) -> str:
    """Return a topic or node, '' for none, which stands for an empty text in ROS arguments."""
    if name == 'none':
        return ''
    return name


main = main_of(Excitation, __name__)
