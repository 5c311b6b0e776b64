"""Currents of an arm with and without a known load, by MuJoCo."""

import mujoco_arm
import numpy as np

MASS, CENTER, INERTIA = 4.0, np.array([0.25, 0.04, 0.03]), np.diag([0.01, 0.012, 0.014])


def gains():
    """Return torque per current of the three joints [N m/A]."""
    return np.array([12.0, 8.0, 3.5])


def loaded(urdf):
    """Return the URDF text with the known load on the last link."""
    return mujoco_arm.with_load(urdf, 'link3', MASS, CENTER, INERTIA)


def record(urdf, seed, noise=0.02):
    """Return the Recording of currents [A] of an arm with friction."""
    names = tuple(n for n in mujoco_arm.joints_of(urdf) if n != 'grip')
    rng = np.random.default_rng(seed)
    t, q, v, a = mujoco_arm.motion(3, 20, 200, seed=5, speed=1.0)
    tau = mujoco_arm.torque(urdf, q, v, a) + mujoco_arm.friction(v, 0.5, 0.8, 0.02)
    current = tau / gains() + noise * rng.normal(size=v.shape)
    return mujoco_arm.measured(rng, names, t, q, v, current)
