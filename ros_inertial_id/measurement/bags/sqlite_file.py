"""A sqlite3 file of a bag."""

from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
import shutil
import sqlite3
from tempfile import TemporaryDirectory
from typing import Callable, Iterator

from .raw_messages import RawMessages
from ...errors import RecordingError

_ROWS = 4096

Batch = tuple[str, str, RawMessages]


def read_sqlite3(path: Path, wanted: Callable[[str, str], bool],
                 progress: Callable[[float], None]) -> Iterator[Batch]:
    """
    Yield (topic, type, messages) of the file, many messages at once.

    path : of the file
    wanted : function of (topic, type); topics for which it returns False are passed over
    progress : function of the fraction that was read

    Raises RecordingError for a damaged database, and one without the tables of a bag.
    """
    try:
        with _database(path) as database:
            found = database.execute('PRAGMA quick_check(1)').fetchone()[0]
            if found != 'ok':
                raise sqlite3.DatabaseError(found)
            yield from _batches(database, wanted, progress)
    except sqlite3.Error as error:
        raise RecordingError(
            f'{path} is no whole rosbag2 database', found=' '.join(str(error).split()),
            do=f"save what is left with: sqlite3 '{path.name}' .dump | "
               "sed 's/^ROLLBACK.*/COMMIT;/' | sqlite3 new.db3") from error


def _batches(database, wanted, progress):
    rows = database.execute('SELECT id, name, type, serialization_format FROM topics '
                            "WHERE typeof(name) = 'text' AND typeof(type) = 'text'")
    topics = {key: (topic, kind) for key, topic, kind, encoding in rows
              if wanted(topic, kind + (encoding != 'cdr') * f' ({encoding})')}
    last, = database.execute('SELECT MAX(id) FROM messages').fetchone()
    rows = database.execute(
        'SELECT id, topic_id, timestamp, data FROM messages '
        f"WHERE topic_id IN ({','.join(map(str, topics))}) AND typeof(data) = 'blob' "
        "AND typeof(timestamp) = 'integer' ORDER BY id")
    while batch := list(islice(rows, _ROWS)):
        for key, topic in topics.items():
            mine = [row for row in batch if row[1] == key]
            if mine:
                yield *topic, RawMessages.of([row[3] for row in mine], [row[2] for row in mine])
        progress(batch[-1][0] / max(1, last))


@contextmanager
def _database(path):
    """
    Yield a connection to a database that is not changed.

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
            yield database


def _text(data):
    return data.decode(errors='replace')
