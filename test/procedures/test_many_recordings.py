"""Many recordings: whoever accumulates them, cached or not, the model is the same."""

from dataclasses import replace
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys

from arm_days import day, VISCOUS
import numpy as np
import pytest
from test_processes import PATIENCE, pids, ROOT, runs
from worker_tasks import never_accumulated, noted_and_killed, process

import ros_inertial_id as rid
from ros_inertial_id.cli.main import main
from ros_inertial_id.cli.verbs import contradiction
from ros_inertial_id.errors import RecordingError
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.procedures import many_recordings, mapped_bags
from ros_inertial_id.procedures.bag_map import Engine, map_bags, merged_stretch
from ros_inertial_id.procedures.bag_paths import find_bags
from ros_inertial_id.procedures.many_recordings import identify_many

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


def test_a_damaged_cache_is_computed_anew(serial, paths, options, kept):
    for k, bag in enumerate(serial.bags[:2]):
        path = Path(kept.cache) / Path(bag.file).name
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if k else b'')
    many = identify_many(paths, options, engine=kept)
    assert [b.cached for b in many.bags] == [False, False, True, True]
    assert_same(serial, many)


def test_another_description_is_another_key(serial):
    other = replace(serial.plan, urdf=serial.plan.urdf.replace('mass value="', 'mass value="0'))
    assert other.key != serial.plan.key


def test_a_second_call_accumulates_no_bag_and_nothing_lies_beside_them(
    arm3, options, tmp_path, monkeypatch
):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'home'))
    bags = [str(tmp_path / 'bags' / f'day{k}') for k in range(2)]
    for k, bag in enumerate(bags):
        write_recording(Path(bag), day(arm3, k))
    before = sorted((tmp_path / 'bags').rglob('*'))
    first = identify_many(bags, options)
    assert Path(first.bags[0].file).parent == tmp_path / 'home' / 'ros_inertial_id'
    assert sorted((tmp_path / 'bags').rglob('*')) == before
    opened = []
    for name in ('sha256', 'factors_of', 'admission'):
        monkeypatch.setattr(mapped_bags, name, lambda *words, **more: opened.append(words))
    again = identify_many(bags, options)
    assert not opened and all(bag.cached for bag in again.bags)
    assert_same(first, again)


def test_a_full_disk_ends_the_run_and_is_no_fault_of_a_bag(serial, paths, tmp_path):
    nowhere = tmp_path / 'file'
    nowhere.write_text('no folder')
    with pytest.raises(RecordingError, match='day0.*cannot be kept.*--cache'):
        map_bags(paths[:1], serial.plan, Engine(cache=str(nowhere / 'cache')))


def test_bags_are_found_as_folders_and_as_single_files_each_once(tmp_path):
    for name in (
        'week/monday.mcap',
        'week/tuesday.db3',
        'split/split_0.mcap',
        'split/split_1.mcap',
        'week/notes.txt',
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / 'week' / 'up').symlink_to(tmp_path)
    assert find_bags([str(tmp_path)]) == [
        str(tmp_path / name) for name in ('split', 'week/monday.mcap', 'week/tuesday.db3')
    ]


def test_the_same_content_under_two_names_counts_once(
    serial, fleet, paths, options, kept, tmp_path
):
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


def test_few_tasks_are_done_in_this_process_and_others_in_workers_of_one_thread(monkeypatch):
    monkeypatch.setenv('OPENBLAS_NUM_THREADS', '2')
    engine, here = Engine(jobs=2), os.getpid()
    assert {pid for pid, _ in engine.run(process, None, range(3), 'bags', few=3)} == {here}
    elsewhere, count = zip(*engine.run(process, None, range(3), 'bags', few=2))
    assert here not in elsewhere and set(count) == {1}


def start_verb(paths, function, import_path, tmp_path):
    """Return the process of ``identify`` whose workers do a function of ``worker_tasks``."""
    (tmp_path / 'noted').mkdir()
    words = [
        'identify',
        *paths,
        '--jobs',
        '2',
        '--cache',
        str(tmp_path / 'cache'),
        '--out',
        str(tmp_path / 'out'),
        '--no-report',
    ]
    code = (
        'import sys\n'
        'from ros_inertial_id.cli.main import main\n'
        'from ros_inertial_id.procedures import bag_map\n'
        'import worker_tasks\n'
        f'bag_map.accumulate_bag = worker_tasks.{function.__name__}\n'
        f'sys.exit(main({words!r}))\n'
    )
    return subprocess.Popen(
        [sys.executable, '-c', code],
        text=True,
        start_new_session=True,
        env={**import_path, 'NOTED': str(tmp_path / 'noted')},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(  # as at a terminal, not under nohup
            signal.SIGINT, signal.SIG_DFL
        ),
    )


def test_ctrl_c_ends_at_once_with_one_sentence(paths, import_path, tmp_path):
    verb = start_verb(paths[:3], never_accumulated, import_path, tmp_path)
    workers = pids(tmp_path / 'noted')
    os.killpg(verb.pid, signal.SIGINT)  # as a terminal does
    out, err = verb.communicate(timeout=PATIENCE)  # of the hours that the workers would take
    assert verb.returncode == 130 and out == ''
    assert err.splitlines()[-1] == 'inertial-id: interrupted' and 'Traceback' not in err
    assert not any(runs(pid) for pid in workers)


def test_a_killed_worker_costs_the_bags_that_were_not_done_and_is_named(
    paths, import_path, tmp_path
):
    verb = start_verb(paths[:3], noted_and_killed, import_path, tmp_path)
    out, err = verb.communicate()
    assert verb.returncode == 0 and 'Traceback' not in err
    model = rid.load_model(tmp_path / 'out' / 'model.yaml').identified
    reason = model.provenance['left_out'][paths[2]]
    assert 'memory is short' in reason and '--jobs' in reason
    assert 'day2' in out


def test_what_goes_wrong_before_and_after_is_said_of_the_bag(
    paths, options, kept, tmp_path, monkeypatch
):
    def read(path, *_):
        if path == paths[1]:
            raise ValueError('six')
        return read_bag(path)

    def late(*_):
        raise ValueError('seven')

    monkeypatch.setattr(many_recordings, 'explained_of', late)
    with pytest.raises(RecordingError, match='day0: .*seven'):
        identify_many(paths[:DAYS], options, engine=kept)
    monkeypatch.setattr(mapped_bags, 'read_recording', read)
    with pytest.raises(RecordingError, match='day1: ValueError: six'):
        identify_many([paths[1]], options, engine=Engine(cache=str(tmp_path / 'empty')))


def test_nothing_of_the_current_folder_is_executed(paths, trapped, import_path, tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / 'scripts' / 'inertial-id'),
            'identify',
            *paths[:2],
            '--jobs',
            '2',
            '--cache',
            str(tmp_path),
            '--out',
            str(tmp_path / 'out'),
        ],
        env=import_path,
        cwd=trapped,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not (trapped / 'executed').exists()


def test_merging_in_a_tree_is_merging_one_after_the_other(serial):
    structure, files = serial.plan.structure, [b.file for b in serial.bags]
    tree, line = (merged_stretch((structure, some), 3) for some in (files, files[:1]))
    for one in files[1:]:
        line = line.merged(merged_stretch((structure, [one]), 3))
    assert tree.kept == [3] and tree.by_number[3].rows() == line.by_number[3].rows()
    assert tree.speed[3] == pytest.approx(line.speed[3])
    for name, group in tree.by_number[3].groups.items():
        one, two = group.R.T @ group.R, line.by_number[3].groups[name].R
        np.testing.assert_allclose(one, two.T @ two, atol=1e-10 * np.abs(one).max())


def test_the_verb_takes_a_folder_of_bags(fleet, tmp_path, capsys):
    config = tmp_path / 'config.yaml'
    config.write_text('serial_arm: {find_time_offset: false, coulomb_width: 0.05}')
    words = [
        'identify',
        str(fleet),
        '--config',
        str(config),
        '--cache',
        str(tmp_path / 'cache'),
        '--no-report',
        '--out',
        str(tmp_path / 'out'),
    ]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert '4 bags, 0 of them from the cache; 3 not used' in printed
    assert rid.load_model(tmp_path / 'out' / 'model.yaml').statistics['verdict']['word'] == 'good'
