"""The simulated controller against closed forms of what ros2_controllers documents."""

from joint_trajectory_controller import (ControllerOptions, DESIRED, JointTrajectoryController,
                                         MEASURED)
import numpy as np
import pytest

from ros_inertial_id.errors import MotionError

TICK = 0.001  # [s]
STILL = np.zeros(1)


def controller(**options):
    return JointTrajectoryController(STILL, ControllerOptions(**options), TICK)


def ramp(since, count=6):
    """Return times and points of a motion at 1 rad/s to rest; the last two points brake."""
    times = since + 0.5 * np.arange(count)
    q, v = np.arange(count) * 0.5, np.ones(count)
    q[-1], v[-1] = q[-2] + 0.25, 0.0
    return times, (q[:, None], v[:, None])


def position(one, now):
    return one.command([now])[0][0, 0]


def test_points_ahead_are_reached_from_the_measured_state_or_from_the_last_command():
    measured, velocity = np.array([0.3]), np.array([0.2])
    for anchor, (at, q, v) in (('measured', (0.0, 0.3, 0.2)), (DESIRED, (-TICK, 0.0, 0.0))):
        one = controller(anchor=anchor)
        one.receive(0.0, [1.0], ([[1.0]], [[0.0]]))
        one.update(0.0, measured, velocity)
        x = (0.5 - at) / (1.0 - at)  # cubic of Hermite
        there = ((2 * x**3 - 3 * x**2 + 1) * q + (x**3 - 2 * x**2 + x) * (1.0 - at) * v
                 + (3 * x**2 - 2 * x**3) * 1.0)
        assert position(one, 0.5) == pytest.approx(there, abs=1e-12)


def test_trajectory_with_a_past_is_entered_at_its_own_clock_wherever_the_arm_is():
    one = controller()
    one.receive(10.0, *ramp(since=9.0))
    one.update(10.0, np.array([0.7]), STILL)
    assert position(one, 10.0) == pytest.approx(1.0) and position(one, 10.2) == pytest.approx(1.2)


def test_replacement_takes_effect_at_the_next_update_alone():
    one = controller()
    one.receive(0.0, *ramp(since=0.0))
    one.update(0.0, STILL, STILL)
    one.receive(0.5, [0.4, 1.5], ([[3.0], [3.0]], [[0.0], [0.0]]))
    assert position(one, 0.5) == pytest.approx(0.5)
    one.update(0.5, STILL, STILL)
    assert position(one, 0.5) == pytest.approx(3.0)


def test_scaled_speed_slows_the_clock_and_a_new_trajectory_skips_what_was_lost():
    one = controller()
    one.receive(0.0, *ramp(since=0.0))
    one.update(0.0, STILL, STILL)
    one.speed_scaling = 0.3
    one.update(0.5, STILL, STILL)
    q, v, _ = (x[0, 0] for x in one.command([1.0]))
    assert q == pytest.approx(0.5 + 0.3 * 0.5) and v == pytest.approx(0.3)
    one.receive(1.0, *ramp(since=0.0))
    one.update(1.0, STILL, STILL)
    assert position(one, 1.0 + TICK) == pytest.approx(1.0 + TICK)
    assert position(one, 1.0 + 2 * TICK) == pytest.approx(1.0 + 1.3 * TICK)


@pytest.mark.parametrize('options, when, words', [
    ({'path_tolerance': 0.1}, 1.0, 'joint 1 is 0.5'),
    ({'goal_tolerance': 0.1, 'goal_time': 0.5}, 3.5, 'joint 1 is'),
    ({'goal_tolerance': 0.1, 'goal_time': 2.0}, 3.5, ''), ({'goal_tolerance': 0.1}, 9.0, ''),
    ({'path_tolerance': 0.1}, 2.5 - TICK, ''), ({}, 1.0, '')])
def test_arm_that_stays_behind_is_held_where_it_is(options, when, words):
    one, stuck = controller(**options), np.array([0.5])
    one.receive(0.0, *ramp(since=0.0))
    for now in (0.0, 0.5):
        assert one.update(now, np.array([now]), STILL) == ''
    reason = one.update(when, stuck, STILL)
    assert reason.startswith(words) and bool(reason) == bool(words)
    if words:
        one.update(when + TICK, np.array([0.4]), STILL)
        assert position(one, when + TICK) == 0.5 == position(one, when + 1.0)


def test_last_command_stays_for_the_update_that_aborts():
    one = controller(path_tolerance=0.1)
    one.receive(0.0, *ramp(since=0.0))
    one.update(0.0, STILL, STILL)
    assert one.update(1.0, np.array([0.5]), STILL)
    assert position(one, 1.0 + TICK / 2) == pytest.approx(1.0)
    one.receive(1.0 + TICK / 2, *ramp(since=0.0))  # replaces the holding
    one.update(1.0 + TICK, np.array([1.0]), STILL)
    assert position(one, 1.2) == pytest.approx(1.2)


@pytest.mark.parametrize('end, speed, taken', [
    (0.5, 1e-7, True), (0.5, 1.2e-7, False), (0.499999, 0.0, False)])
def test_trajectory_that_ends_before_now_or_moving_is_refused(end, speed, taken):
    one = controller()
    points = [[0.1], [0.2]], [[0.0], [speed]]
    if taken:
        return one.receive(0.5, [0.1, end], points)
    with pytest.raises(MotionError, match='moves' if speed else 'ahead of now'):
        one.receive(0.5, [0.1, end], points)


def test_effort_that_was_commanded_last_fades_until_the_first_point_ahead():
    for anchor, first, share in ((MEASURED, 0.2, 0.6), (MEASURED, -0.1, 0.0), (DESIRED, 0.2, 0.0)):
        one = controller(anchor=anchor)
        one.receive(0.0, [first, 1.0], ([[0.1], [0.2]],))
        one.update(0.0, STILL, STILL, effort=np.array([5.0]))
        at = np.array([0.08 - TICK, 0.5])  # what is commanded is meant for the next update
        assert one.feed_forward(at)[:, 0] == pytest.approx([5.0 * share, 0.0])
