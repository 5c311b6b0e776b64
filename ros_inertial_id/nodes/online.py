"""The estimate while the robot moves, on a topic: what ``identification`` does when ``online``."""

from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from .conversions import every, latched, table
from .streams import Streams
from ..errors import InertialIdError
from ..procedures.online import OnlineIdentification

PERIOD = 1.0  # [s] from one estimate to the next


class Online:
    """
    Listens to the robot for ``node`` and publishes ~/online_parameters; ~/forget begins anew.

    topics : to learn from; urdf : text, '' to wait for robot_description
    options : of the method with EstimationOptions
    """

    def __init__(self, node, method, topics, urdf, options):
        self._node, self._method, self._topics = node, method, topics
        self._urdf, self._options = urdf, options
        self._complaint, self._estimate, self._heard = '', None, set()
        self._streams = Streams(node, self._complain)
        self._table = node.create_publisher(Float64MultiArray, '~/online_parameters', 10)
        if not urdf:
            node.create_subscription(String, 'robot_description', self._describe, latched())
        node.create_service(Trigger, '~/forget', self._forget)
        self._begin()
        every(node, 0.2, lambda: self._streams.look(self._topics))
        every(node, PERIOD, self._go_on)
        node.get_logger().info(f"learning online from {', '.join(topics)}")

    def _begin(self):
        self._estimate = None
        learning = OnlineIdentification(self._urdf, self._options, self._method)
        self._learning = learning if self._urdf else None

    def _describe(self, message):
        if message.data != self._urdf:
            self._urdf = message.data
            self._begin()

    def _forget(self, _, response):
        self._begin()
        response.success, response.message = True, 'learning from now on'
        return response

    def _go_on(self):
        """Learn what was heard, estimate and publish."""
        learning = self._learning
        self._heard = set()
        self._streams.hand_to(self._hear)
        if learning is None:
            return
        try:
            estimate = learning.estimate()
        except InertialIdError as error:
            self._complain(str(error))
            return
        if estimate is not None:
            self._estimate = estimate
            self._table.publish(table(
                [b['name'] for b in estimate.base],
                {name: [b[name] for b in estimate.base] for name in ('value', 'standard_error')}))

    def _hear(self, channel):
        self._heard.add(channel.topic)
        if self._learning is not None:
            self._learning.add(channel)

    def _complain(self, words):
        self._complaint = words
        self._node.get_logger().error(words, throttle_duration_sec=10.0)

    def health(self):
        """Return (words of a complaint or '', {key: value}) for diagnostics."""
        words, self._complaint = self._complaint, ''
        silent = [topic for topic in self._topics if topic not in self._heard]
        if silent and not words:
            words = f"nothing heard on {', '.join(silent)}"
        if self._estimate is None:
            waiting = self._learning.waiting if self._learning else 'robot_description'
            return words, {'online': f'waiting: {waiting}'}
        found = self._estimate
        unseen = '-' if found.unseen_percent is None else f'{found.unseen_percent:.3g}'
        return words, {
            'online seconds': f'{found.seconds:.1f}',
            'online determined': f"{sum(b['determined'] for b in found.base)} of "
                                 f'{len(found.base)}',
            'online condition number': f'{found.condition_number:.4g}',
            'online residual of unseen data [%]': unseen, 'online gaps': self._learning.gaps}
