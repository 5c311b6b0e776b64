"""A Franka-like arm in periodic motion by MuJoCo, its model, and CPU of nodes that hear of it."""

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test' / 'oracles'), str(ROOT / 'test' / 'nodes')]

import mujoco_arm  # noqa: E402

PERIOD = 10.0  # [s] of motion, played again and again
URDF = mujoco_arm.description('franka')
NOISE = {'position': 2e-5, 'velocity': 2e-3, 'effort': 0.05}  # [rad], [rad/s], [N m]
MIDDLE = np.array([0.0, 0.0, 0.0, -1.6, 0.0, 1.8, 0.0])  # [rad]


def simulated(rate, seconds, seed):
    """
    Return the Recording of a noisy motion at a ``rate`` [Hz], and the true torques (N, 7) [N m].

    Friction is viscous and Coulomb; the bodies are up to 20 % off the description.
    """
    return _measured(*mujoco_arm.motion(7, seconds, rate, seed=5, period=PERIOD, speed=1.0), seed)


def wandering(rate, seconds, seed):
    """Return the same of a motion that never comes again: frequencies of no common period."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * rate)) / rate
    omega = 2 * np.pi * rng.uniform(0.1, 0.5, (5, 7))
    size = rng.normal(size=omega.shape)
    size /= np.sqrt((size**2).sum(0)) * omega
    phase = rng.uniform(0.0, 2 * np.pi, omega.shape)
    q, v, a = np.zeros((3, len(t), 7))
    for each, frequency, shift in zip(size, omega, phase):
        angle = frequency * t[:, None] + shift
        q += each * np.sin(angle)
        v += each * frequency * np.cos(angle)
        a -= each * frequency**2 * np.sin(angle)
    return _measured(t, q, v, a, seed)


def _measured(t, q, v, a, seed):
    """Return the Recording of a motion (N, 7) at t (N,) [s], and its true torques (N, 7) [N m]."""
    q = q - q.mean(0) + MIDDLE
    true = (
        mujoco_arm.torque(mujoco_arm.true_urdf(URDF, seed), q, v, a)
        + 1.5 * v
        + 0.8 * np.tanh(v / 0.01)
    )
    rng = np.random.default_rng(seed)
    measured = [
        x + NOISE[key] * rng.standard_normal(x.shape) for key, x in zip(NOISE, (q, v, true))
    ]
    names = mujoco_arm.joints_of(URDF)
    return mujoco_arm.recording(names, t + 1.0, *measured, 'upright'), true


def messages(recording, rate, seconds=PERIOD):
    """Return the bytes of ``seconds`` of joint states at a ``rate`` [Hz], stamped zero."""
    from ros_inertial_id.measurement.bags.messages import encode

    channel = recording.channels['/joint_states'].rows(slice(round(seconds * rate)))
    none = np.zeros(len(channel), np.int64)
    return list(encode(replace(channel, stamp_ns=none, received_ns=none)))


def write_model(folder, recording):
    """Identify from the simulated motion; return the path of the model."""
    from ros_inertial_id.identification.identify import identify
    from ros_inertial_id.identification.settings import options_class

    path = folder / 'model.yaml'
    path.write_text(
        identify([recording], options_class('serial_arm')(), urdf=URDF).model.to_yaml()
    )
    return path


def usage(pid):
    """Return (CPU seconds, resident MB) of a process."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return ticks / 100.0, int(fields[21]) * 4096 / 1e6
