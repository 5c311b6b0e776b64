"""What the player asks of the recorder: start before a motion, stop after it, and no waiting."""

from rclpy.node import Node
from std_srvs.srv import Trigger

from .conversions import Question

PATIENCE = 5.0  # [s] for the recorder to answer


class RecorderDialogue:
    """
    Opens and closes a bag by service calls whose answers are looked for now and then.

    node : that asks
    recorder : name of the node that records; '' for none, which is always ready
    """

    def __init__(self, node: Node, recorder: str) -> None:
        self._calls = {verb: node.create_client(Trigger, f'{recorder}/{verb}')
                       for verb in ('start', 'stop')} if recorder else {}
        self._opening: Question | None = None
        self._closing: Question | None = None
        self._open = False

    @property
    def opening(self) -> bool:
        """Return whether the answer to a start is awaited."""
        return self._opening is not None

    @property
    def closing(self) -> bool:
        """Return whether the answer to a stop is awaited."""
        return self._closing is not None

    def start(self) -> bool:
        """Ask for a bag; return False when there is nobody to wait for."""
        if self._calls:
            self._opening = Question(self._calls['start'], PATIENCE)
        return bool(self._calls)

    def started(self) -> str | None:
        """Return None while waiting; then '' once a bag is open, or the words of why not."""
        if self._opening is None or not self._opening.over():
            return None
        answer = self._opening.answer()
        if answer is None:
            return ('the recorder does not answer; start it, or start this node with an empty '
                    'recorder:')
        self._opening, self._open = None, answer.success
        return '' if answer.success else f'the recorder refused: {answer.message}'

    def give_up(self) -> bool:
        """Wait for no start any more, the bag may be open; return whether one was awaited."""
        question, self._opening = self._opening, None
        if question is not None:
            self._open = question.asked
        return question is not None

    def stop(self) -> None:
        """Ask for the bag to be closed, if there is one."""
        if self._open:
            self._open = False
            self._closing = Question(self._calls['stop'], PATIENCE)

    def stopped(self) -> str | None:
        """Return None while waiting or when nothing is awaited, else what the recorder said."""
        if self._closing is None or not self._closing.over():
            return None
        answer, self._closing = self._closing.answer(), None
        return answer.message if answer is not None else 'the recorder does not answer'
