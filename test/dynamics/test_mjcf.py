"""MJCF alone: the tree, its closures and what stands beside them, against MuJoCo's own motion."""

from dataclasses import replace
import sys

import mjcf_runs
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from tolerances import scores

from ros_inertial_id.cli.main import main
from ros_inertial_id.dynamics.body_motion import frame_of
from ros_inertial_id.dynamics.mjcf import mjcf_description
from ros_inertial_id.dynamics.regressor import nominal_torques
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError, RobotModelError
from ros_inertial_id.identification.files import read_description
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import load_options
from ros_inertial_id.methods import METHODS
from ros_inertial_id.options import described_blocks
from ros_inertial_id.rigs.closed_loop.state import projected_rows

BODY = '<inertial pos="{}" mass="{}" diaginertia="{}"/>'
FOUR_BAR = f"""<mujoco model="four_bar"><worldbody>
<body name="crank" pos="0 0 0.5">{BODY.format('0.05 0.002 0.004', 0.6, '0.001 0.002 0.002')}
 <joint name="crank" axis="0 1 0" damping="0.02" armature="0.003"/>
 <body name="coupler" pos="0.12 0 0">{BODY.format('0.15 0 0.01', 0.8, '0.001 0.008 0.008')}
  <joint name="coupler" axis="0 1 0"/></body></body>
<body name="rocker" pos="0.35 0 0.5">{BODY.format('0 0.003 0.12', 0.5, '0.004 0.004 0.0005')}
 <joint name="rocker" axis="0 1 0"/></body></worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="0.3 0 0.22"/></equality>
<actuator><motor joint="crank"/></actuator></mujoco>"""
# An arm as it comes: a base that is turned, defaults, shapes instead of inertias, a fixed tool.
ARM = """<mujoco model="arm"><default><joint axis="0 1 0" damping="0.3"/><default class="wrist">
 <joint axis="1 0 0" range="-60 60" actuatorfrcrange="-20 20"/></default></default><worldbody>
 <body name="link0" pos="0 0 0.3" euler="90 20 0"><geom type="mesh" mesh="base"/>
 <body name="link1" pos="0 0 0.2" euler="20 30 0"><joint name="one" armature="0.1"/>
  <geom type="capsule" fromto="0 0 0 0.1 0 0.3" size="0.03" density="2000"/>
  <geom type="box" size="0.1 0.02 0.03" mass="0.4" pos="0.1 0 0"/>
 <body name="link2" pos="0 0 0.2" childclass="wrist"><joint name="two"/>
  <geom type="cylinder" size="0.1 0.02"/><body name="tool" pos="0 0 0.1">
   <inertial pos="0 0 0" quat="0.5 0.1 0.3 0.2" mass="0.3" diaginertia="0.01 0.02 0.015"/>
 </body></body></body></body></worldbody>
<asset><mesh name="base" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset></mujoco>"""
# Anchors off the origin, references, slides, inertias that are turned, and two fingers on rails.
GRIPPER = f"""<mujoco model="gripper"><compiler angle="radian"/><worldbody>
 <body name="frame" pos="0.1 0 0.3"
  euler="0.3 0.1 -0.2">{BODY.format('0 0 0', 1, '0.1 0.1 0.1')}
 <body name="a" pos="0 0.1 0" euler="0.5 0 0.3">
  <inertial pos="0.1 0.02 0.03" mass="1.5" fullinertia="0.02 0.03 0.04 0.002 -0.003 0.004"/>
  <joint name="a" axis="0 1 1" pos="0.03 -0.02 0.05" ref="0.4" range="-1 2"/>
  <body name="b" pos="0.3 0 0">{BODY.format('0.05 0 0.02', 0.7, '0.003 0.004 0.005')}
   <joint name="b" type="slide" axis="0 0.6 0.8" ref="0.1" range="-0.1 0.2"/></body>
  <body name="c" pos="0 0.1 0.2" quat="0.5 0.5 -0.5 0.5">
    {BODY.format('0.02 0.2 0', 0.4, '0.004 0.001 0.004')}
    <joint name="c" type="slide" axis="1 0 0"/></body></body></body></worldbody></mujoco>"""


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


@pytest.mark.parametrize('text', [ARM, GRIPPER, FOUR_BAR])
def test_torques_of_the_tree_are_mujocos(tmp_path, text):
    robot = load_robot_model(mjcf_description(written(tmp_path, text)))
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.dof_damping[:] = 0.0
    model.dof_armature[:] = 0.0
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    order = [robot.joint_names.index(model.joint(k).name) for k in range(model.njnt)]
    for q, v, a in rng.uniform(-1, 1, (5, 3, model.nv)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
        mujoco.mj_inverse(model, data)
        state = np.zeros((3, 1, model.nv))
        state[:, 0, order] = q, v, a
        np.testing.assert_allclose(
            nominal_torques(robot, *state)[0, order], data.qfrc_inverse, atol=1e-9
        )


CRANK = '<body name="crank" pos="0 0 0.5">'


@pytest.mark.parametrize(
    'old, new',
    [
        (CRANK, '<frame pos="0.1 0 0" euler="20 0 0"/><body name="crank" pos="0 0 0.5">'),
        (CRANK, CRANK.replace('>', ' axisangle="1 0 1 30">')),
        (CRANK, CRANK.replace('>', ' euler="10 20 30">')),
        (BODY.format('0 0.003 0.12', 0.5, '0.004 0.004 0.0005'), '<geom type="mesh" mesh="m"/>'),
        ('joint name="rocker" axis="0 1 0"', 'joint name="rocker" class="tilted" ref="20"'),
        ('joint name="rocker" axis="0 1 0"', 'joint name="rocker" class="main" pos="0 0 0.1"'),
    ],
    ids=['frame', 'axisangle', 'eulerseq', 'mesh', 'pos in a default', 'class main'],
)
def test_what_pinocchio_does_not_read_mujoco_compiles(tmp_path, old, new):
    text = FOUR_BAR.replace(old, new).replace(
        '<worldbody>',
        '<compiler eulerseq="XYZ"/><asset><mesh name="m" vertex="0 0 0 .3 0 0 0 .2 0 0 0 .1"/>'
        '</asset><default><default class="tilted"><joint axis="0 1 1" pos="0 0 0.05"/></default>'
        '</default><worldbody>',
    )
    test_torques_of_the_tree_are_mujocos(tmp_path, text)


def test_what_mujoco_compiles_closes_its_loops_as_the_file_does(tmp_path):
    turned = FOUR_BAR.replace('<worldbody>', '<compiler eulerseq="XYZ"/><worldbody>')
    compiled = mjcf_description(written(tmp_path, turned, 'turned.xml'))
    assert options_of(compiled) == options_of(mjcf_description(written(tmp_path, FOUR_BAR)))


def test_ball_joint_is_three_hinges_at_its_place(tmp_path):
    text = GRIPPER.replace('type="slide" axis="1 0 0"', 'type="ball" pos="0 0.01 0.02"')
    robot = load_robot_model(mjcf_description(written(tmp_path, text)))
    model = mujoco.MjModel.from_xml_string(text)
    data, turn = mujoco.MjData(model), pin.rpy.rpyToMatrix(0.3, -0.4, 0.5).T  # X, then Y, then Z
    quaternion = pin.Quaternion(turn)
    data.qpos[:] = 0.2, -0.1, quaternion.w, quaternion.x, quaternion.y, quaternion.z
    mujoco.mj_inverse(model, data)
    names = ['a', 'b', 'c_1', 'c_2', 'c_3']
    q = np.zeros((1, 5))
    q[0, [robot.joint_names.index(n) for n in names]] = 0.2, -0.1, -0.3, 0.4, -0.5
    tau = nominal_torques(robot, q, 0 * q, 0 * q)[0]
    np.testing.assert_allclose(
        tau[[robot.joint_names.index(n) for n in 'ab']], data.qfrc_inverse[:2], atol=1e-9
    )


def test_limits_and_links_are_those_of_the_file(tmp_path):
    robot = load_robot_model(mjcf_description(written(tmp_path, ARM)))
    assert robot.joint_names == ('one', 'two') and robot.link_names == ('link1', 'link2')
    assert np.isnan(robot.lower[0]) and robot.effort[1] == 20.0
    np.testing.assert_allclose([robot.lower[1], robot.upper[1]], [-np.pi / 3, np.pi / 3])
    assert {'link0', 'tool'} < {frame.name for frame in robot.pin_model.frames}


def test_limits_count_from_where_mujoco_s_positions_do(tmp_path):
    robot, model = (
        load_robot_model(mjcf_description(written(tmp_path, GRIPPER))),
        mujoco.MjModel.from_xml_string(GRIPPER),
    )
    for name in 'ab':
        k = robot.joint_names.index(name)
        np.testing.assert_allclose([robot.lower[k], robot.upper[k]], model.joint(name).range)


def test_options_say_what_the_file_says(tmp_path):
    text = FOUR_BAR.replace('</mujoco>', '<keyframe><key qpos="0.2 0.1 0"/></keyframe></mujoco>')
    own = options_of(mjcf_description(written(tmp_path, text)))
    assert own == {
        'closures': ['point loop1_a loop1_b'],
        'independent': ['crank'],
        'actuated': ['crank'],
        'friction': ['crank viscous armature'],
        'given': ['fv1 0.02 0.02', 'Ia1 0.003 0.003'],
        'start': ['crank 0.2', 'coupler 0.1'],
    }


def test_four_bar_from_file_to_parameters(moved):
    path, given, recording = moved
    urdf = mjcf_description(path)
    method, options = load_options(description=given)
    model = identify([recording], options, method=method).model
    truth = mjcf_runs.truth(urdf, options_of(urdf))
    errors = np.array(list(scores(model.base, truth).values()))
    assert len(errors) >= 7
    assert np.sqrt((errors**2).mean()) < 1.5 and np.abs(errors).max() < 3.5


def test_command_line_takes_the_file_alone(moved, tmp_path, capsys):
    path, _, recording = moved
    channel = recording.channels['/joint_states']
    log, bag = tmp_path / 'log.csv', tmp_path / 'bag'
    np.savetxt(
        log,
        np.column_stack(
            [1e-9 * channel.received_ns, channel.fields['position'], channel.fields['effort']]
        ),
        delimiter=',',
    )
    assert (
        main(
            [
                'import',
                str(log),
                '--urdf',
                str(path),
                '--out',
                str(bag),
                '--joints',
                'crank',
                '--columns',
                'time q1 tau1',
            ]
        )
        == 0
    )
    assert (
        main(
            [
                'identify',
                str(bag),
                '--urdf',
                str(path),
                '--out',
                str(tmp_path / 'out'),
                '--no-report',
            ]
        )
        == 0
    )
    assert 'Verdict' in capsys.readouterr().out
    assert 'point loop1_a loop1_b' in (tmp_path / 'out' / 'model.yaml').read_text()
    # The open tree alone, as the bag has it, is another robot.
    assert main(['identify', str(bag), '--out', str(tmp_path / 'tree'), '--no-report']) == 2
    assert 'says how its loops close' in ' '.join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    'line, words',
    [
        ('<weld body1="coupler" body2="rocker"/>', ['weld loop1_a loop1_b']),
        ('<connect body1="coupler" anchor="0.1 0 0"/>', ['point loop1_a loop1_b']),
        (
            '<connect body1="coupler" body2="crank" anchor="0 0 0" active="false"/>'
            '<weld body1="rocker"/>',
            ['weld loop1_a loop1_b'],
        ),
    ],
)
def test_other_equalities_are_closures(tmp_path, line, words):
    text = FOUR_BAR.replace('<connect body1="coupler" body2="rocker" anchor="0.3 0 0.22"/>', line)
    assert options_of(mjcf_description(written(tmp_path, text)))['closures'] == words


@pytest.mark.parametrize(
    'old, new, words',
    [
        ('<worldbody>', '<worldbody><include file="b.xml"/>', 'include.*put the text'),
        ('<body name="rocker" ', '<body name="rocker" axisangle="1 0 1 30" ', 'axisangle.*quat'),
        ('<worldbody>', '<compiler eulerseq="XYZ"/><worldbody>', 'eulerseq'),
        (
            '<joint name="rocker"',
            '<joint name="slip" type="slide"/><joint name="rocker"',
            'a second joint of one body.*rocker.*a body of its own',
        ),
        ('<joint name="rocker" axis="0 1 0"/>', '<freejoint/>', 'free joint.*rocker.*joint: free'),
        (
            BODY.format('0 0.003 0.12', 0.5, '0.004 0.004 0.0005'),
            '<geom type="mesh" mesh="m"/>',
            'rocker.*no <inertial>',
        ),
        (
            BODY.format('0 0.003 0.12', 0.5, '0.004 0.004 0.0005'),
            '<default><geom mass="0"/></default><geom size="0.1"/>',
            'rocker.*by class.*geom mass',
        ),
        ('<worldbody>', '<default><joint pos="0 0 1"/></default><worldbody>', 'pos in a default'),
        ('body2="rocker"', 'body2="rockr"', 'pinocchio cannot read.*rockr'),
        ('<motor joint="crank"/>', '<motor joint="cranc"/>', 'not there; found.*cranc.*crank'),
        ('<equality>', '<equality><joint joint1="rockr" joint2="crank"/>', 'not there.*rockr'),
        (
            '<equality>',
            '<equality><joint joint1="rocker" joint2="crank" polycoef="0 -l"/>',
            'polycoef.*at most 5 numbers.*-l',
        ),
        (
            '<equality>',
            '<tendon><fixed name="t"><joint joint="crank"/></fixed></tendon><equality>',
            'coef.*expected a number.*crank',
        ),
        ('</worldbody>', '', 'cannot be read.*XML'),
        ('worldbody', 'world', 'has no bodies'),
    ],
)
def test_what_pinocchio_would_misread_is_refused(tmp_path, monkeypatch, old, new, words):
    assert old in FOUR_BAR
    monkeypatch.setitem(sys.modules, 'mujoco', None)  # not installed
    with pytest.raises(RobotModelError, match=words):
        mjcf_description(written(tmp_path, FOUR_BAR.replace(old, new)))


@pytest.mark.parametrize(
    'line, words',
    [
        ('<equality><joint joint1="crank"/></equality>', 'locked_joints:'),
        (
            '<equality><joint joint1="crank" joint2="rocker" polycoef="0 1 2"/></equality>',
            'locked_joints:',
        ),
        (
            '<tendon><fixed name="t" stiffness="3"><joint joint="crank" '
            'coef="1"/></fixed></tendon>',
            'springs: between',
        ),
        (
            '<tendon><spatial name="t"><site site="s"/><site site="e"/></spatial></tendon>'
            '<actuator><motor tendon="t"/></actuator>',
            'a coupling of a motor',
        ),
        ('<default><joint stiffness="2"/></default>', 'springs: joint J REST'),
    ],
)
def test_what_is_left_out_is_said_with_the_option_for_it(tmp_path, caplog, line, words):
    text = FOUR_BAR.replace('</mujoco>', line + '</mujoco>')
    text = text.replace(
        '<body name="rocker"', '<site name="s"/><site name="e" pos="1 0 0"/><body name="rocker"'
    )
    mujoco.MjModel.from_xml_string(text)
    urdf = mjcf_description(written(tmp_path, text))
    assert words in caplog.text and options_of(urdf)['closures'] == ['point loop1_a loop1_b']


WRIST = f"""<mujoco><compiler angle="radian"/><worldbody>
<body name="a">{BODY.format('0.1 0 0.02', 1, '0.01 0.02 0.02')}<joint name="a" axis="0 1 0"/>
<body name="b" pos="0.2 0 0">{BODY.format('0.1 0.02 0', 1, '0.01 0.02 0.02')}
 <joint name="b" axis="0 0 1"/>
<body name="c" pos="0.2 0 0">{BODY.format('0.05 0 0', 0.3, '0.001 0.002 0.002')}
 <joint name="c" axis="0 0 1" ref="0.3"/></body></body></body></worldbody>
<equality><joint joint1="c" joint2="b" polycoef="0.1 -0.5"/></equality>
<tendon><fixed name="sum"><joint joint="a" coef="0.5"/><joint joint="b" coef="2"/></fixed>
<fixed name="less"><joint joint="a" coef="1"/><joint joint="b" coef="-1.5"/></fixed></tendon>
<actuator><motor name="left" tendon="sum"/><motor tendon="less"/></actuator></mujoco>"""


def test_motors_on_fixed_tendons_are_couplings_of_its_coefficients(tmp_path):
    """Forces of the tendons by MuJoCo's moment arms; the equality holds where it measures none."""
    urdf = mjcf_description(written(tmp_path, WRIST))
    method, options = load_options('', '', {}, urdf)
    assert options.closures == (
        'coupling c b -0.5 0.4',
        'coupling left a 0.5 b 2',
        'coupling less a 1 b -1.5',
    )
    assert options.independent == options.actuated == ('left', 'less')
    mechanism = METHODS[method].build(urdf, options, np.array([0.0, 0.0, -9.81]))
    model = mujoco.MjModel.from_xml_string(WRIST)
    data = mujoco.MjData(model)
    data.qpos[:2], data.qvel[:2], data.qacc[:2] = (0.4, -0.7), (0.3, 0.9), (2.0, -1.0)
    data.qpos[2], data.qvel[2], data.qacc[2] = 0.4 - 0.5 * -0.7, -0.5 * 0.9, -0.5 * -1.0
    q, v, a = data.qpos.copy(), data.qvel.copy(), data.qacc.copy()
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.efc_pos[data.efc_type == 0], 0.0, atol=1e-12)
    moment = np.zeros((2, 3))
    mujoco.mju_sparse2dense(
        moment, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )
    model.opt.disableflags, data.qacc[:] = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT), a
    mujoco.mj_inverse(model, data)
    ways = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -0.5]])  # of a and b, c following
    force = np.linalg.solve((moment @ ways.T).T, ways @ data.qfrc_inverse)
    state = METHODS[method].state_of(mechanism, *(np.tile(moment @ x, (1, 1)) for x in (q, v, a)))
    np.testing.assert_allclose(state.q[0, :3], q, atol=1e-12)
    # Encoders and efforts of the joints instead: the motors are of no use, and no misspelling.
    joints = replace(options, independent=('a', 'b'), actuated=('a', 'b'))
    assert METHODS[method].build(urdf, joints, np.zeros(3)).coordinates == ('a', 'b')
    rows = projected_rows(mechanism, state)
    pi = [p.nominal for p in METHODS[method].parameters(mechanism, options)]
    np.testing.assert_allclose(rows[:, : len(pi), 0] @ pi, force, rtol=1e-9)


def test_actuators_on_one_tendon_are_one_motor(tmp_path):
    servos = WRIST.replace('</actuator>', '<velocity name="damper" tendon="sum"/></actuator>')
    assert servos != WRIST
    alone = mjcf_description(written(tmp_path, WRIST))
    assert mjcf_description(written(tmp_path, servos)) == alone


def test_base_with_a_free_joint_is_refused_unless_it_is_held_where_it_is_drawn(tmp_path):
    text = ARM.replace(
        '<geom type="mesh" mesh="base"/>',
        '<freejoint/><site name="imu" pos="0 0 0.1"/>' + BODY.format('0 0 0', 1, '1 1 1'),
    )
    text = text.replace(
        '</mujoco>', '<keyframe><key qpos="0 0 0 1 0 0 0 0.1 0.2"/></keyframe></mujoco>'
    )
    urdf = mjcf_description(written(tmp_path, text))
    with pytest.raises(RobotModelError, match='this base moves.*floating_base.*"free0"'):
        load_robot_model(urdf)
    held = load_robot_model(urdf, locked={'free0': 0.0})
    fixed = load_robot_model(mjcf_description(written(tmp_path, ARM)))
    np.testing.assert_allclose(held.rotations, fixed.rotations, atol=1e-12)
    np.testing.assert_allclose(held.translations, fixed.translations, atol=1e-12)
    assert held.joint_names == fixed.joint_names
    _, options = load_options('', 'floating_base', {'base': 'flying'})
    flying = METHODS['floating_base'].build(urdf, options, np.array([0.0, 0.0, -9.81]))
    assert flying.base_link == 'link0' and flying.link_names == ('link0', 'link1', 'link2')
    np.testing.assert_allclose(frame_of(flying.tree, 'imu').position, [0.0, 0.0, 0.1])


def test_arm_without_loops_stays_an_arm(tmp_path):
    text = FOUR_BAR[: FOUR_BAR.index('<body name="rocker"')] + (
        '</worldbody><actuator><motor joint="crank"/><motor joint="coupler"/></actuator></mujoco>'
    )
    urdf = read_description(written(tmp_path, text))
    assert not described_blocks(urdf)
    assert load_robot_model(urdf).joint_names == ('crank', 'coupler')


def test_sdf_is_refused_with_a_way(tmp_path):
    sdf = written(tmp_path, '<sdf version="1.9"><model name="m"/></sdf>', 'robot.sdf')
    with pytest.raises(ConfigError, match='SDF'):
        read_description(sdf)


def test_what_the_user_says_stands_above_the_file(tmp_path):
    urdf = mjcf_description(written(tmp_path, FOUR_BAR))
    changes = {'estimator': 'weighted', 'start': ('crank 0.1',)}
    method, options = load_options('', '', changes, urdf)
    assert method == 'closed_loop' and options.start == ('crank 0.1',)
    assert options.closures and not options.given
