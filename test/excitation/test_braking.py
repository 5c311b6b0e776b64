"""Braking keeps the limits from every moment of a course, and the stopping distance is true."""

from dataclasses import replace
from pathlib import Path

from motions import motion_within
import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation.braking import SLOPE_STEP
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.path_clock import PathClock
from ros_inertial_id.excitation.playback import HORIZON, MARGIN, plan_course
from ros_inertial_id.excitation.problem import DesignOptions
from ros_inertial_id.excitation.rehearsal import stopping_of

TEXT = (Path(__file__).parents[2] / 'urdf' / 'arm3.urdf').read_text()
ARM = load_robot_model(TEXT)
LIMITS = kinematic_limits(ARM, DesignOptions(acceleration=(8.0,), acceleration_margin=0.0))


def course(seed=0, speed=1.0):
    motion = motion_within(ARM, seed, acceleration=8.0, period=5.0)
    return plan_course(motion, motion.start, ARM, speed=speed)


def pieces(planned, brakes, count=40):
    """Yield (times, q, v, a) of braking pieces from moments all over the course."""
    for now in np.linspace(0.1, planned.duration - 0.1, count):
        clock = PathClock(0.0, brakes)
        clock.go_on(now, HORIZON, MARGIN)
        times, *motion = planned.piece(clock, now)
        braking = times >= now
        yield times[braking], *(x[braking] for x in motion)


def test_acceleration_and_its_changes_are_kept_from_every_moment():
    planned, limits = (
        course(),
        replace(LIMITS, jerk=np.full(3, 150.0), effort_rate=np.array([900.0, 700.0, 200.0])),
    )
    times = {}
    for name, kept in (('free', LIMITS), ('limited', limits)):
        brakes, hardest, fastest = planned.brakes(ARM, kept), 0.0, 0.0
        for k in range(0, len(brakes.stops), 5):
            clock = brakes.stop(0.0, 0.01 * k)
            q, v, a = planned.along(clock.state(np.arange(0.0, clock.end, 1e-3)))
            hardest = max(hardest, np.abs(a).max(initial=0.0))
            fastest = max(fastest, np.abs(np.diff(a, axis=0)).max(initial=0.0) / 1e-3)
        assert hardest <= 8.0 * 1.01  # between the places that were looked at
        times[name] = brakes.longest, fastest
    assert times['free'][0] < times['limited'][0] < 1.0
    assert times['limited'][1] < 150.0 * 1.05 < times['free'][1]


def test_torque_of_braking_is_kept_by_mujoco_s_word():
    planned = course()
    free = kinematic_limits(ARM, DesignOptions(acceleration=(1000.0,)))

    def peak(brakes):
        return np.max(
            [
                np.abs(mujoco_arm.torque(TEXT, q, v, a)).max(0) / ARM.effort
                for _, q, v, a in pieces(planned, brakes)
            ]
        )

    own = mujoco_arm.torque(TEXT, *planned.at(np.linspace(0.0, planned.duration, 2000)))
    hard = planned.brakes(ARM, free)
    allowed = 0.5 * (peak(hard) + (np.abs(own) / ARM.effort).max())
    assert allowed < 0.98 * peak(hard)
    soft = planned.brakes(ARM, free, allowed)
    assert soft.longest > hard.longest and peak(soft) <= 1.02 * allowed


def test_stopping_distance_is_what_the_pieces_travel():
    planned = course()
    brakes = planned.brakes(ARM, LIMITS)
    stopping = stopping_of(planned, brakes)
    told = np.max([np.abs(q - q[0]).max(0) for _, q, *_ in pieces(planned, brakes, 200)], axis=0)
    assert told == pytest.approx(stopping.distance, rel=0.1)
    assert stopping.seconds == HORIZON + brakes.longest


def test_an_arm_stops_as_fast_as_its_limits_let_it_and_faster_where_it_goes_slowly():
    """A joint at constant speed v stops in v / a and the time in which a is reached."""
    slow, fast = (course(speed=speed).brakes(ARM, LIMITS) for speed in (0.3, 1.0))
    assert slow.longest < fast.longest < 0.6
    times = np.array([SLOPE_STEP * (len(stop) - 1) for stop in fast.stops])
    speeds = np.abs(course().at(0.01 * np.arange(len(times)))[1]).max(1)
    assert (times > speeds / 8.0 - 0.35).all() and np.median(times) < 0.5 * fast.longest + 0.1
    with pytest.raises(MotionError, match='cannot be braked within the limits.*effort of joint'):
        course().brakes(ARM, LIMITS, effort=0.01)


def test_piece_ends_at_rest_as_soon_as_the_limits_let_it():
    planned = course()
    brakes = planned.brakes(ARM, LIMITS)
    for now in np.linspace(0.1, planned.duration - 0.5, 40):
        clock = PathClock(0.0, brakes)
        clock.go_on(now, HORIZON, MARGIN)
        times, _, v, a = planned.piece(clock, now)
        assert times[-1] <= now + HORIZON + brakes.longest + 1e-9
        assert np.abs(v[-1]).max() < 1e-12 and np.abs(a[-1]).max() < 1e-9
        assert np.abs(a).max() <= 8.0 * 1.01
