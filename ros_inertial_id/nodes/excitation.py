"""
Node ``excitation``: plays a designed motion through the controller that is already there.

Off until asked.  ``~/design`` makes a motion for the robot description, ``~/check`` rehearses it
in the computer and says what would happen, ``~/play`` starts the recorder, moves slowly to the
start of the motion and plays it, ``~/stop`` brakes.  Joint states are watched all the time; any
doubt brakes the robot along its own path, closes the bag and says why.
"""

import numpy as np
import rclpy
from rclpy.parameter import Parameter
from std_msgs.msg import String
import yaml

from .controller_link import controller_link, CourseSender, PIECE, TOO_LATE
from .controller_state import Controllers, HeldPosition
from .conversions import deliver, every, latched, subscribe
from .joint_watch import JointWatch
from .long_work import CANCELLED, LongWork
from .motion_design import declare_design, design_options, designed, PlaybackOptions, robot_of
from .parameters import declare_options, driver_of, read_options
from .recorder_dialogue import RecorderDialogue
from .running import GuardedNode, run
from ..dynamics.robot_model import RobotModel
from ..errors import InertialIdError, MotionError
from ..excitation.motion_files import check_kinematics, read_motion
from ..excitation.playback import Course, deviation, Guard, HORIZON, plan_course
from ..excitation.rehearsal import rehearse

WATCH = 0.02  # [s] between looks at the joint states
LATE = 1.0  # [s] that joint states of the end of a motion may come late: the bag is to hold it all
MOVED = 5e-3  # [rad or m] more than an arm creeps while a bag is opened


class Excitation(GuardedNode):
    """One course at a time, sent in pieces that end at rest."""

    _complete = False  # until all that a shutdown has to end is there

    def __init__(self, **node_options):
        super().__init__('excitation', **node_options)
        own = declare_options(self, PlaybackOptions, settable=(
            'motion_file', 'from_command', 'periods', 'speed', 'tracking', 'stale', 'effort'))
        self._urdf, self._shapes, self._limits = '', None, None
        declare_design(self, own.config)
        self._work, self._motion_file, self._to_play = LongWork(self), '', False
        self._robot: RobotModel | None = None
        self._course: Course | None = None
        self._built = None  # from which description and options
        self._status = 'idle'
        driver = driver_of(self, own.config)
        controller = own.controller or driver.controller
        self._joints = JointWatch(self, (driver.joint_states, own.speed_scaling_topic),
                                  self._doubt, self._let_end, self._compare)
        self._controller = controller_link(self, controller, self._let_end)
        self._sender = CourseSender(self._controller, self._joints.now_ns)
        self._controllers = Controllers(self, controller)
        self._held = HeldPosition(self, controller, self._joints.scaled)
        self._status_topic = self.create_publisher(String, '~/status', latched())
        self._periods = self.create_publisher(String, '~/periods', latched())
        subscribe(self, String, 'robot_description', self._take_description, latched())
        for name, action in (
                ('design', self._begin_design), ('start_design', self._begin_design),
                ('check', self._check), ('play', self._play), ('start_play', self._start_play),
                ('stop', self._stop_on_request), ('cancel', self._cancel)):
            self.offer(f'~/{name}', action)
        self._recorder = RecorderDialogue(self, own.recorder)
        self.create_timer(PIECE, self._send)
        every(self, WATCH, self._watch)
        every(self, 0.05, self._await_recorder)
        self.report(self._health)
        self._complete = True
        self._say('idle')
        self.get_logger().info(
            f'would move {self.resolve_topic_name(controller)} at speed {own.speed:g} and '
            f'watch {self.resolve_topic_name(driver.joint_states)}; off until asked: call '
            '~/check, then ~/play')

    def _health(self):
        """Return (level, what it does or what keeps it from playing, {key: value})."""
        words, slow = self._status, self._joints.streams.slow()
        level = 'error' if words.startswith(('stopped', 'design failed')) else 'ok'
        if self._work.busy:
            words = self._work.words
        if slow and level == 'ok':
            level, words = 'warn', slow
        return level, words, self._joints.streams.values()

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
        wanted = self._urdf, design_options(self)
        if wanted != self._built:  # seconds, where there are meshes
            self._robot, self._shapes, self._limits = robot_of(*wanted)
            self._built = wanted
        self._joints.of(self._robot)
        return self._robot, self._shapes, self._limits

    def _doubt(self, words):
        """Brake if the robot moves and its joint states cannot be read."""
        if self._course is not None:
            self._brake(words)

    def _let_end(self, reason):
        """
        Stop when the driver scales trajectories or the controller gave up.

        A slowed clock stays behind ours: every new piece would make the arm skip what it was
        slowed down by; and a controller that gave up holds the arm already.  So nothing more is
        sent, not even a brake: a piece under way ends at rest on the path.
        """
        if self._course is not None:
            self.get_logger().error(f'stopped: {reason}')
            self._end(f'stopped: {reason}')

    def _watch(self):
        """Look at all joint states since the last time; brake when they give reason, or cease."""
        self._held.read()
        self._joints.read()
        if self._to_play:
            self._to_play = False
            try:
                self._play()
            except InertialIdError as error:
                self.get_logger().error(str(error))
                self._work.tell(state='failed', message=str(error))
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
        options = read_options(self, PlaybackOptions)
        if not options.motion_file:
            raise MotionError('no motion', do='set motion_file: to the YAML of a design')
        motion = read_motion(options.motion_file)
        robot, shapes, limits = self._build()
        check_kinematics(options.motion_file, robot)
        position = self._refuse(options)
        start = self._held.position(robot, position, options.tracking)
        if start is None and not (options.from_command or self._controllers.leads(robot)):
            raise self._held.unknown()
        course = plan_course(motion, position if start is None else start, robot,
                             periods=options.periods, speed=options.speed)
        return rehearse(course, robot, shapes, limits, options.effort,
                        design_options(self).model), start is not None

    def _refuse(self, options):
        """Return where the joints are; MotionError unless they and the controller are ready."""
        self._joints.refuse(options.stale)
        self._refuse_controller()
        return self._joints.position

    def _refuse_controller(self):
        self._controller.refuse()
        self._controllers.refuse()

    def _check(self):
        self._refuse_when_busy()
        rehearsal, _ = self._plan()
        return rehearsal.words(design_options(self).mounting or 'upright')

    def _begin_design(self):
        self._refuse_when_busy()
        robot, *_ = self._build()
        options = design_options(self)

        def work():
            self._motion_file, words = designed(robot, options, self._work)
            return words

        self._work.begin('design', work, self._have_designed)
        self._say('designing')
        return (f'designing for at most {options.seconds:g} s; ~/status tells when motion_file is '
                'set')

    def _have_designed(self, success, words):
        """Make the motion the one to be played once it is designed."""
        if success:
            self.set_parameters([Parameter('motion_file', value=self._motion_file)])
            self._say(f'{words}; motion_file is {self._motion_file}')
        else:
            self._say('design cancelled' if words == CANCELLED else f'design failed: {words}')

    def _start_play(self):
        """Answer before the motion is planned and the bag is open, which takes seconds."""
        self._refuse_when_busy()
        self._to_play = True
        self._work.tell(work='play', state='running', step='planning', fraction=0.0, message='')
        self._work.publish()  # planning leaves no time for it
        return 'the motion is being planned; ~/progress tells how far it is, ~/cancel ends it'

    def _play(self):
        self._refuse_when_busy()
        rehearsal, held = self._plan()  # refused before a bag is opened
        planned = self._joints.position
        assert self._robot is not None and planned is not None
        try:
            self._recorder.start()
            now = self._refuse(read_options(self, PlaybackOptions))
            if deviation(self._robot, now, planned).max() > MOVED:
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
        if self._work.busy:
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
        options = read_options(self, PlaybackOptions)
        self._guard = Guard(options.tracking, options.stale, options.effort)
        self._held.moves()
        self._sender.begin(course, brakes, self._robot.joint_names, held)
        self._course, self._seen = course, 0
        self._publish_periods(course)
        self._work.tell(work='play', state='running', step='playing', fraction=0.0, message='')
        self._say('playing')

    def _publish_periods(self, course):
        self._periods.publish(String(data=yaml.safe_dump({
            'period_s': course.motion.period / course.speed,
            'bounds_ns': self._sender.stamps(course.period_starts()).tolist()})))

    def _send(self):
        """Send the next piece; at the end of the course finish."""
        if self._course is None:
            return
        self._held.read()
        self._joints.read()
        if self._course is None or self._joints.catches_up(HORIZON):  # they gave reason to brake
            return
        behind, share = self._sender.behind, self._sender.now / self._course.duration
        self._work.tell(fraction=round(min(1.0, max(0.0, share)), 2))
        if self._sender.passed(PIECE):
            ends = self._sender.stamps(np.array([self._course.duration]))[0]
            if self._seen > ends or self._joints.now_ns() > ends + LATE * 1e9:
                self._end('finished' + self._sender.stretched(), known=True, state='done')
            return
        if behind < -TOO_LATE:
            self._let_end(f'the clock of this node went back by {-behind:.1f} s')
            return
        try:  # a controller that was restarted holds the arm: no piece may make it leap
            self._refuse_controller()
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

    def _brake(self, reason, known=False, state='failed'):
        """Command the robot to rest along its path, now; close the bag; say why."""
        self._sender.brake()
        self.get_logger().error(f'stopped: {reason}')
        self._end(f'stopped: {reason}', known, state)

    def _end(self, status, known=False, state='failed'):
        """Send nothing more; ``known``: whether the controller holds the arm where that ends."""
        rest = self._sender.end()
        if known and rest is not None:
            self._held.ended(*rest)
        self._course = None
        self._work.tell(state=state, message=status)
        self._say(status)
        self._recorder.stop()

    def fault(self, words: str) -> None:
        """Say what went wrong in a callback, and brake where a motion is played."""
        super().fault(words)
        if self._course is not None:
            self._brake(words)

    def _stop_on_request(self):
        if self._work.busy:
            self._work.enough = True
            return 'the search ends; the best motion so far is kept'
        if self._course is None:
            raise MotionError('no motion is being played')
        self._brake('asked to', known=True, state=CANCELLED)
        return 'braking'

    def _cancel(self):
        """End what is under way, without a result."""
        return self._work.cancel() if self._work.busy else self._stop_on_request()

    def _say(self, status):
        self._status = status
        self._status_topic.publish(String(data=status))
        self.get_logger().info(status)

    def destroy_node(self) -> None:
        """Leave the robot at rest and the bag closed, also after Ctrl-C."""
        if self._complete:
            self._work.close()
            if self._course is not None:
                self._brake('the player was shut down')
            while self._recorder.closing:
                rclpy.spin_once(self, timeout_sec=0.05)
            self._recorder.close()
            deliver(self._status_topic)
        super().destroy_node()


def main() -> int:
    """Run the node; return the exit status of its process."""
    return run(Excitation)
