"""Many recordings: whoever accumulates them, cached or not, the model is the same."""

from dataclasses import replace
import os
from pathlib import Path
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

from arm_days import day, VISCOUS
import numpy as np
import pytest
from test_processes import never, pids, PROMPT, ROOT, runs
from threadpoolctl import threadpool_info

import ros_inertial_id as rid
from ros_inertial_id import processes
from ros_inertial_id.cli.main import main
from ros_inertial_id.cli.verbs import contradiction
from ros_inertial_id.errors import RecordingError
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.identification.reduce.bag_factors import _secret, SECRET
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.procedures import bag_map, many_recordings, mapped_bags
from ros_inertial_id.procedures.bag_map import (Engine, map_bags, memory_share, merge_leaves,
                                                run_tasks)
from ros_inertial_id.procedures.bag_paths import find_bags
from ros_inertial_id.procedures.everyday import once_each, within_budget
from ros_inertial_id.procedures.many_recordings import identify_many
from ros_inertial_id.processes import Lost

DAYS = 4


@pytest.fixture(scope='module')
def fleet(arm3, tmp_path_factory):
    """Return a folder of four days, one whose efforts have the wrong sign, and two broken bags."""
    folder = tmp_path_factory.mktemp('fleet')
    for number in range(DAYS):
        write_recording(folder / f'day{number}', day(arm3, number))
    write_recording(folder / 'day7', day(arm3, 7, sign=-1.0))
    write_recording(folder / 'day8', day(arm3, 8, seconds=0.5))
    (folder / 'day9').mkdir()
    (folder / 'day9' / 'day9.mcap').write_bytes(b'no bag at all')
    return folder


@pytest.fixture(scope='module')
def options():
    return load_options(changes={'find_time_offset': False, 'coulomb_width': 0.05})[1]


@pytest.fixture(scope='module')
def paths(fleet):
    return [str(fleet / name) for name in sorted(os.listdir(fleet)) if name.startswith('day')]


@pytest.fixture(scope='module')
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp('cache')


@pytest.fixture(scope='module')
def serial(paths, options, cache):
    return identify_many(paths, options, engine=Engine(cache=str(cache)))


@pytest.fixture
def kept(serial, cache, tmp_path):
    """Return an Engine with a copy of the cache that ``serial`` filled."""
    return Engine(cache=str(shutil.copytree(cache, tmp_path / 'cache')))


def assert_same(one, other):
    """Assert that two models have the same numbers to 1e-10."""
    for name in ('value', 'standard_error'):
        a, b = (np.array([e[name] for e in m.model.base], dtype=float) for m in (one, other))
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14)


def test_bad_bags_are_left_out_with_the_reason(serial, paths):
    assert [b.path for b in serial.bags] == paths[:DAYS]
    reasons = {Path(path).name: why for path, why in serial.left_out.items()}
    assert set(reasons) == {'day7', 'day8', 'day9'}
    assert 'negated' in reasons['day7']
    assert 'short' in reasons['day8']


def test_friction_is_the_true_one(serial):
    found = {e['name']: e for e in serial.model.base}
    for joint in (1, 2, 3):
        entry = found[f'fv{joint}']
        assert abs(entry['value'] - VISCOUS) < 4.0 * entry['standard_error']


def test_processes_and_cache_change_nothing(serial, paths, options, tmp_path):
    parallel = Engine(jobs=2, cache=str(tmp_path))
    first = identify_many(paths, options, engine=parallel)
    assert_same(serial, first)
    assert not any(b.cached for b in first.bags)
    stamps = {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    again = identify_many(paths, options, engine=replace(parallel, jobs=1))
    assert_same(serial, again)
    assert all(b.cached for b in again.bags)
    assert stamps == {p.name: p.stat().st_mtime_ns for p in tmp_path.iterdir()}


def test_one_more_bag_is_the_only_one_accumulated(arm3, paths, options, kept, tmp_path):
    write_recording(tmp_path / 'day4', day(arm3, 4))
    more = identify_many([*paths[:DAYS], str(tmp_path / 'day4')], options, engine=kept)
    assert [b.cached for b in more.bags] == [True] * DAYS + [False]


def test_a_damaged_cache_is_computed_anew(serial, paths, options, kept):
    for k, bag in enumerate(serial.bags[:2]):
        path = Path(kept.cache) / Path(bag.file).name
        content = path.read_bytes()
        path.write_bytes(content[:len(content) // 2] if k else b'')
    many = identify_many(paths, options, engine=kept)
    assert [b.cached for b in many.bags] == [False, False, True, True]
    assert_same(serial, many)


def test_factors_and_plans_that_another_user_kept_are_computed_anew(serial, paths, options, kept,
                                                                    monkeypatch):
    files = sorted(Path(kept.cache).glob('*.factors'))
    held = bytearray(files[0].read_bytes())
    held[-8:] = np.float64(1.3 * np.frombuffer(held[-8:], '<f8')[0] + 1.0).tobytes()
    files[0].write_bytes(held)
    assert_same(identify_many(paths, options, engine=kept), serial)
    assert sum(b.cached for b in identify_many(paths, options, engine=kept).bags) == DAYS
    monkeypatch.setenv(SECRET, 'of somebody else')
    _secret.cache_clear()
    again = identify_many(paths, options, engine=kept)
    _secret.cache_clear()
    assert not any(b.cached for b in again.bags)
    assert_same(again, serial)


def test_another_description_is_another_key(serial):
    other = replace(serial.plan, urdf=serial.plan.urdf.replace('mass value="', 'mass value="0'))
    assert other.key != serial.plan.key


def test_factors_lie_where_the_user_may_write(arm3, options, tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'home'))
    write_recording(tmp_path / 'bags' / 'day0', day(arm3, 0))
    (tmp_path / 'bags' / '.inertial_id').write_text('a file where the folder should be')
    many = identify_many([str(tmp_path / 'bags' / 'day0')], options)
    assert Path(many.bags[0].file).parent == tmp_path / 'home' / 'ros_inertial_id'
    (tmp_path / 'bags' / '.inertial_id').unlink()
    shutil.rmtree(tmp_path / 'home')
    many = identify_many([str(tmp_path / 'bags' / 'day0')], options)
    assert Path(many.bags[0].file).parent == tmp_path / 'bags' / '.inertial_id'


def test_a_full_disk_ends_the_run_and_is_no_fault_of_a_bag(serial, paths, tmp_path):
    nowhere = tmp_path / 'file'
    nowhere.write_text('no folder')
    with pytest.raises(RecordingError, match='day0.*cannot be kept.*--cache'):
        map_bags(paths[:1], serial.plan, Engine(cache=str(nowhere / 'cache')))


def test_bags_are_found_as_folders_and_as_single_files_each_once(tmp_path):
    for name in ('week/monday.mcap', 'week/tuesday.db3', 'split/split_0.mcap',
                 'split/split_1.mcap', 'week/notes.txt'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / 'week' / 'up').symlink_to(tmp_path)
    assert find_bags([str(tmp_path)]) == [str(tmp_path / name) for name in (
        'split', 'week/monday.mcap', 'week/tuesday.db3')]


def test_the_same_content_under_two_names_counts_once(serial, fleet, paths, options, kept,
                                                      tmp_path):
    shutil.copytree(fleet / 'day1', tmp_path / 'copy')
    many = identify_many([*paths[:DAYS], str(tmp_path / 'copy')], options, engine=kept)
    assert 'count once' in many.left_out[str(tmp_path / 'copy')]
    assert_same(serial, many)


def test_bags_that_contradict_each_other_leave_more_together(arm3, serial, options, tmp_path):
    together = serial.model.statistics['training']['filtered']['relative_percent']
    assert serial.alone_percent == pytest.approx(together, rel=0.1)
    assert not contradiction(serial)
    for number, viscous in enumerate((VISCOUS, 2.0 * VISCOUS)):
        write_recording(tmp_path / f'day{number}', day(arm3, number, viscous=viscous))
    both = identify_many([str(tmp_path / 'day0'), str(tmp_path / 'day1')], options)
    assert 'inertial-id drift' in contradiction(both)[0]


def test_estimators_that_read_again_are_refused(paths):
    with pytest.raises(rid.ConfigError, match='reads the data again'):
        identify_many(paths, load_options(changes={'estimator': 'robust'})[1])


def fragile(folder, number):
    """Return the square of a number; the first process that gets 3 is killed, and always at 5."""
    mark = Path(folder) / 'killed'
    if number == 5 or number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 6:
        raise ValueError('six')
    if number == 7:
        return resource.getrlimit(resource.RLIMIT_DATA)[0]
    return number ** 2


def test_a_killed_process_is_replaced_and_a_hopeless_task_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, 'TRIES', 2)  # each start of a process imports the package
    results = dict(run_tasks(fragile, str(tmp_path), range(8), jobs=2))
    assert [results[k] for k in (0, 1, 2, 3, 4)] == [0, 1, 4, 9, 16]
    assert isinstance(results[5], Lost) and 'exit code -9' in results[5].reason
    assert results[6] == Lost('ValueError: six')
    assert results[7] <= memory_share(2)  # half of the machine's memory each


def process(shared, task):
    """Return where a task is done, and the most threads that a library of BLAS uses there."""
    return os.getpid(), max(pool['num_threads'] for pool in threadpool_info()
                            if pool['user_api'] == 'blas')


def test_few_tasks_are_done_in_this_process_and_others_in_workers_of_one_thread(monkeypatch):
    monkeypatch.setenv('OPENBLAS_NUM_THREADS', '2')
    engine, here = Engine(jobs=2), os.getpid()
    assert {pid for pid, _ in engine.run(process, None, range(3), 'bags', few=3)} == {here}
    elsewhere, count = zip(*engine.run(process, None, range(3), 'bags', few=2))
    assert here not in elsewhere and set(count) == {1}


def never_accumulated(shared, path):
    return next(never(shared.cache, path))


def test_ctrl_c_ends_at_once_with_one_sentence(paths, import_path, tmp_path):
    (tmp_path / 'cache').mkdir()
    words = ['identify', *paths[:3], '--jobs', '2', '--cache', str(tmp_path / 'cache'), '--out',
             str(tmp_path / 'out')]
    code = ('import test_many_recordings as here\n'
            'here.bag_map.accumulate_bag = here.never_accumulated\n'
            'here._keep_no_plan()\n'
            f'here.sys.exit(here.main({words!r}))\n')
    verb = subprocess.Popen([sys.executable, '-c', code], env=import_path, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    workers = pids(tmp_path / 'cache')
    began = time.monotonic()
    os.killpg(verb.pid, signal.SIGINT)  # as a terminal does
    out, err = verb.communicate()
    assert time.monotonic() - began < PROMPT
    assert verb.returncode == 130 and out == ''
    assert err.splitlines()[-1] == 'inertial-id: interrupted' and 'Traceback' not in err
    assert not any(runs(pid) for pid in workers)


def _keep_no_plan():
    mapped_bags._keep_plan = lambda *_: None  # the folder is for what the workers note


def faulty(shared, path):
    """Return what ``accumulate_bag`` does; an error for one bag, the end for another."""
    if path.endswith('day1'):
        raise ValueError('six')
    if path.endswith('day2'):
        os._exit(7)
    return mapped_bags.accumulate_bag(shared, path)


def test_what_goes_wrong_in_a_worker_is_said_of_the_bag(paths, options, tmp_path, monkeypatch):
    monkeypatch.setattr(bag_map, 'accumulate_bag', faulty)
    monkeypatch.setattr(processes, 'TRIES', 1)
    many = identify_many(paths[:DAYS], options, engine=Engine(jobs=2, cache=str(tmp_path)))
    assert set(many.left_out) == {paths[1], paths[2]}
    assert many.left_out[paths[1]] == 'ValueError: six'
    assert 'exit code 7' in many.left_out[paths[2]] and 'memory' not in many.left_out[paths[2]]


def test_what_goes_wrong_before_and_after_is_said_of_the_bag(paths, options, kept, tmp_path,
                                                             monkeypatch):
    def read(path):
        if path == paths[1]:
            raise ValueError('six')
        return read_bag(path)

    def late(shared, bag):
        raise ValueError('seven')

    monkeypatch.setattr(many_recordings, 'bag_residuals', late)
    with pytest.raises(RecordingError, match='day0: .*seven'):
        identify_many(paths[:DAYS], options, engine=kept)
    monkeypatch.setattr(mapped_bags, 'read_bag', read)
    with pytest.raises(RecordingError, match='day1: ValueError: six'):
        identify_many([paths[1]], options, engine=Engine(cache=str(tmp_path / 'empty')))


@pytest.mark.parametrize('verb', ['design', 'identify'])
def test_nothing_of_the_current_folder_is_executed(verb, paths, trapped, import_path, tmp_path):
    words = {'identify': [*paths[:2], '--jobs', '2', '--cache', str(tmp_path)],
             'design': [str(ROOT / 'urdf' / 'arm2.urdf'), '--seconds', '3', '--period', '5']}
    done = subprocess.run(
        [sys.executable, str(ROOT / 'scripts' / 'inertial-id'), verb, *words[verb], '--out',
         str(tmp_path / 'out')], env=import_path, cwd=trapped, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (trapped / 'executed').exists()


def test_merging_in_a_tree_is_merging_one_after_the_other(serial):
    files = [(b.file, k, 1.0) for b in serial.bags for k in range(b.stretches)]
    tree, line = merge_leaves(None, files), merge_leaves(None, files[:1])
    for leaf in files[1:]:
        line = line.merge(merge_leaves(None, [leaf]))
    assert isinstance(tree, RFactors) and tree.rows() == line.rows()
    for name, group in tree.groups.items():
        one, two = group.R.T @ group.R, line.groups[name].R.T @ line.groups[name].R
        np.testing.assert_allclose(one, two, atol=1e-10 * np.abs(two).max())
    half = merge_leaves(None, [(*leaf[:2], 0.25) for leaf in files])
    one, two = (f.groups['joint2'].R for f in (half, tree)) if 'joint2' in tree.groups else (
        next(iter(f.groups.values())).R for f in (half, tree))
    np.testing.assert_allclose(np.abs(one), 0.5 * np.abs(two), atol=1e-9 * np.abs(two).max())


def test_motion_in_the_same_place_counts_once():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 40, 4)) * np.array([[[9, 1, 1, 1]], [[1, 9, 1, 1]],
                                                   [[1, 1, 9, 9]]])
    grams = np.einsum('kni,knj->kij', rows, rows)
    # The first motion four times, once for twice as long; the others once each.
    weights = once_each(grams[[0, 0, 1, 0, 2, 0]] * np.array([1, 1, 1, 2, 1, 1])[:, None, None])
    np.testing.assert_allclose(weights, [0.25, 0.25, 1.0, 0.25, 1.0, 0.25])


def test_the_budget_is_spent_where_there_is_most_to_learn():
    same, other = np.diag([100.0, 1e-3]), np.diag([1e-3, 100.0])
    grams, seconds = np.array([same, same, other, same]), np.array([1.0, 1.0, 1.0, 1.0])
    assert within_budget(grams, seconds, 2.0) in ([0, 2], [1, 2], [2, 3])
    assert within_budget(grams, np.array([5.0, 1.0, 1.0, 5.0]), 2.5) == [1, 2]
    assert len(within_budget(grams, seconds, 0.1)) == 1


def test_the_verb_takes_a_folder_of_bags(fleet, tmp_path, capsys):
    config = tmp_path / 'config.yaml'
    config.write_text('serial_arm: {find_time_offset: false, coulomb_width: 0.05}')
    words = ['identify', str(fleet), '--config', str(config), '--cache', str(tmp_path / 'cache'),
             '--budget', '30', '--count-once', '--no-report', '--out', str(tmp_path / 'out')]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert '4 bags, 0 of them from the cache; 3 not used' in printed
    counted = re.search(r'(\d+) of (\d+) s count: ', printed)
    assert 0 < int(counted[1]) <= 30 < int(counted[2])  # by the budget
    assert rid.load_model(tmp_path / 'out' / 'model.yaml').statistics['verdict']['word'] == 'good'


def test_a_dask_cluster_gives_the_same(serial, paths, options, tmp_path, monkeypatch):
    distributed = pytest.importorskip('distributed', reason="pip install '.[cluster]'")
    import dask
    monkeypatch.setattr(bag_map, 'AHEAD', 2)  # of seven bags
    patient = {'distributed.comm.timeouts.connect': '120s',
               'distributed.worker.daemon': True}
    with dask.config.set(patient), distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        many = identify_many(paths, options, engine=Engine(
            scheduler=cluster.scheduler_address, cache=str(tmp_path)))
    assert_same(serial, many)
    assert set(many.left_out) == set(serial.left_out)
