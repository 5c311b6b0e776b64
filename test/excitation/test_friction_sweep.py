"""Friction sweeps: constant speeds both ways, smooth between, within every limit, playable."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation.collision import wanted_shapes
from ros_inertial_id.excitation.design import design, DesignOptions
from ros_inertial_id.excitation.friction_sweep import sweep_about
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.motion_files import read_motion
from ros_inertial_id.excitation.playback import plan_course
from ros_inertial_id.excitation.rehearsal import rehearse
from ros_inertial_id.report.design_files import write_design

ARM = load_robot_model((Path(__file__).parents[2] / 'urdf' / 'arm3.urdf').read_text())
OPTIONS = DesignOptions(kind='friction_sweep', friction=('viscous', 'coulomb'))
SPEEDS = (0.02, 0.1, 0.4)
SWEEP = sweep_about(ARM.joint_names, np.array([0.1, -0.2, 0.3]), SPEEDS, 1.0,
                    np.full(3, 5.0))


@pytest.fixture(scope='module')
def designed():
    return design(ARM, OPTIONS)


def test_every_joint_goes_at_every_speed_both_ways_as_long():
    t = np.arange(0.0, SWEEP.period, 1e-3)
    v = SWEEP.at(t)[1]
    for j in range(3):
        for speed in SPEEDS:
            for sign in (-1.0, 1.0):
                seconds = 1e-3 * (np.abs(v[:, j] - sign * speed) < 1e-9).sum()
                assert seconds == pytest.approx(1.0 + (sign * (-1) ** j < 0) * SWEEP.ramp,
                                                abs=0.1)
    assert (np.abs(np.abs(v[:, 0]) - np.abs(v[:, 1])) < 1e-9).mean() < 0.2


def test_velocity_and_acceleration_are_the_derivatives_without_jumps():
    t = np.arange(0.0, SWEEP.period, 1e-4)
    q, v, a = SWEEP.at(t)
    np.testing.assert_allclose(np.gradient(q, 1e-4, axis=0)[1:-1], v[1:-1], atol=1e-6)
    np.testing.assert_allclose(np.gradient(v, 1e-4, axis=0)[1:-1], a[1:-1], atol=1e-4)
    assert np.abs(a).max() <= 5.0 * (1 + 1e-9)
    # jerk of a quintic: at most 5.8 of the change over the square of its time
    assert np.abs(np.diff(a, axis=0)).max() < 1.1e-4 * 5.8 * 0.4 / SWEEP.ramp ** 2


def test_every_stage_ends_where_it_began_and_goes_as_far_as_it_says():
    q, v, _ = SWEEP.at(SWEEP.stage * np.arange(4))
    np.testing.assert_allclose(q, np.tile(SWEEP.middle, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(v, 0.0, atol=1e-12)
    way = SWEEP.at(np.arange(0.0, SWEEP.period, 1e-3))[0] - SWEEP.middle
    np.testing.assert_allclose(way.max(0), SWEEP.reach, rtol=1e-5)
    np.testing.assert_allclose(way.min(0), -SWEEP.reach, rtol=1e-5)


def test_design_keeps_every_limit_and_its_files_are_read_back(designed, tmp_path):
    q, v, a = designed.motion.at(np.arange(0.0, designed.motion.period, 1e-3))
    assert (q > ARM.lower).all() and (q < ARM.upper).all()
    assert (np.abs(v) < ARM.velocity).all()
    assert designed.summary()['feasible'] and 'jerk' not in designed.use.joints
    paths = write_design(designed, tmp_path)
    assert [p.name for p in paths] == ['motion.yaml', 'motion.csv', 'joint_trajectory.json']
    back = read_motion(paths[0])
    for mine, its in zip(back.at(np.linspace(0.0, 9.0, 50)),
                         designed.motion.at(np.linspace(0.0, 9.0, 50))):
        np.testing.assert_array_equal(mine, its)


def test_sweep_is_played_like_any_motion(designed):
    course = plan_course(designed.motion, designed.motion.start + 0.1, ARM, speed=0.5, periods=2)
    q, v, _ = course.at(np.array([course.approach, course.duration]))
    np.testing.assert_allclose(q, np.tile(designed.motion.start, (2, 1)), atol=1e-9)
    limits = kinematic_limits(ARM, OPTIONS)
    shapes = wanted_shapes(ARM, OPTIONS, np.random.default_rng(0))
    assert rehearse(course, ARM, shapes, limits).use['velocity'] < 1.0


@pytest.mark.parametrize('changes, words', [
    ({'sweep_speeds': (9.0,)}, 'velocity of joint1|room'),
    ({'sweep_speeds': (2.0,)}, 'room for the way'),
    ({'start': (10.0, 0.0, 0.0)}, 'outside')])
def test_what_cannot_be_swept_is_refused(changes, words):
    with pytest.raises(MotionError, match=words):
        design(ARM, replace(OPTIONS, **changes))


@pytest.mark.parametrize('change', [{'leg': 0.0}, {'ramp': 'x'}, {'joints': {}},
                                    {'joints': {'a': {'middle': 0.0, 'speeds': []}}}])
def test_damaged_files_are_refused(change, tmp_path):
    path = tmp_path / 'motion.yaml'
    path.write_text(yaml.safe_dump({'motion': {**SWEEP.to_dict(), **change}}))
    with pytest.raises(MotionError):
        read_motion(path)
