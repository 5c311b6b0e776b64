"""
The storage files of a rosbag2: which there are, and what each holds.

A recorder that was killed leaves an mcap without footer or an sqlite3 file with its journal, and
no metadata.yaml: nothing is asked of these that the files do not say.
"""

from contextlib import closing, contextmanager
import hashlib
from itertools import islice
from pathlib import Path
import re
import shutil
import sqlite3
import sys
from tempfile import TemporaryDirectory
from typing import Callable, Iterable, Iterator

from .cdr import Batch, RawMessages
from .unpacked_size import check_unpacked, FREE, has_checksum, HEAD, ZSTD
from ...errors import ConfigError, RecordingError
from ...given_files import DESCRIPTION, given_text, instead_of_a_file, kind_by_name

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd  # rosbags brings it

_NAME = re.compile(r'.*\.(mcap|db3)(\.zstd|\.zst)?')
_ROWS = 4096  # of a database, read at once
_PATHS = re.compile(r'^( *)relative_file_paths:.*?(?=^\1\w|\Z)', re.M | re.S)
_ITEM = re.compile(r'^ *- *["\']?(.+?)["\']? *$', re.M)


def storage_files(path: Path) -> tuple[list[Path], list[str]]:
    """Return the storage files of a bag (folder or file) and what is wrong with its metadata."""
    if not path.exists():
        raise RecordingError(f'{path} does not exist', expected='a rosbag2 folder or file')
    if path.is_dir():
        return _files_of_folder(path)
    if _is_storage(path):
        return [path], []
    kind, do = (
        instead_of_a_file(path) or kind_by_name(path),
        'convert a ROS 1 bag with rosbags-convert',
    )
    if kind == DESCRIPTION:
        do = 'give a description by its own option'
    raise RecordingError(
        f'{path} is no rosbag2', expected='.mcap, .db3 or a folder', found=kind or None, do=do
    )


def _files_of_folder(path):
    """Return the storage files in a folder and the faults of its metadata."""
    files = sorted(filter(_is_storage, path.iterdir()), key=_by_number)
    listed = _listed(path / 'metadata.yaml')
    present = {file.name for file in files}
    missing = set(listed) - present
    some_are_listed = bool(present & set(listed))
    if not files or (some_are_listed and missing):
        raise RecordingError(
            f'{path} is no complete rosbag2',
            expected=listed or '.mcap or .db3 files',
            found=sorted(file.name for file in path.iterdir()),
            do='give one storage file to read it alone',
        )
    if not listed:
        return files, ['no usable metadata.yaml: all storage files are read']
    if present == set(listed):
        return files, []
    # A recorder that splits lists a file when it is full; people rename.
    names = ', '.join(file.name for file in files)
    return files, [
        f'metadata.yaml names other files ({", ".join(listed)}) than are there and read: {names}'
    ]


def _by_number(file):
    """Return the sort key of a ``file``: numbers in its name count as such."""
    words = re.split(r'(\d+)', file.name)
    words[1::2] = map(int, words[1::2])
    return words


def _listed(metadata):
    """Return the names that a metadata.yaml lists, none for one that cannot be used."""
    try:
        section = _PATHS.search(given_text(metadata))
    except ConfigError:
        return []
    if section is None:
        return []
    return [Path(name).name for name in _ITEM.findall(section[0])]


def sha256(files: Iterable[Path]) -> str:
    """Return the hash of the contents of all ``files``, one after the other."""
    digest = hashlib.sha256()
    for file in files:
        with file.open('rb') as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _is_storage(path):
    return bool(_NAME.fullmatch(path.name)) and path.is_file()  # no pipe: it would never end


def read_storage(
    path: Path,
    wanted: Callable[[str, str], bool],
    damage: list[str],
    unchecked: set[str],
    progress: Callable[[float], None],
) -> Iterator[Batch]:
    """
    Yield (topic, type, messages) of one storage file, many times, in file order.

    wanted : function of (topic, type) that says whether it is to be read
    damage : list to which a line is appended for everything that could not be read
    unchecked : set to which a kind of storage is added whose damage could not be seen
    progress : function of the fraction of the file that was read
    """
    if _is_verified(path):
        unchecked = set()
    with _plain(path) as (plain, suffix):
        if suffix == '.mcap':
            batches = _read_mcap(plain, wanted, damage, unchecked, progress)
        else:
            batches = _read_sqlite3(plain, wanted, progress)
        for topic, type_name, raw in batches:
            head = raw.data[:HEAD].tobytes()
            if suffix != '.mcap' and not has_checksum(head):
                unchecked.add('sqlite3')
            if head.startswith(ZSTD):  # message compression: of all
                raw = RawMessages.of([*_decompressed(path, raw)], raw.received_ns)
            yield topic, type_name, raw


def _is_verified(path):
    """Return whether a file is compressed as a whole, with a checksum."""
    with path.open('rb') as stream:
        return has_checksum(stream.read(HEAD))


def _read_mcap(path, wanted, damage, unchecked, progress):
    """Return what ``read_mcap`` does; its library is asked for here: nodes start without it."""
    try:
        from .mcap_file import read_mcap
    except ModuleNotFoundError as error:
        raise ConfigError(
            'an mcap file cannot be read', found=error, do='pip install mcap'
        ) from None
    return read_mcap(path, wanted, damage, unchecked, progress)


@contextmanager
def _plain(path):
    """Yield the path of the file without file compression, and its suffix."""
    if path.suffix in ('.mcap', '.db3'):
        yield path, path.suffix
        return
    with TemporaryDirectory(prefix='ros_inertial_id_') as folder:
        plain = Path(folder, path.stem)
        try:
            with zstd.open(path) as source, plain.open('wb') as target:
                while block := source.read(1 << 20):
                    target.write(block)
                    check_unpacked(path, target.tell())
        except (zstd.ZstdError, EOFError) as error:
            raise RecordingError(
                f'{path} cannot be decompressed',
                found=error,
                do='copy it again, or give another storage file alone',
            ) from error
        yield plain, plain.suffix


def _decompressed(path, raw):
    """Yield messages without compression; nothing, which is no message, for damaged ones."""
    total = 0
    for message in raw.messages():
        unpacker = zstd.ZstdDecompressor()
        try:
            plain = unpacker.decompress(message, FREE)
        except zstd.ZstdError:
            plain = b''
        total += len(plain)
        check_unpacked(path, total, packed=raw.data.size)
        if not unpacker.eof:
            plain = b''
        yield plain


def _read_sqlite3(path, wanted, progress):
    """Yield (topic, type, messages) of a database; RecordingError for a damaged one."""
    try:
        with _database(path) as database:
            _check_tables(database)
            yield from _batches(database, wanted, progress)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # of what is said of a damaged name
        raise RecordingError(
            f'{path} is no whole rosbag2 database',
            found=' '.join(str(error).split()),
            do='save what is left (.recover in place of .dump may find more) with: '
            f"sqlite3 '{path.name}' .dump | sed 's/^ROLLBACK.*/COMMIT;/' | sqlite3 new.db3",
        ) from error


def _check_tables(database):
    """Raise sqlite3.Error for damaged pages and tables that are computed, such as views."""
    database.execute('PRAGMA trusted_schema = OFF')
    for table in ('topics', 'messages'):
        hidden = database.execute(
            'SELECT max(hidden) FROM sqlite_master m, pragma_table_xinfo(m.name) '
            "WHERE m.type = 'table' AND rootpage > 0 AND m.name = ?",
            (table,),
        ).fetchone()[0]
        if hidden != 0:
            raise sqlite3.DatabaseError(f'no such table: {table}, or one that is computed')
    fault = database.execute('PRAGMA quick_check(1)').fetchone()[0]
    if fault != 'ok':
        raise sqlite3.DatabaseError(fault)


def _batches(database, wanted, progress):
    rows = database.execute(
        'SELECT id, name, type, serialization_format FROM topics '
        "WHERE typeof(name) = 'text' AND typeof(type) = 'text'"
    )
    topics = {}
    for key, topic, kind, encoding in rows:
        if encoding != 'cdr':
            kind += f' ({encoding})'
        if wanted(topic, kind):
            topics[key] = topic, kind
    (last,) = database.execute('SELECT MAX(id) FROM messages').fetchone()
    rows = database.execute(
        f"SELECT id, topic_id, timestamp, iif(length(data) > {FREE}, x'', data) FROM messages "
        f"WHERE topic_id IN ({','.join(map(str, topics))}) AND typeof(data) = 'blob' "
        "AND typeof(timestamp) = 'integer' ORDER BY id"
    )
    while batch := list(islice(rows, _ROWS)):
        by_topic: dict[int, list[tuple]] = {}
        for row in batch:
            by_topic.setdefault(row[1], []).append(row)
        for key, rows_of_topic in by_topic.items():
            _, _, stamps, messages = zip(*rows_of_topic)
            yield *topics[key], RawMessages.of(messages, stamps)
        progress(batch[-1][0] / max(1, last))


@contextmanager
def _database(path):
    """Yield a connection; what a killed writer left (journal, log) is applied to a copy."""
    with TemporaryDirectory(prefix='ros_inertial_id_') as folder:
        beside = [path.with_name(path.name + end) for end in ('-journal', '-wal')]
        unfinished = [file for file in beside if file.is_file() and file.stat().st_size]
        mode = 'mode=ro&immutable=1'
        if unfinished:
            for file in (path, *unfinished):
                shutil.copy(file, folder)
            path, mode = Path(folder, path.name), 'mode=rw'
        with closing(sqlite3.connect(f'{path.resolve().as_uri()}?{mode}', uri=True)) as database:
            database.text_factory = lambda data: data.decode(errors='replace')
            yield database
