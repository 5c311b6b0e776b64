"""What a demonstration says at its end: sentences with its own numbers, arm and rig alike."""

import pytest

pytest.importorskip('rclpy', reason="the demonstration needs rclpy: pip install '.[ros]'")

from ros_inertial_id.demonstration.demo import sentences  # noqa: E402

ARM = {
    'published': 8245,
    'recorded': 8245,
    'base_parameters': 83,
    'within_3_standard_errors': 82 / 83,
    'torque_relative_percent': 0.556,
    'validation_relative_percent': 0.139,
    'condition_number': 41.23,
    'model': 'm.yaml',
    'report': 'r.html',
}
RIG = {
    'published': {'/markers': 100, '/imu': 200},
    'recorded': {'/markers': 100, '/imu': 199},
    'base_parameters': 6,
    'within_3_standard_errors': 1.0,
    'worst_error_percent': 0.25,
    'model': 'm.yaml',
    'report': 'r.html',
}


def test_an_arm_says_all_its_numbers():
    text = '\n'.join(sentences(ARM))
    for words in (
        '8245 of 8245 joint states: nothing was lost',
        '82 of 83',
        '0.14 %',
        '0.56 %',
        'condition number of the first motion is 41.2',
        'Look at r.html',
        'm.yaml',
    ):
        assert words in text
    assert '{' not in text and all(line.endswith('.') for line in sentences(ARM))


def test_a_rig_says_what_was_lost_and_nothing_that_it_has_not():
    text = '\n'.join(sentences(RIG))
    assert '100 of 100 /markers, 199 of 200 /imu.' in text and 'nothing was lost' not in text
    assert '6 of 6' in text and '0.25 %' in text
    assert 'Live' not in text and 'condition number' not in text
