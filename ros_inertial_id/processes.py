"""
Processes: the one place that starts Python, on a module of this package or on many tasks.

With PYTHONSAFEPATH a json.py in the current folder is not imported, from Python 3.11 on.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
import ctypes
from dataclasses import dataclass
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
from types import ModuleType
from typing import Any, TypeVar

POLL = 0.1  # [s]
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
KILLED = ('a process ended before it was done, as one that is killed where memory is short: '
          'use fewer processes (--jobs)')
SAFE = {'PYTHONSAFEPATH': '1', 'OPENBLAS_NUM_THREADS': '1'}
_pool: Any = None  # in a worker: function, shared, pipe to the parent, its lock
S = TypeVar('S')
T = TypeVar('T')
R = TypeVar('R')


@dataclass(frozen=True)
class Lost:
    """A task without result; reason : why."""

    reason: str


def lost(error: BaseException) -> Lost:
    """Return the Lost of a task that raised ``error``."""
    return Lost(f'{type(error).__name__}: {error}')


def start(module: str, words: Sequence[str], **how: Any) -> 'subprocess.Popen[bytes]':
    """
    Return a process that runs ``main()`` of a module of this package.

    module : its name in the package; words : of its command line; how : see subprocess.Popen
    It gets a SIGTERM when this process, or the thread that called, has ended (Linux).
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = (f'import sys; sys.path.append({home!r}); from {__package__}.processes import begin; '
            f'begin({module!r}, {os.getpid()})')
    return subprocess.Popen([sys.executable, '-c', code, *words],
                            env={**os.environ, 'PYTHONSAFEPATH': '1'}, **how)


def begin(module: str, parent: int) -> None:
    """Run ``main()`` of a module of this package as all of this process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports ends without words
    _end_with(parent)
    sys.exit(importlib.import_module(f'{__package__}.{module}').main())


def _end_with(parent: int) -> None:
    """Have this process end when its ``parent`` does."""
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before
            sys.exit(1)


def in_processes(function: Callable[[S, T], Iterator[R]], shared: S, tasks: Sequence[T],
                 jobs: int) -> Generator[tuple[int, R | Lost] | None, None, None]:
    """
    Yield (number of a task, what function(shared, task) yields) as it comes.

    function : of a module; shared : first argument of all; tasks : second arguments
    jobs : processes; closing the generator ends them
    None comes about every POLL where nothing else does.  An exception is a Lost; so is, when a
    process is killed, every task of which nothing came.
    """
    context = multiprocessing.get_context('spawn')
    reader, writer = context.Pipe(duplex=False)
    with _starting():
        pool = ProcessPoolExecutor(jobs, context, _begin_worker, (
            function, shared, writer, context.Lock(), os.getpid()))
    processes = pool._processes
    try:
        with _starting():
            futures = [pool.submit(_work, number, task) for number, task in enumerate(tasks)]
        pool.shutdown(wait=False)  # when the tasks are done
        writer.close()
        came = set()
        with suppress(EOFError, OSError):  # all processes have ended
            while True:
                event = reader.recv() if reader.poll(POLL) else None
                came.add(event and event[0])
                yield event
        for number, error in enumerate(future.exception() for future in futures):
            if isinstance(error, BrokenProcessPool):
                if number not in came:
                    yield number, Lost(KILLED)
            elif error:
                yield number, lost(error)
    finally:
        for process in list(processes.values()):
            process.kill()
            process.join()


@contextmanager
def _starting() -> Iterator[None]:
    """Have processes import nothing of the current folder or of the caller's main program."""
    before, main = {name: os.environ.get(name) for name in SAFE}, sys.modules['__main__']
    # Ctrl-C is the parent's to answer.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        os.environ.update(SAFE)
        sys.modules['__main__'] = ModuleType('__main__')
        yield
    finally:
        sys.modules['__main__'] = main
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin_worker(function: Any, shared: Any, pipe: Any, lock: Any, parent: int) -> None:
    """Remember in a process of a pool what all of its tasks share."""
    global _pool
    _end_with(parent)
    _pool = function, shared, pipe, lock


def _work(number: int, task: Any) -> None:
    """Send (number, result) for every result of a ``task`` to the parent."""
    function, shared, pipe, lock = _pool
    for result in function(shared, task):
        with lock:
            pipe.send((number, result))
