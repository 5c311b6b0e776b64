"""Logs as people bring them: names in cells, units, clocks, locales, structs, lists, episodes."""

import json
import re

import numpy as np
import pytest
from scipy.io import savemat
from test_log import import_log, JOINTS, N, URDF, write_csv

from ros_inertial_id.cli.main import main
from ros_inertial_id.errors import ConfigError, RecordingError
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.log import read_log, read_recording

T = 0.005 * np.arange(N)
PHASES = np.arange(3)
Q, V = np.sin(3.0 * T[:, None] + PHASES), 3.0 * np.cos(3.0 * T[:, None] + PHASES)
TAU = 4.0 * Q - V
FIELDS = {'position': Q, 'velocity': V, 'effort': TAU}
OTHER = ('third', 'first', 'second')  # as a driver lists them: not in the order of the URDF


def check_fields(channel, fields=FIELDS, tolerance=1e-12):
    """Compare a channel of whatever order with what was recorded, joint by joint."""
    places = [channel.names.index(joint) for joint in JOINTS]
    assert set(channel.fields) == set(fields)
    for name, values in fields.items():
        np.testing.assert_allclose(channel.fields[name][:, places], values, atol=tolerance)


def joint_states(source, **options):
    return read_log(source, URDF, **options).channels['/joint_states']


def numbered(word):
    return [f'{word}{k}' for k in range(3)]


@pytest.mark.parametrize(
    ('names', 'cells'),
    [
        (['name'], lambda order: [f'"{list(order)}"']),
        (['name'], lambda order: [f'"{order}"']),
        ([f'field.name{k}' for k in range(3)], list),
    ],
)
def test_names_in_cells_are_those_of_the_columns_in_every_row(tmp_path, names, cells):
    rows = []
    for k in range(N):
        order = OTHER if k % 3 else JOINTS
        places = [JOINTS.index(joint) for joint in order]
        rows.append([T[k], *cells(order), *np.stack(list(FIELDS.values()))[:, k, places].ravel()])
    log = write_csv(
        tmp_path / 'log.csv',
        ['time', *names, *(f'field.{word}{k}' for word in FIELDS for k in range(3))],
        rows,
    )
    check_fields(joint_states(log))


def test_joints_that_change_within_a_log_are_refused(tmp_path):
    rows = [
        [t, f'"[{a}, {b}, x{k // 40}]"', *q]
        for k, (t, q) in enumerate(zip(T, Q))
        for a, b in [JOINTS[:2]]
    ]
    log = write_csv(tmp_path / 'log.csv', ['t', 'name', 'q0', 'q1', 'q2'], rows)
    with pytest.raises(RecordingError, match='the joints change.*first second x0'):
        read_log(log, URDF)


def test_import_prints_which_column_became_which_joint(tmp_path, capsys):
    log, urdf = tmp_path / 'log.csv', tmp_path / 'r.urdf'
    urdf.write_text(URDF)
    write_csv(log, ['t', *numbered('q'), *numbered('tau')], np.column_stack([T, Q, TAU]))
    assert main(['import', str(log), '--urdf', str(urdf), '--out', str(tmp_path / 'bag')]) == 0
    said = capsys.readouterr().out
    assert 'in the order of the URDF, as the log names none' in said
    for k, joint in enumerate(JOINTS):
        assert f'{joint}: q{k}, tau{k}' in said


@pytest.mark.parametrize(
    ('name', 'unit'),
    [
        ('time_ms', 1e-3),
        ('Time [us]', 1e-6),
        ('t(ms)', 1e-3),
        ('timestamp_ns', 1e-9),  # as said
        ('time', 1e-3),
        ('stamp', 1e-6),
        ('%time', 1e-9),
        ('tick', 1e-3),
    ],
)  # by the rate
@pytest.mark.parametrize('start', [0.0, 91.25])
def test_times_of_any_unit_are_put_into_seconds(name, unit, start):
    count = np.round((T + start) / unit).astype(np.int64)
    for with_velocity in (True, False):
        table = {name: count, 'q': Q, 'tau': TAU, **({'v': V} if with_velocity else {})}
        stamp_ns = joint_states(table).stamp_ns
        assert abs(stamp_ns - np.round((T + start) * 1e9)).max() <= unit * 5e8


@pytest.mark.parametrize(
    ('whole', 'rest'),
    [('sec', 'nanosec'), ('stamp_sec', 'stamp_nsec'), ('header.stamp.secs', 'header.stamp.nsecs')],
)
def test_seconds_and_nanoseconds_beside_them_are_one_time(whole, rest):
    stamps = (T * 1e9).round().astype(np.int64) + 1_700_000_000_900_000_000
    table = {rest: stamps % 10**9, whole: stamps // 10**9, 'time': T, 'T': 0.005, 'q': Q}
    if not whole.startswith('header'):
        del table['time']
    np.testing.assert_array_equal(joint_states(table).stamp_ns, stamps)


def test_a_count_is_milliseconds_by_its_velocities_or_is_asked_for():
    fine = 1e-3 * np.arange(200)
    table = {'time': np.arange(200), 'q': np.sin(fine[:, None] + PHASES)}
    with pytest.raises(RecordingError, match='counts by 1.*time_ms=time.*--rate'):
        read_log(table, URDF)
    stamps = joint_states({**table, 'dq': np.cos(fine[:, None] + PHASES)}).stamp_ns
    assert stamps[-1] == 199_000_000
    assert joint_states(table, columns='time_ms=time').stamp_ns[-1] == 199_000_000


def test_the_log_of_libfranka(tmp_path):
    """As its logToCSV writes it: time in ms, desired beside measured, external torques."""
    words = [
        'state.q',
        'state.q_d',
        'state.dq',
        'state.dq_d',
        'state.tau_J',
        'state.tau_ext_hat_filtered',
        'cmd.q_d',
        'cmd.dq_d',
        'cmd.O_T_EE_d',
        'cmd.tau_J_d',
    ]
    values = [Q, Q + 1, V, V + 1, TAU, TAU + 1, Q + 2, V + 2, Q, TAU + 2]
    header = ['time', ' success_rate', *(f' {word}[{k}]' for word in words for k in range(3))]
    log = write_csv(
        tmp_path / 'log.csv', header, np.column_stack([np.round(T * 1e3), np.ones(N), *values])
    )
    channels = read_log(log, URDF).channels
    check_fields(channels['/joint_states'])
    check_fields(
        channels['/joint_commands'], {'position': Q + 1, 'velocity': V + 1, 'effort': TAU + 2}
    )
    assert channels['/joint_commands'].stamp_ns[-1] == round(T[-1] * 1e9)


def test_units_of_a_header_or_of_its_second_line_with_decimal_commas(tmp_path):
    table = np.column_stack([T * 1e3, np.degrees(Q), np.degrees(V), TAU * 1e3])
    units = ['ms', *['deg'] * 3, *['deg/s'] * 3, *['mNm'] * 3]
    words = [
        'Time',
        *(f'Axis {k + 1} {word}' for word in ('Position', 'Velocity', 'Torque') for k in range(3)),
    ]
    one, two = tmp_path / 'one.csv', tmp_path / 'two.csv'
    write_csv(one, [f'{word} [{unit}]' for word, unit in zip(words, units)], table)
    rows = [
        'sep=;',
        ';'.join(words),
        ';'.join(units),
        *(';'.join(f'{x:.12f}' for x in row).replace('.', ',') for row in table),
    ]
    two.write_bytes('\r\n'.join(['\ufeff' + rows[0], *rows[1:], '']).encode())
    for log in (one, two):
        channel = joint_states(log)
        assert channel.names == JOINTS  # by the numbers of the axes
        check_fields(channel, tolerance=1e-9)
        assert channel.stamp_ns[1] == 5_000_000


@pytest.mark.parametrize(
    ('name', 'factor'),
    [
        ('q{}_deg', 180 / np.pi),
        ('q_deg_{}', 180 / np.pi),
        ('q{} (degrees)', 180 / np.pi),
        ('position_{} [rad]', 1.0),
        ('pos{} [mrad]', 1e3),
    ],
)
def test_units_beside_names(name, factor):
    table = {name.format(k): factor * Q[:, k] for k in range(3)}
    check_fields(joint_states({'t': T, **table}), {'position': Q})


@pytest.mark.parametrize(
    ('positions', 'velocities', 'efforts'),
    [
        ('q_cmd_{}', 'dq_cmd_{}', 'tau_ff_{}'),
        ('q_des{}', 'qd_des{}', 'tau_feedforward{}'),
        ('cmd_pos[{}]', 'cmd_vel[{}]', 'cmd_torque[{}]'),
        ('joint_command_{}', '', ''),
        ('target_position_{}', '', ''),
        ('q_target', 'v_target', ''),
        ('action', '', ''),
        ('joint{}_cmd', '', ''),
        ('goal_{}_deg', '', ''),
        ('commands', '', 'desired_efforts'),
    ],
)
def test_what_was_commanded_is_a_topic_of_its_own(positions, velocities, efforts):
    factor = 180 / np.pi if 'deg' in positions else 1.0
    wanted, table = {}, {'t': T, 'q': Q, 'tau': TAU}
    for kind, name, x in zip(FIELDS, (positions, velocities, efforts), (Q + 1, V + 1, TAU + 1)):
        if name:
            wanted[kind] = x
            table |= (
                {name.format(k): factor * x[:, k] for k in range(3)} if '{}' in name else {name: x}
            )
    channels = read_log(table, URDF).channels
    check_fields(channels['/joint_states'], {'position': Q, 'effort': TAU})
    check_fields(channels['/joint_commands'], wanted)


@pytest.mark.parametrize(
    'table',
    [
        {'action': Q[:, :2]},
        {'q_ref': Q[:7]},
        {'q_cmd': Q, 'q_des': Q},
        {'command': np.full(N, 'GO')},
        {'tau_cmd': TAU},
        {'ff': TAU},
        {'target_current': TAU},
        {'q_error': Q},
        {'tau_ext': TAU},
    ],
)
def test_commands_that_are_not_understood_cost_no_more_than_themselves(table, caplog):
    recording = read_log({'t': T, 'q': Q, 'tau': TAU, **table}, URDF)
    assert set(recording.channels) == {'/joint_states'}
    assert recording.provenance['columns']['left out'] == (*table,)
    check_fields(recording.channels['/joint_states'], {'position': Q, 'effort': TAU})


def test_an_echo_of_joint_states_needs_no_header(tmp_path):
    start = 1_700_000_000
    log = tmp_path / 'echo.csv'
    log.write_text(
        ''.join(
            ','.join(
                [
                    str(start + k // 10),
                    str(k % 10 * 100_000_000),
                    '',
                    *OTHER,
                    *(repr(float(x[k, JOINTS.index(j)])) for x in FIELDS.values() for j in OTHER),
                ]
            )
            + '\n'
            for k in range(N)
        )
    )
    channel = joint_states(log)
    assert channel.names == OTHER and len(channel) == N
    assert channel.stamp_ns[11] == start * 10**9 + 1_100_000_000
    check_fields(channel)


def test_a_struct_of_matlab_and_dates_as_texts(tmp_path):
    savemat(tmp_path / 'log.mat', {'data': {'time': T[None], 'q': Q.T, 'qd': V.T, 'tau': TAU.T}})
    check_fields(joint_states(tmp_path / 'log.mat'))
    (tmp_path / 'new.mat').write_bytes(b'MATLAB 7.3 MAT-file'.ljust(600))
    with pytest.raises((ConfigError, RecordingError), match='new.mat cannot be read'):
        read_log(tmp_path / 'new.mat', URDF)
    rows = [[f'2024-05-01 10:00:00.{5 * k:03d}', *q] for k, q in enumerate(Q)]
    write_csv(tmp_path / 'log.csv', ['timestamp', *numbered('q')], rows)
    assert joint_states(tmp_path / 'log.csv').stamp_ns[2] == 1_714_557_600_010_000_000


@pytest.mark.parametrize('names', [None, OTHER, {'motors': list(OTHER)}])
def test_datasets_of_lerobot_are_lists_with_names_and_episodes(tmp_path, names):
    pa = pytest.importorskip('pyarrow')
    from pyarrow import parquet

    order = [JOINTS.index(j) for j in (OTHER if names else JOINTS)]
    table = {
        f'observation.{word}': list(x[:, order].astype(np.float32))
        for word, x in zip(('state', 'velocity', 'effort'), FIELDS.values())
    }
    table |= {
        'action': list((Q + 1)[:, order]),
        'episode_index': np.repeat([0, 1], [30, 20]),
        'timestamp': np.r_[T[:30], T[:20]].astype(np.float32),
    }
    file = tmp_path / 'data' / 'chunk-000' / 'file-000.parquet'
    for folder in (file.parent, tmp_path / 'meta'):
        folder.mkdir(parents=True)
    parquet.write_table(pa.table(table), file)
    (tmp_path / 'meta' / 'info.json').write_text(
        json.dumps(
            {
                'features': {
                    name: {'names': names}
                    for name in ('observation.state', 'observation.effort', 'action')
                }
            }
        )
    )
    for source in (file, tmp_path):
        channels = read_log(source, URDF).channels
        channel = channels['/joint_states']
        check_fields(channel, tolerance=1e-6)
        check_fields(channels['/joint_commands'], {'position': Q + 1})
        np.testing.assert_array_equal(channels['/joint_commands'].stamp_ns, channel.stamp_ns)
        steps = np.diff(channel.stamp_ns)
        assert steps.min() > 0 and abs(steps[29] - 10**9) < 10 and (steps > 10**8).sum() == 1


def test_names_of_a_state_that_hold_several_quantities(tmp_path):
    pa = pytest.importorskip('pyarrow')
    from pyarrow import parquet

    names = [f'{joint}.{word}' for word in ('pos', 'vel', 'torque') for joint in OTHER]
    order = [JOINTS.index(j) for j in OTHER]
    (tmp_path / 'meta').mkdir()
    (tmp_path / 'meta' / 'info.json').write_text(
        json.dumps({'features': {'observation.state': {'names': names}}})
    )
    parquet.write_table(
        pa.table(
            {
                'timestamp': T,
                'observation.state': list(np.column_stack([x[:, order] for x in FIELDS.values()])),
            }
        ),
        tmp_path / 'log.parquet',
    )
    check_fields(joint_states(tmp_path / 'log.parquet'))


def test_rows_of_other_topics_and_what_lacks_an_axis_are_left_out(tmp_path):
    header = [
        '__time',
        '/imu/linear_acceleration/z',
        *(f'/joint_states/{j}/{word}' for word in FIELDS for j in JOINTS),
        *(f'/f/wrench/{kind}/{axis}' for kind in ('force', 'torque') for axis in 'xyz'),
    ]
    rows = []
    for k in range(N):
        rows += [
            [T[k], '', *Q[k], *V[k], *TAU[k], *[''] * 6],
            [T[k] + 0.002, 9.81, *[''] * 9, *range(6)],
        ]
    recording = read_log(write_csv(tmp_path / 'log.csv', header, rows), URDF)
    assert set(recording.channels) == {'/joint_states', '/f'}
    check_fields(recording.channels['/joint_states'])
    assert recording.channels['/f'].fields['torque'][0].tolist() == [3, 4, 5]
    assert any('/imu' in said for said in recording.provenance['columns']['left out'])


@pytest.mark.parametrize(
    ('word', 'kind'), [('actual_current_', 'current'), ('tau_', ''), ('torque_ [A]', 'current')]
)
def test_an_import_stores_the_kind_of_effort_that_it_recognised(tmp_path, word, kind):
    stem, _, unit = word.partition(' ')
    log = write_csv(
        tmp_path / 'log.csv',
        ['t', *numbered('q'), *(f'{stem}{k} {unit}'.strip() for k in range(3))],
        np.column_stack([T, Q, TAU]),
    )
    import_log(log, URDF, tmp_path / 'bag')
    assert read_bag(tmp_path / 'bag').effort_kind == kind


def test_torques_are_preferred_to_currents_beside_them():
    channel = joint_states({'t': T, 'q': Q, 'current': Q, 'tau': TAU, 'theta': V})
    check_fields(channel, {'position': Q, 'effort': TAU})


def test_a_path_is_read_by_its_name_and_may_be_cut(tmp_path, caplog):
    log = tmp_path / 'log.npz'
    np.savez(log, t=T, q=Q, tau=TAU)
    recording = read_recording(f'{log}@0.05:0.1', URDF)
    assert len(recording.channels['/joint_states']) == 11 and recording.provenance['sha256']
    assert f'order of the URDF, as the log names none: {", ".join(JOINTS)}' in caplog.text
    with pytest.raises(RecordingError, match='no description.*--urdf'):
        read_recording(log)


def test_json_lines_and_messages_as_json(tmp_path):
    for k, row in enumerate(
        (
            lambda i: {'timestamp': T[i], 'pos': [*Q[i]], 'vel': [*V[i]], 'torque': [*TAU[i]]},
            lambda i: {
                'header': {'stamp': {'sec': 9, 'nanosec': round(T[i] * 1e9)}},
                'name': JOINTS,
                **{name: [*x[i]] for name, x in FIELDS.items()},
            },
        )
    ):
        log = tmp_path / f'{k}.jsonl'
        log.write_text('\n'.join(json.dumps(row(i)) for i in range(N)))
        channel = joint_states(log)
        check_fields(channel)
        assert channel.stamp_ns[3] - channel.stamp_ns[0] == 15_000_000
    log.write_text(log.read_text()[:-9])
    with pytest.raises(RecordingError, match=f'line {N}; expected an object'):
        joint_states(log)


@pytest.mark.parametrize('across', [False, True])
def test_hdf5_by_the_paths_of_its_arrays(tmp_path, across):
    h5py = pytest.importorskip('h5py')
    log = tmp_path / ('log.mat' if across else 'log.hdf5')
    with h5py.File(log, 'w', userblock_size=512) as file:
        for name, x in (('time', T[:, None]), ('qpos', Q), ('qvel', V), ('effort', TAU)):
            file[f'observations/{name}'] = x.T if across else x
        file['observations/images/top'] = np.zeros((N, 4), np.uint8)
        file['action'] = Q
    if across:
        with log.open('r+b') as stream:
            stream.write(b'MATLAB 7.3 MAT-file')
    channel = joint_states(log)
    check_fields(channel)
    assert channel.stamp_ns[-1] == round(T[-1] * 1e9)


def test_times_with_too_few_digits_are_refused_with_the_rate(tmp_path):
    log = tmp_path / 'log.csv'
    write_csv(log, ['time', *numbered('q')], [[f'{1.7e9 + t:.2f}', *q] for t, q in zip(T, Q)])
    with pytest.raises(RecordingError, match='too few digits.*25 of 50 rows') as error:
        joint_states(log)
    assert '--columns "-=time" --rate 204' in str(error.value)
    channel = joint_states(log, columns='-=time', rate=200.0)
    np.testing.assert_array_equal(channel.stamp_ns, np.round(T * 1e9))
    doubled = {'t': T.repeat(2), 'q': Q.repeat(2, axis=0)}  # the same sample twice
    assert len(joint_states(doubled)) == 2 * N


def write_dataset(folder, table, names):
    """Write a dataset of LeRobot with the same ``names`` of the elements of all features."""
    pa = pytest.importorskip('pyarrow')
    from pyarrow import parquet

    for part in ('data', 'meta'):
        (folder / part).mkdir()
    parquet.write_table(pa.table(table), folder / 'data' / 'file-000.parquet')
    features = {name: {'names': names} for name in table if name != 'timestamp'}
    (folder / 'meta' / 'info.json').write_text(json.dumps({'features': features}))
    return folder


@pytest.mark.parametrize(('effort', 'kind'), [('effort', ''), ('current', 'current')])
def test_a_feature_says_what_its_elements_are_whatever_their_names(tmp_path, effort, kind):
    words = 'state', 'velocity', effort
    table = {f'observation.{word}': list(x) for word, x in zip(words, FIELDS.values())}
    table |= {'action': list(Q + 1), 'timestamp': T}
    recording = read_log(write_dataset(tmp_path, table, [f'{j}.pos' for j in JOINTS]), URDF)
    check_fields(recording.channels['/joint_states'])
    check_fields(recording.channels['/joint_commands'], {'position': Q + 1})
    assert recording.effort_kind == kind
    assert f'observation.{effort}.third' in recording.provenance['columns']['third']


@pytest.mark.parametrize(
    ('position', 'velocity', 'effort', 'scale'),
    [
        ('q_j{}', 'v_j{}', 'tau_j{}', 1.0),
        ('q_J{}', 'v_J{}', 'tau_J{}', 1.0),
        ('q{}', 'dq{}', 'tau_J{}', 1.0),
        ('q{} (rad)', 'dq{} [rad/s]', 'tau{} (N.mm)', 1e3),
        ('q_arm_d{} [rad]', 'v_arm_d{} [rad/s]', 'tau_arm_d{} [Nm]', 1.0),
        ('/a/j{}/actual_position', '/a/j{}/actual_velocity', '/a/j{}/actual_torque', 1.0),
    ],
)
def test_columns_that_other_columns_explain(position, velocity, effort, scale):
    """Of joint j1 where others are of j1; a slash in a unit begins no new name."""
    table = {'time_stamp': T}
    for form, x in ((position, Q), (velocity, V), (effort, TAU * scale)):
        table |= {form.format(k + 1): x[:, k] for k in range(3)}
    channel = read_log(table, URDF, joint_names=JOINTS).channels['/joint_states']
    check_fields(channel)


def test_commands_of_topics_keep_their_quantity_and_joint():
    """A commanded velocity is no position, and the qualifier no part of a joint's name."""
    table = {'t': T, 'q': Q}
    for kind, x in FIELDS.items():
        table |= {f'/c/a/{j}/desired_{kind}': y for j, y in zip(JOINTS, (x + 1).T)}
    channels = read_log(table, URDF).channels
    check_fields(channels['/joint_commands'], {kind: x + 1 for kind, x in FIELDS.items()})


def test_commands_of_a_file_without_time_take_that_of_the_joint_states(tmp_path):
    with_time = {'t': T, 'tau': TAU}
    commands = read_log([{'q': Q, 'q_cmd': Q + 1}, with_time], URDF).channels['/joint_commands']
    np.testing.assert_array_equal(commands.stamp_ns, np.round(T * 1e9))
    gaps = {'q': Q, 'q_cmd': np.where(T[:, None] < 0.1, np.nan, Q)}
    assert set(read_log([gaps, with_time], URDF).channels) == {'/joint_states'}


@pytest.mark.parametrize(
    ('table', 'words'),
    [
        ({'q': Q[:, 0], 'q_1': Q[:, 1], 'q_2': Q[:, 2]}, 'do not belong together'),
        ({'q': Q, 'tau': TAU[:, 0], 'tau1': TAU[:, 1]}, 'do not belong together'),
        (
            {f'/f/wrench/{k}/{x}': np.full(N, 'no') for k in ('force', 'torque') for x in 'xyz'},
            'f',
        ),
        ({f'/f/wrench/{k}/{x}': T[:9] for k in ('force', 'torque') for x in 'xyz'}, '50 numbers'),
    ],
)
def test_columns_without_a_joint_beside_others_and_words_in_topics_are_refused(table, words):
    with pytest.raises(RecordingError, match=words):
        read_log({'t': T, **table}, URDF)


def test_names_in_cells_of_another_number_of_rows_are_left_out():
    table = {'t': T, 'q': Q, 'name0': np.array(['a', 'b']), 'name1': np.array(['c', 'd'])}
    recording = read_log(table, URDF)
    assert recording.channels['/joint_states'].names == JOINTS
    assert recording.provenance['columns']['left out'] == ('name0', 'name1')


def time_of_day(seconds):
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f'{hours % 24:02d}:{minutes:02d}:{rest:06.3f}'


@pytest.mark.parametrize('start', [10.0, 86399.9])
@pytest.mark.parametrize('decimal', '.,')
def test_times_of_day_go_on_over_midnight(tmp_path, start, decimal):
    rows = [[time_of_day(start + t).replace('.', decimal), *q] for t, q in zip(T.tolist(), Q)]
    write_csv(tmp_path / 'log.csv', ['Time', *numbered('q')], rows, ';')
    stamp_ns = joint_states(tmp_path / 'log.csv').stamp_ns
    np.testing.assert_array_equal(stamp_ns, np.round((start + T) * 1e9))


@pytest.mark.parametrize('time', ['1.7e+09', '0'])
def test_a_time_that_stands_still_is_no_time(tmp_path, time):
    log = write_csv(tmp_path / 'log.csv', ['time', *numbered('q')], [[time, *q] for q in Q])
    with pytest.raises(RecordingError, match='49 of 50 rows.*--columns "-=time" --rate HZ'):
        joint_states(log)
    assert len(joint_states(log, columns='-=time', rate=200.0)) == N


def test_two_efforts_for_each_joint_are_named_with_what_chooses(tmp_path):
    """As UR's RTDE has them, of which neither need be the torque."""
    names = ['t', *(f'{w}_{k}' for w in ('actual_q', 'c', 'c_as_torque') for k in range(3))]
    names = [name.replace('c_', 'actual_current_', name.startswith('c_')) for name in names]
    log = write_csv(tmp_path / 'log.csv', names, np.column_stack([T, Q, V, TAU]))
    with pytest.raises(RecordingError) as caught:
        joint_states(log)
    said = str(caught.value)
    assert 'found actual_current_* and actual_current_as_torque_*' in said
    take, leave = re.findall('--columns "([^"]+)"', said)
    for columns, expected, kind in ((take, TAU, ''), (leave, V, 'current')):
        recording = read_log(log, URDF, columns=columns)
        check_fields(recording.channels['/joint_states'], {'position': Q, 'effort': expected})
        assert recording.effort_kind == kind
    with pytest.raises(RecordingError, match='"tau=current_as_torque"'):
        joint_states({'t': T, 'q': Q, 'current': V, 'current_as_torque': TAU})


def test_registers_of_servos_are_understood():
    words = {'present_position': Q, 'present_velocity': V, 'present_current': TAU}
    table = {f'{word}_{k}': x[:, k] for word, x in words.items() for k in range(3)}
    recording = read_log({'timestamp': T, **table}, URDF)
    check_fields(recording.channels['/joint_states'])
    assert recording.effort_kind == 'current'


@pytest.mark.parametrize('encoding', ['utf-16', 'utf-16-le', 'utf-16-be', 'cp1252'])
def test_texts_of_other_encodings(tmp_path, encoding):
    log = write_csv(tmp_path / 'log.csv', ['t', *(f'q{k} [°]' for k in range(3))], [])
    text = log.read_text() + ''.join(
        ','.join(map(repr, [t, *q.tolist()])) + '\n' for t, q in zip(T.tolist(), np.degrees(Q))
    )
    log.write_bytes(text.encode(encoding))
    if encoding[-2:] in ('le', 'be'):  # without the mark
        with pytest.raises(RecordingError, match='is no text; expected UTF-8, or UTF-16'):
            joint_states(log)
        log.write_bytes(('\ufeff' + text).encode(encoding))
    check_fields(joint_states(log), {'position': Q})


@pytest.mark.parametrize('name', ['echo.txt', 'echo.csv', 'echo.yaml', 'echo'])
def test_what_topic_echo_prints_says_what_to_type_instead(tmp_path, name):
    message = 'header:\n  stamp:\n    sec: 1\n    nanosec: 5\n  frame_id: ""\nname:\n- first\n'
    (tmp_path / name).write_text(f'{message}position:\n- 0.5\n---\n' * 9)
    with pytest.raises(RecordingError, match='ros2 bag record.*ros2 topic echo --csv'):
        read_log(tmp_path / name, URDF)


def test_a_log_of_commands_needs_no_efforts(tmp_path, capsys):
    log, urdf = tmp_path / 'log.csv', tmp_path / 'r.urdf'
    urdf.write_text(URDF)
    arguments = ['import', str(log), '--urdf', str(urdf), '--out']
    write_csv(log, ['t', *numbered('q'), *numbered('q_cmd')], np.column_stack([T, Q, Q]))
    assert main([*arguments, str(tmp_path / 'commands')]) == 0
    assert (
        'no efforts, but commands: write "serial_arm: {effort_kind: command}"'
        in capsys.readouterr().out
    )
    write_csv(log, ['t', *numbered('q')], np.column_stack([T, Q]))
    assert main([*arguments, str(tmp_path / 'neither')]) == 2
    assert 'no efforts were understood' in capsys.readouterr().err


def test_the_unit_of_a_log_is_given_as_checks_advise():
    table = {'time': T}
    for word, x in (('position', np.degrees(Q)), ('velocity', np.degrees(V)), ('torque', TAU)):
        table |= {f'actual_joint_{word}_{k}': x[:, k] for k in range(3)}
    columns = 'q_*_deg=actual_joint_position_* v_*_deg_s=actual_joint_velocity_*'
    check_fields(joint_states(table, columns=columns))
