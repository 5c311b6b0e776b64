"""The house: a room imports from the floors below its own and from no other."""

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path
import subprocess
import sys

import mujoco_arm

from ros_inertial_id.measurement.bags.writing import write_recording

PACKAGE = 'ros_inertial_id'
ROOT = Path(__file__).parents[1] / PACKAGE
# The floors of the README: a room imports from lower numbers only.  The wing of rigs reaches over
# several floors: each of its rooms stands on its own, and SUBROOMS says how they serve each other.
FLOORS = {
    '__init__': 0,
    'errors': -1,
    'given_files': 0,
    'lapack': 1,
    'options': 1,
    'plugins': 1,
    'processes': 1,
    'representation': 1,
    'share': 0,
    'measurement': 2,
    'dynamics': 2,
    'methods': 3,
    'estimation': 3,
    'auditing': 3,
    'identification': 4,
    'simulation': 4,
    'checks': 5,
    'procedures': 6,
    'excitation': 6,
    'rigs/__init__': 3,
    'rigs/dynamics': 3,
    'rigs/measurement': 3,
    'rigs/estimation': 4,
    'rigs/bodies': 4,
    'rigs/closed_loop': 4,
    'rigs/floating_base': 4,
    'rigs/rigid_body': 4,
    'rigs/suspended_platform': 4,
    'rigs/calibration': 5,
    'report': 7,
    'api': 8,
    'cli': 9,
    'rigs/cli': 10,
    'nodes': 10,
    'demonstration': 11,
    '__main__': 12,
}
# What stands at the top of the package beside rooms.
FILES_AT_THE_TOP = {
    '__init__',
    '__main__',
    'errors',
    'given_files',
    'lapack',
    'options',
    'plugins',
    'processes',
    'representation',
    'share',
}
# Sub-rooms: each imports from those before it in its list, and files of the room itself (contract,
# recording, signals, ...) from none of them but as said.  Peers stand in one tuple.
WING = 'rigs'
SUBROOMS = {
    'methods': [
        ('contract',),
        ('capabilities',),
        ('arm_friction', 'arm_prediction'),
        ('serial_arm',),
        ('__init__',),
    ],
    'identification': [
        ('__init__', 'files'),
        ('identified_model',),
        ('settings',),
        ('prepare',),
        ('reduce',),
        ('choose',),
        ('fit',),
        ('judge',),
        ('model',),
        ('identify',),
    ],
    WING: [
        ('__init__',),
        ('dynamics', 'measurement', 'estimation'),
        ('bodies',),
        ('closed_loop', 'floating_base', 'rigid_body', 'suspended_platform'),
        ('calibration',),
        ('cli',),
    ],
    'measurement': [
        ('recording', 'sampling', 'signals', 'summary', 'kalman', 'stream_clock', '__init__'),
        ('bags',),
        ('joints',),
        ('live',),
        ('live_commands',),
    ],
}
MESSAGES = (
    'std_msgs',
    'sensor_msgs',
    'geometry_msgs',
    'trajectory_msgs',
    'diagnostic_msgs',
    'visualization_msgs',
    'tf2_msgs',
    'rosgraph_msgs',
    'std_srvs',
    'rcl_interfaces',
    'builtin_interfaces',
    'action_msgs',
    'control_msgs',
)
SLOW = (
    f'{PACKAGE}.{WING}',
    f'{PACKAGE}.procedures',
    f'{PACKAGE}.excitation.design',
    'scipy.linalg',
    'scipy.special',
    'scipy.optimize',
    'pandas',
    'rich',
    'importlib.metadata',
)
ROS = ('rclpy', 'launch', 'launch_ros', 'ament_index_python', *MESSAGES)
FILES = sorted(ROOT.rglob('*.py'))


def room_of(path):
    """Return the room (folder or file at the top, or room of the wing) of a path inside."""
    return room_named(path.relative_to(ROOT).with_suffix('').parts)


def room_named(parts):
    """Return the room that the parts of a dotted name or path below the package are in."""
    return '/'.join(parts[:2]) if parts[0] == WING else parts[0]


def top_of(path):
    """Return the folder or file at the top of the package that a path is in."""
    return path.relative_to(ROOT).parts[0]


@cache
def imports(path):
    """Return the absolute dotted names that a file imports, wherever in it."""
    package = [PACKAGE, *path.relative_to(ROOT).parts[:-1]]
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = '.'.join([*above, *([node.module] if node.module else [])])
            names += [base] + [f'{base}.{alias.name}' for alias in node.names]
    return names


def rooms_used(path):
    """Return the other rooms of the package that a file imports from."""
    used = set()
    for name in imports(path):
        parts = name.split('.')
        if parts[0] == PACKAGE and len(parts) > 1 and room_named(parts[1:]) in FLOORS:
            used.add(room_named(parts[1:]))
    own = top_of(path)  # SUBROOMS judges what is of the same wing
    return {room for room in used if room.split('/')[0] != own and room != room_of(path)}


def subrooms_used(path):
    """Return the other sub-rooms of its own room that a file imports from."""
    room, own = top_of(path), subroom_of(path)
    known = {name for peers in SUBROOMS[room] for name in peers}
    used = set()
    for name in imports(path):
        parts = name.split('.')
        if parts[:2] == [PACKAGE, room] and len(parts) > 2 and parts[2] in known:
            used.add(parts[2])
    return used - {own}


def subroom_of(path):
    """Return the sub-room, or the file, of a path inside a room."""
    return path.relative_to(ROOT).parts[1].removesuffix('.py')


def users(*modules):
    """Return {room: files} of those that import a module from outside the package."""
    found = {}
    for path in FILES:
        if {name.split('.')[0] for name in imports(path)} & set(modules):
            found.setdefault(room_of(path), []).append(path.name)
    return found


def test_every_room_has_a_floor_and_the_top_holds_only_rooms():
    assert {room_of(path) for path in FILES} == set(FLOORS)
    assert {p.stem for p in ROOT.glob('*.py')} == FILES_AT_THE_TOP
    assert len({room.split('/')[0] for room in FLOORS} - FILES_AT_THE_TOP) <= 16
    assert all(isinstance(floor, int) for floor in FLOORS.values())


def test_a_room_imports_only_from_below():
    too_high = []
    for path in FILES:
        # The public API names what it offers; each is imported when it is asked for.
        if room_of(path) != '__init__':
            floor = FLOORS[room_of(path)]
            too_high += [
                f'{path.relative_to(ROOT)} of floor {floor} imports {room}'
                for room in sorted(rooms_used(path))
                if FLOORS[room] >= floor
            ]
    assert not too_high, '\n'.join(too_high)


def test_a_sub_room_imports_only_what_is_shared_by_name():
    too_high = []
    for path in [p for p in FILES if top_of(p) in SUBROOMS]:
        floors = {
            name: level for level, peers in enumerate(SUBROOMS[top_of(path)]) for name in peers
        }
        own = floors[subroom_of(path)]
        # Files of the room's own floor serve each other, as those inside a sub-room do.
        peers = (ROOT / top_of(path) / f'{subroom_of(path)}.py').exists() and own == 0
        for name in sorted(subrooms_used(path)):
            if floors[name] > own or floors[name] == own and not peers:
                too_high.append(f'{path.relative_to(ROOT)} imports {name}')
    assert not too_high, '\n'.join(too_high)


def test_no_modules_import_each_other_in_a_circle():
    module = {'.'.join([PACKAGE, *p.relative_to(ROOT).with_suffix('').parts]): p for p in FILES}
    graph = {
        name: {n for n in imports(path) if n in module and n != name}
        for name, path in module.items()
    }
    done, path = set(), []

    def visit(name):
        assert name not in path, ' -> '.join([*path[path.index(name) :], name])
        if name in done:
            return
        path.append(name)
        for other in sorted(graph[name]):
            visit(other)
        done.add(path.pop())

    for name in graph:
        visit(name)


def test_ros_lives_under_the_roof_and_nowhere_else():
    assert set(users(*ROS)) <= {'nodes', 'demonstration'}


def test_pinocchio_lives_in_dynamics():
    # Excitation plans with it; entries notes its version in the provenance.
    allowed = {'dynamics', 'rigs/dynamics', 'excitation'}
    strangers = {room: files for room, files in users('pinocchio').items() if room not in allowed}
    assert strangers == {'identification': ['outcome.py']}


def test_mujoco_never_meets_what_it_is_the_oracle_of():
    strangers = users('mujoco')
    assert strangers.pop('dynamics') == ['mjcf_compiled.py']  # what MJCF means is MuJoCo's word
    assert set(strangers) <= {'simulation'}
    simulated_rigs = list((ROOT / 'demonstration' / 'simulated_rigs').glob('*.py'))
    assert simulated_rigs
    for path in [*(ROOT / 'simulation').glob('*.py'), *simulated_rigs]:
        # Rooms, and files at the top, that know nothing of an identification.
        assert rooms_used(path) <= {'errors', 'measurement', 'options', 'simulation'}, path


def test_methods_and_estimation_are_introduced_by_the_spine():
    for path in FILES:
        if room_of(path) == 'methods' or (
            FLOORS[room_of(path)] == 4
            and top_of(path) == WING
            and room_of(path) != 'rigs/estimation'
        ):
            # Whoever writes rows may solve some, to judge signals by, and estimates nothing.
            estimation = [name for name in imports(path) if name.split('.')[1:2] == ['estimation']]
            assert all('.least_squares' in name for name in estimation), path
        if room_of(path) == 'estimation':
            assert not rooms_used(path) & {'methods', 'measurement'}, path


def test_nobody_imports_the_wing_of_rigs():
    for path in FILES:
        assert top_of(path) == WING or not any(
            room.split('/')[0] == WING for room in rooms_used(path)
        ), path


def test_an_arm_is_read_and_identified_without_any_rig_or_what_takes_long_to_import(tmp_path):
    code = (
        'import sys, ros_inertial_id as rid\n'
        f'result = rid.identify(rid.read_bag({str(tmp_path / "bag")!r}))\n'
        f'result.report({str(tmp_path / "report.html")!r})\n'
        f'print([name for name in sys.modules if name.startswith({SLOW!r})])\n'
    )
    urdf = mujoco_arm.description('arm2')
    t, q, v, a = mujoco_arm.motion(2, 10.0, 100.0)
    write_recording(
        tmp_path / 'bag',
        replace(
            mujoco_arm.recording(
                mujoco_arm.joints_of(urdf), t, q, v, mujoco_arm.torque(urdf, q, v, a)
            ),
            robot_description=urdf,
        ),
    )
    out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert out.stdout == '[]\n'


def test_measurement_and_dynamics_do_not_know_each_other():
    for path in FILES:
        own = room_of(path).removeprefix(f'{WING}/')
        if own in ('measurement', 'dynamics'):
            used = rooms_used(path) | (subrooms_used(path) if top_of(path) == WING else set())
            assert not used & {'measurement', 'dynamics'} - {own}, path


def test_the_core_is_found_by_its_own_imports():
    assert 'estimation' in rooms_used(ROOT / 'identification' / 'identify.py')
    assert 'errors' in rooms_used(ROOT / 'dynamics' / 'robot_model.py')
    assert 'bodies' in subrooms_used(ROOT / 'rigs' / 'rigid_body' / 'method.py')
    assert 'methods' in rooms_used(ROOT / 'rigs' / 'closed_loop' / 'method.py')
    assert 'cli' in rooms_used(ROOT / 'rigs' / 'cli' / 'verbs.py')
    assert 'rclpy' in {name.split('.')[0] for name in imports(ROOT / 'nodes' / 'running.py')}
