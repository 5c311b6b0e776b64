"""A course on its way to the controller: piece by piece, on the clock of the node."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.node import Node

from .controller_link import ActionLink, TopicLink, trajectory_message
from ..excitation.playback import Course, HORIZON, LEAD, PAST

PIECE = 0.05  # [s] between pieces; each covers four of them, so that one may be late or lost


class CourseSender:
    """
    Sends one course at a time.

    node : whose clock counts; link : to the controller
    """

    def __init__(self, node: Node, link: TopicLink | ActionLink) -> None:
        self._node, self._link = node, link
        self._course: Any = None
        self._names: Sequence[str] = ()
        self._began, self._first, self._sent = 0, 0.0, 0.0
        self._last: Any = None

    def begin(self, course: Course, joint_names: Sequence[str], held: bool) -> None:
        """
        Send the first piece, LEAD before the start of ``course``.

        joint_names : (n,) of its joints
        held : whether it begins where the controller holds the arm.  Then pieces are sent from
            the first on, all with a past: they change nothing until the start.  Otherwise the
            first lies wholly ahead and is alone until the start: a controller that goes on from
            its command reaches it smoothly.
        """
        self._course, self._names = course, joint_names
        self._began = self._node.get_clock().now().nanoseconds + round(LEAD * 1e9)
        self._first = self._sent = -LEAD if held else 0.0
        self._last = None
        self._command(self._first, HORIZON, PAST if held else 0)

    @property
    def now(self) -> float:
        """Return the time since the course began [s]."""
        return (self._node.get_clock().now().nanoseconds - self._began) * 1e-9

    @property
    def behind(self) -> float:
        """Return the time for which nothing was sent [s]."""
        return self.now - self._sent

    def stamps(self, times: np.ndarray) -> np.ndarray:
        """Return the (N,) stamps [ns] of ``times`` (N,) [s] of the course."""
        return (self._began + np.round(times * 1e9)).astype(np.int64)

    def expected(self, stamps: np.ndarray) -> np.ndarray:
        """Return the positions (N, n) of the course at ``stamps`` (N,) [ns]."""
        return self._course.at((stamps - self._began) * 1e-9)[0]

    def send(self) -> None:
        """Send the next piece."""
        now = self.now
        if now >= self._first:
            self._command(now, HORIZON)

    def brake(self) -> None:
        """Send the way to rest along the course, from now on."""
        self._command(self.now, 0.0)

    def end(self) -> tuple[np.ndarray, float] | None:
        """Return where (n,) and in how many seconds the last piece rests; None: nothing sent."""
        self._link.await_result(self._course.brake)
        if self._last is None:
            return None
        times, positions = self._last
        return positions[-1], float(times[-1]) - self.now

    def _command(self, now, horizon, past=PAST):
        """
        Send the piece from ``now`` [s] on, unless the last one brakes by the time it is ready.

        A piece that comes so late would make the arm leap; without it, it comes to rest on its
        path.
        """
        piece = self._course.piece(now, horizon, past)
        message = trajectory_message(self._names, self._began, piece)
        if self.behind <= HORIZON:
            self._sent, self._last = now, piece[:2]
            self._link.send(message)
