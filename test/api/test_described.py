"""A description as a model, results that are pickled, and what stands for a recording."""

from dataclasses import replace
import pickle

import numpy as np
import pinocchio as pin
import pytest

import ros_inertial_id as rid


@pytest.fixture(scope='module')
def described(arm3):
    return rid.Model.from_description(arm3[0], mounting='rpy 0.3 0 0')


def test_a_description_predicts_what_pinocchio_computes_from_it(arm3, described):
    model = pin.buildModelFromXML(arm3[0])
    model.gravity.linear, data = described.gravity_base, model.createData()
    q, v, a = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 20, model.nv))
    rigid = np.array([pin.rnea(model, data, *x) for x in zip(q, v, a)])
    friction = model.damping * v + model.friction * np.sign(v)
    np.testing.assert_allclose(described.torque(q, v, a), rigid + friction, atol=1e-12)
    mass = np.array([pin.crba(model, data, x) for x in q])
    np.testing.assert_allclose(described.mass_matrix(q), mass, atol=1e-12)


def test_a_description_is_compared_with_an_identified_model(described, result, bags):
    """The true arm has other inertias than its description: the identified one predicts better."""
    found = rid.compare([described, result], bags[1])
    by_description, identified = (fit['relative_percent'] for fit in found.fits.values())
    assert identified < 0.2 * by_description


def test_what_was_not_identified_is_not_saved(described, tmp_path):
    with pytest.raises(rid.EstimationError, match='identify from a recording first'):
        described.save(tmp_path / 'model.yaml')
    assert 'as described' in repr(described)


def test_a_description_without_inertias_is_refused(arm3):
    bare = arm3[0].replace('<inertial>', '<!--').replace('</inertial>', '-->')
    with pytest.raises(rid.RobotModelError, match='links without inertia'):
        rid.Model.from_description(bare)


def test_a_spring_that_pushes_is_said_and_not_written(result, tmp_path):
    identified = result.model.identified
    k = next(k for k, p in enumerate(identified.parameters) if p.law == 'viscous')
    stiff = replace(identified.parameters[k], law='spring', unit='N m/rad')
    for value, written in ((0.5, True), (-0.5, False)):
        values = identified.values.copy()
        values[k] = value
        model = rid.Model(
            replace(
                identified,
                values=values,
                parameters=(*identified.parameters[:k], stiff, *identified.parameters[k + 1 :]),
            ),
            result.model.gravity_base,
        )
        lines = model.to_mjcf(tmp_path / 'arm.xml')
        assert ('stiffness=' in (tmp_path / 'arm.xml').read_text()) is written
        assert any(line.startswith('fv1 = -0.5 N m/rad (spring') for line in lines) is not written


def test_a_result_is_pickled_after_it_was_used(result):
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 5, 3))
    tau = result.model.torque(q, v, a)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.model.torque(q, v, a), tau)
    model = result.model
    model.torque(q, v, a)  # what is cached needs no pickle
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).torque(q, v, a), tau)
