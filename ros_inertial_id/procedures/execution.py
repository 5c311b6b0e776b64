"""
Execution: one function over many tasks, here, in processes of this machine, or on a cluster.

All three call the same function with the same arguments, so they give the same results; what
comes back says which task it belongs to, in any order.  Each process may use its share of the
machine's memory: a task that needs more is lost with a MemoryError, before the machine is short
of it.
"""

from collections.abc import Callable, Iterator, Sequence
import os
import resource
from typing import Any

from ..errors import ConfigError
from ..estimation.r_factors import one_thread
from ..processes import in_processes, lost

Function = Callable[[Any, Any], Any]


def run_tasks(function: Function, shared: Any, tasks: Sequence[Any], *, jobs: int = 1,
              scheduler: str = '') -> Iterator[tuple[int, Any]]:
    """
    Yield (number of a task, function(shared, task) or Lost) as they are done.

    function : of a module; shared : first argument of all; tasks : second arguments
    jobs : processes, 1: this one; scheduler : address of a Dask scheduler, instead of jobs
    An exception of the function is a Lost too.  ConfigError where there is no such scheduler.
    """
    if not tasks:
        return
    if scheduler:
        yield from _on_cluster(function, shared, tasks, scheduler)
    elif jobs == 1:
        for number, task in enumerate(tasks):
            yield number, _guarded(function, shared, task)
    else:
        call = function, shared, memory_share(min(jobs, len(tasks)))
        yield from filter(None, in_processes(_in_memory, call, tasks, jobs))


def _guarded(function: Function, shared: Any, task: Any) -> Any:
    try:
        with one_thread():
            return function(shared, task)
    except Exception as error:  # one task never ends the others
        return lost(error)


def _on_cluster(function: Function, shared: Any, tasks: Sequence[Any], address: str
                ) -> Iterator[tuple[int, Any]]:
    try:
        from distributed import as_completed, Client
    except ImportError:
        raise ConfigError('--scheduler needs Dask', do="pip install 'ros_inertial_id[cluster]'"
                          ) from None
    try:
        client = Client(address, timeout='10s', set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigError(f'no Dask scheduler at {address}', found=error,
                          do='start one with "dask scheduler", workers with "dask worker"'
                          ) from None
    with client:
        everywhere = client.scatter(shared, broadcast=True, hash=False)
        submitted = [client.submit(_guarded, function, everywhere, task, pure=False)
                     for task in tasks]
        numbers = {future.key: number for number, future in enumerate(submitted)}
        for future in as_completed(submitted, loop=client.loop):
            failed = future.exception() if future.status != 'finished' else None
            yield numbers[future.key], lost(failed) if failed else future.result()


def memory_share(jobs: int) -> int:
    """Return the share of the machine's memory that each of ``jobs`` processes has [bytes]."""
    return os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // jobs


def _in_memory(call: tuple[Function, Any, int], task: Any) -> Iterator[Any]:
    """Yield function(shared, task) in a process that may use ``memory`` [bytes], of a ``call``."""
    function, shared, memory = call
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (
        memory if most == resource.RLIM_INFINITY else min(memory, most), most))
    yield _guarded(function, shared, task)
