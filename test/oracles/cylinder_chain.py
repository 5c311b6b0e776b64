"""
The six cylinders of quaternion_6dof (Table 1), moved and loaded by Newton and Euler alone.

Written in world vectors about the centres of mass: no code of the package.  The posture of Fig. 1
has no numbers; the one here is ours.
"""

import numpy as np
from scipy.spatial.transform import Rotation

LENGTH = np.array([1.045, 1.245, 1.21, 0.315, 0.29, 0.3])
RADIUS = np.array([0.5, 0.3, 0.2, 0.2, 0.2, 0.3])
MASS = 7801.0 * np.pi * RADIUS**2 * LENGTH  # the density that reproduces Table 1
J11 = MASS * RADIUS**2 / 2
J22 = MASS * (3 * RADIUS**2 + LENGTH**2) / 12
GRAVITY = 9.80665
RATE = np.radians(30.0)  # [rad/s^2] of both moving hinges
PITCH = np.radians([-90.0, -90.0, 0.0, 0.0, 0.0, 90.0])


def motion(t):
    """Return per cylinder its hinge, far end, centre, acceleration, rotation, rate, its rate."""
    angle, rate = RATE * t * t / 2, RATE * t
    up = np.array([0.0, 0.0, 1.0])
    turned = Rotation.from_euler('z', angle).as_matrix()
    across = turned @ [0.0, 1.0, 0.0]
    hinge, acc, out = np.zeros(3), np.zeros(3), []
    for i in range(6):
        omega, alpha, pitch = rate * up, RATE * up, PITCH[i]
        if i > 0:
            omega = omega + rate * across
            alpha = alpha + RATE * across + np.cross(rate * up, rate * across)
            pitch = pitch + angle
        R = turned @ Rotation.from_euler('y', pitch).as_matrix()
        half = R @ [LENGTH[i] / 2, 0.0, 0.0]
        swing = np.cross(alpha, half) + np.cross(omega, np.cross(omega, half))
        out.append((hinge, hinge + 2 * half, hinge + half, acc + swing, R, omega, alpha))
        hinge, acc = hinge + 2 * half, acc + 2 * swing
    return out


def hinge_wrenches(bodies):
    """Return (6, 6): force and torque in the world on every cylinder at its hinge."""
    force, torque, out = np.zeros(3), np.zeros(3), np.zeros((6, 6))
    for i in range(5, -1, -1):
        hinge, end, centre, acc, R, omega, alpha = bodies[i]
        inertia = R @ np.diag([J11[i], J22[i], J22[i]]) @ R.T
        total = MASS[i] * (acc + [0.0, 0.0, GRAVITY]) + force
        torque = (
            inertia @ alpha
            + np.cross(omega, inertia @ omega)
            + torque
            - np.cross(hinge - centre, total)
            + np.cross(end - centre, force)
        )
        force = total
        out[i] = np.concatenate([force, torque])
    return out


def samples(times, digits=None):
    """
    Return per cylinder (position, quaternion, omega, alpha in the body, acceleration in the
    world, wrench), each (len(times), k), rounded to that many significant digits.
    """

    def shown(x):
        x = np.asarray(x, dtype=float)
        if digits is None:
            return x
        return np.array([float(f'{v:.{digits - 1}e}') for v in x.ravel()]).reshape(x.shape)

    moved = [motion(t) for t in times]
    loads = np.array([hinge_wrenches(bodies) for bodies in moved])
    out = []
    for i in range(6):
        R = np.array([bodies[i][4] for bodies in moved])
        omega, alpha = (
            np.array([r.T @ bodies[i][k] for r, bodies in zip(R, moved)]) for k in (5, 6)
        )
        out.append(
            tuple(
                shown(x)
                for x in (
                    [bodies[i][2] for bodies in moved],
                    Rotation.from_matrix(R).as_quat(),
                    omega,
                    alpha,
                    [bodies[i][3] for bodies in moved],
                    loads[:, i],
                )
            )
        )
    return out
