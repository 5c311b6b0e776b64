"""Training data: one robot, each sample once, and no validation on what was seen."""

from dataclasses import replace
import logging

import mujoco_arm
import numpy as np
import pytest

import ros_inertial_id as rid
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.prepare.dataset import (
    check_one_robot,
    each_once,
    read_dataset,
    seen_before,
)
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.bags.writing import write_recording


@pytest.fixture(scope='module')
def bag(arm3, arm3_motion, tmp_path_factory):
    """Return the path of a bag of 20 s of the 3R arm."""
    names, t, q, v, _, tau = arm3_motion
    part, path = slice(None, len(t) // 2), tmp_path_factory.mktemp('bags') / 'first'
    recording = mujoco_arm.recording(names, t[part], q[part], v[part], tau[part])
    write_recording(path, replace(recording, robot_description=arm3[0]))
    return path


def test_the_same_bag_twice_counts_once_and_is_named(bag, caplog):
    once = rid.identify(rid.read_bag(bag), find_time_offset=False).model.statistics['samples']
    with caplog.at_level(logging.WARNING):
        twice = rid.identify([rid.read_bag(bag), rid.read_bag(bag)], find_time_offset=False)
    assert twice.model.statistics['samples'] == once
    assert twice.model.identified.provenance['repeated'] == [str(bag)]
    assert 'counts once' in caplog.text


def test_windows_of_one_bag_may_touch_but_not_overlap(bag):
    whole, first, last = (rid.read_bag(f'{bag}{part}') for part in ('', '@:10', '@10:'))
    kept, repeated = each_once([first, last])
    assert kept == [first, last] and not repeated
    with pytest.raises(rid.RecordingError, match='overlap'):
        each_once([first, whole])


def test_validation_on_training_data_is_called_none(bag):
    recording = rid.read_bag(bag)
    result = rid.identify(recording, validate=rid.read_bag(f'{bag}@5:'), find_time_offset=False)
    assert result.model.statistics['validation_seen'] == [str(bag)]
    assert 'no validation' in result.summary()
    assert 'has not seen' not in result.summary()
    trained = [recording.window(0.0, 5.0).provenance]
    assert not seen_before(trained, [rid.read_bag(f'{bag}@5:')])


def test_fast_and_slow_recordings_are_read_behind_one_filter(arm3, arm3_recording):
    channel, options = arm3_recording.channels['/joint_states'], options_class('serial_arm')()
    noise = 1e-3 * np.random.default_rng(0).normal(size=channel.fields['velocity'].shape)
    fast, slow = (
        replace(
            arm3_recording,
            channels={
                '/joint_states': replace(
                    channel,
                    stamp_ns=times * channel.stamp_ns,
                    fields={
                        **channel.fields,
                        'velocity': channel.fields['velocity'] / times + noise,
                    },
                )
            },
        )
        for times in (1, 3)
    )
    alone, both = (
        [
            o.summary.cutoff
            for o in read_dataset(recordings, options, 'serial_arm', arm3[0]).observations
        ]
        for recordings in ([slow], [slow, fast])
    )
    assert both[0] == both[1] > 1.5 * alone[0]


def test_all_recordings_that_are_too_short_are_named(bag):
    parts = [rid.read_bag(f'{bag}@{k}:{k + 0.5}') for k in range(2)]
    named = [
        replace(part, provenance={**part.provenance, 'path': name})
        for part, name in zip(parts, 'ab')
    ]
    with pytest.raises(rid.RecordingError, match='^a, b: /joint_states is too short'):
        identify(named, options_class('serial_arm')())


def test_two_robots_are_refused_with_what_differs(arm3, arm3_recording):
    arm2 = mujoco_arm.description('arm2')
    names = mujoco_arm.joints_of(arm2)
    t, q, v, a = mujoco_arm.motion(len(names), 20.0, 250.0, seed=5)
    other = replace(
        mujoco_arm.recording(names, t, q, v, mujoco_arm.torque(arm2, q, v, a)),
        robot_description=arm2,
    )
    with pytest.raises(rid.RobotModelError, match='another robot') as error:
        rid.identify([replace(arm3_recording, robot_description=arm3[0]), other])
    assert names[0] in str(error.value)


def test_other_kinematics_under_the_same_names_are_located(arm3, arm3_recording):
    one = load_robot_model(arm3[0])
    moved = one.translations.copy()
    moved[2, 0] += 0.01  # [m]
    other = replace(one, translations=moved)
    with pytest.raises(rid.RobotModelError, match='same joint names, other kinematics') as error:
        check_one_robot([one, other], [arm3_recording, arm3_recording])
    assert f'placement of {one.joint_names[2]} by 0.01 m' in str(error.value)
    check_one_robot([one, replace(one)], [arm3_recording, arm3_recording])
