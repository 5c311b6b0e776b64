"""A trajectory that leaves out joints: they stay where they are, where that is allowed."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")

from trajectory_msgs.msg import JointTrajectoryPoint  # noqa: E402

from ros_inertial_id.errors import ConfigError  # noqa: E402
from ros_inertial_id.nodes.simulated_robot import _column  # noqa: E402

JOINTS = ('a', 'b', 'c')
REST = np.array([1.0, 2.0, 3.0])


def test_joints_that_are_left_out_stay_and_others_come_in_their_own_order():
    points = [JointTrajectoryPoint(positions=[9.0, 8.0]), JointTrajectoryPoint(
        positions=[7.0, 6.0])]
    found = _column('positions', points, ['c', 'a'], JOINTS, REST)
    np.testing.assert_array_equal(found, [[8.0, 2.0, 9.0], [6.0, 2.0, 7.0]])
    assert _column('velocities', points, ['c', 'a'], JOINTS, REST) is None


def test_points_of_another_length_are_refused():
    points = [JointTrajectoryPoint(positions=[9.0, 8.0, 7.0])]
    with pytest.raises(ConfigError, match='2 in every point'):
        _column('positions', points, ['c', 'a'], JOINTS, REST)
