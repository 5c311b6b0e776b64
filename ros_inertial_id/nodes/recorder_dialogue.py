"""What the player asks of the recorder: a bag before a motion, its end after it."""

from typing import Any

from std_srvs.srv import Trigger

from .long_work import LongWork
from ..errors import MotionError

RECORDER_IS_THERE = 5.0  # [s] for the recorder to be found
RECORDER_ANSWERS = 60.0  # [s] for the recorder to answer: it reads the bag before that
SILENT = 'the recorder does not answer'


class RecorderDialogue:
    """
    Opens and closes a bag, and waits for the answers.

    work : of the player, which waits for them
    recorder : full name of the node that records; '' for none, which is always ready
    """

    def __init__(self, work: LongWork, recorder: str) -> None:
        self._work, self._open = work, False
        self._start_client: Any = None
        self._stop_client: Any = None
        if recorder:
            self._start_client = work.beside.create_client(Trigger, f'{recorder}/start')
            self._stop_client = work.beside.create_client(Trigger, f'{recorder}/stop')

    def start(self) -> None:
        """
        Have a bag opened, if there is a recorder.

        Raises MotionError when it refuses, or does not answer.  Call ``stop`` all the same: the
        bag may be open by then.
        """
        if self._start_client is None:
            return
        answer = None
        if self._work.wait_for(self._start_client.service_is_ready, RECORDER_IS_THERE):
            self._open = True
            answer = self._work.ask(self._start_client, Trigger.Request(), RECORDER_ANSWERS)
        if answer is None:
            raise MotionError(SILENT, do='start it, or start this node with recorder:=none')
        self._open = answer.success
        if not self._open:
            raise MotionError(f'the recorder refused: {answer.message}')

    def stop(self) -> str:
        """Have the bag closed, if there is one; return what the recorder said."""
        if not self._open:
            return ''
        self._open = False
        answer = self._work.ask(self._stop_client, Trigger.Request(), RECORDER_ANSWERS)
        if answer is None:
            return SILENT
        return str(answer.message)
