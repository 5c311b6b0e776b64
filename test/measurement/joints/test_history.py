"""History: what friction with a memory needs of the way before, and no more."""

from dataclasses import replace

import numpy as np
import pytest

from ros_inertial_id.dynamics.friction import friction_column, friction_parameters
from ros_inertial_id.measurement.joints import kinematic_state
from ros_inertial_id.measurement.joints.kinematic_state import (
    History,
    LONGEST_HISTORY,
    SignalOptions,
)
from ros_inertial_id.measurement.joints.observation import observe_joints


def dahl(q, v, distance):
    """Return Dahl's state sample by sample, d z / d s = (+-1 - z) / distance; q, v (N, n)."""
    z = [np.zeros(q.shape[1])]
    for step, rate in zip(np.diff(q, axis=0), v[1:]):
        towards = np.sign(np.where(rate == 0.0, step, rate))
        z.append(towards + (z[-1] - towards) * np.exp(-np.abs(step) / distance))
    return np.array(z)


def column(q, v, distance):
    (law,) = friction_parameters(1, 'j', ('presliding',), 10.0, {'presliding': (distance,)})
    return friction_column(law, q, v, np.zeros_like(q))


def test_history_of_a_trembling_joint_is_bounded_and_keeps_its_friction():
    rng = np.random.default_rng(1)
    there = np.concatenate([np.linspace(0.0, 0.3, 100), np.linspace(0.3, 0.2, 20)])
    q = np.concatenate([there, there[-1] + 2e-7 * rng.normal(size=20000)])[:, None]
    history = History.none(1)
    for part in np.array_split(q, 400):
        history = history.extended(part, np.zeros_like(part))
        assert len(history.q) <= LONGEST_HISTORY
    for distance in (0.01, 0.1):
        z = column(history.q[:, 0], history.v[:, 0], distance)[-1]
        # It stays where the motion left it: what is kept of the noise is 0.2 mm of way.
        assert z == pytest.approx(
            dahl(there[:, None], 0 * there[:, None], distance)[-1, 0], abs=0.03
        )


@pytest.mark.parametrize('velocity', ['measured', 'differentiated'])
def test_states_of_pieces_of_any_size_have_the_same_friction(
    arm3_recording, monkeypatch, velocity
):
    names = arm3_recording.channels['/joint_states'].names
    options = replace(SignalOptions(cutoff=20.0), velocity=velocity)

    def filtered(piece):
        monkeypatch.setattr(kinematic_state, 'SAMPLES_OF_STATE', piece)
        return np.concatenate(
            [
                s.filtered(lambda q, v, a: [dahl(q, v, 0.3)])[0]
                for s in observe_joints(arm3_recording, names, options).states()
            ]
        )

    np.testing.assert_allclose(filtered(700), filtered(10**6), atol=1e-6)
