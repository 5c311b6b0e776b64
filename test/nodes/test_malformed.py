"""Malformed messages on every subscription of every node cost themselves, never the node."""

from dataclasses import replace
import math
import random
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from live_graph import PATIENCE, ROOT
from one_leaf import changes
import pytest
import rclpy
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
import yaml

from ros_inertial_id.nodes import controller_state, subscriptions
from ros_inertial_id.nodes.excitation import Excitation
from ros_inertial_id.nodes.identification import Identification
from ros_inertial_id.nodes.recorder import Recorder
from ros_inertial_id.nodes.simulated_rig import SimulatedRig
from ros_inertial_id.nodes.simulated_robot import SimulatedRobot
from ros_inertial_id.nodes.torque_prediction import TorquePrediction
from ros_inertial_id.nodes.watch import Watch

ARM = str(ROOT / 'urdf' / 'arm2.urdf')
TEXTS = [
    '',
    ' ',
    '\0',
    '\x1b[2J',
    '{}',
    '[]',
    'a: [',
    'nan',
    '- 1\n- 2',
    '<robot>',
    '<robot/>',
    '<robot name="r"><link name="a"/></robot>',
    'a: &a [*a]',
    'format: x',
    '!!python/none',
    'format: ros_inertial_id/identified_model',
    'format: ros_inertial_id/identified_model\nversion: 1',
    '0' * 10000,
    '/nowhere',
    '🤖',
]
NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    -1.0,
    1e308,
    -1e308,
    5e-324,
    1e-9,
    99.49,
    100.0,
    100.1,
    101.0,
    1e3,
    1e6,
    1e9,
    1e18,
    -1e18,
    2.0**63,
]


def trajectory(names, points):
    return JointTrajectory(
        joint_names=names,
        points=[JointTrajectoryPoint(positions=q, velocities=v) for q, v in points],
    )


JOINTS = [
    JointState(name=names, position=x, velocity=x, effort=x)
    for names in ([], ['a'], ['joint1', 'joint1'], ['joint1', 'joint2'], [''] * 3)
    for x in ([], [math.nan], [math.inf, 0.0], [1e308] * 3, [0.0])
]
FORMS = {
    String: [String(data=text) for text in TEXTS],
    Float64: [Float64(data=x) for x in NUMBERS],
    JointState: JOINTS,
    JointTrajectory: [
        trajectory(names, points)
        for names in ([], ['a'], ['joint1', 'joint1'], ['joint1', 'joint2'], ['joint2', 'joint1'])
        for points in ([], [([], [])], [([0.0], [])], [([math.nan] * 2, [math.inf] * 2)])
    ],
    DiagnosticArray: [
        DiagnosticArray(
            status=[
                DiagnosticStatus(
                    level=bytes([level]), name=name, values=[KeyValue(key=key, value=value)]
                )
            ]
        )
        for level, key, value in ((0, 'value', 'nan'), (3, 'value', ''), (255, '', '1,0'))
        for name in ('', 'recorder: state', ': state', 'x' * 5000, '/', '\n', '\x1b')
    ],
}


def serialised(kind):
    """Return 20 and more messages as bytes: good forms, cut short, overwritten, of lengths."""
    good = bytes(serialize_message(FORMS[kind][-1] if kind in FORMS else kind()))
    rng = random.Random(0)
    out = [good[:n] for n in (0, 1, 3, 4, 5, 8, 11, 12, 16, len(good) // 2, len(good) - 1)]
    out += [good + bytes(7), bytes(len(good)), bytes(4), b'\xff' * len(good)]
    for _ in range(10):
        k = rng.randrange(max(1, len(good) - 4))
        out.append(good[:k] + rng.randbytes(4) + good[k + 4 :])
    out += [bytes(serialize_message(form)) for form in FORMS.get(kind, ())]
    return out


@pytest.fixture(scope='module')
def context():
    rclpy.init()
    yield
    rclpy.shutdown()


@pytest.fixture(scope='module')
def sources(context):
    """Publish all that nodes subscribe to only where somebody publishes it."""
    node = rclpy.create_node('sources')
    for kind, topic in (
        (JointState, 'joint_states'),
        (Imu, 'base/imu'),
        (String, 'words'),
        (String, 'robot_description'),
        (JointState, 'torque_prediction/measured'),
    ):
        node.create_publisher(kind, topic, 10)
    yield node
    node.destroy_node()


NODES = [
    (Excitation, {}, 3),
    (Recorder, {'topics': ['joint_states', 'base/imu', 'words']}, 4),
    (TorquePrediction, {'base_imu_topic': 'base/imu'}, 4),
    (Watch, {'port': 0}, 5),
    (Identification, {'online': True}, 3),
    (SimulatedRig, {'running': False}, 0),
    (SimulatedRobot, {'urdf_file': ARM, 'rate': 100.0}, 1),
]


@pytest.mark.parametrize('kind, values, least', NODES, ids=lambda x: getattr(x, '__name__', ''))
def test_malformed_messages_never_end_a_node(sources, monkeypatch, kind, values, least):
    waiting = {}  # in the queues of readers, by topic
    for module in (subscriptions, controller_state):
        monkeypatch.setattr(module, 'taken', lambda reader: waiting.pop(reader.topic_name, []))
    node = kind(
        parameter_overrides=[Parameter(name, value=value) for name, value in values.items()]
    )
    try:
        end = time.monotonic() + PATIENCE
        while len(set(s.topic_name for s in node._subscriptions)) < least:
            assert time.monotonic() < end, [s.topic_name for s in node._subscriptions]
            for timer in node.timers:  # they look for publishers
                timer.callback()
        for subscription in list(node._subscriptions):
            forms = (serialised if subscription.raw else FORMS.get)(subscription.msg_type)
            assert len(forms) >= 20
            if subscription in node.subscriptions:  # those that executors serve
                for message in forms:
                    subscription.callback(message)
            else:
                waiting[subscription.topic_name] = [(message, {}) for message in forms]
            for timer in node.timers:
                timer.callback()
            assert not waiting
        assert node.context.ok()
    finally:
        node.destroy_node()


def test_damaged_models_never_end_the_prediction(context, arm_model, arm_recording):
    """A hundred one-leaf changes of a good model come by its topic while the arm moves."""
    good = yaml.load(arm_model.to_yaml(), Loader=yaml.CSafeLoader)
    node = TorquePrediction()
    moving = list(arm_recording.channels.values())[0].rows(slice(0, 400))
    node._streams.look = lambda topics: None
    node._streams.hand_to = lambda take: take(
        replace(moving, topic=node._live.source.topics[0] if node._live else 'joint_states')
    )
    take = next(
        s.callback
        for s in node._subscriptions
        if s.topic_name == ('/identification/identified_model')
    )
    refused = 0
    try:
        for _, _, content in changes(good, 100):
            take(String(data=yaml.dump(content, Dumper=yaml.CSafeDumper)))
            for timer in node.timers:
                timer.callback()
            refused += node._live is None
        take(String(data=arm_model.to_yaml()))
        assert node._live is not None  # a good one is welcome again
    finally:
        node.destroy_node()
    assert refused > 40
