"""Two elastic joints by MuJoCo: rotors behind springs (tendons), encoders on both sides."""

import mujoco
import numpy as np
from recordings import joint_states, of_rig

STIFFNESS, DAMPING = (9000.0, 4000.0), (6.0, 3.0)
ROTORS, VISCOUS, COULOMB = (0.9, 0.4), (5.0, 2.0), (3.0, 1.5)
LENGTH = 0.45  # [m] between the joints, both about y
BODIES = (
    (6.0, (0.02, 0.03, 0.22), (0.12, 0.11, 0.03)),
    (3.0, (0.01, -0.02, 0.18), (0.05, 0.045, 0.01)),
)  # mass, centre, moments about it
W, SIZES = 2.0 * np.pi * np.array([0.15, 0.4, 0.8, 1.5]), np.array([0.5, 0.25, 0.12, 0.05])
GAINS = np.array([[800.0, 300.0], [60.0, 25.0]])  # of positions, of velocities
WIDTH = 0.02  # [rad/s] of the step of Coulomb friction
JOINTS, MOTORS = ('upper', 'lower'), ('upper_motor', 'lower_motor')
NOISE = 5e-6, 0.1  # [rad], [N m]


def _words(values):
    return ' '.join(str(float(x)) for x in values)


def mjcf():
    """Return the MJCF text."""

    def link(k, child=''):
        mass, centre, moments = BODIES[k]
        return (
            f'<body pos="0 0 {LENGTH * k}"><joint name="{JOINTS[k]}" axis="0 1 0"/><inertial '
            f'mass="{mass}" pos="{_words(centre)}" diaginertia="{_words(moments)}"/>{child}'
            '</body>'
        )

    rotors = ''.join(
        f'<body><joint name="{name}" axis="0 0 1" damping="{viscous}"/><inertial mass="1e-3" '
        f'pos="0 0 0" diaginertia="{_words([inertia] * 3)}"/></body>'
        for name, inertia, viscous in zip(MOTORS, ROTORS, VISCOUS)
    )
    springs = ''.join(
        f'<fixed stiffness="{k}" damping="{d}" springlength="0"><joint joint="{motor}" coef="1"/>'
        f'<joint joint="{name}" coef="-1"/></fixed>'
        for name, motor, k, d in zip(JOINTS, MOTORS, STIFFNESS, DAMPING)
    )
    return (
        '<mujoco><option timestep="2.5e-4" integrator="RK4" gravity="0 0 -9.81"/><worldbody>'
        f'{link(0, link(1))}{rotors}</worldbody><tendon>{springs}</tendon></mujoco>'
    )


def urdf():
    """Return the URDF text of the links, masses a seventh too large and one moment too small."""
    out = '<robot name="elastic"><link name="base"/>'
    for k, (mass, centre, (a, b, c)) in enumerate(BODIES):
        parent = ('base', 'upper_link')[k]
        out += (
            f'<joint name="{JOINTS[k]}" type="continuous"><parent link="{parent}"/><child '
            f'link="{JOINTS[k]}_link"/><origin xyz="0 0 {LENGTH * k}"/><axis xyz="0 1 0"/>'
            f'<limit effort="150" velocity="5"/></joint><link name="{JOINTS[k]}_link">'
            f'<inertial><mass value="{1.15 * mass}"/><origin xyz="{_words(centre)}"/>'
            f'<inertia ixx="{a}" iyy="{0.9 * b}" izz="{c}" ixy="0" ixz="0" iyz="0"/>'
            '</inertial></link>'
        )
    return out + '</robot>'


def truth():
    """Return {parameter: true value}; motors are numbered behind the joints."""
    out = {}
    for k, (mass, (x, y, z), (_, moment, _)) in enumerate(BODIES, 1):
        out.update(
            {
                f'm{k}': mass,
                f'mcx{k}': mass * x,
                f'mcz{k}': mass * z,
                f'Iyy{k}': moment + mass * (x * x + z * z),
            }
        )
    for k, own in enumerate(zip(STIFFNESS, DAMPING, ROTORS, VISCOUS, COULOMB), 1):
        out.update(zip((f'ke{k}', f'de{k}', f'Ia{k + 2}', f'fv{k + 2}', f'fc{k + 2}'), own))
    return out


def recording(seed, duration=20.0):
    """Return the Recording, at 1 kHz, of motors that follow random harmonics."""
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(mjcf())
    data, phase = mujoco.MjData(model), rng.uniform(0.0, 6.28, (2, 4))
    motors = [model.joint(name).qposadr[0] for name in MOTORS]
    order = [model.joint(name).qposadr[0] for name in (*JOINTS, *MOTORS)]
    data.qpos[order] = np.tile(np.sin(phase) @ SIZES, 2)
    t, q, tau, before = [], [], [], None
    for k in range(round(duration / model.opt.timestep)):
        angle = W * data.time + phase
        torque = GAINS[0] * (np.sin(angle) @ SIZES - data.qpos[motors]) + GAINS[1] * (
            np.cos(angle) @ (SIZES * W) - data.qvel[motors]
        )
        if k % 4 == 0:  # a torque is held for a step: at its end points it is the mean
            t.append(data.time)
            q.append(data.qpos[order])
            tau.append(torque if before is None else (torque + before) / 2.0)
        before = torque
        data.qfrc_applied[motors] = torque - COULOMB * np.tanh(data.qvel[motors] / WIDTH)
        mujoco.mj_step(model, data)
    t, q, tau = (np.array(x) for x in (t, q, tau))
    effort = tau + NOISE[1] * rng.standard_normal(tau.shape)
    states = joint_states(
        (*JOINTS, *MOTORS),
        t,
        position=q + NOISE[0] * rng.standard_normal(q.shape),
        effort=np.hstack([np.full_like(effort, np.nan), effort]),
    )
    return of_rig(urdf(), states, path='mujoco')
