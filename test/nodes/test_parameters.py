"""Parameters: all can be dumped and set back, what is not allowed is refused when it is set."""

from live_graph import LATCHED, ROOT
import pytest
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.parameter import get_parameter_value
from std_msgs.msg import String
import yaml

NODES = {
    'recorder': {},
    'identification': {},
    'torque_prediction': {},
    'excitation': {'design.friction': '[]'},
    'simulated_robot': {'urdf_file': ROOT / 'urdf' / 'arm2.urdf', 'rate': 100.0},
    'simulated_rig': {'running': False},
    'watch': {'port': 0},
}
BYTES = ParameterType.PARAMETER_BYTE_ARRAY
FIELDS = (
    None,
    'bool_value',
    'integer_value',
    'double_value',
    'string_value',
    'byte_array_value',
    'bool_array_value',
    'integer_array_value',
    'double_array_value',
    'string_array_value',
)


@pytest.fixture(scope='module')
def nodes(shared_graph):
    """Return the graph with every node of the package."""
    for name, parameters in NODES.items():  # the arm is the robot of all others
        apart = ['-r', 'robot_description:=rig'] if name == 'simulated_rig' else []
        shared_graph.start(name, '--ros-args', *apart, **parameters)
    described = shared_graph.listen(String, 'robot_description', LATCHED)
    shared_graph.until(lambda: described, 'the description')
    return shared_graph


def dump(graph, node):
    """Return {name: ParameterValue} of all parameters by one request, as ros2 param dump asks."""
    names = graph.call(f'{node}/list_parameters', ListParameters).result.names
    values = graph.call(
        f'{node}/get_parameters', GetParameters, GetParameters.Request(names=names)
    ).values
    assert len(values) == len(names)
    return dict(zip(names, values))


@pytest.mark.parametrize('node', NODES)
def test_all_parameters_can_be_dumped_described_and_set_back(nodes, node):
    values = dump(nodes, node)
    assert all(v.type for v in values.values()), [n for n, v in values.items() if not v.type]
    described = nodes.call(
        f'{node}/describe_parameters',
        DescribeParameters,
        DescribeParameters.Request(names=list(values)),
    ).descriptors
    own = {
        d.name: d
        for d in described
        if d.name not in ('use_sim_time', 'start_type_description_service')
    }
    assert all(d.description for d in own.values())
    assert BYTES not in {d.type for d in own.values()}  # of an empty list without a type
    settable = [name for name, d in own.items() if not d.read_only]
    for name in settable:  # as ros2 param load does: from the text of the dump
        value = getattr(values[name], FIELDS[values[name].type])
        text = yaml.safe_dump(value if isinstance(value, (bool, int, float, str)) else list(value))
        message = ParameterMessage(name=name, value=get_parameter_value(text))
        result = nodes.call(
            f'{node}/set_parameters', SetParameters, SetParameters.Request(parameters=[message])
        ).results[0]
        if node != 'simulated_robot':  # whose parameters are fixed when it starts
            assert result.successful, (name, text, result.reason)


@pytest.mark.parametrize(
    'node, name, value, words',
    [
        ('identification', 'estimator', 'foo', 'there is: '),
        ('identification', 'mounting', 'sideways', 'sideways'),
        ('identification', 'gear_ratio', ['a'], 'a finite number'),
        ('identification', 'friction', [1.0], 'a text'),
        ('identification', 'friction', ['foo'], 'there is: viscous, presliding'),
        ('excitation', 'design.criterion', 'foo', 'there is: '),
        ('excitation', 'design.mounting', 'sideways', 'there is: upright, rpy R P Y'),
        ('excitation', 'design.friction', ['foo'], 'there is: viscous, presliding'),
        ('excitation', 'design.obstacles', ['ball 1 2 3'], 'there is: box X Y Z'),
        ('recorder', 'mounting', 'ceiling', 'ceiling'),
        ('recorder', 'topics', ['other'], 'read when the node starts'),
        ('torque_prediction', 'mounting', 'ceiling', 'ceiling'),
    ],
)
def test_what_is_not_allowed_is_refused_when_it_is_set(nodes, node, name, value, words):
    before = dump(nodes, node)[name]
    assert words in nodes.set(node, **{name: value})
    assert dump(nodes, node)[name] == before


def test_lists_can_be_emptied_and_filled(nodes):
    assert list(nodes.get('excitation', 'design.friction').string_array_value) == []
    for value in ([1.0, 2.0], [3, 4], []):
        assert nodes.set('identification', gear_ratio=value) == ''
        held = nodes.get('identification', 'gear_ratio')
        assert list(getattr(held, FIELDS[held.type])) == value
    assert all(v.type for v in dump(nodes, 'identification').values())
