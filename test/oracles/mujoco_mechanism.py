"""Closed mechanisms moved by MuJoCo, and Recordings of their encoders and motors."""

from closed_mechanism import ClosedMechanism
import numpy as np
from recordings import joint_states, of_rig

STEP = 1e-4  # [s]: half of it is the lag of velocities in the integration


def encoder_recording(urdf, closures, start, reference, gains, duration, noise, seed, **forces):
    """
    Return the Recording of the motors of a mechanism that follow a reference, at 1 kHz.

    start : {joint: position} assembled; reference : {joint: t -> position}
    gains : (proportional, derivative); noise : (position [rad], torque [N m])
    forces : of ClosedMechanism (dry, spring, rest, damping)
    """
    rig = ClosedMechanism(urdf, closures, step=STEP, **forces)
    rig.place(start)
    motors = [rig.joint_names.index(joint) for joint in reference]
    paths, t, q, tau = list(reference.values()), [], [], []
    for k in range(int(duration / STEP)):
        now = k * STEP
        position, rate = rig.data.qpos[motors], rig.data.qvel[motors]
        wanted = np.array([path(now) for path in paths])
        ahead = np.array([path(now + STEP) for path in paths])
        torque = gains[0] * (wanted - position) + gains[1] * ((ahead - wanted) / STEP - rate)
        if k % 10 == 0:
            t.append(now)
            q.append(position.copy())
            tau.append(torque)
        rig.apply(dict(zip(motors, torque)))
        rig.step()
    rng = np.random.default_rng(seed)
    t, q, tau = (np.array(x) for x in (t, q, tau))
    position = q + noise[0] * rng.standard_normal(q.shape)
    effort = tau + noise[1] * rng.standard_normal(q.shape)
    states = joint_states(reference, t, position=position, effort=effort)
    return of_rig(urdf, states, path='mujoco')
