"""Of exchanged effort columns only those are named that the evidence demands."""

from types import SimpleNamespace

import numpy as np

from ros_inertial_id.checks.efforts import _needed


def evidence_of(worth):
    """Return an Evidence in which every cycle of an order is worth so many nats: {start: nats}."""
    def fit(target):
        return SimpleNamespace(evidence=sum(
            nats for start, nats in worth.items() if target[start] != start))
    return SimpleNamespace(hypothesis=lambda target: target, fit=fit)


def test_a_cycle_of_small_joints_needs_evidence_of_its_own():
    target = np.array([1, 0, 2, 4, 5, 3])
    for doubtful, kept in ((17.0, [1, 0, 2, 3, 4, 5]), (46.0, target)):
        evidence = evidence_of({0: 286.0, 3: doubtful})
        found, fit = _needed(evidence, target, evidence.fit(target))
        np.testing.assert_array_equal(found, kept)
        assert fit.evidence == evidence.fit(found).evidence
