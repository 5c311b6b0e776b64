"""What a player must know of a robot driver: by whose clock it stamps, and how fast it runs."""

from collections import deque
from collections.abc import Callable

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
        self._scaling, self._topic, self._slowed = 100.0, topic, slowed
        if topic:
            subscribe(node, Float64, topic, self._take_scaling, QoSProfile(depth=10))

    def stamped(self, ahead: float) -> None:
        """Note that joint states were stamped ``ahead`` [s] of this computer's clock."""
        if self._ahead and abs(ahead - max(self._ahead)) > SET:
            self._ahead.clear()
        self._ahead.append(ahead)

    def _take_scaling(self, message):
        self._scaling = message.data
        if self._scaling < UNSCALED:
            self._slowed(f'the driver slows trajectories to {self._scaling:.0f} %; the piece '
                         'under way brakes by itself')

    def refuse(self, joint_states_topic: str) -> None:
        """
        Refuse to play through this driver as it is.

        joint_states_topic : that its stamps come from
        Raises MotionError when it stamps by another clock, is slower than its rate, or slows
        trajectories down.
        """
        if self._scaling < UNSCALED:
            raise MotionError('the driver slows trajectories down', expected='100 %',
                              found=f'{self._scaling:.0f} % in {self._topic}',
                              do='set its speed to 100 %, and give speed: here instead')
        ahead = max(self._ahead)
        if ahead < -CLOCKS and self._falls_behind():
            raise MotionError(f'the driver of {joint_states_topic} is too slow for its rate',
                              expected=f'joint states at most {CLOCKS:g} s old',
                              found=f'{-self._ahead[-1]:.3f} s old, and later and later',
                              do='lower its rate, or give its computer less to do')
        if abs(ahead) > CLOCKS:
            raise MotionError(
                f'{joint_states_topic} is stamped by another clock',
                expected=f'stamps within {CLOCKS:g} s of this clock',
                found=f"{abs(ahead):.3f} s {'ahead' if ahead > 0 else 'behind'}",
                do='synchronise the computers, or give use_sim_time: if the robot is simulated')

    def _falls_behind(self) -> bool:
        """Return whether every later look found the joint states older than every earlier one."""
        looks, half = list(self._ahead), len(self._ahead) // 2
        return half > 0 and (min(looks[:half]) > max(looks[half:])
                             and looks[0] - looks[-1] > CLOCKS)
