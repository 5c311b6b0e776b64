"""
The arm of static_friction_3dof: three joints by MuJoCo, stiction, Stribeck and viscous friction.

Its Denavit-Hartenberg table and its numbers are lost: lengths are those of urdf/arm3.urdf, the
friction is our own, S(v) = (2 / pi) atan(K v), K of 100 s/rad unless another is asked for.
"""

import mujoco_arm
import numpy as np
import pinocchio as pin

STICTION, STRIBECK, VISCOUS = 1.5, -0.6, 0.4  # fs, fcs [N m], fv [N m s/rad]
LAWS = ('viscous', 'stiction', 'stribeck_atan')
FRICTION = {
    f'{name}{j}': x
    for j in (1, 2, 3)
    for name, x in (('fs', STICTION), ('fcs', STRIBECK), ('fv', VISCOUS))
}


def sign(v, steepness=100.0):
    """Return the paper's S(v), of a ``steepness`` K [s/rad]."""
    return 2 / np.pi * np.arctan(steepness * v)


def recording(seed, delta, noise, rate=100.0, duration=40.0, steepness=100.0):
    """
    Return (Recording with the nominal description, {parameter of a body or friction: truth}).

    delta, steepness : [s/rad]; noise : (3,) or one number, standard deviation of torques [N m]
    """
    urdf = mujoco_arm.description('arm3')
    t, q, v, a = mujoco_arm.motion(3, duration, rate, seed=seed, speed=0.6)
    true = mujoco_arm.true_urdf(urdf, seed)
    tau = (
        mujoco_arm.torque(true, q, v, a)
        + VISCOUS * v
        + sign(v, steepness) * (STICTION + STRIBECK * 2 / np.pi * np.arctan(delta * np.abs(v)))
    )
    tau += noise * np.random.default_rng(seed).normal(size=v.shape)
    made = mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, tau, urdf=urdf)
    bodies = pin.buildModelFromXML(true).inertias[1:]
    ten = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
    truth = {
        f'{name}{k}': x
        for k, body in enumerate(bodies, 1)
        for name, x in zip(ten, body.toDynamicParameters())
    }
    return made, {**truth, **FRICTION}
