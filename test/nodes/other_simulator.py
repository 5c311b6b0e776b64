"""
A simulator by somebody else: other_simulator.py URDF FACTOR, with MuJoCo alone.

It owns the time, which passes FACTOR times as fast as real time, and follows trajectories as a
joint_trajectory_controller with its defaults: a trajectory whose first point lies ahead is
re-anchored at the measured state, one with a past is entered at its own clock.  Prints the largest
step of its command in a millisecond whenever it gets a larger one, and how old the oldest piece
was when it came: on a busy computer that is as old as it likes.  A line of standard input is the
time [s] at which it rests until the next line.  It also rests where the last piece has ended until
the next one comes, or nobody sends one: on a computer so busy that the player would be late by
seconds, which ends a motion.
"""

from pathlib import Path
import sys
from threading import Thread
import time

import mujoco
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

sys.path.append(str(Path(__file__).parents[1] / 'oracles'))
from quintics import quintics  # noqa: E402

STEP = 0.001  # [s]
STATES, CLOCKS = 5, 10  # steps between joint states and between clocks
STIFFNESS, DAMPING = 4000.0, 120.0
PAST = 10  # points of a piece, at least, before the time at which it was made
AFTER_PIECE = 0.3  # [s] beyond the end of the last piece, in which the player looks at the end
NOBODY_SENDS = 30.0  # [s] of wall time without a piece


class Simulator:
    def __init__(self, urdf):
        self.model = mujoco.MjModel.from_xml_string(urdf)
        self.model.opt.timestep = STEP
        self.data = mujoco.MjData(self.model)
        self.names = [self.model.joint(k).name for k in range(self.model.njnt)]
        self.home, self.path = self.data.qpos.copy(), None
        self.worst, self.oldest, self.before = 0.0, -1.0, self.home
        self.rests_at = self.waits_at = np.inf  # [s]
        self.received = 0.0  # [s] of wall time, the last piece
        self.node = rclpy.create_node('other_simulator')
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node.create_publisher(String, 'robot_description', latched).publish(String(data=urdf))
        self.clock = self.node.create_publisher(Clock, '/clock', 10)
        self.states = self.node.create_publisher(JointState, 'joint_states', 1000)
        self.node.create_subscription(
            JointTrajectory, 'joint_trajectory_controller/joint_trajectory', self.receive, 10
        )

    def obey(self):
        """Rest at the times that standard input tells."""
        for line in sys.stdin:
            self.rests_at = float(line)

    def rests(self):
        """Return whether time stands: as told, or since the next piece is late."""
        if self.data.time >= self.rests_at:
            return True
        late = time.monotonic() < self.received + NOBODY_SENDS
        return late and self.data.time >= self.waits_at

    def receive(self, message):
        began = message.header.stamp.sec + message.header.stamp.nanosec * 1e-9
        times = [
            began + p.time_from_start.sec + p.time_from_start.nanosec * 1e-9
            for p in message.points
        ]
        points = [[p.positions, p.velocities, p.accelerations] for p in message.points]
        if times[0] > self.data.time:
            rest = np.zeros(len(self.names))
            times.insert(0, self.data.time)
            points.insert(0, [self.data.qpos.copy(), rest, rest])
        elif len(times) > PAST and self.data.time - times[PAST - 1] > self.oldest:
            self.oldest = self.data.time - times[PAST - 1]
            print(f'oldest piece {self.oldest:.6f}', flush=True)
        self.path = times[-1], quintics(times, *np.swapaxes(points, 0, 1))
        self.waits_at, self.received = times[-1] + AFTER_PIECE, time.monotonic()
        self.home = np.array(message.points[-1].positions)

    def step(self, number):
        now = self.data.time
        q, v = self.home, 0.0 * self.home
        if self.path is not None and now < self.path[0]:
            q, v = self.path[1](now), self.path[1](now, 1)
        away = float(np.abs(q - self.before).max())
        self.before = q
        if away > 1.05 * self.worst:
            self.worst = away
            print(f'largest step {away:.6f}', flush=True)
        d = self.data
        mujoco.mj_inverse(self.model, d)
        d.qfrc_applied[:] = (
            d.qfrc_bias + STIFFNESS / 50 * (q - d.qpos) + DAMPING / 30 * (v - d.qvel)
        )
        mujoco.mj_step(self.model, d)
        if number % CLOCKS == 0:
            message = Clock()
            message.clock.sec, message.clock.nanosec = divmod(round(d.time * 1e9), 10**9)
            self.clock.publish(message)
        if number % STATES == 0:
            state = JointState(
                name=self.names,
                position=d.qpos.tolist(),
                velocity=d.qvel.tolist(),
                effort=d.qfrc_applied.tolist(),
            )
            state.header.stamp.sec, state.header.stamp.nanosec = divmod(round(d.time * 1e9), 10**9)
            self.states.publish(state)


def main(path, factor):
    """Simulate until ROS ends."""
    rclpy.init()
    with open(path) as file:
        simulator = Simulator(file.read())
    executor = SingleThreadedExecutor()
    executor.add_node(simulator.node)
    Thread(target=simulator.obey, daemon=True).start()
    began, number = time.monotonic(), 0
    while rclpy.ok():
        due = (time.monotonic() - began) * factor / STEP
        if due > number + 100:  # as MuJoCo's simulate: what is late is not made up for
            began += (due - number - 100) * STEP / factor
        for _ in range(max(0, min(100, int(due) - number))):
            if simulator.rests():
                break
            number += 1
            simulator.step(number)
            if number % 5 == 0:
                executor.spin_once(timeout_sec=0.0)
        executor.spin_once(timeout_sec=0.002)


if __name__ == '__main__':
    main(sys.argv[1], float(sys.argv[2]))
