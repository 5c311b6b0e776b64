"""What the checkup says it would not see, it does not see; what is larger it names."""

from dataclasses import replace

import mujoco_arm
import numpy as np
import pytest
from recording_faults import late, rebuilt

from ros_inertial_id.checks.check import check
from ros_inertial_id.checks.finding import NOTE
from ros_inertial_id.identification.settings import load_options

OPTIONS = load_options('', 'serial_arm')[1]
JOINT = 1
NAMES = {'delay': 'effort of a joint delayed', 'gain': 'gain of a joint',
         'offset jump': 'effort offset jumps', 'saturation': 'effort saturates'}


def _changed(kind, t, tau, size):
    """Return the torque (N,) of a joint with a change of a size; written without the package."""
    largest = np.abs(tau).max()
    return {'delay': lambda: late(t, tau[:, None], size)[:, 0], 'gain': lambda: (1.0 + size) * tau,
            'offset jump': lambda: tau + size * (t > t.mean()),
            'saturation': lambda: tau * (1.0 - size * (tau / largest) ** 2)}[kind]()


@pytest.fixture(scope='module')
def arm():
    """Return a Recording of a 3R arm with noise and friction that grows with the load and lags."""
    urdf = mujoco_arm.description('arm3')
    names = mujoco_arm.joints_of(urdf)
    t, q, v, a = mujoco_arm.motion(len(names), 20.0, 200.0, seed=2, speed=1.0)
    tau = mujoco_arm.torque(mujoco_arm.true_urdf(urdf, 2), q, v, a)
    rng, size = np.random.default_rng(2), tau.std(0)
    slower = np.array([np.interp(t - 0.05, t, column) for column in v.T]).T
    tau += (0.1 * size + 0.05 * np.abs(tau)) * np.tanh(slower / 0.02) + size * 0.1 * v
    tau += 0.01 * size * rng.standard_normal(tau.shape)
    noisy = (q + 1e-5 * rng.standard_normal(q.shape), v + 1e-3 * rng.standard_normal(v.shape))
    return replace(mujoco_arm.recording(names, t, *noisy, tau, 'upright'),
                   robot_description=urdf)


@pytest.fixture(scope='module')
def sizes(arm):
    """Return {kind: smallest change of one joint} that the clean recording's checkup states."""
    found = check([arm], OPTIONS)
    assert [f.name for f in found.checks if f.severity != NOTE] == []
    assert 'not checked: changes of one effort alone' in found.text()
    return found.to_dict()['smallest_visible'][mujoco_arm.joints_of(arm.robot_description)[JOINT]]


@pytest.mark.parametrize('kind', NAMES)
def test_a_change_is_named_above_the_size_that_is_stated_and_not_far_below(arm, sizes, kind):
    channel = arm.channels['/joint_states']
    t, tau = 1e-9 * (channel.stamp_ns - channel.stamp_ns[0]), channel.fields['effort']
    for share, said in ((1.5, True), (0.4, False)):  # what a change does to others is not counted
        effort = tau.copy()
        effort[:, JOINT] = _changed(kind, t, tau[:, JOINT], share * sizes[kind])
        found = check([rebuilt(arm, effort=effort)], OPTIONS).checks
        assert (NAMES[kind] in [f.name for f in found]) == said, [f.says for f in found]


def test_noise_on_a_joint_hides_delays_of_it_and_of_no_other(arm):
    effort = arm.channels['/joint_states'].fields['effort'].copy()
    effort[:, 2] += 3.0 * effort[:, 2].std() * np.random.default_rng(1).standard_normal(
        len(effort))
    clean, noisy = (check([r], OPTIONS).visible for r in (arm, rebuilt(arm, effort=effort)))
    *others, last = clean
    assert clean[last]['offset jump'] * 2.0 < noisy[last]['offset jump']
    assert noisy[last]['delay'] is None or noisy[last]['delay'] > 2.0 * clean[last]['delay']
    for name in others:
        assert noisy[name]['delay'] < 2.0 * clean[name]['delay']
