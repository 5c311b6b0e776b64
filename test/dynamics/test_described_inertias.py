"""Inertias that no body of a robot has are named and not used; what robots have is used."""

import re

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.dynamics.described_inertias import plausible_inertias
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import RobotModelError

URDF = mujoco_arm.description('arm3')
INERTIA = r'i[xyz]{2}'


def scaled(name, factor, only=1):
    """Return the URDF with attributes of a ``name`` times a factor, ``only`` that of link3."""
    at = URDF.index('<link name="link3">') if only else 0
    return URDF[:at] + re.sub(
        rf'( {name})="([^"]*)"',
        lambda m: f'{m[1]}="' + ' '.join(f'{factor * float(x):.9g}' for x in m[2].split()) + '"',
        URDF[at:],
        count=only,
    )


@pytest.mark.parametrize(
    'text, doubts',
    [
        (URDF, []),
        (mujoco_arm.description('franka'), []),
        (scaled('izz', 1000.0), ['link3 (principal moments']),
        (scaled(INERTIA, 1e6, only=0), ['link1', 'link2', 'link3']),  # kg mm^2
        (scaled('(?:mass )?value', 1000.0, only=0), ['all links']),  # g
        (scaled('xyz', 1000.0), ['link3']),
    ],
    ids=['arm3', 'franka', 'decimal point', 'kg mm^2', 'g', 'mm'],
)
def test_inertias_that_no_body_has_are_named_and_not_used(text, doubts):
    found = load_robot_model(text)
    assert [d[: len(e)] for d, e in zip(found.doubts, doubts)] == doubts
    assert len(found.doubts) == len(doubts)
    if not doubts:
        assert plausible_inertias(text)[0] == text


@pytest.mark.parametrize(
    'removed, as_if, words',
    [
        (r' ix[yz]="[^"]*"| iyz="[^"]*"', r'(ix[yz]|iyz)="[^"]*"', 'ixy, ixz, iyz of base_link'),
        (r' izz="[^"]*"', rf'({INERTIA})="[^"]*"', 'ixx, ixy, ixz, iyy, iyz, izz of base_link'),
        (
            r'<inertia [^>]*/>',
            rf'({INERTIA})="[^"]*"',
            'ixx, ixy, ixz, iyy, iyz, izz of base_link',
        ),
    ],
    ids=['off-diagonals', 'a moment', 'the inertia'],
)
def test_what_is_not_given_of_inertias_is_zero_and_said(removed, as_if, words, caplog, capfd):
    found = load_robot_model(re.sub(removed, '', URDF))
    expected = load_robot_model(re.sub(as_if, r'\1="0"', URDF))
    np.testing.assert_array_equal(found.inertias, expected.inertias)
    assert found.inertias[:, 0].all()  # urdfdom takes the masses away
    assert words in caplog.text
    assert capfd.readouterr().err == ''  # nothing of urdfdom's own


def test_an_inertial_without_a_mass_is_refused():
    without = re.sub(r'<mass [^>]*/>', '', URDF)
    with pytest.raises(RobotModelError, match='base_link.* has an inertial without a mass'):
        load_robot_model(without)


def test_of_a_link_with_wrong_moments_mass_and_centre_are_used():
    found, given = (load_robot_model(x).inertias for x in (scaled('izz', 1000.0), URDF))
    np.testing.assert_allclose(found[:, :4], given[:, :4], atol=1e-12)
    assert found[2, 9] < given[2, 9]


def test_a_robot_in_millimetres_is_refused():
    with pytest.raises(RobotModelError, match='at most 200 m; found one .*; give lengths in m'):
        load_robot_model(scaled('xyz', 1000.0, only=0))


def test_a_centre_beyond_the_robot_doubts_all_inertias_whatever_its_moments_are():
    far = scaled('xyz', 1000.0)
    wrong = re.sub(
        r'(.*<link name="link3">.*?) izz="[^"]*"', r'\1 izz="1000"', far, flags=re.DOTALL
    )
    robot = load_robot_model(wrong)
    assert [doubt[:24] for doubt in robot.doubts] == ['link3 (principal moments']
    assert not robot.inertias.any()
