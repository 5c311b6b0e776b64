"""Plain least squares: what one writes first with pinocchio and NumPy (four friction columns)."""

import numpy as np
import pinocchio as pin

from benchmark.public.signals import motion

CUTOFF_HZ = 8.0


def fit(train, urdf):
    """Return predict(t, q, v, a) -> (tau, sd) of a least-squares fit to Recordings."""
    model = pin.buildModelFromXML(urdf)
    data = model.createData()

    def rows(q, v, a):
        """Return the rows (N, n, p) of links, rotors, viscous and Coulomb friction, offset."""
        links = np.array(
            [pin.computeJointTorqueRegressor(model, data, *state).copy() for state in zip(q, v, a)]
        )
        own = np.eye(model.nv)
        columns = [own * signal[:, None] for signal in (a, v, np.sign(v), np.ones_like(v))]
        return np.concatenate([links, *columns], axis=2)

    motions = [
        motion(recording, min(CUTOFF_HZ, 0.2 / np.median(np.diff(recording.t))))
        for recording in train
    ]
    regressor = np.concatenate([rows(m.q, m.v, m.a)[m.judged] for m in motions])
    torque = np.concatenate([m.tau[m.judged] for m in motions])
    flat = regressor.reshape(-1, regressor.shape[2])
    scale = np.linalg.norm(flat, axis=0)
    scale[scale == 0.0] = 1.0
    parameters = np.linalg.lstsq(flat / scale, torque.ravel(), rcond=1e-3)[0] / scale
    sd = np.sqrt(np.mean((torque - regressor @ parameters) ** 2, axis=0))

    def predict(t, q, v, a):
        return rows(q, v, a) @ parameters, np.tile(sd, (len(t), 1))

    return predict
