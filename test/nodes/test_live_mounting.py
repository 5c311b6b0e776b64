"""The node torque_prediction under a mounting that changes while it runs."""

import numpy as np
import pytest
from sensor_msgs.msg import Imu

NODE = 'torque_prediction'
WORDS = 'under another mounting'


@pytest.fixture
def node(request, graph, arm_model, tmp_path):
    """Return a started node with a model of an upright arm and an IMU topic."""
    path = tmp_path / 'model.yaml'
    path.write_text(arm_model.to_yaml())
    graph.start(NODE, model_file=path, base_imu_topic='base/imu', **getattr(request, 'param', {}))
    graph.until(lambda: graph.healths(NODE), 'its health')
    return graph


def health(graph, level, words):
    start = len(graph.healths(NODE))
    graph.until(
        lambda: any(
            grade == level and words in message
            for grade, message, _ in graph.healths(NODE)[start:]
        ),
        words,
    )


def test_a_parameter_changes_the_mounting_and_what_is_unknown_is_refused(node):
    health(node, 'warn', 'nothing received')  # predicting, no joint states yet
    node.set(NODE, mounting='rpy 1.5708 0 0')
    health(node, 'error', 'mcx1')  # gravity across the first axis shows what upright hides
    node.set(NODE, mounting='rpy 0 0 1.0')  # turned about the vertical: nothing is new
    health(node, 'warn', 'nothing received')
    assert 'sideways' in node.set(NODE, mounting='sideways')
    health(node, 'warn', 'nothing received')


@pytest.mark.parametrize('node', [{'mounting': 'imu'}], indirect=True)
def test_a_base_imu_tells_the_mounting(node):
    publisher = node.node.create_publisher(Imu, 'base/imu', 100)
    health(node, 'error', 'a second at rest on base/imu')

    def rest(force):
        message = Imu()
        (
            message.linear_acceleration.x,
            message.linear_acceleration.y,
            message.linear_acceleration.z,
        ) = force
        timer = node.node.create_timer(0.01, lambda: publisher.publish(message))
        return timer

    timer = rest((0.0, 0.0, 9.81))  # specific force of an upright base
    health(node, 'warn', 'nothing received')
    timer.cancel()
    timer = rest((9.81 * np.sin(1.0), 0.0, 9.81 * np.cos(1.0)))
    health(node, 'error', 'mcx1')
    timer.cancel()
