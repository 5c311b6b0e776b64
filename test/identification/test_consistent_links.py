"""Consistent links of rigs: known overall mass, bodies behind sensors, their descriptions."""

from dataclasses import replace
import pathlib

import numpy as np
import pytest

from ros_inertial_id.dynamics.inertial_parameters import pseudo_inertia
from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.errors import EstimationError, RobotModelError
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.model.identified_description import description_of
from ros_inertial_id.identification.settings import options_class, robot_of_model
from ros_inertial_id.methods import METHODS
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
    entries = {e['name']: e for e in model.base}
    return np.array([(entries[n]['value'] - t) / entries[n]['standard_error']
                     for n, t in zip(names, truth)])


@pytest.fixture(scope='module')
def rig():
    pytest.importorskip('mujoco', reason='the simulated platform needs mujoco')
    import platform_truth
    return platform_truth


@pytest.fixture(scope='module')
def recordings(rig):
    held = [rig.record(rig.TWO_LINKS, p, 6.0, 600 + k) for k, p in enumerate(rig.POSTURES[1:])]
    return held, [rig.record(rig.TWO_LINKS, rig.LOOSE[0], 6.0, 700, held=False)]


def _identified(rig, recordings, text=None, **changes):
    return identify(recordings, replace(PLATFORM, **changes), method='suspended_platform',
                    urdf=text or rig.description(rig.TWO_LINKS)).model


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


@pytest.fixture(scope='module')
def wrist():
    pytest.importorskip('mujoco', reason='the simulated arm needs mujoco')
    from ros_inertial_id.rigs.simulation.wrist_sensor import WristRig
    rig = WristRig(FRANKA, tuple(f'fr3_joint{i}' for i in range(1, 8)), 'fr3_flange')
    return rig, rig.record(5.0)


def test_principal_moments_alone_are_no_bodies(wrist):
    with pytest.raises(EstimationError, match='all ten'):
        identify([wrist[1]], replace(BODIES, unknowns='principal'), method='rigid_body')


def test_payload_becomes_a_link_of_the_urdf(wrist):
    rig, recording = wrist
    model = identify([recording], BODIES, method='rigid_body').model
    loaded = load_robot_model(described(model))
    difference = loaded.inertias - load_robot_model(FRANKA).inertias
    np.testing.assert_allclose(difference[:6], 0.0, atol=1e-12)
    # fr3_flange is 0.107 m along z from the frame of joint 7.
    m, cx, cy, cz = rig.parameters[:4]
    np.testing.assert_allclose(difference[6, :4], [m, cx, cy, cz + 0.107 * m], rtol=0.01)
    with pytest.raises(RobotModelError, match="'payload' already"):
        urdf_with_payload(loaded.urdf, 'fr3_flange', rig.parameters)
    with pytest.raises(RobotModelError, match="'sensor'.*fr3_flange"):
        urdf_with_payload(FRANKA, 'sensor', rig.parameters)
