"""Memory of a node: what its threads needed for a moment is not kept once for each of them."""

import ctypes
import os
import subprocess
import sys

import pytest

LIBC = ctypes.CDLL(None)
# Threads that stay, as the middleware's do, hold all arenas that glibc gives (8 for each core);
# then one after the other needs 20 MB in pieces that are not mapped, as estimates do.
PROBE = """
import ctypes, os, threading

import numpy as np

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.nodes.running import GuardedNode, run


class Information(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in 'abcdefghij']  # a: bytes of all arenas


class Probe(GuardedNode):
    def __init__(self):
        super().__init__('probe')
        libc = ctypes.CDLL(None)
        libc.mallinfo2.restype = Information
        libc.malloc.restype = ctypes.c_void_p
        begun = [threading.Event() for _ in range(8 * os.cpu_count())]
        end = threading.Event()
        for event in begun:
            threading.Thread(
                target=lambda event=event: (libc.malloc(1 << 12), event.set(), end.wait())
            ).start()
        for event in begun:
            event.wait()
        for _ in range(16):
            thread = threading.Thread(target=lambda: [np.ones(12_000) for _ in range(208)])
            thread.start()
            thread.join()
        end.set()
        print(libc.mallinfo2().a)
        raise ConfigError('measured')


run(Probe)
"""


@pytest.mark.skipif(not hasattr(LIBC, 'mallinfo2'), reason='of glibc 2.33 and later')
def test_what_threads_needed_one_after_the_other_is_kept_once():
    environment = {**os.environ, 'OPENBLAS_NUM_THREADS': '1', 'ROS_DOMAIN_ID': '59'}
    done = subprocess.run(
        [sys.executable, '-c', PROBE], capture_output=True, text=True, env=environment, check=False
    )
    assert 'measured' in done.stderr
    # 20 MB and 15 to 75 of a node; with an arena for each of 16 threads 300 more.
    assert int(done.stdout) < 160e6
