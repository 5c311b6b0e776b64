"""The rehearsal sees in the computer what would go wrong on the robot."""

from pathlib import Path
import re
from types import SimpleNamespace

import mujoco_arm
import numpy as np
import pytest
import yaml

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import MotionError
from ros_inertial_id.excitation import rehearsal
from ros_inertial_id.excitation.collision import wanted_shapes
from ros_inertial_id.excitation.fourier import FourierMotion
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.motion_files import check_kinematics
from ros_inertial_id.excitation.playback import plan_course
from ros_inertial_id.excitation.problem import DesignOptions

URDF = Path(__file__).parents[2] / 'urdf'
TEXT = (URDF / 'arm3.urdf').read_text()
START = np.array([0.0, 0.5, -0.5])


def robot(text=TEXT, gravity=(0.0, 0.0, -9.81)):
    return load_robot_model(text, gravity_base=gravity)


def shapes(arm, obstacles=(), **options):
    options = DesignOptions(
        obstacles=tuple(obstacles), **{'floor': False, 'distance': 0.0, **options}
    )
    return wanted_shapes(arm, options, np.random.default_rng(0))


def rehearse(course, arm, found, effort=1.0, **options):
    return rehearsal.rehearse(
        course, arm, found, kinematic_limits(arm, DesignOptions(**options)), effort
    )


def motion(size=0.3):
    """Return a motion about START whose ends are at rest: sum k a_k = 0."""
    sine = size * np.array([[0.5, -0.25], [0.6, -0.3], [-0.8, 0.4]])
    return FourierMotion(('joint1', 'joint2', 'joint3'), 4.0, START, sine, np.zeros((3, 2)))


def course(arm, start=START, speed=1.0, size=0.3):
    return plan_course(motion(size), start, arm, speed=speed)


@pytest.mark.parametrize('speed', [0.2, 1.0])
@pytest.mark.parametrize('gravity', [(0.0, 0.0, -9.81), (9.81, 0.0, 0.0)])
def test_effort_is_what_mujoco_needs_for_the_course_at_that_speed(gravity, speed):
    arm = robot(gravity=gravity)
    planned = course(arm, speed=speed, start=START + 0.2)
    needed = rehearse(planned, arm, shapes(arm)).use['effort']
    t = np.linspace(0.0, planned.duration, 4001)
    tau = mujoco_arm.torque(TEXT, *planned.at(t), gravity=gravity)
    # both look at thousands of samples: between two of them the torque hardly changes
    assert needed == pytest.approx((np.abs(tau) / arm.effort).max(), rel=1e-3)


def test_torque_beyond_the_allowed_share_is_refused_and_slower_is_not():
    arm = robot(gravity=(0.0, 0.0, 0.0))
    full = rehearse(course(arm, size=0.6), arm, shapes(arm)).use['effort']
    with pytest.raises(MotionError, match=r'joint\d would need .* N m at .* s; expected at most'):
        rehearse(course(arm, size=0.6), arm, shapes(arm), effort=0.9 * full)
    rehearse(course(arm, size=0.6, speed=0.5), arm, shapes(arm), effort=0.9 * full)


def test_robot_that_bends_into_itself_is_refused_on_the_way_to_the_start_too():
    arm = robot()
    rng, inside = np.random.default_rng(1), shapes(arm)
    bent = next(
        q for q in rng.uniform(arm.lower, arm.upper, (5000, 3)) if inside.colliding(arm, q[None])
    )
    rehearse(course(arm), arm, inside)
    with pytest.raises(MotionError, match='course .* comes too near to .*; move the robot nearer'):
        rehearse(course(arm, start=bent), arm, inside)


@pytest.mark.parametrize(
    'obstacle', ['sphere {} {} {} 0.05', 'box {} {} {} 0.1 0.08 0.1', 'cylinder {} {} {} 0.05 0.1']
)
def test_obstacle_in_the_way_is_named_and_one_elsewhere_is_not(obstacle):
    import pinocchio as pin

    arm = robot()
    data = arm.pin_model.createData()
    pin.framesForwardKinematics(arm.pin_model, data, START)
    there = data.oMf[arm.pin_model.getFrameId('tool')].translation
    in_the_way = obstacle.format(*there)
    with pytest.raises(MotionError, match=re.escape(f'too near to obstacle 1 ({in_the_way})')):
        rehearse(course(arm), arm, shapes(arm, [in_the_way]))
    rehearse(course(arm), arm, shapes(arm, [obstacle.format(5, 5, 5)]))


@pytest.mark.parametrize(
    'text',
    [
        '',
        'ball 1 2 3 4',
        'sphere 1 2 3',
        'box 0 0 0 1 1 -1',
        'sphere a b c d',
        'cylinder 0 0 0 nan 1',
    ],
)
def test_obstacle_that_is_none_is_refused(text):
    with pytest.raises(MotionError, match='option obstacles; .*there is: box X Y Z LX LY LZ'):
        shapes(robot(), [text])


def test_what_cannot_be_checked_is_said():
    bare = re.sub(r'<collision>.*?</collision>', '', TEXT, flags=re.S)
    arm = robot(bare.replace('effort="40.0"', 'effort="0"'))
    notices = rehearse(course(arm), arm, shapes(arm)).notices
    assert any('no shapes: neither collisions nor the floor are checked' in n for n in notices)
    assert any('no effort limit in the URDF for joint3' in n for n in notices)


def test_the_feedforward_error_of_a_model_is_said_for_the_course(monkeypatch):
    arm = robot()
    terms = {
        'constant': 0.98,
        'per_speed': 0.0,
        'per_acceleration': 0.0,
        'near_reversal': 0.0,
        'slow': 0.0,
        'peak': 1.2,
        'peak_scale': 0.1,
    }
    model = SimpleNamespace(
        validity_range={},
        statistics={'prediction_band': {'joints': {name: terms for name in arm.joint_names}}},
    )
    monkeypatch.setattr(rehearsal, 'read_model_text', lambda path: path)
    monkeypatch.setattr(
        rehearsal, 'IdentifiedModel', SimpleNamespace(from_yaml=lambda text, source: model)
    )
    limits = kinematic_limits(arm, DesignOptions())
    found = rehearsal.rehearse(course(arm), arm, shapes(arm), limits, 1.0, 'model.yaml')
    assert 'rms and peak [N m, N]: joint1 0.5 and 1.' in found.words('upright')
    np.testing.assert_allclose(found.feedforward.rms, 0.98 / 1.96)
    # Gumbel: of K seconds the largest stays below mu - s log(-log(0.95) / K) in 95 %.
    seconds = found.course.approach + 4.0
    np.testing.assert_allclose(
        found.feedforward.peak, 0.98 * (1.2 - 0.1 * np.log(-np.log(0.95) / seconds)), rtol=0.01
    )
    assert 'feedforward' not in rehearse(course(arm), arm, shapes(arm)).words('upright')


def test_motion_of_other_kinematics_is_refused_naming_both(tmp_path):
    arm = robot()
    longer = robot(TEXT.replace('<origin xyz="0.35 0 0"', '<origin xyz="0.5 0 0"'))
    assert longer.kinematics_sha256() != arm.kinematics_sha256()
    path = tmp_path / 'motion.yaml'
    content = {
        'robot': 'arm3',
        'kinematics_sha256': longer.kinematics_sha256(),
        'motion': motion().to_dict(),
    }
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(MotionError) as caught:
        check_kinematics(path, arm)
    for one in (arm, longer):
        assert one.kinematics_sha256()[:12] in str(caught.value)
    check_kinematics(path, longer)
    path.write_text(yaml.safe_dump({'motion': motion().to_dict()}))
    check_kinematics(path, arm)  # written by hand: nothing to compare
