"""Long work of a node: services that answer at its end, while the node goes on with the rest."""

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
import math
import queue
import threading
import time
from typing import Any, TypeVar

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from .conversions import every
from ..errors import InertialIdError

WORK_LOOK = 0.02  # [s] between looks at what the work asks of the node, and at what it waits for
CLOSING = 2.0  # [s] for others to answer a node that was shut down: it is to end in 3 s
CANCELLED = 'cancelled'
SHUT_DOWN = 'the node was shut down meanwhile'
T = TypeVar('T')


class LongWork:
    """
    Trigger services of a ``node`` that work in a thread of their own, one at a time.

    A second node with an executor of two threads serves them: one works, the other refuses whoever
    asks meanwhile.  What is worked has to call ``step`` now and then: there it is cancelled.

    failed : called with the words of a refusal or failure, CANCELLED where it was cancelled
    beside : the second node, for clients that the work waits for
    """

    def __init__(self, node: Node, failed: Callable[[str], object] = lambda words: None) -> None:
        self._node, self._failed = node, failed
        self._lock, self._asked = threading.Lock(), queue.SimpleQueue[Callable[[], None]]()
        self._name, self._step, self._fraction = '', '', 0.0
        self._cancelled = False
        self._closed_at = math.inf  # [s]
        self.enough = False  # whether the work is to end with what it has
        self.beside = Node(
            f'_{node.get_name()}_work',
            context=node.context,
            namespace=node.get_namespace(),
            use_global_arguments=False,
            enable_rosout=False,
            start_parameter_services=False,
        )
        self._group = ReentrantCallbackGroup()
        self._executor = MultiThreadedExecutor(2, context=node.context)
        self._executor.add_node(self.beside)
        # Begins when the node is complete: of one that is refused before nobody would end it.
        self._thread = threading.Thread(target=self._spin)
        every(node, WORK_LOOK, self._answer)

    @property
    def busy(self) -> bool:
        """Return whether work is under way."""
        return self._lock.locked()

    @property
    def under_way(self) -> str:
        """Return the name of the service that works, '' where none does."""
        if not self.busy:
            return ''
        return self._name

    @property
    def closed(self) -> bool:
        """Return whether the node is shut down: its thread does what the work asks, no more."""
        return self._closed_at < math.inf

    @property
    def words(self) -> str:
        """Return in words what is done, and how far it is."""
        return f'{self._step}, {100.0 * self._fraction:.0f} %'

    @property
    def values(self) -> dict[str, Any]:
        """Return {key: value} of the work and its progress, for diagnostics."""
        return {'work': self._name, 'step': self._step, 'fraction': round(self._fraction, 3)}

    def offer(self, name: str, work: Callable[[], str]) -> None:
        """Offer service ~/``name``, which answers with the words of ``work`` or why it failed."""

        def serve(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            response.success, response.message = self._serve(name, work)
            return response

        self.beside.create_service(
            Trigger,
            self._node.resolve_service_name(f'~/{name}'),
            serve,
            callback_group=self._group,
        )

    def step(self, name: str, done: float = 0.0, whole: float = 1.0) -> None:
        """Say that ``done`` of the ``whole`` of a step is done; raise where it was cancelled."""
        if self.closed:
            raise InertialIdError(SHUT_DOWN)
        if self._cancelled:
            raise InertialIdError(CANCELLED)
        self._step, self._fraction = name, min(1.0, done / (whole or 1.0))

    def in_node(self, function: Callable[[], T]) -> T:
        """Return, or raise, what ``function`` does in the thread of the node."""
        outcome: Future[T] = Future()

        def answer() -> None:
            try:
                outcome.set_result(function())
            except Exception as error:
                outcome.set_exception(error)

        self._asked.put(answer)
        return outcome.result()

    def wait_for(self, condition: Callable[[], object], patience: float) -> bool:
        """
        Return whether a ``condition`` of others comes true, in the thread of the work.

        patience : [s] for it; it ends, too, where the node is shut down and others had CLOSING
        """
        end = time.monotonic() + patience
        while not condition():
            if self.given_up() or time.monotonic() > end:
                return False
            time.sleep(WORK_LOOK)
        return True

    def given_up(self) -> bool:
        """Return whether the node was shut down and others had CLOSING to answer since."""
        return time.monotonic() > self._closed_at + CLOSING

    def ask(self, client: Client, question: Any, patience: float) -> Any:
        """
        Return the answer of a service of another node, None where it does not come.

        patience : [s] for it; nothing is waited for where the service has left the graph, as that
            of a recorder that got the same Ctrl-C
        """
        answer = client.call_async(question)
        self.wait_for(lambda: answer.done() or not client.service_is_ready(), patience)
        if answer.done():
            return answer.result()
        client.remove_pending_request(answer)
        return None

    def cancel(self) -> str:
        """Let the work end without a result; InertialIdError where there is none."""
        if not self.busy:
            raise InertialIdError('nothing to cancel')
        self._cancelled = self.enough = True
        return f'cancelling {self._name}'

    def close(self) -> None:
        """Cancel, and wait until the service has answered: a thread must not outlive the node."""
        self._closed_at = time.monotonic()
        self.enough = True
        while not self._lock.acquire(blocking=False):  # and keep it: nothing else begins
            self._answer()
            time.sleep(WORK_LOOK)
        self._executor.shutdown()
        if self._thread.ident is not None:
            self._thread.join()
        self.beside.destroy_node()

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            self._executor.spin()

    def _answer(self) -> None:
        """Do what the work asks of the node."""
        if self._thread.ident is None:
            self._thread.start()
        while not self._asked.empty():
            self._asked.get()()

    def _serve(self, name: str, work: Callable[[], str]) -> tuple[bool, str]:
        if not self._lock.acquire(blocking=False):
            return False, f'{self._name} is under way; wait for its end, or call ~/cancel'
        try:
            self._cancelled = self.enough = False
            self._name, self._step, self._fraction = name, name, 0.0
            return True, work()
        except InertialIdError as error:
            words = str(error)
        except Exception as error:  # a fault of ours: say so and stay alive
            words = f'internal error, please report: {type(error).__name__}: {error}'
        finally:
            self._lock.release()
        self._failed(words)
        self._node.get_logger().error(f'{name}: {words}')
        return False, words
