"""Recordings of the two-joint arm, moved by MuJoCo without any ROS."""

from pathlib import Path

from controlled_arm import simulate
import numpy as np
from recordings import joint_states, recording_of

from ros_inertial_id.excitation.fourier import random_motion
from ros_inertial_id.simulation.arm import ArmOptions, SimulatedArm

ARM = Path(__file__).resolve().parents[2] / 'urdf' / 'arm2.urdf'
RATE = 500.0  # [Hz]
BANDWIDTH = 30.0  # [rad/s], a soft controller: one step of integration a sample
ORIGIN_NS = 1_700_000_000_000_000_000


def random_arm_motion(seed, period=10.0, share=0.8, acceleration=8.0):
    """Return a FourierMotion inside ``share`` of the arm's limits."""
    limits = SimulatedArm(ARM.read_text()).limits
    bounds = limits.lower, limits.upper, limits.velocity, (acceleration, acceleration)
    return random_motion(
        ('joint1', 'joint2'), bounds, np.random.default_rng(seed), period=period, share=share
    )


def simulated(motion, seconds=10.0):
    """Return (Recording, ArmState) of the arm following the motion; always the same true arm."""
    options = ArmOptions(rate=RATE, seed=1, bandwidth=BANDWIDTH)
    arm = SimulatedArm(ARM.read_text(), options=options)
    state = simulate(arm, motion.at, seconds)
    states = joint_states(
        arm.joint_names,
        state.time,
        begin_ns=ORIGIN_NS,
        position=state.measured_q,
        velocity=state.measured_v,
        effort=state.measured_tau,
    )
    description = ARM.read_text()
    return recording_of(states, robot_description=description, mounting='upright'), state
