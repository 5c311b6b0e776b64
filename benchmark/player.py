"""
What an arm does with the pieces of a motion: commands, torques, path, and what faults leave.

    python benchmark/player.py [ROBOT [SECONDS]]     ROBOT of urdf/, default arm2; about 8 minutes
    python benchmark/player.py braking URDF...       designed motions: how fast they are stopped
    python benchmark/player.py late URDF...          designed motions: steps of late messages

MuJoCo moves an arm that is heavier than its description, behind the simulated
joint_trajectory_controller, at 1 kHz.  Pieces are made every 40 ms as the player does and arrive 2
to 30 ms later; the measure is the same course sent whole.  Per setting of the controller, servo
lag and speed are printed: the largest step of the command beside the course, the largest change of
the motor torque in a millisecond (beside that of the whole trajectory), and how far the arm is at
most from where the whole trajectory has it.  Faults come in the middle of the motion; the player
notices them as its nodes do and sends nothing more, or brakes.
"""

from copy import copy
from dataclasses import dataclass
import itertools
import pathlib
import sys

import numpy as np
import pinocchio as pin
from threadpoolctl import threadpool_limits

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.braking import GRID, LONGEST_BRAKING, SLOPE_STEP
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.path_clock import PathClock
from ros_inertial_id.excitation.playback import HORIZON, LEAD, MARGIN, plan_course
from ros_inertial_id.excitation.rehearsal import stopping_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / 'test' / 'oracles'))

from controlled_arm import ControlledArm, ControlledArmOptions  # noqa: E402

URDF = ROOT / 'urdf'
RATE, PIECE = 1000.0, 0.04  # [Hz], [s]
ON_ITS_WAY = 0.002, 0.03  # [s] of a message
SETTLED = 0.15  # [s] until the arm rests below its command
FAULT = 1.8  # [s] after the first piece
LAGS, SPEEDS = (0.0, 0.01, 0.05), (0.1, 0.5, 1.0)
PATH, RATES = 0.005, 401  # [s] and number of rates at which the least braking time is worked out
ANCHORS, CONTROLS = ('measured', 'desired'), ('computed_torque', 'effort_pid')


@dataclass(frozen=True)
class Run:
    """Commands, positions, speeds and motor torques (k, n) from the first piece on."""

    commands: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray


def resting(urdf, **options):
    """Return a ControlledArm that has come to rest below its command."""
    arm = ControlledArm(
        urdf, options=ControlledArmOptions(rate=RATE, seed=1, bandwidth=60.0, **options)
    )
    for _ in range(round(SETTLED * RATE)):
        arm.step()
    return arm


def course_of(robot, start, speed):
    """Return a Course of a fast motion of all joints, a short way from ``start``."""
    bounds = robot.lower, robot.upper, robot.velocity, 8.0 + 0.0 * robot.velocity
    motion = random_motion(
        robot.joint_names, bounds, np.random.default_rng(3), period=6.0, harmonics=3, share=0.7
    )
    return plan_course(motion, start, robot, speed=speed, approach_speed=0.5)


def pieces(course, robot, end, lost=()):
    """Return (arrival, times, points) of the pieces until ``end`` [s] after the first."""
    brakes = course.brakes(robot, kinematic_limits(robot, DesignOptions(acceleration=(8.0,))))
    rng, out, clock = np.random.default_rng(0), [], PathClock(0.0, brakes)
    for number in range(int(end / PIECE)):
        made = number * PIECE + rng.uniform(0.0, 0.01)
        arrival = made + rng.uniform(*ON_ITS_WAY)
        if number not in lost:
            clock.go_on(made - LEAD, HORIZON, MARGIN)
            times, *points = course.piece(clock, made - LEAD)
            out.append((arrival, LEAD + times, points))
    return out


def whole(course):
    """Return the course as one trajectory with a past."""
    times = np.arange(-0.5, course.duration + 0.02, 0.02)
    return [(0.0, LEAD + times, course.at(times))]


def follow(arm, messages, seconds, events=()):
    """Return the Run of an arm; events : (time, what to do with the arm), in order."""
    start, messages, events = arm.time, list(messages), list(events)
    rows = []
    for _ in range(round(seconds * RATE)):
        now = arm.time - start + 1e-9
        while events and events[0][0] <= now:
            events.pop(0)[1](arm)
        while messages and messages[0][0] <= now:
            _, times, points = messages.pop(0)
            arm.follow(start + times - arm.time, *points)
        at = arm.time
        sample = arm.step()
        rows.append((arm.controller.command([at])[0][0], sample.q, sample.v, sample.tau))
    return Run(*(np.array(column) for column in zip(*rows)))


def change(values):
    """Return the largest change in a millisecond."""
    return np.abs(np.diff(values, axis=0)).max()


def settings(urdf, robot, seconds):
    """Print a line for every setting."""
    print(
        'anchor    control          lag   speed   command step   torque per ms (whole)   '
        'beside the whole trajectory'
    )
    for anchor, control, lag, speed in itertools.product(ANCHORS, CONTROLS, LAGS, SPEEDS):
        options = {'anchor': anchor, 'control': control, 'servo_lag': lag}
        runs = []
        for way in (lambda course: pieces(course, robot, seconds), whole):
            arm = resting(urdf, **options)
            course = course_of(robot, arm.controller.command([arm.time])[0][0], speed)
            runs.append(follow(arm, way(course), seconds))
        many, one = runs
        beside = many.commands - course.at(np.arange(len(many.q)) / RATE - LEAD)[0]
        print(
            f'{anchor:9s} {control:15s} {1e3 * lag:3.0f} ms {speed:5.1f} '
            f'{1e3 * change(beside):9.4f} mrad {change(many.tau):9.3f} '
            f'({change(one.tau):.3f}) N m {1e3 * np.abs(many.q - one.q).max():12.4f} mrad',
            flush=True,
        )


def scaled(share):
    """Return an event that lets trajectories run at ``share`` of their speed."""
    return lambda arm: setattr(arm.controller, 'speed_scaling', share)


def faults(urdf, robot):
    """Print what is left of an arm after each fault."""
    cases = {  # pieces that are lost, until when pieces come, what happens to the arm
        'one message lost': ((36,), 4.0, ()),
        'every second lost': (range(1, 99, 2), 4.0, ()),
        'three in a row lost': ((36, 37, 38), 4.0, ()),
        'player killed': ((), FAULT, ()),
        'speed scaled to 30 %': ((), FAULT + 0.03, [(FAULT, scaled(0.3))]),
        'protective stop, released after 1 s': (
            (),
            FAULT + 0.03,
            [(FAULT, scaled(0.0)), (FAULT + 1.0, scaled(1.0))],
        ),
        'controller restarted': ((), FAULT + 0.03, [(FAULT, lambda arm: arm.hold())]),
    }
    print(
        '\nfault                                 command step   torque per ms   '
        'from the path   moves for'
    )
    for name, (lost, end, events) in cases.items():
        arm = resting(urdf)
        course = course_of(robot, arm.controller.command([arm.time])[0][0], 1.0)
        run = follow(arm, pieces(course, robot, end, set(lost)), 4.0, events)
        path = course.at(np.arange(0.0, 5.0, 0.001))[0]
        away = np.abs(run.commands[::10, None] - path[None]).max(-1).min(-1).max()
        moving = np.flatnonzero(np.abs(run.v).max(1) > 0.01)
        print(
            f'{name:38s} {1e3 * _beside_own_speed(run):9.3f} mrad {change(run.tau):9.3f} N m '
            f'{1e3 * away:11.2f} mrad {moving[-1] / RATE - FAULT:9.2f} s after it',
            flush=True,
        )


def _beside_own_speed(run):
    """Return the largest change of the command's step from one millisecond to the next."""
    return np.abs(np.diff(run.commands, 2, axis=0)).max()


def braking(*urdfs, seeds=(0, 1, 2)):
    """
    Print how designed motions of some robots are stopped, from all their moments.

    Beside the time to rest stand two that nobody can beat: of one joint alone, its speed over its
    acceleration limit and the time in which jerk lets that be reached; and along the path, where
    all joints slow down together, by acceleration and torque without jerk and torque rate.
    """
    print(
        'robot           seed   largest speed of its limit   brakes within   one joint alone   '
        'along the path   median      way   largest use of a limit'
    )
    for urdf, seed in itertools.product(urdfs, seeds):
        robot = load_robot_model(pathlib.Path(urdf).read_text())
        options = DesignOptions(seed=seed, restarts=1, seconds=3600.0)
        designed = design(robot, options)
        limits = kinematic_limits(robot, options)
        course = plan_course(designed.motion, designed.motion.start + 0.05, robot)
        brakes = course.brakes(robot, limits)
        times = [SLOPE_STEP * (len(s) - 1) for s in brakes.stops]
        speed = designed.use.joints['velocity'].max() * (1.0 - limits.margins['velocity'])
        alone, joint = one_joint_alone(course, limits, GRID * np.arange(len(times)))
        least = least_times(course, robot, limits, GRID * (len(times) - 1))
        print(
            f'{robot.name:15s} {seed:4d} {100.0 * speed:25.0f} % {brakes.longest:14.3f} s '
            f'{alone:8.3f} s (joint {joint + 1}) {least.max():14.3f} s '
            f'{np.median(times):6.2f} s {stopping_of(course, brakes).distance.max():6.2f} rad '
            f'{uses(course, robot, brakes, limits)}',
            flush=True,
        )


def late_pieces(*urdfs, delays=(0.005, 0.01, 0.02, 0.03, 0.06, 0.16, 0.2, 0.25, 0.4, 1.0)):
    """
    Print by how much commands step where something comes ``delays`` [s] late.

    That is a piece, where nothing else came meanwhile; the first piece after the link stalled for
    so long, of a player that knows nothing of it.  To stop, nothing is sent.
    """
    print(f'{"largest step, late by":30s}' + ''.join(f'{1e3 * d:7.0f} ms' for d in delays))
    for urdf in urdfs:
        robot = load_robot_model(pathlib.Path(urdf).read_text())
        options = DesignOptions(restarts=1)
        motion = design(robot, options).motion
        course = plan_course(motion, motion.start + 0.05, robot)
        brakes = course.brakes(robot, kinematic_limits(robot, options))
        steps = {name: np.zeros(len(delays)) for name in ('piece', 'stall')}
        for now in np.arange(course.approach + 0.3, course.duration - 1.5, 0.11):
            before = PathClock(0.0, brakes)
            for sent in np.arange(now - 0.12, now, PIECE):
                before.go_on(sent, HORIZON, MARGIN)
            piece, stall = copy(before), copy(before)
            piece.go_on(now, HORIZON, MARGIN)
            made = now
            for k, delay in enumerate(delays):
                while made < now + delay:  # each once, whatever is asked for
                    stall.go_on(made, HORIZON, MARGIN)
                    made += PIECE
                was, *others = (
                    course.along(clock.state(np.array([now + delay])))[0]
                    for clock in (before, piece, stall)
                )
                for name, other in zip(steps, others):
                    steps[name][k] = max(steps[name][k], np.abs(other - was).max())
        for name, values in steps.items():
            print(
                f'{robot.name + ", " + name:30s}'
                + ''.join(f'{1e3 * value:5.2f} mrad' for value in values),
                flush=True,
            )


def one_joint_alone(course, limits, times):
    """Return the longest time [s] in which a joint alone could stop, and which joint it is."""
    most = limits.acceleration / (1.0 - limits.margins['acceleration'])
    speeds = np.abs(course.at(times)[1])
    needed = speeds / most + np.where(speeds > most * most / limits.jerk, most / limits.jerk, 0.0)
    return needed.max(), int(needed.max(0).argmax())


def least_times(course, robot, limits, last):
    """
    Return the least times (N,) [s] to rest along the path, from full rate every PATH until last.

    Bellman's equation over places and rates of the path clock: no method can stop sooner within
    these limits of acceleration and torque.
    """
    count, rates = round(last / PATH) + 1, np.linspace(0.0, 1.0, RATES)
    beyond = np.arange(count + round(LONGEST_BRAKING / PATH))
    period = round(course.motion.period / course.speed / PATH)
    times = PATH * np.where(beyond < count, beyond, beyond - period)  # the motion repeats itself
    q, v, a = course.at(times)
    data = robot.pin_model.createData()

    def torque(speed, acceleration):
        return np.array(
            [
                pin.rnea(robot.pin_model, data, robot.pin_q(x), y, z)
                for x, y, z in zip(q, speed, acceleration)
            ]
        )

    gravity, none = torque(0.0 * v, 0.0 * a), np.zeros_like(a)
    parts = [
        np.hstack(pair)
        for pair in (
            (none, gravity),
            (a, torque(v, a) - gravity),
            (v, torque(0.0 * v, v) - gravity),
        )
    ]
    most = np.concatenate(
        [
            np.maximum(
                limits.acceleration / (1.0 - limits.margins['acceleration']), np.abs(a).max(0)
            ),
            robot.effort,
        ]
    )
    out, after = np.zeros(len(beyond)), np.where(rates > 0.0, LONGEST_BRAKING, 0.0)
    for k in reversed(beyond):
        x0, x1, x2 = (part[k] for part in parts)
        x2 = np.where(np.abs(x2) > 1e-9, x2, 1e-9)
        own, room = x0 + rates[:, None] ** 2 * x1, np.sign(x2) * most
        low = np.minimum(((-room - own) / x2).max(1), 0.0)  # [1/s] of the slope
        high = np.maximum(((room - own) / x2).min(1), 0.0)
        slowest, fastest = (rates**2 + 2.0 * PATH * slope for slope in (low, high))
        within = (rates**2 >= slowest[:, None]) & (rates**2 <= fastest[:, None])
        span = 2.0 * PATH / np.maximum(rates[:, None] + rates, 1e-9)
        there = np.sqrt(np.maximum(slowest, 0.0))
        hardest = 2.0 * PATH / np.maximum(rates + there, 1e-9) + np.interp(there, rates, after)
        stopped = np.where(slowest <= 0.0, rates / np.maximum(-low, 1e-9), LONGEST_BRAKING)
        after = np.minimum(
            np.minimum(np.where(within, span + after, LONGEST_BRAKING).min(1), stopped),
            np.where(slowest > 0.0, hardest, LONGEST_BRAKING),
        )
        out[k] = after[-1]
    return out[:count]


def uses(course, robot, brakes, limits):
    """Return in words the largest use of each limit while braking, looked at every millisecond."""
    data, worst = (
        robot.pin_model.createData(),
        dict.fromkeys(('acceleration', 'torque', 'jerk', 'torque rate'), 0.0),
    )
    whole = limits.acceleration / (1.0 - limits.margins['acceleration'])
    for k in range(0, len(brakes.stops), 5):
        stop = brakes.stop(0.0, brakes.stops[k][0, 0])
        q, v, a = course.along(stop.state(np.arange(0.0, stop.end, 1e-3)))
        tau = np.array(
            [pin.rnea(robot.pin_model, data, robot.pin_q(x), y, z) for x, y, z in zip(q, v, a)]
        )
        for kind, x, limit in (
            ('acceleration', a, whole),
            ('torque', tau, robot.effort),
            ('jerk', np.diff(a, axis=0) / 1e-3, limits.jerk),
            ('torque rate', np.diff(tau, axis=0) / 1e-3, limits.effort_rate),
        ):
            worst[kind] = max(worst[kind], (np.abs(x) / limit).max(initial=0.0))
    return ', '.join(f'{kind} {100.0 * use:.0f} %' for kind, use in worst.items())


def main(name='arm2', seconds=2.5):
    """Print both tables for one of our arms."""
    urdf = (URDF / f'{name}.urdf').read_text()
    robot = load_robot_model(urdf)
    settings(urdf, robot, float(seconds))
    faults(urdf, robot)


if __name__ == '__main__':
    with threadpool_limits(1, user_api='blas'):
        if sys.argv[1:2] == ['braking']:
            braking(*sys.argv[2:])
        elif sys.argv[1:2] == ['late']:
            late_pieces(*sys.argv[2:])
        else:
            main(*sys.argv[1:])
