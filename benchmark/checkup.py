"""
The checkup against injected faults: is every one found, is its cause named first, is clean silent?

    python benchmark/checkup.py [BAG...] [--only FAULT] [--clean N]

Every fault at three severities in every clean recording (five simulated ones and BAGs of real
robots); prints the confusion matrix (fault by the name found first), windows, false alarms and the
CPU of a checkup against an identification.  About 6 minutes on one core, and a second for each
clean recording of N.
"""

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path
import sys
import time

import numpy as np

ROOT = Path(__file__).absolute().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import mujoco_arm  # noqa: E402
from recording_faults import FAULTS  # noqa: E402
from ros_inertial_id.dynamics.robot_model import load_robot_model  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import load_options  # noqa: E402
from ros_inertial_id.measurement.bags.bag import read_bag  # noqa: E402
from ros_inertial_id.procedures.checkup.check import check  # noqa: E402
from ros_inertial_id.procedures.checkup.finding import NOTE  # noqa: E402


def simulated(name, seed, seconds=30.0, rate=250.0, mounting='upright', speed=1.0, noise=0.003):
    """Return a Recording with description of an arm that MuJoCo moves, with friction and noise."""
    urdf = mujoco_arm.description(name)
    robot = load_robot_model(urdf)
    rng, n = np.random.default_rng(seed), len(robot)
    t, q, v, a = mujoco_arm.motion(n, seconds, rate, seed=seed, speed=speed)
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    q = q - q.mean(0) + np.where(bounded, (robot.lower + robot.upper) / 2, 0.2)
    from ros_inertial_id.dynamics.robot_model import gravity_from_mounting
    truth = mujoco_arm.true_urdf(urdf, seed)
    tau = mujoco_arm.torque(truth, q, v, a, gravity_from_mounting(mounting))
    size = tau.std(0)
    tau = tau + size * (0.15 * v + 0.1 * np.tanh(v / 0.01))
    tau = tau + noise * size * rng.standard_normal(tau.shape)
    q, v = q + 1e-5 * rng.standard_normal(q.shape), v + 1e-3 * rng.standard_normal(v.shape)
    out = mujoco_arm.recording(robot.joint_names, t, q, v, tau, mounting)
    return replace(out, robot_description=urdf)


def recordings(arguments):
    """Return {name: clean Recording}."""
    out = {'franka': simulated('franka', 1), 'arm3': simulated('arm3', 2),
           'franka on the wall': simulated('franka', 3, mounting='rpy 0 1.5708 0', rate=500.0),
           'arm3 slow': simulated('arm3', 4, seconds=40.0, rate=100.0, speed=0.7),
           'arm2': simulated('arm2', 5)}
    for bag in arguments.bags:
        out[Path(bag).name] = read_bag(bag)
    return out


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('bags', nargs='*', help='clean recordings of real robots')
    parser.add_argument('--only', default='')
    parser.add_argument('--clean', type=int, default=0, help='that many other clean recordings')
    arguments = parser.parse_args()
    _, options = load_options('', 'serial_arm')
    clean = recordings(arguments)
    for name, recording in clean.items():
        start = time.process_time()
        result = check([recording], options)
        middle = time.process_time()
        identify([recording], options)
        end = time.process_time()
        print(f'{name}: {result.verdict.word}, {[f.name for f in result.checks]}, check '
              f'{middle - start:.2f} s, identify {end - middle:.2f} s')
    alarms = 0
    for seed in range(arguments.clean):
        name = ('arm3', 'franka', 'arm2')[seed % 3]
        mounting = ('upright', 'rpy 0.3 0 0', 'rpy 3.1416 0 0', 'rpy 0 1.0 0.5')[seed % 4]
        rate, noise = (100.0, 250.0, 500.0, 1000.0)[seed // 3 % 4], (0.003, 0.01, 0.03)[seed % 3]
        recording = simulated(name, 100 + seed, 20.0 + 5 * (seed % 3), rate, mounting,
                              0.6 + 0.3 * (seed % 4), noise)
        found = [f for f in check([recording], options).checks if f.severity != NOTE]
        alarms += bool(found)
        if found:
            print(f'false alarm: {name} {mounting}: {[f.sentence() for f in found]}')
    if arguments.clean:
        print(f'false alarms: {alarms} of {arguments.clean} clean recordings')
    table(clean, options, arguments.only)


def table(clean, options, only):
    """Print fault by fault what was found."""
    hits = {level: [0, 0, 0] for level in range(3)}
    windows = [0, 0]
    for fault, (inject, expected) in FAULTS.items():
        if only not in fault:
            continue
        rows = []
        for level in range(3):
            first, seen = Counter(), 0
            for name, recording in clean.items():
                broken, changed, window = inject(recording, options, level,
                                                 np.random.default_rng(level))
                if broken is None:
                    continue
                result = check([broken], changed)
                names = [f.name for f in result.checks]
                good = any(n in expected for n in names)
                seen += good
                hits[level][0] += 1
                hits[level][1] += good
                hits[level][2] += bool(names) and names[0] in expected
                first[names[0] if names else '-'] += 1
                if window and good:
                    found = [w for f in result.checks if f.name in expected for w in f.windows]
                    windows[0] += any(abs(a - window[0]) < 0.2 for a, _ in found)
                    windows[1] += 1
            rows.append(f'{seen}/{sum(first.values())} ' + ', '.join(
                f'{n} {k}' for n, k in first.most_common()))
        print(f'{fault}\n    ' + '\n    '.join(rows), flush=True)
    for level, (count, seen, named) in hits.items():
        if count:
            print(f'severity {level + 1}: detected {100 * seen / count:.1f} %, named first '
                  f'{100 * named / count:.1f} % of {count}')
    print(f'windows within 0.2 s: {windows[0]} of {windows[1]}')


if __name__ == '__main__':
    main()
