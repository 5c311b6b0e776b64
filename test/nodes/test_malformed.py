"""Malformed messages on every subscription of every node cost themselves, never the node."""

import math

import pytest

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, String  # noqa: E402

from ros_inertial_id.nodes.excitation import Excitation  # noqa: E402
from ros_inertial_id.nodes.identification import Identification  # noqa: E402
from ros_inertial_id.nodes.recorder import Recorder  # noqa: E402
from ros_inertial_id.nodes.torque_prediction import TorquePrediction  # noqa: E402
from ros_inertial_id.nodes.watch import Watch  # noqa: E402

TEXTS = ['', ' ', '\0', '\x1b[2J', '{}', '[]', 'a: [', 'nan', '- 1\n- 2', '<robot>', '<robot/>',
         '<robot name="r"><link name="a"/></robot>', 'a: &a [*a]', 'format: x', '!!python/none',
         'format: ros_inertial_id/identified_model',
         'format: ros_inertial_id/identified_model\nversion: 1', '0' * 10000, '/nowhere', '🤖']
SIZES = [(0, []), (1, []), (2, []), (3, [1.0]), (2, [1.0]), (2, [math.nan] * 3), (2, [math.inf])]


def table(dimensions, data, label='value,standard_error'):
    message = Float64MultiArray(data=data)
    message.layout.dim = [MultiArrayDimension(label=label) for _ in range(dimensions)]
    return message


FORMS = {
    String: [String(data=text) for text in TEXTS],
    Float64MultiArray: [table(n, data, label) for n, data in SIZES
                        for label in ('value,standard_error', '', ',,', 'value')],
    JointState: [JointState(name=names, position=x, velocity=x, effort=x)
                 for names in ([], ['a'], ['a', 'a'], [''] * 3)
                 for x in ([], [math.nan], [math.inf, 0.0], [1e308] * 3, [0.0])],
    DiagnosticArray: [DiagnosticArray(status=[DiagnosticStatus(level=bytes([level]), name=name)])
                      for level in (0, 3, 255) for name in (
                          '', 'recorder: state', ': state', 'x' * 5000, '/', '\n', '\x1b')]}


@pytest.fixture(scope='module')
def context():
    rclpy.init()
    yield
    rclpy.shutdown()


@pytest.mark.parametrize('kind, values', [
    (Excitation, {}), (Recorder, {}), (TorquePrediction, {}), (Watch, {'port': 0}),
    (Identification, {'online': True})])
def test_malformed_messages_never_end_a_node(context, kind, values):
    node = kind(parameter_overrides=[Parameter(name, value=value)
                                     for name, value in values.items()])
    sent = 0
    try:
        for subscription in list(node._subscriptions):
            for message in FORMS.get(subscription.msg_type, ()):
                subscription.callback(message)
                sent += 1
        for timer in node.timers:
            timer.callback()
    finally:
        node.destroy_node()
    assert sent >= 20 or kind is Recorder
