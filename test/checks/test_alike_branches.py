"""Two legs, mirrored or alike, whose columns are exchanged in a log that names no joints."""

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.checks.check import check
from ros_inertial_id.checks.finding import DO_NOT_USE, GOOD, NOTE
from ros_inertial_id.cli.main import main
from ros_inertial_id.dynamics.branches import alike_branches
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.measurement.bags.log import read_log

OPTIONS = load_options('', 'serial_arm')[1]
LINK = (
    '<link name="{}"><inertial><mass value="{}"/><origin xyz="0.01 {} -0.08"/><inertia ixx="{}" '
    'iyy="{}" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><origin xyz="{}"/>'
    '<axis xyz="{}"/><limit lower="-2" upper="2" effort="30" velocity="20"/></joint>'
)


def legs(mirrored, mass=1.0):
    """Return the URDF of two legs of three joints beside each other."""
    parts = ['<robot name="legs"><link name="base"/>']
    for side, y in (('left', 1.0), ('right', -1.0)):
        inside = 1.0
        if mirrored:
            inside = y
        carrier, at = 'base', f'0 {0.05 * y} 0'
        for name, axis, weight in (
            ('hip', '1 0 0', 0.7),
            ('thigh', '0 1 0', 1.1),
            ('calf', '0 1 0', 0.3),
        ):
            link = f'{side}_{name}'
            size = 0.006 * weight
            parts.append(LINK.format(link, mass * weight, 0.02 * inside, size, size))
            parts.append(JOINT.format(f'{link}_joint', carrier, link, at, axis))
            carrier, at = link, f'0 {0.09 * inside} -0.1'
    return ''.join([*parts, '</robot>'])


def log(mirrored, order):
    """Return a table of numbered joints, those of the robot in an ``order``, and its URDF."""
    described, true = (legs(mirrored, mass) for mass in (0.9, 1.0))
    t, q, v, a = mujoco_arm.motion(6, 12.0, 100.0, seed=3)
    rng = np.random.default_rng(0)
    tau = mujoco_arm.torque(true, q, v, a) + 0.1 * v + 0.2 * np.tanh(v / 0.02)
    tau += 0.01 * rng.standard_normal(tau.shape)
    columns = {'time': t}
    for name, values in (('q', q), ('dq', v), ('tau', tau)):
        columns |= {f'{name}{k}': values[:, joint] for k, joint in enumerate(order)}
    return columns, described


@pytest.mark.parametrize(
    'order, exchanged', [((0, 1, 2, 3, 4, 5), False), ((3, 4, 5, 0, 1, 2), True)]
)
def test_mirrored_legs_that_are_exchanged_are_found(order, exchanged):
    found = check([read_log(*log(True, order))], OPTIONS)
    names = [finding.name for finding in found.checks]
    assert 'branches alike' not in names
    assert ('joints exchanged' in names) == exchanged
    assert found.verdict.word == {True: DO_NOT_USE, False: GOOD}[exchanged]
    if exchanged:
        assert '--joints right_hip_joint,right_thigh_joint,right_calf_joint' in found.checks[0].do


@pytest.mark.parametrize('order', [(0, 1, 2, 3, 4, 5), (3, 4, 5, 0, 1, 2)])
def test_legs_that_are_alike_in_all_cannot_be_told_and_that_is_said(order):
    found = check([read_log(*log(False, order))], OPTIONS)
    (note,) = [finding for finding in found.checks if finding.name == 'branches alike']
    assert note.severity == NOTE and '--joints' in note.do
    assert found.verdict.word == GOOD


def test_an_import_without_names_says_which_branches_are_alike(tmp_path, capsys):
    columns, urdf = log(True, range(6))
    (tmp_path / 'r.urdf').write_text(urdf)
    rows = np.column_stack(list(columns.values()))[:50]
    np.savetxt(tmp_path / 'log.csv', rows, delimiter=',', header=','.join(columns), comments='')
    words = [str(tmp_path / 'log.csv'), '--urdf', str(tmp_path / 'r.urdf')]
    assert main(['import', *words, '--out', str(tmp_path / 'bag')]) == 0
    said = capsys.readouterr().out
    assert 'left_calf_joint and right_hip_joint, right_thigh_joint, right_calf_joint are' in said


def test_branches_are_alike_by_their_joints():
    pairs = alike_branches(load_robot_model(legs(True)))
    assert pairs == [((0, 1, 2), (3, 4, 5))]
    assert alike_branches(load_robot_model(mujoco_arm.description('franka'))) == []
    sliding = legs(True).replace(
        '"left_calf_joint" type="revolute"', '"left_calf_joint" type="prismatic"'
    )
    assert alike_branches(load_robot_model(sliding)) == []
