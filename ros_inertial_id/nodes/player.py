"""What the player sends to the controller, as its state says, and what it looks at meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
import threading
from typing import Any

import numpy as np
from std_msgs.msg import String
import yaml

from .controller_link import controller_link
from .controller_state import HeldPosition
from .conversions import every, latched
from .course_sender import CourseSender, PIECE_PERIOD
from .joint_watch import DriverWatch, JointWatch
from .player_states import Action, Event, State, TRANSITIONS
from .running import GuardedNode
from ..dynamics.robot_model import RobotModel
from ..errors import MotionError
from ..excitation.playback import Course, deviation, Guard, HORIZON
from ..excitation.rehearsal import Rehearsal

FINISHED = 'finished'
WATCH_PERIOD = 0.02  # [s] between looks at the joint states
LAST_STATES = 1.0  # [s] that joint states of the end of a motion may come late: the bag has them
CREEP = 5e-3  # [rad or m] more than an arm creeps while a bag is opened
GOAL_ANSWERS = 1.0  # [s] for answers that came while this process was held up
LATEST_PIECE = 3.0  # [s] that a piece may be late; more ends the motion
SAID_DELAY = 1e-3  # [s] that a motion was stretched, from which it is said


@dataclass(frozen=True)
class PlannedMotion:
    """
    What is to be played.

    rehearsal : of its course, that it keeps the limits of ``robot``; guard : what stops it
    held : whether it begins where the controller holds the arm, not where the arm is measured
    """

    rehearsal: Rehearsal
    robot: RobotModel
    guard: Guard
    held: bool

    @property
    def course(self) -> Course:
        """Return where the robot is to be at every time."""
        return self.rehearsal.course


class Player:
    """
    One course at a time, sent in pieces that end at rest, by the timers of a ``node``.

    controller : name of its topic or action; driver_topics : of the joint states, and of the speed
        at which the driver runs trajectories, '' for none
    say : called with a new status; progress : called with words, done and whole [s], raises where
        the motion was cancelled before it began
    state : of now, which ``happens`` alone changes, in the thread of the node
    ended : set when the last motion has ended; how : the status with which the last one ended
    """

    def __init__(
        self,
        node: GuardedNode,
        controller: str,
        driver_topics: tuple[str, str],
        say: Callable[[str], None],
        progress: Callable[..., None],
    ) -> None:
        joint_states, scaling = driver_topics
        self._say, self._progress, self._log = say, progress, node.get_logger()
        self.state, self.ended, self.how = State.IDLE, threading.Event(), ''
        self._motion: Any = None  # a PlannedMotion, from the first on
        driver = DriverWatch(node, scaling, self._doubt)
        self.joints = JointWatch(
            node, driver, self._doubt, self._doubt, self._compare, joint_states
        )
        self.held = HeldPosition(node, controller, driver.scaled)
        self.controller = controller_link(node, controller, self._doubt)
        joints = self.joints
        self._sender = CourseSender(self.controller, joints.now_ns, joints.clock_age)
        self._periods = node.create_publisher(String, '~/periods', latched())
        self._actions: dict[Action, Callable[[str], None]] = {
            Action.NOTHING: lambda reason: None,
            Action.SEND_FIRST_PIECE: self._send_first_piece,
            Action.SEND_NEXT_PIECE: self._send_next_piece,
            Action.STOP_SENDING: self._stop_sending,
            Action.WITHDRAW_LAST_PIECE: self._withdraw_last_piece,
            Action.SAY_THAT_IT_IS_FINISHED: self._end,
        }
        every(node, WATCH_PERIOD, self.go_on)  # also while a simulated clock stands

    def happens(self, event: Event, reason: str = '') -> bool:
        """Take the step of TRANSITIONS for an ``event``; return whether there is one."""
        step = TRANSITIONS.get((self.state, event))
        if step is None:
            return False
        self.state = step.state
        self._actions[step.action](reason)
        return True

    def begin(self, motion: PlannedMotion) -> None:
        """Play a ``motion`` for which all is prepared; MotionError where the arm moved since."""
        course, robot = motion.course, motion.robot
        self.controller.check_ready()
        here: Any = self.joints.position
        if motion.held:
            here = self.held.position(robot, here, motion.guard.tracking)
        if here is None or not (deviation(robot, here, course.start) <= CREEP).all():
            raise MotionError(
                'the arm moved while the motion was planned', do='call ~/play when it is at rest'
            )
        self._progress('playing')  # refused where it was cancelled meanwhile
        self._motion = motion
        self.happens(Event.READY)

    def outcome(self, given_up: Callable[[], bool]) -> str:
        """
        Wait until the last piece rests; return in words what the controller said of it.

        given_up : whether it is not to be waited for any more
        """
        return self.controller.outcome(self._sender.rests_in(), given_up)

    # What it looks at

    def watch(self) -> None:
        """Take all joint states since the last time; they raise doubts, as does their silence."""
        self.held.read()
        self.joints.read()
        if self.state is not State.PLAYING:
            return
        followed = self.held.followed
        if followed:
            self._sender.note_followed(*followed)
        silence = self.joints.silence
        if silence > self._motion.guard.stale:
            self._doubt(f'no joint states for {silence:.2f} s')

    def _compare(self, stamps, values):
        """Doubt where measured joints are not as the course or the limits have it."""
        if self.state is not State.PLAYING:
            return
        motion = self._motion
        objection = motion.guard.objection(
            motion.robot, self._sender.expected(stamps), *values.values()
        )
        if objection:
            self._doubt(objection)

    def go_on(self) -> None:
        """Let happen what is due now: a piece, the end, or a doubt."""
        self.watch()
        if self.state is not State.PLAYING or not self._sender.due:
            return
        self._progress('playing', max(0.0, self._sender.now), self._motion.course.duration)
        event, reason = self._due()
        self.happens(event, reason)

    def _due(self):
        """Return (Event, why) before the next piece of a course is sent."""
        joints, sender = self.joints, self._sender
        if joints.simulated and joints.resumes(HORIZON):  # /clock may leap
            return Event.MESSAGES_DUE, ''
        if sender.passed(PIECE_PERIOD):
            return self._due_at_the_end()
        try:  # a controller that was restarted holds the arm
            self.controller.check_ready()
        except MotionError as error:
            return Event.DOUBT, str(error)
        behind = sender.behind
        if behind < -LATEST_PIECE:
            return Event.DOUBT, f'the clock of this node went back by {-behind:.1f} s'
        if sender.arrival_unknown:
            return self._due_without_answers()
        if sender.awaits_answers:
            return Event.MESSAGES_DUE, ''
        if behind > LATEST_PIECE:
            words = f'this computer is too slow: a piece of the motion is {behind:.1f} s late'
            return Event.DOUBT, words
        return Event.PIECE_DUE, ''

    def _due_at_the_end(self):
        """End a course that is over when joint states of all of it have come, or are lost."""
        joints, sender = self.joints, self._sender
        end_ns = sender.stamps(np.array([self._motion.course.duration]))[0]
        if joints.newest_ns <= end_ns and joints.now_ns() <= end_ns + LAST_STATES * 1e9:
            return Event.MESSAGES_DUE, ''
        words = FINISHED
        if sender.delay > SAID_DELAY:
            words += f', {sender.delay:.2f} s later than planned, as this computer was busy'
        return Event.COURSE_OVER, words

    def _due_without_answers(self):
        """End a motion whose goals were not accepted in time, unless nobody looked."""
        if self.joints.resumes(within=GOAL_ANSWERS):
            return Event.MESSAGES_DUE, ''
        words = 'the controller did not accept the pieces of the motion in time'
        return Event.UNANSWERED, words

    # What it does

    def _send_first_piece(self, reason):
        self.how = ''
        self.ended.clear()
        motion = self._motion
        try:
            self._sender.begin(
                motion.course,
                motion.rehearsal.brakes,
                motion.robot.joint_names,
                motion.held,
                motion.guard.tracking,
            )
        except Exception as error:  # at once: no piece may follow one that was not sent
            self._doubt(str(error))
            raise
        self._publish_periods()
        self._say('playing')

    def _send_next_piece(self, reason):
        late = self._sender.behind - PIECE_PERIOD
        if self._sender.send():
            self._log.warning(
                f'a piece left {late:.2f} s late: the motion goes on from where the arm '
                f'is, {self._sender.delay:.2f} s later than planned'
            )
            self._publish_periods()

    def _withdraw_last_piece(self, reason):
        try:
            self.controller.withdraw()
        finally:
            self._stop_sending(reason)

    def _stop_sending(self, reason):
        self._end(f'stopped: {reason}')

    def _end(self, status):
        self.how = status
        try:
            self._say(status)
        finally:
            self.ended.set()

    def _doubt(self, reason):
        """
        Send nothing more; the piece under way ends at rest on the path.

        A way to rest that begins at once would make the arm leap where it comes late, as would any
        piece where the driver scales trajectories, or the controller holds the arm already.
        """
        self.happens(Event.DOUBT, reason)

    def _publish_periods(self):
        course = self._motion.course
        bounds = self._sender.stamps(course.period_starts()).tolist()
        periods = {'period_s': course.motion.period / course.speed, 'bounds_ns': bounds}
        self._periods.publish(String(data=yaml.safe_dump(periods)))
