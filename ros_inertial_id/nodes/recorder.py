"""
Node ``recorder``: topics into a rosbag2, nothing lost.

Messages are taken as the bytes they came in and written as such.  ``~/start`` opens a bag,
``~/stop`` closes it and says what is in it; latched ``~/recording`` names the finished bag.
"""

from contextlib import suppress
from dataclasses import dataclass
import datetime
import pathlib
import sys

from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks, UnsupportedEventTypeError
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

from .conversions import declare_options, DEPTH, diagnostics, every, latched, message_class, stream
from .running import run
from ..errors import InertialIdError, RecordingError
from ..measurement.bags.bag import BagWriter
from ..measurement.bags.messages import DECODERS, encode_string
from ..options import check_ranges, option

STRING = 'std_msgs/msg/String'
SETTABLE = {'name', 'mounting'}  # of the next bag
FLUSH = 0.4  # [s] what a killed recorder loses at most, also of a topic that fell silent


@dataclass(frozen=True)
class RecorderOptions:
    """What is recorded and where to."""

    topics: tuple[str, ...] = option(('joint_states',), 'topics to record, of any type with a decoder')
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
        self._options = declare_options(
            self, RecorderOptions, fixed=set(RecorderOptions.__dataclass_fields__) - SETTABLE)
        check_ranges(self._options)
        topic = self.resolve_topic_name(self._options.robot_description_topic)
        self._description_topic, self._description = topic, b''
        self._topics = list(dict.fromkeys(
            name for name in map(self.resolve_topic_name, self._options.topics) if name != topic))
        self._types, self._readers, self._lost = {}, {}, {}
        self._undecoded = {}  # topic -> its type, which no decoder knows
        self._lost_before = 0
        self._bag = self._problem = None
        self._last_counts, self._counted = {}, {}
        self._texts = {}  # topic -> latched text that is not yet in the bag
        self._finished = self.create_publisher(String, '~/recording', latched())
        self._diagnostics = self.create_publisher(type(diagnostics(self, 'ok', '', {})),
                                                  '/diagnostics', 10)
        self.create_subscription(String, topic, self._take_description, latched(), raw=True)
        self.create_service(Trigger, '~/start', self._answer_start)
        self.create_service(Trigger, '~/stop', self._answer_stop)
        every(self, 0.2, self._look_for_publishers)
        every(self, FLUSH, self._flush)
        every(self, 1.0, self._diagnose)
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
            kind = _recordable(types[0])
            if kind is not None:
                self._undecoded.pop(topic, None)
                self._subscribe(topic, types[0], kind)
            elif topic not in self._undecoded:
                self._undecoded[topic] = types[0]
                self.get_logger().error(str(_no_decoder(self._undecoded)))

    def _subscribe(self, topic, type_name, kind):
        self._types[topic], self._lost[topic] = type_name, 0

        def take(message):
            self._write(topic, message)

        def lose(event):
            self._lost[topic] = event.total_count

        arguments = (kind, topic, take, stream(self, topic, self._options.reliability))
        events = SubscriptionEventCallbacks(message_lost=lose)
        try:
            reader = self.create_subscription(*arguments, raw=True, event_callbacks=events)
        except UnsupportedEventTypeError:
            reader = self.create_subscription(*arguments, raw=True)
        self._readers[topic] = reader

    def _take_description(self, message):
        self._description = self._texts[self._description_topic] = bytes(message)
        self._flush()

    def _write_texts(self):
        """Write the latched texts that wait to be, unless a simulated clock has not begun."""
        now = self.get_clock().now().nanoseconds
        while self._texts and now:
            topic, text = self._texts.popitem()
            if topic not in self._bag.counts:
                self._bag.add_topic(topic, STRING, latched=True)
            self._bag.write(topic, text, now)

    def _write(self, topic, message):
        if self._bag is None:
            return
        try:
            if self._texts:
                self._write_texts()
            self._bag.write(topic, bytes(message), self.get_clock().now().nanoseconds)
        except RecordingError as error:
            self._give_up(error)

    def _flush(self):
        if self._bag is None:
            return
        try:
            self._write_texts()
            self._bag.flush()
        except RecordingError as error:
            self._give_up(error)

    def _give_up(self, error):
        """Leave the bag as it is; keep the reason for whoever asks."""
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
        self._look_for_publishers()
        if self._undecoded:
            raise _no_decoder(self._undecoded)
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
        self._texts = {self.resolve_topic_name('mounting'):
                       encode_string(self.get_parameter('mounting').value)}
        if self._description:
            self._texts[self._description_topic] = self._description
        else:
            self.get_logger().warning(
                f'no {self._description_topic} yet: a bag without it needs --urdf')
        for topic in self._topics:
            bag.add_topic(topic, self._types[topic])
        self._problem, self._bag, self._lost_before = None, bag, sum(self._lost.values())
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
        bag = self._bag
        self._drain()
        if self._bag is None:
            raise RecordingError(self._problem)
        try:
            self._write_texts()
            bag.close()
        except RecordingError as error:
            self._give_up(error)
            raise
        self._last_counts, self._bag = dict(bag.counts), None
        path = str(bag.path.resolve())
        self._finished.publish(String(data=path))
        counts = ', '.join(f'{n} {t}' for t, n in bag.counts.items())
        lost = sum(self._lost.values()) - self._lost_before
        words = f'{path}: {counts}' + (f'; {lost} lost by the middleware' if lost else '')
        self.get_logger().info(words)
        return words

    def _drain(self):
        """Write what has arrived before the request to stop and waits its turn."""
        for topic, reader in self._readers.items():
            for _ in range(DEPTH):  # publishers go on: take what a full queue holds, no more
                with reader.handle:
                    taken = reader.handle.take_message(reader.msg_type, True)
                if taken is None:
                    break
                self._write(topic, taken[0])

    def _diagnose(self):
        self._flush()  # what is reported is on the disk
        counts = self._bag.counts if self._bag else self._last_counts
        lost = sum(self._lost.values()) - self._lost_before
        state = ('recording to ' + str(self._bag.path) if self._bag
                 else self._problem or 'not recording')
        level = 'error' if self._problem else 'warn' if lost else 'ok'
        before, self._counted = self._counted, dict(counts)
        values = {'lost': lost}
        for topic, count in counts.items():
            values[f'{topic} count'] = count
            values[f'{topic} rate [Hz]'] = max(0, count - before.get(topic, 0))
        self._diagnostics.publish(diagnostics(self, level, state, values))

    def destroy_node(self):
        """Close an open bag before the node goes: Ctrl-C loses nothing."""
        if self._bag is not None:
            with suppress(RecordingError):  # told by then
                self._stop()
                self._finished.wait_for_all_acked(Duration(seconds=1.0))
        super().destroy_node()


def _recordable(type_name):
    """Return the class of a type that can be recorded, None when there is no such."""
    return message_class(type_name) if type_name in DECODERS else None


def _no_decoder(types):
    return RecordingError(
        'topics cannot be recorded', exists=sorted(filter(_recordable, DECODERS)),
        found=[f'{topic} of type {name}' for topic, name in types.items()],
        do='leave them out of topics:')


def main(args=None):
    """Run the node."""
    return run(Recorder, args)


if __name__ == '__main__':
    sys.exit(main())
