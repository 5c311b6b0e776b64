"""
What this package uses of rclpy that is experimental or described nowhere, and nothing else does.

``EventsExecutor`` takes a third of the CPU time of a SingleThreadedExecutor, its stand-in.

``take_message`` of ``Subscription.handle`` lets a node read when it wants to know, and says the
publishers' sequence numbers.  An executor goes message by message: where the process is too slow,
events heap up without end, and timers wait behind them.
"""

from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.subscription import Subscription

try:
    from rclpy.experimental.events_executor import EventsExecutor
except ImportError:
    EventsExecutor = SingleThreadedExecutor

Executor = EventsExecutor
Received = tuple[bytes, Any]  # a message, and what the middleware says of it


def taken(reader: Subscription) -> list[Received]:
    """Return all that waits in the queue of a raw ``reader``."""
    out: list[Received] = []
    queue = reader.handle
    with queue:
        while len(out) < reader.qos_profile.depth:  # publishers go on
            received = queue.take_message(reader.msg_type, True)
            if received is None:
                break
            out.append(received)
    return out
