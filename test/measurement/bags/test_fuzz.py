"""
No bag gives a number that was not written, another error than our own, or takes the memory.

FUZZ_EXAMPLES (default 60) is the number of examples per storage.
"""

from contextlib import contextmanager
import os
from pathlib import Path
import resource
import tempfile

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from test_bag import joint_states

from ros_inertial_id.errors import InertialIdError
from ros_inertial_id.measurement.bags.bag import read_bag
from ros_inertial_id.measurement.bags.writing import write_recording
from ros_inertial_id.measurement.recording import Recording

EXAMPLES = int(os.environ.get('FUZZ_EXAMPLES', 60))
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize='FUZZ_EXAMPLES' not in os.environ,
    suppress_health_check=list(HealthCheck),
)
URDF = (
    '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute">'
    '<parent link="a"/><child link="b"/></joint></robot>'
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(['flip', 'set', 'cut', 'drop', 'double', 'number']),
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 255),
        st.integers(1, 600),
    ),
    min_size=1,
    max_size=6,
)


@pytest.fixture(autouse=True)
def memory():
    """Hold every test to 1 GB more than it began with."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # [kB]


@contextmanager
def own_errors():
    """Allow the package's own errors, with words."""
    try:
        yield
    except InertialIdError as error:
        assert str(error)


def edited(data, edits):
    """Return data after edits: (what, where, value, length)."""
    data = bytearray(data)
    for what, where, value, length in edits:
        at = int(where * len(data))
        part = data[at : at + length]
        if what == 'flip' and part:
            data[at] ^= 1 << value % 8
        elif what == 'set':
            data[at : at + length] = bytes([value]) * len(part)
        elif what == 'cut':
            del data[at:]
        elif what == 'drop':
            del data[at : at + length]
        elif what == 'double':
            data[at:at] = part
        elif what == 'number':
            number = (value << 8 * (length % 8)).to_bytes(9, 'little')
            data[at : at + 8] = number[: len(data[at : at + 8])]
    return bytes(data)


@pytest.mark.parametrize(
    ('storage', 'compress'), [('mcap', False), ('mcap', True), ('sqlite3', False)]
)
def test_an_edited_bag_gives_what_was_written_or_the_packages_error(tmp_path, storage, compress):
    written = joint_states(200, 5_000_000)
    write_recording(
        tmp_path / 'bag', Recording({'/joint_states': written}, URDF), storage, compress
    )
    whole = next(f for f in (tmp_path / 'bag').iterdir() if f.suffix != '.yaml')
    data = whole.read_bytes()
    rows = {int(t): row for t, row in zip(written.received_ns, written.fields['position'])}

    @FUZZ
    @given(EDITS)
    def check(edits):
        channel = None
        with tempfile.TemporaryDirectory() as folder, own_errors():
            Path(folder, whole.name).write_bytes(edited(data, edits))
            channel = read_bag(Path(folder, whole.name)).channels.get('/joint_states')
        if not channel or not len(channel) or storage == 'sqlite3':
            return  # a sqlite3 has no checksums of its messages
        for ns, row in zip(channel.received_ns.tolist(), channel.fields['position']):
            np.testing.assert_array_equal(row, rows[ns])  # never a number that was not written

    check()
