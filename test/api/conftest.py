"""Two bags of one arm and what is identified from them, for all tests of the API."""

import mujoco_arm
import pytest

import ros_inertial_id as rid
from ros_inertial_id.measurement.bags.writing import write_recording


@pytest.fixture(scope='session')
def bags(arm3, arm3_motion, tmp_path_factory):
    """Return the paths of two bags of the 3R arm, the halves of its motion."""
    names, t, q, v, _, tau = arm3_motion
    folder, half = tmp_path_factory.mktemp('bags'), len(t) // 2
    out = []
    for name, part in (('first', slice(None, half)), ('second', slice(half, None))):
        recording = mujoco_arm.recording(names, t[part], q[part], v[part], tau[part])
        write_recording(folder / name, rid.Recording(recording.channels, arm3[0]))
        out.append(folder / name)
    return out


@pytest.fixture(scope='session')
def result(bags):
    return rid.identify(rid.read_bag(bags[0]), validate=rid.read_bag(bags[1]), consistent=True)
