"""
What this package uses of rclpy that is experimental or described nowhere, and nothing else does.

``EventsExecutor`` takes a third of the CPU time of a SingleThreadedExecutor, its stand-in.

``take_message`` of ``Subscription.handle`` lets a node read when it wants to know, and says the
publishers' sequence numbers.  An executor goes message by message: where the process is too slow,
events heap up without end, and timers wait behind them.  Without it one serves all the same, and
losses are not counted.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.subscription import Subscription

try:
    from rclpy.experimental.events_executor import EventsExecutor
except ImportError:
    EventsExecutor = SingleThreadedExecutor

Executor = EventsExecutor
Received = tuple[bytes, Any]  # a message, and what the middleware says of it


class Reader:
    """
    A raw subscription that is read when its owner likes, of what it holds at most: its depth.

    make : makes the subscription with a callback
    served : whether an executor has to serve it all the same
    """

    def __init__(self, make: Callable[[Callable[..., None]], Subscription]) -> None:
        self._handed_over = deque[Received]()
        self.subscription = make(lambda message: self._handed_over.append((message, {})))
        try:
            self._queue = self.subscription.handle
            self._take = self._queue.take_message
        except AttributeError:
            self._queue = None
        self.served = self._queue is None

    def read(self) -> list[Received]:
        """Return all that waits."""
        if self.served:
            out = [*self._handed_over]
            self._handed_over.clear()
            return out
        out = []
        with self._queue:
            while len(out) < self.subscription.qos_profile.depth:  # publishers go on
                received = self._take(self.subscription.msg_type, True)
                if received is None:
                    break
                out.append(received)
        return out
