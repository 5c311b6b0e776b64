"""
Quality of service that users may override, by the parameters that every ROS 2 node has for it.

``qos_overrides.<topic>.<subscription or publisher>.<reliability, durability, history or depth>``
with the topic's full name, read when it is subscribed to or advertised first.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSPolicyKind, QoSProfile
from rclpy.qos_overriding_options import InvalidQosOverridesError, QoSOverridingOptions
from rclpy.subscription import Subscription

from ..errors import ConfigError

CHOICES = ('reliability: reliable, best_effort, best_available',
           'durability: volatile, transient_local, best_available',
           'history: keep_last, keep_all', 'depth: a number of messages')


def _checked(quality: QoSProfile) -> SetParametersResult:
    """Refuse a queue without a place, which the middleware would refuse in many lines."""
    return SetParametersResult(successful=quality.depth > 0, reason=f'depth {quality.depth}')


OVERRIDES = QoSOverridingOptions((QoSPolicyKind.RELIABILITY, QoSPolicyKind.DURABILITY,
                                  QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH), callback=_checked)


def subscribe(node: Node, kind: type, topic: str, take: Callable[..., object],
              quality: QoSProfile, raw: bool = False) -> Subscription:
    """
    Subscribe to a ``topic`` with a quality that parameters may override.

    node : that spins; kind : of the messages; take : called with each, as bytes if ``raw``
    quality : where no parameter says otherwise
    ConfigError for a parameter that names no quality.
    """
    with _refusing(node.resolve_topic_name(topic)):
        return node.create_subscription(kind, topic, take, quality, raw=raw,
                                        qos_overriding_options=OVERRIDES)


def advertise(node: Node, kind: type, topic: str, depth: int) -> Publisher:
    """
    Advertise a ``topic`` with a quality that parameters may override.

    node : that publishes; kind : of the messages; depth : of the queue in messages
    ConfigError for a parameter that names no quality.
    """
    with _refusing(node.resolve_topic_name(topic)):
        return node.create_publisher(kind, topic, QoSProfile(depth=depth),
                                     qos_overriding_options=OVERRIDES)


@contextmanager
def _refusing(topic: str) -> Iterator[None]:
    """Tell a wrong override of a ``topic`` in the words of this package."""
    try:
        yield
    except (RuntimeError, InvalidQosOverridesError) as error:
        raise ConfigError(f'qos_overrides.{topic}', found=str(error), exists=CHOICES) from None
