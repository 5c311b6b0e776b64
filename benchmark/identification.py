"""
Speed and memory of an identification against the plain way to write one, in the same run.

    python benchmark/identification.py [--samples 60000] [--long 600000]

Plain is what one would write first: a loop of ``pinocchio.computeJointTorqueRegressor``, vstack,
friction columns, pivoted QR, least squares, weights, weighted least squares, covariance.  All
figures are CPU time with one BLAS thread (wall time is noisy), every task in a process of its own;
memory is the growth of the peak over a process that already holds imports and input arrays.
Decimation is off but where it is said.
"""

import argparse
from dataclasses import replace
import json
from pathlib import Path
import subprocess
import sys
import tempfile
import time

import numpy as np
import pinocchio as pin
from scipy import linalg
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ros_inertial_id.dynamics.regressor import BLOCK, tree_rows  # noqa: E402
from ros_inertial_id.dynamics.robot_model import load_robot_model  # noqa: E402
from ros_inertial_id.estimation.base_parameters import find_base_parameters  # noqa: E402
from ros_inertial_id.estimation.estimators import ESTIMATORS, Problem  # noqa: E402
from ros_inertial_id.estimation.r_factors import RFactors  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402
from ros_inertial_id.measurement.joints.channels import JOINT_STATE  # noqa: E402
from ros_inertial_id.measurement.joints.kinematic_state import JointSpaceState  # noqa: E402
from ros_inertial_id.measurement.recording import Channel, Recording  # noqa: E402
from ros_inertial_id.methods import METHODS  # noqa: E402

serial_arm = METHODS['serial_arm']

URDF = (ROOT / 'urdf' / 'franka.urdf').read_text()
RATE = 1000.0  # [Hz]
DEFAULTS = options_class('serial_arm')()
OPTIONS = replace(DEFAULTS, decimate=1)
# The laws of the plain pipeline, which does not search for the width of Coulomb's step.
PLAIN_OPTIONS = replace(
    OPTIONS,
    friction=('viscous', 'coulomb', 'offset', 'armature'),
    coulomb_width=0.0,
    estimator='weighted',
)


def write_motion(folder, count):
    """Write q, v, a, tau (count, 7) of a periodic motion with friction and noise as .npy."""
    robot, rng = load_robot_model(URDF), np.random.default_rng(0)
    model, data = robot.pin_model, robot.pin_model.createData()
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    A, B = 0.25 * rng.normal(size=(2, 5, len(robot)))
    t = np.arange(count) / RATE
    S, C = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, v, a = S @ A + C @ B, C * w @ A - S * w @ B, -(S * w**2 @ A + C * w**2 @ B)
    tau = np.array([pin.rnea(model, data, *x) for x in zip(q, v, a)])
    tau += 0.5 * v + 0.3 * np.tanh(v / 0.02) + 0.1 * rng.normal(size=v.shape)
    q += 1e-5 * rng.normal(size=q.shape)
    v += 1e-3 * rng.normal(size=v.shape)
    for name, array in zip(('q', 'v', 'a', 'tau'), (q, v, a, tau)):
        np.save(folder / f'{name}.npy', array)


def plain(robot, q, v, a, tau):
    """Return base columns, estimate and covariance as one would write it first."""
    model, data = robot.pin_model, robot.pin_model.createData()
    count, n = q.shape
    W = np.vstack([pin.computeJointTorqueRegressor(model, data, *x) for x in zip(q, v, a)])
    friction = np.zeros((count, n, 4 * n))
    for j in range(n):
        friction[:, j, 4 * j : 4 * j + 4] = np.stack(
            [v[:, j], np.sign(v[:, j]), np.ones(count), a[:, j]], axis=1
        )
    W, y = np.hstack([W, friction.reshape(count * n, -1)]), tau.reshape(-1)
    R, order = linalg.qr(W, mode='r', pivoting=True)
    diagonal = np.abs(np.diag(R))
    keep = np.sort(order[: int((diagonal > 1e-9 * diagonal[0]).sum())])
    W = W[:, keep]
    beta = np.linalg.lstsq(W, y, rcond=None)[0]
    weight = np.tile(1.0 / (y - W @ beta).reshape(count, n).std(0), count)
    W, y = W * weight[:, None], y * weight
    beta = np.linalg.lstsq(W, y, rcond=None)[0]
    return keep, beta, np.linalg.inv(W.T @ W)


def base_of(robot):
    """Return the Parameters, their BaseParameters, and where each column goes (-1: nowhere)."""
    columns = serial_arm.parameters(robot, PLAIN_OPTIONS)
    factors = RFactors(len(columns))
    random = serial_arm.random_state(robot, 3 * len(columns), np.random.default_rng(0))
    for block in serial_arm.regress(random, robot, columns):
        factors.accumulate(block, np.arange(len(columns)))
    base = find_base_parameters(factors.system()[0], columns)
    keep = np.full(len(columns), -1)
    keep[base.independent] = np.arange(len(base))
    return columns, base, keep


def state_of(q, v, a, tau):
    """Return the samples as a JointSpaceState."""
    return JointSpaceState(np.arange(len(q)) / RATE, 0, q, v, a, tau, tau)


def from_samples(robot, q, v, a, tau):
    """Return our weighted Estimate from the samples that ``plain`` gets."""
    columns, base, keep = base_of(robot)
    factors = RFactors(len(base))
    for block in serial_arm.regress(state_of(q, v, a, tau), robot, columns, keep >= 0):
        factors.accumulate(block, keep)
    return ESTIMATORS['weighted'](Problem(factors, base, {}))


def whole(robot, q, v, a, tau, options=None):
    """Return our Identification from a recording: signals, statistics, cross-validation too."""
    stamps = np.arange(len(q)) * int(1e9 / RATE)
    joint_states = Channel(
        '/joint_states',
        JOINT_STATE,
        stamps,
        stamps,
        {'position': q, 'velocity': v, 'effort': tau},
        robot.joint_names,
    )
    return identify([Recording({'/joint_states': joint_states})], options or OPTIONS, urdf=URDF)


def by_default(robot, q, v, a, tau):
    """Return our Identification with default options: decimated to what the filter leaves."""
    return whole(robot, q, v, a, tau, DEFAULTS)


def rows_alone(robot, q, v, a, tau):
    """Compute the rows of all bodies and drop them."""
    for low in range(0, len(q), BLOCK):
        part = slice(low, low + BLOCK)
        tree_rows(robot, q[part], v[part], a[part])


def fold_alone(robot, q, v, a, tau):
    """Fold one block as often as the samples would fill it."""
    columns, base, keep = base_of(robot)
    state = state_of(*(x[:BLOCK] for x in (q, v, a, tau)))
    (block,) = serial_arm.regress(state, robot, columns)
    factors = RFactors(len(base))
    for _ in range(0, len(q), BLOCK):
        factors.accumulate(block, keep)


TASKS = {
    'plain': plain,
    'whole': whole,
    'by_default': by_default,
    'from_samples': from_samples,
    'rows_alone': rows_alone,
    'fold_alone': fold_alone,
}


def child(task, folder):
    """Print the CPU time [s] and growth of the peak memory [MB] of a task as JSON."""
    arrays = [np.load(folder / f'{name}.npy') for name in ('q', 'v', 'a', 'tau')]
    robot = load_robot_model(URDF)
    before = peak_memory()
    with threadpool_limits(1):
        start = time.process_time()
        TASKS[task](robot, *arrays)
        used = time.process_time() - start
    print(json.dumps({'cpu': used, 'memory': peak_memory() - before}))


def peak_memory():
    """Return the largest resident size of this process so far [MB] (Linux)."""
    # Not ru_maxrss: a child inherits that of the process that started it.
    status = Path('/proc/self/status').read_text()
    return int(status.split('VmHWM:')[1].split()[0]) / 1024.0


def measured(task, folder, times=1):
    """Return the smallest CPU time and memory of ``times`` processes that do a task."""
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, __file__, '--child', task, folder],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            ).stdout
        )
        for _ in range(times)
    ]
    return min(r['cpu'] for r in runs), min(r['memory'] for r in runs)


def report(samples, many):
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        write_motion(Path(folder), samples)
        print(f'{samples} samples of 7 joints, one BLAS thread')
        print(f'{"":44}{"CPU s":>8}{"us/sample":>11}{"ratio":>8}{"peak MB":>9}')
        reference = None
        for task, times, text in (
            ('plain', 1, 'plain: samples to estimate'),
            ('from_samples', 3, 'ours: samples to estimate'),
            ('whole', 3, 'ours: recording to identified model'),
            ('by_default', 3, 'ours: the same, decimated (default)'),
            ('rows_alone', 3, '  rows of the regressor alone'),
            ('fold_alone', 3, '  folding alone'),
        ):
            used, memory = measured(task, folder, times)
            reference = reference or used
            print(
                f'{text:44}{used:8.3f}{used / samples * 1e6:11.2f}{reference / used:8.1f}'
                f'{memory:9.0f}'
            )
        write_motion(Path(folder), many)
        used, memory = measured('whole', folder)
        print(
            f'{many} samples: recording to identified model {used:.2f} s CPU, '
            f'peak memory {memory:.0f} MB over the input arrays'
        )


def main():
    """Run the benchmark, or one task of it as its child."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split('\n')[0])
    parser.add_argument('--samples', type=int, default=60_000)
    parser.add_argument('--long', type=int, default=600_000)
    parser.add_argument('--child', nargs=2, metavar=('TASK', 'FOLDER'), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]))
    else:
        report(arguments.samples, arguments.long)


if __name__ == '__main__':
    main()
