"""How every node of this package starts, spins and ends."""

import _thread
from collections.abc import Callable, Sequence
import faulthandler
import gc
import signal
import sys
from typing import Any

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
import rclpy.utilities

from ..errors import ConfigError, InertialIdError
from ..estimation.r_factors import one_thread

try:  # a third of the CPU time of the SingleThreadedExecutor at 1 kHz
    from rclpy.experimental.events_executor import EventsExecutor as Executor
except ImportError:  # pragma: no cover (depends on the distribution)
    Executor = SingleThreadedExecutor

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, kill, a closed terminal
WAKE = 0.05  # [s] the EventsExecutor burns a core when it spins without a time limit
START, LEAVE = 60.0, 30.0  # [s] for a node to be made or refused, and to end


def run(node_class: type, args: Sequence[str] | None = None, coroutines: bool = False
        ) -> int:
    """
    Run a node until one of SIGNALS or shutdown; return the exit status of its process.

    args : of ROS, those of the command line if None
    coroutines : the node has async callbacks, which the EventsExecutor does not run

    A signal never breaks into a callback: the one that runs is finished, then ``destroy_node``
    tidies up while the middleware still lives, so that a node can stop a robot or close a bag.
    Bad arguments, parameters or files (InertialIdError, a parameter outside its range) end it
    with status 2 and one line on standard error.

    Fast DDS can lock itself for ever while other nodes come and go (eProsima/Fast-DDS#6502).  A
    call of it keeps Python's own lock meanwhile, so that neither signals nor threads get a turn: a
    node that is not made after START, or not gone after LEAVE, is ended by faulthandler's thread,
    which needs no such lock, with status 1 and all stacks on standard error.
    """
    end = End()
    for number in SIGNALS:
        signal.signal(number, end)
    node = None
    try:
        faulthandler.dump_traceback_later(START, exit=True)
        _join(args)
        with one_thread():  # small matrices by many threads: they would burn the other cores
            node = node_class()
            faulthandler.cancel_dump_traceback_later()
            gc.freeze()  # what lives for ever: a full collection of it takes 20 to 40 ms
            _spin(node, SingleThreadedExecutor if coroutines else Executor, end)
    except ExternalShutdownException:
        pass
    except (InertialIdError, ParameterException) as error:
        print(f'{node_class.__name__}: {error}', file=sys.stderr)
        return 2
    except rclpy_implementation.RCLError:
        if rclpy.utilities.ok():
            raise
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.utilities.try_shutdown()
        for number in SIGNALS:  # one too many must not spoil the status
            signal.signal(number, signal.SIG_IGN)
    return 0


def _join(args: Sequence[str] | None) -> None:
    """Start the middleware; raise ConfigError for arguments that it does not understand."""
    try:
        rclpy.init(args=None if args is None else list(args),
                   signal_handler_options=SignalHandlerOptions.NO)
    except (rclpy_implementation.RCLError, rclpy_implementation.UnknownROSArgsError) as error:
        raise ConfigError('ROS arguments', found=str(error).split(', at /')[0]) from None


class End:
    """
    What a signal sets and the loop of callbacks looks at.

    A node that is always late has no quiet moment in which its executor would look at a time
    limit; a future that is done reaches it still.  A thread sets it: the signal may have come
    while this one holds the future's lock.
    """

    def __init__(self) -> None:
        self.come, self._future = False, Future()

    def __call__(self, *_: Any) -> None:
        if not self.come:
            self.come = True
            _thread.start_new_thread(self._future.set_result, (None,))

    def future(self) -> Future:
        """Return a new Future; only the newest is served, so that none heap up."""
        self._future = Future()
        if self.come:
            self._future.set_result(None)
        return self._future


def _spin(node: Any, executor_class: Callable[..., Any], end: End) -> None:
    """Serve the callbacks of ``node``, one at a time, until its context ends or ``end`` comes."""
    executor = executor_class(context=node.context)
    executor.add_node(node)
    try:
        while node.context.ok() and not end.come:
            executor.spin_until_future_complete(end.future(), WAKE)
    finally:
        faulthandler.dump_traceback_later(LEAVE, exit=True)
        executor.remove_node(node)
        executor.shutdown()
