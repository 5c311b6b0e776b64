"""
Mechanisms with loops by pinocchio alone: closed motion, joint torques and the rank of a regressor.

Shares no code with the package: configurations by Gauss-Newton on frame placements, velocities
and accelerations by the loop Jacobian, torques by virtual work, all one sample at a time.
"""

import numpy as np
import pinocchio as pin
from recordings import joint_states, of_rig

SMALL = 1e-9  # relative singular values below it are rounding
PIECES = 6  # of a way to a random posture


class CannotClose(ValueError):
    """No configuration near the last one is closed there."""


class Loops:
    """
    The tree of a URDF with ``point A B`` and ``coupling`` closures, moved by ``independent``.

    springs : {joint: (stiffness [N m/rad, N/m], rest)}
    friction : {joint: (viscous [N m s/rad, N s/m], Coulomb [N m, N])}
    """

    def __init__(self, urdf, closures, independent, start, springs=None, friction=None):
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self.names = tuple(self.model.names[1:])
        words = [c.split() for c in closures]
        self.pairs = [tuple(map(self.model.getFrameId, w[1:])) for w in words if w[0] == 'point']
        self.couplings = np.zeros((len(words) - len(self.pairs), len(self.names)))
        for row, w in zip(self.couplings, (w for w in words if w[0] == 'coupling')):
            row[self.names.index(w[1])] = 1.0
            row[[self.names.index(name) for name in w[2::2]]] = [-float(x) for x in w[3::2]]
        self.independent = [self.names.index(n) for n in independent]
        self.dependent = [k for k in range(len(self.names)) if k not in self.independent]
        guess = np.zeros(len(self.names))
        for word in start:
            name, value = word.split()
            guess[self.names.index(name)] = float(value)
        self.springs = {self.names.index(n): v for n, v in (springs or {}).items()}
        self.friction = {self.names.index(n): v for n, v in (friction or {}).items()}
        self.start = self.close(guess, guess[self.independent])

    def configuration(self, q):
        """Return pinocchio's configuration: continuous joints are cosine and sine."""
        out = np.empty(self.model.nq)
        for x, joint in zip(q, self.model.joints[1:]):
            out[joint.idx_q : joint.idx_q + joint.nq] = (
                [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            )
        return out

    def gap(self, q):
        """Return how far the closures are open (m,) and the Jacobian (m, n)."""
        pin.computeJointJacobians(self.model, self.data, self.configuration(q))
        pin.updateFramePlacements(self.model, self.data)
        C, J = [self.couplings @ q], [self.couplings]
        for a, b in self.pairs:
            C.append(self.data.oMf[b].translation - self.data.oMf[a].translation)
            J.append(
                np.subtract(
                    *(
                        pin.getFrameJacobian(self.model, self.data, f, pin.LOCAL_WORLD_ALIGNED)[:3]
                        for f in (b, a)
                    )
                )
            )
        return np.concatenate(C), np.vstack(J)

    def close(self, q, z):
        """Return the closed configuration (n,) near q with independent coordinates z (k,)."""
        q = np.array(q, dtype=float)
        q[self.independent] = z
        for _ in range(50):
            C, J = self.gap(q)
            if np.abs(C).max() < 1e-12:
                return q
            step = np.linalg.lstsq(J[:, self.dependent], C, rcond=SMALL)[0]
            q[self.dependent] -= step * min(1.0, 0.3 / (np.abs(step).max() + 1e-12))
        raise CannotClose

    def rates(self, q, zdot, zddot):
        """Return v, a (n,) and the map R (n, k) from independent to all rates."""
        _, J = self.gap(q)
        R = np.zeros((len(q), len(self.independent)))
        R[self.independent, range(len(self.independent))] = 1.0
        inverse = np.linalg.pinv(J[:, self.dependent], rcond=SMALL)
        R[self.dependent] = -inverse @ J[:, self.independent]
        v = R @ zdot
        pin.forwardKinematics(self.model, self.data, self.configuration(q), v, 0.0 * v)
        drift = [np.zeros(len(self.couplings))] + [
            np.subtract(
                *(
                    pin.getFrameClassicalAcceleration(
                        self.model, self.data, f, pin.LOCAL_WORLD_ALIGNED
                    ).linear
                    for f in (b, a)
                )
            )
            for a, b in self.pairs
        ]
        a = R @ zddot
        a[self.dependent] -= inverse @ np.concatenate(drift)
        return v, a, R

    def move(self, z, zdot, zddot):
        """Return q (N, n) and the torques (N, k) of the independent joints along a motion."""
        q, configurations, torques = self.start, [], []
        for x, rate, second in zip(z, zdot, zddot):
            q = self.close(q, x)
            v, a, R = self.rates(q, rate, second)
            tau = pin.rnea(self.model, self.data, self.configuration(q), v, a)
            for joint, (stiffness, rest) in self.springs.items():
                tau[joint] += stiffness * (q[joint] - rest)
            for joint, (viscous, coulomb) in self.friction.items():
                tau[joint] += viscous * v[joint] + coulomb * np.sign(v[joint])
            configurations.append(q)
            torques.append(R.T @ tau)
        return np.array(configurations), np.array(torques)

    def approach(self, z, steps=60):
        """Move the start to independent coordinates z (k,), in small steps."""
        for x in np.linspace(self.start[self.independent], z, steps)[1:]:
            self.start = self.close(self.start, x)

    def _moved(self, change):
        """Return a configuration that far from the start, or as far as it can be closed."""
        q = self.start
        for part in np.linspace(0.0, 1.0, PIECES + 1)[1:]:  # so that the branch is kept
            try:
                q = self.close(q, self.start[self.independent] + part * change)
            except CannotClose:
                break
        return q

    def regressor(self, count, size, rng, massless=()):
        """
        Return the projected regressor (count k, p) at random closed postures and rates.

        size : (k,) how far the independent coordinates go from the start; massless : left out
        """
        keep = [k for k in range(10 * len(self.names)) if self.names[k // 10] not in massless]
        rows, free = [], len(self.independent)
        for _ in range(count):
            q = self._moved(rng.uniform(-1.0, 1.0, free) * size)
            v, a, R = self.rates(q, rng.uniform(-3, 3, free), rng.uniform(-10, 10, free))
            W = pin.computeJointTorqueRegressor(self.model, self.data, self.configuration(q), v, a)
            rows.append((R.T @ W)[:, keep])
        return np.vstack(rows)

    def rank(self, size, seed=0, massless=(), count=None):
        """Return (rank of the body parameters, ratio of the singular values across it)."""
        count = count or 3 * 10 * len(self.names)
        W = self.regressor(count, np.asarray(size), np.random.default_rng(seed), massless)
        scale = np.tile([1.0] + [0.1] * 3 + [0.01] * 6, W.shape[1] // 10)
        W = W * scale
        # Near a dead centre rows are large beyond all others; their size says nothing of rank.
        s = np.linalg.svd(W / np.linalg.norm(W, axis=1, keepdims=True), compute_uv=False)
        s = np.maximum(s / s[0], 1e-17)
        ratios = s[:-1] / s[1:]
        low = np.flatnonzero(s[1:] < 1e-6)
        best = low[np.argmax(ratios[low])] if low.size else len(s) - 1
        return int(best) + 1, float(ratios[min(best, len(ratios) - 1)])


def motion(centre, size, duration, rate, seed, harmonics=5, base=0.2):
    """Return t (N,), z, zdot, zddot (N, k) of random harmonics about a centre (k,)."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 1.0 / rate)
    w = 2 * np.pi * base * np.arange(1, harmonics + 1)
    k = len(centre)
    a, b = rng.standard_normal((2, k, harmonics))
    norm = np.sqrt((a**2 + b**2).sum(1, keepdims=True)) * 1.2
    a, b = a / norm, b / norm
    phase = t[:, None] * w
    s, c = np.sin(phase), np.cos(phase)
    size = np.asarray(size)
    z = np.asarray(centre) + size * (s @ a.T + c @ b.T)
    zdot = size * ((w * c) @ a.T - (w * s) @ b.T)
    zddot = size * (-(w**2 * s) @ a.T - (w**2 * c) @ b.T)
    return t, z, zdot, zddot


def recording(loops, urdf, t, z, tau, noise, seed):
    """Return the Recording of encoders and motors; noise : (position, torque) deviations."""
    rng = np.random.default_rng(seed)
    position = z + noise[0] * rng.standard_normal(z.shape)
    effort = tau + noise[1] * rng.standard_normal(z.shape)
    names = [loops.names[k] for k in loops.independent]
    states = joint_states(names, t, position=position, effort=effort)
    return of_rig(urdf, states, path='pinocchio')
