"""A torque that depends on a joint's position is found where a law for it is asked for."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest

from ros_inertial_id.api.model import model_of
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.prepare.dataset import read_dataset
from ros_inertial_id.identification.reduce.structure import harmonic_of
from ros_inertial_id.identification.reduce.wide_factor import without_unheld_harmonics
from ros_inertial_id.identification.settings import options_class

NOISE = 0.02  # [N m]
URDF = mujoco_arm.description('arm3')
TRUTH = mujoco_arm.true_urdf(URDF, seed=1)


def turned(seed, amplitude, span):
    """Return t, q, v, a, tau of joints that turn by ``span`` [rad], with 3 waves a turn in one."""
    t, q, v, a = mujoco_arm.motion(3, 30.0, 200.0, seed=seed, speed=1.5)
    size = span / np.ptp(q, axis=0)
    q, v, a = size * q, size * v, size * a
    tau = mujoco_arm.torque(TRUTH, q, v, a) + 0.8 * v + 0.5 * np.sign(v)
    tau[:, 1] += amplitude * np.sin(3 * q[:, 1] + 0.4)
    return t, q, v, a, tau


def chosen(seed, amplitude, span):
    """Return the IdentifiedModel of a motion that is ``turned``, by default laws."""
    t, q, v, _, tau = turned(seed, amplitude, span)
    noise = NOISE * np.random.default_rng(seed).normal(size=q.shape)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(URDF), t, q, v, tau + noise)
    return identify([recording], options_class('serial_arm')(mounting='upright'), urdf=URDF).model


def harmonics(model):
    """Return the names of the parameters of harmonics of a turn."""
    return {p.name for p in model.parameters if p.law.startswith(('sine', 'cosine'))}


def test_waves_of_a_turn_are_chosen_where_they_are_and_only_there(tmp_path):
    model = chosen(0, 0.3, 2.5)
    assert harmonics(model) == {'tsc2', 'tcc2'}
    found = {entry['name']: entry for entry in model.base}
    for name, true in (('tsc2', 0.3 * np.cos(0.4)), ('tcc2', 0.3 * np.sin(0.4))):
        assert found[name]['value'] == pytest.approx(true, abs=0.03)
    # Another motion is predicted, at other phases as well: within the noise of one sample.
    _, q, v, a, tau = turned(1, 0.3, 2.5)
    rms = np.sqrt(np.mean((model_of(model).torque(q, v, a) - tau) ** 2, axis=0))
    assert rms[1] < NOISE
    for lines in (
        model_of(model).to_urdf(tmp_path / 'arm.urdf'),
        model_of(model).to_mjcf(tmp_path / 'arm.xml'),
    ):
        assert any('sine3 of joint2' in line for line in lines)  # what the file does not hold


@pytest.mark.parametrize('amplitude, span', [(0.0, 2.5), (0.3, 1.5)])
def test_no_waves_are_chosen_where_none_are_or_less_than_one_is_seen(amplitude, span):
    assert not harmonics(chosen(0, amplitude, span)) - {'tsd2', 'tcd2'}


@pytest.mark.parametrize(
    'friction, orders', [(('auto',), '34'), (('viscous', 'coulomb', 'sine1', 'cosine1'), '1')]
)
def test_rows_hold_harmonics_that_are_named_or_of_which_a_whole_period_is_seen(friction, orders):
    """Of 2.5 rad the third holds 1.2 periods, the second 0.8."""
    t, q, v, _, tau = turned(0, 0.3, 2.5)
    recording = mujoco_arm.recording(mujoco_arm.joints_of(URDF), t, q, v, tau)
    options = options_class('serial_arm')(mounting='upright', friction=friction)
    data = read_dataset([recording], options, 'serial_arm', URDF)
    columns = data.method.parameters(data.robot, options)
    held = without_unheld_harmonics(data, columns)
    assert {p.law for p in held if harmonic_of(p)} == {
        f'{wave}{order}' for wave in ('sine', 'cosine') for order in orders
    }
    assert [p for p in columns if not harmonic_of(p)] == [p for p in held if not harmonic_of(p)]


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
