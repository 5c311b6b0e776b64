"""
What this package uses of rclpy that is experimental or described nowhere, and nothing else does.

===========================  =======================================  ===========================
what                         why                                      without it
===========================  =======================================  ===========================
``EventsExecutor``           a third of the CPU time at 1 kHz         SingleThreadedExecutor
``Subscription.handle``,     a reader is asked when its node wants    the executor hands every
its ``take_message``         to know.  An executor hands over         message over
                             message by message, and where the
                             process is too slow for that, events
                             wait for ever, timers behind them
a callback's signature says  gaps in the publishers' sequence         losses are not counted
that it takes information;   numbers are losses of the middleware
Jazzy's EventsExecutor
hands over one pair
===========================  =======================================  ===========================
"""

from collections import deque
from collections.abc import Callable
import inspect
from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.subscription import Subscription

try:
    from rclpy.experimental.events_executor import EventsExecutor
except ImportError:
    EventsExecutor = SingleThreadedExecutor

Executor = EventsExecutor
Received = tuple[bytes, Any]  # a message, and what the middleware says of it
WITH_INFORMATION = inspect.signature(lambda message, information: None)


class Reader:
    """
    A raw subscription that is read when its owner likes, of what it holds at most: its depth.

    make : makes the subscription with a callback
    served : whether an executor has to serve it all the same
    """

    def __init__(self, make: Callable[[Callable[..., None]], Subscription]) -> None:
        self._handed_over = deque[Received]()

        def receive(*received: Any) -> None:
            message, *information = received[0] if isinstance(received[0], tuple) else received
            self._handed_over.append((message, information[0] if information else {}))

        receive.__signature__ = WITH_INFORMATION  # type: ignore[attr-defined]
        self.subscription = make(receive)
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
