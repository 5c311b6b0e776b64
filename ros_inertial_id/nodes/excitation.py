"""
Node ``excitation``: plays a designed motion through the controller that is already there.

Off until asked.  ``~/design`` makes a motion for the robot description, ``~/check`` rehearses it
in the computer and says what would happen, ``~/play`` starts the recorder, moves slowly to the
start of the motion and plays it, ``~/stop`` brakes.  Joint states are watched all the time; any
doubt brakes the robot along its own path, closes the bag and says why.
"""

from collections.abc import Iterator, Sequence

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription
from std_msgs.msg import String
from std_srvs.srv import Trigger
import yaml

from .controller_link import controller_link
from .controllers import Controllers
from .conversions import deliver, diagnostics, every, latched
from .course_sender import CourseSender, PIECE, TOO_LATE
from .guarded import GuardedNode
from .held_position import HeldPosition
from .joint_watch import JointWatch
from .motion_design import MotionDesign
from .parameters import declare_options, read_options
from .playback_options import PlaybackOptions
from .quality import subscribe
from .recorder_dialogue import RecorderDialogue
from .running import run
from .subscriptions import served
from ..dynamics.robot_model import RobotModel
from ..errors import InertialIdError, MotionError
from ..excitation.motion_files import check_kinematics, read_motion
from ..excitation.playback import Course, deviation, Guard, plan_course
from ..excitation.rehearsal import rehearse
from ..options import check_ranges

WATCH = 0.02  # [s] between looks at the joint states
LATE = 1.0  # [s] that joint states of the end of a motion may come late: the bag is to hold it all
MOVED = 5e-3  # [rad or m] more than an arm creeps while a bag is opened


class Excitation(GuardedNode):
    """One course at a time, sent in pieces that end at rest."""

    _complete = False  # until all that a shutdown has to end is there

    def __init__(self, **node_options):
        super().__init__('excitation', **node_options)
        own = declare_options(self, PlaybackOptions, fixed=(
            'controller', 'joint_states_topic', 'speed_scaling_topic', 'recorder', 'config'))
        check_ranges(own)
        self._design = MotionDesign(self, own.config)
        self._urdf, self._shapes, self._limits = '', None, None
        self._robot: RobotModel | None = None
        self._course: Course | None = None
        self._built = None  # from which description and options
        self._status = 'idle'
        self._joints = JointWatch(self, (own.joint_states_topic, own.speed_scaling_topic),
                                  self._doubt, self._let_end, self._compare)
        self._controller = controller_link(self, own.controller, self._let_end)
        self._sender = CourseSender(self._controller, self._joints.now_ns)
        self._controllers = Controllers(self, own.controller)
        self._held = HeldPosition(self, own.controller)
        self._status_topic = self.create_publisher(String, '~/status', latched())
        self._periods = self.create_publisher(String, '~/periods', latched())
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        subscribe(self, String, 'robot_description', self._take_description, latched())
        self.create_service(Trigger, '~/design', self._answering(self._begin_design))
        self.create_service(Trigger, '~/check', self._answering(self._check))
        self.create_service(Trigger, '~/play', self._answering(self._play))
        self.create_service(Trigger, '~/stop', self._answering(self._stop_on_request))
        self._recorder = RecorderDialogue(self, own.recorder)
        self.create_timer(PIECE, self._send)
        every(self, WATCH, self._watch)
        every(self, 0.05, self._await_recorder)
        every(self, 0.2, self._await_design)
        every(self, 0.2, self._joints.look_for_publishers)
        every(self, 1.0, self._diagnose)
        self._complete = True
        self._say('idle')
        self.get_logger().info(
            f'would move {self.resolve_topic_name(own.controller)} at speed {own.speed:g} and '
            f'watch {self.resolve_topic_name(own.joint_states_topic)}; off until asked: call '
            '~/check, then ~/play')

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Yield those that an executor serves: an EventsExecutor does not ask their group."""
        return served(super().subscriptions)

    def _diagnose(self):
        """Say in diagnostics what it does, and what keeps it from playing."""
        words, slow = self._status, self._joints.slow()
        level = 'error' if words.startswith(('stopped', 'design failed')) else 'ok'
        if self._design.busy:
            words = self._design.progress()
        if slow and level == 'ok':
            level, words = 'warn', slow
        self._diagnostics.publish(diagnostics(self, level, words, self._joints.values()))

    def _options(self):
        return read_options(self, PlaybackOptions)

    def _take_description(self, message):
        if self._course is not None:
            return  # a robot does not change while it moves
        self._urdf = message.data
        try:
            self._build()
        except InertialIdError as error:
            self._robot = self._built = None
            self._joints.of(None)
            self.get_logger().error(str(error))

    def _build(self):
        """Return robot, shapes and limits, made once for a description and design.* of now."""
        if not self._urdf:
            raise MotionError('no robot_description was published')
        wanted = self._urdf, self._design.options()
        if wanted != self._built:  # seconds, where there are meshes
            self._robot, self._shapes, self._limits = self._design.robot(self._urdf)
            self._built = wanted
        self._joints.of(self._robot)
        return self._robot, self._shapes, self._limits

    def _doubt(self, words):
        """Brake if the robot moves and its joint states cannot be read."""
        if self._course is not None:
            self._brake(words)

    def _let_end(self, reason):
        """
        Stop when the driver slows trajectories down or the controller gave up.

        A slowed clock stays behind ours: every new piece would make the arm skip what it was
        slowed down by; and a controller that gave up holds the arm already.  So nothing more is
        sent, not even a brake: a piece under way ends at rest on the path.
        """
        if self._course is not None:
            self.get_logger().error(f'stopped: {reason}')
            self._end(f'stopped: {reason}')

    def _watch(self):
        """Look at all joint states since the last time; brake when they give reason, or cease."""
        self._joints.read()
        if self._course is not None and self._joints.silence > self._guard.stale:
            self._brake(f'no joint states for {self._joints.silence:.2f} s')

    def _compare(self, stamps, values):
        """Brake when measured joints give reason to."""
        if self._course is None or self._robot is None:
            self._held.seen(values['position'][-1])
            return
        self._seen = int(stamps[-1])
        reason = self._guard.objection(self._robot, self._sender.expected(stamps),
                                       *values.values())
        if reason:
            self._brake(reason)

    def _plan(self):
        """Return the Rehearsal of the course, and whether it begins where the arm is held."""
        options = self._options()
        if not options.motion_file:
            raise MotionError('no motion', do='set motion_file: to the YAML of a design')
        motion = read_motion(options.motion_file)
        robot, shapes, limits = self._build()
        check_kinematics(options.motion_file, robot)
        position = self._refuse()
        start = self._held.position(robot, position, options.tracking)
        course = plan_course(motion, position if start is None else start, robot,
                             periods=options.periods, speed=options.speed,
                             approach_speed=options.approach_speed)
        return rehearse(course, robot, shapes, limits, options.effort), start is not None

    def _refuse(self):
        """Return where the joints are; MotionError unless they and the controller are ready."""
        self._joints.refuse(self._options().stale)
        self._controller.refuse()
        self._controllers.refuse()
        return self._joints.position

    def _check(self):
        self._refuse_when_busy()
        rehearsal, _ = self._plan()
        return rehearsal.words(self._design.options().mounting or 'upright')

    def _begin_design(self):
        self._refuse_when_busy()
        if not self._urdf:
            raise MotionError('no robot_description was published')
        seconds = self._design.begin(self._urdf, self._options().design_out)
        self._say('designing')
        return f'designing for at most {seconds:g} s; ~/status tells when motion_file is set'

    def _await_design(self):
        """Make the motion the one to be played once it is designed."""
        outcome = self._design.outcome()
        if outcome is None:
            return
        path, words = outcome
        if path:
            self.set_parameters([Parameter('motion_file', value=path)])
            words += f'; motion_file is {path}'
        self._say(words)

    def _play(self):
        self._refuse_when_busy()
        rehearsal, held = self._plan()  # refused before a bag is opened
        planned = self._joints.position
        assert self._robot is not None and planned is not None
        try:
            self._recorder.start()
            if deviation(self._robot, self._refuse(), planned).max() > MOVED:
                raise MotionError('the arm moved while the motion was planned',
                                  do='call ~/play when it is at rest')
            self._begin(rehearsal.course, rehearsal.brakes, held)
        except InertialIdError:
            self._recorder.stop()
            raise
        return f'playing for {rehearsal.course.duration:.1f} s'

    def _refuse_when_busy(self):
        if self._course is not None:
            raise MotionError('a motion is being played', do='call ~/stop first')
        if self._recorder.closing:
            raise MotionError('the bag of the last motion is being closed', do='call again')
        if self._design.busy:
            raise MotionError('a motion is being designed',
                              do='wait for it, or call ~/stop to take the best so far')

    def _await_recorder(self):
        """Say what recorder and controller answer at the end of a motion."""
        for words in (self._recorder.stopped(), self._controller.outcome()):
            if words is not None:
                self._say(f'{self._status}; {words}')

    def _begin(self, course, brakes, held):
        """Send the first piece, on the robot's clock as it is now and not before planning."""
        assert self._robot is not None
        options = self._options()
        self._guard = Guard(options.tracking, options.stale, options.effort)
        self._held.turn_away()
        self._sender.begin(course, brakes, self._robot.joint_names, held)
        self._course, self._seen = course, 0
        self._publish_periods(course)
        self._say('playing')

    def _publish_periods(self, course):
        self._periods.publish(String(data=yaml.safe_dump({
            'period_s': course.motion.period / course.speed,
            'bounds_ns': self._sender.stamps(course.period_starts()).tolist()})))

    def _send(self):
        """Send the next piece; at the end of the course finish."""
        if self._course is None:
            return
        self._joints.read()
        if self._course is None:  # they gave reason to brake
            return
        behind = self._sender.behind
        if self._sender.passed(PIECE):
            ends = self._sender.stamps(np.array([self._course.duration]))[0]
            if self._seen > ends or self._joints.now_ns() > ends + LATE * 1e9:
                self._end('finished' + self._sender.stretched(), known=True)
            return
        if behind < -TOO_LATE:
            self._let_end(f'the clock of this node went back by {-behind:.1f} s')
            return
        try:  # a controller that was restarted holds the arm: no piece may make it leap
            self._controller.refuse()
            self._controllers.refuse()
        except MotionError as error:
            self._let_end(str(error))
            return
        if self._sender.too_late():
            self._brake(self._sender.too_late())
        elif self._sender.send():
            self.get_logger().warning(
                f'a piece left {behind - PIECE:.2f} s late: the motion goes on from where the arm '
                f'is, {self._sender.delay:.2f} s later than planned')
            self._publish_periods(self._course)

    def _brake(self, reason, known=False):
        """Command the robot to rest along its path, now; close the bag; say why."""
        self._sender.brake()
        self.get_logger().error(f'stopped: {reason}')
        self._end(f'stopped: {reason}', known)

    def _end(self, status, known=False):
        """Send nothing more; ``known``: whether the controller holds the arm where that ends."""
        rest = self._sender.end()
        if known and rest is not None:
            self._held.ended(*rest)
        self._held.listen()
        self._course = None
        self._say(status)
        self._recorder.stop()

    def fault(self, words: str) -> None:
        """Say what went wrong in a callback, and brake where a motion is played."""
        super().fault(words)
        if self._course is not None:
            self._brake(words)

    def _stop_on_request(self):
        if self._design.busy:
            self._design.end()
            return 'the search ends; the best motion so far is kept'
        if self._course is None:
            raise MotionError('no motion is being played')
        self._brake('asked to', known=True)
        return 'braking'

    def _say(self, status):
        self._status = status
        self._status_topic.publish(String(data=status))
        self.get_logger().info(status)

    def _answering(self, action):
        """Return a service callback that answers with the words or the refusal of ``action``."""
        def answer(_, response):
            try:
                response.message, response.success = action(), True
            except InertialIdError as error:
                response.message, response.success = str(error), False
                self.get_logger().error(response.message)
            return response
        return answer

    def destroy_node(self) -> None:
        """Leave the robot at rest and the bag closed, also after Ctrl-C."""
        if self._complete:
            self._design.close()
            if self._course is not None:
                self._brake('the player was shut down')
            while self._recorder.closing:
                rclpy.spin_once(self, timeout_sec=0.05)
            self._recorder.close()
            deliver(self._status_topic)
        super().destroy_node()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node with the command line ``args``; return its exit code."""
    return run(Excitation, args)
