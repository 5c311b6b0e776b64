"""
Mapped bags: one bag checked, accumulated and kept, in whatever process.

What a task returns is small: where the factors are kept and what the bag is.  A bag that cannot
be used is remembered with the reason, by its content, and not examined again.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..checks.check import check
from ..checks.checked import cleaned, unusable
from ..checks.finding import Checkup
from ..checks.velocity_kind import followed
from ..errors import InertialIdError
from ..identification import identify as spine
from ..identification.model.identified_model import plain
from ..identification.prepare.dataset import Dataset
from ..identification.prepare.robot import robot_of
from ..identification.reduce.bag_factors import (dataset_of, factors_of, find_factors, folders,
                                                 keep, kept, key_of, read_factors, write_factors)
from ..identification.reduce.plan import FORMAT, Plan, plan_of
from ..measurement.bags.bag import read_bag, split_window
from ..measurement.bags.object_store import is_url, path_of, version_of
from ..measurement.bags.storage import sha256, storage_files
from ..measurement.recording import Recording
from ..processes import lost

FIRST = 3  # bags that can be used, which decide the plan
NOT_KEPT = 'its factors cannot be kept'  # begins a reason that is none of the bag
LOOK = 32  # bags among which a plan that was kept is looked for


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
    stretches : how many; cached : whether the factors were there already
    notes : see BagFactors
    """

    path: str
    file: str
    reason: str
    stretches: int = 0
    cached: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def checkup(self) -> Checkup:
        """Return the Checkup of the bag, which is kept with its factors."""
        return Checkup.from_fields(read_factors(self.file).notes['checkup'])

    def overlaps(self, other: 'Mapped') -> bool:
        """Return whether the ``other`` one has samples of this one."""
        one, two = (m.notes['provenance'] for m in (self, other))
        starts = [p.get('start_s') or 0.0 for p in (one, two)]
        ends = [math.inf if p.get('end_s') is None else p['end_s'] for p in (one, two)]
        return one['sha256'] == two['sha256'] and max(starts) < min(ends)


def accumulate_bag(shared: Shared, path: str) -> Mapped:
    """
    Return the Mapped of the bag at ``path``; what is wrong with it is its reason.

    shared : what holds for all bags
    """
    try:
        bag, window = split_window(path)
        places = folders(bag, shared.cache)
        content = _content(bag, places)
    except (InertialIdError, OSError) as error:
        return Mapped(path, '', str(error))
    key = key_of(content, window, shared.plan.key + str(shared.keep_all))
    known = find_factors(key, places)
    if known:
        return _mapped(path, *known, cached=True)
    factors, header = None, {'reason': '', 'verdict': ''}
    try:
        recording, found = _checked(path, shared.plan.asked, shared.plan.urdf, shared.keep_all)
        header['verdict'] = found.verdict.word
        header['reason'] = '' if shared.keep_all else unusable(found)
        if not header['reason']:
            factors = factors_of(recording, shared.plan)
            factors = replace(factors, notes={**factors.notes, 'checkup': asdict(found)})
    except InertialIdError as error:
        header['reason'] = str(error)
    try:
        file = write_factors(key, places, factors, header)
    except OSError as error:
        return Mapped(path, '', f'{NOT_KEPT} in {places[-1]}: {error.strerror or error}')
    read = find_factors(key, [path_of(file).parent])
    assert read is not None
    return _mapped(path, *read, cached=False)


def _content(bag: Path, places: Sequence[Path]) -> str:
    """
    Return the hash of what is in a ``bag``, read only if it was written since that was kept.

    InertialIdError or OSError where there is no such bag.
    """
    if not bag.exists():
        storage_files(bag)  # says so
    version = version_of(sorted(bag.iterdir()) if bag.is_dir() else [bag])
    if is_url(bag):
        return version
    name = f'{version[:40]}.content'
    for _, content in kept(name, places):
        return content.decode()
    found = sha256(storage_files(bag)[0])
    with suppress(OSError):
        keep(name, places, found.encode())
    return found


def _mapped(path: str, file: str, header: Mapping[str, Any], cached: bool) -> Mapped:
    if header['reason']:
        return Mapped(path, '', header['reason'], cached=cached)
    notes = {name: note for name, note in header['notes'].items() if name != 'checkup'}
    return Mapped(path, file, '', len(header['stretches']), cached, notes)


def _checked(path: str, options: Any, urdf: str, keep_all: bool) -> tuple[Recording, Checkup]:
    """Return the recording at a path without what its checkup masks, and the checkup."""
    recording = read_bag(path)
    found = check([recording], options, urdf=urdf)
    return (recording if keep_all else cleaned([recording], found)[0]), found


def bag_dataset(shared: Shared, bag: Mapped) -> Dataset:
    """Return the Dataset of a ``bag`` that was accumulated, read as its rows were; ``shared``."""
    recording = read_bag(bag.path)
    if not shared.keep_all:
        recording = cleaned([recording], bag.checkup)[0]
    return dataset_of(recording, shared.plan)


def decided_plan(shared: tuple[str, Any, str, str, bool], paths: Sequence[str]
                 ) -> Plan | dict[str, str]:
    """
    Return the Plan by the first FIRST of the bags at ``paths`` that can be used.

    shared : (method, options, text of the description or '', cache, keep_all)
    {path: reason} where none can be used.
    """
    method, options, urdf, cache, keep_all = shared
    contents = _Contents(json.dumps([FORMAT, method, plain(asdict(options)), urdf, keep_all]),
                         cache)
    for path in paths[:LOOK]:  # a plan is kept under the bags that were looked at to find it
        known = _known_plan(contents.add(path), _places(path, cache), options)
        if known:
            return known
    recordings: list[Recording] = []
    failed: dict[str, str] = {}
    looked = _Contents(contents.start, cache)
    for path in paths:
        key = looked.add(path)
        try:
            recording, found = _checked(path, options, urdf, keep_all)
            failed[path] = '' if keep_all else unusable(found)
        except InertialIdError as error:
            failed[path] = str(error)
        except Exception as error:  # one bag never ends the others
            failed[path] = lost(error).reason
        if failed[path] or any(r.provenance['sha256'] == recording.provenance['sha256']
                               for r in recordings):
            continue
        recordings.append(recording)
        options = followed(options, found.checks)
        urdf = urdf or recording.robot_description
        if len(recordings) == FIRST:
            break
    if not recordings:
        return failed
    plan = _plan_by(recordings, options, urdf)
    _keep_plan(key, _places(paths[0], cache), plan)
    return plan


class _Contents:
    """A hash of bags one after the other, those that cannot be read by their paths."""

    def __init__(self, start: str, cache: str) -> None:
        self.start, self.cache = start, cache
        self._digest = hashlib.sha256(start.encode())

    def add(self, path: str) -> str:
        """Return the hash with the bag at ``path``."""
        try:
            bag, window = split_window(path)
            text = f'{_content(bag, folders(bag, self.cache))} {window}'
        except (InertialIdError, OSError):
            text = path
        self._digest.update(text.encode())
        return self._digest.hexdigest()


def _places(path: str, cache: str) -> list[Path]:
    """Return where what is found of the bag at ``path`` may be kept."""
    try:
        return folders(split_window(path)[0], cache)
    except InertialIdError:
        return folders(path_of(path), cache)


def _plan_by(recordings: Sequence[Recording], options: Any, urdf: str) -> Plan:
    """Return the Plan that the usual identification of recordings finds."""
    model = spine.identify(recordings, replace(options, consistent=True), urdf=urdf).model
    plan = plan_of(model, options)
    robot = robot_of(recordings[0], plan.options, urdf)
    count = 10 * len(robot)
    return replace(plan, links=tuple(np.round(plan.links[:count], 12).tolist()))


def _known_plan(key: str, places: Sequence[Path], options: Any) -> Plan | None:
    """Return the Plan kept under a key in one of the folders, None without."""
    for _, content in kept(f'{key[:40]}.plan', places):
        with suppress(ValueError, KeyError, TypeError):
            data = json.loads(content)
            held = {k: tuple(v) if isinstance(v, list) else v for k, v in data['options'].items()}
            return Plan(data['method'], replace(options, **held), data['urdf'],
                        tuple(data['links']), options)
    return None


def _keep_plan(key: str, places: Sequence[Path], plan: Plan) -> None:
    """Keep a Plan in the first folder that takes it."""
    text = json.dumps({**plan.to_dict(), 'method': plan.method, 'urdf': plan.urdf})
    with suppress(OSError):
        keep(f'{key[:40]}.plan', places, text.encode())
