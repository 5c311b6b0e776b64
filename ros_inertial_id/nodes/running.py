"""How every node of this package starts, spins and ends."""

import signal
import sys

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from ..errors import InertialIdError

try:  # a third of the CPU time of the SingleThreadedExecutor at 1 kHz
    from rclpy.experimental.events_executor import EventsExecutor as Executor
except ImportError:  # pragma: no cover (depends on the distribution)
    Executor = SingleThreadedExecutor

WAKE = 0.05  # [s] the EventsExecutor burns a core when it spins without a time limit


def run(node_class, args=None, own_signals=False, coroutines=False):
    """
    Run a node until Ctrl-C, SIGTERM or shutdown; return the exit status of its process.

    own_signals : leave the middleware alive on a signal until the node is destroyed, so that it
    can still command and call: a node that moves a robot must be able to stop it.
    coroutines : the node has async callbacks, which the EventsExecutor does not run

    Bad parameters or files (InertialIdError, a parameter outside its range) end it with status 2
    and one line on standard error.
    """
    rclpy.init(args=args, signal_handler_options=(
        SignalHandlerOptions.NO if own_signals else SignalHandlerOptions.ALL))
    if own_signals:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    node = None
    try:
        node = node_class()
        spin(node, SingleThreadedExecutor if coroutines else Executor)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except (InertialIdError, ParameterException) as error:
        print(f'{node_class.__name__}: {error}', file=sys.stderr)
        return 2
    except rclpy_implementation.RCLError:
        if rclpy.ok():
            raise
    finally:
        try:
            if node is not None:
                node.destroy_node()
            rclpy.try_shutdown()
        except KeyboardInterrupt:
            pass
    return 0


def spin(node, executor_class=Executor):
    """Serve the callbacks of ``node``, one at a time, until its context shuts down."""
    executor = executor_class(context=node.context)
    executor.add_node(node)
    try:
        while node.context.ok():
            executor.spin_until_future_complete(Future(), WAKE)
    finally:
        executor.remove_node(node)
        executor.shutdown()
