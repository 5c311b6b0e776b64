"""
Serialised ROS messages, and where their numbers lie: one walk, then millions of equal messages.

CDR (OMG "Common Data Representation", version 1) aligns every primitive to its own size after a
four-byte header: messages of one type whose sequences and strings are alike hold each number at
the same byte.  ``walk`` notes these bytes and what fixed them (lengths, strings: the guards);
``Layout.fits`` finds the messages with the same guards, ``Numbers.read`` copies their numbers out.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype

from .definitions import fields
from .unpacked_size import MEMBERS

_DTYPES = {
    'bool': 'u1',
    'byte': 'u1',
    'char': 'u1',
    'uint8': 'u1',
    'int8': 'i1',
    'uint16': 'u2',
    'int16': 'i2',
    'uint32': 'u4',
    'int32': 'i4',
    'uint64': 'u8',
    'int64': 'i8',
    'float32': 'f4',
    'float64': 'f8',
}
_HEADER = 4  # bytes: two for the encoding, two for options


class CdrError(ValueError):
    """Bytes that are not a message of the type they are said to be."""


@dataclass(frozen=True)
class RawMessages:
    """Messages as stored: ``data`` uint8, all in a row, ``lengths`` (n,), ``received_ns`` (n,)."""

    data: np.ndarray
    lengths: np.ndarray
    received_ns: np.ndarray

    @classmethod
    def of(
        cls, messages: Sequence[bytes], received_ns: Sequence[int] | np.ndarray
    ) -> 'RawMessages':
        """Return n ``messages``, received at ``received_ns`` (n,) [ns]."""
        lengths = np.fromiter(map(len, messages), int, len(messages))
        return cls(
            np.frombuffer(b''.join(messages), np.uint8), lengths, np.array(received_ns, np.int64)
        )

    @classmethod
    def joined(cls, parts: Sequence['RawMessages']) -> 'RawMessages':
        """Return ``parts`` as one, in their order."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.lengths for part in parts]),
            np.concatenate([part.received_ns for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def messages(self) -> Iterable[bytes]:
        """Return the messages one by one."""
        data, ends = self.data.tobytes(), np.cumsum(self.lengths).tolist()
        return [data[start:end] for start, end in zip([0, *ends], ends)]

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Return the messages ``index`` (m,), increasing and of one length, (m, length) uint8."""
        length = int(self.lengths[index[0]])
        if len(index) == len(self):
            return self.data.reshape(len(index), length)
        starts = np.cumsum(self.lengths) - self.lengths
        return pieces(self.data, starts[index], self.lengths[index]).reshape(len(index), length)


def pieces(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return pieces at ``starts`` of ``lengths`` (n,) of ``data``, one after the other."""
    if len(starts) and (lengths == lengths[0]).all():
        length = int(lengths[0])
        windows = np.ndarray((len(data) - length + 1, length), np.uint8, data, 0, (1, 1))
        return windows[starts].reshape(-1)
    ends = zip(starts.tolist(), (starts + lengths).tolist())
    return np.concatenate([data[start:end] for start, end in ends] or [data[:0]])


Batch = tuple[str, str, RawMessages]  # topic, type, messages


@dataclass(frozen=True)
class Numbers:
    """Numbers of one dtype and the bytes they begin at: ``offsets`` of any shape."""

    dtype: np.dtype
    offsets: np.ndarray

    @cached_property
    def _bytes(self) -> slice | np.ndarray:
        """Return the bytes of a message: a slice if they are consecutive, which is faster."""
        bytes_of_one = np.arange(self.dtype.itemsize)
        index = (self.offsets[..., None] + bytes_of_one).reshape(-1).astype(int)
        if len(index) and (np.diff(index) == 1).all():
            return slice(int(index[0]), int(index[-1]) + 1)
        return index

    def at(self, index: np.ndarray | None) -> 'Numbers':
        """Return the Numbers at an ``index`` of the offsets; None: with a new axis in front."""
        return Numbers(self.dtype, self.offsets[index])

    def read(self, data: np.ndarray) -> np.ndarray:
        """Return the numbers (n, ...) of messages ``data`` (n, length) uint8."""
        numbers = data[:, self._bytes].copy().view(self.dtype)
        native = self.dtype.newbyteorder('=')
        return numbers.reshape(len(data), *self.offsets.shape).astype(native, copy=False)

    def write(self, data: np.ndarray, values: np.ndarray) -> None:
        """Set the numbers of messages ``data`` (n, length) uint8 to ``values`` (n, ...)."""
        plain = np.ascontiguousarray(values, self.dtype).reshape(len(data), -1)
        data[:, self._bytes] = plain.view(np.uint8)


@dataclass(frozen=True)
class Layout:
    """
    What messages whose sequences and strings are alike have in common.

    tree : the message as nested dict (struct), list (sequence), Numbers and slice (string)
    guarded : (g,) positions of the bytes that fix the layout
    guards : (g,) uint8, the bytes there
    """

    tree: dict[str, Any]
    guarded: np.ndarray
    guards: np.ndarray

    def fits(self, data: np.ndarray) -> np.ndarray:
        """Return which messages ``data`` (n, length) uint8 have this layout, (n,) bool."""
        return (data[:, self.guarded] == self.guards).all(axis=1)

    def find(self, path: str) -> Any:
        """Return the node at a path, ``header.stamp.sec``; of a sequence its elements' as list."""
        return _find(self.tree, path.split('.'))

    def values(self, path: str, message: bytes) -> list[Any]:
        """Return the strings or integers of one message of this layout at a path, as a list."""
        nodes = self.find(path)
        if not isinstance(nodes, list):
            nodes = [nodes]
        return [_value(node, message) for node in nodes]

    def numbers(self, path: str) -> Numbers:
        """Return all numbers below a path, in the order of the definition."""
        return _stack(self.find(path))


def walk(
    type_name: str,
    message: bytes,
    free: Collection[str] = (),
    fixed: Collection[str] = (),
    last: str = '',
    only: str = '',
) -> Layout:
    """
    Return the Layout of one message.

    message : bytes, with the four-byte header
    free : names of string fields whose content may differ within a layout
    fixed : names of number fields whose value may not
    last : name of the field behind which nothing is read; '' for the end of the message
    only : name of a sequence that is to have one element, which stands in its place

    Raises CdrError for bytes that are no whole message of the type.
    """
    encoding = bytes(message[:2])
    if len(message) < _HEADER or encoding not in (b'\x00\x00', b'\x00\x01'):
        raise CdrError('no CDR header 00 00 or 00 01')
    walker = _Walker(message, '<' if encoding[1] else '>', free, fixed, last, only)
    tree = walker.struct(type_name)
    if not last and len(message) - walker.position > walker.slack:
        raise CdrError(f'{len(message) - walker.position} bytes too long')
    guarded = np.concatenate([np.arange(*guard) for guard in walker.guards])
    return Layout(tree, guarded, np.frombuffer(message, np.uint8)[guarded])


class _Walker:
    """A position in a message, moving forward field by field."""

    def __init__(self, message, order, free, fixed, last, only):
        self.message, self.order = message, order
        self.free, self.fixed, self.last, self.only = free, fixed, last, only
        self.position = _HEADER
        self.slack = 3  # bytes that may follow: writers pad to four
        self.guards = [(0, 2)]

    def struct(self, type_name):
        tree = {}
        for name, kind in fields(type_name):
            tree[name] = self.field(name, kind)
            if name == self.last:
                break
        return tree

    def field(self, name, kind):
        node, what = kind
        if node == Nodetype.NAME:
            return self.struct(what)
        if node == Nodetype.BASE:
            return self.single(name, what[0])
        element, count = what
        if node == Nodetype.SEQUENCE:
            count = self.count()
        if name == self.only:
            return self.lone(name, element, count)
        return self.elements(name, element, count)

    def single(self, name, type_name):
        """Read one string or number."""
        if type_name == 'string':
            return self.text(name)
        number = self.base(type_name, ())
        if name in self.fixed:
            self.guards.append((int(number.offsets), self.position))
        return number

    def lone(self, name, element, count):
        """Read a sequence that is to have one element, as if it were no sequence."""
        if count != 1:
            raise CdrError(
                f'{count} {name} and not one; record the state of the controller '
                'that interpolates between them'
            )
        return self.field(name, element)

    def elements(self, name, element, count):
        """Read ``count`` elements of an array or sequence."""
        node, what = element
        if node == Nodetype.BASE and what[0] != 'string':
            return self.base(what[0], (count,))
        if count > MEMBERS:
            raise CdrError(f'{count} {name}')
        return [self.field(name, element) for _ in range(count)]

    def base(self, name, shape):
        if name not in _DTYPES:
            raise CdrError(f'numbers of type {name} are not supported')
        dtype = np.dtype(self.order + _DTYPES[name])
        count = math.prod(shape)
        if count:
            self.position += -(self.position - _HEADER) % dtype.itemsize
        else:  # not padded, but rmw_fastrtps' serialize reserves the padding at the end
            self.slack += dtype.itemsize
        start = self.position
        self.forward(count * dtype.itemsize)
        return Numbers(dtype, start + dtype.itemsize * np.arange(count).reshape(shape))

    def text(self, name):
        count = self.count()
        start = self.position
        self.forward(count)
        if count and self.message[self.position - 1]:
            raise CdrError(f'the string {name} does not end at byte {self.position}')
        if name not in self.free:
            self.guards.append((start, self.position))
        return slice(start, max(start, self.position - 1))  # without the closing zero

    def count(self):
        """Read a length, which every message of this layout shares."""
        start = int(self.base('uint32', ()).offsets)
        self.guards.append((start, start + 4))
        count = int(np.frombuffer(self.message, self.order + 'u4', 1, start)[0])
        if count > len(self.message) - self.position:  # every element takes a byte at least
            raise CdrError(f'a length of {count} at byte {start} of {len(self.message)}')
        return count

    def forward(self, size):
        if self.position + size > len(self.message):
            raise CdrError(
                f'ends at byte {len(self.message)}, expected {self.position + size} or more'
            )
        self.position += size


def _value(node, message):
    """Return the string or integer of a ``message`` at a ``node`` of its Layout."""
    if isinstance(node, slice):
        return bytes(message[node]).decode()
    return np.frombuffer(message, node.dtype, 1, int(node.offsets))[0].item()


def _find(node, path):
    if isinstance(node, list):
        return [_find(element, path) for element in node]
    if not path:
        return node
    return _find(node[path[0]], path[1:])


def _stack(node):
    """Return the Numbers below a ``node``, their offsets stacked along a first axis."""
    if isinstance(node, Numbers):
        return node
    children = node
    if isinstance(node, dict):
        children = node.values()
    numbers = [_stack(child) for child in children]
    if not numbers:
        return Numbers(np.dtype('f8'), np.empty(0, int))
    return Numbers(numbers[0].dtype, np.stack([child.offsets for child in numbers]))
