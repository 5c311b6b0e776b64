"""
Processes: the one place that starts Python, on a module of this package or on many tasks.

With PYTHONSAFEPATH a json.py in the current folder is not imported, from Python 3.11 on.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
import ctypes
from dataclasses import dataclass
import importlib
import multiprocessing
import os
from queue import Empty, SimpleQueue
import signal
import subprocess
import sys
from types import ModuleType
from typing import Any

POLL = 0.1  # [s]
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
KILLED = (
    'a process ended before it was done, as one that is killed where memory is short: '
    'use fewer processes (--jobs)'
)
SAFE = {'PYTHONSAFEPATH': '1', 'OPENBLAS_NUM_THREADS': '1'}
_call: Any = None  # in a worker: function, shared
Function = Callable[[Any, Any], Any]


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
    code = (
        f'import sys; sys.path.append({home!r}); from {__package__}.processes import begin; '
        f'begin({module!r}, {os.getpid()})'
    )
    return subprocess.Popen(
        [sys.executable, '-c', code, *words], env={**os.environ, 'PYTHONSAFEPATH': '1'}, **how
    )


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


def in_processes(
    function: Function, shared: Any, tasks: Sequence[Any], jobs: int
) -> Generator[tuple[int, Any] | None, None, None]:
    """
    Yield (number of a task, function(shared, task)) as they come, None about every POLL.

    function : of a module; shared : first argument of all; tasks : second arguments
    jobs : processes; closing the generator ends them
    An exception is a Lost; so is, when a process is killed, every task that was not done.
    """
    context = multiprocessing.get_context('spawn')
    others = set(multiprocessing.active_children())
    done, left = SimpleQueue[Any](), set(range(len(tasks)))
    with _starting():  # Python's own process that tracks semaphores begins here
        pool = ProcessPoolExecutor(jobs, context, _begin_worker, (function, shared, os.getpid()))
    with pool:
        try:
            with _starting():
                for number, task in enumerate(tasks):
                    pool.submit(_work, number, task).add_done_callback(done.put)
            while left:
                try:
                    event = done.get(timeout=POLL).result()
                    left.remove(event[0])
                except Empty:
                    event = None
                yield event
        except BrokenProcessPool:
            yield from ((number, Lost(KILLED)) for number in left)
        finally:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            pool.shutdown(cancel_futures=True)


@contextmanager
def _starting() -> Iterator[None]:
    """
    Have processes started meanwhile inherit SAFE, and leave Ctrl-C to this one.

    They do not import the caller's main program: one that moves a robot would do so in each.
    """
    before, main = {name: os.environ.get(name) for name in SAFE}, sys.modules['__main__']
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


def _begin_worker(function: Function, shared: Any, parent: int) -> None:
    """Remember in a process of a pool what all of its tasks share."""
    global _call
    _end_with(parent)
    _call = function, shared


def _work(number: int, task: Any) -> tuple[int, Any]:
    """Return the number and the result of a ``task``, a Lost where it raises."""
    function, shared = _call
    try:
        return number, function(shared, task)
    except Exception as error:  # not every exception can be pickled
        return number, lost(error)
