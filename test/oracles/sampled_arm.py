"""
An arm as a driver samples it: exact torques of MuJoCo, jittering stamps, noise of real sensors.

The motion is a closed form, so that it is known at every stamp.  What the identification should
find is solved from MuJoCo's torques with pinocchio's regressor: no code of ours in between but the
names of the columns.
"""

from dataclasses import replace
import re

import mujoco_arm
import numpy as np
import pinocchio as pin
from recordings import joint_states, recording_of

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class

VISCOUS, COULOMB, OFFSET, ARMATURE = 0.6, 0.4, 0.05, 0.02
ENCODER, SPEED, TORQUE = 2e-5, 2e-3, 0.05  # [rad, rad/s, N m] standard deviations
JITTER, STAMPS = 0.1, 1e-5  # of when a sample is taken [periods], of what its stamp says [s]
PLACE = ('m', 'mcx', 'mcy', 'mcz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')  # pinocchio's order


class Motion:
    """A sum of sines (n joints) up to ``bandwidth`` [Hz], of about ``speed`` [rad/s] rms."""

    def __init__(self, joints, bandwidth, rng, speed=1.5, lines=5):
        self._w = 2 * np.pi * bandwidth * (np.arange(lines) + rng.uniform(0.5, 1.0, lines)) / lines
        self._w[-1] = 2 * np.pi * bandwidth
        size = rng.normal(size=(2, lines, joints))
        self._a, self._b = size * speed / np.sqrt((size**2).sum((0, 1)) / 2)
        self._middle = rng.uniform(-0.5, 0.5, joints)

    def __call__(self, t):
        """Return q, v, a (N, n) at times t (N,) [s]."""
        S, C = np.sin(np.outer(t, self._w)), np.cos(np.outer(t, self._w))
        w = self._w[:, None]
        return (
            self._middle + S @ (self._a / w) - C @ (self._b / w),
            C @ self._a + S @ self._b,
            -S @ (w * self._a) + C @ (w * self._b),
        )


def torque(urdf, q, v, a):
    """Return the torques (N, n) [N m]: MuJoCo's rigid bodies, and friction at the joints."""
    return (
        mujoco_arm.torque(urdf, q, v, a)
        + VISCOUS * v
        + COULOMB * np.sign(v)
        + OFFSET
        + ARMATURE * a
    )


def sampled(urdf, motion, rate, duration, rng, measured=True, late=0.0):
    """
    Return the Recording of a Motion as a driver publishes it at ``rate`` [Hz].

    late : [s] by which efforts are stamped later than the motion
    """
    grid = np.arange(int(duration * rate)) / rate
    t = grid + JITTER / rate * rng.uniform(-1.0, 1.0, len(grid))
    q, v, a = motion(t)
    noise = [s * rng.standard_normal(q.shape) for s in (ENCODER, SPEED, TORQUE)]
    tau = torque(urdf, *motion(t - late)) + noise[2]
    stamped = t + 1.0 + STAMPS * rng.standard_normal(len(t))
    fields = {'position': q + noise[0], 'velocity': v + noise[1], 'effort': tau}
    if not measured:
        del fields['velocity']
    names = mujoco_arm.joints_of(urdf)
    return recording_of(joint_states(names, stamped, **fields), robot_description=urdf)


def truth(urdf, columns, seed=0):
    """
    Return the values (b,) of base parameters by the names of their first columns.

    columns : names as in the model: standard parameters (mcx2, IzzR1, ...), fv2, fc2, off2, Ia2
    """
    model = pin.buildModelFromXML(urdf)
    data, rng = model.createData(), np.random.default_rng(seed)
    n = model.nv
    q, v, a = rng.uniform(-2, 2, (200, n)), rng.normal(size=(200, n)), rng.normal(size=(200, n))
    W = np.stack([pin.computeJointTorqueRegressor(model, data, *x) for x in zip(q, v, a)])

    def column(name):
        kind, body = name.rstrip('0123456789'), int(name[len(name.rstrip('0123456789')) :]) - 1
        out = np.zeros((200, n))
        friction = {
            'fv': v,
            'fc': np.sign(v),
            'off': np.ones_like(v),
            'Ia': a,
            'ks': q,
            'fl': np.abs(torque(urdf, q, v, a)) * np.sign(v),
            'fp': np.sign(v) * np.abs(v) ** (2.0 / 3.0),
        }
        ripple = re.fullmatch('t([sc])([a-d])', kind)  # sine or cosine, its order as a letter
        if ripple:
            wave = {'s': np.sin, 'c': np.cos}[ripple[1]]
            out[:, body] = wave('_abcd'.index(ripple[2]) * q[:, body])
        elif kind in friction:
            out[:, body] = friction[kind][:, body]
        else:
            out = W[:, :, 10 * body + PLACE.index(kind.removesuffix('R'))]
        return out.ravel()

    A = np.stack([column(name) for name in columns], axis=1)
    x, *_ = np.linalg.lstsq(A, torque(urdf, q, v, a).ravel(), rcond=None)
    rest = np.abs(A @ x - torque(urdf, q, v, a).ravel()).max()
    assert rest < 1e-9, rest
    return x


# The laws that the truth has, with its step; by default the data choose among more.
TRUE_LAWS = {'coulomb_width': 0.0, 'friction': ('viscous', 'coulomb', 'offset', 'armature')}


def scores(rate, band, velocity, seed, duration=20.0, **choices):
    """
    Return the errors (b,) of one recording's base parameters in stated standard errors.

    choices : options other than the defaults
    """
    rng = np.random.default_rng(seed)
    urdf = mujoco_arm.true_urdf(mujoco_arm.description('arm3'), seed)
    motion = Motion(3, band, rng)
    recording = sampled(urdf, motion, rate, duration, rng, velocity == 'measured')
    options = replace(options_class('serial_arm')(), velocity=velocity, **choices)
    model = identify([recording], options).model
    found = [e for e in model.base if e['determined']]
    names = [e['name'] for e in model.base]
    value = dict(zip(names, truth(urdf, names)))
    return np.array([(e['value'] - value[e['name']]) / e['standard_error'] for e in found])
