"""What the player believes of joint states: stamps, of its own clock."""

import time
from types import SimpleNamespace

from arm_recordings import ARM
import numpy as np
import pytest
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.nodes import joint_watch
from ros_inertial_id.nodes.joint_watch import DriverWatch, JointWatch
from ros_inertial_id.nodes.running import GuardedNode

STANDS_AT_0 = Parameter('use_sim_time', value=True)  # nobody publishes /clock


class Watching:
    """A JointWatch of a node with its executor; ``doubts``: what it was called back with."""

    def __init__(self, graph, name, *parameters):
        self.node = GuardedNode(name, context=graph.context, parameter_overrides=list(parameters))
        self.executor = SingleThreadedExecutor(context=graph.context)
        self.executor.add_node(self.node)
        self.doubts = []
        self.joints = JointWatch(
            self.node,
            DriverWatch(self.node, '', print),
            self.doubts.append,
            self.doubts.append,
            lambda *_: None,
        )
        self.joints.watch_joints_of(load_robot_model(ARM.read_text()))

    def read(self):
        """Take what has come; return whether a position is known."""
        self.joints.streams.look(('joint_states',))
        self.executor.spin_once(timeout_sec=0.02)
        self.joints.read()
        return self.joints.position is not None

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()


def test_a_stamp_of_0_is_believed_once_and_where_the_clock_begins(graph):
    simulated = Watching(graph, 'simulated', STANDS_AT_0)
    real = Watching(graph, 'real')
    states = graph.node.create_publisher(JointState, 'joint_states', 10)
    graph.until(
        lambda: (simulated.read(), real.read(), states.get_subscription_count())[2] == 2,
        'the subscription of each',
    )
    unstamped = JointState(name=['joint1', 'joint2'], position=[0.0, 0.0])
    states.publish(unstamped)
    graph.until(simulated.read, 'the first joint states of a simulated clock')
    graph.until(lambda: real.read() or real.doubts, 'joint states in 1970')
    assert not real.read() and 'carry no stamps' in real.doubts[0]
    states.publish(unstamped)  # a driver that does not stamp
    graph.until(lambda: simulated.read() and simulated.doubts, 'the doubt')
    assert 'carry no stamps' in simulated.doubts[0]
    simulated.close()
    real.close()


def test_a_joint_whose_position_is_no_number_is_refused(graph, monkeypatch):
    monkeypatch.setattr(joint_watch, 'FIRST_STATE', 0.0)
    watching = Watching(graph, 'starting')
    states = graph.node.create_publisher(JointState, 'joint_states', 10)
    graph.until(lambda: (watching.read(), states.get_subscription_count())[1], 'the subscription')
    now = graph.node.get_clock().now().to_msg()
    states.publish(
        JointState(header=Header(stamp=now), name=['joint1', 'joint2'], position=[np.nan, 0.0])
    )
    graph.until(watching.read, 'the joint states')
    with pytest.raises(MotionError, match='^joint1: position is not finite'):
        watching.joints.check_ready(stale=100.0)
    watching.close()


@pytest.mark.parametrize('simulated', [True, False], ids=['/clock', 'own clock'])
def test_after_a_hold_up_the_middleware_may_catch_up_where_messages_tell_the_time(
    graph, monkeypatch, simulated
):
    wall, waited = [0.0], []
    watching = Watching(graph, 'held_up', Parameter('use_sim_time', value=simulated))
    clock = SimpleNamespace(monotonic=lambda: wall[0], sleep=lambda _: waited.append(wall[0]))
    monkeypatch.setattr(joint_watch, 'time', clock)
    for wall[0] in 10.0, 10.02, 10.17, 10.19, 10.24, 10.39:
        watching.joints.read()
    assert waited[1:] == [10.17, 10.39] * simulated
    watching.close()


def test_a_hold_up_while_states_are_read_is_no_silence(graph, monkeypatch):
    watching = Watching(graph, 'held_up')
    joints, states = watching.joints, graph.node.create_publisher(JointState, 'joint_states', 10)
    graph.until(lambda: (watching.read(), states.get_subscription_count())[1], 'the subscription')
    now = graph.node.get_clock().now().to_msg()
    states.publish(
        JointState(header=Header(stamp=now), name=['joint1', 'joint2'], position=[0.0, 0.0])
    )
    graph.until(watching.read, 'the joint states')
    joints.read()
    hand_to = joints.streams.hand_to
    monkeypatch.setattr(joints.streams, 'hand_to', lambda take: (hand_to(take), time.sleep(0.5)))
    before = joints.silence
    joints.read()
    joints.read()
    assert joints.silence < before + 0.05
    monkeypatch.undo()
    for _ in range(8):  # of a process that never looks in time
        joints.read()
        time.sleep(0.07)
    assert joints.silence > before + 0.15
    watching.close()


@pytest.mark.parametrize(
    'ahead, words',
    [
        (
            -3.0 - 0.7 * (np.arange(50) % 2),
            'stamped late, or by another clock; .*found 3.000 s behind; .*less to do; synchronise',
        ),
        (
            2.0 - 0.02 * np.arange(50),
            'stamped by another clock; .*found 2.000 s ahead; synchronise',
        ),
    ],
)
def test_stamps_of_another_clock_or_a_late_driver_are_refused(ahead, words):
    """Alternately .7 s late: a loaded computer reads a steady stream in bursts."""
    driver = DriverWatch(None, '', print)
    for one in ahead:
        driver.stamped(one)
    with pytest.raises(MotionError, match=words):
        driver.check_ready()


@pytest.mark.parametrize('percent', [50.0, 0.0, 200.0])
def test_scaled_trajectories_are_refused_whoever_says_so(percent):
    """The other may not know of it: UR's controllers are scaled without saying so themselves."""
    said = []
    driver = DriverWatch(None, '', said.append)
    driver.stamped(0.0)
    for topic in ('arm/controller_state', 'speed_scaling'):
        driver.scaled(100.0, topic)
    driver.check_ready()
    assert said == []
    driver.scaled(percent, 'arm/controller_state')
    driver.scaled(100.0, 'speed_scaling')
    assert f'at {percent:.0f} % of their speed' in said[0] and len(said) == 1
    with pytest.raises(MotionError, match=f'found {percent:.0f} % in arm/controller_state'):
        driver.check_ready()


def test_a_simulated_clock_may_be_overtaken_by_joint_states():
    """Two topics are not ordered, and a simulator that is behind may leap."""
    driver = DriverWatch(None, '', print)
    for ahead in (0.0, 0.3, 2.0):
        driver.stamped(ahead)
    driver.check_ready(simulated=True)
    other = DriverWatch(None, '', print)
    other.stamped(-1.5)
    with pytest.raises(MotionError, match='another clock; .*found 1.500 s behind'):
        other.check_ready(simulated=True)
