"""The simulated rigs over DDS: a platform with faults, and what is refused in words."""

import json

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")
pytest.importorskip('mujoco', reason='the simulated rigs need mujoco')

from live_graph import LATCHED, ROOT  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from ros_inertial_id.identification.model.identified_model import IdentifiedModel  # noqa: E402
from ros_inertial_id.plugins import SIMULATED_RIGS  # noqa: E402


def test_platform_goes_from_recorder_to_latched_model_which_says_what_was_wrong(graph, tmp_path):
    """A limb that creeps, a marker that is lost, a stop that is touched: one in each posture."""
    graph.start('simulated_rig', rig='suspended_platform', running=False, held_seconds=4.0,
                loose_seconds=3.0, faults='[creeping, marker_lost, stop]',
                truth_file=tmp_path / 'truth.yaml')
    graph.start('recorder', out=tmp_path, topics='[markers, platform/imu]', name='bag')
    config = ROOT / 'config' / 'suspended_platform.yaml'
    graph.start('identification', method='suspended_platform', config=config)
    status = graph.listen(String, 'simulated_rig/status', LATCHED)
    graph.until(lambda: status and all(map(graph.node.count_subscribers, (
        'markers', 'platform/imu'))), 'rig and recorder')
    start = graph.call('recorder/start')
    assert start.success, start.message
    assert graph.set('simulated_rig', running=True) == ''
    graph.until(lambda: status[-1].data == 'finished', 'the end of the motions')
    published = json.loads(graph.call('simulated_rig/published').message)
    graph.until(lambda: all(graph.health('recorder')[2].get(f'{topic} count') == str(count)
                            for topic, count in published.items()), 'the last samples')
    graph.call('recorder/stop')
    answer = graph.call('identification/identify')
    assert answer.success, answer.message
    late = graph.listen(String, 'identification/identified_model', LATCHED)
    graph.until(lambda: late, 'the latched model')
    model = IdentifiedModel.from_yaml(late[0].data)
    assert model.method == 'suspended_platform'
    assert published == {'/markers': 120 * (4 * 4 + 2 * 3),
                         '/platform/imu': 360 * (4 * 4 + 2 * 3)}
    assert model.preprocessing[0]['imus']['platform']['rate'] == pytest.approx(360.0, rel=1e-3)
    assert model.preprocessing[0]['held'] == [[], *[['limb']] * 3, [], []]
    for words in ('Link limb was not still from 0.0', 'was lost for 1.00 s', 'Impact from'):
        assert words in ' '.join(answer.message.split()), answer.message
    third = (10.0, 14.0)  # [s], a second of pause after each
    impacts = np.array(model.preprocessing[0]['impacts'])
    assert ((impacts >= third[0]) & (impacts <= third[1])).all()


def test_model_without_live_prediction_is_refused_in_words(graph, tmp_path):
    rig = SIMULATED_RIGS['suspended_platform']
    live = rig(rig.Options(held_seconds=2.0, loose_seconds=2.0))
    from ros_inertial_id.identification.identify import identify
    from ros_inertial_id.identification.settings import options_class
    from ros_inertial_id.measurement.recording import joined, Recording
    said = {topic: [] for topic in live.topics}
    while live.time < live.ends:
        for topic, channel in live.advance().items():
            said[topic].append(channel)
    model = identify([Recording({t: joined(c) for t, c in said.items()}, live.description)],
                     options_class('suspended_platform')(), method='suspended_platform').model
    (tmp_path / 'model.yaml').write_text(model.to_yaml())
    process = graph.start('torque_prediction', model_file=tmp_path / 'model.yaml')
    assert process.wait() == 2
    assert 'nothing to predict live' in process.output
    assert 'serial_arm, closed_loop' in process.output


def test_rig_that_is_always_late_ends_all_the_same(graph):
    process = graph.start('simulated_rig', rig='slider_crank', marker_rate=5000.0,
                          imu_rate=5000.0, torque_rate=5000.0)
    graph.until(lambda: graph.health('simulated_rig')[0], 'its diagnostics')
    assert process.end() == 0, process.output


def test_rig_that_does_not_exist_is_refused(graph):
    process = graph.start('simulated_rig', rig='perpetual_motion')
    assert process.wait() == 2
    assert 'slider_crank, suspended_platform, wrist_sensor' in process.output
    assert process.output.count('\n') == 1
