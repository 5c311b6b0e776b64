"""
Pieces through the controller that is there: they must be one trajectory to it.

The controller is stepped at 1 kHz without a clock; drives follow its commands late, as real ones
do; pieces arrive every 0.1 s, late and unevenly.  The measure is the same motion sent whole.
"""

from functools import cache
from pathlib import Path

from joint_trajectory_controller import (
    ControllerOptions,
    DESIRED,
    JointTrajectoryController,
    MEASURED,
)
from motions import motion_within
import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.path_clock import PathClock
from ros_inertial_id.excitation.playback import HORIZON, MARGIN, plan_course
from ros_inertial_id.excitation.problem import DesignOptions

URDF = (Path(__file__).parents[2] / 'urdf' / 'franka.urdf').read_text()
ROBOT = load_robot_model(URDF)
LIMITS = kinematic_limits(ROBOT, DesignOptions())
TICK = 0.001  # [s]
PIECE = 0.1  # [s] between pieces
STIFFNESS, DAMPING = 600.0, 30.0  # [N m/rad], [N m s/rad] of an effort controller as Franka's


@cache
def course(speed):
    """Return a Course of fast motions in all seven joints, a short way from its start."""
    motion = motion_within(ROBOT, seed=3, share=0.8)
    return plan_course(motion, motion.start + 0.05, ROBOT, speed=speed, approach_speed=0.5)


@cache
def brakes(speed):
    """Return the Brakes of that course."""
    return course(speed).brakes(ROBOT, LIMITS)


def play(course, options, lag, messages, seconds=2.0):
    """
    Return commands (k, n) and what an effort controller asks for (k, n) at every tick.

    messages : (time it arrives, times, points) [s] in order
    """
    controller = JointTrajectoryController(course.start, options, TICK, memory=lag)
    ticks = np.arange(round(seconds / TICK)) * TICK
    commands, efforts, messages = [], [], list(messages)
    for now in ticks:
        q, v, _ = (x[0] for x in controller.command([now - lag]))
        while messages and messages[0][0] <= now:
            _, times, points = messages.pop(0)
            controller.receive(now, times, points)
        controller.update(now, q, v)
        wanted, speed, _ = (x[0] for x in controller.command([now]))
        commands.append(wanted)
        efforts.append(STIFFNESS * (wanted - q) + DAMPING * (speed - v))
    return np.array(commands), np.array(efforts)


def pieces(course, seconds=2.0, past=True, period=PIECE):
    """Yield the pieces of a course, every ``period`` [s]; each arrives after 2 to 30 ms."""
    rng, clock = np.random.default_rng(0), PathClock(0.0, brakes(course.speed))
    for number in range(int(seconds / period)):
        now = number * period + rng.uniform(0.0, 0.02)
        assert not clock.go_on(now, HORIZON, MARGIN)
        times, *points = course.piece(clock, now)
        first = 0 if past else int((times <= now + 0.02).sum())  # what is still to come
        yield now + rng.uniform(0.002, 0.03), times[first:], [x[first:] for x in points]


def whole(course):
    times = np.arange(0.0, course.duration + 0.02, 0.02)
    return [(0.0, times, course.at(times))]


def rate_of_nominal_torque(q):
    """Return the largest change of the nominal torque per tick of commands (k, n) [N m]."""
    data, v = ROBOT.pin_model.createData(), np.gradient(q, TICK, axis=0)
    tau = np.array(
        [pin.rnea(ROBOT.pin_model, data, *x) for x in zip(q, v, np.gradient(v, TICK, axis=0))]
    )
    return np.abs(np.diff(tau[3:-3], axis=0)).max()


@pytest.mark.parametrize(
    'anchor, lag, speed',
    [(MEASURED, 0.0, 0.1), (MEASURED, 0.01, 1.0), (MEASURED, 0.05, 1.0), (DESIRED, 0.05, 1.0)],
)
def test_pieces_are_followed_as_the_whole_trajectory_is(anchor, lag, speed):
    planned, options = course(speed), ControllerOptions(anchor=anchor)
    one, effort = play(planned, options, lag, whole(planned))
    many, pushed = play(planned, options, lag, pieces(planned))
    # the first piece arrives 30 ms after the course began, on a course that has hardly moved
    begun = 50
    assert np.abs(many - one)[begun:].max() < 1e-5  # [rad] interpolation between other knots
    steps = np.diff(many, axis=0) - np.diff(planned.at(np.arange(len(many)) * TICK)[0], axis=0)
    assert np.abs(steps).max() < 1e-4  # [rad]; the bar of the issue is 1 mrad
    change, least = (np.abs(np.diff(x, axis=0))[begun:].max() for x in (pushed, effort))
    assert change < least + 0.05  # [N m] in a millisecond; Franka allows 1
    assert rate_of_nominal_torque(many[begun:]) < 1.0


def test_a_controller_whose_clock_is_behind_follows_all_the_same():
    """As a simulated one on a busy computer: pieces arrive before their time on its clock."""
    planned, options = course(1.0), ControllerOptions()
    one, _ = play(planned, options, 0.05, whole(planned))
    early = [(at - 0.15, *piece) for at, *piece in pieces(planned)]
    many, _ = play(planned, options, 0.05, early)
    assert np.abs(many - one)[50:].max() < 1e-5  # [rad] interpolation between other knots


@pytest.mark.parametrize(
    'lost', [{20, 21, 22}, set(range(1, 40, 2))], ids=['three in a row', 'every second']
)
def test_lost_messages_are_made_up_for_by_the_next(lost):
    """Each piece covers four times the player's 50 ms."""
    planned, options = course(1.0), ControllerOptions()
    sent = list(pieces(planned, period=0.05))
    many, _ = play(planned, options, 0.01, sent)
    fewer, _ = play(planned, options, 0.01, [m for k, m in enumerate(sent) if k not in lost])
    # [rad] interpolation between other knots, and some milliseconds of the brake of a piece
    assert np.abs(many - fewer)[50:].max() < 3e-5


def test_pieces_without_a_past_would_jump_at_the_measured_state():
    """What the past of a piece is for, and that the simulated controller shows it."""
    planned = course(1.0)
    commands, efforts = play(
        planned, ControllerOptions(anchor=MEASURED), 0.05, pieces(planned, past=False)
    )
    steps = np.diff(commands, axis=0) - np.diff(
        planned.at(np.arange(len(commands)) * TICK)[0], axis=0
    )
    assert np.abs(steps).max() > 0.05  # [rad]
    assert np.abs(np.diff(efforts, axis=0)).max() > 5.0  # [N m] in a millisecond


def test_no_more_pieces_leave_the_arm_at_rest_on_its_path():
    """As after kill -9: within horizon and braking time, on the path."""
    planned = course(1.0)
    last = 2.0
    sent = [m for m in pieces(planned) if m[0] <= last]
    commands, _ = play(planned, ControllerOptions(), 0.0, sent, seconds=3.0)
    assert np.abs(np.diff(commands[round((last + 0.5) / TICK) :], axis=0)).max() == 0.0
    path = planned.at(np.arange(0.0, last + 1.0, 0.0005))[0]
    away = np.abs(commands[::7, None] - path[None]).max(-1).min(-1)
    assert away.max() < 2e-3  # [rad] half the way in half a millisecond at 3 rad/s
