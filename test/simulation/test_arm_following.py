"""What the simulated arm is told to follow: paths through points, new ones, none, wrong ones."""

import math

from mujoco_arm import description
import numpy as np
import pytest

from ros_inertial_id.errors import MotionError
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm
from ros_inertial_id.simulation.joint_path import path_of_points

AS_DESCRIBED = {'mass_change': 0.0, 'center_shift': 0.0, 'shape_change': 0.0, 'friction': 0.0}


@pytest.mark.parametrize('derivatives', [0, 1, 2])
def test_path_passes_its_points_and_rests_after_the_last(derivatives):
    rng = np.random.default_rng(derivatives)
    times, points = np.array([0.5, 1.0, 1.5, 2.5]), rng.normal(size=(3, 4, 2))
    points[1:, -1] = 0  # at rest in the end
    path = path_of_points(times, points[: 1 + derivatives], 2)
    q, v, a = path(np.array([0.5, 1.0, 1.5, 2.5, 9.0]))
    assert q[:4] == pytest.approx(points[0]) and q[4] == pytest.approx(points[0, -1])
    assert not v[3:].any() and not a[3:].any()
    if derivatives:
        assert v[:4] == pytest.approx(points[1])
    else:  # a straight line
        assert path(np.array([0.75]))[0][0] == pytest.approx(points[0, :2].mean(0))
    if derivatives == 2:
        assert a[:4] == pytest.approx(points[2])
    inside = np.array([0.6, 0.9, 1.1, 1.4, 1.7, 2.4])
    ahead, behind = path(inside + 1e-5), path(inside - 1e-5)
    for k in (0, 1):  # difference quotients; 1e-10 truncation plus 1e-11 rounding
        assert (ahead[k] - behind[k]) / 2e-5 == pytest.approx(path(inside)[k + 1], abs=1e-6)


def test_new_trajectory_replaces_the_rest_of_the_old_one_without_a_jump():
    arm = SimulatedArm(description('arm2'), options=ArmOptions(**AS_DESCRIBED))
    rest = [[0.0, 0.0]]
    arm.follow([1.0], [[0.5, 0.5]], rest, rest)
    before = [arm.step() for _ in range(250)]  # half way, at full speed
    arm.follow([1.0], [[-0.2, 0.1]], rest, rest)
    after = [arm.step() for _ in range(1000)]
    q = np.array([sample.q for sample in before + after])
    v = np.array([sample.v for sample in before + after])
    assert np.abs(before[-1].v).min() > 0.5
    assert np.abs(np.diff(q, axis=0)).max() < 1.1 * np.abs(v).max() / 500
    assert np.abs(np.diff(v, axis=0)).max() < 0.05  # a jump of the reference would be 0.9
    assert after[-1].q == pytest.approx([-0.2, 0.1], abs=1e-6)  # exact model: held exactly
    assert after[-1].v == pytest.approx([0, 0], abs=1e-6)


@pytest.mark.parametrize(
    'times, positions, velocities, message',
    [
        ([1.0, 0.5], [[0, 0], [0, 0]], None, 'increasing'),
        ([-0.001], [[0, 0]], None, 'not before now'),
        ([1.0], [[0, math.nan]], None, 'finite'),
        ([1.0], [[0, 0, 0]], None, '1 points of 2 joints'),
        ([1.0], [[0, 0]], [[0, 1]], 'at rest'),
        ([1.0], [[0, 9]], None, 'position limits of joint2'),
        ([], np.zeros((0, 2)), None, 'no point'),
    ],
)
def test_trajectory_that_cannot_be_followed_is_refused_and_changes_nothing(
    times, positions, velocities, message
):
    arm = SimulatedArm(description('arm2'), options=ArmOptions(**AS_DESCRIBED))
    arm.follow([0.5], [[0.1, 0.2]])
    with pytest.raises(MotionError, match=message):
        arm.follow(times, positions, velocities)
    sample = [arm.step() for _ in range(400)][-1]
    assert sample.q == pytest.approx([0.1, 0.2], abs=1e-3)
