"""Mechanisms in MJCF moved by MuJoCo's forward dynamics, and Recordings of their joints."""

import re

import mujoco
import numpy as np
from recordings import joint_states, of_rig

from ros_inertial_id.dynamics.inertial_parameters import SYMBOLS
from ros_inertial_id.dynamics.robot_model import load_robot_model

STIFF = (4e-4, 1.0), (0.9999, 0.9999, 1e-3, 0.5, 2.0)  # solref, solimp of the equalities
EVERY = 5  # steps between samples
STEP = 2e-4  # [s]


def mounted(path):
    """Return MuJoCo's model of a file: stiff loops, no contacts, no limits, no free base."""
    spec = mujoco.MjSpec.from_file(str(path))
    free = [joint for joint in spec.joints if joint.type == mujoco.mjtJoint.mjJNT_FREE]
    for joint in free:
        spec.delete(joint)
    for key in spec.keys if free else ():
        key.qpos = np.array(list(key.qpos)[7:])
    for joint in spec.joints:
        joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
    model = spec.compile()
    model.opt.timestep, model.opt.disableflags = STEP, int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.opt.iterations, model.opt.tolerance = 200, 1e-14
    model.eq_solref[:], model.eq_solimp[:] = STIFF
    return model


def recording(
    path,
    urdf,
    names,
    actuated,
    duration,
    *,
    size=0.3,
    gains=(60.0, 1.0),
    noise=(2e-5, 0.005),
    seed=1,
    start=(),
):
    """
    Return the Recording of the joints ``names`` of an MJCF, moved by sums of sines.

    urdf : description that the recording carries; actuated : joints with a motor, whose torques
    follow a reference of ``size`` [rad, m] with natural frequency and damping ratio ``gains``;
    noise : of positions [rad, m], and of torques as a share of each one's own RMS
    start : "JOINT POSITION" where there is no keyframe, of joints of one degree of freedom
    """
    model, rng = mounted(path), np.random.default_rng(seed)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    for name, value in map(str.split, () if model.nkey else start):
        data.qpos[model.joint(name).qposadr[0]] = float(value)
    mujoco.mj_forward(model, data)
    joint = {n: model.joint(n) for n in {*names, *actuated}}
    q_of = [int(joint[n].qposadr[0]) for n in names]
    q_motor = [int(joint[n].qposadr[0]) for n in actuated]
    v_motor = [int(joint[n].dofadr[0]) for n in actuated]
    centre = data.qpos[q_motor].copy()
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    weight = inertia[v_motor, v_motor]
    count = 5, len(actuated)
    waves = rng.uniform(0.15, 1.6, count), rng.uniform(0, 2 * np.pi, count)
    shares = rng.uniform(0.5, 1.0, count)
    shares *= np.broadcast_to(size, len(actuated)) / shares.sum(0)
    t = STEP * np.arange(int(duration / STEP))
    phase = 2 * np.pi * waves[0] * t[:, None, None] + waves[1]
    rise = 1.0 - np.exp(-((t[:, None] / 0.5) ** 2))
    wanted = centre + rise * (shares * np.sin(phase)).sum(1)
    rate = np.gradient(wanted, STEP, axis=0)
    q, tau = [], []
    for k in range(len(t)):
        torque = data.qfrc_bias[v_motor] + weight * (
            gains[0] ** 2 * (wanted[k] - data.qpos[q_motor])
            + 2 * gains[0] * gains[1] * (rate[k] - data.qvel[v_motor])
        )
        if k % EVERY == 0:
            q.append(data.qpos[q_of].copy())
            tau.append(torque)
        data.qfrc_applied[v_motor] = torque
        mujoco.mj_step(model, data)
    t, q, tau = t[::EVERY], np.array(q), np.array(tau)
    effort = np.zeros((len(t), len(names)))
    for i, name in enumerate(actuated):
        column = tau[:, i] + noise[1] * tau[:, i].std() * rng.standard_normal(len(t))
        effort[:, list(names).index(name)] = column
    position = q + noise[0] * rng.standard_normal(q.shape)
    states = joint_states(names, t, position=position, effort=effort)
    return of_rig(urdf, states, path='mujoco')


def truth(urdf, block):
    """Return {parameter: value} of a description that holds the truth, priors included."""
    out = {
        f'{symbol}{k}': x
        for k, row in enumerate(load_robot_model(urdf).inertias, 1)
        for symbol, x in zip(SYMBOLS, row)
    }
    out.update({line.split()[0]: float(line.split()[1]) for line in block.get('given', ())})
    return out


def nominal(urdf, seed=7):
    """Return a description whose masses, inertias and priors are 20 % off, each by its own."""
    rng = np.random.default_rng(seed)

    def other(match):
        factor = rng.uniform(0.8, 1.25)
        return re.sub(
            r'(mass value|i[xyz][xyz])="([-0-9.e+]+)"',
            lambda x: f'{x[1]}="{float(x[2]) * factor:.9g}"',
            match[0],
        )

    out = re.sub(r'<inertial>.*?</inertial>', other, urdf)
    return re.sub(
        r'(  - (?:k|fv|fc|Ia)\d+) (\S+) (\S+)',
        lambda x: f'{x[1]} {float(x[2]) * rng.uniform(0.6, 1.6):.6g} {x[3]}',
        out,
    )
