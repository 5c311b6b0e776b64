"""Braking keeps the limits from every moment of a course, and the stopping distance is true."""

from dataclasses import replace
from pathlib import Path

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation.braking import with_brake
from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.path_clock import PathClock
from ros_inertial_id.excitation.playback import HORIZON, MARGIN, plan_course
from ros_inertial_id.excitation.problem import DesignOptions

TEXT = (Path(__file__).parents[2] / 'urdf' / 'arm3.urdf').read_text()
ARM = load_robot_model(TEXT)
LIMITS = kinematic_limits(ARM, DesignOptions(acceleration=(8.0,), acceleration_margin=0.0))


def course(seed=0, speed=1.0):
    motion = random_motion(ARM.joint_names, (ARM.lower, ARM.upper, ARM.velocity, np.full(3, 8.0)),
                           np.random.default_rng(seed), period=5.0, harmonics=3)
    return plan_course(motion, motion.start, ARM, speed=speed)


def pieces(planned, count=40):
    """Yield (when, times, q, v, a) of braking pieces from moments all over the course."""
    for now in np.linspace(0.1, planned.duration - 0.1, count):
        clock = PathClock(0.0, planned.ease)
        clock.brake(now, planned.brake)
        times, *motion = planned.piece(clock, now)
        braking = times >= now
        yield now, times[braking], *(x[braking] for x in motion)


def test_quarter_of_a_second_would_exceed_what_the_chosen_braking_time_keeps():
    planned = course()
    braked, _ = with_brake(planned, ARM, LIMITS)
    assert braked.brake > planned.brake
    hard, soft = (max(np.abs(a).max() for *_, a in pieces(one)) for one in (planned, braked))
    assert hard > 1.5 * 8.0 and soft <= 8.0 * 1.02  # between the phases that were looked at


def test_torque_of_braking_is_kept_by_mujoco_s_word():
    planned = replace(course(), brake=0.25)
    free = kinematic_limits(ARM, DesignOptions(acceleration=(1000.0,)))
    peak = np.max([np.abs(mujoco_arm.torque(TEXT, q, v, a)).max(0) / ARM.effort
                   for _, _, q, v, a in pieces(planned)])
    own = mujoco_arm.torque(TEXT, *planned.at(np.linspace(0.0, planned.duration, 2000)))
    allowed = 0.5 * (peak + (np.abs(own) / ARM.effort).max())
    assert allowed < 0.98 * peak
    braked, _ = with_brake(planned, ARM, free, allowed)
    kept = np.max([np.abs(mujoco_arm.torque(TEXT, q, v, a)).max(0) / ARM.effort
                   for _, _, q, v, a in pieces(braked)])
    assert braked.brake > 0.25 and kept <= 1.02 * allowed


def test_stopping_distance_is_what_the_pieces_travel():
    braked, stopping = with_brake(course(), ARM, LIMITS)
    told = np.max([np.abs(q - q[0]).max(0) for _, _, q, _, _ in pieces(braked, 200)], axis=0)
    assert told == pytest.approx(stopping.distance, rel=0.05)
    assert (told <= 1.01 * stopping.distance).all()
    assert stopping.alone == HORIZON + braked.ease and braked.ease >= braked.brake
    assert (stopping.distance_alone > stopping.distance).all()


def test_slower_course_brakes_sooner_and_hopeless_one_is_refused():
    fast, slow = (with_brake(course(speed=speed), ARM, LIMITS)[0].brake for speed in (1.0, 0.3))
    assert slow < fast
    with pytest.raises(MotionError, match='cannot be braked within the limits.*effort of joint'):
        with_brake(course(), ARM, LIMITS, effort=0.01)


def test_piece_ends_at_rest_with_hardly_more_than_the_course_s_own_acceleration():
    braked, _ = with_brake(course(), ARM, LIMITS)
    own, hardest = np.abs(braked.at(np.linspace(0.0, braked.duration, 5000))[2]).max(0), 0.0
    for now in np.linspace(0.1, braked.duration - 0.5, 40):
        clock = PathClock(0.0, braked.ease)
        clock.go_on(now, HORIZON, MARGIN)
        times, _, v, a = braked.piece(clock, now)
        hardest = np.maximum(hardest, np.abs(a).max(0))
    assert (hardest < 1.15 * own).all()
    assert times[-1] == pytest.approx(now + HORIZON + braked.ease)
    assert np.abs(v[-1]).max() < 1e-12 and np.abs(a[-1]).max() < 1e-9
