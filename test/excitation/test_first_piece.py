"""
The first piece of a motion meets an arm that rests: whenever it arrives, the arm must not jerk.

MuJoCo moves an arm whose links weigh more than its description says, so that it rests milliradians
from where its controller holds it; behind that stand newton metres.
"""

from pathlib import Path

from controlled_arm import ControlledArm, ControlledArmOptions
from joint_trajectory_controller import DESIRED, MEASURED
from motions import motion_within
import numpy as np
import pytest

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.excitation.limits import kinematic_limits
from ros_inertial_id.excitation.path_clock import PathClock
from ros_inertial_id.excitation.playback import HORIZON, LEAD, MARGIN, PAST, plan_course
from ros_inertial_id.excitation.problem import DesignOptions

URDF = (Path(__file__).parents[2] / 'urdf' / 'arm2.urdf').read_text()
ROBOT = load_robot_model(URDF)
LIMITS = kinematic_limits(ROBOT, DesignOptions())
RATE = 1000.0  # [Hz]
TILTED = (7.0, 0.0, -7.0)  # [m/s^2]: gravity pulls at both joints
PIECE = 0.05  # [s] between pieces
TRANSPORT = 0.003  # [s] of a message on its way
STEP, TORQUE_STEP = 1e-3, 1.0  # [rad], [N m] in a millisecond, as a Franka allows


def resting(**options):
    """Return an arm that came to rest below its command, and its last sample."""
    arm = ControlledArm(
        URDF,
        gravity_base=TILTED,
        options=ControlledArmOptions(
            rate=RATE, seed=1, mass_change=0.5, bandwidth=60.0, **options
        ),
    )
    for _ in range(150):
        sample = arm.step()
    return arm, sample


def course_from(start):
    motion = motion_within(ROBOT, seed=1, share=0.5)
    return plan_course(motion, start, ROBOT)


def enter(arm, course, delay, held, seconds=0.45):
    """
    Return commands and motor torques (k, n) of the first ``seconds`` after the first piece.

    delay : [s] of the first piece alone; held : as of CourseSender.begin
    """
    began, first = arm.time + LEAD, -LEAD if held else 0.0
    clock = PathClock(0.0, course.brakes(ROBOT, LIMITS))

    def piece(now, past=PAST):
        clock.go_on(now, HORIZON, MARGIN)
        return course.piece(clock, now, past)

    sent = [(delay, piece(first, PAST if held else 0))]
    sent += [
        (now + LEAD + TRANSPORT, piece(now))
        for now in np.arange(first + PIECE if held else 0.0, seconds - LEAD, PIECE)
    ]
    sent.sort(key=lambda message: message[0])
    commands, torques, start = [], [], arm.time + 1.0 / RATE  # one sample before the first piece
    for _ in range(round(seconds * RATE)):
        while sent and sent[0][0] <= arm.time - start:
            times, *points = sent.pop(0)[1]
            arm.follow(began + times - arm.time, *points)
        torques.append(arm.step().tau)
        commands.append(arm.controller.command([arm.time - 1.0 / RATE])[0][0])
    return np.array(commands), np.array(torques)


def largest_step(values):
    return np.abs(np.diff(values, axis=0)).max()


@pytest.mark.parametrize(
    'delay, anchor, control',
    [
        (0.0, MEASURED, 'effort_pid'),
        (0.1, MEASURED, 'computed_torque'),
        (0.0, DESIRED, 'computed_torque'),
        (0.1, DESIRED, 'effort_pid'),
    ],
)
def test_arm_does_not_jerk_whenever_the_first_piece_arrives(delay, anchor, control):
    arm, sample = resting(anchor=anchor, control=control)
    held = arm.controller.command([arm.time])[0][0]
    assert np.abs(held - sample.q).max() > STEP  # or there is nothing to see
    commands, torques = enter(arm, course_from(held), delay, held=True)
    assert largest_step(commands) < STEP and largest_step(torques) < TORQUE_STEP
    moved = np.abs(commands[-1] - held).max()
    assert moved > STEP  # it plays


@pytest.mark.parametrize('delay', [0.0, 0.1])
def test_controller_of_efforts_lets_what_holds_the_arm_fade_until_a_measured_start(delay):
    arm, sample = resting(anchor=MEASURED, control='effort_pid')
    course = course_from(sample.measured_q)
    _, torques = enter(arm, course, delay, held=False)
    assert largest_step(torques) < TORQUE_STEP
    assert largest_step(torques) < np.abs(sample.tau).max() / ((LEAD - delay) * RATE) + 0.1


@pytest.mark.parametrize('delay', [0.0, 0.1])
def test_controller_that_goes_on_from_its_command_is_led_to_a_measured_start_smoothly(delay):
    arm, sample = resting(anchor=DESIRED)
    commands, torques = enter(arm, course_from(sample.measured_q), delay, held=False)
    assert largest_step(commands) < STEP and largest_step(torques) < TORQUE_STEP


def test_course_from_the_measured_position_would_jerk_the_arm():
    """What the command at which the arm is held is asked for, and that the arm shows it."""
    arm, sample = resting()
    commands, torques = enter(arm, course_from(sample.measured_q), 0.0, held=True)
    assert largest_step(commands) > STEP and largest_step(torques) > TORQUE_STEP
