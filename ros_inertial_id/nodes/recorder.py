"""
Node ``recorder``: topics into a rosbag2, nothing lost.

Messages are taken as the bytes they came in and written as such.  ``~/start`` opens a bag,
``~/stop`` closes it, says what is in it and what its samples show; latched ``~/recording`` names
the finished bag.
"""

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
import datetime
import faulthandler
from pathlib import Path

import numpy as np
from std_msgs.msg import String

from .conversions import deliver, every, latched, message_class, simulated_time
from .parameters import (
    check_mounting,
    configured,
    ConfiguredOptions,
    declare_options,
    driver_of,
    JOINT_STATES,
)
from .running import GuardedNode, main_of, NODE_ENDS
from .streams import TopicClocks
from .subscriptions import Subscriptions
from ..checks.channel_checks import channel_checks
from ..checks.finding import NOTE
from ..errors import InertialIdError, RecordingError
from ..identification.files import make_folder
from ..measurement.bags.bag import read_bag
from ..measurement.bags.messages import DECODERS, encode_string, header_stamp_ns, JOINT_STATE
from ..measurement.bags.writing import BagWriter
from ..measurement.joints.drives import is_commanded
from ..options import option, topic_option

STRING = 'std_msgs/msg/String'
READ = 0.005  # [s] between looks at what came, where time is simulated: what unstamped data get
FLUSH = 0.4  # [s] what a killed recorder loses at most, also of a topic that fell silent
SLOW_RATE = 90.0  # [Hz] of joint states: accelerations need more, and drivers publish 100 or more
HEADER_BYTES = 12  # bytes of a message with its stamp, which is not all of it
MOST_LATCHED = 100  # messages of a latched topic that are kept for the next bag
PERIODS = '/periods'  # bounds of one motion, which another recording knows nothing of
CHECKED = 200_000  # messages of a bag that ~/stop looks at before it answers: about a second


@dataclass(frozen=True)
class RecorderOptions(ConfiguredOptions):
    """What is recorded and where to."""

    topics: tuple[str, ...] = topic_option(
        (JOINT_STATES,),
        'topics to record, of any type that the package can decode; the '
        'effort_topic of the configuration comes with the joint states',
    )
    out: str = option('recordings', 'folder of the bags')
    name: str = option('', 'name of the next bag; empty: date and time')
    storage: str = option('mcap', 'storage of the bag', choices=('mcap', 'sqlite3'))
    mounting: str = option(
        '',
        'how the robot is mounted, written into the bag; empty: as the '
        'configuration says, else upright',
    )


class Recorder(GuardedNode):
    """Subscribes as soon as a topic has a publisher, writes between start and stop."""

    _bag: BagWriter | None = None  # also of a node that was refused before it was complete

    def __init__(self, **node_options):
        super().__init__('recorder', **node_options)
        of_next_bag = 'name', 'mounting'
        settings = self._options = declare_options(
            self, RecorderOptions, settable=of_next_bag, check=_check
        )
        self._inputs = Subscriptions(self)
        self._topics, self._commands = self._resolved_topics(settings)
        self._description = self.resolve_topic_name('robot_description')  # where there is one
        self._lost_before = 0
        self._problem: str | None = None
        self._last_counts = {}
        self._stamps, self._newest = {}, {}  # by sensor: [ns] since the last look, and reception
        self._clocks, self._rates = TopicClocks(self), {}
        self._real = not simulated_time(self)
        # What was latched before a bag was open: static transforms come from several publishers.
        self._kept = {}
        self._finished = self.create_publisher(String, '~/recording', latched())
        self.offer('~/start', self._start)
        self.offer('~/stop', self._stop_and_check)
        period = READ
        if self._real:
            period = 0.1 * FLUSH
        every(self, period, self._read)
        every(self, 0.2, self._look_for_publishers)
        every(self, FLUSH, self._flush)
        self.report(self._health)
        self.get_logger().info(
            f'ready to record {", ".join(self._topics)} to {settings.out}, '
            f'mounting {self._mounting()!r}; call ~/start'
        )

    def _resolved_topics(self, settings):
        """Return the full names of all topics, and of those among them that are commands."""
        efforts = configured(settings.config, 'effort_topic').split()
        joint_states = [driver_of(self, settings.config).joint_states, *efforts]
        topics = []
        for topic in settings.topics:
            if topic == JOINT_STATES:
                topics += joint_states
            else:
                topics.append(topic)
        commands = []
        if is_commanded(configured(settings.config, 'effort_kind')):
            commands = efforts
        return self._inputs.resolved(topics), self._inputs.resolved(commands)

    def _mounting(self):
        given = self.get_parameter('mounting').value
        return given or configured(self._options.config) or 'upright'

    def _look_for_publishers(self):
        """Subscribe to topics that have got a publisher; return the names of those without."""
        missing = self._inputs.look([*self._topics, self._description])
        return [topic for topic in missing if topic in self._topics]

    def _read(self):
        for waiting in self._inputs.read():
            self._write(*waiting)

    def _write(self, topic, messages, received_ns):
        """Write messages, as received by our clock where it is a simulated one."""
        if self._inputs.latched(topic) and not topic.endswith(PERIODS):
            self._kept.setdefault(topic, deque(maxlen=MOST_LATCHED)).extend(messages)
        if self._bag is None:
            return
        times = received_ns
        if not self._real:
            times = [self.get_clock().now().nanoseconds] * len(messages)
        try:
            self._append(self._bag, topic, messages, times)
        except RecordingError as error:
            self._give_up(error)
            return
        if topic in self._stamps:
            self._stamps[topic] += [header_stamp_ns(m) for m in messages if len(m) > HEADER_BYTES]
            self._newest[topic] = received_ns[-1]

    def _append(self, bag, topic, messages, times):
        """Write messages of a topic that may be new to the bag."""
        if topic not in bag.counts:
            bag.add_topic(topic, self._inputs.types[topic], self._inputs.latched(topic))
        bag.write_all(topic, messages, times)

    def _flush(self):
        if self._bag is None:
            return
        try:
            if not any(self._bag.path.glob('*')):
                raise RecordingError(
                    f'the bag {self._bag.path} was deleted while it was recorded; what was in it '
                    'is lost',
                    do='call ~/start again',
                )
            self._bag.flush()
        except RecordingError as error:
            self._give_up(error)

    def _give_up(self, error):
        """Leave the bag as it is; store the error message."""
        assert self._bag is not None
        self._problem = str(error)
        self._last_counts, self._bag = dict(self._bag.counts), None
        self.get_logger().fatal(f'recording stopped: {error}')

    def _start(self):
        if self._bag is not None:
            raise RecordingError(f'already recording to {self._bag.path}', do='call ~/stop first')
        self._refuse_without_topics()
        make_folder(self._options.out)
        name = self.get_parameter('name').value
        if not name:
            name = datetime.datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3]
        bag = BagWriter(Path(self._options.out, name), self._options.storage)
        self._begin(bag)
        if self._description not in bag.counts:
            self.get_logger().warning(f'no {self._description} yet: a bag without it needs --urdf')
        self._stamps = {topic: [] for topic in self._topics if self._is_sensor(topic)}
        self._clocks, self._rates = TopicClocks(self), {}
        self._problem, self._bag = None, bag
        self._lost_before = self._inputs.lost
        self.get_logger().info(f'recording to {bag.path}')
        return str(bag.path)

    def _begin(self, bag):
        """Write the topics of a new bag, how the robot is mounted, and what was latched before."""
        types, mounting = self._inputs.types, self.resolve_topic_name('mounting')
        for topic in self._topics:
            bag.add_topic(topic, types[topic], self._inputs.latched(topic))
        bag.add_topic(mounting, STRING, latched=True)
        now = self.get_clock().now().nanoseconds
        bag.write(mounting, encode_string(self._mounting()), now)
        for topic, messages in self._kept.items():  # what a late joiner gets
            self._append(bag, topic, messages, [now] * len(messages))

    def _is_sensor(self, topic):
        """Return whether the stamps of a topic say how often something is measured."""
        stamped = DECODERS[self._inputs.types[topic]].header == 'header'
        return stamped and not self._inputs.latched(topic)

    def _refuse_without_topics(self):
        """Raise RecordingError where a topic has no publisher or decoder, or the clock stands."""
        missing = self._look_for_publishers()
        if self._inputs.undecoded:
            raise RecordingError(
                'topics cannot be recorded',
                exists=sorted(filter(message_class, DECODERS)),
                found=[f'{t} of type {kind}' for t, kind in self._inputs.undecoded.items()],
                do='leave them out of topics:',
            )
        if missing:
            published = [
                topic
                for topic, types in self.get_topic_names_and_types()
                if types[0] in DECODERS and topic not in missing
            ]
            raise RecordingError(
                f'nobody publishes {", ".join(missing)}',
                exists=sorted(published),
                do='start the driver, or correct topics:',
            )
        if self._clock_stands():
            raise RecordingError(
                'use_sim_time: the clock stands at 0',
                do='start the simulation, or leave out use_sim_time',
            )

    def _clock_stands(self):
        return not self.get_clock().now().nanoseconds

    def _stop(self):
        """Close the bag; return its path and what is in it."""
        self._read()
        bag = self._bag
        if bag is None:
            if self._problem:
                raise RecordingError(self._problem)
            raise RecordingError('not recording', do='call ~/start first')
        try:
            bag.close()
        except RecordingError as error:
            self._give_up(error)
            raise
        self._last_counts, self._bag = dict(bag.counts), None
        path = str(bag.path.resolve())
        self._finished.publish(String(data=path))
        self._look_at_stamps()
        counts = ', '.join(f'{count} {topic}' for topic, count in bag.counts.items())
        parts = [f'{path}: {counts}']
        if self._lost():
            parts.append(f'{self._lost()} lost by the middleware')
        parts += [f'{key}: {value}' for key, value in self._clocks.values().items()]
        words = '; '.join(parts)
        self.get_logger().info(words)
        return path, words

    def _lost(self):
        """Return the number of messages that the middleware has lost since the bag was opened."""
        return self._inputs.lost - self._lost_before

    def _stop_and_check(self):
        """Close the bag; return what is in it and what the samples show, without a model."""
        path, words = self._stop()
        if sum(self._last_counts.values()) > CHECKED:
            return f'{words}; too long to be looked at: inertial-id check'
        try:
            bag = read_bag(path)
            measured = dict(bag.channels)
            for topic in self._commands:
                measured.pop(topic, None)
            findings = channel_checks(replace(bag, channels=measured))
        except InertialIdError as error:
            return f'{words}; not looked at: {error}'
        shown = [
            f'{finding.severity}: {finding.sentence()}'
            for finding in findings
            if finding.severity != NOTE
        ]
        for sentence in shown:
            self.get_logger().warning(sentence)
        return '; '.join([words, *shown])

    def _health(self):
        """Return (level, words, {key: value}) for diagnostics."""
        self._flush()  # what is reported is on the disk
        self._look_at_stamps()
        counts = self._last_counts
        if self._bag is not None:
            counts = self._bag.counts
        values = {'lost': self._lost()}
        values |= {f'{topic} count': count for topic, count in counts.items()}
        values |= {f'{topic} rate [Hz]': rate for topic, rate in self._rates.items()}
        return *self._state(), {**values, **self._clocks.values()}

    def _look_at_stamps(self):
        """Note how often sensors measure, and whether their clocks go back or fall behind."""
        for topic, stamps in self._stamps.items():
            if stamps:
                self._clocks.add(topic, np.array(stamps, np.int64), self._newest[topic])
            self._rates[topic] = _rate(stamps)
            self._stamps[topic] = []

    def _state(self):
        """Return (level, words) for diagnostics."""
        if self._problem:
            return 'error', self._problem
        if self._clock_stands():
            return 'warn', 'use_sim_time: nobody publishes /clock'
        if self._bag is None:
            return 'ok', 'not recording'
        words = f'recording to {self._bag.path}'
        # Events and texts may be rare; a sensor is not.
        for wrong in (self._clocks.silent(self._stamps), self._clocks.slow(), self._rare()):
            if wrong:
                return 'warn', f'{words}; {wrong}'
        if self._lost():
            return 'warn', words
        return 'ok', words

    def _rare(self):
        """Return in words that all joint states come too seldom, '' where some do not."""
        rates = {
            topic: rate
            for topic, rate in self._rates.items()
            if rate > 0 and self._inputs.types[topic] == JOINT_STATE
        }
        if not rates or max(rates.values()) >= SLOW_RATE:
            return ''
        rare = [f'{topic} comes at {rate} Hz' for topic, rate in rates.items()]
        return f'{", ".join(rare)}: slow for accelerations, is there a faster topic of the driver?'

    def destroy_node(self) -> None:
        """Close an open bag before the node goes: Ctrl-C loses nothing."""
        if self._bag is not None:
            faulthandler.cancel_dump_traceback_later()  # a slow disk is waited for
            self._flush()  # before the middleware is asked for more, which may not answer
            faulthandler.dump_traceback_later(NODE_ENDS, exit=True)
            with suppress(RecordingError):  # published by then
                self._stop()
                deliver(self._finished)
        super().destroy_node()


def _rate(stamps):
    """Return the rate of a sensor [Hz] by its stamps [ns], 0 where they do not say."""
    if len(stamps) < 2:
        return 0
    step = np.median(np.diff(stamps))
    if step <= 0.0:
        return 0
    return round(1e9 / step)


def _check(options):
    """Raise ConfigError for words that are no mounting."""
    check_mounting(options.mounting or configured(options.config))


main = main_of(Recorder, __name__)
