"""Where a controller holds an arm, as far as the player knows it from what it sent last."""

import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")

from arm_recordings import ARM  # noqa: E402

from ros_inertial_id.dynamics.robot_model import load_robot_model  # noqa: E402
from ros_inertial_id.nodes import controller_state as module  # noqa: E402
from ros_inertial_id.nodes.controller_state import HeldPosition, STILL  # noqa: E402

ROBOT = load_robot_model(ARM.read_text())
END, SAG = np.array([0.3, -0.1]), np.array([0.004, 0.0])


@pytest.fixture
def held(monkeypatch):
    """Return a HeldPosition that only remembers, and its clock."""
    monkeypatch.setitem(sys.modules, 'control_msgs', None)
    monkeypatch.setitem(sys.modules, 'control_msgs.msg', None)
    out = HeldPosition(None, 'arm/joint_trajectory', None)
    out.now = 0.0
    monkeypatch.setattr(module, 'seconds', lambda node: out.now)
    return out


def resting(held, position):
    """End a motion at END and let the arm come to rest at ``position``."""
    held.ended(END, 0.4)
    held.seen(END + 0.05)  # it brakes
    held.now += 1.0
    held.seen(position)


def test_nothing_is_known_before_a_motion(held):
    held.seen(END)
    assert held.position(ROBOT, END, 0.1) is None


def test_the_end_of_a_motion_is_known_as_long_as_the_arm_rests_beside_it(held):
    resting(held, END + SAG)
    held.seen(END + 1.0)  # only the first position at rest counts
    np.testing.assert_array_equal(held.position(ROBOT, END + SAG + 0.1 * STILL, 0.1), END)
    assert held.position(ROBOT, END + SAG + 1.5 * STILL, 0.1) is None  # somebody moved it


def test_an_arm_far_from_the_end_is_not_held_there(held):
    resting(held, END + 0.2)
    assert held.position(ROBOT, END + 0.2, 0.1) is None


def test_what_was_held_is_forgotten_when_the_arm_moves(held):
    resting(held, END + SAG)
    held.moves()
    assert held.position(ROBOT, END + SAG, 0.1) is None
