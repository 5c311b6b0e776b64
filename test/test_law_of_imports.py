"""The house: a room imports from the floors below its own and from no other."""

import ast
from pathlib import Path

import pytest

PACKAGE = 'ros_inertial_id'
ROOT = Path(__file__).parents[1] / PACKAGE
# The floors of the README, the fourth and fifth with their stairs: a room imports from lower
# numbers only.  A new file at the top of the package has to be given its floor here.
FLOORS = {
    '__init__': 0, 'errors': 0, 'options': 1,
    'measurement': 2, 'dynamics': 2,
    'methods': 3, 'estimation': 3,
    'mounting': 4.0, 'reading': 4.0, 'simulation': 4.0, 'excitation': 4.05,
    'folding': 4.05, 'judging': 4.06, 'entries': 4.06, 'inherited_errors': 4.06,
    'consistent_links': 4.07,
    'identify': 4.1, 'identified_description': 4.2, 'identify_*': 4.2, 'online': 4.2,
    'rigs': 4.2,
    'config': 5.0, 'report': 5.0, 'console': 5.0, 'verbs': 5.1, 'verbs_rigs': 5.1,
    'cli': 5.2, '__main__': 5.3,
    'nodes': 6,
}
MESSAGES = ('std_msgs', 'sensor_msgs', 'geometry_msgs', 'trajectory_msgs', 'diagnostic_msgs',
            'visualization_msgs', 'tf2_msgs', 'rosgraph_msgs', 'std_srvs', 'rcl_interfaces',
            'builtin_interfaces', 'action_msgs', 'control_msgs')
ROS = ('rclpy', 'launch', 'launch_ros', 'ament_index_python', *MESSAGES)
FILES = sorted(ROOT.rglob('*.py'))


def room_of(path):
    """Return the room (folder or file at the top) of a path inside the package."""
    return _named(path.relative_to(ROOT).parts[0].removesuffix('.py'))


def _named(room):
    return 'identify_*' if room.startswith('identify_') else room


def imports(path):
    """Return the absolute dotted names that a file imports, wherever in it."""
    package = [PACKAGE, *path.relative_to(ROOT).parts[:-1]]
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[:len(package) - node.level + 1] if node.level else []
            base = '.'.join([*above, *([node.module] if node.module else [])])
            names += [base] + [f'{base}.{alias.name}' for alias in node.names]
    return names


def rooms_used(path):
    """Return the other rooms of the package that a file imports from."""
    used = set()
    for name in imports(path):
        parts = name.split('.')
        if parts[0] == PACKAGE and len(parts) > 1 and _named(parts[1]) in FLOORS:
            used.add(_named(parts[1]))
    return used - {room_of(path)}


def users(*modules):
    """Return {room: files} of those that import a module from outside the package."""
    found = {}
    for path in FILES:
        if {name.split('.')[0] for name in imports(path)} & set(modules):
            found.setdefault(room_of(path), []).append(path.name)
    return found


def test_every_room_has_a_floor():
    assert {room_of(path) for path in FILES} <= set(FLOORS)


@pytest.mark.parametrize('path', FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_room_imports_only_from_below(path):
    floor = FLOORS[room_of(path)]
    too_high = {room for room in rooms_used(path) if FLOORS[room] >= floor}
    assert not too_high, f'{path.relative_to(ROOT)} of floor {floor} imports {sorted(too_high)}'


def test_ros_lives_under_the_roof_and_nowhere_else():
    assert set(users(*ROS)) <= {'nodes'}


def test_pinocchio_lives_in_dynamics():
    # Excitation plans with it; entries notes its version in the provenance.
    assert set(users('pinocchio')) <= {'dynamics', 'excitation', 'entries'}


def test_mujoco_never_meets_what_it_is_the_oracle_of():
    assert set(users('mujoco')) <= {'simulation'}
    for path in FILES:
        if room_of(path) == 'simulation':
            assert not rooms_used(path) & {'dynamics', 'methods', 'estimation', 'identify'}, path


def test_methods_and_estimation_are_introduced_by_the_spine():
    for path in FILES:
        if room_of(path) == 'methods':
            assert 'estimation' not in rooms_used(path), path
        if room_of(path) == 'estimation':
            assert not rooms_used(path) & {'methods', 'measurement'}, path


def test_measurement_and_dynamics_do_not_know_each_other():
    for path in FILES:
        if room_of(path) in ('measurement', 'dynamics'):
            assert not rooms_used(path) & {'measurement', 'dynamics'}, path


def test_the_core_is_found_by_its_own_imports():
    assert 'estimation' in rooms_used(ROOT / 'identify.py')
    assert 'errors' in rooms_used(ROOT / 'dynamics' / 'robot_model.py')
    assert 'rclpy' in {name.split('.')[0] for name in imports(ROOT / 'nodes' / 'recorder.py')}
