"""The recorder in its own process: what was published is in the bag, whatever happens."""

from pathlib import Path
import resource
import shutil
import signal

from geometry_msgs.msg import PoseStamped, TransformStamped, WrenchStamped
from live_graph import LATCHED, ROOT
import numpy as np
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Empty, Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.nodes.recorder import Recorder

FULL = {resource.RLIMIT_FSIZE: (1 << 20, 1 << 20)}  # [B], at a megabyte
URDF = ROOT / 'urdf' / 'franka.urdf'


def driver(graph, count, rate):
    """Start a publisher of joint states and wait for its topic."""
    process = graph.run('joint_state_publisher.py', count, rate, 'reliable')
    graph.until(lambda: graph.node.count_publishers('joint_states'), 'the driver')
    return process


def begin(graph, topic='joint_states', readers=1):
    """Call ~/start once the recorder reads the topic; return the words of the answer."""
    graph.until(lambda: graph.node.count_subscribers(topic) >= readers, 'the recorder')
    response = graph.call('recorder/start')
    assert response.success, response.message
    return response.message


def counted(graph, topic='/joint_states'):
    """Return how many messages the recorder says are in the bag."""
    return int(graph.health('recorder')[2].get(f'{topic} count', 0))


def sequence(bag):
    """Return what the driver counted in position[0]."""
    return bag.channels['/joint_states'].fields['position'][:, 0].tolist()


def test_every_joint_state_of_another_process_is_in_the_bag(graph, tmp_path):
    count = 2000
    process = driver(graph, count, 1000)
    graph.start('recorder', out=tmp_path)
    path = begin(graph)
    process.say('go')
    graph.until(lambda: f'sent {count}' in process.output, 'the last message')
    graph.until(lambda: counted(graph) == count, f'{count} counted')
    response = graph.call('recorder/stop')
    assert response.success
    assert response.message.startswith(f'{path}: {count} /joint_states, 1 /mounting')
    bag = read_bag(path)
    assert sequence(bag) == list(range(count))
    channel = bag.channels['/joint_states']
    assert channel.names == tuple(f'joint{i + 1}' for i in range(7))
    assert (np.diff(channel.stamp_ns) > 0).all()
    assert bag.provenance['damage'] == ()


def test_what_waits_in_the_queue_at_the_stop_is_in_the_bag(graph, tmp_path):
    recorder = Recorder(
        context=graph.context, parameter_overrides=[Parameter('out', value=str(tmp_path))]
    )
    publisher = graph.node.create_publisher(JointState, 'joint_states', 1000)
    graph.executor.add_node(recorder)
    path = begin(graph)
    graph.executor.remove_node(recorder)  # as on a machine that has no time for it
    for i in range(300):
        publisher.publish(JointState(name=['a'], position=[float(i)]))
    assert publisher.wait_for_all_acked(Duration(seconds=10.0))
    request = graph.ask(Trigger, 'recorder/stop', Trigger.Request())
    graph.executor.add_node(recorder)
    graph.until(request.done, 'the stop')
    recorder.destroy_node()
    assert sequence(read_bag(path)) == list(range(300))


def test_description_and_mounting_are_in_the_bag_and_its_path_reaches_a_late_joiner(
    graph, tmp_path
):
    process = driver(graph, 300, 1000)
    graph.start('recorder', out=tmp_path, name='first', mounting="'rpy 0 1.5 0'")
    begin(graph)
    graph.node.create_publisher(String, 'robot_description', LATCHED).publish(
        String(data=URDF.read_text())
    )  # late, and in time all the same
    graph.until(lambda: counted(graph, '/robot_description') == 1, 'the description')
    process.say('go')
    graph.until(lambda: counted(graph) == 300, '300 counted')
    assert graph.call('recorder/stop').success
    bag = read_bag(tmp_path / 'first')
    assert bag.robot_description == URDF.read_text()
    assert bag.mounting == 'rpy 0 1.5 0'
    finished = graph.listen(String, 'recorder/recording', LATCHED)
    graph.until(lambda: finished, 'the latched path')
    assert finished[0].data == str(tmp_path / 'first')


def test_mounting_and_commands_of_the_configuration_are_in_the_bag(graph, tmp_path):
    config = tmp_path / 'wall.yaml'
    config.write_text('serial_arm: {mounting: rpy 0 1.5708 0, effort_topic: commands}\n')
    process = driver(graph, 100, 1000)
    commands = graph.node.create_publisher(JointTrajectory, 'commands', 100)
    graph.start('recorder', out=tmp_path, name='first', config=config)
    graph.until(commands.get_subscription_count, 'the recorder')
    begin(graph)
    process.say('go')
    for k in range(50):
        commands.publish(
            JointTrajectory(joint_names=['a'], points=[JointTrajectoryPoint(positions=[float(k)])])
        )
    graph.until(lambda: (counted(graph), counted(graph, '/commands')) == (100, 50), 'both counts')
    assert graph.call('recorder/stop').success
    bag = read_bag(tmp_path / 'first')
    assert bag.mounting == 'rpy 0 1.5708 0'
    commands = bag.channels['/commands']
    assert commands.fields['position'].ravel().tolist() == [*range(50)]
    assert commands.stamp_ns.all()  # nobody stamps them: as received


def test_a_publisher_that_was_restarted_in_the_past_is_said_at_the_stop(graph, tmp_path):
    publisher = graph.node.create_publisher(JointState, 'joint_states', 100)
    graph.start('recorder', out=tmp_path, name='bag')
    begin(graph)
    for k in range(200):
        message = JointState(name=['a'], position=[1.0])
        message.header.stamp.sec = 1000 + k // 10 - (100 if k >= 100 else 0)
        message.header.stamp.nanosec = k % 10 * 10**8
        publisher.publish(message)
    graph.until(lambda: counted(graph) == 200, 'all of them')
    words = graph.call('recorder/stop').message
    assert '/joint_states clock: its clock went back by 99.9 s, set back 1 times in all' in words


def test_a_bag_that_is_deleted_under_way_is_said_to_be_lost(graph, tmp_path):
    publisher = graph.node.create_publisher(JointState, 'joint_states', 100)
    graph.start('recorder', out=tmp_path, name='bag')
    begin(graph)
    publisher.publish(JointState(name=['a'], position=[1.0]))
    graph.until(lambda: counted(graph) == 1, 'the message')
    shutil.rmtree(tmp_path / 'bag')
    graph.until(lambda: graph.health('recorder')[0] == 'error', 'the diagnostics')
    answer = graph.call('recorder/stop')
    assert not answer.success and 'was deleted while it was recorded' in answer.message
    assert 'can be read' not in answer.message
    begin(graph)  # and it goes on
    assert graph.call('recorder/stop').success


def test_topics_of_other_types_are_recorded_side_by_side(graph, tmp_path):
    kinds = {
        'imu': Imu,
        'wrench': WrenchStamped,
        'pose': PoseStamped,
        'numbers': Float64MultiArray,
        'words': String,
        'arm/joint_states': JointState,
    }
    publishers = {
        topic: graph.node.create_publisher(kind, topic, 100) for topic, kind in kinds.items()
    }
    graph.start('recorder', out=tmp_path, name='all', topics=f'[{", ".join(kinds)}]')
    for topic in kinds:
        graph.until(lambda: publishers[topic].get_subscription_count(), topic)
    begin(graph, 'words')
    for i in range(20):
        for n, topic in enumerate(kinds):
            message = kinds[topic]()
            if hasattr(message, 'header'):
                message.header.stamp.sec = 100 + i
            if topic == 'numbers':
                message.data = [float(i), 2.0]
            if topic == 'words':
                message.data = f'word {i}'
            if topic == 'arm/joint_states':
                message.name, message.position = ['a'], [float(i)]
            if i >= n:  # another count for each
                publishers[topic].publish(message)
    graph.until(
        lambda: all(counted(graph, f'/{t}') == 20 - n for n, t in enumerate(kinds)), 'all counts'
    )
    assert graph.call('recorder/stop').success
    bag = read_bag(tmp_path / 'all')
    assert {t: len(c) for t, c in bag.channels.items()} == {
        f'/{t}': 20 - n for n, t in enumerate(kinds)
    }
    assert bag.channels['/imu'].stamp_ns.tolist() == [(100 + i) * 10**9 for i in range(20)]
    assert bag.channels['/words'].fields['data'][-1] == 'word 19'
    assert bag.channels['/numbers'].fields['data'][-1].tolist() == [19.0, 2.0]


def test_what_cannot_be_done_is_refused_in_words(graph, tmp_path):
    out = tmp_path / 'bags'
    graph.start('recorder', out=out, topics='[joint_states, nowhere, flag]', name='one')
    response = graph.call('recorder/stop')
    assert not response.success and response.message == 'not recording; call ~/start first'
    driver(graph, 1, 1)
    graph.until(lambda: graph.node.count_subscribers('joint_states'), 'the recorder')
    response = graph.call('recorder/start')
    assert not response.success
    assert 'nobody publishes /nowhere, /flag; there is: ' in response.message
    assert '/joint_states' in response.message
    graph.node.create_publisher(String, 'nowhere', 10)
    graph.node.create_publisher(Empty, 'flag', 10)
    graph.until(lambda: graph.node.count_subscribers('nowhere'), 'the recorder')
    graph.until(lambda: 'nobody publishes' not in graph.call('recorder/start').message, 'the flag')
    response = graph.call('recorder/start')
    assert not response.success
    assert '/flag' in response.message and 'std_msgs/msg/Empty' in response.message
    assert 'sensor_msgs/msg/JointState' in response.message
    assert not out.exists() or not list(out.iterdir())


def test_a_second_start_is_refused_and_a_bag_is_never_overwritten(graph, tmp_path):
    driver(graph, 1, 1)
    graph.start('recorder', out=tmp_path, name='one')
    path = begin(graph)
    response = graph.call('recorder/start')
    assert not response.success
    assert response.message == f'already recording to {path}; call ~/stop first'
    assert graph.call('recorder/stop').success
    response = graph.call('recorder/start')
    assert not response.success and 'one' in response.message
    assert graph.set('recorder', name='two') == ''
    assert begin(graph) == str(tmp_path / 'two')
    assert graph.call('recorder/stop').success
    assert not graph.call('recorder/stop').success
    assert read_bag(tmp_path / 'one').provenance['damage'] == ()


def test_of_a_killed_recorder_all_it_had_reported_is_readable(graph, tmp_path):
    process = driver(graph, 100_000, 500)
    recorder = graph.start('recorder', out=tmp_path)
    path = begin(graph)
    process.say('go')
    graph.until(lambda: counted(graph) >= 500, '500 messages')
    recorder.send(signal.SIGKILL)  # it reports once a second: what it reported is older than that
    recorder.wait()
    bag = read_bag(path)
    assert len(sequence(bag)) >= counted(graph)
    assert sequence(bag) == list(range(len(sequence(bag))))
    assert 'no usable metadata' in bag.provenance['damage'][0]


def test_a_stopped_recorder_says_what_the_samples_show(graph, tmp_path):
    publisher = graph.node.create_publisher(JointState, 'joint_states', 1000)
    graph.start('recorder', out=tmp_path)
    begin(graph)
    t = np.arange(600) * 0.002
    q, v, tau = np.sin(6 * t), 6 * np.cos(6 * t), 3 * np.sin(6 * t)
    tau[50:350] = tau[50]  # no extreme: what stops there is clipped
    for k, values in enumerate(zip(q, v, tau)):
        message = JointState(name=['a'])
        message.header.stamp.sec, message.header.stamp.nanosec = 1 + k // 500, k % 500 * 2_000_000
        message.position, message.velocity, message.effort = ([float(x)] for x in values)
        publisher.publish(message)
    graph.until(lambda: counted(graph) == 600, 'the messages')
    words = graph.call('recorder/stop').message
    assert 'the effort of a keeps one value for 0.6 s while the joint moves' in words


def test_a_signal_closes_the_bag_and_announces_it(graph, tmp_path):
    process = driver(graph, 100_000, 500)
    recorder = graph.start('recorder', out=tmp_path)
    finished = graph.listen(String, 'recorder/recording', LATCHED)
    path = begin(graph)
    process.say('go')
    graph.until(lambda: counted(graph) > 0, 'messages')
    assert recorder.end() == 0
    assert 'Traceback' not in recorder.output
    assert path in recorder.output
    bag = read_bag(path)
    assert bag.provenance['damage'] == ()
    assert sequence(bag) == list(range(len(sequence(bag))))
    graph.until(lambda: finished, 'the path of the bag')
    assert finished[0].data == path


def test_a_full_disk_is_told_and_what_was_written_can_be_read(graph, tmp_path):
    process = driver(graph, 100_000, 2000)
    graph.start('recorder', out=tmp_path, limits=FULL)
    path = begin(graph)
    process.say('go')
    graph.until(lambda: graph.health('recorder')[0] == 'error', 'the error')
    assert 'cannot be written' in graph.health('recorder')[1]
    response = graph.call('recorder/stop')
    assert not response.success
    assert 'cannot be written' in response.message and 'space on the disk' in response.message
    bag = read_bag(path)
    assert 0 < len(sequence(bag)) <= counted(graph)
    assert sequence(bag) == list(range(len(sequence(bag))))
    again = Path(begin(graph))  # there is space for another one, for a while
    graph.until(
        lambda: again.name in graph.health('recorder')[1] and counted(graph),
        'a joint state in the new bag',
    )
    graph.call('recorder/stop')  # it may be full again by now
    assert 0 < len(sequence(read_bag(again)))


def test_what_was_latched_before_the_recorder_came_is_in_every_bag(graph, tmp_path):
    transforms = [
        graph.node.create_publisher(TransformStamped, 'frames', LATCHED) for _ in range(2)
    ]
    for child, publisher in zip(('tool', 'camera'), transforms):
        transform = TransformStamped(child_frame_id=child)
        transform.header.stamp.sec = 1
        publisher.publish(transform)
    description = graph.node.create_publisher(String, 'robot_description', LATCHED)
    description.publish(String(data=URDF.read_text()))
    states = graph.node.create_publisher(JointState, 'joint_states', 10)
    graph.start('recorder', out=tmp_path, topics='[joint_states, frames]')
    graph.until(
        lambda: all(p.get_subscription_count() for p in [*transforms, states]), 'the recorder'
    )
    for name in ('first', 'second'):
        graph.set('recorder', name=name)
        begin(graph)
        graph.until(lambda: counted(graph, '/frames') == 2, 'both transforms')
        states.publish(JointState(name=['a'], position=[0.0]))
        graph.until(lambda: counted(graph) == 1, 'a joint state')
        assert graph.call('recorder/stop').success
        bag = read_bag(tmp_path / name)
        assert bag.robot_description == URDF.read_text()
        assert set(bag.channels['/frames'].names) == {'tool', 'camera'}
