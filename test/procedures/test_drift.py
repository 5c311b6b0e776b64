"""Drift: what changed in simulated robots is found with its size, and nothing else."""

from dataclasses import replace
import json
import xml.etree.ElementTree as ET

import mujoco_arm
import numpy as np
import pytest

import ros_inertial_id as rid
from ros_inertial_id.cli.main import main
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.recording import Channel

DAYS, GROWTH, LOAD, FIRST = 8, 0.2, 0.5, 5  # of viscous friction; kg from this day on


def loaded(urdf, mass):
    """Return the URDF text with a point mass at the centre of the last link."""
    root = ET.fromstring(urdf)
    last = [link for link in root.findall('link') if link.find('inertial') is not None][-1]
    entry = last.find('inertial').find('mass')
    entry.set('value', str(float(entry.get('value')) + mass))
    return ET.tostring(root, encoding='unicode')


@pytest.fixture(scope='module')
def folders(arm3, tmp_path_factory):
    """Return a folder with the days of two robots: one wears, one picks up a load for good."""
    urdf, names = arm3[0], mujoco_arm.joints_of(arm3[0])
    folder = tmp_path_factory.mktemp('robots')
    for robot in range(2):
        truth = mujoco_arm.true_urdf(urdf, robot + 1)
        for day in range(DAYS):
            t, q, v, a = mujoco_arm.motion(3, 12.0, 100.0, seed=100 * robot + day, period=6.0)
            viscous = np.array([0.8, 0.8 * (1 + (robot == 0) * GROWTH * day / (DAYS - 1)), 0.8])
            bodies = loaded(truth, LOAD) if robot == 1 and day >= FIRST else truth
            noise = 0.02 * np.random.default_rng(day + 50 * robot).normal(size=v.shape)
            tau = (mujoco_arm.torque(bodies, q, v, a) + viscous * v + 0.5 * np.tanh(v / 0.05)
                   + noise)
            recording = mujoco_arm.recording(names, t + 86400.0 * (day + 1), q, v, tau)
            warm = Channel('/temperature', 'sensor_msgs/msg/Temperature',
                           recording.channels['/joint_states'].stamp_ns[::50],
                           recording.channels['/joint_states'].stamp_ns[::50],
                           {'temperature': np.full(len(t[::50]), 25.0 + np.sin(day))})
            write_recording(folder / f'robot{robot}' / f'day{day}', replace(
                recording, robot_description=urdf,
                channels={**recording.channels, '/temperature': warm}))
    return folder


@pytest.fixture(scope='module')
def model(folders):
    return rid.identify_many(folders / 'robot0', find_time_offset=False,
                             coulomb_width=0.05).model


@pytest.fixture(scope='module')
def found(folders, model):
    return rid.drift(model, folders)


def test_what_changed_is_found_and_nothing_else(found):
    robots = {r.robot: r.findings for r in found.robots}
    assert set(robots) == {'robot0', 'robot1'} and not found.left_out
    (wear,), (load,) = robots['robot0'], robots['robot1']
    assert (wear.what, wear.name, wear.kind) == ('friction', 'fv2', 'drift')
    assert wear.size == pytest.approx(0.8 * GROWTH, abs=4.0 * wear.error)
    assert 'joint2 viscous friction +' in wear.sentence()
    assert f'in {DAYS - 1} days' in wear.sentence()
    assert (load.what, load.kind) == ('payload', 'jump')
    assert load.at_day == pytest.approx(FIRST)
    # What is carried is known with the arm's own parameters held: a per cent beside noise.
    assert load.size == pytest.approx(LOAD, abs=4.0 * load.error + 0.01 * LOAD)


def test_the_bags_of_the_model_are_not_accumulated_again(found):
    assert found.cached == DAYS  # robot0's, by the plan that the model remembers


def test_temperatures_are_read(found):
    np.testing.assert_allclose(found.robots[0].temperature, 25.0 + np.sin(np.arange(DAYS)),
                               atol=1e-9)


def test_the_verb_prints_json_and_writes_a_page(folders, model, tmp_path, capsys):
    model.save(tmp_path / 'model.yaml')
    words = ['drift', str(tmp_path / 'model.yaml'), str(folders), '--json', '--out',
             str(tmp_path)]
    assert main(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert data['robots']['robot0']['findings'][0]['joint'] == 'joint2'
    page = (tmp_path / 'drift.html').read_text(encoding='utf-8')
    assert 'viscous friction' in page and 'robot1' in page


def test_a_model_of_another_robot_is_refused(folders, model, tmp_path):
    text = model.identified
    other = replace(text, robot={**text.robot, 'kinematics_sha256': 'other'})
    with pytest.raises(rid.RobotModelError, match='other kinematics'):
        rid.drift(replace(model, identified=other), folders / 'robot0')
