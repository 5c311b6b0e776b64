"""
Node ``recorder``: topics into a rosbag2, nothing lost.

Messages are taken as the bytes they came in and written as such.  ``~/start`` opens a bag,
``~/stop`` closes it and says what is in it; latched ``~/recording`` names the finished bag.
"""

from dataclasses import dataclass
import datetime
import importlib
import pathlib
import sys

from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

from ..errors import InertialIdError, RecordingError
from ..measurement.bag import BagWriter
from ..measurement.messages import DECODERS, encode_string
from ..options import check_ranges, option
from .conversions import declare_options, diagnostics, latched, stream
from .running import run

STRING = 'std_msgs/msg/String'


@dataclass(frozen=True)
class RecorderOptions:
    """What is recorded and where to."""

    topics: tuple = option(('joint_states',), 'topics to record, of any type with a decoder')
    out: str = option('recordings', 'folder of the bags')
    name: str = option('', 'name of the next bag; empty: date and time')
    storage: str = option('mcap', 'storage of the bag', choices=('mcap', 'sqlite3'))
    compress: bool = option(False, 'compress the bag with zstd')
    mounting: str = option('upright', 'how the robot is mounted, written into the bag')
    robot_description_topic: str = option('robot_description', 'topic of the URDF')
    reliability: str = option('auto', 'of the subscriptions',
                              choices=('auto', 'reliable', 'best_effort'))


class Recorder(Node):
    """Subscribes as soon as a topic has a publisher, writes between start and stop."""

    def __init__(self, **node_options):
        super().__init__('recorder', **node_options)
        self._options = declare_options(self, RecorderOptions)
        check_ranges(self._options)
        self._topics = [self.resolve_topic_name(t) for t in self._options.topics]
        self._types, self._readers, self._lost = {}, {}, {}
        self._bag = self._problem = None
        self._description, self._last_counts = b'', {}
        self._finished = self.create_publisher(String, '~/recording', latched())
        self._diagnostics = self.create_publisher(type(diagnostics(self, 'ok', '', {})),
                                                  '/diagnostics', 10)
        self.create_subscription(String, self._options.robot_description_topic,
                                 self._take_description, latched(), raw=True)
        self.create_service(Trigger, '~/start', self._answer_start)
        self.create_service(Trigger, '~/stop', self._answer_stop)
        self.create_timer(0.2, self._look_for_publishers)
        self.create_timer(1.0, self._diagnose)
        self.get_logger().info(
            f"ready to record {', '.join(self._topics)} to {self._options.out}, "
            f'mounting {self._options.mounting!r}; call ~/start')

    def _look_for_publishers(self):
        """Subscribe to the topics that have got a publisher since the last look."""
        waiting = [t for t in self._topics if t not in self._readers]
        if not waiting:
            return
        graph = dict(self.get_topic_names_and_types())
        for topic in waiting:
            types = graph.get(topic)
            if not types or not self.count_publishers(topic):
                continue
            if types[0] not in DECODERS:
                self.get_logger().error(f'{topic} is of type {types[0]}, which has no decoder; '
                                        f"there is: {', '.join(sorted(DECODERS))}", once=True)
                continue
            self._subscribe(topic, types[0])

    def _subscribe(self, topic, type_name):
        package, _, name = type_name.split('/')
        kind = getattr(importlib.import_module(f'{package}.msg'), name)
        self._types[topic], self._lost[topic] = type_name, 0

        def take(message):
            self._write(topic, message)

        def lose(event):
            self._lost[topic] = event.total_count

        arguments = (kind, topic, take, stream(self, topic, self._options.reliability))
        try:
            reader = self.create_subscription(
                *arguments, raw=True, event_callbacks=SubscriptionEventCallbacks(message_lost=lose))
        except UnsupportedEventTypeError:
            reader = self.create_subscription(*arguments, raw=True)
        self._readers[topic] = reader

    def _take_description(self, message):
        self._description = bytes(message)

    def _write(self, topic, message):
        if self._bag is None:
            return
        try:
            self._bag.write(topic, bytes(message), self.get_clock().now().nanoseconds)
        except RecordingError as error:
            self._problem = str(error)
            self._last_counts, self._bag = dict(self._bag.counts), None
            self.get_logger().fatal(f'recording stopped: {error}')

    def _answer_start(self, _, response):
        try:
            response.message = self._start()
            response.success = True
        except InertialIdError as error:
            response.success, response.message = False, str(error)
            self.get_logger().error(response.message)
        return response

    def _start(self):
        if self._bag is not None:
            raise RecordingError(f'already recording to {self._bag.path}', do='call ~/stop first')
        missing = [t for t in self._topics if t not in self._readers]
        if missing:
            raise RecordingError('nobody publishes', found=missing, exists=sorted(
                t for t, types in self.get_topic_names_and_types() if types[0] in DECODERS),
                do='start the driver, or correct topics:')
        name = (self.get_parameter('name').value
                or datetime.datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3])
        folder = pathlib.Path(self._options.out)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f'folder {folder} cannot be made',
                                 found=error.strerror) from None
        bag = BagWriter(folder / name, self._options.storage, self._options.compress)
        now = self.get_clock().now().nanoseconds
        texts = {'mounting': encode_string(self.get_parameter('mounting').value),
                 self._options.robot_description_topic: self._description}
        for topic, text in texts.items():
            if text:
                topic = self.resolve_topic_name(topic)
                bag.add_topic(topic, STRING, latched=True)
                bag.write(topic, text, now)
        for topic in self._topics:
            bag.add_topic(topic, self._types[topic])
        if not self._description:
            self.get_logger().warning(
                f'no {self._options.robot_description_topic} was published: the bag will need '
                '--urdf')
        self._problem, self._bag = None, bag
        self.get_logger().info(f'recording to {bag.path}')
        return str(bag.path)

    def _answer_stop(self, _, response):
        try:
            response.message = self._stop()
            response.success = True
        except InertialIdError as error:
            response.success, response.message = False, str(error)
        return response

    def _stop(self):
        if self._bag is None:
            raise RecordingError(self._problem or 'not recording',
                                 do='' if self._problem else 'call ~/start first')
        bag, self._bag = self._bag, None
        bag.close()
        self._last_counts = dict(bag.counts)
        path = str(bag.path.resolve())
        self._finished.publish(String(data=path))
        counts = ', '.join(f'{n} {t}' for t, n in bag.counts.items())
        lost = sum(self._lost.values())
        words = f'{path}: {counts}' + (f'; {lost} lost by the middleware' if lost else '')
        self.get_logger().info(words)
        return words

    def _diagnose(self):
        counts = self._bag.counts if self._bag else self._last_counts
        lost = sum(self._lost.values())
        state = ('recording to ' + str(self._bag.path) if self._bag
                 else self._problem or 'not recording')
        level = 'error' if self._problem else 'warn' if lost else 'ok'
        before, self._counted = getattr(self, '_counted', {}), dict(counts)
        values = {'lost': lost}
        for topic, count in counts.items():
            values[f'{topic} count'] = count
            values[f'{topic} rate [Hz]'] = max(0, count - before.get(topic, 0))
        self._diagnostics.publish(diagnostics(self, level, state, values))

    def destroy_node(self):
        """Close an open bag before the node goes: Ctrl-C loses nothing."""
        if self._bag is not None:
            bag, self._bag = self._bag, None
            bag.close()
            print(f'recorder: closed {bag.path}: {bag.counts}', file=sys.stderr)
        super().destroy_node()


def main(args=None):
    """Run the node."""
    return run(Recorder, args)


if __name__ == '__main__':
    sys.exit(main())
