"""Methods and verbs of other packages, installed by pip and used from the command line."""

import json
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest
from recordings import joint_states, recording_of

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.methods import METHODS
from ros_inertial_id.plugins import METHODS_GROUP, Plugins, SIMULATED_RIGS

TOY = Path(__file__).parent / 'toy_method'
TRUE = {'I': 0.7, 'mc': 0.4, 'fv': 0.2}


@pytest.fixture(scope='module')
def command(tmp_path_factory):
    """Return a function that runs inertial-id with the toy installed in a folder of its own."""
    pytest.importorskip('pip', reason='the toy is installed by pip')
    folder = tmp_path_factory.mktemp('toy')
    subprocess.run(
        [
            sys.executable,
            '-m',
            'pip',
            'install',
            '--quiet',
            '--no-deps',
            '--no-index',
            '--no-build-isolation',
            '--target',
            str(folder / 'site'),
            str(TOY),
        ],
        check=True,
    )
    path = os.pathsep.join(filter(None, [str(folder / 'site'), os.environ.get('PYTHONPATH')]))

    def run(*words):
        return subprocess.run(
            [sys.executable, '-m', 'ros_inertial_id', *map(str, words)],
            env=dict(os.environ, PYTHONPATH=path),
            cwd=folder,
            capture_output=True,
            text=True,
        )

    return run


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return a bag of a swinging pendulum with 0.02 N m of noise, and the file of its name."""
    folder = tmp_path_factory.mktemp('swing')
    t = np.arange(0.0, 20.0, 0.005)
    q = 0.8 * np.sin(2.0 * t) + 0.3 * np.cos(5.0 * t)
    v = 1.6 * np.cos(2.0 * t) - 1.5 * np.sin(5.0 * t)
    a = -3.2 * np.sin(2.0 * t) - 7.5 * np.cos(5.0 * t)
    tau = (
        TRUE['I'] * a
        + TRUE['mc'] * 9.81 * np.sin(q)
        + TRUE['fv'] * v
        + np.random.default_rng(0).normal(scale=0.02, size=len(t))
    )
    fields = {'position': q[:, None], 'velocity': v[:, None], 'effort': tau[:, None]}
    write_recording(folder / 'bag', recording_of(joint_states(('hinge',), t, **fields)))
    (folder / 'pendulum.txt').write_text('hinge\n')
    return folder / 'bag', folder / 'pendulum.txt'


def test_a_method_of_another_package_identifies(command, bag, tmp_path):
    recording, description = bag
    told = command(
        'identify',
        recording,
        '--method',
        'pendulum',
        '--urdf',
        description,
        '--validate',
        recording,
        '--out',
        tmp_path / 'out',
        '--json',
    )
    assert told.returncode == 0, told.stderr
    found = {entry['name']: entry for entry in json.loads(told.stdout)['base_parameters']}
    assert set(found) == set(TRUE)
    for name, value in TRUE.items():
        assert abs(found[name]['value'] - value) < 4.0 * found[name]['standard_error'] + 1e-4
    assert (tmp_path / 'out' / 'report.html').stat().st_size > 10_000
    told = command('validate', tmp_path / 'out' / 'model.yaml', recording)
    assert told.returncode == 0 and 'relative residual' in told.stdout


def test_a_verb_of_another_package_is_listed_and_runs(command):
    assert 'say how long a small swing takes' in command('--help').stdout
    assert command('swing', '1.0').stdout == '2.006 s\n'
    assert "did you mean 'swing'?" in command('swim').stderr


def test_a_method_that_is_not_installed_is_refused_with_those_that_are(bag, command, tmp_path):
    told = command('identify', bag[0], '--method', 'pendulun', '--out', tmp_path)
    assert told.returncode == 2 and 'pendulum' in told.stderr and 'serial_arm' in told.stderr


def test_without_metadata_arms_are_known_and_the_cause_is_named(tmp_path):
    package = Path(sys.modules['ros_inertial_id'].__file__).parent
    (tmp_path / 'ros_inertial_id').symlink_to(package)
    code = (
        'import sys\n'
        f'sys.path = [{str(tmp_path)!r}, *(p for p in sys.path if "site-packages" not in p)]\n'
        'from ros_inertial_id.plugins import METHODS_GROUP, Plugins\n'
        'known = Plugins(METHODS_GROUP, "method", {"serial_arm": "a:b"})\n'
        'print(list(known))\nknown["closed_loop"]\n'
    )
    told = subprocess.run(
        [sys.executable, '-S', '-c', code], cwd=tmp_path, capture_output=True, text=True
    )
    assert told.stdout == "['serial_arm']\n" and 'is not installed' in told.stderr


def test_what_does_not_import_is_refused_with_its_cause():
    broken = Plugins(METHODS_GROUP, 'method', {'broken': 'no_such_module:Kind'})
    with pytest.raises(ConfigError, match="broken cannot be loaded; found No module named 'no_s"):
        broken['broken']


def test_the_package_registers_its_methods_and_rigs():
    assert {name: METHODS[name].name for name in METHODS} == {
        name: name
        for name in (
            'serial_arm',
            'closed_loop',
            'floating_base',
            'rigid_body',
            'suspended_platform',
        )
    }
    assert set(SIMULATED_RIGS) == {'slider_crank', 'wrist_sensor', 'quadruped'}
