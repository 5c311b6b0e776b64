"""
What simulators share: they own the time and publish it on /clock, and they know what is true.

Time follows the wall clock as long as the computer keeps up.  Where it does not, time waits, as in
MuJoCo's ``simulate`` and mujoco_ros2_control: the real-time factor is below 1 and nothing is ever
made up for.  It also waits, not for ever, for the next piece of a trajectory that is sent piece by
piece, and without it goes on slowly until that trajectory rests.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import time
from typing import Any

from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
import yaml

from .conversions import every, latched
from .running import GuardedNode
from ..identification.files import write_text
from ..identification.identified_model import plain
from ..options import option

WALL_TICK = 0.008  # [s] of wall time between steps, each of all samples that are due
CLOCK_STEP = 0.01  # [s] between two messages of /clock
BURST = 0.02  # [s] of simulated time at once, so that other callbacks get a turn
NEXT_PIECE = 0.05  # [s] after a piece of a trajectory until its successor has to be there
LOOKS_FOR_PIECE = 250  # WALL_TICK apart, while time waits for a piece: longer where all are late
LOOKS_AGAIN = 10  # the same for every NEXT_PIECE after that: the sender may only have been held up
STANDING = 0.1  # [s] of wall time between messages of a /clock that stands still


@dataclass(frozen=True)
class SimulatorOptions:
    """What all simulators are asked for."""

    truth_file: str = option('', 'YAML file to write the true parameters to; empty: none')


class Simulator(GuardedNode):
    """A node that moves something in time of its own."""

    def begin(
        self, settings: SimulatorOptions, description: str, truth: Mapping[str, Any]
    ) -> None:
        """Publish the ``description``, write the ``truth`` where that is asked for, start time."""
        if settings.truth_file:
            write_text(settings.truth_file, yaml.safe_dump(plain(truth), sort_keys=False))
        self._latched = self.create_publisher(String, 'robot_description', latched())
        self._latched.publish(String(data=description))
        self._sim_clock = SimulatorClock(self)


class SimulatorClock:
    """Time of a simulator that is stepped by a ``node``."""

    def __init__(self, node: Node) -> None:
        self._origin_ns = time.time_ns()
        self._wall0 = self._said_at = time.monotonic()
        self._time = 0.0  # of the next sample [s]
        self._published = -CLOCK_STEP
        self._due = self._rests = 0.0  # [s] next piece of a trajectory; end of the newest
        self._looks = 0  # left, for the piece that is due
        self._clock = node.create_publisher(Clock, '/clock', 10)
        every(node, STANDING, self._stand)

    def stamp_ns(self, at: float) -> int:
        """Return the stamp [ns] of the simulated time ``at`` [s]."""
        return self._origin_ns + round(at * 1e9)

    def steps(self, at: float, step: float) -> Iterator[int]:
        """
        Yield the stamps [ns] of what is due by now, each when /clock has said it.

        at : [s] the first that was not yet; step : [s] between them
        At most BURST of them at once, and none while time has to wait for a trajectory.
        """
        due = time.monotonic() - self._wall0
        self._wall0 += max(0.0, due - at - BURST)
        due = min(due, at + BURST)
        while at <= due and not self._waits(at):
            self._time = at
            if at > self._published + CLOCK_STEP - 1e-9:
                self._publish(at)
            yield self.stamp_ns(at)
            at += step

    def _waits(self, at):
        """Return whether the time ``at`` [s] has to wait for the next piece of a trajectory."""
        if not self._due < at < self._rests:
            return False
        self._looks -= 1
        if self._looks > 0:
            return True
        self._due, self._looks = at + NEXT_PIECE, LOOKS_AGAIN
        return False

    def _stand(self) -> None:
        """Publish a time that stands still, for those who come late."""
        if time.monotonic() - self._said_at > STANDING:
            self._publish(self._time)

    def _publish(self, at: float) -> None:
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(self.stamp_ns(at), 10**9)
        self._clock.publish(message)
        self._published, self._said_at = at, time.monotonic()

    def piece(self, at: float, rests: float) -> None:
        """Note that a piece came ``at`` [s]; others have to follow until it ``rests`` [s]."""
        self._due, self._rests, self._looks = at + NEXT_PIECE, rests, LOOKS_FOR_PIECE

    def pause(self) -> None:
        """Let time go on from here after a pause."""
        self._wall0 = time.monotonic() - self._time
