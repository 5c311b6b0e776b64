"""
From equal bytes to arrays: how a Decoder's paths become the fields of one Channel.

Messages are decoded in batches.  Within a batch those of one layout (cdr.py) are read together;
each such group is a part with names of its own, and the parts are joined at the end.
"""

from dataclasses import dataclass, field, replace
import sys

import numpy as np

from .cdr import CdrError, Layout, Numbers, RawMessages, walk
from .unpacked_size import check_unpacked
from ..recording import Channel, joined, TF

_BATCH = 4096  # messages decoded at once, at least
_TOGETHER = 1 << 25  # bytes of parts that wait in memory; joined, they lie in files
_SUBROWS = 1 << 20  # more than the transforms of one message
_LARGEST_NUMBER = 1e12  # SI: more is no quantity of a joint or body, but a damaged number
_CENTURY_NS = 100 * 365 * 86_400 * 10**9  # between clocks: simulated time begins at 0


@dataclass(frozen=True)
class Decoder:
    """
    How messages of one type become the fields of a Channel; paths as in the definition.

    fields : name of the field -> path of its numbers
    header : path of the std_msgs/Header that gives stamp and frame
    labels : paths of the strings or integers that together name axis 1
    text : path of a string that becomes the field ``data``
    covariance : name of a field -> path of its covariance, which begins with -1 for "unknown"
    action : path of integers; elements where it is not 0 (deleted markers) are left out
    interfaces : path of a sequence of interface_names and values, one per label: the fields are
        named there, and a label may lack some
    becomes : type of the Channel, where it is not that of the messages
    last : name of the last field that is read, where versions of the type differ behind it
    only : name of a sequence that is to have one element
    """

    fields: dict[str, str] = field(default_factory=dict)
    header: str = ''
    labels: tuple[str, ...] = ()
    text: str = ''
    covariance: dict[str, str] = field(default_factory=dict)
    action: str = ''
    interfaces: str = ''
    becomes: str = ''
    last: str = ''
    only: str = ''


class ChannelBuilder:
    """
    A Channel that grows batch by batch, holding little more than its arrays.

    count : number of messages that were decoded
    refused : of them that cannot be read as the type; reason : why the first cannot
    unstamped : whether several came and none has a stamp: the times of reception stand in
    """

    def __init__(self, type_name: str, decoder: Decoder, topic: str) -> None:
        self.type, self.topic = decoder.becomes or type_name, topic
        self._message, self._decoder = type_name, decoder
        self.refused, self.reason, self.unstamped = 0, '', False
        self._first_refused = sys.maxsize  # its number; layouts are decoded one after the other
        self._waiting: list[RawMessages] = []
        self._waiting_count = self.count = self._decoded_bytes = 0
        self._names: set[str] = set()
        self._parts, self._merged = list[Channel](), list[Channel]()
        self._part_bytes = 0  # of what waits in ``_parts``

    def add(self, raw: RawMessages) -> None:
        """Take more messages, in the order they came."""
        self._waiting.append(raw)
        self._waiting_count += len(raw)
        if self.type != TF and self._waiting_count >= _BATCH:
            self._decode()

    def channel(self) -> Channel:
        """Return the Channel of all messages, once."""
        self._decode()
        none = np.empty(0, np.int64)
        empty_channel = Channel(self.topic, self.type, none, none, {})
        channel = joined(self._merged + self._parts or [empty_channel])
        del self._merged, self._parts  # hours of motion are there once
        if channel.stamp_ns.any():
            return channel
        self.unstamped = len(channel) > 1
        return replace(channel, stamp_ns=channel.received_ns.copy())

    def _decode(self):
        """Decode what waits, batch by batch."""
        waiting, self._waiting, self._waiting_count = self._waiting[::-1], [], 0
        while waiting:
            batch, messages = [], 0
            while waiting and messages < _BATCH:
                batch.append(waiting.pop())
                messages += len(batch[-1])
            self._decode_batch(RawMessages.joined(batch))

    def _decode_batch(self, raw):
        """Add what ``raw`` messages of one or several layouts hold to the parts."""
        rest = np.arange(len(raw))
        parts: list[tuple[np.ndarray, Channel]] = []
        while rest.size:
            rest = self._decode_alike(raw, rest, parts)
        self._decoded_bytes += raw.data.size
        for _, channel in parts:
            self._names.update(channel.names)
        check_unpacked(
            f'topic {self.topic}',
            8 * len(self._decoder.fields) * len(self._names) * (self.count + len(raw)),
            len(self._names),
            self._decoded_bytes,
        )
        self.count += len(raw)
        if parts:
            self._keep(parts)

    def _keep(self, parts):
        """Keep ``parts``, (order, Channel) each, as one in the order of their messages."""
        channel = joined([channel for _, channel in parts])
        order = np.concatenate([order for order, _ in parts])
        if (order[1:] < order[:-1]).any():  # several layouts take turns
            channel = channel.rows(np.argsort(order, kind='stable'))
        self._parts.append(channel)
        arrays = channel.stamp_ns, channel.received_ns, *channel.fields.values()
        self._part_bytes += sum(array.nbytes for array in arrays)
        if self._part_bytes > _TOGETHER:
            self._merged.append(joined(self._parts))
            self._parts, self._part_bytes = [], 0

    def _decode_alike(self, raw, rest, parts):
        """Decode those of ``rest`` with the layout of its first; return which are left then."""
        first = rest[0]
        start = raw.lengths[:first].sum()
        message = raw.data[start : start + raw.lengths[first]].tobytes()
        try:
            channel_layout = _channel_layout(self._message, self._decoder, message)
        except (CdrError, UnicodeDecodeError) as error:
            self._refuse(first, error)
            return rest[1:]
        alike = raw.lengths[rest] == raw.lengths[first]
        data = raw.rows(rest[alike])
        fits = channel_layout.layout.fits(data)
        if not fits.all():
            alike[alike], data = fits, data[fits]
        self._add_parts(channel_layout, data, raw.received_ns[rest[alike]], rest[alike], parts)
        return rest[~alike]

    def _add_parts(self, channel_layout, data, received, index, parts):
        """Add the parts of messages of one layout; one by one where some are malformed."""
        try:
            for order, stamp, fields, names in channel_layout.parts(data, received, index):
                channel = Channel(
                    self.topic, self.type, stamp, received, fields, names, channel_layout.frame
                )
                parts.append((order, channel))
        except (CdrError, UnicodeDecodeError) as error:
            if len(index) == 1:
                self._refuse(index[0], error)
                return
            middle = len(index) // 2
            for half in slice(middle), slice(middle, None):
                self._add_parts(channel_layout, data[half], received[half], index[half], parts)

    def _refuse(self, index, error):
        self.refused += 1
        number = self.count + int(index)
        if number < self._first_refused:
            self._first_refused = number
            self.reason = (
                f'topic {self.topic}, message {number}: cannot '
                f'be read as {self._message}; found {error}'
            )


@dataclass(frozen=True)
class _ChannelLayout:
    """A Layout, where in it the fields of a Channel are, and which labels (k,) lack a field."""

    layout: Layout
    fields: dict
    lacking: dict
    covariance: dict
    stamp: list
    names: tuple
    frame: str
    text: slice | None

    def parts(self, data, received, index):
        """
        Return (order among all of the batch, stamps, fields, names), one for each stamp.

        Raises CdrError where a number or stamp of any message can be none.
        """
        fields, order = self._fields(data), index * _SUBROWS
        _refuse_damaged_numbers(fields)
        stamp = self._stamps(data, received)
        _refuse_damaged_stamps(stamp, received)
        if stamp.ndim == 2 and (stamp != stamp[:, :1]).any():
            return self._by_element(order, stamp, fields)
        if len(set(self.names)) < len(self.names):
            raise CdrError(f'a name twice in {", ".join(self.names)}')
        if stamp.ndim == 2 and self.names:  # equal ones of all elements
            stamp = stamp[:, 0]
        elif stamp.ndim == 2:  # no element, no stamp
            stamp = received
        return [(order, stamp, fields, self.names)]

    def _by_element(self, order, stamp, fields):
        """Return the parts of elements that have stamps (n, k) of their own; see ``parts``."""
        parts = []
        for j, name in enumerate(self.names):
            of_element = {key: values[:, j : j + 1] for key, values in fields.items()}
            parts.append((order + j, stamp[:, j].copy(), of_element, (name,)))
        return parts

    def _stamps(self, data, received):
        """Return the stamps (n,) [ns], (n, k) of k elements that have each one."""
        if not self.stamp:
            return received
        sec, nanosec = (numbers.read(data).astype(np.int64) for numbers in self.stamp)
        return sec * 1_000_000_000 + nanosec

    def _fields(self, data):
        fields = {name: numbers.read(data) for name, numbers in self.fields.items()}
        for name, labels in self.lacking.items():
            fields[name][:, labels] = np.nan
        for name, numbers in self.covariance.items():
            fields[name][numbers.read(data)[:, 0] == -1.0] = np.nan
        if self.text is not None:
            fields['data'] = np.array([row[self.text].tobytes().decode() for row in data], object)
        return fields


def _refuse_damaged_numbers(fields):
    """Raise CdrError for a number in ``fields`` that nothing measured is."""
    for name, values in fields.items():
        if name == 'data':  # text, or numbers of any unit
            continue
        large = abs(values) > _LARGEST_NUMBER
        if not large.any():
            continue
        large &= np.isfinite(values)
        if large.any():
            raise CdrError(f'{values[large][0]:.3g} in {name}, which nothing measured is')


def _refuse_damaged_stamps(stamp, received):
    """Raise CdrError for a ``stamp`` (n,) or (n, k) far from when it was ``received`` (n,)."""
    far = abs(stamp.T - received) > _CENTURY_NS
    if far.any():
        raise CdrError(f'a stamp of {stamp.T[far][0]} ns, a century from its reception')


# (type, length of the message) -> those seen last
_LAYOUTS: dict[tuple[str, int], tuple[_ChannelLayout, ...]] = {}


def _channel_layout(type_name, decoder, message):
    """Return the _ChannelLayout that fits the message; one seen before costs no walk."""
    data = np.frombuffer(message, np.uint8)[None]
    key = type_name, len(message)
    seen_last = _LAYOUTS.get(key, ())
    for channel_layout in seen_last:
        if channel_layout.layout.fits(data)[0]:
            return channel_layout
    if len(_LAYOUTS) > 1000:
        _LAYOUTS.clear()
    channel_layout = _new_channel_layout(type_name, decoder, message)
    _LAYOUTS[key] = (channel_layout, *seen_last[:7])
    return channel_layout


def _new_channel_layout(type_name, decoder, message):
    """Return the _ChannelLayout of a ``message`` of a layout that was not seen before."""
    fixed = [path.rpartition('.')[2] for path in (*decoder.labels, decoder.action)]
    layout = walk(type_name, message, (decoder.text,), fixed, decoder.last, decoder.only)
    names = _names(layout, decoder, message)
    fields, lacking = _numbers(layout, decoder, message)
    stamp, frame = _header(layout, decoder, message)
    if decoder.labels and not isinstance(layout.find(decoder.labels[0]), list):
        fields = _at(fields, None)  # of one label
    elif decoder.labels:
        _check_counts(fields, names)
    if decoder.action:
        actions = np.array(layout.values(decoder.action, message), int)
        present = np.flatnonzero(actions == 0)
        names = tuple(names[i] for i in present)
        stamp = [numbers.at(present) for numbers in stamp]
        fields = _at(fields, present)
    covariance = {name: layout.numbers(path) for name, path in decoder.covariance.items()}
    text = None
    if decoder.text:
        text = layout.find(decoder.text)
    return _ChannelLayout(layout, fields, lacking, covariance, stamp, names, frame, text)


def _at(fields, elements):
    """Return the Numbers of ``fields`` at some ``elements`` (k,), None for a single one."""
    return {name: numbers.at(elements) for name, numbers in fields.items()}


def _names(layout, decoder, message):
    """Return the names of axis 1: of each element its labels, joined by a slash."""
    labels = [layout.values(path, message) for path in decoder.labels]
    return tuple('/'.join(str(word) for word in words if word != '') for words in zip(*labels))


def _numbers(layout, decoder, message):
    """Return {field: Numbers} of those that a message has, {field: (k,) which labels lack it}."""
    if decoder.interfaces:
        return _interfaces(layout, decoder, message)
    fields = {name: layout.numbers(path) for name, path in decoder.fields.items()}
    return {name: numbers for name, numbers in fields.items() if numbers.offsets.size}, {}


def _check_counts(fields, names):
    """Raise CdrError where a field has not as many numbers as there are ``names``."""
    for name, numbers in fields.items():
        if len(numbers.offsets) != len(names):
            raise CdrError(
                f'{len(numbers.offsets)} values of {name} for {len(names)} names: send one for '
                'each name, NaN for a joint that has none, or none at all'
            )


def _header(layout, decoder, message):
    """Return the Numbers of seconds and nanoseconds, and the frame; [] and '' without header."""
    if not decoder.header:
        return [], ''
    stamp = [layout.numbers(f'{decoder.header}.stamp.{unit}') for unit in ('sec', 'nanosec')]
    frames = layout.values(f'{decoder.header}.frame_id', message)
    return stamp, next(iter(frames), '')


def _interfaces(layout, decoder, message):
    """Return Numbers by field, one per label, and (k,) which labels lack it."""
    numbers, lacking, nodes = {}, {}, layout.find(decoder.interfaces)
    for name in decoder.fields:
        offsets = np.array([_interface(node, name.encode(), message) for node in nodes], int)
        absent = offsets < 0
        if not absent.all():
            offsets[absent] = offsets.max()
            numbers[name] = Numbers(nodes[0]['values'].dtype, offsets)
            lacking[name] = absent
    return numbers, lacking


def _interface(node, name, message):
    """Return the byte at which a label's value of the interface ``name`` begins, -1 without."""
    names = [message[text] for text in node['interface_names']]
    if name not in names:
        return -1
    number, offsets = names.index(name), node['values'].offsets
    if number >= len(offsets):
        raise CdrError(f'{len(offsets)} values for {len(names)} names of interfaces')
    return offsets[number]
