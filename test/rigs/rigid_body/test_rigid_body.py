"""rigid_body: the figures of quaternion_6dof, and a payload behind a wrist sensor."""

from dataclasses import replace
import re

import cylinder_chain as chain
import mujoco_arm
import numpy as np
import pytest
from recordings import channel_of, of_rig, stamps_of
from scipy.spatial.transform import Rotation
import simulated_rigs
from three_bodies import CHAIN
from tolerances import scores_of
import yaml

import ros_inertial_id as rid
from ros_inertial_id.checks.check import check
from ros_inertial_id.demonstration.simulated_rigs.wrist_sensor import BIAS, PARAMETERS
from ros_inertial_id.errors import ConfigError, InertialIdError, RecordingError
from ros_inertial_id.estimation.base_parameters import find_base_parameters
from ros_inertial_id.estimation.estimators import ESTIMATORS, Problem
from ros_inertial_id.estimation.r_factors import RFactors
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.identification.settings import options_class
from ros_inertial_id.measurement.bags.log import read_log
from ros_inertial_id.measurement.recording import Recording
from ros_inertial_id.methods import METHODS
from ros_inertial_id.rigs.bodies.joints import random_bodies
from ros_inertial_id.rigs.bodies.observation import BodiesState
from ros_inertial_id.rigs.measurement.body_state import BodyState

rigid_body = METHODS['rigid_body']

OPTIONS = options_class('rigid_body')()
URDF = mujoco_arm.description('franka')
BODY = np.array([4.0, 0.2, -0.12, 0.4, 0.37, 0.0, 0.30, 0.0, 0.0, 0.20])
FIVE = (0.3, 0.6, 0.9, 1.2, 1.5)  # the paper's instants
ALL = tuple(np.arange(1, 101) * 0.02)  # all steps of its simulation
TRUE = np.concatenate([[m] * 3 + [a, b, b] for m, a, b in zip(chain.MASS, chain.J11, chain.J22)])


def _cylinders():
    bodies = {f'b{i}': {'pose': f'/b{i}'} for i in range(1, 7)}
    wrenches = {
        f'/ft{i + 1}': {
            'acts_on': f'b{i + 1}',
            'from': f'b{i}' if i else '',
            'axes': 'world',
            'point': [float(-chain.LENGTH[i] / 2), 0, 0],
        }
        for i in range(6)
    }
    options = replace(OPTIONS, unknowns='principal', sensor_bias=False, mass=1000.0, size=1.0)
    text = yaml.safe_dump({'bodies': bodies, 'wrenches': wrenches}, sort_keys=False)
    rig = rigid_body.build(text, options, np.array([0.0, 0.0, -chain.GRAVITY]))
    return rig, rigid_body.parameters(rig, options)


def _state(times, digits=None):
    bodies, wrench = [], []
    for position, q, omega, alpha, acc, load in chain.samples(times, digits):
        specific = Rotation.from_quat(q).inv().apply(acc + [0.0, 0.0, chain.GRAVITY])
        bodies.append(BodyState(position, q, omega, alpha, specific))
        wrench.append(load)
    wrench = np.concatenate(wrench, axis=1)
    return BodiesState(np.array(times), 0, tuple(bodies), wrench, wrench)


def _estimate(rig, columns, state):
    def factors(state):
        out = RFactors(len(columns))
        for block in rigid_body.regress(state, rig, columns):
            out.accumulate(block, np.arange(len(columns)))
        return out

    random = rigid_body.random_state(rig, 200, np.random.default_rng(0))
    base = find_base_parameters(factors(random).system()[0], columns)
    assert len(base) == len(columns)  # six unknowns of every body can be seen by some motion
    return ESTIMATORS['ordinary'](Problem(factors(state), base, {}))


@pytest.mark.parametrize(
    'times, digits, absolute, relative',
    [
        (FIVE, None, 1e-9, 1e-9),
        (ALL, 7, 0.01, 2e-4),  # the bar; the paper prints .0264 and 3.1e-4
        # Five instants leave five times the rounding: torques of 7000 N m with seven digits.
        (FIVE, 7, 0.01, 6e-4),
    ],
)
def test_reaches_the_figures_of_quaternion_6dof(times, digits, absolute, relative):
    rig, columns = _cylinders()
    estimate = _estimate(rig, columns, _state(times, digits))
    error = abs(estimate.params - TRUE)[estimate.determined]
    assert error.max() < absolute
    assert (error / TRUE[estimate.determined]).max() < relative


def _written(path, rate=50.0, **axes):
    """
    Write what the paper's simulation prints as a table of topics; return its description.

    axes : as described, those of the paper by default
    """
    axes = axes or {'axes': 'body', 'linear_axes': 'world'}
    times = np.arange(1, 101) / rate
    table = {'stamp_s': times}

    def put(topic, *fields):
        for name, values in fields:
            table.update({f'/{topic}/{name}/{axis}': x for axis, x in zip('xyzw', values.T)})

    for k, (p, q, omega, alpha, acc, load) in enumerate(chain.samples(times), 1):
        put(f'b{k}', ('pose/position', p), ('pose/orientation', q))
        put(f'f{k}', ('wrench/force', load[:, :3]), ('wrench/torque', load[:, 3:]))
        put(f'v{k}', ('twist/linear', p * 0.0), ('twist/angular', omega))
        put(f'a{k}', ('accel/linear', acc), ('accel/angular', alpha))
    np.savetxt(
        path, np.transpose(list(table.values())), '%.6e', ',', header=','.join(table), comments=''
    )
    return yaml.safe_dump(
        {
            'bodies': {
                f'b{k}': {'pose': f'/b{k}', 'twist': f'/v{k}', 'accel': f'/a{k}', **axes}
                for k in range(1, 7)
            },
            'wrenches': {
                f'/f{k}': {
                    'acts_on': f'b{k}',
                    'from': f'b{k - 1}' if k > 1 else '',
                    'axes': 'world',
                    'point': [float(-chain.LENGTH[k - 1] / 2), 0.0, 0.0],
                }
                for k in range(1, 7)
            },
        },
        sort_keys=False,
    )


PRINCIPAL = replace(
    OPTIONS,
    unknowns='principal',
    sensor_bias=False,
    mass=1e4,
    size=1.0,
    gravity_magnitude=chain.GRAVITY,
)


def test_recorded_accelerations_reach_the_papers_figures_with_its_hundred_samples(tmp_path):
    text = _written(tmp_path / 'log.csv')
    recording = read_log(tmp_path / 'log.csv', text)
    assert recording.types()['/a1'] == 'geometry_msgs/msg/AccelStamped'
    model = identify([recording], PRINCIPAL, method='rigid_body').model
    assert [e['name'] for e in model.base if not e['determined']] == ['mx1', 'my1', 'Iyy1', 'Izz1']
    value, error = (
        np.array([e[key] if e['determined'] else np.nan for e in model.base])
        for key in ('value', 'standard_error')
    )
    assert np.nanmax(abs(value - TRUE)) < 0.01 and np.nanmax(abs(value / TRUE - 1)) < 2e-4
    # Rounding is the only noise, and of smooth signals no white one.
    assert np.sqrt(np.nanmean(((value - TRUE) / error) ** 2)) < 2.0


@pytest.mark.parametrize(
    'axes, refused',
    [
        ({'axes': 'world'}, 'the rates of /v1 .* write axes: body'),
        ({'axes': 'body'}, 'the linear accelerations of /a2 .* write linear_axes: world'),
    ],
)
def test_rates_along_other_axes_than_described_are_refused(tmp_path, axes, refused):
    text = _written(tmp_path / 'log.csv', **axes)
    with pytest.raises(RecordingError, match=refused):
        identify([read_log(tmp_path / 'log.csv', text)], PRINCIPAL, method='rigid_body')


def test_angular_accelerations_along_other_axes_than_rates_are_refused(tmp_path):
    text = _written(tmp_path / 'log.csv')
    recording = read_log(tmp_path / 'log.csv', text)
    channels = dict(recording.channels)
    turn = Rotation.from_quat(channels['/b1'].fields['orientation_xyzw'])
    fields = dict(channels['/a1'].fields)
    fields['angular_acceleration'] = turn.apply(np.array(fields['angular_acceleration']))
    channels['/a1'] = replace(channels['/a1'], fields=fields)
    with pytest.raises(RecordingError, match='the angular accelerations of /a1 are along other'):
        identify([replace(recording, channels=channels)], PRINCIPAL, method='rigid_body')


@pytest.fixture(scope='module')
def swing():
    return simulated_rigs.wrist(URDF, 12.0)


def _about_centre(pi):
    m, c = pi[0], np.array(pi[1:4]) / pi[0]
    xx, xy, yy, xz, yz, zz = pi[4:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return m, c, inertia - m * (c @ c * np.eye(3) - np.outer(c, c))


def _check_payload(model, sure=4.0):
    # Sixteen numbers within 4 standard errors: a false alarm in one of a thousand seeds.
    entries = model.base
    value = np.array([e['value'] for e in entries])
    error = np.array([e['standard_error'] for e in entries])
    true = np.concatenate([PARAMETERS, BIAS])
    assert np.all(abs(value - true) < sure * error)
    (m, c, inertia), (m0, c0, inertia0) = map(_about_centre, (value[:10], PARAMETERS))
    assert abs(m / m0 - 1) < 0.005
    assert abs(c - c0).max() < 1e-3
    assert abs(inertia - inertia0).max() < 0.05 * np.linalg.eigvalsh(inertia0)[0]


def test_recovers_payload_and_bias_behind_a_wrist_sensor(swing):
    _check_payload(identify([swing], OPTIONS, method='rigid_body').model)


def test_payload_with_an_imu_needs_no_joint_states(swing):
    channels = {t: c for t, c in swing.channels.items() if t != '/joint_states'}
    alone = replace(swing, channels=channels, robot_description='')
    text = 'bodies: {payload: {imu: /payload/imu}}\nwrenches: {/wrench: {acts_on: payload}}\n'
    _check_payload(identify([alone], OPTIONS, method='rigid_body', urdf=text).model)


def test_sensor_that_shows_the_reaction_is_noticed(swing):
    wrench = swing.channels['/wrench']
    turned = replace(wrench, fields={k: -v for k, v in wrench.fields.items()})
    other = replace(swing, channels={**swing.channels, '/wrench': turned})
    model = identify([other], OPTIONS, method='rigid_body').model
    assert model.preprocessing[0]['wrench_of'] == 'by_body'
    assert model.base[0]['value'] == pytest.approx(2.0, rel=0.005)
    bias = [e['value'] for e in model.base[10:]]
    np.testing.assert_allclose(bias, -BIAS, atol=0.01)  # as that sensor shows it


@pytest.mark.parametrize('frame', ['ft_sensor', ''])
def test_a_frame_that_the_description_lacks_names_the_option_for_it(swing, frame):
    stamped = replace(swing.channels['/wrench'], frame_id=frame)
    other = replace(swing, channels={**swing.channels, '/wrench': stamped})
    words = (
        f"frame '{frame}' is not in the robot description.*/wrench is stamped so.*wrench_frame:"
    )
    with pytest.raises(InertialIdError, match=words):
        identify([other], OPTIONS, method='rigid_body')
    options = replace(OPTIONS, wrench_frame='flnge')
    with pytest.raises(InertialIdError, match="'flnge' is not.*correct wrench_frame:"):
        identify([swing], options, method='rigid_body')


def test_held_payload_is_refused(swing):
    """Noise of a body at rest would pass for motion, and numbers would come out."""
    rng = np.random.default_rng(1)
    still = {}
    for topic, channel in swing.channels.items():
        held = {
            k: v[:1] * (k != 'angular_velocity') + 0.05 * rng.standard_normal(v.shape)
            for k, v in channel.fields.items()
        }
        still[topic] = replace(channel, fields=held)
    text = 'bodies: {payload: {imu: /payload/imu}}\nwrenches: {/wrench: {acts_on: payload}}\n'
    options = replace(OPTIONS, cutoff=5.0)
    with pytest.raises(InertialIdError, match='excites nothing'):
        identify([Recording(still)], options, method='rigid_body', urdf=text)


def _wrench_of_bodies(bodies, parameters, point):
    """Return force and torque (N, 6) about ``point`` in the world, centre of mass by centre."""
    out = np.zeros((len(point), 6))
    for body, pi in zip(bodies, parameters):
        m, c, inertia = _about_centre(pi)
        R = body.rotation()
        acc = body.acc + np.cross(body.alpha, c) + np.cross(body.omega, np.cross(body.omega, c))
        force = np.einsum('nij,nj->ni', R, m * acc)
        momentum = body.omega @ inertia
        spin = np.einsum('nij,nj->ni', R, body.alpha @ inertia + np.cross(body.omega, momentum))
        centre = body.position + R @ c
        out[:, :3] += force
        out[:, 3:] += spin + np.cross(centre - point, force)
    return out


def test_chain_of_bodies_needs_no_sensor_between_them():
    rig = rigid_body.build(CHAIN, OPTIONS, np.array([0.0, 0.0, -9.81]))
    rng = np.random.default_rng(3)
    bodies = random_bodies(rig.joints, 200, rng, rig.gravity_base)
    pi = rng.uniform(0.5, 2.0, (3, 10))
    a, _, c = bodies
    point = a.position + np.einsum('nij,j->ni', a.rotation(), [0.02, -0.05, 0.1])
    axes = a.rotation() @ Rotation.from_euler('xyz', [0.3, -0.2, 1.0]).as_matrix()
    base = _wrench_of_bodies(bodies, pi, point)
    base = np.concatenate([np.einsum('nji,nj->ni', axes, base[:, k : k + 3]) for k in (0, 3)], 1)
    ankle = _wrench_of_bodies(bodies[2:], pi[2:], c.position)
    bias = rng.standard_normal(12)
    measured = np.concatenate([base, ankle], axis=1) + bias
    state = BodiesState(np.arange(200.0), 0, bodies, measured, measured)
    columns = rigid_body.parameters(rig, OPTIONS)
    factors = RFactors(len(columns))
    for block in rigid_body.regress(state, rig, columns):
        factors.accumulate(block, np.arange(len(columns)))
    A, b, _ = factors.system()
    found = find_base_parameters(A, columns)
    assert len(found) == 27 + 12  # a and b group by the hinge between them
    # Exact data through one QR: 1e-13 times the condition of a few hundred.
    beta = np.linalg.lstsq(A[:, found.independent], b, rcond=None)[0]
    np.testing.assert_allclose(beta, found.reduce(np.concatenate([pi.ravel(), bias])), atol=1e-9)


def _about_z(t):
    """Return attitudes that turn about z alone, at times t (N,)."""
    return Rotation.from_euler(
        'z', (0.6 * np.sin(np.pi * t) + 0.4 * np.sin(1.8 * np.pi * t))[:, None]
    )


def _about_all(t):
    return Rotation.from_euler(
        'xyz',
        np.stack(
            [
                0.9 * np.sin(1.9 * t) + 0.3 * np.sin(5 * t),
                0.8 * np.sin(2.5 * t + 1.0) + 0.3 * np.cos(4.4 * t),
                1.2 * np.sin(1.6 * t),
            ],
            axis=1,
        ),
    )


def _recorded_body(seed, pi, attitude, sensor=Rotation.identity(), rates=()):
    """
    Return the Recording of a body with parameters pi (10,) behind a turned ``sensor``.

    rates : noise of recorded angular velocity, linear and angular acceleration, none by default
    """

    def rate(t):
        return (attitude(t - 1e-5).inv() * attitude(t + 1e-5)).as_rotvec() / 2e-5

    rng, t = np.random.default_rng(seed), np.arange(0.0, 8.0, 0.004)
    w = 2 * np.pi * np.array([0.4, 0.7, 1.1])
    p = np.array([0.1, 0.08, 0.06]) * np.sin(t[:, None] * w)
    R, omega, alpha = attitude(t), rate(t), (rate(t + 1e-3) - rate(t - 1e-3)) / 2e-3
    acc = R.inv().apply(-(w**2) * p + [0.0, 0.0, 9.81])
    c, inertia = pi[1:4] / pi[0], np.diag(pi[[4, 6, 9]])
    force = pi[0] * (acc + np.cross(alpha, c) + np.cross(omega, np.cross(omega, c)))
    torque = np.cross(pi[1:4], acc) + alpha @ inertia + np.cross(omega, omega @ inertia)
    force, torque = sensor.inv().apply(force), sensor.inv().apply(torque)
    quaternion = (R * Rotation.from_rotvec(2e-3 * rng.standard_normal((len(t), 3)))).as_quat()
    stamps, noise = stamps_of(t), rng.standard_normal((6, len(t), 3))
    made = [
        ('/p', 'PoseStamped', {'position': p + 3e-4 * noise[0], 'orientation_xyzw': quaternion}),
        (
            '/w',
            'WrenchStamped',
            {'force': force + 0.2 * noise[1], 'torque': torque + 0.01 * noise[2]},
        ),
    ]
    if rates:
        acc = acc - R.inv().apply([0.0, 0.0, 9.81])
        omega, acc, alpha = (x + sd * n for x, sd, n in zip((omega, acc, alpha), rates, noise[3:]))
        made += [
            ('/v', 'TwistStamped', {'angular_velocity': omega}),
            ('/a', 'AccelStamped', {'linear_acceleration': acc, 'angular_acceleration': alpha}),
        ]
    more = ', twist: /v, accel: /a' * bool(rates)
    return of_rig(
        f'bodies: {{b: {{pose: /p{more}}}}}\nwrenches: {{/w: {{acts_on: b}}}}',
        *(
            channel_of(topic, f'geometry_msgs/msg/{kind}', stamps, fields)
            for topic, kind, fields in made
        ),
    )


@pytest.fixture(scope='module')
def made():
    """Return the Recording of a body behind a sensor that is not turned."""
    return _recorded_body(1, BODY, _about_all)


def test_noise_of_recorded_accelerations_does_not_shrink_what_they_multiply():
    """Least squares alone is off by up to ten standard errors."""
    made = _recorded_body(0, BODY, _about_all, rates=(0.025, 0.25, 1.0))
    model = identify([made], OPTIONS, method='rigid_body').model
    z = scores_of(model.base, dict(zip((e['name'] for e in model.base), BODY)))
    assert len(z) == 10 and np.abs(z).max() < 3.5


def test_noise_of_the_attitude_does_not_show_inertias_of_axes_that_nothing_turns():
    """Least squares finds Ixx 0.00 +- 0.01 by the noise of the markers alone; it is 0.37."""
    model = identify([_recorded_body(0, BODY, _about_z)], OPTIONS, method='rigid_body').model
    found = {e['name']: e for e in model.base}
    assert not any(found[name]['determined'] for name in ('Ixx1', 'Ixy1', 'Iyy1'))
    for name, true in zip(('m1', 'mcx1', 'mcy1', 'mcz1', 'Izz1'), BODY[[0, 1, 2, 3, 9]]):
        assert abs(found[name]['value'] - true) < 3.5 * found[name]['standard_error'] < 0.02


@pytest.mark.parametrize('degrees', [1.0, 170.0])
def test_a_turned_sensor_is_found_and_taken_into_account(degrees):
    turn = degrees * np.array([0.6, -0.64, 0.48])
    made = _recorded_body(1, BODY, _about_all, Rotation.from_rotvec(turn, degrees=True))
    model = identify([made], OPTIONS, method='rigid_body').model
    note = model.preprocessing[0]['sensor_turned']['/w']
    error = np.array(note['standard_error_deg'])  # about the axes: a small turn further
    found, true = (Rotation.from_rotvec(x, degrees=True) for x in (note['turn_deg'], turn))
    away = (found * true.inv()).as_rotvec(degrees=True)
    assert (np.abs(away) < 4 * error).all() and (error < 0.1).all()
    z = scores_of(model.base, dict(zip((e['name'] for e in model.base), BODY)))
    assert len(z) == 10 and np.abs(z).max() < 3.5  # 8.2 where nobody looks for the turn


@pytest.mark.parametrize('axes, along', [('body', 'the base'), ('world', 'its frame')])
def test_a_force_along_other_axes_than_described_is_refused(axes, along):
    world = _about_all(np.arange(0.0, 8.0, 0.004)).inv()
    made = _recorded_body(1, BODY, _about_all, Rotation.identity() if axes == 'world' else world)
    described = made.robot_description.replace('{acts_on: b}', f'{{acts_on: b, axes: {axes}}}')
    robot = rigid_body.build(described, OPTIONS, np.array([0.0, 0.0, -9.81]))
    with pytest.raises(RecordingError, match=f'the force of /w is along the axes of {along}; exp'):
        rigid_body.observe(made, robot, OPTIONS)


@pytest.mark.parametrize(
    'what, words',
    [
        ('zeroed anew', r'the zero of /w changes at (4\.9|5\.0)'),
        ('compensated', 'has no weight in it'),
    ],
)
def test_a_force_that_is_zeroed_or_without_weight_is_refused(made, what, words):
    wrench = made.channels['/w']
    t, force = 1e-9 * (wrench.stamp_ns - wrench.stamp_ns[0]), wrench.fields['force'].copy()
    if what == 'compensated':  # the body's weight, in its axes
        force -= _about_all(t).inv().apply(BODY[0] * np.array([0.0, 0.0, 9.81]))
    else:
        force[t >= 5.0] -= [3.0, -2.0, 5.0]
    changed = replace(
        made,
        channels={
            **made.channels,
            '/w': replace(wrench, fields={**wrench.fields, 'force': force}),
        },
    )
    robot = rigid_body.build(made.robot_description, OPTIONS, np.array([0.0, 0.0, -9.81]))
    with pytest.raises(RecordingError, match=words):
        rigid_body.observe(changed, robot, OPTIONS)
    assert rid.check(changed, method='rigid_body').verdict.word == 'do not use'


def _stamped_later(recording, topic, seconds):
    channel = recording.channels[topic]
    later = replace(channel, stamp_ns=channel.stamp_ns + round(1e9 * seconds))
    return replace(recording, channels={**recording.channels, topic: later})


@pytest.mark.parametrize('late', [5e-3, 60e-3])
def test_a_late_wrench_is_read_where_the_motion_is(swing, late):
    delayed = _stamped_later(swing, '/wrench', late)
    model = identify([delayed], OPTIONS, method='rigid_body').model
    note = model.preprocessing[0]
    assert abs(note['time_offset_found'] - late) < 4.0 * note['time_offset_error'] < 2e-4
    assert note['time_offset'] == note['time_offset_found']
    _check_payload(model)


def test_a_delay_that_is_taken_off_is_said_and_one_that_is_no_filter_refused(made):
    checkup = check([_stamped_later(made, '/w', 20e-3)], OPTIONS, method='rigid_body')
    (said,) = checkup.checks
    assert said.severity == 'note' and checkup.verdict.word == 'good'
    assert re.search(r'are (19\.\d|20\.\d) \+- 0\.\d+ ms behind the motion', said.says)
    robot = rigid_body.build(made.robot_description, OPTIONS, np.array([0.0, 0.0, -9.81]))
    with pytest.raises(
        RecordingError, match='within 150 ms; found the wrench is about 220 ms late'
    ):
        rigid_body.observe(_stamped_later(made, '/w', 0.22), robot, OPTIONS)


def test_a_tilted_mounting_is_named(made):
    def doubts(gravity):
        mounting = 'gravity ' + ' '.join(map(str, gravity))
        options = replace(OPTIONS, mounting=mounting)
        return [f.says for f in check([made], options, method='rigid_body').checks]

    assert doubts((0.0, 0.0, -9.81)) == []
    # The sensor would have to be turned otherwise at every attitude: it is not that.
    tilted = Rotation.from_euler('x', 5.0, degrees=True).apply([0.0, 0.0, -9.81])
    assert any('gravity is 5.0 degrees off' in said for said in doubts(tilted))


def test_a_wrench_in_counts_is_named_by_the_mass_that_it_makes(made):
    counts = replace(
        made.channels['/w'],
        fields={kind: 1000.0 * values for kind, values in made.channels['/w'].fields.items()},
    )
    made = replace(made, channels={**made.channels, '/w': counts})
    (said,) = check([made], OPTIONS, method='rigid_body').checks
    assert 3900.0 < said.evidence < 4000.0 and 'more than the 10 kg of mass:' in said.says


@pytest.mark.parametrize(
    'text, words',
    [
        ('bodies: {a: {pose: /a, accel: /b}}\nwrenches: {/w: {acts_on: a}}', 'twist: and accel:'),
        (
            'bodies: {a: {pose: /a, imu: /b, twist: /c, accel: /d}}\nwrenches: {/w: {acts_on: a}}',
            'twist: and accel: beside pose',
        ),
        ('bodies: {a: {pose: /a}}\nwrenches: {/w: {acts_on: c}}', "'c'"),
        ('bodies: {a: {pose: /a, markers: /b}}\nwrenches: {/w: {acts_on: a}}', 'one source'),
        ('bodies: {a: {pose: /a}, b: {pose: /b}}\nwrenches: {/w: {acts_on: a}}', 'no wrench'),
        ('body: {}', 'unknown key'),
        ('[1, 2]', 'neither a URDF'),
    ],
)
def test_bad_descriptions_are_refused_with_reason(text, words):
    with pytest.raises(InertialIdError, match=words):
        rigid_body.build(text, OPTIONS, np.array([0.0, 0.0, -9.81]))


def test_principal_inertias_need_a_sensor_between_bodies():
    text = (
        'bodies: {a: {pose: /a}, b: {pose: /b, parent: a, joint: spherical}}\n'
        'wrenches: {/w: {acts_on: a}}'
    )
    with pytest.raises(ConfigError, match='principal'):
        rigid_body.build(text, replace(OPTIONS, unknowns='principal'), np.array([0, 0, -9.81]))
