"""Names are resolved, losses are counted, best-effort publishers that come late are received."""

import signal

from live_graph import LATCHED
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String

from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.nodes.subscriptions import SequenceCount


def override(policy, topic='/joint_states', entity='subscription'):
    """Return the name of the parameter that overrides a quality of service."""
    return f'qos_overrides.{topic}.{entity}.{policy}'


def count(numbers, publishers=1):
    counter = SequenceCount(lambda: publishers)
    for number in numbers:
        counter.add(number)
    return counter.lost


def test_what_is_missing_between_sequence_numbers_is_lost():
    assert count([1, 2, 3]) == 0
    assert count([5, 6, 9, 10, 15]) == 2 + 4  # what was sent before we listened is not lost
    assert count([7, 8, 1, 2, 3, 5]) == 1  # the publisher was started anew
    assert count([None, None]) == 0  # the middleware does not number


def test_losses_of_two_publishers_are_told_apart_from_their_interleaving():
    assert count([1, 100, 2, 101, 3, 102], publishers=2) == 0
    assert count([1, 1, 2, 2, 3, 3], publishers=2) == 0
    assert count([1, 100, 2, 101, 4, 105], publishers=2) == 1 + 3
    crossing = [k for pair in zip(range(1, 40), range(20, 59)) for k in pair]
    assert count(crossing, publishers=2) == 0


def test_a_stopped_recorder_says_how_many_messages_it_lost(graph, tmp_path):
    sent, rate = 3000, 1000
    driver = graph.run('joint_state_publisher.py', sent, rate, 'best_effort')
    recorder = graph.start('recorder', out=tmp_path, **{override('depth'): 20})
    graph.until(lambda: graph.node.count_subscribers('joint_states'), 'the recorder')
    path = graph.call('recorder/start').message
    driver.say('go')
    for _ in range(4):
        graph.spin(0.3)
        recorder.pause(0.3)
    graph.until(lambda: f'sent {sent}' in driver.output, 'the last message')
    turns = len(graph.healths('recorder'))  # an executor that hangs would be silent from here on
    graph.until(lambda: len(graph.healths('recorder')) > turns, 'its next turn')
    response = graph.call('recorder/stop')
    assert response.success
    received = read_bag(path).channels['/joint_states'].fields['position'][:, 0]
    inside = int(received[-1] - received[0]) + 1
    lost = int(response.message.split('; ')[1].split()[0])
    assert lost == inside - len(received)  # the driver numbers its messages
    assert lost > 200  # four times 0.3 s, less what a queue of 20 keeps


def test_remapped_and_namespaced_topics_are_followed_by_every_node(graph, tmp_path):
    remap = ['--ros-args', '-r', 'joint_states:=/arm/driver/joint_states', '-r', '__ns:=/cell']
    graph.start('recorder', *remap, '-p', f'out:={tmp_path}')
    graph.start('torque_prediction', *remap)
    graph.start('identification', *remap, '-p', 'online:=true')
    graph.start('excitation', *remap)
    publisher = graph.node.create_publisher(JointState, '/arm/driver/joint_states', 10)
    graph.until(lambda: publisher.get_subscription_count() == 4, 'all four nodes')
    assert not graph.node.count_subscribers('/cell/joint_states')
    assert graph.call('cell/recorder/start').success
    publisher.publish(JointState(name=['a'], position=[1.0]))
    key = '/arm/driver/joint_states count'
    graph.until(lambda: graph.health('cell/recorder')[2].get(key) == '1', 'the message')
    assert graph.call('cell/recorder/stop').success


def test_names_that_are_fixed_in_a_node_are_remapped(graph):
    graph.start('identification', '--ros-args', '-r', 'recorder/recording:=/cell/bag')
    graph.start(
        'torque_prediction', '--ros-args', '-r', 'identification/identified_model:=/cell/model'
    )
    for topic, words in (('bag', '/nowhere'), ('model', 'none')):
        publisher = graph.node.create_publisher(String, f'/cell/{topic}', LATCHED)
        graph.until(publisher.get_subscription_count, topic)
        publisher.publish(String(data=words))
    graph.until(lambda: '/nowhere does not' in graph.call('identification/identify').message, '')
    graph.until(lambda: 'is not an identified' in graph.health('torque_prediction')[1], 'both')
    recorder = ('recorder', 'recorder/start', 'recorder/recording')
    graph.start(
        'watch',
        '--ros-args',
        '-p',
        'port:=0',
        *(word for name in recorder for word in ('-r', f'{name}:=/cell/{name}')),
    )
    graph.until(
        lambda: (
            graph.node.count_clients('/cell/recorder/start')
            and graph.node.count_subscribers('/cell/recorder/recording')
        ),
        'the page',
    )


def test_the_driver_of_a_configuration_is_that_of_every_node_unless_remapped(graph, tmp_path):
    (tmp_path / 'lbr.yaml').write_text(
        'driver: {joint_states: arm/joint_states, controller: mine/topic, namespace: lbr}\n'
    )
    nodes = {
        name: graph.start(name, config=tmp_path / 'lbr.yaml')
        for name in ('recorder', 'torque_prediction', 'excitation')
    }
    nodes['online'] = graph.start('identification', online=True, config=tmp_path / 'lbr.yaml')
    remapped = graph.start(
        'recorder',
        '--ros-args',
        '-r',
        'joint_states:=/other',
        '-r',
        '__node:=two',
        '-p',
        f'config:={tmp_path}/lbr.yaml',
    )
    publishers = [
        graph.node.create_publisher(JointState, topic, 10)
        for topic in ('arm/joint_states', '/other')
    ]
    graph.until(lambda: [p.get_subscription_count() for p in publishers] == [4, 1], 'all nodes')
    assert 'would move /mine/topic' in nodes['excitation'].output
    for node in (*nodes.values(), remapped):
        assert 'start it with -r __ns:=/lbr' in node.output


def test_a_best_effort_publisher_that_comes_later_is_received(graph, tmp_path):
    first = graph.node.create_publisher(JointState, 'joint_states', 10)
    recorder = graph.start('recorder', out=tmp_path, name='both')
    graph.until(first.get_subscription_count, 'the recorder')
    assert graph.call('recorder/start').success
    first.publish(JointState(name=['a'], position=[1.0]))
    graph.until(lambda: graph.health('recorder')[2].get('/joint_states count') == '1', 'it')
    second = graph.node.create_publisher(
        JointState, 'joint_states', QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    )
    graph.until(second.get_subscription_count, 'the recorder to match')
    graph.until(first.get_subscription_count, 'the first, too')
    second.publish(JointState(name=['a'], position=[2.0]))
    first.publish(JointState(name=['a'], position=[3.0]))
    graph.until(lambda: graph.health('recorder')[2].get('/joint_states count') == '3', 'both')
    assert recorder.end(signal.SIGHUP) == 0  # of a terminal that is closed
    bag = read_bag(tmp_path / 'both')
    assert sorted(bag.channels['/joint_states'].fields['position'][:, 0]) == [1.0, 2.0, 3.0]
    assert bag.provenance['damage'] == ()


def test_an_override_holds_whatever_the_publishers_offer_and_is_dumped(graph, tmp_path):
    graph.start(
        'recorder',
        out=tmp_path,
        topics='[joint_states, imu]',
        **{
            override('reliability'): 'best_effort',
            override('depth'): 7,
            override('reliability', '/imu'): 'reliable',
        },
    )
    joints = graph.node.create_publisher(JointState, 'joint_states', 10)  # reliable
    imu = graph.node.create_publisher(
        Imu, 'imu', QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    )
    graph.until(joints.get_subscription_count, 'the recorder')
    graph.until(lambda: graph.node.count_subscribers('imu'), 'its other subscription')
    asked = {
        topic: [
            (i.qos_profile.reliability, i.qos_profile.durability)
            for i in graph.node.get_subscriptions_info_by_topic(topic)
        ]
        for topic in ('/joint_states', '/imu')
    }
    assert asked == {
        '/joint_states': [(ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE)],
        '/imu': [(ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)],
    }
    assert not imu.get_subscription_count()  # it asks for more than is offered
    held = {
        policy: graph.get('recorder', override(policy))
        for policy in ('reliability', 'durability', 'history')
    }
    assert {k: v.string_value for k, v in held.items()} == {
        'reliability': 'best_effort',
        'durability': 'best_available',
        'history': 'keep_last',
    }
    assert graph.get('recorder', override('depth')).integer_value == 7
    assert 'read-only' in graph.set('recorder', **{override('depth'): 8})


def test_a_silent_sensor_is_warned_of_and_a_rare_text_is_not(graph, tmp_path):
    joints = graph.node.create_publisher(JointState, 'joint_states', 10)
    texts = graph.node.create_publisher(String, 'events', 10)
    graph.start('recorder', out=tmp_path, topics='[joint_states, events]')
    graph.until(lambda: joints.get_subscription_count() and texts.get_subscription_count(), 'it')
    assert graph.call('recorder/start').success
    graph.until(
        lambda: 'nothing received on /joint_states' in graph.health('recorder')[1], 'the warning'
    )
    level, words, _ = graph.health('recorder')
    assert level == 'warn' and '/events' not in words


def test_slow_joint_states_are_warned_of(graph, tmp_path):
    driver = graph.run('joint_state_publisher.py', 100_000, 30, 'reliable')  # franka_ros2's copy
    graph.start('recorder', out=tmp_path)
    graph.until(lambda: graph.node.count_subscribers('joint_states'), 'the recorder')
    assert graph.call('recorder/start').success
    driver.say('go')
    graph.until(lambda: 'slow for accelerations' in graph.health('recorder')[1], 'the warning')
    assert graph.health('recorder')[0] == 'warn'


def test_simulated_time_without_a_clock_is_refused(graph, tmp_path):
    graph.node.create_publisher(JointState, 'joint_states', 10)
    graph.start('recorder', out=tmp_path, use_sim_time=True)
    graph.until(lambda: graph.node.count_subscribers('joint_states'), 'the recorder')
    response = graph.call('recorder/start')
    assert not response.success
    assert 'the clock stands at 0' in response.message
    graph.until(
        lambda: graph.health('recorder')[1] == 'use_sim_time: nobody publishes /clock',
        'the warning',
    )
