"""Live streams: the newest samples in time, or a gap and words."""

import time

import pytest
from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from ros_inertial_id.nodes.running import GuardedNode
from ros_inertial_id.nodes.streams import OLDEST_NS, Streams
from ros_inertial_id.nodes.subscriptions import ALL, NEWEST, Subscriptions


@pytest.fixture
def node(graph):
    """Yield a GuardedNode that no executor serves."""
    node = GuardedNode('reader', context=graph.context)
    yield node
    node.destroy_node()


def sender(graph, node, streams):
    """Return the publisher that a Streams listens to, and a function that sends a position."""
    publisher = graph.node.create_publisher(JointState, 'joint_states', 10)

    def send(position, back=0.0):
        message = JointState(name=['a'], position=[position])
        message.header.stamp = (node.get_clock().now() - Duration(seconds=back)).to_msg()
        publisher.publish(message)

    graph.until(
        lambda: (streams.look(['joint_states']), publisher.get_subscription_count())[1],
        'the subscription',
    )
    return publisher, send


def test_a_clock_that_is_set_back_begins_anew_with_its_new_stamps(graph, node):
    taken, words = [], []
    streams = Streams(node, pytest.fail, words.append)
    publisher, send = sender(graph, node, streams)
    send(1.0)
    graph.until(lambda: (streams.hand_to(taken.append), taken)[1], 'the first')
    for position in (2.0, 3.0, 4.0, 5.0):
        send(position, back=60.0)
    publisher.wait_for_all_acked()
    graph.until(lambda: (streams.hand_to(taken.append), words)[1], 'what was set back')
    send(6.0)  # a single one that is far off
    publisher.wait_for_all_acked()
    streams.hand_to(taken.append)
    read = [x for channel in taken for x in channel.fields['position'].ravel().tolist()]
    assert read == [1.0, 4.0, 5.0]  # the third in a row shows it
    streams.look(())
    graph.until(lambda: not publisher.get_subscription_count(), 'the end of the subscription')


def test_what_waits_too_long_is_dropped_and_the_newest_is_taken(graph, node, monkeypatch):
    streams, taken = Streams(node, pytest.fail), []
    _, send = sender(graph, node, streams)
    send(1.0)
    send(2.0)
    with monkeypatch.context() as later:
        later.setattr(time, 'time_ns', lambda: time.clock_gettime_ns(0) + OLDEST_NS + 10**9)
        graph.until(lambda: (streams.hand_to(taken.append), streams.dropped == 2)[1], 'the drop')
    assert streams.slow() == '2 samples dropped: this computer is too slow' and not taken
    assert not streams.falls_behind()  # which would refuse to play
    send(3.0)
    graph.until(lambda: (streams.hand_to(taken.append), taken)[1], 'the newest')
    assert [c.fields['position'].tolist() for c in taken] == [[[3.0]]]


@pytest.mark.parametrize('quality, most', [(NEWEST, 2000), (ALL, 5000)])
def test_executors_hand_nothing_over_and_a_reader_holds_at_most_its_depth(
    graph, node, quality, most
):
    inputs, sent = Subscriptions(node, quality), most + 500
    publisher = graph.node.create_publisher(JointState, 'joint_states', QoSProfile(depth=sent))
    graph.until(
        lambda: (inputs.look(['joint_states']), publisher.get_subscription_count())[1],
        'the subscription',
    )
    assert not [s for s in node.subscriptions if s.topic_name == '/joint_states']
    publisher.publish(JointState())
    graph.until(lambda: [*inputs.read()], 'the first, from which on losses are counted')
    for k in range(sent):
        publisher.publish(JointState(position=[float(k)]))
    publisher.wait_for_all_acked()
    graph.spin(0.5)
    ((topic, messages, _),) = inputs.read()
    assert topic == '/joint_states' and len(messages) <= most
    publisher.publish(JointState())
    graph.until(lambda: [*inputs.read()], 'the next')
    assert inputs.lost == sent - len(messages)
