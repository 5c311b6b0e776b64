"""The audit of descriptions: falsified ones are named, sound ones are good, others refused."""

import json
from pathlib import Path
import struct
from xml.etree import ElementTree

from falsified_descriptions import FALSIFIED, Falsified, joint, walker
import numpy as np
import pytest

import ros_inertial_id as rid
from ros_inertial_id.auditing.audit import CHECKS
from ros_inertial_id.auditing.checks_of_links import LINK_CHECKS
from ros_inertial_id.auditing.finding import DOUBTFUL, WRONG
from ros_inertial_id.auditing.hulls import Hull
from ros_inertial_id.checks.model_checks import _described
from ros_inertial_id.cli.main import main
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError, RobotModelError

PACKAGED = sorted((Path(__file__).parents[2] / 'urdf').glob('*.urdf'))


@pytest.mark.parametrize('path', PACKAGED, ids=lambda path: path.stem)
def test_sound_descriptions_are_good(path):
    assert rid.audit(path).status == 0


def test_a_sound_walker_is_good_and_mirrored():
    found = rid.audit(walker())
    assert (found.status, found.word) == (0, 'good')
    assert {finding.name for finding in found} == {'root has inertia'}


@pytest.mark.parametrize('how', FALSIFIED)
def test_what_was_falsified_is_named(how):
    falsify, name, word = FALSIFIED[how]
    falsified = Falsified(walker(), 'right_thigh')
    falsify(falsified)
    found = [f for f in rid.audit(falsified.text()) if f.severity in (WRONG, DOUBTFUL)]
    said = [f.sentence() for f in found if f.name == name]
    assert said and word in ' '.join(said), [f.sentence() for f in found]


def test_an_inertia_about_the_frame_and_a_copied_product_are_explained():
    about_frame = Falsified(walker(), 'right_thigh')
    about_frame.origin.set('xyz', '0.005 -0.04 -0.24')  # an end of the thigh, and more inertia
    about_frame.about_frame()
    about_frame.scale(2.0, ['ixx', 'iyy'])
    names = {f.name for f in rid.audit(about_frame.text()) if f.severity != 'note'}
    assert 'mirrored links differ' in names or 'inertia too large' in names
    text = walker()
    for side in ('left', 'right'):  # of mirror images iyz has opposite signs
        copied = Falsified(text, f'{side}_thigh')
        copied.inertia.set('iyz', '0.0006')
        text = copied.text()
    (found,) = [f for f in rid.audit(text) if f.name == 'products with wrong sign']
    assert found.found.startswith('iyz') and found.do == 'negate iyz'


@pytest.mark.parametrize('how', ['all of them 1', 'other side'])
def test_check_and_identify_note_what_else_explains_the_torques(how):
    falsified = Falsified(walker(), 'right_thigh')
    FALSIFIED[how][0](falsified)
    kinds = {f.name: f.severity for f in _described(load_robot_model(falsified.text()))}
    expected = {'all of them 1': 'placeholders described', 'other side': 'sides described unlike'}
    assert kinds[expected[how]] == 'note'
    assert not _described(load_robot_model(walker()))


def test_the_mass_on_scales_is_compared():
    assert rid.audit(walker(), mass=10.6).status == 0
    assert rid.audit(walker(), mass=12.6).status == 1
    (found,) = rid.audit(walker(), mass=21.0).audit.of_severity(WRONG)
    assert (found.name, found.found, found.plausible) == ('total mass', '10.64 kg', '21 kg')


def test_findings_are_sorted_by_torque_which_is_that_of_the_difference():
    falsified = Falsified(walker(), 'right_shank')
    falsified.scale(1e3)
    found = rid.audit(falsified.text()).findings[0]
    assert found.name == 'inertia too large' and found.part == 'right_shank'
    # At least as much as the shank's own joint needs at 3 of its 5 rad/s^2, about its hinge.
    y = float(falsified.inertia.get('iyy')) * (1.0 - 1e-3)
    assert 3.0 * y < found.torque < 100.0 * y and found.unit == 'N m'


def test_what_is_fixed_is_good_and_says_what_was_there(tmp_path):
    falsified = Falsified(walker(), 'left_thigh')
    falsified.scale(1e3)
    given, fixed = tmp_path / 'given.urdf', tmp_path / 'fixed.urdf'
    given.write_text(falsified.text())
    found = rid.audit(given)
    assert found.fix(fixed) == ['left_thigh']
    assert rid.audit(fixed).status == 0
    assert 'inertia too large' in fixed.read_text() and '<!--' in fixed.read_text()
    expected = ElementTree.fromstring(walker()).find('link[@name="left_thigh"]/inertial/inertia')
    written = ElementTree.parse(fixed).find('link[@name="left_thigh"]/inertial/inertia')
    for name in ('ixx', 'iyy', 'izz'):
        assert float(written.get(name)) == pytest.approx(float(expected.get(name)), rel=1e-6)
    with pytest.raises(ConfigError, match='the description itself'):
        found.fix(given)


def test_a_hull_has_volume_centre_and_spread_of_a_box():
    corners = np.array(np.meshgrid([0, 2.0], [0, 3.0], [0, 1.0])).reshape(3, -1).T
    hull = Hull.of(corners)
    assert hull.volume == pytest.approx(6.0)
    np.testing.assert_allclose(hull.centre, [1.0, 1.5, 0.5])
    np.testing.assert_allclose(hull.spread, np.diag([4.0, 9.0, 1.0]) / 12.0, atol=1e-12)
    assert hull.beyond(np.array([3.0, 1.0, 0.5])) == pytest.approx(1.0)


def stl(path, size):
    """Write a binary STL of the corners of a box about the origin."""
    corners = 0.5 * np.array(np.meshgrid(*[(-s, s) for s in size])).reshape(3, -1).T
    faces = [corners[[0, k, (k + 1) % 8]] for k in range(8)]
    triangles = [struct.pack('<12fH', *np.zeros(3), *face.ravel(), 0) for face in faces]
    path.write_bytes(bytes(80) + struct.pack('<I', len(triangles)) + b''.join(triangles))


def with_mesh(text, name):
    return text.replace('<box size="0.06 0.05 0.28"/>', f'<mesh filename="{name}"/>')


def test_meshes_are_read_where_they_are_and_missed_where_not(tmp_path):
    stl(tmp_path / 'thigh.stl', (0.06, 0.05, 0.28))
    falsified = Falsified(with_mesh(walker(), 'package://walker/thigh.stl'), 'right_thigh')
    falsified.scale(10.0)
    path = tmp_path / 'walker.urdf'
    path.write_text(falsified.text())
    assert [f.name for f in rid.audit(path).audit.of_severity(WRONG)] == ['inertia too large']
    assert rid.audit(path, meshes=False).to_dict()['meshes_absent'] == 2


@pytest.mark.parametrize('content', [b'', b'solid', bytes(84), b'\xff' * 500])
def test_damaged_meshes_are_passed_over(content, tmp_path):
    for suffix in ('stl', 'dae', 'obj'):
        (tmp_path / f'thigh.{suffix}').write_bytes(content)
        path = tmp_path / 'walker.urdf'
        path.write_text(with_mesh(walker(), f'thigh.{suffix}'))
        assert rid.audit(path).status == 0


MJCF = """<mujoco><compiler angle="radian"/><worldbody><body name="arm" pos="0 0 1">
<joint name="a" axis="0 1 0" range="-1 1" damping="0.1"/>
<inertial pos="0 0 -0.2" mass="1" diaginertia="0.9 0.9 0.1"/>
<geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.4"/></body></worldbody></mujoco>"""
SDF = """<sdf version="1.9"><model name="arm"><link name="base"/><link name="arm">
<pose>0 0 1 0 0 0</pose><inertial><pose>0 0 -0.2 0 0 0</pose><mass>1</mass><inertia><ixx>0.9</ixx>
<iyy>0.9</iyy><izz>0.1</izz></inertia></inertial><collision name="c"><pose>0 0 -0.2 0 0 0</pose>
<geometry><box><size>0.06 0.06 0.4</size></box></geometry></collision></link>
<joint name="a" type="revolute"><parent>base</parent><child>arm</child><axis><xyz>0 1 0</xyz>
<limit><lower>-1</lower><upper>1</upper></limit><dynamics><damping>0.1</damping></dynamics></axis>
</joint></model></sdf>"""


@pytest.mark.parametrize('rpy', ['0 0 0', '0.3 0.4 0.5', '1 1 1', '2 -1 0.3'])
def test_a_thin_rod_is_possible_however_it_is_turned(rpy):
    rod = Falsified(walker(), 'right_thigh')
    rod.scale(0.0)
    for name in ('ixx', 'iyy'):
        rod.inertia.set(name, '0.001')
    rod.origin.set('rpy', rpy)
    names = {f.name for f in rid.audit(rod.text())}
    assert not names & {'triangle inequality', 'not positive definite'}


@pytest.mark.parametrize(
    ('falsified', 'damaged'),
    [
        ('<box size="0.06 0.05 0.28"/>', '<box size="0.06 0.05"/>'),
        ('<box size="0.06 0.05 0.28"/>', '<cylinder radius="0.03"/>'),
        ('<visual><origin xyz', '<visual><origin rpy="0" xyz'),
        ('<visual><origin xyz', '<visual><origin rpy="0 none 0" xyz'),
    ],
)
def test_a_shape_that_cannot_be_drawn_is_passed_over(falsified, damaged):
    text = walker()
    assert falsified in text
    assert rid.audit(text.replace(falsified, damaged)).status == 0


def test_sides_are_capital_letters_of_names_as_well():
    falsified = Falsified(walker(), 'right_thigh')
    FALSIFIED['other side'][0](falsified)
    text = falsified.text()
    for part in ('hip', 'thigh', 'shank'):
        text = text.replace(f'left_{part}', f'{part}L').replace(f'right_{part}', f'{part}R')
    found = {f.part for f in rid.audit(text) if f.name == 'mirrored links differ'}
    assert found == {'thighR'}


@pytest.mark.parametrize(('text', 'suffix'), [(MJCF, 'xml'), (SDF, 'sdf')])
def test_mjcf_and_sdf_are_read(text, suffix, tmp_path):
    path = tmp_path / f'arm.{suffix}'
    path.write_text(text)
    (found,) = rid.audit(path).audit.of_severity(WRONG)
    assert (found.name, found.part, found.joint) == ('inertia too large', 'arm', 'a')
    path.write_text(text.replace('0.9', '0.014').replace('0.1"/>', '0.001"/>'))
    path.write_text(path.read_text().replace('<izz>0.1', '<izz>0.001'))
    assert rid.audit(path).status == 0


def test_an_sdf_with_half_a_shape_is_judged_by_its_joints(tmp_path):
    half = SDF.replace(
        '<box><size>0.06 0.06 0.4</size></box>', '<cylinder><radius>1</radius></cylinder>'
    )
    path = tmp_path / 'arm.sdf'
    path.write_text(half)
    found = rid.audit(path)
    assert found.status == 2 and found.to_dict()['meshes_absent'] == 1


def test_a_body_whose_mass_is_no_number_is_refused(tmp_path):
    path = tmp_path / 'arm.xml'
    path.write_text(MJCF.replace('mass="1"', 'mass="inf"'))
    with pytest.raises(RobotModelError, match="body 'arm'"):
        rid.audit(path)


def test_a_fixed_mjcf_is_good_and_else_the_same(tmp_path):
    given, fixed = tmp_path / 'given.xml', tmp_path / 'fixed.xml'
    given.write_text(MJCF)
    assert rid.audit(given).fix(fixed) == ['arm']
    assert rid.audit(fixed).status == 0
    start, was, end = MJCF.partition(
        '<inertial pos="0 0 -0.2" mass="1" diaginertia="0.9 0.9 0.1"/>'
    )
    text = fixed.read_text()
    assert text.startswith(start) and text.endswith(end) and f'It was: {was} -->' in text
    given.with_suffix('.sdf').write_text(SDF)
    with pytest.raises(ConfigError, match='an SDF is not fixed'):
        rid.audit(given.with_suffix('.sdf')).fix(fixed)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('<robot><link', 'cannot be read'),
        ('<robot/>', 'no links'),
        (walker().replace('value="6.1"', 'value="nan"'), 'mass'),
        (walker().replace('child link="left_hip"', 'child link="gone"'), 'not there'),
        ('<sdf><model name="a"><link name="b"><pose>1 2</pose></link></model></sdf>', 'pose'),
        (SDF.replace('0.1</izz>', 'inf</izz>'), "the inertial of link 'arm'"),
        ('<sdf><world/></sdf>', 'no model'),
        ('<sdf><model><link name="a"/><include/></model></sdf>', 'includes'),
    ],
)
def test_hostile_files_are_refused_in_a_line(text, message, tmp_path):
    path = tmp_path / 'robot.urdf'
    path.write_text(text)
    with pytest.raises((ConfigError, RobotModelError), match=message) as refused:
        rid.audit(path)
    assert '\n' not in str(refused.value)


def test_the_verb_prints_writes_and_says_by_its_status(tmp_path, capsys):
    falsified = Falsified(walker(), 'right_thigh')
    falsified.scale(1e3)
    path, page = tmp_path / 'walker.urdf', tmp_path / 'page.html'
    path.write_text(walker())
    assert main(['audit', str(path)]) == 0
    assert capsys.readouterr().out.startswith('Verdict: good')
    path.write_text(falsified.text())
    assert main(['audit', str(path), '--page', str(page), '--json']) == 2
    data = json.loads(capsys.readouterr().out)
    assert data['findings'][0]['torque']['unit'] == 'N m' and data['word'] == 'wrong'
    assert 'class="flag' in page.read_text() and 'hull wrong' in page.read_text()
    assert main(['audit', str(tmp_path / 'gone.urdf')]) == 2
    assert main(['audit', str(path), '--mass', '-1']) == 2


def test_every_check_that_is_no_note_has_a_falsification():
    rows = [check for table in CHECKS for check in table.checks]
    rows += [check for _, checks in LINK_CHECKS for check in checks]
    notes = {'no friction', 'root has inertia', 'triangle inequality by rounding'}
    notes |= {'massless between joints'}
    elsewhere = {'products with wrong sign', 'several roots'}  # tested by themselves
    assert {check.name for check in rows} - notes - elsewhere <= {
        name for _, name, _ in FALSIFIED.values()
    }


def test_links_that_no_joint_connects_are_several_roots(tmp_path):
    path = tmp_path / 'arm.sdf'
    path.write_text(SDF.replace('<link name="base"/>', '<link name="base"/><link name="loose"/>'))
    (found,) = [f for f in rid.audit(path) if f.name == 'several roots']
    assert (found.severity, found.found, found.plausible) == (WRONG, 'loose', 'base')


def test_a_joint_of_two_axes_is_noted_and_a_rounded_triangle(tmp_path):
    text = walker().replace(
        joint('right_a', 'trunk', 'right_hip', '0.02 -0.1 0', '1 0 0'),
        joint('right_0', 'trunk', 'cross', '0.02 -0.1 0', '0 0 1')
        + joint('right_a', 'cross', 'right_hip', '0 0 0', '1 0 0')
        + '<link name="cross"/>',
    )
    rounded = Falsified(text, 'left_hip')
    sides = [float(rounded.inertia.get(name)) for name in ('ixx', 'iyy')]
    rounded.inertia.set('izz', str(1.001 * sum(sides)))
    found = {f.name: f for f in rid.audit(rounded.text())}
    assert found['massless between joints'].part == 'cross'
    assert found['triangle inequality by rounding'].part == 'left_hip'
    assert rid.audit(text).status == 0
