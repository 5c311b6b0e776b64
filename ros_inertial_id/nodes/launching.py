"""
Launching: the arguments of the launch files, and which parameter of which node each becomes.

A launch file starts its nodes side by side, without including others, so that no argument leaks
from one to the next.  Arguments that are left empty are not passed on: the configuration decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from .isolation import isolate, NAMESPACE
from ..errors import ConfigError
from ..identification.settings import DriverOptions
from ..methods import DEFAULT_METHOD, METHODS
from ..options import DRIVER, options_from, read_yaml
from ..plugins import SIMULATED_RIGS
from ..share import config_file, PACKAGE, shared_file


TEXT, NUMBER, WHOLE, YES_NO, LIST = str, float, int, bool, list
KINDS = {NUMBER: 'a number', WHOLE: 'a whole number', YES_NO: 'true or false',
         LIST: 'a list: [a, b]'}


@dataclass(frozen=True)
class Argument:
    """What a launch argument means: description, default, the values there are, their kind."""

    description: str
    default: str = ''
    choices: tuple[str, ...] = ()
    kind: type = TEXT


ARGUMENTS = {
    'robot': Argument('configuration: a name in config/ of this package, or a path of a YAML file',
                      'generic_arm'),
    'namespace': Argument('of the nodes; empty: as the configuration says'),
    'use_sim_time': Argument('take the time from /clock', 'false', ('true', 'false'), YES_NO),
    'joint_states': Argument('topic of the joint states; empty: as the configuration says'),
    'controller': Argument('JointTrajectory topic of the controller; empty: as the configuration '
                           'says'),
    'locked_joints': Argument('moving joints of the URDF that are held still, as a YAML list; '
                              'empty: as the configuration says', kind=LIST),
    'parameters': Argument('YAML file of further ROS parameters, qos_overrides among them; they '
                           'go before the arguments; empty: none'),
    'motion': Argument('motion.yaml of inertial-id design or ~/design'),
    'speed': Argument('share of the designed speed; raise it step by step', '0.1', kind=NUMBER),
    'periods': Argument('repetitions of the motion', '1', kind=WHOLE),
    'mounting': Argument('how the base is mounted: upright, rpy R P Y, gravity X Y Z, '
                         'rho_phi RHO PHI, imu'),
    'topics': Argument('topics to record, as a YAML list', '[joint_states, excitation/periods]',
                       kind=LIST),
    'out': Argument('folder of bags, model and report', 'recordings'),
    'method': Argument('method of identification', DEFAULT_METHOD, tuple(METHODS)),
    'bag': Argument('bag to learn from, or a folder or pattern of several; empty: what the '
                    'recorder finished last'),
    'validation': Argument('bag to validate with; empty: none'),
    'urdf_file': Argument('robot description; empty: the one in the bag'),
    'online': Argument('estimate while the robot moves', 'false', ('true', 'false'), YES_NO),
    'model': Argument('model.yaml; empty: wait for the identification node'),
    'lag': Argument('after how long a sample is predicted [s]', '0.1', kind=NUMBER),
    'port': Argument('of the live page, on this machine alone', '8321', kind=WHOLE),
    'arm': Argument('simulated arm', 'franka', ('franka', 'arm2', 'arm3')),
    'rig': Argument('simulated rig', 'slider_crank', tuple(SIMULATED_RIGS)),
}
# node -> {parameter: argument}; all nodes take those of COMMON, too.
PARAMETERS: dict[str, dict[str, str]] = {
    'excitation': {'config': 'robot', 'controller': 'controller', 'design.mounting': 'mounting',
                   'design.locked_joints': 'locked_joints', 'motion_file': 'motion',
                   'speed': 'speed', 'periods': 'periods'},
    'recorder': {'config': 'robot', 'topics': 'topics', 'out': 'out',
                 'mounting': 'mounting'},
    'identification': {
        'config': 'robot', 'method': 'method', 'recording': 'bag', 'validation': 'validation',
        'urdf_file': 'urdf_file', 'mounting': 'mounting', 'locked_joints': 'locked_joints',
        'out': 'out', 'online': 'online'},
    'torque_prediction': {'model_file': 'model', 'mounting': 'mounting', 'lag': 'lag'},
    'watch': {'port': 'port'},
    'simulated_robot': {'urdf_file': 'arm'},
    'simulated_rig': {'rig': 'rig'},
}
COMMON = ('namespace', 'use_sim_time', 'joint_states', 'parameters')
# What a bag says of the mounting holds for who reads it; the arm's own URDF for the simulation.
CHAIN = {'identification': ('mounting', 'recording', 'validation', 'urdf_file', 'method'),
         'torque_prediction': ('mounting',)}


@dataclass(frozen=True)
class Plan:
    """The nodes of a launch file, parameters that are not offered, defaults of its own."""

    nodes: tuple[str, ...]
    without: Mapping[str, Sequence[str]]
    defaults: Mapping[str, str]


PLANS = {
    'play': Plan(('excitation',), {}, {}),
    'record': Plan(('recorder',), {}, {'topics': '[joint_states]'}),
    'identify': Plan(('identification',), {}, {'out': ''}),
    'predict': Plan(('torque_prediction',), {}, {}),
    'robot': Plan(('excitation', 'recorder', 'identification', 'torque_prediction'), CHAIN, {}),
    'demo': Plan(('simulated_robot', 'excitation', 'recorder', 'identification',
                  'torque_prediction'), CHAIN,
                 {'speed': '1.0', 'out': 'demo', 'use_sim_time': 'true',
                  'namespace': NAMESPACE}),
    'rig': Plan(('simulated_rig',), {}, {}),
    'watch': Plan(('watch',), {}, {}),
}


def arguments(plan: Plan) -> dict[str, Argument]:
    """Return {name: Argument} of the launch file of a ``plan``."""
    used = [*COMMON] if plan.nodes == ('simulated_rig',) else ['robot', *COMMON]
    for node in plan.nodes:
        used += offered(plan, node).values()
    return {name: replace(ARGUMENTS[name], default=plan.defaults.get(
        name, ARGUMENTS[name].default)) for name in dict.fromkeys(used)}


def offered(plan: Plan, node: str) -> dict[str, str]:
    """Return {parameter: argument} that a ``plan`` offers of a ``node``."""
    return {name: argument for name, argument in PARAMETERS[node].items()
            if name not in plan.without.get(node, ())}


def node_settings(plan: Plan, values: Mapping[str, str]) -> list[dict[str, Any]]:
    """
    Return what launch_ros.actions.Node takes, one mapping per node of a ``plan``.

    values : {argument: text} of all its arguments
    ConfigError for a configuration that does not exist or a text that is not of its kind.
    """
    given, driver = dict(values), DriverOptions()
    if 'robot' in values:
        given['robot'] = config_file(values['robot'])
        driver = load_driver(Path(given['robot']))
    for name in ('namespace', 'joint_states', 'controller'):
        given[name] = values.get(name) or getattr(driver, name)
    if 'arm' in values:
        given['arm'] = str(shared_file('urdf', f"{values['arm']}.urdf"))
    files = [values['parameters']] if values['parameters'] else []
    if files and not Path(files[0]).is_file():
        raise ConfigError('launch argument parameters', found=files[0], expected='a YAML file')
    out = []
    for node in plan.nodes:
        parameters = {name: _typed(argument, given[argument]) for name, argument
                      in {**offered(plan, node), 'use_sim_time': 'use_sim_time'}.items()
                      if given[argument]}
        out.append({'package': PACKAGE, 'executable': node, 'name': node, 'output': 'screen',
                    'namespace': given['namespace'], 'parameters': [parameters, *files],
                    'remappings': [('joint_states', given['joint_states'])]
                    if given['joint_states'] != 'joint_states' else []})
    return out


def simulated(plan: Plan) -> bool:
    """Return whether nodes of a ``plan`` stand for a robot: no real one may hear them."""
    return any(node.startswith('simulated') for node in plan.nodes)


def launch_description(name: str) -> Any:
    """Return the LaunchDescription of the launch file ``name``."""
    from launch import LaunchDescription  # type: ignore[attr-defined]
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue
    plan = PLANS[name]
    declared = arguments(plan)

    def nodes(context: Any) -> list[Any]:
        if simulated(plan):  # before the nodes, which take over the environment of this process
            print(f'to look at it with ros2, put {isolate()} before the command', flush=True)
        settings = node_settings(plan, {key: context.launch_configurations[key]
                                        for key in declared})
        for node in settings:  # a text that looks like a number stays a text
            own, *files = node['parameters']
            node['parameters'] = [{key: ParameterValue(value, value_type=str)
                                   if isinstance(value, str) else value
                                   for key, value in own.items()}, *files]
        return [Node(**node) for node in settings]

    return LaunchDescription([
        *(DeclareLaunchArgument(key, default_value=a.default, description=a.description,
                                choices=list(a.choices) or None)
          for key, a in declared.items()), OpaqueFunction(function=nodes)])


def load_driver(path: Path) -> DriverOptions:
    """Return the DriverOptions of the configuration file ``path``; ConfigError where it is bad."""
    blocks = read_yaml(str(path))
    block = blocks.get(DRIVER) if isinstance(blocks, dict) else None
    return options_from(DriverOptions, block or {}, f'{path}, block {DRIVER}')


def _typed(argument: str, text: str) -> Any:
    """Return the value of an argument; a list of whole numbers or texts as YAML writes it."""
    kind = ARGUMENTS[argument].kind
    if kind is TEXT:
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = None
    if kind is NUMBER and type(value) is int:
        value = float(value)
    if type(value) is not kind or value == []:
        raise ConfigError(f'launch argument {argument}', found=repr(text), expected=KINDS[kind])
    return value
