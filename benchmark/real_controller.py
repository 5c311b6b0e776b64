"""
The joint_trajectory_controller of ros2_controllers beside our model of it, command by command.

    python benchmark/real_controller.py EXECUTABLE     about 4 minutes

EXECUTABLE is made of real_controller.cpp, in an ament package that depends on
joint_trajectory_controller (ROS 2 Jazzy).  Both get the same trajectories, at the same times of a
simulated clock, and the same measured states, with the makers' parameters: UR (500 Hz, position
commands, tolerances, speed scaling) and FR3 (1 kHz, effort commands of gains 600 to 50 N m/rad),
and both values of interpolate_from_desired_state.  Printed per case: the largest difference of all
commands [rad], of efforts divided by the gain, and which trajectories were taken (1) and refused
(0) by each.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from ros_inertial_id.errors import MotionError
from ros_inertial_id.simulation.trajectory_controller import (ControllerOptions, DESIRED, MEASURED,
                                                              rest_at, TrajectoryController)

BEGIN = 100_000_000_000  # [ns] of the first update
MS = 1_000_000           # [ns]
OFFSET, FASTER = 0.005, 0.01  # [rad], [rad/s] by which the arm is beside the course
SECONDS = 1.2            # [s] of a case


@dataclass(frozen=True)
class Robot:
    """Parameters of a maker's own configuration; kp, kd (n,) of effort commands."""

    name: str
    rate: int
    joints: tuple[str, ...]
    command: str
    kp: np.ndarray
    kd: np.ndarray
    path_tolerance: float = 0.0
    goal_tolerance: float = 0.0


UR = Robot('UR', 500, ('shoulder_pan', 'shoulder_lift', 'elbow', 'wrist_1', 'wrist_2', 'wrist_3'),
           'position', np.ones(6), np.zeros(6), 0.2, 0.1)
FR3 = Robot('FR3', 1000, tuple(f'fr3_joint{j}' for j in range(1, 8)), 'effort',
            np.array([600., 600., 600., 600., 250., 150., 50.]),
            np.array([30., 30., 30., 30., 10., 10., 5.]))


@dataclass
class Send:
    """A trajectory that arrives at ``arrival`` and is stamped ``stamp`` [ns], 0: now."""

    arrival: int
    times: np.ndarray  # (m,) [ns] since the stamp
    points: Sequence[np.ndarray]
    stamp: int = BEGIN
    joints: tuple[int, ...] | None = None


@dataclass
class Case:
    """What is sent and measured; course (q, v, a) and the arm beside it."""

    name: str
    sends: list[Send] = field(default_factory=list)
    parameters: dict = field(default_factory=dict)   # of the controller
    options: dict = field(default_factory=dict)      # of the model
    scaling: dict[int, float] = field(default_factory=dict)  # from an update on
    switches: dict[int, bool] = field(default_factory=dict)
    stuck_from: float = np.inf  # [s] from which the arm does not move any more
    robots: tuple[Robot, ...] = (UR, FR3)
    ways: tuple[str, ...] = ('topic', 'action')


def course(seconds, n):
    """Return (q, v, a), each (k, n), of a motion at rest at 0 s, of up to 1 rad/s."""
    t, w = np.asarray(seconds, dtype=float)[:, None], 3.0 + 0.5 * np.arange(n)
    t = np.maximum(t, 0.0)
    size = 0.5 / w * (-1.0) ** np.arange(n)
    return (0.1 * np.arange(n) + size * (1.0 - np.cos(w * t)) * t,
            size * (w * np.sin(w * t) * t + 1.0 - np.cos(w * t)),
            size * (w * w * np.cos(w * t) * t + 2.0 * w * np.sin(w * t)))


def piece(begin, end, n, fields=3, step=0.02):
    """Return times [ns] and points of the course from ``begin`` to ``end`` [s], then to rest."""
    at = np.arange(begin, end + 1e-9, step)
    points = [np.vstack([x, x[-1:]]) for x in course(at, n)]
    points[0][-1] += points[1][-1] * 0.1
    points[1][-1] = points[2][-1] = 0.0
    return np.round(np.append(at, at[-1] + 0.2) * 1e9).astype(np.int64), points[:fields]


def pieces(n, lead, past, fields=3):
    """Return the Sends of pieces every 40 ms, from ``lead`` [s] ahead or ``past`` [s] back."""
    out = []
    for made in np.arange(0.0, 0.6, 0.04):
        begin = made - past if past else made + lead
        out.append(Send(BEGIN + round((made + 0.0073) * 1e9),
                        *piece(begin, made + 0.2, n, fields)))
    return out


def cases(n):
    """Return the Cases of an arm of ``n`` joints."""
    late, still = BEGIN + 300 * MS, np.zeros((1, n))
    whole = Send(BEGIN + 3 * MS, *piece(0.3, 0.9, n))
    moving = [Send(BEGIN + 100 * MS, np.array([500 * MS]), (still + 0.1, still + speed))
              for speed in (1e-3, 5e-7, 1e-7)]
    nothing = np.array([]), ()
    replaced = pieces(n, lead=0.03, past=0.0)
    scaled = pieces(n, lead=0.0, past=0.06)
    some = [piece(0.3, 0.9, n)[0], [x[:, :2] for x in piece(0.3, 0.9, n)[1]]]
    return [
        Case('quintic, first point ahead', [whole]),
        Case('cubic, first point ahead', [Send(BEGIN + 3 * MS, *piece(0.3, 0.9, n, 2))]),
        Case('straight lines, first point ahead', [Send(BEGIN + 3 * MS, *piece(0.3, 0.9, n, 1))]),
        Case('stamp 0: from now on', [Send(BEGIN + 3 * MS, *piece(0.3, 0.9, n), stamp=0)]),
        Case('one point ahead, while it moves', [whole, Send(
            late + 300 * MS, np.array([900 * MS]), (still + 0.2, still, still))]),
        Case('one point ahead, after an end with acceleration', [
            Send(BEGIN + 3 * MS, np.array([50, 250]) * MS,
                 [np.vstack([still, still + 0.05]), np.zeros((2, n)),
                  np.vstack([still, still + 3.0])]),
            Send(late, np.array([800 * MS]), (still + 0.2, still, still))]),
        Case('pieces with a past', pieces(n, lead=0.0, past=0.06)),
        Case('pieces ahead, each replaced', replaced),
        Case('pieces ahead of velocity, each replaced', pieces(n, lead=0.03, past=0.0, fields=2)),
        Case('wholly in the past; end now, and 1 us ago', [
            Send(late, *piece(0.0, 0.02, n)),
            Send(late, np.array([100, 300]) * MS, (np.vstack([still, still]),)),
            Send(late + 1000, np.array([100, 300]) * MS, (np.vstack([still, still]),))]),
        Case('last point moves by 1e-3, 5e-7, 1e-7 rad/s', moving),
        Case('no points; times equal; times back', [
            Send(late, *nothing), Send(late, np.array([500, 500]) * MS, (np.vstack([still] * 2),)),
            Send(late, np.array([500, 400]) * MS, (np.vstack([still] * 2),))]),
        Case('two joints, not allowed', [Send(BEGIN + 3 * MS, *some, joints=(0, 1))]),
        Case('two joints, allowed', [Send(BEGIN + 3 * MS, *some, joints=(1, 0))],
             {'allow_partial_joints_goal': True}, {'allow_partial_joints_goal': True},
             robots=(UR,)),
        Case('stuck: path tolerance', [whole], stuck_from=0.5, robots=(UR,)),
        Case('stuck: path tolerance, then a piece', [whole, Send(
            BEGIN + 950 * MS, np.array([1100 * MS]), (still, still, still))], stuck_from=0.5,
            robots=(UR,)),
        Case('stuck: goal tolerance, goal_time 0', [whole],
             {f'constraints.{j}.trajectory': 0.0 for j in UR.joints}, {'path_tolerance': 0.0},
             stuck_from=0.5, robots=(UR,)),
        Case('stuck: goal tolerance, goal_time 0.05 s', [whole],
             {f'constraints.{j}.trajectory': 0.0 for j in UR.joints}
             | {'constraints.goal_time': 0.05}, {'path_tolerance': 0.0, 'goal_time': 0.05},
             stuck_from=0.5, robots=(UR,)),
        Case('half speed', [whole], scaling={0: 0.5}, robots=(UR,)),
        Case('speed .2, .7, 0, 1 under way', [whole],
             scaling={0: 1.0, 200: 0.2, 250: 0.7, 300: 0.0, 320: 1.0}, robots=(UR,)),
        Case('half speed, pieces with a past', scaled, scaling={0: 1.0, 100: 0.5}, robots=(UR,)),
        Case('half speed, pieces ahead', replaced, scaling={0: 1.0, 100: 0.5}, robots=(UR,)),
        Case('deactivated under way, then activated', [whole], switches={300: False, 400: True},
             robots=(UR,)),
        Case('deactivated, a piece, activated, a piece', [
            whole, Send(BEGIN + 700 * MS, *piece(0.6, 0.9, n)),
            Send(BEGIN + 900 * MS, np.array([1100 * MS]), (still, still, still))],
            switches={300: False, 400: True}, robots=(UR,)),
    ]


def states(case, robot):
    """Return measured q, v (k, n) of every update."""
    t = np.arange(round(SECONDS * robot.rate)) / robot.rate
    q, v, _ = course(np.minimum(t, case.stuck_from), len(robot.joints))
    q += OFFSET * np.cos(np.arange(q.shape[1])) + 1e-4 * np.sin(50.0 * t)[:, None]
    return q, v * (t < case.stuck_from)[:, None] + FASTER


def scenario(case, robot, way, desired):
    """Return the text that real_controller.cpp reads."""
    n, out = len(robot.joints), [f'rate {robot.rate} command {robot.command}',
                                 f"joints {len(robot.joints)} {' '.join(robot.joints)}"]
    parameters = {'interpolate_from_desired_state': desired}
    for j, name in enumerate(robot.joints):
        if robot.command == 'effort':
            parameters |= {f'gains.{name}.p': robot.kp[j], f'gains.{name}.d': robot.kd[j]}
        else:
            parameters |= {f'constraints.{name}.trajectory': robot.path_tolerance,
                           f'constraints.{name}.goal': robot.goal_tolerance}
    for key, value in (parameters | case.parameters).items():
        boolean = isinstance(value, bool)
        out.append(f"param {'bool' if boolean else 'double'} {key} "
                   f'{str(value).lower() if boolean else value}')
    for one in case.sends:
        names = [robot.joints[j] for j in one.joints or range(n)]
        out.append(f'send {one.arrival} {way} {one.stamp} {len(names)} {" ".join(names)} '
                   f'{len(one.times)} {len(one.points)}')
        out += [f'{int(t)} ' + ' '.join(repr(float(x)) for p in one.points for x in p[i])
                for i, t in enumerate(one.times)]
    out += [f"switch {k} {'on' if on else 'off'}" for k, on in case.switches.items()]
    q, v = states(case, robot)
    out.append(f'updates {len(q)}')
    speeds = scalings(case, len(q))
    out += [' '.join(repr(float(x)) for x in [speeds[k], *q[k], *v[k]]) for k in range(len(q))]
    return '\n'.join(out) + '\n'


def scalings(case, count):
    """Return the speed scaling (count,) of every update."""
    out = np.ones(count)
    for begin, value in case.scaling.items():
        out[begin:] = value
    return out


def real(executable, text, n):
    """Return the commands (k, n), which sends were taken, and {number: code} of goals."""
    environment = os.environ | {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'scenario'
        path.write_text(text)
        run = subprocess.run([executable, str(path)], env=environment, text=True, check=True,
                             capture_output=True)
    lines = [line.split() for line in run.stdout.splitlines()]
    commands = np.array([line[2:] for line in lines if line[:1] == ['update']], dtype=float)
    return (commands[:, -n:], [int(line[2]) for line in lines if line[:1] == ['answer']],
            {int(line[1]): int(line[2]) for line in lines if line[:1] == ['result']})


class Modelled:
    """The model of the controller of a case, update by update."""

    def __init__(self, case, robot, desired):
        self._case, self._robot = case, robot
        self._states, self._speeds = states(case, robot), scalings(case, 10 ** 4)
        self._period, self._active = 1.0 / robot.rate, True
        self._options = ControllerOptions(
            **{'anchor': DESIRED if desired else MEASURED, 'path_tolerance': robot.path_tolerance,
               'goal_tolerance': robot.goal_tolerance, **case.options})
        self._one = TrajectoryController(self._states[0][0], self._options, self._period)

    def run(self):
        """Return the commands (k, n), and which sends were taken."""
        commands, taken, waiting = [], [], list(self._case.sends)
        effort = self._robot.command == 'effort'
        for k, (q, v) in enumerate(zip(*self._states)):
            now = k * round(1e9 * self._period) * 1e-9
            while waiting and waiting[0].arrival <= BEGIN + round(now * 1e9):
                taken.append(self._receive(waiting.pop(0), now))
            if k in self._case.switches:
                self._active = self._case.switches[k]
                self._one.follow(now, rest_at(self._one.command([now])[0][0]))
            self._one.speed_scaling = self._speeds[k]
            self._one.update(now, q, v, commands[-1] if effort and commands else 0.0)
            commands.append(self._command(now, q, v))
        return np.array(commands), taken

    def _command(self, now, q, v):
        if self._robot.command == 'effort':
            wanted_q, wanted_v, _ = (x[0] for x in self._one.command([now]))
            return (self._robot.kp * (wanted_q - q) + self._robot.kd * (wanted_v - v)
                    + self._one.feed_forward([now])[0])
        return self._one.command([now + self._period])[0][0]

    def _receive(self, sent, now):
        n = len(self._robot.joints)
        joints = list(sent.joints or range(n))
        if not self._active or (len(joints) < n and not self._options.allow_partial_joints_goal):
            return 0
        held = self._one.command([now])[0][0]
        points = [np.tile(held * (i == 0), (len(sent.times), 1)) for i in range(len(sent.points))]
        for whole, part in zip(points, sent.points):
            whole[:, joints] = part
        began = (sent.stamp or BEGIN + round(now * 1e9)) - BEGIN
        try:
            self._one.receive((sent.arrival - BEGIN) * 1e-9, (began + sent.times) * 1e-9, points)
        except MotionError:
            return 0
        return 1


def main(executable):
    """Print the table."""
    print(f"{'case':48} {'robot':5} {'anchor':8} {'sent by':7} {'difference':>11}  "
          f"{'taken: real':15} {'model':15} results of goals")
    for robot in (UR, FR3):
        for case in cases(len(robot.joints)):
            if robot not in case.robots:
                continue
            for desired in (False, True):
                modelled, answers = Modelled(case, robot, desired).run()
                for way in case.ways:
                    commands, taken, results = real(
                        executable, scenario(case, robot, way, desired), len(robot.joints))
                    away = np.abs(commands - modelled) / robot.kp
                    worst = np.unravel_index(np.nanargmax(away), away.shape)
                    anchor = DESIRED if desired else MEASURED
                    print(f'{case.name:48} {robot.name:5} {anchor:8} {way:7} '
                          f'{away[worst]:8.1e} @{worst[0]:<4} '
                          f'{"".join(map(str, taken)):15} {"".join(map(str, answers)):15} '
                          f'{" ".join(map(str, results.values()))}', flush=True)


if __name__ == '__main__':
    main(sys.argv[1])
