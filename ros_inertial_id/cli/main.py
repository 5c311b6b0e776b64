"""
inertial-id: identification on bags, with no ROS graph.

Standard output is for results (one JSON object with --json), standard error for progress and
errors.  Exit status 0 on success, 2 on bad input with one line that says what to do.  Only the
verb that is asked for is imported: help and versions come at once.
"""

import signal

_BEFORE = signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while Python imports: no traceback

from collections.abc import Callable, Sequence  # noqa: E402, I100
import gc  # noqa: E402
import importlib  # noqa: E402
import io  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

from .arguments import parse  # noqa: E402
from ..errors import ConfigError, InertialIdError, printable  # noqa: E402

signal.signal(signal.SIGINT, _BEFORE)
BAD_INPUT = 2  # exit status
INTERRUPTED = 130  # exit status, as shells have it


class _Handler(logging.StreamHandler):
    """Writes warnings to standard error, one line each."""

    def format(self, record: logging.LogRecord) -> str:  # noqa: A003
        """Return the line of a ``record``, with nothing that commands a terminal."""
        return printable(f'{record.levelname}: {record.getMessage()}')


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command line; return the exit status.

    arguments : words after the program's name; None for those of the process
    """
    # Verbs use BLAS on one thread; more would be started and spin while Python imports (0.2 s).
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):  # a locale without the letters of a name
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors='backslashreplace')
    logging.basicConfig(level=logging.WARNING, handlers=[_Handler()])
    if arguments is None:
        arguments = sys.argv[1:]
    try:
        try:
            return _run(arguments)
        finally:
            _write_out()
    except BrokenPipeError:  # who reads has seen enough
        return 0
    except InertialIdError as error:
        print(f'inertial-id: {error}', file=sys.stderr)
        return BAD_INPUT
    except OSError as error:  # a path that the system refuses: too long, no right, ...
        path, reason = error.filename or 'a file', error.strerror or error
        refused = ConfigError(f'{path} cannot be read or written', found=reason)
        print(f'inertial-id: {refused}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print('inertial-id: interrupted', file=sys.stderr)
        return INTERRUPTED


def _replace_closed_streams() -> None:
    """Let nobody read what goes to streams that were closed (``>&-``), which are None."""
    for name in ('stdout', 'stderr'):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, 'w'))


def _write_out() -> None:
    """Write out what was printed; after an error Python does not try again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _run(arguments: Sequence[str]) -> int:
    """Run the verb of a command line, BLAS on one thread."""
    options = parse(arguments)
    if options is None:
        return 0
    run = _imported(options.module, options.function)
    one_thread = _imported('..estimation.r_factors', 'one_thread')
    with one_thread():
        return run(options) or 0


def _imported(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module; Ctrl-C while it is imported ends the process silently."""
    # Some libraries turn the exception of an interrupted import into another, or print it.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # what is imported stays: looking through it for garbage is in vain
    try:
        return getattr(importlib.import_module(module, __package__), name)
    finally:
        signal.signal(signal.SIGINT, before)
        gc.freeze()
        gc.enable()
