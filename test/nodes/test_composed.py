"""Several nodes in one process: as complete and as right as each in a process of its own."""

import json

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")
pytest.importorskip('mujoco', reason='the simulated arm needs mujoco')

from sensor_msgs.msg import JointState  # noqa: E402

from ros_inertial_id.measurement.bags.bag import read_bag  # noqa: E402
from ros_inertial_id.measurement.bags.messages import encode, JOINT_STATE  # noqa: E402
from ros_inertial_id.measurement.recording import Channel  # noqa: E402

SAMPLES = 800


def own(**parameters):
    """Return the ROS arguments of one of the nodes."""
    pairs = (['-p', f'{name}:={json.dumps(str(value) if name != "online" else value)}']
             for name, value in parameters.items())
    return ['--ros-args', *(word for pair in pairs for word in pair), '--']


def efforts(messages):
    """Return {stamp [ns]: effort} of received JointStates."""
    return {m.header.stamp.sec * 10 ** 9 + m.header.stamp.nanosec: list(m.effort)
            for m in messages}


def test_one_process_loses_nothing_and_predicts_as_its_own_process_does(
        graph, tmp_path, arm_recording, arm_model):
    model = tmp_path / 'model.yaml'
    model.write_text(arm_model.to_yaml())
    graph.start('torque_prediction', '--ros-args', '-r', '__node:=alone', '-p',
                f'model_file:={model}')
    one = graph.start('composed', 'torque_prediction', *own(model_file=model),
                      'identification', *own(online=True), 'recorder', *own(out=tmp_path))
    predicted = {node: graph.listen(JointState, f'{node}/predicted')
                 for node in ('torque_prediction', 'alone')}
    publisher = graph.node.create_publisher(JointState, 'joint_states', 5000)
    graph.until(lambda: publisher.get_subscription_count() == 4, 'a subscription of each')
    path = graph.call('recorder/start').message
    whole = arm_recording.channels['/joint_states']
    part = whole.rows(np.arange(SAMPLES))
    for message in encode(Channel('', JOINT_STATE, part.stamp_ns, part.stamp_ns, part.fields,
                                  part.names)):
        publisher.publish(message)
        graph.executor.spin_once(timeout_sec=0.0)
    graph.until(lambda: all(len(m) > SAMPLES // 2 for m in predicted.values()), 'predictions')
    graph.spin(1.0)
    ours, theirs = (efforts(predicted[node]) for node in ('torque_prediction', 'alone'))
    both = sorted(set(ours) & set(theirs))
    assert len(both) > SAMPLES // 2
    # Batches begin at other samples: the filter sees other ends, to this share of the torque.
    a, b = (np.array([side[stamp] for stamp in both]) for side in (ours, theirs))
    assert np.abs(a - b).max() < 0.01 * np.abs(b).max()
    response = graph.call('recorder/stop')
    assert response.message.startswith(f'{path}: {SAMPLES} /joint_states')
    assert 'lost' not in response.message
    assert np.array_equal(read_bag(path).channels['/joint_states'].fields['position'],
                          part.fields['position'])
    assert graph.health('identification')[0] is not None
    assert one.end() == 0


def test_a_node_that_is_refused_ends_the_process_with_its_words(graph, tmp_path):
    one = graph.start('composed', 'recorder', *own(out=tmp_path), 'torque_prediction',
                      *own(model_file=tmp_path / 'none.yaml'))
    assert one.wait() == 2
    assert 'TorquePrediction: ' in one.output and 'none.yaml' in one.output
