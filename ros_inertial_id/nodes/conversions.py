"""What stands between ROS and the core: quality of service, timers, messages."""

from collections.abc import Callable, Mapping, Sequence
import importlib
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.client import Client
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray, MultiArrayDimension
from std_srvs.srv import Trigger

LEVELS = {'ok': DiagnosticStatus.OK, 'warn': DiagnosticStatus.WARN,
          'error': DiagnosticStatus.ERROR}
STATE = ': state'  # what follows a node's name in diagnostics, as diagnostic_updater names tasks
DELIVERY = Duration(seconds=2.0)  # a killed listener is one for 20 s
DEPTH = 5000  # rate x longest stall: loss is an overflow of the reader's queue


def latched() -> QoSProfile:
    """Return the QoS of a topic that late joiners get too."""
    return QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL,
                      reliability=ReliabilityPolicy.RELIABLE)


def deliver(publisher: Publisher) -> None:
    """Wait until the last words of a node, of this ``publisher``, are where they go: not long."""
    publisher.wait_for_all_acked(DELIVERY)


def message_class(type_name: str) -> Any:
    """Return the class of a message type, None where ``type_name`` is not installed."""
    package, _, name = type_name.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except ImportError:
        return None


def seconds(node: Node) -> float:
    """Return the time of a ``node`` [s], which may be simulated."""
    return float(node.get_clock().now().nanoseconds) * 1e-9


def simulated_time(node: Node) -> bool:
    """Return whether the clock of ``node`` is /clock."""
    return bool(node.get_parameter('use_sim_time').value)


def every(node: Node, period: float, callback: Callable[[], object]) -> None:
    """
    Call back every ``period`` [s] of real time: a simulated clock may stand still.

    node : that spins; callback : what is called
    """
    node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def diagnostics(node: Node, level: str, message: str, values: Mapping[str, Any]
                ) -> DiagnosticArray:
    """
    Return a DiagnosticArray with one status (REP 107) of the node.

    node : whose name and clock it carries; level : ok, warn or error
    message : the state in words; values : {key: value} beside it
    """
    status = DiagnosticStatus(
        level=LEVELS[level], name=node.get_fully_qualified_name().lstrip('/') + STATE,
        message=message, hardware_id='none',
        values=[KeyValue(key=str(k), value=str(v)) for k, v in values.items()])
    array = DiagnosticArray(status=[status])
    array.header.stamp = node.get_clock().now().to_msg()
    return array


def table(names: Sequence[str], columns: Mapping[str, Sequence[float | None]]
          ) -> Float64MultiArray:
    """
    Return numbers by name as a Float64MultiArray that needs no parser.

    names : of the rows, listed with commas in dim[0].label
    columns : {label: one number per row, None as NaN}, listed with commas in dim[1].label

    The data are row by row.
    """
    message = Float64MultiArray()
    rows = list(zip(*columns.values()))
    message.layout.dim = [
        MultiArrayDimension(label=','.join(names), size=len(rows),
                            stride=len(rows) * len(columns)),
        MultiArrayDimension(label=','.join(columns), size=len(columns), stride=len(columns))]
    message.data = [float('nan') if x is None else float(x) for row in rows for x in row]
    return message


class Question:
    """
    A Trigger call that is made as soon as the service is there.

    client : of the service; patience : [s] from now until there must be an answer
    """

    def __init__(self, client: Client, patience: float) -> None:
        self._client = client
        self._future: Future | None = None
        self._deadline = time.monotonic() + patience

    def over(self) -> bool:
        """Return whether there is an answer, or time is up."""
        if self._future is None and self._client.service_is_ready():
            self._future = self._client.call_async(Trigger.Request())
        return (self._future is not None and self._future.done()
                or time.monotonic() > self._deadline)

    def answer(self) -> Trigger.Response | None:
        """Return the response, None when there was none."""
        return self._future.result() if self._future is not None else None
