"""Statistics of residuals, against numpy on all samples at once."""

import numpy as np
import pytest

from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.estimation.residuals import Residuals

JOINTS = ('a', 'b')


def blocks(rng, sizes):
    """Return [(RegressorBlock without columns, {joint: prediction})] of random torques."""
    out = []
    for size in sizes:
        groups, predicted = [], {}
        for scale, name in enumerate(JOINTS, 1):
            y = scale * rng.normal(size=size)
            groups.append(
                RowGroup(
                    name,
                    'N m',
                    np.zeros(0, int),
                    np.zeros((size, 0)),
                    y,
                    y + rng.normal(size=size),
                )
            )
            predicted[name] = y + 0.1 * scale * rng.normal(size=size)
        out.append((RegressorBlock(0.01 * np.arange(size), 0, tuple(groups)), predicted))
    return out


def series(parts, joint, raw=False):
    """Return (residual, target) of a joint over blocks."""
    at = JOINTS.index(joint)
    target = np.concatenate([(b.groups[at].y_raw if raw else b.groups[at].y) for b, _ in parts])
    return target - np.concatenate([p[joint] for _, p in parts]), target


def added(parts, residuals=None):
    residuals = residuals or Residuals()
    for block, predicted in parts:
        residuals.add(block, predicted)
    return residuals


@pytest.mark.parametrize('raw', [False, True])
def test_summary_is_that_of_all_samples(raw):
    parts = blocks(np.random.default_rng(0), (40, 1, 100))
    found = added(parts).summary()['raw' if raw else 'filtered']
    both = [series(parts, joint, raw) for joint in JOINTS]
    assert found['samples'] == 141
    for joint, (error, target) in zip(JOINTS, both):
        assert found['rms'][joint] == pytest.approx(np.sqrt(np.mean(error**2)))
        assert found['measured_rms'][joint] == pytest.approx(np.sqrt(np.mean(target**2)))
    error, target = (np.concatenate(x) for x in zip(*both))
    assert found['rms_all'] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert found['relative_percent'] == pytest.approx(
        100.0 * np.linalg.norm(error) / np.linalg.norm(target)
    )


def test_correlation_fades_with_what_showed_it():
    rng = np.random.default_rng(2)
    slow = [
        np.convolve(rng.normal(size=5019), np.ones(20), 'valid') / np.sqrt(20.0) for _ in range(20)
    ]  # integrated time 20 samples
    white = rng.normal(size=5000)

    def block(error):
        return RegressorBlock(
            np.arange(5000) * 0.01,
            0,
            (RowGroup('a', 'N m', np.zeros(0, int), np.zeros((5000, 0)), error, error),),
        ), {'a': 0 * error}

    residuals = added([block(error) for error in slow])
    assert residuals.correlation()['a'] == pytest.approx(20.0, rel=0.25)
    residuals.fade(1e-4)
    # A 500th of it is left beside the white one.
    assert added([block(white)], residuals).correlation()['a'] < 1.5
