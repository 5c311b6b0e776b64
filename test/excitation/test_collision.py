"""Nothing near the robot is left out in silence: meshes, floor, obstacles, margins."""

from dataclasses import replace
from pathlib import Path
import re
import struct

import coal
import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation.collision import wanted_shapes
from ros_inertial_id.excitation.problem import DesignOptions

URDF = Path(__file__).parents[2] / 'urdf'
TEXT = (URDF / 'arm3.urdf').read_text()
NEAR = DesignOptions(floor=False, distance=0.0)
BALL = 'sphere 0.45 0 0.4 0.05'


def write_stl(path, size, center):
    """Write a binary STL of a box ``size`` (3,) about ``center`` (3,) [m]."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = 0.5 * corners * size + center
    faces = [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ]
    body = b''.join(
        struct.pack('<12fH', 0, 0, 0, *corners[list(face)].ravel(), 0) for face in faces
    )
    path.write_bytes(bytes(80) + struct.pack('<I', len(faces)) + body)


def with_meshes(name='package://arm_meshes/{}.stl'):
    """Return the arm's URDF with one mesh per link in place of its primitives."""
    bare = re.sub(r'\s*<collision>.*?</collision>', '', TEXT, flags=re.S)
    for link in ('base_link', 'link1', 'link2', 'link3'):
        mesh = name.format(link)
        bare = bare.replace(
            f'<link name="{link}">',
            f'<link name="{link}"><collision><geometry>'
            f'<mesh filename="{mesh}"/></geometry></collision>',
        )
    return bare


@pytest.fixture
def folder(tmp_path):
    """Return a folder of a package with boxes as the arm's meshes."""
    (tmp_path / 'arm_meshes').mkdir()
    for link, size, center in (
        ('base_link', (0.2, 0.2, 0.2), (0, 0, 0.1)),
        ('link1', (0.12, 0.12, 0.12), (0, 0, -0.07)),
        ('link2', (0.35, 0.08, 0.08), (0.175, 0, 0.1)),
        ('link3', (0.3, 0.06, 0.06), (0.15, 0, 0)),
    ):
        write_stl(tmp_path / 'arm_meshes' / f'{link}.stl', np.array(size), np.array(center))
    return tmp_path


def shapes(text, options):
    robot = load_robot_model(text)
    return robot, wanted_shapes(robot, options, np.random.default_rng(0))


def test_meshes_are_found_and_keep_the_robot_from_what_they_touch(folder):
    options = replace(NEAR, meshes=(str(folder),), obstacles=('sphere 0.3 0.1 0.5 0.2',))
    robot, found = shapes(with_meshes(), options)
    assert not any('not found' in notice for notice in found.notices)
    data, rng = robot.pin_model.createData(), np.random.default_rng(1)
    ball, place = coal.Sphere(0.2), coal.Transform3s(np.eye(3), np.array([0.3, 0.1, 0.5]))
    boxes = [(2, (0.35, 0.08, 0.08), (0.175, 0, 0.1)), (3, (0.3, 0.06, 0.06), (0.15, 0, 0))]
    seen = []
    for q in rng.uniform(robot.lower, robot.upper, (300, 3)):
        pin.forwardKinematics(robot.pin_model, data, q)
        hits = []
        for joint, size, center in boxes:
            M = data.oMi[joint]
            at = coal.Transform3s(M.rotation, M.act(np.array(center)))
            hits.append(
                coal.collide(
                    coal.Box(*size),
                    at,
                    ball,
                    place,
                    coal.CollisionRequest(),
                    coal.CollisionResult(),
                )
                > 0
            )
        touching = found.colliding(robot, q[None])
        if touching is None or 'obstacle' in touching[1]:
            assert bool(touching) == any(hits)
            seen.append(any(hits))
    assert 5 < sum(seen) < len(seen) - 5


def test_packages_are_found_where_ros_installs_them(folder, monkeypatch):
    (folder / 'share').mkdir()
    (folder / 'arm_meshes').rename(folder / 'share' / 'arm_meshes')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(folder))
    assert not any('not found' in notice for notice in shapes(with_meshes(), NEAR)[1].notices)


@pytest.mark.parametrize('name', ['{}.stl', 'package://arm_meshes/{}.stl'])
def test_files_beside_the_urdf_are_found(folder, name):
    options = replace(NEAR, meshes=(str(folder / 'arm_meshes'),))
    assert not any('not found' in n for n in shapes(with_meshes(name), options)[1].notices)


@pytest.mark.parametrize('joint', ['joint2', 'link2'])  # SolidWorks names it after its link
def test_missing_meshes_become_rods_that_still_see_obstacles(joint):
    text = with_meshes().replace('"joint2"', f'"{joint}"')
    robot, found = shapes(text, replace(NEAR, obstacles=(BALL,)))
    words = next(notice for notice in found.notices if 'not found' in notice)
    assert 'link2' in words and '0.16 m thick' in words and 'meshes:' in words
    stretched = np.array([[0.0, 0.0, 0.0]])
    assert found.colliding(robot, stretched)[1].startswith('obstacle 1')
    assert found.colliding(robot, np.array([[1.5, 0.0, 0.0]])) is None


def test_obstacles_of_a_robot_without_any_shape_are_refused():
    bare = re.sub(r'<(collision|visual)>.*?</\1>', '', TEXT, flags=re.S)
    with pytest.raises(MotionError, match='says nothing of the robot.s shape; give its links'):
        shapes(bare, replace(NEAR, obstacles=(BALL,)))
    assert 'neither collisions nor the floor' in shapes(bare, NEAR)[1].notices[0]


@pytest.mark.parametrize(
    'gravity, floor, words',
    [
        ((0.0, 0.0, -9.81), True, 'assumed: a floor at z = 0 m'),
        ((0.0, 0.0, -9.81), False, 'no floor: floor: false'),
        ((9.81, 0.0, 0.0), True, 'no floor is assumed: the base is not upright'),
    ],
)
def test_floor_is_there_under_an_upright_base_unless_taken_away(gravity, floor, words):
    robot = load_robot_model(TEXT, gravity_base=gravity)
    found = wanted_shapes(robot, replace(NEAR, floor=floor), np.random.default_rng(0))
    assert any(notice.startswith(words) for notice in found.notices)
    down = np.array([[0.0, -0.5, -1.4]])  # 0.35 sin 0.5 + 0.3 sin 1.9 below the shoulder at 0.4 m
    assert (found.colliding(robot, down) is not None) == words.startswith('assumed')
    for height, touches in ((-0.5, False), (0.1, True)):
        own = replace(NEAR, floor=False, obstacles=(f'box 0 0 {height - 0.5} 20 20 1',))
        there = wanted_shapes(robot, own, np.random.default_rng(0))
        assert (there.colliding(robot, down) is not None) == touches


def test_distance_is_kept_and_what_is_near_is_said_with_its_gradient():
    """Coal's own distances judge; moved along the gradient a pair comes apart as it says."""
    options = DesignOptions(distance=0.05, obstacles=(BALL,))
    robot, found = shapes(TEXT, options)
    q = np.random.default_rng(2).uniform(robot.lower, robot.upper, (200, 3))
    data, places = robot.pin_model.createData(), found.geometry.createData()

    def distances(posture):
        pin.computeDistances(robot.pin_model, data, found.geometry, places, posture)
        return np.array([r.min_distance for r in places.distanceResults])

    least = np.array([(distances(x) - found.margins).min() for x in q])
    allowed = found.allowed(robot, q)
    clear = np.abs(least) > 1e-4  # [m] of coal's tolerance
    assert (allowed == (least > 0))[clear].all() and 0.1 < allowed.mean() < 0.9
    assert all((found.colliding(robot, x[None]) is None) == good for x, good in zip(q, allowed))
    near = found.near(robot, q, 0.02)
    assert set(near.samples[near.gaps < 0.0]) == set(np.flatnonzero(~allowed))
    for sample, pair, gap, points, normal in zip(
        near.samples, near.pairs, near.gaps, near.points, near.normals
    ):
        assert distances(q[sample])[pair] - found.margins[pair] == pytest.approx(gap, abs=1e-5)
        assert normal @ (points[1] - points[0]) == pytest.approx(
            gap + found.margins[pair], abs=1e-9
        )


def test_pairs_that_always_touch_are_left_out_as_pairs_alone():
    """Two shapes on bodies two joints apart overlap for good; all other pairs stay."""
    fat = TEXT.replace(
        '<link name="link3">',
        '<link name="link3"><collision><geometry><sphere radius="0.45"/></geometry></collision>',
    )
    robot, found = shapes(fat, NEAR)
    plain = shapes(TEXT, NEAR)[1]
    assert set(plain.pairs) - set(found.pairs) <= {('base_link', 'link3'), ('link1', 'link3')}
    assert any('link1 and link3' in notice for notice in found.notices)
