"""Live samples: a window that begins anew, and joints by name."""

import numpy as np
import pytest

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.live import carried, DriverMessages, LiveMotion, Window
from ros_inertial_id.measurement.recording import Channel


def test_window_drops_what_is_stamped_twice_and_begins_anew_after_a_jump():
    window = Window()
    assert window.add(np.array([0.0, 0.1, 0.1, 0.2]), np.arange(4.0)[:, None], 0.5)
    assert window.t.tolist() == [0.0, 0.1, 0.2] and window.rows.ravel().tolist() == [0, 1, 3]
    assert not window.add(np.array([0.3, 2.0, 2.1]), np.arange(3.0)[:, None], 0.5)
    assert window.t.tolist() == [2.0, 2.1]
    assert not window.add(np.array([1.0]), np.ones((1, 1)), 0.5)
    assert window.t.tolist() == [1.0]


def test_messages_that_a_busy_driver_sends_at_once_are_not_the_rate_of_the_rest():
    live = LiveMotion(10.0, False, 0.1, np.eye(1))
    burst, rest = np.arange(60) * 14e-6, 1e-3 * np.arange(1, 600)
    for t in (burst, burst[-1] + rest[:55], burst[-1] + rest[55:]):
        live.move(t, np.sin(t)[:, None])
        taken = live.take()
    stamps, state = taken
    assert len(stamps) > 300
    np.testing.assert_allclose(np.diff(state.t), 1e-3, rtol=1e-6)


def test_joints_are_found_by_name_whatever_their_order_in_the_message():
    stamps = np.arange(3)
    channel = Channel(
        '/joint_states',
        'sensor_msgs/msg/JointState',
        stamps,
        stamps,
        {'position': np.array([[3.0, 1.0, 9.0], [np.nan] * 3, [30.0, 10.0, 90.0]])},
        ('elbow', 'shoulder', 'finger'),
    )
    rows, values = carried(channel, ('shoulder', 'elbow'), ('position', 'velocity'))
    np.testing.assert_array_equal(rows, [0, 2])
    np.testing.assert_array_equal(values['position'], [[1.0, 3.0], [10.0, 30.0]])
    assert np.isnan(values['velocity']).all()


def test_what_carries_less_than_the_driver_is_not_its_word():
    def channel(*messages):
        stamps, values = np.arange(len(messages)), np.array(messages, dtype=float)
        return Channel(
            '/joint_states',
            'sensor_msgs/msg/JointState',
            stamps,
            stamps,
            {name: values[:, [k, k]] for k, name in enumerate(('position', 'velocity', 'effort'))},
            ('shoulder', 'elbow'),
        )

    own, nan = DriverMessages(('shoulder', 'elbow')), np.nan
    assert own(channel((1, 2, 3), (1, nan, nan)))[0].tolist() == [0]
    rows, values = own(channel((4, nan, nan), (5, 6, 7), (8, nan, 9)))  # a batch later, too
    assert rows.tolist() == [1] and values['effort'].tolist() == [[7.0, 7.0]]
    own.refuse_without(('position', 'effort'), '/joint_states')
    slow = DriverMessages(('shoulder', 'elbow'))
    assert slow(channel((1, nan, 3)))[0].tolist() == [0]  # a driver without velocities
    with pytest.raises(RecordingError, match='joint_states carry no velocity of all joints'):
        slow.refuse_without(('position', 'velocity'), '/joint_states')
