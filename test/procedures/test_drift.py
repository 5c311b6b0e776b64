"""Drift: what changed in simulated robots is found with its size, and nothing else."""

import csv
from dataclasses import replace
import json
import shutil
import xml.etree.ElementTree as ET

import mujoco_arm
import numpy as np
import pytest
from scipy.stats import norm

import ros_inertial_id as rid
from ros_inertial_id.cli.main import main
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.procedures import mapped_bags
from ros_inertial_id.procedures.drift_result import adjusted, Change, RobotDrift

DAYS, GROWTH, LOAD = 6, 0.2, 0.5  # of viscous friction; kg on the last day


def loaded(urdf, mass):
    """Return the URDF text with a point mass at the centre of the last link."""
    root = ET.fromstring(urdf)
    last = [link for link in root.findall('link') if link.find('inertial') is not None][-1]
    entry = last.find('inertial').find('mass')
    entry.set('value', str(float(entry.get('value')) + mass))
    return ET.tostring(root, encoding='unicode')


@pytest.fixture(scope='module')
def folders(arm3, tmp_path_factory):
    """Return a folder with the days of two robots: one wears, one carries more every day."""
    urdf, names = arm3[0], mujoco_arm.joints_of(arm3[0])
    folder = tmp_path_factory.mktemp('robots')
    for robot in range(2):
        truth = mujoco_arm.true_urdf(urdf, robot + 1)
        for day in range(DAYS):
            t, q, v, a = mujoco_arm.motion(3, 12.0, 100.0, seed=100 * robot + day, period=6.0)
            viscous = np.array([0.8, 0.8 * (1 + (robot == 0) * GROWTH * day / (DAYS - 1)), 0.8])
            bodies = loaded(truth, LOAD * day / (DAYS - 1)) if robot == 1 else truth
            noise = 0.02 * np.random.default_rng(day + 50 * robot).normal(size=v.shape)
            tau = mujoco_arm.torque(bodies, q, v, a) + mujoco_arm.friction(v, viscous, width=0.05)
            t += 86400.0 * (day + 1)
            recording = mujoco_arm.recording(names, t, q, v, tau + noise, urdf=urdf)
            write_recording(folder / f'robot{robot}' / f'day{day}', recording)
    return folder


@pytest.fixture(scope='module')
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp('cache'))


@pytest.fixture(scope='module')
def model(folders, cache):
    return rid.identify_many(
        folders / 'robot0', find_time_offset=False, coulomb_width=0.05, cache=cache
    ).model


@pytest.fixture(scope='module')
def found(folders, model, cache):
    return rid.drift(model, folders, cache=cache)


def test_logs_that_count_from_zero_are_compared_in_their_order(folders, model, tmp_path):
    days = 'mon tue wed thu fri sat'.split()
    logs = [tmp_path / f'{day}.npz' for day in days]
    for day, log in enumerate(logs):
        channel = rid.read_bag(folders / 'robot0' / f'day{day}').channels['/joint_states']
        np.savez(
            log,
            t=1e-9 * (channel.stamp_ns - channel.stamp_ns[0]),
            **{
                key: channel.fields[name]
                for key, name in (('q', 'position'), ('v', 'velocity'), ('tau', 'effort'))
            },
        )
    found = rid.drift(model, [str(log) for log in logs], cache=str(tmp_path))
    (wear,) = found.robots[0].significant
    assert wear.name == 'fv2' and wear.size == pytest.approx(0.8 * GROWTH, abs=4.0 * wear.error)
    assert wear.sentence().endswith(f'in {DAYS} recordings in their order, which have no date')
    assert found.write_tables(tmp_path)


def test_what_changed_is_found_and_nothing_else(found):
    robots = {r.robot: r.significant for r in found.robots}
    assert set(robots) == {'robot0', 'robot1'} and not found.left_out
    (wear,) = robots['robot0']
    assert (wear.name, wear.joint) == ('fv2', 'joint2') and wear.adjusted <= 0.01
    assert wear.size == pytest.approx(0.8 * GROWTH, abs=4.0 * wear.error)
    assert 'joint2 viscous friction +0.' in wear.sentence()
    assert wear.sentence().endswith(f'in {DAYS - 1} days')
    assert {change.law for change in robots['robot1']} == {'payload'}
    (load,) = (change for change in robots['robot1'] if change.unit == 'kg')
    # What is carried is known with the arm's own parameters held: a per cent beside noise.
    assert load.size == pytest.approx(LOAD, abs=4.0 * load.error + 0.01 * LOAD)


@pytest.mark.usefixtures('found')  # which fills the cache
def test_a_step_between_two_recordings_is_named_with_its_size(folders, model, cache):
    two = [folders / 'robot1' / f'day{day}' for day in (0, DAYS - 1)]
    found = rid.drift(model, two, cache=cache).robots[0].significant
    assert {change.law for change in found} == {'payload'}
    (load,) = (change for change in found if change.unit == 'kg')
    assert load.size == pytest.approx(LOAD, abs=4.0 * load.error + 0.01 * LOAD)
    assert load.sentence().startswith('link3 load, mass +0.')
    assert load.sentence().endswith(f'from recording 2 (day{DAYS - 1}) on')


@pytest.mark.usefixtures('found')  # which fills the cache
def test_one_recording_is_not_called_unchanged(folders, model, cache):
    found = rid.drift(model, [folders / 'robot1' / 'day0'], cache=cache)
    assert 'not tested, one recording' in found.to_text()
    assert 'no significant change' not in found.to_text()


def test_the_bags_of_the_model_are_not_accumulated_again(found):
    assert found.cached == DAYS  # robot0's, by the plan that the model remembers


def test_of_robots_that_did_not_change_no_more_are_named_than_the_rate():
    rng, rate, runs = np.random.default_rng(0), 0.01, 150
    named = 0
    for _ in range(runs):  # thirty quantities that depend on each other, of ten robots
        robots = []
        for _ in range(10):
            z = np.sqrt(0.8) * rng.normal() + np.sqrt(0.2) * rng.normal(size=30)
            robots.append(
                RobotDrift(
                    '',
                    0.0,
                    np.zeros(1),
                    (),
                    (),
                    tuple(
                        Change('', '', '', '', 1.0, 1.0, None, 1.0, p)
                        for p in 2.0 * norm.sf(np.abs(z))
                    ),
                )
            )
        named += any(robot.significant for robot in adjusted(robots))
    assert named <= rate * runs + 3.0 * np.sqrt(rate * runs)


@pytest.mark.usefixtures('found')  # which fills the cache
def test_the_verb_prints_json_and_writes_a_page(folders, model, cache, tmp_path, capsys):
    model.save(tmp_path / 'model.yaml')
    words = [
        'drift',
        str(tmp_path / 'model.yaml'),
        str(folders),
        '--json',
        '--out',
        str(tmp_path),
        '--cache',
        cache,
    ]
    assert main(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert data['robots']['robot0']['changes'][0]['joint'] == 'joint2'
    assert data['bags'] == {'read': 0, 'from_cache': 2 * DAYS}
    page = (tmp_path / 'drift.html').read_text(encoding='utf-8')
    assert 'viscous friction' in page and 'robot1' in page


def test_a_model_of_another_robot_is_refused(folders, model, cache):
    text = model.identified
    other = replace(text, robot={**text.robot, 'kinematics_sha256': 'other'})
    with pytest.raises(rid.RobotModelError, match='other kinematics'):
        rid.drift(replace(model, identified=other), folders / 'robot0', cache=cache)


def test_a_new_day_costs_that_day(folders, model, tmp_path, monkeypatch):
    here, kept = tmp_path / 'robot0', str(tmp_path / 'kept')
    for day in range(4):
        shutil.copytree(folders / f'robot0/day{day}', here / f'day{day}')
    before = rid.drift(model, [here / f'day{k}' for k in range(3)], cache=kept)
    opened = []
    for name in ('read_recording', 'sha256'):
        of_bag = getattr(mapped_bags, name)
        monkeypatch.setattr(
            mapped_bags,
            name,
            lambda what, *more, of_bag=of_bag, name=name: (
                opened.append((name, str(what))),
                of_bag(what, *more),
            )[1],
        )
    after = rid.drift(model, here, cache=kept)
    assert before.read == 3 and (after.cached, after.read) == (3, 1)
    assert len(opened) == 2 and all('day3' in what for _, what in opened)
    assert '1 bags read, 3 from the cache' in after.to_text()
    again = here / 'day0' / 'day0.mcap'
    again.write_bytes(again.read_bytes())  # other times, the same content
    assert rid.drift(model, here, cache=kept).read == 0
    assert [name for name, what in opened[2:]] == ['sha256']


def test_tables_hold_what_was_found(found, tmp_path):
    files = found.write_tables(tmp_path)
    tables = {
        name: list(csv.DictReader(open(path, encoding='utf-8'))) for name, path in files.items()
    }
    rows = tables['drift_series']
    # A bag a day, from where the first was put.
    dates = list(dict.fromkeys(row['time'][:10] for row in rows))
    assert dates == [f'1970-01-{2 + day:02}' for day in range(DAYS)]
    for robot in found.robots:
        for one in robot.series:
            own = [
                float(r['change'])
                for r in rows
                if (r['robot'], r['name']) == (robot.robot, one.name)
            ]
            np.testing.assert_allclose(own, one.values, rtol=1e-12)
    trends = [r for r in tables['drift_trends'] if float(r['adjusted']) < 0.01]
    named = {(r['robot'], r['name']) for r in trends}
    assert named == {(r.robot, c.name) for r in found.robots for c in r.significant}
