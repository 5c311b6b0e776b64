"""Logs of MATLAB and parquet, tables without names, and logs that come in several files."""

import numpy as np
import pytest
from scipy.io import savemat
from test_log import (
    exact_ns,
    import_log,
    imported,
    JOINTS,
    N,
    Q,
    save,
    TAU,
    UNIX,
    URDF,
    V,
    write_csv,
)

from ros_inertial_id.errors import ConfigError, RecordingError
from ros_inertial_id.measurement.bags.log import read_log
from ros_inertial_id.measurement.bags.log_parts import EFFORTS

COLUMNS = 'times q1..q3 - tau1..tau3'
TABLE = np.column_stack([UNIX, Q, np.zeros(N), TAU])


def test_matlab_arrays_come_back_as_they_were_saved_whichever_way_they_lie(tmp_path):
    for k, turn in enumerate((np.transpose, np.array)):
        log = tmp_path / f'log{k}.mat'
        savemat(
            log,
            {
                'times': UNIX,
                'q': turn(Q),
                'dq': turn(V),
                'tau': turn(TAU),
                'joint_names': np.array(['second', 'first', 'third']),
            },
        )
        channel = imported(tmp_path / str(k), log)
        for name, values in (('position', Q), ('velocity', V), ('effort', TAU)):
            np.testing.assert_array_equal(channel.fields[name], values)
        assert channel.names == ('second', 'first', 'third')
        np.testing.assert_array_equal(channel.stamp_ns, exact_ns(UNIX))


@pytest.mark.parametrize('suffix', ['.mat', '.npz', '.parquet'])
def test_columns_name_those_of_the_only_matrix(tmp_path, suffix):
    log = tmp_path / f'log{suffix}'
    if suffix == '.mat':
        savemat(log, {'data': TABLE})
    elif suffix == '.npz':
        np.savez(log, data=TABLE)
    else:
        pa = pytest.importorskip('pyarrow')
        from pyarrow import parquet

        parquet.write_table(pa.table({f'c{k}': x for k, x in enumerate(TABLE.T)}), log)
    channel = imported(tmp_path, log, columns=COLUMNS)
    np.testing.assert_array_equal(channel.fields['position'], Q)
    np.testing.assert_array_equal(channel.fields['effort'], TAU)
    np.testing.assert_array_equal(channel.stamp_ns, exact_ns(UNIX))
    assert channel.names == JOINTS and 'velocity' not in channel.fields
    with pytest.raises(RecordingError, match='one matrix of 4 columns'):
        read_log(log, URDF, columns='time q1..q3')


def test_scalars_and_words_beside_arrays_are_left_out(tmp_path):
    log = save(tmp_path / 'log.npz', t=UNIX, q=Q, rate=200.0, name='ur5')
    recording = read_log(log, URDF)
    assert recording.provenance['columns']['left out'] == ('rate', 'name')
    np.testing.assert_array_equal(recording.channels['/joint_states'].fields['position'], Q)


def test_a_parquet_without_rows_has_no_samples(tmp_path):
    pandas = pytest.importorskip('pandas')
    pytest.importorskip('pyarrow')
    columns = {'time': float, 'q1': float, 'q2': float, 'q3': float, 'note': str}
    path = tmp_path / 'log.parquet'
    pandas.DataFrame({name: np.empty(0, kind) for name, kind in columns.items()}).to_parquet(path)
    with pytest.raises(RecordingError, match=r'log.parquet: no samples.*position \(0, 3\)'):
        read_log(path, URDF)


def test_a_text_with_tabs_whose_first_column_has_no_name(tmp_path):
    """As data frames are written with their index; and units below, of which it has none."""
    for units in ('', '\ts\trad\trad\trad\n'):
        rows = [f'{k}\t{k}\t1\t2\t3\n' for k in range(4)]
        path = tmp_path / 'log.txt'
        path.write_text('\ttime\tq1\tq2\tq3\n' + units + ''.join(rows))
        channel = read_log(path, URDF).channels['/joint_states']
        assert channel.fields['position'].tolist() == [[1.0, 2.0, 3.0]] * 4
        assert channel.stamp_ns.tolist() == [k * 10**9 for k in range(4)]


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, 'pyarrow', None)
    (tmp_path / 'log.parquet').write_bytes(b'PAR1')
    with pytest.raises(ConfigError, match='pip install pyarrow'):
        read_log(tmp_path / 'log.parquet', URDF)


def test_positions_and_efforts_of_one_clock_are_joined_by_joint(tmp_path):
    positions = write_csv(
        tmp_path / 'q.csv', ['times', *(f'q_{n}' for n in JOINTS)], np.column_stack([UNIX, Q])
    )
    efforts = save(tmp_path / 'tau.npz', t=UNIX, tau=TAU[:, ::-1], joint_names=JOINTS[::-1])
    for files in ([positions, efforts], [efforts, positions]):
        recording = read_log(files, URDF)
        channel = recording.channels['/joint_states']
        assert list(recording.channels) == ['/joint_states'] and channel.names == JOINTS
        np.testing.assert_array_equal(channel.fields['position'], Q)
        np.testing.assert_array_equal(channel.fields['effort'], TAU)


def test_a_file_without_time_takes_that_of_the_other(tmp_path):
    positions = save(tmp_path / 'q.npz', times=UNIX, q=Q)
    efforts = save(tmp_path / 'tau.npz', tau=TAU)
    channel = read_log([positions, efforts], URDF).channels['/joint_states']
    np.testing.assert_array_equal(channel.stamp_ns, exact_ns(UNIX))
    np.testing.assert_array_equal(channel.fields['effort'], TAU)


def test_efforts_of_another_clock_become_a_topic_of_their_own(tmp_path, caplog):
    late = UNIX[:-7] + 0.001
    files = [
        save(tmp_path / 'q.npz', times=UNIX, q=Q),
        save(tmp_path / 'tau.npz', times=late, tau=TAU[:-7]),
    ]
    import_log(files, URDF, tmp_path / 'bag')
    channels = read_log(files, URDF).channels
    assert list(channels) == ['/joint_states', EFFORTS]
    assert f'effort_topic: {EFFORTS}' in caplog.text
    np.testing.assert_array_equal(channels[EFFORTS].stamp_ns, exact_ns(late))
    np.testing.assert_array_equal(channels[EFFORTS].fields['effort'], TAU[:-7])
    assert channels[EFFORTS].names == JOINTS and 'effort' not in channels['/joint_states'].fields


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    q = save(tmp_path / 'q.npz', times=UNIX, q=Q)
    for name, arrays, words in (
        ('twice', {'q': Q}, 'holds what'),
        ('short', {'tau': TAU[:5]}, 'share no clock'),
        ('narrow', {'tau': TAU[:, :2]}, 'other joints'),
        ('strange', {'tau': TAU, 'names': ['a', 'b', 'c']}, 'other joints'),
    ):
        other = save(tmp_path / f'{name}.npz', **arrays)
        first = save(tmp_path / 'named.npz', times=UNIX, q=Q, names=JOINTS)
        with pytest.raises(RecordingError, match=words):
            read_log([first if name == 'strange' else q, other], URDF)
    with pytest.raises(RecordingError, match='no samples'):
        read_log(save(tmp_path / 'tau.npz', tau=TAU), URDF, rate=100.0)


def test_files_named_by_their_quantity_are_joined_by_the_joints_of_their_headers(tmp_path):
    # As the recorder of lbr-stack/dynamic_parameter_identification writes them.
    order = [1, 0, 2]
    for word, values in (('positions', Q), ('velocities', V), ('efforts', TAU[:, order])):
        names = JOINTS if word != 'efforts' else [JOINTS[k] for k in order]
        write_csv(
            tmp_path / f'joint_states_{word}.csv',
            ['time', *names],
            np.column_stack([UNIX, values]),
        )
    recording = read_log(sorted(tmp_path.glob('*.csv')), URDF)
    channel = recording.channels['/joint_states']
    places = [channel.names.index(name) for name in JOINTS]
    for name, values in (('position', Q), ('velocity', V), ('effort', TAU)):
        np.testing.assert_array_equal(channel.fields[name][:, places], values)
    other = tmp_path / 'other.csv'
    (tmp_path / 'joint_states_efforts.csv').rename(other)
    with pytest.raises(RecordingError, match='name its columns: --columns'):
        read_log([other], URDF)


def test_what_two_tables_in_memory_leave_out_is_said_of_both():
    columns = read_log(
        [{'t': UNIX, 'q': Q, 'valid': Q > 0}, {'t': UNIX, 'tau': TAU, 'mode': Q > 0}], URDF
    ).provenance['columns']
    assert columns['the table: left out'] == ('valid', 'mode')


def test_columns_of_several_files_are_named_file_by_file(tmp_path):
    for name, table in (('q', np.column_stack([UNIX, Q])), ('tau', TAU)):
        write_csv(tmp_path / f'{name}.csv', [f'Joint_{k}' for k in range(table.shape[1])], table)
    paths = [tmp_path / 'q.csv', tmp_path / 'tau.csv']
    recording = read_log(paths, URDF, columns='time q1..q3; tau1..tau3')
    channel = recording.channels['/joint_states']
    np.testing.assert_array_equal(channel.fields['position'], Q)
    np.testing.assert_array_equal(channel.fields['effort'], TAU)
    with pytest.raises(RecordingError, match='2 lists, in the order of the files'):
        read_log(paths, URDF, columns='time q1..q3 tau1..tau3')
