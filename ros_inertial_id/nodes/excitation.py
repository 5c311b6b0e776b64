"""
Node ``excitation``: plays a designed motion through the controller that is already there.

Off until asked.  ``~/design`` makes a motion for the robot description, ``~/check`` rehearses it
in the computer and says what would happen, ``~/play`` starts the recorder, moves slowly to the
start of the motion and plays it, ``~/stop`` brakes.  Joint states are watched all the time; any
doubt brakes the robot along its own path, closes the bag and says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import sys
import time

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
import yaml

from .conversions import diagnostics, every, latched
from .driver_watch import DriverWatch
from .motion_design import MotionDesign
from .parameters import declare_options, read_options
from .recorder_dialogue import RecorderDialogue
from .running import run
from .streams import Streams
from ..errors import InertialIdError, MotionError, RecordingError
from ..excitation.fourier import read_motion
from ..excitation.playback import Guard, HORIZON, plan_course
from ..excitation.rehearsal import check_kinematics, rehearse
from ..measurement.live import carried
from ..options import check_ranges, option

WATCH = 0.02  # [s] between looks at the joint states
PIECE = 0.05  # [s] between pieces; each covers four of them, so that one may be late or lost
BEFORE = 10 ** 9  # [ns] by which trajectories are stamped earlier: points may precede the course


@dataclass(frozen=True)
class PlaybackOptions:
    """What is played, how fast, and what stops it."""

    motion_file: str = option('', 'YAML of a designed motion (inertial-id design)')
    controller: str = option('joint_trajectory_controller/joint_trajectory',
                             'JointTrajectory topic of the controller')
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


class Excitation(Node):
    """One course at a time, sent in pieces that end at rest."""

    _complete = False  # until all that a shutdown has to end is there

    def __init__(self, **node_options):
        super().__init__('excitation', **node_options)
        own = declare_options(self, PlaybackOptions, fixed=(
            'controller', 'joint_states_topic', 'speed_scaling_topic', 'recorder', 'config'))
        check_ranges(own)
        self._design = MotionDesign(self, own.config)
        self._urdf, self._shapes, self._limits = '', None, None
        self._robot = self._course = self._measured = None
        self._streams = Streams(self, self._doubt)
        self._status, self._received_at, self._complaint = 'idle', 0.0, ''
        self._commands = self.create_publisher(
            JointTrajectory, self._options().controller, 10)
        self._status_topic = self.create_publisher(String, '~/status', latched())
        self._periods = self.create_publisher(String, '~/periods', latched())
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.create_subscription(String, 'robot_description', self._take_description, latched())
        self._driver = DriverWatch(self, own.speed_scaling_topic, self._let_end)
        self.create_service(Trigger, '~/design', self._answering(self._begin_design))
        self.create_service(Trigger, '~/check', self._answering(self._check))
        self.create_service(Trigger, '~/play', self._answering(self._play))
        self.create_service(Trigger, '~/stop', self._answering(self._stop_on_request))
        self._recorder = RecorderDialogue(self, own.recorder)
        self.create_timer(PIECE, self._send)
        every(self, WATCH, self._watch)
        every(self, 0.05, self._await_recorder)
        every(self, 0.2, self._await_design)
        every(self, 0.2, lambda: self._streams.look((own.joint_states_topic,)))
        every(self, 1.0, lambda: self._diagnostics.publish(diagnostics(
            self, 'error' if self._status.startswith(('stopped', 'design failed')) else 'ok',
            self._design.progress() if self._design.busy else self._status, {})))
        self._complete = True
        self._say('idle')
        self.get_logger().info('off until asked: call ~/check, then ~/play')

    def _options(self):
        return read_options(self, PlaybackOptions)

    def _take_description(self, message):
        if self._course is not None:
            return  # a robot does not change while it moves
        self._urdf = message.data
        try:
            self._build()
        except InertialIdError as error:
            self._robot = None
            self.get_logger().error(str(error))

    def _build(self):
        """Make robot and shapes from the description, as the parameters design.* say now."""
        if not self._urdf:
            raise MotionError('no robot_description was published')
        robot, shapes, limits = self._design.robot(self._urdf)
        if self._robot is None or robot.joint_names != self._robot.joint_names:
            self._measured = None
        self._robot, self._shapes, self._limits = robot, shapes, limits

    def _doubt(self, words):
        """Remember what is wrong with the joint states; brake if the robot moves."""
        self._complaint = words
        if self._course is not None:
            self._brake(words)

    def _let_end(self, reason):
        """
        Stop when the driver slows trajectories down: its clock then stays behind ours.

        Every new piece would make the arm skip what it was slowed down by.  So nothing more is
        sent, not even a brake: the piece under way ends at rest on the path.
        """
        if self._course is not None:
            self.get_logger().error(f'stopped: {reason}')
            self._end(f'stopped: {reason}')

    def _watch(self):
        """Look at all joint states since the last time; brake when they give reason, or cease."""
        self._streams.hand_to(self._take_joints)
        if self._course is not None:
            silence = time.monotonic() - self._received_at
            if silence > self._guard.stale:
                self._brake(f'no joint states for {silence:.2f} s')

    def _take_joints(self, channel):
        if self._robot is None:
            return
        if not channel.stamp_ns.all():
            raise RecordingError('joint_states carry no stamps', do='let the driver stamp them')
        rows, values = carried(channel, self._robot.joint_names,
                               ('position', 'velocity', 'effort'))
        if not len(rows):
            return
        self._complaint, self._received_at = '', time.monotonic()
        self._measured = values['position'][-1]
        stamps = channel.stamp_ns[rows]
        ahead = (stamps[-1] - self.get_clock().now().nanoseconds) * 1e-9
        self._driver.stamped(ahead + self._streams.waited)  # as it was when they came
        if self._course is None:
            return
        expected = self._course.at((stamps - self._began) * 1e-9)[0]
        reason = self._guard.objection(self._robot, expected, *values.values())
        if reason:
            self._brake(reason)

    def _plan(self):
        """Return the Course and its Rehearsal, or refuse."""
        options, began = self._options(), time.monotonic()
        if not options.motion_file:
            raise MotionError('no motion', do='set motion_file: to the YAML of a design')
        motion = read_motion(options.motion_file)
        self._build()
        check_kinematics(options.motion_file, self._robot)
        self._refuse_deaf(options)
        course = plan_course(motion, self._measured, self._robot, periods=options.periods,
                             speed=options.speed, approach_speed=options.approach_speed)
        rehearsal = rehearse(course, self._robot, self._shapes, self._limits, options.effort)
        # Messages of the time that planning took wait in the queue: that is no silence.
        self._received_at += time.monotonic() - began
        return rehearsal.course, rehearsal

    def _refuse_deaf(self, options):
        """Refuse without fresh joint states on our clock, or without a controller."""
        silence = time.monotonic() - self._received_at
        if self._measured is None:
            raise MotionError(self._complaint or 'no joint states',
                              expected=self.resolve_topic_name(options.joint_states_topic),
                              do='start the robot driver')
        if silence > options.stale:
            raise MotionError(self._complaint or 'the joint states are late',
                              expected=f'one every {options.stale:g} s at the latest (stale:)',
                              found=f'the last {silence:.2f} s ago')
        self._driver.refuse(options.joint_states_topic)
        if not self.count_subscribers(self.resolve_topic_name(options.controller)):
            raise MotionError(f'nobody listens to {options.controller}',
                              do='start the joint_trajectory_controller, or correct controller:')

    def _check(self):
        self._refuse_when_busy()
        course, rehearsal = self._plan()
        return '; '.join((
            f'{course.approach:.1f} s to the start, then {course.periods} times '
            f'{course.motion.period / course.speed:.1f} s',
            ', '.join(f'{name} {100 * share:.0f} % of its limits'
                      for name, share in rehearsal.use.items()),
            _stopping_words(rehearsal.stopping),
            f"torques for mounting {self._design.options().mounting or 'upright'}",
            *rehearsal.notices))

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
        course, _ = self._plan()
        if self._recorder.start():
            self._say('starting')
        else:
            self._begin()
        return f'playing for {course.duration:.1f} s'

    def _refuse_when_busy(self):
        if self._course is not None or self._recorder.opening:
            raise MotionError('a motion is being played', do='call ~/stop first')
        if self._recorder.closing:
            raise MotionError('the bag of the last motion is being closed', do='call again')
        if self._design.busy:
            raise MotionError('a motion is being designed',
                              do='wait for it, or call ~/stop to take the best so far')

    def _await_recorder(self):
        """Go on when the recorder has answered, or will not."""
        trouble = self._recorder.started()
        if trouble == '':
            self._begin()
        elif trouble:
            self._recorder.give_up()
            self._end(f'stopped: {trouble}')
        words = self._recorder.stopped()
        if words is not None:
            self._say(f'{self._status}; {words}')

    def _begin(self):
        options = self._options()
        try:
            course, _ = self._plan()  # from where the robot is by now
        except InertialIdError as error:
            self._end(f'stopped: {error}')
            return
        self._guard = Guard(options.tracking, options.stale, options.effort)
        self._began = self.get_clock().now().nanoseconds + int(0.05e9)
        self._course, self._sent = course, 0.0
        starts = (self._began + np.round(course.period_starts() * 1e9)).astype(np.int64)
        self._periods.publish(String(data=yaml.safe_dump(
            {'period_s': course.motion.period / course.speed, 'bounds_ns': starts.tolist()})))
        self._say('playing')
        self._send()

    def _send(self):
        """Send the next piece; at the end of the course finish."""
        if self._course is None:
            return
        now = (self.get_clock().now().nanoseconds - self._began) * 1e-9
        if now >= self._course.duration + PIECE:
            self._end('finished')
            return
        if now > self._sent + HORIZON:
            self._brake(f'this computer was busy for {now - self._sent:.2f} s')
            return
        self._sent = max(now, 0.0)
        self._command(self._course.piece(self._sent))

    def _command(self, piece):
        message = JointTrajectory(joint_names=list(self._robot.joint_names))
        stamp = self._began - BEFORE
        message.header.stamp = Time(sec=stamp // 10 ** 9, nanosec=stamp % 10 ** 9)
        for t, q, v, a in zip(*piece):
            nanoseconds = BEFORE + round(t * 1e9)
            message.points.append(JointTrajectoryPoint(
                positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist(),
                time_from_start=Duration(sec=nanoseconds // 10 ** 9,
                                         nanosec=nanoseconds % 10 ** 9)))
        self._commands.publish(message)

    def _brake(self, reason):
        """Command the robot to rest along its path, now; close the bag; say why."""
        now = (self.get_clock().now().nanoseconds - self._began) * 1e-9
        if now <= self._sent + HORIZON:  # after that the last piece has begun to brake already
            self._command(self._course.piece(max(now, 0.0), horizon=0.0))
        self.get_logger().error(f'stopped: {reason}')
        self._end(f'stopped: {reason}')

    def _end(self, status):
        self._course = None
        self._say(status)
        self._recorder.stop()

    def _stop_on_request(self):
        if self._design.busy:
            self._design.end()
            return 'the search ends; the best motion so far is kept'
        if self._course is not None:
            self._brake('asked to')
        elif not self._give_up_opening('asked to'):
            raise MotionError('no motion is being played')
        return 'braking'

    def _give_up_opening(self, reason):
        """Do not begin; close the bag, which may be open by now.  Return whether it was so."""
        awaited = self._recorder.give_up()
        if awaited:
            self._end(f'stopped: {reason}')
        return awaited

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
            self._give_up_opening('the player was shut down')
            if self._course is not None:
                self._brake('the player was shut down')
            while self._recorder.closing:
                rclpy.spin_once(self, timeout_sec=0.05)
        super().destroy_node()


def _stopping_words(stopping):
    """Return how far the arm goes on when it is asked to stop, and when the player is killed."""
    return (f'stops within {stopping.brake:g} s and {stopping.distance.max():.2f} rad or m, '
            f'{stopping.alone:.2f} s and {stopping.distance_alone.max():.2f} if the player dies')


def main(args: Sequence[str] | None = None) -> int:
    """Run the node with the command line ``args``; return its exit code."""
    return run(Excitation, args)


if __name__ == '__main__':
    sys.exit(main())
