"""
CPU time of the command line, from a bag to a model and its report, in one run.

    python benchmark/command.py [--samples 60000] [--messages 1000000]

The measure is the bare loop of ``pinocchio.computeJointTorqueRegressor`` over the same samples.
All figures are user and system time of whole processes, imports included.
The last line is reading alone: JointState messages of an mcap with zstd to arrays.
"""

import argparse
from dataclasses import replace
import os
from pathlib import Path
import resource
import subprocess
import sys
import tempfile
import time

from identification import ROOT, URDF, write_motion
import numpy as np
import pinocchio as pin

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.joints.channels import JOINT_STATE
from ros_inertial_id.measurement.recording import Channel, Recording

TIMES = 3  # of every process, the smallest counts
COMMAND = (sys.executable, '-m', 'ros_inertial_id')


def write_bag(folder, count):
    """Write a bag of a seven-joint arm with ``count`` samples; return q, v, a."""
    write_motion(folder, count)
    q, v, a, tau = (np.load(folder / f'{name}.npy') for name in ('q', 'v', 'a', 'tau'))
    stamps = np.arange(count) * 1_000_000
    joint_states = Channel(
        '/joint_states',
        JOINT_STATE,
        stamps,
        stamps,
        {'position': q, 'velocity': v, 'effort': tau},
        load_robot_model(URDF).joint_names,
    )
    write_recording(
        folder / 'bag', replace(Recording({'/joint_states': joint_states}), robot_description=URDF)
    )
    return q, v, a


def loop(q, v, a):
    """Return the CPU time [s] of the bare regressor loop."""
    model = load_robot_model(URDF).pin_model
    data, start = model.createData(), time.process_time()
    for x in zip(q, v, a):
        pin.computeJointTorqueRegressor(model, data, *x)
    return time.process_time() - start


def spent(*words):
    """Return the smallest CPU time [s] of a command line."""
    environment = {**os.environ, 'PYTHONPATH': str(ROOT)}
    environment.pop('OPENBLAS_NUM_THREADS', None)  # as users have it
    best = float('inf')
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [*COMMAND, *map(str, words)], check=True, env=environment, stdout=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def reading(folder, count):
    """Return the CPU time [s] in which a bag with ``count`` JointState messages is read."""
    rng, stamps = np.random.default_rng(0), np.arange(count) * 1_000_000
    fields = {
        name: rng.standard_normal((count, 7)).cumsum(axis=0)
        for name in ('position', 'velocity', 'effort')
    }
    channel = Channel(
        '/joint_states',
        JOINT_STATE,
        stamps,
        stamps,
        fields,
        tuple(f'joint{k}' for k in range(1, 8)),
    )
    write_recording(folder / 'long', Recording({'/joint_states': channel}), compress=True)
    start = time.process_time()
    found = read_bag(folder / 'long').channels['/joint_states']
    used = time.process_time() - start
    assert all(np.array_equal(found.fields[name], fields[name]) for name in fields)
    return used


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--samples', type=int, default=60000)
    parser.add_argument('--messages', type=int, default=1_000_000)
    options = parser.parse_args()
    samples = options.samples
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unit = loop(*write_bag(folder, samples))
        identify = ('identify', folder / 'bag', '--out', folder / 'out')
        print(f'{samples} samples of 7 joints; bare regressor loop {unit:.2f} s CPU')
        print(f'{"":40}{"CPU s":>8}{"ratio":>8}')
        for words, text in (
            (('--help',), 'help'),
            ((*identify, '--no-report'), 'bag to model'),
            (identify, 'bag to model and report'),
        ):
            used = spent(*words)
            print(f'{text:40}{used:8.2f}{used / unit:8.2f}')
        print(f'report {(folder / "out" / "report.html").stat().st_size / 1e6:.2f} MB')
        print(
            f'{options.messages} messages (mcap, zstd) to arrays: '
            f'{reading(folder, options.messages):.2f} s CPU'
        )


if __name__ == '__main__':
    main()
