"""Own processes: what they import, how they end, and what is said of a task that ended them."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest

from ros_inertial_id.processes import in_processes, Lost

ROOT = Path(__file__).parents[1]
PATIENCE = 60.0  # [s] for one thing to happen on a loaded machine; nothing waits this long
PROMPT = 2.0     # [s] in which processes end that have lost their parent or were interrupted


def runs(pid):
    """Return whether a process is there and not just waiting to be asked for its status."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


def until(condition, patience=PATIENCE):
    """Return the first true value of a condition; fail without."""
    end = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


def pids(folder, count=2):
    """Return the processes whose ids are names in a folder, once there are so many."""
    return until(lambda: len(found := [name for name in os.listdir(folder) if name.isdigit()])
                 == count and found)


def never(folder, task):
    """Yield nothing for minutes: in one call of C, with the lock of the interpreter held."""
    (Path(folder) / str(os.getpid())).touch()
    yield sum(range(10 ** 10))


def ended_at(how, task):
    """Yield a task; the process ends at the second one."""
    yield task
    if task == 1:
        how(7)


def killed(_):
    os.kill(os.getpid(), signal.SIGKILL)


class Unknown:
    """A task whose module is in the parent alone."""

    def __reduce__(self):
        return __import__, ('module_that_does_not_exist',)


def outcome(function, shared, tasks):
    """Return {number: results} of tasks in two processes."""
    out = {}
    for event in filter(None, in_processes(function, shared, tasks, 2)):
        out.setdefault(event[0], []).append(event[1])
    return out


def test_workers_end_when_their_parent_is_killed(import_path, tmp_path):
    code = ('from test_processes import in_processes, never\n'
            f'list(in_processes(never, {str(tmp_path)!r}, range(2), 2))\n')
    parent = subprocess.Popen([sys.executable, '-c', code], env=import_path)
    workers = pids(tmp_path)
    assert all(runs(pid) for pid in workers)
    parent.kill()
    parent.wait()
    until(lambda: not any(runs(pid) for pid in workers), PROMPT)


def test_closing_ends_the_workers(tmp_path):
    events = in_processes(never, str(tmp_path), range(2), 2)
    while len(os.listdir(tmp_path)) < 2:
        assert next(events) is None
    events.close()
    assert not any(runs(pid) for pid in os.listdir(tmp_path))


@pytest.mark.parametrize('how, code, memory', [(os._exit, 7, False), (killed, -9, True)])
def test_memory_is_blamed_for_no_end_but_that_of_a_kill(how, code, memory):
    results = outcome(ended_at, how, range(3))
    assert results[0] == [0] and results[2] == [2]
    *_, last = results[1]
    assert isinstance(last, Lost) and f'exit code {code}' in last.reason
    assert ('memory' in last.reason) is memory


def test_a_task_that_cannot_be_imported_says_so_once(capfd):
    results = outcome(ended_at, None, [0, Unknown(), 2])
    assert results == {0: [0], 2: [2], 1: [
        Lost("ModuleNotFoundError: No module named 'module_that_does_not_exist'")]}
    assert capfd.readouterr().err == ''


def test_no_process_imports_from_the_current_folder(import_path, trapped):
    code = ('import sys; sys.path.insert(0, "")\n'  # as with -c, and in an interactive session
            'from ros_inertial_id.processes import start\n'
            'sys.exit(start("cli.main", ["schema"]).wait())\n')
    code = f'import sys; sys.path[:] = {sys.path!r}; import ros_inertial_id, {MODULES}\n{code}'
    subprocess.run([sys.executable, '-c', code], env=import_path, cwd=trapped, check=True,
                   stdout=subprocess.DEVNULL)
    assert not (trapped / 'executed').exists()


def test_python_m_imports_numpy_and_json_from_where_they_are(import_path, trapped):
    for path in trapped.iterdir():
        if path.stem not in ('numpy', 'json'):
            path.unlink()
    subprocess.run([sys.executable, '-m', 'ros_inertial_id', 'schema'], env=import_path,
                   cwd=trapped, check=True, stdout=subprocess.DEVNULL)
    assert not (trapped / 'executed').exists()


# What processes.py itself imports, so that the parent above does not do it from the folder.
MODULES = ('contextlib, ctypes, dataclasses, importlib, multiprocessing.connection, os, pickle, '
           'signal, subprocess, typing')
