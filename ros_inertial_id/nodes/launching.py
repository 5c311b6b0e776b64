"""
Launching: the arguments of the launch files, and which parameter of which node each becomes.

A launch file starts its nodes side by side, without including others, so that no argument leaks
from one to the next.  What is given goes before the file ``parameters``, that before the defaults
of a launch file, these before the configuration ``robot``, which the nodes read themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import json
from pathlib import Path
from typing import Any

from .isolation import isolate, NAMESPACE
from .parameters import JOINT_STATES, load_driver
from ..errors import ConfigError
from ..methods import DEFAULT_METHOD, METHODS
from ..options import yaml_content
from ..plugins import SIMULATED_RIGS
from ..share import config_file, PACKAGE, shared_file


@dataclass(frozen=True)
class Argument:
    """What a launch argument means, what holds without it, its values and its type in YAML."""

    description: str
    default: str = 'none'
    choices: tuple[str, ...] = ()
    kind: type = str


YES_NO = ('true', 'false')
CONFIGURED = 'as the configuration says'
ARGUMENTS = {
    'robot': Argument(
        'configuration: a name in config/ of this package, or the path of a YAML file'
    ),
    'namespace': Argument('of the nodes', CONFIGURED),
    'use_sim_time': Argument('take the time from /clock', 'false', YES_NO, bool),
    'joint_states': Argument('topic of the joint states', CONFIGURED),
    'controller': Argument('JointTrajectory topic of the controller', CONFIGURED),
    'locked_joints': Argument(
        'moving joints of the URDF that are held still, as a YAML list', CONFIGURED, kind=list
    ),
    'parameters': Argument(
        'YAML file of further ROS parameters, qos_overrides among them; '
        'arguments that are given go before it'
    ),
    'motion': Argument('motion.yaml of inertial-id design or ~/design'),
    'speed': Argument('share of the designed speed; raise it step by step', '1.0', kind=float),
    'periods': Argument('repetitions of the motion', '1', kind=int),
    'mounting': Argument(
        'how the base is mounted: upright, rpy R P Y, gravity X Y Z, rho_phi RHO PHI, imu',
        CONFIGURED,
    ),
    'topics': Argument('topics to record, as a YAML list', f'[{JOINT_STATES}]', kind=list),
    'out': Argument('folder of bags, model and report', 'recordings'),
    'method': Argument('method of identification', DEFAULT_METHOD, tuple(METHODS)),
    'bag': Argument(
        'bag to learn from, or a folder or pattern of several', 'what the recorder finished last'
    ),
    'validation': Argument('bag to validate with'),
    'urdf_file': Argument('robot description', 'the one in the bag'),
    'online': Argument('estimate while the robot moves', 'false', YES_NO, bool),
    'model': Argument('model.yaml', 'what the identification publishes'),
    'lag': Argument('after how long a sample is predicted [s]', '0.1', kind=float),
    'port': Argument('of the live page, on this machine alone', '8321', kind=int),
    'arm': Argument('simulated arm', choices=('franka', 'arm2', 'arm3')),
    'rig': Argument('simulated rig', 'slider_crank', tuple(SIMULATED_RIGS)),
}
# node -> {parameter: argument}; all nodes take those of COMMON, too.
PARAMETERS: dict[str, dict[str, str]] = {
    'excitation': {
        'config': 'robot',
        'controller': 'controller',
        'design.mounting': 'mounting',
        'design.locked_joints': 'locked_joints',
        'motion_file': 'motion',
        'speed': 'speed',
        'periods': 'periods',
    },
    'recorder': {'config': 'robot', 'topics': 'topics', 'out': 'out', 'mounting': 'mounting'},
    'identification': {
        'config': 'robot',
        'method': 'method',
        'recording': 'bag',
        'validation': 'validation',
        'urdf_file': 'urdf_file',
        'mounting': 'mounting',
        'locked_joints': 'locked_joints',
        'out': 'out',
        'online': 'online',
    },
    'torque_prediction': {
        'config': 'robot',
        'model_file': 'model',
        'mounting': 'mounting',
        'lag': 'lag',
    },
    'watch': {'port': 'port'},
    'simulated_robot': {'urdf_file': 'arm'},
    'simulated_rig': {'rig': 'rig'},
}
COMMON = ('namespace', 'use_sim_time', 'joint_states', 'parameters')
# What a bag says of the mounting holds for who reads it; the arm's own URDF for the simulation.
CHAIN = {
    'identification': ('mounting', 'recording', 'validation', 'urdf_file', 'method'),
    'torque_prediction': ('mounting',),
}


@dataclass(frozen=True)
class Plan:
    """The nodes of a launch file, parameters that are not offered, defaults other than theirs."""

    nodes: tuple[str, ...]
    without: Mapping[str, Sequence[str]]
    defaults: Mapping[str, str]


RECORDED = f'[{JOINT_STATES}, excitation/periods]'
PLANS = {
    'play': Plan(('excitation',), {}, {'speed': '0.1'}),
    'record': Plan(('recorder',), {}, {}),
    'identify': Plan(('identification',), {}, {'out': ''}),
    'predict': Plan(('torque_prediction',), {}, {}),
    'robot': Plan(
        ('excitation', 'recorder', 'identification', 'torque_prediction'),
        CHAIN,
        {'speed': '0.1', 'topics': RECORDED, 'out': 'recordings'},
    ),
    'demo': Plan(
        ('simulated_robot', 'excitation', 'recorder', 'identification', 'torque_prediction'),
        CHAIN,
        {
            'topics': RECORDED,
            'out': 'demo',
            'use_sim_time': 'true',
            'namespace': NAMESPACE,
            'arm': 'franka',
        },
    ),
    'rig': Plan(('simulated_rig',), {}, {}),
    'watch': Plan(('watch',), {}, {}),
}


def arguments(plan: Plan) -> dict[str, Argument]:
    """Return {name: Argument} of the launch file of a ``plan``, with its defaults."""
    used = list(COMMON)
    if plan.nodes != ('simulated_rig',):  # which reads no configuration
        used.insert(0, 'robot')
    for node in plan.nodes:
        used += offered(plan, node).values()
    declared = {}
    for name in dict.fromkeys(used):
        default = plan.defaults.get(name, ARGUMENTS[name].default)
        declared[name] = replace(ARGUMENTS[name], default=default or 'none')
    return declared


def offered(plan: Plan, node: str) -> dict[str, str]:
    """Return {parameter: argument} that a ``plan`` offers of a ``node``."""
    return {
        name: argument
        for name, argument in PARAMETERS[node].items()
        if name not in plan.without.get(node, ())
    }


def node_settings(plan: Plan, values: Mapping[str, str]) -> list[dict[str, Any]]:
    """
    Return the arguments of launch_ros.actions.Node, one mapping per node of a ``plan``.

    values : {argument: text}, '' or none for what is not given
    ConfigError for a configuration or file that does not exist, or a text that is no YAML.
    """
    given = {name: text for name, text in values.items() if text}
    if 'parameters' in given and not Path(given['parameters']).is_file():
        raise ConfigError(
            'launch argument parameters', found=given['parameters'], expected='a YAML file'
        )
    shared: dict[str, Any] = {
        'package': PACKAGE,
        'output': 'screen',
        'namespace': _namespace(plan, given),
        'remappings': [],
    }
    if 'joint_states' in given:
        shared['remappings'] = [(JOINT_STATES, given['joint_states'])]
    return [{**shared, **_node_setting(plan, node, given)} for node in plan.nodes]


def _namespace(plan: Plan, given: Mapping[str, str]) -> str:
    """Return the namespace of all nodes of a ``plan``, '' for none."""
    for namespace in (given.get('namespace'), plan.defaults.get('namespace')):
        if namespace:
            return namespace
    return load_driver(config_file(given.get('robot', ''))).namespace


def _node_setting(plan: Plan, node: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of launch_ros.actions.Node that are of one node alone."""
    names = {**offered(plan, node), 'use_sim_time': 'use_sim_time'}
    # rcl takes what is said of all nodes before what is said of one, whatever their order.
    rules: list[str] = []
    values: dict[str, Any] = {}
    for name, argument in names.items():
        if plan.defaults.get(argument):
            default = _value(argument, plan.defaults[argument])
            rules += ['-p', f'{name}:={json.dumps(default)}']
        if argument in given:
            values[name] = _value(argument, given[argument])
    parameters: list[Any] = []
    if 'parameters' in given:
        parameters.append(given['parameters'])
    if values:
        parameters.append(values)
    return {'executable': node, 'name': node, 'ros_arguments': rules, 'parameters': parameters}


def simulated(plan: Plan) -> bool:
    """Return whether nodes of a ``plan`` stand for a robot: no real one may hear them."""
    return any(node.startswith('simulated') for node in plan.nodes)


def launch_description(name: str) -> Any:
    """Return the LaunchDescription of the launch file ``name``."""
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    from launch import LaunchDescription  # type: ignore[attr-defined]

    plan = PLANS[name]
    declared = arguments(plan)

    def texts_stay_texts(parameters: Any) -> Any:
        """Return parameters, or the path of a file of them, for launch_ros."""
        if isinstance(parameters, str):
            return parameters
        typed = dict(parameters)
        for key, value in parameters.items():
            if isinstance(value, str):  # also one that looks like a number
                typed[key] = ParameterValue(value, value_type=str)
        return typed

    def nodes(context: Any) -> list[Any]:
        if simulated(plan):  # before the nodes, which take over the environment of this process
            print(f'to look at it with ros2, put {isolate()} before the command', flush=True)
        values = {key: context.launch_configurations[key] for key in declared}
        settings = node_settings(plan, values)
        for setting in settings:
            setting['parameters'] = list(map(texts_stay_texts, setting['parameters']))
        return [Node(**setting) for setting in settings]

    def declaration(key: str, argument: Argument) -> Any:
        choices = None
        if argument.choices:
            choices = ['', *argument.choices]
        return DeclareLaunchArgument(
            key,
            default_value='',
            choices=choices,
            description=f'{argument.description}; default: {argument.default}',
        )

    declarations = [declaration(key, argument) for key, argument in declared.items()]
    return LaunchDescription([*declarations, OpaqueFunction(function=nodes)])


def _value(argument: str, text: str) -> Any:
    """Return the value of an argument for its parameter; the node knows what it allows."""
    if argument == 'robot':
        return config_file(text)
    if argument == 'arm':
        return str(shared_file('urdf', f'{text}.urdf'))
    kind = ARGUMENTS[argument].kind
    if kind is str:
        return text
    value = yaml_content(text, f'launch argument {argument}')
    if value in (None, []):
        expected = 'a value'
        if kind is list:
            expected = 'a list: [a, b]'
        raise ConfigError(f'launch argument {argument}', found=repr(text), expected=expected)
    if kind is float and type(value) is int:
        return float(value)
    return value
