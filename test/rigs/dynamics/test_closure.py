"""Loop closures: geometry, rates, power and dynamics against oracles that know nothing of us."""

import ast
from dataclasses import replace
import re

from machines import GRAVITY, machine, MACHINES, text
import mechanisms
import numpy as np
import pinocchio as pin
import pytest
import slider_crank_lagrangian as oracle

from ros_inertial_id.dynamics.body_motion import energy_rows
from ros_inertial_id.errors import ConfigError, InertialIdError, RobotModelError
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.closed_loop.state import projected_rows
from ros_inertial_id.rigs.dynamics.assembly import mechanism_from_options
from ros_inertial_id.rigs.dynamics.continuation import Continuation, guard, random_walk
from ros_inertial_id.rigs.dynamics.mechanism import MechanismOptions

closed_loop = METHODS['closed_loop']


@pytest.fixture(params=MACHINES)
def mechanism(request):
    return machine(request.param)


def random_state(mechanism, count=60):
    return closed_loop.random_state(mechanism, count, np.random.default_rng(3))


def test_random_configurations_are_closed(mechanism):
    q = random_walk(mechanism, 200, np.random.default_rng(0))
    assert np.abs(mechanism.constraint(q)[0]).max() < 1e-12  # metres: rounding
    assert np.ptp(q[:, list(mechanism.independent)], axis=0).min() > 1.0  # they went places


def test_slider_follows_the_crank_as_geometry_says():
    mechanism = machine('slider_crank')
    z = np.linspace(0.5, 40.0, 3000)
    q, _ = Continuation(mechanism).follow(z[:, None])
    expected = oracle.L1 * np.cos(z) + np.sqrt(oracle.L2**2 - (oracle.L1 * np.sin(z)) ** 2)
    np.testing.assert_allclose(q[:, 2], expected, atol=1e-14)


def test_velocities_and_accelerations_agree_with_differences(mechanism):
    z0 = mechanism.start[list(mechanism.independent)]
    h, k = 1e-4, np.arange(len(mechanism))
    t = np.arange(400)[:, None] * h
    w = 3.0 + k
    z, rate, second = (
        z0 + 0.3 * np.sin(w * t),
        0.3 * w * np.cos(w * t),
        -0.3 * w**2 * np.sin(w * t),
    )
    q, R = Continuation(mechanism).follow(z)
    v, a = mechanism.motion(q, R, rate, second)
    # Central differences err by h^2 / 6 times a third derivative of about 1e3 /s^3.
    np.testing.assert_allclose(v[1:-1], (q[2:] - q[:-2]) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(a[1:-1], (v[2:] - v[:-2]) / (2 * h), atol=1e-3)


def test_slider_crank_rows_agree_with_the_lagrangian():
    mechanism = machine('slider_crank')
    state = random_state(mechanism, 500)
    pi = np.array([p.nominal for p in closed_loop.parameters(mechanism, None)])
    ours = pi @ projected_rows(mechanism, state)[0]
    theirs = oracle.torque(state.q[:, 0], state.v[:, 0], state.a[:, 0])
    # The bar of the issue is 1e-10 of full scale; reached 1e-15.
    np.testing.assert_allclose(ours, theirs, atol=1e-12 * np.abs(theirs).max())


def test_motion_agrees_with_constraint_dynamics_of_pinocchio(mechanism):
    """Pinocchio's accelerations under our projected torque are the ones we started from."""
    state = random_state(mechanism, 20)
    model = mechanism.pin_model
    closure = mechanism.closures[0]
    joints = [f.body + 1 for f in (closure.first, closure.second)]
    places = [pin.SE3(f.rotation, f.position) for f in (closure.first, closure.second)]
    kind = pin.ContactType.CONTACT_6D if closure.kind == 'weld' else pin.ContactType.CONTACT_3D
    contact = pin.RigidConstraintModel(
        kind, model, joints[0], places[0], joints[1], places[1], pin.ReferenceFrame.LOCAL
    )
    data = model.createData()
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    contacts.append(contact)
    datas.append(contact.createData())
    # Planar loops have a redundant row: a damping of 1e-12 keeps the solve regular.
    settings = pin.ProximalSettings(1e-12, 1e-10, 50)
    pin.initConstraintDynamics(model, data, contacts, datas)
    pi = np.array([p.nominal for p in closed_loop.parameters(mechanism, None)])
    rows = projected_rows(mechanism, state)
    for k in range(len(state.t)):
        torque = np.zeros(model.nv)
        torque[list(mechanism.independent)] = rows[:, :, k] @ pi
        a = pin.constraintDynamics(
            model, data, mechanism.pin_q(state.q[k]), state.v[k], torque, contacts, datas, settings
        )
        np.testing.assert_allclose(a, state.a[k], atol=1e-11 * np.abs(state.a).max())


def test_energy_and_projected_regressor_have_the_same_base_parameters(mechanism):
    state = random_state(mechanism, 300)
    parameters = closed_loop.parameters(mechanism, None)
    rows = projected_rows(mechanism, state)
    by_torque = find_base_parameters(np.concatenate([w.T for w in rows]), parameters)
    by_energy = find_base_parameters(energy_rows(mechanism.robot, state.q, state.v), parameters)
    assert list(by_torque.independent) == list(by_energy.independent)
    np.testing.assert_allclose(by_torque.X, by_energy.X, atol=1e-8)


def test_slider_crank_has_six_base_parameters_of_eight_that_matter():
    mechanism = machine('slider_crank')
    parameters = closed_loop.parameters(mechanism, None)
    rows = projected_rows(mechanism, random_state(mechanism, 200))[0]
    base = find_base_parameters(rows.T, parameters)
    assert set(base.names()) == set(oracle.BASE)
    assert (np.abs(rows).max(1) > 1e-9 * np.abs(rows).max()).sum() == 8
    assert base.gap > 1e6
    values = dict(zip(base.names(), base.nominal()))
    for name, expected in oracle.BASE.items():
        assert values[name] == pytest.approx(expected, abs=5e-10)


def test_opposite_sides_of_a_parallelogram_stay_parallel():
    points = machine('parallelogram_arm')
    z = points.start[list(points.independent)] + 0.5 * np.sin(
        np.arange(50)[:, None] * 0.1 + np.arange(3)
    )
    q, _ = Continuation(points).follow(z)
    column = {name: q[:, k] for k, name in enumerate(points.joint_names)}
    elbow = column['elbow'] - (column['lever'] - column['shoulder'])
    np.testing.assert_allclose(elbow, elbow[0], atol=1e-12)


def test_weld_and_axis_close_like_a_point_in_a_plane():
    """A revolute cut is axis, point or planar_point: in a planar loop all are the same."""
    q = {}
    for kind in ('point', 'planar_point', 'axis'):
        mechanism = machine('four_bar', closures=(f'{kind} rocker_pin coupler_end',))
        z = np.linspace(1.0, 5.0, 80)[:, None]
        q[kind], _ = Continuation(mechanism).follow(z)
    np.testing.assert_allclose(q['point'], q['planar_point'], atol=1e-12)
    np.testing.assert_allclose(q['point'], q['axis'], atol=1e-12)


def test_independent_coordinates_are_chosen_where_none_are_given():
    mechanism = mechanism_from_options(
        text('slider_crank'),
        MechanismOptions(closures=oracle.CLOSURES, start=oracle.START),
        GRAVITY,
    )
    assert len(mechanism) == 1 and mechanism.coordinates[0] in mechanism.joint_names


def test_dead_centre_is_said_with_its_time():
    """Driven from the slider, the mechanism is singular where crank and rod are in line."""
    mechanism = machine('slider_crank', independent=('slider',))
    t = np.linspace(0.0, 1.0, 201)  # one of them lies there, at 0.33 m
    x = np.interp(t, [0.0, 0.5, 1.0], [mechanism.start[2], 0.3299999, mechanism.start[2]])
    with pytest.raises(RobotModelError, match=r'(dead centre|cannot be closed) at 0\.[45]'):
        Continuation(mechanism).follow(x[:, None], t)


def test_start_at_a_dead_centre_names_the_joints_and_a_start_that_is_none():
    with pytest.raises(RobotModelError, match='at a dead centre: crank, rod may go') as told:
        machine('slider_crank', independent=('slider',), start=('slider 0.33',))
    (start,) = re.findall(r'start: (\[.*?\])', str(told.value))
    moved = machine('slider_crank', independent=('slider',), start=tuple(ast.literal_eval(start)))
    assert abs(moved.start[0]) > 0.05


def scissor(stages):
    """Return URDF and closures of a scissor lift that lies flat, one arm hinged to the base."""
    half, parts, closures = 0.2, [], []
    below = ('base', 'foot_link')
    for k in range(stages):
        places = ((0.0 if not k else -2 * half, 0, 0), (0.0 if not k else 2 * half, 0, 0))
        for side, carrier, place in zip('ab', below, places):
            centre = (half if side == 'a' else -half, 0.01, 0.0)
            parts += [
                mechanisms.joint(
                    f'{side}{k}',
                    'continuous',
                    carrier,
                    f'{side}{k}_link',
                    place,
                    body=mechanisms.inertial(1.0, centre, (0.4, 0.1, 0.1)),
                ),
                mechanisms.point(f'{side}{k}_mid', f'{side}{k}_link', (centre[0], 0.0, 0.0)),
            ]
        below = (f'b{k}_link', f'a{k}_link')
        closures.append(f'point a{k}_mid b{k}_mid')
    foot = mechanisms.joint(
        'foot', 'prismatic', 'base', 'foot_link', (2 * half, 0, 0), axis=(1, 0, 0)
    )
    return mechanisms.robot('scissor', foot, *parts), tuple(closures)


@pytest.mark.parametrize('independent', [(), ('a0',), ('foot',)])
def test_a_scissor_that_lies_flat_is_at_a_dead_centre(independent):
    """Flat, two stages seem to have two degrees of freedom; they have one."""
    urdf, closures = scissor(2)
    options = MechanismOptions(closures=closures, independent=independent)
    with pytest.raises(RobotModelError, match='assembled at a dead centre: .* may go either way'):
        mechanism_from_options(urdf, options, GRAVITY)
    raised = mechanism_from_options(urdf, replace(options, start=('a0 0.5', 'b0 -0.5')), GRAVITY)
    height = {name: x for name, x in zip(raised.joint_names, raised.start)}
    assert height['b0'] == pytest.approx(-height['a0'], abs=1e-9) and len(raised) == 1


def test_without_a_start_limits_decide_which_assembly_it_is():
    """The rocker of the four-bar turns from 0 to pi: one of its two assemblies is excluded."""
    given = machine('four_bar', start=('rocker 1.6',))
    alone = machine('four_bar', start=())
    across = [m.start[m.joint_names.index('rocker')] for m in (given, alone)]
    assert 0.0 < min(across) and max(across) < np.pi


def test_several_assemblies_are_shown_as_lines_that_each_give_theirs():
    urdf = re.sub(r'(name="rocker" type=)"revolute"', r'\1"continuous"', text('four_bar'))
    options = MechanismOptions(closures=('point rocker_pin coupler_end',), independent=('crank',))
    with pytest.raises(ConfigError, match='in several ways') as told:
        mechanism_from_options(urdf, options, GRAVITY)
    starts = [ast.literal_eval(x) for x in re.findall(r'start: (\[.*?\])', str(told.value))]
    one, other = (
        mechanism_from_options(urdf, replace(options, start=tuple(start)), GRAVITY)
        for start in starts
    )
    assert one.start[0] == pytest.approx(other.start[0], abs=1e-3)  # of the same crank angle
    bend = [
        np.sin(
            m.start[m.joint_names.index('coupler')]
            + m.start[0]
            - m.start[m.joint_names.index('rocker')]
        )
        for m in (one, other)
    ]
    assert bend[0] * bend[1] < 0.0  # the knee is on either side


def test_a_drawing_that_is_assembled_needs_no_start():
    sample = mechanisms.palletiser()
    drawn = mechanism_from_options(
        sample.urdf,
        MechanismOptions(closures=sample.closures, independent=sample.independent),
        GRAVITY,
    )
    np.testing.assert_allclose(drawn.start, 0.0, atol=1e-9)


@pytest.mark.parametrize('independent', [('x', 'y'), ('left', 'right')])
def test_winches_that_couplings_determine_need_no_start_and_pull_at_nothing(independent):
    """A gantry on two ropes: the motors turn by 63 rad per metre."""
    body = mechanisms.inertial(1.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    urdf = mechanisms.robot(
        'gantry',
        mechanisms.joint('x', 'prismatic', 'base', 'beam', axis=(1, 0, 0), body=body),
        mechanisms.joint('y', 'prismatic', 'beam', 'car', axis=(0, 1, 0), body=body),
    )
    mechanism = mechanism_from_options(
        urdf,
        MechanismOptions(
            closures=('coupling left x 63 y 63', 'coupling right x 63 y -63 2.0'),
            independent=independent,
            start=('x 0.2', 'y 0.1'),
        ),
        GRAVITY,
    )
    np.testing.assert_allclose(mechanism.start, [0.2, 0.1, 18.9, 8.3], atol=1e-9)


def test_position_out_of_reach_is_said_with_its_time():
    mechanism = machine('slider_crank', independent=('slider',))
    with pytest.raises(RobotModelError, match='at 0.5'):
        Continuation(mechanism).follow(np.array([[0.31], [0.5]]), np.array([0.0, 0.5]))


def test_jump_to_another_branch_is_said_with_its_time():
    """The slider left of the crank closes the loop, too: half of the samples are put there."""
    right = machine('slider_crank')
    left = machine('slider_crank', start=('crank 0.5', 'rod 2.2', 'slider -0.2'))
    z = np.linspace(0.5, 0.7, 10)[:, None]
    q = np.vstack([Continuation(right).follow(z[:5])[0], Continuation(left).follow(z[5:])[0]])
    R, dexterity = right.transformation(q)
    with pytest.raises(RobotModelError, match='jumps to another branch at 0.5000 s'):
        guard(right, q, R, dexterity, np.arange(10) * 0.1)


@pytest.mark.parametrize(
    'changes',
    [
        {'closures': ('point slider_pin nowhere',)},
        {'closures': ('glue slider_pin rod_end',)},
        {'closures': ('coupling crank rod two',)},
        {'closures': ('coupling crank rod nan',)},
        {'closures': ('point rod_end rod_tag',)},
        {'independent': ('crank', 'rod')},
        {'independent': ('wheel',)},
        {'start': ('crank',)},
        {'start': ('crank nan',)},
        {'actuated': ('wheel',)},
        {'known': ('m9 1.0',)},
        {'friction': ('slider glue',)},
        {'springs': ('joint wheel',)},
        {'springs': ('slider',)},
        {'springs': ('joint slider inf',)},
    ],
)
def test_wrong_description_is_refused_with_a_reason(changes):
    with pytest.raises((ConfigError, RobotModelError)) as caught:
        machine('slider_crank', **changes)
    assert isinstance(caught.value, InertialIdError)
    assert 'found' in str(caught.value) or 'there is' in str(caught.value)


@pytest.mark.parametrize('start', [('crank 1.0',), ('coupler 2.5',)])
def test_halves_far_from_one_another_are_welded_and_not_turned_by_half(start):
    """Perpendicular axes alone, e.f = 0, also fit halves of which one is turned around."""
    mechanism = machine('welded_four_bar', start=start)
    model = pin.buildModelFromXML(text('welded_four_bar'))
    data = model.createData()
    q = np.empty(model.nq)
    for x, joint in zip(mechanism.start, model.joints[1:]):
        q[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
    pin.framesForwardKinematics(model, data, q)
    places = [data.oMf[model.getFrameId(name)] for name in ('rocker_half', 'other_half')]
    np.testing.assert_allclose(places[0].homogeneous, places[1].homogeneous, atol=1e-8)
    given = dict(line.split() for line in start)  # turns are those of the start
    guess = np.array([float(given.get(name, 0.0)) for name in mechanism.joint_names])
    assert np.abs(mechanism.start - guess).max() <= np.pi + 1e-9


def test_what_moves_by_itself_is_named():
    """A pin instead of the weld leaves two halves of a rocker, which no encoder follows."""
    with pytest.raises(ConfigError, match='there still move: ') as caught:
        machine('welded_four_bar', closures=('point rocker_half other_half',))
    assert {'pin', 'rocker', 'coupler'} <= set(
        str(caught.value).split('still move: ')[1].split(': add')[0].split(', ')
    )


def test_loop_in_a_urdf_is_told_with_both_parents_and_the_line_that_closes_it():
    """What is told is done, word by word: the mechanism is then assembled."""

    def body(name):
        return (
            f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" '
            'izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )

    def pin(name, parent, child, x, kind='continuous'):
        return (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child '
            f'link="{child}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>'
        )

    tree = (
        '<robot name="r"><link name="base"/>'
        + body('crank')
        + body('coupler')
        + body('rocker')
        + '<link name="tip"/>'
        + pin('j1', 'base', 'crank', 0)
        + pin('j2', 'crank', 'coupler', 0.1)
        + pin('tip', 'coupler', 'tip', 0.4, 'fixed')
        + pin('j3', 'base', 'rocker', 0.3)
    )
    with pytest.raises(RobotModelError) as told:
        closed_loop.build(
            tree + pin('j4', 'rocker', 'tip', 0.3) + '</robot>',
            options_class('closed_loop')(),
            GRAVITY,
        )
    words = str(told.value)
    assert "'tip' is carried by 'coupler' and by 'rocker'" in words
    (closure,) = re.findall(r"closures: \['(.*?)'\]", words)
    opened = tree + pin('j4', 'rocker', 'j4_end', 0.3, 'fixed') + '<link name="j4_end"/></robot>'
    mechanism = closed_loop.build(
        opened,
        options_class('closed_loop')(
            closures=(closure,), independent=('j1',), start=('j1 1.0', 'j3 1.5')
        ),
        GRAVITY,
    )
    # Four bars of 0.1, 0.4, 0.3 and 0.3 m: the pin is 0.4 m from the crank's.
    (q,) = random_walk(mechanism, 1, np.random.default_rng(0))
    crank, rocker = (
        size * np.exp(1j * q[mechanism.joint_names.index(name)])
        for size, name in ((0.1, 'j1'), (0.3, 'j3'))
    )
    assert abs(0.3 + rocker - crank) == pytest.approx(0.4, abs=1e-6)


def test_mechanism_that_cannot_be_assembled_says_what_is_left():
    urdf = text('slider_crank').replace('xyz="0.25 0 0"', 'xyz="0.25 0 0.02"')
    with pytest.raises(RobotModelError, match='cannot be assembled'):
        mechanism_from_options(
            urdf,
            MechanismOptions(closures=oracle.CLOSURES, independent=('crank',), start=oracle.START),
            GRAVITY,
        )
