"""Nodes start, work and end on an rclpy without its experimental executor."""

from pathlib import Path
import re

from sensor_msgs.msg import JointState
from stage import stamp_ns

from ros_inertial_id.measurement.bags.bag import read_bag

NODES = Path(__file__).parents[2] / 'ros_inertial_id' / 'nodes'
HIDDEN = """
import sys
sys.modules['rclpy.experimental'] = sys.modules['rclpy.experimental.events_executor'] = None
from ros_inertial_id.nodes import rclpy_internals
print(rclpy_internals.Executor.__name__, flush=True)
from ros_inertial_id.nodes.{node} import main
sys.argv = ['{node}', '--ros-args', *'{arguments}'.split()]
sys.exit(main())
"""


def test_recorder_and_prediction_do_without_what_is_experimental(
    graph, tmp_path, arm_recording, arm_model
):
    (tmp_path / 'model.yaml').write_text(arm_model.to_yaml())
    nodes = [
        graph.python(HIDDEN.format(node=node, arguments=arguments))
        for node, arguments in (
            ('recorder', f'-p out:={tmp_path} -p name:=bag'),
            ('torque_prediction', f'-p model_file:={tmp_path}/model.yaml'),
        )
    ]
    publisher = graph.node.create_publisher(JointState, 'joint_states', 5000)
    predicted = graph.listen(JointState, 'torque_prediction/predicted')
    graph.until(lambda: publisher.get_subscription_count() == 2, 'both')
    assert graph.call('recorder/start').success
    channel = arm_recording.channels['/joint_states'].rows(slice(0, 1000))
    for k, stamp in enumerate(channel.stamp_ns.tolist()):
        message = JointState(
            name=list(channel.names),
            **{field: values[k].tolist() for field, values in channel.fields.items()},
        )
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        publisher.publish(message)
        if k % 20 == 19:
            graph.spin(0.05)
    graph.until(lambda: graph.health('recorder')[2].get('/joint_states count') == '1000', 'all')
    graph.until(lambda: len(predicted) > 100, 'predictions')
    assert {stamp_ns(m) for m in predicted} <= set(channel.stamp_ns.tolist())
    assert graph.call('recorder/stop').success
    assert len(read_bag(tmp_path / 'bag').channels['/joint_states']) == 1000
    for node in nodes:
        assert node.end() == 0
        assert 'SingleThreadedExecutor' in node.output and 'Traceback' not in node.output


def test_private_names_of_rclpy_stand_in_one_module():
    private = re.compile(
        r'rclpy\.(impl|experimental|_)|_rclpy|\.handle\b|take_message|'
        r'__signature__'
    )
    named = {path.name for path in NODES.glob('*.py') if private.search(path.read_text())}
    assert named == {'rclpy_internals.py'}
