"""The node simulated_robot in its own process, talked to over real DDS."""

import os
from pathlib import Path
import signal
import time

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the simulated robot needs mujoco')
rclpy = pytest.importorskip('rclpy', reason='node tests need rclpy')

from live_graph import Process  # noqa: E402
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.duration import Duration  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rclpy.time import Time  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402
import yaml  # noqa: E402

from ros_inertial_id.nodes.running import Executor  # noqa: E402

ROOT = Path(__file__).parents[2]
ARM = ROOT / 'urdf' / 'arm2.urdf'
DOMAIN = 40 + os.getpid() % 20
# A soft controller, of an arm about as described, strays no more and has half to compute.
SOFT = 'bandwidth:=40.0', 'mass_change:=0.05', 'center_shift:=0.05'
PATIENCE = 60.0  # [s] for one thing to happen on a loaded machine; nothing waits this long


def start(*parameters, log):
    """Start the node in its own process with ``name:=value`` parameters, output to ``log``."""
    command = [str(ROOT / 'scripts' / 'simulated_robot'), '--ros-args']
    for parameter in parameters:
        command += ['-p', parameter]
    environment = dict(os.environ, ROS_DOMAIN_ID=str(DOMAIN), ROS_LOG_DIR=str(log.parent),
                       ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST')
    return Process(command, log, environment)


class Operator:
    """What stands on the other side of the topics."""

    def __init__(self):
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=DOMAIN)
        self.node = node = rclpy.create_node('operator', context=self.context)
        self.executor = Executor(context=self.context)
        self.executor.add_node(node)
        self.states, self.descriptions = [], []
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(JointState, 'joint_states', self.states.append, 5000)
        node.create_subscription(String, 'robot_description', self.descriptions.append, latched)
        self.trajectory = node.create_publisher(
            JointTrajectory, 'joint_trajectory_controller/joint_trajectory', 10)
        self.published = node.create_client(Trigger, 'simulated_robot/published')
        self.parameters = node.create_client(SetParameters, 'simulated_robot/set_parameters')

    def until(self, condition, what):
        """Spin until ``condition()``."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f'waited {PATIENCE} s for {what}'
            self.executor.spin_once(timeout_sec=0.05)

    def call(self, client, request):
        """Return the response; once more when the middleware lost the first reply."""
        self.until(client.service_is_ready, client.srv_name)
        for attempt in range(2):
            future, end = client.call_async(request), time.monotonic() + 10
            while not future.done() and time.monotonic() < end:
                self.executor.spin_once(timeout_sec=0.05)
            if future.done():
                return future.result()
        raise AssertionError(f'no reply from {client.srv_name}')

    def set_fault(self, fault):
        """Return the result of setting the parameter ``fault``."""
        value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=fault)
        request = SetParameters.Request(parameters=[Parameter(name='fault', value=value)])
        return self.call(self.parameters, request).results[0]

    def counted(self):
        """Return how many joint states the robot says it has published."""
        response = self.call(self.published, Trigger.Request())
        assert response.success
        return int(response.message)

    def send(self, *targets, names=('joint1', 'joint2'), start_ns=0):
        """Send points to pass at rest: (positions, whole seconds from the start or from now)."""
        message = JointTrajectory(joint_names=names)
        message.header.stamp = Time(nanoseconds=start_ns).to_msg()
        for positions, seconds in targets:
            still = [0.0] * len(positions)
            message.points.append(JointTrajectoryPoint(
                positions=positions, velocities=still, accelerations=still,
                time_from_start=Duration(seconds=seconds).to_msg()))
        self.until(self.trajectory.get_subscription_count, 'the controller')
        self.trajectory.publish(message)

    def reach(self, positions):
        """Spin until the arm is where it should be, within a tracking error of 10 mrad."""
        self.until(lambda: self.states[-1].position == pytest.approx(positions, abs=0.01),
                   f'the arm to reach {positions}')

    def see(self, count):
        """Return the newest joint state after ``count`` new ones."""
        target = len(self.states) + count
        self.until(lambda: len(self.states) >= target, f'{count} joint states')
        return self.states[-1]

    def close(self):
        """Leave the graph."""
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """Yield an operator, the log and the truth file of a running 500 Hz arm without noise."""
    folder = tmp_path_factory.mktemp('robot')
    log, truth = folder / 'log', folder / 'truth.yaml'
    process = start(f'urdf_file:={ARM}', f'truth_file:={truth}', 'seed:=3',
                    'position_noise:=0.0', 'torque_noise:=0.0', *SOFT, log=log)
    operator = Operator()
    try:
        operator.until(lambda: operator.states or not process.alive(), 'joint_states')
        assert process.alive(), log.read_text()
        yield operator, log, truth
    finally:
        operator.close()
        try:
            assert process.end(signal.SIGTERM) == 0, log.read_text()
        finally:
            process.kill()


@pytest.fixture(autouse=True)
def no_fault_afterwards(request):
    """Take back every fault, also when the test that set it failed."""
    yield
    if 'robot' in request.fixturenames:
        request.getfixturevalue('robot')[0].set_fault('')


def stamp_ns(message):
    """Return the header stamp [ns]."""
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def test_every_published_joint_state_arrives_with_uniform_stamps(robot):
    operator, _, _ = robot

    def since_the_silence():
        stamps = np.array([stamp_ns(state) for state in operator.states])
        return len(stamps) - 1 - np.flatnonzero(np.diff(stamps) != 2_000_000)

    assert operator.set_fault('joint_states_stop').successful
    for _ in range(20):  # ticks pass in silence: the gap in the stamps is where counting starts
        before = operator.counted()
        operator.executor.spin_once(timeout_sec=0.01)
    assert operator.set_fault('').successful
    operator.see(2000)
    assert operator.set_fault('joint_states_stop').successful
    sent = operator.counted() - before
    operator.until(lambda: since_the_silence()[-1] >= sent, 'the last joint states')
    assert since_the_silence().tolist() == [sent]  # one gap: all other steps are 2 ms exactly
    assert sent >= 2000
    message = operator.states[-1]
    assert list(message.name) == ['joint1', 'joint2']
    assert len(message.position) == len(message.velocity) == len(message.effort) == 2


def test_trajectory_is_followed_and_wrong_joint_names_are_refused(robot):
    operator, log, _ = robot
    operator.send(([0.4, -0.3], 1))
    operator.reach([0.4, -0.3])
    operator.send(([1.0, 1.0], 1), names=('shoulder', 'joint2'))
    operator.until(lambda: 'trajectory refused' in log.read_text(), 'the refusal')
    assert 'found shoulder, joint2' in log.read_text()
    assert operator.see(800).position == pytest.approx([0.4, -0.3], abs=0.01)
    operator.send(([0.0, 0.2], 1), names=('joint2', 'joint1'))  # another order
    operator.reach([0.2, 0.0])


def test_trajectory_with_a_start_time_is_entered_at_its_own_clock(robot):
    operator, _, _ = robot
    operator.send(([0.0, 0.0], 1))
    operator.reach([0.0, 0.0])
    start_ns = stamp_ns(operator.see(500)) - 3 * 10**9  # at rest by now
    operator.send(([2.0, 2.0], 1), ([0.5, 0.5], 8), start_ns=start_ns)
    operator.until(lambda: stamp_ns(operator.states[-1]) > start_ns + 8.5e9, 'the end')
    position = {stamp_ns(s) - start_ns: np.array(s.position) for s in operator.states}
    late = [x for t, x in position.items() if t >= 8e9]
    assert np.abs(np.array(late) - 0.5).max() < 0.01
    # From its first point, which is past, at rest to the second: a quintic, as the real
    # controller follows it.
    share = {t: (t * 1e-9 - 1.0) / 7.0 for t in position if 6e9 <= t <= 7e9}
    away = [np.abs(position[t] - (2.0 - 1.5 * u ** 3 * (10.0 - 15.0 * u + 6.0 * u ** 2))).max()
            for t, u in share.items()]
    assert away and np.max(away) < 0.02


def test_description_is_latched_and_the_truth_file_tells_another_robot(robot):
    operator, _, truth_file = robot
    operator.until(lambda: operator.descriptions, 'robot_description')
    assert operator.descriptions[0].data == ARM.read_text()
    truth = yaml.safe_load(truth_file.read_text())
    assert truth['true_urdf'] != ARM.read_text() and '<robot name="arm2">' in truth['true_urdf']
    assert truth['joint_names'] == ['joint1', 'joint2']
    assert truth['gravity_base'] == [0.0, 0.0, -9.81]
    assert min(truth['friction']['viscous'] + truth['friction']['coulomb']) > 0


def test_faults_strike_until_they_are_taken_back(robot):
    operator, _, _ = robot
    operator.send(([0.0, 0.0], 1))
    operator.reach([0.0, 0.0])
    refused = operator.set_fault('explosion')
    assert not refused.successful and 'joint_stuck' in refused.reason

    operator.set_fault('effort_offset')
    operator.until(lambda: operator.states[-1].effort[0] > 80.0, 'more than the effort limit')
    operator.set_fault('joint_stuck')
    stuck = operator.see(500).position[0]
    operator.send(([0.5, 0.5], 1))
    assert operator.see(800).position[0] == pytest.approx(stuck, abs=1e-6)
    operator.set_fault('drop_trajectory')
    held = operator.see(500).position
    operator.send(([-0.5, -0.5], 1))
    assert operator.see(800).position == pytest.approx(held, abs=0.01)
    operator.set_fault('')
    operator.send(([-0.5, -0.5], 1))
    operator.reach([-0.5, -0.5])


def test_what_is_fixed_at_the_start_cannot_be_set_later(robot):
    operator, _, _ = robot
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=100.0)
    request = SetParameters.Request(parameters=[Parameter(name='rate', value=value)])
    result = operator.call(operator.parameters, request).results[0]
    assert not result.successful and 'read-only' in result.reason


@pytest.mark.parametrize('parameters, message', [
    ([], 'robot_description and urdf_file'),
    (['urdf_file:=/nowhere.urdf'], '/nowhere.urdf'),
    ([f'urdf_file:={ARM}', 'rate:=1e6'], 'rate out of range'),
    ([f'urdf_file:={ARM}', 'gravity_base:=[0.0, 1.0]'], 'three finite numbers'),
    ([f'urdf_file:={ARM}', 'truth_file:=/nowhere/truth.yaml'], '/nowhere/truth.yaml'),
])
def test_bad_parameters_end_the_node_with_status_2_and_one_line(tmp_path, parameters, message):
    log = tmp_path / 'log'
    process = start(*parameters, log=log)
    assert process.wait() == 2
    process.kill()
    assert message in log.read_text() and log.read_text().count('\n') == 1
