"""The launch files without launch: what they declare, what they use, what the README says."""

import ast
from dataclasses import fields
from pathlib import Path
import re

import pytest

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")

from ros_inertial_id.errors import ConfigError  # noqa: E402
from ros_inertial_id.excitation.design import DesignOptions, load_design  # noqa: E402
from ros_inertial_id.identification.settings import load_options, options_class  # noqa: E402
from ros_inertial_id.methods import METHODS  # noqa: E402
from ros_inertial_id.nodes.excitation import PlaybackOptions  # noqa: E402
from ros_inertial_id.nodes.identification import NodeOptions  # noqa: E402
from ros_inertial_id.nodes.launching import (ARGUMENTS, arguments, COMMON,  # noqa: E402
                                             load_driver, node_settings, offered,
                                             PARAMETERS, PLANS)
from ros_inertial_id.nodes.recorder import RecorderOptions  # noqa: E402
from ros_inertial_id.nodes.torque_prediction import PredictionOptions  # noqa: E402
from ros_inertial_id.nodes.watch import WatchOptions  # noqa: E402
from ros_inertial_id.share import config_file  # noqa: E402

ROOT = Path(__file__).parents[2]
OPTIONS = {'recorder': (RecorderOptions,), 'torque_prediction': (PredictionOptions,),
           'identification': (NodeOptions, options_class('serial_arm')),
           'excitation': (PlaybackOptions,), 'watch': (WatchOptions,)}


def settings(plan, **given):
    """Return {node: settings} of a launch file with some arguments given."""
    values = {name: a.default for name, a in arguments(PLANS[plan]).items()}
    assert not set(given) - set(values)
    return {s['name']: s for s in node_settings(PLANS[plan], {**values, **given})}


def test_every_launch_file_has_a_plan_and_every_executable_is_installed():
    files = {p.name.removesuffix('.launch.py'): p for p in (ROOT / 'launch').glob('*.launch.py')}
    assert set(files) == set(PLANS)
    for name, path in files.items():
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        assert [c.args[0].value for c in calls] == [name]
        for node in PLANS[name].nodes:
            assert (ROOT / 'scripts' / node).exists()
            assert (ROOT / 'ros_inertial_id' / 'nodes' / f'{node}.py').exists()


@pytest.mark.parametrize('node', OPTIONS)
def test_every_parameter_a_launch_file_sets_is_declared_by_the_node(node):
    declared = {f.name for kind in OPTIONS[node] for f in fields(kind)}
    declared |= {f'design.{f.name}' for f in fields(DesignOptions)}
    assert set(PARAMETERS[node]) <= declared


def test_every_argument_is_used_and_every_use_declared():
    used = {'robot', *COMMON}
    for plan in PLANS.values():
        for node in plan.nodes:
            used |= set(offered(plan, node).values())
    assert used == set(ARGUMENTS)


def test_arguments_that_the_documentation_gives_exist():
    text = (ROOT / 'doc' / 'on_your_robot.md').read_text()
    commands = re.findall(r'ros2 launch ros_inertial_id (\w+)\.launch\.py([^#\n]*)', text)
    assert commands
    for name, rest in commands:
        given = re.findall(r'(\w+):=', rest)
        assert set(given) <= set(arguments(PLANS[name])), (name, given)
        for robot in re.findall(r'robot:=(\w+)', rest):
            assert (ROOT / 'config' / f'{robot}.yaml').exists()


def row(name):
    """Return the line of an argument in doc/nodes.md: where, defaults, meaning."""
    given = {plan: arguments(PLANS[plan]) for plan in PLANS}
    defaults = {plan: a[name].default for plan, a in given.items() if name in a}
    where = 'all' if len(defaults) == len(PLANS) else ', '.join(defaults)
    usual = ARGUMENTS[name].default if ARGUMENTS[name].default in defaults.values() else None
    kinds = [f'`{usual}`' if usual else ''] if usual is not None else []
    kinds += [f'{plan}: ' + (f'`{value}`' if value else 'empty')
              for plan, value in defaults.items() if value != usual]
    choices = ARGUMENTS[name].choices
    meaning = ARGUMENTS[name].description + (f": {', '.join(choices)}" if choices else '')
    return f"| `{name}` | {where} | {'; '.join(kinds)} | {meaning} |"


def test_the_table_of_launch_arguments_is_that_of_the_launch_files():
    text = (ROOT / 'doc' / 'nodes.md').read_text()
    table = text.split('| argument |')[1].split('\n\n')[0].splitlines()[2:]
    expected = [row(name) for name in ARGUMENTS]
    assert table == expected, '\n'.join(expected)


@pytest.mark.parametrize('path', sorted((ROOT / 'config').glob('*.yaml')), ids=lambda p: p.stem)
def test_every_configuration_can_be_read_by_nodes_and_launch_files(path):
    load_driver(path)
    if 'closures:' not in path.read_text():  # no motions of loops
        load_design(str(path))
    for method in METHODS:
        load_options(str(path), method)


def test_profiles_hold_what_the_drivers_publish():
    # franka_ros2 jazzy (franka.launch.py, fr3_ros_controllers.yaml), Universal_Robots_ROS2_Driver
    # jazzy (ur_control.launch.py), lbr_fri_ros2_stack (lbr_controllers.yaml, robot_name lbr)
    franka = settings('robot', robot='franka_hand')
    assert franka['excitation']['remappings'] == [('joint_states', 'franka/joint_states')]
    play = franka['excitation']['parameters'][0]
    assert play['controller'] == 'fr3_arm_controller/joint_trajectory'
    ur = settings('robot', robot='ur')['excitation']
    assert ur['parameters'][0]['controller'] == (
        'scaled_joint_trajectory_controller/joint_trajectory')
    assert ur['remappings'] == []
    assert {s['namespace'] for s in settings('robot', robot='lbr').values()} == {'lbr'}


def test_own_configuration_and_arguments_go_before_the_profile(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text('driver: {joint_states: a/joint_states}\n')
    own = settings('robot', robot=str(path), controller='mine/joint_trajectory')
    assert own['recorder']['remappings'] == [('joint_states', 'a/joint_states')]
    assert own['excitation']['parameters'][0]['config'] == str(path)
    assert own['excitation']['parameters'][0]['controller'] == 'mine/joint_trajectory'
    other = settings('robot', robot=str(path), joint_states='b/joint_states')
    assert other['recorder']['remappings'] == [('joint_states', 'b/joint_states')]
    with pytest.raises(ConfigError, match='there is: .*franka'):
        config_file('frnka')


def test_a_file_of_parameters_goes_to_every_node_and_before_the_arguments(tmp_path):
    path = tmp_path / 'more.yaml'
    with pytest.raises(ConfigError, match='launch argument parameters; expected a YAML file'):
        settings('robot', parameters=str(path))
    path.write_text('/**: {ros__parameters: {speed: 0.2}}')
    for node in settings('robot', parameters=str(path)).values():
        assert node['parameters'][1:] == [str(path)]  # of launch_ros the last one holds


def test_mounting_goes_to_player_and_recorder_and_not_to_who_reads_the_bag():
    nodes = settings('robot', mounting='rpy 0 1.5708 0')
    assert nodes['recorder']['parameters'][0]['mounting'] == 'rpy 0 1.5708 0'
    assert nodes['excitation']['parameters'][0]['design.mounting'] == 'rpy 0 1.5708 0'
    assert 'mounting' not in nodes['identification']['parameters'][0]
    assert 'mounting' not in nodes['torque_prediction']['parameters'][0]
    assert 'mounting' not in settings('identify')['identification']['parameters'][0]
    alone = settings('identify', mounting='upright')['identification']['parameters'][0]
    assert alone['mounting'] == 'upright'


@pytest.mark.parametrize('plan', PLANS)
def test_a_namespace_moves_every_node(plan):
    assert {s['namespace'] for s in settings(plan, namespace='cell').values()} == {'cell'}


@pytest.mark.parametrize('argument, text', [
    ('speed', 'fast'), ('periods', '1.5'), ('online', 'perhaps'), ('topics', 'joint_states'),
    ('topics', '[]'), ('locked_joints', '[')])
def test_texts_of_another_kind_are_refused(argument, text):
    with pytest.raises(ConfigError, match=f'launch argument {argument}'):
        settings('robot', **{argument: text})
