"""Serialised messages of one topic, one after the other in one buffer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RawMessages:
    """
    Messages as they are stored, without copies of their own.

    data : uint8, all messages without anything between
    lengths : (n,) bytes of each
    received_ns : (n,) int64, times of reception [ns]
    """

    data: np.ndarray
    lengths: np.ndarray
    received_ns: np.ndarray

    @classmethod
    def of(cls, messages: Sequence[bytes],
           received_ns: Sequence[int] | np.ndarray) -> 'RawMessages':
        """
        Return messages that are apart as one.

        messages : n, in the order they came; received_ns : (n,) [ns]
        """
        lengths = np.fromiter(map(len, messages), int, len(messages))
        return cls(np.frombuffer(b''.join(messages), np.uint8), lengths,
                   np.array(received_ns, np.int64))

    @classmethod
    def cut(cls, data: np.ndarray, starts: np.ndarray, lengths: np.ndarray,
            received_ns: np.ndarray) -> 'RawMessages':
        """
        Return pieces of a buffer, copied so that the buffer can go.

        data : uint8; starts, lengths : (n,) bytes of the pieces, inside; received_ns : (n,) [ns]
        """
        return cls(_pieces(data, starts, lengths), lengths, received_ns)

    @classmethod
    def joined(cls, parts: Sequence['RawMessages']) -> 'RawMessages':
        """Return ``parts`` as one, in their order; one at least."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(part, name) for part in parts])
                     for name in ('data', 'lengths', 'received_ns')))

    def __len__(self) -> int:
        return len(self.lengths)

    def message(self, index: int) -> bytes:
        """Return the message number ``index``."""
        end = int(self.lengths[:index + 1].sum())
        return self.data[end - int(self.lengths[index]):end].tobytes()

    def messages(self) -> Iterable[bytes]:
        """Return the messages one by one."""
        data, ends = self.data.tobytes(), np.cumsum(self.lengths).tolist()
        return [data[start:end] for start, end in zip([0, *ends], ends)]

    def rows(self, index: np.ndarray) -> np.ndarray:
        """
        Return messages of one length as (m, length) uint8.

        index : (m,) increasing, numbers of the messages
        """
        length = int(self.lengths[index[0]])
        if len(index) == len(self):
            return self.data.reshape(-1, length)
        starts = np.cumsum(self.lengths) - self.lengths
        return _pieces(self.data, starts[index], self.lengths[index]).reshape(-1, length)

    def begin_with(self, magic: bytes) -> np.ndarray:
        """Return which messages begin with the bytes of ``magic``, (n,) bool."""
        long = self.lengths >= len(magic)
        starts = (np.cumsum(self.lengths) - self.lengths)[long]
        heads = self.data[starts[:, None] + np.arange(len(magic))]
        long[long] = (heads == np.frombuffer(magic, np.uint8)).all(axis=1)
        return long


def _pieces(data, starts, lengths):
    """Return pieces of ``data`` one after the other, (sum of lengths,)."""
    if len(starts) and (lengths == lengths[0]).all():
        length = int(lengths[0])
        windows = np.ndarray((len(data) - length + 1, length), np.uint8, data, 0, (1, 1))
        return windows[starts].reshape(-1)
    pieces = zip(starts.tolist(), (starts + lengths).tolist())
    return np.concatenate([data[start:end] for start, end in pieces] or [data[:0]])
