"""What a user names is a file of a size that its kind has, or refused at once."""

import ast
import os
from pathlib import Path
import socket

import pytest

from ros_inertial_id import given_files
from ros_inertial_id.errors import ConfigError, InertialIdError
from ros_inertial_id.excitation.motion_files import read_motion
from ros_inertial_id.given_files import given_text
from ros_inertial_id.identification.files import read_description, read_model_text, read_text
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.log_files import read_table
from ros_inertial_id.options import MOST_ENTRIES, read_blocks, yaml_content
from ros_inertial_id.share import config_file

PACKAGE = Path(__file__).parents[1] / 'ros_inertial_id'
# Who reads other files: the package's own (cache, demonstration).
OTHERWISE = {'procedures/mapped_bags.py', 'demonstration/'}


@pytest.fixture
def hostile(tmp_path):
    """Return {kind: path} of what is no file."""
    os.mkfifo(tmp_path / 'fifo')
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / 'socket'))
    return {
        'a device': Path('/dev/zero'),
        'a pipe': tmp_path / 'fifo',
        'a socket': tmp_path / 'socket',
        'a folder': tmp_path,
    }


@pytest.mark.parametrize('kind', ['a device', 'a pipe', 'a socket', 'a folder'])
@pytest.mark.parametrize(
    'read',
    [
        read_text,
        read_description,
        read_motion,
        lambda path: read_blocks(config_file(str(path)), ()),
    ],
    ids=['model', 'description', 'motion', 'configuration'],
)
def test_what_is_no_file_is_refused_by_its_kind(hostile, kind, read):
    with pytest.raises(InertialIdError, match=f'expected a file; found {kind}'):
        read(hostile[kind])


@pytest.mark.parametrize(
    'name, read, kind',
    [
        ('log.npz', read_model_text, 'a recording'),
        ('arm.urdf', read_model_text, 'a robot description'),
        ('report.html', read_model_text, 'a page'),
        ('arm.urdf', read_bag, 'a robot description'),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path, name, read, kind):
    (tmp_path / name).write_bytes(b'\xff\x00<robot name="arm"/>')
    with pytest.raises(InertialIdError, match=f'found {kind}'):
        read(tmp_path / name)


@pytest.mark.parametrize('kind', ['a device', 'a pipe', 'a socket'])
@pytest.mark.parametrize(
    'name, read', [('log.csv', read_table), ('bag.mcap', read_bag), ('bag.db3', read_bag)]
)
def test_a_recording_that_is_no_file_is_refused_by_its_kind(tmp_path, hostile, kind, name, read):
    (tmp_path / name).symlink_to(hostile[kind])
    with pytest.raises(InertialIdError, match=f'found {kind}'):
        read(tmp_path / name)


def test_a_bag_whose_metadata_are_a_pipe_is_read_without(tmp_path):
    os.mkfifo(tmp_path / 'metadata.yaml')
    (tmp_path / 'a.mcap').write_bytes(b'')
    assert any('metadata' in line for line in read_bag(tmp_path).provenance['damage'])


def test_a_text_is_read_whole_up_to_its_largest_size(tmp_path, monkeypatch):
    monkeypatch.setattr(given_files, 'PIECE', 10)
    monkeypatch.setattr(given_files, 'LARGEST_TEXT', 40)
    file = tmp_path / 'a.yaml'
    for size in (0, 9, 10, 40):
        file.write_text('\u00e4' * size, encoding='utf-8')
        assert given_text(file) == '\u00e4' * size
    file.write_text('a' * 41)
    with pytest.raises(ConfigError, match='at most'):
        given_text(file)


@pytest.mark.parametrize('content', ['\0' * 1000, '/dev/zero'])
def test_the_content_of_a_description_is_no_path(tmp_path, content):
    file = tmp_path / 'robot.urdf'
    file.write_text(content)
    with pytest.raises(ConfigError, match='robot.urdf is no robot description') as error:
        read_description(file)
    assert len(str(error.value)) < 500


def test_a_yaml_of_endless_keys_is_refused_before_it_is_built():
    text = ''.join(f'key{k}: {k}\n' for k in range(MOST_ENTRIES // 2 + 9))
    with pytest.raises(
        ConfigError, match=f'model.yaml is too long; expected at most {MOST_ENTRIES}'
    ):
        yaml_content(text, 'model.yaml')


def test_texts_that_users_name_are_read_through_one_door():
    others = []
    for path in PACKAGE.rglob('*.py'):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(tuple(OTHERWISE)):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
            if isinstance(node, ast.Attribute) and node.attr == 'read_text':
                others.append(f'{name}:{node.lineno}')
    assert not others
