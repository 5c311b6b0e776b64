"""The player designs and rehearses: motions made on request, courses refused beforehand."""

from pathlib import Path

from arm_recordings import ARM
from live_graph import LATCHED
import numpy as np
import pytest
from standing_robot import StandingRobot
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
import yaml

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.fourier import FourierMotion

CONTROLLER = 'joint_trajectory_controller/joint_trajectory'
QUICK = {'design.restarts': 1, 'design.seconds': 3600.0}
LONG = {'design.restarts': 10000, 'design.seconds': 3600.0}


class Bench:
    """A player with a robot that stands still, published from here."""

    def __init__(self, graph, folder):
        self.graph, self.folder = graph, folder
        self.player = graph.start(
            'excitation', use_sim_time=True, recorder='nobody', from_command=True
        )
        self.description = graph.node.create_publisher(String, 'robot_description', LATCHED)
        self.robot = StandingRobot(graph)
        self.statuses = graph.listen(String, 'excitation/status', LATCHED)
        self.commands = graph.listen(JointTrajectory, CONTROLLER)
        graph.until(lambda: self.statuses, 'the player')

    def stand(self, ahead=0.0):
        """Publish joint states from now on, stamped ``ahead`` [s] of now."""
        self.robot.stand((0.0, 0.0), ahead=ahead)

    def ask(self, verb):
        return self.graph.call(f'excitation/{verb}')

    def begin(self, verb):
        """Return the future answer, once the work is under way."""

        def under_way():
            if not futures or futures[-1].done():  # the description is on its way
                futures.append(self.graph.ask(Trigger, f'excitation/{verb}', Trigger.Request()))
            return self.graph.health('excitation')[2].get('work') == verb

        futures = []
        self.graph.until(under_way, 'the work')
        return futures[-1]

    def refusal(self, verb='check'):
        response = self.ask(verb)
        return '' if response.success else response.message

    def write(self, **changes):
        """Set a small slow motion, as a design with changes of its YAML."""
        motion = FourierMotion(
            ('joint1', 'joint2'),
            10.0,
            np.array([0.0, 0.3]),
            np.array([[0.2, -0.1], [0.2, -0.1]]),
            np.zeros((2, 2)),
        )
        path = Path(self.folder, f'{len(list(Path(self.folder).iterdir()))}.yaml')
        path.write_text(yaml.safe_dump({'motion': motion.to_dict(), **changes}))
        assert self.graph.set('excitation', motion_file=str(path)) == ''
        return str(path)


def test_motion_is_designed_on_request_while_the_node_answers(graph, tmp_path):
    bench = Bench(graph, tmp_path)
    assert bench.refusal('design') == 'no robot_description was published'
    bench.description.publish(String(data=ARM.read_text()))
    assert graph.set('excitation', **LONG) == ''
    answer = bench.begin('design')
    for verb in ('design', 'check', 'play'):
        assert bench.refusal(verb) == 'design is under way; wait for its end, or call ~/cancel'
    graph.until(lambda: ', best ' in graph.health('excitation')[1], 'the first motion')
    assert bench.ask('stop').success
    graph.until(answer.done, 'the design')
    assert answer.result().success and answer.result().message.startswith('designed: ')
    graph.until(lambda: bench.statuses[-1].data == answer.result().message, 'the same status')
    path = Path(graph.get('excitation', 'motion_file').string_value)
    assert path.name == 'motion.yaml' and path.parents[1] == graph.folder / 'designs'
    assert bench.statuses[-1].data.endswith(f'; motion_file is {path}')
    content = yaml.safe_load(path.read_text())
    robot = load_robot_model(ARM.read_text())
    assert content['kinematics_sha256'] == robot.kinematics_sha256()
    assert content['result']['feasible'] is True
    assert graph.set('excitation', effort=1.0) == ''
    bench.stand()
    graph.until(lambda: bench.ask('check').success, 'the joint states')
    words = bench.ask('check').message
    assert 'effort' in words and 'position' in words and 'velocity' in words


def test_design_uses_the_parameters_and_says_why_it_fails(graph, tmp_path):
    bench = Bench(graph, tmp_path)
    bench.description.publish(String(data=ARM.read_text()))
    impossible = {'design.box': [5.0, 5.0, 5.0, 6.0, 6.0, 6.0], **QUICK}
    assert graph.set('excitation', **impossible) == ''
    words = 'none of 2000 postures within the position limits'
    graph.until(lambda: words in bench.refusal('design'), 'the description')
    graph.until(lambda: bench.statuses[-1].data.startswith('design failed: '), 'the failure')
    assert words in bench.statuses[-1].data
    graph.until(lambda: graph.health('excitation')[0] == 'error', 'the diagnostics')
    assert graph.set('excitation', **{'design.locked_joints': ['elbow']}) == ''
    assert "joint 'elbow' is not a moving joint" in bench.refusal('design')
    assert 'harmonics' in graph.set('excitation', **{'design.harmonics': 1})


@pytest.mark.parametrize(
    'given, expected',
    [
        ('serial_arm: {mounting: rpy 0 1.5708 0}', 'rpy 0 1.5708 0'),
        ('{serial_arm: {mounting: rpy 0 1.5708 0}, design: {mounting: upright}}', 'upright'),
        ('serial_arm: {mounting: imu}', ''),
    ],
)  # which nobody knows before the robot runs
def test_designs_are_for_the_mounting_of_the_configuration(graph, tmp_path, given, expected):
    config = tmp_path / 'robot.yaml'
    config.write_text(given)
    graph.start('excitation', config=config)
    assert graph.get('excitation', 'design.mounting').string_value == expected
    assert 'imu' in graph.set('excitation', **{'design.mounting': 'imu'})


def test_what_the_rehearsal_finds_is_refused_in_words(graph, tmp_path):
    bench = Bench(graph, tmp_path)
    bench.write()
    bench.description.publish(String(data=ARM.read_text()))
    graph.until(lambda: 'no joint states' in bench.refusal(), 'the description')
    for ahead, side in ((-3.0, 'behind'), (2.0, 'ahead')):
        bench.stand(ahead=ahead)
        words = 'by another clock; expected stamps within 1 s'
        graph.until(
            lambda: side in bench.refusal('play') and words in bench.refusal(), 'the wrong stamps'
        )
    bench.stand()
    graph.until(lambda: bench.ask('check').success, 'good joint states')

    assert graph.set('excitation', effort=0.02) == ''
    assert 'joint2 would need ' in bench.refusal('play')
    assert 'expected at most 0.02 of its effort limit 80' in bench.refusal()
    # The slow motion itself needs next to nothing.
    assert graph.set('excitation', **{'design.mounting': 'gravity 0 0 0'}) == ''
    words = bench.ask('check').message
    assert 'effort 0 % of its limits' in words and 'stops within' in words
    assert 'torques for mounting gravity 0 0 0' in words
    assert graph.set('excitation', effort=0.95) == ''

    ball = ['sphere 0.2 0 0.37 0.05']
    assert graph.set('excitation', **{'design.obstacles': ball}) == ''
    assert 'on this course link' in bench.refusal('play')
    assert 'too near to obstacle 1 (sphere 0.2 0 0.37 0.05)' in bench.refusal()
    assert "option obstacles; found 'ball 1 2 3'; there is: box X Y Z" in graph.set(
        'excitation', **{'design.obstacles': ['ball 1 2 3']}
    )
    assert graph.set('excitation', **{'design.obstacles': []}) == ''

    path = bench.write(robot='elsewhere', kinematics_sha256='0123456789abcdef')
    own = load_robot_model(ARM.read_text()).kinematics_sha256()[:12]
    assert bench.refusal('play') == (
        f"{path} was designed for other kinematics; expected robot 'elsewhere', kinematics "
        f"0123456789ab; found robot_description 'arm2', kinematics {own}; design for the "
        'robot_description that is published'
    )
    assert not bench.commands


def test_a_design_is_cancelled_and_a_motion_before_it_moves(graph, tmp_path):
    bench = Bench(graph, tmp_path)
    bench.description.publish(String(data=ARM.read_text()))
    assert graph.set('excitation', **LONG) == ''
    answer = bench.begin('design')
    assert bench.ask('cancel').success
    graph.until(answer.done, 'the end')
    assert not answer.result().success and answer.result().message == 'cancelled'
    graph.until(lambda: bench.statuses[-1].data == 'design cancelled', 'the status')
    assert not list(tmp_path.rglob('motion.yaml'))
    assert bench.refusal('cancel') == 'nothing to cancel'
    bench.write()
    bench.stand()
    graph.until(lambda: bench.ask('check').success, 'good joint states')
    answer = bench.begin('play')  # a check beside it might come first
    assert bench.ask('cancel').success
    asked = []

    def recorder(verb):
        return lambda _, response: (asked.append(verb), Trigger.Response(success=True))[1]

    for verb in ('start', 'stop'):  # while the motion is planned, or waits for its recorder
        graph.node.create_service(Trigger, f'nobody/{verb}', recorder(verb))
    graph.until(answer.done, 'the end')
    assert not answer.result().success and answer.result().message == 'cancelled'
    assert asked in ([], ['start', 'stop']) and not bench.commands


def test_a_signal_ends_the_node_in_the_middle_of_a_design(graph, tmp_path):
    bench = Bench(graph, tmp_path)
    bench.description.publish(String(data=ARM.read_text()))
    assert graph.set('excitation', **LONG) == ''
    bench.begin('design')
    assert bench.player.end() == 0
    assert 'Traceback' not in bench.player.output
