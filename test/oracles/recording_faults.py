"""
Faults of recordings, injected: what drivers, cables, people and calendars do to good data.

``FAULTS`` is {fault: (inject, names that a checkup may give it)}; inject(recording, options,
level, rng) returns (Recording or None where it does not apply, options, window or None), level 0
to 2.
"""

from dataclasses import replace

import numpy as np
import pinocchio as pin
from scipy.ndimage import uniform_filter1d

TOPIC_TYPE = 'sensor_msgs/msg/JointState'


def columns(recording):
    """Return (topic, channel, t, q, v, tau) with copies of the values."""
    topic, channel = next((t, c) for t, c in recording.channels.items() if c.type == TOPIC_TYPE)
    t = (channel.stamp_ns - channel.stamp_ns[0]) * 1e-9
    values = (channel.fields[k].copy() for k in ('position', 'velocity', 'effort'))
    return topic, channel, t, *values


def rebuilt(recording, t=None, **fields):
    """Return the recording with other fields or stamps."""
    topic, channel, *_ = columns(recording)
    stamps = (
        channel.stamp_ns
        if t is None
        else (channel.stamp_ns[0] + np.round(t * 1e9).astype(np.int64))
    )
    new = replace(
        channel, stamp_ns=stamps, received_ns=stamps, fields={**channel.fields, **fields}
    )
    return replace(recording, channels={topic: new})


def efforts(change):
    """Return a fault that changes the efforts: change(t, q, v, tau, level, rng) -> tau, window."""

    def inject(recording, options, level, rng):
        _, _, t, q, v, tau = columns(recording)
        tau, window = change(t, q, v, tau, level, rng)
        return rebuilt(recording, effort=tau), options, window

    return inject


def motions(change):
    """Return a fault that changes q and v: change(t, q, v, level, rng) -> q, v, window."""

    def inject(recording, options, level, rng):
        _, _, t, q, v, _ = columns(recording)
        q, v, window = change(t, q, v, level, rng)
        return rebuilt(recording, position=q, velocity=v), options, window

    return inject


def strong(tau, level):
    """Return the index of one of the joints with the largest efforts."""
    return int(np.argsort(-tau.std(0))[min(level, tau.shape[1] - 1)])


def negate_one(t, q, v, tau, level, rng):
    tau[:, strong(tau, level)] *= -1
    return tau, None


def permuted(t, q, v, tau, level, rng):
    n = tau.shape[1]
    order = np.roll(np.arange(n), 1) if level == 2 else np.arange(n)[::-1] if level else None
    if order is None:
        order = np.arange(n)
        order[[0, 1]] = order[[1, 0]]
    return tau[:, order], None


def currents(recording, options, level, rng):
    _, _, t, q, v, tau = columns(recording)
    if options.drive_gain:  # motor currents already, whose gains are forgotten
        return recording, replace(options, effort_kind='link', drive_gain=()), None
    spread = np.log([4.0, 10.0, 30.0][level])
    tau = tau * np.exp(spread * (np.linspace(0, 1, tau.shape[1]) - 1.2))
    return rebuilt(recording, effort=tau), options, None


def as_efforts(torque, options):
    """Return torques (N, n) as they are recorded: currents where there are drive gains."""
    return torque / np.array(options.drive_gain) if options.drive_gain else torque


def one_gain(t, q, v, tau, level, rng):
    tau[:, strong(tau, 1)] *= (1.25, 1.6, 3.0)[level]
    return tau, None


def late(t, x, seconds):
    return np.stack([np.interp(t - seconds, t, c) for c in x.T], axis=1)


def held(x, count):
    return x[np.arange(len(x)) // count * count]


def quantised(t, q, v, tau, level, rng):
    step = (0.05, 0.15, 0.5)[level] * tau.std(0)
    return np.round(tau / step) * step, None


def stuck(t, q, v, tau, level, rng):
    j, k = strong(tau, 1), int(0.4 * len(t))
    end = k + int((1.0, 3.0, 8.0)[level] / (t[1] - t[0]))
    tau[k:end, j] = tau[k, j]
    return tau, (t[k], t[min(end, len(t) - 1)])


def clipped(t, q, v, tau, level, rng):
    j = strong(tau, 0)
    middle, half = (tau[:, j].max() + tau[:, j].min()) / 2, np.ptp(tau[:, j]) / 2
    limit = (0.8, 0.65, 0.45)[level] * half
    tau[:, j] = np.clip(tau[:, j], middle - limit, middle + limit)
    return tau, None


def spiked(x, t, level, rng, column):
    count, size = ((1, 0.4), (5, 1.0), (20, 3.0))[level]
    places = rng.choice(np.arange(50, len(x) - 50), count, replace=False)
    x[places, column] += size * np.ptp(x[:, column]) * rng.choice([-1, 1], count)
    return t[places.min()]


def effort_spikes(t, q, v, tau, level, rng):
    start = spiked(tau, t, level, rng, strong(tau, 1))
    return tau, (start, start)


def velocity_spikes(t, q, v, level, rng):
    start = spiked(v, t, level, rng, 1)
    return q, v, (start, start)


def position_spikes(t, q, v, level, rng):
    start = spiked(q, t, level, rng, 1)
    return q, v, (start, start)


def frozen(recording, options, level, rng):
    _, _, t, q, v, tau = columns(recording)
    k = int(0.5 * len(t))
    end = k + int((0.3, 1.0, 3.0)[level] / (t[1] - t[0]))
    for x in (q, v, tau):
        x[k:end] = x[k]
    return rebuilt(recording, position=q, velocity=v, effort=tau), options, (t[k], t[end])


def repeated(recording, options, level, rng):
    _, _, t, q, v, tau = columns(recording)
    count = (2, 4, 8)[level]
    return (
        rebuilt(
            recording, position=held(q, count), velocity=held(v, count), effort=held(tau, count)
        ),
        options,
        None,
    )


def two_robots(recording, options, level, rng):
    _, _, t, q, v, tau = columns(recording)
    # No whole period of the motion away, where it would do the same.
    other = np.roll(np.arange(len(t)), int(0.37 * len(t)))
    second = np.arange(len(t)) % (4, 3, 2)[level] == 1
    for x in (q, v, tau):
        x[second] = x[other][second]
    return rebuilt(recording, position=q, velocity=v, effort=tau), options, None


def wrapped(t, q, v, level, rng):
    q[:, -1] += np.pi - np.quantile(q[:, -1], (0.9, 0.7, 0.5)[level])
    q[:, -1] = np.mod(q[:, -1] + np.pi, 2 * np.pi) - np.pi
    return q, v, None


def contact(t, q, v, tau, level, rng):
    k = int(0.55 * len(t))
    end = k + int(1.0 / (t[1] - t[0]))
    push = np.sin(np.pi * np.linspace(0, 1, end - k))
    for j in (0, 1):
        tau[k:end, j] += (0.5, 1.0, 3.0)[level] * tau[:, j].std() * push
    return tau, (t[k], t[end])


def one_late(t, q, v, tau, level, rng):
    j = strong(tau, 0)
    tau[:, j] = late(t, tau[:, [j]], (0.02, 0.04, 0.1)[level])[:, 0]
    return tau, None


def upside_down(recording, options, level, rng):
    now = recording.mounting or 'upright'
    angles = [float(x) for x in now.split()[1:]] if now.startswith('rpy') else [0.0, 0.0, 0.0]
    up = 9.81 * pin.rpy.rpyToMatrix(*angles)[2]  # where gravity does not pull
    return recording, replace(options, mounting='gravity ' + ' '.join(map(str, up))), None


def mounted(recording, options, level, rng):
    tilt = (0.15, 0.8, 1.5708)[level]
    now = recording.mounting or 'upright'
    r, p, y = (float(x) for x in now.split()[1:]) if now.startswith('rpy') else (0.0, 0.0, 0.0)
    # Pitch: a roll of a robot on the wall is a turn about gravity, which nothing feels.
    return recording, replace(options, mounting=f'rpy {r} {p + tilt} {y}'), None


def mounted_degrees(recording, options, level, rng):
    return recording, replace(options, mounting=f'rpy {(15, 45, 90)[level]} 0 0'), None


def described_robot(recording):
    """Return the RobotModel of the recording's description, and its columns of the messages."""
    from ros_inertial_id.dynamics.robot_model import gravity_from_mounting, load_robot_model

    robot = load_robot_model(
        recording.robot_description,
        gravity_base=gravity_from_mounting(recording.mounting or 'upright'),
    )
    return robot, [columns(recording)[1].names.index(j) for j in robot.joint_names]


def gravity_torque(recording):
    """Return (names, torque) with the (N, n) torques of gravity."""
    robot, names = described_robot(recording)
    data, q = robot.pin_model.createData(), columns(recording)[3][:, names]
    return names, np.array(
        [pin.computeGeneralizedGravity(robot.pin_model, data, x).copy() for x in robot.pin_q(q)]
    )


def load_torque(recording, mass):
    """Return (names, torque) with the (N, n) torques of a load of ``mass`` kg in the last body."""
    robot, names = described_robot(recording)
    _, _, t, q, v, _ = columns(recording)
    # A load does not feel the noise of the sensors: accelerations of smoothed velocities.
    size = max(1, int(0.1 / np.median(np.diff(t))))
    smooth = uniform_filter1d(v[:, names], size, axis=0)
    a = uniform_filter1d(np.gradient(smooth, t, axis=0), size, axis=0)
    model, loaded = robot.pin_model, pin.Model(robot.pin_model)
    body = pin.Inertia(mass, np.array([0.0, 0.02, 0.08]), 1e-3 * mass * np.eye(3))
    loaded.inertias[model.njoints - 1] = loaded.inertias[model.njoints - 1] + body
    one, two = model.createData(), loaded.createData()
    return names, np.array(
        [
            pin.rnea(loaded, two, *state) - pin.rnea(model, one, *state)
            for state in zip(robot.pin_q(q[:, names]), v[:, names], a)
        ]
    )


def compensated(recording, options, level, rng):
    _, _, t, q, v, tau = columns(recording)
    names, torque = gravity_torque(recording)
    tau[:, names] -= as_efforts(torque, options)
    return rebuilt(recording, effort=tau), options, None


def undeclared(recording, options, level, rng):
    _, _, t, q, v, tau = columns(recording)
    names, torque = load_torque(recording, (2.0, 4.0, 8.0)[level])
    tau[:, names] += as_efforts(torque, options)
    return rebuilt(recording, effort=tau), options, None


def encoder(t, q, v, level, rng):
    q[:, 1] += (0.05, 0.15, 0.4)[level]
    return q, v, None


def other_robot(recording, options, level, rng):
    import xml.etree.ElementTree as ET

    tree = ET.fromstring(recording.robot_description)
    for joint in tree.findall('joint')[1:]:
        origin = joint.find('origin')
        if origin is not None and joint.get('type') in ('revolute', 'continuous'):
            xyz = [float(x) for x in origin.get('xyz', '0 0 0').split()]
            rpy = [float(x) for x in origin.get('rpy', '0 0 0').split()]
            angle = (0.5, 1.0, 1.57)[level]
            origin.set('xyz', ' '.join(str(1.5 * x) for x in xyz))
            origin.set('rpy', ' '.join(str(x + angle) for x in rpy))
    return (
        replace(recording, robot_description=ET.tostring(tree, encoding='unicode')),
        options,
        None,
    )


def noise(t, q, v, tau, level, rng):
    return (0.1, 1.0, 10.0)[level] * tau.std(0) * rng.standard_normal(tau.shape), None


def in_degrees(t, q, v, level, rng):
    return np.degrees(q), np.degrees(v), None


def position_alone(t, q, v, level, rng):
    q[:, min(level, q.shape[1] - 1)] *= -1
    return q, v, None


def velocity_alone(factor):
    def change(t, q, v, level, rng):
        v[:, min(level, v.shape[1] - 1)] *= factor
        return q, v, None

    return change


def percent(recording, options, level, rng):
    robot, names = described_robot(recording)
    if not np.all(robot.effort > 0):
        return None, options, None
    tau = columns(recording)[-1]
    tau[:, names] *= 100.0 / robot.effort
    return rebuilt(recording, effort=tau), options, None


def stretched(recording, options, level, rng):
    _, _, t, *_ = columns(recording)
    return rebuilt(recording, t=t * (1.3, 2.0, 0.5)[level]), options, None


def bursts(recording, options, level, rng):
    _, _, t, *_ = columns(recording)
    step = np.median(np.diff(t))
    late_ = np.sort(t + rng.uniform(0, (2.0, 4.0, 8.0)[level] * step, len(t)))
    return rebuilt(recording, t=late_), options, None


UNIT = ('effort in another unit', 'effort in percent', 'effort is a current')
FAULTS = {
    'effort negated': (efforts(lambda t, q, v, tau, k, r: (-tau, None)), ('effort negated',)),
    'effort of a joint negated': (efforts(negate_one), ('effort of a joint negated',)),
    'efforts permuted': (efforts(permuted), ('efforts permuted',)),
    'efforts N mm': (
        efforts(lambda t, q, v, tau, k, r: (tau * (10.0, 1e3, 1e4)[k], None)),
        ('effort in another unit',),
    ),
    'efforts percent': (percent, UNIT),
    'efforts currents': (currents, UNIT),
    'one gain': (efforts(one_gain), ('gain of a joint',)),
    'gravity compensated': (compensated, ('gravity compensated',)),
    'effort delayed': (
        efforts(lambda t, q, v, tau, k, r: (late(t, tau, (0.015, 0.04, 0.1)[k]), None)),
        ('effort delayed',),
    ),
    'effort noise': (efforts(noise), ('efforts do not follow the motion',)),
    'effort held': (
        efforts(lambda t, q, v, tau, k, r: (held(tau, (2, 4, 8)[k]), None)),
        ('samples held',),
    ),
    'effort quantised': (efforts(quantised), ('effort quantised',)),
    'effort stuck': (efforts(stuck), ('effort stuck',)),
    'effort clipped': (efforts(clipped), ('effort clipped',)),
    'effort spikes': (efforts(effort_spikes), ('effort spikes',)),
    'contact': (efforts(contact), ('contact',)),
    'effort of a joint delayed': (efforts(one_late), ('effort of a joint delayed',)),
    'upside down': (upside_down, ('wrong mounting',)),
    'payload not declared': (undeclared, ('payload not declared',)),
    'velocity spikes': (motions(velocity_spikes), ('velocity spikes',)),
    'position spikes': (motions(position_spikes), ('position spikes',)),
    'degrees': (motions(in_degrees), ('position in degrees',)),
    'velocity in degrees': (
        motions(velocity_alone(np.degrees(1.0))),
        ('velocity in another unit',),
    ),
    'velocity negated': (motions(velocity_alone(-1.0)), ('velocity or position negated',)),
    'position negated': (motions(position_alone), ('velocity or position negated',)),
    'velocity delayed': (
        motions(lambda t, q, v, k, r: (q, late(t, v, (0.015, 0.04, 0.1)[k]), None)),
        ('velocity delayed', 'velocity not used'),
    ),
    'encoder zero': (motions(encoder), ('encoder zero off',)),
    'not unwrapped': (motions(wrapped), ('position not unwrapped',)),
    'frozen': (frozen, ('frozen',)),
    'repeated rows': (repeated, ('samples held',)),
    'two robots': (two_robots, ('two robots on one topic',)),
    'wrong rate': (stretched, ('wrong rate or stamps',)),
    'stamps in bursts': (bursts, ('stamps jitter', 'stamps repeat')),
    'wrong mounting': (mounted, ('wrong mounting',)),
    'mounting in degrees': (mounted_degrees, ('mounting in degrees',)),
    'other robot': (other_robot, ('description of another robot',)),
}
