"""
Streams: the newest messages of topics, as a bag would give them.

Messages stay bytes until somebody asks; then they are decoded in one go, by the decoders that
read bags.
"""

from .conversions import message_class, stream
from ..errors import RecordingError
from ..measurement.bags.messages import decode, DECODERS


class Streams:
    """
    Reads topics for a node, subscribing to each as soon as it has a publisher.

    complain : called with words when a topic, or what it says, cannot be used
    """

    def __init__(self, node, complain, reliability='auto'):
        self._node, self._complain, self._reliability = node, complain, reliability
        self._readers, self._types, self._messages = {}, {}, {}  # all by topic

    def look(self, topics):
        """Subscribe to those of ``topics`` that have a publisher by now, and to no others."""
        for topic in [t for t in self._readers if t not in topics]:
            self._node.destroy_subscription(self._readers.pop(topic))
            del self._messages[topic]
        waiting = [t for t in topics if t not in self._readers]
        graph = dict(self._node.get_topic_names_and_types()) if waiting else {}
        for topic in waiting:
            types = graph.get(self._node.resolve_topic_name(topic))
            if not types or not self._node.count_publishers(topic):
                continue
            kind = message_class(types[0]) if types[0] in DECODERS else None
            if kind is None:
                self._complain(f'{topic} of type {types[0]} cannot be read')
                continue
            self._types[topic], self._messages[topic] = types[0], []
            qos = stream(self._node, topic, self._reliability)
            self._readers[topic] = self._node.create_subscription(
                kind, topic, self._messages[topic].append, qos, raw=True)

    def hand_to(self, take):
        """Call ``take`` with a Channel of what each topic said since; complain of what it says."""
        for topic, messages in self._messages.items():
            batch, messages[:] = [bytes(m) for m in messages], []
            if not batch:
                continue
            # Where a driver does not stamp, the time of reception would be mistaken for it.
            header = DECODERS[self._types[topic]].header
            received = 0 if header else self._node.get_clock().now().nanoseconds
            try:
                take(decode(self._types[topic], batch, topic, [received] * len(batch)))
            except RecordingError as error:
                self._complain(str(error))
