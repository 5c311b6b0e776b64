"""Drives alone: links stay as described, and what that leaves in the drives is in their errors."""

import numpy as np
import pytest
import servo_arms

import ros_inertial_id as rid
from ros_inertial_id.errors import ConfigError


@pytest.fixture(scope='module')
def servos():
    return servo_arms.servos('arm3', 1)


def _identified(servos, **options):
    return rid.identify(
        servo_arms.recorded(servos, 1, 12.0),
        effort_kind='command',
        stiffness=list(servos.stiffness),
        damping=list(servos.damping),
        friction=['viscous', 'coulomb', 'armature'],
        **options,
    ).model


def _scores(servos, model, errors):
    """Return {name: error of a number of the drives, in its ``errors``}."""
    truth, scores = servos.truth(), {}
    for entry in model.identified.base:
        if entry['determined'] and set(entry['grouping']) <= set(truth):
            true = sum(c * truth[name] for name, c in entry['grouping'].items())
            scores[entry['name']] = (entry['value'] - true) / entry[errors]
    return scores


def test_links_stay_and_the_errors_of_drives_hold_what_the_description_is_off(servos):
    """Its masses, centres and inertias are off by up to 20, 20 and 10 %."""
    model = _identified(servos, links=['described'])
    for parameter, value in zip(model.identified.parameters, model.identified.values):
        if not parameter.law:
            assert value == pytest.approx(parameter.nominal, abs=1e-5 * parameter.scale)
    combined = _scores(servos, model, 'combined_error')
    assert {'fv1', 'fc1', 'fv2', 'fc2', 'fv3', 'fc3', 'Ia3'} <= set(combined)
    assert np.abs(list(combined.values())).max() < 2.0
    assert model.budget['described links'].max() > 0.0


def test_some_links_may_stay_by_name(servos):
    model = _identified(servos, links=['*3'])
    moved = {}
    for parameter, value in zip(model.identified.parameters, model.identified.values):
        if not parameter.law:
            change = abs(value - parameter.nominal)
            moved[parameter.owner] = max(moved.get(parameter.owner, 0.0), change)
    assert moved['link3'] < 1e-4 < moved['link2']


def test_links_that_are_not_there_are_named(servos):
    with pytest.raises(ConfigError, match='option links.*calf.*link1, link2, link3'):
        _identified(servos, links=['*calf'])
    with pytest.raises(ConfigError, match='unconstrained'):
        _identified(servos, links=['described'], unconstrained=True)
