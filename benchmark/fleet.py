"""
A fleet: what drifts in many robots over many days, by whom it is found, and at what cost.

    python benchmark/fleet.py [--robots 10] [--days 20] [--seconds 20] [--folder DIR] [--quick]

Simulated Franka-like arms (MuJoCo, each with bodies of its own), one bag a day: in two robots
friction drifts, one picks up a load for good, three bags are broken.  Prints what `drift` finds
against what was put in, what a bag, a robot and a page cost, the CPU time per bag against the
number of bags, and the differences between serial, two processes, two with one of them killed,
and a Dask LocalCluster (where Dask is installed).  --quick leaves out all but the
findings and the cache.  About 5 s of CPU per bag altogether; at least four robots.
"""

import argparse
from dataclasses import replace
import os
from pathlib import Path
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
ROOT = Path(__file__).absolute().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles')]

from identification import peak_memory  # noqa: E402
import mujoco_arm  # noqa: E402
import numpy as np  # noqa: E402

from ros_inertial_id.api.many import drift, identify_many  # noqa: E402
from ros_inertial_id.measurement.bags.writing import write_recording  # noqa: E402
from ros_inertial_id.report.sheets import drift_sheet  # noqa: E402

RATE, PERIOD = 200.0, 10.0  # [Hz], [s]
DAYS = 1000
NOISE, GROWTH, LOAD = 0.05, 0.2, 0.8  # [N m], share over all days, [kg]
VISCOUS = np.array([2.0, 2.0, 1.5, 1.5, 0.8, 0.8, 0.6])  # [N m s/rad]
COULOMB = np.array([1.0, 1.2, 0.8, 0.8, 0.5, 0.5, 0.4])  # [N m]


def loaded(urdf, mass):
    """Return the URDF text with a point mass at the centre of the last link with inertia."""
    root = ET.fromstring(urdf)
    links = {link.get('name'): link for link in root.findall('link')}
    moving = [
        j.find('child').get('link') for j in root.findall('joint') if j.get('type') == 'revolute'
    ]
    entry = links[moving[-1]].find('inertial').find('mass')
    entry.set('value', str(float(entry.get('value')) + mass))
    return ET.tostring(root, encoding='unicode')


def write_bag(path, truth, urdf, seed, day, seconds, viscous, coulomb, sign=1.0):
    """Write the bag of one robot's day."""
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(len(names), seconds, RATE, seed=seed, period=PERIOD, speed=1.0)
    q = q - q.mean(0) + np.array([0.0, 0.0, 0.0, -1.6, 0.0, 1.8, 0.0])
    noise = NOISE * np.random.default_rng(seed).normal(size=v.shape)
    tau = mujoco_arm.torque(truth, q, v, a) + viscous * v + coulomb * np.tanh(v / 0.03) + noise
    recording = mujoco_arm.recording(names, t + 1.75e9 + 86400.0 * day, q, v, sign * tau)
    write_recording(path, replace(recording, robot_description=urdf))


def changed(robots):
    """Return the changes that are put in: (robot, what, number of a joint)."""
    return [
        (f'robot{robots // 3}', 'viscous', 3),
        (f'robot{robots - 1}', 'coulomb', 1),
        (f'robot{robots // 2}', 'payload', -1),
    ]


def make_fleet(folder, robots, days, seconds, broken=True):
    """Write the bags; return ({(robot, what, joint)} put in, names of broken bags)."""
    urdf = mujoco_arm.description('franka')
    joints = mujoco_arm.joints_of(urdf)
    expected = {(robot, what, joints[k]) for robot, what, k in changed(robots)}
    for robot in range(robots):
        truth = mujoco_arm.true_urdf(urdf, robot + 1)
        heavy = loaded(truth, LOAD)
        for day in range(days):
            viscous, coulomb, grown = VISCOUS.copy(), COULOMB.copy(), GROWTH * day / (days - 1)
            if robot == robots // 3:
                viscous[3] *= 1.0 + grown
            if robot == robots - 1:
                coulomb[1] *= 1.0 + grown
            bodies = heavy if robot == robots // 2 and day >= 0.6 * days else truth
            write_bag(
                folder / f'robot{robot}' / f'day{day}',
                bodies,
                urdf,
                1000 * robot + day,
                day,
                seconds,
                viscous,
                coulomb,
            )
    if not broken:
        return expected, set()
    own = folder / 'robot0'
    write_bag(
        own / f'day{days}',
        mujoco_arm.true_urdf(urdf, 1),
        urdf,
        900,
        days,
        seconds,
        VISCOUS,
        COULOMB,
        sign=-1.0,
    )
    write_bag(
        own / f'day{days + 1}',
        mujoco_arm.true_urdf(urdf, 1),
        urdf,
        901,
        days + 1,
        0.4,
        VISCOUS,
        COULOMB,
    )
    shutil.copytree(own / 'day0', own / f'day{days + 2}')
    for path in (own / f'day{days + 2}').glob('*.mcap'):
        path.write_bytes(path.read_bytes()[:300])
    return expected, {f'day{days + k}' for k in range(3)}


def clock():
    """Return CPU time of this process and its ended children [s]."""
    return sum(
        getattr(resource.getrusage(who), name)
        for name in ('ru_utime', 'ru_stime')
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def timed(work):
    """Return (result, CPU [s], wall [s])."""
    cpu, wall = clock(), time.monotonic()
    result = work()
    return result, clock() - cpu, time.monotonic() - wall


def kill_a_child(after):
    """Kill the last child of this process after some seconds: the first tracks semaphores."""

    def later():
        time.sleep(after)
        children = Path(f'/proc/self/task/{os.getpid()}/children').read_text().split()
        if children:
            os.kill(int(children[-1]), signal.SIGKILL)
            print(f'  killed worker {children[-1]}')

    threading.Thread(target=later, daemon=True).start()


def series(found):
    """Return all changes of all robots as one array."""
    return np.concatenate(
        [np.concatenate([s.values, s.errors]) for r in found.robots for s in r.series]
    )


def findings(found, expected, broken):
    """Print what was found against what was put in; return whether it is the same."""
    laws = {'presliding': 'coulomb', 'coulomb_atan': 'coulomb'}
    said = {
        (r.robot, laws.get(f.law, f.law), f.joint) for r in found.robots for f in r.significant
    }
    said = {(r, law, 'load' if law == 'payload' else joint) for r, law, joint in said}
    wanted = {(r, law, 'load' if law == 'payload' else joint) for r, law, joint in expected}
    print(found.to_text())
    print(
        f'put in and found: {len(said & wanted)} of {len(wanted)}; found and not put in: '
        f'{sorted(said - wanted)}; broken bags left out: '
        f'{sorted(Path(p).name for p in found.left_out)}'
    )
    return said == wanted and {Path(p).name for p in found.left_out} == broken


def main():
    """Run the fleet."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--robots', type=int, default=10)
    parser.add_argument('--days', type=int, default=20)
    parser.add_argument('--seconds', type=float, default=20.0)
    parser.add_argument('--folder')
    parser.add_argument('--quick', action='store_true')
    options = parser.parse_args()
    folder = Path(options.folder or tempfile.mkdtemp(prefix='fleet'))
    (expected, broken), cpu, _ = timed(
        lambda: make_fleet(folder / 'bags', options.robots, options.days, options.seconds)
    )
    print(
        f'{options.robots} robots x {options.days} days + 3 broken bags in {folder} '
        f'({cpu:.0f} s of CPU to simulate)'
    )
    cache = str(folder / 'serial')
    result = identify_many(folder / 'bags' / 'robot0', cache=cache)
    first, cpu, _ = timed(lambda: drift(result.model, folder / 'bags', cache=cache))
    bags = options.robots * options.days + 3
    read = cpu / (bags - len(result.many.bags))
    good = findings(first, expected, broken)
    again, cpu_again, _ = timed(lambda: drift(result.model, folder / 'bags', cache=cache))
    print(f'largest difference from the cache {np.abs(series(again) - series(first)).max():.1e}')
    merged = timed(lambda: identify_many(folder / 'bags' / 'robot0', cache=cache))[1]
    page = timed(lambda: (drift_sheet(first), first.write_tables(folder)))[1]
    factors, sizes = (
        sum(f.stat().st_size for f in where.rglob(name)) / bags / 1e6
        for where, name in ((Path(cache), '*.factors'), (folder / 'bags', '*.mcap'))
    )
    table(
        (
            (f'bag of {options.seconds:g} s at {RATE:g} Hz, new', read, 's CPU', DAYS),
            ('bag from the cache, with its share of the trends', cpu_again / bags, 's CPU', DAYS),
            (
                f'robot of {len(result.many.bags)} bags, merged and estimated anew',
                merged,
                's CPU',
                DAYS / len(result.many.bags),
            ),
            ('page and tables, a robot', page / options.robots, 's CPU', DAYS / options.days),
            ('factors of a bag on disk', factors, 'MB', DAYS),
            ('bag on disk', sizes, 'MB', DAYS),
            ('largest memory of the process', peak_memory(), 'MB', 0),
        )
    )
    if not options.quick:
        everybody(result.model, folder, first)
        linear(result.model, folder, options)
    sys.exit(0 if good else 1)


def table(rows):
    """Print (what, measured, unit, how many of them DAYS robot-days have), 0: does not grow."""
    print(f'| | measured | {DAYS} robot-days, extrapolated |\n|---|---|---|')
    for what, value, unit, times in rows:
        print(f'| {what} | {value:.3g} {unit} | {f"{value * times:.3g} {unit}" * bool(times)} |')


def everybody(model, folder, first):
    """Print the difference between who did the work, each without a cache."""

    def compare(name, **engine):
        cache = str(folder / name.replace(' ', '_'))
        found, cpu, wall = timed(lambda: drift(model, folder / 'bags', cache=cache, **engine))
        print(
            f'{name}: {cpu:.0f} s CPU, {wall:.0f} s; largest difference from serial '
            f'{np.abs(series(found) - series(first)).max():.1e}'
        )

    compare('two processes', jobs=2)
    kill_a_child(8.0)
    compare('two processes, one killed', jobs=2)
    try:
        from distributed import LocalCluster
    except ImportError:
        print('no Dask: LocalCluster left out')
        return
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        compare('LocalCluster', scheduler=cluster.scheduler_address)


def linear(model, folder, options):
    """Print the CPU time of new bags against their number."""
    for robots in sorted({max(1, options.robots // 4), max(1, options.robots // 2)}):
        paths = [folder / 'bags' / f'robot{k}' for k in range(robots)]
        cache = str(folder / f'linear{robots}')
        found, cpu, _ = timed(lambda: drift(model, paths, cache=cache))
        count = sum(len(r.days) for r in found.robots)
        print(f'{count} bags: {cpu:.1f} s CPU, {cpu / count:.2f} s per bag')


if __name__ == '__main__':
    main()
