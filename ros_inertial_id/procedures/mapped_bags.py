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
from .plan import FORMAT, Plan, with_tuples
from ..checks.admission import admission, CheckedRecording
from ..checks.checked import cleaned
from ..checks.finding import Checkup
from ..checks.velocity_kind import followed
from ..errors import InertialIdError
from ..estimation.r_factors import one_thread
from ..identification.identified_model import plain
from ..identification.identify import aligned_columns, RowReader
from ..identification.prepare.dataset import read_dataset
from ..identification.prepare.description_choice import description_of
from ..identification.reduce.wide_factor import WideFactor
from ..identification.settings import decided
from ..measurement.bags.bag import split_window
from ..measurement.bags.log import AS_NAMED, LogFormat, read_recording
from ..measurement.bags.log_files import is_log
from ..measurement.bags.storage import sha256, storage_files
from ..measurement.recording import Recording
from ..processes import lost

PLANNING_BAGS = 3  # bags that can be used, which decide the plan
NOT_KEPT = 'its factors cannot be kept'  # begins a reason that is none of the bag
PLAN_SEARCH_BAGS = 32  # bags among which a plan that was kept is looked for
Function = Callable[..., Any]


@dataclass(frozen=True)
class Shared:
    """plan : of all bags; cache, keep_all, log_format : see Engine."""

    plan: Plan
    cache: str
    keep_all: bool
    log_format: LogFormat = AS_NAMED

    @property
    def key(self) -> str:
        """Return all that factors depend on beside the recording."""
        key = self.plan.key + str(self.keep_all)
        if self.log_format == AS_NAMED:
            return key
        return f'{key}{self.log_format}'


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
    key = key_of(content, window, shared.key)
    file = folder / f'{key}.factors'
    with suppress(ValueError):
        return _mapped(path, file, cached=True)
    notes, factor = _accumulated(path, shared)
    try:
        write_factors(file, notes, factor)
    except OSError as error:
        return Mapped(path, '', f'{NOT_KEPT} in {folder}: {error.strerror or error}')
    return _mapped(path, file, cached=False)


def _accumulated(path: str, shared: Shared) -> tuple[dict[str, Any], WideFactor | None]:
    """Return notes and WideFactor of the bag at a path; {reason} and None where it is no use."""
    try:
        recording = read_recording(path, shared.plan.urdf, shared.log_format)
        checked = _checked(recording, shared.plan.asked, shared.plan.urdf, shared.keep_all)
        if checked.refused:
            return {'reason': checked.refused}, None
        factor, notes = factors_of(checked.recording, shared.plan)
    except InertialIdError as error:
        return {'reason': str(error)}, None
    return {**notes, 'checkup': asdict(checked.checkup)}, factor


def _content(path: str, cache: str) -> tuple[str, tuple[float | None, float | None]]:
    """
    Return the hash of what is in the bag at ``path`` and the window of it [s].

    It is read only if it was written since its hash was kept.
    InertialIdError or OSError where there is no such bag.
    """
    bag, window = split_window(path)
    if not bag.exists():
        storage_files(bag)  # says so
    parts = [bag]
    if bag.is_dir():
        parts = sorted(bag.iterdir())
    version = hashlib.sha256()
    for part in parts:
        state = part.stat()
        version.update(os.fsencode(f'{part.resolve()} {state.st_size} {state.st_mtime_ns}\n'))
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


def _checked(recording: Recording, options: Any, urdf: str, keep_all: bool) -> CheckedRecording:
    """Return a ``recording`` as it takes part, all of it where it is to ``keep_all``."""
    (checked,) = admission([recording], options, urdf=urdf).checked
    if keep_all:
        return replace(checked, refused='')
    return replace(checked, recording=cleaned([checked.recording], checked.checkup)[0])


def over_bag(shared: tuple[Shared, Function, Sequence[Any]], task: tuple[Any, ...]) -> Any:
    """
    Return what a function gives for the Dataset of one bag, read as its rows were.

    shared : (what holds for all bags, function of a module, its arguments for all bags)
    task : (Mapped of the bag, further arguments for it)
    """
    (common, function, arguments), (bag, *further) = shared, task
    recording = read_recording(bag.path, common.plan.urdf, common.log_format)
    if not common.keep_all:
        recording = cleaned([recording], bag.checkup)[0]
    return function(dataset_of(recording, common.plan), *arguments, *further)


class _FirstBags:
    """
    The first bags that can be used, each checked by what those before it decide.

    options : of the method; urdf : text of the description, '' until a bag gives it
    used : recordings; reasons : {path: why it cannot be used, '' where it can} of all examined
    """

    def __init__(self, options: Any, urdf: str, keep_all: bool, log_format: LogFormat) -> None:
        self.options, self.urdf = options, urdf
        self._keep_all, self._log_format = keep_all, log_format
        self.used: list[Recording] = []
        self.reasons: dict[str, str] = {}

    def examine(self, path: str) -> None:
        """Check the bag at a ``path`` and use it where it can be."""
        try:
            recording = read_recording(path, self.urdf, self._log_format)
            checked = _checked(recording, self.options, self.urdf, self._keep_all)
        except InertialIdError as error:
            self.reasons[path] = str(error)
            return
        except Exception as error:  # one bag never ends the others
            self.reasons[path] = lost(error).reason
            return
        self.reasons[path] = checked.refused
        recording = checked.recording
        content = recording.provenance.get('sha256')  # of a log of several files there is none
        again = content in [used.provenance.get('sha256') for used in self.used]
        if checked.refused or again:
            return
        self.used.append(recording)
        self.options = followed(self.options, checked.checkup.checks)
        self.urdf = self.urdf or description_of(recording, self.options)


def decided_plan(
    shared: tuple[str, Any, str, str, bool, LogFormat], paths: Sequence[str]
) -> Plan | dict[str, str]:
    """
    Return the Plan by the first PLANNING_BAGS of the bags at ``paths`` that can be used.

    shared : (method, options, text of the description or '', cache, keep_all, log_format)
    {path: reason} where none can be used.
    """
    method, options, urdf, cache, keep_all, log_format = shared
    start = json.dumps([FORMAT, method, plain(asdict(options)), urdf, keep_all])
    if log_format != AS_NAMED:
        start += str(log_format)
    files = list(_plan_files(start, paths[:PLAN_SEARCH_BAGS], cache))
    for file in files:
        with suppress(OSError, ValueError, KeyError, TypeError):
            return _kept_plan(file, options)
    first = _FirstBags(options, urdf, keep_all, log_format)
    for path in paths:
        first.examine(path)
        if len(first.used) == PLANNING_BAGS:
            break
    if not first.used:
        return first.reasons
    plan = _plan_by(first.used, (method, first.options, first.urdf))
    examined = len(first.reasons)
    if examined <= PLAN_SEARCH_BAGS:
        text = json.dumps({**plan.to_dict(), 'method': plan.method, 'urdf': plan.urdf})
        with suppress(OSError):
            keep(files[examined - 1], text.encode())
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
    held = replace(options, **with_tuples(data['options']))
    return Plan(data['method'], held, data['urdf'], options)


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
