"""
Lateness stretches a motion and is never caught up.

A player that is held up for 0.1 to 1 s in every phase of a motion; the commands of the controller
that follows its pieces are looked at, at 1 kHz.
"""

from pathlib import Path

from motions import motion_within
import numpy as np
import pytest
from quintics import quintics

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.path_clock import LEAST_GAP, PathClock, POINT_STEP
from ros_inertial_id.excitation.playback import HORIZON, MARGIN, plan_course
from ros_inertial_id.excitation.problem import DesignOptions

ROBOT = load_robot_model((Path(__file__).parents[2] / 'urdf' / 'franka.urdf').read_text())
TICK, PIECE, TRANSPORT = 0.001, 0.04, 0.004  # [s]
ALLOWED = 8.0  # [rad/s^2]
CASES = 40  # of four pieces
LATE_MARGIN = 0.16  # [s] for the arrival of pieces after a late one, as of others
STOPS = (0.1, 0.2, 0.35, 0.6, 1.0)  # [s]


@pytest.fixture(scope='module')
def course():
    """Return a Course of fast motions in all seven joints."""
    motion = motion_within(ROBOT, seed=3, share=0.8, acceleration=8.0)
    return plan_course(motion, motion.start + 0.05, ROBOT, approach_speed=0.5)


@pytest.fixture(scope='module')
def brakes(course):
    """Return the Brakes of the course."""
    return course.brakes(ROBOT, kinematic_limits(ROBOT, DesignOptions(acceleration=(ALLOWED,))))


def play(course, brakes, stops):
    """
    Return commands (k, n) at every tick, and the PathClock.

    stops : {time: seconds} in which the player sends nothing
    """
    clock, messages, now = PathClock(0.0, brakes), [], 0.0
    while clock.state(np.array([now]))[0, 0] < course.duration:
        clock.go_on(now, HORIZON, MARGIN)
        messages.append((now + TRANSPORT, course.piece(clock, now)))
        now += PIECE
        now = next(
            (begin + long for begin, long in stops.items() if begin <= now < begin + long), now
        )
    # A controller enters each at its own clock, since it has a past, and follows it till the next.
    ticks, commands = np.arange(0.0, now + 4.0, TICK), []
    ends = [at for at, _ in messages[1:]] + [np.inf]
    for (at, (times, *points)), end in zip(messages, ends):
        following = ticks[(ticks >= at) & (ticks < end)]
        path = quintics(times, *points)
        commands.append(path(np.minimum(following, times[-1])))
    still = np.tile(course.start, (len(ticks) - sum(map(len, commands)), 1))
    return np.vstack([still, *commands]), clock


@pytest.mark.parametrize('long', STOPS)
def test_a_player_that_is_held_up_never_makes_the_arm_leap(course, brakes, long):
    places = np.linspace(0.3, course.duration - 1.5, 4 * len(STOPS))
    for begin in places[STOPS.index(long) :: len(STOPS)]:  # each length elsewhere on the course
        commands, clock = play(course, brakes, {begin: long})
        v = np.diff(commands, axis=0) / TICK
        a = np.diff(v, axis=0) / TICK
        s, rate, _ = clock.state(np.arange(len(commands)) * TICK)
        assert rate.max() <= 1.0 + 1e-9 and rate.min() >= -1e-9
        planned = np.abs(course.at(s[:-1])[1])  # at that place of the path
        assert (np.abs(v) - planned).max() < 0.02  # [rad/s], of 2
        assert np.abs(a).max() < 1.03 * ALLOWED
        end = course.at([course.duration])[0][0]
        np.testing.assert_allclose(commands[-1], end, atol=1e-9)  # it was all played
        assert (clock.delay > 0.0) == (long > HORIZON - MARGIN)


def test_periods_are_those_that_were_played(course, brakes):
    begin = course.approach + 2.0
    commands, clock = play(course, brakes, {begin: 0.8})
    starts = clock.times(course.period_starts())
    assert starts[0] == course.approach
    assert starts[1] - starts[0] == pytest.approx(6.0 + clock.delay, abs=1e-6)
    at = np.searchsorted(np.arange(len(commands)) * TICK, starts[1])
    np.testing.assert_allclose(commands[at], course.motion.start, atol=5e-3)


def test_a_second_stop_while_it_goes_on_is_stretched_too(course, brakes):
    commands, clock = play(course, brakes, {2.0: 0.5, 2.75: 0.4, 3.4: 0.3})
    a = np.diff(commands, 2, axis=0) / TICK**2
    assert np.abs(a).max() < 1.03 * ALLOWED
    assert np.abs(np.diff(commands, axis=0)).max() < 3e-3


def test_whenever_pieces_are_made_each_goes_on_from_the_one_before(course, brakes):
    """
    Random times and lateness, several late ones in a row, arrivals anywhere within the margins.

    The bounds are what quintics between points 20 ms apart leave of the motion itself.
    """
    rng, late = np.random.default_rng(0), 0
    for _ in range(CASES):
        clock, now, before = PathClock(0.0, brakes), rng.uniform(0.0, 6.0), None
        for wait in rng.choice([0.04, 0.2, 0.6], 4) * rng.uniform(0.5, 1.5, 4):
            slower = clock.go_on(now, HORIZON, MARGIN)
            late += slower
            times, *points = course.piece(clock, now)
            assert np.diff(times).min() > LEAST_GAP * POINT_STEP - 1e-9
            piece = quintics(times, *points)
            if before is not None:
                arrivals = now + np.linspace(0.0, LATE_MARGIN if slower else MARGIN, 13)
                for part, bound in enumerate((1e-7, 1e-5, 1e-3)):  # [rad], [rad/s], [rad/s^2]
                    away = at_rest_after(before, arrivals, part) - piece(arrivals, part)
                    assert np.abs(away).max() < bound
            before, now = piece, now + wait
    assert late > CASES


def at_rest_after(piece, times, part):
    """Return the derivative ``part`` of a piece at times, which rests at its end."""
    end = piece.x[-1]
    moving = (times < end)[:, None] | (part == 0)
    return np.where(moving, piece(np.minimum(times, end), part), 0.0)
