"""How the processes of the nodes end: on signals, on bad parameters, with the demonstration."""

from contextlib import suppress
from pathlib import Path
import signal

from live_graph import ROOT
import pytest
from stage import Stage

ARM = ROOT / 'urdf' / 'arm2.urdf'
NODES = {
    'recorder': {},
    'identification': {},
    'torque_prediction': {},
    'excitation': {},
    'simulated_robot': {'urdf_file': ARM, 'rate': 200.0},
    'simulated_rig': {},
}


def start_all(graph, fresh):
    """Start every node, some in a fresh Python; return the processes when all are there."""
    processes = {
        name: graph.start(name, fresh=name in fresh, **parameters)
        for name, parameters in NODES.items()
    }
    for name in NODES:
        graph.until(lambda: name in graph.node.get_node_names(), name)
        graph.until(lambda: graph.healths(name), f'diagnostics of {name}')
    return processes


def threads_of(pid):
    """Return the names of a process's threads."""
    return {path.read_text().strip() for path in Path(f'/proc/{pid}/task').glob('*/comm')}


@pytest.mark.parametrize(
    'number, times, fresh',
    [(signal.SIGINT, 1, {'recorder', 'excitation'}), (signal.SIGTERM, 3, ())],
    ids=['Ctrl-C', 'impatient SIGTERM'],
)
def test_every_node_ends_with_status_0_on_a_signal(graph, number, times, fresh):
    processes = start_all(graph, fresh)
    for name, process in processes.items():  # see without_type_lookup: they crash in the end
        assert 'dds.tls.request' not in threads_of(process.pid), name
    for _ in range(times):
        for process in processes.values():
            if process.alive():
                process.send(number)
    for name, process in processes.items():
        assert process.wait() == 0, name
        for word in ('Traceback', 'Error', 'xception', 'Failed'):
            assert word not in process.output, name


@pytest.mark.parametrize('deaf', [False, True], ids=['both', 'recorder that hangs'])
def test_ctrl_c_while_a_motion_is_recorded_ends_player_and_recorder(graph, tmp_path, deaf):
    """
    The player has the bag closed by a recorder that got the same Ctrl-C and does not answer.

    Did it wait for the answer, the watchdog of its end would give it status 1.
    """
    stage = Stage(graph, tmp_path)
    stage.start_player()
    bag = stage.move(speed=0.25, periods=20)
    if deaf:
        with stage.recorder.held_up():
            assert stage.player.end() == 0, stage.player.output
    processes = stage.recorder, stage.player
    for process in processes:
        if process.alive():
            process.send(signal.SIGINT)
    for process in processes:
        assert process.wait() == 0, process.output
        assert 'Traceback' not in process.output
    assert graph.left_behind(*processes) == set()
    stage.rests()
    stage.channels(bag)


LOCKED = """
import ctypes
import os
import signal
import sys
from rclpy.node import Node
from ros_inertial_id.nodes import running

running.{limit} = 0.5
LOCK = ctypes.PyDLL(None).sleep  # keeps Python's lock, as a call of the middleware does

class Locked(Node):
    def __init__(self):
        super().__init__('locked')
        if '{limit}' == 'NODE_STARTS':
            LOCK(1000)
        self.create_timer(0.01, lambda: os.kill(os.getpid(), signal.SIGTERM))

    def destroy_node(self):
        LOCK(1000)

sys.exit(running.run(Locked))
"""


def test_node_that_the_middleware_locks_up_is_ended_with_its_stacks(graph):
    processes = {
        limit: graph.python(LOCKED.format(limit=limit)) for limit in ('NODE_STARTS', 'NODE_ENDS')
    }
    for limit, where in (('NODE_STARTS', '__init__'), ('NODE_ENDS', 'destroy_node')):
        assert processes[limit].wait() == 1
        assert 'Timeout' in processes[limit].output and where in processes[limit].output


BAD = (
    ('recorder', {'topics': 3}, 'option topics, element 1; expected a text; found 3'),
    (
        'excitation',
        {'qos_overrides./robot_description.subscription.reliability': 'perhaps'},
        'qos_overrides./robot_description; found Unexpected QoS override for policy '
        '`reliability`: '
        '`perhaps`',
    ),
    ('recorder', {'mounting': 'ceiling'}, "'ceiling'"),
    ('excitation', {'speed': 2.0}, 'speed out of range'),
    ('identification', {'config': '/nowhere.yaml'}, '/nowhere.yaml cannot be read'),
    ('simulated_rig', {'rig': 'perpetual_motion'}, 'slider_crank, wrist_'),
    ('torque_prediction', {'lag': 'short'}, "expecting type 'DOUBLE'"),
    ('torque_prediction', {'model_file': ARM}, 'arm2.urdf is no identified model'),
)


def test_bad_parameters_end_a_node_with_status_2_and_one_line(graph):
    # So many that come and go at once lock up or crash Fast DDS (eProsima/Fast-DDS#6502).
    graph.environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'OFF'
    processes = [graph.start(name, **parameters) for name, parameters, _ in BAD]
    for process, (name, parameters, words) in zip(processes, BAD):
        assert process.wait() == 2, process.output
        assert words in process.output
        assert process.output.count('\n') == 1, process.output


def test_arguments_that_ros_does_not_know_end_a_node_with_status_2(graph):
    processes = [
        graph.start('recorder', '--ros-args', *arguments)
        for arguments in (['--nonsense'], ['-p', 'foo'], ['--params-file', '/nowhere.yaml'])
    ]
    for process in processes:
        assert process.wait() == 2, process.output
        assert 'Recorder: ROS arguments' in process.output
        assert 'Traceback' not in process.output


@pytest.mark.parametrize(
    'words, said',
    [
        (['--help'], 'arguments of a node; expected --ros-args -p NAME:=VALUE; found --help'),
        (['--ros-args', '-p', 'topic:=/joint_states'], "'topic'; did you mean 'topics'?"),
        (['--ros-args', '-p', 'config:=frnka'], "did you mean 'franka'?"),
    ],
)
def test_what_is_typed_and_a_node_does_not_know_ends_it_with_status_2(graph, words, said):
    process = graph.start('recorder', *words)
    assert process.wait() == 2, process.output
    assert said in process.output


def test_demonstration_refuses_a_folder_that_cannot_be_made(graph, tmp_path):
    (tmp_path / 'file').touch()
    demo = graph.start('demo', '--out', str(tmp_path / 'file' / 'demo'))
    assert demo.wait() == 2
    assert (
        demo.output == f'demo: folder {tmp_path}/file/demo cannot be made; found Not a directory\n'
    )


@pytest.mark.parametrize(
    'number, status', [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_demonstration_leaves_no_process_behind(graph, tmp_path, number, status):
    demo = graph.start('demo', '--rig', 'wrist_sensor', '--out', str(tmp_path / 'demo'))
    graph.until(lambda: 'ready to record' in log(tmp_path, 'recorder'), 'the recorder')
    family = descendants(demo.pid)
    assert len(family) >= 4
    demo.send(number)
    assert demo.wait() == status
    graph.until(lambda: not any(running(pid) for pid in family), 'all others to end')
    assert 'Traceback' not in demo.output


def log(folder, name):
    path = folder / 'demo' / f'{name}.log'
    return path.read_text() if path.exists() else ''


def descendants(pid):
    """Return the processes that a process has started, and those that they have (Linux)."""
    found = []
    for task in Path(f'/proc/{pid}/task').iterdir():
        with suppress(FileNotFoundError):  # a thread that has just ended
            for child in (task / 'children').read_text().split():
                found += [int(child), *descendants(child)]
    return found


def running(pid):
    """Return whether a process is there and no zombie."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False
