"""
Mapped bags: one bag checked, accumulated and kept, in whatever process.

What a task returns is small: where the factors are kept and what the bag is.  A bag that cannot
be used is remembered with the reason, by its content, and not examined again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from .bag_factors import (
    cache_folder,
    dataset_of,
    factors_of,
    keep,
    key_of,
    read_notes,
    write_factors,
)
from .plan import FORMAT, Plan
from ..checks.check import check
from ..checks.checked import cleaned, reason_not_to_use
from ..checks.finding import Checkup
from ..checks.velocity_kind import followed
from ..errors import InertialIdError
from ..estimation.r_factors import one_thread
from ..identification.identified_model import plain
from ..identification.identify import aligned_columns, RowReader
from ..identification.prepare.dataset import read_dataset
from ..identification.prepare.description_choice import description_of
from ..identification.settings import decided
from ..measurement.bags.bag import split_window
from ..measurement.bags.log import read_recording
from ..measurement.bags.log_files import is_log
from ..measurement.bags.storage import sha256, storage_files
from ..measurement.recording import Recording
from ..processes import lost

FIRST = 3  # bags that can be used, which decide the plan
NOT_KEPT = 'its factors cannot be kept'  # begins a reason that is none of the bag
LOOK = 32  # bags among which a plan that was kept is looked for
Function = Callable[..., Any]


@dataclass(frozen=True)
class Shared:
    """plan : of all bags; cache, keep_all : see Engine."""

    plan: Plan
    cache: str
    keep_all: bool


@dataclass(frozen=True)
class Mapped:
    """
    A bag that was accumulated, or the reason why it was not.

    path : as given; file : of its factors, '' without; reason : why it is left out, '' if not
    cached : whether the factors were there already; notes : see ``factors_of``
    """

    path: str
    file: str
    reason: str
    cached: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def checkup(self) -> Checkup:
        """Return the Checkup of the bag, which is kept with its factors."""
        return Checkup.from_fields(read_notes(self.file)['checkup'])


def accumulate_bag(shared: Shared, path: str) -> Mapped:
    """
    Return the Mapped of the bag at ``path``; what is wrong with it is its reason.

    shared : what holds for all bags
    """
    try:
        content, window = _content(path, shared.cache)
    except (InertialIdError, OSError) as error:
        return Mapped(path, '', str(error))
    folder = cache_folder(shared.cache)
    key = key_of(content, window, shared.plan.key + str(shared.keep_all))
    file = folder / f'{key}.factors'
    with suppress(ValueError):
        return _mapped(path, file, cached=True)
    wide, notes = None, dict[str, Any]()
    try:
        recording, found = _checked(path, shared.plan.asked, shared.plan.urdf, shared.keep_all)
        notes = {'reason': '' if shared.keep_all else reason_not_to_use(found)}
        if not notes['reason']:
            wide, notes = factors_of(recording, shared.plan)
            notes['checkup'] = asdict(found)
    except InertialIdError as error:
        notes = {'reason': str(error)}
    try:
        write_factors(file, notes, wide)
    except OSError as error:
        return Mapped(path, '', f'{NOT_KEPT} in {folder}: {error.strerror or error}')
    return _mapped(path, file, cached=False)


def _content(path: str, cache: str) -> tuple[str, tuple[float | None, float | None]]:
    """
    Return the hash of what is in the bag at ``path`` and the window of it [s].

    It is read only if it was written since its hash was kept.
    InertialIdError or OSError where there is no such bag.
    """
    bag, window = split_window(path)
    if not bag.exists():
        storage_files(bag)  # says so
    version = hashlib.sha256()
    for part in sorted(bag.iterdir()) if bag.is_dir() else [bag]:
        found = part.stat()
        version.update(os.fsencode(f'{part.resolve()} {found.st_size} {found.st_mtime_ns}\n'))
    file = cache_folder(cache) / f'{version.hexdigest()[:40]}.sha256'
    with suppress(OSError, ValueError):
        return file.read_text(), window
    content = sha256([bag] if is_log(bag) else storage_files(bag)[0])
    with suppress(OSError):
        keep(file, content.encode())
    return content, window


def _mapped(path: str, file: Path, cached: bool) -> Mapped:
    """Return the Mapped of the factors in a ``file``; ValueError where there are none."""
    notes = read_notes(file)
    if 'reason' in notes:
        return Mapped(path, '', notes['reason'], cached)
    notes.pop('checkup')
    return Mapped(path, str(file), '', cached, notes)


def _checked(path: str, options: Any, urdf: str, keep_all: bool) -> tuple[Recording, Checkup]:
    """Return the recording at a path without what its checkup masks, and the checkup."""
    recording = read_recording(path, urdf)
    found = check([recording], options, urdf=urdf)
    return (recording if keep_all else cleaned([recording], found)[0]), found


def over_bag(shared: tuple[Shared, Function, Sequence[Any]], task: tuple[Any, ...]) -> Any:
    """
    Return what a function gives for the Dataset of one bag, read as its rows were.

    shared : (what holds for all bags, function of a module, its arguments for all bags)
    task : (Mapped of the bag, further arguments for it)
    """
    (common, function, arguments), (bag, *own) = shared, task
    recording = read_recording(bag.path, common.plan.urdf)
    if not common.keep_all:
        recording = cleaned([recording], bag.checkup)[0]
    return function(dataset_of(recording, common.plan), *arguments, *own)


def decided_plan(
    shared: tuple[str, Any, str, str, bool], paths: Sequence[str]
) -> Plan | dict[str, str]:
    """
    Return the Plan by the first FIRST of the bags at ``paths`` that can be used.

    shared : (method, options, text of the description or '', cache, keep_all)
    {path: reason} where none can be used.
    """
    method, options, urdf, cache, keep_all = shared
    start = json.dumps([FORMAT, method, plain(asdict(options)), urdf, keep_all])
    files = list(_plan_files(start, paths[:LOOK], cache))
    for file in files:
        with suppress(OSError, ValueError, KeyError, TypeError):
            return _kept_plan(file, options)
    recordings: list[Recording] = []
    failed: dict[str, str] = {}
    for path in paths:
        try:
            recording, found = _checked(path, options, urdf, keep_all)
            failed[path] = '' if keep_all else reason_not_to_use(found)
        except InertialIdError as error:
            failed[path] = str(error)
        except Exception as error:  # one bag never ends the others
            failed[path] = lost(error).reason
        if failed[path] or any(
            r.provenance['sha256'] == recording.provenance['sha256'] for r in recordings
        ):
            continue
        recordings.append(recording)
        options = followed(options, found.checks)
        urdf = urdf or description_of(recording, options)
        if len(recordings) == FIRST:
            break
    if not recordings:
        return failed
    plan = _plan_by(recordings, (method, options, urdf))
    if len(failed) <= LOOK:
        text = json.dumps({**plan.to_dict(), 'method': plan.method, 'urdf': plan.urdf})
        with suppress(OSError):
            keep(files[len(failed) - 1], text.encode())
    return plan


def _plan_files(start: str, paths: Sequence[str], cache: str) -> Iterator[Path]:
    """Yield where the plan by the bags up to every one of ``paths`` is kept, by their content."""
    digest = hashlib.sha256(start.encode())
    for path in paths:
        try:
            text = ' '.join(map(str, _content(path, cache)))
        except (InertialIdError, OSError):
            text = path
        digest.update(text.encode())
        yield cache_folder(cache) / f'{digest.hexdigest()[:40]}.plan'


def _kept_plan(file: Path, options: Any) -> Plan:
    """Return the Plan in a ``file``; OSError, ValueError, KeyError, TypeError where none is."""
    data = json.loads(file.read_bytes())
    held = {k: tuple(v) if isinstance(v, list) else v for k, v in data['options'].items()}
    return Plan(data['method'], replace(options, **held), data['urdf'], options)


def _plan_by(recordings: Sequence[Recording], asked: tuple[str, Any, str]) -> Plan:
    """Return the Plan of recordings; asked : method, options, text of the description."""
    method, options, urdf = asked
    data = read_dataset(recordings, options, method, urdf)
    if options.find_time_offset:
        with one_thread():
            data, _ = aligned_columns(data, RowReader())
    summaries = [o.summary.entry() for o in data.observations]
    held = decided(summaries, {f.name for f in fields(options)})
    return Plan(method, replace(data.options, **held), data.robot.urdf, options)
