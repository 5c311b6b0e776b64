"""A course on its way to the controller: piece by piece, on the clock of the robot."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .controller_link import ActionLink, TopicLink, trajectory_message
from ..excitation.braking import Brakes
from ..excitation.path_clock import PathClock
from ..excitation.playback import Course, HORIZON, LEAD, MARGIN, PAST

TOO_LATE, TOO_SLOW = 2.0, 5.0  # [s] of one piece, and of all together, that end a motion
PIECE = 0.04  # [s] between pieces; each covers five of them, so that some may be late or lost


class CourseSender:
    """
    Sends one course at a time.

    link : to the controller; now_ns : () -> time of the robot [ns]
    """

    def __init__(self, link: TopicLink | ActionLink, now_ns: Callable[[], int]) -> None:
        self._link, self._now_ns = link, now_ns
        self._course: Any = None
        self._brakes: Any = None
        self._clock: Any = None
        self._names: Sequence[str] = ()
        self._began, self._first, self._sent = 0, 0.0, 0.0
        self._last: Any = None

    def begin(self, course: Course, brakes: Brakes, joint_names: Sequence[str], held: bool
              ) -> None:
        """
        Send the first piece, LEAD before the start of ``course``.

        joint_names : (n,) of its joints
        held : whether it begins where the controller holds the arm.  Then pieces are sent from
            the first on, all with a past: they change nothing until the start.  Otherwise the
            first lies wholly ahead and is alone until the start: a controller that goes on from
            its command reaches it smoothly.
        """
        self._course, self._brakes, self._names = course, brakes, joint_names
        self._began = self._now_ns() + round(LEAD * 1e9)
        self._first = -LEAD if held else 0.0
        self._clock, self._last = PathClock(0.0, brakes), None
        self._clock.go_on(self._first, HORIZON, MARGIN)
        self._command(self._first, PAST if held else 0)

    @property
    def now(self) -> float:
        """Return the time since the course began [s]."""
        return (self._now_ns() - self._began) * 1e-9

    @property
    def behind(self) -> float:
        """Return the time for which nothing was sent [s]; negative where the clock went back."""
        return self.now - self._sent

    @property
    def delay(self) -> float:
        """Return by how much late pieces have stretched the course [s]."""
        return float(self._clock.delay)

    def passed(self, since: float = 0.0) -> bool:
        """Return whether the end of the course lies ``since`` [s] back."""
        return bool(self._clock.state(np.array([self.now]))[0, 0] >= self._course.duration + since)

    def stamps(self, path_times: np.ndarray) -> np.ndarray:
        """Return the (N,) stamps [ns] at which the course is at ``path_times`` (N,) [s]."""
        return (self._began + np.round(self._clock.times(path_times) * 1e9)).astype(np.int64)

    def expected(self, stamps: np.ndarray) -> np.ndarray:
        """Return the positions (N, n) of the course at ``stamps`` (N,) [ns]."""
        return self._course.at(self._clock.state((stamps - self._began) * 1e-9)[0])[0]

    def too_late(self) -> str:
        """Return in words that the next piece comes too late to go on, '' where it does not."""
        if self.behind <= TOO_LATE and self.delay <= TOO_SLOW:
            return ''
        late = max(self.behind, self.delay)
        return f'this computer is too slow: pieces of the motion left {late:.1f} s late'

    def stretched(self) -> str:
        """Return in words by how much late pieces have stretched the course, '' for not at all."""
        return (f', {self.delay:.2f} s later than planned, as this computer was busy'
                if self.delay > 1e-3 else '')

    def send(self) -> bool:
        """Send the next piece; return whether it came too late to go on at full speed."""
        now = self.now
        if now < self._first:
            return False
        late = self._clock.go_on(now, HORIZON, MARGIN)
        self._command(now)
        return bool(late)

    def brake(self) -> None:
        """Send the way to rest along the course, from now on."""
        now = self.now
        self._clock.brake(now)
        self._command(now)

    def end(self) -> tuple[np.ndarray, float] | None:
        """Return where (n,) and in how many seconds the last piece rests; None: nothing sent."""
        longest = HORIZON + 2.0 * self._brakes.longest  # also where the clock went back
        seconds = min(max(0.0, self._clock.rests_at() - self.now), longest)
        self._link.await_result(seconds)
        return None if self._last is None else (self._last, seconds)

    def _command(self, now, past=PAST):
        piece = self._course.piece(self._clock, now, past)
        self._sent, self._last = now, piece[1][-1]
        self._link.send(trajectory_message(self._names, self._began, piece))
