"""
The slider-crank by hand: an oracle that shares no code with the package.

One degree of freedom z: H = M(z) zdot^2 / 2 + V(z), so tau = M zddot + M' zdot^2 / 2 + V'.
M and V are written out from geometry; their derivatives are exact by complex steps.
"""

import numpy as np
from recordings import joint_states, of_rig
from scipy.integrate import solve_ivp

L1, L2, G = 0.08, 0.25, 9.81  # [m], [m], [m/s^2]: Table 1 of the closed-loop paper
TABLE_1 = {
    'I1': 3.84e-4,
    'x1': 7.2e-3,
    'y1': 0.0,
    'm2': 0.22,
    'x2': 0.0275,
    'y2': 0.0,
    'I2': 0.22 * 0.0625 / 3,
    'm3': 0.25,
}
# Eq. 9 with Table 1; the paper prints 3.39e-3, 4.48e-2, 0, 2.02e-2, 9.00e-2, 0.
BASE = {
    'mcxR1': 0.0448,
    'mcy1': 0.0,
    'IzzR1': 3.392e-3,
    'mcxR2': 0.09,
    'mcy2': 0.0,
    'IzzR2': 2.0208333e-2,
}
FOUR = ('IzzR1', 'mcxR1', 'IzzR2', 'mcxR2')
PAPER_ERRORS = (0.31, 1.11, 1.82, 1.24)  # [%] of FOUR, Table 2
CLOSURES = ('point slider_pin rod_end',)
START = ('crank 0.5', 'slider 0.3')


def inertia_and_potential(z, p):
    """Return M(z) [kg m^2] and V(z) [J]; z may be complex."""
    s, c = np.sin(z), np.cos(z)
    sp = -L1 / L2 * s  # sine and cosine of the rod's angle to the slide
    cp = np.sqrt(1 - sp**2)
    rate = -L1 / L2 * c / cp  # of the rod, per unit crank rate
    slide = -L1 * s - L2 * sp * rate  # of the slider
    cx, cy = p['x2'] * cp - p['y2'] * sp, p['x2'] * sp + p['y2'] * cp
    M = (
        p['I1']
        + p['m2'] * L1**2
        + p['I2'] * rate**2
        + p['m3'] * slide**2
        + 2 * rate * L1 * (s * cy + c * cx)
    )
    return M, G * (p['x1'] * s + p['y1'] * c + p['m2'] * L1 * s + cy)


def torque(z, zdot, zddot, p=TABLE_1):
    """Return the crank torque [N m]."""
    M, V = inertia_and_potential(z + 1e-30j, p)
    return M.real * zddot + 0.5 * M.imag / 1e-30 * zdot**2 + V.imag / 1e-30


def free_motion(t, start):
    """Return z of a crank that gravity alone moves from start : (z [rad], zdot [rad/s])."""

    def rates(_, state):
        M, V = inertia_and_potential(complex(state[0], 1e-30), TABLE_1)
        return [state[1], -(0.5 * M.imag * state[1] ** 2 + V.imag) / 1e-30 / M.real]

    return solve_ivp(rates, (t[0], t[-1]), start, 'DOP853', t, rtol=1e-10, atol=1e-12).y[0]


def slider_rate(z, zdot):
    """Return the velocity of the slider [m/s]."""
    sp = -L1 / L2 * np.sin(z)
    rate = -L1 / L2 * np.cos(z) / np.sqrt(1 - sp**2)
    return (-L1 * np.sin(z) - L2 * sp * rate) * zdot


def cycloid(t):
    """Return z, zdot, zddot of 6 pi in the time of t, from rest to rest."""
    T, w = t[-1], 2 * np.pi / t[-1]
    return (
        6 * np.pi * (t / T - np.sin(w * t) / (2 * np.pi)),
        6 * np.pi / T * (1 - np.cos(w * t)),
        6 * np.pi / T * w * np.sin(w * t),
    )


def lively(t):
    """Return z, zdot, zddot of 6 t + sin(2 pi 1.5 t) + 0.5 sin(2 pi 2.5 t)."""
    u, w = 3 * np.pi, 5 * np.pi
    return (
        6 * t + np.sin(u * t) + 0.5 * np.sin(w * t),
        6 + u * np.cos(u * t) + 0.5 * w * np.cos(w * t),
        -(u**2) * np.sin(u * t) - 0.5 * w**2 * np.sin(w * t),
    )


def encoder_recording(t, z, tau, urdf, joint='crank'):
    """Return the Recording of one joint's angle and torque."""
    z, tau = np.array(z)[:, None], np.array(tau)[:, None]
    return of_rig(urdf, joint_states((joint,), t, position=z, effort=tau))
