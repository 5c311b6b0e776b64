"""Load data: what is pasted says the load, by the definitions of those who read it."""

from dataclasses import replace
import json
import re

import numpy as np
import pinocchio as pin
import pytest

from ros_inertial_id.procedures.payload import Payload
from ros_inertial_id.report.load_data import load_data, load_lines

MASS, CENTER = 1.5, [0.01, -0.02, 0.1]
INERTIA = np.array([[0.011, 0.001, -0.002], [0.001, 0.012, 0.0], [-0.002, 0.0, 0.008]])
LOAD = Payload(
    'wrist',
    'tool0',
    MASS,
    np.array(CENTER),
    INERTIA,
    0.0,
    np.zeros(3),
    np.zeros((3, 3)),
    np.zeros(10),
    {},
    1.0,
)


def numbers(text):
    """Return the numbers of a text that stand apart from names."""
    return [float(x) for x in re.findall(r'(?<![\w.])-?\d+\.?\d*', text)]


def test_a_robot_that_is_told_by_its_script_knows_the_load():
    pasted = load_data(LOAD)
    elements = INERTIA[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]  # Ixx, Iyy, Izz, Ixy, Ixz, Iyz
    assert numbers(pasted['UR']) == [MASS, *CENTER, *elements]
    assert numbers(pasted['Franka']) == [MASS, *CENTER, *INERTIA.ravel(order='F')]
    desk = json.loads(pasted['Franka Desk'])
    assert desk == {
        'mass': MASS,
        'centerOfMass': CENTER,
        'inertia': INERTIA.ravel('F').tolist(),
        'transformation': np.eye(4).ravel('F').tolist(),
    }
    assert 'tool0 is taken for the flange' in load_lines(LOAD)[0]


@pytest.mark.parametrize('inertia', [INERTIA, -INERTIA + 0.03 * np.eye(3), np.diag([3, 1, 2])])
def test_principal_axes_of_kuka_turn_about_z_then_y_then_x(inertia):
    load = replace(LOAD, inertia=inertia)
    _, mass, *place = numbers(load_data(load)['KUKA'])  # after the number of the tool
    assert [mass, *place[:3]] == [MASS, 10.0, -20.0, 100.0]  # mm
    axes = pin.rpy.rpyToMatrix(*np.radians(place[5:2:-1]))  # Rz Ry Rx
    np.testing.assert_allclose(axes @ np.diag(place[6:]) @ axes.T, inertia, atol=2e-6)
    assert np.all(np.abs(place[3:6]) < 75.0)  # near the flange's, far from where angles jump


def test_a_description_with_the_load_has_its_inertia():
    text = (
        '<robot name="r"><link name="base"/><joint name="j" type="revolute"><parent '
        'link="base"/><child link="tool0"/><axis xyz="0 0 1"/><limit lower="0" upper="1" '
        'effort="1" velocity="1"/></joint><link name="tool0"/>'
    )
    body = pin.buildModelFromXML(f'{text}{load_data(LOAD)["URDF"]}</robot>').inertias[1]
    assert body.mass == MASS
    np.testing.assert_allclose(body.lever, CENTER)
    np.testing.assert_allclose(body.inertia, INERTIA, atol=1e-9)
