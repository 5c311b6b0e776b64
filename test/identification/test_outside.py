"""What a validation does outside of the training's range is counted there and nowhere else."""

import numpy as np
import pytest

from ros_inertial_id.dynamics.regressor import RegressorBlock, RowGroup
from ros_inertial_id.identification.judge.validation import Outside


def _block(errors):
    groups = tuple(RowGroup(name, 'N m', np.array([0]), np.zeros((len(e), 1)), 1.0 + e, 1.0 + e)
                   for name, e in errors.items())
    return RegressorBlock(np.arange(4.0), 0, groups)


def test_errors_are_counted_where_they_are():
    outside = Outside({'a': {'v': [-1.0, 1.0]}, 'b': {'v': [-1.0, 1.0]}})
    seen = {'a': {'v': np.array([0.0, 0.5, 2.0, 3.0])}, 'b': {'v': np.zeros(4)}}
    errors = {'a': np.array([0.1, 0.1, 0.5, 0.5]), 'b': np.full(4, 0.2)}
    outside.add(_block(errors), {name: np.ones(4) for name in errors}, outside.mask(seen))
    found = outside.summary()
    assert found['joints'] == {'a': {'v': {'trained': [-1.0, 1.0], 'seen': [0.0, 3.0],
                                           'samples_percent': 50.0}}}
    assert found['samples_percent'] == 50.0
    assert found['rms'] == {'a': {'inside': pytest.approx(0.1), 'outside': pytest.approx(0.5)}}
    there = np.sqrt(2 * (0.5 ** 2 + 0.2 ** 2) / (2 * (1.5 ** 2 + 1.2 ** 2)))
    assert found['relative_percent_outside'] == pytest.approx(100 * there)
