"""
From equal bytes to arrays: how a Decoder's paths become the fields of one Channel.

Messages are decoded in batches.  Within a batch those of one layout (cdr.py) are read together;
each such group is a part with names of its own, and the parts are joined at the end.
"""

from dataclasses import dataclass, field

import numpy as np

from .cdr import Block, CdrError, Layout, walk
from .raw_messages import RawMessages
from ..large_arrays import empty, LARGE, page_out
from ..recording import Channel, TF

_BATCH = 4096          # messages decoded at once, at least
_MERGE = 64            # parts merged at once, so that small arrays do not litter the memory
_SUBROWS = 1 << 20     # more than the transforms of one message
_ROOM = 1 << 27        # bytes of a Channel that are kept in memory; what follows lies in files


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
    """

    fields: dict[str, str] = field(default_factory=dict)
    header: str = ''
    labels: tuple[str, ...] = ()
    text: str = ''
    covariance: dict[str, str] = field(default_factory=dict)
    action: str = ''


class ChannelBuilder:
    """
    A Channel that grows batch by batch, holding little more than its arrays.

    type, topic : of the Channel
    refused : number of messages that are left out since they are no whole ones of the type
    reason : why the first of them is refused
    """

    def __init__(self, type_name: str, decoder: Decoder, topic: str) -> None:
        self.type, self.topic = type_name, topic
        self.refused, self.reason = 0, ''
        self._decoder = decoder
        self._waiting: list[RawMessages] = []
        self._waits = self._count = self._held = 0
        self._parts: list[_Part] = []
        self._merged: list[_Part] = []

    def add(self, raw: RawMessages) -> None:
        """
        Take more messages.

        raw : CDR, in the order they came
        """
        self._waiting.append(raw)
        self._waits += len(raw)
        if self.type != TF and self._waits >= _BATCH:
            self._decode()

    def channel(self) -> Channel:
        """Return the Channel; the builder is empty afterwards."""
        self._decode()
        part = self._merge(self._merged + self._parts)
        self._parts, self._merged, self._count, self._held = [], [], 0, 0
        stamp = part.stamp if part.stamp.any() else part.received.copy()
        return Channel(self.topic, self.type, stamp, part.received, part.fields, part.names,
                       part.frame)

    def _decode(self):
        waiting, self._waiting, self._waits = self._waiting[::-1], [], 0
        while waiting:
            batch = [waiting.pop()]
            while waiting and sum(map(len, batch)) < _BATCH:
                batch.append(waiting.pop())
            raw = RawMessages.joined(batch)
            left = np.arange(len(raw))
            while left.size:
                left = self._decode_alike(raw, left)
            self._count += len(raw)
            if len(self._parts) >= _MERGE:
                self._held += sum(map(_size, self._parts))
                self._merged.append(self._merge(self._parts))
                self._parts = []

    def _merge(self, parts):
        return _merge(parts, 1 if self._held > _ROOM else LARGE)

    def _decode_alike(self, raw, left):
        """Decode those of ``left`` with the layout of its first; return which are left then."""
        first = left[0]
        try:
            shape = _shape(self.type, self._decoder, raw.message(first))
        except (CdrError, UnicodeDecodeError) as error:
            self._refuse(self._count + first, error)
            return left[1:]
        alike = raw.lengths[left] == raw.lengths[first]
        data = raw.rows(left[alike])
        fits = shape.layout.fits(data)
        if not fits.all():
            alike[alike], data = fits, data[fits]
        self._add_parts(shape, data, raw.received_ns[left[alike]], self._count + left[alike])
        return left[~alike]

    def _add_parts(self, shape, data, received, index):
        """Add the parts of messages of one layout; one by one where some are malformed."""
        try:
            self._parts += shape.parts(data, received, index)
        except (CdrError, UnicodeDecodeError) as error:
            if len(index) == 1:
                self._refuse(index[0], error)
                return
            for i in range(len(index)):
                self._add_parts(shape, data[i:i + 1], received[i:i + 1], index[i:i + 1])

    def _refuse(self, index, error):
        self.refused += 1
        self.reason = self.reason or (f'topic {self.topic}, message {index}: not a whole '
                                      f'{self.type}; found {error}')


@dataclass
class _Part:
    """Rows with the same names; ``order`` sorts them among all others'."""

    order: np.ndarray
    stamp: np.ndarray
    received: np.ndarray
    names: tuple
    frame: str
    fields: dict


@dataclass(frozen=True)
class _Shape:
    """
    A Layout and where in it the fields of a Channel are.

    keep : columns of axis 1 that are no deleted markers, None for all
    single : the message is one element of axis 1, not a sequence of them
    """

    layout: Layout
    fields: dict
    covariance: dict
    stamp: tuple
    names: tuple
    frame: str
    text: slice | None
    keep: np.ndarray | None
    single: bool

    def parts(self, data, received, index):
        """Return the _Parts of ``data`` (n, length) uint8: one, or one for each stamp."""
        fields, order = self._fields(data), index * _SUBROWS
        stamp = self._stamp(data, received)
        if stamp.ndim == 2 and (stamp != stamp[:, :1]).any():
            return [_Part(order + j, stamp[:, j], received, (name,), self.frame,
                          {key: values[:, j:j + 1] for key, values in fields.items()})
                    for j, name in enumerate(self.names)]
        if len(set(self.names)) < len(self.names):
            raise CdrError(f'a name twice in {", ".join(self.names)}')
        if stamp.ndim == 2:  # no element, no stamp
            stamp = stamp[:, 0] if self.names else received
        return [_Part(order, stamp, received, self.names, self.frame, fields)]

    def _fields(self, data):
        fields = {name: block.read(data) for name, block in self.fields.items()}
        for name, block in self.covariance.items():
            fields[name][block.read(data)[:, 0] == -1.0] = np.nan
        if self.text is not None:
            fields['data'] = np.array([row[self.text].tobytes().decode() for row in data], object)
        if self.single:
            fields = {name: values[:, None] for name, values in fields.items()}
        if self.keep is not None:
            fields = {name: values[:, self.keep] for name, values in fields.items()}
        return fields

    def _stamp(self, data, received):
        """Return (n,) int64 [ns], or (n, elements) where each has a header of its own."""
        if not self.stamp:
            return received
        sec, nanosec = (block.read(data).astype(np.int64) for block in self.stamp)
        stamp = sec * 1_000_000_000 + nanosec
        return stamp if self.keep is None else stamp[:, self.keep]


# (type, length of the message) -> the shapes seen last
_SHAPES: dict[tuple[str, int], tuple[_Shape, ...]] = {}


def _shape(type_name, decoder, message):
    """Return the _Shape that fits the message; one seen before costs no walk."""
    key = type_name, len(message)
    data = np.frombuffer(message, np.uint8)[None]
    known = _SHAPES.get(key, ())
    for shape in known:
        if shape.layout.fits(data)[0]:
            return shape
    if len(_SHAPES) > 1000:
        _SHAPES.clear()
    shape = _new_shape(type_name, decoder, message)
    _SHAPES[key] = (shape, *known[:7])
    return shape


def _new_shape(type_name, decoder, message):
    fixed = [path.rpartition('.')[2] for path in (*decoder.labels, decoder.action)]
    layout = walk(type_name, message, free=(decoder.text,), fixed=fixed)
    labels = [layout.values(path, message) for path in decoder.labels]
    names = tuple('/'.join(str(word) for word in words if word != '') for words in zip(*labels))
    fields = {name: layout.block(path) for name, path in decoder.fields.items()}
    fields = {name: block for name, block in fields.items() if 0 not in block.shape}
    single = bool(labels) and not isinstance(layout.find(decoder.labels[0]), list)
    for name, block in fields.items():
        if labels and not single and block.shape[0] != len(names):
            raise CdrError(f'{block.shape[0]} values of {name} for {len(names)} names')
    keep, frames = None, ['']
    stamp: tuple[Block, ...] = ()
    if decoder.action:
        keep = np.flatnonzero(np.array(layout.values(decoder.action, message), int) == 0)
        names = tuple(names[i] for i in keep)
    if decoder.header:
        stamp = tuple(layout.block(f'{decoder.header}.stamp.{unit}')
                      for unit in ('sec', 'nanosec'))
        frames = layout.values(f'{decoder.header}.frame_id', message) or frames
    return _Shape(layout, fields,
                  {name: layout.block(path) for name, path in decoder.covariance.items()},
                  stamp, names, frames[0], layout.find(decoder.text) if decoder.text else None,
                  keep, single)


def _size(part):
    """Return the bytes of a _Part."""
    arrays = part.order, part.stamp, part.received, *part.fields.values()
    return sum(array.nbytes for array in arrays)


def _merge(parts, least):
    """
    Return all parts as one; empties them as it goes, to hold every number once.

    least : bytes of an array that lies in a file, see large_arrays.py
    """
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.empty(0, np.int64)
        return _Part(none, none, none, (), '', {})
    sizes = [len(part.order) for part in parts]
    order, stamp, received = (
        np.concatenate([getattr(part, name) for part in parts],
                       out=empty((sum(sizes),), np.int64, least))
        for name in ('order', 'stamp', 'received'))
    for part in parts:
        part.order = part.stamp = part.received = None
    ends = np.cumsum([0] + sizes)
    rows = [slice(start, end) for start, end in zip(ends, ends[1:])]
    if (order[1:] < order[:-1]).any():  # messages of several layouts take turns
        sort = np.argsort(order, kind='stable')
        order, stamp, received = order[sort], stamp[sort], received[sort]
        rank = np.empty(len(order), int)
        rank[sort] = np.arange(len(order))
        rows = [_span(rank[row]) for row in rows]
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    frame = next((part.frame for part in parts if part.frame), '')
    fields = {name: _merge_field(name, parts, rows, names, (len(order), least))
              for name in dict.fromkeys(name for part in parts for name in part.fields)}
    return _Part(order, stamp, received, names, frame, fields)


def _merge_field(name, parts, rows, names, size):
    n, least = size
    blocks = [part.fields.pop(name, None) for part in parts]
    present = [block for block in blocks if block is not None]
    shape = present[0].shape[1:]
    if shape:
        shape = (len(names) or max(block.shape[1] for block in present), *shape[1:])
    values = empty((n, *shape), present[0].dtype, least)
    if len(present) < len(parts) or any(block.shape[1:] != shape for block in present):
        values[...] = np.nan
    del present
    for i, (part, row) in enumerate(zip(parts, rows)):
        block, blocks[i] = blocks[i], None
        page_out()
        if block is not None and shape:
            columns = _span(np.array([names.index(label) for label in part.names]
                                     or range(block.shape[1]), int))
            if not isinstance(row, slice) and not isinstance(columns, slice):
                row = row[:, None]
            values[row, columns] = block
        elif block is not None:
            values[row] = block
    return values


def _span(index):
    """Return consecutive indices as a slice, which numpy assigns much faster."""
    if len(index) and (np.diff(index) == 1).all():
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
