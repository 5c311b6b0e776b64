"""Recordings: all that the public API takes for one, read where it is needed."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

from ..errors import ConfigError, RecordingError
from ..identification.files import read_description
from ..identification.prepare.description_choice import with_shared_texts
from ..measurement.bags.log import AS_NAMED, LogFormat, read_recording
from ..measurement.recording import Recording

Source = Any  # a Recording, the path of a bag or log, or a table: see ``recording_of``
Recordings = Source | Sequence[Source] | None


def read_log(
    log: str | Path | Sequence[str | Path],
    *,
    urdf: str | Path,
    joints: Sequence[str] | None = None,
    rate: float | None = None,
    columns: str = '',
) -> Recording:
    """
    Return the Recording in a log of another program (.csv, .parquet, .hdf5, .mat, ...).

    log : its path, or paths of several files that make one log
    urdf : description, a path or the text
    joints : names in the order of the columns; rate : [Hz] of a log without time
    columns : names of the columns of a file that does not name them
    """
    from ..measurement.bags.log import read_log as read

    return read(log, description_text(urdf), joint_names=joints, rate=rate, columns=columns)


def description_text(urdf: str | Path) -> str:
    """Return the text of a description ``urdf``, given as its text or as the path of its file."""
    if not isinstance(urdf, (str, Path)):
        raise ConfigError(
            'the description of the robot',
            expected='a path, or the text of a URDF',
            found=type(urdf).__name__,
            do='a recording to validate on is validate=',
        )
    text = str(urdf)
    if not text or '\n' in text or '<' in text:
        return text
    return read_description(urdf)


def several(
    recordings: Recordings, urdf: str = '', log_format: LogFormat = AS_NAMED
) -> list[Recording]:
    """
    Return one or several ``recordings``, or none, as Recordings.

    urdf, log_format : see ``recording_of``
    """
    if not isinstance(recordings, (list, tuple, Iterator)):
        recordings = [recordings]
    sources = [source for source in recordings if source is not None]
    return with_shared_texts([recording_of(source, urdf, log_format) for source in sources])


def recording_of(source: Source, urdf: str = '', log_format: LogFormat = AS_NAMED) -> Recording:
    """
    Return the Recording that a ``source`` is, lies at, or holds.

    source : Recording, path of a bag (BAG@START:END for a window) or log, or a table
    urdf : text of the description, for logs and tables; log_format : of logs, that lack names
    RecordingError for what is none of these.
    """
    if isinstance(source, Recording):
        return source
    if isinstance(source, (str, Path)):
        return read_recording(source, urdf, log_format)
    if not isinstance(source, Mapping) and not issubclass(type(source), Sized):
        raise RecordingError(
            'recordings',
            expected='Recordings, paths of bags or logs, or tables',
            found=repr(source)[:60],
        )
    if not urdf:
        raise RecordingError(
            'a table holds no description of the robot', found=repr(source)[:60], do='give urdf='
        )
    return read_log(source, urdf=urdf)
