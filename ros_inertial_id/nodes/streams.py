"""
Streams: the newest messages of topics, as a bag would give them.

Messages stay bytes until somebody asks; then they are decoded in one go, by the decoders that
read bags.
"""

from collections.abc import Callable, Sequence
import time

import numpy as np
from rclpy.qos import ReliabilityPolicy

from .conversions import simulated_time
from .running import GuardedNode
from .subscriptions import Subscriptions
from ..errors import InertialIdError
from ..measurement.bags.messages import decode, DECODERS
from ..measurement.recording import Channel
from ..measurement.stream_clock import StreamClock


class Streams:
    """
    Reads topics for a node, subscribing to each as soon as it has a publisher.

    complain : called with words when a topic, or what it says, cannot be used
    went_back : called with words when the clock of a topic was set back: to begin anew
    reliability : as Subscriptions have it
    waited : how long the newest message of the batch at hand waited for its reader [s]
    """

    def __init__(self, node: GuardedNode, complain: Callable[[str], None],
                 went_back: Callable[[str], None] = lambda words: None,
                 reliability: ReliabilityPolicy = ReliabilityPolicy.BEST_AVAILABLE) -> None:
        self._node, self._complain = node, complain
        self._went_back = went_back
        self._clocks: dict[str, StreamClock] = {}  # by resolved name
        self._real = not simulated_time(node)
        self._subscriptions = Subscriptions(node, self._keep, reliability)
        self._messages: dict[str, list[bytes]] = {}  # by resolved name
        self._names: dict[str, str] = {}  # resolved name -> name as asked for
        self._refused: set[str] = set()
        self._received: dict[str, int] = {}  # [ns] when the newest of a topic came
        self.waited = 0.0

    def _keep(self, topic: str, messages: Sequence[bytes], received_ns: Sequence[int]) -> None:
        if topic in self._messages:  # messages of an ended subscription may wait in the executor
            self._messages[topic] += messages
            self._received[topic] = received_ns[-1]

    def look(self, topics: Sequence[str]) -> None:
        """Subscribe to those of ``topics`` that have a publisher by now, and to no others."""
        self._names = {self._node.resolve_topic_name(topic): topic for topic in topics}
        self._messages = {name: self._messages.get(name, []) for name in self._names}
        self._subscriptions.look(topics)
        for name, kind in self._subscriptions.undecoded.items():
            if name in self._names and name not in self._refused:
                self._complain(f'{self._names[name]} of type {kind} cannot be read')
        self._refused = set(self._subscriptions.undecoded)
        self._subscriptions.drain()

    def _sound(self, name: str, channel: Channel, now: int) -> Channel:
        """Return what of a ``channel`` is stamped soundly; say where its clock was set back."""
        clock, topic = self._clocks.setdefault(name, StreamClock()), self._names[name]
        if not len(channel):
            return channel
        used, back = clock.sound(channel.stamp_ns)
        if back:
            words = f'{topic}: {clock.jumped}'
            self._node.get_logger().warning(f'{words}; beginning anew')
            self._went_back(words)
        if not used.all():
            channel = channel.rows(np.flatnonzero(used))
        if self._real and len(channel):
            clock.look((int(channel.stamp_ns[-1]), now), self._received[name], len(channel))
        return channel

    def slow(self) -> str:
        """Return in words which topics fall behind, '' when none does."""
        late = [(self._names.get(name, name), clock.slow())
                for name, clock in self._clocks.items()]
        return '; '.join(f'{topic} falls behind: {words}' for topic, words in late if words)

    def values(self) -> dict[str, str]:
        """Return what the stamps have shown for diagnostics, {key: value}."""
        out = {}
        for name, clock in self._clocks.items():
            if clock.left_out:
                out[f'{name} stamps left out'] = str(clock.left_out)
            if clock.jumped:
                out[f'{name} clock'] = clock.jumped + (
                    f', set back {clock.jumps} times in all' if clock.jumps else '')
        return out

    def hand_to(self, take: Callable[[Channel], object]) -> None:
        """
        Call ``take`` with a Channel of what each topic said since; complain of what it says.

        The Channel's topic is the name that was asked for.  Whatever a message does to its reader
        costs that batch and is complained of, never the node.
        """
        self._subscriptions.drain()
        for name, messages in self._messages.items():
            batch, messages[:] = messages[:], []
            if not batch:
                continue
            kind, topic = self._subscriptions.types[name], self._names[name]
            self.waited = max(0.0, (time.time_ns() - self._received[name]) * 1e-9)
            now = self._node.get_clock().now().nanoseconds
            # Where a driver does not stamp, the time of reception would be mistaken for it.
            received = 0 if DECODERS[kind].header else now
            try:
                channel = decode(kind, batch, topic, [received] * len(batch), self._complain)
                channel = self._sound(name, channel, now)
                if len(channel):
                    take(channel)
            except InertialIdError as error:
                self._complain(str(error))
            except Exception as error:  # a fault of ours: say so and go on with the next batch
                self._complain(f'internal error, please report: {type(error).__name__}: {error}')
