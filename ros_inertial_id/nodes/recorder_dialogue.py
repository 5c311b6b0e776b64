"""What the player asks of the recorder: a bag before a motion, its end after it."""

import time

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from .conversions import Question
from ..errors import MotionError

THERE = 5.0  # [s] of wall time for the recorder to be found
PATIENCE = 60.0  # [s] of wall time for the recorder to answer: it reads the bag before that
LOOK = 0.02  # [s] between looks at whether it is there


class RecorderDialogue:
    """
    Opens a bag and waits for the answer; closes it without waiting.

    node : that asks
    recorder : name of the node that records; '' for none, which is always ready

    Nothing moves while the bag is opened, so ``node`` may wait, and whoever asked it to play gets
    the recorder's answer.  A node of its own waits in its place: a callback cannot spin its own.
    """

    def __init__(self, node: Node, recorder: str) -> None:
        self._closing: Question | None = None
        self._open, self._recorder = False, recorder
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
        return self._closing is not None

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
        raise MotionError('the recorder does not answer',
                          do='start it, or start this node with an empty recorder:')

    def stop(self) -> None:
        """Ask for the bag to be closed, if there is one."""
        if self._open:
            self._open = False
            self._closing = Question(self._stop, PATIENCE)

    def stopped(self) -> str | None:
        """Return None while waiting or when nothing is awaited, else what the recorder said."""
        if self._closing is None or not self._closing.over():
            return None
        answer, self._closing = self._closing.answer(), None
        return answer.message if answer is not None else 'the recorder does not answer'

    def close(self) -> None:
        """End the node that asks."""
        if self._recorder:
            self._executor.shutdown()
            self._asker.destroy_node()
