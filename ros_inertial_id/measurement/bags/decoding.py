"""
From equal bytes to arrays: how a Decoder's paths become the fields of one Channel.

Messages are decoded in batches.  Within a batch those of one layout (cdr.py) are read together;
each such group is a part with names of its own, and the parts are joined at the end.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from .cdr import CdrError, Layout, Numbers, RawMessages, walk
from .unpacked_size import check_unpacked
from ..recording import Channel, joined, TF

_BATCH = 4096  # messages decoded at once, at least
_TOGETHER = 1 << 25  # bytes of parts that wait in memory; joined, they lie in files
_SUBROWS = 1 << 20  # more than the transforms of one message
_LARGEST = 1e12  # SI: more is no quantity of a joint or body, but a damaged number
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
        self._waiting: list[RawMessages] = []
        self._waits = self.count = self._bytes = 0
        self._names: set[str] = set()
        self._parts, self._merged = list[Channel](), list[Channel]()

    def add(self, raw: RawMessages) -> None:
        """Take more messages, in the order they came."""
        self._waiting.append(raw)
        self._waits += len(raw)
        if self.type != TF and self._waits >= _BATCH:
            self._decode()

    def channel(self) -> Channel:
        """Return the Channel of all messages, once."""
        self._decode()
        none = np.empty(0, np.int64)
        whole = joined(
            self._merged + self._parts or [Channel(self.topic, self.type, none, none, {})]
        )
        del self._merged, self._parts  # hours of motion are there once
        stamped = whole.stamp_ns.any()
        self.unstamped = len(whole) > 1 and not stamped
        return whole if stamped else replace(whole, stamp_ns=whole.received_ns.copy())

    def _decode(self):
        waiting, self._waiting, self._waits = self._waiting[::-1], [], 0
        while waiting:
            batch, size = [], 0
            while waiting and size < _BATCH:
                batch.append(waiting.pop())
                size += len(batch[-1])
            raw = RawMessages.joined(batch)
            left = np.arange(len(raw))
            parts: list[tuple[np.ndarray, Channel]] = []
            while left.size:
                left = self._decode_alike(raw, left, parts)
            self._bytes += raw.data.size
            self._names.update(name for _, channel in parts for name in channel.names)
            check_unpacked(
                f'topic {self.topic}',
                8 * len(self._decoder.fields) * len(self._names) * (self.count + len(raw)),
                len(self._names),
                self._bytes,
            )
            if parts:
                whole = joined([channel for _, channel in parts])
                order = np.concatenate([order for order, _ in parts])
                if (order[1:] < order[:-1]).any():  # several layouts take turns
                    whole = whole.rows(np.argsort(order, kind='stable'))
                self._parts.append(whole)
            self.count += len(raw)
            if (
                sum(
                    x.nbytes
                    for c in self._parts
                    for x in (c.stamp_ns, c.received_ns, *c.fields.values())
                )
                > _TOGETHER
            ):
                self._merged.append(joined(self._parts))
                self._parts = []

    def _decode_alike(self, raw, left, parts):
        """Decode those of ``left`` with the layout of its first; return which are left then."""
        first = left[0]
        start = raw.lengths[:first].sum()
        try:
            shape = _shape(
                self._message,
                self._decoder,
                raw.data[start : start + raw.lengths[first]].tobytes(),
            )
        except (CdrError, UnicodeDecodeError) as error:
            self._refuse(first, error)
            return left[1:]
        alike = raw.lengths[left] == raw.lengths[first]
        data = raw.rows(left[alike])
        fits = shape.layout.fits(data)
        if not fits.all():
            alike[alike], data = fits, data[fits]
        self._add_parts(shape, data, raw.received_ns[left[alike]], left[alike], parts)
        return left[~alike]

    def _add_parts(self, shape, data, received, index, parts):
        """Add the parts of messages of one layout; one by one where some are malformed."""
        try:
            parts += [
                (
                    order,
                    Channel(self.topic, self.type, stamp, received, fields, names, shape.frame),
                )
                for order, stamp, fields, names in shape.parts(data, received, index)
            ]
        except (CdrError, UnicodeDecodeError) as error:
            if len(index) == 1:
                self._refuse(index[0], error)
                return
            middle = len(index) // 2
            for half in slice(middle), slice(middle, None):
                self._add_parts(shape, data[half], received[half], index[half], parts)

    def _refuse(self, index, error):
        self.refused += 1
        self.reason = self.reason or (
            f'topic {self.topic}, message {self.count + index}: cannot '
            f'be read as {self._message}; found {error}'
        )


@dataclass(frozen=True)
class _Shape:
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
        fields, order, stamp = self._fields(data), index * _SUBROWS, received
        if self.stamp:  # one, or one for each element
            sec, nanosec = (numbers.read(data).astype(np.int64) for numbers in self.stamp)
            stamp = sec * 1_000_000_000 + nanosec
        for name, values in fields.items():
            if (
                name != 'data'
                and (wrong := abs(values) > _LARGEST).any()
                and (wrong := wrong & np.isfinite(values)).any()
            ):
                raise CdrError(f'{values[wrong][0]:.3g} in {name}, which nothing measured is')
        if (wrong := abs(stamp.T - received) > _CENTURY_NS).any():
            raise CdrError(f'a stamp of {stamp.T[wrong][0]} ns, a century from its reception')
        if stamp.ndim == 2 and (stamp != stamp[:, :1]).any():
            return [
                (
                    order + j,
                    stamp[:, j].copy(),
                    {key: values[:, j : j + 1] for key, values in fields.items()},
                    (name,),
                )
                for j, name in enumerate(self.names)
            ]
        if len(set(self.names)) < len(self.names):
            raise CdrError(f'a name twice in {", ".join(self.names)}')
        if stamp.ndim == 2:  # no element, no stamp
            stamp = stamp[:, 0] if self.names else received
        return [(order, stamp, fields, self.names)]

    def _fields(self, data):
        fields = {name: numbers.read(data) for name, numbers in self.fields.items()}
        for name, labels in self.lacking.items():
            fields[name][:, labels] = np.nan
        for name, numbers in self.covariance.items():
            fields[name][numbers.read(data)[:, 0] == -1.0] = np.nan
        if self.text is not None:
            fields['data'] = np.array([row[self.text].tobytes().decode() for row in data], object)
        return fields


# (type, length of the message) -> the shapes seen last
_SHAPES: dict[tuple[str, int], tuple[_Shape, ...]] = {}


def _shape(type_name, decoder, message):
    """Return the _Shape that fits the message; one seen before costs no walk."""
    data = np.frombuffer(message, np.uint8)[None]
    known = _SHAPES.get(key := (type_name, len(message)), ())
    for shape in known:
        if shape.layout.fits(data)[0]:
            return shape
    if len(_SHAPES) > 1000:
        _SHAPES.clear()
    _SHAPES[key] = (_new_shape(type_name, decoder, message), *known[:7])
    return _SHAPES[key][0]


def _new_shape(type_name, decoder, message):
    fixed = [path.rpartition('.')[2] for path in (*decoder.labels, decoder.action)]
    layout = walk(type_name, message, (decoder.text,), fixed, decoder.last, decoder.only)
    labels = [layout.values(path, message) for path in decoder.labels]
    names = tuple('/'.join(str(word) for word in words if word != '') for words in zip(*labels))
    fields, lacking = (
        ({name: layout.numbers(path) for name, path in decoder.fields.items()}, {})
        if not decoder.interfaces
        else _interfaces(layout, decoder, message)
    )
    fields = {name: numbers for name, numbers in fields.items() if numbers.offsets.size}
    single = bool(labels) and not isinstance(layout.find(decoder.labels[0]), list)
    for name, numbers in fields.items():
        if labels and not single and len(numbers.offsets) != len(names):
            raise CdrError(f'{len(numbers.offsets)} values of {name} for {len(names)} names')
    stamp = [
        layout.numbers(f'{decoder.header}.stamp.{unit}')
        for unit in ('sec', 'nanosec')
        if decoder.header
    ]
    frames = layout.values(f'{decoder.header}.frame_id', message) if decoder.header else []
    if decoder.action:
        elements = np.flatnonzero(np.array(layout.values(decoder.action, message), int) == 0)
        names = tuple(names[i] for i in elements)
        stamp = [Numbers(own.dtype, own.offsets[elements]) for own in stamp]
    for name, own in fields.items() if single or decoder.action else ():
        fields[name] = Numbers(own.dtype, own.offsets[None if single else elements])
    return _Shape(
        layout,
        fields,
        lacking,
        {name: layout.numbers(path) for name, path in decoder.covariance.items()},
        stamp,
        names,
        next(iter(frames), ''),
        layout.find(decoder.text) if decoder.text else None,
    )


def _interfaces(layout, decoder, message):
    """Return Numbers by field, one per label, and (k,) which labels lack it."""
    numbers, lacking, nodes = {}, {}, layout.find(decoder.interfaces)
    for name in decoder.fields:
        offsets = np.array(
            [
                next(
                    (
                        node['values'].offsets[k]
                        for k, text in enumerate(node['interface_names'])
                        if message[text] == name.encode()
                    ),
                    -1,
                )
                for node in nodes
            ],
            int,
        )
        if (offsets >= 0).any():
            numbers[name] = Numbers(
                nodes[0]['values'].dtype, np.where(offsets < 0, offsets.max(), offsets)
            )
            lacking[name] = offsets < 0
    return numbers, lacking
