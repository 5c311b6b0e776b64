"""What the player asks of the recorder: a bag before a motion, its end after it."""

from rclpy.node import Node
from std_srvs.srv import Trigger

from .conversions import ask
from ..errors import MotionError

THERE = 5.0  # [s] for the recorder to be found
PATIENCE = 60.0  # [s] for the recorder to answer: it reads the bag before that
SILENT = 'the recorder does not answer'


class RecorderDialogue:
    """
    Opens and closes a bag, and waits for the answers.

    beside : a Node whose executor spins in another thread
    recorder : full name of the node that records; '' for none, which is always ready
    """

    def __init__(self, beside: Node, recorder: str) -> None:
        self._open, self._clients = (
            False,
            [
                beside.create_client(Trigger, f'{recorder}/{verb}')
                for verb in ('start', 'stop')
                if recorder
            ],
        )

    def start(self) -> None:
        """
        Have a bag opened, if there is a recorder.

        Raises MotionError when it refuses, or does not answer.  Call ``stop`` all the same: the
        bag may be open by then.
        """
        if not self._clients:
            return
        self._open = self._clients[0].wait_for_service(THERE)
        answer = self._open and ask(self._clients[0], Trigger.Request(), PATIENCE)
        if not answer:
            raise MotionError(SILENT, do='start it, or start this node with recorder:=none')
        self._open = answer.success
        if not self._open:
            raise MotionError(f'the recorder refused: {answer.message}')

    def stop(self) -> str:
        """Have the bag closed, if there is one; return what the recorder said."""
        if not self._open:
            return ''
        self._open, answer = False, ask(self._clients[1], Trigger.Request(), PATIENCE)
        return str(answer.message) if answer else SILENT
