"""A sqlite3 file of a bag: read in its order, and page by page where it is damaged."""

from bisect import bisect_right
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
import shutil
import sqlite3
from tempfile import TemporaryDirectory
from typing import Callable, Collection, Iterator
from zlib import crc32

import numpy as np

from .raw_messages import RawMessages
from .sqlite_pages import Pages
from ...errors import RecordingError

_ROWS = 4096
UNCHECKED = 'all checksums are lost: its messages could not be checked'

Batch = tuple[str, str, RawMessages]
Row = tuple[int, int, int, bytes]  # id, topic, time [ns], message


def message_crc(topic: str, type_name: str, time_ns: int, message: bytes) -> int:
    """
    Return the checksum of a message, beside which a bag of this package holds it.

    topic, type_name : of the message
    time_ns : of its reception
    message : its bytes
    """
    return crc32(message, crc32(f'{topic} {type_name} {time_ns}'.encode()))


def read_sqlite3(path: Path, wanted: Callable[[str, str], bool], damage: list[str],
                 progress: Callable[[float], None]) -> Iterator[Batch]:
    """
    Yield (topic, type, messages) of the file, many messages at once.

    path : of the file
    wanted : function of (topic, type); topics for which it returns False are passed over
    damage : list to which a line is appended for all that could not be read
    progress : function of the fraction that was read

    Raises RecordingError for a file without a topic.
    """
    with _database(path) as (file, database), file.open('rb') as stream:
        source: _Tree | _Salvage
        try:
            wrong, source = '', _Tree(database)
        except sqlite3.Error as error:
            wrong, source = ' '.join(str(error).split()), _Salvage(Pages(stream))
        if wrong and not source.topics:
            raise RecordingError(f'{path} is not a rosbag2 database', found=wrong)
        if wrong:
            damage.append(f'{path.name} is damaged ({wrong}): it was read page by page')
        yield from _batches(source, wanted, progress)
        damage += [f'{path.name}: {line}' for line in source.lost]


def _batches(source, wanted, progress):
    topics = {key: (topic, kind) for key, (topic, kind, encoding) in source.topics.items()
              if wanted(topic, kind + (encoding != 'cdr') * f' ({encoding})')}
    checked, wrong = source.checksums is not None, 0
    crc = _crcs(source) if checked else None
    rows = source.rows(source.topics if checked else topics, everything=checked)
    while batch := list(islice(rows, _ROWS)):
        good = [row for row in batch if _is_whole(row, source.topics, crc)] if checked else batch
        wrong += len(batch) - len(good)
        for key, topic in topics.items():
            mine = [row for row in good if row[1] == key]
            if mine:
                yield *topic, RawMessages.of([row[3] for row in mine], [row[2] for row in mine])
        progress(batch[-1][0] / source.last)
    if wrong:
        source.lost.append(f'{wrong} messages were left out: their checksums are others')


def _is_whole(row, topics, crc):
    """Return whether a message is the one whose CRC was written."""
    key, topic, time_ns, message = row
    return (topic in topics and isinstance(time_ns, int) and isinstance(message, bytes)
            and crc(key) == message_crc(topics[topic][0], topics[topic][1], time_ns, message))


def _crcs(source):
    """Return the function that gives the CRC of a message by its id, None where there is none."""
    firsts = sorted(source.checksums)
    batches = [np.frombuffer(source.checksums[first], '<u4') for first in firsts]

    def crc(key):
        batch = bisect_right(firsts, key) - 1
        place = key - firsts[batch] if batch >= 0 else -1
        return batches[batch][place] if 0 <= place < len(batches[batch]) else None

    missing = sum(map(len, batches)) - source.count
    if missing > 0:
        source.lost.append(f'{missing} messages are missing')
    return crc


class _Tree:
    """
    The tables of a sound database.

    topics : id -> (name, type, encoding)
    checksums : id of the first message -> CRCs; None where the bag has none
    last, count : the last id of a message, and how many there are
    lost : lines for all that could not be read

    Raises sqlite3.Error for a damaged database, and one without the tables of a bag.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.lost: list[str] = []
        found = database.execute('PRAGMA quick_check(1)').fetchone()[0]
        if found != 'ok':
            raise sqlite3.DatabaseError(found)
        self.topics = {key: tuple(row) for key, *row in database.execute(
            'SELECT id, name, type, serialization_format FROM topics '
            "WHERE typeof(name) = 'text' AND typeof(type) = 'text'")}
        last, self.count = database.execute('SELECT MAX(id), COUNT(*) FROM messages').fetchone()
        own = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'checksums'").fetchone()
        self.checksums = dict(database.execute(
            "SELECT first, crcs FROM checksums WHERE typeof(crcs) = 'blob' "
            'AND length(crcs) % 4 = 0')) if own else None
        self.last = max(1, last or 1)

    def rows(self, topics: Collection[int], everything: bool = False) -> Iterator[Row]:
        """
        Yield the messages in the order of their ids.

        topics : ids of those to read
        everything : also what is of no such topic, or no message
        """
        which = '1' if everything else (
            f"topic_id IN ({','.join(map(str, topics))}) AND typeof(data) = 'blob' "
            "AND typeof(timestamp) = 'integer'")
        try:
            yield from self._database.execute('SELECT id, topic_id, timestamp, data FROM messages '
                                              f'WHERE {which} ORDER BY id')
        except sqlite3.Error as error:
            self.lost.append(f'messages after the damage are lost ({error})')


class _Salvage:
    """The same of the whole pages of a damaged database."""

    def __init__(self, pages: Pages) -> None:
        self._pages, rows = pages, pages.rows()
        self.topics, self._messages = rows.topics, rows.messages
        self.checksums = rows.checksums or None
        self.lost = [UNCHECKED] if rows.checked and not rows.checksums else []
        self.last, self.count = max(1, max(rows.messages, default=1)), len(rows.messages)

    def rows(self, topics: Collection[int], everything: bool = False) -> Iterator[Row]:
        """
        Yield the messages in the order of their ids.

        topics : ids of those to read
        everything : also what is of no such topic, or no message
        """
        damaged = 0
        for key in sorted(self._messages):
            message = self._pages.message(*self._messages[key])
            if message is None:
                damaged += 1
            elif everything or message[0] in topics:
                yield (key, *message)
        if damaged:
            self.lost.append(f'{damaged} messages reach into damaged pages')


@contextmanager
def _database(path):
    """
    Yield the path of and a connection to a database that is not changed.

    What a killed writer left beside it (journal, write-ahead log) is applied to a copy.
    """
    with TemporaryDirectory(prefix='ros_inertial_id_') as folder:
        beside = [path.with_name(path.name + end) for end in ('-journal', '-wal')]
        beside = [other for other in beside if other.is_file() and other.stat().st_size]
        mode = 'mode=ro&immutable=1'
        if beside:
            for file in (path, *beside):
                shutil.copy(file, folder)
            path, mode = Path(folder, path.name), 'mode=rw'
        with closing(sqlite3.connect(f'{path.resolve().as_uri()}?{mode}', uri=True)) as database:
            database.text_factory = _text
            yield path, database


def _text(data):
    return data.decode(errors='replace')
