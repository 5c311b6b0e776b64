"""
By how much a command steps while the player is stopped, or its pieces come late or not at all.

    python benchmark/held_up.py [--busy N] [--count 50] [KIND ...]

KIND is of: stopped (the player, by SIGSTOP), late (its pieces wait and come at once, in order),
lost (they do not come), asked (they wait while ~/stop is called).  Each happens COUNT times, for
5 ms to 1.5 s, beside N busy processes.  The player moves an arm of MuJoCo in a process of its own,
whose time is the wall clock's and waits for nothing.  Between both stands this process.  When it
hands a piece on it compares it with the one before, as a joint_trajectory_controller follows them:
each at its own clock, at rest after its last point, none that has ended already: on its pieces
ros2_controllers' own code (4.42) stepped within 0.2 mrad of that.  Per length of what happened the
largest step of the command is printed, and how many motions ended by it; what came while this
process or the arm had no time itself is left out, and counted.
"""

import argparse
from collections import deque
from pathlib import Path
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / 'test' / folder) for folder in ('nodes', 'oracles', '')]

from arm_recordings import ARM, random_arm_motion  # noqa: E402
from live_graph import Graph, LATCHED  # noqa: E402
from quintics import quintics  # noqa: E402
from stage import write_motion  # noqa: E402

KINDS = ('stopped', 'late', 'lost', 'asked')
LENGTHS = (0.005, 0.03, 0.06, 0.1, 0.15, 0.25, 0.4, 0.7, 1.0, 1.5)  # [s]
MOVES = 1.0, 1.4  # [s] between what happens
SETTLES = 0.6  # [s] after it
PLAYER, CONTROLLER = 'link/joint_trajectory', 'joint_trajectory_controller/joint_trajectory'
BUSY = 'while True: pass'
OWN_GAP = 0.05  # [s] of wall time between two clocks, above which this process or the arm had none


class Link:
    """
    Hands pieces on, or holds them back.

    step : largest of the command since it was read; gap : [s] longest between two clocks since
    """

    def __init__(self, graph):
        self.holds = self.loses = False
        self.gap, self._noted = 0.0, time.monotonic()
        self.step, self._waiting, self._now, self._path = 0.0, deque(), 0.0, None
        self._out = graph.node.create_publisher(JointTrajectory, CONTROLLER, 10)
        graph.node.create_subscription(JointTrajectory, PLAYER, self._take, 10)
        graph.node.create_subscription(Clock, '/clock', self._note, 1)

    def _note(self, message):
        gap = time.monotonic() - self._noted
        self.gap, self._noted = max(self.gap, gap), self._noted + gap
        self._now = message.clock.sec + message.clock.nanosec * 1e-9

    def _take(self, message):
        if not self.loses:
            self._waiting.append(message)
        self.flush()

    def flush(self):
        """Hand on what waits, unless it is held back."""
        while self._waiting and not self.holds:
            message = self._waiting.popleft()
            self._judge(message)
            self._out.publish(message)

    def _judge(self, message):
        began = message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        times = [
            began + p.time_from_start.sec + p.time_from_start.nanosec * 1e-9
            for p in message.points
        ]
        if times[-1] < self._now:
            return
        points = [[p.positions, p.velocities, p.accelerations] for p in message.points]
        path = times, quintics(times, *np.swapaxes(points, 0, 1))
        if self._path is not None and times[0] < self._now:
            self.step = max(
                self.step, float(np.abs(_at(path, self._now) - _at(self._path, self._now)).max())
            )
        self._path = path


def _at(path, time_now):
    times, course = path
    return course(min(time_now, times[-1]))


class Arm:
    """A player, an arm by somebody else and the Link between them."""

    def __init__(self, graph, folder):
        self.graph, self.link = graph, Link(graph)
        motion = random_arm_motion(5, 8.0, share=0.5)
        graph.run('other_simulator.py', ARM, 1.0)
        self.player = graph.start(
            'excitation',
            motion_file=write_motion(folder / 'motion.yaml', motion),
            use_sim_time=True,
            from_command=True,
            controller=PLAYER,
            recorder='none',
            periods=20,
        )
        self._statuses = graph.listen(String, 'excitation/status', LATCHED)
        graph.until(lambda: graph.call('excitation/check').success, 'the robot')

    def playing(self):
        """Return whether a motion is played."""
        return bool(self._statuses) and self._statuses[-1].data == 'playing'

    def play(self):
        """Let a motion be well under way."""
        if self.playing():
            return
        while not self.playing():
            self.graph.spin(1.5)
            answer = self.graph.ask(Trigger, 'excitation/play', Trigger.Request())
            self.graph.until(lambda: self.playing() or answer.done(), 'the motion')
        self.graph.spin(3.0)

    def happens(self, kind, seconds):
        """Let something happen for ``seconds``; return the largest step [rad], None: unknown."""
        self.link.step = self.link.gap = 0.0
        if kind == 'stopped':
            with self.player.held_up():
                self.graph.spin(seconds)
        else:
            self.link.holds, self.link.loses = kind in ('late', 'asked'), kind == 'lost'
            if kind == 'asked':
                self.graph.ask(Trigger, 'excitation/stop', Trigger.Request())
            self.graph.spin(seconds)
            self.link.holds = self.link.loses = False
            self.link.flush()
        self.graph.spin(SETTLES)
        if self.link.gap > OWN_GAP:
            return None
        return self.link.step


def measure(kind, count):
    """Print the largest step of each of LENGTHS of a kind."""
    rng = random.Random(0)
    steps, ended = {length: [] for length in LENGTHS}, dict.fromkeys(LENGTHS, 0)
    with tempfile.TemporaryDirectory() as folder, Graph(Path(folder)) as graph:
        arm = Arm(graph, Path(folder))
        for k in range(count):
            arm.play()
            graph.spin(rng.uniform(*MOVES))
            length = LENGTHS[k % len(LENGTHS)]
            step = arm.happens(kind, length)
            if step is None:
                continue
            steps[length].append(step)
            ended[length] += not arm.playing()
    for length in LENGTHS:
        print(
            f'{kind:8s} {1e3 * length:6.0f} ms  largest of {len(steps[length])} steps '
            f'{1e3 * max(steps[length], default=0.0):8.3f} mrad, {ended[length]} motions ended',
            flush=True,
        )
    print(f'{kind:8s} {count - sum(map(len, steps.values()))} of {count} left out')


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('kinds', nargs='*', default=KINDS)
    parser.add_argument('--busy', type=int, default=0)
    parser.add_argument('--count', type=int, default=50)
    options = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, '-c', BUSY]) for _ in range(options.busy)]
    began = time.monotonic()
    try:
        for kind in options.kinds:
            measure(kind, options.count)
    finally:
        for process in busy:
            process.kill()
    print(f'{time.monotonic() - began:.0f} s')


if __name__ == '__main__':
    main()
