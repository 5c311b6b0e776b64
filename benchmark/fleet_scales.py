"""
A fleet on Dask with two workers: two scales ten times apart, and what they extrapolate to.

    python benchmark/fleet_scales.py [--robots 10] [--days 8] [--seconds 10] [--years 100]
                                     [--folder DIR]

First by bags (``fleet.py`` says of what arms): CPU of the workers per robot and memory of every
process at so many robots and ten times as many, from the bags and from the cache, and one more day
of one robot.  Then by factors alone: robots of 365 days whose noise is drawn anew in the kept
factors of one, one in twenty with a joint that wears; time and memory again, whom `drift` names,
and the tables as pandas and DuckDB read them.  Last the false-discovery rate over many fleets of
20 robots of 20 days, where every size matters, against what was asked for.

About 10 minutes of CPU for the bags by default, 15 for 1 000 years.
"""

import argparse
from dataclasses import replace
import os
from pathlib import Path
import resource
import sys
import tempfile
import time

import fleet  # noqa: I100  sets the path and one thread
from distributed import Client, SubprocessCluster
import mujoco_arm
import numpy as np

from ros_inertial_id.api.many import drift, identify_many
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.estimation.residuals import merged
from ros_inertial_id.identification.reduce.plan import plan_of
from ros_inertial_id.procedures import drift_findings
from ros_inertial_id.procedures.bag_map import Engine, map_bags
from ros_inertial_id.procedures.bag_paths import find_bags
from ros_inertial_id.procedures.drift import day_factors, robot_changes, row_deviation
from ros_inertial_id.procedures.drift_findings import RATE, significant
from ros_inertial_id.procedures.drift_result import Drift

YEAR, SMALL, WEARS = 365, 20, 20  # days; robots and days of a small fleet; one in so many
RATES = (0.01, 0.05, 0.1)
os.environ['PYTHONPATH'] = os.pathsep.join(sys.path[:3])  # of the workers
# Dask samples the stacks of its workers a hundred times a second of wall time, busy or not.
os.environ['DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED'] = 'False'


def usage():
    """Return (CPU [s], peak memory [MB]) of this process."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime, own.ru_maxrss / 1024.0


def on_two_workers(work, robots, *first):
    """
    Return (what ``work`` does with a scheduler, CPU of the workers per robot), and print.

    first : function and arguments that every worker calls before
    """
    with SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=':0') as cluster:
        with Client(cluster.scheduler_address) as client:
            client.wait_for_workers(2)
            client.run(*first)  # imports, and what a worker makes once
            before, began = client.run(usage), time.monotonic()
            result = work(cluster.scheduler_address)
            wall, after = time.monotonic() - began, client.run(usage)
            scheduler = client.run_on_scheduler(usage)
    cpu = sum(after[name][0] - before[name][0] for name in before)
    print(f'  workers {cpu:.1f} s CPU, {cpu / robots:.4f} s a robot ({wall / robots:.3f} s wall), '
          f'at most {max(own[1] for own in after.values()):.0f} MB a worker, '
          f'{scheduler[1]:.0f} MB the scheduler, {usage()[1]:.0f} MB this process', flush=True)
    return result, cpu / robots


def scales(robots):
    """Return how many robots: a fleet between two of a tenth, since the machine's speed varies."""
    return robots, 10 * robots, robots


def constant(each, when):
    """Print the CPU per robot of a fleet over that of its tenths before and after."""
    print(f'CPU per robot {when}, large over small: {2 * each[1] / (each[0] + each[2]):.3f} '
          f'(small after over before: {each[2] / each[0]:.3f})')


def one_robot(model, path):
    """Find the drift of one robot, and keep nothing of it."""
    with tempfile.TemporaryDirectory() as cache:
        drift(model, path, cache=cache)


def by_bags(folder, options):
    """Print the two scales of bags; return (model, CPU [s] of a new bag and of a kept one)."""
    model, each = None, []
    for turn, robots in enumerate(scales(options.robots)):
        own, cache = folder / f'robots{robots}', str(folder / f'cache{turn}')
        if not own.exists():
            fleet.make_fleet(own, robots, options.days, options.seconds, broken=False)
        model = model or identify_many(own / 'robot0', cache=str(folder / 'model')).model
        found = {}
        for when in ('first', 'cache'):
            print(f'{robots} robots x {options.days} days, {when}:')
            result, found[when] = on_two_workers(lambda scheduler: drift(
                model, own, cache=cache, scheduler=scheduler), robots,
                one_robot, model, str(own / 'robot0'))
            print(f'  {result.read} bags read, {result.cached} from the cache')
        expected = {name for name, *_ in fleet.changed(robots)}
        named = {r.robot for r in result.robots if r.findings}
        print(f'  changed and named {len(named & expected)} of {len(expected)}, not changed and '
              f'named {len(named - expected)} of {robots - len(expected)}')
        each.append(found)
    for when in found:
        constant([found[when] for found in each], when)
    large = each[1]
    urdf, place = mujoco_arm.description('franka'), own / 'robot2' / f'day{options.days}'
    fleet.write_bag(place, mujoco_arm.true_urdf(urdf, 3), urdf, int(time.time()), options.days,
                    options.seconds, fleet.VISCOUS, fleet.COULOMB)
    one, cpu, _ = fleet.timed(lambda: drift(model, own / 'robot2', cache=cache))
    print(f'one more day of one robot: {one.read} bag read, {one.cached} from the cache, '
          f'{cpu:.2f} s CPU')
    return model, large['first'] / options.days, large['cache'] / options.days


def shared_of(model, folder, cache):
    """Return what simulated robots share: base, kept factors, truth, its wear, deviations."""
    model = model.identified
    plan = plan_of(model)
    bags, _ = map_bags(find_bags([str(folder)]), plan, Engine(cache=cache))
    base, kept = day_factors(plan, model, bags)
    values = {p.name: value for p, value in zip(model.parameters, model.values)}
    beta = base.matrix() @ [values.get(p.name, 0.0) for p in base.parameters]
    viscous = [k for k, p in enumerate(base.independent) if base.parameters[p].law == 'viscous']
    sigma = row_deviation(merged(f.residuals for f in kept))
    return base, kept, np.append(beta, [0.0, 0.0]), viscous[3], sigma


def redrawn(kept, day, beta, sigma, scatter, rng):
    """Return kept BagFactors with a truth, with noise of so many standard deviations, of a day."""
    groups = {}
    for name, g in kept.stretches[0].groups.items():
        R, k = g.R.copy(order='F'), len(g.columns)
        R[:k, -2] = R[:k, :k] @ beta[g.columns] + scatter * sigma[name] * rng.normal(size=k)
        groups[name] = replace(g, R=R)
    return replace(kept, stretches=(RFactors(kept.stretches[0].size, groups),),
                   notes={**kept.notes, 'start_s': 86400.0 * day})


def simulated_robot(shared, task):
    """
    Return (RobotDrift, CPU [s] of it) of a robot by factors alone.

    shared : see ``shared_of``; task : number, days, scatter, whether it wears, whether every
    size matters
    """
    (base, kept, beta, wear, sigma), (number, days, scatter, wears, every) = shared, task
    rng, growth = np.random.default_rng(number), np.zeros((days, len(beta)))
    growth[:, wear] = wears * fleet.GROWTH * np.linspace(0.0, 1.0, days)
    own = [redrawn(kept[day % len(kept)], day, beta * (1.0 + growth[day]), sigma, scatter, rng)
           for day in range(days)]
    sizes = dict(drift_findings.RELEVANT)
    drift_findings.RELEVANT.update({k: v * (not every) for k, v in sizes.items()})
    began = time.process_time()
    found = robot_changes(f'robot{number}', [f'day{k}' for k in range(days)], base, own)
    spent = time.process_time() - began
    drift_findings.RELEVANT.update(sizes)
    return found, spent


def by_factors(shared, folder, years):
    """Print the two scales of years by factors alone; return the CPU [s] of a robot's year."""
    each = []
    for robots in scales(years):
        tasks = [(k, YEAR, 1.0, not k % WEARS, False) for k in range(robots)]
        print(f'{robots} robots x {YEAR} days by factors alone:')
        found, _ = on_two_workers(lambda scheduler: Engine(scheduler=scheduler).run(
            simulated_robot, shared, tasks, 'drift'), robots, simulated_robot, shared, tasks[0])
        each.append(float(np.mean([cpu for _, cpu in found])))
        decided = significant([robot.hypotheses for robot, _ in found], RATE)
        named = np.array([bool(findings) for _, findings in decided])
        wears = np.array([task[3] for task in tasks])
        print(f'  of it {each[-1]:.4f} s CPU a robot for the changes of its year; named '
              f'{named[wears].sum()} of {wears.sum()} that wear, {named[~wears].sum()} others '
              f'(asked for: at most {100 * RATE:g} % of those named)')
        if robots > years:
            fleet_of_years = found, decided
    constant(each, 'of their years')
    found, decided = fleet_of_years
    tables(Drift(tuple(replace(robot, adjusted=q, findings=findings) for (robot, _), (q, findings)
                       in zip(found, decided)), {}, 0, 0), folder)
    return each[1]


def tables(result, folder):
    """Print the tables of a Drift as pandas and DuckDB read them."""
    files, cpu, _ = fleet.timed(lambda: result.write_tables(folder / 'tables'))
    print(f'drift_series: {os.path.getsize(files["drift_series"]) / 1e6:.0f} MB written in '
          f'{cpu:.1f} s CPU, at most {usage()[1]:.0f} MB this process')
    try:
        import duckdb
        import pandas
    except ImportError:
        print('no DuckDB or no pandas: the tables are not read')
        return
    ((rows, robots, largest),), cpu, _ = fleet.timed(lambda: duckdb.sql(
        'select count(*), count(distinct robot), max(abs(change)) from '
        f"'{files['drift_series']}'").fetchall())
    print(f'DuckDB: {rows} rows of {robots} robots in {cpu:.1f} s CPU')
    frame, cpu, _ = fleet.timed(lambda: pandas.read_parquet(
        files['drift_series'], columns=['robot', 'name', 'change']))
    same = (len(frame), frame.robot.nunique(), frame.change.abs().max()) == (rows, robots, largest)
    print(f'pandas: {"the same" if same else "OTHER"} in {cpu:.1f} s CPU; '
          f'{len(pandas.read_parquet(files["drift_findings"]))} findings')


def false_discoveries(shared, fleets, wearing=5):
    """Print the false discoveries in so many fleets of SMALL robots, every size mattering."""
    for scatter in (1.0, 3.0):
        tasks = [(k, SMALL, scatter, k % SMALL < wearing, True) for k in range(SMALL * fleets)]
        found, _ = on_two_workers(lambda scheduler: Engine(scheduler=scheduler).run(
            simulated_robot, shared, tasks, 'drift'), len(tasks),
                simulated_robot, shared, tasks[0])
        of = np.array([r.hypotheses for r, _ in found], dtype=object).reshape(fleets, SMALL)
        p = np.array([h.p_value for h in of[:, wearing:].ravel()])
        for rate in RATES:
            alone = [any(f for _, f in significant(own[wearing:], rate)) for own in of]
            named = np.array([[bool(f) for _, f in significant(own, rate)] for own in of])
            shares = named[:, wearing:].sum(1) / np.maximum(1, named.sum(1))
            print(f'{fleets} fleets x {SMALL} robots x {SMALL} days, {scatter:g} times the noise, '
                  f'asked for {100 * rate:g} %: without change {100 * np.mean(alone):.1f} +- '
                  f'{100 * np.sqrt(rate * (1 - rate) / fleets):.1f} % of the fleets name a robot; '
                  f'with {wearing} that wear {100 * shares.mean():.2f} +- '
                  f'{100 * shares.std() / np.sqrt(fleets):.2f} % of those named are false, '
                  f'{100 * named[:, :wearing].mean():.1f} % of the worn are named; p at most '
                  f'{rate:g}: {100 * np.mean(p <= rate):.2f} % of {len(p)}', flush=True)


def main():
    """Run both kinds of scales."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--robots', type=int, default=10)
    parser.add_argument('--days', type=int, default=8)
    parser.add_argument('--seconds', type=float, default=10.0)
    parser.add_argument('--years', type=int, default=100)
    parser.add_argument('--fleets', type=int, default=200)
    parser.add_argument('--folder')
    options = parser.parse_args()
    folder = Path(options.folder or tempfile.mkdtemp(prefix='fleet'))
    model, new, kept = by_bags(folder, options)
    shared = shared_of(model, folder / f'robots{options.robots}' / 'robot0',
                       str(folder / 'cache0'))
    year = by_factors(shared, folder, options.years)
    print(f'1 000 robots x {YEAR} days by these numbers (a bag of {options.seconds:g} s at '
          f'{fleet.RATE:g} Hz a day, two workers busy all the time): '
          f'{1e3 * YEAR * new / 7200:.1f} h the first time ({new:.3f} s CPU a bag); each further '
          f'day {1e3 * new / 7200:.3f} h for the new bags and '
          f'{1e3 * (YEAR * kept + year) / 7200:.3f} h for the kept factors of the year '
          f'(at most {1e3 * kept:.1f} ms a bag, {year:.2f} s a robot)')
    false_discoveries(shared, options.fleets)


if __name__ == '__main__':
    main()
