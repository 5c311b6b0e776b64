"""
No input gives another error than the package's own, hangs, or takes the memory.

FUZZ_EXAMPLES (default 60) is the number of examples per reader.
"""

from contextlib import contextmanager
from dataclasses import fields
from io import BytesIO
import os
from pathlib import Path
import resource
import tempfile
import time
from xml.etree import ElementTree

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from test_bag import joint_states
import yaml

from ros_inertial_id.dynamics.inertial_parameters import Parameter
from ros_inertial_id.dynamics.regressor import tree_rows
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.identification.model.identified_model import IdentifiedModel
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.log import read_log
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.recording import Recording
from ros_inertial_id.methods.serial_arm import SerialArmOptions
from ros_inertial_id.options import options_from

EXAMPLES = int(os.environ.get('FUZZ_EXAMPLES', 60))
FUZZ = settings(max_examples=EXAMPLES, deadline=None, database=None,
                derandomize='FUZZ_EXAMPLES' not in os.environ,
                suppress_health_check=list(HealthCheck))
URDF = ('<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/></joint></robot>')
EDITS = st.lists(st.tuples(
    st.sampled_from(['flip', 'set', 'zero', 'cut', 'drop', 'double', 'number']),
    st.floats(0, 1, exclude_max=True), st.integers(0, 255), st.integers(1, 600)),
    min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def memory():
    """Hold every test to 1 GB more than it began with."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # [kB]


@contextmanager
def bounded():
    """Allow the package's own errors, with words, and 5 s of CPU: beyond that it hangs."""
    began = time.process_time()
    try:
        yield
    except InertialIdError as error:
        assert str(error)
    assert time.process_time() - began < 5.0  # [s]; sound files of this size take 0.05


def edited(data, edits):
    """Return data after edits: (what, where, value, length)."""
    data = bytearray(data)
    for what, where, value, length in edits:
        at = int(where * len(data))
        part = data[at:at + length]
        if what == 'flip' and part:
            data[at] ^= 1 << value % 8
        elif what == 'set':
            data[at:at + length] = bytes([value]) * len(part)
        elif what == 'zero':
            data[at:at + 50 * length] = bytes(len(data[at:at + 50 * length]))
        elif what == 'cut':
            del data[at:]
        elif what == 'drop':
            del data[at:at + length]
        elif what == 'double':
            data[at:at] = part
        elif what == 'number':
            number = (value << 8 * (length % 8)).to_bytes(9, 'little')
            data[at:at + 8] = number[:len(data[at:at + 8])]
    return bytes(data)


def read_whole(path):
    """Read all of a bag or say why not; return it."""
    recording = None
    with bounded():
        recording = read_bag(path)
        for topic in recording.channels:
            assert len(recording.channels[topic]) >= 0
    return recording


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    """Return the files of a bag of 200 messages, by suffix and compression."""
    folder, files = tmp_path_factory.mktemp('bags'), {}
    recording = Recording({'/joint_states': joint_states(200, 5_000_000)}, URDF)
    for name, storage, compress in (('mcap', 'mcap', False), ('zstd', 'mcap', True),
                                    ('db3', 'sqlite3', False), ('packed', 'sqlite3', True)):
        write_recording(folder / name, recording, storage, compress)
        files[name] = next(f for f in (folder / name).iterdir() if f.suffix != '.yaml')
    return recording.channels['/joint_states'], files


@pytest.mark.parametrize('name', ['mcap', 'zstd', 'db3', 'packed'])
def test_an_edited_bag_gives_what_was_written_or_the_packages_error(bags, name):
    written, files = bags
    data = files[name].read_bytes()
    rows = {int(t): row for t, row in zip(written.received_ns, written.fields['position'])}

    @FUZZ
    @given(EDITS)
    def check(edits):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, files[name].name)
            file.write_bytes(edited(data, edits))
            recording = read_whole(file)
        channel = recording and recording.channels.get('/joint_states')
        if channel is None or not len(channel):
            return
        if name in ('db3', 'packed'):
            return  # a sqlite3 has no checksums of its messages
        for ns, row in zip(channel.received_ns.tolist(), channel.fields['position']):
            np.testing.assert_array_equal(row, rows[ns])  # never a number that was not written

    check()


@pytest.mark.parametrize('head, name', [
    (b'\x89MCAP0\r\n', 'a.mcap'), (b'SQLite format 3\0', 'a.db3'), (b'', 'a.mcap'), (b'', 'a.db3'),
    (b'\x28\xb5\x2f\xfd', 'a.mcap.zstd'), (b'', 'metadata.yaml')])
def test_any_bytes_in_place_of_a_bag(head, name):
    @FUZZ
    @given(st.binary(max_size=3000))
    def check(data):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).write_bytes(head + data)
            read_whole(Path(folder, name))
            read_whole(folder)

    check()


def read_any_log(name, data, columns=''):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(data)
        with bounded():
            recording = read_log(Path(folder, name), URDF, columns=columns)
            assert len(recording.channels['/joint_states'])


CELLS = st.one_of(st.sampled_from(['time', 'stamp_ns', 'q1', 'q_j', 'v1', 'tau1', 'q[0]',
                                   '/a/j/pos', '1', '0.5', '', 'nan', 'inf', '1e400', '9' * 400,
                                   '"', '-1e308', '1_0', '\x00', '#', '9' * 200_000]),
                  st.text(max_size=8))


@FUZZ
@given(st.lists(st.lists(CELLS, max_size=5), max_size=5), st.sampled_from(',;\t '),
       st.sampled_from(['utf-8', 'utf-16', 'latin-1']))
def test_any_table_as_a_csv(rows, delimiter, encoding):
    text = '\n'.join(delimiter.join(row) for row in rows)
    read_any_log('a.csv', text.encode(encoding, errors='replace'))


@FUZZ
@given(st.binary(max_size=500))
def test_any_bytes_as_a_csv_or_an_npz(data):
    read_any_log('a.csv', b'time,q1\n' + data)
    read_any_log('a.npz', data)
    read_any_log('a.npz', b'PK\x03\x04' + data)


@FUZZ
@given(st.one_of(st.text(max_size=40), st.from_regex(
    r'\A(time |-|q1)*[a-z]{0,2}\d{1,12}\.\.[a-z]{0,2}\d{1,12}\Z')))
def test_any_names_of_columns(columns):
    read_any_log('a.csv', b'0,1,2\n1,2,3\n', columns)


@FUZZ
@given(EDITS)
def test_an_edited_npz(edits):
    stream = BytesIO()
    np.savez_compressed(stream, t=np.arange(50.0), q=np.ones((50, 1)), names=np.array([b'j']))
    read_any_log('a.npz', edited(stream.getvalue(), edits))


@pytest.fixture(scope='module')
def model():
    """Return the content of a model file, as small as can be."""
    parameter = Parameter('m1', 'kg', 1.0, 1.0, 0.5)
    base = {'name': 'm1', 'value': 1.0, 'standard_error': 0.1, 'unit': 'kg', 'determined': True,
            'nominal': 1.0, 'expression': 'm1', 'relative_percent': 10.0, 'grouping': {'m1': 1.0}}
    residuals = {'rms': {'j': 0.1}, 'relative_percent': 1.0}
    statistics = {'training': {'filtered': residuals}, 'samples': 9, 'rank': 1, 'rank_in_data': 1,
                  'condition_number': 1.0, 'correlation_samples': {'j': 1.0}}
    whole = IdentifiedModel(
        'serial_arm', {'method': 'serial_arm'},
        {'name': 'r', 'joints': ['j'], 'kinematics_sha256': '0', 'urdf': URDF},
        {'text': [''], 'gravity_base': [[0, 0, -9.81]]}, (parameter,), np.ones(1), [base],
        np.eye(1), statistics, {'j': {'q': [0.0, 1.0]}},
        [{'cutoff': 5.0, 'velocity': 'measured'}],
        {'created': '2026-01-01T00:00:00+00:00', 'recordings': []})
    return whole.to_yaml()


def read_model(text):
    with bounded():
        IdentifiedModel.from_yaml(text).to_yaml()


def test_the_whole_model_is_read(model):
    assert IdentifiedModel.from_yaml(model).to_yaml() == model


def test_an_edited_model_file(model):
    @FUZZ
    @given(EDITS)
    def check(edits):
        read_model(edited(model.encode(), edits).decode(errors='replace'))

    check()


LEAVES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3),
                            st.dictionaries(st.text(max_size=5), inner, max_size=3)), max_leaves=5)


def test_any_value_under_a_key_of_a_model_file(model):
    content = yaml.safe_load(model)

    @FUZZ
    @given(st.sampled_from(sorted(content)), LEAVES, st.booleans())
    def check(key, value, nested):
        changed = yaml.safe_load(model)
        inner = changed[key][0] if isinstance(changed[key], list) else changed[key]
        if nested and isinstance(inner, dict) and inner:
            inner[sorted(inner)[0]] = value
        else:
            changed[key] = value
        read_model(yaml.safe_dump(changed))

    check()


ODD = st.one_of(st.sampled_from(['nan', '-nan', 'inf', '-5', '0', '1e308', '1e-320', '', ' ',
                                 '1 0', '0 0 0', '0 0 1 0', 'a', 'prismatic', 'planar', 'none',
                                 'link1', 'base_link', '\u0663', '9' * 5000]),
                st.floats().map(repr), st.text(max_size=8))
ARM2 = (Path(__file__).parents[3] / 'urdf' / 'arm2.urdf').read_text(encoding='utf-8')
PLACES = [(k, name) for k, element in enumerate(ElementTree.fromstring(ARM2).iter())
          for name in element.attrib]


@FUZZ
@given(st.sampled_from(PLACES), ODD)
def test_one_attribute_of_a_description(place, value):
    """The rows of what is taken for a robot are finite."""
    root = ElementTree.fromstring(ARM2)
    list(root.iter())[place[0]].set(place[1], value)
    with bounded():
        robot = load_robot_model(ElementTree.tostring(root, encoding='unicode'))
        state = np.full((2, len(robot)), 0.3)
        assert all(np.isfinite(rows).all() for rows in tree_rows(robot, state, state, state))


@FUZZ
@given(st.sampled_from(sorted(f.name for f in fields(SerialArmOptions))), LEAVES)
def test_one_option_of_a_configuration(name, value):
    with bounded():
        options = options_from(SerialArmOptions, {name: value}, 'a.yaml')
        numbers = [x for x in np.ravel(getattr(options, name)) if isinstance(x, float)]
        assert np.isfinite(numbers).all()


@FUZZ
@given(st.sampled_from(['t', 'q', 'tau']), st.one_of(LEAVES, st.just(np.ones((3, 2, 2))), st.just(
    np.array(['2020-01-01'] * 3, 'M8[D]')), st.just(np.array([1j, 2, 3]))))
def test_one_column_of_a_table(name, value):
    table = {'t': np.arange(3.0), 'q': np.ones((3, 1)), 'tau': np.ones((3, 1)), name: value}
    with bounded():
        channel = read_log(table, URDF).channels['/joint_states']
        assert {x.shape for x in channel.fields.values()} == {(3, 1)} and len(channel) == 3
