"""Messages out of order, clocks set back and two publishers are three things."""

import numpy as np
import pytest
from recordings import joint_states

from ros_inertial_id.measurement.joints.message_order import in_order
from ros_inertial_id.measurement.signals import longest_part

T = np.arange(2000) / 100.0
ARM = ('a', 'b')


def motion(t):
    """Return positions (N, 2) [rad] at t (N,) [s], with the noise of an encoder."""
    noise = 1e-4 * np.random.default_rng(0).standard_normal((len(t), 2))
    return np.sin(2.0 * t[:, None] + np.arange(2)) + noise


def states(stamps, q):
    return joint_states(ARM, stamps, position=q, effort=2.0 * q)


def exchanged(apart):
    """Return an order in which messages are up to ``apart`` [s] from their place."""
    return np.argsort(T + apart * np.random.default_rng(1).random(len(T)), kind='stable')


@pytest.mark.parametrize(
    'order, elsewhere',
    [(exchanged(0.3), 1900), (np.r_[0:700, 701, 700, 702:2000], 2)],
)
def test_messages_that_are_written_out_of_order_are_sorted(order, elsewhere):
    found = in_order(states(T[order], motion(T)[order]))
    np.testing.assert_allclose(found.channel.stamp_ns * 1e-9, T)
    np.testing.assert_array_equal(found.channel.fields['position'], motion(T))
    np.testing.assert_array_equal(found.channel.fields['effort'], 2.0 * motion(T))
    assert found.moved >= elsewhere and found.left_out == 0
    assert found.late == pytest.approx((np.maximum.accumulate(T[order]) - T[order]).max())


@pytest.mark.parametrize('apart', [0.05, 0.3, 30.0])
def test_two_publishers_with_two_clocks_are_not_sorted(apart):
    stamps = T.copy()
    stamps[1::2] -= apart
    recorded = states(stamps, motion(T))
    assert in_order(recorded).channel is recorded
    assert longest_part(stamps) == ''


def test_two_robots_on_one_topic_are_not_sorted():
    order = exchanged(0.1)
    q = motion(T)
    q[::2] += 1.0
    recorded = states(T[order], q[order])
    sorted_way, way = (np.abs(np.diff(x, axis=0)).sum() for x in (q, q[order]))
    assert sorted_way > 0.9 * way  # as long in either order: nothing tells
    assert in_order(recorded).channel is recorded


@pytest.mark.parametrize('at, used', [(2.0, 1720), (18.0, 1720)])
def test_the_longest_part_beside_a_clock_set_back_stands_for_all(at, used):
    recorded = states(np.where(T < at, T, T - 0.8), motion(T))
    found = in_order(recorded)
    assert len(found.channel) == pytest.approx(used, abs=1)
    assert found.left_out == 2000 - len(found.channel) and found.moved == 0
    assert found.back == pytest.approx(0.79)
    assert (np.diff(found.channel.stamp_ns) > 0).all()
    first = np.flatnonzero(
        (recorded.fields['position'] == found.channel.fields['position'][0]).all(1)
    )
    rows = slice(int(first[0]), int(first[0]) + len(found.channel))
    np.testing.assert_array_equal(found.channel.fields['effort'], recorded.fields['effort'][rows])


def test_of_a_clock_set_back_in_the_middle_a_part_is_offered():
    stamps = np.where(T < 10.0, T, T - 0.8)
    recorded = states(stamps, motion(T))
    assert in_order(recorded).channel is recorded
    assert longest_part(stamps) == ': BAG@:9.190 takes the longest part that runs forwards'
    inside = recorded.rows(stamps <= 9.19)  # as the window cuts
    assert (np.diff(inside.stamp_ns) > 0).all() and len(inside) == 920


def test_a_clock_that_begins_anew_is_cut_where_it_does():
    stamps = np.where(T < 12.0, T, T - 12.0)
    assert longest_part(stamps) == ': BAG@8.000: takes the longest part that runs forwards'
