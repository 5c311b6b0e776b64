"""Chain: the processes of a demonstration and a node that asks them, until all have ended."""

from collections.abc import Callable, Mapping
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any, NamedTuple

from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from ..errors import RecordingError
from ..identification.identified_model import IdentifiedModel
from ..processes import start

ANSWER_TAKES = 600.0  # [s] of wall time at most; a busy computer may need a hundred
MOTION_TAKES = 3600.0  # [s] of wall time at most, for one of 20 s
ENDING_TAKES = 8.0  # [s] of wall time for all nodes to end by themselves
CALLS = 2  # of a service whose reply is lost
OF_SIZE = 0.1  # of the largest of its unit: of smaller ones the relative error says nothing


class Comparison(NamedTuple):
    """An identified base parameter, its standard error and the true value, in their unit."""

    value: float
    error: float
    unit: str
    true: float


class Chain:
    """
    Nodes of this package, each in a process of its own.

    out : folder of their logs; namespace : of all nodes
    interrupted : set by a signal, whose exit may be lost in a destructor that Python runs
    """

    interrupted = False

    def __init__(self, out: Path, namespace: str = '/') -> None:
        self.out, self._namespace = out, namespace
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.node = Node('demo', namespace=namespace)
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Return the time since the beginning [s]."""
        return time.monotonic() - self._began

    def start(self, name: str, **parameters: Any) -> None:
        """Start the node ``name`` with ROS ``parameters`` in a process of its own."""
        arguments = ['-r', f'__ns:={self._namespace}']
        for key, value in parameters.items():
            arguments += ['-p', f'{key}:={value}']
        with open(self.out / f'{name}.log', 'w') as log:
            # A session of its own: Ctrl-C reaches the demo alone, which then ends all in order.
            self._processes[name] = start(
                f'nodes.{name}',
                ['--ros-args', *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def call(
        self,
        service: str,
        enough: Callable[[], object] = lambda: False,
        patience: float = ANSWER_TAKES,
    ) -> str:
        """
        Return the message of a Trigger service; a lost reply is asked for once more.

        service : its name; enough : () -> whether its effect was seen, which is an answer, too
        patience : [s] for an answer
        RecordingError where there is none, or it is a refusal.
        """
        answer = self._ask(Trigger, service, Trigger.Request(), enough, patience)
        return str(getattr(answer, 'message', ''))

    def call_when_ready(self, service: str) -> str:
        """Return the message of a Trigger ``service`` that may refuse for a while."""
        deadline = time.monotonic() + ANSWER_TAKES
        while time.monotonic() < deadline:
            try:
                return self.call(service)
            except RecordingError:
                self.pass_time(1.0)
        return self.call(service)

    def set(self, node: str, name: str, value: Any) -> None:  # noqa: A003
        """Set the parameter ``name`` of a ``node`` to a ``value``: a text, or a number."""
        if not isinstance(value, (bool, int, float)):
            value = str(value)
        request = SetParameters.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        answer = self._ask(SetParameters, f'{node}/set_parameters', request)
        for result in answer.results:
            if not result.successful:
                raise RecordingError(f'{node} refused {name}: {result.reason}')

    def _ask(self, kind, service, request, enough=lambda: False, patience=ANSWER_TAKES):
        """Return the answer of a service, None where ``enough()`` before it came."""
        client = self.node.create_client(kind, service)
        try:
            for _ in range(CALLS):
                self.wait(client.service_is_ready, f'service {service}')
                future = client.call_async(request)
                if self._comes(lambda: future.done() or enough(), patience):
                    return _accepted(service, future)
        finally:
            self.node.destroy_client(client)
        raise RecordingError(f'{service} did not answer', do=f'see {self.out}')

    def wait(
        self, condition: Callable[[], object], what: str, patience: float = ANSWER_TAKES
    ) -> None:
        """Spin until ``condition()``; RecordingError of ``what`` after ``patience`` [s]."""
        if not self._comes(condition, patience):
            raise RecordingError(
                f'{what} did not come within {patience:g} s', do=f'see the logs in {self.out}'
            )

    def pass_time(self, seconds: float) -> None:
        """Spin for some ``seconds``."""
        self._comes(lambda: False, seconds)

    def _comes(self, condition, patience):
        """Spin until ``condition()``; return whether it came within ``patience`` [s]."""
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.spin()
        return True

    def spin(self) -> None:
        """Serve the node a little; raise RecordingError when a process has ended."""
        if Chain.interrupted:
            sys.exit(130)
        for name, process in self._processes.items():
            if process.poll() is not None:
                log = (self.out / f'{name}.log').read_text().strip().split('\n')
                raise RecordingError(
                    f'{name} ended with status {process.returncode}', found=log[-1]
                )
        rclpy.spin_once(self.node, timeout_sec=0.1)

    def identify(self, **bags: Path) -> IdentifiedModel:
        """Return the model that the node identifies from bags: recording, and validation."""
        for name, bag in bags.items():
            self.set('identification', name, bag)
        self.call('identification/identify')
        return IdentifiedModel.from_yaml((self.out / 'model.yaml').read_text())

    def stop(self) -> None:
        """End all processes, the gentle way first."""
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + ENDING_TAKES
        for process in self._processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.node.destroy_node()


def say(words: str) -> None:
    """Print in ``words`` how far things are, for the person who watches."""
    print(f'demo: {words}', file=sys.stderr, flush=True)


def evaluate(model: IdentifiedModel, truth: Mapping[str, float]) -> tuple[float, float]:
    """
    Return (share within 3 standard errors, worst relative error [%]) of base parameters.

    truth : {parameter: value}, zero where nothing is said
    Of the worst, those that are less than a tenth of the largest of their unit do not count.
    """
    comparisons = compared(model, truth)
    within = [abs(c.value - c.true) <= 3 * c.error for c in comparisons]
    largest: dict[str, float] = {}
    for c in comparisons:
        largest[c.unit] = max(largest.get(c.unit, 0.0), abs(c.true))
    worst = max(
        100 * abs(c.value - c.true) / abs(c.true)
        for c in comparisons
        if abs(c.true) > OF_SIZE * largest[c.unit]
    )
    return sum(within) / len(within), worst


def compared(model: IdentifiedModel, truth: Mapping[str, float]) -> list[Comparison]:
    """Return the Comparisons of a ``model`` and the ``truth``, {parameter: value}."""
    comparisons = []
    for entry in model.base:
        grouping = entry['grouping']
        if not entry['determined'] or truth.keys().isdisjoint(grouping):
            continue
        true = sum(share * truth.get(name, 0.0) for name, share in grouping.items())
        comparisons.append(
            Comparison(entry['value'], entry['standard_error'], entry['unit'], true)
        )
    return comparisons


def _accepted(service, future):
    """Return the answer in a future, None where it did not come; RecordingError of a refusal."""
    if not future.done():
        return None
    answer = future.result()
    if getattr(answer, 'success', True) is False:
        raise RecordingError(f'{service} refused: {answer.message}')
    return answer
