"""
The map over bags: each accumulated once, here, in processes or on a cluster, and kept.

Stretches are merged in the order of time, whoever accumulated them and when: one result.
"""

from collections.abc import Callable, Iterator, Sequence
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
from ..processes import Function, in_processes, Lost, lost

SOME = 32  # recordings, evenly spread, that show correlation and model error of any number
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Engine:
    """
    Where work is done and what is kept.

    jobs : processes; scheduler : address of a Dask scheduler, '' for this machine
    cache : folder of the factors, '' for the user's cache; keep_all : use also what checks mask
    progress : called with (stage, done, in all), or None
    """

    jobs: int = 1
    scheduler: str = ''
    cache: str = ''
    keep_all: bool = False
    progress: Report | None = None

    def run(
        self, function: Function, shared: Any, tasks: Sequence[Any], stage: str, few: int = 1
    ) -> list[Any]:
        """
        Return function(shared, task), or Lost, of all ``tasks`` in their order.

        function : of a module; stage : of the progress
        few : so many tasks cost less than processes take to start, and are done in this one
        An exception of the function is a Lost too.  ConfigError where there is no such scheduler.
        """
        if self.scheduler and tasks:
            results = _on_cluster(function, shared, tasks, self.scheduler)
        elif self.jobs == 1 or len(tasks) <= few:
            results = ((k, _guarded(function, shared, task)) for k, task in enumerate(tasks))
        else:
            results = filter(
                None, in_processes(function, shared, tasks, min(self.jobs, len(tasks)))
            )
        out: list[Any] = [None] * len(tasks)
        for done, (number, result) in enumerate(results, 1):
            out[number] = result
            if self.progress:
                self.progress(stage, done, len(tasks))
        return out


def map_bags(
    paths: Sequence[str], plan: Plan, engine: Engine
) -> tuple[list[Mapped], dict[str, str]]:
    """
    Return (Mapped of the bags that take part in the order of time, {path: why it is left out}).

    paths : of bags, each counted once by its content; plan : of all; engine : see Engine
    RecordingError where no bag can be used, or factors cannot be kept.
    """
    shared = Shared(plan, engine.cache, engine.keep_all)
    results = engine.run(accumulate_bag, shared, list(paths), 'bags')
    kept: dict[str, Mapped] = {}  # by the file of the factors, which its content names
    left_out: dict[str, str] = {}
    for path, result in zip(paths, results):
        if isinstance(result, Lost):
            left_out[path] = result.reason
        elif result.reason.startswith(NOT_KEPT):
            raise RecordingError(
                f'{path}: {result.reason}',
                do='make room, or give another --cache; what was kept before is used again',
            )
        elif result.reason:
            left_out[path] = result.reason
        elif result.file in kept:
            left_out[path] = f'the same samples as {kept[result.file].path}: they count once'
        else:
            kept[result.file] = result
    if not kept:
        raise RecordingError(
            'none of the bags can be used',
            found=[f'{p}: {why}' for p, why in list(left_out.items())[:5]],
        )
    return sorted(kept.values(), key=lambda b: (b.notes['start_s'], b.path)), left_out


def merged_stretch(shared: tuple[Structure, Sequence[str]], number: int) -> WideFactor:
    """
    Return the WideFactor of the stretches ``number`` of all bags together, and of no other.

    shared : structure of the plan, files of the bags
    They are merged in a tree whose depth is that of log2; one per level of it is held.
    """
    structure, files = shared
    stack: list[tuple[int, WideFactor]] = []
    for file in files:
        level, own = 0, read_factors(file, structure, [number])
        while stack and stack[-1][0] == level:
            level, own = level + 1, stack.pop()[1].merged(own)
        stack.append((level, own))
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
            failed = future.exception() if future.status != 'finished' else None
            yield numbers.pop(future), lost(failed) if failed else future.result()


def some(items: Sequence[Any]) -> list[Any]:
    """Return SOME of the ``items``, evenly spread, or all of fewer."""
    count = min(SOME, len(items))
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, count).astype(int))]
