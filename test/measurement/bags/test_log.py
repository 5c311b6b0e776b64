"""Import of logs: nothing is lost, nothing is repaired, and what does not fit is named."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ros_inertial_id.errors import RecordingError, RobotModelError
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.log import read_log
from ros_inertial_id.measurement.bags.log_joint_names import moving_joints
from ros_inertial_id.measurement.bags.log_parts import JOINT_COMMANDS
from ros_inertial_id.measurement.bags.writing import write_recording

DATA = Path(__file__).parents[4] / 'shared' / 'data'
REAL = [
    ('kuka_lwr4/measurement_1.npz', 'kuka_lwr4/kuka_lwr4.urdf', 5027),
    ('panda/excitation.npz', 'panda/panda.urdf', 20544),
]
URDF = """<robot name="r"><link name="base"/><link name="l3"/><link name="l1"/><link name="l2"/>
<link name="tool"/><link name="finger"/>
<joint name="third" type="prismatic"><parent link="l2"/><child link="l3"/></joint>
<joint name="first" type="revolute"><parent link="base"/><child link="l1"/></joint>
<joint name="stay" type="fixed"><parent link="l3"/><child link="tool"/></joint>
<joint name="copy" type="revolute"><parent link="tool"/><child link="finger"/>
<mimic joint="third"/></joint>
<joint name="second" type="continuous"><parent link="l1"/><child link="l2"/></joint></robot>"""
JOINTS = ('first', 'second', 'third')
N = 50
RNG = np.random.default_rng(5)
Q, V, TAU = RNG.normal(size=(3, N, 3))
UNIX = 1_460_034_860.25 + 0.005 * np.arange(N) + RNG.uniform(0, 1e-3, N)  # [s]


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def exact_ns(seconds):
    """Return seconds (floats, or texts that are taken at their word) in ns, by fractions."""
    return np.array([round(Fraction(second) * 10**9) for second in seconds])


def import_log(log, urdf, out, **options):
    recording = read_log(log, urdf, **options)
    write_recording(out, recording)
    return recording


def imported(tmp_path, log, **options):
    import_log(log, URDF, tmp_path / 'bag', **options)
    recording = read_bag(tmp_path / 'bag')
    assert recording.robot_description == URDF
    return recording.channels['/joint_states']


def write_csv(path, header, table, delimiter=','):
    rows = [delimiter.join(header)]
    rows += [
        delimiter.join(cell if isinstance(cell, str) else repr(float(cell)) for cell in row)
        for row in table
    ]
    path.write_text('\n'.join(rows) + '\n')
    return path


@pytest.mark.parametrize(('log', 'urdf', 'samples'), REAL)
def test_real_logs_come_back_bit_exact(tmp_path, log, urdf, samples):
    if not DATA.is_dir():
        pytest.skip(f'the recordings of real robots are not in {DATA}')
    arrays = np.load(DATA / log)
    import_log(DATA / log, (DATA / urdf).read_text(), tmp_path / 'bag')
    recording = read_bag(tmp_path / 'bag')
    channel = recording.channels['/joint_states']
    assert len(channel) == samples and len(channel.names) == 7
    for field, key in (('position', 'q'), ('velocity', 'v'), ('effort', 'tau')):
        np.testing.assert_array_equal(channel.fields[field], arrays[key])
    np.testing.assert_array_less(np.abs(channel.stamp_ns - exact_ns(arrays['stamp_s'])), 2)  # ns
    if 'joint_names' in arrays:
        assert channel.names == tuple(arrays['joint_names'])
    else:
        assert channel.names == tuple(f'lwr_{i}_joint' for i in range(7))
    assert recording.robot_description == (DATA / urdf).read_text()


def test_stamps_in_ns_stay_as_they_are(tmp_path):
    stamps = 1_700_000_000_000_000_001 + np.arange(N) * 999_999_937
    log = save(tmp_path / 'log.npz', stamp_ns=stamps, q=Q)
    channel = imported(tmp_path, log)
    np.testing.assert_array_equal(channel.stamp_ns, stamps)
    assert set(channel.fields) == {'position'}


def test_nan_and_time_running_backwards_are_imported_as_they_are(tmp_path):
    q, time = Q.copy(), UNIX.copy()
    q[7, 1], time[[10, 11, 30]] = np.nan, time[[11, 10, 5]]
    log = save(tmp_path / 'log.npz', t=time, q=q)
    channel = imported(tmp_path, log)
    np.testing.assert_array_equal(channel.fields['position'], q)
    np.testing.assert_array_less(np.abs(channel.stamp_ns - exact_ns(time)), 2)  # [ns]


def test_unknown_keys_are_named(tmp_path, caplog):
    imported(tmp_path, save(tmp_path / 'log.npz', t=UNIX, q=Q, temperature=Q))
    assert 'not imported: temperature' in caplog.text


def test_a_log_without_time_needs_a_rate(tmp_path):
    log = save(tmp_path / 'log.npz', q=Q, tau=TAU)
    with pytest.raises(RecordingError, match='no time column.*rate'):
        import_log(log, URDF, tmp_path / 'bag')
    channel = imported(tmp_path, log, rate=3.0)
    np.testing.assert_array_equal(channel.stamp_ns[:4], [0, 333333333, 666666667, 1000000000])
    timed = save(tmp_path / 'timed.npz', q=Q, t=UNIX)
    with pytest.raises(RecordingError, match='leave the rate out'):
        import_log(timed, URDF, tmp_path / 'bag2', rate=3.0)


def test_joint_names_are_given_or_in_the_log_or_in_the_urdf(tmp_path, caplog):
    assert moving_joints(URDF) == JOINTS
    half = '<joint name="half" type="revolute"><parent link="x"/></joint></robot>'
    assert moving_joints(URDF.replace('</robot>', half)) == JOINTS
    named = save(tmp_path / 'named.npz', q=Q, t=UNIX, joint_names=np.array(['c', 'b', 'a']))
    first = import_log(named, URDF, tmp_path / 'b1').channels['/joint_states']
    assert first.names == ('c', 'b', 'a')
    assert 'not among the moving joints' in caplog.text
    for kind in ('S', 'O'):  # bytes, as MATLAB writes them, and objects of Python
        table = {'q': Q, 't': UNIX, 'joint_names': np.array(['c', 'b', 'a']).astype(kind)}
        assert read_log(table, URDF).channels['/joint_states'].names == ('c', 'b', 'a')
    given = ['third', 'first', 'second']
    second = import_log(named, URDF, tmp_path / 'b2', joint_names=given)
    assert second.channels['/joint_states'].names == tuple(given)
    bare = save(tmp_path / 'bare.npz', q=Q[:, :2], t=UNIX)
    with pytest.raises(RecordingError, match='expected 3: first, second, third; found 2 columns'):
        import_log(bare, URDF, tmp_path / 'b3')
    with pytest.raises(RecordingError, match='expected 2 different ones; found third'):
        import_log(bare, URDF, tmp_path / 'b3', joint_names=given)
    with pytest.raises(RobotModelError, match='XML'):
        import_log(bare, 'no robot', tmp_path / 'b3')
    assert not (tmp_path / 'b3').exists()


@pytest.mark.parametrize(
    'arrays',
    [
        {'q': Q, 't': UNIX[:-1]},
        {'q': Q, 'v': V[:, :2], 't': UNIX},
        {'q': Q.T, 't': UNIX},
        {'q': Q, 'tau': TAU[:-3], 't': UNIX},
        {'v': V, 't': UNIX},
        {'q': Q[:0], 't': UNIX[:0]},
    ],
)
def test_arrays_that_do_not_belong_together_are_named_with_their_shapes(tmp_path, arrays):
    log = save(tmp_path / 'log.npz', **arrays)
    with pytest.raises(RecordingError) as caught:
        import_log(log, URDF, tmp_path / 'bag')
    assert all(str(values.shape) in str(caught.value) for values in arrays.values())
    assert not (tmp_path / 'bag').exists()


@pytest.mark.parametrize('bad', [np.nan, np.inf, 1.46e18, -1e10])
def test_a_stamp_that_is_no_time_is_refused(tmp_path, bad):
    time = UNIX.copy()
    time[4] = bad
    with pytest.raises(RecordingError, match='sample 4.*stamp_ns'):
        import_log(save(tmp_path / 'log.npz', t=time, q=Q), URDF, tmp_path / 'bag')


def test_a_date_that_lacks_is_no_time():
    """NaT is the least of all 64-bit integers, whose absolute value is negative."""
    dates = np.datetime64('2024-05-01T10:00:00', 'ns') + np.arange(N) * np.timedelta64(5, 'ms')
    dates[4] = np.datetime64('NaT')
    with pytest.raises(RecordingError, match='sample 4: no time.*found NaT'):
        read_log({'t': dates, 'q': Q}, URDF)


@pytest.mark.parametrize('header', ['time,q1,q2,q3', 't,name0,name1,name2,q1,q2,q3'])
def test_a_text_of_a_header_alone_has_no_samples(tmp_path, header):
    (tmp_path / 'log.csv').write_text(header + '\n')
    with pytest.raises(RecordingError, match=r'log.csv: no samples.*position \(0, 3\)'):
        read_log(tmp_path / 'log.csv', URDF)


def test_no_log_and_a_rate_without_end_are_refused():
    with pytest.raises(RecordingError, match='no log; expected one or several'):
        read_log([], URDF)
    with pytest.raises(RecordingError, match='no time column'):
        read_log({'q': Q}, URDF, rate=np.inf)


def test_files_that_are_no_log_are_refused(tmp_path):
    (tmp_path / 'log.npz').write_bytes(b'no archive')
    (tmp_path / 'log.mat').write_bytes(b'')
    np.savez(tmp_path / 'objects.npz', q=np.array([{}, 3], object), t=UNIX[:2])
    np.savez(tmp_path / 'words.npz', q=np.array(['a', 'b']), t=UNIX[:2])
    for name in ('log.npz', 'log.mat', 'objects.npz', 'words.npz', 'absent.csv'):
        with pytest.raises(RecordingError, match=name):
            import_log(tmp_path / name, URDF, tmp_path / 'bag')


def test_csv_stamps_are_exact_beyond_the_resolution_of_floats(tmp_path):
    texts = ['1460034860.123456789', '1.460034860123456790e+09', ' 1460034860.123456791 ']
    log = write_csv(
        tmp_path / 'log.csv', ['time', 'q1', 'q2', 'q3'], [[text, *q] for text, q in zip(texts, Q)]
    )
    assert imported(tmp_path, log).stamp_ns.tolist() == [1460034860123456789 + i for i in range(3)]


def test_csv_numbers_ascend_and_names_go_together(tmp_path):
    order = [10, 9, 11]
    log = write_csv(
        tmp_path / 'log.csv',
        ['t', *(f'q{i}' for i in order), 'tau9', 'tau10', 'x', 'tau11'],
        [[0, 1, 2, 3, 4, 5, 6, 7]],
    )
    channel = imported(tmp_path, log)
    np.testing.assert_array_equal(channel.fields['position'], [[2, 1, 3]])
    np.testing.assert_array_equal(channel.fields['effort'], [[4, 5, 7]])
    log = write_csv(tmp_path / 'b.csv', ['t', 'q_b', 'q_a', 'v_a', 'v_b'], [[0, 1, 2, 3, 4]])
    channel = import_log(log, URDF, tmp_path / 'bag_b').channels['/joint_states']
    assert channel.names == ('b', 'a')
    np.testing.assert_array_equal(channel.fields['velocity'], [[4, 3]])


def test_an_empty_csv_cell_is_nan_and_a_word_an_error(tmp_path):
    header = ['t', 'q1', 'q2', 'q3']
    log = write_csv(tmp_path / 'log.csv', header, [['0', '1', '', '3'], ['1', 'nan', '5', '6']])
    np.testing.assert_array_equal(
        imported(tmp_path, log).fields['position'], [[1, np.nan, 3], [np.nan, 5, 6]]
    )
    for row, words in (
        (['1', '2', 'three', '4'], 'line 3.*a number.*three'),
        (['1', '2', '3', '4', '5'], 'line 3.*4 cells'),
        (['', '2', '3', '4'], 'sample 1: no time'),
        (['nan', '2', '3', '4'], 'sample 1: no time'),
        (['1.7e18', '2', '3', '4'], 'sample 1.*stamp_ns'),
    ):
        write_csv(log, header, [['0', '1', '2', '3'], row])
        with pytest.raises(RecordingError, match=words):
            import_log(log, URDF, tmp_path / 'other')


@pytest.mark.parametrize(
    'header',
    [
        ['t', 'q1', 'q2', 'q3', 'v1', 'v2'],
        ['t', 'q_a', 'q_b', 'q_c', 'v_a', 'v_b', 'v_d'],
        ['t', 'x', 'y', 'z'],
        ['0.0', '1.0', '2.0'],
        ['t', 'q1', 'q2', 'tau1', 'current1'],
    ],
)
def test_csv_columns_that_do_not_belong_together_are_listed(tmp_path, header):
    log = write_csv(tmp_path / 'log.csv', header, [np.arange(len(header))])
    with pytest.raises(RecordingError, match='log.csv.*name its columns: --columns'):
        import_log(log, URDF, tmp_path / 'bag')


def test_a_csv_without_header_is_read_by_the_names_of_its_columns(tmp_path):
    """As UR logs come: time, positions, velocities, something else, currents."""
    table = np.column_stack([np.arange(N) * 0.01, Q, V, np.ones(N), TAU])
    path = tmp_path / 'log.csv'
    np.savetxt(path, table, delimiter=',', fmt='%.17g')
    channel = imported(tmp_path, path, columns='time q1..q3 v1..v3 - current1..current3')
    np.testing.assert_array_equal(channel.fields['position'], Q)
    np.testing.assert_array_equal(channel.fields['velocity'], V)
    np.testing.assert_array_equal(channel.fields['effort'], TAU)
    assert len(channel) == N and channel.stamp_ns[1] == 10**7


@pytest.mark.parametrize(
    'columns, words',
    [
        ('', 'no header line.*--columns'),
        ('time q1..q3 v1..v3', 'expected 7 as named.*found 11'),
        ('time q1..q3 q1..q3 - tau1..tau3', 'there twice; found q1, q2, q3'),
        ('q=1 q=2', 'there twice; found q'),
    ],
)
def test_columns_that_are_not_named_or_too_few_are_said(tmp_path, columns, words):
    path = tmp_path / 'log.csv'
    np.savetxt(path, np.column_stack([np.arange(N), Q, V, np.ones(N), TAU]), delimiter=',')
    with pytest.raises(RecordingError, match=words):
        imported(tmp_path, path, columns=columns)
    assert not (tmp_path / 'bag').exists()


def test_a_csv_that_cannot_be_read_is_said(tmp_path, monkeypatch):
    log = tmp_path / 'log.csv'
    log.write_text('time,q1,q2,q3\n0,1,2,' + '3' * 200_000 + '\n')  # csv's limit: 131 072
    with pytest.raises(RecordingError, match='cannot be read.*field'):
        import_log(log, URDF, tmp_path / 'bag')
    for path in (tmp_path / ('x' * 300 + '.csv'), tmp_path / 'a\0b.csv', tmp_path):
        with pytest.raises(RecordingError, match='an existing file'):
            import_log(path, URDF, tmp_path / 'bag')

    def forbidden(self, *_, **__):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(Path, 'open', forbidden)  # root may read everything
    with pytest.raises(RecordingError, match='Permission denied'):
        import_log(log, URDF, tmp_path / 'bag')


SPELLINGS = [  # delimiter, time, and positions, velocities, efforts
    (',', 'time', [f'{x}_{j}' for x in ('q', 'v', 'tau') for j in JOINTS]),
    (';', 't', [f'{x}.{j}' for x in ('position', 'velocity', 'effort') for j in JOINTS]),
    ('\t', '# stamp_s', [f'{x}{i}' for x in ('q', 'dq', 'torque') for i in (1, 2, 3)]),
    (', ', 'Time', [f'{x}_{i}' for x in ('Q', 'QD', 'Tau') for i in range(3)]),
    (',', 'timestamp', [f'{x}[{i}]' for x in ('pos', 'vel', 'current') for i in range(3)]),
    (
        ',',
        '__time',
        [f'/arm/joint_states/{j}/{x}' for x in ('position', 'velocity', 'effort') for j in JOINTS],
    ),
    (' ', 'time', [f'{j}_{x}' for x in ('position', 'velocity', 'effort') for j in JOINTS]),
    (',', 'time', [f'actual_{x}_{i}' for x in ('q', 'qd', 'current') for i in range(3)]),
    (' ', 'time', [f'{x}_measured_{i}' for x in ('q', 'dq', 'tau') for i in range(3)]),
    (
        ',',
        'time',
        [
            f'{x}{i} ({u})'
            for x, u in (('q', 'rad'), ('v', 'rad/s'), ('tau', 'Nm'))
            for i in range(3)
        ],
    ),
]


@pytest.mark.parametrize('delimiter, time, names', SPELLINGS)
def test_spellings_of_programs_are_understood(tmp_path, delimiter, time, names):
    wanted = [
        name.replace('actual', 'target').replace('measured', 'desired')
        for name in names
        if 'actual' in name or 'measured' in name
    ]
    table = np.column_stack([UNIX, Q, V, TAU, np.ones((N, len(wanted)))])
    suffix = '.txt' if delimiter == ' ' else '.csv'
    log = write_csv(tmp_path / f'log{suffix}', [time, *names, *wanted], table, delimiter)
    recording = import_log(log, URDF, tmp_path / 'bag')
    channel = recording.channels['/joint_states']
    for field, values in (('position', Q), ('velocity', V), ('effort', TAU)):
        np.testing.assert_array_equal(channel.fields[field], values)
    assert channel.names == JOINTS
    np.testing.assert_array_equal(channel.stamp_ns, exact_ns(repr(float(t)) for t in UNIX))
    said = recording.provenance['columns']
    commands = [name for name in wanted if 'current' not in name]  # no torques [N m]
    assert [said[joint] for joint in JOINTS] == [(*names[k::3], *commands[k::3]) for k in range(3)]
    assert said.get('left out', ()) == tuple(name for name in wanted if name not in commands)
    assert (JOINT_COMMANDS in recording.channels) == bool(commands)


@pytest.mark.parametrize(
    ('arrays', 'columns'),
    [
        ({'q_raw': Q, 'tau_measured': TAU}, ''),
        ({'joint_positions': Q, 'tau_J': TAU}, ''),
        ({'angle': Q, 'moment': TAU, 'tau': Q}, 'q=angle tau=moment'),
        (
            {
                f'{word}{k + 1}': x[:, k]
                for word, x in (('theta', Q), ('tau_measured', TAU))
                for k in range(3)
            },
            '',
        ),
        (
            {
                f'{word}{k + 1}': x[:, k]
                for word, x in (('pos', Q), ('trq', TAU))
                for k in range(3)
            },
            '',
        ),
        (
            {
                'A_angle': Q[:, 0],
                'B_angle': Q[:, 1],
                'C_angle': Q[:, 2],
                'A_mom': TAU[:, 0],
                'B_mom': TAU[:, 1],
                'C_mom': TAU[:, 2],
            },
            'q_*=*_angle tau_*=*_mom',
        ),
    ],
)
def test_arrays_of_other_names_and_columns_that_are_mapped(tmp_path, arrays, columns):
    for source in (save(tmp_path / 'log.npz', t=UNIX, **arrays), {'t': UNIX, **arrays}):
        channel = read_log(source, URDF, columns=columns).channels['/joint_states']
        np.testing.assert_array_equal(channel.fields['position'], Q)
        np.testing.assert_array_equal(channel.fields['effort'], TAU)
        np.testing.assert_array_less(np.abs(channel.stamp_ns - exact_ns(UNIX)), 2)  # [ns]


def test_plain_names_go_before_those_with_words_and_time_before_t():
    clocks = {'t': UNIX + 9.0, 'time': UNIX}
    columns = {
        f'q{k}{word}': x
        for word, table in (('_measured', V), ('', Q))
        for k, x in enumerate(table.T, 1)
    }
    for positions in ({'measured_q': V, 'q': Q}, columns):
        channel = read_log({**clocks, **positions}, URDF).channels['/joint_states']
        np.testing.assert_array_equal(channel.fields['position'], Q)
        np.testing.assert_array_less(np.abs(channel.stamp_ns - exact_ns(UNIX)), 2)  # [ns]


def test_two_spellings_of_one_thing_are_not_guessed():
    with pytest.raises(RecordingError, match='twice.*q_raw and q_filtered'):
        read_log({'t': UNIX, 'q_raw': Q, 'q_filtered': V}, URDF)
    with pytest.raises(RecordingError, match="no column 'angle'"):
        read_log({'t': UNIX, 'q': Q}, URDF, columns='q=angle')
    with pytest.raises(RecordingError, match='expected a path, a data frame.*found int'):
        read_log(3, URDF)


def test_a_table_of_topics_as_plotjuggler_writes_it(tmp_path):
    """Two topics with stamps of their own; cells are empty where the other one has a sample."""
    log = tmp_path / 'log.csv'
    axes = [
        f'/b/pose/{name}'
        for name in (
            'position/x',
            'position/y',
            'position/z',
            'orientation/x',
            'orientation/y',
            'orientation/z',
            'orientation/w',
        )
    ]
    log.write_text(
        '\n'.join(
            [
                ','.join(
                    [
                        '__time',
                        *axes,
                        *(f'/a.accel.{kind}.{x}' for kind in ('linear', 'angular') for x in 'xyz'),
                    ]
                ),
                '1.5,1,2,3,0,0,0,1,,,,,,',
                '2.25,,,,,,,,4,5,6,7,8,9',
                '2.5,9,9,9,0,0,0,1,,,,,,',
            ]
        )
    )
    import_log(log, 'bodies: {}', tmp_path / 'bag')
    recording = read_bag(tmp_path / 'bag')
    pose, accel = recording.channels['/b'], recording.channels['/a']
    assert set(recording.channels) == {'/a', '/b'} and recording.robot_description == 'bodies: {}'
    assert pose.stamp_ns.tolist() == [1_500_000_000, 2_500_000_000]
    assert pose.fields['position'][0].tolist() == [1, 2, 3]
    assert accel.stamp_ns.tolist() == [2_250_000_000]
    assert accel.fields['angular_acceleration'].tolist() == [[7, 8, 9]]


def test_topics_whose_stamps_run_back_are_received_in_the_order_of_the_log():
    t = [0.0, 0.2, 0.1, 0.3]
    force = {f'/f/wrench/{kind}/{x}': t for kind in ('force', 'torque') for x in 'xyz'}
    channel = read_log({'t': t, **force}, 'bodies: {}').channels['/f']
    assert channel.stamp_ns.tolist() == [0, 200_000_000, 100_000_000, 300_000_000]
    assert channel.received_ns.tolist() == [0, 200_000_000, 200_000_000, 300_000_000]


def test_a_topic_of_two_files_is_refused():
    force = {f'/f/wrench/{kind}/{x}': UNIX for kind in ('force', 'torque') for x in 'xyz'}
    with pytest.raises(RecordingError, match='holds topics that a log before it holds; found /f'):
        read_log([{'t': UNIX, 'q': Q, **force}, {'t': UNIX, 'tau': TAU, **force}], URDF)


@pytest.mark.parametrize(
    'head, words',
    [
        ('time,/b/pose/position/x,/b/pose/position/y', 'columns x, y, z'),
        ('/b/pose/position/x,/b/pose/position/y,/b/pose/position/z', 'no time column'),
        ('time,/b/pose/position/x,/b/wrench/force/x', 'of two types'),
    ],
)
def test_tables_of_topics_that_lack_something_are_refused(tmp_path, head, words):
    (tmp_path / 'log.csv').write_text(f'{head}\n{",".join("1" for _ in head.split(","))}\n')
    with pytest.raises(RecordingError, match=words):
        read_log(tmp_path / 'log.csv', 'bodies: {}')
