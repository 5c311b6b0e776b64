"""What makes a player stop: each limit by itself, and nothing else."""

import re

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.playback import Guard

GUARD = Guard(tracking=0.1, stale=0.1, effort=0.95)


@pytest.fixture(scope='module')
def robot():
    return load_robot_model(mujoco_arm.description('arm3'))


def samples(robot):
    """Return expected, q, v, tau (5, n) of a robot that does what it should."""
    middle = (robot.lower + robot.upper) / 2
    return [
        np.tile(x, (5, 1))
        for x in (middle, middle + 0.05, 0.5 * robot.velocity, 0.9 * robot.effort)
    ]


def test_a_robot_that_follows_is_left_alone(robot):
    assert GUARD.objection(robot, *samples(robot)) == ''
    expected, q, v, tau = samples(robot)
    assert GUARD.objection(robot, expected, q, v, np.full_like(tau, np.nan)) == ''  # no efforts


@pytest.mark.parametrize(
    'which, value, words',
    [
        (
            1,
            lambda r: (r.lower + r.upper)[1] / 2 - 0.11,
            'joint2 is 0.110 from where it should be',
        ),
        (1, lambda r: np.nan, 'joint2: position is not finite'),
        (2, lambda r: -1.5 * r.velocity[1], 'joint2 at .* is beyond its speed limit'),
        (3, lambda r: 0.96 * r.effort[1], r'joint2: effort .* is above 0.95 of its limit'),
        (3, lambda r: -0.96 * r.effort[1], r'joint2: effort .* is above 0.95 of its limit'),
    ],
)
def test_one_sample_of_one_joint_is_enough(robot, which, value, words):
    given = samples(robot)
    given[which][3, 1] = value(robot)
    objection = GUARD.objection(robot, *given)
    assert re.match(words, objection), objection


def test_a_joint_without_limits_may_be_reported_a_turn_away(robot):
    """Kinova's Home holds joint 3 at half a turn, where noise alone turns the sign."""
    urdf = mujoco_arm.description('arm3').replace('type="revolute"', 'type="continuous"', 1)
    free, (expected, q, v, tau) = load_robot_model(urdf), samples(robot)
    q[2:, 0] -= 2.0 * np.pi
    assert GUARD.objection(free, expected, q, v, tau) == ''
    assert 'joint1 is 6.233 from' in GUARD.objection(robot, expected, q, v, tau)
    q[2:, 0] -= 0.2
    assert 'joint1 is 0.150 from where it should be' in GUARD.objection(free, expected, q, v, tau)


def test_a_joint_beyond_its_limits_is_named(robot):
    given = samples(robot)
    for x in given[:2]:
        x[2, 0] = robot.upper[0] + 0.05  # as expected, and beyond all the same
    assert 'joint1' in GUARD.objection(robot, *given)
    assert 'beyond its position limits' in GUARD.objection(robot, *given)
