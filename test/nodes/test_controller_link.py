"""Goals of a FollowJointTrajectory action: refusals and results are said, strays cancelled."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")

import rclpy.action  # noqa: E402
from rclpy.task import Future  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from ros_inertial_id.errors import ConfigError, MotionError  # noqa: E402
from ros_inertial_id.nodes import controller_link as module  # noqa: E402
from ros_inertial_id.nodes.controller_link import ABORTED, controller_link, SUCCEEDED  # noqa: E402

NAME = 'arm_controller/follow_joint_trajectory'
CANCELED = 5


class Goal:
    """A goal as the client's side of an action sees it."""

    def __init__(self, trajectory):
        self.trajectory, self.answer, self.result = trajectory, Future(), Future()
        self.accepted, self.cancelled = False, False

    def accept(self, accepted=True):
        self.accepted = accepted
        settle(self.answer, self)

    def get_result_async(self):
        return self.result

    def cancel_goal_async(self):
        self.cancelled = True

    def end(self, status, code=0, words=''):
        settle(self.result, SimpleNamespace(
            status=status, result=SimpleNamespace(error_code=code, error_string=words)))


def settle(future, value):
    """Give a future its value, and its callbacks their turn, as a spinning node does."""
    future.set_result(value)
    for callback in list(future._callbacks):
        callback(future)
    future._callbacks.clear()


@pytest.fixture
def controller(monkeypatch):
    """Return the link to a controller whose answers the test gives, its goals, what it said."""
    package, actions = ModuleType('control_msgs'), ModuleType('control_msgs.action')
    actions.FollowJointTrajectory = SimpleNamespace(
        Goal=lambda trajectory: Goal(trajectory))
    monkeypatch.setitem(sys.modules, 'control_msgs', package)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', actions)
    out = SimpleNamespace(goals=[], said=[], ready=True)

    def client(node, kind, name):
        def send(goal):
            out.goals.append(goal)
            return goal.answer
        return SimpleNamespace(server_is_ready=lambda: out.ready, send_goal_async=send)

    monkeypatch.setattr(rclpy.action, 'ActionClient', client)
    out.time = 0.0
    monkeypatch.setattr(module.time, 'monotonic', lambda: out.time)
    out.link = controller_link(None, NAME, out.said.append)
    return out


def test_without_the_interfaces_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'control_msgs', None)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', None)
    with pytest.raises(ConfigError, match='needs control_msgs; install ros-'):
        controller_link(None, NAME, print)


def test_action_that_nobody_serves_is_refused(controller):
    controller.link.refuse()
    controller.ready = False
    with pytest.raises(MotionError, match='nobody serves the action arm_controller/follow'):
        controller.link.refuse()


def test_topic_without_a_reader_is_refused():
    listeners, sent = [0], []
    node = SimpleNamespace(
        create_publisher=lambda *_, **__: SimpleNamespace(publish=sent.append),
        resolve_topic_name=lambda name: f'/ns/{name}',
        count_subscribers=lambda name: listeners[0] if name == '/ns/arm/joint_trajectory' else 9)
    link = controller_link(node, 'arm/joint_trajectory', print)
    with pytest.raises(MotionError, match='nobody listens to arm/joint_trajectory'):
        link.refuse()
    listeners[0] = 1
    link.refuse()
    link.send('piece')
    link.await_result(0.5)
    assert sent == ['piece'] and link.outcome() is None


def play(controller, count=3):
    """Send trajectories, each replacing the one before as ros2_controllers does."""
    for _ in range(count):
        before = controller.goals[-1:]
        controller.link.send(JointTrajectory())
        controller.goals[-1].accept()
        for goal in before:  # master ends it as aborted, Jazzy as cancelled
            goal.end(ABORTED, -1, 'Current goal preempted by new incoming action.')


def test_goals_that_are_replaced_are_no_fault_and_the_last_one_tells_its_result(controller):
    play(controller)
    assert controller.said == [] and controller.link.outcome() is None
    controller.link.await_result(0.5)
    assert controller.link.outcome() is None
    controller.goals[-1].end(SUCCEEDED)
    assert controller.link.outcome() == 'controller: goal reached'
    assert controller.link.outcome() is None and controller.said == []


def test_a_goal_cancelled_for_a_new_one_is_no_fault(controller):
    play(controller, 1)
    controller.link.send(JointTrajectory())
    controller.goals[0].end(CANCELED)
    assert controller.said == []


def test_a_refused_goal_is_told(controller):
    play(controller, 2)
    controller.link.send(JointTrajectory())
    controller.goals[-1].accept(False)
    assert len(controller.said) == 1 and 'refused the goal' in controller.said[0]
    controller.link.await_result(0.5)
    assert controller.link.outcome() == 'controller: goal refused'


@pytest.mark.parametrize('late', [False, True], ids=['newest', 'replaced meanwhile'])
def test_a_goal_that_was_given_up_is_told_with_the_controller_s_words(controller, late):
    play(controller, 1)
    if late:
        controller.link.send(JointTrajectory())
    controller.goals[0].end(ABORTED, -4, 'joint3 is 0.2 away')
    assert controller.said == [
        'the controller gave up: path tolerance violated (joint3 is 0.2 away)']


def test_a_goal_without_a_result_is_cancelled_long_after_its_end(controller):
    play(controller, 1)
    controller.link.await_result(0.5)
    controller.time = 0.5
    assert controller.link.outcome() is None and not controller.goals[0].cancelled
    controller.time = 0.5 + module.PATIENCE
    assert 'no result; the goal was cancelled' in controller.link.outcome()
    assert controller.goals[0].cancelled and controller.link.outcome() is None
