"""
Node ``excitation``: plays a designed motion through the controller that is already there.

Off until asked.  ``~/design`` makes a motion for the robot description, ``~/check`` rehearses it
in the computer and says what would happen, ``~/play`` starts the recorder, moves slowly to the
start of the motion, plays it and answers at its end, ``~/stop`` brakes.  Joint states are watched
all the time; any doubt brakes the robot along its own path, closes the bag and says why.
"""

from functools import partial
import threading
from typing import Any

import numpy as np
from rclpy.parameter import Parameter
from std_msgs.msg import String
import yaml

from .controller_link import controller_link
from .controller_state import Controllers, HeldPosition
from .conversions import deliver, every, first_said, latched, subscribe
from .course_sender import CourseSender, PIECE
from .joint_watch import DriverWatch, JointWatch
from .long_work import CANCELLED, LongWork
from .motion_design import declare_design, design_options, designed, PlaybackOptions, robot_of
from .parameters import declare_options, driver_of, read_options
from .recorder_dialogue import RecorderDialogue
from .running import GuardedNode, main_of
from ..errors import InertialIdError, MotionError
from ..excitation.motion_files import check_kinematics, read_motion
from ..excitation.playback import deviation, Guard, HORIZON, plan_course
from ..excitation.rehearsal import rehearse

WATCH = 0.02  # [s] between looks at the joint states
LATE = 1.0  # [s] that joint states of the end of a motion may come late: the bag is to hold it all
MOVED = 5e-3  # [rad or m] more than an arm creeps while a bag is opened
ASK, ANSWERS = 1.0, 1.0  # [s] between questions whether the controller is active; for answers
TOO_LATE = 3.0  # [s] of a piece, that ends a motion
FINISHED = 'finished'


class Excitation(GuardedNode):
    """One course at a time, sent in pieces that end at rest."""

    def __init__(self, **node_options):
        super().__init__('excitation', **node_options)
        own = declare_options(
            self,
            PlaybackOptions,
            settable=(
                'motion_file',
                'from_command',
                'periods',
                'speed',
                'tracking',
                'stale',
                'effort',
            ),
        )
        declare_design(self, own.config)
        self._urdf = ''
        self._built: Any = None  # (description and options, what was made of them)
        self._robot: Any = None
        self._guard: Any = None
        self._moving, self._over = False, threading.Event()
        self._status = 'idle'
        scaling, recorder = (
            '' if name == 'none' else name for name in (own.speed_scaling_topic, own.recorder)
        )
        names = driver_of(self, own.config)
        controller = own.controller or names.controller
        driver = DriverWatch(self, scaling, self._let_end)
        self._joints = JointWatch(
            self, driver, self._brake, self._let_end, self._compare, names.joint_states
        )
        self._held = HeldPosition(self, controller, driver.scaled)
        self._controller = controller_link(self, controller, self._let_end)
        self._sender = CourseSender(self._controller, self._joints.now_ns)
        self._status_topic = self.create_publisher(String, '~/status', latched())
        self._periods = self.create_publisher(String, '~/periods', latched())
        subscribe(self, String, 'robot_description', self._take_description, latched())
        self._work = LongWork(self)
        self._controllers = Controllers(self._work.beside, self.resolve_topic_name(controller))
        self._recorder = RecorderDialogue(
            self._work.beside, recorder and self.resolve_service_name(recorder)
        )
        for work in (self._design, self._check, self._play):
            self._work.offer(work.__name__.strip('_'), work)
        self.offer('~/stop', self._stop)
        self.offer('~/cancel', self._cancel)
        self.create_timer(PIECE, self._send)
        every(self, WATCH, self._watch)
        self.report(self._health)
        self._say('idle')
        self.get_logger().info(
            f'would move {self.resolve_topic_name(controller)} at speed '
            f'{own.speed:g}; off until asked: call ~/check, then ~/play'
        )

    # In the node's thread

    def _health(self):
        """Return (level, what it does or what keeps it from playing, {key: value})."""
        values, failed = self._joints.streams.values(), ('stopped', 'design failed')
        if self._work.busy:
            return 'ok', self._work.words, {**values, **self._work.values}
        state = first_said(
            ('error', self._status if self._status.startswith(failed) else ''),
            ('warn', self._joints.streams.slow()),
            ('ok', self._status),
        )
        return *state, values

    def _take_description(self, message):
        self._urdf = message.data

    def _brake(self, reason):
        """Command a robot that moves to rest along its path, now; say why."""
        if self._moving:
            try:
                self._sender.brake()
            finally:
                self._let_end(reason)

    def _let_end(self, reason):
        """
        Send nothing more; a piece under way ends at rest on the path.

        Not even a brake where the driver scales trajectories, for every new piece would make the
        arm skip what it was slowed down by, or to a controller that holds the arm already.
        """
        if self._moving:
            self._end(f'stopped: {reason}')

    def _end(self, status):
        self._moving = False
        self._say(status)
        self._over.set()

    def _watch(self):
        """Look at all joint states since the last time; brake when they give reason, or cease."""
        self._held.read()
        self._joints.read()
        if self._guard and self._joints.silence > self._guard.stale:
            self._brake(f'no joint states for {self._joints.silence:.2f} s')

    def _compare(self, stamps, values):
        """Brake when measured joints give reason to."""
        if self._moving:
            self._seen = int(stamps[-1])
            reason = self._guard.objection(
                self._robot, self._sender.expected(stamps), *values.values()
            )
            if reason:
                self._brake(reason)

    def _begin(self, rehearsal, held, options):
        """Send the first piece, on the robot's clock as it is now and not before planning."""
        course, robot = rehearsal.course, self._robot
        self._controller.refuse()
        now: Any = self._joints.position
        if held:
            now = self._held.position(robot, now, options.tracking)
        if now is None or deviation(robot, now, course.start).max() > MOVED:
            raise MotionError(
                'the arm moved while the motion was planned', do='call ~/play when it is at rest'
            )
        self._work.step('playing')  # refused where it was cancelled meanwhile
        self._guard = Guard(options.tracking, options.stale, options.effort)
        self._seen = 0
        self._over.clear()
        self._sender.begin(course, rehearsal.brakes, robot.joint_names, held, options.tracking)
        self._moving, self._course = True, course
        self._publish_periods()
        self._say('playing')

    def _publish_periods(self):
        course = self._course
        self._periods.publish(
            String(
                data=yaml.safe_dump(
                    {
                        'period_s': course.motion.period / course.speed,
                        'bounds_ns': self._sender.stamps(course.period_starts()).tolist(),
                    }
                )
            )
        )

    def _send(self):
        """Send the next piece; at the end of the course finish."""
        if not self._moving:
            return
        self._watch()
        if not self._moving or self._joints.simulated and self._joints.resumes(HORIZON):
            return  # the joint states gave reason to brake, or /clock may leap
        sender = self._sender
        behind, delay = sender.behind, sender.delay
        if sender.passed(PIECE):
            ends = sender.stamps(np.array([self._course.duration]))[0]
            if self._seen > ends or self._joints.now_ns() > ends + LATE * 1e9:
                self._end(
                    FINISHED
                    + (
                        f', {delay:.2f} s later than planned, as this computer was busy'
                        if delay > 1e-3
                        else ''
                    )
                )
            return
        self._work.step('playing', max(0.0, sender.now), self._course.duration)
        try:  # a controller that was restarted holds the arm: no piece may make it leap
            self._controller.refuse()
        except MotionError as error:
            self._let_end(str(error))
            return
        if behind < -TOO_LATE:
            self._let_end(f'the clock of this node went back by {-behind:.1f} s')
        elif sender.unknown:
            if not self._joints.resumes(within=ANSWERS):  # else they may be on their way
                self._controller.withdraw()
                self._let_end('the controller did not accept the pieces of the motion in time')
        elif behind > TOO_LATE:
            self._brake(f'this computer is too slow: a piece of the motion is {behind:.1f} s late')
        elif sender.send():
            self.get_logger().warning(
                f'a piece left {behind - PIECE:.2f} s late: the motion goes on from where the arm '
                f'is, {sender.delay:.2f} s later than planned'
            )
            self._publish_periods()

    def fault(self, words: str) -> None:
        """Say what went wrong in a callback, and brake where a motion is played."""
        super().fault(words)
        self._brake(words)

    def _stop(self):
        if not self._moving and self._work.values['work'] == 'design' and self._work.busy:
            self._work.enough = True
            return 'the search ends; the best motion so far is kept'
        return self._cancel()

    def _cancel(self):
        """End what is under way, without a result."""
        if not self._moving:
            return self._work.cancel()
        self._brake('asked to')
        return 'braking'

    def _say(self, status):
        self._status = status
        self._status_topic.publish(String(data=status))
        self.get_logger().info(status)

    def destroy_node(self) -> None:
        """Leave the robot at rest and the bag closed, also after Ctrl-C."""
        self._brake('the player was shut down')
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
        self._robot = self._built[1][0]
        self._work.in_node(partial(self._joints.of, self._robot))
        return self._built[1]

    def _design(self):
        self._say('designing')
        try:
            path, words = designed(self._robot_of_now()[0], design_options(self), self._work)
        except InertialIdError as error:
            self._say('design cancelled' if str(error) == CANCELLED else f'design failed: {error}')
            raise
        self._work.in_node(lambda: self.set_parameters([Parameter('motion_file', value=path)]))
        self._say(f'{words}; motion_file is {path}')
        return self._status

    def _plan(self):
        """Return the Rehearsal of the course, and whether it begins where the arm is held."""
        options = read_options(self, PlaybackOptions)
        if not options.motion_file:
            raise MotionError('no motion', do='set motion_file: to the YAML of a design')
        motion = read_motion(options.motion_file)
        robot, shapes, limits = self._robot_of_now()
        check_kinematics(options.motion_file, robot)
        position = self._joints.refuse(options.stale)
        self._controller.refuse()
        self._controllers.refuse()
        start = self._work.in_node(partial(self._held.position, robot, position, options.tracking))
        if start is None and not (options.from_command or self._controllers.leads(robot)):
            raise self._held.unknown()
        course = plan_course(
            motion,
            position if start is None else start,
            robot,
            periods=options.periods,
            speed=options.speed,
        )
        return rehearse(
            course, robot, shapes, limits, options.effort, design_options(self).model
        ), start is not None

    def _check(self):
        rehearsal, _ = self._plan()
        return rehearsal.words(design_options(self).mounting or 'upright')

    def _play(self):
        options = read_options(self, PlaybackOptions)
        self._work.step('planning')
        rehearsal, held = self._plan()  # refused before a bag is opened
        self._work.step('opening a bag')
        try:
            self._recorder.start()
            self._joints.refuse(options.stale)
            self._work.in_node(partial(self._begin, rehearsal, held, options))
            while not self._over.wait(ASK):
                self._controllers.refuse()  # it may be deactivated
            ended = self._status, self._controller.outcome(self._sender.rests_in())
        except Exception as error:
            self._work.in_node(partial(self._let_end, str(error)))
            self._recorder.stop()
            raise
        status = '; '.join(filter(None, (*ended, self._recorder.stop())))
        if status != self._status:
            self._say(status)
        if not status.startswith(FINISHED):
            raise MotionError(status)
        return status


main = main_of(Excitation, __name__)
