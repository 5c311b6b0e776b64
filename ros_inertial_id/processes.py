"""
Processes: the one place that starts Python, and a pool of it that works on tasks.

Not by ``multiprocessing``, ``concurrent.futures`` or joblib.  Their processes (the workers, and
those that keep account of semaphores) begin with the current folder at the head of ``sys.path``,
so that a ``json.py`` or ``numpy.py`` in it runs, and Python 3.10 has no option against that.  The
first two import the caller's main program as well: a node or script with all it needs.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
import ctypes
from dataclasses import dataclass
import importlib
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
import os
import pickle
import signal
import subprocess
import sys
from typing import Any, TypeVar

TRIES = 3   # processes that one task may end
POLL = 0.1  # [s]
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
# -c puts the current folder at the head of the path unless -P is given, which Python 3.10 has not;
# there nothing may be imported until the path stands, but what is built into the interpreter.
SAFE = ['-P'] if sys.version_info >= (3, 11) else []
BEGIN = """import sys
sys.path[:] = {path}
from {package}.processes import begin
begin({module!r}, {parent})"""
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

    It imports from where this process does, and from the current folder only if this package
    itself lies there.  It gets a SIGTERM when this process, or the thread that called, has ended,
    however that came (Linux).
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = [entry or home for entry in sys.path if entry or home == os.getcwd()]
    code = BEGIN.format(path=path, package=__package__, module=module, parent=os.getpid())
    return subprocess.Popen([sys.executable, *SAFE, '-c', code, *words], **how)


def begin(module: str, parent: int) -> None:
    """Run ``main()`` of a module of this package as all of this process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports ends without words
    if sys.platform == 'linux':
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before
            sys.exit(1)
    sys.exit(importlib.import_module(f'{__package__}.{module}').main())


def in_processes(function: Callable[[S, T], Iterator[R]], shared: S, tasks: Sequence[T],
                 jobs: int) -> Generator[tuple[int, R | Lost] | None, None, None]:
    """
    Yield (number of a task, what function(shared, task) yields) as it comes.

    function : of a module; shared : first argument of all; tasks : second arguments
    jobs : processes; closing the generator ends them
    None comes about every POLL where nothing else does.  An exception is a Lost.  A process that
    ends (killed, out of memory) is replaced and its task given out again from its beginning; a
    task that ends TRIES of them is Lost.
    """
    waiting, tries = list(reversed(range(len(tasks)))), [0] * len(tasks)
    processes: dict[Any, subprocess.Popen[bytes]] = {}  # by the pipe to each
    at: dict[Any, int] = {}  # number of the task of those that work
    try:
        while waiting or at:
            while len(processes) < min(jobs, len(waiting) + len(at)):
                pipe, process = _worker()
                processes[pipe] = process
            for pipe in [pipe for pipe in processes if pipe not in at][:len(waiting)]:
                at[pipe] = waiting.pop()
                with suppress(BrokenPipeError, ConnectionResetError):  # recv says how it died
                    pipe.send((function, shared, tasks[at[pipe]]))
            ready: list[Any] = wait(list(at), POLL)
            if not ready:
                yield None
            for pipe in ready:
                try:
                    results = pipe.recv()
                except (EOFError, OSError):
                    number, code = at.pop(pipe), processes.pop(pipe).wait()
                    pipe.close()
                    tries[number] += 1
                    if tries[number] < TRIES:
                        waiting.append(number)
                    else:
                        yield number, Lost(_ended(code))
                    continue
                for result in results:
                    yield at[pipe], result
                if not results:
                    del at[pipe]
    finally:
        for process in processes.values():
            process.terminate()
        for pipe, process in processes.items():
            process.wait()
            pipe.close()


def _worker() -> tuple[Connection, 'subprocess.Popen[bytes]']:
    ours, theirs = Pipe()
    # A session of its own: Ctrl-C is the parent's to answer.
    process = start('processes', [str(theirs.fileno())], pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, start_new_session=True,
                    env={**os.environ, 'OPENBLAS_NUM_THREADS': '1'})
    theirs.close()
    return ours, process


def _ended(code: int) -> str:
    """Return in words how processes with exit code ``code`` ended."""
    short = ': killed, as the system does where memory is short' if code == -signal.SIGKILL else ''
    return f'{TRIES} processes ended while they worked on it (exit code {code}{short})'


def main() -> None:
    """Answer tasks through the pipe of the command line until it is closed."""
    pipe = Connection(int(sys.argv[1]))
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            content = pipe.recv_bytes()
            try:
                function, shared, task = pickle.loads(content)
                for result in function(shared, task):
                    pipe.send([result])
            except Exception as error:  # one task never ends the others
                pipe.send([lost(error)])
            pipe.send([])
