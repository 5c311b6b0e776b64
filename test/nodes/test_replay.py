"""A bag published again, recorded again and identified live gives the model of the first bag."""

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")
pytest.importorskip('mujoco', reason='the simulated arm needs mujoco')

from live_graph import LATCHED  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402

from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.model import IdentifiedModel  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402
from ros_inertial_id.measurement.bags.bag import read_bag, write_recording  # noqa: E402

SAME = 1e-9  # the same numbers take the same way; only sums in another order are forgiven


@pytest.fixture(scope='module')
def original(arm_recording, tmp_path_factory):
    """Return the path of a bag and the model identified from it directly."""
    path = tmp_path_factory.mktemp('original') / 'bag'
    write_recording(path, arm_recording)
    options = options_class('serial_arm')()
    return path, identify([read_bag(path)], options).model


@pytest.mark.parametrize('clock', ['', 'clock'], ids=['wall time', 'use_sim_time and /clock'])
def test_bag_replayed_over_dds_gives_the_same_model(graph, tmp_path, original, clock):
    path, model = original
    player = graph.run('bag_player.py', path, 4000, clock)
    graph.start('recorder', out=tmp_path, name='again', mounting='upright',
                use_sim_time=bool(clock))
    graph.start('identification')
    graph.until(lambda: graph.node.count_subscribers('joint_states'), 'the recorder')
    assert graph.call('recorder/start').success
    player.say('go')
    first = read_bag(path).channels['/joint_states']
    graph.until(lambda: graph.health('recorder')[2].get('/joint_states count') == str(len(first)),
                'all joint states')
    assert graph.call('recorder/stop').success
    finished = graph.listen(String, 'recorder/recording', LATCHED)
    graph.until(lambda: finished, 'the path of the bag')

    second = read_bag(tmp_path / 'again').channels['/joint_states']
    assert (second.stamp_ns == first.stamp_ns).all()
    for name, values in first.fields.items():
        assert (second.fields[name] == values).all()
    if clock:  # received in the time of the bag
        assert np.abs(second.received_ns - first.stamp_ns).max() < 20e9

    responses = [graph.call('identification/identify')]
    while 'no recording' in responses[-1].message:  # not yet heard by the node itself
        responses.append(graph.call('identification/identify'))
    assert responses[-1].success, responses[-1].message
    texts = graph.listen(String, 'identification/identified_model', LATCHED)
    tables = graph.listen(Float64MultiArray, 'identification/base_parameters', LATCHED)
    graph.until(lambda: texts and tables, 'the latched model')
    again = IdentifiedModel.from_yaml(texts[0].data)
    assert [b['name'] for b in again.base] == [b['name'] for b in model.base]
    for key in ('value', 'standard_error'):
        expected = [b[key] for b in model.base]
        assert [b[key] for b in again.base] == pytest.approx(expected, rel=SAME)
    assert again.values == pytest.approx(model.values, rel=SAME)
    assert again.provenance['recordings'][0]['path'] == str(tmp_path / 'again')
    row = np.array(tables[0].data).reshape(len(model.base), -1)
    assert row[:, 0] == pytest.approx([b['value'] for b in model.base], rel=SAME, nan_ok=True)
