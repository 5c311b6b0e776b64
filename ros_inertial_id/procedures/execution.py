"""
Execution: one function over many tasks, here, in processes of this machine, or on a cluster.

All three call the same function with the same arguments, so they give the same results; what
comes back says which task it belongs to, in any order.  A process that ends (killed, out of
memory) is replaced and its task given out again; a task that ends three of them is lost.  Each
may use its share of the machine's memory: a task that needs more is lost with a MemoryError,
before the machine is short of it.

The processes are started as this module, not by ``multiprocessing``, whose children import the
caller's main program first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
import os
import pickle
import resource
import subprocess
import sys
from typing import Any

from ..errors import ConfigError
from ..estimation.r_factors import one_thread

TRIES = 3  # processes that one task may end
Function = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Lost:
    """A task without result; reason : why."""

    reason: str


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
    elif jobs == 1 or len(tasks) == 1:
        for number, task in enumerate(tasks):
            yield number, _guarded(function, shared, task)
    else:
        yield from _in_processes(function, shared, tasks, min(jobs, len(tasks)))


def _guarded(function: Function, shared: Any, task: Any) -> Any:
    try:
        with one_thread():
            return function(shared, task)
    except Exception as error:  # one task never ends the others
        return Lost(f'{type(error).__name__}: {error}')


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
            yield numbers[future.key], (Lost(f'{type(failed).__name__}: {failed}') if failed
                                        else future.result())


@dataclass
class _Worker:
    """A process, the pipe to it, and the number of its task or None."""

    process: subprocess.Popen[bytes]
    pipe: Any
    task: int | None = None


def _in_processes(function: Function, shared: Any, tasks: Sequence[Any], jobs: int
                  ) -> Iterator[tuple[int, Any]]:
    waiting, tries = list(reversed(range(len(tasks)))), [0] * len(tasks)
    workers = [_start(function, shared, jobs) for _ in range(jobs)]
    try:
        while waiting or any(w.task is not None for w in workers):
            for worker in workers:
                if worker.task is None and waiting:
                    worker.task = waiting.pop()
                    _send(worker.pipe, tasks[worker.task])
            for pipe in wait([w.pipe for w in workers if w.task is not None]):
                place = next(k for k, w in enumerate(workers) if w.pipe is pipe)
                worker = workers[place]
                assert worker.task is not None
                try:
                    result = worker.pipe.recv()
                except (EOFError, OSError):
                    tries[worker.task] += 1
                    code = worker.process.wait()
                    worker.pipe.close()
                    workers[place] = _start(function, shared, jobs)
                    if tries[worker.task] < TRIES:
                        waiting.append(worker.task)
                        continue
                    result = Lost(f'{TRIES} processes ended while they read it (exit code '
                                  f'{code}): out of memory?')
                number, worker.task = worker.task, None
                yield number, result
    finally:
        for worker in workers:
            worker.process.terminate()
            worker.process.wait()
            worker.pipe.close()


def _start(function: Function, shared: Any, jobs: int) -> _Worker:
    ours, theirs = Pipe()
    # A session of its own: Ctrl-C is the parent's to answer.
    process = subprocess.Popen(
        [sys.executable, '-m', __name__, str(theirs.fileno()), str(memory_share(jobs))],
        pass_fds=[theirs.fileno()], start_new_session=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(path or '.' for path in sys.path)})
    theirs.close()
    _send(ours, (function, shared))
    return _Worker(process, ours)


def _send(pipe: Any, content: Any) -> None:
    try:
        pipe.send(content)
    except BrokenPipeError:
        pass  # it died: reading its answer tells


def memory_share(jobs: int) -> int:
    """Return the share of the machine's memory that each of ``jobs`` processes has [bytes]."""
    return os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // jobs


def work(descriptor: int, memory: int) -> None:
    """Answer tasks through the pipe ``descriptor`` until it is closed, in ``memory`` [bytes]."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (
        memory if most == resource.RLIM_INFINITY else min(memory, most), most))
    pipe = Connection(descriptor)
    try:
        function, shared = pipe.recv()
        while True:
            pipe.send(_guarded(function, shared, pipe.recv()))
    except (EOFError, OSError, pickle.UnpicklingError):
        pass  # the parent is gone


if __name__ == '__main__':
    from ros_inertial_id.procedures import execution  # whose classes the parent knows
    execution.work(int(sys.argv[1]), int(sys.argv[2]))
