"""A stage: a simulated arm, a recorder, a player of motions, and what is heard of them."""

import json
import re

from arm_recordings import ARM, random_arm_motion
from live_graph import LATCHED
import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory
import yaml

from ros_inertial_id.excitation.fourier import FourierMotion
from ros_inertial_id.measurement.bags.bag import read_bag

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
    return FourierMotion(
        motion.joint_names,
        PERIOD,
        np.array([0.1, -0.2]),
        scale * motion.sine,
        scale * motion.cosine,
    )


class Stage:
    """A simulated arm, a recorder and a player, and what is heard of them."""

    def __init__(self, graph, folder):
        self.graph, self.folder, self.motion = graph, folder, small_motion()
        self.motion_file = write_motion(folder / 'motion.yaml', self.motion)
        graph.run('controlled_robot.py', ARM, json.dumps({'rate': RATE, 'servo_lag': LAG, **SOFT}))
        self.recorder = graph.start(
            'recorder',
            out=folder,
            use_sim_time=True,
            topics=f'[joint_states, {TRUTH}, excitation/periods]',
        )
        self.truth = graph.listen(JointState, TRUTH)
        self.commands = graph.listen(JointTrajectory, CONTROLLER)
        self.statuses = graph.listen(String, 'excitation/status', LATCHED)
        self.periods = graph.listen(String, 'excitation/periods', LATCHED)
        self.player, self._bags = None, 0

    def start_player(self):
        """Start a player unless there is one; take back every fault."""
        if self.player is None or not self.player.alive():
            self.statuses.clear()
            self.player = self.graph.start(
                'excitation', motion_file=self.motion_file, use_sim_time=True, from_command=True
            )
            self.graph.until(lambda: self.said('idle'), 'the player')
        self.graph.set('simulated_robot', fault='')
        self.graph.call('recorder/stop')  # whatever a test that failed left behind
        self.graph.until(lambda: self.graph.call('excitation/check').success, 'the robot')
        for topic in (TRUTH, 'excitation/periods'):  # the test listens to them, too
            self.graph.until(
                lambda t=topic: self.graph.node.count_subscribers(t) >= 2,
                f'the recorder to find {topic}',
            )

    def play(self, **parameters):
        """Begin to play with these parameters; return the path of the bag."""
        self._bags += 1
        name = f'bag{self._bags}'
        assert self.graph.set('recorder', name=name) == ''
        assert self.graph.set('excitation', **{**DEFAULTS, **parameters}) == ''
        self.statuses.clear()
        self.periods.clear()
        self.answer = self.graph.ask(Trigger, 'excitation/play', Trigger.Request())
        self.graph.until(lambda: self.said('playing') or self.answer.done(), 'the motion')
        assert not self.answer.done(), self.answer.result().message
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
        words = self.ends(bag, 'finished')
        late = re.search('([0-9.]+) s later', words)
        return float(late[1]) + 0.005 if late else 0.0  # printed with two digits

    def ends(self, bag, how='stopped: '):
        """Wait for the answer, which begins so and names the bag; return it."""
        self.graph.until(self.answer.done, 'the end')
        answer = self.answer.result()
        assert answer.message.startswith(how) and f'; {bag}' in answer.message, answer.message
        assert answer.success == (how == 'finished')
        self.graph.until(lambda: self.said(answer.message), 'the same status')
        return answer.message

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
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
