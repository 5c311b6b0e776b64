"""A passive joint among the independent ones: its torque is known to be zero."""

import furuta
import numpy as np
import pytest
from series_elastic import PASSIVE, recording, TRUE
from tolerances import scores_of

import ros_inertial_id as rid
from ros_inertial_id.errors import RecordingError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class


def test_rows_without_torque_weigh_what_their_noise_is():
    stated = {}
    for estimator in ('ridge', 'weighted'):
        options = options_class('closed_loop')(estimator=estimator, **PASSIVE)
        model = identify([recording(3)], options, method='closed_loop').model
        found = {entry['name']: entry for entry in model.base}
        stated[estimator] = np.array([found[name]['standard_error'] for name in TRUE])
        # One seed of which most errors are one direction; ten seeds: rms 0.81 and 0.83.  Weighted
        # by what is left of zero torques without the motion's noise these were 18.
        assert np.abs(scores_of(model.base, TRUE)).max() < 4.0
        for name, true in TRUE.items():
            assert found[name]['value'] == pytest.approx(true, rel=0.005)
    # Consistent bodies counted the motion's noise twice: errors 2 to 7 times those of free ones.
    np.testing.assert_allclose(stated['ridge'], stated['weighted'], rtol=0.3)


def test_an_arm_with_a_passive_joint_is_told_the_line_to_write():
    line = r'closed_loop: \{independent: \[motor, flex\], actuated: \[motor\]\}'
    with pytest.raises(RecordingError, match=line):
        rid.identify(recording(3, 1.0))


def test_a_furuta_pendulum_is_led_to_actuated_and_found():
    made = furuta.recording(1)
    line = r'{independent: \[arm, pendulum\], actuated: \[arm\]}'
    first = f'; if no motor moves pendulum .*{line}.*, or lock'
    with pytest.raises(RecordingError, match=first):
        rid.identify(made)
    model = rid.identify(
        made,
        method='closed_loop',
        independent=('arm', 'pendulum'),
        actuated=('arm',),
        friction=('arm viscous', 'pendulum viscous'),
    ).identification.model
    found = {entry['expression']: entry for entry in model.base}
    for expression, true in furuta.TRUE.items():
        entry = found[expression]
        assert abs(entry['value'] - true) < 4.0 * entry['standard_error']
        assert entry['standard_error'] < 0.03 * abs(true)
