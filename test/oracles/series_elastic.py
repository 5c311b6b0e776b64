"""A series-elastic joint with encoders on both sides, simulated in closed form."""

import numpy as np
from recordings import joint_states, of_rig
from scipy.integrate import solve_ivp

ROTOR, STIFFNESS, DAMPING, VISCOUS = 0.08, 60.0, 0.6, 0.3
MASS, CENTRE, INERTIA = 2.5, 0.22, 0.19  # of the arm, about its joint
FREQUENCIES, SIZES = 2.0 * np.pi * np.array([0.3, 0.7, 1.1, 1.9]), np.array([8.0, 6.0, 5.0, 4.0])
TRUE = {
    'Iyy1': ROTOR,
    'mcx2': MASS * CENTRE,
    'Iyy2': INERTIA,
    'fv1': VISCOUS,
    'fv2': DAMPING,
    'k1': STIFFNESS,
}
LINK = (
    '<link name="{}"><inertial><mass value="{}"/><origin xyz="{} 0 0"/><inertia ixx="0.05" '
    'iyy="{}" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/>'
    '<axis xyz="0 1 0"/><limit effort="100" velocity="10"/></joint>'
)
URDF = (
    '<robot name="elastic"><link name="base"/>'
    + LINK.format('rotor', 1.0, 0.0, ROTOR)
    + LINK.format('arm', MASS, CENTRE, INERTIA - MASS * CENTRE**2)
    + JOINT.format('motor', 'base', 'rotor')
    + JOINT.format('flex', 'rotor', 'arm')
    + '</robot>'
)
PASSIVE = {
    'independent': ('motor', 'flex'),
    'actuated': ('motor',),
    'springs': ('joint flex 0',),
    'friction': ('motor viscous', 'flex viscous'),
}


def recording(seed, duration=20.0, rate=500.0):
    """Return 20 s under a torque of four harmonics, and a soft controller that holds the arm."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0.0, 2.0 * np.pi, 4)

    def torque(t, x):
        wave = np.sin(np.multiply.outer(t, FREQUENCIES) + phase) @ SIZES
        return wave - 6.0 * x[0] - x[2]

    def rates(t, x):
        inward = STIFFNESS * x[1] + DAMPING * x[3]
        arm = (MASS * 9.81 * CENTRE * np.cos(x[0] + x[1]) - inward) / INERTIA
        rotor = (torque(t, x) - VISCOUS * x[2] + inward) / ROTOR
        return [x[2], x[3], rotor, arm - rotor]

    t = np.arange(0.0, duration, 1.0 / rate)
    x = solve_ivp(rates, (0.0, duration), np.zeros(4), 'DOP853', t, rtol=1e-10, atol=1e-12).y
    position = x[:2].T + 5e-5 * rng.standard_normal((len(t), 2))
    effort = np.stack([torque(t, x) + 0.02 * rng.standard_normal(len(t)), 0.0 * t], axis=1)
    states = joint_states(('motor', 'flex'), t, position=position, effort=effort)
    return of_rig(URDF, states, path='closed form')
