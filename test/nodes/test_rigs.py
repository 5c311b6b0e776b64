"""The simulated rigs over DDS: what is refused in words."""

import pytest

pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")
pytest.importorskip('mujoco', reason='the simulated rigs need mujoco')

import platform_truth as truth  # noqa: E402

from ros_inertial_id.identification.identify import identify  # noqa: E402
from ros_inertial_id.identification.settings import options_class  # noqa: E402


def test_model_without_live_prediction_is_refused_in_words(graph, tmp_path):
    model = identify([truth.record(truth.TWO_LINKS, truth.POSTURES[0], 4.0, 1)],
                     options_class('suspended_platform')(), method='suspended_platform',
                     urdf=truth.description(truth.TWO_LINKS)).model
    (tmp_path / 'model.yaml').write_text(model.to_yaml())
    process = graph.start('torque_prediction', model_file=tmp_path / 'model.yaml')
    assert process.wait() == 2
    assert 'nothing to predict live' in process.output
    assert 'serial_arm, closed_loop' in process.output


def test_rig_that_does_not_exist_is_refused(graph):
    process = graph.start('simulated_rig', rig='perpetual_motion')
    assert process.wait() == 2
    assert 'slider_crank, suspended_platform, wrist_sensor' in process.output
    assert process.output.count('\n') == 1
