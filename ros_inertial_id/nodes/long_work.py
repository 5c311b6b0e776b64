"""Long work beside a node that goes on answering, with its progress and a way to cancel it."""

from collections.abc import Callable
import json
import threading
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from .conversions import every, latched
from ..errors import InertialIdError

LOOK = 0.1  # [s] between looks at the thread
CANCELLED = 'cancelled'  # the words, and the state


class LongWork:
    """
    One piece of work of a ``node`` at a time.

    Latched ``~/progress`` says how far it is, as JSON: ``work`` (its name), ``state`` (idle,
    running, done, failed or cancelled), ``step`` in words, ``fraction`` of that step, ``message``
    (how it ended).  What is worked has to call ``step`` now and then: there it is cancelled.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._topic = node.create_publisher(String, '~/progress', latched())
        self._thread: threading.Thread | None = None
        self._end: Callable[[bool, str], object] = lambda success, words: None
        self._outcome: tuple[str, str] | None = None
        self._cancelled = ''  # why
        self._now: dict[str, Any] = {'work': '', 'state': 'idle', 'step': '', 'fraction': 0.0,
                                     'message': ''}
        self._published: dict[str, Any] = {}
        self.enough = False  # whether the work is to end with what it has
        every(node, LOOK, self._look)

    @property
    def busy(self) -> bool:
        """Return whether work is under way, or its end was not dealt with yet."""
        return self._thread is not None

    @property
    def words(self) -> str:
        """Return in words what is done, and how far it is."""
        return f"{self._now['step']}, {100.0 * self._now['fraction']:.0f} %"

    def begin(self, name: str, work: Callable[[], str], end: Callable[[bool, str], object]
              ) -> None:
        """
        Start ``work`` in a thread.

        end : called in the node's own thread with success and the words that ``work`` returned, or
            why it failed
        InertialIdError where something else is under way.
        """
        if self.busy:
            raise InertialIdError(f"{self._now['work']} is under way",
                                  do='wait for its end, or call ~/cancel')
        self._cancelled, self.enough = '', False
        self._end = end
        self.tell(work=name, state='running', step=name, fraction=0.0, message='')
        self._thread = threading.Thread(target=self._run, args=(work,))
        self._thread.start()

    def step(self, name: str, done: float = 0.0, whole: float = 1.0) -> None:
        """Say that ``done`` of the ``whole`` of a step is done; raise where it was cancelled."""
        if self._cancelled:
            raise InertialIdError(self._cancelled)
        self.tell(step=name, fraction=round(min(1.0, done / (whole or 1.0)), 3))

    def tell(self, **changes: Any) -> None:
        """Change what ~/progress says."""
        self._now = {**self._now, **changes}

    def cancel(self) -> str:
        """Let the work end without a result; InertialIdError where there is none."""
        if not self.busy:
            raise InertialIdError('nothing to cancel')
        self._cancelled, self.enough = CANCELLED, True
        return f"cancelling {self._now['work']}"

    def close(self) -> None:
        """Cancel and wait: a thread must not outlive the middleware."""
        self._cancelled, self.enough = 'the node was shut down meanwhile', True
        if self._thread is not None:
            self._thread.join()
            if self._outcome and self._outcome[0] != 'done':
                self._node.get_logger().error(f"{self._now['work']}: {self._outcome[1]}")

    def _run(self, work: Callable[[], str]) -> None:
        try:
            self._outcome = 'done', work()
        except InertialIdError as error:
            self._outcome = CANCELLED if self._cancelled else 'failed', str(error)
        except Exception as error:  # a fault of ours: say so and stay alive
            self._outcome = 'failed', ('internal error, please report: '
                                       f'{type(error).__name__}: {error}')

    def _look(self) -> None:
        if self._thread is not None and not self._thread.is_alive() and self._outcome:
            self._thread.join()
            (state, words), self._outcome, self._thread = self._outcome, None, None
            self.tell(state=state, message=words)
            self.publish()
            self._end(state == 'done', words)
        self.publish()

    def publish(self) -> None:
        """Publish what has changed."""
        if self._now != self._published:
            self._published = self._now
            self._topic.publish(String(data=json.dumps(self._published)))
