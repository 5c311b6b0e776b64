"""A live residual beyond that of the model is named."""

import numpy as np
import pytest

from ros_inertial_id.methods.contract import LiveTorques
from ros_inertial_id.nodes.prediction_health import PredictionHealth

RATE = 1000.0


class Model:
    """What of an IdentifiedModel is looked at."""

    validity_range: dict = {}
    statistics = {'training': {'filtered': {'rms': {'elbow': 0.1, 'wrist': 0.1}}}}


def torque(t):
    return np.stack([8.0 * np.sin(3.0 * t) + 3.0 * np.cos(7.0 * t), 2.0 * np.sin(5.0 * t)], 1)


def told(measured, seconds=6.0, batch=20):
    """Return what is reported of the efforts measured(t) (N, 2) of two joints."""
    health, rng = PredictionHealth(Model()), np.random.default_rng(0)
    t = np.arange(0.0, seconds, 1.0 / RATE)
    for part in np.array_split(t, len(t) // batch):
        seen = measured(part) + 0.05 * rng.normal(size=(len(part), 2))
        health.account(
            LiveTorques(('elbow', 'wrist'), torque(part), seen - torque(part), seen), part, {}
        )
    return health.report()


def only_elbow(change):
    def measured(t):
        tau = torque(t)
        tau[:, 0] = change(t, tau[:, 0])
        return tau

    return measured


def test_noise_as_in_the_training_is_no_fault():
    level, words, _ = told(torque)
    assert (level, words) == ('ok', 'predicting; residual RMS as that of the model')


@pytest.mark.parametrize(
    'change',
    [lambda t, tau: torque(t - 0.04)[:, 0], lambda t, tau: -tau, lambda t, tau: tau + 2.0],
    ids=['late', 'negated', 'offset'],
)
@pytest.mark.parametrize('batch', [20, 1])
def test_the_joint_of_a_residual_that_lasts_is_named(change, batch):
    level, said, _ = told(only_elbow(change), batch=batch)
    assert level == 'warn' and said.endswith(' times that of the model: elbow')


@pytest.mark.parametrize('quiet', [5.0, 20.0])
def test_a_residual_that_has_ceased_is_forgotten_by_its_share_of_ten_seconds(quiet):
    """2 N m for a minute, then nothing: of the mean square exp(-t / 10 s) is left."""
    health = PredictionHealth(Model())
    for t in np.arange(0.0, 60.0 + quiet, 0.02):
        residual = np.array([[2.0 if t < 60.0 else 0.0, 0.0]])
        health.account(
            LiveTorques(('elbow', 'wrist'), 0.0 * residual, residual, residual), np.array([t]), {}
        )
    rms = float(health.report()[2]['elbow rms'])
    # A minute is known to exp(-6), a step of 20 ms to a thousandth.
    assert rms == pytest.approx(2.0 * np.exp(-0.5 * quiet / 10.0), rel=0.01)


def test_a_residual_that_is_known_now_and_then_counts_as_what_it_is():
    """Efforts are missing in every other batch: the others say 1 N m, not the root of a half."""
    health = PredictionHealth(Model())
    for number, t in enumerate(np.arange(0.0, 60.0, 0.02)):
        residual = np.array([[1.0 if number % 2 else np.nan, 1.0]])
        health.account(
            LiveTorques(('elbow', 'wrist'), 0.0 * residual, residual, residual), np.array([t]), {}
        )
    _, _, values = health.report()
    assert values['elbow rms'] == values['wrist rms'] == '1'
