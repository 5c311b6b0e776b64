"""
The estimate while the robot moves, on a topic: what ``identification`` does when ``online``.

It is made in a thread: that of a closed loop takes seconds, in which what shares the process goes
on to record and predict.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
import ctypes
from dataclasses import fields
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray

from .conversions import every, first_said, table
from .model_topics import base_rows
from .running import GuardedNode
from .streams import Streams
from ..checks.finding import Finding, MASKED
from ..errors import InertialIdError
from ..measurement.recording import Channel
from ..procedures.online import examined_after, KEPT_SECONDS, OnlineEstimate, OnlineIdentification
from ..procedures.stream_watch import StreamWatch

ESTIMATE_PERIOD = 1.0  # [s] from one estimate to the next, at least
TOPICS_LOOK = 0.2  # [s] between looks at the topics and at the thread


class Online:
    """
    Listens to the robot for ``node`` and publishes ~/online_parameters; ~/forget begins anew.

    topics : to learn from; urdf : text, '' to wait for robot_description
    learn : makes an OnlineIdentification of a URDF, '' to see whether it can be learned
    """

    def __init__(
        self,
        node: GuardedNode,
        topics: Sequence[str],
        urdf: str,
        learn: Callable[[str], OnlineIdentification],
    ) -> None:
        self._node, self._topics, self._urdf, self._learn = node, tuple(topics), urdf, learn
        self._streams = Streams(node, node.complain, went_back=lambda words: self._begin())
        self._table = node.create_publisher(DiagnosticArray, '~/online_parameters', 10)
        node.offer('~/forget', self._forget)
        self._begin()
        self._thread: threading.Thread | None = None  # its outcome waits for a look
        self._outcome: tuple[OnlineIdentification, OnlineEstimate | Exception | None] | None = None
        every(node, TOPICS_LOOK, self._look)
        every(node, ESTIMATE_PERIOD, self._go_on)
        node.get_logger().info(f'learning online from {", ".join(self._topics)}')

    def _begin(self) -> None:
        self._estimate: OnlineEstimate | None = None
        self._due = 0.0  # [s] of the next that nobody hears
        # Made also without a description: options that cannot be learned with end the node now.
        learning = self._learn(self._urdf)
        self._watch = StreamWatch(self._urdf, learning.commands)
        self._waiting: list[Channel] = []  # not yet learnt
        self._learning: OnlineIdentification | None = None
        if self._urdf:
            self._learning = learning

    def describe(self, urdf: str) -> None:
        """Begin anew with another description."""
        if urdf != self._urdf:
            self._urdf = urdf
            self._begin()

    def _forget(self):
        self._begin()
        return 'learning from now on'

    def _go_on(self):
        """If no estimate is under way, begin one with what was received; seldom if unheard."""
        if self._learning is None or self._thread is not None:
            return
        if time.monotonic() < self._due and not self._table.get_subscription_count():
            return
        channels, self._waiting = self._waiting, []
        # Nobody waits for it at the end of the node.
        self._thread = threading.Thread(
            target=self._estimate_of, daemon=True, args=(self._learning, channels)
        )
        self._thread.start()

    def _take(self, channel: Channel) -> None:
        self._watch.add(channel)
        if self._learning is None:
            return
        self._waiting.append(channel)
        while self._waiting[0].stamp_ns[-1] < channel.stamp_ns[-1] - KEPT_SECONDS * 1e9:
            self._streams.dropped += len(self._waiting.pop(0))

    def _estimate_of(self, learning: OnlineIdentification, channels: Sequence[Channel]) -> None:
        """Learn ``channels`` and estimate, in the thread."""
        try:
            for channel in channels:
                try:
                    learning.add(channel)
                except InertialIdError as error:  # costs that batch
                    self._node.complain(str(error))
            self._outcome = learning, learning.estimate()
        except Exception as error:
            self._outcome = learning, error
        with suppress(AttributeError):  # glibc alone keeps what was freed, in pieces that add up
            ctypes.CDLL(None).malloc_trim(0)

    def _look(self):
        """Take what came, and publish the estimate; a fault ends this estimate alone."""
        self._streams.look(self._topics)
        self._streams.hand_to(self._take)
        if self._outcome is None:
            return
        (learning, estimate), self._outcome, self._thread = self._outcome, None, None
        if learning is not self._learning:  # begun anew
            return
        if isinstance(estimate, OnlineEstimate):
            self._publish(estimate)
        elif isinstance(estimate, InertialIdError):
            self._node.complain(str(estimate))
        elif estimate is not None:  # a fault of ours: say so and learn anew
            self._node.complain(
                'internal error, please report; learning begins anew: '
                f'{type(estimate).__name__}: {estimate}'
            )
            self._begin()

    def _publish(self, estimate: OnlineEstimate) -> None:
        self._estimate = estimate
        self._due = time.monotonic() + examined_after(estimate.seconds)
        if self._table.get_subscription_count():  # 7 ms of rclpy for 60 rows
            rows = base_rows(estimate.base, estimate.parameters, estimate.values, estimate.gravity)
            self._table.publish(table(self._node, rows))

    def health(self) -> tuple[str, str, dict[str, Any]]:
        """Return (level, words where it is not ok, {key: value}) for diagnostics."""
        state = first_said(
            *said_of(self._watch.findings()),
            ('warn', self._streams.silent()),
            ('warn', self._streams.slow()),
        )
        return *state, {**self._values(), **self._streams.values()}

    def _values(self) -> dict[str, Any]:
        """Return {key: value} of the estimate, or what it waits for."""
        if self._learning is None:
            return {'online': 'waiting: robot_description'}
        if self._estimate is None:
            return {'online': f'waiting: {self._learning.waiting}'}
        base, residual = self._estimate.base, '-'
        if self._estimate.unseen_percent is not None:
            residual = f'{self._estimate.unseen_percent:.3g}'
        return {
            'online seconds': f'{self._estimate.seconds:.1f}',
            'online determined': f'{sum(b["determined"] for b in base)} of {len(base)}',
            'online condition number': f'{self._estimate.condition_number:.4g}',
            'online residual of unseen data [%]': residual,
            'online gaps': self._learning.gaps,
        }


def said_of(findings: Sequence[Finding]) -> tuple[tuple[str, str], tuple[str, str]]:
    """
    Return (level, words) of ``findings`` that spoil the estimate, and of those that do not.

    Messages that lack values are not learnt from: another node may repeat positions alone.
    """
    spoiling, left_out = [], []
    for finding in findings:
        if finding.severity == MASKED and finding.name.endswith('not finite'):
            left_out.append(f'{finding.says}, which are left out')
        else:
            spoiling.append(finding.says)
    return ('error', '; '.join(spoiling)), ('warn', '; '.join(left_out))


def topics_of(options: Any, joint_states: str) -> tuple[str, ...]:
    """
    Return the topics that ``options`` of a method name; that of ``joint_states`` beside efforts.

    Options called ..._topic, and words of others that begin with a slash (markers, IMUs, torques).
    """
    topics = []
    for spec in fields(options):
        value = getattr(options, spec.name)
        if spec.name.endswith('_topic'):
            topics += value.split()
        elif isinstance(value, tuple):
            words = ' '.join(text for text in value if isinstance(text, str)).split()
            topics += [word for word in words if word.startswith('/')]
    has_efforts = bool(getattr(options, 'effort_topic', ''))
    if not topics or (has_efforts and not options.joint_states_topic):
        topics.append(joint_states)
    return tuple(dict.fromkeys(topics))
