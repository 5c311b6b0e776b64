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


@pytest.mark.parametrize('stiffness, held_by', [(0.5, 'springref='), (-0.5, 'biasprm=')])
def test_a_spring_and_its_offset_are_written_whichever_way_it_pushes(
    result, tmp_path, stiffness, held_by
):
    identified = result.model.identified
    k = next(k for k, p in enumerate(identified.parameters) if p.law == 'viscous')
    spring = replace(identified.parameters[k], law='spring', unit='N m/rad')
    values = identified.values.copy()
    values[k] = stiffness
    parameters = (*identified.parameters[:k], spring, *identified.parameters[k + 1 :])
    changed = replace(identified, values=values, parameters=parameters, provenance={})
    model = rid.Model(changed, result.model.gravity_base)
    written = model.export('mujoco', tmp_path / 'arm.xml')
    assert held_by in (tmp_path / 'arm.xml').read_text()
    assert not any('spring' in line for line in written.not_held)


def test_a_result_is_pickled_after_it_was_used(result):
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 5, 3))
    tau = result.model.torque(q, v, a)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.model.torque(q, v, a), tau)
    model = result.model
    model.torque(q, v, a)  # what is cached needs no pickle
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).torque(q, v, a), tau)
