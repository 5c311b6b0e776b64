"""Nodes in processes of their own, over real DDS."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")
pytest.importorskip('mujoco', reason='node tests simulate with mujoco')

EXAMPLES = Path(__file__).parents[2] / 'examples'


@pytest.fixture
def graph(tmp_path):
    """Yield a Graph with a domain of its own."""
    from live_graph import Graph

    folder = tmp_path / 'logs'
    folder.mkdir()
    with Graph(folder) as graph:
        yield graph


@pytest.fixture(scope='module')
def shared_graph(tmp_path_factory):
    """Yield a Graph for all tests of a module."""
    from live_graph import Graph

    with Graph(tmp_path_factory.mktemp('logs')) as graph:
        yield graph


@pytest.fixture(scope='module')
def whole_stage(shared_graph, tmp_path_factory):
    """Return the Stage of all tests of a module."""
    from stage import Stage

    return Stage(shared_graph, tmp_path_factory.mktemp('stage'))


@pytest.fixture
def stage(whole_stage):
    """Return the Stage with a living player and a sound robot."""
    whole_stage.start_player()
    return whole_stage


@pytest.fixture(scope='session')
def arm_recording():
    """Return a Recording of the two-joint arm in random motion."""
    from arm_recordings import random_arm_motion, simulated

    return simulated(random_arm_motion(seed=0))[0]


@pytest.fixture(scope='session')
def arm_model(arm_recording):
    """Return the IdentifiedModel of that recording."""
    from ros_inertial_id.identification.identify import identify
    from ros_inertial_id.identification.settings import options_class

    return identify([arm_recording], options_class('serial_arm')()).model


@pytest.fixture(scope='session')
def controller_example():
    """Return the Python example of a controller as a module."""
    spec = importlib.util.spec_from_file_location(
        'identified_torque', EXAMPLES / 'controller' / 'identified_torque.py'
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
