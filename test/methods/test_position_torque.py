"""A torque that depends on a joint's position is found where a law for it is asked for."""

from dataclasses import replace

import mujoco_arm
import numpy as np

from ros_inertial_id.api.model import model_of
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class

NOISE = 0.02  # [N m]


def moved(truth, seed):
    """Return t, q, v, a, tau of 20 s of an arm with ripple in joint 2, a bent spring in 3."""
    t, q, v, a = mujoco_arm.motion(3, 20.0, 200.0, seed=seed, speed=1.5)
    tau = mujoco_arm.torque(truth, q, v, a) + 0.8 * v + 0.5 * np.sign(v)
    tau[:, 1] += 0.4 * np.sin(3 * q[:, 1]) - 0.3 * np.cos(3 * q[:, 1])
    tau[:, 2] += 0.6 * q[:, 2] ** 3
    return t, q, v, a, tau


def test_ripple_and_a_bent_spring_are_found_and_predict(arm3):
    urdf, truth = arm3
    t, q, v, _, tau = moved(truth, seed=0)
    noise = NOISE * np.random.default_rng(0).normal(size=q.shape)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(urdf), t, q, v, tau + noise)
    options = replace(options_class('serial_arm')(), coulomb_width=0.0)
    laws = ('viscous', 'coulomb', 'offset', 'armature')
    plain, whole = (
        identify([recording], replace(options, friction=friction), urdf=urdf).model
        for friction in (laws, (*laws, 'spring3', 'sine3', 'cosine3'))
    )
    found = {entry['name']: entry for entry in whole.base}
    for name, true in (('tsc2', 0.4), ('tcc2', -0.3), ('ksc3', 0.6), ('tsc1', 0.0)):
        entry = found[name]
        assert abs(entry['value'] - true) < 4.0 * entry['standard_error'] < 0.02
    _, q, v, a, tau = moved(truth, seed=1)
    rms = [np.sqrt(np.mean((model_of(m).torque(q, v, a) - tau) ** 2, 0)) for m in (plain, whole)]
    # 4000 samples of 0.02 N m tell some 35 parameters: another motion by far better than a sample.
    assert (rms[1] < 0.5 * NOISE).all()
    assert (rms[0][1:] > 10.0 * NOISE).all()  # of the joints that have them
