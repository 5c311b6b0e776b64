"""What the player asks of the recorder: a bag before a motion, its end after it."""

import time

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from ..errors import MotionError

THERE = 5.0  # [s] of wall time for the recorder to be found
PATIENCE = 60.0  # [s] of wall time for the recorder to answer: it reads the bag before that
LOOK = 0.02  # [s] between looks at whether it is there
SILENT = 'the recorder does not answer'


class RecorderDialogue:
    """
    Opens a bag and waits for the answer; closes it without waiting.

    recorder : name of the node that records; '' for none, which is always ready

    Nothing moves while the bag is opened, so ``node`` may wait, and whoever asked it to play gets
    the recorder's answer.  A node of its own waits in its place: a callback cannot spin its own.
    """

    def __init__(self, node: Node, recorder: str) -> None:
        self._open, self._recorder = False, recorder
        self._closing_until = 0.0  # [s] of the monotonic clock; 0: nothing is being closed
        self._answer: Future | None = None
        if not recorder:
            return
        self._stop = node.create_client(Trigger, f'{recorder}/stop')
        self._asker = Node(f'_{node.get_name()}_asks', context=node.context,
                           namespace=node.get_namespace(), use_global_arguments=False,
                           enable_rosout=False, start_parameter_services=False)
        self._start = self._asker.create_client(
            Trigger, node.resolve_service_name(f'{recorder}/start'))
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self._asker)

    @property
    def closing(self) -> bool:
        """Return whether the answer to a stop is awaited."""
        return self._closing_until > 0.0

    def start(self) -> None:
        """
        Have a bag opened, if there is a recorder.

        Raises MotionError when it refuses, or does not answer.  Call ``stop`` all the same: the
        bag may be open by then.
        """
        if not self._recorder:
            return
        until = time.monotonic() + THERE
        while not self._start.service_is_ready() and time.monotonic() < until:
            time.sleep(LOOK)
        if self._start.service_is_ready():
            self._open = True
            answer = self._start.call_async(Trigger.Request())
            self._executor.spin_until_future_complete(answer, PATIENCE)
            if answer.done():
                self._open = answer.result().success
                if not self._open:
                    raise MotionError(f'the recorder refused: {answer.result().message}')
                return
        raise MotionError(SILENT, do='start it, or start this node with an empty recorder:')

    def stop(self) -> None:
        """Ask for the bag to be closed, if there is one."""
        if self._open:
            self._open, self._answer = False, None
            self._closing_until = time.monotonic() + PATIENCE

    def stopped(self) -> str | None:
        """Return None while waiting or when nothing is awaited, else what the recorder said."""
        if not self.closing:
            return None
        if self._answer is None and self._stop.service_is_ready():
            self._answer = self._stop.call_async(Trigger.Request())
        done = self._answer is not None and self._answer.done()
        if not done and time.monotonic() < self._closing_until:
            return None
        self._closing_until = 0.0
        return str(self._answer.result().message) if done and self._answer else SILENT

    def close(self) -> None:
        """End the node that asks."""
        if self._recorder:
            self._executor.shutdown()
            self._asker.destroy_node()
