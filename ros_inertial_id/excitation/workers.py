"""
Restarts of the search, spread over processes.

The processes are started as this module, not by ``multiprocessing``, whose children import the
caller's main program first: a node or script with all it needs, for a search that needs arrays.
"""

from collections.abc import Generator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
import os
import pickle
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np

from .objective import MotionProblem
from .search import Candidate, keep_pages, restart
from ..errors import MotionError
from ..estimation.r_factors import one_thread

POLL = 0.1    # [s]
LONGER = 5.0  # times as long goes on who has found no motion at all: computers differ


def search(problem: MotionProblem, samples: int, restarts: int, seed: int, seconds: float,
           processes: int) -> Generator[Candidate | None, None, None]:
    """
    Yield Candidates as they are found, and None about every ``POLL`` s; ends by itself.

    problem, samples, seed : see search.restart; restarts : how many
    seconds : for all of them at most, ``LONGER`` times as many while there is no motion at all,
        counted from when a process is there; what is found does not depend on them otherwise
    processes : 1 searches in this process, more in new ones.  Closing the generator stops them.
    """
    if processes == 1:
        yield from _restarts(problem, samples, range(restarts), seed, seconds)
        return
    workers = [_start((problem, samples, range(k, restarts, processes), seed, seconds))
               for k in range(processes)]
    try:
        yield from _collect([pipe for _, pipe in workers])
        codes = [process.wait() for process, _ in workers]
        if all(codes):
            raise MotionError('the processes that search ended by themselves',
                              found=f'exit codes {codes}', do='give processes: 1')
    finally:
        for process, pipe in workers:
            process.terminate()
            process.communicate()
            pipe.close()


def _restarts(problem, samples, numbers, seed, seconds):
    keep_pages()
    deadlines = time.monotonic() + LONGER * seconds, time.monotonic() + seconds
    met = False
    with one_thread():
        for number in numbers:
            for candidate in restart(problem, samples, number, seed, deadlines[met:]) \
                    if time.monotonic() < deadlines[met] else ():
                met = met or bool(np.isfinite(candidate.value))
                yield candidate


def _start(task):
    """Return a process at work on ``task``, and the pipe its Candidates come from."""
    ours, theirs = Pipe(duplex=False)
    # A session of its own: Ctrl-C is the parent's to answer.
    process = subprocess.Popen(
        [sys.executable, '-m', __name__, str(theirs.fileno())], stdin=subprocess.PIPE,
        pass_fds=[theirs.fileno()], start_new_session=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(path or '.' for path in sys.path)})
    theirs.close()
    assert process.stdin is not None
    try:
        pickle.dump(task, process.stdin)
        process.stdin.flush()
    except BrokenPipeError:
        pass  # it died at once: its exit code tells
    return process, ours


def _collect(pipes):
    while pipes:
        ready: list[Any] = wait(pipes, timeout=POLL)
        for pipe in ready:
            try:
                yield pipe.recv()
            except (EOFError, OSError):  # the worker has finished, or died
                pipes.remove(pipe)
        if not ready:
            yield None


def work(descriptor: int) -> None:
    """
    Run the restarts that standard input holds; send Candidates to the pipe ``descriptor``.

    The parent keeps our standard input open: when that ends, it was killed, and this ends too.
    """
    pipe = Connection(descriptor, readable=False)
    try:
        task = pickle.load(sys.stdin.buffer)
    except (EOFError, pickle.UnpicklingError):
        return  # the parent was ended while it wrote
    threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    try:
        for candidate in _restarts(*task):
            pipe.send(candidate)
    except BrokenPipeError:
        pass  # the parent is gone


def _end_with(descriptor):
    os.read(descriptor, 1)  # not by its buffer, whose lock the interpreter wants at its end
    os._exit(1)


if __name__ == '__main__':
    work(int(sys.argv[1]))
