"""
A bag published again, recorded again and identified live gives the model of the first bag.

A log whose time begins at 0, imported, is learned from online and predicted with as well.
"""

from dataclasses import replace
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticArray
from live_graph import LATCHED, read_table
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ros_inertial_id.identification.identified_model import IdentifiedModel
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.writing import write_recording

SAME = 1e-9  # the same numbers take the same way; only sums in another order are forgiven


@pytest.fixture(scope='module')
def original(arm_recording, tmp_path_factory):
    """Return path of a bag, a bag of the same whose stamps begin at 0, model and its file."""
    folder = tmp_path_factory.mktemp('original')
    write_recording(folder / 'bag', arm_recording)
    joints = arm_recording.channels['/joint_states']
    since = joints.stamp_ns - joints.stamp_ns[0]
    write_recording(
        folder / 'log',
        replace(
            arm_recording,
            channels={'/joint_states': replace(joints, stamp_ns=since, received_ns=since)},
        ),
    )
    model = identify([read_bag(folder / 'bag')], options_class('serial_arm')()).model
    (folder / 'model.yaml').write_text(model.to_yaml())
    return SimpleNamespace(
        bag=folder / 'bag', log=folder / 'log', model=model, file=folder / 'model.yaml'
    )


@pytest.mark.parametrize('clock', ['', 'clock'], ids=['a log from 0', 'use_sim_time and /clock'])
def test_bag_replayed_over_dds_gives_the_same_model(graph, tmp_path, original, clock):
    path, model = original.bag if clock else original.log, original.model
    player = graph.run('bag_player.py', path, 2000, clock)
    graph.start(
        'recorder', out=tmp_path, name='again', mounting='upright', use_sim_time=bool(clock)
    )
    graph.start('identification', online=not clock)
    readers = [
        graph.listen(JointState, f'torque_prediction/{x}') for x in ('predicted', 'residual')
    ]
    if not clock:
        graph.start('torque_prediction', model_file=original.file)
        graph.until(
            lambda: (
                graph.health('identification')[2].get('online')
                not in (None, 'waiting: robot_description')
            ),
            'the description',
        )
    expected = 1 if clock else 3
    graph.until(lambda: graph.node.count_subscribers('joint_states') == expected, 'the readers')
    graph.until(lambda: graph.call('recorder/start').success, 'the clock')
    player.say(expected)
    first = read_bag(path).channels['/joint_states']
    graph.until(
        lambda: graph.health('recorder')[2].get('/joint_states count') == str(len(first)),
        'all joint states',
    )
    assert graph.call('recorder/stop').success
    finished = graph.listen(String, 'recorder/recording', LATCHED)
    graph.until(lambda: finished, 'the path of the bag')

    second = read_bag(tmp_path / 'again').channels['/joint_states']
    assert (second.stamp_ns == first.stamp_ns).all()
    for name, values in first.fields.items():
        assert (second.fields[name] == values).all()
    if clock:  # received in the time of the bag
        assert np.abs(second.received_ns - first.stamp_ns).max() < 20e9
    else:
        learned_and_predicted(graph, *readers)

    responses = [graph.call('identification/identify')]
    while 'no recording' in responses[-1].message:  # not yet heard by the node itself
        responses.append(graph.call('identification/identify'))
    assert responses[-1].success, responses[-1].message
    texts = graph.listen(String, 'identification/identified_model', LATCHED)
    tables = graph.listen(DiagnosticArray, 'identification/base_parameters', LATCHED)
    graph.until(lambda: texts and tables, 'the latched model')
    again = IdentifiedModel.from_yaml(texts[0].data)
    assert [b['name'] for b in again.base] == [b['name'] for b in model.base]
    for key in ('value', 'standard_error'):
        expected = [b[key] for b in model.base]
        assert [b[key] for b in again.base] == pytest.approx(expected, rel=SAME)
    assert again.values == pytest.approx(model.values, rel=SAME)
    assert again.provenance['recordings'][0]['path'] == str(tmp_path / 'again')
    table = read_table(tables[0])
    assert [float(table[b['name']]['value']) for b in model.base] == pytest.approx(
        [b['value'] for b in model.base], rel=SAME, nan_ok=True
    )


def learned_and_predicted(graph, predicted, residual):
    """Assert that the nodes took joint states whose stamps begin at 0."""
    assert not predicted[0].header.stamp.sec  # the first of them, too
    effort, rest = (np.array([m.effort for m in x]) for x in (predicted, residual))
    assert np.linalg.norm(rest) < 0.05 * np.linalg.norm(effort)  # noise of the arm's sensors
    tables = graph.listen(DiagnosticArray, 'identification/online_parameters')
    graph.until(
        lambda: tables and any(row.level == row.OK for row in tables[-1].status[:-1]),
        'the online estimate',
    )
