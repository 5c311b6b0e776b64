"""Base parameters in lengths: the formulas of the literature, and formulas that hold elsewhere."""

import re
from xml.etree import ElementTree as xml

from mechanisms import inertial, joint, robot
import mujoco_arm
import numpy as np
import pinocchio as pin
import slider_crank_runs

from ros_inertial_id.dynamics.robot_model import load_robot_model
from ros_inertial_id.identification.judge.mounting import structural_base
from ros_inertial_id.identification.model.identified_model import IdentifiedModel
from ros_inertial_id.identification.model.symbolic_groupings import symbolic_groupings
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS

BODY = inertial(1.0, (0.1, 0.02, 0.01), (0.2, 0.1, 0.1))


def model_of(urdf, options, method='serial_arm', gravity=(0.0, 0.0, -9.81)):
    """Return an IdentifiedModel with the base parameters of a structure, and no numbers."""
    own = METHODS[method]
    built = own.build(urdf, options, np.array(gravity))
    parameters = own.parameters(built, options)
    base = structural_base(own, [built], parameters)
    entries = [{'name': n, 'grouping': g} for n, g in zip(base.names(), base.groupings())]
    settings = {name: getattr(options, name) for name in options.__dataclass_fields__}
    return IdentifiedModel(
        method, settings, {'urdf': urdf}, {'gravity_base': [list(gravity)]}, tuple(parameters),
        np.zeros(len(parameters)), entries, np.eye(len(base)), {}, {},
        [{'cutoff': 5.0, 'velocity': 'differentiated'}])


def rows_of(formulas, lengths, names):
    """Return {base parameter: coefficients (p,)} of formulas with lengths given."""
    known = {**lengths, **dict(zip(names, np.eye(len(names))))}
    return {name: eval(re.sub(r'(?<=[\w)]) (?=[\w(])', '*', text).replace('^', '**'), {}, known)
            for name, text in formulas.items()}


def test_a_planar_arm_of_two_links_has_the_groupings_of_the_literature():
    # Khalil and Dombre (2002), ch. 9: the mass of link 2 acts as a point at the end of link 1.
    urdf = robot('planar', joint('one', 'continuous', 'base', 'link1', (0, 0, 0.2), body=BODY),
                 joint('two', 'continuous', 'link1', 'link2', (0.37, 0, 0), body=BODY))
    options = options_class('serial_arm')(friction=('viscous',))
    found = symbolic_groupings(model_of(urdf, options, gravity=(0.0, -9.81, 0.0)))
    assert found.expressions == {'mcxR1': 'mcx1 + l2 m2', 'IzzR1': 'Izz1 + l2^2 m2'}
    assert found.lengths == {'l2': (0.37, 'x of two')}
    assert str(found).splitlines()[-1] == 'l2 = 0.37 m: x of two'


def test_formulas_of_a_spatial_arm_hold_for_an_arm_of_quite_other_lengths():
    urdf = mujoco_arm.description('franka')
    model = model_of(urdf, options_class('serial_arm')(friction=()))
    found = symbolic_groupings(model)
    assert found.expressions['IzzR4'] == (
        'Izz4 + (l3^2 + l4^2) (m5 + m6 + m7) + 2 l4 mcz5 + Iyy5')
    assert {s: x for s, (x, _) in found.lengths.items()} == {
        'l2': 0.316, 'l3': 0.0825, 'l4': 0.384, 'l5': 0.088}

    other = {'l2': 0.41, 'l3': 0.0525, 'l4': 0.273, 'l5': 0.131}
    changed = {found.lengths[s][0]: x for s, x in other.items()}
    tree = xml.fromstring(urdf)
    for origin in tree.findall('joint/origin'):
        numbers = map(float, origin.get('xyz').split())
        origin.set('xyz', ' '.join(str(np.sign(x) * changed.get(abs(x), abs(x)))
                                   for x in numbers))
    names = [p.name for p in model.parameters]
    by_formula = rows_of(found.expressions, other, names)
    K = [by_formula.get(e['name'], np.array([e['grouping'].get(n, 0.0) for n in names]))
         for e in model.base]
    # Whatever changes no base parameter by these formulas changes no torque by pinocchio.
    hidden = np.linalg.svd(np.array(K))[2][len(K):]
    arm = load_robot_model(xml.tostring(tree, encoding='unicode'))
    rng, data = np.random.default_rng(3), arm.pin_model.createData()
    W = np.vstack([pin.computeJointTorqueRegressor(arm.pin_model, data, arm.pin_q(q), v, a)
                   for q, v, a in rng.normal(size=(40, 3, len(arm)))])
    assert np.abs(W @ hidden.T).max() < 1e-9 * np.abs(W).max()


def test_a_slider_crank_has_the_groupings_of_its_energy():
    # By hand: the rod's end moves with w1 l1 + w2 l2, so the slider's mass acts on both bodies.
    found = symbolic_groupings(model_of(slider_crank_runs.URDF, slider_crank_runs.OPTIONS,
                                        'closed_loop'))
    assert found.expressions == {
        'mcxR1': 'mcx1 + l1 (m2 + m3)', 'IzzR1': 'Izz1 + l1^2 (m2 + m3)',
        'mcxR2': 'mcx2 + l2 m3', 'IzzR2': 'Izz2 + l2^2 m3'}
    assert {s: x for s, (x, _) in found.lengths.items()} == {'l1': 0.08, 'l2': 0.25}
