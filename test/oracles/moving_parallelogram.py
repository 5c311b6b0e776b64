"""
Markers, an IMU and torques of a parallelogram arm in motion, by pinocchio alone.

Three of its joints are independent; the IMU sits at the origin of the forearm, which a rod turns.
"""

import machines
import numpy as np
import pinocchio as pin
from pinocchio_loops import Loops
from recordings import channel_of, joint_states, of_rig, stamps_of

URDF = machines.text('parallelogram_arm')
CLOSURES, INDEPENDENT, START = machines.MACHINES['parallelogram_arm']
MARKED, CARRIER = ('forearm_link', 'forearm_pin', 'rod_link'), 'forearm_link'
RATE, DURATION = 200.0, 6.0  # [Hz], [s]
MARKER, TORQUE, GYRO, FORCE = 5e-4, 0.02, 5e-3, 0.05  # noise [m], [N m], [rad/s], [m/s^2]
LATE, GYRO_BIAS = 2e-3, 0.01  # [s], [rad/s]
CYCLES = 2.0 * np.pi * np.array([[0.5, 1.1], [0.7, 1.3], [0.6, 1.5]])  # [rad/s], two a joint
SIZES = np.array([[0.6, 0.15], [0.3, 0.1], [0.25, 0.1]])  # [rad]
GRAVITY = np.array([0.0, 0.0, -9.81])
SYMBOLS = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


def _away(t, phase, order):
    """Return the derivative of an ``order`` of how far joints are from the start (N, 3)."""
    angle = CYCLES * t[:, None, None] + phase + 0.5 * np.pi * order
    return (SIZES * CYCLES**order * np.sin(angle)).sum(2)


def recording(seed):
    """Return the Recording and where it starts, as lines of the option ``start``."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, DURATION, 1.0 / RATE)
    loops, phase = Loops(URDF, CLOSURES, INDEPENDENT, START), rng.uniform(-3.0, 3.0, (3, 2))
    motion = [_away(t, phase, order) for order in range(3)]
    motion[0] = motion[0] + loops.start[loops.independent]
    loops.approach(motion[0][0])
    points, readings, torques = zip(*_samples(loops, motion))
    points, readings, torques = np.array(points), np.array(readings), np.array(torques)

    def noisy(x, size):
        return x + size * rng.standard_normal(x.shape)

    stamps = stamps_of(t)
    markers = [
        channel_of(
            f'/{link}', 'geometry_msgs/msg/PointStamped', stamps, {'position': noisy(x, MARKER)}
        ).rows(slice(None, None, 2))
        for link, x in zip(MARKED, points.transpose(1, 0, 2))
    ]
    fields = {
        'angular_velocity': noisy(readings[:, :3] + GYRO_BIAS, GYRO),
        'linear_acceleration': noisy(readings[:, 3:], FORCE),
    }
    imu = channel_of('/imu', 'sensor_msgs/msg/Imu', stamps_of(t + LATE), fields)
    torque = joint_states(INDEPENDENT, t, '/torque', effort=noisy(torques, TORQUE))
    start = [f'{name} {x:.3f}' for name, x in zip(loops.names, loops.start)]
    return of_rig(URDF, *markers, torque, imu), tuple(start)


def _samples(loops, motion):
    """Yield places (3, 3) of the markers, readings (6,) of the IMU, torques (3,)."""
    model, data, q = loops.model, loops.data, loops.start
    marked, imu = [model.getFrameId(link) for link in MARKED], model.getFrameId(CARRIER)
    for z, rate, second in zip(*motion):
        q = loops.close(q, z)
        v, a, R = loops.rates(q, rate, second)
        configuration = loops.configuration(q)
        torque = R.T @ pin.rnea(model, data, configuration, v, a)
        pin.forwardKinematics(model, data, configuration, v, a)
        pin.updateFramePlacements(model, data)
        omega = pin.getFrameVelocity(model, data, imu, pin.LOCAL).angular
        acc = pin.getFrameClassicalAcceleration(model, data, imu, pin.LOCAL).linear
        force = acc - data.oMf[imu].rotation.T @ GRAVITY
        places = [data.oMf[k].translation.copy() for k in marked]
        yield places, np.concatenate([omega, force]), torque


def truth():
    """Return {standard parameter: value} of all links, by number of their joint."""
    model = pin.buildModelFromXML(URDF)
    tens = [inertia.toDynamicParameters() for inertia in model.inertias[1:]]
    return {f'{s}{k}': x for k, ten in enumerate(tens, 1) for s, x in zip(SYMBOLS, ten)}
