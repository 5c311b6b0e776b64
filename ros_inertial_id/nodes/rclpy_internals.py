"""
What this package uses of rclpy that is experimental or described nowhere, and nothing else does.

===========================  =======================================  ===========================
what                         why                                      without it
===========================  =======================================  ===========================
``EventsExecutor``           a third of the CPU time at 1 kHz         SingleThreadedExecutor
``Subscription.handle``,     what waits in a queue is read before a   the executor hands it over
its ``take_message``         silence is judged or a bag is closed     later: a bag may lack the
                                                                      last messages of its end,
                                                                      and a process that was
                                                                      held up may see a silence
a callback's signature says  gaps in the publishers' sequence         losses are not counted
that it takes information;   numbers are losses of the middleware
Jazzy's EventsExecutor
hands over one pair
===========================  =======================================  ===========================
"""

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


def with_information(take: Callable[[Received], object]) -> Callable[..., None]:
    """Return a callback for a raw subscription that calls ``take`` with what was received."""
    def receive(*received: Any) -> None:
        message, *information = received[0] if isinstance(received[0], tuple) else received
        take((message, information[0] if information else {}))

    receive.__signature__ = WITH_INFORMATION  # type: ignore[attr-defined]
    return receive


def taken(reader: Subscription) -> list[Received]:
    """
    Return all that waits in the queue of a raw ``reader``.

    After a callback that took long the executor serves timers and messages in an order of its own.
    """
    out: list[Received] = []
    try:
        queue = reader.handle
        take = queue.take_message
    except AttributeError:
        return out
    with queue:
        while len(out) < reader.qos_profile.depth:  # publishers go on
            received = take(reader.msg_type, True)
            if received is None:
                break
            out.append(received)
    return out
