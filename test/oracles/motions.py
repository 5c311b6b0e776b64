"""Random motions of a robot inside its limits."""

import numpy as np

from ros_inertial_id.excitation.fourier import random_motion


def motion_within(robot, seed, *, share=0.9, acceleration=None, period=6.0):
    """Return a FourierMotion in a ``share`` of a RobotModel's limits; acceleration : [rad/s^2]."""
    bounds = [robot.lower, robot.upper, robot.velocity]
    if acceleration is not None:
        bounds.append(np.full(len(robot), acceleration))
    rng = np.random.default_rng(seed)
    return random_motion(robot.joint_names, bounds, rng, period=period, harmonics=3, share=share)
