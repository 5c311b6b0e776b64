"""A robot that stands still and owns the time: /clock and joint states, from the observer."""

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState

STEP_NS = 10_000_000


class StandingRobot:
    """
    Publishes while the Graph ``graph`` spins; when it does not, its time stands still.

    now_ns : its time; step_ns : between its messages
    """

    def __init__(self, graph, now_ns=1000 * 10**9):
        self.now_ns, self.step_ns, self._said = now_ns, STEP_NS, None
        self._clock = graph.node.create_publisher(ClockMessage, '/clock', 10)
        self._states = graph.node.create_publisher(JointState, 'joint_states', 10)
        graph.node.create_timer(
            STEP_NS * 1e-9, self._go_on, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def stand(self, position, names=('joint1', 'joint2'), ahead=0.0, stamped=True):
        """Publish this from now on, stamped ``ahead`` [s] of the robot's time, or not."""
        self._said = list(names), list(position), round(ahead * 1e9), stamped

    def _go_on(self):
        self.now_ns += self.step_ns
        message = ClockMessage()
        message.clock.sec, message.clock.nanosec = divmod(self.now_ns, 10**9)
        self._clock.publish(message)
        if self._said is None:
            return
        names, position, ahead, stamped = self._said
        state = JointState(name=names, position=position)
        if stamped:
            state.header.stamp.sec, state.header.stamp.nanosec = divmod(self.now_ns + ahead, 10**9)
        self._states.publish(state)
