"""Files are whole or as they were, and what cannot be read is said in a line."""

from dataclasses import replace
import os

from hypothesis import given, settings
from hypothesis import strategies as st
import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.files import (
    make_folder,
    read_description,
    read_text,
    write_text,
)
from ros_inertial_id.identification.identified_model import IdentifiedModel
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class


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


@pytest.mark.parametrize('encoding', ['iso-8859-1', 'utf-8', 'cp1252'])
def test_xml_is_read_as_it_declares(tmp_path, encoding):
    text = f"<?xml version='1.0' encoding='{encoding}'?>\n<!-- Entwürfe -->"
    for ends in ('\n', '\r\n'):
        (tmp_path / 'r.urdf').write_bytes(text.replace('\n', ends).encode(encoding))
        assert read_description(tmp_path / 'r.urdf') == text
    (tmp_path / 'r.urdf').write_bytes(text.replace(encoding, 'no-such').encode('iso-8859-1'))
    with pytest.raises(ConfigError, match='UTF-8'):
        read_description(tmp_path / 'r.urdf')


@pytest.fixture(scope='module')
def model():
    """Return an IdentifiedModel of two joints."""
    urdf = mujoco_arm.description('arm2')
    t, q, v, a = mujoco_arm.motion(2, 10.0, 100.0)
    tau = mujoco_arm.torque(urdf, q, v, a) + 0.05 * np.random.default_rng(0).normal(size=q.shape)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, tau)
    options = replace(options_class('serial_arm')(), friction=('viscous',))
    return identify([recording], options, urdf=urdf).model


def numbers(count):
    """Return a strategy for ``count`` numbers of any size that a model file takes."""
    one = st.floats(-1e15, 1e15)
    return st.lists(one, min_size=count, max_size=count)


@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_saved_model_is_loaded_with_equal_numbers(model, data):
    """Every double is written to its last digit, the smallest and negative zero too."""
    values = np.array(data.draw(numbers(len(model.values))))
    sides = np.array(data.draw(numbers(len(model.base))))
    base = data.draw(numbers(len(model.base)))
    saved = replace(
        model,
        values=values,
        covariance=np.outer(sides, sides),
        base=[{**entry, 'value': value} for entry, value in zip(model.base, base)],
    )
    loaded = IdentifiedModel.from_yaml(saved.to_yaml())
    for name in ('values', 'covariance'):
        written, read = getattr(saved, name), getattr(loaded, name)
        np.testing.assert_array_equal(read, written)
        np.testing.assert_array_equal(np.signbit(read), np.signbit(written))
    assert loaded.base == saved.base and loaded.parameters == saved.parameters
