"""
Subscriptions: topics as bytes, each from the moment it has a publisher, with its losses counted.

Names are resolved, so remapping is followed.  Where no parameter overrides it (qos_overrides), the
quality of service is the best that all publishers of a topic offer.  Nodes of one process that
ask for a topic with the same quality share one subscription.  Losses are gaps in the publishers'
sequence numbers, not ``message_lost`` events: these and an EventsExecutor can lock each other for
ever (ros2/rmw_fastrtps#890).
"""

from collections.abc import Callable, Sequence
import inspect
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from .conversions import DEPTH, message_class, quality_of, subscribe
from .running import GuardedNode, Unserved
from ..errors import RecordingError
from ..measurement.bags.messages import DECODERS

Take = Callable[[str, Sequence[bytes], Sequence[int]], object]
Offer = tuple[bool, bool]
WITH_INFORMATION = inspect.signature(lambda message, information: None)


class Reader:
    """
    A subscription to a topic, and those in this process who take what comes.

    node : that owns the subscription; type_name, kind : of the messages, and their class
    asked : the quality of service that was asked for

    Messages that are stamped wait in the reader's queue for ``drain``: a callback for each costs
    more than to take and keep it.  Of others the time of reception counts: they are called back.
    """

    shared: list['Reader'] = []

    def __init__(self, node: GuardedNode, topic: str, type_name: str, kind: Any,
                 asked: QoSProfile) -> None:
        self._node, self._topic, self.type_name, self._kind = node, topic, type_name, kind
        self._asked, self._offer = asked, (False, False)
        self.latched = False  # whether late joiners get the last messages
        self.takes: dict[object, Take] = {}  # by whose they are
        self.count = SequenceCount(lambda: node.count_publishers(topic))
        self._reader: Any = None

    @classmethod
    def of(cls, node: GuardedNode, topic: str, type_name: str, offer: Offer,
           reliability: ReliabilityPolicy) -> 'Reader | None':
        """
        Return the Reader of ``topic`` that this process has, or a new one of ``node``.

        offer : whether the publishers are reliable, and latched: what is latched comes only to
            a new subscription
        None for a type of which no messages can be read.
        """
        kind = message_class(type_name) if type_name in DECODERS else None
        if kind is None:
            return None
        asked = quality_of(node, topic, QoSProfile(
            depth=DEPTH, reliability=reliability,
            durability=DurabilityPolicy.BEST_AVAILABLE))
        cls.shared[:] = [reader for reader in cls.shared if reader.lives]
        for reader in cls.shared:
            if (reader._node.context, reader._topic, reader.type_name, reader._asked) == (
                    node.context, topic, type_name, asked) and not reader.latched:
                reader.drain()
                return reader
        cls.shared.append(cls(node, topic, type_name, kind, asked))
        cls.shared[-1].adapt(offer)
        return cls.shared[-1]

    @property
    def lives(self) -> bool:
        """Return whether the node that owns the subscription has not been destroyed."""
        # The node's own list leaves out what no executor serves.
        return any(own is self._reader for own in super(GuardedNode, self._node).subscriptions)

    def adapt(self, offer: Offer) -> None:
        """Subscribe anew where the publishers offer another quality than before."""
        if self._reader is not None:
            if offer == self._offer:
                return
            self.drain()
            self._node.destroy_subscription(self._reader)
        self._offer = offer

        def take(*received: Any) -> None:
            # The EventsExecutor of Jazzy hands over message and information as one pair.
            self._hand_over([received if len(received) == 2 else received[0]])

        # By which rclpy knows a callback that takes message and information.
        take.__signature__ = WITH_INFORMATION  # type: ignore[attr-defined]
        self._reader = subscribe(self._node, self._kind, self._topic, take, self._asked, raw=True)
        keeps = self._reader.qos_profile.durability
        self.latched = keeps == DurabilityPolicy.TRANSIENT_LOCAL or (
            keeps == DurabilityPolicy.BEST_AVAILABLE and offer[1])
        if DECODERS[self.type_name].header:
            poll(self._reader)

    def drain(self) -> None:
        """Hand over what has arrived and waits its turn."""
        received = taken(self._reader)
        if received:
            self._hand_over(received)

    def _hand_over(self, received: Sequence[tuple[bytes, Any]]) -> None:
        """Count what was received and give it to everybody, the same objects."""
        messages, about = zip(*received)
        for each in about:
            self.count.add(each['publication_sequence_number'])
        received_ns = [each['received_timestamp'] for each in about]
        for give in [*self.takes.values()]:
            give(self._topic, messages, received_ns)

    def leave(self, taker: object) -> None:
        """Hand nothing more to ``taker``; the last one ends the subscription."""
        del self.takes[taker]
        if not self.takes:
            Reader.shared.remove(self)
            self._node.destroy_subscription(self._reader)


class Subscriptions:
    """
    Subscribes for a node; what comes goes to ``take`` whenever somebody calls ``drain``.

    take : called with the resolved topic, the messages that came as bytes, and when [ns] each did
    reliability : best effort for who would rather have the newest than wait for what was lost: a
        reliable reader that was held up was seen to get nothing for a second after it
    """

    def __init__(self, node: GuardedNode, take: Take,
                 reliability: ReliabilityPolicy = ReliabilityPolicy.BEST_AVAILABLE) -> None:
        self._node, self._take, self._reliability = node, take, reliability
        self._readers: dict[str, Reader] = {}
        self._lost = 0  # on topics that were left, less what was lost before others were joined
        self.types: dict[str, str] = {}  # by resolved topic
        self.undecoded: dict[str, str] = {}  # topics of types that cannot be read

    @property
    def lost(self) -> int:
        """Return how many messages the middleware has lost on the way to us."""
        return self._lost + sum(reader.count.lost for reader in self._readers.values())

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
            self._leave(topic)
        graph = dict(self._node.get_topic_names_and_types())
        for topic in wanted:
            offers = self._node.get_publishers_info_by_topic(topic)
            if offers and topic in graph:
                self._subscribe(topic, graph[topic][0], _offer(offers))
        return [t for t in wanted if t not in self._readers and t not in self.undecoded]

    def _subscribe(self, topic: str, type_name: str, offer: Offer) -> None:
        """Subscribe to a topic as its publishers offer, if it is not so yet."""
        if topic in self._readers and self._readers[topic].type_name == type_name:
            self._readers[topic].adapt(offer)
            return
        reader = Reader.of(self._node, topic, type_name, offer, self._reliability)
        if reader is None:
            self.undecoded[topic] = type_name
            return
        self.undecoded.pop(topic, None)
        if topic in self._readers:
            self._readers[topic].drain()
            self._leave(topic)
        self._lost -= reader.count.lost
        self._readers[topic], self.types[topic] = reader, type_name
        reader.takes[self] = self._node.guarded(self._take, topic)

    def _leave(self, topic: str) -> None:
        reader = self._readers.pop(topic)
        self._lost += reader.count.lost
        reader.leave(self)

    def drain(self) -> None:
        """Take what has arrived and waits its turn, of every topic."""
        for reader in self._readers.values():
            reader.drain()


def poll(reader: Any) -> None:
    """Let the messages of a ``reader`` wait in its queue for ``taken``."""
    for entity in (reader, *reader.event_handlers):  # data wake the wait for events too
        entity.callback_group = Unserved()


def taken(reader: Any) -> list[tuple[bytes, Any]]:
    """Return message and information of all that waits in the queue of a raw ``reader``."""
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
