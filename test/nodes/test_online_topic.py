"""The node identification while the robot moves: its table becomes that of the bag."""

from dataclasses import replace
import threading

import arm_recordings
from diagnostic_msgs.msg import DiagnosticArray
from live_graph import PATIENCE, read_table
import numpy as np
import pytest
from sensor_msgs.msg import JointState

from ros_inertial_id.api.model import Model
from ros_inertial_id.dynamics import friction
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.nodes.online import Online
from ros_inertial_id.nodes.running import GuardedNode

SECONDS = 24.0
PART = 2000  # messages at a time
BY_NAME = [name for name in friction.laws_by_default() if not friction.LAWS[name].harmonic]


@pytest.fixture(scope='module')
def moving(tmp_path_factory):
    """Return the path of a bag of the moving arm and the model identified from it."""
    recording, _ = arm_recordings.simulated(arm_recordings.random_arm_motion(5), SECONDS)
    path = tmp_path_factory.mktemp('online') / 'bag'
    write_recording(path, recording)
    options = replace(options_class('serial_arm')(), friction=tuple(BY_NAME))
    return path, identify([recording], options).model


def rows(message):
    """Return {name: (value, standard error)} of a table."""
    table = read_table(message)
    del table['gravity_base']
    return {
        name: (float(values['value']), float(values['standard_error']))
        for name, values in table.items()
    }


def test_estimate_on_the_topic_becomes_that_of_the_recording(graph, moving, controller_example):
    path, model = moving
    player = graph.run('bag_player.py', path, 2000, '', PART)
    # The laws are given: chosen from other stretches, others may predict alike.
    graph.start('identification', online=True, friction=BY_NAME)
    tables = graph.listen(DiagnosticArray, 'identification/online_parameters')
    graph.until(
        lambda: 'waiting: the first' in graph.health('identification')[2].get('online', ''),
        'the description',
    )
    graph.until(lambda: graph.node.count_subscribers('joint_states'), 'the subscription')
    player.say('1')
    # The error is of residuals under the estimates before: there have to be some, however busy
    # the computer is.  Of two more tables the second has all that came before the first.
    health = graph.healths('identification')
    for _ in range(PART, len(read_bag(path).channels['/joint_states']), PART):
        before, said = len(tables), len(health)
        graph.until(
            lambda: len(tables) > before + 1 if tables else len(health) > said + 1,
            'an estimate of this part',
        )
        player.say('on')
    graph.until(
        lambda: float(graph.health('identification')[2].get('online seconds', 0)) > SECONDS - 6.0,
        'all of the motion',
    )  # the filter's ends and LAG less

    def known():
        """Return whether the last table is of all that: a busy computer sends it later."""
        found = rows(tables[-1]) if tables else {}
        return all(
            b['name'] in found and found[b['name']][1] < 3.0 * b['standard_error']
            for b in model.base
        )

    graph.until(known, 'the table of that estimate')
    health = graph.health('identification')[2]
    assert health['online gaps'] == '0'
    assert float(health['online residual of unseen data [%]']) < 5.0
    last = rows(tables[-1])
    assert [b['name'] for b in model.base] == list(last)
    for b in model.base:
        value, error = last[b['name']]
        # A quarter of the data differs: estimates by less than their error, with room.
        assert abs(value - b['value']) < 2.0 * b['standard_error']
        # Prequential residuals hold the errors of the estimates before them, which are recent.
        assert 0.5 < error / b['standard_error']
    # A controller that reads the one as the other.
    robot = controller_example.IdentifiedTorque(arm_recordings.ARM.read_text(), tables[-1])
    q, v, a = [0.3, -0.4], [1.0, 0.5], [2.0, -3.0]
    torque = Model(model, robot.model.gravity.linear).torque(*([x] for x in (q, v, a)))[0]
    assert robot.torque(*map(np.array, (q, v, a))) == pytest.approx(torque, rel=0.02)
    graph.until(
        lambda: graph.health('identification')[1] == 'nothing received on /joint_states',
        'word of the silence',
    )
    assert graph.call('identification/forget').success
    graph.until(lambda: 'online' in graph.health('identification')[2], 'it to begin anew')


class Slow:
    """What learns and estimates as long as the test wants."""

    waiting, gaps, commands = '', 0, ()

    def __init__(self):
        self.learnt, self.begun, self.go_on = 0, threading.Event(), threading.Event()
        self.told = []  # whether each estimate was told to go on, or held everybody up

    def add(self, channel):
        self.learnt += len(channel)

    def estimate(self):
        if self.learnt:
            self.begun.set()
            self.told.append(self.go_on.wait(PATIENCE))


def test_others_have_their_turns_during_an_estimate_and_what_comes_is_learnt_after_it(graph):
    slow, node = Slow(), GuardedNode('slow', context=graph.context)
    graph.executor.add_node(node)
    online = Online(node, ('joint_states',), arm_recordings.ARM.read_text(), lambda urdf: slow)
    publisher = graph.node.create_publisher(JointState, 'joint_states', 10)
    graph.until(publisher.get_subscription_count, 'the subscription')
    message = JointState(name=['joint1'], position=[1.0])
    message.header.stamp.sec = 1
    publisher.publish(message)
    graph.until(slow.begun.is_set, 'an estimate')
    message.header.stamp.nanosec = 1000
    publisher.publish(message)
    graph.until(lambda: 'nothing received' in online.health()[1], 'a turn after its reception')
    assert slow.learnt == 1
    slow.go_on.set()
    graph.until(lambda: slow.learnt == 2, 'the second')
    assert all(slow.told)
    graph.executor.remove_node(node)
    node.destroy_node()
