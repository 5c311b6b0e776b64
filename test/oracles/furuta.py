"""A Furuta pendulum: a driven arm that turns upright, a pendulum at its end, in closed form."""

import numpy as np
from recordings import joint_states, of_rig
from scipy.integrate import solve_ivp

REACH = 0.2159  # [m] of the arm
MASS, CENTRE = 0.127, 0.156  # [kg], [m] below its joint, of the pendulum
ACROSS, ALONG = 0.0012, 1e-6  # [kg m^2] about its centre: both across, and along it
ARM = 0.02093  # [kg m^2] of the arm about its axis
DAMPING = 0.0015, 0.0005  # [N m s/rad]
GRAVITY = 9.81
FREQUENCIES, SIZES = 2.0 * np.pi * np.array([0.35, 0.8, 1.3, 2.1]), [0.3, 0.24, 0.2, 0.16]
HOLD = 0.4, 0.02  # [N m/rad], [N m s/rad] that keep the arm near its middle
NOISE = 5e-5, 3e-3  # [rad], [N m]
SWING = ACROSS + MASS * CENTRE**2  # of the pendulum about its joint
TRUE = {
    'Izz1 + 0.0466128 m2 + 0.4318 mcx2 + Izz2': ARM + MASS * REACH**2 + ALONG,
    'mcz2': -MASS * CENTRE,
    'Ixx2': SWING,
    'Iyy2 - Izz2': SWING - ALONG,
    'fv1': DAMPING[0],
    'fv2': DAMPING[1],
}
BODY = (
    '<inertial><mass value="{}"/><origin xyz="{}"/><inertia ixx="{}" iyy="{}" izz="{}" '
    'ixy="0" ixz="0" iyz="0"/></inertial>'
)
JOINT = (
    '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/>'
    '<origin xyz="{}"/><axis xyz="{}"/></joint>'
)
URDF = (
    '<robot name="furuta"><link name="base"/><link name="arm_link">'
    + BODY.format(0.25, '0.06 0 0', 2e-4, 1e-3, ARM - 0.25 * 0.06**2)
    + '</link><link name="pendulum_link">'
    + BODY.format(MASS, f'0 0 {-CENTRE}', ACROSS, ACROSS, ALONG)
    + '</link>'
    + JOINT.format('arm', 'base', 'arm_link', '0 0 0.2', '0 0 1')
    + JOINT.format('pendulum', 'arm_link', 'pendulum_link', f'{REACH} 0 0', '1 0 0')
    + '</robot>'
)


def recording(seed, duration=20.0, rate=500.0):
    """Return the Recording of both encoders and of the motor; the pendulum has no effort."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0.0, 2.0 * np.pi, len(SIZES))

    def torque(t, x):
        wave = np.sin(np.multiply.outer(t, FREQUENCIES) + phase) @ SIZES
        return wave - HOLD[0] * x[0] - HOLD[1] * x[2]

    def rates(t, x):
        """Return the derivative of arm angle, pendulum angle and their rates: Lagrange."""
        swing, arm_rate, swing_rate = x[1], x[2], x[3]
        s, c = np.sin(swing), np.cos(swing)
        coupling = MASS * REACH * CENTRE
        arm = ARM + MASS * REACH**2 + SWING * s**2 + ALONG * c**2
        turn = (SWING - ALONG) * s * c
        M = np.array([[arm, coupling * c], [coupling * c, SWING]])
        force = [
            torque(t, x)
            - DAMPING[0] * arm_rate
            - 2.0 * turn * arm_rate * swing_rate
            + coupling * s * swing_rate**2,
            -DAMPING[1] * swing_rate + turn * arm_rate**2 - MASS * GRAVITY * CENTRE * s,
        ]
        return [arm_rate, swing_rate, *np.linalg.solve(M, force)]

    t = np.arange(0.0, duration, 1.0 / rate)
    start = [0.0, 0.3, 0.0, 0.0]
    x = solve_ivp(rates, (0.0, duration), start, 'DOP853', t, rtol=1e-9, atol=1e-11).y
    position = x[:2].T + NOISE[0] * rng.standard_normal((len(t), 2))
    effort = np.stack([torque(t, x) + NOISE[1] * rng.standard_normal(len(t)), 0.0 * t], axis=1)
    states = joint_states(('arm', 'pendulum'), t, position=position, effort=effort)
    return of_rig(URDF, states, path='closed form')
