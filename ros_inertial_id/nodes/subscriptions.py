"""
Subscriptions: topics as bytes, each from the moment it has a publisher, with its losses counted.

Names are resolved, so remapping is followed.  Where no parameter overrides it (qos_overrides), the
quality of service is the best that all publishers of a topic offer.  Losses are gaps in the
publishers' sequence numbers, not ``message_lost`` events: these and an EventsExecutor can lock
each other for ever (ros2/rmw_fastrtps#890).
"""

from collections.abc import Callable, Iterator, Sequence
import inspect
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from .conversions import DEPTH, message_class, subscribe
from .running import Unserved
from ..errors import RecordingError
from ..measurement.bags.messages import DECODERS

Take = Callable[[str, bytes, int], None]
WITH_INFORMATION = inspect.signature(lambda message, information: None)


class Subscriptions:
    """
    Subscribes for a node; what comes goes to ``take``.

    take : called with the resolved topic, the message as bytes, the time of reception [ns]
    polled : messages wait in the reader's queue for ``drain``, with no callback each
    """

    def __init__(self, node: Node, take: Take, polled: bool = False) -> None:
        self._node, self._take, self._polled = node, take, polled
        self._readers: dict[str, Any] = {}
        self._offers: dict[str, tuple[bool, bool]] = {}  # of the publishers of each reader's topic
        self._counts: dict[str, SequenceCount] = {}
        self.types: dict[str, str] = {}  # by resolved topic
        self.undecoded: dict[str, str] = {}  # topics of types that cannot be read
        self.latched: set[str] = set()  # resolved topics whose last messages late joiners get

    @property
    def lost(self) -> int:
        """Return how many messages the middleware has lost on the way to us."""
        return sum(count.lost for count in self._counts.values())

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
            self._node.destroy_subscription(self._readers.pop(topic))
            del self._counts[topic]
        graph = dict(self._node.get_topic_names_and_types())
        for topic in wanted:
            offers = self._node.get_publishers_info_by_topic(topic)
            if offers and topic in graph:
                self._subscribe(topic, graph[topic][0], offers)
        return [t for t in wanted if t not in self._readers and t not in self.undecoded]

    def _subscribe(self, topic: str, type_name: str, offers: list[Any]) -> None:
        """Subscribe to a topic as its publishers offer, if it is not so yet."""
        offer, reader = _offer(offers), self._readers.get(topic)
        if reader is not None and (self.types[topic], self._offers[topic]) == (type_name, offer):
            return
        kind = message_class(type_name) if type_name in DECODERS else None
        if kind is None:
            self.undecoded[topic] = type_name
            return
        self.undecoded.pop(topic, None)
        if reader is not None:
            self._drain(topic, reader)
            self._node.destroy_subscription(reader)
        self.types[topic], self._offers[topic] = type_name, offer
        count = self._counts.setdefault(
            topic, SequenceCount(lambda: self._node.count_publishers(topic)))

        def take(*received: Any) -> None:
            # The EventsExecutor of Jazzy hands over message and information as one pair.
            data, about = received if len(received) == 2 else received[0]
            count.add(about['publication_sequence_number'])
            self._take(topic, bytes(data), about['received_timestamp'])

        # By which rclpy knows a callback that takes message and information.
        take.__signature__ = WITH_INFORMATION  # type: ignore[attr-defined]
        best = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_AVAILABLE,
                          durability=DurabilityPolicy.BEST_AVAILABLE)
        reader = self._readers[topic] = subscribe(self._node, kind, topic, take, best, raw=True)
        if self._polled:
            poll(reader)
        keeps = reader.qos_profile.durability
        latched = keeps == DurabilityPolicy.TRANSIENT_LOCAL or (
            keeps == DurabilityPolicy.BEST_AVAILABLE and offer[1])
        (self.latched.add if latched else self.latched.discard)(topic)

    def drain(self) -> None:
        """Take what has arrived and waits its turn, of every topic."""
        for topic, reader in self._readers.items():
            self._drain(topic, reader)

    def _drain(self, topic: str, reader: Any) -> None:
        for received in taken(reader):
            reader.callback(*received)


def poll(reader: Any) -> None:
    """Let the messages of a ``reader`` wait in its queue for ``taken``."""
    for entity in (reader, *reader.event_handlers):  # data wake the wait for events too
        entity.callback_group = Unserved()


def taken(reader: Any) -> Iterator[tuple[bytes, Any]]:
    """Yield message and information of all that waits in the queue of a raw ``reader``."""
    # Publishers go on: take what a full queue holds, no more.
    for _ in range(max(DEPTH, reader.qos_profile.depth)):
        with reader.handle:
            received = reader.handle.take_message(reader.msg_type, True)
        if received is None:
            return
        yield received


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
        before = [k for k, last in enumerate(self._last) if last < number]
        if before:
            nearest = max(before, key=self._last.__getitem__)
            gap = number - self._last[nearest] - 1
            if not gap or len(self._last) >= self._publishers():
                self._last[nearest], self.lost = number, self.lost + gap
                return
        self._last.append(number)  # of a publisher that was not received before


def no_decoder(types: dict[str, str]) -> RecordingError:
    """Return the error that says that ``types`` {topic: type} cannot be read."""
    return RecordingError(
        'topics cannot be recorded', exists=sorted(filter(message_class, DECODERS)),
        found=[f'{topic} of type {name}' for topic, name in types.items()],
        do='leave them out of topics:')


def _offer(offers: list[Any]) -> tuple[bool, bool]:
    """Return whether all publishers are reliable, and all keep messages for late joiners."""
    qualities = [o.qos_profile for o in offers]
    return (all(q.reliability == ReliabilityPolicy.RELIABLE for q in qualities),
            all(q.durability == DurabilityPolicy.TRANSIENT_LOCAL for q in qualities))
