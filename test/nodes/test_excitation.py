"""The player of motions plays what was designed, and says in words what it does not play."""

from pathlib import Path
import re
import time

from arm_recordings import ARM
from live_graph import LATCHED
import numpy as np
import pytest
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from stage import CONTROLLER, PERIOD, small_motion, TRUTH, write_motion
from standing_robot import StandingRobot
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
import yaml

from ros_inertial_id.excitation.fourier import FourierMotion
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.nodes.excitation import Excitation
from ros_inertial_id.nodes.motion_design import PlaybackOptions
from ros_inertial_id.nodes.parameters import read_options
from ros_inertial_id.nodes.player_states import Event, State
from ros_inertial_id.nodes.running import GuardedNode


def test_motion_is_played_at_a_share_of_its_speed_and_recorded(stage):
    speed = 0.5
    words = stage.graph.call('excitation/check').message
    bag = stage.play(speed=speed, periods=1)
    later = stage.finishes(bag)
    assert 'velocity' in words and '% of its limits' in words
    assert re.search('[1-9] /excitation/periods', stage.said('finished'))  # a late piece adds one
    channels = stage.channels(bag)
    told = yaml.safe_load(read_bag(bag).periods)
    begin, end = told['bounds_ns']
    assert told['period_s'] == PERIOD / speed
    assert end - begin == pytest.approx(PERIOD / speed * 1e9, abs=2 + 1e9 * later)
    truth = channels['/' + TRUTH]
    assert truth.stamp_ns[0] < begin and truth.stamp_ns[-1] > end
    inside = (truth.stamp_ns > begin) & (truth.stamp_ns < end)
    path = stage.motion.at(np.linspace(0.0, PERIOD, 2000))[0]
    seen = truth.fields['position'][inside][::5]
    away = np.abs(seen[:, None] - path[None]).max(-1).min(-1)
    assert np.median(away) < 0.005 and away.max() < 0.05  # its soft controller strays
    reached = np.abs(truth.fields['velocity'][inside]).max()
    assert reached == pytest.approx(
        speed * np.abs(stage.motion.at(np.linspace(0.0, PERIOD, 2000))[1]).max(), rel=0.25
    )
    stage.rests()


def test_cancel_brakes_and_only_one_motion_is_played_at_a_time(stage):
    bag = stage.move(speed=0.25, periods=20)
    again = stage.graph.call('excitation/play')
    assert not again.success
    assert again.message == 'play is under way; wait for its end, or call ~/cancel'
    assert stage.graph.call('excitation/cancel').success
    stage.ends(bag, 'stopped: asked to; ')
    stage.rests()
    stage.channels(bag)
    count = len(stage.commands)
    idle = stage.graph.call('excitation/cancel')
    assert not idle.success and idle.message == 'nothing to cancel'
    assert len(stage.commands) == count


def test_progress_is_told_by_diagnostics(stage):
    bag = stage.move(speed=0.25, periods=20)

    def told():
        values = stage.graph.health('excitation')[2]
        return (values.get('work'), values.get('step')) == ('play', 'playing') and (
            float(values['fraction']) > 0.0
        )

    stage.graph.until(told, 'progress')
    stage.graph.call('excitation/stop')
    stage.ends(bag)


def test_play_answers_what_the_recorder_said(stage):
    bag = stage.play(speed=0.5, periods=20)
    assert stage.graph.call('excitation/stop').success
    stage.ends(bag)
    refused = stage.graph.call('excitation/play')  # into a bag that is there already
    assert not refused.success
    assert refused.message.startswith('the recorder refused: ') and str(bag) in refused.message
    assert stage.graph.call('recorder/stop').message == 'not recording; call ~/start first'


def test_simulated_time_waits_for_a_player_that_was_held_up(stage):
    clock = stage.graph.listen(Clock, '/clock')
    bag = stage.move(speed=0.5, periods=2)
    with stage.player.held_up():
        clock.clear()
        stage.graph.until(
            lambda: any(a == b == c for a, b, c in zip(clock, clock[1:], clock[2:])),
            'a clock that stands still',
        )
    stage.finishes(bag)
    stage.channels(bag)


@pytest.fixture
def ready_player(graph, tmp_path):
    """Yield a player in this process, in simulated time, that could play."""
    values = {
        'motion_file': write_motion(tmp_path / 'motion.yaml', small_motion()),
        'recorder': 'none',
        'use_sim_time': True,
        'from_command': True,
        'tracking': 1.0,
        'stale': 10.0,
    }
    player = Excitation(
        context=graph.context,
        parameter_overrides=[Parameter(name, value=value) for name, value in values.items()],
    )
    graph.executor.add_node(player)
    graph.node.create_publisher(String, 'robot_description', LATCHED).publish(
        String(data=ARM.read_text())
    )
    player.robot = StandingRobot(graph)
    player.robot.stand([0.0, 0.0])
    player.commands = graph.listen(JointTrajectory, CONTROLLER)
    graph.until(lambda: graph.call('excitation/check').success, 'the robot')
    yield player
    graph.executor.remove_node(player)
    player.destroy_node()


@pytest.fixture
def player(graph, ready_player):
    """Return a player in this process, in simulated time, that has begun to play."""
    graph.ask(Trigger, 'excitation/play', Trigger.Request())
    graph.until(lambda: len(ready_player.commands) > 3, 'the motion')
    return ready_player


def test_nothing_follows_a_first_piece_that_could_not_be_sent(graph, ready_player, monkeypatch):
    """The arm rests where it is held: the next piece would make it leap."""
    player, tried = ready_player._player, []

    def send(message):
        tried.append(message)
        raise OSError('no route')

    monkeypatch.setattr(player.controller, 'send', send)
    options = read_options(ready_player, PlaybackOptions)
    motion = graph.beside(lambda: ready_player._planned(options))
    assert player.happens(Event.ASKED)
    with pytest.raises(OSError, match='no route'):
        player.begin(motion)
    assert player.state is State.ENDING
    player.go_on()
    assert not player.happens(Event.DOUBT, 'asked to')
    assert len(tried) == 1 and player.ended.is_set() and player.how == 'stopped: no route'


def test_a_player_that_cannot_say_why_it_stops_ends_its_threads(monkeypatch, graph, player):
    """As where the middleware has ended; no time is lost with a controller it does not hear."""
    given_up = []

    def outcome(after, is_given_up):
        given_up.append(is_given_up())
        return ''

    def say(status):
        raise RuntimeError('the context is not valid')

    monkeypatch.setattr(player._player.controller, 'outcome', outcome)
    monkeypatch.setattr(player._player, '_say', say)
    graph.executor.remove_node(player)
    with pytest.raises(RuntimeError, match='not valid'):
        player.destroy_node()
    assert given_up == [True]
    assert player._player.state is State.IDLE and not player._work._thread.is_alive()
    monkeypatch.setattr(player, 'destroy_node', lambda: None)
    GuardedNode.destroy_node(player)


def test_pieces_go_on_coming_while_simulated_time_stands(graph, player):
    """It waits for one, which may be lost."""
    player.robot.step_ns = 0
    count = len(player.commands) + 3
    graph.until(lambda: len(player.commands) > count, 'pieces')


def test_no_piece_is_made_while_a_simulated_clock_may_leap(player, monkeypatch):
    """Made for an earlier time it would make the arm leap, which brakes by then."""
    wall, begin, sent = time.monotonic(), player.get_clock().now(), []
    monkeypatch.setattr(
        player._player.controller, 'send', lambda message: sent.append(message) or 0
    )
    for waited, passed in ((0.3, 0.01), (0.35, 0.05), (0.36, 0.3), (0.41, 0.31)):  # [s]
        assert not sent
        monkeypatch.setattr(time, 'monotonic', lambda: wall + waited)
        player.get_clock().set_ros_time_override(begin + Duration(seconds=passed))
        player._player.go_on()
    assert len(sent) == 1


def test_a_player_that_is_far_too_late_stops(stage):
    bag = stage.move(speed=0.5, periods=20)
    with stage.player.held_up():  # for which the simulator waits two seconds, no longer
        ended = stage.now() + 4_000_000_000
        stage.graph.until(lambda: stage.now() > ended, 'the simulator to go on')
    # The middleware brings a process that was stopped for seconds its messages late or at once.
    said = stage.ends(bag)
    assert any(
        words in said
        for words in ('this computer is too slow: a piece of the motion is', 'no joint states for')
    )
    stage.rests(1.0)  # the last piece goes on for 0.2 s and eases for up to 2 s
    stage.channels(bag)


def test_what_cannot_be_played_is_refused_in_words(graph, tmp_path):
    player = graph.start('excitation', recorder='nobody', use_sim_time=True, from_command=True)
    description = graph.node.create_publisher(String, 'robot_description', LATCHED)

    def refusal(verb='play'):
        response = graph.call(f'excitation/{verb}')
        assert not response.success
        return response.message

    give_states = StandingRobot(graph).stand

    assert refusal() == 'no motion; set motion_file: to the YAML of a design'
    graph.set('excitation', motion_file=str(tmp_path / 'none.yaml'))
    assert 'none.yaml cannot be read' in refusal('check')
    motion = small_motion()
    graph.set('excitation', motion_file=write_motion(tmp_path / 'motion.yaml', motion))
    assert refusal() == 'no robot_description was published'
    description.publish(String(data=ARM.read_text()))
    graph.until(lambda: 'no joint states' in refusal(), 'the description')
    assert refusal() == 'no joint states; expected /joint_states; start the robot driver'
    give_states([0.0], names=['joint1'])
    graph.until(lambda: 'joint_states lack joints; expected joint2' in refusal(), 'the states')
    give_states([0.0, 0.0], stamped=False)
    graph.until(lambda: 'joint_states carry no stamps' in refusal(), 'the states')
    give_states([3.1, 0.0])
    graph.until(lambda: 'nobody listens to' in refusal(), 'the states')
    assert refusal() == (
        f'nobody listens to {CONTROLLER}; start the joint_trajectory_controller, '
        'or correct controller:'
    )
    commands = graph.listen(JointTrajectory, CONTROLLER)
    graph.until(lambda: 'outside' in refusal(), 'the controller')
    assert refusal() == (
        'joint1 is outside its position limits; expected -2.9 to 2.9; found 3.1; '
        'move it back by hand first'
    )
    give_states([0.0, 0.0])
    graph.until(lambda: graph.call('excitation/check').success, 'the states')
    assert graph.set('excitation', from_command=False) == ''
    assert 'interpolate_from_desired_state: true of joint_trajectory_controller' in refusal()
    graph.set('excitation', from_command=True)
    fast = FourierMotion(motion.joint_names, 0.1, motion.offset, motion.sine, motion.cosine)
    graph.set('excitation', motion_file=write_motion(tmp_path / 'fast.yaml', fast))
    assert 'the course exceeds the speed limit of joint' in refusal()
    wide = FourierMotion(
        motion.joint_names, 60.0, motion.offset, 40 * motion.sine, 40 * motion.cosine
    )
    graph.set('excitation', motion_file=write_motion(tmp_path / 'wide.yaml', wide))
    assert 'the course leaves the position limits of joint' in refusal()
    other = FourierMotion(('a', 'b'), PERIOD, motion.offset, motion.sine, motion.cosine)
    graph.set('excitation', motion_file=write_motion(tmp_path / 'other.yaml', other))
    assert refusal() == ('the motion is of another robot; expected joint1, joint2; found a, b')
    assert 'read-only' in graph.set('excitation', controller='elsewhere')

    graph.set('excitation', motion_file=str(Path(tmp_path, 'motion.yaml')))
    assert refusal() == (
        'the recorder does not answer; start it, or start this node with recorder:=none'
    )
    assert refusal('stop') == 'nothing to cancel'
    assert not commands
    assert player.end() == 0
