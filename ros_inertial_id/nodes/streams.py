"""
Streams: the newest messages of topics, as a bag would give them, and what their stamps say.

Messages stay bytes until somebody asks; then they are decoded in one go, by the decoders that
read bags.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
import time

import numpy as np
from rclpy.node import Node

from .conversions import seconds, simulated_time
from .running import GuardedNode
from .subscriptions import NEWEST, Subscriptions
from ..errors import InertialIdError
from ..measurement.bags.messages import decode, DECODERS
from ..measurement.recording import Channel
from ..measurement.stream_clock import StreamClock

OLDEST_NS = 10**9  # [ns] for which a message may wait for a node that is too slow for its topic
SILENCE = 2.0  # [s] of the node's time without a message of a sensor that are worth a warning


class TopicClocks:
    """What the stamps of the topics of a ``node`` say of their clocks, by resolved name."""

    def __init__(self, node: Node) -> None:
        self._node, self._real = node, not simulated_time(node)
        self._clocks: dict[str, StreamClock] = {}
        self._came: dict[str, float] = {}  # when the newest message did [s], or is awaited since

    def add(self, topic: str, stamp_ns: np.ndarray, received_ns: int) -> tuple[np.ndarray, str]:
        """
        Return a mask (N,) of the stamps (N,) [ns] of a ``topic`` that are plausible, and words.

        received_ns : when the newest came, by this computer
        The words say how far the clock of the topic was set back, '' where it was not.
        """
        clock = self._clocks.setdefault(topic, StreamClock())
        self._came[topic] = seconds(self._node)
        used, back = clock.sound(stamp_ns)
        if self._real and used.any():
            clock.look(int(stamp_ns[used][-1]), received_ns, int(used.sum()))
        if back:
            return used, f'{topic}: {clock.jumped}'
        return used, ''

    def silent(self, topics: Iterable[str]) -> str:
        """Return in words from which ``topics`` nothing came lately, '' when there is none."""
        now = seconds(self._node)  # a simulated one may be set back
        names = [
            topic
            for topic in topics
            if not 0.0 <= now - self._came.setdefault(topic, now) < SILENCE
        ]
        if not names:
            return ''
        return f'nothing received on {", ".join(names)}'

    def slow(self) -> str:
        """Return in words which topics fall behind, '' when none does."""
        slow = {topic: clock.slow() for topic, clock in self._clocks.items()}
        return '; '.join(
            f'{topic} falls behind: {words}' for topic, words in slow.items() if words
        )

    def values(self) -> dict[str, str]:
        """Return {key: value} of faults of the stamps so far, for diagnostics."""
        values = {}
        for topic, clock in self._clocks.items():
            if clock.left_out:
                values[f'{topic} stamps left out'] = str(clock.left_out)
            if clock.jumped:
                values[f'{topic} clock'] = clock.jumped
            if clock.jumped and clock.jumps:
                values[f'{topic} clock'] += f', set back {clock.jumps} times in all'
        return values


class Streams:
    """
    Reads topics for a node, subscribing to each as soon as it has a publisher.

    complain : called with words when a topic, or what it says, cannot be used
    went_back : called with words when the clock of a topic was set back: to begin anew
    falls_behind, values : as slow and values of TopicClocks
    waited : how long the newest message of the batch at hand waited for its reader [s]
    dropped : how many messages waited for longer than OLDEST_NS
    """

    def __init__(
        self,
        node: GuardedNode,
        complain: Callable[[str], None],
        went_back: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._node, self._complain, self._went_back = node, complain, went_back
        self._subscriptions = Subscriptions(node, NEWEST)
        self._names: dict[str, str] = {}  # resolved name -> name as asked for
        self._refused: set[str] = set()
        self._clocks = TopicClocks(node)
        self.falls_behind, self.values = self._clocks.slow, self._clocks.values
        self.waited, self.dropped = 0.0, 0

    def look(self, topics: Sequence[str]) -> None:
        """Subscribe to those of ``topics`` that have a publisher by now, and to no others."""
        self._names = {self._node.resolve_topic_name(topic): topic for topic in topics}
        self._subscriptions.look(topics)
        undecoded = self._subscriptions.undecoded
        for name in undecoded.keys() & self._names.keys() - self._refused:
            self._complain(f'{self._names[name]} of type {undecoded[name]} cannot be read')
        self._refused = set(undecoded)

    def silent(self) -> str:
        """Return in words from which topics nothing came lately, '' when there is none."""
        return self._clocks.silent(self._names)

    def slow(self) -> str:
        """Return in words that samples were dropped, or which topics fall behind, '' if none."""
        if self.dropped:
            return f'{self.dropped} samples dropped: this computer is too slow'
        return self.falls_behind()

    def hand_to(self, take: Callable[[Channel], object]) -> None:
        """
        Call ``take`` with a Channel of what each topic said since; complain of what it says.

        The Channel's topic is the name that was asked for.  Whatever a message does to its reader
        costs that batch and is complained of, never the node.  What has waited for longer than
        OLDEST_NS is dropped unread: who is too slow for a topic gets its newest samples and a gap.
        """
        for name, messages, received_ns in self._subscriptions.read():
            if name not in self._names:
                continue
            late = bisect_left(received_ns, time.time_ns() - OLDEST_NS)
            self.dropped += late
            if late < len(messages):
                self._hand_batch_to(take, name, messages[late:], received_ns[-1])

    def _hand_batch_to(
        self,
        take: Callable[[Channel], object],
        name: str,
        messages: Sequence[bytes],
        newest_ns: int,
    ) -> None:
        """Call ``take`` with a batch of a topic; complain of what that does to either."""
        try:
            channel = self._plausible(name, messages, newest_ns)
            if len(channel):
                take(channel)
        except InertialIdError as error:
            self._complain(str(error))
        except Exception as error:  # a fault of ours: say so and go on with the next batch
            self._complain(f'internal error, please report: {type(error).__name__}: {error}')

    def _plausible(self, name: str, batch: Sequence[bytes], at: int) -> Channel:
        """Return messages, the newest of ``at`` [ns], as Channel with plausible stamps."""
        kind = self._subscriptions.types[name]
        self.waited = max(0.0, (time.time_ns() - at) * 1e-9)
        received = 0  # where a driver does not stamp, this would be mistaken for its stamp
        if not DECODERS[kind].header:
            received = self._node.get_clock().now().nanoseconds
        channel = decode(kind, batch, self._names[name], [received] * len(batch), self._complain)
        used, back = self._clocks.add(name, channel.stamp_ns, at)
        if back:
            self._node.get_logger().warning(f'{back}; beginning anew')
            self._went_back(back)
        if used.all():
            return channel
        return channel.rows(np.flatnonzero(used))
