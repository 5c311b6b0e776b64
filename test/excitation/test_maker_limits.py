"""Published limits are found by names, tighten what the URDF says, and are kept in every order."""

from dataclasses import replace
from pathlib import Path
import re

import numpy as np
import pinocchio as pin
import pytest
import six_axis_arm

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation.assessment import assess
from ros_inertial_id.excitation.collision import wanted_shapes
from ros_inertial_id.excitation.feasible import finest_grid, grid, shrink
from ros_inertial_id.excitation.fourier import basis, FourierMotion
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.objective import Objective
from ros_inertial_id.excitation.playback import plan_course
from ros_inertial_id.excitation.problem import DesignOptions, motion_problem
from ros_inertial_id.excitation.published_limits import ROBOTS
from ros_inertial_id.excitation.rehearsal import rehearse

UR = six_axis_arm.JOINTS
FREE = {
    'position_margin': 0.0,
    'velocity_margin': 0.0,
    'acceleration_margin': 0.0,
    'effort_margin': 0.0,
}


def arm(names, robot='arm', effort=1000.0, mesh=''):
    """Return a RobotModel of parallel joints of these names, with generous limits."""
    mesh = mesh and f'<visual><geometry><mesh filename="{mesh}"/></geometry></visual>'
    links = ''.join(
        f'<link name="l{k}"><inertial><mass value="1"/><origin xyz="0.3 0 0"/><inertia ixx="0.1" '
        f'ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>{mesh}</link>'
        for k in range(1, len(names) + 1)
    )
    joints = ''.join(
        f'<joint name="{name}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
        f'<origin xyz="0.3 0 0"/><axis xyz="0 {k % 2} {1 - k % 2}"/><limit lower="-6" upper="6" '
        f'velocity="20" effort="{effort}"/></joint>'
        for k, name in enumerate(names)
    )
    return load_robot_model(f'<robot name="{robot}"><link name="l0"/>{links}{joints}</robot>')


@pytest.mark.parametrize(
    'names, robot, mesh, found',
    [
        ([f'left_fr3_joint{k}' for k in range(1, 8)], 'cell', '', 'Franka Research 3'),
        ([f'panda_joint{k}' for k in range(1, 8)], 'cell', '', 'Franka Emika Robot'),
        (UR, 'ur5e', '', 'UR5e'),
        (UR, 'my_ur10e', '', 'UR10e'),
        ([f'a_{n}' for n in UR], 'ur', 'package://ur_description/meshes/ur3e/base.dae', 'UR3e'),
        ([f'lbr_A{k}' for k in range(1, 8)], 'iiwa14', '', 'KUKA LBR iiwa 14 R820'),
        ([f'joint_{k}' for k in range(1, 8)], 'gen3', '', 'Kinova Gen3, 7 joints'),
        (['fr3_joint2', 'fr3_joint4'], 'locked', '', 'Franka Research 3'),
    ],
)
def test_limits_are_found_by_the_names_of_joints_robot_and_meshes(names, robot, mesh, found):
    limits = kinematic_limits(arm(names, robot, mesh=mesh), DesignOptions(**FREE))
    assert limits.notices[0].startswith(f'limits of {found}')


def test_joints_that_are_locked_leave_the_others_theirs():
    limits = kinematic_limits(arm(['fr3_joint6', 'fr3_joint2']), DesignOptions(**FREE))
    assert limits.velocity.tolist() == [4.18, 2.62] and limits.lower[0] == 0.5445
    assert limits.effort.tolist() == [12.0, 87.0] and limits.jerk.tolist() == [5000.0] * 2


def test_nothing_is_assumed_of_joints_that_several_robots_share():
    limits = kinematic_limits(arm(UR, 'cell'), DesignOptions(**FREE))
    assert limits.velocity.tolist() == [20.0] * 6
    assert any('limits: says whose' in words and 'ur16e' in words for words in limits.notices)
    named = kinematic_limits(arm(UR, 'cell'), DesignOptions(limits='ur16e', **FREE))
    assert named.notices[0].startswith('limits of UR16e') and named.effort[0] == 330.0
    free = kinematic_limits(arm(UR, 'ur5e'), DesignOptions(limits='none', **FREE))
    assert free.velocity.tolist() == [20.0] * 6


def test_a_description_without_torque_limits_gets_the_published_ones():
    limits = kinematic_limits(arm(UR, 'ur5e', effort=0.0), DesignOptions(**FREE))
    assert limits.effort.tolist() == [150.0] * 3 + [28.0] * 3


def test_limits_of_a_robot_that_it_is_not_are_refused():
    with pytest.raises(MotionError, match='limits; found ur5; there is: fr3'):
        kinematic_limits(arm(UR), DesignOptions(limits='ur5'))
    with pytest.raises(MotionError, match='joints are not those of fr3'):
        kinematic_limits(arm(UR), DesignOptions(limits='fr3'))


@pytest.mark.parametrize('key', ROBOTS)
def test_every_robot_has_limits_that_can_be_moved_within(key):
    names = [ending.replace('(?:panda|fer)', 'fer') for ending in ROBOTS[key]['joints']]
    limits = kinematic_limits(arm(names), DesignOptions(limits=key))
    assert len(limits.lower) == len(names) and (limits.lower < limits.upper).all()
    for kind in (limits.velocity, limits.acceleration, limits.effort):
        assert (kind > 0).all() and np.isfinite(kind).all()
    assert (limits.velocity < 2 * np.pi).all()  # [rad/s]; in degrees they would be above


TEXT = (Path(__file__).parents[2] / 'urdf' / 'arm3.urdf').read_text()
ARM = load_robot_model(re.sub('<collision>.*?</collision>', '', TEXT, flags=re.S))
QUICK = DesignOptions(acceleration=(50.0,), friction=(), **FREE)


def fast_motion():
    """Return a motion of ARM of whose jerk and effort rate much is due to its tenth harmonic."""
    sine = np.zeros((3, 10))
    sine[:, 0], sine[:, 9] = 0.4, -0.04  # at rest at its ends: sum k a_k = 0
    return FourierMotion(ARM.joint_names, 5.0, np.zeros(3), sine, np.zeros((3, 10)))


def rates(motion):
    """Return the largest jerk (n,) and change of torque (n,) in closed form and by differences."""
    t = np.linspace(0.0, motion.period, 50001)
    w = 2.0 * np.pi / motion.period * np.arange(1, motion.harmonics + 1)
    jerk = -(motion.sine * w**3) @ np.cos(np.outer(w, t))
    data = ARM.pin_model.createData()
    tau = np.array([pin.rnea(ARM.pin_model, data, *x) for x in zip(*motion.at(t))])
    return np.abs(jerk).max(1), np.abs(np.diff(tau, axis=0)).max(0) / (t[1] - t[0])


def problem_within(**limits):
    """Return the problem of ARM for such motions, with limits that a maker publishes."""
    problem = motion_problem(ARM, replace(QUICK, harmonics=10, period=5.0))[0]
    return replace(problem, limits=replace(problem.limits, **limits))


def test_use_of_jerk_and_effort_rate_is_the_closed_form_s():
    motion = fast_motion()
    jerk, change = rates(motion)
    problem = problem_within(jerk=np.full(3, 300.0), effort_rate=np.array([200.0, 100.0, 400.0]))
    c = np.column_stack([motion.offset, motion.sine, motion.cosine])
    use = assess(problem, (c @ problem.space).ravel()).use.joints
    # differences over a millisecond are means of it: a thousandth less at 2 Hz
    np.testing.assert_allclose(use['jerk'], jerk / 300.0, rtol=1e-3)
    np.testing.assert_allclose(use['effort_rate'], change / [200.0, 100.0, 400.0], rtol=5e-3)


@pytest.mark.parametrize('kind', ['jerk', 'effort_rate'])
def test_motions_are_made_small_enough_for_jerk_and_effort_rate(kind):
    motion = fast_motion()
    highest = dict(zip(('jerk', 'effort_rate'), rates(motion)))[kind]
    problem = problem_within(**{kind: 0.7 * highest})
    c = np.column_stack([motion.offset, motion.sine, motion.cosine])
    dense = [phase.T for phase in basis(10, 5.0, finest_grid(problem))]
    x = shrink(problem, Objective(problem, grid(problem, 500)), dense, (c @ problem.space).ravel())
    assert 0.5 < assess(problem, x).use.joints[kind].max() <= 1.0


@pytest.mark.parametrize(
    'kind, words', [('jerk', 'jerk limit of'), ('effort_rate', 'effort_rate limit of')]
)
def test_a_course_is_checked_for_jerk_and_effort_rate(kind, words):
    motion = fast_motion()
    highest = dict(zip(('jerk', 'effort_rate'), rates(motion)))[kind].max()
    course = plan_course(motion, motion.start, ARM)

    def rehearsed(limit):
        limits = replace(kinematic_limits(ARM, QUICK), **{kind: np.full(3, limit)})
        return rehearse(course, ARM, wanted_shapes(ARM, QUICK, np.random.default_rng(0)), limits)

    # At twice the motion's own it plays, too, but finds no way to brake and refuses.
    assert rehearsed(4.0 * highest).use[kind] == pytest.approx(0.25, rel=0.01)
    with pytest.raises(MotionError, match=words):
        rehearsed(0.9 * highest)
