"""Which robot a recording is of: locked joints, several robots, descriptions in one of files."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
from recordings import joint_states, recording_of

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import ConfigError, RecordingError
from ros_inertial_id.identification.prepare.dataset import read_dataset
from ros_inertial_id.identification.prepare.description_choice import (
    description_of,
    with_shared_texts,
)
from ros_inertial_id.identification.prepare.mounting import robot_of
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.recording import Recording

OPTIONS = options_class('serial_arm')()
URDF = mujoco_arm.description('arm3')
HAND = URDF.replace(
    '</robot>',
    """
<link name="finger_link"><inertial><mass value="0.03"/><origin xyz="0 0 0.02"/>
 <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="finger" type="revolute"><parent link="link3"/><child link="finger_link"/>
 <axis xyz="0 1 0"/><limit lower="0" upper="0.8" effort="1" velocity="1"/></joint>
<link name="bar"><inertial><mass value="2"/><origin xyz="0.2 0 0"/>
 <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="bar_joint" type="revolute"><parent link="link2"/><child link="bar"/>
 <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="1" velocity="1"/>
 <mimic joint="joint3" multiplier="-1" offset="0.1"/></joint></robot>""",
)
NAMES = ('joint1', 'joint2', 'joint3', 'finger')
ARM = NAMES[:3]


def states(topic='/joint_states', names=NAMES, place=0.0, effort=True, **at):
    """Return 5 s of joint states in which all joints move from ``place`` on, but those ``at``."""
    t = np.arange(500) / 100.0
    q = place + np.sin(t[:, None] + np.arange(len(names)))
    for joint, position in at.items():
        q[:, names.index(joint)] = position
    fields = {'position': q, 'velocity': np.cos(t[:, None] + np.arange(len(names)))}
    if effort:
        fields['effort'] = 1.0 + q
    return joint_states(names, t, topic, **fields)


@pytest.mark.parametrize(
    'at, given, expected',
    [
        ({'joint3': 1.2, 'finger': 0.3}, (), (1.2, 0.3, -1.1)),  # of the mimic joint: 0.1 - 1.2
        ({'joint3': 1.2, 'finger': np.linspace(0.0, 0.8, 500)}, (), (1.2, 0.4, -1.1)),  # light
        ({'joint3': 1.2, 'finger': 0.3}, (1.22, 0.0, -1.1), (1.22, 0.0, -1.1)),
        ({'joint3': 1.2, 'finger': 80.0}, (1.2, 0.1, -1.1), (1.2, 0.1, -1.1)),
    ],
)  # in percent
def test_locked_joints_are_where_they_were_recorded(at, given, expected):
    options = replace(OPTIONS, locked_joints=('joint3', 'finger', 'bar*'), locked_positions=given)
    at['joint3'] = np.full(500, at['joint3'])
    at['joint3'][100] += 2.0  # a glitch is no motion
    data = read_dataset([recording_of(states(**at))], options, 'serial_arm', HAND)
    assert data.options.locked_joints == ('joint3', 'finger', 'bar_joint')
    np.testing.assert_allclose(data.options.locked_positions, expected, atol=1e-3)
    held = load_robot_model(
        HAND, ('joint1', 'joint2'), locked=dict(zip(data.options.locked_joints, expected))
    )
    np.testing.assert_allclose(data.robot.inertias, held.inertias, atol=1e-4)


@pytest.mark.parametrize(
    'at, given, words',
    [
        ({'joint3': np.linspace(-0.8, 0.8, 500), 'finger': 0.1}, (), 'joint3 is locked and moves'),
        (
            {'joint3': 0.3, 'finger': 0.1},
            (1.5, 0.0, -1.4),
            'another place of joint3 .* 0.3 as rec',
        ),
        ({'joint3': 0.3, 'finger': 80.0}, (), 'finger is far beyond its limits; .*0 to 0.8'),
    ],
)
def test_locked_joints_that_are_elsewhere_are_refused(at, given, words):
    options = replace(OPTIONS, locked_joints=('joint3', 'finger', 'bar*'), locked_positions=given)
    with pytest.raises((RecordingError, ConfigError), match=words):
        robot_of(recording_of(states(**at)), options, HAND)


def test_a_locked_joint_that_follows_one_that_moves_is_refused():
    options = replace(OPTIONS, locked_joints=('finger', 'bar_joint'))
    with pytest.raises(RecordingError, match='bar_joint is locked and follows joint3, which mov'):
        robot_of(recording_of(states(finger=0.0)), options, HAND)


ON_A_RAIL = URDF.replace(
    '</robot>',
    """<link name="floor"/><joint name="rail" type="prismatic"><parent link="floor"/>
 <child link="base_link"/><axis xyz="1 0 0"/><limit lower="-2" upper="2" effort="9" velocity="1"/>
</joint></robot>""",
)


@pytest.mark.parametrize(
    'ends, refused', [((-0.3, 0.3), True), ((0.0, 0.03), True), ((0.5, 0.504), False)]
)
@pytest.mark.parametrize('given', [(), (0.5,)])
def test_a_locked_joint_that_carries_the_arm_stands_still(ends, refused, given):
    options = replace(OPTIONS, locked_joints=('rail',), locked_positions=given)
    recording = recording_of(states(names=(*ARM, 'rail'), rail=np.linspace(*ends, 500)))
    if not refused:
        read_dataset([recording], options, 'serial_arm', ON_A_RAIL)
        return
    with pytest.raises(RecordingError, match='rail is locked and moves in the recording'):
        read_dataset([recording], options, 'serial_arm', ON_A_RAIL)


def test_an_arm_that_is_locked_beside_another_one_may_move():
    beside = ON_A_RAIL.replace(
        '</robot>',
        '<link name="bar2"><inertial><mass value="2"/><origin xyz="0.2 0 0"/><inertia ixx="0.01" '
        'iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="other" '
        'type="revolute"><parent link="base_link"/><child link="bar2"/><axis xyz="0 1 0"/>'
        '<limit lower="-3" upper="3" effort="1" velocity="1"/></joint></robot>',
    )
    options = replace(OPTIONS, locked_joints=('rail', 'other'))
    recording = recording_of(
        states(names=(*ARM, 'rail', 'other'), rail=0.1, other=np.linspace(-1.0, 1.0, 500))
    )
    data = read_dataset([recording], options, 'serial_arm', beside)
    assert data.robot.joint_names == ARM


def test_a_second_recording_has_to_lock_joints_at_the_same_place():
    options = replace(OPTIONS, locked_joints=('joint3', 'finger', 'bar*'))
    here, there = (recording_of(states(joint3=x, finger=0.0)) for x in (0.5, 0.9))
    with pytest.raises(ConfigError, match='another place of joint3 .* 0.9 as recorded; found 0.5'):
        read_dataset([here, there], options, 'serial_arm', HAND)


ONE, TWO = URDF, URDF.replace('xyz="0 0 0.4"', 'xyz="0 0 0.5"')
OTHER = URDF.replace('name="joint', 'name="right_joint')
RIGHT = tuple(f'right_{name}' for name in ARM)


@pytest.mark.parametrize(
    'texts, topics, asked, expected',
    [
        ({'/a': ONE, '/b': TWO}, {'/a': ARM, '/b': ARM}, '', None),
        ({'/a': ONE, '/b': TWO}, {'/a': ARM, '/b': ARM}, 'b/joint_states', TWO),
        ({'': ONE, '/b': TWO}, {'/b': ARM}, '', TWO),
        ({'': ONE, '/b': TWO}, {'': ARM}, '', ONE),
        ({'/a': ONE, '/b': OTHER}, {'': ARM}, '', ONE),  # by the names
        ({'/a': OTHER, '/b': ONE}, {'': ARM + RIGHT}, '', None),
        ({'/a': ONE, '/b': ONE}, {'': ARM}, '', ONE),
    ],
)
def test_descriptions_go_with_joint_states_of_their_namespace_and_names(
    texts, topics, asked, expected
):
    texts = {f'{space}/robot_description': text for space, text in texts.items()}
    found = recording_of(
        *(states(f'{space}/joint_states', names) for space, names in topics.items()),
        robot_description=next(iter(texts.values())),
        descriptions=texts,
    )
    options = replace(OPTIONS, joint_states_topic=asked)
    if expected is None:
        with pytest.raises(RecordingError, match='several robots; .*joint_states_topic:'):
            description_of(found, options)
    else:
        assert description_of(found, options) == expected


def test_files_of_a_split_bag_share_what_was_recorded_once():
    first, second, other = (
        Recording({}, provenance={'path': f'day/{name}.mcap'})
        for name in ('bag_0', 'bag_1', 'monday')
    )
    first = replace(first, robot_description=ONE, mounting='rpy 0 1.5708 0')
    out = with_shared_texts([second, first, other])
    assert [r.robot_description for r in out] == [ONE] * 3
    assert [r.mounting for r in out] == [first.mounting, first.mounting, '']
