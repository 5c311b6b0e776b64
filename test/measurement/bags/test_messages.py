"""
Decoding of serialised messages.

The oracle is rosbags' serialiser (our code only reads), and bytes that rclpy of Jazzy wrote.
"""

import numpy as np
import pytest
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement.bags.definitions import fields, typestore, WRITTEN_OUT
from ros_inertial_id.measurement.bags.messages import (
    CONTROLLER_STATE,
    decode,
    DECODERS,
    encode,
    encode_string,
    JOINT_STATE,
    JOINT_TRAJECTORY,
)
from ros_inertial_id.measurement.recording import Channel

STORE = get_typestore(Stores.ROS2_KILTED)  # a later distribution than the decoder's own
TYPES = STORE.types
RNG = np.random.default_rng(2)
# JointState(name=['a', 'joint_2'], position=[1.5, -2.5], effort=[0.1, nan]), stamp 1.7e9 s + 5 ns,
# frame 'base', by rclpy 7.1.6: padding bytes are not zero, eight bytes too many at the end
RCLPY_BYTES = bytes.fromhex(
    '0001000000f1536505000000050000006261736500160601020000000200000061000df0080000006a6f696e745f'
    '320002000000000000000000f83f00000000000004c000000000020000009a9999999999b93f000000000000f87f'
    '000000aa022d00ad'
)


def new(type_name, /, **values):
    package, _, kind = type_name.partition('/')
    return TYPES[f'{package}/msg/{kind}'](**values)


def stamp(ns):
    return new('builtin_interfaces/Time', sec=ns // 10**9, nanosec=ns % 10**9)


def header(ns=0, frame=''):
    return new('std_msgs/Header', stamp=stamp(ns), frame_id=frame)


def vector(values, kind='Vector3'):
    return new(f'geometry_msgs/{kind}', **dict(zip('xyzw', map(float, values))))


def pose(numbers):
    return new(
        'geometry_msgs/Pose',
        position=vector(numbers[:3], 'Point'),
        orientation=vector(numbers[3:], 'Quaternion'),
    )


def transform(child, numbers, ns=0, frame='camera'):
    return new(
        'geometry_msgs/TransformStamped',
        header=header(ns, frame),
        child_frame_id=child,
        transform=new(
            'geometry_msgs/Transform',
            translation=vector(numbers[:3]),
            rotation=vector(numbers[3:], 'Quaternion'),
        ),
    )


def joint_state(names, ns=0, frame='', position=(), velocity=(), effort=()):
    return new(
        'sensor_msgs/JointState',
        header=header(ns, frame),
        name=list(names),
        position=np.array(position, float),
        velocity=np.array(velocity, float),
        effort=np.array(effort, float),
    )


def duration():
    return new('builtin_interfaces/Duration', sec=0, nanosec=0)


def point(positions=(), velocities=(), effort=()):
    return new(
        'trajectory_msgs/JointTrajectoryPoint',
        positions=np.array(positions, float),
        velocities=np.array(velocities, float),
        accelerations=np.zeros(0),
        effort=np.array(effort, float),
        time_from_start=duration(),
    )


def marker(key, numbers, ns='', action=0, text=''):
    image = new(
        'sensor_msgs/CompressedImage', header=header(), format='', data=np.zeros(3, np.uint8)
    )
    return new(
        'visualization_msgs/Marker',
        header=header(7, 'camera'),
        ns=ns,
        id=key,
        type=1,
        action=action,
        pose=pose(numbers),
        scale=vector((1, 1, 1)),
        color=new('std_msgs/ColorRGBA', r=0.0, g=0.0, b=0.0, a=1.0),
        lifetime=duration(),
        frame_locked=True,
        points=[vector(numbers[:3], 'Point')],
        colors=[],
        texture_resource='',
        texture=image,
        uv_coordinates=[],
        text=text,
        mesh_resource='',
        mesh_file=new('visualization_msgs/MeshFile', filename='', data=np.zeros(0, np.uint8)),
        mesh_use_embedded_materials=False,
    )


def markers(*elements):
    return new('visualization_msgs/MarkerArray', markers=list(elements))


def raw(message, little=True):
    return bytes(STORE.serialize_cdr(message, message.__msgtype__, little_endian=little))


def decoded(messages, received=None, little=True):
    received = list(range(len(messages))) if received is None else received
    return decode(messages[0].__msgtype__, [raw(m, little) for m in messages], '/topic', received)


@pytest.mark.parametrize('little', [True, False])
def test_reads_joint_states_of_either_byte_order(little):
    names, numbers = ('shoulder', 'elbow', 'wrist_3_joint'), RNG.normal(size=(50, 3, 3))
    stamps = 1_700_000_000_000_000_001 + np.arange(50) * 1_000_003
    channel = decoded(
        [joint_state(names, int(ns), 'base', *row) for ns, row in zip(stamps, numbers)],
        little=little,
    )
    assert channel.names == names and channel.frame_id == 'base' and channel.type == JOINT_STATE
    np.testing.assert_array_equal(channel.stamp_ns, stamps)
    np.testing.assert_array_equal(channel.received_ns, np.arange(50))
    for i, field in enumerate(('position', 'velocity', 'effort')):
        np.testing.assert_array_equal(channel.fields[field], numbers[:, i])
        assert channel.fields[field].dtype == np.dtype(float)
        assert not channel.fields[field].flags.writeable


def test_reads_what_rclpy_serialised():
    channel = decode(JOINT_STATE, [RCLPY_BYTES], '/joint_states', [3])
    assert channel.names == ('a', 'joint_2') and channel.frame_id == 'base'
    assert channel.stamp_ns.tolist() == [1_700_000_000_000_000_005]
    assert set(channel.fields) == {'position', 'effort'}
    np.testing.assert_array_equal(channel.fields['position'], [[1.5, -2.5]])
    np.testing.assert_array_equal(channel.fields['effort'], [[0.1, np.nan]])


def test_joints_that_come_and_go_are_nan_where_they_lack():
    channel = decoded(
        [
            joint_state('ab', 1, '', (1, 2), (3, 4), (5, 6)),
            joint_state('bc', 2, '', (7, 8)),
            joint_state('ba', 3, 'base', (9, 10), (), (11, 12)),
            joint_state('ab', 4, '', (13, 14), (15, 16), (17, 18)),
            joint_state('', 5),
        ]
    )
    nan = np.nan
    assert channel.names == ('a', 'b', 'c') and channel.frame_id == 'base'
    np.testing.assert_array_equal(channel.stamp_ns, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(
        channel.fields['position'],
        [[1, 2, nan], [nan, 7, 8], [10, 9, nan], [13, 14, nan], [nan, nan, nan]],
    )
    np.testing.assert_array_equal(
        channel.fields['velocity'],
        [[3, 4, nan], [nan, nan, nan], [nan, nan, nan], [15, 16, nan], [nan, nan, nan]],
    )
    np.testing.assert_array_equal(
        channel.fields['effort'],
        [[5, 6, nan], [nan, nan, nan], [12, 11, nan], [17, 18, nan], [nan, nan, nan]],
    )


def test_batches_and_single_messages_say_the_same():
    sets = [('a', 'bb'), ('ccc',), ('a', 'bb', 'd')]
    messages = [
        joint_state(sets[i % 3], i + 1, '', RNG.normal(size=len(sets[i % 3])))
        for i in RNG.integers(0, 3, 9000)
    ]
    whole = decoded(messages)
    for i in (0, 1, 4095, 4096, 8999):
        one = decoded([messages[i]], [i])
        columns = [whole.names.index(name) for name in one.names]
        np.testing.assert_array_equal(
            one.fields['position'], whole.fields['position'][i : i + 1, columns]
        )
        assert one.stamp_ns[0] == whole.stamp_ns[i] and one.received_ns[0] == i
        assert np.isfinite(whole.fields['position'][i]).sum() == len(columns)


def test_reception_stands_in_where_no_message_is_stamped():
    unstamped = [joint_state('a', 0, '', [1.0])] * 2
    assert decoded(unstamped, [5, 9]).stamp_ns.tolist() == [5, 9]
    assert decoded([*unstamped, joint_state('a', 4, '', [1.0])], [5, 9, 10]).stamp_ns.tolist() == [
        0,
        0,
        4,
    ]


def test_reads_poses_points_and_wrenches():
    numbers = RNG.normal(size=(20, 7))

    def check(messages, **fields):
        channel = decoded(messages)
        assert set(channel.fields) == set(fields) and channel.names == ()
        for name, values in fields.items():
            np.testing.assert_array_equal(channel.fields[name], values)

    check(
        [new('geometry_msgs/PoseStamped', header=header(1), pose=pose(x)) for x in numbers],
        position=numbers[:, :3],
        orientation_xyzw=numbers[:, 3:],
    )
    check(
        [
            new('geometry_msgs/PointStamped', header=header(1), point=vector(x[:3], 'Point'))
            for x in numbers
        ],
        position=numbers[:, :3],
    )
    wrenches = [
        new('geometry_msgs/Wrench', force=vector(x[:3]), torque=vector(x[3:6])) for x in numbers
    ]
    check(wrenches, force=numbers[:, :3], torque=numbers[:, 3:6])
    check(
        [
            new('geometry_msgs/WrenchStamped', header=header(1, 'wrist'), wrench=x)
            for x in wrenches
        ],
        force=numbers[:, :3],
        torque=numbers[:, 3:6],
    )
    check([new('std_msgs/Float64', data=x) for x in numbers[:, 0]], data=numbers[:, 0])
    layout = new(
        'std_msgs/MultiArrayLayout',
        data_offset=0,
        dim=[new('std_msgs/MultiArrayDimension', label='joints', size=7, stride=7)],
    )
    check(
        [new('std_msgs/Float64MultiArray', layout=layout, data=x) for x in numbers], data=numbers
    )


def test_fewer_poses_in_a_message_leave_nan_at_the_end():
    numbers = RNG.normal(size=(3, 7))
    channel = decoded(
        [
            new('geometry_msgs/PoseArray', header=header(i), poses=[pose(x) for x in numbers[:i]])
            for i in (3, 0, 1)
        ]
    )
    assert channel.fields['position'].shape == (3, 3, 3)
    np.testing.assert_array_equal(channel.fields['orientation_xyzw'][0], numbers[:, 3:])
    np.testing.assert_array_equal(channel.fields['position'][2, 0], numbers[0, :3])
    assert np.isnan(channel.fields['position'][1]).all()
    assert np.isnan(channel.fields['position'][2, 1:]).all()


def test_an_imu_quantity_that_is_not_estimated_is_nan():
    def imu(first):
        known, unknown = np.eye(3).ravel(), np.full(9, first)
        return new(
            'sensor_msgs/Imu',
            header=header(3, 'imu'),
            orientation=vector((0, 0, 0, 1), 'Quaternion'),
            orientation_covariance=unknown,
            angular_velocity=vector((1, 2, 3)),
            angular_velocity_covariance=known,
            linear_acceleration=vector((4, 5, 9.81)),
            linear_acceleration_covariance=known,
        )

    channel = decoded([imu(-1.0), imu(0.0)])
    np.testing.assert_array_equal(channel.fields['orientation_xyzw'], [[np.nan] * 4, [0, 0, 0, 1]])
    np.testing.assert_array_equal(channel.fields['angular_velocity'], [[1, 2, 3]] * 2)
    np.testing.assert_array_equal(channel.fields['linear_acceleration'], [[4, 5, 9.81]] * 2)


def test_transforms_are_labelled_by_child_and_stamped_each():
    numbers = RNG.normal(size=(4, 7))
    tree = decoded(
        [
            new(
                'tf2_msgs/TFMessage',
                transforms=[
                    transform('tag1', numbers[0], 10),
                    transform('longer_tag', numbers[1], 10),
                ],
            ),
            new(
                'tf2_msgs/TFMessage',
                transforms=[
                    transform('longer_tag', numbers[2], 20),
                    transform('tag1', numbers[3], 30),
                ],
            ),
        ]
    )
    assert tree.names == ('tag1', 'longer_tag') and tree.frame_id == 'camera'
    assert tree.stamp_ns.tolist() == [10, 20, 30] and tree.received_ns.tolist() == [0, 1, 1]
    none = np.full(3, np.nan)
    np.testing.assert_array_equal(
        tree.fields['position'],
        [[numbers[0, :3], numbers[1, :3]], [none, numbers[2, :3]], [numbers[3, :3], none]],
    )
    empty = decoded([new('tf2_msgs/TFMessage', transforms=[])], [77])
    assert empty.stamp_ns.tolist() == [77] and empty.names == ()
    single = decoded([transform('tag1', numbers[0], 1), transform('b', numbers[1], 2)])
    assert single.names == ('tag1', 'b')
    np.testing.assert_array_equal(
        single.fields['orientation_xyzw'][[0, 1], [0, 1]], numbers[:2, 3:]
    )
    assert np.isnan(single.fields['position'][[0, 1], [1, 0]]).all()


def test_markers_are_labelled_by_id_and_deleted_ones_left_out():
    numbers = RNG.normal(size=(3, 7))
    clear = marker(0, numbers[0], action=3)
    channel = decoded(
        [
            markers(clear, marker(0, numbers[0], text='near'), marker(12, numbers[1], ns='rig')),
            markers(clear, marker(12, numbers[2], ns='rig', text='far away')),
            markers(clear),
        ]
    )
    assert channel.names == ('0', 'rig/12') and channel.frame_id == 'camera'
    none = np.full(3, np.nan)
    np.testing.assert_array_equal(
        channel.fields['position'],
        [[numbers[0, :3], numbers[1, :3]], [none, numbers[2, :3]], [none, none]],
    )


def test_strings_keep_their_letters():
    texts = ['<robot name="Ärmchen"/>', '', 'same length', 'other words', 'x' * 200_000]
    channel = decode('std_msgs/String', [encode_string(text) for text in texts], '/s', range(5))
    assert channel.fields['data'].tolist() == texts
    assert channel.stamp_ns.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    'kind, shapes',
    [
        (
            'sensor_msgs/msg/Imu',
            {'orientation_xyzw': (4,), 'angular_velocity': (3,), 'linear_acceleration': (3,)},
        ),
        ('geometry_msgs/msg/PoseStamped', {'position': (3,), 'orientation_xyzw': (4,)}),
        ('geometry_msgs/msg/PointStamped', {'position': (3,)}),
        (
            'geometry_msgs/msg/AccelStamped',
            {'linear_acceleration': (3,), 'angular_acceleration': (3,)},
        ),
        (
            'nav_msgs/msg/Odometry',
            {
                'position': (3,),
                'orientation_xyzw': (4,),
                'linear_velocity': (3,),
                'angular_velocity': (3,),
            },
        ),
        ('geometry_msgs/msg/PoseArray', {'position': (5, 3), 'orientation_xyzw': (5, 4)}),
        ('geometry_msgs/msg/WrenchStamped', {'force': (3,), 'torque': (3,)}),
        ('geometry_msgs/msg/Wrench', {'force': (3,), 'torque': (3,)}),
        ('std_msgs/msg/Float64', {'data': ()}),
        ('std_msgs/msg/Float64MultiArray', {'data': (3,)}),
    ],
)
def test_what_is_encoded_is_decoded_again(kind, shapes):
    stamps = 1_460_034_860_123_456_789 + np.arange(7) * 5_000_000
    fields = {name: RNG.normal(size=(7, *shape)) for name, shape in shapes.items()}
    channel = Channel('/topic', kind, stamps, stamps.copy(), fields, (), 'frame')
    messages = list(encode(channel))
    STORE.deserialize_cdr(messages[3], kind)  # rosbags reads it, too
    again = decode(kind, messages, '/topic', stamps)
    np.testing.assert_array_equal(again.stamp_ns, stamps)
    assert again.frame_id == (
        '' if kind.split('/')[2] in ('Wrench', 'Float64', 'Float64MultiArray') else 'frame'
    )
    for name, values in fields.items():
        np.testing.assert_array_equal(again.fields[name], values)


def test_a_malformed_message_of_a_batch_can_be_left_out():
    good = raw(joint_state(('shoulder', 'elbow'), 1, 'base', (1, 2), (3, 4), (5, 6)))
    said = []
    channel = decode(
        JOINT_STATE, [good, good[:50], b'', good], '/joint_states', range(4), said.append
    )
    assert channel.received_ns.tolist() == [0, 3] and len(said) == 1
    assert said[0].startswith('2 messages are left out; topic /joint_states, message 1: ')


def test_the_first_message_that_is_left_out_is_named_whatever_layouts_come_before():
    """Messages 0 and 2 are of one layout, and decoded before message 1."""
    fine, twice, large = (
        raw(joint_state(names, 1, '', [value] * len(names), (), ()))
        for names, value in (('a', 1.0), ('aa', 1.0), ('a', 1e13))
    )
    complaints = []
    channel = decode(JOINT_STATE, [fine, twice, large], '/j', [1, 2, 3], complaints.append)
    assert channel.fields['position'].tolist() == [[1.0]]
    assert complaints == [
        '2 messages are left out; topic /j, message 1: cannot be read as '
        'sensor_msgs/msg/JointState; found a name twice in a, a'
    ]


def test_every_truncation_of_every_type_is_refused():
    poses = RNG.normal(size=(2, 7))
    for message in (
        joint_state('ab', 1, 'f', (1, 2), (3, 4), (5, 6)),
        new('tf2_msgs/TFMessage', transforms=[transform('tag', poses[0])]),
        markers(marker(0, poses[0])),
        new('geometry_msgs/PoseArray', header=header(), poses=[pose(poses[1])]),
    ):
        good = raw(message)
        for size in range(len(good)):
            with pytest.raises(RecordingError):
                decode(message.__msgtype__, [good[:size]], '/topic', [0])


@pytest.mark.parametrize(
    ('message', 'words'),
    [
        (joint_state(('a', 'b'), 1, '', (1, 2, 3)), '3 values of position for 2 names'),
        (joint_state((), 1, '', (1, 2)), '2 values of position for 0 names'),
        (joint_state(('a', 'a'), 1, '', (1, 2)), 'twice'),
    ],
)
def test_names_and_values_that_do_not_match_are_refused(message, words):
    with pytest.raises(RecordingError, match=words):
        decoded([message])


def test_dynamic_joint_states_are_joint_states_whatever_interfaces_a_joint_has():
    store = get_typestore(Stores.ROS2_KILTED)  # definitions as control_msgs has them
    store.register(
        {
            **get_types_from_msg(
                'string[] interface_names\nfloat64[] values', 'control_msgs/msg/InterfaceValue'
            ),
            **get_types_from_msg(
                'std_msgs/Header header\nstring[] joint_names\n'
                'control_msgs/InterfaceValue[] interface_values',
                'control_msgs/msg/DynamicJointState',
            ),
        }
    )
    kind, value = (
        store.types[f'control_msgs/msg/{x}'] for x in ('DynamicJointState', 'InterfaceValue')
    )
    messages = [
        bytes(
            store.serialize_cdr(
                kind(
                    header(k),
                    ['a', 'gripper', 'b'],
                    [
                        value(
                            ['velocity', 'position', 'effort', 'temperature'],
                            np.array([2.0, 1.0, 3.0, k]),
                        ),
                        value(['position'], np.array([7.0])),
                        value(['effort', 'position', 'velocity'], np.array([6.0, 4.0, k])),
                    ],
                ),
                kind.__msgtype__,
            )
        )
        for k in range(3)
    ]
    channel = decode(kind.__msgtype__, messages, '/dynamic_joint_states', [0] * 3)
    assert channel.type == JOINT_STATE and channel.names == ('a', 'gripper', 'b')
    nan = np.nan
    for name, rows in (
        ('position', [[1, 7, 4]] * 3),
        ('effort', [[3, nan, 6]] * 3),
        ('velocity', [[2, nan, k] for k in range(3)]),
    ):
        np.testing.assert_array_equal(channel.fields[name], rows)
    assert channel.stamp_ns.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    'behind',
    [
        '',
        'float64 speed_scaling_factor',  # control_msgs 5.0 to 5.2, and from 5.3 on
        'trajectory_msgs/JointTrajectoryPoint desired\ntrajectory_msgs/JointTrajectoryPoint '
        'actual',
    ],
)
def test_the_reference_of_a_controller_state_is_read_whatever_follows(behind):
    store, kind = get_typestore(Stores.ROS2_KILTED), CONTROLLER_STATE
    words = ('reference', 'feedback', 'error', 'output')
    store.register(
        get_types_from_msg(
            '\n'.join(
                [
                    'std_msgs/Header header\nstring[] joint_names',
                    *(f'trajectory_msgs/JointTrajectoryPoint {word}' for word in words),
                    'string[] multi_dof_joint_names',
                    *(
                        f'trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_{word}'
                        for word in words
                    ),
                    behind,
                ]
            ),
            kind,
        )
    )
    numbers = RNG.normal(size=(5, 3, 2))
    more = {line.split()[1]: point() if 'Point' in line else 1.0 for line in behind.splitlines()}
    messages = [
        bytes(
            store.serialize_cdr(
                store.types[kind](
                    header(k + 1),
                    ['a', 'b'],
                    point(*row),
                    *[point(row[1], row[0])] * 3,
                    [],
                    *[
                        new(
                            'trajectory_msgs/MultiDOFJointTrajectoryPoint',
                            transforms=[],
                            velocities=[],
                            accelerations=[],
                            time_from_start=duration(),
                        )
                    ]
                    * 4,
                    **more,
                ),
                kind,
            )
        )
        for k, row in enumerate(numbers)
    ]
    channel = decode(kind, messages, '/arm_controller/controller_state', [0] * 5)
    assert channel.type == kind and channel.names == ('a', 'b')
    assert channel.stamp_ns.tolist() == [1, 2, 3, 4, 5]
    for k, name in enumerate(('position', 'velocity', 'effort')):
        np.testing.assert_array_equal(channel.fields[name], numbers[:, k])
    if behind.startswith('float64'):  # as bags that are written say it
        assert list(fields(kind)) == [tuple(field) for field in store.fielddefs[kind][1]]


@pytest.mark.parametrize('count', [0, 2])
def test_trajectories_of_one_point_are_commands_and_others_left_out(count):
    """What rclpy serialises, which leaves the bytes of its padding as they were."""
    interfaces = pytest.importorskip('trajectory_msgs.msg', reason="needs pip install '.[ros]'")
    from rclpy.serialization import serialize_message

    def message(*points):
        return serialize_message(
            interfaces.JointTrajectory(
                joint_names=['a', 'b'],
                points=[
                    interfaces.JointTrajectoryPoint(positions=x, velocities=[]) for x in points
                ],
            )
        )

    said = []
    messages = [message([1.0, 2.0]), message(*[[5.0, 6.0]] * count), message([3.0, 4.0])]
    channel = decode(JOINT_TRAJECTORY, messages, '/commands', [7, 8, 9], said.append)
    assert channel.type == JOINT_TRAJECTORY and channel.names == ('a', 'b')
    assert set(channel.fields) == {'position'}
    np.testing.assert_array_equal(channel.fields['position'], [[1, 2], [3, 4]])
    assert channel.stamp_ns.tolist() == [7, 9]  # as received: 0 says "at once"
    assert len(said) == 1 and f'{count} points and not one; record the state' in said[0]


def test_an_unknown_type_lists_those_that_are_known():
    with pytest.raises(RecordingError, match='PointCloud2.*JointState'):
        decode('sensor_msgs/msg/PointCloud2', [b''], '/points', [0])
    assert all(name in typestore().fielddefs for name in DECODERS)


@pytest.mark.parametrize('name', [name for name in WRITTEN_OUT if 'control' not in name])
def test_definitions_that_are_written_out_are_those_of_ros(name):
    assert list(fields(name)) == [(field, kind) for field, kind in STORE.fielddefs[name][1]]
