"""The node simulated_robot in its own process, talked to over real DDS."""

from pathlib import Path

from live_graph import LATCHED
import numpy as np
import pytest
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from stage import stamp_ns
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
import yaml

ROOT = Path(__file__).parents[2]
ARM = ROOT / 'urdf' / 'arm2.urdf'


class Operator:
    """What stands on the other side of the topics of a robot in a Graph ``graph``."""

    def __init__(self, graph):
        self.graph = graph
        self.states = graph.listen(JointState, 'joint_states')
        self.descriptions = graph.listen(String, 'robot_description', LATCHED)
        self.trajectory = graph.node.create_publisher(
            JointTrajectory, 'joint_trajectory_controller/joint_trajectory', 10
        )
        graph.until(lambda: self.states, 'joint states')

    def send(self, *targets, names=('joint1', 'joint2')):
        """Send points to pass at rest: (positions, whole seconds from now)."""
        message = JointTrajectory(joint_names=names)
        for positions, seconds in targets:
            still = [0.0] * len(positions)
            message.points.append(
                JointTrajectoryPoint(
                    positions=positions,
                    velocities=still,
                    accelerations=still,
                    time_from_start=Duration(seconds=seconds).to_msg(),
                )
            )
        self.graph.until(self.trajectory.get_subscription_count, 'the controller')
        self.trajectory.publish(message)

    def reach(self, positions):
        """Spin until the arm is where it should be, within a tracking error of 15 mrad."""
        self.graph.until(
            lambda: self.states[-1].position == pytest.approx(positions, abs=0.015),
            f'the arm to reach {positions}',
        )

    def see(self, count):
        """Return the newest joint state after ``count`` new ones."""
        target = len(self.states) + count
        self.graph.until(lambda: len(self.states) >= target, f'{count} joint states')
        return self.states[-1]


@pytest.fixture(scope='module')
def robot(shared_graph, tmp_path_factory):
    """Return an Operator, the process and the truth file of a running 100 Hz arm."""
    truth = tmp_path_factory.mktemp('robot') / 'truth.yaml'
    process = shared_graph.start(
        'simulated_robot', urdf_file=ARM, truth_file=truth, seed=3, rate=100.0
    )
    return Operator(shared_graph), process, truth


def test_every_published_joint_state_arrives_with_uniform_stamps(robot):
    operator, _, _ = robot
    operator.see(500)
    stamps = np.array([stamp_ns(state) for state in operator.states])
    assert (np.diff(stamps) == 10_000_000).all()
    message = operator.states[-1]
    assert list(message.name) == ['joint1', 'joint2']
    assert len(message.position) == len(message.velocity) == len(message.effort) == 2


def test_trajectory_is_followed_and_wrong_joint_names_are_refused(robot):
    operator, process, _ = robot
    operator.send(([0.4, -0.3], 1))
    operator.reach([0.4, -0.3])
    operator.send(([1.0, 1.0], 1), names=('shoulder', 'joint2'))
    operator.graph.until(lambda: 'trajectory refused' in process.output, 'the refusal')
    assert 'found shoulder, joint2' in process.output
    assert operator.see(160).position == pytest.approx([0.4, -0.3], abs=0.015)
    operator.send(([0.0, 0.2], 1), names=('joint2', 'joint1'))  # another order
    operator.reach([0.2, 0.0])


def test_description_is_latched_and_the_truth_file_tells_another_robot(robot):
    operator, _, truth_file = robot
    operator.graph.until(lambda: operator.descriptions, 'robot_description')
    assert operator.descriptions[0].data == ARM.read_text()
    truth = yaml.safe_load(truth_file.read_text())
    assert truth['true_urdf'] != ARM.read_text() and '<robot name="arm2">' in truth['true_urdf']
    assert truth['joint_names'] == ['joint1', 'joint2']
    assert truth['gravity_base'] == [0.0, 0.0, -9.81]
    assert min(truth['friction']['viscous'] + truth['friction']['coulomb']) > 0


@pytest.mark.parametrize(
    'parameters, message',
    [
        ({}, 'expected the parameter urdf_file'),
        ({'urdf_file': ARM, 'gravity_base': [0.0, 1.0]}, 'three finite numbers'),
        ({'urdf_file': ARM, 'truth_file': '/nowhere/truth.yaml'}, '/nowhere/truth.yaml'),
    ],
)
def test_bad_parameters_end_the_node_with_status_2_and_one_line(graph, parameters, message):
    process = graph.start('simulated_robot', **parameters)
    assert process.wait() == 2
    assert message in process.output and process.output.count('\n') == 1
