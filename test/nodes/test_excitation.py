"""The player of motions plays what was designed; whatever happens, the arm comes to rest."""

import json
from pathlib import Path
import re
import signal

from arm_recordings import ARM, random_arm_motion
import numpy as np
import pytest
import yaml

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")
pytest.importorskip('mujoco', reason='the simulated arm needs mujoco')

from live_graph import LATCHED  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from standing_robot import StandingRobot  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from ros_inertial_id.excitation.fourier import FourierMotion  # noqa: E402
from ros_inertial_id.measurement.bags.bag import read_bag  # noqa: E402

CONTROLLER = 'joint_trajectory_controller/joint_trajectory'
TRUTH = 'simulated_robot/true_joint_states'
RATE = 100.0  # [Hz]
# A soft controller, of an arm about as described, strays no more and has a third to compute.
SOFT = {'bandwidth': 12.0, 'mass_change': 0.03, 'center_shift': 0.03, 'shape_change': 0.01}
DEFAULTS = {'stale': 0.1, 'tracking': 0.1}  # [s], [rad]: the player's own
LAG = 0.02  # [s] of the drives: what they lag behind must not become a jump with every piece
PERIOD = 1.0  # [s] of the motion at full speed
REST = 0.01  # [rad/s], a slow motion's hundredth
STOPPED = 1.5  # [s] after a kill: a piece goes on for 0.2 s, eases, and the drives lag


def write_motion(path, motion):
    """Write the YAML of a motion; return its path as text."""
    path.write_text(yaml.safe_dump({'motion': motion.to_dict()}))
    return str(path)


def small_motion():
    """Return a motion of about a quarter of a radian around the arm's home."""
    motion = random_arm_motion(seed=2, period=PERIOD, acceleration=30.0)
    swing = np.abs(motion.sine).sum(1) + np.abs(motion.cosine).sum(1)
    scale = 0.25 / swing[:, None]
    return FourierMotion(motion.joint_names, PERIOD, np.array([0.1, -0.2]),
                         scale * motion.sine, scale * motion.cosine)


class Stage:
    """A simulated arm, a recorder and a player, and what is heard of them."""

    def __init__(self, graph, folder):
        self.graph, self.folder, self.motion = graph, folder, small_motion()
        self.motion_file = write_motion(folder / 'motion.yaml', self.motion)
        graph.start('simulated_robot', urdf_file=ARM, rate=RATE, servo_lag=LAG, **SOFT)
        graph.start('recorder', out=folder, use_sim_time=True,
                    topics=f'[joint_states, {TRUTH}, excitation/periods]')
        self.truth = graph.listen(JointState, TRUTH)
        self.commands = graph.listen(JointTrajectory, CONTROLLER)
        self.statuses = graph.listen(String, 'excitation/status', LATCHED)
        self.periods = graph.listen(String, 'excitation/periods', LATCHED)
        self.player, self._bags = None, 0

    def start_player(self):
        """Start a player unless there is one; take back every fault."""
        if self.player is None or not self.player.alive():
            self.statuses.clear()
            self.player = self.graph.start('excitation', motion_file=self.motion_file,
                                           approach_speed=0.5, use_sim_time=True,
                                           from_command=True)
            self.graph.until(lambda: self.said('idle'), 'the player')
        self.graph.set('simulated_robot', fault='')
        self.graph.call('recorder/stop')  # whatever a test that failed left behind
        self.graph.until(lambda: self.graph.call('excitation/check').success, 'the robot')
        for topic in (TRUTH, 'excitation/periods'):  # the test listens to them, too
            self.graph.until(lambda t=topic: self.graph.node.count_subscribers(t) >= 2,
                             f'the recorder to find {topic}')

    def play(self, verb='play', **parameters):
        """Play with these parameters; return the path of the bag."""
        self._bags += 1
        name = f'bag{self._bags}'
        assert self.graph.set('recorder', name=name) == ''
        assert self.graph.set('excitation', **{**DEFAULTS, **parameters}) == ''
        self.statuses.clear()
        self.periods.clear()
        response = self.graph.call(f'excitation/{verb}')
        assert response.success, response.message
        return self.folder / name

    def said(self, words):
        """Return the last status that begins with the words, '' when none does."""
        return next((m.data for m in reversed(self.statuses) if m.data.startswith(words)), '')

    def move(self, **parameters):
        """Play until the arm is well within the first period; return the path of the bag."""
        bag = self.play(**parameters)
        self.graph.until(lambda: self.periods, 'the motion')
        begin = yaml.safe_load(self.periods[0].data)['bounds_ns'][0]
        self.graph.until(lambda: self.now() > begin + 400_000_000, 'the arm to move')
        assert not self.said('stopped')
        return bag

    def finishes(self, bag):
        """Wait for the end, which no doubt may have brought about; return how late it is [s]."""
        self.graph.until(lambda: '; ' in self.said('finished') or self.said('stopped'), 'the end')
        assert f'; {bag}: ' in self.said('finished'), self.statuses[-1].data
        late = re.search('([0-9.]+) s later', self.said('finished'))
        return float(late[1]) + 0.005 if late else 0.0  # printed with two digits

    def now(self):
        """Return the stamp of the newest true joint state [ns]."""
        return stamp_ns(self.truth[-1]) if self.truth else 0

    def rests(self, late=0.0):
        """Check that the arm does not move any more ``late`` [s] after it has to have stopped."""
        ended = self.now() + round((STOPPED + late) * 1e9)
        self.graph.until(lambda: self.now() > ended + 300_000_000, 'time to pass')
        stamps = np.array([stamp_ns(m) for m in self.truth])
        speed = np.abs([m.velocity for m in self.truth]).max(1)
        assert speed[stamps > ended].max() < REST

    def channels(self, bag):
        """Return the channels of a bag that must be whole."""
        recording = read_bag(bag)
        assert recording.provenance['damage'] == ()
        assert len(recording.channels['/joint_states']) > 0
        return recording.channels


def stamp_ns(message):
    """Return the header stamp [ns]."""
    return message.header.stamp.sec * 10 ** 9 + message.header.stamp.nanosec


@pytest.fixture(scope='module')
def whole_stage(shared_graph, tmp_path_factory):
    """Return the Stage of all tests here."""
    return Stage(shared_graph, tmp_path_factory.mktemp('stage'))


@pytest.fixture
def stage(whole_stage):
    """Return the Stage with a living player and a sound robot."""
    whole_stage.start_player()
    return whole_stage


@pytest.mark.parametrize('speed', [0.2, 0.5, 1.0])
def test_motion_is_played_at_a_share_of_its_speed_and_recorded(stage, speed):
    words = stage.graph.call('excitation/check').message
    bag = stage.play(speed=speed, periods=1)
    later = stage.finishes(bag)
    assert 'velocity' in words and '% of its limits' in words
    assert re.search('[12] /excitation/periods', stage.said('finished'))  # a late piece adds one
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
    assert reached == pytest.approx(speed * np.abs(
        stage.motion.at(np.linspace(0.0, PERIOD, 2000))[1]).max(), rel=0.25)
    stage.rests()


def test_stop_brakes_and_only_one_motion_is_played_at_a_time(stage):
    bag = stage.move(speed=0.25, periods=20)
    again = stage.graph.call('excitation/play')
    assert not again.success
    assert again.message == 'a motion is being played; call ~/stop first'
    assert stage.graph.call('excitation/stop').success
    stage.graph.until(lambda: stage.said('stopped: asked to; '), 'the end')
    assert str(bag) in stage.said('stopped: asked to; ')
    stage.rests()
    stage.channels(bag)
    idle = stage.graph.call('excitation/stop')
    assert not idle.success and idle.message == 'no motion is being played'


def test_a_motion_that_was_started_tells_its_progress_and_is_cancelled(stage):
    told = stage.graph.listen(String, 'excitation/progress', LATCHED)
    bag = stage.move(verb='start_play', speed=0.25, periods=20)
    steps = [json.loads(message.data) for message in told]
    stage.graph.until(lambda: json.loads(told[-1].data)['fraction'] > 0.0, 'progress')
    assert {'planning', 'playing'} <= {s['step'] for s in steps if s['work'] == 'play'}
    assert stage.graph.call('excitation/cancel').success
    stage.graph.until(lambda: str(bag) in stage.said('stopped: asked to; '), 'the end')
    stage.graph.until(lambda: json.loads(told[-1].data)['state'] == 'cancelled', 'its last word')
    stage.rests()


@pytest.mark.parametrize('fault, parameters, words', [
    ('joint_states_stop', {}, 'no joint states for'),
    ('joint_stuck', {}, 'joint1 is 0.'),
    ('effort_offset', {}, 'joint1: effort'),
    ('drop_trajectory', {'tracking': 0.15}, 'from where it should be (allowed 0.15)')])
def test_fault_stops_the_arm_closes_the_bag_and_is_named(stage, fault, parameters, words):
    bag = stage.move(speed=0.25, periods=20, **parameters)
    assert stage.graph.set('simulated_robot', fault=fault) == ''
    stage.graph.until(lambda: f'; {bag}' in stage.said('stopped: '), 'the end')
    assert words in stage.said('stopped: ')

    def lasts():
        times = [p.time_from_start.sec + p.time_from_start.nanosec * 1e-9
                 for p in stage.commands[-1].points]
        return times[-1] - times[0]

    # The past of a piece, and braking; it may come after the word, on another topic.
    stage.graph.until(lambda: lasts() < 0.5, 'the braking piece')
    count, brake = len(stage.commands), stage.commands[-1]
    assert brake.points[-1].velocities.tolist() == [0.0, 0.0]
    assert stage.graph.set('simulated_robot', fault='') == ''
    stage.rests()
    assert len(stage.commands) == count  # and nothing follows
    stage.graph.until(lambda: stage.graph.health('excitation')[0] == 'error', 'diagnostics')
    assert words in stage.graph.health('excitation')[1]
    stage.channels(bag)


@pytest.mark.parametrize('share, seconds', [(0.3, 2.0), (0.0, 0.5)],
                         ids=['speed slider', 'protective stop'])
def test_driver_that_slows_trajectories_down_ends_the_motion_without_a_jump(stage, share, seconds):
    """As UR's: a new piece would make the arm skip what it was slowed down by, or stopped for."""
    bag = stage.move(speed=0.25, periods=20)
    assert stage.graph.set('simulated_robot', speed_scaling=share) == ''
    stage.graph.until(lambda: f'; {bag}' in stage.said('stopped: '), 'the end')
    words = f'the driver runs trajectories at {100.0 * share:.0f} % of their speed'
    assert words in stage.said('stopped: ')
    stage.graph.spin(seconds)  # the rest of the piece takes three times as long, or waits
    refused = stage.graph.call('excitation/play')
    assert stage.graph.set('simulated_robot', speed_scaling=1.0) == ''
    assert not refused.success
    assert f'found {100.0 * share:.0f} % in speed_scaling' in refused.message
    stage.rests(1.0)  # what it was slowed down by
    stage.graph.until(lambda: stage.graph.call('excitation/check').success, 'full speed')
    limit = 0.25 * np.abs(stage.motion.at(np.linspace(0.0, PERIOD, 2000))[1]).max()
    assert np.abs([m.velocity for m in stage.truth[-1000:]]).max() < 1.5 * limit


def test_controller_that_was_restarted_gets_no_more_pieces(stage):
    """It holds the arm, and the next piece would begin ahead of it; this test listens, too."""
    bag = stage.move(speed=0.25, periods=20)
    assert stage.graph.set('simulated_robot', fault='controller_gone') == ''
    stage.graph.until(lambda: f'; {bag}' in stage.said('stopped: '), 'the end')
    assert 'joint_trajectory has gone, perhaps the controller' in stage.said('stopped: ')
    count = len(stage.commands)
    assert stage.graph.set('simulated_robot', fault='') == ''
    stage.rests()
    assert len(stage.commands) == count
    stage.channels(bag)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signal_in_mid_motion_stops_the_arm_and_closes_the_bag(stage, number):
    bag = stage.move(speed=0.25, periods=20)
    assert stage.player.end(number) == 0
    assert 'Traceback' not in stage.player.output
    stage.rests()
    stage.graph.until(lambda: stage.said('stopped: the player was shut down; '), 'the word')
    assert str(bag) in stage.said('stopped: ')
    stage.channels(bag)


def test_killed_player_leaves_the_arm_at_rest_by_its_last_piece(stage):
    bag = stage.move(speed=0.5, periods=20)
    stage.player.send(signal.SIGKILL)
    stage.player.wait()
    assert np.abs([m.velocity for m in stage.truth[-100:]]).max() > REST  # it moved
    stage.rests()
    assert stage.graph.call('recorder/stop').success
    stage.channels(bag)


def test_play_answers_what_the_recorder_said(stage):
    bag = stage.play(speed=0.5, periods=20)
    busy = stage.graph.call('excitation/play')
    assert busy.message == 'a motion is being played; call ~/stop first' and not busy.success
    assert stage.graph.call('excitation/stop').success
    stage.graph.until(lambda: f'; {bag}' in stage.said('stopped: '), 'the bag')
    refused = stage.graph.call('excitation/play')  # into a bag that is there already
    assert not refused.success
    assert refused.message.startswith('the recorder refused: ') and str(bag) in refused.message
    assert stage.graph.call('recorder/stop').message == 'not recording; call ~/start first'


def test_simulated_time_waits_for_a_player_that_was_held_up(stage):
    bag = stage.move(speed=0.5, periods=2)
    stage.player.pause(0.3)
    assert stage.finishes(bag) < 0.05
    stage.channels(bag)


def test_a_player_that_is_far_too_late_stops(stage):
    bag = stage.move(speed=0.5, periods=20)
    stage.player.pause(6.0)  # the simulator waits for two seconds of them
    stage.graph.until(lambda: f'; {bag}' in stage.said('stopped: '), 'the end')
    # The middleware brings a process that was stopped for seconds its messages late or at once.
    assert any(words in stage.said('stopped: ') for words in (
        'this computer is too slow: pieces of the motion left', 'no joint states for'))
    stage.rests(1.0)  # the last piece goes on for 0.2 s and eases for up to 2 s
    stage.channels(bag)


def test_what_cannot_be_played_is_refused_in_words(graph, tmp_path):
    player = graph.start('excitation', recorder='nobody', use_sim_time=True,
                         from_command=True)
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
    assert refusal() == (f'nobody listens to {CONTROLLER}; start the joint_trajectory_controller, '
                         'or correct controller:')
    commands = graph.listen(JointTrajectory, CONTROLLER)
    graph.until(lambda: 'outside' in refusal(), 'the controller')
    assert refusal() == ('joint1 is outside its position limits; expected -2.9 to 2.9; found 3.1; '
                         'move it back by hand first')
    give_states([0.0, 0.0])
    graph.until(lambda: graph.call('excitation/check').success, 'the states')
    assert graph.set('excitation', from_command=False) == ''
    assert 'interpolate_from_desired_state: true of joint_trajectory_controller' in refusal()
    graph.set('excitation', from_command=True)
    fast = FourierMotion(motion.joint_names, 0.1, motion.offset, motion.sine, motion.cosine)
    graph.set('excitation', motion_file=write_motion(tmp_path / 'fast.yaml', fast))
    assert 'the course exceeds the speed limit of joint' in refusal()
    wide = FourierMotion(motion.joint_names, 60.0, motion.offset, 40 * motion.sine,
                         40 * motion.cosine)
    graph.set('excitation', motion_file=write_motion(tmp_path / 'wide.yaml', wide))
    assert 'the course leaves the position limits of joint' in refusal()
    other = FourierMotion(('a', 'b'), PERIOD, motion.offset, motion.sine, motion.cosine)
    graph.set('excitation', motion_file=write_motion(tmp_path / 'other.yaml', other))
    assert refusal() == ('the motion is of another robot; expected joint1, joint2; found a, b')
    assert 'read-only' in graph.set('excitation', controller='elsewhere')

    graph.set('excitation', motion_file=str(Path(tmp_path, 'motion.yaml')))
    assert refusal() == ('the recorder does not answer; start it, or start this node with an '
                         'empty recorder:')
    assert refusal('stop') == 'no motion is being played'
    assert not commands
    assert player.end() == 0
