"""Mechanisms that no motor moves: torques of zero are measurements."""

import numpy as np
import pytest
import slider_crank_lagrangian as oracle
from slider_crank_runs import slider_crank, URDF, values

from ros_inertial_id.errors import ConfigError, RecordingError


def test_zero_torque_is_a_measurement_where_gravity_alone_moves_it():
    """A free swing shows all ratios, and one known base parameter their size."""
    t = np.arange(0.0, 5.0, 2e-3)
    z = oracle.free_motion(t, (0.9, 4.0))
    z = z + 1e-4 * np.random.default_rng(0).standard_normal(len(t))
    r = oracle.encoder_recording(t, z, np.full_like(t, np.nan), URDF)
    options = {'cutoff': 30.0, 'actuated': ('none',)}
    model = slider_crank([r], known=(f'mcxR1 {oracle.BASE["mcxR1"]}',), **options)
    error = values(model, 'standard_error')
    for name, value in values(model).items():
        assert abs(value - oracle.BASE[name]) < 4.0 * error[name]
    assert error['IzzR1'] < 0.02 * oracle.BASE['IzzR1']
    chosen = slider_crank([r], known=(f'mcxR1 {oracle.BASE["mcxR1"]}',), actuated=('none',))
    error = values(chosen, 'standard_error')
    assert all(
        abs(value - oracle.BASE[name]) < 4.0 * error[name]
        for name, value in values(chosen).items()
    )
    with pytest.raises(RecordingError, match='record longer, or raise cutoff'):
        slider_crank([r], **{**options, 'cutoff': 1.0}, known=('mcxR1 0.04',))
    with pytest.raises(ConfigError, match='only ratios'):
        slider_crank([r], **options)


def test_a_fast_free_swing_at_a_low_rate_is_not_biased_by_the_filter():
    """The cutoff is a quarter of the rate: a kernel that ended early made this 20 errors wrong."""
    t = np.arange(0.0, 10.0, 4e-3)
    z = oracle.free_motion(t, (0.51, 4.18)) + 1e-4 * np.random.default_rng(3).standard_normal(2500)
    model = slider_crank(
        [oracle.encoder_recording(t, z, np.full_like(t, np.nan), URDF)],
        actuated=('none',),
        known=(f'mcxR1 {oracle.BASE["mcxR1"]}',),
    )
    error = values(model, 'standard_error')
    for name, value in values(model).items():
        assert abs(value - oracle.BASE[name]) < 3.0 * error[name]
        assert oracle.BASE[name] == 0.0 or error[name] < 0.01 * oracle.BASE[name]
