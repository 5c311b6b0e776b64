"""
The checkup against injected faults: is every one found, is its cause named first, is clean silent?

    python benchmark/checkup.py [BAG...] [--of RECORDING...] [--severities 2 3] [--only FAULT]
                                [--seeds N] [--clean N]

Every fault at three severities in every clean recording (six simulated ones, each with N motions
and bodies by --seeds, and BAGs of real robots); prints the confusion matrix (fault by the name
found first), windows, false alarms and the CPU that a checkup adds to an identification.
A checkup of a faulty recording takes about half a second of CPU: two minutes for each recording,
and a second for each clean one of N.
"""

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path
import sys
import time
import xml.etree.ElementTree as ET

import numpy as np

ROOT = Path(__file__).absolute().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

import mujoco_arm  # noqa: E402
from recording_faults import FAULTS  # noqa: E402
import six_axis_arm  # noqa: E402

import ros_inertial_id as rid  # noqa: E402
from ros_inertial_id.checks.check import check  # noqa: E402
from ros_inertial_id.checks.finding import NOTE  # noqa: E402
from ros_inertial_id.dynamics.robot_model import load_robot_model  # noqa: E402
from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import load_options  # noqa: E402
from ros_inertial_id.measurement.bags.bag import read_bag  # noqa: E402

KINDS = ('arm3', 'franka', 'currents', 'loaded', 'arm2', 'slow', 'fast', 'rests')


def simulated(
    name,
    seed,
    seconds=30.0,
    rate=250.0,
    mounting='upright',
    speed=1.0,
    noise=0.003,
    load=0.0,
    rests=0.0,
):
    """
    Return a Recording with description of an arm that MuJoCo moves, with friction and noise.

    load : [kg] that the last link carries, as its description says
    rests : [s] that it stands before it moves, with any torque that friction bears
    """
    urdf = mujoco_arm.description(name)
    if load:
        urdf = loaded(urdf, load)
    robot = load_robot_model(urdf)
    rng, n = np.random.default_rng(seed), len(robot)
    period = 10.0 if speed < 1.5 else 4.0  # what is faster goes less far: within the limits
    t, q, v, a = mujoco_arm.motion(n, seconds, rate, seed=seed, period=period, speed=speed)
    bounded = np.isfinite(robot.lower) & np.isfinite(robot.upper)
    q = q - q.mean(0) + np.where(bounded, (robot.lower + robot.upper) / 2, 0.2)
    from ros_inertial_id.dynamics.robot_model import gravity_from_mounting

    if rests:
        q, v, a = from_rest(t, q, v, a, rests)
    truth = mujoco_arm.true_urdf(urdf, seed)
    tau = mujoco_arm.torque(truth, q, v, a, gravity_from_mounting(mounting))
    size = tau.std(0)
    tau = tau + size * (0.15 * v + 0.1 * np.tanh(v / 0.01))
    tau = tau + 0.08 * size * rng.uniform(-1.0, 1.0, n) * (t < rests)[:, None]
    tau = tau + noise * size * rng.standard_normal(tau.shape)
    q, v = q + 1e-5 * rng.standard_normal(q.shape), v + 1e-3 * rng.standard_normal(v.shape)
    out = mujoco_arm.recording(robot.joint_names, t, q, v, tau, mounting)
    return replace(out, robot_description=urdf, provenance={'truth': truth})


def from_rest(t, q, v, a, rests):
    """Return the same path (N, n) stood on for ``rests`` [s] and then run into within a second."""
    after = np.clip(t - rests, 0.0, None)
    speed = np.where(after < 1.0, after**2 * (3.0 - 2.0 * after), 1.0)
    gain = np.where(after < 1.0, 6.0 * after * (1.0 - after), 0.0)
    along = np.where(after < 1.0, after**3 - 0.5 * after**4, after - 0.5)
    q, v, a = (np.column_stack([np.interp(along, t, column) for column in x.T]) for x in (q, v, a))
    return q, v * speed[:, None], a * speed[:, None] ** 2 + v * gain[:, None]


def loaded(urdf, mass):
    """Return the text of ``urdf`` with a ball of ``mass`` [kg] fixed to the last link."""
    joint = ET.fromstring(urdf).findall('joint')[-1]
    tool = (
        f'<link name="tool"><inertial><origin xyz="0 0.02 0.08"/><mass value="{mass}"/>'
        f'<inertia ixx="{2e-3 * mass}" iyy="{2e-3 * mass}" izz="{2e-3 * mass}" ixy="0" ixz="0"'
        ' iyz="0"/></inertial></link><joint name="tool_joint" type="fixed"><parent link="'
        f'{joint.find("child").get("link")}"/><child link="tool"/></joint></robot>'
    )
    return urdf.replace('</robot>', tool)


def recordings(arguments, options):
    """Return {name: (clean Recording, its options)}."""
    currents = replace(options, effort_kind='current', drive_gain=six_axis_arm.GAINS)
    out = {
        'franka': (lambda k: simulated('franka', 1 + k), options),
        'six axes, currents': (lambda k: six_axis_arm.recorded(6 + k, 250.0, 30.0), currents),
        'arm3': (lambda k: simulated('arm3', 2 + k), options),
        'franka on the wall': (
            lambda k: simulated('franka', 3 + k, mounting='rpy 0 1.5708 0', rate=500.0),
            options,
        ),
        'arm3 slow': (
            lambda k: simulated('arm3', 4 + k, seconds=40.0, rate=100.0, speed=0.7),
            options,
        ),
        'arm2': (lambda k: simulated('arm2', 5 + k), options),
    }
    chosen = out if arguments.of is None else arguments.of
    found = {
        f'{name}, seed {seed + 1}': (make(10 * seed), own)
        for name, (make, own) in out.items()
        if name in chosen
        for seed in range(arguments.seeds)
    }
    return {**found, **{Path(bag).name: (read_bag(bag), options) for bag in arguments.bags}}


def main():
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('bags', nargs='*', help='clean recordings of real robots')
    parser.add_argument('--of', nargs='*', help='simulated recordings, these alone, or none')
    parser.add_argument('--severities', nargs='*', type=int, default=[1, 2, 3])
    parser.add_argument('--only', default='')
    parser.add_argument('--seeds', type=int, default=1, help='of every simulated recording')
    parser.add_argument('--clean', type=int, default=0, help='that many other clean recordings')
    arguments = parser.parse_args()
    _, options = load_options('', 'serial_arm')
    clean = recordings(arguments, options)
    for name, (recording, own) in clean.items():
        result = check([recording], own)
        changes = {
            k: getattr(own, k)
            for k in ('effort_kind', 'drive_gain')
            if getattr(own, k) != getattr(options, k)
        }
        times = [
            (
                seconds(lambda: identify([recording], own)),
                seconds(lambda: rid.identify(recording, **changes)),
            )
            for _ in range(7)
        ]
        added = np.median([both / alone for alone, both in times]) - 1.0
        print(
            f'{name}: {result.verdict.word}, {[f.name for f in result.checks]}, identify '
            f'{np.median(times, axis=0)[0]:.2f} s, the checkup adds {100 * added:.0f} %',
            flush=True,
        )
    silent(arguments.clean, options)
    table(clean, arguments)


def seconds(run):
    """Return the CPU of a run [s]."""
    start = time.process_time()
    run()
    return time.process_time() - start


def silent(count, options):
    """Print the false alarms of ``count`` clean recordings of other motions, rates, loads."""
    alarms = 0
    for seed in range(count):
        name = KINDS[seed % len(KINDS)]
        turn = seed // len(KINDS)
        mounting = ('upright', 'rpy 0.3 0 0', 'rpy 3.1416 0 0', 'rpy 0 1.0 0.5')[turn % 4]
        rate, noise = (100.0, 250.0, 500.0, 1000.0)[turn % 4], (0.003, 0.01, 0.03)[turn % 3]
        own, speed = options, {'slow': 0.5, 'fast': 1.8}.get(name, 0.6 + 0.3 * (turn % 4))
        if name == 'currents':
            recording = six_axis_arm.recorded(100 + seed, rate)
            own = replace(options, effort_kind='current', drive_gain=six_axis_arm.GAINS)
        else:
            load = 1.0 + turn % 3 if name == 'loaded' else 0.0
            robot = {'loaded': 'franka', 'slow': 'arm3', 'fast': 'franka', 'rests': 'franka'}
            recording = simulated(
                robot.get(name, name),
                100 + seed,
                20.0,
                rate,
                mounting,
                speed,
                noise,
                load,
                rests=6.0 if name == 'rests' else 0.0,
            )
        found = [f for f in check([recording], own).checks if f.severity != NOTE]
        alarms += bool(found)
        if found:
            print(f'false alarm: {name} {seed} {mounting}: {[f.sentence() for f in found]}')
    if count:
        print(f'false alarms: {alarms} of {count} clean recordings', flush=True)


def table(clean, arguments):
    """Print fault by fault what was found."""
    hits = {level: [0, 0, 0] for level in range(3)}
    windows = [0, 0]
    for fault, (inject, expected) in FAULTS.items():
        if arguments.only not in fault:
            continue
        rows, missed = [], []
        for level in (k - 1 for k in arguments.severities):
            first, seen = Counter(), 0
            for name, (recording, options) in clean.items():
                broken, changed, window = inject(
                    recording, options, level, np.random.default_rng(level)
                )
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
                if not names or names[0] not in expected:
                    missed.append(f'{name}, severity {level + 1}: {names}, {result.verdict.word}')
                if window and good:
                    found = [w for f in result.checks if f.name in expected for w in f.windows]
                    windows[0] += any(abs(a - window[0]) < 0.2 for a, _ in found)
                    windows[1] += 1
            rows.append(
                f'{seen}/{sum(first.values())} '
                + ', '.join(f'{n} {k}' for n, k in first.most_common())
            )
        print(f'{fault}\n    ' + '\n    '.join([*rows, *missed]), flush=True)
    for level, (count, seen, named) in hits.items():
        if count:
            print(
                f'severity {level + 1}: detected {100 * seen / count:.1f} %, named first '
                f'{100 * named / count:.1f} % of {count}'
            )
    print(f'windows within 0.2 s: {windows[0]} of {windows[1]}')


if __name__ == '__main__':
    main()
