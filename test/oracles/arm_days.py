"""Days of one robot: recordings of the 3R arm, one a day, that MuJoCo makes."""

import mujoco_arm
import numpy as np

VISCOUS = 0.8  # [N m s/rad] of every joint


def day(arm3, number, seconds=16.0, sign=1.0, lean=0.0, rate=100.0, viscous=VISCOUS):
    """Return the Recording of one day of the 3R arm, leaning by [rad]; 0.02 N m of noise."""
    urdf, truth = arm3
    t, q, v, a = mujoco_arm.motion(3, seconds, rate, seed=number, period=8.0)
    noise = 0.02 * np.random.default_rng(number).normal(size=v.shape)
    gravity = 9.81 * np.array([np.sin(lean), 0.0, -np.cos(lean)])
    tau = mujoco_arm.torque(truth, q, v, a, gravity=gravity)
    tau += mujoco_arm.friction(v, viscous, width=0.05) + noise
    t += 86400.0 * (number + 1)
    return mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, sign * tau, urdf=urdf)
