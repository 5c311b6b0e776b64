"""
Subscriptions: topics as bytes, each from the moment it has a publisher, with its losses counted.

Names are resolved, so remapping is followed.  Where no parameter overrides it (qos_overrides), the
quality of service is the best that all publishers of a topic offer.  Losses are gaps in the
publishers' sequence numbers, not ``message_lost`` events: these and an EventsExecutor can lock
each other for ever (ros2/rmw_fastrtps#890).
"""

from collections.abc import Callable, Sequence
import inspect
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from .conversions import DEPTH, message_class, subscribe
from .running import GuardedNode
from ..errors import RecordingError
from ..measurement.bags.messages import DECODERS

Take = Callable[[str, Sequence[bytes], Sequence[int]], object]
Received = Sequence[tuple[bytes, Any]]  # messages and what the middleware says of each
TakeReceived = Callable[[str, Received], object]
Offer = tuple[bool, bool]
WITH_INFORMATION = inspect.signature(lambda message, information: None)


class Reader:
    """
    A subscription of a ``node`` to a resolved ``topic`` of messages of ``type_name``.

    take : called with the topic and [(message as bytes, about it)]
    reliability : as Subscriptions have it
    offer : whether the publishers are reliable, and latched
    """

    def __init__(self, node: GuardedNode, topic: str, type_name: str, take: TakeReceived,
                 reliability: ReliabilityPolicy, offer: Offer) -> None:
        self._node, self._topic, self._take = node, topic, take
        self.type_name, self.offer = type_name, offer

        def receive(*received: Any) -> None:
            # The EventsExecutor of Jazzy hands over message and information as one pair.
            take(topic, [received if len(received) == 2 else received[0]])

        # By which rclpy knows a callback that takes message and information.
        receive.__signature__ = WITH_INFORMATION  # type: ignore[attr-defined]
        quality = QoSProfile(depth=DEPTH, reliability=reliability,
                             durability=DurabilityPolicy.BEST_AVAILABLE)
        self._reader = subscribe(node, message_class(type_name), topic, receive, quality,
                                 raw=True)

    @property
    def latched(self) -> bool:
        """Return whether late joiners get the last messages."""
        keeps = self._reader.qos_profile.durability
        return bool(keeps == DurabilityPolicy.TRANSIENT_LOCAL
                    or keeps == DurabilityPolicy.BEST_AVAILABLE and self.offer[1])

    def drain(self) -> None:
        """Hand over what has arrived and waits its turn."""
        received = taken(self._reader)
        if received:
            self._take(self._topic, received)

    def close(self) -> None:
        """Hand over what waits and end the subscription."""
        self.drain()
        self._node.destroy_subscription(self._reader)


class Subscriptions:
    """
    Subscribes for a node.

    take : called with the resolved topic, messages that came as bytes, and when [ns] each did
    reliability : best effort for who would rather have the newest than wait for what was lost: a
        reliable reader that was held up was seen to get nothing for a second after it
    """

    def __init__(self, node: GuardedNode, take: Take,
                 reliability: ReliabilityPolicy = ReliabilityPolicy.BEST_AVAILABLE) -> None:
        self._node, self._take, self._reliability = node, take, reliability
        self._readers: dict[str, Reader] = {}
        self._counts: dict[str, SequenceCount] = {}
        self.types: dict[str, str] = {}  # by resolved topic
        self.undecoded: dict[str, str] = {}  # topics of types that cannot be read

    @property
    def lost(self) -> int:
        """Return how many messages the middleware has lost on the way to us."""
        return sum(count.lost for count in self._counts.values())

    def latched(self, topic: str) -> bool:
        """Return whether late joiners get the last messages of a resolved ``topic``."""
        return topic in self._readers and self._readers[topic].latched

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
        for topic in [t for t in self._readers if t not in wanted]:
            self._readers.pop(topic).close()
        graph = dict(self._node.get_topic_names_and_types())
        for topic in wanted:
            offers = self._node.get_publishers_info_by_topic(topic)
            if offers and topic in graph:
                self._subscribe(topic, graph[topic][0], _offer(offers))
        return [t for t in wanted if t not in self._readers and t not in self.undecoded]

    def _subscribe(self, topic: str, type_name: str, offer: Offer) -> None:
        """Subscribe to a topic as its publishers offer, if it is not so yet."""
        if type_name not in DECODERS or message_class(type_name) is None:
            self.undecoded[topic] = type_name
            return
        self.undecoded.pop(topic, None)
        if topic in self._readers:
            now = self._readers[topic]
            if (now.type_name, now.offer) == (type_name, offer):
                return
            now.close()
        self.types[topic] = type_name
        self._counts.setdefault(topic, SequenceCount(lambda: self._node.count_publishers(topic)))
        self._readers[topic] = Reader(self._node, topic, type_name, self._node.guarded(
            self._hand_over, topic), self._reliability, offer)

    def _hand_over(self, topic: str, received: Received) -> None:
        messages, about = zip(*received)
        for each in about:
            self._counts[topic].add(each['publication_sequence_number'])
        self._take(topic, messages, [each['received_timestamp'] for each in about])

    def drain(self) -> None:
        """Take what has arrived and waits its turn, of every topic."""
        for reader in self._readers.values():
            reader.drain()


def taken(reader: Any) -> list[tuple[bytes, Any]]:
    """
    Return message and information of all that waits in the queue of a raw ``reader``.

    After a callback that took long the executor serves timers and messages in an order of its
    own; who judges a silence or closes a bag reads first what has arrived.
    """
    kind, out = reader.msg_type, []
    with reader.handle:
        take = reader.handle.take_message
        # Publishers go on: take what a full queue holds, no more.
        for _ in range(max(DEPTH, reader.qos_profile.depth)):
            received = take(kind, True)
            if received is None:
                break
            out.append(received)
    return out


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
        before = [k for k, last in enumerate(self._last) if last < number]
        if before:
            nearest = max(before, key=self._last.__getitem__)
            gap = number - self._last[nearest] - 1
            if len(self._last) >= self._publishers():
                self._last[nearest], self.lost = number, self.lost + gap
                return
        self._last.append(number)  # of a publisher that was not received before


def no_decoder(types: dict[str, str]) -> RecordingError:
    """Return the error that says that ``types`` {topic: type} cannot be read."""
    return RecordingError(
        'topics cannot be recorded', exists=sorted(filter(message_class, DECODERS)),
        found=[f'{topic} of type {name}' for topic, name in types.items()],
        do='leave them out of topics:')


def _offer(offers: list[Any]) -> Offer:
    """Return whether all publishers are reliable, and all keep messages for late joiners."""
    qualities = [o.qos_profile for o in offers]
    return (all(q.reliability == ReliabilityPolicy.RELIABLE for q in qualities),
            all(q.durability == DurabilityPolicy.TRANSIENT_LOCAL for q in qualities))
