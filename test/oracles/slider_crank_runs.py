"""The slider-crank of the closed-loop paper, recorded by its Lagrangian and identified."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import slider_crank_lagrangian as oracle

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class

OPTIONS = options_class('closed_loop')(
    closures=oracle.CLOSURES, independent=('crank',), start=oracle.START, estimator='ordinary'
)
URDF = mujoco_arm.description('slider_crank')


def recording(motion=oracle.lively, *, duration=2.0, seed=None, extra=None, sign=1.0):
    """Return a Recording of crank angle and torque with the paper's noise (none without seed)."""
    t = np.arange(0.0, duration, 1e-3)
    z, rate, second = motion(t)
    tau = oracle.torque(z, rate, second) + (extra(z, rate) if extra else 0.0)
    if seed is not None:
        rng = np.random.default_rng(seed)
        z, tau = z + 1e-3 * rng.standard_normal(t.size), tau + 1e-2 * rng.standard_normal(t.size)
    return oracle.encoder_recording(t, z, sign * tau, URDF)


def slider_crank(recordings, **changes):
    return identify(recordings, replace(OPTIONS, **changes), method='closed_loop').model


def values(model, field='value'):
    return {entry['name']: entry[field] for entry in model.base}
