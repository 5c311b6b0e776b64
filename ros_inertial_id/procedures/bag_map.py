"""
The map over bags: each accumulated once, here, in processes or on a cluster, and kept.

Stretches are merged in the order of time, whoever accumulated them and when: one result.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bag_factors import read_factors
from .mapped_bags import accumulate_bag, Mapped, NOT_KEPT, Shared
from .plan import Plan
from ..errors import ConfigError, RecordingError
from ..estimation.r_factors import one_thread
from ..identification.reduce.structure import Structure
from ..identification.reduce.wide_factor import WideFactor
from ..measurement.bags.log import AS_NAMED, LogFormat
from ..processes import Function, in_processes, lost

SOME = 32  # recordings, evenly spread, that show correlation and model error of any number
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Engine:
    """
    Where work is done and what is kept.

    jobs : processes; scheduler : address of a Dask scheduler, '' for this machine
    cache : folder of the factors, '' for the user's cache; keep_all : use also what checks mask
    progress : called with (stage, done, in all), or None; log_format : of logs
    """

    jobs: int = 1
    scheduler: str = ''
    cache: str = ''
    keep_all: bool = False
    progress: Report | None = None
    log_format: LogFormat = AS_NAMED

    def shared(self, plan: Plan) -> Shared:
        """Return what holds for all bags, by their ``plan``."""
        return Shared(plan, self.cache, self.keep_all, self.log_format)

    def run(
        self, function: Function, shared: Any, tasks: Sequence[Any], stage: str, few: int = 1
    ) -> list[Any]:
        """
        Return function(shared, task), or Lost, of all ``tasks`` in their order.

        function : of a module; stage : of the progress
        few : so many tasks cost less than processes take to start, and are done in this one
        An exception of the function is a Lost too.  ConfigError where there is no such scheduler.
        """
        out: list[Any] = [None] * len(tasks)
        results = self._results(function, shared, tasks, few)
        for done, (number, result) in enumerate(results, 1):
            out[number] = result
            if self.progress:
                self.progress(stage, done, len(tasks))
        return out

    def _results(
        self, function: Function, shared: Any, tasks: Sequence[Any], few: int
    ) -> Iterator[tuple[int, Any]]:
        """Return an iterator over (number of a task, its result), as they come."""
        if self.scheduler and tasks:
            return _on_cluster(function, shared, tasks, self.scheduler)
        if self.jobs == 1 or len(tasks) <= few:
            return _here(function, shared, tasks)
        jobs = min(self.jobs, len(tasks))
        return filter(None, in_processes(function, shared, tasks, jobs))


def map_bags(
    paths: Sequence[str], plan: Plan, engine: Engine
) -> tuple[list[Mapped], dict[str, str]]:
    """
    Return (Mapped of the bags that take part in the order of time, {path: why it is left out}).

    paths : of bags, each counted once by its content; plan : of all; engine : see Engine
    RecordingError where no bag can be used, or factors cannot be kept.
    """
    shared = engine.shared(plan)
    results = engine.run(accumulate_bag, shared, list(paths), 'bags')
    by_content: dict[str, Mapped] = {}  # by the file of the factors, which the content names
    left_out: dict[str, str] = {}
    for path, result in zip(paths, results):  # a Mapped or a Lost: both have a reason
        if result.reason.startswith(NOT_KEPT):
            raise RecordingError(
                f'{path}: {result.reason}',
                do='make room, or give another --cache; what was kept before is used again',
            )
        if result.reason:
            left_out[path] = result.reason
            continue
        first = by_content.setdefault(result.file, result)
        if first is not result:
            left_out[path] = f'the same samples as {first.path}: they count once'
    if not by_content:
        raise RecordingError('none of the bags can be used', found=first_reasons(left_out))
    return sorted(by_content.values(), key=lambda b: (b.notes['start_s'], b.path)), left_out


def first_reasons(left_out: Mapping[str, str]) -> list[str]:
    """Return why the first five of the bags, or robots, that are ``left_out`` are so."""
    return [f'{path}: {reason}' for path, reason in list(left_out.items())[:5]]


def merged_stretch(shared: tuple[Structure, Sequence[str]], number: int) -> WideFactor:
    """
    Return the WideFactor of the stretches ``number`` of all bags together, and of no other.

    shared : structure of the plan, files of the bags
    They are merged in a tree whose depth is that of log2; one per level of it is held.
    """
    structure, files = shared
    stack: list[tuple[int, WideFactor]] = []
    for file in files:
        level, factor = 0, read_factors(file, structure, [number])
        while stack and stack[-1][0] == level:
            level, factor = level + 1, stack.pop()[1].merged(factor)
        stack.append((level, factor))
    total = stack.pop()[1]
    while stack:
        total = stack.pop()[1].merged(total)
    return total


def _guarded(function: Function, shared: Any, task: Any) -> Any:
    try:
        with one_thread():
            return function(shared, task)
    except Exception as error:  # one task never ends the others
        return lost(error)


def _here(function: Function, shared: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Yield (number of a task, its result), one after the other in this process."""
    for number, task in enumerate(tasks):
        yield number, _guarded(function, shared, task)


def _on_cluster(
    function: Function, shared: Any, tasks: Sequence[Any], address: str
) -> Iterator[tuple[int, Any]]:
    try:
        from distributed import as_completed, Client
    except ImportError:
        raise ConfigError('--scheduler needs Dask', do='pip install distributed') from None
    try:
        client = Client(address, timeout='10s', set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigError(
            f'no Dask scheduler at {address}',
            found=error,
            do='start one with "dask scheduler", workers with "dask worker"',
        ) from None
    with client:
        everywhere = client.scatter(shared, broadcast=True, hash=False)
        numbers = {
            client.submit(_guarded, function, everywhere, task, pure=False): number
            for number, task in enumerate(tasks)
        }
        for future in as_completed(numbers, loop=client.loop):
            if future.status == 'finished':
                result = future.result()
            else:
                result = lost(future.exception())
            yield numbers.pop(future), result


def some(items: Sequence[Any]) -> list[Any]:
    """Return SOME of the ``items``, evenly spread, or all of fewer."""
    count = min(SOME, len(items))
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, count).astype(int))]
