"""
Guarded nodes: what goes wrong in one callback costs its message, never the node.

rclpy ends a node whose callback raises; one malformed message would be enough.
"""

from collections.abc import Callable, Iterator, Mapping
import functools
import inspect
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.subscription import Subscription
from std_srvs.srv import Trigger

from .conversions import every, LEVELS, STATE
from ..errors import InertialIdError

AGAIN = 10.0  # [s] after which the same words are said again


class Unserved(CallbackGroup):
    """Keeps an executor from its entities: waiting for a message costs more than taking it."""

    def can_execute(self, entity: Any) -> bool:
        """Return False."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Return False."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing."""


class GuardedNode(Node):
    """A node whose subscriptions, timers and services survive what their callbacks raise."""

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Yield those that an executor serves: an EventsExecutor does not ask their group."""
        return (s for s in super().subscriptions if not isinstance(s.callback_group, Unserved))

    def create_subscription(self, kind: type, topic: str, callback: Callable[..., object],
                            *args: Any, **how: Any) -> Any:
        """Return a subscription as rclpy's; a message that breaks ``callback`` is dropped."""
        return super().create_subscription(kind, topic, self._guarded(callback, topic), *args,
                                           **how)

    def create_timer(self, period: float, callback: Callable[..., object], *args: Any,
                     **how: Any) -> Any:
        """Return a timer as rclpy's, of a ``period`` [s]; it goes on after ``callback`` fails."""
        name = getattr(callback, '__name__', 'timer').strip('_')
        return super().create_timer(period, self._guarded(callback, name), *args, **how)

    def create_service(self, kind: type, name: str, callback: Callable[..., object],
                       *args: Any, **how: Any) -> Any:
        """Return a service as rclpy's, that answers what went wrong where ``callback`` fails."""
        return super().create_service(kind, name, self._guarded(callback, name), *args, **how)

    def offer(self, name: str, action: Callable[[], str]) -> None:
        """Offer a Trigger service that answers with the words or the refusal of ``action``."""
        def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                response.message, response.success = action(), True
            except InertialIdError as error:
                response.message, response.success = str(error), False
                self.get_logger().error(response.message)
            return response
        self.create_service(Trigger, name, answer)

    def report(self, health: Callable[[], tuple[str, str, Mapping[str, Any]]]) -> None:
        """
        Publish diagnostics (REP 107) every second from now on.

        health : () -> (ok, warn or error; the state in words; {key: value} beside it)
        """
        publisher = self.create_publisher(DiagnosticArray, '/diagnostics', 10)

        def diagnose() -> None:
            level, words, values = health()
            status = DiagnosticStatus(
                level=LEVELS[level], name=self.get_fully_qualified_name().lstrip('/') + STATE,
                message=words, hardware_id='none',
                values=[KeyValue(key=str(k), value=str(v)) for k, v in values.items()])
            array = DiagnosticArray(status=[status])
            array.header.stamp = self.get_clock().now().to_msg()
            publisher.publish(array)

        every(self, 1.0, diagnose)

    def fault(self, words: str) -> None:
        """Say what went wrong in a callback; nodes that move or predict stop to do so as well."""
        said: dict[str, float] = self.__dict__.setdefault('_said', {})
        now = time.monotonic()
        if now - said.get(words, -AGAIN) < AGAIN:
            return
        said.clear()  # one entry: nothing heaps up
        said[words] = now
        self.get_logger().error(words)

    def _guarded(self, callback: Callable[..., object], where: str) -> Callable[..., object]:
        """Return ``callback`` that never raises while the node lives; ``where`` : for messages."""
        def failed(error: Exception, args: tuple[Any, ...]) -> Any:
            if not self.context.ok():  # the way nodes end
                raise error
            words = f'{where}: {_words(error)}'
            self.fault(words)
            response: Any = args[1] if len(args) > 1 else None
            if 'message' in getattr(response, 'get_fields_and_field_types', dict)():
                response.success, response.message = False, words
            return response

        @functools.wraps(callback)
        def guarded(*args: Any) -> Any:
            try:
                return callback(*args)
            except Exception as error:
                return failed(error, args)

        @functools.wraps(callback)
        async def awaited(*args: Any) -> Any:
            try:
                return await callback(*args)  # type: ignore[misc]
            except Exception as error:
                return failed(error, args)
        return awaited if inspect.iscoroutinefunction(callback) else guarded


def _words(error: Exception) -> str:
    if isinstance(error, InertialIdError):
        return str(error)
    return f'dropped, for it breaks what reads it; {type(error).__name__}: {error}'
