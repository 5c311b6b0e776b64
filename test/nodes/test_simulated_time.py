"""Simulated time: a simulator by somebody else, slow and fast; a late player; wild stamps."""

from array import array
from pathlib import Path
import re

from arm_recordings import ARM, ORIGIN_NS, random_arm_motion
from diagnostic_msgs.msg import DiagnosticArray
from live_graph import LATCHED
import numpy as np
import pytest
from quintics import quintics
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
import yaml

from ros_inertial_id.excitation.fourier import FourierMotion
from ros_inertial_id.excitation.playback import HORIZON, MARGIN, PAST
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.nodes.course_sender import PIECE_PERIOD

CONTROLLER = 'joint_trajectory_controller/joint_trajectory'
RECORDED = 'joint_states', 'excitation/periods', 'torque_prediction/predicted'
STEP = 1e-3  # [rad] of a command in a millisecond that is a leap
PERIOD = 2.0  # [s]
STATE_PERIOD = 0.005  # [s] of the simulator


def slow_motion():
    """Return a motion of 2 s about the arm's zero."""
    motion = random_arm_motion(seed=2, period=PERIOD, acceleration=5.0)
    swing = np.abs(motion.sine).sum(1) + np.abs(motion.cosine).sum(1)
    share = 0.1 / swing[:, None]
    return FourierMotion(
        motion.joint_names,
        PERIOD,
        np.array([0.1, -0.2]),
        share * motion.sine,
        share * motion.cosine,
    )


class Beside:
    """Our nodes beside the simulator by somebody else at a FACTOR of real time, ready to play."""

    def __init__(self, graph, folder, model, factor):
        self.graph, self.bag, self.motion = graph, folder / 'bag', slow_motion()
        (folder / 'motion.yaml').write_text(yaml.safe_dump({'motion': self.motion.to_dict()}))
        (folder / 'model.yaml').write_text(model.to_yaml())
        self.simulator = graph.run('other_simulator.py', ARM, factor)
        graph.start(
            'recorder',
            out=folder,
            name='bag',
            topics=f'[{", ".join(RECORDED)}]',
            use_sim_time=True,
        )
        graph.start('torque_prediction', model_file=folder / 'model.yaml', use_sim_time=True)
        self.player = graph.start(
            'excitation', motion_file=folder / 'motion.yaml', use_sim_time=True, from_command=True
        )
        self.periods = graph.listen(String, 'excitation/periods', LATCHED)
        self.pieces = graph.listen(JointTrajectory, CONTROLLER)
        self.states = graph.listen(JointState, 'joint_states')
        graph.until(
            lambda: (
                graph.node.count_subscribers('joint_states') >= 4
                and all(map(graph.node.count_subscribers, RECORDED))
            ),
            'all readers',
        )
        graph.until(lambda: self.states, 'joint states')
        graph.until(self._ready, 'the robot')
        graph.until(
            lambda: graph.health('torque_prediction')[2].get('predicted', '0') != '0',
            'predictions',
        )

    def _ready(self):
        answer = self.graph.call('excitation/check')
        assert 'another clock' not in answer.message
        return answer.success

    def play(self):
        """Begin to play."""
        self.answer = self.graph.ask(Trigger, 'excitation/play', Trigger.Request())
        self.graph.until(lambda: self.periods or self.answer.done(), 'its periods')
        assert self.periods, self.answer.result().message

    def finish(self):
        """Wait for the end, which no doubt may have brought about."""
        self.graph.until(self.answer.done, 'the end')
        assert self.answer.result().success, self.answer.result().message

    @property
    def time(self):
        """Return the newest of the robot's time [s]."""
        return stamp(self.states[-1].header)

    def rest_at(self, end):
        """Let the robot's time pass until ``end`` [s], however slow this computer is."""
        self.simulator.say(end)
        self.graph.until(lambda: self.time >= end - STATE_PERIOD, 'time to pass')


def stamp(header):
    """Return the stamp [s] of a simulator's time, which is small."""
    return header.stamp.sec + header.stamp.nanosec * 1e-9


@pytest.mark.parametrize('factor', [0.5, 2.0])
def test_nodes_beside_a_simulator_by_somebody_else(graph, tmp_path, arm_model, factor):
    beside = Beside(graph, tmp_path, arm_model, factor)
    beside.play()
    beside.finish()
    said = beside.simulator.output
    steps = [float(x) for x in re.findall('largest step ([0-9.]+)', said)]
    oldest = max(map(float, re.findall('oldest piece ([0-9.]+)', said)))
    # What the motion itself has, and no leap; of a piece that came when the arm was easing to rest
    # already, at most the way that the arm has lost by then.
    speed = np.abs(beside.motion.at(np.linspace(0.0, PERIOD, 4000))[1]).max()
    lost = speed * max(0.0, oldest - (HORIZON - 2 * PIECE_PERIOD))
    assert max(steps) < STEP + 1.1 * speed * 1e-3 + lost
    recording = read_bag(beside.bag)
    stamps = recording.channels['/joint_states'].stamp_ns
    assert (np.diff(stamps) == 5_000_000).all()  # nothing was lost
    begin, end = yaml.safe_load(recording.periods)['bounds_ns']
    assert stamps[0] < begin and stamps[-1] > end
    predicted = recording.channels['/torque_prediction/predicted'].stamp_ns
    assert len(predicted) and (np.diff(predicted) == 5_000_000).all()  # late ones are not in it


def test_a_late_piece_goes_on_from_where_the_last_one_is(graph, tmp_path, arm_model):
    beside = Beside(graph, tmp_path, arm_model, 0.5)
    beside.play()
    begin = yaml.safe_load(beside.periods[-1].data)['bounds_ns'][0] * 1e-9
    beside.rest_at(begin + 0.4)
    with beside.player.held_up():
        beside.rest_at(beside.time + HORIZON + 0.1)
    beside.simulator.say(np.inf)
    beside.finish()
    assert 's late: the motion goes on from where the arm is' in beside.player.output
    pieces = [piece_of(message) for message in beside.pieces]
    plan = np.abs(beside.motion.at(np.linspace(0.0, PERIOD, 4000))[1]).max(0)
    for before, (times, course) in zip(pieces, pieces[1:]):
        # Whenever within MARGIN it arrives, the arm goes on where it was and as fast.  The first
        # piece has no past: before it the arm was at rest.
        arrives = times[PAST - 1] + np.linspace(0.0, MARGIN, 7)  # the last point of its past
        arrives = np.maximum(arrives, before[0][0])
        for part, step in ((0, 1e-7), (1, 1e-5)):
            away = course(arrives, part) - at_rest_after(before, arrives, part)
            assert np.abs(away).max() < step
        assert (np.abs(course(times, 1)).max(0) < 1.02 * plan + 1e-3).all()


def piece_of(message):
    """Return the times [s] of a trajectory's points, and its course as a polynomial of time."""
    began = stamp(message.header)
    times = np.array(
        [began + p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in message.points]
    )
    points = [[p.positions, p.velocities, p.accelerations] for p in message.points]
    return times, quintics(times, *np.swapaxes(points, 0, 1))


def at_rest_after(piece, times, part):
    """Return positions (0) or velocities (1) of a piece, which rests at its end."""
    ends, course = piece[0][-1], piece[1]
    return np.where(
        (times < ends)[:, None],
        course(np.minimum(times, ends), part),
        course(ends) if part == 0 else 0.0,
    )


def publish(graph, publisher, channel, stamp_ns):
    """Publish the joint states of a Channel with these stamps, faster than real time."""
    for k, stamp in enumerate(stamp_ns.tolist()):
        message = JointState(name=list(channel.names))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        for name in ('position', 'velocity', 'effort'):
            setattr(message, name, array('d', channel.fields[name][k]))
        publisher.publish(message)
        if k % 100 == 99:
            graph.spin(0.01)


@pytest.mark.parametrize('wild', [-(10**9), None], ids=['early', 'none'])
def test_a_wild_stamp_costs_predictions_of_its_own_message_alone(
    graph, tmp_path, arm_recording, arm_model, wild
):
    Path(tmp_path, 'model.yaml').write_text(arm_model.to_yaml())
    graph.start('torque_prediction', model_file=tmp_path / 'model.yaml')
    states = graph.node.create_publisher(JointState, 'joint_states', 5000)
    predicted = graph.listen(JointState, 'torque_prediction/predicted')
    graph.until(states.get_subscription_count, 'the reader')
    channel = arm_recording.channels['/joint_states'].rows(slice(0, 2000))
    stamps = channel.stamp_ns.copy()
    bad = np.arange(25, 2000, 50)
    stamps[bad] = 0 if wild is None else stamps[bad] + wild
    publish(graph, states, channel, stamps)
    graph.until(lambda: len(predicted) >= 2000 - len(bad) - 110, 'the predictions')
    said = graph.health('torque_prediction')
    graph.until(
        lambda: (
            graph.health('torque_prediction')[2].get('/joint_states stamps left out')
            == str(len(bad))
        ),
        f'word of them, not {said}',
    )
    assert graph.health('torque_prediction')[2]['gaps'] == '0'


def test_an_online_estimate_goes_on_when_the_bag_is_played_again(graph, arm_recording):
    graph.start('identification', online=True)
    states = graph.node.create_publisher(JointState, 'joint_states', 5000)
    tables = graph.listen(DiagnosticArray, 'identification/online_parameters')
    graph.node.create_publisher(String, 'robot_description', LATCHED).publish(
        String(data=ARM.read_text())
    )
    graph.until(states.get_subscription_count, 'the reader')
    channel = arm_recording.channels['/joint_states']
    for played in range(3):
        publish(graph, states, channel, channel.stamp_ns)
        graph.until(
            lambda: (
                graph.health('identification')[2]
                .get('/joint_states clock', '0 times')
                .count(f'{played} times')
                or not played
            ),
            'the jump',
        )
        graph.until(lambda: 'online seconds' in graph.health('identification')[2], 'an estimate')
        learnt = float(graph.health('identification')[2]['online seconds'])
        assert 3.0 < learnt < 11.0  # of this time alone
    assert channel.stamp_ns[0] == ORIGIN_NS and tables
    assert graph.processes[0].output.count('went back by 10 s; beginning anew') == 2
