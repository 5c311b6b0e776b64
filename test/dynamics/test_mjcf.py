"""MJCF alone: the tree, its closures and what stands beside them, against MuJoCo's own motion."""

import sys

import mjcf_runs
import mujoco
import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.cli.main import main
from ros_inertial_id.dynamics.mjcf import mjcf_description
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.dynamics.tree_description import described_blocks
from ros_inertial_id.errors import ConfigError, RobotModelError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.model.files import read_description
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.methods import METHODS

BODY = '<inertial pos="{}" mass="{}" diaginertia="{}"/>'
FOUR_BAR = f'''<mujoco model="four_bar"><worldbody>
<body name="crank" pos="0 0 0.5">{BODY.format('0.05 0.002 0.004', 0.6, '0.001 0.002 0.002')}
 <joint name="crank" axis="0 1 0" damping="0.02" armature="0.003"/>
 <body name="coupler" pos="0.12 0 0">{BODY.format('0.15 0 0.01', 0.8, '0.001 0.008 0.008')}
  <joint name="coupler" axis="0 1 0"/></body></body>
<body name="rocker" pos="0.35 0 0.5">{BODY.format('0 0.003 0.12', 0.5, '0.004 0.004 0.0005')}
 <joint name="rocker" axis="0 1 0" stiffness="2" springref="0.3"/></body></worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="0.3 0 0.22"/></equality>
<actuator><motor joint="crank"/></actuator></mujoco>'''
# All that a tree can have: anchors off the origin, references, two hinges on a body, a ball
# joint, slides, bodies without joints, inertias that are turned.
ODD = f'''<mujoco model="odd"><compiler angle="radian"/><worldbody>
 <body name="frame" pos="0.1 0 0.3"
  euler="0.3 0.1 -0.2">{BODY.format('0 0 0', 1, '0.1 0.1 0.1')}
 <body name="a" pos="0 0.1 0" euler="0.5 0 0.3">
  <inertial pos="0.1 0.02 0.03" mass="1.5" fullinertia="0.02 0.03 0.04 0.002 -0.003 0.004"/>
  <joint name="a1" axis="0 1 1" pos="0.03 -0.02 0.05" ref="0.4" range="-1 2"/>
  <joint name="a2" axis="1 0 0.2" pos="-0.1 0 0.01"/>
  <body name="b" pos="0.3 0 0">{BODY.format('0.05 0 0.02', 0.7, '0.003 0.004 0.005')}
   <joint name="b" type="slide" axis="0 0.6 0.8" ref="0.1"/>
   <body name="c" pos="0 0.1 0.2" quat="0.5 0.5 -0.5 0.5">
    {BODY.format('0.02 0.2 0', 0.4, '0.004 0.001 0.004')}
    <joint name="c" type="ball" pos="0 0.01 0.02"/></body></body></body></body></worldbody>
<actuator><motor joint="a1" gear="20" ctrlrange="-2 2"/></actuator></mujoco>'''


def written(folder, text, name='robot.xml'):
    path = folder / name
    path.write_text(text)
    return path


def options_of(urdf):
    return described_blocks(urdf)['closed_loop']


@pytest.fixture(scope='module')
def moved(tmp_path_factory):
    """Return (path, description that is off, Recording) of the four-bar."""
    path = written(tmp_path_factory.mktemp('mjcf'), FOUR_BAR)
    given = mjcf_runs.nominal(mjcf_description(path))
    return path, given, mjcf_runs.recording(path, given, ['crank'], ['crank'], 6.0, size=0.6)


def test_inverse_dynamics_of_the_tree_are_mujocos(tmp_path):
    path = written(tmp_path, ODD)
    robot = load_robot_model(mjcf_description(path))
    model = mujoco.MjModel.from_xml_path(str(path))
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    place = {n: k for k, n in enumerate(robot.joint_names)}
    for _ in range(5):
        # The ball joint at rest, where its three axes are those of MuJoCo's angular velocity.
        q, v, a = rng.uniform(-1, 1, (3, 6))
        q[3:] = v[3:] = 0.0
        data.qpos[:] = [*q[:3], 1, 0, 0, 0]
        data.qvel[:], data.qacc[:] = v, a
        mujoco.mj_inverse(model, data)
        order = [place[n] for n in ('a1', 'a2', 'b', 'c_1', 'c_2', 'c_3')]
        full = np.zeros((3, len(place)))
        full[:, order] = q, v, a
        tau = pin.rnea(robot.pin_model, robot.pin_model.createData(), robot.pin_q(full[0]),
                       full[1], full[2])
        np.testing.assert_allclose(tau[order], data.qfrc_inverse, atol=1e-8)


def test_options_say_what_the_file_says(tmp_path):
    urdf = mjcf_description(written(tmp_path, FOUR_BAR))
    own = options_of(urdf)
    assert own['closures'] == ['point loop1_a loop1_b']
    assert own['independent'] == own['actuated'] == ['crank']
    assert own['springs'] == [f'joint rocker {np.deg2rad(0.3):.15g}']
    assert own['friction'] == ['crank viscous armature']
    numbers = {n: k for k, n in enumerate(load_robot_model(urdf).joint_names, 1)}
    assert set(own['given']) == {f"fv{numbers['crank']} 0.02 0.02",
                                 f"Ia{numbers['crank']} 0.003 0.003", 'k1 2 2'}
    odd = options_of(mjcf_description(written(tmp_path, ODD)))
    assert odd['actuated'] == ['a1'] and odd['independent'] == ['a1', 'a2', 'b']


def test_four_bar_from_file_to_parameters(moved):
    path, given, recording = moved
    urdf = mjcf_description(path)
    method, options = load_options(description=given)
    model = identify([recording], options, method=method).model
    truth = mjcf_runs.truth(urdf, options_of(urdf))
    errors = np.array([(e['value'] - sum(c * truth[n] for n, c in e['grouping'].items()))
                       / e['standard_error'] for e in model.base if e['determined']])
    assert len(errors) >= 7
    assert np.sqrt((errors ** 2).mean()) < 1.5 and np.abs(errors).max() < 3.5


def test_command_line_takes_the_file_alone(moved, tmp_path, capsys):
    path, _, recording = moved
    channel = recording.channels['/joint_states']
    log, bag = tmp_path / 'log.csv', tmp_path / 'bag'
    np.savetxt(log, np.column_stack([1e-9 * channel.received_ns, channel.fields['position'],
                                     channel.fields['effort']]), delimiter=',')
    assert main(['import', str(log), '--urdf', str(path), '--out', str(bag), '--joints', 'crank',
                 '--columns', 'time q1 tau1']) == 0
    assert main(['identify', str(bag), '--urdf', str(path), '--out',
                 str(tmp_path / 'out'), '--no-report']) == 0
    assert 'Verdict' in capsys.readouterr().out
    assert 'point loop1_a loop1_b' in (tmp_path / 'out' / 'model.yaml').read_text()
    # The open tree alone, as the bag has it, is another robot.
    assert main(['identify', str(bag), '--out', str(tmp_path / 'tree'), '--no-report']) == 2
    assert 'says how its loops close' in ' '.join(capsys.readouterr().err.split())


@pytest.mark.parametrize('line, words', [
    ('<joint joint1="crank" joint2="rocker" polycoef="0.1 2 0 0 0"/>',
     'coupling crank rocker 2 0.1'),
    ('<joint joint1="rocker" polycoef="0.2 0 0 0 0"/>', 'coupling rocker crank 0 0.2'),
    ('<tendon tendon1="both" polycoef="0.3 0 0 0 0"/>', 'coupling crank rocker 2 0.6'),
    ('<weld body1="coupler" body2="rocker"/>', 'weld loop1_a loop1_b')])
def test_other_equalities_are_closures(tmp_path, line, words):
    tendon = ('<tendon><fixed name="both"><joint joint="crank" coef="0.5"/>'
              '<joint joint="rocker" coef="-1"/></fixed></tendon>')
    text = FOUR_BAR.replace(
        '<connect body1="coupler" body2="rocker" anchor="0.3 0 0.22"/>', line).replace(
        '</mujoco>', tendon + '</mujoco>')
    assert options_of(mjcf_description(written(tmp_path, text)))['closures'] == [words]


def test_equality_that_is_no_line_is_refused(tmp_path):
    text = FOUR_BAR.replace('</equality>', '<joint joint1="crank" joint2="rocker" '
                            'polycoef="0 1 0.5 0 0"/></equality>')
    with pytest.raises(RobotModelError, match='polycoef of a line'):
        mjcf_description(written(tmp_path, text))


def test_rod_between_ball_joints_becomes_universal(tmp_path, caplog):
    text = FOUR_BAR.replace('<joint name="coupler" axis="0 1 0"/>',
                            '<joint name="coupler" type="ball"/>')
    urdf = mjcf_description(written(tmp_path, text))
    assert {'coupler_1', 'coupler_2'} < set(load_robot_model(urdf).joint_names)
    assert 'universal' in caplog.text
    options = load_options(description=urdf)[1]
    METHODS['closed_loop'].build(urdf, options, np.array([0.0, 0.0, -9.81]))


def test_arm_without_loops_stays_an_arm(tmp_path):
    text = FOUR_BAR[:FOUR_BAR.index('<body name="rocker"')] + (
        '</worldbody><actuator><motor joint="crank"/><motor joint="coupler"/></actuator></mujoco>')
    urdf = read_description(written(tmp_path, text))
    assert not described_blocks(urdf)
    assert load_robot_model(urdf).joint_names == ('crank', 'coupler')


def test_without_mujoco_and_for_sdf_it_is_said_what_to_do(tmp_path, monkeypatch):
    sdf = written(tmp_path, '<sdf version="1.9"><model name="m"/></sdf>', 'robot.sdf')
    with pytest.raises(ConfigError, match='SDF'):
        read_description(sdf)
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(ConfigError, match=r'ros_inertial_id\[mjcf\]'):
        read_description(written(tmp_path, FOUR_BAR))


def test_what_the_user_says_stands_above_the_file(tmp_path):
    urdf = mjcf_description(written(tmp_path, FOUR_BAR))
    changes = {'estimator': 'weighted', 'start': ('crank 0.1',)}
    method, options = load_options('', '', changes, urdf)
    assert method == 'closed_loop' and options.start == ('crank 0.1',)
    assert options.closures and not options.given
