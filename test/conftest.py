"""What all tests share: the recordings of real robots, and simulated ones made in memory."""

import os
from pathlib import Path
import sys

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # tests run side by side, one per core
os.environ['COLUMNS'] = '118'  # as where no terminal says otherwise: workers say 80

import mujoco_arm  # noqa: E402
import pytest  # noqa: E402

PATIENCE = 30.0  # [s] for a worker that crashed to be gone
# Files that take long, those that wait for nodes and those that compute in turn: the ones leave
# the cores to the others.
LONGEST = (
    'test_floating_base',
    'test_excitation_faults',
    'test_rig_demonstrations',
    'test_payload',
    'test_arm_demonstration',
    'test_endings',
    'test_suspended_platform',
    'test_excitation',
    'test_main',
    'test_recorder',
    'test_torque_prediction',
    'test_checkup',
    'test_simulated_time',
    'test_one_judge',
    'test_one_model',
    'test_closed_loop_markers',
    'test_notebooks',
    'test_checkup_causes',
    'test_imu_fusion',
    'test_processes',
    'test_ros2_control',
    'test_gravity',
    'test_pieces',
    'test_drive_gains',
    'test_online',
    'test_online_topic',
    'test_documentation',
    'test_velocity_kind',
    'test_closed_loop',
    'test_watch',
    'test_friction',
    'test_options',
    'test_suspended_platform_imu',
    'test_many_recordings',
    'test_coverage',
    'test_excitation_design',
    'test_rigid_body',
    'test_path_clock',
    'test_plugins',
    'test_braking',
    'test_rig_verbs',
    'test_choice',
    'test_consistent_links',
    'test_subscriptions',
    'test_coupled_motors',
    'test_bag',
    'test_motion_design',
    'test_any_mechanism',
    'test_simulated_arm',
    'test_api',
    'test_time_offset',
    'test_simulators',
    'test_identification',
    'test_changes_in_time',
    'test_identify',
    'test_drift',
    'test_causes_on_real_arms',
    'test_rclpy_internals',
    'test_inputs_people_bring',
    'test_live_mounting',
    'test_consistency',
    'test_verbs_drives',
    'test_replay',
    'test_malformed',
)


def pytest_configure(config):
    """Let xdist give files out in our order; its own puts those with few tests last."""
    config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Say how a worker ended that crashed: of a killed one nothing else is heard."""
    if error:
        status = node.gateway._io.popen.wait(PATIENCE)
        print(f'{node.gateway.id} ended with status {status}', file=sys.stderr, flush=True)


def pytest_collection_modifyitems(items):
    """Begin with the files that take long."""
    order = {name: k for k, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(Path(item.path).stem, len(order)))


@pytest.fixture(scope='session')
def shared_data():
    """Return the folder of the recordings of real robots; skip where it is absent."""
    if not mujoco_arm.DATA.is_dir():
        pytest.skip(f'no recordings of real robots: {mujoco_arm.DATA} does not exist')
    return mujoco_arm.DATA


@pytest.fixture(scope='session')
def arm3():
    """Return (URDF text, true URDF text) of the vertical 3R arm and of one a bit different."""
    urdf = mujoco_arm.description('arm3')
    return urdf, mujoco_arm.true_urdf(urdf, seed=1)


@pytest.fixture(scope='session')
def arm3_motion(arm3):
    """Return names, t, q, v, a, tau of 40 s of the true 3R arm with friction, at 250 Hz."""
    urdf, truth = arm3
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(3, 40.0, 250.0, seed=2)
    tau = mujoco_arm.torque(truth, q, v, a) + mujoco_arm.friction(v)
    return names, t, q, v, a, tau


@pytest.fixture
def arm3_recording(arm3_motion):
    """Return the Recording of ``arm3_motion`` without noise."""
    names, t, q, v, _, tau = arm3_motion
    return mujoco_arm.recording(names, t, q, v, tau)


@pytest.fixture
def trapped(tmp_path_factory):
    """Return a folder with files named like modules of Python, NumPy and ours; each notes it."""
    folder = tmp_path_factory.mktemp('trapped')
    for name in (*sys.stdlib_module_names, 'numpy', 'scipy', 'yaml', 'rclpy', 'ros_inertial_id'):
        (folder / f'{name}.py').write_text(
            f'open({str(folder / "executed")!r}, "a").write(__name__ + "\\n")\n'
        )
    return folder


@pytest.fixture
def import_path():
    """Return the environment in which a new Python imports what this one does."""
    return dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
