"""The topic of a controller, and its action where the messages of ros2_control are missing."""

import sys
from types import SimpleNamespace

import pytest

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")

from ros_inertial_id.errors import ConfigError, MotionError  # noqa: E402
from ros_inertial_id.nodes.controller_link import controller_link  # noqa: E402

NAME = 'arm_controller/follow_joint_trajectory'


def test_without_the_interfaces_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'control_msgs', None)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)
    with pytest.raises(ConfigError, match='needs control_msgs; install ros-'):
        controller_link(None, NAME, print)


def test_topic_without_a_reader_is_refused():
    listeners, sent = [0], []
    node = SimpleNamespace(
        create_publisher=lambda *_, **__: SimpleNamespace(publish=sent.append),
        resolve_topic_name=lambda name: f'/ns/{name}',
        count_subscribers=lambda name: listeners[0] if name == '/ns/arm/joint_trajectory' else 9)
    link = controller_link(node, 'arm/joint_trajectory', print)
    with pytest.raises(MotionError, match='nobody listens to arm/joint_trajectory'):
        link.refuse()
    listeners[0] = 2  # the controller and a recorder
    link.refuse()
    link.send('piece')
    link.refuse()
    listeners[0] = 1
    with pytest.raises(MotionError, match='listener of arm/joint_trajectory has gone.*found 1'):
        link.refuse()
    link.await_result(0.5)
    link.refuse()
    assert sent == ['piece'] and link.outcome() is None
