"""What workers do in tests; it imports little, as every one of them imports it."""

import os
from pathlib import Path
import signal


def never(folder, task):
    """Return after hours in one call of C, with the lock of the interpreter held."""
    (Path(folder) / str(os.getpid())).touch()
    return sum(range(10**12))


def never_accumulated(shared, path):
    return never(os.environ['NOTED'], path)


def noted_and_killed(shared, path):
    from ros_inertial_id.procedures.mapped_bags import accumulate_bag

    (Path(os.environ['NOTED']) / str(os.getpid())).touch()
    if path.endswith('day2'):
        os.kill(os.getpid(), signal.SIGKILL)
    return accumulate_bag(shared, path)


def process(shared, task):
    """Return where a task is done, and the most threads that a library of BLAS uses there."""
    import numpy  # noqa: F401, whose BLAS it is
    from threadpoolctl import threadpool_info

    return os.getpid(), max(
        pool['num_threads'] for pool in threadpool_info() if pool['user_api'] == 'blas'
    )
