"""Consistent links of rigs: known overall mass, bodies behind sensors, their descriptions."""

from dataclasses import replace
import pathlib

import numpy as np
import pytest
import simulated_rigs
import slider_crank_runs as crank
from tolerances import scores_of

from ros_inertial_id.demonstration.simulated_rigs.wrist_sensor import PARAMETERS
from ros_inertial_id.dynamics.inertial_parameters import pseudo_inertia
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import EstimationError, RobotModelError
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import ESTIMATORS, Problem
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.identification.fit.predicting import consistent_links
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.model.identified_description import description_of
from ros_inertial_id.identification.prepare.dataset import Dataset
from ros_inertial_id.identification.settings import options_class, robot_of_model
from ros_inertial_id.methods import METHODS
from ros_inertial_id.methods.capabilities import EstimateOfRows
from ros_inertial_id.rigs.bodies.joints import random_bodies
from ros_inertial_id.rigs.bodies.observation import BodiesState
from ros_inertial_id.rigs.rigid_body.payload_link import urdf_with_payload

rigid_body = METHODS['rigid_body']

GRAVITY = np.array([0.0, 0.0, -9.81])
URDF = pathlib.Path(__file__).parents[2] / 'urdf'
FRANKA = (URDF / 'franka.urdf').read_text()
PLATFORM = replace(options_class('suspended_platform')(), consistent=True)
BODIES = replace(options_class('rigid_body')(), consistent=True)


def described(model):
    """Return the text of the description with the identified numbers."""
    robot = robot_of_model(model, GRAVITY)
    return description_of(model, robot)[0]


def _smallest(links):
    """Return the smallest eigenvalue of any pseudo-inertia of {link: ten parameters}."""
    return min(np.linalg.eigvalsh(pseudo_inertia(ten))[0] for ten in links.values())


def _errors(model, truth, names):
    """Return how many standard errors each base parameter of a consistent model is off."""
    return scores_of(model.base, dict(zip(names, truth)))


@pytest.fixture(scope='module')
def rig():
    import platform_truth

    return platform_truth


@pytest.fixture(scope='module')
def recordings(rig):
    held = [rig.record(rig.TWO_LINKS, p, 4.0, 600 + k) for k, p in enumerate(rig.POSTURES[1:])]
    return held, [rig.record(rig.TWO_LINKS, rig.LOOSE[0], 4.0, 700, held=False)]


def _identified(rig, recordings, text=None, **changes):
    return identify(
        recordings,
        replace(PLATFORM, **changes),
        method='suspended_platform',
        urdf=text or rig.description(rig.TWO_LINKS),
    ).model


def test_links_of_a_platform_can_exist_and_weigh_what_is_known(rig, recordings):
    model = _identified(rig, [*recordings[0], *recordings[1]])
    told = model.statistics['consistent']
    assert list(told['links']) == ['link0', 'link1']
    assert _smallest(told['links']) > 0.0
    assert sum(ten[0] for ten in told['links'].values()) == pytest.approx(80.817, abs=1e-9)
    assert 0.0 <= told['loss_percent'] < 0.5  # true bodies explain the data as well
    names = [e['name'] for e in model.base if e['unit'] in ('kg m', 'kg m^2')]
    z = _errors(model, [t for _, _, t in rig.truth(model, rig.TWO_LINKS)], names)
    assert len(z) == 18 and abs(z).max() < 3.0


def _two_bodies(noise, seed=0, samples=300):
    """Return (columns, Problem, truth (20,)) of the shipped chain under random motion."""
    text = (URDF / 'two_bodies.yaml').read_text()
    options = replace(BODIES, sensor_bias=False)
    rig = METHODS['rigid_body'].build(text, options, GRAVITY)
    rng = np.random.default_rng(seed)
    bodies = random_bodies(rig.joints, samples, rng, rig.gravity_base)
    # A rod-like and a plate-like body: smallest second moments a fiftieth of the largest.
    truth = []
    for mass, second in ((3.0, [0.05, 0.001, 0.001]), (1.5, [0.02, 0.02, 0.0004])):
        c = rng.normal(size=3) * 0.05
        S = np.diag(second) + mass * np.outer(c, c)
        inertia = np.trace(S) * np.eye(3) - S
        truth += [mass, *(mass * c), *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]
    none = np.zeros((samples, 6))
    state = BodiesState(np.arange(float(samples)), 0, bodies, none, none)
    columns = rigid_body.parameters(rig, options)
    factors, clean = RFactors(20), RFactors(20)
    for block in rigid_body.regress(state, rig, columns):
        clean.accumulate(block, np.arange(20))
        groups = []
        for g in block.groups:
            y = g.W @ np.array(truth)[g.columns] + noise * rng.normal(size=len(block.t))
            groups.append(replace(g, y=y, y_raw=y))
        factors.accumulate(replace(block, groups=tuple(groups)), np.arange(20))
    base = find_base_parameters(clean.system()[0], columns)
    return rig, Problem(factors.select(base.independent), base, {}), np.array(truth)


def test_bodies_of_a_chain_can_exist_though_noise_would_have_them_impossible():
    rig, problem, truth = _two_bodies(noise=1.0)
    free = ESTIMATORS['weighted'](problem)
    base = problem.base
    found = consistent_links(
        Dataset(METHODS['rigid_body'], (rig,), (), BODIES), problem, EstimateOfRows(free)
    )
    told = found.entry
    assert list(told['links']) == ['upper', 'lower'] and _smallest(told['links']) > 0.0
    assert 0.0 <= told['loss_percent'] < 5.0
    z = (found.estimate.params - base.reduce(truth)) / found.estimate.bse
    # Unconstrained they are normal; bounds on true bodies only pull closer.
    assert np.sqrt((z**2).mean()) < 1.5 and abs(z).max() < 4.0


@pytest.fixture(scope='module')
def wrist():
    return simulated_rigs.wrist(FRANKA, 3.0)


def test_principal_moments_alone_are_no_bodies(wrist):
    with pytest.raises(EstimationError, match='all ten'):
        identify([wrist], replace(BODIES, unknowns='principal'), method='rigid_body')


def test_payload_becomes_a_link_of_the_urdf(wrist):
    model = identify([wrist], BODIES, method='rigid_body').model
    loaded = load_robot_model(described(model))
    difference = loaded.inertias - load_robot_model(FRANKA).inertias
    np.testing.assert_allclose(difference[:6], 0.0, atol=1e-12)
    # fr3_flange is 0.107 m along z from the frame of joint 7.
    m, cx, cy, cz = PARAMETERS[:4]
    np.testing.assert_allclose(difference[6, :4], [m, cx, cy, cz + 0.107 * m], rtol=0.01)
    with pytest.raises(RobotModelError, match="'payload' already"):
        urdf_with_payload(loaded.urdf, 'fr3_flange', PARAMETERS)
    with pytest.raises(RobotModelError, match="'sensor'.*fr3_flange"):
        urdf_with_payload(FRANKA, 'sensor', PARAMETERS)


def test_slider_crank_is_of_matter():
    model = crank.slider_crank([crank.recording(seed=0)], cutoff=10.0, consistent=True)
    told = model.statistics['consistent']
    assert _smallest(told['links']) > 0.0
    value = {e['name']: e['value'] for e in model.base}
    # Limit of the prior's pull in six parameters of two thousand rows.
    assert 0.0 <= told['loss_percent'] < 1.0
    for name in crank.oracle.FOUR:
        assert value[name] == pytest.approx(crank.oracle.BASE[name], rel=0.02)
