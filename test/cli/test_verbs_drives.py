"""drive-gains and known loads, as typed: bags in, numbers or one line of error out."""

import json
import re

import loaded_arm as drives
import mujoco_arm
import numpy as np
import pytest
from recording_faults import columns, rebuilt
from typed_words import refused, run

from ros_inertial_id.cli.console import known_load
from ros_inertial_id.dynamics.inertial_parameters import inertia_tensor
from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.joints.drives import gains_to_paste
from ros_inertial_id.procedures.drive_gains import load_parameters


def test_drive_gains_from_bags_with_a_known_load(capsys, tmp_path):
    folder = tmp_path
    urdf = mujoco_arm.description('arm3')
    true = mujoco_arm.true_urdf(urdf, 6)
    (folder / 'arm.urdf').write_text(urdf)
    (folder / 'arm.yaml').write_text(
        'serial_arm: {friction: [viscous, coulomb], coulomb_width: 0.02}\n'
    )
    write_recording(folder / 'bare', drives.record(true, 1))
    write_recording(folder / 'held', drives.record(drives.loaded(true), 2))
    ten = load_parameters(drives.MASS, drives.CENTER, drives.INERTIA)
    words = (
        'drive-gains',
        '--empty',
        folder / 'bare',
        '--urdf',
        folder / 'arm.urdf',
        '--config',
        folder / 'arm.yaml',
    )
    status, printed, _ = run(
        capsys, *words, '--json', '--loaded', folder / 'held', ' '.join(map(str, ten))
    )
    told = json.loads(printed)
    assert status == 0
    np.testing.assert_allclose(list(told['gains'].values()), drives.gains(), rtol=0.01)
    status, printed, _ = run(capsys, *words, '--gain', 'joint2=8')
    assert status == 0 and 'drive_gain: [' in printed and 'joint2' in printed
    printed = run(capsys, *words)[1]
    assert 'described masses fix the scale' in printed
    calibration = re.search(r'calibration: \[([^]]*)\]', printed)[1].split(', ')
    assert all(0.15 <= float(error) < 0.3 for error in calibration)
    (tmp_path / 'gains.yaml').write_text(printed.rstrip().split('\n')[-1])
    _, options = load_options(str(tmp_path / 'gains.yaml'), '', {})
    assert options.effort_kind == 'current' and len(options.drive_gain) == len(calibration)
    assert list(options.calibration) == [float(error) for error in calibration]
    bare = str(folder / 'bare')
    assert 'is given twice' in refused(capsys, *words, '--loaded', bare, '1')
    assert "found '2kg'" in refused(capsys, *words, '--loaded', 'nowhere', '2kg')
    assert "did you mean 'joint2'?" in refused(capsys, *words, '--gain', 'joint_2=8')
    assert 'JOINT=TORQUE' in refused(capsys, *words, '--gain', 'joint2')
    for nothing in ('0', 'nan', 'inf'):
        assert 'not zero' in refused(capsys, *words, '--gain', f'joint2={nothing}')


def test_gains_of_what_checks_refuse_are_printed_by_force_alone(capsys, tmp_path):
    """One joint of three is recorded negated."""
    urdf = mujoco_arm.description('arm3')
    recording = mujoco_arm.recorded('arm3', 5)
    effort = columns(recording)[-1] * (1.0, -1.0, 1.0)
    write_recording(tmp_path / 'bag', rebuilt(recording, effort=effort))
    (tmp_path / 'arm.urdf').write_text(urdf)
    words = ('drive-gains', '--empty', tmp_path / 'bag', '--urdf', tmp_path / 'arm.urdf')
    assert 'the efforts of joint2 are negated' in refused(capsys, *words)
    status, printed, _ = run(capsys, *words, '--force')
    assert status == 0 and 'drive_gain: [' in printed
    assert printed.startswith('By force, though') and 'joint2 are negated' in printed


def test_the_gain_of_a_drive_that_is_mounted_the_other_way_is_negative(capsys, tmp_path):
    """Described masses, up to 20 % off, give the scale; the drive of joint 2 turns backwards."""
    urdf = mujoco_arm.description('arm3')
    recording = drives.record(mujoco_arm.true_urdf(urdf, 6), 1)
    effort = columns(recording)[-1] * (1.0, -1.0, 1.0)
    write_recording(tmp_path / 'bag', rebuilt(recording, effort=effort))
    (tmp_path / 'arm.urdf').write_text(urdf)
    words = ('--empty', tmp_path / 'bag', '--urdf', tmp_path / 'arm.urdf', '--json')
    status, printed, _ = run(capsys, 'drive-gains', *words)
    found = list(json.loads(printed)['gains'].values())
    assert status == 0
    np.testing.assert_allclose(found, drives.gains() * (1.0, -1.0, 1.0), rtol=0.2)


@pytest.mark.parametrize('kind, name', [('current', 'drive_gain'), ('command', 'stiffness')])
def test_a_line_to_paste_is_a_configuration(kind, name, tmp_path):
    """A gain that was not determined is the middle of the others, with an error of as much."""
    gains = {'a': 12.34567891, 'b': None, 'c': 9.0}
    line = gains_to_paste('serial_arm', kind, gains, {'a': 0.17, 'c': 0.0002})
    (tmp_path / 'gains.yaml').write_text(line)
    _, options = load_options(str(tmp_path / 'gains.yaml'), '', {})
    assert options.effort_kind == kind and '\n' not in line
    np.testing.assert_allclose(getattr(options, name), [12.3457, 10.67285, 9.0], rtol=1e-5)
    assert options.calibration == (0.17, 1.0, 0.0002)


def test_a_block_weighs_what_a_cloud_of_points_in_its_place_does():
    edges, center, mass = np.array([0.3, 0.2, 0.1]), np.array([0.5, -0.2, 0.1]), 12.0
    grid = (np.arange(20) + 0.5) / 20 - 0.5
    points = np.stack(np.meshgrid(grid, grid, grid), -1).reshape(-1, 3) * edges + center
    inertia = mass * (np.mean((points**2).sum(1)) * np.eye(3) - points.T @ points / len(points))
    ten = known_load('12 0.5 -0.2 0.1 0.3 0.2 0.1')
    np.testing.assert_allclose(ten[:4], [mass, *(mass * center)])
    # The midpoint rule misses 1/400 of a block's own second moments.
    np.testing.assert_allclose(inertia_tensor(ten), inertia, atol=mass * 0.13 / 12 / 390)
    point = known_load('12, 0.5, -0.2, 0.1')
    assert inertia_tensor(point)[2, 2] == pytest.approx(mass * (0.5**2 + 0.2**2))
    np.testing.assert_array_equal(known_load(' '.join(map(repr, ten.tolist()))), ten)
    for words in ('12 0.5', '12 nan 0 0.1', '12 0.5 -0.2 inf'):
        with pytest.raises(ConfigError, match='MASS X Y Z'):
            known_load(words)
