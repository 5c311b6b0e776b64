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
from .running import GuardedNode, LEAVE, main_of
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
SLOW = 90.0  # [Hz] of joint states: accelerations need more, and drivers publish 100 or more
HEADER = 12  # bytes of a message with its stamp, which is not all of it
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
        own = self._options = declare_options(
            self, RecorderOptions, settable=('name', 'mounting'), check=_check
        )  # of the next bag
        self._inputs = Subscriptions(self)
        joint_states = driver_of(self, own.config).joint_states
        states = [joint_states, *configured(own.config, 'effort_topic').split()]
        commands = []
        if is_commanded(configured(own.config, 'effort_kind')):
            commands = states[1:]
        self._commands = self._inputs.resolved(commands)
        self._topics = self._inputs.resolved(
            [
                name
                for topic in own.topics
                for name in (states if topic == JOINT_STATES else [topic])
            ]
        )
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
        every(self, 0.1 * FLUSH if self._real else READ, self._read)
        every(self, 0.2, self._look_for_publishers)
        every(self, FLUSH, self._flush)
        self.report(self._health)
        self.get_logger().info(
            f'ready to record {", ".join(self._topics)} to {own.out}, '
            f'mounting {self._mounting()!r}; call ~/start'
        )

    def _mounting(self):
        return (
            self.get_parameter('mounting').value or configured(self._options.config) or 'upright'
        )

    def _look_for_publishers(self):
        """Subscribe to topics that have got a publisher; return the names of those without."""
        missing = self._inputs.look([*self._topics, self._description])
        return [topic for topic in missing if topic in self._topics]

    def _read(self):
        for waiting in self._inputs.read():
            self._write(*waiting)

    def _write(self, topic, messages, received_ns):
        """Write messages, as received by our clock where it is a simulated one."""
        latched = self._inputs.latched(topic)
        if latched and not topic.endswith(PERIODS):
            self._kept.setdefault(topic, deque(maxlen=MOST_LATCHED)).extend(messages)
        if self._bag is None:
            return
        times = received_ns if self._real else [self.get_clock().now().nanoseconds] * len(messages)
        try:
            self._append(self._bag, topic, messages, times)
        except RecordingError as error:
            self._give_up(error)
            return
        if topic in self._stamps:
            self._stamps[topic] += [header_stamp_ns(m) for m in messages if len(m) > HEADER]
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
        """Leave the bag as it is; keep the reason for whoever asks."""
        assert self._bag is not None
        self._problem = str(error)
        self._last_counts, self._bag = dict(self._bag.counts), None
        self.get_logger().fatal(f'recording stopped: {error}')

    def _start(self):
        if self._bag is not None:
            raise RecordingError(f'already recording to {self._bag.path}', do='call ~/stop first')
        self._refuse_without_topics()
        name = (
            self.get_parameter('name').value
            or datetime.datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3]
        )
        make_folder(self._options.out)
        bag = BagWriter(Path(self._options.out, name), self._options.storage)
        types, mounting = self._inputs.types, self.resolve_topic_name('mounting')
        for topic in self._topics:
            bag.add_topic(topic, types[topic], self._inputs.latched(topic))
        bag.add_topic(mounting, STRING, latched=True)
        now = self.get_clock().now().nanoseconds
        bag.write(mounting, encode_string(self._mounting()), now)
        for topic, messages in self._kept.items():  # what a late joiner gets
            self._append(bag, topic, messages, [now] * len(messages))
        if self._description not in bag.counts:
            self.get_logger().warning(f'no {self._description} yet: a bag without it needs --urdf')
        self._stamps = {
            topic: []
            for topic in self._topics
            if DECODERS[types[topic]].header == 'header' and not self._inputs.latched(topic)
        }
        self._clocks, self._rates = TopicClocks(self), {}
        self._problem, self._bag = None, bag
        self._lost_before = self._inputs.lost
        self.get_logger().info(f'recording to {bag.path}')
        return str(bag.path)

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
            raise RecordingError(
                f'nobody publishes {", ".join(missing)}',
                exists=sorted(
                    t
                    for t, types in self.get_topic_names_and_types()
                    if types[0] in DECODERS and t not in missing
                ),
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
            raise RecordingError(
                self._problem or 'not recording', do='' if self._problem else 'call ~/start first'
            )
        try:
            bag.close()
        except RecordingError as error:
            self._give_up(error)
            raise
        self._last_counts, self._bag = dict(bag.counts), None
        path = str(bag.path.resolve())
        self._finished.publish(String(data=path))
        lost = self._inputs.lost - self._lost_before
        self._look_at_stamps()
        words = '; '.join(
            [
                f'{path}: {", ".join(f"{n} {t}" for t, n in bag.counts.items())}',
                *[f'{lost} lost by the middleware'] * bool(lost),
                *(f'{key}: {value}' for key, value in self._clocks.values().items()),
            ]
        )
        self.get_logger().info(words)
        return path, words

    def _stop_and_check(self):
        """Close the bag; return what is in it and what the samples show, without a model."""
        path, words = self._stop()
        if sum(self._last_counts.values()) > CHECKED:
            return f'{words}; too long to be looked at: inertial-id check'
        try:
            bag = read_bag(path)
            found = channel_checks(
                replace(
                    bag,
                    channels={
                        topic: c
                        for topic, c in bag.channels.items()
                        if topic not in self._commands
                    },
                )
            )
        except InertialIdError as error:
            return f'{words}; not looked at: {error}'
        shown = [f'{f.severity}: {f.sentence()}' for f in found if f.severity != NOTE]
        for sentence in shown:
            self.get_logger().warning(sentence)
        return '; '.join([words, *shown])

    def _health(self):
        """Return (level, words, {key: value}) for diagnostics."""
        self._flush()  # what is reported is on the disk
        self._look_at_stamps()
        counts = self._bag.counts if self._bag else self._last_counts
        level, words = self._state()
        return (
            level,
            words,
            {
                'lost': self._inputs.lost - self._lost_before,
                **{f'{topic} count': count for topic, count in counts.items()},
                **{f'{topic} rate [Hz]': rate for topic, rate in self._rates.items()},
                **self._clocks.values(),
            },
        )

    def _look_at_stamps(self):
        """Note how often sensors measure, and whether their clocks go back or fall behind."""
        for topic, stamps in self._stamps.items():
            if stamps:
                self._clocks.add(topic, np.array(stamps, np.int64), self._newest[topic])
            step = np.median(np.diff(stamps)) if len(stamps) > 1 else 0.0
            self._rates[topic] = round(1e9 / step) if step > 0.0 else 0
            self._stamps[topic] = []

    def _state(self):
        """Return (level, words) for diagnostics."""
        if self._problem:
            return 'error', self._problem
        if self._clock_stands():
            return 'warn', 'use_sim_time: nobody publishes /clock'
        if self._bag is None:
            return 'ok', 'not recording'
        rare = [
            f'{topic} comes at {rate} Hz'
            for topic, rate in self._rates.items()
            if 0 < rate < SLOW and self._inputs.types[topic] == JOINT_STATE
        ]
        # Events and texts may be rare; a sensor is not.
        wrong = (
            self._clocks.silent(self._stamps)
            or self._clocks.slow()
            or (
                f'{", ".join(rare)}: slow for accelerations, is there a faster topic of the '
                'driver?'
                if rare
                else ''
            )
        )
        words = f'recording to {self._bag.path}'
        if wrong:
            return 'warn', f'{words}; {wrong}'
        return 'warn' if self._inputs.lost > self._lost_before else 'ok', words

    def destroy_node(self) -> None:
        """Close an open bag before the node goes: Ctrl-C loses nothing."""
        if self._bag is not None:
            faulthandler.cancel_dump_traceback_later()  # a slow disk is waited for
            self._flush()  # before the middleware is asked for more, which may not answer
            faulthandler.dump_traceback_later(LEAVE, exit=True)
            with suppress(RecordingError):  # published by then
                self._stop()
                deliver(self._finished)
        super().destroy_node()


def _check(options):
    """Raise ConfigError for words that are no mounting."""
    check_mounting(options.mounting or configured(options.config))


main = main_of(Recorder, __name__)
