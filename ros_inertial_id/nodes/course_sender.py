"""A course cut into pieces on the robot's clock, each made just before it is sent."""

from collections.abc import Callable, Sequence
from copy import copy
import time
from typing import Any

from builtin_interfaces.msg import Duration, Time
import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .controller_link import ActionLink, LATEST, TopicLink
from ..excitation.braking import Brakes, LONGEST_BRAKING
from ..excitation.path_clock import PathClock, POINT_STEP
from ..excitation.playback import Course, HORIZON, LEAD, MARGIN, PAST

BEFORE = 10**9  # [ns] by which trajectories are stamped earlier: points may precede the course
# [ns] more of each piece than of the one before it, for STAMPS pieces: by its stamp the state of
# the controller tells which it follows, where that says to the next point when it began
STAMP_STEP = 10**8
STAMPS = 8
SAME_STAMP = 0.3  # of a STAMP_STEP
ATTEMPTS = 3  # to make a piece in time
NEXT_ATTEMPT = 1.2  # times as long as the last is what it may take
LONGEST_ATTEMPT = 0.5  # [s]
# [s] between pieces; each covers five of them, so that some may be late or lost
PIECE_PERIOD = 0.04
# pieces on their way, where it is known which have arrived: one that is late leads the command
# away by as far as it goes beyond the last that was followed, unless it has ended by then
ON_THEIR_WAY = 2
EARLY = 0.01  # [s] by which a piece may be: whoever asks does not ask all the time
SENT_AGAIN = (
    0.2  # [s] of wall time after which it is sent again: simulated time may be waiting for it
)
OLDEST_CLOCK = 0.06  # [s] of wall time since the clock was read, for which a piece is not sent
# [s] from a piece that was accepted until the arm brakes, where none has followed
UNANSWERED = HORIZON - MARGIN - POINT_STEP
STATE_COMES = 1.0  # [s] in which a state of the controller comes, however late


class CourseSender:
    """
    Sends one course at a time, on the clock of the robot.

    now_ns : returns its time [ns]; clock_age : for how long that cannot have moved on [s]
    """

    def __init__(
        self,
        link: TopicLink | ActionLink,
        now_ns: Callable[[], int],
        clock_age: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._link, self._now_ns, self._clock_age = link, now_ns, clock_age
        self._course: Any = None
        self._clock: Any = None
        self._names: Sequence[str] = ()
        self._tracking = 0.0
        self._began, self._first, self._newest = 0, 0.0, 0
        self._sent_at = 0.0  # [s] of wall time
        self._said_at = -np.inf  # [s] since the course began, of the state that was noted last
        self._sent: dict[int, float] = {}  # number of a piece -> when it was made [s]

    def begin(
        self,
        course: Course,
        brakes: Brakes,
        joint_names: Sequence[str],
        held: bool,
        tracking: float,
    ) -> None:
        """
        Send the first piece, LEAD before the start of ``course``.

        held : whether it begins where the controller holds the arm.  Then pieces are sent from
            the first on, all with a past: they change nothing until the start.  Otherwise the
            first lies wholly ahead and is alone until the start: a controller that goes on from
            its command reaches it smoothly.
        tracking : how far [rad or m] from the course a joint may be
        """
        self._course, self._names, self._tracking = course, joint_names, tracking
        self._began = self._now_ns() + round(LEAD * 1e9)
        self._first, past = 0.0, 0
        if held:
            self._first, past = -LEAD, PAST
        self._clock = PathClock(0.0, brakes)
        self._clock.go_on(self._first, HORIZON, MARGIN)
        self._sent, self._said_at = {}, -np.inf
        self._send(self._first, self._message(self._clock, self._first, past))

    @property
    def now(self) -> float:
        """Return the time since the course began [s]."""
        return (self._now_ns() - self._began) * 1e-9

    @property
    def behind(self) -> float:
        """Return the time for which nothing was sent [s]; negative where the clock went back."""
        return self.now - self._sent[self._newest]

    @property
    def due(self) -> bool:
        """Return whether it is time for the next piece, or the last one may be lost."""
        return (
            self.behind >= PIECE_PERIOD - EARLY or time.monotonic() - self._sent_at >= SENT_AGAIN
        )

    @property
    def delay(self) -> float:
        """Return the time [s] by which late pieces have stretched the course."""
        return float(self._clock.delay)

    @property
    def arrival_unknown(self) -> bool:
        """
        Return whether the arm may brake by now, as pieces are not known to have arrived.

        A state of the controller that is late tells nothing of what came after it; one that does
        not come within STATE_COMES is as none.
        """
        rests_until_start = POINT_STEP - HORIZON  # as long as it is before the first
        made = self._sent.get(self._link.arrived, rests_until_start)
        known = self.now
        if not self._link.answers:
            known = max(self._said_at, self.now - STATE_COMES)
        return self._unanswered > 0 and known - made > UNANSWERED

    @property
    def awaits_answers(self) -> bool:
        """Return whether ON_THEIR_WAY pieces are not known to have arrived."""
        return self._unanswered >= ON_THEIR_WAY

    @property
    def _unanswered(self):
        """Return how many pieces are not known to have arrived, 0 where nothing is known."""
        arrived = self._link.arrived
        if not self._link.answers and arrived not in self._sent:
            return 0
        return self._newest - arrived

    def note_followed(self, stamp_ns: int, said_ns: int) -> None:
        """Note the stamp of the trajectory that the controller follows at ``said_ns`` [ns]."""
        self._said_at = (said_ns - self._began) * 1e-9
        steps = (self._began - BEFORE - stamp_ns) / STAMP_STEP
        if abs(steps - round(steps)) > SAME_STAMP or not 0 <= round(steps) < STAMPS:
            return  # of somebody else, or none
        number = self._newest - (self._newest - round(steps)) % STAMPS
        if number in self._sent:
            self._link.accept(number)

    def passed(self, since: float = 0.0) -> bool:
        """Return whether the end of the course lies ``since`` [s] back."""
        return bool(self._clock.state(np.array([self.now]))[0, 0] >= self._course.duration + since)

    def stamps(self, path_times: np.ndarray) -> np.ndarray:
        """Return the (N,) stamps [ns] at which the course is at ``path_times`` (N,) [s]."""
        return (self._began + np.round(self._clock.times(path_times) * 1e9)).astype(np.int64)

    def expected(self, stamps: np.ndarray) -> np.ndarray:
        """Return the positions (N, n) of the course at ``stamps`` (N,) [ns]."""
        return self._course.at(self._clock.state((stamps - self._began) * 1e-9)[0])[0]

    def send(self) -> bool:
        """Send the next piece; return whether it came too late to go on at full speed."""
        return self.now >= max(self._first, self._sent[self._newest]) and self._send_in_time()

    def rests_in(self) -> float:
        """Return in how many seconds the last piece rests, also where the clock went back."""
        return min(max(0.0, float(self._clock.rests_at()) - self.now), HORIZON + LONGEST_BRAKING)

    def _send_in_time(self):
        """
        Send the next piece; return whether it came too late to go on at full speed.

        One that this process was held up with is made anew, since the arm would leap to it, and
        for the moment at which it will be ready if that takes as long again: to plan anew takes
        longer than a piece may be late.  Where none is made in time, the arm comes to rest as it
        was promised before.
        """
        takes = 0.0  # [s]
        for _ in range(ATTEMPTS):
            clock, now = copy(self._clock), self.now + takes
            slower = clock.go_on(now, HORIZON, MARGIN)
            # A past from now on: a controller goes to a first point ahead from where it is.
            message = self._message(clock, now, PAST + int(np.ceil(takes / POINT_STEP)))
            if self._clock_age() > OLDEST_CLOCK:  # it tells nothing: when it has been read again
                return False
            late = self.now - now
            if late < LATEST:
                self._clock = clock
                self._send(now, message)
                return bool(slower)
            takes = min(NEXT_ATTEMPT * (takes + late), LONGEST_ATTEMPT)
        return False

    def _message(self, clock, now, past):
        piece = self._course.piece(clock, now, past)
        before = BEFORE + (self._newest + 1) % STAMPS * STAMP_STEP
        return self._link.message(
            trajectory_message(self._names, self._began, piece, before), self._tracking
        )

    def _send(self, now, message):
        self._newest, self._sent_at = self._link.send(message), time.monotonic()
        self._sent[self._newest] = now


def trajectory_message(
    joint_names: Sequence[str], began: int, piece: Sequence[np.ndarray], before: int = BEFORE
) -> JointTrajectory:
    """
    Return a piece of a course that ``began`` [ns] as a message.

    piece : times (N,) since then [s], q, v, a (N, n); before : [ns] of its stamp
    """
    message, stamp = JointTrajectory(joint_names=list(joint_names)), began - before
    message.header.stamp = Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
    for t, q, v, a in zip(*piece):
        nanoseconds = before + round(t * 1e9)
        message.points.append(
            JointTrajectoryPoint(
                positions=q.tolist(),
                velocities=v.tolist(),
                accelerations=a.tolist(),
                time_from_start=Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9),
            )
        )
    return message
