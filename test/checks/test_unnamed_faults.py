"""Test that faults without a name leave a model that nobody calls good."""

import mujoco_arm
import numpy as np
import pytest
from recording_faults import columns, rebuilt

import ros_inertial_id as rid
from ros_inertial_id.checks.finding import DO_NOT_USE, DOUBTFUL, GOOD, NOTE, USABLE


def _verdict(recording):
    return rid.identify(recording).identification.model.statistics['verdict']


def _saturated(recording, share=0.3):
    _, _, _, _, _, tau = columns(recording)
    tau[:, 1] *= 1.0 - share * (tau[:, 1] / np.abs(tau[:, 1]).max()) ** 2
    return rebuilt(recording, effort=tau)


def _a_little_saturated(recording):
    return _saturated(recording, 0.1)


def _leant_on(recording):
    _, _, t, _, _, tau = columns(recording)
    push = np.sin(np.pi * np.clip((t / t[-1] - 0.4) / 0.3, 0.0, 1.0))
    tau[:, :2] += 0.3 * push[:, None] * tau[:, :2].std(0)
    return rebuilt(recording, effort=tau)


def _shaken(recording):
    # A base that is thrown about turns gravity: the weights of all links pull sideways.
    _, _, t, _, _, tau = columns(recording)
    tau += np.sin(6.0 * np.pi * t)[:, None] * 0.3 * tau.std(0)
    return rebuilt(recording, effort=tau)


def _played(recording):
    _, _, t, q, v, tau = columns(recording)
    side = np.tanh(tau[:, 0] / (0.05 * tau[:, 0].std()))  # of the gap that the gear lies on
    q[:, 0] += 3e-3 * side
    v[:, 0] += 3e-3 * np.gradient(side, t)
    return rebuilt(recording, position=q, velocity=v)


@pytest.mark.parametrize(
    'fault',
    [
        _saturated,
        _a_little_saturated,
        _leant_on,
        _shaken,
        _played,
    ],
)
def test_what_the_model_lacks_is_said_though_it_has_no_name(arm, fault):
    verdict = _verdict(fault(arm))
    assert verdict['word'] in (USABLE, DO_NOT_USE)
    assert any(
        'systematic' in reason or 'relative residual' in reason for reason in verdict['reasons']
    )


@pytest.mark.parametrize('noise', [0.02, 0.1])
def test_noise_of_the_efforts_is_not_systematic(arm, noise):
    _, _, _, _, _, tau = columns(arm)
    tau += noise * tau.std(0) * np.random.default_rng(1).standard_normal(tau.shape)
    assert _verdict(rebuilt(arm, effort=tau))['word'] == GOOD


@pytest.mark.parametrize(
    'factor, words', [(1.7, [(NOTE, GOOD)]), (2.0, [(DOUBTFUL, USABLE)]), (1.0, [])]
)
def test_what_is_wrong_with_all_torques_alike_is_said_though_they_predict(factor, words):
    arm = mujoco_arm.recorded('arm2', 5)
    tau = columns(arm)[-1]
    checked = rid.check(rebuilt(arm, effort=factor * tau))
    assert [(f.severity, checked.verdict.word) for f in checked.checks] == words
    assert all('times as large as described' in f.says for f in checked.checks)
