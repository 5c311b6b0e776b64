"""Own processes: what they import, how they end, and what is said of a task that ended them."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest
from worker_tasks import never

from ros_inertial_id.processes import in_processes, Lost

ROOT = Path(__file__).parents[1]
PATIENCE = 300.0  # [s] for one thing to happen on a loaded machine; nothing waits this long


def runs(pid):
    """Return whether a process is there and not just waiting to be asked for its status."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


def until(condition):
    """Return the first true value of a condition; fail without."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


def pids(folder, count=2):
    """Return the processes whose ids are names in a folder, once there are so many."""
    return until(
        lambda: (
            len(found := [name for name in os.listdir(folder) if name.isdigit()]) == count
            and found
        )
    )


def squared(how, task):
    """Return the square of a task; the process ends, or an error comes, instead of that of 1."""
    if task == 1:
        how()
    return task**2


def killed():
    time.sleep(0.2)  # what was returned before has been sent
    os.kill(os.getpid(), signal.SIGKILL)


def fails():
    raise ValueError('one')


def outcome(function, shared, tasks, jobs=1):
    """Return {number: result} of tasks in processes."""
    return dict(filter(None, in_processes(function, shared, tasks, jobs)))


def test_workers_end_when_their_parent_is_killed(import_path, tmp_path):
    code = (
        'from ros_inertial_id.processes import in_processes\n'
        'from worker_tasks import never\n'
        f'list(in_processes(never, {str(tmp_path)!r}, range(2), 2))\n'
    )
    parent = subprocess.Popen([sys.executable, '-c', code], env=import_path)
    workers = pids(tmp_path)
    assert all(runs(pid) for pid in workers)
    parent.kill()
    parent.wait()
    until(lambda: not any(runs(pid) for pid in workers))


def test_closing_ends_the_workers(tmp_path):
    events = in_processes(never, str(tmp_path), range(2), 2)
    while len(os.listdir(tmp_path)) < 2:
        assert next(events) is None
    events.close()
    assert not any(runs(pid) for pid in os.listdir(tmp_path))


def test_what_came_before_a_process_was_killed_counts_and_the_rest_says_why():
    results = outcome(squared, killed, range(4))
    assert results.pop(0) == 0 and set(results) == {1, 2, 3}
    for lost in results.values():
        assert isinstance(lost, Lost) and 'memory is short' in lost.reason
        assert '--jobs' in lost.reason


def test_an_error_ends_its_task_alone():
    assert outcome(squared, fails, range(4), 2) == {0: 0, 1: Lost('ValueError: one'), 2: 4, 3: 9}


def test_a_script_without_a_guard_is_not_run_again(import_path, tmp_path):
    script = tmp_path / 'script.py'
    script.write_text(
        'from test_processes import fails, outcome, squared\n'
        'print(outcome(squared, fails, [5], 1))\n'
    )
    done = subprocess.run(
        [sys.executable, str(script)], env=import_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == '{0: 25}\n' and done.stderr == ''


@pytest.mark.skipif(sys.version_info < (3, 11), reason='Python 3.10 has no safe path')
def test_no_process_imports_from_the_current_folder(import_path, trapped):
    code = (
        'import sys; from ros_inertial_id.processes import start\n'
        'sys.exit(start("cli.main", ["schema"]).wait())\n'
    )
    subprocess.run(
        [sys.executable, '-P', '-c', code],
        env=import_path,
        cwd=trapped,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert not (trapped / 'executed').exists()


def test_python_m_imports_numpy_and_json_from_where_they_are(import_path, trapped):
    for path in trapped.iterdir():
        if path.stem not in ('numpy', 'json'):
            path.unlink()
    subprocess.run(
        [sys.executable, '-m', 'ros_inertial_id', 'schema'],
        env=import_path,
        cwd=trapped,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert not (trapped / 'executed').exists()
