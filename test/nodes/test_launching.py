"""The launch files without launch: what they declare, what they use, what the README says."""

import ast
from dataclasses import fields
import json
from pathlib import Path
import re

import pytest
import yaml

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.excitation.design import DesignOptions, load_design
from ros_inertial_id.identification.settings import load_options, options_class
from ros_inertial_id.methods import METHODS
from ros_inertial_id.nodes.excitation import PlaybackOptions
from ros_inertial_id.nodes.identification import NodeOptions
from ros_inertial_id.nodes.launching import (
    ARGUMENTS,
    arguments,
    COMMON,
    node_settings,
    offered,
    PARAMETERS,
    PLANS,
)
from ros_inertial_id.nodes.parameters import load_driver
from ros_inertial_id.nodes.recorder import RecorderOptions
from ros_inertial_id.nodes.simulated_rig import SimulatedRigOptions
from ros_inertial_id.nodes.torque_prediction import PredictionOptions
from ros_inertial_id.nodes.watch import WatchOptions

ROOT = Path(__file__).parents[2]
OPTIONS = {
    'recorder': (RecorderOptions,),
    'torque_prediction': (PredictionOptions,),
    'identification': (NodeOptions, options_class('serial_arm')),
    'excitation': (PlaybackOptions,),
    'watch': (WatchOptions,),
    'simulated_rig': (SimulatedRigOptions,),
}


def settings(plan, **given):
    """Return {node: settings} of a launch file with some arguments given."""
    values = dict.fromkeys(arguments(PLANS[plan]), '')
    assert not set(given) - set(values)
    return {s['name']: s for s in node_settings(PLANS[plan], {**values, **given})}


def parameters(settings):
    """Return what a node is given by its launch file alone."""
    return next((each for each in settings['parameters'] if isinstance(each, dict)), {})


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
    text = '\n'.join(page.read_text() for page in (ROOT / 'doc').rglob('*.md'))
    commands = re.findall(r'ros2 launch ros_inertial_id (\w+)\.launch\.py([^#\n]*)', text)
    assert commands
    for name, rest in commands:
        given = re.findall(r'(\w+):=', rest)
        assert set(given) <= set(arguments(PLANS[name])), (name, given)
        for robot in re.findall(r'robot:=(\w+)', rest):
            assert (ROOT / 'config' / f'{robot}.yaml').exists()


@pytest.mark.parametrize('path', sorted((ROOT / 'config').glob('*.yaml')), ids=lambda p: p.stem)
def test_every_configuration_can_be_read_by_nodes_and_launch_files(path):
    load_driver(path)
    if 'closures:' not in path.read_text():  # no motions of loops
        load_design(str(path))
    for method in METHODS:
        load_options(str(path), method)


@pytest.mark.parametrize('plan', PLANS)
def test_a_default_that_is_said_is_that_of_the_node_or_comes_before_a_file(plan):
    said = arguments(PLANS[plan])
    for node, each in settings(plan).items():
        assert parameters(each) == {}  # what is not given beats no file
        handed_on = dict(rule.split(':=') for rule in each['ros_arguments'][1::2])
        own = {f.name: f.default for kind in OPTIONS.get(node, ()) for f in fields(kind)}
        for name, argument in offered(PLANS[plan], node).items():
            default = yaml.safe_load(handed_on.get(name, json.dumps(own.get(name, ''))))
            if ARGUMENTS[argument].kind is not str or argument in ('method', 'rig'):
                words = yaml.safe_load(said[argument].default)
                assert (
                    default == words
                    or not default
                    and said[argument].default in ('as the configuration says', 'none')
                ), argument


def test_own_configuration_goes_to_every_node_and_its_namespace_to_launch(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text('driver: {joint_states: a/joint_states, namespace: cell}\n')
    own = settings('robot', robot=str(path), controller='mine/joint_trajectory')
    for node in own.values():
        assert parameters(node)['config'] == str(path) and node['namespace'] == 'cell'
        assert node['remappings'] == []  # the nodes read it themselves
    assert parameters(own['excitation'])['controller'] == 'mine/joint_trajectory'
    other = settings('robot', robot=str(path), joint_states='b/joint_states')
    assert other['recorder']['remappings'] == [('joint_states', 'b/joint_states')]
    with pytest.raises(ConfigError, match="did you mean 'franka'"):
        settings('robot', robot='frnka')


def test_what_is_given_goes_before_a_file_of_parameters_and_that_before_defaults(tmp_path):
    path = tmp_path / 'more.yaml'
    with pytest.raises(ConfigError, match='launch argument parameters; expected a YAML file'):
        settings('robot', parameters=str(path))
    path.write_text('/**: {ros__parameters: {speed: 0.2, out: there}}')
    nodes = settings('robot', parameters=str(path), speed='1')
    assert nodes['recorder']['parameters'] == [str(path)]
    # As launch_ros writes it: rules, then files, of which what is given is the last.
    assert nodes['excitation']['ros_arguments'] == ['-p', 'speed:=0.1']
    assert nodes['excitation']['parameters'] == [str(path), {'speed': 1.0}]


def test_mounting_goes_to_player_and_recorder_and_not_to_who_reads_the_bag():
    nodes = settings('robot', mounting='rpy 0 1.5708 0')
    assert parameters(nodes['recorder'])['mounting'] == 'rpy 0 1.5708 0'
    assert parameters(nodes['excitation'])['design.mounting'] == 'rpy 0 1.5708 0'
    assert 'mounting' not in parameters(nodes['identification'])
    assert 'mounting' not in parameters(nodes['torque_prediction'])
    alone = parameters(settings('identify', mounting='upright')['identification'])
    assert alone['mounting'] == 'upright'


@pytest.mark.parametrize('plan', PLANS)
def test_a_namespace_moves_every_node(plan):
    assert {s['namespace'] for s in settings(plan, namespace='cell').values()} == {'cell'}


@pytest.mark.parametrize(
    'argument, text, said',
    [('topics', '[]', '; expected a list'), ('locked_joints', '[', ' is not YAML')],
)
def test_texts_that_are_no_list_are_refused(argument, text, said):
    with pytest.raises(ConfigError, match=f'launch argument {argument}{said}'):
        settings('robot', **{argument: text})
