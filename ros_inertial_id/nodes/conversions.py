"""
What stands between ROS and the core: messages, timers, quality of service.

Users may override the quality of service by the parameters that every ROS 2 node has for it,
``qos_overrides.<topic>.<subscription or publisher>.<reliability, durability, history or depth>``
with the topic's full name, read when it is subscribed to or advertised first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
import importlib
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rclpy.client import Client
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.subscription import Subscription

from ..errors import ConfigError
from ..measurement.bags.messages import encode, JOINT_STATE
from ..measurement.recording import Channel

LEVELS = {
    'ok': DiagnosticStatus.OK,
    'warn': DiagnosticStatus.WARN,
    'error': DiagnosticStatus.ERROR,
    'stale': DiagnosticStatus.STALE,
}
STATE = ': state'  # what follows a node's name in diagnostics, as diagnostic_updater names tasks
DELIVERY = Duration(seconds=2.0)  # a killed listener is one for 20 s
DEPTH = 5000  # rate x longest stall: loss is an overflow of the reader's queue
OVERRIDES = QoSOverridingOptions(
    (
        QoSPolicyKind.RELIABILITY,
        QoSPolicyKind.DURABILITY,
        QoSPolicyKind.HISTORY,
        QoSPolicyKind.DEPTH,
    )
)


def latched() -> QoSProfile:
    """Return the QoS of a topic that late joiners get too."""
    return QoSProfile(
        depth=1,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
        reliability=ReliabilityPolicy.RELIABLE,
    )


def deliver(publisher: Publisher) -> None:
    """Wait until the last words of a node, of this ``publisher``, are where they go: not long."""
    publisher.wait_for_all_acked(DELIVERY)


def ask(client: Client, question: Any, patience: float) -> Any:
    """
    Return the answer of a service, None where it does not come within ``patience`` [s].

    For threads other than the one that serves the callbacks of the client's node.
    """
    with suppress(TimeoutError):
        return client.call(question, patience)


def message_class(type_name: str) -> Any:
    """Return the class of a type such as std_msgs/msg/String, None where it is not installed."""
    package, kind, name = type_name.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), name)
    except ImportError:
        return None


def seconds(node: Node) -> float:
    """Return the time of a ``node`` [s], which may be simulated."""
    return float(node.get_clock().now().nanoseconds) * 1e-9


def simulated_time(node: Node) -> bool:
    """Return whether the clock of ``node`` is /clock."""
    return bool(node.get_parameter('use_sim_time').value)


def every(node: Node, period: float, callback: Callable[[], object]) -> None:
    """Call back every ``period`` [s] of real time: a simulated clock may stand still."""
    node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def row(
    name: str, values: Mapping[str, object], level: str = 'ok', words: str = '', owner: str = ''
) -> DiagnosticStatus:
    """
    Return one row of a table by names, also of diagnostics: ``owner`` is its hardware_id.

    values : numbers become the shortest text that reads back as the same number, None nan
    """
    return DiagnosticStatus(
        level=LEVELS[level],
        name=name,
        message=words,
        hardware_id=owner,
        values=[
            KeyValue(key=key, value='nan' if x is None else str(x)) for key, x in values.items()
        ],
    )


def table(node: Node, rows: Sequence[DiagnosticStatus]) -> DiagnosticArray:
    """Return a table of ``rows``, stamped with the time of ``node``."""
    message = DiagnosticArray(status=rows)
    message.header.stamp = node.get_clock().now().to_msg()
    return message


def first_said(*states: tuple[str, str]) -> tuple[str, str]:
    """Return the first of ``states``, (level, words), that has words; ('ok', '') for none."""
    return next((state for state in states if state[1]), ('ok', ''))


def publish_joint_states(
    publisher: Publisher, stamp_ns: np.ndarray, names: Sequence[str], **fields: np.ndarray
) -> None:
    """
    Publish JointStates as bytes, which is far cheaper than as messages.

    stamp_ns : (N,) [ns]; fields : (N, n) of position, velocity or effort
    """
    for message in encode(Channel('', JOINT_STATE, stamp_ns, stamp_ns, fields, tuple(names))):
        publisher.publish(message)


def subscribe(
    node: Node,
    kind: type,
    topic: str,
    take: Callable[..., object],
    quality: QoSProfile,
    raw: bool = False,
) -> Subscription:
    """
    Subscribe to a ``topic`` with a quality that parameters may override.

    take : called with each message, as bytes if ``raw``
    ConfigError for a parameter that names no quality.
    """
    with _refusing(node.resolve_topic_name(topic)):
        return node.create_subscription(
            kind, topic, take, quality, raw=raw, qos_overriding_options=OVERRIDES
        )


def advertise(node: Node, kind: type, topic: str, depth: int, lifespan: float = 0.0) -> Publisher:
    """
    Advertise a ``topic`` with a quality that parameters may override, ``depth`` messages else.

    lifespan : [s] of the wall clock after which a message is not sent again, 0 for ever
    ConfigError for a parameter that names no quality.
    """
    with _refusing(node.resolve_topic_name(topic)):
        return node.create_publisher(
            kind,
            topic,
            QoSProfile(depth=depth, lifespan=Duration(seconds=lifespan)),
            qos_overriding_options=OVERRIDES,
        )


@contextmanager
def _refusing(topic: str) -> Iterator[None]:
    """Refuse a wrong override of a ``topic`` in the words of this package."""
    try:
        yield
    except RuntimeError as error:
        raise ConfigError(f'qos_overrides.{topic}', found=error, do='see doc/nodes.md') from None
