"""
BodyState: how a rigid body moves, from its measured pose, free of any singularity.

Orientations stay unit quaternions: signs are made continuous (q and -q are one attitude), the
smoothed quaternion is projected back onto the unit sphere, and rates follow from its derivatives
by the group's own product.  Constant rotation passes such a filter unchanged at any speed.
"""

from dataclasses import dataclass
from typing import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from ...errors import RecordingError
from ...measurement.sampling import interpolate
from ...measurement.signals import smooth, smoothed_derivatives

STANDS_OUT = 10.0  # times the noise: a band of the spectrum that holds motion


@dataclass(frozen=True)
class BodyState:
    """
    Consecutive samples of one body's frame.

    position : (N, 3) of its origin in the world [m]; quaternion_xyzw : (N, 4) body to world
    omega, alpha : (N, 3) angular velocity and acceleration [rad/s, rad/s^2], in the body's frame
    acc : (N, 3) acceleration of the origin minus gravity [m/s^2], in the body's frame: what an
        accelerometer there reads
    velocity : (N, 3) of the origin in the world [m/s], None where nobody asks for it
    """

    position: np.ndarray
    quaternion_xyzw: np.ndarray
    omega: np.ndarray
    alpha: np.ndarray
    acc: np.ndarray
    velocity: np.ndarray | None = None

    def rotation(self) -> np.ndarray:
        """Return the rotations (N, 3, 3), body to world."""
        return Rotation.from_quat(self.quaternion_xyzw).as_matrix()

    def rows(self, chosen: slice | np.ndarray) -> 'BodyState':
        """Return the BodyState of the samples ``chosen`` by a slice or index array."""
        velocity = None
        if self.velocity is not None:
            velocity = self.velocity[chosen]
        return BodyState(
            self.position[chosen],
            self.quaternion_xyzw[chosen],
            self.omega[chosen],
            self.alpha[chosen],
            self.acc[chosen],
            velocity,
        )


def continuous(quaternion_xyzw: np.ndarray, topic: str = 'orientation') -> np.ndarray:
    """
    Return unit quaternions (N, 4) whose sign never jumps; NaN rows stay NaN.

    quaternion_xyzw : (N, 4); topic : for the message
    A row of zeros, which some trackers send for "not seen", becomes NaN.

    Raises RecordingError when no row is an orientation.
    """
    norm = np.linalg.norm(quaternion_xyzw, axis=1, keepdims=True)
    good = np.isfinite(norm[:, 0]) & (norm[:, 0] > 1e-3)
    if not good.any():
        raise RecordingError(f'{topic} holds no orientation', found='zeros or NaN throughout')
    out = np.full(np.shape(quaternion_xyzw), np.nan)
    unit = quaternion_xyzw[good] / norm[good]
    flips = np.sign(np.einsum('ij,ij->i', unit[1:], unit[:-1]))
    flips[flips == 0] = 1.0
    out[good] = unit * np.concatenate([[1.0], np.cumprod(flips)])[:, None]
    return out


def vector_of_product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the vector part (N, 3) of conj(p) q for quaternions x y z w (N, 4)."""
    pv, pw, qv, qw = p[:, :3], p[:, 3:], q[:, :3], q[:, 3:]
    return pw * qv - qw * pv - np.cross(pv, qv)


def acceleration_at(omega: np.ndarray, alpha: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """
    Return alpha x r + omega x (omega x r): what a point of a body accelerates beyond its origin.

    omega, alpha : (N, 3) angular velocity and acceleration [rad/s, rad/s^2]
    arm : (3,) or (N, 3) place r of the point [m], all along the same axes
    """
    return np.cross(alpha, arm) + np.cross(omega, np.cross(omega, arm))


def state_of_pose(
    position: np.ndarray,
    quaternion_xyzw: np.ndarray,
    kernel: np.ndarray,
    period: float,
    gravity_world: np.ndarray,
) -> BodyState:
    """
    Return the BodyState of poses on a uniform clock, zero-phase filtered.

    position : (N, 3) [m]; quaternion_xyzw : (N, 4) body to world; period : [s] of the clock
    kernel : symmetric (signals.zero_phase_kernel); gravity_world : (3,) [m/s^2]
    """
    p, v, acc = smoothed_derivatives(position, kernel, period)
    Q, dQ, ddQ = smoothed_derivatives(continuous(quaternion_xyzw), kernel, period)
    n = np.linalg.norm(Q, axis=1, keepdims=True)
    # Q = n q with q unit: the rates of q from those of Q (conj(q) dq/dt = omega / 2).
    omega = 2.0 * vector_of_product(Q, dQ) / n**2
    growth = np.einsum('ij,ij->i', Q, dQ)[:, None] / n**2
    alpha = 2.0 * vector_of_product(Q, ddQ) / n**2 - 2.0 * growth * omega
    q = Q / n
    body = Rotation.from_quat(q).inv()
    return BodyState(p, q, omega, alpha, body.apply(acc - np.asarray(gravity_world)), v)


def state_of_imu(
    omega: np.ndarray,
    force: np.ndarray,
    kernel: np.ndarray,
    period: float,
    position: Sequence[float] = (0.0, 0.0, 0.0),
    rotation: np.ndarray | None = None,
) -> BodyState:
    """
    Return the BodyState of the readings of an IMU on a uniform clock, zero-phase filtered.

    omega : (N, 3) angular velocity [rad/s]; force : (N, 3) specific force [m/s^2]
    kernel : (2 h + 1,) low-pass; period : [s]
    position, rotation : of the IMU in the body's frame ((3,) [m], (3, 3)).  The attitude is not
    known and not needed by equations in the body's frame, which stands for the world's.
    """
    R = np.eye(3)
    if rotation is not None:
        R = np.asarray(rotation)
    omega, alpha = smoothed_derivatives(omega @ R.T, kernel, period, 1)
    arm = np.asarray(position, dtype=float)
    acc = smooth(force @ R.T, kernel) - acceleration_at(omega, alpha, arm)
    upright = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (len(omega), 4))
    return BodyState(np.zeros_like(omega), upright, omega, alpha, acc)


def on_clock(t_measured: np.ndarray, values: np.ndarray, t: np.ndarray) -> np.ndarray:
    """
    Return values (N, k) at other times by cubic interpolation; NaN samples are passed over.

    t_measured : (n,) [s] of values (n, k); t : (N,) [s] wanted
    """
    good = np.isfinite(values).all(1)
    return interpolate(t_measured[good], values[good], t)


def white_variance(x: np.ndarray) -> np.ndarray:
    """
    Return the variance (k,) of white noise in x (N, k), in which a pose may jump.

    It shows in third differences (1 3 3 1), what a motion or a model of it lacks does not.
    """
    return (np.median(np.abs(np.diff(x, 3, axis=0)), axis=0) / 0.6745) ** 2 / 20.0 + 1e-18


def choose_pose_cutoff(pieces: Sequence[np.ndarray], period: float) -> tuple[float, float]:
    """
    Return (cutoff [Hz], end of the motion [Hz]) for poses.

    pieces : arrays (N_i, k) on a uniform clock; period : [s]

    Markers are white: above the motion the spectrum of a pose is flat.  The motion ends where
    the highest band stands out of that floor tenfold, and the cutoff is there: beyond it noise
    of the accelerations, which biases, grows with the fifth power of the cutoff.
    """
    from scipy.signal import welch  # takes a third of the time to start: when needed

    length = max(len(piece) for piece in pieces)
    # Seven windows and more: a spectrum of one is noise itself and exceeds its floor by chance.
    window = int(min(length, max(64, min(length // 4, 4.0 / period))))
    total, weight = np.zeros(1), 0
    for piece in pieces:
        if len(piece) >= window:
            # A window without side lobes: a slow swing must not leak above the noise.
            frequency, power = welch(
                piece, 1.0 / period, 'blackmanharris', window, axis=0, detrend='linear'
            )
            total, weight = total + len(piece) * power, weight + len(piece)
    power, top = total / weight, 0.25 / period
    floor = np.median(power[frequency > top], axis=0)
    inside = (frequency <= top)[:, None] & (power > STANDS_OUT * floor)
    # A tenfold power once in hundreds of bands is chance: two neighbours are not.
    inside[1:] &= inside[:-1]
    ends = frequency[np.flatnonzero(inside.any(1))]
    end = float(ends[-1]) if ends.size else float(frequency[1])
    return float(np.clip(end, 1.0, top)), end
