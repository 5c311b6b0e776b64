"""
Subscriptions: topics as bytes, each from the moment it has a publisher, with its losses counted.

Names are resolved, so remapping is followed.  Where no parameter overrides it (qos_overrides), the
quality of service is the best that all publishers of a topic offer.  Losses are gaps in the
publishers' sequence numbers, not ``message_lost`` events: these and an EventsExecutor can lock
each other for ever (ros2/rmw_fastrtps#890).
"""

from collections.abc import Callable, Iterator, Sequence
import time
from typing import NamedTuple

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from .conversions import DEPTH, message_class
from .rclpy_internals import taken
from .running import GuardedNode
from ..measurement.bags.messages import DECODERS

ALL = QoSProfile(
    depth=DEPTH,
    reliability=ReliabilityPolicy.BEST_AVAILABLE,
    durability=DurabilityPolicy.BEST_AVAILABLE,
)
NEWEST = QoSProfile(
    depth=2000,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.BEST_AVAILABLE,
)
Waiting = tuple[str, Sequence[bytes], Sequence[int]]


class Offer(NamedTuple):
    """Type of a topic; whether all publishers are reliable, and keep messages for late ones."""

    kind: str
    reliable: bool
    keeps: bool

    @classmethod
    def of(cls, kind: str, publishers: Sequence[TopicEndpointInfo]) -> 'Offer':
        """Return the Offer that all ``publishers`` of a topic of a type keep."""
        qualities = [publisher.qos_profile for publisher in publishers]
        return cls(
            kind,
            {quality.reliability for quality in qualities} == {ReliabilityPolicy.RELIABLE},
            {quality.durability for quality in qualities} == {DurabilityPolicy.TRANSIENT_LOCAL},
        )


class Subscriptions:
    """
    Subscribes for a node.

    quality : NEWEST for who would rather have the newest than wait for what was lost: a reliable
        reader that was held up gets nothing for a second after it, then what is old
    """

    def __init__(self, node: GuardedNode, quality: QoSProfile = ALL) -> None:
        self._node, self._quality = node, quality
        self._readers: dict[str, Subscription] = {}  # all by resolved topic
        self._unread: list[Waiting] = []  # of ended subscriptions
        self._offers: dict[str, Offer] = {}
        self._counts: dict[str, SequenceCount] = {}
        self.types: dict[str, str] = {}
        self.undecoded: dict[str, str] = {}  # topics of types that cannot be read

    @property
    def lost(self) -> int:
        """Return the number of messages that the middleware has lost on the way to us."""
        return sum(count.lost for count in self._counts.values())

    def latched(self, topic: str) -> bool:
        """Return whether late joiners get the last messages of a resolved ``topic``."""
        if topic not in self._readers:
            return False
        durability = self._readers[topic].qos_profile.durability
        if durability == DurabilityPolicy.BEST_AVAILABLE:
            return self._offers[topic].keeps
        return bool(durability == DurabilityPolicy.TRANSIENT_LOCAL)

    def resolved(self, topics: Sequence[str]) -> list[str]:
        """Return the full names of ``topics``, remapped, each once."""
        return list(dict.fromkeys(map(self._node.resolve_topic_name, topics)))

    def look(self, topics: Sequence[str]) -> list[str]:
        """
        Subscribe to those of ``topics`` that have a publisher by now, to no others.

        Return the resolved names of those that have none.  A best-effort publisher that joins
        reliable ones changes the subscription: else it would never be received.
        """
        wanted = self.resolved(topics)
        for topic in self._readers.keys() - set(wanted):
            self._end(topic)
        kinds = dict(self._node.get_topic_names_and_types())
        for topic in wanted:
            publishers = self._node.get_publishers_info_by_topic(topic)
            if publishers and topic in kinds:
                self._subscribe(topic, Offer.of(kinds[topic][0], publishers))
        served = self._readers.keys() | self.undecoded.keys()
        return [topic for topic in wanted if topic not in served]

    def _subscribe(self, topic: str, offer: Offer) -> None:
        """Subscribe to a topic as its publishers offer, if it is not so yet."""
        kind = None
        if offer.kind in DECODERS:
            kind = message_class(offer.kind)
        if kind is None:
            self.undecoded[topic] = offer.kind
            return
        self.undecoded.pop(topic, None)
        if topic in self._readers:
            if self._offers[topic] == offer:
                return
            self._end(topic)
        self._offers[topic], self.types[topic] = offer, offer.kind
        self._counts.setdefault(topic, SequenceCount(lambda: self._node.count_publishers(topic)))
        self._readers[topic] = self._node.reader(kind, topic, self._quality)

    def read(self) -> Iterator[Waiting]:
        """
        Yield what waits: a resolved topic, its messages as bytes, and when [ns] each came.

        It comes now where the middleware does not say.
        """
        unread, self._unread = self._unread, []
        yield from unread
        for topic in [*self._readers]:
            yield from self._waiting(topic)

    def _waiting(self, topic: str) -> Iterator[Waiting]:
        received, now = taken(self._readers[topic]), time.time_ns()
        for _, about in received:
            self._counts[topic].add(about.get('publication_sequence_number'))
        if received:
            yield (
                topic,
                [message for message, _ in received],
                [about.get('received_timestamp') or now for _, about in received],
            )

    def _end(self, topic: str) -> None:
        """End the subscription of a topic; what waits of it is read next."""
        self._unread += self._waiting(topic)
        self._node.destroy_subscription(self._readers.pop(topic))


class SequenceCount:
    """
    Counts the messages that are missing between the sequence numbers of a topic's ``publishers``.

    The numbers do not say whose they are.  Each belongs to the publisher whose last one it
    follows most closely; which of two with equal numbers it is makes no difference to the sum.
    """

    def __init__(self, publishers: Callable[[], int]) -> None:
        self._publishers, self.lost = publishers, 0
        self._last: list[int] = []

    def add(self, number: int | None) -> None:
        """Take the sequence number of a message, None where the middleware has none."""
        if number is None:
            return
        if number - 1 in self._last:
            self._last[self._last.index(number - 1)] = number
            return
        before = max((last for last in self._last if last < number), default=None)
        if before is None or len(self._last) < self._publishers():
            self._last.append(number)  # of a publisher that was not received before
            return
        self._last[self._last.index(before)] = number
        self.lost += number - before - 1
