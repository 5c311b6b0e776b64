"""What a live residual says of its cause: efforts that are late, of another gain, or off."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="node tests need rclpy: pip install '.[ros]'")

from ros_inertial_id.methods.contract import LiveTorques  # noqa: E402
from ros_inertial_id.nodes.prediction_health import PredictionHealth  # noqa: E402

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
        health.account(LiveTorques(('elbow', 'wrist'), torque(part), seen - torque(part), seen),
                       part)
    return health.report()


def only_elbow(change):
    def measured(t):
        tau = torque(t)
        tau[:, 0] = change(t, tau[:, 0])
        return tau
    return measured


def test_noise_as_promised_is_no_fault():
    level, words, _ = told(torque)
    assert (level, words) == ('ok', 'as promised')


@pytest.mark.parametrize('change, words', [
    (lambda t, tau: torque(t - 0.04)[:, 0], 'elbow, effort 40 ms late'),
    (lambda t, tau: torque(t + 0.03)[:, 0], 'elbow, effort 30 ms early'),
    (lambda t, tau: -tau, 'elbow, effort negated'),
    (lambda t, tau: 1.3 * tau, 'elbow, effort 1.3 times what is predicted'),
    (lambda t, tau: tau + 2.0, 'elbow, effort off by 2'),
], ids=['late', 'early', 'negated', 'gain', 'offset'])
@pytest.mark.parametrize('batch', [20, 1])
def test_the_cause_of_a_residual_is_named(change, words, batch):
    level, said, _ = told(only_elbow(change), batch=batch)
    assert level == 'warn' and 'beyond the promise for a second' in said
    joint, what = words.split(', ')
    assert f'{joint}, {what[:6]}' in said and 'wrist' not in said
    number = [float(w) for w in what.split() if w.replace('.', '').isdigit()]
    found = [float(w) for w in said.split(f'{joint}, ')[1].split() if w.replace('.', '').isdigit()]
    assert found == pytest.approx(number, rel=0.15)
    assert what.split()[-1] == said.split()[-1] or found


def test_a_push_of_half_a_second_is_no_fault():
    def measured(t):
        return torque(t) + 5.0 * ((t > 5.0) & (t < 5.5))[:, None]

    assert 'for a second' not in told(measured)[1]
