"""
Bad recordings, descriptions and options: a clear message each, and nothing is lost.

Bags, nodes and the command line have their own; here are those of the chain itself.
"""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pytest
from recordings import altered, recording_of
from scipy.spatial.transform import Rotation

from ros_inertial_id.errors import ConfigError, InertialIdError, RecordingError, RobotModelError
from ros_inertial_id.identification.identify import identify, validation
from ros_inertial_id.identification.prepare.mounting import robot_of
from ros_inertial_id.identification.settings import load_options, options_class
from ros_inertial_id.measurement.recording import Channel, Recording

TOPIC = '/joint_states'
OPTIONS = options_class('serial_arm')()
NOT_FINITE = [('position', np.nan), ('effort', np.inf), ('velocity', np.nan)]


@pytest.fixture
def urdf(arm3):
    """Return the URDF text of the arm."""
    return arm3[0]


@pytest.fixture
def of_two_joints(arm3_recording):
    """Return the recording without what it says of the third joint."""
    channel = arm3_recording.channels[TOPIC]
    fields = {name: values[:, :2] for name, values in channel.fields.items()}
    return altered(arm3_recording, names=channel.names[:2], **fields)


def spoiled(recording, name, where, value):
    """Return the recording with one entry of a field replaced."""
    values = recording.channels[TOPIC].fields[name].copy()
    values[where] = value
    return altered(recording, **{name: values})


def refused(recording, urdf, words, kind=RecordingError, options=OPTIONS):
    """Assert that identify refuses with these words in one line and changes no recording."""
    before = {k: v.copy() for k, v in recording.channels[TOPIC].fields.items()}
    with pytest.raises(kind, match=words) as caught:
        identify([recording], options, urdf=urdf)
    assert '\n' not in str(caught.value) and isinstance(caught.value, InertialIdError)
    for name, values in recording.channels[TOPIC].fields.items():
        np.testing.assert_array_equal(values, before[name])


def test_wrong_joint_names_are_listed_beside_the_right_ones(arm3_recording, urdf):
    names = ('shoulder', 'joint2', 'joint3')
    refused(
        altered(arm3_recording, names=names),
        urdf,
        '/joint_states lacks joints; expected joint1; there is: shoulder, joint2, joint3',
    )


def test_a_missing_joint_is_named_with_the_way_to_lock_it(of_two_joints, urdf):
    refused(of_two_joints, urdf, 'lacks joints; expected joint3; .*--lock "joint3"')


def test_messages_that_cannot_be_read_are_no_missing_joints(arm3_recording, urdf):
    none = arm3_recording.channels[TOPIC].rows(slice(0))
    reason = '9 of 9 messages; the first: 2 values of effort for 3 names'
    recording = replace(
        arm3_recording,
        channels={TOPIC: replace(none, names=(), fields={})},
        provenance={'left_out': {TOPIC: reason}},
    )
    refused(recording, urdf, f'no message of {TOPIC} can be used; found {reason}$')


def test_a_joint_that_is_locked_is_not_missed(of_two_joints, urdf):
    options = replace(OPTIONS, locked_joints=('joint3',))
    model = identify([of_two_joints], options, urdf=urdf).model
    assert model.robot['joints'] == ['joint1', 'joint2']


def test_messages_that_are_not_finite_are_left_out(arm3_recording, urdf):
    for k, (field, value) in enumerate(NOT_FINITE):
        arm3_recording = spoiled(arm3_recording, field, (1234 + 100 * k, 1), value)
    model = identify([arm3_recording], OPTIONS, urdf=urdf).model
    assert model.preprocessing[0]['not_finite'] == 3
    assert model.preprocessing[0]['samples'] == 9997
    assert model.statistics['training']['filtered']['relative_percent'] < 0.5


@pytest.mark.parametrize('field, value', NOT_FINITE)
def test_values_that_are_not_finite_are_located(arm3_recording, urdf, field, value):
    refused(
        spoiled(arm3_recording, field, (slice(1234, 4000), 1), value),
        urdf,
        rf'{field} of joint2 in /joint_states is not finite in 2766 of 10000 messages; '
        rf'found {value} at 4\.936 s .sample 1234.; cut the recording with @START:END',
    )


def test_two_publishers_with_two_clocks_are_refused(arm3_recording, urdf):
    # One driver stamps with the system's clock, one with its own, on the same topic.
    stamps = arm3_recording.channels[TOPIC].stamp_ns.copy()
    stamps[1::2] += 1_700_000_000 * 10**9
    refused(
        altered(arm3_recording, stamp_ns=stamps),
        urdf,
        'run backwards 4999 times.*two publishers or two clocks share the topic',
    )


def test_motion_and_effort_on_two_clocks_are_refused(arm3_recording, urdf):
    channel = arm3_recording.channels[TOPIC]
    motion = {k: v for k, v in channel.fields.items() if k != 'effort'}
    later = channel.stamp_ns + 30 * 10**9
    both = {
        TOPIC: replace(channel, fields=motion),
        '/torques': replace(
            channel, topic='/torques', stamp_ns=later, fields={'effort': channel.fields['effort']}
        ),
    }
    refused(
        Recording(both),
        urdf,
        '/joint_states and /torques are on two clocks; found 9.996 s in common of 39.996 s',
        options=replace(OPTIONS, effort_topic='/torques'),
    )


@pytest.mark.parametrize(
    'count, words',
    [
        (2, 'too short; expected at least 3 samples; found 2'),
        (60, r'/joint_states is too short; expected at least 1 s; found 0\.240 s; record longer'),
        (240, 'too short'),
    ],
)
def test_recordings_that_are_too_short_are_refused(arm3_recording, urdf, count, words):
    channel = arm3_recording.channels[TOPIC].rows(slice(count))
    refused(recording_of(channel), urdf, words, InertialIdError)


@pytest.mark.parametrize('velocity', [True, False])
def test_a_motion_that_excites_nothing_is_refused(arm3_recording, urdf, velocity):
    still = arm3_recording.channels[TOPIC].fields['position'].copy()
    still[:] = [0.1, 0.2, 0.3]
    still += 1e-5 * np.random.default_rng(0).normal(size=still.shape)
    refused(
        altered(
            arm3_recording, position=still, velocity=np.zeros_like(still) if velocity else None
        ),
        urdf,
        'the motion excites nothing; found no joint moves more than .*play a designed motion',
    )


def test_a_description_without_inertia_is_refused_where_it_is_leaned_on(arm3_recording, urdf):
    bare = re.sub(r'<inertial>.*?</inertial>', '', urdf, flags=re.S)
    refused(
        arm3_recording,
        bare,
        'links without inertia; expected nominal inertias.*'
        'found link1, link2, link3.*estimator: weighted',
        RobotModelError,
    )


def test_inertias_that_no_link_has_are_refused(arm3_recording, urdf):
    heavy = re.sub(r'mass value="[^"]*"', 'mass value="1e308"', urdf)
    refused(
        arm3_recording,
        heavy,
        "link 'base_link' of the URDF: mass; expected a number from 0 "
        "to 1e[+]09; found '1e308'; correct the description",
        RobotModelError,
    )


def test_a_description_without_inertia_is_enough_for_least_squares(arm3_recording, urdf):
    bare = re.sub(r'<inertial>.*?</inertial>', '', urdf, flags=re.S)
    # No law whose load is the description's; no offset, which is sought beside a tilt of it.
    options = replace(
        OPTIONS,
        estimator='weighted',
        find_time_offset=False,
        friction=('viscous', 'coulomb', 'offset', 'armature'),
    )
    values = [identify([arm3_recording], options, urdf=text).model.base for text in (bare, urdf)]
    for one, other in zip(*values):
        assert one['name'] == other['name']
        assert abs(one['value'] - other['value']) < 0.01 * other['standard_error'] + 1e-9


def test_a_recording_without_effort_is_refused(arm3_recording, urdf):
    refused(
        altered(arm3_recording, effort=None),
        urdf,
        '/joint_states has no effort; found none for joint1, joint2, joint3; let the driver '
        'report efforts, record a topic with them and name it in effort_topic:, or',
    )


def test_milliseconds_in_the_place_of_seconds_are_refused(arm3_recording, urdf):
    channel = arm3_recording.channels[TOPIC]
    refused(
        altered(arm3_recording, stamp_ns=1000 * channel.stamp_ns),
        urdf,
        'samples of /joint_states are [0-9.]+ s apart; expected many in a second; '
        'look at the unit of its times',
    )


@pytest.mark.parametrize(
    'nothing, joints, do',
    [
        (
            0.0,
            [2],
            r'if no motor moves joint3 .* "closed_loop: {independent: \[joint1, joint2, joint3\], '
            r'actuated: \[joint1, joint2\]}" .*, or lock .* --lock "joint3"',
        ),
        (4e-310, [2], '--lock "joint3"'),  # memory that nobody wrote to
        (1e-12, [0, 1, 2], 'let the driver report efforts'),
    ],
)
def test_efforts_that_are_zero_throughout_are_refused(arm3_recording, urdf, nothing, joints, do):
    effort = arm3_recording.channels[TOPIC].fields['effort'].copy()
    effort[:, joints] = nothing
    names = ', '.join(f'joint{k + 1}' for k in joints)
    refused(
        altered(arm3_recording, effort=effort),
        urdf,
        'the effort in /joint_states is zero in '
        rf'every message; found for {names} \(less than 1e-09 is none\);.* {do}',
    )


def test_a_joint_without_effort_that_stands_still_is_to_be_locked(arm3_recording, urdf):
    fields = arm3_recording.channels[TOPIC].fields
    effort, position = fields['effort'].copy(), fields['position'].copy()
    effort[:, 2], position[:, 2] = 0.0, 0.3
    refused(
        altered(arm3_recording, effort=effort, position=position),
        urdf,
        'the effort .*; lock what is no part of the arm and stands still, --lock "joint3"',
    )


def test_a_recording_of_something_else_says_what_it_is(arm3_recording, urdf):
    refused(
        altered(arm3_recording, type='sensor_msgs/msg/Imu'),
        urdf,
        r'no joint states; expected sensor_msgs/msg/JointState; '
        r'found /joint_states \(sensor_msgs/msg/Imu\)',
    )


def test_a_recording_without_description_asks_for_one(arm3_recording):
    refused(arm3_recording, '', 'no robot description; .*give --urdf')


def test_joints_that_take_turns_in_the_messages_are_put_together(arm3_recording, urdf):
    # Two drivers share the topic: each message carries one half of the joints.
    fields = {k: v.copy() for k, v in arm3_recording.channels[TOPIC].fields.items()}
    for values in fields.values():
        values[0::2, 2] = np.nan
        values[1::2, :2] = np.nan
    one, whole = (
        identify([r], OPTIONS, urdf=urdf).model
        for r in (altered(arm3_recording, **fields), arm3_recording)
    )
    assert one.statistics['training']['filtered']['relative_percent'] < 0.5
    for a, b in zip(one.base, whole.base):
        assert abs(a['value'] - b['value']) < 0.01 * abs(b['value']) + 0.01


def test_nothing_is_made_up_while_a_joint_is_missing(arm3_recording, urdf):
    fields = {k: v.copy() for k, v in arm3_recording.channels[TOPIC].fields.items()}
    for values in fields.values():
        values[3000:5000, 2] = np.nan  # from 12 to 20 s
    model = identify([altered(arm3_recording, **fields)], OPTIONS, urdf=urdf).model
    summary = model.preprocessing[0]
    assert summary['segments'] == 2 and summary['duration'] == pytest.approx(32.0, abs=0.1)
    assert model.statistics['training']['filtered']['relative_percent'] < 0.5


def test_joints_that_are_never_recorded_together_are_refused(arm3_recording, urdf):
    fields = {k: v.copy() for k, v in arm3_recording.channels[TOPIC].fields.items()}
    for values in fields.values():
        values[:5000, 2] = np.nan
        values[5000:, :2] = np.nan
    refused(
        altered(arm3_recording, **fields),
        urdf,
        r'never recorded together; found joint1 from 0\.000 to 19\.996 s',
    )


@pytest.fixture(scope='module')
def model(arm3, arm3_motion):
    """Return the model of the arm."""
    names, t, q, v, _, tau = arm3_motion
    return identify([mujoco_arm.recording(names, t, q, v, tau)], OPTIONS, urdf=arm3[0]).model


def test_a_model_of_another_robot_is_refused_with_the_difference(model, arm3_recording, urdf):
    longer = urdf.replace('xyz="0.35 0 0"', 'xyz="0.36 0 0"')
    stranger = replace(model, robot=dict(model.robot, urdf=longer))
    with pytest.raises(
        RobotModelError,
        match='other kinematics; found.*same joint names but other axes or placements',
    ):
        validation(stranger, [arm3_recording])
    renamed = replace(model, robot=dict(model.robot, joints=['a', 'b', 'c']))
    with pytest.raises(RobotModelError, match='another robot; expected a, b, c; found joint1, '):
        validation(renamed, [arm3_recording])


def test_a_model_is_not_used_under_a_mounting_that_it_does_not_know(model, arm3_recording):
    with pytest.raises(
        RobotModelError, match='mounting needs parameters that were not identified; .*found .*mcx1'
    ):
        validation(model, [replace(arm3_recording, mounting='rpy 0 1.2 0')])


@pytest.mark.parametrize(
    'changes, words',
    [
        ({'estimater': 'ridge'}, "no option 'estimater'.*did you mean 'estimator'"),
        ({'decimate': -1}, 'option decimate; expected 0 to 10000; found -1'),
        ({'estimator': 'magic'}, "option estimator; found 'magic'; there is: ridge, weighted"),
        ({'friction': ['sticky']}, "friction law; found 'sticky'; there is: viscous, presliding"),
        ({'friction': ['viscous', 'viscous']}, 'friction laws are named twice'),
        ({'mounting': 'ceiling'}, "mounting; found 'ceiling'; there is: upright, rpy R P Y"),
        ({'cutoff': 'low'}, 'cutoff'),
        (
            {'joint_states_topic': '/robot/states'},
            'topic /robot/states is not in the recording; there is: /joint_states',
        ),
    ],
)
def test_options_that_mean_nothing_are_refused_with_those_that_do(
    arm3_recording, urdf, changes, words
):
    with pytest.raises(InertialIdError, match=words):
        _, options = load_options(changes=changes)
        identify([arm3_recording], options, urdf=urdf)


def test_a_method_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match="method; found 'magic'; there is: serial_arm"):
        options_class('magic')


def with_imu(recording, force, frame='', mounting='imu'):
    """Return the recording with a base IMU that feels ``force`` (3,) or (100, 3) [m/s^2]."""
    stamps = np.arange(100) * 10**7
    imu = Channel(
        '/imu',
        'sensor_msgs/msg/Imu',
        stamps,
        stamps,
        {'linear_acceleration': np.broadcast_to(force, (100, 3))},
        frame_id=frame,
    )
    return replace(recording, mounting=mounting, channels={**recording.channels, '/imu': imu})


def test_an_imu_at_rest_tells_the_mounting_in_the_frame_of_the_base(arm3_recording, urdf):
    rpy, gravity = [0.3, -0.5, 1.1], 9.81 * np.array([0.36, 0.48, -0.8])
    mounted = urdf.replace(
        '</robot>',
        f"""<link name="base_imu"/>
        <joint name="base_imu_fixed" type="fixed"><origin rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/>
        <parent link="base_link"/><child link="base_imu"/></joint></robot>""",
    )
    felt = -Rotation.from_euler('xyz', rpy).inv().apply(gravity)
    robot = robot_of(with_imu(arm3_recording, felt, 'base_imu'), OPTIONS, mounted)
    np.testing.assert_allclose(robot.gravity_base, gravity, atol=1e-9)
    shaken = felt + 3.0 * np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(RecordingError, match='the base IMU /imu was not at rest; expected a stan'):
        robot_of(with_imu(arm3_recording, shaken), OPTIONS, urdf)


@pytest.mark.parametrize(
    'frame, force, words',
    [
        ('camera_imu', [0.0, 0.0, 9.8], 'does not have; found camera_imu; there is: .*base'),
        ('link3', [0.0, 0.0, 9.8], 'the IMU /imu sits on a moving link'),
        ('', [0.0, np.nan, 9.8], 'the base IMU /imu is not finite; found 100 of 100 messages'),
    ],
)
def test_an_imu_that_cannot_tell_the_mounting_is_refused(
    arm3_recording, urdf, frame, force, words
):
    with pytest.raises(RecordingError, match=words):
        robot_of(with_imu(arm3_recording, force, frame), OPTIONS, urdf)


@pytest.mark.parametrize(
    'mounting, direction',
    [('upright', [0, 0, -1]), ('rpy 1.5707963267948966 0 0', [0, -1, 0]), ('imu', [0, 0, -1])],
)
def test_local_gravity_counts_where_a_mounting_is_a_direction(
    arm3_recording, urdf, mounting, direction
):
    recording = with_imu(arm3_recording, [0.0, 0.0, 9.5], mounting=mounting)
    gravity = robot_of(recording, replace(OPTIONS, gravity_magnitude=9.78), urdf).gravity_base
    np.testing.assert_allclose(gravity, 9.78 * np.array(direction), atol=1e-12)
