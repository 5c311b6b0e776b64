"""What recorded efforts are: torques, their rate, and what may be wrong with them."""

from types import SimpleNamespace

import numpy as np
import pytest

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.measurement.joints.effort_source import EffortSource
from ros_inertial_id.measurement.joints.kinematic_state import SignalOptions

T = np.arange(400) * 0.01
SLOW_SINE = np.stack([np.sin(T), np.cos(2.0 * T)], axis=1)


@pytest.mark.parametrize(
    'options, torque',
    [
        ({'effort_kind': 'link'}, [2.0, 3.0]),
        ({'effort_kind': 'link_negated'}, [-2.0, -3.0]),
        ({'effort_kind': 'motor', 'gear_ratio': (10.0, -5.0)}, [20.0, -15.0]),
        ({'effort_kind': 'current', 'gear_ratio': (10.0, 5.0), 'drive_gain': (0.1,)}, [2.0, 1.5]),
    ],
)
def test_measured_efforts_become_torques_and_may_be_late(options, torque):
    source = EffortSource.of(SignalOptions(**options), 2, np.zeros(2))
    np.testing.assert_allclose(source.torque(np.array([[2.0, 3.0]])), [torque], rtol=1e-12)
    assert source.may_be_late and not source.is_commanded and not source.brakes_only


@pytest.mark.parametrize(
    'damping, limit, brakes_only',
    [((), np.inf, True), ((0.0,), 5.0, True), ((0.0, 3.0), 5.0, False)],
)
def test_commands_become_torques_within_the_limit_of_drives_that_are_known(
    damping, limit, brakes_only
):
    options = SignalOptions(effort_kind='command', stiffness=(100.0,), damping=damping)
    source = EffortSource.of(options, 2, np.array([5.0, 0.0]))
    q, v = np.array([[0.1, 0.1]]), np.array([[0.0, 1.0]])
    torque = source.torque(np.array([[50.0, 50.0]]), q, v)
    np.testing.assert_allclose(torque, [[min(limit, 40.0), 40.0 - sum(damping)]])
    assert source.is_commanded and not source.may_be_late and source.brakes_only == brakes_only
    with pytest.raises(ValueError, match='need the motion'):
        source.torque(np.array([[50.0, 50.0]]))


def test_a_mechanism_with_loops_is_not_commanded():
    options = SignalOptions(effort_kind='command', stiffness=(100.0,))
    with pytest.raises(ConfigError, match='a mechanism with loops'):
        EffortSource.of(options, 2)
    assert not EffortSource.of(options, 0).is_commanded  # nothing drives it


def test_the_rate_is_that_of_what_may_be_late():
    """Of commands alone, not of what measured positions and velocities add."""
    slope = np.stack([np.cos(T), -2.0 * np.sin(2.0 * T)], axis=1)
    inner = slice(10, -10)
    measured = SimpleNamespace(t=T, tau=SLOW_SINE, late=None)
    np.testing.assert_allclose(EffortSource.rate(measured)[inner], slope[inner], atol=4e-3)
    commanded = SimpleNamespace(t=T, tau=7.0 * SLOW_SINE, late=SLOW_SINE)
    np.testing.assert_allclose(EffortSource.rate(commanded)[inner], slope[inner], atol=2e-4)
