"""What was understood of a recording, as a model file keeps it and as it is read back."""

import json

import pytest

from ros_inertial_id.measurement.summary import Summary

OF_AN_ARM = {
    'topic': '/joint_states',
    'effort_topic': '/torques',
    'rate': 500.0,
    'samples': 9000,
    'missing': 0,
    'gaps': 0,
    'cutoff_chosen': True,
    'motion_ends_at': 4.0,
    'velocity': 'measured',
    'velocity_disagreement': 0.02,
    'velocity_of': 'joint2',
    'effort_kind': 'link',
    'position_kind': 'link',
    'cutoff': 12.0,
    'decimate': 4,
    'segments': 1,
    'duration': 18.0,
}


@pytest.mark.parametrize(
    'changes',
    [
        {},
        {'motion_ends_at': None, 'cutoff_chosen': False},  # of a cutoff that was given
        {'velocity_disagreement': None, 'velocity_of': None},  # of joints without velocities
        {'time_offset_found': 0.0, 'time_offset_error': 1e-3},
        {'time_offset': -0.01, 'not_finite': 3, 'unwrapped': {'joint1': 2}},
        {'sources': {'/imu': {'silent': 0.7}}, 'doubts': []},
    ],
)
def test_what_was_written_is_read_and_written_as_it_was(changes):
    entry = OF_AN_ARM | changes
    assert Summary.of(json.loads(json.dumps(entry))).entry() == entry


def test_a_method_need_not_say_more_than_cutoff_and_velocity():
    summary = Summary(cutoff=10.0, velocity='measured')
    assert summary.entry() == {'cutoff': 10.0, 'velocity': 'measured', 'decimate': 1}
    assert summary.time_offset == 0.0 and summary.gaps is None


def test_details_of_a_method_stand_beside_the_rest():
    summary = Summary(cutoff=10.0, details={'camera': [1.0]}).with_details(doubts=[])
    assert summary.details == {'camera': [1.0], 'doubts': []}
    assert summary.entry()['camera'] == [1.0]
