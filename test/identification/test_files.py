"""Files are whole or as they were, and what cannot be read is said in a line."""

import os

import pytest

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.files import make_folder, read_text, write_text


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / 'model.yaml'
    write_text(path, 'größer\n')
    write_text(path, 'short')
    assert read_text(path) == 'short'
    assert os.listdir(tmp_path) == ['model.yaml']


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / 'model.yaml'
    write_text(path, 'whole')
    with pytest.raises(ConfigError, match='cannot be written'):  # in the middle of writing
        write_text(path, 'x' * 100000 + '\ud800')
    assert read_text(path) == 'whole' and os.listdir(tmp_path) == ['model.yaml']
    if os.path.exists('/dev/full'):
        with pytest.raises(ConfigError, match='No space left'):
            write_text('/dev/full', 'x')
    for bad in (tmp_path / 'absent' / 'file', tmp_path, tmp_path / ('x' * 300), 'a\0b'):
        with pytest.raises(ConfigError, match='cannot be written'):
            write_text(bad, 'x')


def test_what_cannot_be_read_is_said(tmp_path):
    (tmp_path / 'latin').write_bytes('größer'.encode('latin-1'))
    with pytest.raises(ConfigError, match='UTF-8'):
        read_text(tmp_path / 'latin')
    with pytest.raises(ConfigError, match='No such file'):
        read_text(tmp_path / 'absent')
    (tmp_path / 'file').write_text('')
    with pytest.raises(ConfigError, match='folder .* cannot be made'):
        make_folder(tmp_path / 'file' / 'under')
