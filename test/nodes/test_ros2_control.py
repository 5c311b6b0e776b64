"""
The player's side of ros2_control against real servers: goals, controllers, what one holds.

The servers are rclpy's, over DDS; they behave as joint_trajectory_controller does: a new goal ends
the one before it.
"""

import importlib.util
import itertools
import os
import shutil
import subprocess
import sys

from arm_recordings import ARM
from live_graph import SCRIPTS
import numpy as np
import pytest
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.nodes import controller_link as module
from ros_inertial_id.nodes import controller_state as state_module
from ros_inertial_id.nodes.controller_link import controller_link
from ros_inertial_id.nodes.controller_state import Controllers, HeldPosition
from ros_inertial_id.nodes.running import GuardedNode

CONTROLLER = '/arm/arm_controller'
NAME = f'{CONTROLLER}/follow_joint_trajectory'
PACKAGES = 'control_msgs', 'controller_manager_msgs'


@pytest.fixture(scope='module', autouse=True)
def interfaces(tmp_path_factory):
    """Make the messages of ros2_control, for this module alone, where they are not installed."""
    if all(importlib.util.find_spec(name) for name in PACKAGES):
        yield
        return
    if not (shutil.which('gcc') and shutil.which('g++')):
        pytest.skip('the messages of ros2_control are made with gcc and g++')
    folder = tmp_path_factory.mktemp('interfaces')
    subprocess.run(
        [sys.executable, str(SCRIPTS / 'ros2_control_interfaces.py'), str(folder)], check=True
    )
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    with pytest.MonkeyPatch.context() as patch:  # for the processes that tests start
        patch.setenv('PYTHONPATH', str(folder), prepend=os.pathsep)
        yield
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split('.')[0] in PACKAGES]:
        del sys.modules[name]


class Controller:
    """An action server in the observer's process; the test says how a goal ends."""

    def __init__(self, graph):
        from control_msgs.action import FollowJointTrajectory

        self.graph, self.said, self.goals, self.results = graph, [], [], []
        self.accepts, self.replaces, self.cancelled, self.requests = True, True, [], []
        self._result = FollowJointTrajectory.Result
        self._server = ActionServer(
            graph.node,
            FollowJointTrajectory,
            NAME,
            self._execute,
            goal_callback=lambda _: GoalResponse.ACCEPT if self.accepts else GoalResponse.REJECT,
            cancel_callback=self._cancel,
        )
        self.link = controller_link(graph.node, NAME, self.said.append)
        graph.until(self.reachable, 'the action')

    def reachable(self):
        try:
            self.link.check_ready()
        except MotionError:
            return False
        return True

    def _cancel(self, handle):
        self.cancelled.append(handle)
        return CancelResponse.ACCEPT

    async def _execute(self, handle):
        before, end = self.goals[-1:], Future()
        self.goals.append(end)
        self.requests.append(handle.request)
        for goal in before:
            if self.replaces and not goal.done():
                goal.set_result(('abort', 0, 'Current goal cancelled due to new incoming action.'))
        how, code, words = await end
        getattr(handle, how)()
        return self._result(error_code=code, error_string=words)

    def send(self, count=1):
        """Send goals, each of which replaces the one before."""
        for _ in range(count):
            known = len(self.goals)
            trajectory = JointTrajectory(joint_names=['joint1'], points=[JointTrajectoryPoint()])
            self.link.send(self.link.message(trajectory, 0.1))
            self.graph.until(lambda: len(self.goals) > known, 'the goal')

    def end(self, how, code=0, words=''):
        self.goals[-1].set_result((how, code, words))

    def outcome(self):
        """Return the words about the last goal."""
        return self.graph.beside(lambda: self.link.outcome(60.0, bool))


@pytest.fixture
def controller(graph, interfaces):
    """Return a Controller; its action ends with the graph."""
    out = Controller(graph)
    yield out
    out._server.destroy()


def test_action_that_nobody_serves_is_refused(graph):
    with pytest.raises(MotionError, match='nobody serves the action /arm/arm_controller/follow'):
        controller_link(graph.node, NAME, print).check_ready()


def test_goals_that_are_replaced_are_no_fault_and_the_last_one_tells_its_result(controller):
    controller.send(3)
    controller.end('succeed')
    assert controller.outcome() == 'controller: goal reached' and controller.said == []


def test_a_refused_goal_is_told(controller):
    controller.accepts = False
    controller.link.send(controller.link.message(JointTrajectory(), 0.1))
    controller.graph.until(lambda: controller.said, 'the refusal')
    assert 'refused the goal' in controller.said[0] and len(controller.said) == 1
    assert controller.link.arrived == 0
    assert controller.outcome() == 'controller: goal refused'


def test_a_goal_that_was_given_up_is_told_with_the_controller_s_words(controller):
    controller.send(2)
    controller.end('abort', -4, 'joint3 is 0.2 away')
    controller.graph.until(lambda: controller.said, 'the end')
    assert controller.said == [
        'the controller gave up: path tolerance violated (joint3 is 0.2 away)'
    ]


def test_a_violation_counts_although_the_goal_was_replaced_meanwhile(controller):
    controller.replaces = False
    controller.send(2)
    controller.goals[0].set_result(('abort', -4, 'joint3 is 0.2 away'))
    controller.graph.until(lambda: controller.said, 'the end')
    assert 'path tolerance violated' in controller.said[0]


def test_a_goal_without_a_result_stands_long_after_its_end(controller, monkeypatch):
    controller.send()
    now = itertools.count()
    monkeypatch.setattr(module, 'seconds', lambda node: 0.1 * next(now))
    assert controller.link.outcome(0.5, bool) == 'controller: no result'
    monkeypatch.undo()
    controller.end('succeed')  # a question to cancel it would have come before
    controller.graph.until(lambda: controller.link._result, 'the result')
    assert not controller.cancelled and controller.said == []


def test_goals_carry_tolerances_for_a_controller_that_is_left_alone(controller):
    controller.send()
    goal = controller.requests[-1]
    assert [(t.name, t.position) for t in goal.path_tolerance] == [('joint1', 0.1)]
    assert [(t.name, t.position, t.velocity) for t in goal.goal_tolerance] == [
        ('joint1', 0.1, -1.0)
    ]
    assert goal.goal_time_tolerance.sec == 1


def test_a_goal_that_is_withdrawn_is_replaced_by_the_last_that_was_accepted(controller):
    link = controller.link
    controller.send()
    controller.graph.until(lambda: link.arrived == 1, 'its acceptance')
    link.send(link.message(JointTrajectory(joint_names=['joint2']), 0.1))
    link.withdraw()
    assert link.outcome(0.0, bool) == 'controller: goal not accepted in time'
    controller.graph.until(
        lambda: (
            len(controller.requests) > 1
            and controller.requests[-1].trajectory.joint_names == ['joint1']
        ),
        'the goal',
    )
    rests = [p.time_from_start.sec for p in controller.requests[-1].trajectory.points]
    assert rests == [0, 3] and not controller.said


def test_an_inactive_controller_is_refused_as_its_manager_says(graph):
    from controller_manager_msgs.msg import ControllerState
    from controller_manager_msgs.srv import ListControllers

    def answer(_, response):
        response.controller = [ControllerState(name='arm_controller', state='inactive')]
        return response

    graph.node.create_service(ListControllers, '/arm/controller_manager/list_controllers', answer)
    controllers, errors = Controllers(graph.node, NAME), []

    def refused():
        try:
            graph.beside(controllers.check_active)
        except MotionError as error:
            errors.append(str(error))
        return errors

    graph.until(refused, 'the word of the controller_manager')
    assert 'controller arm_controller does not move the arm' in errors[0]


def test_the_command_at_which_a_controller_holds_the_arm_is_its_own_word(graph, monkeypatch):
    from control_msgs.msg import JointTrajectoryControllerState

    scaled = []
    node = GuardedNode('holder', context=graph.context)  # whose executor leaves it its messages
    held = HeldPosition(node, NAME, lambda *said: scaled.append(said))
    measured = np.array([0.51, -0.2])
    robot = load_robot_model(ARM.read_text())
    assert held.position(robot, measured, tracking=0.1) is None
    state = JointTrajectoryControllerState(joint_names=robot.joint_names[::-1])
    state.reference.positions = [-0.201, 0.5]
    publisher = graph.node.create_publisher(
        JointTrajectoryControllerState, f'{CONTROLLER}/controller_state', 1
    )

    def told():
        publisher.publish(state)
        graph.spin(0.02)
        return held.position(robot, measured, tracking=0.1) is not None

    graph.until(told, 'the state')
    np.testing.assert_array_equal(held.position(robot, measured, tracking=0.1), [0.5, -0.201])
    state.reference.positions = [np.nan, 0.5]  # a course from there would be none
    graph.until(lambda: not told(), 'a command that is no number')
    state.reference.positions = [-0.201, 0.5]
    graph.until(told, 'the command')
    with pytest.raises(MotionError, match='joint1 does not follow its controller'):
        held.position(robot, measured, tracking=0.005)
    monkeypatch.setattr(state_module, 'STATE_AGE', -1.0)
    assert held.position(robot, measured, tracking=0.1) is None
    monkeypatch.undo()
    assert scaled == []  # 0 of a controller that does not fill it
    for state.speed_scaling_factor in (1.0, 0.5, 0.0):
        graph.until(
            lambda: (
                told()
                and scaled
                and scaled[-1]
                == (100.0 * state.speed_scaling_factor, f'{CONTROLLER}/controller_state')
            ),
            'the scaling',
        )
    node.destroy_node()
