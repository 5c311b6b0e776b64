"""What a player must know of a robot driver: by whose clock it stamps, and how fast it runs."""

from collections import deque
from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64

from .quality import subscribe
from ..errors import MotionError

CLOCKS = 0.04  # [s] between the stamps of the joint states and this computer's clock: within the
#                past of a piece, or every piece would begin with a jump
LOOKS = 50  # at the clocks: the least of their delays counts
SET = 1.0  # [s] by which a clock was set anew: no delay
UNSCALED = 99.5  # [%] of its speed that a trajectory must run at


class DriverWatch:
    """
    Clock and speed of the driver of a ``node``'s robot.

    topic : Float64 [%] of a driver that can slow trajectories down, '' for none
    slowed : called with words when it does
    """

    def __init__(self, node: Node, topic: str, slowed: Callable[[str], None]):
        self._ahead: deque[float] = deque(maxlen=LOOKS)
        self._clocks: deque[int] = deque(maxlen=LOOKS)  # [ns] of a simulated clock, as received
        self._scaling, self._topic, self._slowed = 100.0, topic, slowed
        if topic:
            subscribe(node, Float64, topic, self._take_scaling, QoSProfile(depth=10))

    def stamped(self, ahead: float) -> None:
        """Note that joint states were stamped ``ahead`` [s] of this computer's clock."""
        if self._ahead and abs(ahead - max(self._ahead)) > SET:
            self._ahead.clear()
        self._ahead.append(ahead)

    def simulated(self, ahead: float, clock: int) -> None:
        """
        Note that joint states were stamped ``ahead`` [s] of a simulated clock.

        clock : [ns] what it showed: a subscription of its own, which may be behind or ahead by as
            much as it moves at once
        """
        if not self._clocks or self._clocks[-1] != clock:  # else it stands, as in a callback
            self._clocks.append(clock)
            self._ahead.append(ahead)

    def _other(self) -> tuple[float, float]:
        """Return by how much [s] the stamps are of another clock, and how much is none."""
        if not self._clocks:
            return max(self._ahead), CLOCKS
        steps = np.abs(np.diff(self._clocks)) * 1e-9
        step = float(np.median(steps)) if len(steps) > 2 else SET  # too few to know
        return min(self._ahead, key=abs), CLOCKS + 2.0 * step

    def _take_scaling(self, message):
        self._scaling = message.data
        if self._scaling < UNSCALED:
            self._slowed(f'the driver slows trajectories to {self._scaling:.0f} %; the piece '
                         'under way brakes by itself')

    def refuse(self, joint_states_topic: str, slow: str = '') -> None:
        """
        Refuse to play through this driver as it is.

        joint_states_topic : that its stamps come from; slow : how they fall behind, in words
        Raises MotionError when it stamps by another clock, is slower than its rate, or slows
        trajectories down.
        """
        if self._scaling < UNSCALED:
            raise MotionError('the driver slows trajectories down', expected='100 %',
                              found=f'{self._scaling:.0f} % in {self._topic}',
                              do='set its speed to 100 %, and give speed: here instead')
        if slow:
            raise MotionError(slow)
        away, allowed = self._other()
        if abs(away) > allowed:
            raise MotionError(
                f'{joint_states_topic} is stamped by another clock',
                expected=f'stamps within {allowed:.2g} s of this clock',
                found=f"{abs(away):.3f} s {'ahead' if away > 0 else 'behind'}",
                do='synchronise the computers, or give use_sim_time: if the robot is simulated')
