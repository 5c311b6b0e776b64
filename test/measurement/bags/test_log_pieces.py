"""Logs are read piece by piece: what differs from piece to piece, and memory however long."""

import json
import tracemalloc

import numpy as np
import pytest

from ros_inertial_id.errors import RecordingError
from ros_inertial_id.measurement import recording
from ros_inertial_id.measurement.bags import log_arrays, log_text
from ros_inertial_id.measurement.bags.log_files import read_table
from ros_inertial_id.measurement.bags.log_pieces import PIECE

ROWS = 2 * PIECE + 100
SMALL = 1000


def lines_of_csv(rows):
    return ['time,q1,note', *(f'{k * 1e-3:.3f},{k},1' for k in range(rows))]


def test_cells_of_later_pieces_are_those_of_the_file(tmp_path):
    lines = lines_of_csv(ROWS)
    empty, word = PIECE + 7, 2 * PIECE + 3
    lines[1 + empty] = f'{empty * 1e-3:.3f},,1'
    lines[1 + word] = f'{word * 1e-3:.3f},{word},soft'
    (tmp_path / 'log.csv').write_text('\n'.join(lines))
    table = read_table(tmp_path / 'log.csv')
    expected = np.arange(ROWS, dtype=float)
    expected[empty] = np.nan
    np.testing.assert_array_equal(table['q1'], expected)
    assert table['time'].tolist() == [
        line.partition(',')[0] for line in lines[1:]
    ]  # 9.999, 10.000
    assert table['note'].dtype == object


def test_a_word_in_a_later_piece_is_named_by_its_line(tmp_path):
    lines = lines_of_csv(ROWS)
    lines[1 + PIECE + 7] = '1,fast,1'
    (tmp_path / 'log.csv').write_text('\n'.join(lines))
    with pytest.raises(RecordingError, match=f'line {PIECE + 9}; .*a number.*fast'):
        read_table(tmp_path / 'log.csv')


def test_a_value_that_objects_of_later_pieces_have_is_none_before(tmp_path):
    objects = [{'t': k, 'q': [k, -k]} for k in range(ROWS)]
    for row in objects[PIECE + 5 :]:
        row['effort'] = 2
    objects[3]['q'] = None
    (tmp_path / 'log.jsonl').write_text('\n'.join(map(json.dumps, objects)))
    table = read_table(tmp_path / 'log.jsonl')
    assert table['t'].dtype == np.int64
    assert table['q'].shape == (ROWS, 2)
    assert np.flatnonzero(np.isnan(table['q']).any(axis=1)).tolist() == [3]
    assert np.flatnonzero(table['effort'] == 2).tolist() == list(range(PIECE + 5, ROWS))
    assert np.isnan(table['effort'][: PIECE + 5]).all()


@pytest.mark.parametrize('suffix', ['csv', 'jsonl'])
def test_memory_does_not_grow_with_the_length(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(recording, 'LARGE', 1)  # all columns lie in files
    for reader in log_arrays, log_text:
        monkeypatch.setattr(reader, 'PIECE', SMALL)
    peaks = []
    for pieces in (2, 8):
        rows = pieces * SMALL
        lines = lines_of_csv(rows)
        if suffix == 'jsonl':
            lines = [json.dumps({'time': k * 1e-3, 'q1': k}) for k in range(rows)]
        path = tmp_path / f'{pieces}.{suffix}'
        path.write_text('\n'.join(lines))
        del lines
        tracemalloc.start()
        read_table(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_a_line_without_end_is_refused(tmp_path):
    (tmp_path / 'log.csv').write_text('time,q1\n0,0\n' + '1' * (1 << 23))
    with pytest.raises(RecordingError, match='a line of 8 MB or more'):
        read_table(tmp_path / 'log.csv')


def test_what_only_looks_like_a_log_is_named(tmp_path):
    quoted = 'time,q1\n0,"0\n' + '1,1\n' * 50_000  # never closed
    for name, content, words in (
        ('quote.csv', quoted.encode(), 'up to line .*quotes that end'),
        ('log.npz', bytes(1000), 'log.npz is no .npz'),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RecordingError, match=words):
            read_table(tmp_path / name)


@pytest.mark.parametrize('encoding', ['utf-16', 'utf-32', 'utf-8-sig'])
def test_texts_are_read_by_their_marks(tmp_path, encoding):
    (tmp_path / 'log.csv').write_text('\n'.join(lines_of_csv(20)), encoding=encoding)
    np.testing.assert_array_equal(read_table(tmp_path / 'log.csv')['q1'], np.arange(20.0))
