"""
How every node of this package starts, survives and ends.

rclpy ends a node whose callback raises; one malformed message would be enough.  What goes wrong in
a callback of a GuardedNode costs its message, never the node.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
import ctypes
import faulthandler
import functools
import gc
import os
import signal
import sys
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription
import rclpy.utilities
from std_srvs.srv import Trigger

from .conversions import every, row, STATE, subscribe, table
from .rclpy_internals import Executor
from ..errors import ConfigError, InertialIdError
from ..estimation.r_factors import one_thread
from ..options import nearest
from ..share import shared_file

AGAIN = 10.0  # [s] after which the same words are said again
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, kill, a closed terminal
WAKE = 0.05  # [s] between looks whether a signal came
NODE_STARTS = 60.0  # [s] for a node to be made or refused
NODE_ENDS = 30.0  # [s] for a node to end
M_ARENA_MAX = -8  # of malloc.h
QOS = 'qos_overrides.'  # begin of parameters that a node declares with its topics


def run(node_class: type, args: Sequence[str] | None = None) -> int:
    """
    Run a node until one of SIGNALS or shutdown; return the exit status of its process.

    args : of ROS, those of the command line if None

    A signal never breaks into a callback: the one that runs is finished, then ``destroy_node``
    tidies up while the middleware still lives, so that a node can stop a robot or close a bag.
    Bad arguments, parameters or files (InertialIdError, a parameter outside its range) end it
    with status 2 and one line on standard error.

    Fast DDS can lock itself for ever while other nodes come and go (eProsima/Fast-DDS#6502).  A
    call of it keeps Python's own lock meanwhile, so that neither signals nor threads get a turn: a
    node that is not made after NODE_STARTS, or not gone after NODE_ENDS, is ended by the thread of
    faulthandler, which needs no such lock, with status 1 and all stacks on standard error.
    """
    signals: list[int] = []  # that came
    for number in SIGNALS:
        signal.signal(number, lambda number, _: signals.append(number))
    node: Any = None
    try:
        faulthandler.dump_traceback_later(NODE_STARTS, exit=True)
        without_type_lookup()
        allocate_in_one_arena()
        words = _init(args)
        with one_thread():  # small matrices by many threads: they would burn the other cores
            node = node_class()
            _check_names(node, words)
            faulthandler.cancel_dump_traceback_later()
            gc.freeze()  # what lives for ever: a full collection of it takes 20 to 40 ms
            _spin(node, signals)
    except ExternalShutdownException:
        pass
    except (InertialIdError, OSError, ParameterException) as error:
        print(f'{node_class.__name__}: {error}', file=sys.stderr)
        return 2
    except RuntimeError:  # of rcl: the context ended meanwhile
        if rclpy.utilities.ok():
            raise
    finally:
        try:
            if node is not None:
                node.destroy_node()
            gc.collect()  # one that was refused half made, which the context would destroy
        finally:
            _leave()
    return 0


def main_of(node_class: type, module: str) -> Callable[[], int]:
    """Return ``main()`` of the ``module`` (its __name__) of a node; run it if that is started."""
    if module == '__main__':
        sys.exit(run(node_class))
    return functools.partial(run, node_class)


def without_type_lookup() -> None:
    """
    Let Fast DDS ask nobody for the layout of types, nor answer: ROS knows types by their names.

    Its thread that answers uses a history that the end of its participant has deleted already
    (Fast DDS 3.0 to 3.6, ~TypeLookupManager): a segmentation fault where a node ends while others
    are just finding it.  A file of profiles that the environment names stays the only one.
    """
    os.environ.setdefault(
        'FASTDDS_DEFAULT_PROFILES_FILE', str(shared_file('config', 'fastdds.xml'))
    )


def allocate_in_one_arena() -> None:
    """
    Let all threads that begin from now on allocate from one arena of glibc.

    Of its eight for every core each new thread takes the next while those of the middleware
    hold all.  What the online estimate needs for a second, each of its threads would leave in
    another: an arena keeps its highest pages.
    """
    with suppress(OSError, AttributeError):  # other allocators have no such arenas
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def _leave() -> None:
    """End the middleware."""
    rclpy.utilities.try_shutdown()
    for number in SIGNALS:  # one too many must not spoil the status
        signal.signal(number, signal.SIG_IGN)


def _init(args: Sequence[str] | None) -> list[str]:
    """Begin the middleware by the words that are returned; ConfigError for others than its own."""
    words = sys.argv[1:] if args is None else list(args)
    try:
        strange = rclpy.utilities.remove_ros_args(words)
        rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        raise ConfigError('ROS arguments', found=str(error).split(', at /')[0]) from None
    if strange:
        raise ConfigError(
            'arguments of a node',
            expected='--ros-args -p NAME:=VALUE',
            found=strange,
            do='see doc/nodes.md; "ros2 param describe" explains each parameter of a running node',
        )
    return words


def _check_names(node: Node, words: Sequence[str]) -> None:
    """Raise ConfigError where ``words`` as typed set what is no parameter of a ``node``."""
    exists = sorted(node.get_parameters_by_prefix(''))
    for flag, rule in zip(words, words[1:]):
        name = rule.partition(':=')[0]
        of_this_node = flag in ('-p', '--param') and ':' not in name
        if not of_this_node or name in exists or name.startswith(QOS):
            continue
        what, close = f'{node.get_name()} has no parameter {name!r}', nearest(name, exists)
        if close:
            raise ConfigError(what, do=close)
        raise ConfigError(what, exists=[other for other in exists if not other.startswith(QOS)])


def _spin(node: Any, signals: Sequence[int]) -> None:
    """Serve the callbacks of a ``node``, one at a time, until it or its context is to end."""
    executor = Executor(context=node.context)
    executor.add_node(node)
    try:
        while node.context.ok() and not signals:
            executor.spin_once(WAKE)  # alone: a node that is always late has no quiet moment
    finally:
        faulthandler.dump_traceback_later(NODE_ENDS, exit=True)
        executor.remove_node(node)
        executor.shutdown()


def _failure(error: Exception) -> str:
    """Return in words what went wrong in a callback."""
    if isinstance(error, InertialIdError):
        return str(error)
    return f'message dropped: callback raised {type(error).__name__}: {error}'


class GuardedNode(Node):
    """A node whose subscriptions, timers and services survive what their callbacks raise."""

    _complaint = ''
    _said = '', 0.0  # of a fault, and when [s]
    _polled: frozenset[Subscription] = frozenset()  # that executors do not serve

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Return the subscriptions that executors serve."""
        return (each for each in super().subscriptions if each not in self._polled)

    def reader(self, kind: type, topic: str, quality: QoSProfile) -> Subscription:
        """Return a subscription for ``taken``, with a quality that parameters may override."""
        reader = subscribe(self, kind, topic, lambda message: None, quality, raw=True)
        self._polled |= {reader}
        return reader

    def create_subscription(
        self, kind: type, topic: str, callback: Callable[..., object], *args: Any, **how: Any
    ) -> Any:
        """Return a subscription as rclpy's; a message that breaks ``callback`` is dropped."""
        return super().create_subscription(
            kind, topic, self.guarded(callback, topic), *args, **how
        )

    def create_timer(
        self, period: float, callback: Callable[..., object], *args: Any, **how: Any
    ) -> Any:
        """Return a timer as rclpy's, of a ``period`` [s]; it goes on after ``callback`` fails."""
        name = getattr(callback, '__name__', 'timer').strip('_')
        return super().create_timer(period, self.guarded(callback, name), *args, **how)

    def create_service(
        self, kind: type, name: str, callback: Callable[..., object], *args: Any, **how: Any
    ) -> Any:
        """Return a service as rclpy's, that answers what went wrong where ``callback`` fails."""
        return super().create_service(kind, name, self.guarded(callback, name), *args, **how)

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
            if self._complaint:
                level, words, self._complaint = 'error', self._complaint, ''
            name = self.get_fully_qualified_name().lstrip('/') + STATE
            publisher.publish(table(self, [row(name, values, level, words, 'none')]))

        every(self, 1.0, diagnose)

    def complain(self, words: str) -> None:
        """Say what went wrong, now and in the next diagnostics."""
        self._complaint = words
        self.get_logger().error(words, throttle_duration_sec=AGAIN)

    def fault(self, words: str) -> None:
        """Say what went wrong in a callback; nodes that move or predict stop to do so as well."""
        now = time.monotonic()
        if words != self._said[0] or now >= self._said[1] + AGAIN:
            self._said = words, now
            self.get_logger().error(words)

    def guarded(self, callback: Callable[..., object], where: str) -> Callable[..., object]:
        """Return ``callback`` that never raises while the node lives; ``where`` : for messages."""

        @functools.wraps(callback)
        def call(*args: Any) -> Any:
            try:
                return callback(*args)
            except Exception as error:
                if not self.context.ok():
                    raise
                words = f'{where}: {_failure(error)}'
            self.fault(words)
            if len(args) < 2:
                return None
            response: Any = args[1]  # of a service
            if 'message' in getattr(response, 'get_fields_and_field_types', dict)():
                response.success, response.message = False, words
            return response

        return call
