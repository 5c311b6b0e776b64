"""
Recordings of arms that MuJoCo moves, for the tests of the estimation.

Exact inverse dynamics of a smooth motion, noise as of real sensors on top: MuJoCo shares no code
with what is tested, and the truth is known.
"""

from pathlib import Path
import xml.etree.ElementTree as ET

import numpy as np

from ros_inertial_id.measurement.recording import Channel, Recording
from ros_inertial_id.simulation.rigid_bodies import RigidBodies
from ros_inertial_id.simulation.true_robot import parse, perturbed_urdf

URDF = Path(__file__).parents[1] / 'urdf'
DATA = Path(__file__).parents[2] / 'shared' / 'data'
JOINT_STATE = 'sensor_msgs/msg/JointState'
UPRIGHT = (0.0, 0.0, -9.81)


def description(name):
    """Return the text of one of our descriptions."""
    return (URDF / f'{name}.urdf').read_text(encoding='utf-8')


def joints_of(urdf):
    """Return the names of the revolute joints of a URDF text."""
    return tuple(j.get('name') for j in ET.fromstring(urdf).findall('joint')
                 if j.get('type') in ('revolute', 'continuous', 'prismatic'))


def true_urdf(urdf, seed, change=0.2):
    """Return the URDF text of a robot that is near ``urdf`` but not the same."""
    return perturbed_urdf(parse(urdf), np.random.default_rng(seed), change, change, change / 2)[0]


def motion(joints, duration, rate, seed=0, period=10.0, harmonics=5, speed=1.5):
    """Return t (N,), q, v, a (N, n): a random periodic motion of about ``speed`` [rad/s]."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(duration * rate)) / rate
    omega = 2 * np.pi / period * np.arange(1, harmonics + 1)[:, None]
    size = rng.normal(size=(2, harmonics, joints))
    size *= speed / np.sqrt((size ** 2).sum((0, 1))) / omega
    angle = omega * t[:, None, None]
    sin, cos = np.sin(angle), np.cos(angle)
    q = rng.uniform(-0.5, 0.5, joints) + (size[0] * sin + size[1] * cos).sum(1)
    v = (omega * (size[0] * cos - size[1] * sin)).sum(1)
    a = (-omega ** 2 * (size[0] * sin + size[1] * cos)).sum(1)
    return t, q, v, a


def torque(urdf, q, v, a, gravity=UPRIGHT):
    """Return the joint torques (N, n) of rigid bodies by MuJoCo."""
    arm = RigidBodies(urdf, joints_of(urdf), gravity)
    return np.array([arm.inverse(*state).copy() for state in zip(q, v, a)])


def recording(names, t, q, v, tau, mounting=''):
    """Return the Recording of joint states."""
    stamps = np.round(t * 1e9).astype(np.int64)
    channel = Channel('/joint_states', JOINT_STATE, stamps, stamps,
                      {'position': q.copy(), 'velocity': v.copy(), 'effort': tau.copy()}, names)
    return Recording({'/joint_states': channel}, mounting=mounting)


def real(path, names):
    """Return the Recording of one of the files of shared/data."""
    data = np.load(DATA / path)
    stamps = np.round(data['stamp_s'] * 1e9).astype(np.int64)
    channel = Channel('/joint_states', JOINT_STATE, stamps, stamps,
                      {'position': data['q'], 'velocity': data['v'], 'effort': data['tau']}, names)
    return Recording({'/joint_states': channel}, provenance={'path': path})
