"""Elastic joints with encoders on both sides, against springs of MuJoCo between rotor and link."""

import elastic_arm
import numpy as np
import pytest
from tolerances import scores

from ros_inertial_id.errors import ConfigError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS

LINES = tuple(map(' '.join, zip(elastic_arm.JOINTS, elastic_arm.MOTORS)))
FRICTION = tuple(f'{motor} viscous coulomb armature' for motor in elastic_arm.MOTORS)


def options(lines=LINES):
    return options_class('closed_loop')(elastic_joints=lines, friction=FRICTION)


def test_stiffness_damping_rotors_and_friction_are_found_within_their_errors():
    model = identify([elastic_arm.recording(2, 10.0)], options(), method='closed_loop').model
    truth = elastic_arm.truth()
    z = scores(model.base, truth)
    # Six of the links, three of each motor, two of each spring, correlated, of one seed.
    assert len(z) == model.statistics['rank'] == 16
    assert np.abs(list(z.values())).max() < 3.5
    found = {e['name']: e for e in model.base}
    for name, sure in (('ke1', 0.002), ('ke2', 0.002), ('Ia3', 0.01), ('fv3', 0.02)):
        assert found[name]['value'] == pytest.approx(truth[name], rel=sure)
        assert found[name]['standard_error'] < sure * truth[name]


@pytest.mark.parametrize(
    'lines', [('upper',), ('upper lower',), ('wrist motor',), ('upper motor', 'lower motor')]
)
def test_lines_that_mean_nothing_are_refused(lines):
    with pytest.raises(ConfigError, match='elastic_joints.*"JOINT MOTOR"'):
        METHODS['closed_loop'].build(elastic_arm.urdf(), options(lines), np.zeros(3))
