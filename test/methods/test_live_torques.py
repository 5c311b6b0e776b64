"""Torques of a running machine at other times than those they were computed at."""

import numpy as np

from ros_inertial_id.methods.contract import LiveTorques


def test_torques_between_samples_are_on_the_line_between_and_held_beyond():
    t = np.array([0.0, 1.0, 3.0])
    table = np.array([[0.0, 10.0], [1.0, 30.0], [5.0, 20.0]])
    stamps = np.array([-1.0, 0.25, 1.0, 2.5, 4.0])
    expected = [np.interp(stamps, t, column) for column in table.T]
    found = LiveTorques(('a', 'b'), table, 2.0 * table, -table).at(stamps, t)
    np.testing.assert_allclose(found.predicted.T, expected)
    np.testing.assert_allclose(found.residual, 2.0 * found.predicted)
    np.testing.assert_allclose(found.measured, -found.predicted)
    one = LiveTorques(('a', 'b'), table[:1], table[:1], table[:1])
    assert one.at(stamps, t[:1]) is one
