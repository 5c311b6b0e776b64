"""How every node of this package starts, spins and ends."""

import signal
import sys

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from ..errors import ConfigError, InertialIdError

try:  # a third of the CPU time of the SingleThreadedExecutor at 1 kHz
    from rclpy.experimental.events_executor import EventsExecutor as Executor
except ImportError:  # pragma: no cover (depends on the distribution)
    Executor = SingleThreadedExecutor

WAKE = 0.05  # [s] the EventsExecutor burns a core when it spins without a time limit


def run(node_class, args=None, coroutines=False):
    """
    Run a node until Ctrl-C, SIGTERM or shutdown; return the exit status of its process.

    coroutines : the node has async callbacks, which the EventsExecutor does not run

    A signal never breaks into a callback: the one that runs is finished, then ``destroy_node``
    tidies up while the middleware still lives, so that a node can stop a robot or close a bag.
    Bad arguments, parameters or files (InertialIdError, a parameter outside its range) end it
    with status 2 and one line on standard error.
    """
    signals = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: signals.append(number))
    node = None
    try:
        _join(args)
        node = node_class()
        spin(node, SingleThreadedExecutor if coroutines else Executor, lambda: signals)
    except ExternalShutdownException:
        pass
    except (InertialIdError, ParameterException) as error:
        print(f'{node_class.__name__}: {error}', file=sys.stderr)
        return 2
    except rclpy_implementation.RCLError:
        if rclpy.ok():
            raise
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0


def _join(args):
    """Start the middleware; raise ConfigError for arguments that it does not understand."""
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except (rclpy_implementation.RCLError, rclpy_implementation.UnknownROSArgsError) as error:
        raise ConfigError('ROS arguments', found=str(error).split(', at /')[0]) from None


def spin(node, executor_class=Executor, ended=lambda: False):
    """Serve the callbacks of ``node``, one at a time, until ``ended()`` or its context is."""
    executor = executor_class(context=node.context)
    executor.add_node(node)
    try:
        while node.context.ok() and not ended():
            executor.spin_until_future_complete(Future(), WAKE)
    finally:
        executor.remove_node(node)
        executor.shutdown()
