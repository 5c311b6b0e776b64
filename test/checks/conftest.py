"""The recordings that most tests of a checkup begin with, clean as they are."""

import mujoco_arm
import pytest


@pytest.fixture(scope='session')
def franka():
    """Return a clean Recording of the simulated Franka."""
    return mujoco_arm.recorded('franka', 1)


@pytest.fixture(scope='session')
def arm():
    """Return one of the simulated 3R arm, which is checked in a fifth of the time."""
    return mujoco_arm.recorded('arm3', 2)
