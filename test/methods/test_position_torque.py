"""A torque that depends on a joint's position is found where a law for it is asked for."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class

NOISE = 0.02  # [N m]


def test_ripple_and_a_bent_spring_are_found_and_predict(arm3):
    urdf, truth = arm3
    names, rng = mujoco_arm.joints_of(urdf), np.random.default_rng(0)
    t, q, v, a = mujoco_arm.motion(len(names), 20.0, 200.0, seed=0, speed=1.5)
    tau = mujoco_arm.torque(truth, q, v, a) + 0.8 * v + 0.5 * np.sign(v)
    tau[:, 1] += 0.4 * np.sin(3 * q[:, 1]) - 0.3 * np.cos(3 * q[:, 1])
    tau[:, 2] += 0.6 * q[:, 2] ** 3
    recording = mujoco_arm.recording(names, t, q, v, tau + NOISE * rng.normal(size=q.shape))
    options = replace(options_class('serial_arm')(), coulomb_width=0.0)
    laws = ('viscous', 'coulomb', 'offset', 'armature')
    plain, whole = (
        identify([recording], replace(options, friction=f), urdf=urdf).model
        for f in (laws, (*laws, 'spring3', 'sine3', 'cosine3'))
    )
    found = {e['name']: e for e in whole.base}
    for name, true in (('tsc2', 0.4), ('tcc2', -0.3), ('ksc3', 0.6), ('tsc1', 0.0)):
        entry = found[name]
        assert abs(entry['value'] - true) < 4.0 * entry['standard_error'] < 0.1
    percent = [m.statistics['training']['filtered']['relative_percent'] for m in (plain, whole)]
    assert percent[1] < 0.5 * percent[0]
    assert percent[1] == pytest.approx(100.0 * NOISE / tau.std(), rel=1.0)
