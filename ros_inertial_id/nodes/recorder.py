"""
Node ``recorder``: topics into a rosbag2, nothing lost.

Messages are taken as the bytes they came in and written as such.  ``~/start`` opens a bag,
``~/stop`` closes it, says what is in it and what its samples show; latched ``~/recording`` names
the finished bag.
"""

from collections import deque
from contextlib import suppress
from dataclasses import dataclass
import datetime
import faulthandler
from pathlib import Path, PurePath

import numpy as np
from std_msgs.msg import String

from .conversions import deliver, every, latched, seconds, simulated_time, subscribe
from .parameters import check_mounting, configured_mounting, declare_options
from .running import GuardedNode, LEAVE, run
from .subscriptions import no_decoder, Subscriptions
from ..checks.channel_checks import channel_checks
from ..checks.finding import NOTE
from ..errors import ConfigError, InertialIdError, RecordingError
from ..identification.files import make_folder
from ..measurement.bags.bag import read_bag
from ..measurement.bags.messages import DECODERS, encode_string, header_stamp_ns, JOINT_STATE
from ..measurement.bags.writing import BagWriter
from ..measurement.stream_clock import StreamClock
from ..options import option

STRING = 'std_msgs/msg/String'
FLUSH = 0.4  # [s] what a killed recorder loses at most, also of a topic that fell silent
SILENCE = 2.0  # [s] without a message of a sensor that are worth a warning
WHOLE = 0.9  # [s] by which messages are counted at least
SLOW = 90.0  # [Hz] of joint states: accelerations need more, and drivers publish 100 or more
HEADER = 12  # bytes of a message with its stamp, which is not all of it
MOST_LATCHED = 100  # messages of a latched topic that are kept for the next bag
PERIODS = '/periods'  # bounds of one motion, which another recording knows nothing of
CHECKED = 200_000  # messages of a bag that ~/stop looks at before it answers: about a second


@dataclass(frozen=True)
class RecorderOptions:
    """What is recorded and where to."""

    topics: tuple[str, ...] = option(
        ('joint_states',), 'topics to record, of any type that the package can decode')
    out: str = option('recordings', 'folder of the bags')
    name: str = option('', 'name of the next bag; empty: date and time')
    storage: str = option('mcap', 'storage of the bag', choices=('mcap', 'sqlite3'))
    config: str = option('', 'YAML of the robot, whose mounting holds where none is given')
    mounting: str = option('', 'how the robot is mounted, written into the bag; empty: as the '
                           'configuration says, else upright')


class Recorder(GuardedNode):
    """Subscribes as soon as a topic has a publisher, writes between start and stop."""

    _bag: BagWriter | None = None  # also of a node that was refused before it was complete

    def __init__(self, **node_options):
        super().__init__('recorder', **node_options)
        self._options = declare_options(self, RecorderOptions, settable=('name', 'mounting'),
                                        check=_check)  # of the next bag
        self._inputs = Subscriptions(self, self._write)
        topic = self.resolve_topic_name('robot_description')
        self._description_topic, self._description = topic, b''
        self._topics = [name for name in self._inputs.resolved(self._options.topics)
                        if name != topic]
        self._undecoded = {}
        self._lost_before, self._began = 0, 0.0
        self._simulated = simulated_time(self)
        self._problem: str | None = None
        self._bag_path = ''  # of the last one
        self._last_counts, self._counted, self._received = {}, {}, {}
        # By topic: stamps [ns] since the last look, when the newest came [ns], their StreamClock.
        self._stamps, self._newest, self._clocks = {}, {}, {}
        self._rates, self._counted_at = {}, 0.0  # [Hz], [s]
        # What was latched before a bag was open: static transforms come from several publishers.
        self._kept = {}
        self._finished = self.create_publisher(String, '~/recording', latched())
        subscribe(self, String, topic, self._take_description, latched(), raw=True)
        self.offer('~/start', self._start)
        self.offer('~/stop', self._stop_and_check)
        every(self, 0.2, self._look_for_publishers)
        every(self, FLUSH, self._flush)
        self.report(self._health)
        self.get_logger().info(
            f"ready to record {', '.join(self._topics)} to {self._options.out}, "
            f'mounting {self._mounting()!r}; call ~/start')

    def _mounting(self):
        return (self.get_parameter('mounting').value
                or configured_mounting(self._options.config) or 'upright')

    def _look_for_publishers(self):
        """Subscribe to topics that have got a publisher; return the names of those without."""
        missing = self._inputs.look(self._topics)
        undecoded = dict(self._inputs.undecoded)
        if undecoded.keys() - self._undecoded.keys():
            self.get_logger().error(str(no_decoder(undecoded)))
        self._undecoded = undecoded
        return missing

    def _take_description(self, message):
        self._description = bytes(message)
        if self._bag is not None:
            try:
                self._write_latched(self._bag, [(self._description_topic, self._description)])
            except RecordingError as error:
                self._give_up(error)

    def _write_latched(self, bag, messages):
        """Write [(topic, message)] of what late joiners get, as received now."""
        for topic, message in messages:
            if topic not in bag.counts:
                bag.add_topic(topic, STRING, latched=True)
            bag.write(topic, message, self.get_clock().now().nanoseconds)

    def _write(self, topic, messages, received_ns):
        """Write messages, as received by our clock where it is a simulated one."""
        latched = self._inputs.latched(topic)
        if latched and not topic.endswith(PERIODS):
            self._kept.setdefault(topic, deque(maxlen=MOST_LATCHED)).extend(messages)
        if self._bag is None:
            return
        # A middleware that does not say when it received a message says 0.
        times = (received_ns if all(received_ns) and not self._simulated
                 else [self.get_clock().now().nanoseconds] * len(messages))
        self._received[topic], self._newest[topic] = times[-1] * 1e-9, received_ns[-1]
        try:
            self._bag.write_all(topic, messages, times)
        except RecordingError as error:
            self._give_up(error)
            return
        if DECODERS[self._inputs.types[topic]].header == 'header' and not latched:
            stamps = [header_stamp_ns(data) for data in messages if len(data) > HEADER]
            self._stamps.setdefault(topic, []).extend(stamps)

    def _flush(self):
        if self._bag is None:
            return
        if not any(self._bag.path.glob('*')):
            self._give_up(RecordingError(
                f'the bag {self._bag.path} was deleted while it was recorded; what was in it is '
                'lost', do='call ~/start again'))
            return
        try:
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
        name = (self.get_parameter('name').value
                or datetime.datetime.now().strftime('%Y-%m-%d_%H-%M-%S_%f')[:-3])
        make_folder(self._options.out)
        bag = BagWriter(Path(self._options.out, name), self._options.storage)
        for topic in self._topics:
            bag.add_topic(topic, self._inputs.types[topic], self._inputs.latched(topic))
        self._write_latched(bag, self._latched_so_far())
        self._began = seconds(self)
        self._received = dict.fromkeys(self._topics, self._began)
        self._stamps, self._newest, self._clocks = {}, {}, {}
        self._rates, self._counted, self._counted_at = {}, {}, self._began
        self._problem, self._bag = None, bag
        self._lost_before = self._inputs.lost
        self.get_logger().info(f'recording to {bag.path}')
        return str(bag.path)

    def _latched_so_far(self):
        """Return [(topic, message)] of what a late joiner gets, mounting and description first."""
        out = [(self.resolve_topic_name('mounting'), encode_string(self._mounting()))]
        if self._description:
            out.append((self._description_topic, self._description))
        else:
            self.get_logger().warning(
                f'no {self._description_topic} yet: a bag without it needs --urdf')
        return out + [(topic, message) for topic in self._topics
                      for message in self._kept.get(topic, ())]

    def _refuse_without_topics(self):
        """Raise RecordingError where a topic has no publisher or decoder, or the clock stands."""
        missing = self._look_for_publishers()
        if self._undecoded:
            raise no_decoder(self._undecoded)
        if missing:
            raise RecordingError(f"nobody publishes {', '.join(missing)}", exists=sorted(
                t for t, types in self.get_topic_names_and_types()
                if types[0] in DECODERS and t not in missing),
                do='start the driver, or correct topics:')
        if self._clock_stands():
            raise RecordingError('use_sim_time: the clock stands at 0',
                                 do='start the simulation, or leave out use_sim_time')

    def _clock_stands(self):
        return not self.get_clock().now().nanoseconds

    def _stop(self):
        if self._bag is None:
            raise RecordingError(self._problem or 'not recording',
                                 do='' if self._problem else 'call ~/start first')
        bag = self._bag
        self._inputs.drain()
        if self._bag is None:
            raise RecordingError(self._problem)
        try:
            bag.close()
        except RecordingError as error:
            self._give_up(error)
            raise
        self._last_counts, self._bag = dict(bag.counts), None
        self._bag_path = path = str(bag.path.resolve())
        self._finished.publish(String(data=path))
        counts = ', '.join(f'{n} {t}' for t, n in bag.counts.items())
        lost = self._inputs.lost - self._lost_before
        words = f'{path}: {counts}' + (f'; {lost} lost by the middleware' if lost else '')
        self._look_at_stamps()
        for topic, clock in self._clocks.items():
            if clock.jumps:
                words += (f'; {topic}: {clock.jumped}, {clock.jumps} such in all: was its '
                          'publisher restarted, or its clock set?')
        self.get_logger().info(words)
        return words

    def _stop_and_check(self):
        """Close the bag; return what is in it and what the samples show, without a model."""
        words = self._stop()
        if sum(self._last_counts.values()) > CHECKED:
            return f'{words}; too long to be looked at: inertial-id check'
        try:
            found = channel_checks(read_bag(self._bag_path))
        except InertialIdError as error:
            return f'{words}; not looked at: {error}'
        shown = [f'{f.severity}: {f.sentence()}' for f in found if f.severity != NOTE]
        for sentence in shown:
            self.get_logger().warning(sentence)
        return '; '.join([words, *shown])

    def _health(self):
        """Return (level, words, {key: value}) for diagnostics."""
        self._flush()  # what is reported is on the disk
        counts = self._bag.counts if self._bag else self._last_counts
        passed = seconds(self) - self._counted_at
        if not 0.0 <= passed < WHOLE:  # of the robot's time, however slowly it passes
            self._rates = {topic: round(max(0, count - self._counted.get(topic, 0)) / passed)
                           for topic, count in counts.items() if passed > 0.0}
            self._counted, self._counted_at = dict(counts), seconds(self)
        rates = {topic: self._rates.get(topic, 0) for topic in counts}
        self._look_at_stamps()
        level, words = self._state(rates)
        values = {'lost': self._inputs.lost - self._lost_before}
        for topic, count in counts.items():
            values[f'{topic} count'] = count
            values[f'{topic} rate [Hz]'] = rates[topic]
        return level, words, values

    def _look_at_stamps(self):
        """Note whether stamps go back, or fall behind the clock of this computer."""
        for topic, stamps in self._stamps.items():
            clock = self._clocks.setdefault(topic, StreamClock())
            clock.sound(np.array(stamps, np.int64))
            if not simulated_time(self):
                clock.look((stamps[-1], self.get_clock().now().nanoseconds), self._newest[topic],
                           len(stamps))
        self._stamps = {}

    def _state(self, rates):
        """Return (level, words) for diagnostics; rates : [Hz] by topic."""
        if self._problem:
            return 'error', self._problem
        if self._clock_stands():
            return 'warn', 'use_sim_time: nobody publishes /clock'
        if self._bag is None:
            return 'ok', 'not recording'
        words, now = f'recording to {self._bag.path}', seconds(self)
        silent = [topic for topic, at in self._received.items() if now - at > SILENCE
                  and DECODERS[self._inputs.types[topic]].header
                  and not self._inputs.latched(topic)]
        if silent:  # events and texts may be rare; a sensor is not
            return 'warn', f"{words}; nothing received on {', '.join(silent)}"
        slow = [f'{topic} falls behind: {clock.slow()}' for topic, clock in self._clocks.items()
                if clock.slow()]
        if slow:
            return 'warn', '; '.join([words, *slow])
        rare = [f'{topic} comes at {rate} Hz' for topic, rate in rates.items()
                if 0 < rate < SLOW and self._inputs.types.get(topic) == JOINT_STATE]
        if rare and now - self._began > SILENCE:  # the first second is no whole one
            return 'warn', (f"{words}; {', '.join(rare)}: slow for accelerations, is there a "
                            'faster topic of the driver?')
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
    """Raise ConfigError for a name that is not that of a file in its folder, or no mounting."""
    name = options.name
    if name and (PurePath(name).name != name or name == '..' or '\0' in name):
        raise ConfigError('parameter name', expected='a name without a folder',
                          found=repr(name), do='the folder is the parameter out')
    check_mounting(options.mounting or configured_mounting(options.config))


def main() -> int:
    """Run the node; return the exit status of its process."""
    return run(Recorder)
