"""The description as it is: its links without friction; its drives in a replay."""

import numpy as np
import pinocchio as pin

from benchmark.public.replay import with_servos


def fit(train, urdf):
    """Return predict(t, q, v, a) -> (tau, sd) of the described links; their errors are unknown."""
    model = pin.buildModelFromXML(urdf)
    data = model.createData()

    def predict(t, q, v, a):
        tau = np.array([pin.rnea(model, data, *state).copy() for state in zip(q, v, a)])
        return tau, np.full_like(tau, np.nan)

    return predict


def fit_simulator(train, mjcf):
    """Return the MJCF text as described, with servos of the controller's gains."""
    return with_servos(mjcf, *train[0].servo)
